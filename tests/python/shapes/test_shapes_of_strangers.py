"""Tests verify --shapes as strangers met it: layouts that nothing tried, a loaded index, arguments that are
meant to be written to, NumPy's warnings, Ctrl-C."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner.verbs.verify.shapes.run import Options, verify_shapes

HEAD = """
import numpy, torch, triton, triton.language as tl

@triton.jit
def rows_kernel(x, out, stride, K, BLOCK: tl.constexpr):
    k = tl.arange(0, BLOCK)
    value = tl.load(x + tl.program_id(0).to(tl.int64) * stride + k, k < K, other=0)
    tl.store(out + tl.program_id(0), tl.sum(value))

@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)

def add_into(x, y, out):
    if x.numel():
        add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
"""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def verify(text: str, function: str, reference: str = "reference", most: int = 20, **options):
        (tmp_path / "program.py").write_text(HEAD + text)
        named = f"program.py:{reference}" if reference else ""
        return verify_shapes(f"program.py:{function}", (), Options(named, most=most, **options))

    return verify


def kinds(result) -> list[str]:
    return [found.fault.kind for found in result.faults]


# --- layouts

FLATTENED = """
def sums(x):
    m, n, k = x.shape
    if x.stride(-1) != 1 or 0 in x.stride():
        x = x.contiguous()
    out = torch.empty(m * n)
    if m * n:
        rows_kernel[(m * n,)](x, out, STRIDE, k, BLOCK=max(triton.next_power_of_2(k), 1))
    return out.view(m, n)

def reference(x):
    return x.sum(-1)

if __name__ == "__main__":
    x = torch.randn(3, 4, 50)
    assert torch.allclose(sums(x), reference(x), atol=1e-5)
"""


def test_rows_that_one_stride_finds_are_wrong_where_dimensions_are_exchanged_or_padded(judged):
    result = judged(FLATTENED.replace("STRIDE", "x.stride(-2)"), "sums", most=13, vary=("layouts",))
    assert result.verdict == "wrong" and {*kinds(result)} == {"result", "oob"}
    assert {tuple(found.layouts.values()) for found in result.faults} == {
        ("padded(1)",), ("transposed(0, 1)",)
    }  # fmt: skip
    assert all(sum(found.sizes.values()) <= 6 for found in result.faults)
    copied = FLATTENED.replace("STRIDE", "x.stride(-2)").replace(
        "if x.stride(-1) != 1 or 0 in x.stride()", "if True"
    )
    right = judged(copied, "sums", most=13, vary=("layouts",))
    assert right.verdict == "right"
    assert len({tuple(call.layouts.values()) for call in right.calls}) == 12


def test_a_storage_that_begins_before_the_tensor(judged):
    text = """
def total(x, y):
    x, y = (torch.as_strided(one, one.shape, one.stride(), 0) for one in (x, y))
    out = torch.empty(x.shape)
    add_into(x.contiguous(), y.contiguous(), out)
    return out

def reference(x, y):
    return x + y

if __name__ == "__main__":
    total(torch.randn(70), torch.randn(70))
"""
    result = judged(text, "total", vary=("layouts",))
    assert kinds(result) == ["result"] and next(iter(result.faults[0].layouts.values())) in (
        "offset",
        "misaligned",
    )


# --- arguments that are written to

WRITES = """
def NAME(xANNOTATION, y):
    if x.shape != y.shape:
        raise ValueError("other shapes")
    add_into(x, y.contiguous(), x)
    return RETURNED

def reference(x, y):
    return x + y

def reference_(x, y):
    x += y

if __name__ == "__main__":
    NAME(torch.ones(128), torch.ones(128))
