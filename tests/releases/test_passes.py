"""The passes of this release: a traced compilation is the plain one, and goes on from any of its passes."""

import re
from pathlib import Path

import numpy as np
import pytest
import triton
import triton_runner
from triton_runner import DiagnosticError

FILE = Path(__file__).resolve().parents[1] / "python" / "helpers" / "kernels_for_passes.py"
SIGNATURE = "*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16"
SIZES = {"BM": 64, "BN": 64, "BK": 32}


def traced(target, **more):
    return triton_runner.passes(f"{FILE}:matmul", SIGNATURE, SIZES, target=target, **more)


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_a_traced_compilation_is_the_plain_one(target):
    trace = traced(target)
    assert trace.identical, trace.differences
    names = [one.argument for one in trace]
    assert {"triton-combine", "tritongpu-coalesce", "tritongpu-pipeline"} <= set(names)
    assert len(trace) >= 40 and trace.find("tritongpu-coalesce").changed
    # If printing behind the last pass harms, only that is not known.
    assert all(one.changed is not None for one in trace[:-1])
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, (128, 128)).astype(np.float16) for _ in range(2))
    for name in ("tritongpu-coalesce", "tritongpu-pipeline"):
        c = np.full((128, 128), np.nan, np.float32)
        trace.find(name).load()[(2, 2)](a, b, c, 128, 128, 128)
        assert np.array_equal(c, a.astype(np.float32) @ b.astype(np.float32)), name


def test_from_until_without_and_replaced():
    trace = traced("cuda:80", to="ptx")
    pipeline = trace.find("tritongpu-pipeline")
    assert trace.until("tritongpu-pipeline").stopped == pipeline.after
    again = trace.started("tritongpu-pipeline", pipeline.before)
    replaced = trace.replaced({"tritongpu-coalesce": trace.find("tritongpu-coalesce").after})
    assert instructions(again) == instructions(replaced) == instructions(trace)
    assert "cp.async" not in trace.without("tritongpu-pipeline").asm["ptx"]
    said = rf"Triton {re.escape(triton.__version__)} failed .* pass \d+ passes.ttgpuir.add_coalesce"
    with pytest.raises(DiagnosticError, match=said):
        traced("cuda:80", skip="convert-triton-to-tritongpu")


def instructions(trace):
    """The PTX without its debug information, whose names change when IR is parsed again."""
    text = trace.asm["ptx"].split(".section")[0]
    return [line for line in text.splitlines() if not line.lstrip().startswith((".loc", "$L__", "//"))]
