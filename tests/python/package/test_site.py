"""Tests the site of doc/: navigation and front page, and in a browser its code, its dark switch and
recordings."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import browsing
import pytest
from triton_runner._cli import help

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOC = ROOT / "doc"
browser = browsing.browser


@pytest.fixture(scope="module")
def hook():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "tools" / "site_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def flat(nav) -> list[str]:
    out = []
    for entry in nav:
        out += [entry] if isinstance(entry, str) else [page for part in entry.values() for page in flat(part)]
    return out


def test_every_page_is_in_the_navigation(hook):
    assert sorted(flat(hook.nav())) == sorted(str(page.relative_to(DOC)) for page in DOC.rglob("*.md"))


def test_guides_stand_in_the_groups_of_the_help(hook):
    (guides,) = [entry["Guides"] for entry in hook.nav() if isinstance(entry, dict) and "Guides" in entry]
    titles = [title for group in guides for title in group]
    assert [title.lower() for title in titles] == ["begin with", *help.GROUPS]
    assert all(len(flat([group])) >= 2 for group in guides)


def test_the_front_page_has_the_tour_of_the_readme(hook):
    page = (DOC / "index.md").read_text()
    assert page.count(hook.MARK) == 1
    tour = hook.tour()
    for link in re.findall(r"\]\(([^)]+)\)", tour):
        assert (DOC / link).exists(), link
    told = re.findall(r"^\*\*(.*?)\*\*", tour, re.M)
    assert len(told) >= 3 and all(f"**{text}**" in (ROOT / "README.md").read_text() for text in told)


def test_a_recording_stands_still_until_it_is_asked_for(hook):
    text = (DOC / "guide" / "debug.svg").read_text()
    still = hook.still(text)
    assert "<animate" in text and "<animate" not in still and still.count("<text") == text.count("<text")
    html = '<p><img alt="a" src="debug.svg" /> <img src="levels.svg" /> <img src="x.png" /></p>'
    page = hook.playing(html, lambda name: name == "debug.svg")
    assert '<a class="recording" href="debug.svg"><img alt="a" src="debug.still.svg" />' in page
    assert '<img src="levels.svg" />' in page and '<img src="x.png" />' in page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the site is built where requirements/docs.txt is installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", folder]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return folder


@pytest.fixture
def page(browser, site):
    page = browser.new_page(viewport={"width": 1100, "height": 800}, color_scheme="light")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    yield page
    page.close()
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)  # nothing from the network


def test_wide_code_scrolls_and_the_page_does_not(page, site):
    wide = 0
    for path in sorted(site.glob("*/*.html"))[::3]:
        page.goto(f"file://{path}")
        found = page.evaluate(
            """[...document.querySelectorAll("article pre > code")].map((code) =>
              [code.scrollWidth > code.clientWidth + 1, getComputedStyle(code).overflowX,
               code.getBoundingClientRect().right
                 <= code.closest("article").getBoundingClientRect().right + 1])"""
        )
        assert all(inside and (not wider or how == "auto") for wider, how, inside in found), path
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        wide += sum(wider for wider, *_ in found)
    assert wide > 5


def test_the_dark_is_switched_on_and_stays(page, site):
    colour = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
    page.goto(f"file://{site}/index.html")
    assert int(page.evaluate(colour)) > 200
    page.locator("label[title=Dark]").click()
    page.wait_for_function("() => document.body.dataset.mdColorScheme === 'slate'")
    page.goto(f"file://{site}/guide/debug.html")
    page.wait_for_function("() => document.body.dataset.mdColorScheme === 'slate'")
    assert int(page.evaluate(colour)) < 100


def test_a_recording_plays(page, site):
    page.goto(f"file://{site}/guide/debug.html")
    link = page.locator("a.recording").first
    image, button = link.locator("img"), link.locator(".play")
    shown = []
    for _ in range(3):
        shown.append((image.get_attribute("src"), button.inner_text()))
        assert page.evaluate("document.querySelector('a.recording img').naturalWidth") > 0
        link.click()
    still = ("debug.still.svg", "▶ Play")
    assert shown == [still, ("debug.svg", "■ Stop"), still]
    page.goto(f"file://{site}/index.html")
    assert page.get_by_role("heading", name="A tour in 60 seconds").is_visible()
