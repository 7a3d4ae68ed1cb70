"""One kernel, entered and executed at several levels (doc/guide/start.md)."""

import pathlib
import sys
import tempfile

import numpy as np
import triton.language as tl
import triton_runner


@triton_runner.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x_ptr + at, inside) + tl.load(y_ptr + at, inside)
    tl.store(out_ptr + at, total, inside)


n = 100
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
verdicts = []


def check(name):
    verdicts.append("ok" if np.array_equal(out, x + y) else "differs")
    print(f"{name:<15}", verdicts[-1])
    out[:] = 0


with triton_runner.using(device="cpu"):
    compiled = add_kernel[(4,)](x, y, out, n, BLOCK=32)  # from Python
    check("python -> ttir")
    add_kernel[(4,)](x, y, out, n, BLOCK=32, level="ttgir")  # compiled further, and its TTGIR executed
    check("python -> ttgir")
    add_kernel[(4,)](x, y, out, n, BLOCK=32, level="ptx", target="cuda:80")
    check("python -> ptx")

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "add_kernel.ttir").write_text(compiled.asm["ttir"])
        add_kernel[(4,)](x, y, out, n, BLOCK=32, ttir_dir=folder)
        check("ttir_dir=")
        kernel = triton_runner.load(folder / "add_kernel.ttir", device="cpu")  # without any Python source
        kernel[(4,)](x, y, out, n)
        check("load()")

sys.exit("differs" in verdicts)
