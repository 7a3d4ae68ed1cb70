"""Pictures that matplotlib draws, where it is not installed: the message says what to install, and nothing
has run before it."""

import re
import xml.etree.ElementTree as xml

import pytest
import warm

ENCODING = (
    "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
)
VERBS = {
    "layout": ("layout", ENCODING, "--shape", "32x16", "--png"),
    "dump": ("dump", "--png"),
    "bench": ("bench", "launch_latency", "--plot"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text("open('ran', 'w')")
    return tmp_path


def words(verb: str, picture: str) -> tuple:
    return (*VERBS[verb], picture, *(("program.py",) if verb == "dump" else ()))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("picture", ["x.png", "x.svg"])
def test_without_matplotlib(here, verb, picture):
    (here / "matplotlib").mkdir()
    (here / "matplotlib" / "__init__.py").write_text("raise ImportError('none here')")
    done = warm.cli(*words(verb, picture), variables={"PYTHONPATH": str(here)})
    if (verb, picture) == ("layout", "x.svg"):  # which draws it by itself
        assert done.returncode == 0 and (here / picture).read_bytes().startswith(b"<svg"), done
        return
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"{picture} is drawn by matplotlib, which is not installed" in done.stderr
    assert "pip install matplotlib" in done.stderr
    assert not (here / picture).exists() and not (here / "ran").exists()


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_that_says_no_kind_of_picture(here, verb):
    pytest.importorskip("matplotlib")
    done = warm.cli(*words(verb, "x.foo"))
    assert done.returncode == 2 and "the name x.foo says no kind of picture" in done.stderr
    assert not (here / "ran").exists()


def test_a_layout_is_drawn(here):
    pytest.importorskip("matplotlib")
    for picture, begin in (("x.png", b"\x89PNG"), ("x.pdf", b"%PDF")):
        warm.cli(*words("layout", picture), check=True)
        assert (here / picture).read_bytes().startswith(begin)


def test_a_layout_as_svg(here):
    """Every thread and register that the text names is in it; of shared memory the banks that lanes touch."""
    warm.cli(*words("layout", "x.svg"), check=True)
    names = {text.text for text in xml.parse(here / "x.svg").iter("{http://www.w3.org/2000/svg}text")}
    assert {f"{thread}:{register}" for thread in range(128) for register in range(4)} <= names
    shared = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    warm.cli("layout", shared, "--shape", "32x32", "--type", "f32", "--png", "y.svg", check=True)
    text = (here / "y.svg").read_text()
    xml.fromstring(text)
    assert re.search(r">an access of \d+ bytes a lane: \d+ turns, \d+ of them conflicts<", text)
