"""The committed stubs are those that tools/stubs.py writes for the extension as it is built."""

import pathlib

import pytest
from suite import loaded

pytest.importorskip("nanobind")
import triton_runner

ROOT = pathlib.Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "triton_runner"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stubs")
    loaded(ROOT / "tools" / "stubs.py").write(folder)
    return folder


def test_stubs_are_up_to_date(written):
    names = sorted(str(path.relative_to(written)) for path in written.rglob("*.pyi"))
    committed = [PACKAGE / "__init__.pyi", *(PACKAGE / "_core").glob("*.pyi")]
    assert names == sorted(str(path.relative_to(PACKAGE)) for path in committed)
    for name in names:
        assert (written / name).read_text() == (PACKAGE / name).read_text(), (
            f"{name}: run python tools/stubs.py"
        )


def test_every_public_name_is_in_the_stub():
    text = (PACKAGE / "__init__.pyi").read_text()
    for name in triton_runner.__all__:
        assert f"{name} as {name}" in text


def test_the_pages_of_the_api_are_up_to_date():
    pytest.importorskip("triton")
    for path, text in loaded(ROOT / "tools" / "api_page.py").pages().items():
        assert path.read_text() == text, "run python tools/api_page.py"
