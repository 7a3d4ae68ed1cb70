"""Has the kernels of kernels_varied.py, as proved_table.py has its own: 26 that are right, and 20
faults."""

from pathlib import Path

from proved_table import BLOCKS, FLAT, MN, SHORT, SMALL, B, H, I, P

KERNELS = str(Path(__file__).with_name("kernels_varied.py"))
INDEX = "*i32"
R = B | {"W": 0}
TWO = "cdiv(M, BLOCK), cdiv(N, BLOCK)"
TILE = {"BLOCK": 32, "W": 0}
BIASED = f"{MN}, bias.numel == N, {SMALL}, M < 2**20, N < 2**20"
JOINED = "x.numel == n, y.numel == m, out.numel == n + m, n < 2**29, m < 2**29, n >= 1, m >= 1"
SQUARE = "x.shape == (N, N), out.numel == N"
SCATTERED = "x.numel == n, index.numel == n, out.numel == V, index in 0..V"
LOOKED = (
    "x.shape == (M, N), rows.numel == n, columns.numel == n, out.numel == n, rows in 0..M, columns in 0..N"
)
OUTER = "x.numel == M, y.numel == N, out.shape == (M, N)"
PAIRS = f"x.numel == n, y.numel == n, out.numel == 2 * n, {SMALL}"
SQUARES = f"x.shape == (N, N), out.shape == (N, N), {SHORT}"
HALVES = f"x.numel == 2 * n, out.numel == n, {SMALL}"
WINDOW = "x.numel == n + K - 1, weight.numel == K, out.numel == n, K >= 1, K < 2**20, n < 2**30"
MOVED = "x.numel == n, out.numel == n + p, p >= 0, n < 2**29, p < 2**29"
KTH = "x.numel == n * k, out.numel == n, k >= 1"
SOME = "min(cdiv(n, BLOCK), 64)"
DIAGONAL = f"{SQUARE}, N < 2**15"
TWO_D = f"{OUTER}, {SMALL}, M < 2**20, N < 2**20"
MAXIMA = "x.shape == (M, N), out.numel == M"
BINS = "x.numel == n, out.numel == B, B >= 1"
ROWS = f"{MN}, {SHORT}, {SMALL}"
REPEATED = f"x.shape == (M, N), out.shape == (M * R, N), R >= 1, {SHORT}, {SMALL}"
LAST = f"x.shape == (grid[0], C, H), out.shape == (grid[0], H, C), C <= BLOCK, {SMALL}"
GROUPS = f"{FLAT}, scale.numel == cdiv(n, G)"


def wrong(fault: int, constants: dict = R) -> dict:
    return constants | {"W": fault}


# name: (kernel, types, constants, grid, assumptions)
RIGHT = {
    "clamped": ("clamped", [P, P, I], R, BLOCKS, FLAT),
    "clamped halves": ("clamped", [H, H, I], {"BLOCK": 1024, "W": 0}, BLOCKS, f"{FLAT}, n % 8 == 0"),
    "biased": ("biased", [P, P, P, I, I], TILE, TWO, BIASED),
    "interleaved": ("interleaved", [P, P, P, I], R, BLOCKS, PAIRS),
    "diagonal": ("diagonal", [P, P, I], R, "cdiv(N, BLOCK)", DIAGONAL),
    "triangle": ("triangle", [P, P, I], R, "N", SQUARES),
    "pooled": ("pooled", [P, P, I], R, BLOCKS, HALVES),
    "convolved": ("convolved", [P, P, P, I, I], R, BLOCKS, WINDOW),
    "flipped": ("flipped", [P, P, I, I], R, "M", ROWS),
    "joined": ("joined", [P, P, P, I, I], R, "cdiv(n + m, BLOCK)", JOINED),
    "repeated": ("repeated", [P, P, I, I, I], R, "M * R", REPEATED),
    "partial sums": ("partial_sums", [P, P, I, I], R, BLOCKS, BINS),
    "running": ("running", [P, P, I, I], R, "M", ROWS),
    "scattered": ("scattered", [P, INDEX, P, I, I], R, BLOCKS, f"{SCATTERED}, V > 0"),
    "looked up": ("looked_up", [P, INDEX, INDEX, P, I, I, I], R, BLOCKS, f"{LOOKED}, {SMALL}"),
    "blocks and tail": ("blocks_and_tail", [P, P, I], R, SOME, f"{FLAT}, n < 2**30"),
    "outer": ("outer", [P, P, P, I, I], TILE, TWO, TWO_D),
    "shifted right": ("shifted_right", [P, P, I, I], R, "cdiv(n + p, BLOCK)", MOVED),
    "every kth": ("every_kth", [P, P, I, I], R, BLOCKS, f"{KTH}, {SMALL}"),
    "channels last": ("channels_last", [P, P, I, I], R, "32, H", LAST),
    "two in one": ("two_in_one", [P, P, I], R, "cdiv(n, 2 * BLOCK)", f"{FLAT}, n < 2**30"),
    "maxima": ("maxima", [P, P, I, I], R, "M", f"{MAXIMA}, {SMALL}"),
    "per group": ("per_group", [P, P, P, I], R | {"G": 64}, BLOCKS, GROUPS),
    "per small group": ("per_group", [P, P, P, I], R | {"G": 4}, BLOCKS, GROUPS),
    "small blocks": ("clamped", [P, P, I], {"BLOCK": 16, "W": 0}, BLOCKS, FLAT),
    "one program": ("maxima", [P, P, I, I], R, "1", f"x.shape == (1, N), out.numel == 1, M == 1, {SMALL}"),
}  # fmt: skip

