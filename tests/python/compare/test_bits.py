"""Tests triton-runner bits: classes of equal bits, where two of them part, and why."""

import json
import pathlib
import re

import pytest
import warm

pytest.importorskip("torch")
pytest.importorskip("triton")
from planted import bits as planted
from triton_runner.verbs.bits import why

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = str(ROOT / "examples" / "guide" / "bits.py")
# A few of each kind; tests/planted/bits.py runs all.
CHOSEN = (
    "sum of two, by block", "axpy, by fusion", "rounded product, by fusion", "associated otherwise",
    "f32 or f16", "row of squares, by fusion", "row maximum, by warps", "cumsum, by layout", "loop, by block",
    "f16 product, by K", "f32 product, by precision", "split product", "split product, by order",
    "atomic maxima, by order", "sums under a lock, by order", "sums stored by TMA, by fusion",
)  # fmt: skip
HEAD = """
import torch, triton, triton.language as tl
DEVICE = triton.runtime.driver.active.get_active_torch_device()
"""


@pytest.mark.parametrize("row", [row for row in planted.ROWS if row.name in CHOSEN], ids=lambda row: row.name)
def test_classes_and_causes_that_are_known(row):
    assert planted.judged(row, planted.measured(row)) == ""


def test_the_names_of_chosen_rows_are_those_of_rows():
    assert {*CHOSEN} <= {row.name for row in planted.ROWS}
    assert {cause for row in planted.ROWS for cause in row.causes} <= {*why.CAUSES}


def bits(*words) -> tuple[int, str]:
    done = warm.invoke("bits", *words)
    assert isinstance(done.exception, SystemExit | None), done.exception
    return done.exit_code, done.output


def lines_of(path: str) -> list[str]:
    return pathlib.Path(path).read_text().splitlines()


def as_json(*words) -> dict:
    status, text = bits("--json", *words)
    assert status in (0, 1, 125), text
    return json.loads(text)


def test_a_line_and_its_instructions_show_a_contraction():
    result = as_json("--fusion", EXAMPLE)
    (parting,) = result["launches"][0]["partings"]
    first = parting["origins"][0]
    line = next(i for i, text in enumerate(lines_of(EXAMPLE), 1) if "+ 1.0" in text)
    assert (first["cause"], first["line"], first["op"]) == ("contraction", line, "arith.addf")
    assert re.search(r"8 fma\.rn\.f32 \| 8 add\.rn\.f32, 8 mul\.rn\.f32", first["evidence"])
    assert parting["is_rounding"] and parting["classes"] == ["A", "B"]


def test_the_first_rows_of_batches_of_other_sizes():
    (launch,) = as_json("--invariant", "M", EXAMPLE)["launches"]
    classes = {row["options"]["rows"]: row["bits"] for row in launch["rows"]}
    assert classes == {20: "A", 1: "A", 2: "A", 3: "A", 7: "B", 10: "B", 16: "A", 19: "A"}
    assert launch["partings"][0]["origins"][0]["cause"] == "order of a reduction"
    assert launch["kernel"] == "rms_norm"
    named = as_json("--invariant", "x.0", f"{EXAMPLE}:rms_norm")
    assert [row["bits"] for row in named["launches"][0]["rows"]] == [row["bits"] for row in launch["rows"]]


KERNEL = ("--arg", "f32[6,500]=rand", "--arg", "f32[500]=rand", "--arg", "f32[6,500]", "--arg", "500")


def test_a_kernel_with_arguments(tmp_path):
    words = (f"{EXAMPLE}:norm", *KERNEL, "-c", "BLOCK=512", "--grid", "6")
    launch = as_json("--configs", "num_warps=1,4", *words)["launches"][0]
    assert [row["bits"] for row in launch["rows"]] == ["A", "B"] and launch["grid"] == [6, 1, 1]
    status, text = bits("--configs", "num_warps=4;num_stages=1,2", *words)
    assert status == 0 and "1 class of equal bits among 2 configurations" in text


