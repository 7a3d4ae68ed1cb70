"""Numbers that a program makes of sizes in a way that is not followed: a right kernel that gets them is never
refuted, as the sizes stay as they are, or as what refutes has them equal as the launch does."""

import copy
import json
import math

import numpy
import pytest
import torch
import warm

pytest.importorskip("z3")

from triton_runner.verbs.prove import sizes, tensors
from triton_runner.verbs.prove.terms import FALSE, Substitution, both, poly

# A program makes these of a size n; what is followed gives n, or 2 * n + 1, again.
FOLLOWED = {
    "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "round": round, "plus": lambda n: +n,
    "round to tens": lambda n: round(n, 1), "divmod": lambda n: divmod(n, 1)[0], "copy": copy.copy,
    "deep copy": copy.deepcopy, "sum": lambda n: sum([n, n, 1]), "bool": lambda n: n + n + (n > 0),
    "bits": lambda n: ~(-n) + 1 if n else 0, "quotient": lambda n: math.ceil(n / 1),
}  # fmt: skip
KEPT = {
    "int": int, "numpy": numpy.int64, "absolute": abs, "float product": lambda n: int(n * 0.5),
    "sum of floats": lambda n: round(n / 2 + 1.5),
    "inverse": lambda n: int(1000 / n),
    "root": lambda n: int(math.sqrt(n)), "log": lambda n: int(math.log2(n)),
    "power": lambda n: int(n**0.5), "of two": lambda n: 2**n, "shift": lambda n: 1 << n,
    "bit length": lambda n: n.bit_length(), "gcd": lambda n: math.gcd(n, 16), "round": lambda n: round(n, -1),
    "or": lambda n: n | 1, "compared": lambda n: 1 if n / 2 > 20.5 else 2, "floats": lambda n: int(n // 0.5),
    "remainder": lambda n: n / 2 % 1, "power of sizes": lambda n: n**n,
}  # fmt: skip


def made(way):
    """(the number, the term of the size, what was noted)"""
    with tensors.watching():
        n = torch.empty(5, 100).shape[1]
        number = way(n)
        return number, n.term, both(*(cond for cond, _ in sizes.noted([n.term])))


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_followed_keeps_its_term(name):
    number, term, noted = made(FOLLOWED[name])
    assert isinstance(number, sizes.Size) and number.term in (term, 2 * term + 1)
    other = Substitution({term.atom: poly(77)})
    assert other.poly(number.term).const == FOLLOWED[name](77) and other.cond(noted) is not FALSE


@pytest.mark.parametrize("name", KEPT)
def test_a_size_of_which_a_plain_number_is_made_stays(name):
    number, term, noted = made(KEPT[name])
    assert not isinstance(number, (sizes.Size, sizes.Real)) and number == KEPT[name](100)
    assert Substitution({term.atom: poly(99)}).cond(noted) is FALSE
    assert Substitution({term.atom: poly(100)}).cond(noted) is not FALSE


def test_a_float_that_nobody_asks_for_says_nothing():
    number, _, noted = made(lambda n: 2 * n**-0.5)
    assert number == 0.2 and noted is both()


PROGRAM = """
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, out, n, width, MORE: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + row * width + at, tl.load(x + row * width + at, mask=mask), mask=at < n + MORE)


@triton.jit
def spread(x, out, n, batch, MORE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n * batch
    for i in range(2):
        tl.store(out + at * 2 + i, tl.load(x + at * 2 + i, mask=mask), mask=at < n * batch + MORE)


def of_numbers(more, way):
    x = torch.randn(5, 100)
    out = torch.empty(x.shape)
    kernel[(x.shape[0],)](x, out, way(x.shape[1]), x.shape[1], more, BLOCK=triton.next_power_of_2(x.shape[1]))


def of_another(more, way):
    x = torch.randn(5, 100, dtype=torch.complex64)
    batch, n = x.shape
    real, out = way(x), way(torch.empty_like(x))
    spread[(triton.cdiv(n * batch, 128),)](real, out, n, batch, more, BLOCK=128)


def fixed(more, way):
    x, table = torch.randn(7), torch.randn(100)
    looked[(triton.cdiv(x.numel(), 128),)](x, table, x.numel(), more, BLOCK=128)


@triton.jit
def looked(x, table, n, MORE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    held = tl.load(table + tl.arange(0, 64))
    tl.store(x + at, tl.load(x + at, mask=at < n) + tl.sum(held), mask=at < n + MORE)


WAYS = {
    "fixed": None, "index": lambda n: range(n + 1)[-1], "text": lambda n: int(str(n)),
    "constant": lambda n: 100,
    "data": lambda x: torch.frombuffer(bytearray(x.numpy().tobytes()), dtype=torch.float32),
    "numpy": lambda x: torch.from_numpy(x.numpy().view("float32")), "real": torch.view_as_real,
}
make = of_another if sys.argv[1] in ("data", "numpy", "real") else of_numbers
make = fixed if sys.argv[1] == "fixed" else make
make(int(sys.argv[2]), WAYS[sys.argv[1]])
"""


TUNED = """
import sys

import torch
import triton
import triton.language as tl


def fitting(configs, given, **keywords):
    return [one for one in configs if one.kwargs["BLOCK"] <= given["n"]]


@triton.autotune([triton.Config({}, num_warps=4)], key=["n"])
@triton.heuristics({"N": lambda given: triton.next_power_of_2(given["n"])})
@triton.jit
def heuristics(x, out, n, MORE: tl.constexpr, N: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, N)
    mask = at < n
    tl.store(out + row * n + at, tl.load(x + row * n + at, mask=mask), mask=at < n - MORE)


@triton.autotune(
    [triton.Config({"BLOCK": size}) for size in (256, 64)], key=["n"],
    prune_configs_by={"early_config_prune": fitting},
)
@triton.jit
def prune(x, out, n, MORE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.minimum(tl.program_id(0) * BLOCK, n - BLOCK - MORE) + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


kernel = heuristics if sys.argv[1] == "heuristics" else prune
x = torch.randn(6, 10) if kernel is heuristics else torch.randn(100)
kernel[(x.shape[0] if kernel is heuristics else triton.cdiv(x.numel(), 64),)](
    x, torch.empty(x.shape), x.shape[-1], int(sys.argv[2])
)
"""


@pytest.mark.parametrize("way", ["heuristics", "prune"])
def test_what_an_autotuner_makes_of_sizes_is_assumed(way, tmp_path):
    assert "refuted" not in proved(way, 0, tmp_path, TUNED).values()
    assert "refuted" in proved(way, 1 if way == "heuristics" else 40, tmp_path, TUNED).values()


@pytest.mark.parametrize("way", ["index", "text", "constant", "data", "numpy", "real"])
def test_a_right_kernel_is_not_refuted(way, tmp_path):
    verdicts = proved(way, 0, tmp_path)
    assert "refuted" not in verdicts.values()
    if way == "real":
        assert verdicts["bounds"] == verdicts["overflow"] == verdicts["disjoint"] == "proved"


@pytest.mark.parametrize("way, name", [("index", "covered"), ("real", "bounds"), ("fixed", "bounds")])
def test_a_wrong_one_is(way, name, tmp_path):
    """fixed: beside an argument that stays as it is, sizes of another argument refute."""
    assert proved(way, -1 if way == "index" else 3, tmp_path)[name] == "refuted"


def proved(way: str, more: int, folder, text: str = PROGRAM) -> dict:
    file = folder / "program.py"
    file.write_text(text)
    done = warm.cli("prove", "--json", "--given", "numel < 2**30", str(file), way, str(more))
    (proof,) = json.loads(done.stdout)["proofs"]
    return {one["property"]: one["verdict"] for one in proof["answers"]}
