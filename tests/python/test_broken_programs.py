"""Gluon programs that are broken by one edit each: check="race" reports every one of them at TTGIR and at
PTX, as tests/golden/broken.txt has it, and none of the unbroken ones."""

import pytest

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if not triton.__version__.startswith("3.9."):
    pytest.skip("the golden reports are of what Triton 3.9 makes", allow_module_level=True)
from programs_broken import EDITS, PROGRAMS, answer, answers, read_golden  # noqa: E402

GOLDEN = read_golden()


@pytest.mark.parametrize("level", ["ttgir", "ptx"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_said_of_a_program_that_is_right(name, level):
    assert answer(PROGRAMS[name], level) == ""


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}, {edit[1]}")
def test_a_broken_program_is_reported(edit):
    for title, report in answers(*edit):
        assert report == GOLDEN[title], title
        assert report, title


def test_the_golden_file_holds_these_programs_and_no_others():
    assert len(EDITS) >= 40
    assert set(GOLDEN) == {
        f"{name}, {edit}, {level}" for name, edit, _, _ in EDITS for level in ("ttgir", "ptx")
    }
