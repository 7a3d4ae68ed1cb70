"""Tests dumping(), what it selects and what it gives, on the tile engine at ttir and ttgir."""

import json
import pathlib
import sys

import ml_dtypes
import numpy
import pytest
import warm

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
from triton_runner import DiagnosticError, KernelTrap, dumping  # noqa: E402

# From 3.5 on, locations name the variable that a statement assigns to.
IR_NAMES_VARIABLES = tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 5)


@triton_runner.jit
def running_sum(x, out, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        value = tl.load(x + i * BLOCK + tl.arange(0, BLOCK))
        acc += value * 2
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), acc)


@triton.jit
def halve(x):
    half = x * 0.5
    return half


@triton_runner.jit
def many_kinds(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    pointers = x + at
    value = tl.load(pointers)
    positive = value > 0
    small = value.to(tl.bfloat16)
    tiny = value.to(tl.float8e5)
    byte = value.to(tl.int8)
    largest = tl.max(value, 0)
    middle = halve(value)
    low, high = tl.min(value, 0), tl.sum(value, 0)
    count = 0
    while count < 3:
        count += 1
    tl.store(out + at, tl.where(positive, middle, low) + high + largest + count + small + byte + tiny)


@triton_runner.jit
def matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + k + rk[None, :])
        y = tl.load(b + (k + rk[:, None]) * BN + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * BN + rn[None, :], acc)


LEVELS = ("ttir", "ttgir")
SOURCE = pathlib.Path(__file__).read_text().splitlines()
X = numpy.arange(64, dtype=numpy.float32)


def run_sum(x=X, n=4, programs=2):
    running_sum[(programs,)](x, numpy.zeros(32, numpy.float32), n, BLOCK=16)


def sums(i: int):
    """acc after iteration i."""
    return 2 * X[: 16 * (i + 1)].reshape(-1, 16).sum(0)


@pytest.fixture(autouse=True)
def on_the_cpu():
    with triton_runner.using(device="cpu"):
        yield


@pytest.mark.parametrize("level", LEVELS)
def test_a_variable_in_a_loop_by_program_and_iteration(level):
    with dumping(running_sum, "acc", "value", every_iteration=True, level=level) as d:
        run_sum()
    acc = d["acc"]
    assert (acc.op, acc.type, acc.shape, acc.loops, acc.level) == ("arith.addf", "f32", (16,), 1, level)
    assert acc.programs.tolist() == [[p, 0, 0] for p in (0, 1) for _ in range(4)]
    assert acc.iterations[:, 0].tolist() == [0, 1, 2, 3] * 2
    for program in (0, 1):
        for i in range(4):
            assert (acc[program, i] == sums(i)).all()
            assert (d["value"][program, i] == X[16 * i : 16 * i + 16]).all()
    assert (acc[1] == sums(3)).all() and (acc[(1, 0, 0), (2,)] == sums(2)).all()
    assert acc.to_numpy().shape == (8, 16)
    assert torch.equal(acc.to_torch()[5], torch.from_numpy(sums(1)))
    assert acc.file.endswith("test_dump.py") and "acc += value * 2" in SOURCE[acc.line - 1]
    # The last iteration only, unless all are asked for; the loop's result and its carried value too.
    with dumping(running_sum, "acc", level=level) as d:
        run_sum()
    assert len(d["acc"]) == 2 and (d["acc"][0] == sums(3)).all()
    if IR_NAMES_VARIABLES:
        assert [v.op for v in d.all("acc")] == ["scf.for", "scf.for", "arith.addf"]
        assert (d.all("acc")[1].loops, d.all("acc")[1].line) == (1, d.all("acc")[0].line)


@pytest.mark.parametrize("level", LEVELS)
def test_selectors(level):
    def chosen(*selectors, **options):
        with dumping(running_sum, *selectors, level=level, **options) as d:
            run_sum()
        return d

    everything = chosen("*")
    names = [v.name for v in everything]
    assert len(set(names)) == len(names) > 10
    load = next(v for v in everything if v.op == "tt.load")
    for selector in (load.name, "tt.load", f"test_dump.py:{load.line}"):
        d = chosen(selector)
        assert (d[selector][0] == X[48:]).all() and load.name in d
    carried = next(v.name for v in everything if v.op == "scf.for" and v.loops == 1 and v.shape)
    d = chosen(carried, every_iteration=True)
    assert (d[carried][0, 0] == 0).all() and (d[carried][0, 3] == sums(2)).all()
    d = chosen("acc", programs=1)
    assert d["acc"].programs.tolist() == [[1, 0, 0]]
    assert len(chosen("acc", programs=[(-1, 0)])["acc"]) == 2
    # The kernel's arguments, and what the loop counts with.
    argument = next(v for v in everything if v.op == "tt.func" and v.type == "i32")
    assert everything[argument.name][0] == 4


