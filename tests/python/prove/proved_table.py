"""Has the kernels of kernels_proved.py with what is given of them: 30 and more that are right, and
faults."""

from pathlib import Path

KERNELS = str(Path(__file__).with_name("kernels_proved.py"))
P, H = "*fp32", "*fp16"
I = "i32"  # noqa: E741
B, LONG = {"BLOCK": 128}, {"BLOCK": 8192}
FLAT = "x.numel == n, out.numel == n"
ADD = "x.numel == n, y.numel == n, out.numel == n"
BLOCKS = "cdiv(n, BLOCK)"
MN = "x.shape == (M, N), out.shape == (M, N)"
STRIDED = (
    "x.shape == (M, N), x.stride == (stride_x, 1), out.shape == (M, N), out.stride == (stride_out, 1), "
    "stride_x >= N, stride_out >= N"
)
ROW = (
    "x.shape == (M, N), x.stride == (stride, 1), out.shape == (M, N), out.stride == (stride, 1), stride >= N"
)
SMALL = "numel < 2**30"
SHORT = "N <= BLOCK"
TILES = {"BM": 64, "BN": 64, "BK": 32}
PRODUCT = (
    "a.shape == (M, K), a.stride == (am, 1), b.shape == (K, N), b.stride == (bk, 1), c.shape == (M, N), "
    "c.stride == (cm, 1), am >= K, bk >= N, cm >= N, numel < 2**28, M < 2**28, N < 2**28, K < 2**28"
)
STRIDES = [I, "i32:1"] * 3
ATTENTION = {"BM": 64, "BN": 32, "D": 64}
HEADS = ", ".join(f"{name}.shape == (grid[1] * N, D)" for name in ("q", "k", "v", "out"))
CAUSAL = ", ".join(f"{name}.shape == (N, D)" for name in ("q", "k", "out"))

# name of the kernel: (types, constants, grid, assumptions, properties that are not proved).
RIGHT = {
    "add": ([P, P, P, I], B, BLOCKS, ADD, ""),
    "whole_blocks": ([P, P, I], B, "n // BLOCK", f"{FLAT}, n % BLOCK == 0", ""),
    "grid_stride": ([P, P, I], B, "min(cdiv(n, BLOCK), 264)", f"{FLAT}, n < 2**30", ""),
    "rows": ([P, P, I, I, I, I], B, "M", f"{STRIDED}, {SHORT}, {SMALL}", ""),
    "rows_wide": ([P, P, I, I, I, I], B, "M", f"{STRIDED}, {SHORT}", ""),
    "row_loop": ([P, P, I, I, I], B, "M", f"{ROW}, {SMALL}, N < 2**30", ""),
    "softmax": ([P, P, I, I, I, I], B, "min(M, 1024)", f"{STRIDED}, {SHORT}, {SMALL}", ""),
    "layer_norm": (
        [P, P, P, P, I, I, I],
        B,
        "M",
        f"{ROW}, weight.numel == N, mean.numel == M, {SMALL}, N < 2**30",
        "",
    ),
    "matmul": ([H, H, H, I, I, I, *STRIDES], TILES, "cdiv(M, BM), cdiv(N, BN)", f"{PRODUCT}, N < 2**20", ""),
    "matmul_swizzled": (
        [H, H, H, I, I, I, *STRIDES],
        TILES | {"GROUP": 8},
        "cdiv(M, BM) * cdiv(N, BN)",
        PRODUCT,
        "",
    ),
    "transpose": (
        [P, P, I, I],
        B,
        "cdiv(M, BLOCK), cdiv(N, BLOCK)",
        f"x.shape == (M, N), out.shape == (N, M), {SMALL}, N < 2**20, M < 2**20",
        "",
    ),
    "batched": (
        [P, P, I, I, I],
        B,
        "M, B",
        f"x.shape == (B, M, N), out.shape == (B, M, N), {SMALL}, {SHORT}, B < 65536",
        "",
    ),
    "row_sums": ([P, P, I, I], B, "M", f"x.shape == (M, N), out.numel == M, {SMALL}", ""),
    "column_sums": ([P, P, I, I], B, "cdiv(N, BLOCK)", f"x.shape == (M, N), out.numel == N, {SMALL}", ""),
    "gather": (
        [P, "*i32", P, I, I],
        B,
        BLOCKS,
        "x.numel == V, index.numel == n, out.numel == n, index in 0..V, V > 0",
        "",
    ),
    "embedding": (
        [P, "*i32", P, I, I, I],
        B,
        "n",
        f"table.shape == (V, D), index.numel == n, out.shape == (n, D), index in 0..V, D <= BLOCK, {SMALL}",
        "",
    ),
    "histogram": (["*i32", "*i32", I, I], B, BLOCKS, "x.numel == n, bins.numel == V, x in 0..V, V > 0", ""),
    "total": ([P, P, I], B, BLOCKS, "x.numel == n, out.numel == 1", ""),
    "scale_in_place": ([P, I], B, BLOCKS, "x.numel == n", ""),
    "attention": ([H, H, H, H, I], ATTENTION, "cdiv(N, BM), 32", f"{HEADS}, {SMALL}", ""),
    "causal": ([H, H, H, I], ATTENTION, "cdiv(N, BM)", f"{CAUSAL}, {SMALL}", ""),
    "rotate": (
        [P, P, I, I],
        B,
        "M",
        f"x.shape == (M, 2 * HALF), out.shape == (M, 2 * HALF), HALF <= BLOCK, {SMALL}",
        "",
    ),
    "reverse": ([P, P, I], B, BLOCKS, FLAT, ""),
    "every_second": ([P, P, I], B, BLOCKS, f"x.numel == 2 * n, out.numel == n, {SMALL}", ""),
    "divided": ([P, P, I, I], B, BLOCKS, f"{FLAT}, k >= 1", ""),
    "early_return": ([P, P, I, I], B, "M + 3", f"{MN}, {SHORT}, {SMALL}, M < 2**20", ""),
    "persistent": ([P, P, I, I], B, "264", f"{MN}, numel < 2**24", ""),
    "stencil": ([P, P, I], B, BLOCKS, FLAT, ""),
    "dropout": ([P, P, I, I], B, BLOCKS, FLAT, ""),
    "padded": ([P, P, I, I, I], B, "M", f"x.shape == (M, N), out.shape == (M, P), P <= BLOCK, {SMALL}", ""),
    "assumed": ([P, P, I, I], B, BLOCKS, "x.numel == n, out.numel == m", ""),
    "described": (
        [P, P, I, I],
        {"BLOCK": 64},
        "cdiv(M, BLOCK), cdiv(N, BLOCK)",
        f"{MN}, {SMALL}, N < 2**20",
        "",
    ),
    "branches": ([P, P, I, I], B, BLOCKS, FLAT, ""),
    "split_k": (
        [P, P, I, I, I],
        B,
        "M, cdiv(K, PART)",
        f"a.shape == (M, K), out.numel == M, PART >= 1, PART < 2**30, {SMALL}",
        "",
    ),
}

