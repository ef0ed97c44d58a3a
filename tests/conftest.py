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
