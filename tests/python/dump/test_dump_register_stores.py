"""Registers that the kernel stores itself, as on a GPU: the SIMT engine runs the edited PTX, and the records
are those that its observer makes of the untouched one."""

import os
import re
import subprocess

import numpy
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402
import triton_runner  # noqa: E402
import triton_runner.language as dl  # noqa: E402
from kernels_for_dumps import add, collatz, described, matmul, row_sums, two_blocks  # noqa: E402
from triton_runner import DiagnosticError, _core  # noqa: E402
from triton_runner._artifact.compiled_kernel import compiled_of  # noqa: E402
from triton_runner._kernel.dumps import instrument, register_stores, registers, requests  # noqa: E402


@triton_runner.jit
def halves(x, out, scale, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i) * scale
    tl.store(out + i, value.to(tl.float64) + i)


@triton.jit(noinline=True)
def twice(x, n):
    return x * 2 + n


@triton_runner.jit
def calls(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i) + twice(tl.load(x + n), n)
    old = tl.atomic_add(out + i % 16, value)
    tl.store(out + BLOCK + i, old)


def arguments(kernel):
    """(arguments, constexprs, grid) of a launch."""
    torch.manual_seed(0)
    if kernel is add:
        return (torch.randn(1000), torch.randn(1000), torch.zeros(1000), 1000), {"B": 256}, (4,)
    if kernel is row_sums:
        return (torch.randn(4, 300).half(), torch.zeros(4), 300), {"B": 128}, (2, 2)
    if kernel is matmul:
        a, b = torch.randn(128, 96).half(), torch.randn(96, 128).half()
        return (a, b, torch.zeros(128, 128), 128, 128, 96), {"BM": 64, "BN": 64, "BK": 32}, (4,)
    if kernel is collatz:
        x = torch.tensor([6, 27], dtype=torch.int32)
        return (x, torch.zeros(64, dtype=torch.int32)), {"B": 32}, (2,)
    if kernel is halves:
        return (torch.randn(128).half(), torch.zeros(128).double(), 0.5), {"BLOCK": 128}, (1,)
    if kernel is calls:
        x = torch.arange(64, dtype=torch.int32)
        return (x, torch.zeros(128, dtype=torch.int32), 7), {"BLOCK": 64}, (1,)
    if kernel is described:
        a, b = torch.randn(64, 128).half(), torch.randn(128, 64).half()
        return (a, b, torch.zeros(64, 64).half(), 64, 128), {"BLOCK": 64, "SPECIALIZE": True}, (1,)
    return (torch.randn(1024), torch.zeros(1024)), {"B": 512, "num_ctas": 2}, (2,)


def launch(kernel, target, selectors, run, level="ptx", **request):
    """(kernel, recording, changes, outputs) of a launch; the arrays lie where they always do."""
    given, constexprs, grid = arguments(kernel)
    given = tuple(
        kept.setdefault((kernel, i), value).copy_(value) if isinstance(value, torch.Tensor) else value
        for i, value in enumerate(given)
    )
    wanted = requests.request(selectors, kernel, level=level, **request)
    with triton_runner.using(device="cpu", level="ptx", target=target):
        found = run(wanted, kernel, None, given, constexprs, grid)
    return (*found, [value.clone() for value in given if isinstance(value, torch.Tensor)])


kept: dict = {}


def opcodes(kernel, target):
    """Opcodes of the kernel that write registers."""
    given, constexprs, grid = arguments(kernel)
    with triton_runner.using(device="cpu", level="ptx", target=target):
        text = kernel.warmup(*given, grid=grid, **constexprs).asm["ptx"]
    module = _core.ptx.parse(text, "k.ptx")
    found = {}
    for instruction in module.functions[-1].instructions:
        name = instruction.opcode
        with_result = instruction.operands and instruction.operands[0].lstrip("{ ").startswith("%")
        if with_result and instruction.base not in ("st", "red", "bar", "wgmma", "mbarrier", "brx"):
            found[name] = None
    return list(found)


def same(stored, read):
    """But for addresses in memory that a launch is given anew (scratch of descriptors): all moved alike."""
    moved = set()
    assert [s.site.value for s in stored.series] == [s.site.value for s in read.series]
    for here, there in zip(stored.series, read.series, strict=True):
        who = here.site.value, here.site.op
        assert numpy.array_equal(here.programs, there.programs), who
        assert numpy.array_equal(here.iterations, there.iterations), who
        assert numpy.array_equal(here.mask, there.mask), who
        if not numpy.array_equal(here.data, there.data):
            assert here.data.shape[-1] % 8 == 0, who
            apart = here.data.view(numpy.uint64) - there.data.view(numpy.uint64)
            moved.update(apart[apart != 0].tolist())
            assert len(moved) == 1, who
        assert here.dropped == there.dropped == 0


