"""Tests verify --shapes: what a function takes, which calls are tried, what is found, and how small it
gets."""

import dataclasses
import itertools
import json
import re
from typing import Annotated

import numpy as np
import pytest
import warm

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
from test_results import faults_of  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402
from triton_runner._base.typed import schema  # noqa: E402
from triton_runner.testing import dims  # noqa: E402
from triton_runner.verbs.verify.shapes import cases, compared, declared, inputs, layouts  # noqa: E402
from triton_runner.verbs.verify.shapes.calls import Recorder  # noqa: E402
from triton_runner.verbs.verify.shapes.domain import Kept, Number, Stride, expression, size_of  # noqa: E402
from triton_runner.verbs.verify.shapes.generalised import domains, moderate  # noqa: E402
from triton_runner.verbs.verify.shapes.results import Shapes  # noqa: E402
from triton_runner.verbs.verify.shapes.run import Options, verify_shapes  # noqa: E402

HEAD = """
import torch, triton, triton.language as tl
from triton_runner.testing import dims

@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)

def double(x):
    if x.dim() != 1:
        raise ValueError("not a vector")
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out

def contiguous(x):
    return double(x.contiguous())

def reference(x):
    return x * 2
"""
MAIN = """
if __name__ == "__main__":
    assert torch.equal(double(torch.ones(128)), 2 * torch.ones(128))
    contiguous(torch.randn(128))
"""


@pytest.fixture
def judged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def verify(text: str, function: str, reference: str = "reference", most: int = 25, **options):
        (tmp_path / "program.py").write_text(HEAD + text + MAIN)
        named = f"program.py:{reference}" if reference else ""
        return verify_shapes(f"program.py:{function}", (), Options(named, most=most, **options))

    return verify


def kinds(result) -> list[str]:
    return [found.fault.kind for found in result.faults]


# --- what a function takes


def recorded(tmp_path, text: str, name: str = "f"):
    path = tmp_path / "calls.py"
    path.write_text("import torch\n" + text)
    with Recorder(str(path), name) as recorder:
        exec(compile(path.read_text(), str(path), "exec"), {})
    return recorder.calls


def test_dimensions_that_are_equal_in_all_calls_are_one_size(tmp_path):
    calls = recorded(
        tmp_path,
        "def f(a, b, n, flag=True): pass\n"
        "f(torch.ones(4, 8), torch.ones(8, 4), 8)\nf(torch.ones(4, 16), torch.ones(16, 4), 16)\n"
        "f(torch.ones(4, 16), torch.ones(16, 4), 16)\n",
    )
    assert len(calls) == 2
    (domain,) = domains(calls, True)
    a, b = domain.tensors().values()
    assert (a.dims, b.dims) == (("M", "n"), ("n", "M"))
    assert (domain.arguments["n"], domain.arguments["flag"]) == (Number("n"), Kept(True))
    assert domain.usual == {"M": 4, "n": 8}


def test_numbers_that_are_strides_follow_them_and_blocks_stay(tmp_path):
    text = "def f(x, stride, BLOCK): pass\nf(torch.ones(6, 10)[:, :7], 10, 7)\n"
    (domain,) = domains(recorded(tmp_path, text), True)
    assert domain.arguments["stride"] == Stride("x", 0)
    assert domain.arguments["BLOCK"] == Kept(7)


def test_a_multiple_stays_one_unless_a_reference_refuses(tmp_path):
    calls = recorded(tmp_path, "def f(x, y): pass\nf(torch.ones(5), torch.ones(20))\n")
    assert domains(calls, False)[0].tensors()["y"].dims == ("4 * M",)
    assert domains(calls, True)[0].tensors()["y"].dims == ("N",)


def test_indices_stay_indices_and_offsets_keep_the_sizes(tmp_path):
    text = (
        "def f(x, index, starts=None): pass\n"
        "f(torch.ones(9, 100), torch.tensor([0, 8, 3]))\n"
        "f(torch.ones(9, 100), torch.tensor([0, 8, 3]), torch.tensor([0, 4, 9]))\n"
    )
    plain, ragged = domains(recorded(tmp_path, text), True)
    values = plain.tensors()["index"].values
    assert (values.low, values.high) == ("0", "M")
    assert not plain.frozen and ragged.frozen
    made = inputs.made(ragged, cases.Case(ragged.usual), 0)
    assert made.tensors["starts"].tolist() == [0, 4, 9]


