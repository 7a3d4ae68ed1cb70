"""Registers of an untouched cubin through cuda-gdb: the sums of a vector add by the opcode, and values of the
TTGIR of five kernels, in every iteration, beside what stores in the kernel give.

    python tests/gpu/dump_gdb.py [add softmax row_squares mma wgmma named]

It says of each value how many elements are kept. Exits 1 where an element differs in a bit, or where a value
that ptxas keeps in these kernels is not found; says so where there is no cuda-gdb.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy
import torch
import triton
import triton_runner
from triton_runner import _core
from triton_runner._kernel.dumps import cubin_values, cuda_gdb, instrument, requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from kernels_for_dumps import add, matmul, row_squares, softmax

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")


def launches():
    """(name, kernel, arguments, keywords, grid, programs, values that have to be there)."""
    generator = torch.Generator().manual_seed(7)

    def random(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype).cuda()

    def zeros(*shape, dtype=torch.float32):
        return torch.zeros(*shape, dtype=dtype, device="cuda")

    f16 = torch.float16
    yield (
        "add", add, (random(1000), random(1000), zeros(1000), 1000), {"B": 256}, (4,), [0, 3],
        {"x", "y", "total", "offsets"},
    )  # fmt: skip
    yield (
        "softmax", softmax, (random(3, 500), zeros(3, 500), 500), {"B": 512}, (3,), [2],
        {"x", "shifted", "weights", "result"},
    )  # fmt: skip
    yield (
        "row_squares", row_squares, (random(3, 300, dtype=f16), zeros(3), 300),
        {"B": 128, "num_warps": 1}, (3,), [1], {"row"},
    )  # fmt: skip
    yield (
        "mma", matmul,
        (random(32, 128, dtype=f16), random(128, 64, dtype=f16), zeros(32, 64, dtype=f16), 32, 64, 128),
        {"BM": 32, "BN": 32, "BK": 32, "num_warps": 2, "num_stages": 2}, (2,), [1], {"acc"},
    )  # fmt: skip
    yield (
        "wgmma", matmul,
        (random(64, 256, dtype=f16), random(256, 64, dtype=f16), zeros(64, 64, dtype=f16), 64, 64, 256),
        {"BM": 64, "BN": 64, "BK": 64, "num_warps": 4, "num_stages": 3}, (1,), [0], {"acc", "c"},
    )  # fmt: skip


def kept_values(function, args, kwargs, grid) -> list:
    """The names of the values that the cubin keeps."""
    kernel = instrument.launcher_of(function)(None, args, kwargs, grid, True)
    ttgir = _core.ir.parse(kernel.asm["ttgir"], f"{kernel.name}.ttgir")
    # Addresses differ from launch to launch, and buffers are in no register.
    sites = [site for site, _ in _core.probe.select(ttgir, kernel.name, ["*"])]
    names = [site.value for site in sites if "ptr" not in site.type_text and "memdesc" not in site.type_text]
    kept, reasons = [], []
    for first in range(0, len(names), 32):
        request = requests.request(names[first : first + 32], function, level="cubin")
        try:
            found = cubin_values.plan(request, kernel)
        except triton_runner.DiagnosticError as error:
            reasons.append(str(error).splitlines()[0])
            continue
        kept += found.plan.values
        reasons += found.plan.notes
    if os.environ.get("VERBOSE"):
        for reason in reasons:
            print("    ", reason)
    kept = list(dict.fromkeys(kept))
    print(f"  {len(kept)} of {len(names)} values have registers in the cubin")
    return kept


def differences(name, function, args, kwargs, grid, programs, wanted) -> int:
    print(name)
    names = kept_values(function, args, kwargs, grid)
    options = {"every_iteration": True, "programs": programs}
    began = time.time()
    with triton_runner.dumping(function, *names, level="cubin", **options) as found:
        function[grid](*args, **kwargs)
    seconds, wrong, kept, seen = time.time() - began, 0, 0, set()
    with triton_runner.dumping(function, *names, level="ttgir", **options) as stored:
        function[grid](*args, **kwargs)
    for value in names:
        if value not in found:
            print(f"  {value}: NO RECORD")
            wrong += 1
            continue
        mine, theirs = found[value], stored[value]
        bytes_of = lambda v: numpy.ascontiguousarray(v.to_numpy()).view(numpy.uint8)  # noqa: E731
        shape = (len(mine), -1, mine.to_numpy().dtype.itemsize)
        same_count = len(mine) == len(theirs)
        if same_count:
            a, b = bytes_of(mine).reshape(shape), bytes_of(theirs).reshape(shape)
            there = (
                numpy.ones(a.shape[:2], bool) if mine.mask is None else mine.mask.reshape(a.shape[:2]) != 0
            )
            different = int(((a != b).any(axis=2) & there).sum())
            loops = mine.iterations.shape[1]
            ordered = not loops or numpy.array_equal(mine.iterations[:, 0], theirs.iterations[:, -1])
            ordered = ordered and numpy.array_equal(mine.programs, theirs.programs)
        else:
            there, different, ordered = numpy.zeros(0, bool), 0, False
        wrong += not (same_count and ordered and different == 0)
        kept += int(there.sum())
        seen.add(mine.variable)
        state = "the same bits" if different == 0 and ordered else f"{different} DIFFER, or other records"
        print(
            f"  {value:10} {mine.variable or '':8} {mine.op:24} {mine.type}{list(mine.shape)}: {len(mine)} "
            f"records (stores: {len(theirs)}), {int(there.sum())} of {there.size} elements kept, {state}"
        )
    for note in found.notes:
        print("   note:", note)
    missing = wanted - seen
    if missing:
        print("  NOT FOUND:", ", ".join(sorted(missing)))
    print(f"  {kept} elements in {seconds:.1f} s, {wrong} values differ")
    return wrong + len(missing)


def named() -> int:
    """The sums by the opcode, as registers of threads."""
    wrong = 0
    torch.manual_seed(0)
    x, y = (torch.randn(1024, device="cuda") for _ in range(2))
    programs, began = [0, 2], time.time()
    request = requests.request(["FADD"], add, programs=programs)
    _, recording, _ = cuda_gdb.run(request, add, None, (x, y, torch.zeros_like(x), 1024), {"B": 256}, (4,))
    sums = (x + y).cpu().numpy()
    for place, program in enumerate(programs):
        expected = numpy.sort(sums[program * 256 : program * 256 + 256])
        found = [s.data[place].view(numpy.float32) for s in recording.series if s.site.op.startswith("FADD")]
        same = numpy.array_equal(numpy.sort(numpy.concatenate(found)), expected)
        wrong += not same
        print(f"FADD, program {program}: the sums are {'in the registers' if same else 'NOT THERE'}")
    print(f"  {time.time() - began:.1f} s")
    return wrong


def main() -> int:
    print("cuda-gdb:", cuda_gdb.find(), "Triton", triton.__version__, torch.cuda.get_device_name())
    if cuda_gdb.find() is None:
        return 0
    chosen, wrong = sys.argv[1:], 0
    if not chosen or "named" in chosen:
        wrong += named()
    for name, *launch in launches():
        if not chosen or name in chosen:
            try:
                wrong += differences(name, *launch)
            except triton_runner.DiagnosticError as error:
                print("  FAILED:", error)
                wrong += 1
    print("all the same" if wrong == 0 else f"{wrong} WRONG")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
