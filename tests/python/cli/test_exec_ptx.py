"""Tests triton-runner exec of PTX where neither Triton nor torch can be imported: arguments, files,
statuses."""

import json
import os
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(
  .param .u64 .ptr .global .align 1 x,
  .param .u64 .ptr .global .align 1 out,
  .param .f32 factor,
  .param .u32 n
)
{REQNTID}
{{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  ld.param.b64 %rd1, [x];
  ld.param.b64 %rd2, [out];
  ld.param.f32 %f1, [factor];
  ld.param.b32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 ret;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  mul.rn.f32 %f3, %f2, %f1;
  st.global.f32 [%rd5], %f3;
  ret;
}}
"""
WITHOUT = """import sys
sys.modules["triton"] = sys.modules["torch"] = None
from triton_runner._cli import main
main()"""


def run(*arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_RUNNER")}
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, "exec", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean | {"TRITON_RUNNER_DEVICE": "cpu"},
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(PTX.format(REQNTID=".reqntid 32"))
    return path


def test_arguments_and_the_changes_in_json(file):
    arguments = "--grid 2 --arg f32[64]=iota --arg f32[64] --arg 2.5 --arg i32=60 --json"
    done = run(file, *arguments.split())
    assert done.returncode == 0, done.stdout
    result = json.loads(done.stdout)
    assert result["kernel"] == "scale" and result["level"] == "ptx" and result["device"] == "cpu"
    (changed,) = result["changed"]
    assert changed["name"] == "out" and changed["values"] == [2.5 * i if i < 60 else 0 for i in range(64)]


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
def test_files(file, tmp_path, suffix):
    saved = tmp_path / f"out.{suffix}"
    common = ("--grid", 2, "--arg", "f32=2", "--arg", 64)
    done = run(file, "--arg", "f32[64]=rand:3", "--arg", "f32[64]", *common, "--save", f"1={saved}")
    assert done.returncode == 0, done.stdout
    wanted = np.random.default_rng(3).standard_normal(64).astype(np.float32) * 2
    again = tmp_path / "again.npy"
    with_key = saved if suffix == "npy" else f"{saved}:out"
    done = run(file, "--arg", with_key, "--arg", "f32[64]", *common, "--save", f"1={again}")
    assert done.returncode == 0, done.stdout
    assert (np.load(again) == wanted * 2).all()


def test_safetensors_are_a_length_a_json_header_and_bytes(file, tmp_path):
    a, b = np.ones(64, np.float32), np.arange(64, dtype=np.float32)
    header = {"__metadata__": {"by": "hand"}} | {
        name: {"dtype": "F32", "shape": [64], "data_offsets": [at, at + 256]}
        for name, at in (("a", 0), ("b", 256))
    }
    text = json.dumps(header).encode()
    x, out = tmp_path / "x.safetensors", tmp_path / "y.safetensors"
    x.write_bytes(struct.pack("<Q", len(text)) + text + a.tobytes() + b.tobytes())
    common = ("--grid", 2, "--arg", "f32[64]", "--arg", 2.0, "--arg", 64)
    done = run(file, "--arg", f"{x}:b", *common, "--save", f"1={out}")
    assert done.returncode == 0, done.stdout
    data = out.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    assert size % 8 == 0
    assert json.loads(data[8 : 8 + size]) == {
        "out": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}
    }
    assert (np.frombuffer(data[8 + size :], np.float32) == b * 2).all()
    done = run(file, "--arg", x, *common)
    assert done.returncode == 2 and "arrays: a, b" in done.stdout, done.stdout


def test_a_block_that_the_text_does_not_say(tmp_path):
    path = tmp_path / "scale.ptx"
    path.write_text(PTX.format(REQNTID=""))
    arguments = ("--grid", 2, "--arg", "f32[64]=ones", "--arg", "f32[64]", "--arg", 3.0, "--arg", 64)
    done = run(path, *arguments)
    assert done.returncode == 2 and "threads a block" in done.stdout, done.stdout
    done = run(path, *arguments, "--block", 32, "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["changed"][0]["values"] == [3] * 64


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (
            ("--arg", "f32[64]", "--arg", "f32[32]", "--arg", "1.0", "--arg", "64"),
            1,
            "out of bounds in st.global.f32",
        ),
        (("--arg", "f32[64]", "--arg", "f32[64]", "--arg", "1.0"), 2, "arguments do not fit"),
        (("--arg", "f32[64]", "--arg", "f32[64]", "--arg", "1.0", "--arg", "i32=x"), 2, "is not an argument"),
        (
            ("--arg", "f32[64]", "--arg", "f32[64]", "--arg", "1.0", "--arg", "i8=300"),
            2,
            "is not a value of type i8",
        ),
        (("--arg", "f32[64]=what", "--arg", "f32[64]", "--arg", "1.0", "--arg", "64"), 2, "unknown contents"),
        (("--arg", "no.safetensors", "--arg", "f32[64]", "--arg", "1.0", "--arg", "64"), 2, "no.safetensors"),
        (
            ("--arg", "f32[64]", "--arg", "f32[64]", "--arg", "1.0", "--arg", "64", "--save", "2=x.npy"),
            2,
            "--save",
        ),
        (
            ("--arg", "f32[64]", "--arg", "f32[64]", "--arg", "1.0", "--arg", "64", "--level", "cubin"),
            2,
            "needs Triton",  # whose ptxas assembles it
        ),
    ],
)
def test_failures(file, arguments, status, words):
    done = run(file, "--grid", 2, *arguments)
    assert done.returncode == status and words in done.stdout, done.stdout
    assert "Traceback" not in done.stdout


def test_numbers_of_16_bits():
    from triton_runner._artifact.shell_arguments import parse_argument

    assert parse_argument("bf16=1.5") == ml_dtypes.bfloat16(1.5)
    assert parse_argument("f16=0.1").dtype == np.float16
    assert parse_argument("i64=-7").dtype == np.int64
    assert parse_argument("i32[2,3]=iota:5").tolist() == [[5, 6, 7], [8, 9, 10]]
