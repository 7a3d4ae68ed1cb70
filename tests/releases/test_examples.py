"""The rows of the release matrix that are this release's, and the scripts of examples/runner for it: a match
on the CPU, or the word that the level needs a GPU."""

import runpy

import matrix
import pytest
import triton

ROWS = matrix.rows_of(matrix.nearest(triton.__version__))
SCRIPTS = [
    script for script in sorted(matrix.EXAMPLES.glob("runner/v*/**/*.py"))
    if matrix.nearest(script.relative_to(matrix.EXAMPLES).parts[1][1:]) == ROWS[0].release
]  # fmt: skip
# What it is called, its level, what starts it.
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
    with pytest.raises(SystemExit) as ended:
        start()
    said = capfd.readouterr()
    if level == "cubin":
        assert ended.value.code == 2, said
        assert "ptx_dir=" in said.err
    else:
        assert not ended.value.code, said
        assert "✅ Triton and NumPy match" in said.out