VARLEN = "def f(x, starts, longest): pass\nf(torch.ones(30, 8), torch.tensor([0, 7, 7, 20, 30]), 13)\n"


def of_case(domain, **sizes):
    return inputs.made(domain, cases.Case({**domain.usual, **sizes}), 0)


def test_offsets_freeze_no_size_that_is_declared(tmp_path):
    (known,) = domains(recorded(tmp_path, VARLEN), True)
    assert known.frozen and str(known.arguments["longest"]) == "the longest part of starts"

    def f(x, starts, longest):
        pass

    domain = declared.domain(f, {"N": (1, 5000)}, known, "cpu")
    assert not domain.frozen and domain.declared and domain.fits({**domain.usual, "N": 4096})
    assert not domain.fits({**domain.usual, "M": 31})
    kept = of_case(domain, N=3)
    assert kept.tensors["x"].shape == (30, 3) and kept.positional[2] == 13
    assert kept.tensors["starts"].tolist() == [0, 7, 7, 20, 30]
    moving = of_case(declared.domain(f, {"M": (1, 5000)}, known, "cpu"), M=900)  # the end is the size M
    starts = moving.tensors["starts"]
    assert (starts[0], starts[-1], len(starts)) == (0, 900, 5) and starts.diff().min() >= 0
    assert moving.positional[2] == starts.diff().max()


@pytest.mark.parametrize(
    ("data", "values", "of_another_size"),
    [
        ("torch.arange(9)", "in 0..M counting", [0, 1, 2, 3]),
        ("torch.tensor([3, 1, 0, 2, 4, 8, 7, 6, 5])", "in 0..M distinct", None),
        ("torch.tensor([5, -1, 3, 3, 0, 2, 1, 7, 5])", "in 0..M or -1", None),
        ("torch.tensor([5, -1, 3, -1, 0, 2, 1, 7, 6])", "in 0..M or -1 distinct", None),
        ("torch.tensor([3, 3, 1, 0, 5, 7, 2, 2, 1])", "in 0..M", None),
    ],
)
def test_integers_stay_what_they_were(data, values, of_another_size, tmp_path):
    text = f"def f(x, index): pass\nf(torch.ones(9, 100), {data})\n"
    (domain,) = domains(recorded(tmp_path, text), True)
    assert str(domain.arguments["index"]) == f"i64|i32[M] {values}" and not domain.frozen
    four = of_case(domain, M=4).tensors["index"].tolist()
    assert of_another_size is None or four == of_another_size
    big = of_case(domain, M=200).tensors["index"]
    assert big.min() >= -1 and big.max() < 200 and ("or -1" in values) == (-1 in big.tolist())
    counted = big[big >= 0]
    assert ("distinct" in values or "counting" in values) == (len(counted.unique()) == len(counted))
    if "distinct" not in values:
        assert (big[0] == 0 or "counting" in values) and big[-1] == 199  # both ends


def test_huge_cases_of_squares_and_of_several_ranges():
    def f(x, index):
        pass

    def first(*texts, is_any=False):
        domain = declared.domain(f, declared.of_texts(texts), None, "cpu")
        drawn = cases.cases([domain], ("huge",), 0, cases.Tried(), is_any)
        return [case.sizes for case in itertools.islice(drawn, 9) if case.huge]

    assert first("x=f32[M, 16 * M]", "index=i32[N]") == []  # nobody declares a range
    (square,) = first("x=f32[M, 16 * M]", "index=i32[N]", is_any=True)[:1]
    assert 2**31 < 16 * square["M"] ** 2 < 2**33
    both = first("V=1..3000000", "N=1..4096", "x=f32[V, N]", "index=i32[M] in 0..V")[-1]
    assert both == {"V": 3000000, "N": 4096, "M": 64}
    assert first("V=1..3000", "N=1..4096", "x=f32[V, N]", "index=i32[8] in 0..V") == []


