"""Has the page in a browser, headless. It needs playwright and Debian's chromium, which root may install.

browser = browsing.browser  # a test module that has this line can ask for `browser`
"""

import functools
import os
import shutil
import subprocess

import pytest


@functools.cache
def chromium() -> str | None:
    """The path of a chromium; root gets it from Debian where it is missing."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if not found and os.geteuid() == 0 and shutil.which("apt-get"):
        command = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
        subprocess.run(command, capture_output=True, timeout=600)
        found = shutil.which("chromium")
    return found


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page is not opened: no playwright")
    path = chromium()
    if not path:
        pytest.skip("the page is not opened: no chromium")
    with sync_api.sync_playwright() as tool:
        opened = tool.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


class Opened:
    """A page that is ready. errors: of its scripts; asked: the addresses that it loaded."""

    def __init__(self, browser, path, place="", **options):
        self.page = browser.new_page(viewport={"width": 1600, "height": 900}, **options)
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"file://{path}{place}")
        self.page.wait_for_selector("main:not([aria-busy])")

    def lit(self) -> dict:
        """{level: lines} that are lit now."""
        return self.page.evaluate(
            "Object.fromEntries(Object.entries(page.levels.lit).map(([level, lines]) =>"
            " [level, [...lines.keys()].sort((a, b) => a - b)]))"
        )

    def place(self) -> dict:
        """Returns what the address of the page says."""
        return self.page.evaluate("placeIn(location.hash)")