@pytest.mark.parametrize("level", LEVELS)
def test_every_element_type_and_rank(level):
    x = numpy.array([-2.5, 0.0, 3.0, 7.5] * 8, numpy.float32)
    out = numpy.zeros(32, numpy.float32)
    with dumping(many_kinds, "*", level=level) as d:
        many_kinds[(1,)](x, out, BLOCK=32)
    by_type = {}
    for values in d:
        by_type.setdefault(values.type, []).append(values)

    def one(kind, size):
        return next(v for v in by_type[kind] if v.shape == ((size,) if size else ()))

    assert (one("i1", 32)[0] == (x > 0)).all()
    truncated = next(v for v in by_type["bf16"] if v.op == "arith.truncf")
    assert truncated.dtype == ml_dtypes.bfloat16
    assert (truncated[0] == x.astype(ml_dtypes.bfloat16)).all()
    assert (one("f8E5M2", 32)[0] == x.astype(ml_dtypes.float8_e5m2)).all()
    assert (one("i8", 32)[0] == x.astype(numpy.int8)).all()
    address = next(v for v in by_type["ptr"] if v.op == "tt.addptr" and v.shape == (32,))
    assert (address[0] == x.ctypes.data + 4 * numpy.arange(32)).all()
    reductions = [float(v[0]) for v in d.all("tt.reduce")]
    assert reductions == [7.5, -2.5, float(x.sum())]
    if IR_NAMES_VARIABLES:
        assert (d["half"][0] == x / 2).all()  # in a function that was called
    while_loop = [v for v in d if v.op == "scf.while"]
    assert while_loop and all(v.type == "i32" for v in while_loop)
    assert torch.equal(truncated.to_torch()[0], torch.from_numpy(x).bfloat16())


def test_buffers_in_shared_memory():
    a = torch.randn(32, 64, generator=torch.Generator().manual_seed(0)).half()
    b = torch.randn(64, 32, generator=torch.Generator().manual_seed(1)).half()
    with dumping(matmul, "*", every_iteration=True, level="ttgir") as d:
        matmul[(1,)](a, b, torch.zeros(32, 32), 64, BM=32, BN=32, BK=16)
    buffers = [v for v in d if "memdesc" in v.site.type_text]
    assert buffers and all(v.type == "f16" for v in buffers)
    loads = [v for v in d if v.op in ("ttg.local_load", "tt.load") and v.shape == (32, 16) and v.loops]
    assert any((v[0, 1] == a[:, 16:32].numpy()).all() for v in loads)
    assert d["acc"].layout.startswith("#ttg.nvidia_mma")


def test_what_a_dump_tells():
    x = X.copy()
    x[20] = numpy.nan
    with dumping(running_sum, "*", every_iteration=True) as d:
        run_sum(x)
    first = d.first_nan()
    assert (first.op, first.program, first.iteration, first.element) == ("tt.load", (0, 0, 0), (1,), (4,))
    assert "tt.load" in str(first) and "test_dump.py" in str(first)
    load = next(s for s in d.stats() if s["name"] == first.name)
    assert (load["records"], load["nan"], load["inf"], load["min"], load["max"]) == (8, 2, 0, 0.0, 63.0)
    with dumping(running_sum, "*", every_iteration=True) as other:
        run_sum()
    found = {f["name"]: f for f in other.diff(d)}
    assert first.name in found and found[first.name]["elements"] == 2
    assert found[first.name]["first"].numbers["a"] == 20.0
    assert other.diff(other) == [] and other.first_nan() is None
    assert str(len(d)) in repr(d) and "tt.load" in repr(d)


def test_each_launch_has_a_dump_of_its_own():
    with dumping(running_sum, "acc") as d:
        with pytest.raises(DiagnosticError, match="no launch"):
            d["acc"]
        for n in (1, 2, 3):
            run_sum(n=n)
        many_kinds[(1,)](X.copy(), numpy.zeros(32, numpy.float32), BLOCK=32)  # of another kernel: not asked
    assert [float(launch["acc"][0][1]) for launch in d.launches] == [float(sums(i)[1]) for i in range(3)]
    run_sum()
    assert len(d.launches) == 3


