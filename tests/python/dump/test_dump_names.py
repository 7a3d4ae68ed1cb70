"""Names that several values of a kernel have: each is a value of its own in a dump, and a name that is to
mean one of them says which."""

import pathlib
import re

import numpy
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import kernels_for_names as kernels  # noqa: E402
import triton_runner  # noqa: E402
from kernels_for_names import N, arguments, arms, called, combines, on_one_line  # noqa: E402
from triton_runner import DiagnosticError  # noqa: E402

LEVELS = ["ttir", "ttgir", "ptx"]
STEPS = 4


def launch(kernel, level, *selectors, **options):
    given = arguments(kernel)
    given[2] = STEPS
    with triton_runner.dumping(kernel, *selectors, level=level, every_iteration=True, **options) as d:
        kernel[(1,)](*given, N=N, device="cpu", target="cuda:80")
    return d.last, given[0].numpy()


def first_of_arms(level):
    """The name that what each arm computes first shares, and the lines of the two."""
    with triton_runner.using(device="cpu", level="ttir" if level == "ttir" else "ttgir", target="cuda:80"):
        d, _ = launch(arms, "ttir" if level == "ttir" else "ttgir", "*")
    (half,) = (v for v in d if v.op == "arith.mulf" and v.line == line_of("acc * 0.5"))
    (less,) = (v for v in d if v.op == "arith.subf" and v.line == line_of("acc - 3.0"))
    name, _, number = half.name.partition("@")
    assert less.name == f"{name}@2" and number == "1"
    return name, half.line, less.line


