"""Chromium without a window, driven through Playwright; where there is none, tests that need it are skipped."""

import os
import shutil

import pytest


@pytest.fixture(scope="module")  # while it lasts asyncio.run refuses to work in this process
def chromium():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (the extra dev has it)")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    with api.sync_playwright() as play:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to isolate itself as root
        browser = play.chromium.launch(executable_path=found, args=sandbox)
        yield browser
        browser.close()


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
