"""The benchmark's rows: kernels at a size, what torch has in their place, what the project asks for."""

import dataclasses
from collections.abc import Callable

import kernels
import torch


@dataclasses.dataclass
class Case:
    """kernel[grid](*args, **meta) fills `out`; torch() computes the same in `torch_type` and returns it."""

    name: str
    size: str
    kernel: object
    grid: tuple
    args: tuple
    meta: dict
    out: torch.Tensor
    torch: Callable[[], torch.Tensor]
    torch_type: str
    tolerance: float
    faster: int  # wanted: at least so many times faster than the interpreter
    share: float  # wanted: at most so many times torch's time
    mma: str = "exact"
    flops: float = 0  # multiplications and additions of the dots
    two_threads: bool = False  # bound by arithmetic: measured on two threads too
    fresh: Callable[[], torch.Tensor] | None = None  # torch() with a result of its own each time

    def launch(self):
        """As a person would; returns Triton's compiled kernel on this package's engines."""
        return self.kernel[self.grid](*self.args, **self.meta)

    @property
    def values(self) -> tuple:
        """Arguments in the order of the kernel's parameters, constexprs included."""
        return (*self.args, *(self.meta[name] for name in self.kernel.arg_names[len(self.args) :]))


def cdiv(n: int, block: int) -> int:
    return (n + block - 1) // block


def add_case() -> Case:
    n = 98432
    x, y = torch.randn(n), torch.randn(n)
    out, reference = torch.empty(n), torch.empty(n)
    return Case(
        "vector add", "98,432 f32, blocks of 1,024", kernels.vector_add, (cdiv(n, 1024),), (x, y, out, n),
        {"BLOCK": 1024}, out, lambda: torch.add(x, y, out=reference), "f32", 0, 2000, 2, fresh=lambda: x + y,
    )  # fmt: skip


def softmax_case() -> Case:
    rows, cols = 1823, 781
    x = torch.randn(rows, cols)
    out, reference = torch.empty_like(x), torch.empty_like(x)
    return Case(
        "softmax", "1823 x 781 f32", kernels.softmax, (rows,), (out, x, cols, cols, cols), {"BLOCK": 1024},
        out, lambda: torch.ops.aten._softmax.out(x, 1, False, out=reference), "f32", 1e-6, 1500, 1.5,
    )  # fmt: skip


def matmul_case(n: int, tiles: tuple, dtype: torch.dtype, faster: int, share: float, mma="exact") -> Case:
    """torch multiplies f16 on a CPU without its fast kernels (95 ms at 512): f32 is the fair baseline."""
    a, b = (torch.randn(n, n).to(dtype) for _ in range(2))
    baseline = torch.float32 if dtype == torch.float16 else dtype
    ta, tb, reference = a.to(baseline), b.to(baseline), torch.empty(n, n, dtype=baseline)
    out = torch.empty(n, n, dtype=dtype)
    block_m, block_n, block_k = tiles
    short = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
    size = f"{n}^3 {short[dtype]}, tiles {block_m}x{block_n}x{block_k}"
    return Case(
        "matmul", size + (', mma="fast"' if mma == "fast" else ""), kernels.matmul,
        (cdiv(n, block_m) * cdiv(n, block_n),), (a, b, out, n, n, n, n, 1, n, 1, n, 1),
        {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8},
        out, lambda: torch.mm(ta, tb, out=reference), short[baseline],
        0.1 if dtype == torch.float16 else 1.0, faster, share, mma, 2.0 * n**3, mma == "exact",
    )  # fmt: skip


