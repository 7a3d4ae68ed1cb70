"""The rows of the release matrix that are this release's, and the scripts of examples/runner for it: a match
on the CPU. Machine code may be refused: tcgen05, and sm_120 as nvdisasm of some releases prints it."""

import runpy

import matrix
import pytest
import triton
from triton_runner import DiagnosticError

ROWS = matrix.rows_of(matrix.nearest(triton.__version__))
SCRIPTS = [
    script for script in sorted(matrix.EXAMPLES.glob("runner/v*/**/*.py"))
    if matrix.nearest(script.relative_to(matrix.EXAMPLES).parts[1][1:]) == ROWS[0].release
]  # fmt: skip
# The name of each, its level, what starts it.
STARTS = [(row.name, row.level, row.run) for row in ROWS]
for script in SCRIPTS:
    _, version, level, *rest = script.relative_to(matrix.EXAMPLES).parts
    STARTS.append(
        ("/".join([version, level, *rest]), level, lambda script=script: runpy.run_path(str(script)))
    )


def test_there_are_rows_of_every_level():
    assert {row.level for row in ROWS} >= {"python", "ttir", "ttgir", "llir", "ptx", "cubin"}
    assert len(ROWS) >= 16


@pytest.mark.parametrize(("level", "start"), [pytest.param(*start[1:], id=start[0]) for start in STARTS])
def test_example(level, start, capfd):
    with pytest.raises((SystemExit, DiagnosticError)) as ended:
        start()
    said = capfd.readouterr()
    if level == "cubin" and ended.type is DiagnosticError:
        assert "the engine does not execute" in str(ended.value)
    else:
        assert not ended.value.code, said
        assert "✅ Triton and NumPy match" in said.out