# name: (kernel, types, constants, grid, assumptions, the property that is wrong)
WRONG = {
    "a load of one more": ("clamped", [P, P, I], wrong(1), BLOCKS, FLAT, "bounds"),
    "a bias by rows": ("biased", [P, P, P, I, I], wrong(1, TILE), TWO, BIASED, "bounds"),
    "a row more": ("biased", [P, P, P, I, I], wrong(2, TILE), TWO, BIASED, "bounds"),
    "odd places one on": ("interleaved", [P, P, P, I], wrong(1), BLOCKS, PAIRS, "bounds"),
    "odd places left out": ("interleaved", [P, P, P, I], wrong(2), BLOCKS, PAIRS, "covered"),
    "beside the diagonal": ("diagonal", [P, P, I], wrong(1), "cdiv(N, BLOCK)", DIAGONAL, "bounds"),
    "half a square": ("triangle", [P, P, I], wrong(1), "N", SQUARES, "covered"),
    "a pair one on": ("pooled", [P, P, I], wrong(1), BLOCKS, HALVES, "bounds"),
    "a weight more": ("convolved", [P, P, P, I, I], wrong(1), BLOCKS, WINDOW, "bounds"),
    "flipped one on": ("flipped", [P, P, I, I], wrong(1), "M", ROWS, "bounds"),
    "before the second": ("joined", [P, P, P, I, I], wrong(1), "cdiv(n + m, BLOCK)", JOINED, "bounds"),
    "a sum without atomics": ("partial_sums", [P, P, I, I], wrong(1), BLOCKS, BINS, "disjoint"),
    "blocks without a tail": ("blocks_and_tail", [P, P, I], wrong(1), SOME, f"{FLAT}, n < 2**30", "covered"),
    "a stride of rows": ("outer", [P, P, P, I, I], wrong(1, TILE), TWO, TWO_D, "bounds"),
}  # fmt: skip

LARGE = {
    "a diagonal of 2**16": ("diagonal", [P, P, I], R, "cdiv(N, BLOCK)", f"{SQUARE}, N <= 2**17", "overflow"),
    "every kth of 2**31": ("every_kth", [P, P, I, I], R, BLOCKS, f"{KTH}, n <= 2**20", "overflow"),
    "pairs of 2**31": ("pooled", [P, P, I], R, BLOCKS, "x.numel == 2 * n, out.numel == n", "overflow"),
    "rows beyond a block": ("running", [P, P, I, I], R | {"BLOCK": 8192}, "M", f"{MN}, {SMALL}", "covered"),
    "maxima of 2**31": ("maxima", [P, P, I, I], R, "M", f"{MAXIMA}, N <= 2**16", "overflow"),
    "a grid of 2**16 blocks": ("clamped", [P, P, I], R, "min(cdiv(n, BLOCK), 8192)", FLAT, "covered"),
}  # fmt: skip
