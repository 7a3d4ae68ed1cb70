"""Tests dumps at the front door: the table of a launch that traps, labels of loops, names that miss their
%."""

import json
import re
import runpy
import sys

import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402

# From 3.5 on, locations name the variable that a statement assigns to.
IR_NAMES_VARIABLES = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 5)


def command(*arguments):
    return warm.run(
        [sys.executable, "-W", "ignore", "-m", "triton_runner", "dump", "--device", "cpu", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip


TRAPPING = """
import torch, triton, triton.language as tl
import triton_runner

@triton_runner.jit
def scaled(x, y, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + offsets) * 2.0
    tl.store(y + offsets, value)

if __name__ == "__main__":
    scaled[(4,)](torch.full((128,), 1.5), torch.zeros(256), B=64)
"""


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_the_table_of_a_launch_that_traps(tmp_path, level):
    program = tmp_path / "trapping.py"
    program.write_text(TRAPPING)
    done = command("-v", "value", "--level", level, str(program))
    assert done.returncode == 1 and "out of bounds" in done.stderr, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "arith.mulf" in line]
    assert rows and all("3" in row for row in rows), done.stdout
    namespace = runpy.run_path(str(program), run_name="module")
    kernel = namespace["scaled"].warmup(torch.zeros(1), torch.zeros(1), B=64, grid=(1,))
    file = tmp_path / f"scaled.{level}"
    file.write_text(kernel.asm[level])
    args = ["--grid", "4", "--arg", "f32[128]=1.5", "--arg", "f32[256]"]
    selector = "add.f32" if level == "ptx" else "arith.mulf"
    (tmp_path / "scaled.json").write_text(
        triton_runner._base.metadata.as_path_or_text(kernel.metadata, "metadata")
    )
    done = command("-v", selector, "--json", *args, str(file))
    assert done.returncode == 1 and "out of bounds" in done.stderr, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{\n") :])
    assert "out of bounds" in found["stopped"]
    assert found["values"] and all(value["max"] == 3.0 for value in found["values"])


def test_nothing_recorded_of_a_program_that_fails(tmp_path):
    program = tmp_path / "failing.py"
    program.write_text("raise SystemExit(3)")
    done = command(str(program))
    assert done.returncode == 1 and "ended with status 3, and no launch was recorded" in done.stderr


PLAIN = """
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, c, K, N: tl.constexpr, B: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, B)
    row, col = i[:, None], i[None, :]
    acc = tl.zeros((N, N), tl.float32)
    A, B0 = a + row * K + k[None, :], b + k[:, None] * N + col
    for n in range(0, K, B): acc = tl.dot(tl.load(A + n), tl.load(B0 + n * N), acc)
    tl.store(c + row * N + col, acc)

a, b, c = torch.ones(64, 256).half(), torch.ones(256, 64).half(), torch.empty(64, 64)
product[(1,)](a, b, c, 256, N=64, B=64, num_stages=3)
"""


@pytest.mark.parametrize(
    "target, level, op", [("cuda:90", "ttir", "tt.dot"), ("cuda:90", "ttgir", "ttng.warp_group_dot")]
)
def test_a_loop_on_one_line(tmp_path, target, level, op):
    """The dump has what the loop computes, and not the addresses that the pipeliner puts behind it."""
    program = tmp_path / "plain.py"
    program.write_text(PLAIN)
    done = command("-v", "acc", "--target", target, "--level", level, "--json", str(program))
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["values"]
    assert {value["type"] for value in values} == {"f32"} and op in {value["op"] for value in values}, values
    assert all(value["max"] in (64.0 * n for n in range(5)) for value in values)


GLUON = """
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

@gluon.jit
def copy(in_ptr, out_ptr, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [4], [0]))
    x = gl.load(in_ptr + offsets)
    gl.store(out_ptr + offsets, x)

copy[(1,)](torch.arange(128.0), torch.zeros(128), BLOCK=128)
"""


@pytest.mark.parametrize("level", ["ptx", "llir"])
def test_plain_kernels_below_ttgir(tmp_path, level):
    program = tmp_path / "plain.py"
    program.write_text(PLAIN)
    done = command("-v", "acc", "--target", "cuda:80", "--level", level, "--json", str(program))
    assert done.returncode == 0, done.stderr
    assert 256.0 in [value["max"] for value in json.loads(done.stdout)["values"]]


def test_plain_gluon_below_ttgir(tmp_path):
    pytest.importorskip("triton.experimental.gluon")
    program = tmp_path / "gluon.py"
    program.write_text(GLUON)
    done = command("-v", "x", "--target", "cuda:80", "--level", "ptx", "--json", str(program))
    assert done.returncode == 0, done.stderr
    assert [value["max"] for value in json.loads(done.stdout)["values"]] == [127.0]


def test_options_stand_after_an_artifact_too(tmp_path):
    file = tmp_path / "copy.ttir"
    file.write_text("module { tt.func @copy(%x: !tt.ptr<f32>) { %v = tt.load %x : !tt.ptr<f32> tt.return } }")
    for words in (
        ("--grid", "1", "--arg", "f32[1]=3", str(file)),
        (str(file), "--grid", "1", "--arg", "f32[1]=3"),
    ):
        done = command("-v", "%v", "--json", *words)
        assert done.returncode == 0 and json.loads(done.stdout)["values"][0]["max"] == 3.0, done.stderr


@triton_runner.jit
def labelled(x, out, n, B: tl.constexpr):
    accum = tl.zeros((B,), tl.float32)
    other = tl.full((B,), 1.0, tl.float32)
    for dhwc in range(n):
        step = tl.load(x + dhwc)
        accum, other = other, accum + step * dhwc
    tl.store(out + tl.arange(0, B), accum - other)


@pytest.mark.skipif(not IR_NAMES_VARIABLES, reason="this release names no variables")
@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_variables_of_loops(level):
    x, out = torch.arange(4, dtype=torch.float32), torch.zeros(16)
    with triton_runner.dumping(labelled, "*", every_iteration=True, level=level) as d:
        labelled[(1,)](x, out, 4, B=16)
    loop = {value.name: value for value in d if value.op == "scf.for"}
    for name, value in loop.items():
        if "#" not in name:  # an argument of the loop: its name in the text is the variable's
            assert value.variable == name[1:].split("_")[0], loop
    [index] = [value for value in loop.values() if value.variable == "dhwc"]
    assert index.to_numpy().tolist() == [0, 1, 2, 3]
    results = {value.variable: value.to_numpy()[-1] for name, value in loop.items() if "#" in name}
    assert set(results) == {"accum", "other"}  # although each carries what the other was
    expected = ([0.0] * 16, [1.0] * 16)
    for i in range(4):
        expected = expected[1], [a + i * i for a in expected[0]]
    assert results["accum"].tolist() == expected[0] and results["other"].tolist() == expected[1]


@pytest.mark.parametrize("level", ["ttir", "ttgir", "ptx"])
def test_a_name_without_its_percent_sign(level):
    x, out = torch.arange(4, dtype=torch.float32), torch.zeros(16)
    with triton_runner.dumping(labelled, "*", level=level) as d:
        kernel = labelled[(1,)](x, out, 4, B=16)
    if level == "ptx":
        name = re.search(r"(%r\d+)", kernel.asm["ptx"])[1]
    else:
        name = next(value.name for value in d if not value.variable)
    with (
        pytest.raises(triton_runner.DiagnosticError, match=f"did you mean '{name}'"),
        triton_runner.dumping(labelled, name[1:], level=level),
    ):
        labelled[(1,)](x, out, 4, B=16)


def test_a_case_is_dumped_with_its_grid_and_arguments(tmp_path):
    program, case = tmp_path / "trapping.py", tmp_path / "x.trcase"
    program.write_text(TRAPPING.replace("(128,)", "(256,)"))
    warm.cli("bundle", "--no-report", "--no-passes", "--no-verify", "-o", str(case), str(program))
    done = command("-v", "arith.mulf", "--json", str(case))
    assert done.returncode == 0, done.stderr
    (value,) = json.loads(done.stdout)["values"]
    assert (value["records"], value["min"], value["max"]) == (4, 3.0, 3.0)
    done = command("--level", "ptx", "--json", str(case))
    values = json.loads(done.stdout)["values"]
    assert {value["level"] for value in values} == {"ptx"} and any(value["max"] == 3.0 for value in values)
    done = command("--grid", "4", str(case))
    assert done.returncode == 2 and "a case has its own grid and arguments" in done.stderr


@pytest.mark.parametrize("level", ["", "ptx", "cubin"])
def test_all_checks_are_those_of_the_level(level):
    from triton_runner import _settings

    named = _settings.using(check="all", level=level or None).settings().check.split(",")
    assert {"oob", "race", "overflow"} <= {*named}
    assert ("nanload" in named, "hazard" in named) == (level == "", level == "cubin")
    assert _settings.using(check="race,all", level=level or None).settings().check.startswith("race,")
