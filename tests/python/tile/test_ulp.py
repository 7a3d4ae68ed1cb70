"""Every libdevice and math function stays within the bound that doc/internals/numerics.md states for it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import measure_ulp

BOUNDS = measure_ulp.stated()


@pytest.mark.parametrize("name", [*measure_ulp.UNARY, *measure_ulp.SEVERAL])
def test_error_is_within_its_bound(name):
    assert name in BOUNDS, f"doc/internals/numerics.md states no bound for {name}"
    for kind, error in measure_ulp.measure(name, 200).items():
        assert error <= BOUNDS[name][kind], f"{name} of {kind}: {error:.2f} ulp, stated {BOUNDS[name][kind]}"