# name: (kernel, types, constants, grid, assumptions, the property that is wrong). Those of LARGE show at
# sizes alone that no test of a kernel uses.
WRONG = {
    "load without a mask": ("add_unmasked_load", [P, P, P, I], B, BLOCKS, ADD, "bounds"),
    "store without a mask": ("add_unmasked_store", [P, P, P, I], B, BLOCKS, ADD, "bounds"),
    "<= for <": ("add_one_more", [P, P, P, I], B, BLOCKS, ADD, "bounds"),
    "the last one left out": ("add_one_less", [P, P, P, I], B, BLOCKS, ADD, "covered"),
    "the first one left out": ("add_shifted", [P, P, P, I], B, BLOCKS, ADD, "covered"),
    "half of each block": ("add_half_blocks", [P, P, P, I], B, BLOCKS, ADD, "covered"),
    "a program too few": ("add", [P, P, P, I], B, "n // BLOCK", f"{ADD}, n >= BLOCK", "covered"),
    "y one shorter": (
        "add",
        [P, P, P, I],
        B,
        BLOCKS,
        "x.numel == n, y.numel == n - 1, out.numel == n",
        "bounds",
    ),
    "blocks that overlap": ("meeting", [P, P, I], B, BLOCKS, FLAT, "disjoint"),
    "all write one": ("all_to_one", [P, P, I], B, BLOCKS, "x.numel == n, out.numel == 1", "disjoint"),
    "reads what others write": ("shifted_in_place", [P, I], B, BLOCKS, "x.numel == n", "disjoint"),
    "the other stride": (
        "wrong_stride",
        [P, P, I, I, I, I],
        B,
        "M",
        f"{STRIDED}, {SHORT}, {SMALL}",
        "bounds",
    ),
    "extents the wrong way round": (
        "wrong_extent",
        [P, P, I, I],
        B,
        "cdiv(M, BLOCK), cdiv(N, BLOCK)",
        f"x.shape == (M, N), out.shape == (N, M), {SMALL}, N < 2**20, M < 2**20",
        "bounds",
    ),
    "loop one short": ("loop_one_short", [P, P, I, I, I], B, "M", f"{ROW}, {SMALL}, N < 2**30", "covered"),
    "whole blocks only": ("whole_loop_only", [P, P, I, I, I], B, "M", f"{ROW}, {SMALL}", "covered"),
    "row - 1": ("negative_row", [P, P, I, I], B, "M", f"{MN}, {SHORT}, {SMALL}", "bounds"),
    "n - i": ("reverse_off", [P, P, I], B, BLOCKS, FLAT, "bounds"),
    "no mask on the left": ("stencil_left", [P, P, I], B, BLOCKS, FLAT, "bounds"),
    "no mask on k": (
        "matmul_no_k_mask",
        [H, H, H, I, I, I, *STRIDES],
        TILES,
        "cdiv(M, BM), cdiv(N, BN)",
        f"{PRODUCT}, N < 2**20",
        "bounds",
    ),
    "index of V": (
        "gather",
        [P, "*i32", P, I, I],
        B,
        BLOCKS,
        "x.numel == V - 1, index.numel == n, out.numel == n, index in 0..V, V > 1",
        "bounds",
    ),
    "twice as far": (
        "every_second",
        [P, P, I],
        B,
        BLOCKS,
        f"x.numel == 2 * n - 2, out.numel == n, n > 1, {SMALL}",
        "bounds",
    ),
    "divisor of 0": ("divided", [P, P, I, I], B, BLOCKS, f"{FLAT}, k >= 0", "division"),
    "sums of too few rows": (
        "row_sums",
        [P, P, I, I],
        B,
        "M - 1",
        f"x.shape == (M, N), out.numel == M, M > 1, {SMALL}",
        "covered",
    ),
    "heads overlap": (
        "attention",
        [H, H, H, H, I],
        ATTENTION,
        "cdiv(N, BM), 32",
        f"q.shape == (32 * N, D), k.shape == (32 * N, D), v.shape == (31 * N, D), "
        f"out.shape == (32 * N, D), {SMALL}",
        "bounds",
    ),
    "no blocks of columns": ("rows", [P, P, I, I, I, I], B, "M", f"{STRIDED}, {SMALL}", "covered"),
    "a step of 0": ("step_of_zero", [P, P, I, I], B, "1", f"{FLAT}, step >= 0", "ends"),
}

