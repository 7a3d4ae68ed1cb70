"""Measures a dump on a GPU: a matmul 4096^3 of f16 with and without stores, beside a hand-written tl.store.

    python tests/gpu/dump_cost.py

Every kernel enters as TTGIR and is launched the same way; times are medians of rounds in a random order.
"""

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import warnings

import torch
import triton
import triton.language as tl
import triton_runner
import triton_runner.language as dl
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._kernel.dumps import instrument, requests
from triton_runner._kernel.dumps.changes import Before, changes_of

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
warnings.simplefilter("ignore")
SIZE, BLOCKS, OPTIONS = 4096, {"BM": 128, "BN": 256, "BK": 64}, {"num_warps": 8, "num_stages": 3}
ROUNDS, LAUNCHES = 41, 20


@triton_runner.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    rm = (pid // columns) * BM + tl.arange(0, BM)
    rn = (pid % columns) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * N
    total = acc * 1.5
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], total.to(tl.float16))


@triton_runner.jit
def matmul_stored(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    rm = (pid // columns) * BM + tl.arange(0, BM)
    rn = (pid % columns) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * N
    total = acc * 1.5
    tl.store(d_ptr + pid * BM * BN + tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :], total)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], total.to(tl.float16))


@triton_runner.jit
def matmul_dumped(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    rm = (pid // columns) * BM + tl.arange(0, BM)
    rn = (pid % columns) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        dl.dump(acc)
        a_ptrs += BK
        b_ptrs += BK * N
    total = acc * 1.5
    dl.dump_grids(total)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], total.to(tl.float16))


def sass(cubin: bytes, name: str) -> list[str]:
    """The instructions of a cubin, without its name and places."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run(
            ["cuobjdump", "-sass", file.name], capture_output=True, text=True, check=True
        ).stdout
    return [line.split("/*")[1:3] for line in text.splitlines() if "/*" in line and name not in line]


def main() -> int:
    device = "cuda"
    torch.manual_seed(0)
    a = torch.randn(SIZE, SIZE, device=device, dtype=torch.float16)
    b = torch.randn(SIZE, SIZE, device=device, dtype=torch.float16)
    c = torch.zeros_like(a)
    programs = (SIZE // BLOCKS["BM"]) * (SIZE // BLOCKS["BN"])
    grid, arguments = (programs, 1, 1), (a, b, c, SIZE, SIZE, SIZE)
    keywords = {**BLOCKS, **OPTIONS}
    plain = matmul.warmup(*arguments, grid=grid, **keywords)
    d = torch.zeros(programs * BLOCKS["BM"] * BLOCKS["BN"], device=device)
    stored_arguments = (a, b, c, d, SIZE, SIZE, SIZE)
    stored = matmul_stored.warmup(*stored_arguments, grid=grid, **keywords)

    def entered(kernel, function, given):
        compiled = compiled_of(kernel)
        made = instrument.loaded(instrument.ttgir_artifact(kernel.asm["ttgir"], compiled), compiled)
        bound = dict(zip(function.arg_names, given, strict=False))
        named = compiled.passed({**bound, **BLOCKS}, set(BLOCKS))
        return lambda: made.kernel.launch(grid, named)

    def dumped(level, selector, every=False, chosen=()):
        request = requests.request(
            [selector], matmul, every_iteration=every, programs=chosen or None, level=level
        )
        compiled = compiled_of(plain)
        bound = dict(zip(matmul.arg_names, arguments, strict=False))
        named = compiled.passed({**bound, **BLOCKS}, set(BLOCKS))
        insertion, artifact = instrument.with_stores(request, compiled, level, grid, named)
        made = instrument.loaded(artifact, compiled)
        buffer, host = instrument._buffer(insertion.bytes)
        launch = lambda: made.kernel.launch(grid, [*named, ("dump_buffer", buffer)])  # noqa: E731
        launch()
        recording = insertion.decode(host(), [])
        changes = changes_of(Before(compiled), made, None)
        return launch, [(s.site.value, len(s), len(s) * s.data.shape[1]) for s in recording.series], changes

    ttgir = plain.asm["ttgir"]
    dots = [line for line in ttgir.splitlines() if re.search(r"= (ttng.warp_group_dot|tt.dot) ", line)]
    dot = dots[0].split("=")[0].strip()
    rows = {"plain": (entered(plain, matmul, arguments), "", [])}
    rows["hand-written tl.store of total"] = (entered(stored, matmul_stored, stored_arguments), "", [])
    for name, how in {
        "total, one program, at ttir": ("ttir", "total", False, [(0, 0, 0)]),
        "total, all programs, at ttir": ("ttir", "total"),
        "total, one program, at ttgir": ("ttgir", "total", False, [(0, 0, 0)]),
        "total, all programs, at ttgir": ("ttgir", "total"),
        "the dot in the loop, one program, every iteration, at ttgir": ("ttgir", dot, True, [(0, 0, 0)]),
        "the dot in the loop, all programs, last iteration, at ttgir": ("ttgir", dot),
        "acc in the loop, one program, every iteration, at ttir": ("ttir", "tt.dot", True, [(0, 0, 0)]),
    }.items():
        rows[name] = dumped(*how)
    times = {name: [] for name in rows}
    order = random.Random(0)
    for _ in range(ROUNDS):
        for name, (launch, *_) in order.sample(list(rows.items()), len(rows)):
            for _ in range(3):
                launch()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(LAUNCHES):
                launch()
            end.record()
            torch.cuda.synchronize()
            times[name].append(begin.elapsed_time(end) * 1e3 / LAUNCHES)
    base = statistics.median(times["plain"])
    hand = statistics.median(times["hand-written tl.store of total"])
    print(
        f"{torch.cuda.get_device_name()}, Triton {triton.__version__}; {ROUNDS} rounds of {LAUNCHES} launches"
    )
    print("| kernel | microseconds | of plain | of the hand-written store |\n|---|---|---|---|")
    for name, (_, series, changes) in rows.items():
        middle = statistics.median(times[name])
        print(f"| {name} | {middle:.1f} | {middle / base:.4f} | {middle / hand:.3f} |")
        for text in [*map(str, series), *changes]:
            print("   ", text)
    # Dumping switched off: what is compiled is the same.
    with triton_runner.using(dump=False):
        off = matmul_dumped.without_dumps.warmup(*arguments, grid=grid, **keywords)
    same = sass(off.asm["cubin"], "matmul") == sass(plain.asm["cubin"], "matmul")
    print(
        "with dl.dump switched off the SASS is",
        "the same" if same else "DIFFERENT",
        len(sass(off.asm["cubin"], "matmul")),
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