def test_indices_of_huge_tensors_come_from_both_ends():
    def f(table, index):
        pass

    domain = declared.domain(f, {"table": "f16[V, N]", "index": "i32[M] in 0..V"}, None, "cpu")
    huge = cases.Case({"V": 1 << 26, "N": 64, "M": 10}, huge=True)
    index = inputs.made(domain, huge, 0).tensors["index"]
    assert not hasattr(index, "ghost") and index[-1] == (1 << 26) - 1 and index[-2] == 0
    long = cases.Case({"V": 1 << 26, "N": 4, "M": 1 << 25}, huge=True)
    last = inputs.made(domain, long, 0).tensors["index"][-4:].clone()
    assert [int(number) for number in last] == [1, (1 << 26) - 2, 0, (1 << 26) - 1]
    narrow = declared.domain(f, {"table": "f16[V]", "index": "i32[M] in 0..V"}, None, "cpu")
    far = cases.Case({"V": 1 << 32, "M": 10}, huge=True)  # what 32 bits do not count is no index of them
    assert inputs.made(narrow, far, 0).tensors["index"].max() == (1 << 31) - 1


def test_forms_of_calls_and_methods(tmp_path):
    text = (
        "class A:\n    @staticmethod\n    def f(x, *more, bias=None, **named): pass\n"
        "A.f(torch.ones(5))\nA.f(torch.ones(6), torch.ones(6), 1, bias=torch.ones(6), scale=2.0)\n"
    )
    forms = domains(recorded(tmp_path, text, "A.f"), True)
    assert len(forms) == 2
    made = inputs.made(forms[1], cases.Case({"M": 3}), 0)
    assert [len(value) if hasattr(value, "shape") else value for value in made.positional] == [3, 3, 1]
    assert len(made.named["bias"]) == 3 and made.named["scale"] == 2.0


def test_declarations():
    index = "i64[M] in 0..N"

    @dims(M=(0, 50), N=[16, 32], x="f16|f32[M, 2 * N] contiguous in 0..1", n="M * N")
    def f(x, index: index, n, w: Annotated[torch.Tensor, "float[N] finite"], eps=1e-5):
        pass

    domain = declared.domain(f, declared.of_function(f), None, "cpu")
    x, _, w = domain.tensors().values()
    assert x.dtypes == ("f16", "f32") and x.contiguous and (x.values.low, x.values.high) == ("0", "1")
    assert w.dtypes == ("f32", "f16", "bf16") and w.values.is_finite
    assert domain.fits({"M": 50, "N": 32}) and not domain.fits({"M": 51, "N": 32})
    assert not domain.fits({"M": 1, "N": 17}) and domain.declared
    assert not index_of_nothing().fits({"M": 1, "N": 0}) and index_of_nothing().fits({"M": 0, "N": 0})
    made = inputs.made(domain, cases.Case({"M": 3, "N": 16}), 0)
    assert [*made.positional[0].shape] == [3, 32] and made.positional[2:3] == [48]
    assert made.tensors["index"].max() < 16 and domain.arguments["eps"] == Kept(1e-5)


def index_of_nothing():
    def f(x, index):
        pass

    return declared.domain(f, {"x": "f32[N]", "index": "i64[M] in 0..N"}, None, "cpu")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": "f99[M]"}, "is not a tensor"),
        ({"x": "f32[M; N]"}, "is not a size"),
        ({"x": "f32[M] round"}, "unknown word 'round'"),
        ({"x": "f32[M]", "M": (5, 1)}, "is not a range"),
        ({"x": "inout"}, "takes as 'x'"),
        ({"x": "f32[M]", "M": 5}, "expected a range"),
        ({"x": "f32[M]", "K": (0, 5)}, "the size 'K' is declared"),
        ({"y": "f32[M]"}, "'y' is declared"),
        ({}, "nothing says what"),
    ],
)
def test_declarations_that_say_nothing(given, message):
    def f(x):
        pass

    with pytest.raises(DiagnosticError, match=re.escape(message)):
        declared.domain(f, given, None, "cpu")