def attention_case() -> Case:
    heads, length, dim, block = 2, 1024, 64, 64
    q, k, v = (torch.randn(1, heads, length, dim, dtype=torch.float16) for _ in range(3))
    q32, k32, v32 = q.float(), k.float(), v.float()
    out = torch.empty_like(q)
    return Case(
        "flash attention", f"Z1 H2 1024 x 64 f16, tiles {block}x{block}", kernels.flash_attention,
        (length // block, heads), (q, k, v, out, dim**-0.5, length * dim, length),
        {"DIM": dim, "BLOCK_M": block, "BLOCK_N": block}, out,
        lambda: torch.nn.functional.scaled_dot_product_attention(q32, k32, v32), "f32", 2e-3, 300, 1,
        flops=4.0 * heads * length * length * dim, two_threads=True,
    )  # fmt: skip


def layer_norm_case() -> Case:
    """torch allocates 37 MB for each result: bench.py keeps its allocator warm, or page faults were most."""
    rows, cols = 1151, 8192
    x, w, b = torch.randn(rows, cols), torch.rand(cols), torch.rand(cols)
    y, mean, rstd = torch.empty_like(x), torch.empty(rows), torch.empty(rows)
    return Case(
        "layer norm", "1151 x 8192 f32", kernels.layer_norm, (rows,),
        (x, y, w, b, mean, rstd, cols, cols, 1e-5), {"BLOCK": 8192}, y,
        lambda: torch.native_layer_norm(x, (cols,), w, b, 1e-5)[0], "f32", 1e-4, 1000, 2,
    )  # fmt: skip


def row_case(name: str, kernel, reference: Callable, out: torch.Tensor, x: torch.Tensor, tolerance) -> Case:
    n = x.shape[1]
    return Case(
        name, f"{x.shape[0]} rows of {n} f32", kernel, (x.shape[0],), (x, out, n), {"BLOCK": n}, out,
        reference, "f32", tolerance, 1000, 3,
    )  # fmt: skip


def row_sum_case() -> Case:
    x, out, reference = torch.randn(1024, 1024), torch.empty(1024), torch.empty(1024)
    return row_case("row sum", kernels.row_sum, lambda: torch.sum(x, 1, out=reference), out, x, 1e-3)


def cumsum_case() -> Case:
    x = torch.randn(1024, 1024)
    out, reference = torch.empty_like(x), torch.empty_like(x)
    return row_case("cumsum", kernels.row_cumsum, lambda: torch.cumsum(x, 1, out=reference), out, x, 1e-3)


def sort_case() -> Case:
    """Few rows: the interpreter takes a second for each. torch.sort gives the indices too."""
    x = torch.randn(4, 1024)
    out, found = torch.empty_like(x), (torch.empty_like(x), torch.empty(x.shape, dtype=torch.int64))
    return row_case("sort", kernels.row_sort, lambda: torch.sort(x, 1, out=found)[0], out, x, 0)


def programs_case(n: int) -> Case:
    """All programs on one row."""
    x, out = torch.randn(128), torch.empty(128)
    rows, reference = x.expand(n, 128), torch.empty(n, 128)
    return Case(
        "softmax", f"{n:,} programs", kernels.softmax, (n,), (out, x, 0, 0, 128), {"BLOCK": 128}, out,
        lambda: torch.ops.aten._softmax.out(rows, 1, False, out=reference)[0], "f32", 1e-6, 0, 0,
    )  # fmt: skip


def elements_case(n: int) -> Case:
    x, y, out, reference = torch.randn(n), torch.randn(n), torch.empty(n), torch.empty(n)
    return Case(
        "vector add", f"{n:,} elements", kernels.vector_add, (n // 1024,), (x, y, out, n), {"BLOCK": 1024},
        out, lambda: torch.add(x, y, out=reference), "f32", 0, 0, 0,
    )  # fmt: skip


def trips_case(n: int) -> Case:
    """One program, whose three loops have n trips each."""
    cols = 1024 * n
    x, w, b = torch.randn(1, cols), torch.rand(cols), torch.rand(cols)
    y, mean, rstd = torch.empty_like(x), torch.empty(1), torch.empty(1)
    return Case(
        "layer norm", f"{n:,} trips", kernels.layer_norm, (1,), (x, y, w, b, mean, rstd, cols, cols, 1e-5),
        {"BLOCK": 1024}, y, lambda: torch.native_layer_norm(x, (cols,), w, b, 1e-5)[0], "f32", 1e-3, 0, 0,
    )  # fmt: skip


def warps_case(n: int) -> Case:
    x = torch.randn(64, 8192)
    out, reference = torch.empty_like(x), torch.empty_like(x)
    return Case(
        "softmax", f"{n} warps", kernels.softmax, (64,), (out, x, 8192, 8192, 8192),
        {"BLOCK": 8192, "num_warps": n}, out, lambda: torch.ops.aten._softmax.out(x, 1, False, out=reference),
        "f32", 1e-6, 0, 0,
    )  # fmt: skip


def named(name: str) -> Case:
    """The case of a short name, or one that scaling.py makes larger and larger: "programs:1000"."""
    axis, _, size = name.partition(":")
    if not size:
        return cases()[name]()
    torch.manual_seed(0)
    grown = {"programs": programs_case, "elements": elements_case, "trips": trips_case, "warps": warps_case}
    return grown[axis](int(size))


def cases() -> dict[str, Callable[[], Case]]:
    """By a short name; made when asked for, from the same random numbers in every process."""

    def seeded(make, *args):
        def build():
            torch.manual_seed(0)
            return make(*args)

        return build

    small, large = (64, 64, 32), (128, 128, 32)
    f16, bf16 = torch.float16, torch.bfloat16
    return {
        "add": seeded(add_case),
        "softmax": seeded(softmax_case),
        "matmul-512": seeded(matmul_case, 512, small, f16, 700, 1 / 1.7),
        "matmul-512-large": seeded(matmul_case, 512, large, f16, 700, 1 / 1.7),
        "matmul-1024": seeded(matmul_case, 1024, small, f16, 600, 1 / 1.7),
        "matmul-1024-large": seeded(matmul_case, 1024, large, f16, 600, 1 / 1.7),
        "matmul-bf16": seeded(matmul_case, 512, small, bf16, 700, 3),
        "matmul-bf16-fast": seeded(matmul_case, 512, small, bf16, 700, 2, "fast"),
        "attention": seeded(attention_case),
        "layer-norm": seeded(layer_norm_case),
        "row-sum": seeded(row_sum_case),
        "cumsum": seeded(cumsum_case),
        "sort": seeded(sort_case),
    }