KERNELS = [
    (add, "cuda:80"), (row_sums, "cuda:80"), (row_sums, "cuda:90"), (matmul, "cuda:80"), (collatz, "cuda:80"),
    (two_blocks, "cuda:90"), (halves, "cuda:90"), (calls, "cuda:90"), (described, "cuda:90"),
]  # fmt: skip


@pytest.mark.parametrize("every_iteration", [True, False])
@pytest.mark.parametrize("kernel, target", KERNELS, ids=lambda v: getattr(v, "__name__", v))
def test_every_opcode_has_the_observers_records(kernel, target, every_iteration):
    names = opcodes(kernel, target)
    assert len(names) > 5
    _, stored, changes, here = launch(kernel, target, names, instrument.run, every_iteration=every_iteration)
    _, read, _, there = launch(kernel, target, names, registers.run, every_iteration=every_iteration)
    same(stored, read)
    assert all(torch.equal(x, y) for x, y in zip(here, there, strict=True))
    assert changes[0] == "outputs: the same as the plain kernel's"
    assert changes[-1].endswith(" in the ptx, unchanged")


def ptxas(text, target):
    """Returns what the assembler says of a text."""
    folder = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")
    name = (
        "ptxas-blackwell"
        if target >= "sm_100" or float(re.search(r"\.version (\S+)", text)[1]) > 8.8
        else "ptxas"
    )
    run = subprocess.run(
        [os.path.join(folder, name), f"--gpu-name={target}", "-o", os.devnull, "/dev/stdin"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.stderr


@pytest.mark.parametrize("every_iteration", [True, False])
@pytest.mark.parametrize("kernel, target", KERNELS, ids=lambda v: getattr(v, "__name__", v))
def test_ptxas_takes_it(kernel, target, every_iteration):
    given, constexprs, grid = arguments(kernel)
    wanted = requests.request(opcodes(kernel, target), kernel, level="ptx", every_iteration=every_iteration)
    with triton_runner.using(device="cpu", level="ptx", target=target):
        compiled = kernel.warmup(*given, grid=grid, **constexprs)
        stores, changes = register_stores.instrumented(wanted, compiled_of(compiled), (*grid, 1, 1)[:3], [])
    assert changes == []
    chip = _core.ptx.parse(stores.text).target
    assert ptxas(stores.text, chip) == ptxas(compiled.asm["ptx"], chip) == ""
    # The lines that were there stand there still.
    was, now = compiled.asm["ptx"].splitlines(), iter(stores.text.splitlines())
    assert all(any(line.rstrip(",") == other.rstrip(",") for other in now) for line in was)


def test_products_that_the_kernel_does_not_wait_for():
    """A pipelined loop goes on while wgmma does: what ran then waits, and says so."""
    stored, read = ([], [])
    for run, found in ((instrument.run, stored), (registers.run, read)):
        _, *rest = launch(matmul, "cuda:90", ["wgmma.mma_async"], run, every_iteration=True)
        found += rest
    same(stored[0], read[0])
    assert read[1] == stored[1][:1] and read[1][0].startswith("what ran waits at 1 more place: ")
    assert stored[1][1] == "outputs: the same as the plain kernel's"
    last = {tuple(p): stored[0].series[-1].data[i] for i, p in enumerate(stored[0].series[-1].programs)}
    # The registers of m64n64: thread t has rows t / 4 % 8 + 8 * i + 16 * warp, columns 2 * (t % 4) + 8 * j.
    values = last[0, 0, 0].view(numpy.float32).reshape(4, 8, 4, 8, 2, 2)  # warp, row, pair, j, i, column
    tile = values.transpose(0, 4, 1, 3, 2, 5).reshape(64, 64)
    assert numpy.array_equal(tile * 2, stored[2][2][:64, :64].numpy())


def test_values_of_llir():
    text = None
    given, constexprs, grid = arguments(halves)
    with triton_runner.using(device="cpu", level="ptx", target="cuda:90"):
        text = halves.warmup(*given, grid=grid, **constexprs).asm["llir"]
    names = re.findall(r"(%\d+) = (?:fmul|fpext|fadd|icmp|add|zext)\b", text)
    assert len(names) > 3
    _, stored, _, _ = launch(halves, "cuda:90", names, instrument.run, level="llir")
    _, read, _, _ = launch(halves, "cuda:90", names, registers.run, level="llir")
    same(stored, read)


def test_products_in_llir():
    """A value of LLIR that wgmma gives: a wait stands before it is read, on the CPU too."""
    given, constexprs, grid = arguments(matmul)
    with triton_runner.using(device="cpu", level="ptx", target="cuda:90"):
        text = matmul.warmup(*given, grid=grid, **constexprs).asm["llir"]
    product = re.findall(r'(%\d+) = tail call \{[^}]*\} asm sideeffect "wgmma.mma_async', text)[-1]
    names = re.findall(rf"(%\d+) = extractvalue \{{[^}}]*\}} {product}, 0\b", text)
    found = [
        launch(matmul, "cuda:90", names, run, level="llir")[1:] for run in (instrument.run, registers.run)
    ]
    same(found[0][0], found[1][0])
    assert "what ran waits at 1 more place, for what wgmma" in found[1][1][0]
    series = found[0][0].series[0]
    assert series.iterations.ravel().tolist() == [2, 2, 2, 2]
    first = series.data.view(numpy.float32)[:, 0].reshape(2, 2)  # thread 0 has the tile's corner
    assert numpy.array_equal(first * 2, found[0][2][2][::64, ::64].numpy())


def loaded(kernel, target):
    """(the kernel's PTX as load() gives it, its arguments, its grid)."""
    given, constexprs, grid = arguments(kernel)
    with triton_runner.using(device="cpu", level="ptx", target=target):
        text = kernel.warmup(*given, grid=grid, **constexprs).asm["ptx"]
        return triton_runner.load(text, level="ptx"), given, grid


@pytest.mark.parametrize("kernel", [add, row_sums], ids=lambda k: k.__name__)
def test_ptx_of_ones_own(kernel):
    """How many parameters are Triton's is found by counting: the buffer's comes before them."""
    artifact, given, grid = loaded(kernel, "cuda:90")
    named = list(zip((name for name in kernel.arg_names if name != "B"), given, strict=True))
    wanted = requests.request(["%p1", "%r5"], every_iteration=True, programs=[(1,)])
    recording, changes = instrument.run_kernel(wanted, artifact, grid, named)
    assert changes[0] == "outputs: the same as the plain kernel's"
    with triton_runner.dumping(kernel.__name__, "%p1", "%r5", every_iteration=True, programs=[(1,)]) as dump:
        artifact[grid](*given)
    same(recording, dump.last.recording)


BAD = [
    (["%r9999"], {}, "has no register %r9999"),
    (["ld.globl"], {}, "ld.global"),
    (["%p1"], {"programs": [(4,)]}, "program (4, 0, 0) is not in the grid (4, 1, 1)"),
    (["%p1", "inside"], {}, "they cannot be recorded in one dump"),
]


@pytest.mark.parametrize("names, more, message", BAD, ids=lambda v: v[0] if isinstance(v, list) else "")
def test_bad_input(names, more, message):
    with pytest.raises(DiagnosticError, match=re.escape(message)):
        launch(add, "cuda:90", names, instrument.run, **more)


def test_programs_and_room():
    given = add, "cuda:90", ["setp.lt.s32"]
    _, whole, _, _ = launch(*given, instrument.run)
    _, some, _, _ = launch(*given, instrument.run, programs=[(3,), (1,)])
    assert some.series[0].programs[:, 0].tolist() == [1, 3]
    assert numpy.array_equal(some.series[0].data, whole.series[0].data[[1, 3]])
    _, few, changes, _ = launch(*given, instrument.run, max_bytes=3 * 1024)
    assert few.series[0].programs[:, 0].tolist() != [0, 1, 2, 3] and "no room for" in few.notes[0]
    assert changes[0] == "outputs: the same as the plain kernel's"


def test_one_launch_records_registers_or_statements():
    @triton_runner.jit
    def noted(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        value = tl.load(x + i)
        dl.dump(value)
        tl.store(out + i, value)

    with pytest.raises(DiagnosticError, match=r"has dl\.dump statements"):
        with triton_runner.dumping(noted, "%r1", level="ptx"):
            noted[(1,)](torch.randn(64), torch.zeros(64), BLOCK=64, device="cpu")


def test_what_an_address_does_not_reach():
    """Slots beyond 2^30 bytes: the buffer's pages that nobody touches cost nothing."""
    count, threads = 200, 1024
    lines = [f"add.s64 %rd{i}, %rd{i}, {i};" for i in range(1, count + 1)]
    text = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry far() .reqntid {threads}
{{
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<{count + 1}>;
  mov.u32 %r1, 0;
  {" ".join(f"mov.u64 %rd{i}, 0;" for i in range(1, count + 1))}
again:
  {" ".join(lines)}
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra again;
  ret;
}}
"""
    kernel = triton_runner.load(text)
    wanted = requests.request(["add.s64"], every_iteration=True, max_bytes=1 << 32)
    stores, _ = register_stores.instrumented(wanted, compiled_of(kernel), (1, 1, 1), [])
    assert stores.bytes > 1 << 30 and ptxas(stores.text, "sm_80") == ""
    recording, _ = instrument.run_kernel(wanted, kernel, (1,), [])
    for i, series in enumerate(recording.series, 1):
        assert series.mask.all() and series.iterations.ravel().tolist() == [0, 1]
        assert (series.data.view(numpy.int64) == [[i], [2 * i]]).all()
