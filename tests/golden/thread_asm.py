"""Cases of ttg.inline_asm: an execution is a thread, with the elements that the layout gives it."""
# ruff: noqa: E501 (lines of IR are as long as they are)

from __future__ import annotations

import numpy as np

from .builder import Kernel
from .casefile import Cases, codes

LAYOUTS = """\
#pair = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#apart = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
"""


def assembly(k: Kernel, text: str, constraints: str, args: list[str], types: list[str], result: str) -> str:
    return k.emit(
        f'ttg.inline_asm "{text}" {{constraints = "{constraints}", pure = true}} {", ".join(args)} : '
        f"({', '.join(types)}) -> {result}"
    )


def store(k: Kernel, value: str, expected, element: str, encoding: str) -> None:
    expected = np.asarray(expected)
    pointer, _ = k.array(element, expected.shape, None, codes(expected))
    where = k.pointers(pointer, element, expected.shape, encoding)
    k.do(f"tt.store {where}, {value} : {k.type(expected.shape, f'!tt.ptr<{element}>', encoding)}")


def cases() -> Cases:
    rng = np.random.default_rng(11)
    x = rng.integers(-1000, 1000, 256).astype(np.int32)

    # A thread has elements 2i and 2i + 1, or i and i + 128.
    k = Kernel(gpu=True, layouts=LAYOUTS)
    for encoding, by_thread in (("#pair", x.reshape(128, 2)), ("#apart", x.reshape(2, 128).T)):
        v = k.load("i32", (256,), codes(x), encoding=encoding)
        t = k.type((256,), "i32", encoding)
        both = assembly(
            k, "sub.s32 $0, $3, $2; add.s32 $1, $2, $4;", "=&r,=r,r,r,r", [v, k.constant(7, "i32")], [t, "i32"], t
        )  # fmt: skip
        out = np.stack([by_thread[:, 1] - by_thread[:, 0], by_thread[:, 0] + 7], 1)
        store(k, both, out.reshape(256) if encoding == "#pair" else out.T.reshape(256), "i32", encoding)
    number = np.arange(128, dtype=np.int32)
    tensor = k.type((128,), "i32", "#apart")
    k.do(f"""
%threads:3 = ttg.inline_asm "mov.u32 $0, %tid.x; mov.u32 $1, %warpid; mov.u32 $2, %laneid;" {{constraints = "=r,=r,=r", pure = true}} : () -> ({tensor}, {tensor}, {tensor})""")
    for i, expected in enumerate((number, number // 32, number % 32)):
        store(k, f"%threads#{i}", expected, "i32", "#apart")
    about = "All registers of a thread in one execution, by its layout; a scalar; which thread it is."
    yield k.case("op/ttg.inline_asm.ttgir", about)

    # Sixteen elements on 128 threads: copies agree. Halves one a register; a result tied to an operand.
    k = Kernel(gpu=True, layouts=LAYOUTS)
    h = np.arange(-8, 8).astype(np.float16)
    v = k.load("f16", (16,), codes(h), encoding="#apart")
    t = k.type((16,), "f16", "#apart")
    r = assembly(k, "add.f16 $0, $1, $2;", "=h,h,h", [v, v], [t, t], t)
    store(k, r, h + h, "f16", "#apart")
    n = k.load("i32", (16,), codes(x[:16]), encoding="#apart")
    t = k.type((16,), "i32", "#apart")
    r = assembly(k, "add.s32 $0, $0, 1;", "=r,0", [n], [t], t)
    store(k, r, x[:16] + 1, "i32", "#apart")
    yield k.case("op/ttg.inline_asm-copies.ttgir", "Elements that several threads hold; halves; a tie.")
