"""The launches whose time on a GPU is measured (measure.py) and estimated (estimate.py): of this project's
kernels here, of libraries and Gluon in library_launches.py. Configurations of one problem are a group, whose
name comes before " @ "."""

import pathlib
import sys

import torch
import triton

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "examples")]
import small_kernels as small  # noqa: E402
from items import ITEMS, M, empty, integers, item, randn  # noqa: E402

# ---- launching, elementwise, gathers, atomics


def nothing(device, blocks, warps):
    small.nothing[(blocks,)](empty(device, 16), num_warps=warps)


for blocks, warps in ((1, 4), (132, 4), (2112, 4), (67584, 4), (67584, 1), (16896, 16)):
    item(f"nothing {blocks} w{warps}", nothing, blocks, warps)


def add(device, n, block, warps):
    x, y = randn(device, n), randn(device, n + 64)[64:]
    small.add[(triton.cdiv(n, block),)](x, y, empty(device, n), n, BLOCK=block, num_warps=warps)


for n in (4 * M, 16 * M, 64 * M):
    for block, warps in ((256, 4), (1024, 4), (1024, 8), (4096, 8), (8192, 4)):
        item(f"add {n} @ {block} w{warps}", add, n, block, warps)


def pointwise(device, kernel, n, *more, block=1024, warps=4, dtype=torch.float32, whole=False, **constants):
    x = integers(device, 100000, n) if whole else randn(device, n, dtype=dtype)
    out = torch.empty_like(x)
    kernel[(triton.cdiv(n, block),)](x, out, n, *more, **constants, BLOCK=block, num_warps=warps)


for times in (1, 8, 64):
    item(f"special x{times}", pointwise, small.special, 8 * M, TIMES=times)
    item(f"polynomial x{times * 4}", pointwise, small.polynomial, 8 * M, TIMES=times * 4)
for times in (1, 4, 16):
    item(f"divisions x{times}", pointwise, small.divisions, 4 * M, 7, TIMES=times, whole=True)
    item(f"doubles x{times * 4}", pointwise, small.doubles, 4 * M, TIMES=times * 4, dtype=torch.float64)
for n in (2 * M, 32 * M):
    item(f"gelu_half {n}", pointwise, small.gelu_half, n, dtype=torch.float16)
    item(f"stencil {n}", pointwise, small.stencil, n, RADIUS=3)