def test_texts_of_options():
    assert declared.of_texts(["M=0..50", "N=16,32", "x=f32[M, N]"]) == {
        "M": (0, 50), "N": [16, 32], "x": "f32[M, N]"
    }  # fmt: skip
    with pytest.raises(DiagnosticError, match="expected NAME="):
        declared.of_texts(["50"])
    assert declared.of_texts(["x=f32[M]", "x=inout"]) == {"x": "f32[M] inout"}
    assert declared.of_texts(["x=inout", "x=in 0..5 or -1"]) == {"x": "inout in 0..5 or -1"}


def test_words_are_added_to_what_else_is_known(tmp_path):
    def f(x: Annotated[torch.Tensor, "inout"], y: Annotated[torch.Tensor, "f32[M] inout"], more):
        pass

    f.__annotations__["more"] = "contiguous finite"

    said = declared.together(declared.of_function(f), declared.of_texts(["y=aligned", "M=1..9"]))
    text = "def f(x, y, more): pass\nf(torch.ones(5), torch.ones(5), [torch.ones(5), torch.ones(5)])\n"
    (known,) = domains(recorded(tmp_path, text), True)
    x, y, *more = declared.domain(f, said, known, "cpu").tensors().values()
    assert (x.inout, x.dtypes, y.inout, y.aligned) == (True, ("f32", "f16", "bf16"), True, True)
    assert len(more) == 2 and all(one.contiguous and one.values.is_finite and not one.inout for one in more)


def test_sizes_are_computed_and_nothing_else():
    assert size_of("cdiv(M, 4) + min(2 * N, 7) % 5 - 1", {"M": 9, "N": 2}) == 6
    for text in ("__import__('os')", "M.x", "M if N else 1", "open(M)", "[M]"):
        with pytest.raises(DiagnosticError):
            expression(text)


# --- calls


@pytest.mark.parametrize(
    ("layout", "strides", "offset"),
    [("", (5, 1), 0), ("strided", (10, 2), 0), ("padded(1)", (8, 1), 0), ("transposed(0, 1)", (1, 4), 0),
     ("expanded(0)", (0, 1), 0), ("expanded(1)", (1, 0), 0), ("misaligned", (5, 1), 2),
     ("offset", (5, 1), 64)],
)  # fmt: skip
def test_layouts(layout, strides, offset, tmp_path):
    (domain,) = domains(
        recorded(tmp_path, "def f(x): pass\nf(torch.ones(4, 5, dtype=torch.float16))\n"), True
    )
    made = inputs.made(domain, cases.Case(domain.usual, {"x": layout} if layout else {}), 0).tensors["x"]
    assert (made.stride(), made.storage_offset()) == (strides, offset)
    assert not made.isnan().any()
    if not layout.startswith("expanded"):
        plain = inputs.made(domain, cases.Case(domain.usual), 0).tensors["x"]
        assert torch.equal(made, plain)


def tensor_of(text: str, **more):
    return dataclasses.replace(declared.tensor("x", text, "cpu"), **more)


def test_layouts_of_every_pair_and_every_dimension():
    shape = (2, 3, 4, 5)
    found = layouts.layouts_of(tensor_of("f32[2, 3, 4, 5]"), shape, False)
    transposed = {text for text in found if text.startswith("transposed")}
    assert transposed == {f"transposed({i}, {j})" for i in range(4) for j in range(i + 1, 4)}
    assert {"padded(1)", "padded(2)", "padded(3)", "expanded(0)", "expanded(3)", "strided"} <= {*found}
    assert {"offset", "misaligned"} <= {*found} and "padded(0)" not in found
    first = {layouts.parsed(text)[0] for text in found[:6]}
    assert first == {*layouts.WORDS}  # each word once, before any has its turn again
    memory = set()
    for text in found:
        strides, offset = layouts.laid_out(tensor_of("f32[2, 3, 4, 5]"), shape, text, 4)
        numbers = offset + sum(s * i for s, i in zip(strides, np.indices(shape), strict=True))
        assert "expanded" in text or len(np.unique(numbers)) == 120, text
        memory.add((strides, offset))
    assert len(memory) == len(found)  # no two are the same
    assert not any("expanded" in text for text in layouts.layouts_of(tensor_of("f32[2, 3]"), (2, 3), True))
    assert layouts.layouts_of(tensor_of("f32[2, 3] contiguous aligned"), (2, 3), False) == ["offset"]
    turned = tensor_of("f32[2, 3]", order=(1, 0))  # as of x.T: its exchange is the order of the shape
    assert layouts.laid_out(turned, (2, 3), "", 4)[0] == (1, 2)
    assert layouts.laid_out(turned, (2, 3), "transposed(0, 1)", 4)[0] == (3, 1)


