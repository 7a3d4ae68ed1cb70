"""Tests products and sums without .rn: one rounding as ptxas gives them, two with fmad="off" or as Triton
says."""

import json
import os
import sys

import numpy as np
import pytest
import triton_runner
import warm

PTX = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
.reqntid 32
{
.reg .b64 %rd<3>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [p];
ld.global.f32 %f1, [%rd1];
ld.global.f32 %f2, [%rd1+4];
mul.f32 %f3, %f1, %f1;
sub.f32 %f4, %f3, %f2;
div.full.f32 %f5, %f1, %f2;
add.f32 %f6, %f5, 0fBF800000;
st.global.f32 [%rd1+8], %f4;
st.global.f32 [%rd1+12], %f6;
ret;
}
"""
ONE, TWO = 2.0**-24, 0.0  # (1 + 2^-12)^2 - (1 + 2^-11) with one rounding and with two


def result(kernel) -> float:
    data = np.array([1 + 2.0**-12, 1 + 2.0**-11, 0, 0], np.float32)
    kernel[(1,)](data)
    return float(data[2])


@pytest.mark.parametrize(("fmad", "expected"), [("auto", ONE), ("on", ONE), ("off", TWO)])
def test_setting(fmad, expected):
    with triton_runner.using(device="cpu", fmad=fmad):
        assert result(triton_runner.load(PTX)) == expected


def test_setting_of_a_kernel_that_ran():
    kernel = triton_runner.load(PTX, device="cpu")
    assert result(kernel) == ONE
    with triton_runner.using(fmad="off"):
        assert result(kernel) == TWO
    assert result(kernel) == ONE


@pytest.mark.parametrize(
    ("fusion", "fmad", "expected"), [(False, "auto", TWO), (False, "on", ONE), (True, "off", TWO)]
)
def test_metadata(fusion, fmad, expected):
    """enable_fp_fusion of Triton's metadata is what ptxas gets; fmad="on" and "off" say it instead."""
    metadata = json.dumps({"name": "k", "enable_fp_fusion": fusion, "num_warps": 1, "shared": 0})
    with triton_runner.using(device="cpu", fmad=fmad):
        assert result(triton_runner.load(PTX, metadata=metadata)) == expected


def test_unknown():
    with pytest.raises(triton_runner.DiagnosticError, match="unknown fmad 'yes'"):
        triton_runner.using(fmad="yes").__enter__()


def test_environment():
    program = "import triton_runner, numpy as np\n"
    program += f"d = np.array([{1 + 2.0**-12}, {1 + 2.0**-11}, 0, 0], np.float32)\n"
    program += f"triton_runner.load({PTX!r}, device='cpu')[(1,)](d)\nprint(d[2] == 0)\n"
    environment = os.environ | {"TRITON_RUNNER_FMAD": "off"}
    done = warm.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
