"""The browser of the tests that open a page."""

import browsing
import pytest


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="the page is not opened: no playwright")
    path = browsing.chromium()
    if not path:
        pytest.skip("the page is not opened: no chromium")
    with sync_api.sync_playwright() as tool:
        opened = tool.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()