"""


def writes(name: str, annotation: str = "", returned: str = "x + 0") -> str:
    return WRITES.replace("NAME", name).replace("ANNOTATION", annotation).replace("RETURNED", returned)


@pytest.mark.parametrize(
    ("name", "annotation", "dims", "returned", "reference"),
    [
        ("add_", "", (), "x", "reference"),
        ("add_", "", (), "None", "reference"),
        ("add_", "", (), "None", "reference_"),
        ("add_", "", (), "x", "reference_"),
        ("add", ': "inout"', (), "x + 0", "reference"),
        ("add", "", ("x=inout contiguous",), "x + 0", "reference_"),
        ("add", "", ("x=f32[M] contiguous inout", "y=f32[M]"), "x", "reference"),
    ],
)
def test_a_function_that_is_meant_to_write(judged, name, annotation, dims, returned, reference):
    annotation = annotation.replace("inout", "inout contiguous")
    text = writes(name, annotation, returned)
    dims = dims or (() if annotation else ("x=contiguous",))
    result = judged(text, name, reference, most=6, dims=dims)
    assert (result.verdict, kinds(result)) == ("right", [])
    assert "inout" in result.forms[0]["arguments"]["x"] or name == "add_"


def test_a_function_that_is_not_meant_to_is_told_how_to_say_so(judged):
    result = judged(writes("add"), "add", most=1)
    assert kinds(result) == ["writes"]
    assert "it writes to its argument 'x', and the reference does not" in result.faults[0].fault.message
    assert "--dims 'x=inout'" in result.faults[0].fault.message
    assert [hint.kind for hint in judged(writes("add"), "add", "", most=1).hints] == ["writes"]
    assert judged(writes("add_"), "add_", "", most=1).hints == []


def test_what_is_written_is_compared_too(judged):
    text = """
def step(state: "inout contiguous", x: "contiguous"):
    add_into(state, x, state)
    return x * 2

def reference(state, x):
    state += x * (1 if x.numel() != 129 else 3)
    return x * 2

if __name__ == "__main__":
    step(torch.ones(128), torch.ones(128))
