"""Kernels by numba-cuda: each function of FUNCTIONS runs for each thread, out[i] = f(i, x).

`python numba_kernels.py` (where numba-cuda is installed, with a driver or with one of ours in its place)
writes their PTX beside this file; test_foreign.py runs them as Python too."""

import math
import pathlib

try:
    from numba import cuda, float64, int64
except ImportError:  # the test calls the functions as they are

    class cuda:
        """Stands for numba.cuda where there is none: functions stay Python."""

        @staticmethod
        def jit(*_args, **_kw):
            return lambda f: f

    int64 = float64 = lambda *args: None


@cuda.jit(int64(int64), device=True, inline="never")
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursive(i, x):
    return fib(i % 13)


def collatz(i, x):
    n, steps = i + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def floor_divided(i, x):
    a, b = i - 30, (i % 7) - 8
    return a // b * 1000 + a % b + (a << 2) - (a >> 1) + (a ^ b) + int(a == b)


def rounded(i, x):
    return int(x[i] * 10) + round(x[i]) + math.floor(x[i]) * 100 + math.ceil(x[i]) * 1000


def strided(i, x):
    total = 0.0
    for k in range(i, len(x), 5):
        total += x[k] * 0.5 if k % 2 else -x[k]
    return int(total * 1000)


FUNCTIONS = [recursive, collatz, floor_divided, rounded, strided]


def kernel_of(device):
    """The kernel that calls `device` for each thread."""

    def kernel(out, x):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = device(i, x)

    return kernel


def main():
    for function in FUNCTIONS:
        kernel = kernel_of(cuda.jit(device=True)(function))
        text, _ = cuda.compile_ptx(kernel, (int64[::1], float64[::1]), cc=(8, 0), fastmath=False)
        name = f"numba_{function.__name__}.ptx"
        pathlib.Path(__file__).with_name(name).write_text(text)


if __name__ == "__main__":
    main()