LARGE = {
    "row * stride": ("rows", [P, P, I, I, I, I], B, "M", f"{STRIDED}, {SHORT}", "overflow"),
    "row * stride leaves": ("rows", [P, P, I, I, I, I], B, "M", f"{STRIDED}, {SHORT}", "bounds"),
    "a stride of 2**21": (
        "softmax",
        [P, P, I, I, I, I],
        B,
        "min(M, 1024)",
        f"{STRIDED}, {SHORT}, M < 2**30",
        "overflow",
    ),
    "rows far apart": ("row_loop", [P, P, I, I, I], B, "M", f"{ROW}, N <= 256", "overflow"),
    "normalised far apart": (
        "layer_norm",
        [P, P, P, P, I, I, I],
        B,
        "M",
        f"{ROW}, weight.numel == N, mean.numel == M, N <= 256",
        "overflow",
    ),
    "many columns": (
        "column_sums",
        [P, P, I, I],
        B,
        "cdiv(N, BLOCK)",
        "x.shape == (M, N), out.numel == N, M <= 4096, N <= 2**20",
        "overflow",
    ),
    "a product far apart": (
        "matmul",
        [H, H, H, I, I, I, *STRIDES],
        TILES,
        "cdiv(M, BM), cdiv(N, BN)",
        PRODUCT.replace("numel < 2**28, ", ""),
        "overflow",
    ),
    "a grid that ends": ("add", [P, P, P, I], B, "min(cdiv(n, BLOCK), 4096)", ADD, "covered"),
    "one length of a thousand": (
        "add_except_one_length",
        [P, P, P, I],
        {"BLOCK": 1024},
        BLOCKS,
        ADD,
        "bounds",
    ),
    "rows of more than a block": (
        "row_sums",
        [P, P, I, I],
        {"BLOCK": 4096},
        "M",
        "x.shape == (M, N), out.numel == M",
        "overflow",
    ),
    "columns beyond 8192": (
        "rows",
        [P, P, I, I, I, I],
        {"BLOCK": 8192},
        "M",
        f"{STRIDED}, {SMALL}",
        "covered",
    ),
    "lengths that BM divides": (
        "attention_even",
        [H, H, H, H, I],
        {"BM": 64, "BN": 128, "D": 64},
        "cdiv(N, BM), 1",
        f"{HEADS.replace('grid[1] * ', '')}, {SMALL}",
        "bounds",
    ),
    "a table of 2**31": (
        "embedding",
        [P, "*i32", P, I, I, I],
        LONG,
        "n",
        "table.shape == (V, D), index.numel == n, out.shape == (n, D), index in 0..V, D <= BLOCK",
        "overflow",
    ),
    "a transpose of 2**31": (
        "transpose",
        [P, P, I, I],
        B,
        "cdiv(M, BLOCK), cdiv(N, BLOCK)",
        "x.shape == (M, N), out.shape == (N, M), M < 2**22, N < 2**20",
        "overflow",
    ),
}
