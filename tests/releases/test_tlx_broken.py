"""TLX programs that are broken by one edit each: check="race" reports every one of them at TTGIR and at PTX,
as tests/golden/broken-tlx.txt has it, and none of the unbroken ones."""

import pytest
import triton
import triton_runner

if not triton.__version__.startswith("3.8."):
    pytest.skip("TLX is a plug-in of Triton 3.8", allow_module_level=True)
if not triton_runner.tlx.available():
    pytest.skip("triton-utlx is not installed beside this Triton 3.8", allow_module_level=True)
from tlx_broken import EDITS, LEVELS, PROGRAMS, answer, read_golden

GOLDEN = read_golden()
ASSEMBLED = [name for name in PROGRAMS if PROGRAMS[name].target != "cuda:100"]


@pytest.fixture(autouse=True)
def cache(monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", "")  # answer() sets it: so it is put back


@pytest.mark.parametrize(
    "name, level",
    [(name, level) for name in PROGRAMS for level in LEVELS] + [(name, "cubin") for name in ASSEMBLED],
)
def test_nothing_is_said_of_a_program_that_is_right(name, level):
    assert answer(PROGRAMS[name], level) == ""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name, edit, old, new", EDITS, ids=lambda text: text if len(text) < 40 else "")
def test_a_broken_program_is_reported(name, edit, old, new, level):
    report = answer(PROGRAMS[name], level, edit, old, new)
    assert report
    assert report == GOLDEN[f"{name}, {edit}, {level}"]


@pytest.mark.parametrize(
    "name, edit, old, new",
    [edit for edit in EDITS if edit[0] in ASSEMBLED],
    ids=lambda text: text if len(text) < 40 else "",
)
def test_it_is_reported_of_machine_code_too(name, edit, old, new):
    assert "was made from line" in answer(PROGRAMS[name], "cubin", edit, old, new)


def test_the_golden_file_holds_these_programs_and_no_others():
    assert len(EDITS) >= 30
    assert set(GOLDEN) == {f"{name}, {edit}, {level}" for name, edit, _, _ in EDITS for level in LEVELS}