def line_of(text):
    lines = pathlib.Path(kernels.__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def expected(x):
    """Returns what the arms compute first: [step, N] of the even steps and of the odd ones."""
    even, odd, acc = [], [], x[:N]
    for i in range(STEPS):
        if i % 2 == 0:
            even.append(acc * numpy.float32(0.5))
            acc = even[-1] + numpy.float32(1)
        else:
            odd.append(acc - numpy.float32(3))
            acc = odd[-1] * odd[-1]
    return numpy.array(even), numpy.array(odd)


@pytest.mark.parametrize("level", LEVELS)
def test_both_are_recorded_and_kept_apart(level):
    name, half, less = first_of_arms(level)
    d, x = launch(arms, level, name)
    first, second = d.all(name)
    even, odd = expected(x)
    assert (first.line, second.line) == (half, less) and (first.op, second.op) == ("arith.mulf", "arith.subf")
    numpy.testing.assert_allclose(first.to_numpy(), even, rtol=1e-6)
    numpy.testing.assert_allclose(second.to_numpy(), odd, rtol=1e-6)
    assert first.iterations.tolist() == [[0], [2]] and second.iterations.tolist() == [[1], [3]]
    assert name in d and f"{name}@2" in d and f"{name}@3" not in d
    with pytest.raises(DiagnosticError) as error:
        d[name]
    assert error.value.message == f"{name} names 2 values, in regions that do not see each other"
    assert error.value.notes == [
        f"'{name}@1' is arith.mulf of kernels_for_names.py:{half}",
        f"'{name}@2' is arith.subf of kernels_for_names.py:{less}",
    ]
    assert [d[f"{name}@{i}"].line for i in (1, 2)] == [half, less]


@pytest.mark.parametrize("level", LEVELS)
def test_one_is_chosen_by_its_number_or_its_line(level):
    name, half, less = first_of_arms(level)
    for choice, line in (("2", less), (f"kernels_for_names.py:{half}", half)):
        d, _ = launch(arms, level, f"{name}@{choice}")
        (only,) = d
        assert only.line == line and d[f"{name}@{choice}"] is only and d[name] is only
    with pytest.raises(DiagnosticError) as error:
        launch(arms, level, f"{name}@3")
    assert f"there is no value {name}@3" in str(error.value) and f"'{name}@2' is arith.subf" in str(
        error.value
    )
    d, _ = launch(arms, level, name, f"{name}@2")  # once
    assert [v.line for v in d] == [half, less]


@pytest.mark.parametrize("level", LEVELS)
def test_a_tensor_takes_one_value(level):
    name, _, less = first_of_arms(level)
    given = arguments(arms)
    given[2] = STEPS
    even, odd = expected(given[0].numpy())
    options = {"device": "cpu", "target": "cuda:80", "level": level, "N": N}
    dump = torch.full((2 * N,), float("nan"))
    with pytest.raises(DiagnosticError, match=f"{name} names 2 values"):
        arms[(1,)](*given, dump_value=name, dump_tensor=dump, **options)
    assert dump.isnan().all() and not given[1].any()  # before anything runs
    for choice, wanted in (("1", even), ("2", odd), (f"kernels_for_names.py:{less}", odd)):
        dump = torch.full((2 * N,), float("nan"))
        arms[(1,)](*given, dump_value=f"{name}@{choice}", dump_tensor=dump, **options)
        numpy.testing.assert_allclose(dump[:N].numpy(), wanted[-1], rtol=1e-6)
        assert dump[N:].isnan().all()
    text = arms[(1,)](*given, **options).asm["ttir" if level == "ttir" else "ttgir"]
    loaded = re.search(r"(%\w+) = tt.load", text)[1]  # one value has it
    arms[(1,)](*given, dump_value=loaded, dump_tensor=dump, **options)
    assert numpy.array_equal(dump[:N].numpy(), given[0][:N].numpy())


def test_a_function_that_is_called_in_a_loop_and_outside_of_it():
    d, x = launch(called, "ttir", "*")
    (halved,) = (v for v in d if v.site.path.startswith("kernels_for_names.shrink") and v.op == "arith.mulf")
    inside = [[i] for i in range(STEPS)]
    assert halved.iterations.tolist() == [[-1], *inside] and len(halved) == 1 + STEPS
    assert halved[0, -1] == x[0] * numpy.float32(0.5)


def test_functions_of_reductions():
    d, _ = launch(combines, "ttir", "%both")
    assert [v.name for v in d] == ["%both@1", "%both@2", "%both@3"]
    assert len({v.stack for v in d}) == 3


def test_two_dumps_are_compared_value_by_value():
    first, _ = launch(arms, "ttir", "*")
    with torch.no_grad():
        x, out, _ = arguments(arms)
        with triton_runner.dumping(arms, "*", level="ttir", every_iteration=True) as d:
            arms[(1,)](x * 2, out, STEPS, N=N, device="cpu")
    different = {found["name"] for found in first.diff(d.last)}
    assert {f"{first_of_arms('ttir')[0]}@{i}" for i in (1, 2)} <= different
    for found in first.diff(d.last):
        a, b = found["values"]
        assert (a.op, a.line) == (b.op, b.line)


def test_an_unused_result_of_an_atomic_in_registers():
    """If it is tapped, the program asks for shared memory that it does without otherwise."""

    @triton_runner.jit
    def swaps(x, o, n, N: triton.language.constexpr):
        triton.language.atomic_xchg(x, 3.0)

    x, out, _ = arguments(arms)
    before = x[0].item()
    with triton_runner.dumping(swaps, "tt.atomic_rmw", level="ptx") as d:
        swaps[(1,)](x, out, 1, N=N, device="cpu", target="cuda:80")
    assert d["tt.atomic_rmw"][0] == numpy.float32(before) and x[0] == 3


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("selector", ["acc", "*"])
def test_a_statement_on_the_line_of_its_loop(level, selector):
    d, x = launch(on_one_line, level, selector)
    acc = d["acc"]
    assert acc.op == "arith.addf" and acc.iterations.tolist() == [[i] for i in range(STEPS)]
    wanted = numpy.cumsum([x[:N] * numpy.float32(i) for i in range(STEPS)], axis=0)
    numpy.testing.assert_allclose(acc.to_numpy(), wanted, rtol=1e-5)
    assert {v.op for v in d.all("acc")} >= {"arith.addf", "scf.for"}
