"""The TLX kernels of examples/kernels at real sizes on a Hopper GPU: each level's result beside torch, its
time beside the same kernel launched by plain Triton with the plug-in.

    python tests/gpu/tlx.py OUT [--small]     needs Triton 3.8, triton-utlx and torch; --small: the CPU too

The artifacts are those of these sizes, made here by triton_runner.jit. OUT/tlx.json has every sample; the
exit status is 1 where a result is wrong.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

import torch
import triton
import triton_runner
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_runner._base.levels import ON_CPU, levels_of
from triton_runner._base.metadata import as_path_or_text
from triton_runner.bench import report, rounds
from triton_runner.bench.timing import timer

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from kernels import tlx_attention, tlx_matmul, tlx_matmul_ws

ROUNDS = 40


class Problem(NamedTuple):
    """A launch, what it has to give, and how far it may be off."""

    title: str
    kernel: object
    grid: tuple
    args: tuple
    meta: dict
    got: torch.Tensor
    expected: torch.Tensor
    tolerance: float
    work: float


def normal(*shape):
    return torch.randn(shape, device=DEVICE, dtype=torch.float16)


def pipelined(n: int, block: int, depth: int) -> Problem:
    a, b, c = normal(n, n), normal(n, n), torch.zeros(n, n, device=DEVICE, dtype=torch.float16)
    meta = {"BLOCK_M": block, "BLOCK_N": block, "BLOCK_K": depth, "STAGES": 4, "num_warps": 4}
    args = (a, b, c, n, n, n, n, 1, n, 1, n, 1)
    grid = (triton.cdiv(n, block) ** 2,)
    kernel = tlx_matmul.tlx_matmul_kernel
    return Problem(f"pipelined matmul, {n}", kernel, grid, args, meta, c, a @ b, 0.01, 2 * n**3)


def specialised(n: int, block: int, depth: int, programs: int) -> Problem:
    a, b, c = normal(n, n), normal(n, n), torch.zeros(n, n, device=DEVICE, dtype=torch.float16)
    shapes = (a, [block // 2, depth]), (b, [depth, block]), (c, [block // 2, block])
    meta = {
        "BLOCK_M": block, "BLOCK_N": block, "BLOCK_K": depth, "STAGES": 4, "GROUPS": 2, "PROGRAMS": programs,
        "num_warps": 4, "num_stages": 1,
    }  # fmt: skip
    args = (*(TensorDescriptor(x, [n, n], [n, 1], shape) for x, shape in shapes), n, n, n)
    kernel = tlx_matmul_ws.tlx_matmul_ws_kernel
    return Problem(f"matmul in tasks, {n}", kernel, (programs,), args, meta, c, a @ b, 0.01, 2 * n**3)


def attention(batches: int, heads: int, length: int, dim: int, block_n: int) -> Problem:
    rows, block_m, scale = batches * heads * length, 128, dim**-0.5
    q, k, v = (normal(rows, dim) for _ in range(3))
    out, sums = torch.zeros_like(q), torch.zeros(rows, device=DEVICE)
    half, block = [block_m // 2, dim], [block_n, dim]
    described = (
        TensorDescriptor(x, [rows, dim], [dim, 1], s)
        for x, s in ((q, half), (k, block), (v, block), (out, half))
    )
    meta = {
        "HEAD_DIM": dim, "BLOCK_M": block_m, "BLOCK_N": block_n, "NUM_BUFFERS": 2, "num_warps": 4,
        "num_stages": 1,
    }  # fmt: skip
    grid = (length // block_m, batches * heads)
    shaped = [x.view(batches, heads, length, dim) for x in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(*shaped, scale=scale).reshape(rows, dim)
    args = (scale, sums, batches, heads, *described, length)
    kernel = tlx_attention._attn_fwd_ws_pipelined_pingpong
    work = 4 * batches * heads * length**2 * dim
    return Problem(
        f"attention, {batches}x{heads}x{length}x{dim}", kernel, grid, args, meta, out, expected, 0.01, work
    )


def row(problem: Problem, name: str, launch, label: str) -> rounds.Row:
    def check() -> None:
        problem.got.zero_()
        launch()
        error = (problem.got.float() - problem.expected.float()).abs().max()
        error /= problem.expected.float().abs().max()
        if not error <= problem.tolerance:
            raise rounds.WrongResult(f"off by {error:.3g} of the largest value")

    return rounds.Row(name, label, lambda: TIMER(launch), check)


def section(problem: Problem, folder: Path) -> rounds.Section:
    ours, grid, args, meta = problem.kernel, problem.grid, problem.args, problem.meta
    native = triton.jit(ours.fn)
    compiled = ours[grid](*args, **meta)
    name, levels = compiled.name, levels_of("cuda:90")
    folder /= name
    folder.mkdir(parents=True, exist_ok=True)
    for level in levels:
        triton_runner._core.artifact.write(str(folder / f"{name}.{level}"), compiled.asm[level])
    metadata = as_path_or_text(compiled.metadata, "metadata")
    triton_runner._core.artifact.write(str(folder / f"{name}.json"), metadata)
    rows = [
        row(problem, "triton.jit", lambda: native[grid](*args, **meta), "TLX by plain Triton"),
        row(problem, "triton_runner.jit", lambda: ours[grid](*args, **meta), "TLX"),
    ]
    for level in levels if DEVICE == "cuda" else ON_CPU:
        given = {**meta, f"{level}_dir": str(folder)}
        label = f"{name}.{level}"
        rows.append(row(problem, f"{level}_dir=", lambda given=given: ours[grid](*args, **given), label))
    return rounds.Section(problem.title, rows, "triton.jit", unit=1e-3, work=problem.work)


def main() -> int:
    small = OPTIONS.small
    problems = [
        pipelined(256, 64, 32) if small else pipelined(4096, 128, 64),
        specialised(256, 128, 32, 3) if small else specialised(4096, 128, 64, 132),
        attention(1, 2, 256, 64, 64) if small else attention(4, 32, 4096, 128, 128),
    ]
    sections, right = [], True
    for problem in problems:
        one = section(problem, OPTIONS.out)
        right &= rounds.check(one)
        rounds.measure(one, 3 if small else ROUNDS, seconds=40)
        sections.append(one)
        print(f"\n{one.title} (ms: least, median, quotient)")
        for each in one.rows:
            print("| " + " | ".join(report.cells(one, each)) + " |", flush=True)
    (OPTIONS.out / "tlx.json").write_text(json.dumps(report.as_json(sections)))
    return not right


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--small", action="store_true")
    OPTIONS = parser.parse_args()
    DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
    TIMER = timer("warm" if DEVICE == "cuda" else "launch", DEVICE == "cuda")
    OPTIONS.out.mkdir(parents=True, exist_ok=True)
    sys.exit(main())
