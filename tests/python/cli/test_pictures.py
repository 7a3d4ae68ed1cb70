"""Pictures that matplotlib draws, where it is not installed: the message says what to install, and nothing
has run before it."""

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
    for picture, begin in (("x.png", b"\x89PNG"), ("x.svg", b"<?xml")):
        warm.cli(*words("layout", picture), check=True)
        assert (here / picture).read_bytes().startswith(begin)
