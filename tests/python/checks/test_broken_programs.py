"""Tests Gluon programs that are broken by one edit each: check="race" reports every one of them at TTGIR
and at PTX, as tests/golden/broken.txt has it, and none of the unbroken ones. Both levels find the same, and
so does machine code."""

import re

import pytest

pytest.importorskip("torch")
triton = pytest.importorskip("triton")
if not triton.__version__.startswith("3.9."):
    pytest.skip("the golden reports are of what Triton 3.9 makes", allow_module_level=True)
from programs_broken import EDITS, PROGRAMS, answer, answers, read_blocks, read_golden  # noqa: E402

GOLDEN = read_golden()
# The findings in each program: one list for both levels, which have one machine under them.
FINDINGS = read_blocks("broken-findings.txt")


ASSEMBLED = [name for name in PROGRAMS if PROGRAMS[name].target != "cuda:100"]


@pytest.mark.parametrize(
    "name, level",
    [(name, level) for name in PROGRAMS for level in ("ttgir", "ptx")] + [(n, "cubin") for n in ASSEMBLED],
)
def test_nothing_is_said_of_a_program_that_is_right(name, level):
    assert answer(PROGRAMS[name], level) == ""


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}, {edit[1]}")
def test_a_broken_program_is_reported(edit):
    for title, report in answers(*edit):
        assert report == GOLDEN[title], title
        assert report, title


def kind_of(report):
    return re.match(r"kernel '[^']*': (.*?) in ", report)[1]


@pytest.mark.parametrize(
    "name, edit, old, new",
    [e for e in EDITS if e[0] in ASSEMBLED],
    ids=lambda text: text if len(text) < 50 else "",
)
def test_machine_code_is_reported_as_its_ptx_is(name, edit, old, new):
    report = answer(PROGRAMS[name], "cubin", old, new, edit.startswith("no fence"))
    assert kind_of(report) == kind_of(GOLDEN[f"{name}, {edit}, ptx"])
    assert "was made from line" in report


def test_the_golden_file_holds_these_programs_and_no_others():
    assert len(EDITS) >= 40
    assert set(GOLDEN) == {
        f"{name}, {edit}, {level}" for name, edit, _, _ in EDITS for level in ("ttgir", "ptx")
    }


@pytest.mark.parametrize("file", FINDINGS)
def test_both_levels_find_the_same(file):
    found = {}
    for title, report in read_blocks(file).items():
        program, _, level = title.rpartition(", ")
        found.setdefault(program, {})[level] = kind_of(report)
    lines = []
    for program, at in found.items():
        kind = at["ptx"] if at["ttgir"] == at["ptx"] else f"{at['ttgir']} at ttgir, {at['ptx']} at ptx"
        lines.append(f"{program}: {kind}\n")
    assert "".join(lines) == FINDINGS[file].rstrip("\n") + "\n"