"""
    result = judged(text, "step", most=20, vary=("sizes",))
    assert kinds(result) == ["result"] and result.faults[0].sizes == {"M": 129}
    assert "argument 'state'" in result.faults[0].fault.message
    idle = text.replace("    add_into(state, x, state)\n", "    add_into(state, x, x.clone())\n")
    assert kinds(judged(idle, "step", most=1)) == ["result"]


# --- an index that is loaded

TABLE = """
@triton.jit
def table_kernel(table, index, out, N, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    number = tl.load(index + row)CAST
    tl.store(out + row * N + at, tl.load(table + number * N + at, at < N), at < N)

def lookup(table, indexMORE):
    if not (table.is_contiguous() and index.is_contiguous()):
        raise ValueError("contiguous")
    rows, N = index.shape[0], table.shape[1]
    out = torch.empty(rows, N, dtype=table.dtype)
    if out.numel():
        table_kernel[(rows,)](table, index, out, N, BLOCK=triton.next_power_of_2(N))
    return out

if __name__ == "__main__":
    lookup(torch.randn(100, 64), torch.randint(0, 100, (8,), dtype=torch.int32)GIVEN)
"""


def lookup(cast: str = "", more: str = "", given: str = "") -> str:
    return TABLE.replace("CAST", cast).replace("MORE", more).replace("GIVEN", given)


OFFSETS = ", offsets", ", torch.tensor([0, 3, 8])"


@pytest.mark.parametrize("more", [("", ""), OFFSETS])
def test_a_loaded_index_overflows(judged, more):
    declared = ("V=1..3000000000", "table=f16[V, 64]", "index=i32[M] in 0..V")
    asked = {"vary": ("huge",)} if more[0] == "" else {"dims": declared, "vary": ("huge",)}
    wrong = judged(lookup("", *more), "lookup", "", most=4, **asked)
    assert wrong.verdict == "wrong" and {*kinds(wrong)} <= {"overflow", "oob"}
    assert "ghosts" in wrong.faults[0].case and wrong.faults[0].fault.line
    right = judged(lookup(".to(tl.int64)", *more), "lookup", "", most=4, **asked)
    assert (right.verdict, kinds(right)) == ("no fault found", []) and any(call.huge for call in right.calls)


def test_offsets_and_a_declared_range_need_no_word(judged):
    declared = ("V=1..40000000", "table=f16[V, 64]", "index=i32[M] in 0..V")
    result = judged(lookup("", *OFFSETS), "lookup", "", most=6, dims=declared)
    assert result.verdict == "wrong" and {*kinds(result)} <= {"overflow", "oob"}
    assert not result.forms[0]["frozen"] and "M = 8" in result.forms[0]["sizes"].values()


# --- the command line

LOUD = """
def add(x, y):
    out = torch.empty(x.shape)
    numpy.exp(numpy.float32(1e30)), numpy.log(x.numpy()), numpy.float64(1e300) * numpy.float32(1e38) ** 9
    add_into(x.contiguous(), y.contiguous(), out)
    return out

def reference(x, y):
    numpy.log(x.numpy() - x.numpy())
    return x + y

if __name__ == "__main__":
    with numpy.errstate(all="ignore"):
        add(torch.ones(128), torch.ones(128))
"""


def triton_runner(*words, cwd, **more):
    environment = {**os.environ, "PYTHONWARNINGS": "default"}
    command = [sys.executable, "-m", "triton_runner", *words]
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **more)  # fmt: skip


def test_warnings_of_numpy_stay_inside(tmp_path):
    (tmp_path / "program.py").write_text(HEAD + LOUD)
    words = ["verify", "--shapes", "--cases", "30", "--json", "--reference", "program.py:reference"]
    process = triton_runner(*words, "program.py:add", cwd=tmp_path)
    out, errors = process.communicate(timeout=300)
    assert json.loads(out)["verdict"] == "right" and "RuntimeWarning" not in errors, errors


# A shell that starts a job in the background has it ignore SIGINT, and so do the job's children.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def add(x, y):
    out = torch.empty(x.shape)
    add_into(x.contiguous(), y.contiguous(), out)
    print("CALL", file=sys.stderr, flush=True)
    time.sleep(WAIT)
    return out

def reference(x, y):
    return x + y

if __name__ == "__main__":
    add(torch.ones(128), torch.ones(128))
"""


@pytest.mark.parametrize("call", [1, 2, 5])  # of the program itself, the first of ours, a later one
@pytest.mark.parametrize("wait", ["0.2", "0"])
def test_ctrl_c_ends_it_at_once(tmp_path, call, wait):
    (tmp_path / "program.py").write_text(HEAD + SLOW.replace("WAIT", wait))
    words = ["verify", "--shapes", "--reference", "program.py:reference", "program.py:add"]
    process = triton_runner(*words, cwd=tmp_path, start_new_session=True)
    try:
        seen = 0
        while seen < call:
            line = process.stderr.readline()
            assert line, "it ended before"
            seen += line == "CALL\n"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        started = time.monotonic()
        out, errors = process.communicate(timeout=60)
        took = time.monotonic() - started
    finally:
        process.kill()
    assert process.returncode == 130 and out == ""
    assert re.sub(r"CALL\n", "", errors) == "interrupted\n"
    assert took < 20  # half a second on an idle machine


# --- one name

PAGES = pathlib.Path(__file__).parents[3] / "doc"


def test_families_have_one_name_everywhere():
    from triton_runner.verbs.verify.shapes import cases, layouts
    from triton_runner.verbs.verify.shapes.results import Called

    guide, reference = ((PAGES / part / "shapes.md").read_text() for part in ("guide", "reference"))
    for family in cases.FAMILIES:
        assert f"`{family}`" in guide, family
        assert f"| {family} |" in reference, family
    assert f"--vary {','.join(cases.FAMILIES)}" in reference
    assert {"sizes", "layouts", "values", "dtypes", "huge"} <= {*Called.__dataclass_fields__}
    for word in layouts.WORDS:
        assert re.search(rf"\| `{word}[(`]", reference), word