AFTER = """
@triton.autotune(configs=[triton.Config({}, num_warps=n) for n in (1, 4)], key=["n"])
@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    values = tl.load(x + row * n + tl.arange(0, BLOCK))
    tl.atomic_add(out + row, tl.sum(values, 0))

torch.manual_seed(0)
x, out = torch.randn(16, 1024, device=DEVICE), torch.zeros(16, device=DEVICE)
total[(16,)](x, out, 1024, BLOCK=1024)
torch.testing.assert_close(out, x.sum(1), rtol=1e-4, atol=1e-4)
print("went on")
"""


def test_the_program_goes_on_as_if_nobody_had_looked(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + AFTER)
    status, text = bits(program)
    assert status == 1 and "went on" in text and "2 classes of equal bits among 4 configurations" in text


SOFTMAX = """
@triton.jit
def softmax(x, out, n, B: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, B)
    value = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * n + at, value / tl.sum(value, 0), mask=at < n)

torch.manual_seed(0)
x, out = torch.randn(4, 200, device=DEVICE), torch.zeros(4, 200, device=DEVICE)
softmax[(4,)](x, out, 200, B=256)
"""


def test_where_targets_of_amd_part(tmp_path):
    """The store goes through a buffer, and values of the TTGIR are found in AMDGCN."""
    program = tmp_path / "program.py"
    program.write_text(HEAD + SOFTMAX)
    (launch,) = as_json("--targets", "hip:gfx942,hip:gfx1100", program)["launches"]
    assert [row["bits"] for row in launch["rows"]] == ["A", "B"]
    first = launch["partings"][0]["origins"][0]
    line = next(i for i, text in enumerate(lines_of(program), 1) if "tl.sum" in text)
    assert (first["cause"], first["line"], first["op"]) == ("order of a reduction", line, "tt.reduce")


def test_a_static_class_has_one_number_and_one_class(tmp_path):
    words = (f"{EXAMPLE}:norm", *KERNEL, "-c", "BLOCK=512", "--grid", "6")
    (launch,) = as_json("--configs", "num_warps=2;num_stages=1,3", "--fusion", *words)["launches"]
    rows = [(row["code"], row["bits"]) for row in launch["rows"]]
    assert rows == [(1, "A"), (2, "B"), (1, "A"), (2, "B")] and launch["contradictions"] == []


def test_a_target_without_the_level_of_the_others(tmp_path):
    words = (f"{EXAMPLE}:norm", *KERNEL, "-c", "BLOCK=512", "--grid", "6")
    _, text = bits("--targets", "cuda:90,hip:gfx942", *words)
    assert "among 1 configurations" in text and "(not run: hip:gfx942 has no level ptx)" in text


def test_a_case_and_a_program_without_launches(tmp_path):
    case = tmp_path / "x.trcase"
    done = warm.invoke("bundle", "--no-passes", "--no-report", "--no-verify", "-o", case, EXAMPLE)
    assert done.exit_code == 0, done.output
    launch = as_json("--configs", "num_warps=1,4", case)["launches"][0]
    assert [row["bits"] for row in launch["rows"]] == ["A", "B"]
    (tmp_path / "empty.py").write_text("print('nothing')\n")
    assert bits(tmp_path / "empty.py")[0] == 125


def test_what_cannot_be_cut(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(HEAD + AFTER)
    assert "outside of any function" in bits("--invariant", "M", program)[1]
    status, text = bits("--invariant", "rows", f"{EXAMPLE}:rms_norm")
    assert (
        status == 1 and "rms_norm has no number of that name" in text and "its numbers: M, n, warps" in text
    )
    square = f"{EXAMPLE}:norm --arg f32[64,64] --arg f32[64] --arg f32[64,64] --arg 64".split()
    status, text = bits("--invariant", "n", *square, "-c", "BLOCK=64", "--grid", "64")
    assert status == 2 and "x has 2 dimensions of 64" in text and "--invariant x.0" in text
    status, text = bits("--invariant", "x.5", *square, "-c", "BLOCK=64", "--grid", "64")
    assert status == 2 and "norm has no such dimension" in text
