"""Named registers of PTX on a GPU beside the SIMT engine's: what every instruction of a few kernels writes.

    python tests/gpu/dump_registers.py

On the GPU the kernel stores its registers; on the CPU the SIMT engine runs the same PTX and its observer
reads them. Masks, programs, executions and values have to be the same, bit for bit. Addresses may differ by
the distance of an argument on the two machines, or by where shared memory begins. Exits 1 on any other
difference.
"""

import os
import re
import sys
import warnings
from pathlib import Path

import numpy
import torch
import triton
import triton_runner
from triton_runner import DiagnosticError, _core

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from kernels_for_dumps import add, collatz, described, matmul, row_sums

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")


# Threads leave a loop after different turns, in three warps.
DIVERGENT = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry divergent(.param .u64 .ptr .global divergent_param_0)
.reqntid 96
{
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  mov.u32 %r1, %tid.x;
  rem.u32 %r1, %r1, 7;
  mov.u32 %r2, 100;
loop:
  add.u32 %r2, %r2, %r1;
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p2, %r3, 1;
  @!%p2 bra even;
  mul.lo.u32 %r2, %r2, 3;
even:
  sub.u32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 0;
  @%p1 bra done;
  bra loop;
done:
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %ctaid.x;
  mad.lo.u32 %r3, %r4, 96, %r3;
  ld.param.b64 %rd1, [divergent_param_0];
  mul.wide.u32 %rd2, %r3, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.b32 [%rd1], %r2;
  ret;
}
"""


def launches():
    """(label, kernel, arguments, constexprs, grid, further arguments of dumping())."""
    generator = torch.Generator().manual_seed(7)

    def random(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype)

    f16 = torch.float16
    vectors = (random(1000), random(1000), torch.zeros(1000), 1000)
    yield "add", add, vectors, {"B": 256}, (4,), {}
    few = {"programs": [1, 3], "every_iteration": False}
    yield "add, two of its programs", add, vectors, {"B": 256}, (4,), few
    yield "rows", row_sums, (random(6, 300, dtype=f16), torch.zeros(6), 300), {"B": 128}, (3, 2), {}
    numbers = torch.tensor([6, 27], dtype=torch.int32)
    yield "collatz", collatz, (numbers, torch.zeros(64, dtype=torch.int32)), {"B": 32}, (2,), {}
    a, b, c = random(128, 160, dtype=f16), random(160, 128, dtype=f16), torch.zeros(128, 128, dtype=f16)
    shape = (a, b, c, 128, 128, 160)
    yield "mma.sync", matmul, shape, {"BM": 32, "BN": 32, "BK": 32}, (16,), {"programs": [0, 5]}
    yield "wgmma", matmul, shape, {"BM": 64, "BN": 64, "BK": 32}, (4,), {}
    shape = (random(64, 128, dtype=f16), random(128, 64, dtype=f16), torch.zeros(64, 64, dtype=f16), 64, 128)
    # An instruction that waits for memory is executed as often as it takes: not the same on two machines.
    names = ("wgmma.mma_async", "cvt", "ld.param", "mul")
    for specialize in (False, True):
        constexprs = {"BLOCK": 64, "SPECIALIZE": specialize}
        label = f"descriptors, warp_specialize={specialize}"
        yield label, described, shape, constexprs, (1,), {}, names


def opcodes(text, name):
    """Those of an entry's instructions that write registers that can be recorded."""
    found = {}
    for instruction in _core.ptx.parse(text, "k.ptx").function(name).instructions:
        found.setdefault(instruction.opcode)
    return [opcode for opcode in found if _core.probe.names_registers(text, "k.ptx", name, opcode)]


def recorded(where, target, names, kernel, arguments, constexprs, grid, level, **options):
    """(the Dump, the PTX, the arrays afterwards) of a launch on "cuda" or "cpu"."""
    moved = [value.to(where, copy=True) if isinstance(value, torch.Tensor) else value for value in arguments]
    settings = {"level": "ptx"} if where == "cpu" else {}
    with triton_runner.using(device=where, target=target, **settings):
        text = kernel.warmup(*moved, grid=grid, **constexprs).asm["ptx"]
        known = opcodes(text, kernel.__name__)
        wanted = [n for n in names if n[0] == "%" or any(o.startswith(f"{n}.") for o in known)] or known
        options = {"every_iteration": True, "max_bytes": 1 << 28, **options}
        with triton_runner.dumping(kernel, *wanted, level=level, **options) as dump:
            kernel[grid](*moved, **constexprs)
    return dump.last, text, [value for value in moved if isinstance(value, torch.Tensor)]


def apart(mine, theirs):
    """The one distance of a value's numbers on the two machines, or None."""
    if not numpy.array_equal(mine.mask, theirs.mask) or not mine.mask.any():
        return None
    size, there = mine.data.size // mine.mask.size, mine.mask.reshape(-1).astype(bool)
    here, other = (v.data.reshape(-1).view(f"i{size}")[there] for v in (mine, theirs))
    found = numpy.unique(here - other)
    return int(found[0]) if found.size == 1 else None


found_shared: list = []  # the same for all launches


def distances(gpu, cpu) -> dict:
    """By how much an address may be another one, for each width of a register: pointers among the parameters,
    and where shared memory begins."""
    pairs = [(x, apart(x, y)) for x, y in zip(gpu, cpu, strict=True)]
    arguments = {0, *(d for x, d in pairs if x.site.op in ("ld.param.b64", "ld.param.u64") and d is not None)}
    found_shared.extend(d for x, d in pairs if x.site.op in ("mov.b32", "mov.u32") and d)
    window = {0, *found_shared[:1], *(d >> 4 for d in found_shared[:1])}
    return {4: window, 8: {a + b for a in arguments for b in window}}