def test_plain_triton_kernels_and_loaded_ones_are_dumped_too(tmp_path):
    compiled = running_sum[(2,)](X, numpy.zeros(32, numpy.float32), 4, BLOCK=16)
    file = tmp_path / "running_sum.ttir"
    file.write_text(compiled.asm["ttir"])
    kernel = triton_runner.load(str(file), device="cpu")
    with dumping(kernel, "tt.load", every_iteration=True) as d:
        kernel[(2,)](X, numpy.zeros(32, numpy.float32), 4)
    assert (d["tt.load"][1, 2] == X[32:48]).all()
    plain = triton.jit(running_sum.fn)
    with dumping("tt.load") as d:
        plain[(2,)](torch.from_numpy(X), torch.zeros(32), 4, BLOCK=16)
    assert (d["tt.load"][1] == X[48:]).all()


def test_threads_give_the_same_dump():
    dumps = []
    for threads in (1, 4):
        with triton_runner.using(threads=threads), dumping(running_sum, "*", every_iteration=True) as d:
            running_sum[(50,)](X, numpy.zeros(800, numpy.float32), 4, BLOCK=16)
        dumps.append(d.last)
    for a, b in zip(*dumps, strict=True):
        if a.type != "ptr":
            assert (a.programs == b.programs).all() and a.to_numpy().tobytes() == b.to_numpy().tobytes()


def test_with_checks_and_after_a_trap():
    with triton_runner.using(check="oob,nan,uninit,race"), dumping(running_sum, "acc") as d:
        running_sum[(1,)](X.copy(), numpy.zeros(16, numpy.float32), 4, BLOCK=16)
    assert (d["acc"][0] == sums(3)).all()
    with dumping(running_sum, "acc", every_iteration=True) as d:
        with pytest.raises(KernelTrap):
            run_sum(n=6, programs=1)
    assert d["acc"].iterations[:, 0].tolist() == [0, 1, 2, 3]  # what it did before the load that trapped


def test_the_cap_is_kept_and_said():
    with dumping(running_sum, "acc", every_iteration=True, max_bytes=300) as d:
        run_sum()
    total = sum(v.to_numpy().nbytes for v in d)
    assert total <= 300 and sum(v.dropped for v in d) == 8 + 10 * IR_NAMES_VARIABLES - total // 64
    assert "max_bytes" in d.notes[0]


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_files(tmp_path, suffix):
    with dumping(many_kinds, "*") as d:
        many_kinds[(1,)](X[:32].copy(), numpy.zeros(32, numpy.float32), BLOCK=32)
    file = str(tmp_path / f"dump.{suffix}")
    d.save(file)
    from triton_runner._memory.files import load_array

    names = [values.name for values in d]
    for values in d:
        if names.count(values.name) > 1:  # in regions beside each other
            continue
        read = load_array(f"{file}:{values.name}")
        assert read.tobytes() == values.to_numpy().tobytes() and read.shape == values.to_numpy().shape
        assert (load_array(f"{file}:{values.name}.programs") == values.programs).all()
    with pytest.raises(DiagnosticError, match=r"as dump\.npz"):
        d.save(str(tmp_path / "dump.txt"))
    with pytest.raises(DiagnosticError, match="cannot write"):
        d.save(str(tmp_path / "no" / "dump.npz"))


@pytest.mark.parametrize("name", ["acc", "tt.reduce"])
def test_pictures(tmp_path, name):
    pytest.importorskip("matplotlib")
    kernel = {"acc": running_sum, "tt.reduce": many_kinds}[name]
    with dumping(kernel, name, every_iteration=True) as d:
        if kernel is running_sum:
            run_sum()
        else:
            many_kinds[(1,)](X[:32].copy(), numpy.zeros(32, numpy.float32), BLOCK=32)
    d[name].heat_map(str(tmp_path / "heat.png"))
    assert (tmp_path / "heat.png").read_bytes().startswith(b"\x89PNG")


BAD = [
    (("%acc_999",), {}, r"there is no value %acc_999 in this module\nnote: did you mean '%acc"),
    (("accu",), {}, "there is no variable 'accu'"),
    (("tt.lod",), {}, r"no op tt.lod .*\nnote: did you mean 'tt.load'"),
    (("test_dump.py:1",), {}, r"no value comes from line test_dump.py:1\nnote: values come from .*test_dump"),
    (("other.py:7",), {}, "none of its values come from a file of that name"),
    (("acc",), {"programs": 9}, r"program \(9, 0, 0\) is not in the grid \(2, 1, 1\)"),
    (("acc",), {"programs": "x"}, "is not a program"),
    (("acc",), {"max_bytes": 0}, "max_bytes=0"),
    (("acc",), {"level": "sass"}, "cannot be dumped at level 'sass'"),
    ((), {}, "not told what to record"),
    ((7,), {}, "7 names no value"),
]


