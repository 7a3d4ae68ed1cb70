"""Machine code whose warps part: threads come to each place in the order, and in the company, that an H200
showed (tests/gpu/paths.py, which also says how a log is read)."""

import json
import lzma
import sys

import pytest
from test_sass import ROOT

sys.path.append(str(ROOT / "tests" / "gpu"))
import paths

ROWS = json.loads(lzma.decompress(paths.KEPT.read_bytes()))


def test_the_launches_are_of_every_kind():
    """Warps whole and in part, of blocks that jump anywhere and of nested loops, at two levels of ptxas."""
    assert len(ROWS) >= 20
    assert {row["opt"] for row in ROWS} == {1, 3}
    assert len({row["lanes"] for row in ROWS}) >= 4
    assert all(paths.has_parted(row) for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['seed']}-O{row['opt']}")
def test_paths_run_as_on_a_gpu(row):
    got = paths.on_the_cpu(row)
    assert got == row["log"], f"gpu {paths.timeline(row['log'])}\ncpu {paths.timeline(got)}"