def unwritten(values) -> dict:
    """Returns for each program the threads that a guarded load of shared memory leaves without a value, as
    those of a reduction's last step: what they compute from it is nothing in particular."""
    off = {}
    for value in values:
        if value.site.op.startswith("ld.shared") and not value.mask.all():
            for program, mask in zip(value.programs, value.mask, strict=True):
                off[tuple(program)] = off.get(tuple(program), False) | (mask == 0)
    return off


def differing(gpu, cpu, allowed, off) -> str:
    """Returns what is not the same of a value, or nothing."""
    if not numpy.array_equal(gpu.programs, cpu.programs):
        return f"{len(gpu.programs)} records, {len(cpu.programs)} on the CPU"
    if not numpy.array_equal(gpu.iterations, cpu.iterations):
        return "other executions"
    if not numpy.array_equal(gpu.mask, cpu.mask):
        return "another mask"
    there = gpu.mask.astype(bool).reshape(len(gpu.programs), gpu.site.shape[0], -1)
    for i, program in enumerate(gpu.programs):
        there[i] &= ~numpy.reshape(off.get(tuple(program), False), (-1, 1))
    size = gpu.data.size // there.size
    mine, theirs = (v.data.reshape(-1).view(f"u{size}")[there.reshape(-1)] for v in (gpu, cpu))
    wrong = mine != theirs
    if size in allowed:
        wrong &= ~numpy.isin((mine - theirs).view(f"i{size}"), list(allowed[size]))
    if not wrong.any():
        return ""
    first = int(numpy.argmax(wrong))
    return f"{int(wrong.sum())} of {wrong.size} elements, first {mine[first]:#x} and {theirs[first]:#x}"


def compare(label, target, kernel, arguments, constexprs, grid, options, names=(), level="ptx") -> int:
    given = (kernel, arguments, constexprs, grid, level)
    gpu, ptx, here = recorded("cuda", target, names, *given, **options)
    cpu, same, there = recorded("cpu", target, names, *given, **options)
    if ptx != same:
        print(f"{label}: the PTX is another one on the CPU")
        return 1
    mine, theirs = ([v._series for v in dump] for dump in (gpu, cpu))
    allowed = distances(mine, theirs)
    wrong, off = 0, unwritten(theirs)
    for x, y in zip(mine, theirs, strict=True):
        problem = differing(x, y, allowed, off if x.site.op.startswith(("shfl.", "add.")) else {})
        if problem:
            wrong += 1
            if wrong < 9:
                print(f"   {x.site.value} = {x.site.op} ({x.site.location}): {problem}")
    outputs = all(torch.equal(x.cpu(), y) for x, y in zip(here, there, strict=True))
    records = sum(len(x.programs) for x in mine)
    print(f"{label}: {len(mine)} values, {records} records, {wrong} differ, outputs the same: {outputs}")
    print("   ", *gpu.changes, *gpu.notes[:2], *[n for n in cpu.notes if n not in gpu.notes][:2], sep="; ")
    return wrong + (not outputs)


def compare_divergent() -> int:
    """A PTX text without Triton, whose threads go ways of their own."""
    dumps, outputs = [], []
    for where in ("cuda", "cpu"):
        out = torch.zeros(192, dtype=torch.int32, device=where)
        kernel = triton_runner.load(DIVERGENT, device=where)
        with triton_runner.dumping("divergent", "%r2", "%p1", "%p2", every_iteration=True) as dump:
            kernel[(2,)](out)
        dumps.append([v._series for v in dump.last])
        outputs.append(out.cpu())
    problems = [differing(x, y, {}, {}) for x, y in zip(*dumps, strict=True)]
    same = torch.equal(*outputs)
    records = sum(len(x.programs) for x in dumps[0])
    print(f"divergent: {len(problems)} values, {records} records, {problems}, outputs the same: {same}")
    return sum(map(bool, problems)) + (not same) + (records == 0)


def scratch(size, alignment, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


def main() -> int:
    triton.set_allocator(scratch)  # for descriptors that a kernel makes
    major, minor = torch.cuda.get_device_capability()
    target = f"cuda:{major}{minor}"
    print(torch.cuda.get_device_name(), "Triton", triton.__version__, target)
    wrong = 0
    for label, *launch in launches():
        wrong += compare(label, target, *launch)
    label, kernel, arguments, constexprs, grid, options = next(launches())
    with triton_runner.using(device="cpu", level="ptx", target=target):
        asm = kernel.warmup(*arguments, grid=grid, **constexprs).asm
    names = re.findall(r"(%\d+) = (?:fmul|fadd|icmp|add|shl|or)\b", asm["llir"])
    wrong += compare("LLIR", target, kernel, arguments, constexprs, grid, options, names, "llir")
    # A PTX text of one's own, and a name that it does not have.
    moved = [value.cuda() if isinstance(value, torch.Tensor) else value for value in arguments]
    with triton_runner.dumping(kernel, "%p1") as dump:
        kernel[grid](*moved, ptx_src=asm["ptx"], **constexprs)
    inside = dump["%p1"].to_numpy().sum()
    print("a PTX text: %p1 is true", inside, "times")
    wrong += inside == 0
    wrong += compare_divergent()
    try:
        with triton_runner.dumping(kernel, "%r9999", level="ptx"):
            kernel[grid](*moved, **constexprs)
        wrong += 1
    except DiagnosticError as error:
        print(str(error).splitlines()[0])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
