"""Pages in Chromium."""

import pytest


@pytest.fixture
def visit(chromium):
    """Path -> the open page. It fails the test if the page raised an error or asked for anything but itself."""
    opened, troubles = [], []

    def go(path):
        page = chromium.new_page(viewport={"width": 1300, "height": 800})
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: troubles.append(asked.url) if asked.url != path.as_uri() else None)
        page.goto(path.as_uri())
        opened.append(page)
        return page

    yield go
    for page in opened:
        page.close()
    assert troubles == []