def copy_strided(device, n, step):
    small.copy_strided[(n // 1024,)](randn(device, n * step), empty(device, n), step, BLOCK=1024)


for step in (1, 2, 3, 8, 32):
    item(f"copy_strided {step}", copy_strided, 2 * M, step)


def gather(device, n, rows):
    small.gather[(n // 1024,)](
        randn(device, rows), integers(device, rows, n), empty(device, n), n, BLOCK=1024
    )


for rows in (16 * 1024, 4 * M, 64 * M):
    item(f"gather {rows}", gather, 4 * M, rows)


def embed(device, tokens, width, block):
    table = randn(device, 50000, width, dtype=torch.float16)
    out = empty(device, tokens, width, dtype=torch.float16)
    small.embed[(tokens,)](table, integers(device, 50000, tokens), out, width, BLOCK=block)


item("embed 768", embed, 16384, 768, 1024)
item("embed 4096", embed, 8192, 4096, 1024)


def histogram(device, n, bins):
    small.histogram[(n // 1024,)](
        integers(device, bins, n), empty(device, bins, dtype=torch.int32), n, BLOCK=1024
    )


for bins in (64, 4096, M):
    item(f"histogram {bins}", histogram, 2 * M, bins)


def scatter_add(device, n, rows):
    small.scatter_add[(n // 1024,)](
        randn(device, n), integers(device, rows, n), empty(device, rows), n, BLOCK=1024
    )


item("scatter_add 65536", scatter_add, 2 * M, 65536)


def transpose(device, n, tile_n, tile_m, warps, dtype=torch.float32):
    x, out = randn(device, n, n, dtype=dtype), empty(device, n, n, dtype=dtype)
    small.transpose[(n // tile_n, n // tile_m)](x, out, n, n, TILE_N=tile_n, TILE_M=tile_m, num_warps=warps)


for tile_n, tile_m, warps in (
    (16, 16, 1),
    (32, 32, 4),
    (64, 64, 4),
    (64, 64, 8),
    (128, 128, 8),
    (128, 32, 4),
):
    item(f"transpose 4096 @ {tile_n}x{tile_m} w{warps}", transpose, 4096, tile_n, tile_m, warps)
item("transpose half 4096", transpose, 4096, 64, 64, 4, torch.float16)


def chase(device, programs, steps, size):
    after = integers(device, size, size)
    small.chase[(programs,)](after, empty(device, programs * 32, dtype=torch.int32), STEPS=steps, num_warps=1)


item("chase L2", chase, 132, 64, 2 * M)
item("chase memory", chase, 132, 64, 64 * M)
item("chase many", chase, 2112, 64, 64 * M)


# ---- rows


def rows_of(device, kernel, rows, columns, block, warps=4, out_like=True, **constants):
    x = randn(device, rows, columns)
    out = (
        torch.empty_like(x)
        if out_like
        else empty(device, rows, dtype=torch.float32 if out_like is False else torch.int32)
    )
    kernel[(rows,)](x, out, columns, BLOCK=block, num_warps=warps, **constants)


for block, warps in ((256, 1), (512, 4), (1024, 4), (2048, 8), (4096, 4), (4096, 16)):
    item(f"row_sum 8192x4096 @ {block} w{warps}", rows_of, small.row_sum, 8192, 4096, block, warps, False)
item("argmax 8192x2000", rows_of, small.argmax, 8192, 2000, 2048, 4, None)
item("cumulative 8192x1000", rows_of, small.cumulative, 8192, 1000, 1024)
item("cumulative 2048x8000", rows_of, small.cumulative, 2048, 8000, 8192, 8)


def column_sum(device, rows, columns, block_r, block_c):
    small.column_sum[(columns // block_c,)](
        randn(device, rows, columns), empty(device, columns), rows, columns, BLOCK_R=block_r, BLOCK_C=block_c
    )


item("column_sum 4096x8192", column_sum, 4096, 8192, 32, 32)
item("column_sum 2048x16384", column_sum, 2048, 16384, 16, 128)


def sort_rows(device, rows, block, warps):
    small.sort_rows[(rows,)](
        randn(device, rows, block), empty(device, rows, block), BLOCK=block, num_warps=warps
    )


item("sort 4096x256", sort_rows, 4096, 256, 4)
item("sort 2048x1024", sort_rows, 2048, 1024, 4)


def collatz(device, programs, block):
    x = integers(device, 100000, programs * block) + 1
    small.collatz[(programs,)](x, torch.empty_like(x), BLOCK=block)


item("collatz", collatz, 1024, 128)


def cross_entropy(device, rows, columns, block):
    logits = randn(device, rows, columns, dtype=torch.bfloat16)
    target = integers(device, columns, rows)
    small.cross_entropy[(rows,)](logits, target, empty(device, rows), columns, BLOCK=block, num_warps=8)


item("cross_entropy 2048x32000", cross_entropy, 2048, 32000, 4096)
item("cross_entropy 512x128256", cross_entropy, 512, 128256, 8192)


def rotate(device, tokens, heads, dim):
    x = randn(device, tokens, heads, dim, dtype=torch.float16)
    angles = [randn(device, tokens, dim // 2, dtype=torch.float16) for _ in range(2)]
    small.rotate[(tokens,)](x, *angles, torch.empty_like(x), heads, DIM=dim, num_warps=2)


item("rotate 8192x16x128", rotate, 8192, 16, 128)


def softmax(device, rows, columns, warps, programs):
    from kernels.softmax import softmax_kernel

    x = randn(device, rows, columns)
    softmax_kernel[(programs,)](
        torch.empty_like(x), x, columns, columns, rows, columns,
        BLOCK=triton.next_power_of_2(columns), num_warps=warps,
    )  # fmt: skip


for warps, programs in ((2, 4096), (4, 4096), (8, 4096), (8, 132), (8, 528), (16, 1056)):
    item(f"softmax 4096x3000 @ w{warps} p{programs}", softmax, 4096, 3000, warps, programs)
item("softmax 8192x1024", softmax, 8192, 1024, 4, 8192)
item("softmax 1024x16384", softmax, 1024, 16384, 16, 1024)


def layer_norm(device, rows, columns, block, warps, part):
    from kernels import layer_norm as kernels

    x, dy = randn(device, rows, columns), randn(device, rows, columns)
    w, b = randn(device, columns), randn(device, columns)
    mean, rstd = empty(device, rows), empty(device, rows) + 1
    if part == "forward":
        kernels.layer_norm_forward[(rows,)](
            x, torch.empty_like(x), w, b, mean, rstd, columns, columns, 1e-5, BLOCK=block, num_warps=warps
        )
        return
    groups = 96
    sums = [empty(device, groups, columns) for _ in range(2)]
    if part == "backward":
        locks = empty(device, 2 * groups, dtype=torch.int32)
        kernels.layer_norm_backward[(rows,)](
            torch.empty_like(x), dy, *sums, x, w, mean, rstd, locks, columns, columns,
            GROUP=groups, BLOCK=block, num_warps=warps,
        )  # fmt: skip
    else:
        kernels.layer_norm_weights[(triton.cdiv(columns, 128),)](
            *sums, empty(device, columns), empty(device, columns), groups, columns, BLOCK_M=32, BLOCK_N=128
        )


for block, warps in ((256, 2), (512, 4), (1024, 4), (1024, 8), (4096, 8)):
    item(f"layer_norm 4096x4096 @ {block} w{warps}", layer_norm, 4096, 4096, block, warps, "forward")
item("layer_norm backward 4096x1024", layer_norm, 4096, 1024, 1024, 8, "backward")
item("layer_norm weights 8192", layer_norm, 64, 8192, 0, 4, "weights")


def dropout(device, n):
    from kernels.dropout import dropout_kernel

    x = randn(device, n)
    dropout_kernel[(n // 1024,)](x, torch.empty_like(x), n, 0.4, 123, BLOCK=1024)


item("dropout", dropout, 16 * M)

# ---- products


def matmul(device, m, n, k, block_m, block_n, block_k, warps, stages, dtype=torch.float16):
    from kernels.matmul import matmul_kernel

    a, b = randn(device, m, k, dtype=dtype), randn(device, k, n, dtype=dtype)
    grid = (triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)
    matmul_kernel[grid](
        a, b, empty(device, m, n, dtype=torch.float16), m, n, k, k, 1, n, 1, n, 1,
        BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=8, ACTIVATION="",
        num_warps=warps, num_stages=stages,
    )  # fmt: skip


CONFIGURATIONS = (
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4),
    (128, 128, 64, 8, 3), (64, 64, 64, 4, 3), (32, 64, 32, 2, 5), (128, 128, 64, 4, 2),
)  # fmt: skip
for m, n, k in ((1024, 1024, 1024), (4096, 4096, 2048), (512, 8192, 4096)):
    for config in CONFIGURATIONS:
        name = f"matmul {m}x{n}x{k} @ {config[0]}x{config[1]}x{config[2]} w{config[3]} s{config[4]}"
        item(name, matmul, m, n, k, *config)
item("matmul ragged", matmul, 1000, 1100, 1030, 128, 128, 64, 8, 3)


def matmul_tma(device, m, n, k, block_m, block_n, block_k, warps, stages):
    from kernels.matmul_tma_v4 import matmul_tma_kernel
    from triton.tools.tensor_descriptor import TensorDescriptor

    half = torch.float16
    a, b, c = (
        randn(device, m, k, dtype=half),
        randn(device, k, n, dtype=half),
        empty(device, m, n, dtype=half),
    )
    matmul_tma_kernel[(triton.cdiv(m, block_m) * triton.cdiv(n, block_n),)](
        TensorDescriptor(a, [m, k], [k, 1], [block_m, block_k]),
        TensorDescriptor(b, [k, n], [n, 1], [block_k, block_n]),
        TensorDescriptor(c, [m, n], [n, 1], [block_m, block_n]),
        m, n, k, BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, GROUP_M=8,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip


for config in (
    (128, 256, 64, 8, 3),
    (128, 128, 64, 8, 3),
    (128, 128, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (64, 64, 64, 4, 4),
):
    name = f"matmul_tma 2048 @ {config[0]}x{config[1]}x{config[2]} w{config[3]} s{config[4]}"
    item(name, matmul_tma, 2048, 2048, 2048, *config)


def product(device, kind, size, tile_m, tile_n, step, split=1, warps=4, stages=3):
    if kind == torch.int8:
        a = b = integers(device, 100, size, size).to(torch.int8)
    else:
        a = b = randn(device, size, size, dtype=torch.float32).to(kind)
    sums = {torch.int8: torch.int32, torch.float64: torch.float64}.get(kind, torch.float32)
    out = empty(device, size, size, dtype=sums)
    small.product[(size // tile_m, size // tile_n, split)](
        a, b, out, size, size, size, TILE_M=tile_m, TILE_N=tile_n, STEP=step, SPLIT=split,
        num_warps=warps, num_stages=stages,
    )  # fmt: skip


item("product bf16", product, torch.bfloat16, 2048, 128, 128, 64, warps=8)
item("product tf32", product, torch.float32, 1024, 64, 64, 32)
item("product int8", product, torch.int8, 2048, 128, 128, 64, warps=8)
item("product f64", product, torch.float64, 512, 16, 16, 16, stages=1)
for split in (1, 2, 4, 8):
    item(f"product split 512 @ {split}", product, torch.float16, 512, 64, 64, 64, split)


def dequantized(device, m, n, k, tile_m, tile_n, step, warps):
    a = randn(device, m, k, dtype=torch.float16)
    packed = integers(device, 100, k // 2, n).to(torch.int8)
    small.dequantized_product[(m // tile_m, n // tile_n)](
        a, packed, randn(device, n), empty(device, m, n, dtype=torch.float16), m, n, k,
        TILE_M=tile_m, TILE_N=tile_n, STEP=step, num_warps=warps,
    )  # fmt: skip


for config in ((16, 128, 64, 4), (32, 64, 64, 4), (64, 128, 64, 4), (64, 128, 32, 8)):
    item(f"dequantized 64x4096x4096 @ {config}", dequantized, 64, 4096, 4096, *config)


def grouped(device, shapes, programs):
    from kernels.grouped_gemm import grouped_matmul_kernel

    half = torch.float16
    a = [randn(device, m, k, dtype=half) for m, n, k in shapes]
    b = [randn(device, k, n, dtype=half) for m, n, k in shapes]
    c = [empty(device, m, n, dtype=half) for m, n, k in shapes]
    pointers = [
        torch.tensor([t.data_ptr() for t in some], dtype=torch.int64, device=device) for some in (a, b, c)
    ]
    if device == "cpu":
        import triton_runner

        for tensor in {id(t): t for t in a + b + c}.values():
            triton_runner.register_memory(tensor)
    sizes = torch.tensor(shapes, dtype=torch.int32, device=device)
    strides = torch.tensor([(k, n, n) for m, n, k in shapes], dtype=torch.int32, device=device)
    grouped_matmul_kernel[(programs,)](
        *pointers, sizes, strides, len(shapes), PROGRAMS=programs, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32
    )


item("grouped", grouped, [(1024, 1024, 512), (512, 512, 1024), (2048, 256, 256), (256, 2048, 512)], 132)

# ---- attention


def attention(device, batch_heads, length, dim, block_m, block_n, warps, stages, causal):
    from kernels.attention import attention_kernel

    q, k, v = (randn(device, batch_heads, length, dim, dtype=torch.float16) for _ in range(3))
    attention_kernel[(length // block_m, batch_heads)](
        q, k, v, torch.empty_like(q), empty(device, batch_heads, length), 0.125, length * dim, dim, length,
        HEAD_DIM=dim, BLOCK_M=block_m, BLOCK_N=block_n, CAUSAL=causal, num_warps=warps, num_stages=stages,
    )  # fmt: skip


for config in (
    (128, 64, 4, 3),
    (128, 128, 8, 3),
    (64, 64, 4, 3),
    (128, 32, 4, 4),
    (64, 32, 4, 2),
    (128, 64, 8, 2),
):
    item(f"attention 32x2048x64 @ {config}", attention, 32, 2048, 64, *config, False)
    item(f"attention causal 32x2048x128 @ {config}", attention, 32, 2048, 128, *config, True)


def attention_backward(device, heads, length, dim, block, part):
    from kernels import attention_backward as kernels

    q, k, v, dout = (randn(device, heads, length, dim, dtype=torch.float16) for _ in range(4))
    lse, delta = empty(device, heads, length), empty(device, heads, length)
    grads = [empty(device, heads, length, dim) for _ in range(2)]
    if part == "delta":
        kernels.attention_delta[(length // block, heads)](q, dout, delta, length, HEAD_DIM=dim, BLOCK_M=block)
        return
    kernel = getattr(kernels, f"attention_{part}")
    outputs = grads if part == "dkdv" else grads[:1]
    kernel[(length // block, heads)](
        q, k, v, dout, *outputs, lse, delta, 0.125, length, HEAD_DIM=dim, BLOCK_M=block, BLOCK_N=block
    )


for part in ("delta", "dkdv", "dq"):
    item(f"attention_backward {part} 16x2048x64", attention_backward, 16, 2048, 64, 64, part)
item("attention_backward dkdv 32", attention_backward, 32, 1024, 64, 32, "dkdv")

import library_launches  # noqa: E402, F401

__all__ = ["ITEMS", "randn"]
