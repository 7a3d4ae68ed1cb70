"""Tests tl.rand, tl.randn, tl.randint, tl.philox, and sorts and scans, beside Philox in NumPy; a GPU ran
the same (doc/measurements/releases.md).
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from golden import language


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_language(level, monkeypatch):
    monkeypatch.setenv("TRITON_RUNNER_DEVICE", "cpu")
    monkeypatch.setenv("TRITON_RUNNER_LEVEL", level)
    import triton_runner

    wrong = []
    count = 0
    with triton_runner.using(device="cpu", level=level):
        for name, got, wanted, tolerance in language.checks("cpu"):
            count += 1
            if not language.equal(got, wanted, tolerance):
                wrong.append(name)
    assert count > 25 and not wrong
