"""Every row of the release matrix that is this release's, and the scripts of examples/runner for it: a match on the
CPU, or the word that the level needs a GPU."""

import runpy

import matrix
import pytest
import triton

ROWS = matrix.rows_of(matrix.nearest(triton.__version__))
SCRIPTS = [
    script for script in sorted(matrix.EXAMPLES.glob("runner/v*/**/*.py"))
    if matrix.nearest(script.relative_to(matrix.EXAMPLES).parts[1][1:]) == ROWS[0].release
]  # fmt: skip


def check(start, level, capfd):
    with pytest.raises(SystemExit) as ended:
        start()
    said = capfd.readouterr()
    if level == "cubin":
        assert ended.value.code == 2, said
        assert "ptx_dir=" in said.err
    else:
        assert not ended.value.code, said
        assert "✅ Triton and NumPy match" in said.out


def test_there_are_rows_of_every_level():
    assert {row.level for row in ROWS} >= {"python", "ttir", "ttgir", "llir", "ptx", "cubin"}
    assert len(ROWS) >= 16


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_row(row, capfd):
    check(row.run, row.level, capfd)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: "/".join(script.parts[-4:]))
def test_script(script, capfd):
    level = script.relative_to(matrix.EXAMPLES).parts[2]
    check(lambda: runpy.run_path(str(script)), level, capfd)