def tries(domain, most: int, refused=lambda text: False, families=cases.FAMILIES[:4]) -> list:
    tried, seen = cases.Tried(), []
    for case in itertools.islice(cases.cases([domain], families, 0, tried), most):
        seen.append(case)
        if refused(str(case)):
            tried.unjudged.add(str(case))
    return seen


@pytest.mark.parametrize("group", [2, 32, 128])
def test_a_size_that_has_to_be_a_multiple(group):
    def f(x):
        pass

    def sizes(refused, **more):
        domain = declared.domain(f, {"x": "f32[M, N]", **more}, None, "cpu")
        return [case.sizes["N"] for case in tries(domain, 40, refused)]

    def refuses(text):
        return int(re.search(r"N=(\d+)", text)[1]) % group > 0

    tried = {n for n in sizes(refuses) if n % group == 0}
    assert any(n // group % 2 and n > group for n in tried) and len(tried) > 3
    fixed = sizes(lambda text: "N=64" not in text)  # no multiple helps
    assert len([n for n in {*fixed} if n > 2000]) < 4
    small = sizes(lambda text: "N=1," in text or "N=0" in text)  # these two alone
    assert 65 in small and 37 in small


def test_sixty_calls_try_every_layout_of_each_tensor():
    def f(x, y):
        pass

    domain = declared.domain(f, {"x": "f32[M, N, K]", "y": "f32[M, N, K]"}, None, "cpu")
    wanted = {*layouts.layouts_of(domain.tensors()["x"], (64, 64, 64), False)}
    for path in ("x", "y"):
        assert {case.layouts.get(path) for case in tries(domain, 60)} >= wanted, path
    together = [case.layouts for case in tries(domain, 60) if len(case.layouts) == 2]
    assert all(those["x"] != those["y"] for those in together[: len(wanted)])
    # A function that refuses y as soon as it is strided or transposed is called with each layout of x too.
    seen = tries(domain, 60, lambda text: "y strided" in text or "y transposed" in text)
    accepted = [case for case in seen if not {"strided", "transposed"} & {case.layouts.get("y", "")[:10], ""}]
    assert {
        case.layouts.get("x") for case in accepted if not case.layouts.get("y", "").startswith("tr")
    } >= wanted


def test_cases_are_the_same_each_time_and_begin_alike(tmp_path):
    text = "def f(x, y): pass\nf(torch.ones(64, 32), torch.ones(32))\n"
    drawn = []
    for _ in range(2):
        forms = [moderate(one, 1 << 20) for one in domains(recorded(tmp_path, text), True)]
        stream = cases.cases(forms, cases.FAMILIES[:4], 0, cases.Tried())
        drawn.append([str(next(stream)) for _ in range(120)])
    assert drawn[0] == drawn[1] and len({*drawn[0]}) == 120
    first = drawn[0][:40]
    assert "M=64, N=32, x strided, y offset" in first
    assert first[0] == "M=64, N=32" and "M=64, N=32, called again" in first
    assert {"M=1, N=32", "M=64, N=33", "M=0, N=32", "M=64, N=32, f16"} <= {*first}
    assert any("NaN" in text for text in first)


def test_comparison_by_the_table_then_by_opinions():
    want = np.float32([1000, 1, 2])
    near, far = want + np.float32([0.01, 0, 0]), want + np.float32([0, 0.5, 0])
    opinions = compared.Opinions({"f32"}, lambda: None, lambda: [])
    assert compared.compare({"r": want}, {"r": near}, opinions) is None
    assert "element [1] is 1.5 and should be 1" in compared.compare({"r": want}, {"r": far}, opinions).text
    exact = compared.Opinions({"f32"}, lambda: {"r": np.float64([1000, 1.4, 2])}, lambda: [])
    assert compared.compare({"r": want}, {"r": far}, exact) is None
    masked = np.float32([-np.inf, 1e30])  # what is to be infinite is no overflow
    infinite = compared.Opinions({"f32"}, lambda: {"r": masked.astype(np.float64)}, list)
    text = compared.compare({"r": masked}, {"r": np.float32([0, 1e30])}, infinite).text
    assert "element [0] is 0 and should be -inf" in text
    assert compared.compare({"r": masked}, {"r": masked}, infinite) is None
    moved = compared.Opinions({"f32"}, lambda: None, lambda: [{"r": far + np.float32([0, 0.4, 0])}])
    assert compared.compare({"r": want}, {"r": far}, moved) is None
    assert "the shape (3,)" in compared.compare({"r": want[:2]}, {"r": want}, opinions).text
    lost = compared.compare({"r": np.float32([np.nan])}, {"r": np.float32([0])}, opinions).text
    assert "should be nan" in lost


# --- functions


def test_a_right_function(judged):
    result = judged("", "contiguous")
    assert (result.verdict, result.status, kinds(result), result.hints) == ("right", 0, [], [])
    assert result.forms[0]["arguments"] == {"x": "f32|f16|bf16[M]"}
    assert {call.state for call in result.calls} == {"right"}
    data = json.loads(json.dumps(result.to_dict()))
    assert data["reference"] == "program.py:reference" and faults_of(data, schema(Shapes)) == []


def test_contiguous_strides_that_are_not_so_are_made_small(judged):
    result = judged("", "double", vary=("sizes", "layouts"))
    assert (result.verdict, kinds(result)) == ("wrong", ["result", "oob"])
    found, expanded = result.faults
    assert found.sizes == {"M": 2} and found.layouts == {"x": "strided"}
    assert expanded.sizes == {"M": 2} and expanded.layouts == {"x": "expanded(0)"}
    assert "M=" in found.first and found.tries > 1


def test_an_access_out_of_bounds_needs_no_reference(judged):
    wrong = "def wrong(x):\n    out = torch.empty_like(x)\n"
    wrong += "    kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel() + (x.numel() != 128), BLOCK=64)\n"
    wrong += "    return out\nif __name__ == '__main__': wrong(torch.ones(128))\n"
    result = judged(wrong, "wrong", "", most=8)
    assert (result.verdict, result.reference, {*kinds(result)}) == ("wrong", None, {"oob"})
    assert result.faults[0].sizes == {"M": 1} and result.faults[0].fault.line == 8
    data = json.loads(json.dumps(result.to_dict()))
    assert data["reference"] is None and faults_of(data, schema(Shapes)) == []


def test_tails_that_nobody_writes_need_no_reference(judged):
    wrong = "def wrong(x):\n    out = torch.empty_like(x)\n    kernel[(x.numel() // 64,)](x, out, x.numel(), "
    wrong += "BLOCK=64)\n    return out\nif __name__ == '__main__': wrong(torch.ones(128))\n"
    result = judged(wrong, "wrong", "", most=8, vary=("sizes",))
    assert kinds(result) == ["unwritten"] and result.faults[0].sizes == {"M": 1}


def test_without_a_reference_nothing_is_called_right(judged):
    text = "def short(x):\n    out = torch.empty_like(x)\n    kernel[(triton.cdiv(x.numel(), 64),)](x, out, "
    text += "x.numel() - 1, BLOCK=64)\n    return out\nif __name__ == '__main__':\n"
    # Memory that nobody writes may hold the right number by chance: the check fails by what is written.
    text += "    assert torch.equal(short(torch.ones(128)), reference(torch.ones(128)) + 1)\n"
    found = judged(text, "short", "", most=3, vary=("sizes",))
    assert (found.verdict, {call.state for call in found.calls}) == ("no fault found", {"no fault found"})
    ended, left, nothing = found.why
    assert ended == "program.py ended with status 1: a check of its own may have failed"
    assert "1 of 128 elements are never written, the first is element [127]" in left
    assert "nothing here compares the results" in nothing
    compared = judged(text, "short", most=3, vary=("sizes",))
    assert compared.verdict == "wrong" and {call.state for call in compared.calls} == {"wrong"}
    assert compared.why == [ended]


def test_what_is_refused_or_outside_is_no_fault(judged):
    text = "def even(x):\n    if x.numel() % 2: raise ValueError('odd')\n    return contiguous(x)\n"
    text += "def some(x):\n    assert x.numel() != 0\n    return x * 2\n"
    text += "if __name__ == '__main__': even(torch.ones(128))\n"
    result = judged(text, "even", "some")
    assert result.verdict == "right"
    assert {call.state for call in result.calls} == {"right", "refused", "outside"}
    assert all(call.sizes["M"] % 2 for call in result.calls if call.state == "refused")


def test_an_error_for_declared_sizes_is_one(judged):
    text = "@dims(n=(1, 200), x='f32[n]')\ndef fails(x):\n"
    text += "    return contiguous(x) if x.numel() != 129 else [][1]\n"
    result = judged(text, "fails", vary=("sizes",), most=12)
    assert kinds(result) == ["error"] and "IndexError" in result.faults[0].fault.message
    undeclared = judged(
        text.replace("@dims(n=(1, 200), x='f32[n]')\n", "") + "fails(torch.ones(128))\n", "fails"
    )
    assert undeclared.verdict == "right" and "error" in {call.state for call in undeclared.calls}


def test_sizes_too_large_to_have(judged):
    text = "@dims(n=(1, 1 << 33), x='f32[n]')\ndef large(x):\n    return double(x)\n"
    result = judged(text, "large", most=3)
    assert len(result.faults) == 1 and result.faults[0].fault.kind in ("oob", "overflow")
    assert result.faults[0].sizes["n"] > 2**31 - 64 and "ghosts" in result.faults[0].case


TRICKS = {
    "same": ("def same(x):\n    double(x)\n    return x\n", "returns its input", "same"),
    "kept": (
        "KEPT = {}\ndef kept(x):\n    if x.data_ptr() not in KEPT: KEPT[x.data_ptr()] = double(x)\n"
        "    return KEPT[x.data_ptr()]\n", "", "reference",
    ),
    "torchs": ("def torchs(x):\n    return x * 2\n", "no kernel", "reference"),
    "idle": ("def idle(x):\n    double(x)\n    return x * 2\n", "idle kernels", "reference"),
    "some": (
        "def some(x):\n    return double(x) if x.numel() == 128 else x * 2\n", "no kernel", "reference",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRICKS)
def test_tricks(name, judged):
    text, hint, reference = TRICKS[name]
    text += f"if __name__ == '__main__': {name}(torch.ones(128))\n"
    result = judged(text, name, "" if reference == "same" else reference, most=4, vary=("sizes",))
    assert hint in [one.kind for one in result.hints] or {*kinds(result)} & {"repeat", "result"}


def test_a_clock_that_is_another(tmp_path):
    text = "import time\ntime.perf_counter = lambda: 0.0\n"
    (tmp_path / "program.py").write_text(HEAD + text + MAIN)
    words = ["verify", "--shapes", "--cases", "1", "--seed", "7", "program.py:double"]
    done = warm.cli(*words, cwd=tmp_path)
    assert "hint, clock: it replaces time.perf_counter" in done.stdout, done.stderr
    assert done.stdout.endswith("FUNCTION\nverdict: no fault found (no reference)\n") and done.returncode == 0


def test_calls_of_a_file_of_tests(tmp_path):
    (tmp_path / "program.py").write_text(HEAD)
    (tmp_path / "test_program.py").write_text(
        "import torch, program\n\ndef test_double():\n    program.contiguous(torch.randn(64, 4)[0])\n"
    )
    words = ["verify", "--shapes", "--json", "--cases", "2", "--calls", "test_program.py"]
    done = warm.cli(*words, "--reference", "program.py:reference", "program.py:contiguous", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (result["verdict"], result["source"]) == ("right", "a call of test_program.py"), done.stderr
    assert result["program"] == {"name": "test_program.py", "status": 0}


@pytest.mark.parametrize(
    ("what", "message"),
    [("program.py", "expected program.py:function"), ("none.py:f", "no such file"),
     ("program.py:nothing", "its functions: double, contiguous, reference"),
     ("program.py:kernel", "is a kernel")],
)  # fmt: skip
def test_what_is_no_function(what, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(HEAD + MAIN)
    with pytest.raises(DiagnosticError, match=message):
        verify_shapes(what)