@pytest.mark.parametrize("selectors, options, message", BAD)
def test_bad_requests(selectors, options, message):
    out = numpy.zeros(32, numpy.float32)
    with pytest.raises(DiagnosticError, match=message):
        with dumping(running_sum, *selectors, **options):
            running_sum[(2,)](X, out, 4, BLOCK=16)
    assert not out.any()


def test_bad_questions():
    with dumping(running_sum, "acc", every_iteration=True) as d:
        run_sum()
    for question, message in [
        (lambda: d["ac"], "'ac' is not in this dump\nnote: did you mean 'acc'"),
        (lambda: d["acc"][5, 0], "was not recorded in program"),
        (lambda: d["acc"][0, 9], r"no iteration \(9,\)\nnote: iterations with records: 0, 1, 2, 3"),
        (lambda: d["acc"]["x"], "is not a program"),
    ]:
        with pytest.raises(DiagnosticError, match=message):
            question()


SCRIPT = """
import numpy, triton_runner, triton.language as tl

@triton_runner.jit
def scale(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, value * 3)

x, out = numpy.arange(64, dtype=numpy.float32), numpy.zeros(64, numpy.float32)
x[40] = float("nan")
scale[(2,)](x, out, BLOCK=32)
"""


def command(*arguments):
    return warm.run(
        [sys.executable, "-W", "ignore", "-m", "triton_runner", "dump", "--device", "cpu", *arguments],
        capture_output=True, text=True,
    )  # fmt: skip


def test_command_line(tmp_path):
    script = tmp_path / "scale.py"
    script.write_text(SCRIPT)
    picture, saved = tmp_path / "x.png", tmp_path / "x.npz"
    done = command("-v", "tt.load", "--png", str(picture), "--save", str(saved), str(script))
    assert done.returncode == 0, done.stderr
    assert "tt.load" in done.stdout and "scale.py:7" in done.stdout
    assert "first NaN" in done.stdout and "program (1, 0, 0), element [8]" in done.stdout
    assert picture.exists() and saved.exists()
    done = command("-v", "tt.load", "--program", "0", "--json", str(script))
    text = done.stdout[done.stdout.index("{\n") :]
    (value,) = json.loads(text)["values"]
    assert (value["records"], value["nan"], value["max"]) == (1, 0, 31.0)
    file = tmp_path / "running_sum.ttir"
    compiled = running_sum[(2,)](X, numpy.zeros(32, numpy.float32), 4, BLOCK=16)
    file.write_text(compiled.asm["ttir"])
    arguments = ("--grid", "2", "--arg", "f32[64]=iota", "--arg", "f32[32]", "--arg", "4")
    done = command("-v", "arith.addf", "--every-iteration", *arguments, str(file))
    assert done.returncode == 0 and "arith.addf" in done.stdout, done.stderr
    for wrong, message in [
        (("-v", "%none", str(script)), "there is no value %none"),
        (("-v", "tt.load", "--launch", "4", str(script)), "there were 1 launches"),
        (("-v", "tt.load", "--kernel", "other", str(script)), "no launch was recorded"),
        (("-v", "x", str(file)), "--grid is missing"),
        (("-v", "x", str(tmp_path / "no.py")), "no such file"),
    ]:
        done = command(*wrong)
        assert done.returncode in (1, 2) and message in done.stderr, (wrong, done.stderr)


def test_pointers_are_shown_from_their_argument(capsys):
    from triton_runner.verbs.dump.run import print_table

    with dumping(running_sum, "*", every_iteration=True) as dumped:
        running_sum[(2,)](torch.zeros(64), torch.zeros(64), 2, BLOCK=32)
    pointers = [values for values in dumped if values.type == "ptr" and values.shape == (32,)]
    assert {values.origin for values in pointers} == {"x", "out"}
    out = [values.offsets().tolist() for values in pointers if values.origin == "out"]
    assert out[-1] == [list(range(32)), list(range(32, 64))]
    assert all(0 <= values.stats()["min"] <= values.stats()["max"] < 64 for values in pointers)
    print_table(dumped.launches[-1])
    assert "out + 63" in capsys.readouterr().out
