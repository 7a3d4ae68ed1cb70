"""Measures what the checks of a launch cost: CPU time under each of them, as a multiple of one without.

    python benchmark/checks.py

One thread; the least of the launches in half a second each, in two rounds.
"""

import functools

import kernels
import timing
import torch
import triton.language as tl
import triton_runner

add, softmax = (triton_runner.jit(kernel.fn) for kernel in (kernels.vector_add, kernels.softmax))


@triton_runner.jit
def matmul(a, b, c, n, TILE: tl.constexpr, STEP: tl.constexpr):
    rows = (tl.program_id(0) * TILE + tl.arange(0, TILE))[:, None]
    cols = (tl.program_id(1) * TILE + tl.arange(0, TILE))[None, :]
    k = tl.arange(0, STEP)
    acc = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, n, STEP):
        left = tl.load(a + rows * n + (start + k)[None, :])
        acc += tl.dot(left, tl.load(b + (start + k)[:, None] * n + cols))
    tl.store(c + rows * n + cols, acc)


def launches():
    """(name, launch with these settings) of each row."""
    x, y, total = torch.randn(3, 98432)
    table = torch.randn(1823, 781)
    a, b = torch.randn(2, 512, 512).half()
    c, out = torch.zeros(512, 512), torch.zeros_like(table)

    def product(**settings):
        matmul[(8, 8)](a, b, c, 512, TILE=64, STEP=32, **settings)

    yield "vector add 98,432 f32", lambda **s: add[(97,)](x, y, total, 98432, BLOCK=1024, **s)
    yield "softmax 1823 x 781 f32", lambda **s: softmax[(1823,)](out, table, 781, 781, 781, BLOCK=1024, **s)
    yield "matmul 512 f16, ttir", lambda **s: product(level="ttir", **s)
    yield "matmul 512 f16, ttgir of cuda:90", lambda **s: product(level="ttgir", target="cuda:90", **s)


def main() -> None:
    checks = ("nan", "uninit", "race", "nan,uninit,race", "hints", "overflow")
    columns = [*({"check": check} for check in checks), {"shuffle": 1}]
    names = [*checks, "shuffle"]
    print("| | ms | " + " | ".join(f"`{n}`" for n in names) + " |")
    print("|---|---|" + "---|" * len(names))
    with triton_runner.using(device="cpu", threads=1):
        for name, launch in launches():
            # The runs take turns, as other work on the machine slows all of them.
            ways = [functools.partial(launch, **settings) for settings in ({}, *columns)]
            rounds = [[timing.least(way, 0.5) for way in ways] for _ in range(2)]
            plain, *rest = (min(times) for times in zip(*rounds, strict=True))
            ratios = [f"{each / plain:.1f}" for each in rest]
            print(f"| {name} | {plain * 1e3:.2f} | " + " | ".join(ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
