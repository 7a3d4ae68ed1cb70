"""Tests substitute=: a number in the place of what checks report, at every level."""

import pytest

triton = pytest.importorskip("triton")
torch = pytest.importorskip("torch")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap, Substitution  # noqa: E402

LEVELS = ("ttir", "ttgir", "ptx")
TYPES = ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int64")
BLOCK = 128  # of four warps each thread has one element, so that PTX counts what the tile engine counts


@triton_runner.jit
def divide(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) / tl.load(y + at))


@triton_runner.jit
def floor_divide(x, y, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) // tl.load(y + at))


@triton_runner.jit
def divide_twice(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a, b = tl.load(x + at), tl.load(y + at)
    first = a / b
    second = b / a
    tl.store(out + at, first)
    tl.store(out + BLOCK + at, second)


@triton_runner.jit
def copy(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@triton_runner.jit
def sum_in_a_loop(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((), tl.float32)
    for i in range(3):
        total += tl.sum(tl.load(x + i * BLOCK + at, mask=at < n), 0)
    if total > 0:
        tl.store(out, total)


@triton_runner.jit
def add(a, b):
    return a + b


@triton_runner.jit
def reduce_by_function(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, BLOCK)), 0, add))


def run(kernel, *args, check, number, grid=1, at=(), **keywords):
    """The places that a launch noted."""
    substitution = Substitution(number, at=at)
    with triton_runner.using(check=check, substitute=substitution):
        kernel[(grid,)](*args, BLOCK=BLOCK, **keywords)
    return substitution.places


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", [1.0, -2.0])
@pytest.mark.parametrize("check", ["nan", "inf"])
def test_only_the_reported_elements_get_the_number(check, number, level, capfd):
    x = torch.arange(2 * BLOCK, dtype=torch.float32)
    y = x.clone()
    x[7], y[130] = float("nan"), 0.0  # an operand that is NaN already, and x / 0
    out = torch.zeros_like(x)
    places = run(divide, x, y, out, check=check, number=number, grid=2, level=level)
    assert [place.count for place in places] == [1 if check == "nan" else 2]
    assert places[0].kind == "not a number" and places[0].file.endswith("test_substitute.py")
    expected = torch.ones_like(x)
    expected[0] = number
    expected[7] = float("nan")
    expected[130] = number if check == "inf" else float("inf")
    # div.full of PTX is off by up to two units in the last place.
    torch.testing.assert_close(out, expected, rtol=2**-22, atol=0, equal_nan=True)
    assert out[0] == number
    assert capfd.readouterr().err == ""
    assert not triton_runner.faults()
    with pytest.raises(KernelTrap):  # without it the launch stops as ever
        divide[(2,)](x, y, out, BLOCK=BLOCK, level=level, check=check)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("number", [1.0, -2.0])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.int64])
def test_quotients_by_zero(dtype, number, level):
    x = torch.arange(BLOCK, dtype=dtype) % 100
    y = torch.full_like(x, 3)
    y[5] = y[77] = 0
    out = torch.zeros_like(x)
    places = run(floor_divide, x, y, out, check="zerodiv", number=number, level=level)
    assert [(place.kind, place.count) for place in places] == [("division by zero", 2)]
    expected = x // 3
    # LLVM divides i64 below 2^32 in 32 bits without a sign.
    narrow = level == "ptx" and dtype == torch.int64
    expected[5] = expected[77] = int(number) % 2**32 if narrow else int(number)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_nans_that_a_load_brings_in(level):
    x = torch.arange(BLOCK, dtype=torch.float32)
    x[9] = float("nan")
    out = torch.zeros_like(x)
    places = run(copy, x, out, check="nanload", number=-2.0, level=level)
    assert [(place.op, place.count) for place in places] == [("tt.load", 1)]
    assert out[9] == -2 and out.isfinite().all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", TYPES)
def test_memory_that_was_never_written(name, level):
    dtype, outputs = getattr(torch, name), []
    for number in (1.0, -2.0):
        out = torch.zeros(BLOCK, dtype=dtype)
        with triton_runner.track_empty():
            x = torch.empty(BLOCK, dtype=dtype)
            places = run(copy, x, out, check="uninit", number=number, level=level)
        assert [place.kind for place in places] == ["uninitialized value"]
        if level != "ptx":  # there a thread loads several elements at once
            assert [place.count for place in places] == [BLOCK]
            assert (out == number).all()  # and the load has no type
        outputs.append(out)
    assert (outputs[0] != outputs[1]).all()
    assert all(out.to(torch.float64).isfinite().all() for out in outputs)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_undefined_elements_count_as_defined_from_their_origin_on(level):
    x = torch.ones(3 * BLOCK)
    out = torch.zeros(1)
    places = run(sum_in_a_loop, x, out, BLOCK - 3, check="uninit", number=5.0, level=level)
    # Neither the sum nor the branch is one.
    assert [(place.op, place.count) for place in places] == [("tt.load", 9)]
    assert out[0] == 3 * (BLOCK - 3 + 3 * 5)


@pytest.mark.parametrize("level", ["ttir", "ttgir"])
def test_the_function_of_a_reduction_is_one_op(level):
    x = torch.zeros(BLOCK)
    x[0], x[100] = float("inf"), -float("inf")
    out = torch.zeros(1)
    places = run(reduce_by_function, x, out, check="nan", number=-2.0, level=level)
    assert [(place.op, place.count) for place in places] == [("tt.reduce", 1)]
    assert out[0] == -2


@pytest.mark.parametrize("level", LEVELS)
def test_at_restricts_it_to_places(level):
    x = torch.zeros(BLOCK)
    both = run(divide_twice, x, x, torch.zeros(2 * BLOCK), check="nan", number=1.0, level=level)
    assert [place.count for place in both] == [BLOCK, BLOCK]
    for chosen, place in enumerate(both):
        out = torch.zeros(2, BLOCK)
        noted = run(divide_twice, x, x, out, check="nan", number=1.0, level=level, at=[place.location])
        assert [(n.location, n.count) for n in noted] == [(b.location, b.count) for b in both]
        assert (out[chosen] == 1).all() and out[1 - chosen].isnan().all()


@pytest.mark.parametrize("level", LEVELS)
def test_places_do_not_depend_on_the_number_of_threads(level):
    x, y = torch.ones(16 * BLOCK), torch.ones(16 * BLOCK)
    x[5 * BLOCK :: 64] = y[5 * BLOCK :: 64] = 0
    noted = []
    for threads in (1, 4):
        with triton_runner.using(threads=threads):
            places = run(divide, x, y, torch.zeros_like(x), check="nan", number=1.0, grid=16, level=level)
        noted.append([(place.text, place.program, place.count) for place in places])
    assert noted[0] == noted[1]
    assert noted[0][0][1:] == ((5, 0, 0), 22)


def test_places_of_several_launches_add_up():
    x = torch.zeros(BLOCK)
    substitution = Substitution(1.0)
    with triton_runner.using(check="nan", substitute=substitution):
        for _ in range(2):
            divide[(1,)](x, x, torch.zeros_like(x), BLOCK=BLOCK)
    assert [place.count for place in substitution.places] == [2 * BLOCK]


def test_a_number_alone_is_refused():
    with pytest.raises(DiagnosticError, match=r"expected a triton_runner\.Substitution"):
        triton_runner.using(check="nan", substitute=1.0)
