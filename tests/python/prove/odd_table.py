"""Has the kernels of kernels_odd.py, each as it is right and as it is wrong."""

from pathlib import Path

from proved_table import BLOCKS, FLAT, MN, SHORT, SMALL, I, P

FILE = str(Path(__file__).with_name("kernels_odd.py"))
LONG, UNSIGNED, INDEX = "i64", "u32", "*i32"
B = {"BLOCK": 64}
ONE = "x.numel == n, out.numel == 1"
STRIDED = "x.shape == (n,), x.stride == (stride,), out.numel == n, stride >= 1"
WIDE = "x.shape == (M, N), x.stride == (stride, 1), out.shape == (M, N), stride >= N, N < 2**30"
TURNED = "x.shape == (M, N), out.shape == (N, M)"
CUBES = "x.shape == (A, B, C), out.shape == (A, B, C)"
LOOKED = "x.numel == V, index.numel == n, out.numel == n, V >= 1, index in 0..V"
TRIANGLE = "x.numel == n * (n + 1) // 2, out.numel == 1, n < 2**15"
SQUARE = "x.shape == (N, N), out.numel == N, N < 2**15"
SMALL_FLAT = f"{FLAT}, n < 2**30"
RING = "x.numel == m, out.numel == n, m >= 1, n < 2**30"
STEPS = "x.shape == (M, N), x.stride == (sm, sn), out.shape == (M, N), sn >= 1, sm >= N, N <= BLOCK"
FULL = "cdiv(M, BLOCK), cdiv(N, BLOCK)"

# kernel: (types, constants, grid, assumptions, what fails where W is 1, and where it is 0)
_ROWS = {
    "backwards": ([P, P, I, I], B, BLOCKS, f"{STRIDED}, {SMALL}", "bounds", ""),
    "bytes_": ([P, P, I], {}, "1", f"{FLAT}, n <= 256", "bounds covered", ""),
    "halfwords": ([P, P, I], B, BLOCKS, FLAT, "bounds covered", "covered"),
    "wide_rows": ([P, P, I, I, I], B, "M", WIDE, "overflow bounds", ""),
    "wrapping_mask": ([P, P, I], B, BLOCKS, f"{FLAT}, n < 2**31 - 1", "bounds overflow covered", ""),
    "until": ([P, P, I], {}, "1", ONE, "bounds overflow", ""),
    "strided_range": ([P, P, I], B, "4", SMALL_FLAT, "bounds", ""),
    "downwards": ([P, P, I], {}, "1", ONE, "bounds", ""),
    "bins": ([P, P, I, I], B, BLOCKS, "x.numel == n, out.numel == V, V >= 1", "bounds", ""),
    "triangular": ([P, P, I], {}, "1", TRIANGLE, "bounds", ""),
    "below": ([P, P, I], B, "N", SQUARE, "bounds", ""),
    "compacted": ([P, P, I], B, "1", f"{FLAT}, n <= BLOCK", "bounds covered", "covered"),
    "multiple": ([P, P, I], B, BLOCKS, FLAT, "covered", ""),
    "unravelled": ([P, P, I, I], B, "cdiv(M * N, BLOCK)", f"{TURNED}, {SMALL}",
                   "bounds covered disjoint overflow", ""),
    "modulo": ([P, P, I, I], B, BLOCKS, "x.numel == m, out.numel == n, m >= 1", "bounds", ""),
    "columns": ([P, P, I, I], B, "cdiv(M, BLOCK), 1", "out.numel == M, N >= 1, N <= 16, x.numel == 1",
                "bounds disjoint", ""),
    "halo": ([P, P, I], B, BLOCKS, SMALL_FLAT, "disjoint covered", ""),
    "overlapping": ([P, P, I], B, BLOCKS, SMALL_FLAT, "disjoint", ""),
    "first": ([P, P, I], {}, "1", ONE, "bounds", ""),
    "plain_blocks": ([P, P, I], B, (BLOCKS, "max(1, n // BLOCK)"), FLAT, "covered", ""),
    "long_sizes": ([P, P, LONG], B, BLOCKS, FLAT, "overflow bounds disjoint covered", ""),
    "truncated": ([P, P, LONG], B, BLOCKS, FLAT, "overflow bounds", ""),
    "chosen": ([P, P, I], B, BLOCKS, f"{SMALL_FLAT}, n >= 1", "bounds", ""),
    "swapped": ([P, P, I], B, BLOCKS, FLAT, "bounds", ""),
    "at_most": ([P, P, I], B, BLOCKS, f"{SMALL_FLAT}, n >= 1", "bounds", ""),
    "without_sign": ([P, P, UNSIGNED], B, BLOCKS, FLAT, "bounds overflow", ""),
    "towards_zero": ([P, P, I], B, BLOCKS, FLAT, "bounds", ""),
    "three": ([P, P, I, I, I], {}, "A, B, C", f"{CUBES}, {SMALL}",
              "bounds disjoint covered overflow", ""),
    "other_index": ([P, INDEX, P, I, I], B, BLOCKS, LOOKED, "bounds", ""),
    "interleaved_programs": ([P, P, I], {}, "min(n, 8)", SMALL_FLAT,
                             "bounds overflow disjoint covered ends", ""),
    "left_early": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds covered", "covered"),
    "box": ([P, P, I, I], {"BLOCK": 16}, FULL, f"{MN}, {SMALL}", "bounds", ""),
    "added_up": ([P, P, I, I], B, "M", f"x.shape == (M, N), out.numel == M, {SMALL}, {SHORT}", "bounds", ""),
    "shifted": ([P, P, I], B, BLOCKS, FLAT, "bounds", ""),
    "counted_down": ([P, P, I], B, "1", FLAT, "bounds overflow", ""),
    "swapped_pointers": ([P, P, I, I], B, BLOCKS, f"{SMALL_FLAT}, turns >= 1", "bounds", ""),
    "mixed": ([P, P, I, I, I, I], B, "M", STEPS, "overflow bounds", ""),
    "flipped": ([P, P, I, I], B, BLOCKS, f"{SMALL_FLAT}, stride == -1", "bounds", ""),
    "ring": ([P, P, I, I, I], B, BLOCKS, f"{RING}, start >= 0, start < 2**30",
             "bounds", ""),
    "stepped": ([P, P, I], {"STEP": 64}, "1", SMALL_FLAT, "bounds", "covered"),
    "swizzled": ([P, P, I, I], {"BLOCK": 16, "GROUP": 3}, "cdiv(M, BLOCK) * cdiv(N, BLOCK)",
                 f"{MN}, {SMALL}", "covered", ""),
    "unit_stride": ([P, P, I, "i32:1"], B, BLOCKS, SMALL_FLAT, "bounds", ""),
    "dead": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds", ""),
    "called": ([P, P, I, I], {}, "M", f"x.shape == (M, N), out.numel == M, {SMALL}", "bounds", ""),
    "placed": ([P, P, I], {}, "n + 5", "x.numel == n, out.numel == n, n >= 1, n < 2**30", "bounds", ""),
    "unsigned_loop": ([P, P, UNSIGNED], {}, "1", f"{ONE}, n < 2**32 - 1", "bounds overflow", ""),
    "both_bounds": ([P, P, I, I], B, "cdiv(n + k, BLOCK)",
                    f"{FLAT}, n < 2**29, k >= 0, k < 2**29", "bounds", ""),
    "triangle_of_programs": ([P, P, I], {}, "n", "x.numel == n, out.shape == (n, n), n < 2**15",
                             "", "covered"),
    "hashed": ([P, P, I], B, BLOCKS, "x.numel == 1024, out.numel == n, n < 2**30", "bounds", ""),
    "box_and_pointer": ([P, P, I, I], {"BLOCK": 16}, FULL, f"{MN}, {SMALL}, N % 16 == 0", "disjoint", ""),
    "two_indices": ([P, INDEX, P, I, I], B, BLOCKS, LOOKED, "bounds", ""),
    "early": ([P, P, I, I], B, BLOCKS, SMALL_FLAT, "bounds covered", "covered"),
    "decoded": ([P, P, I, I, I], {}, "A * B * C", f"{CUBES}, {SMALL}",
                "bounds covered disjoint", ""),
    "clamped": ([P, P, I, I], B, BLOCKS, f"{RING}, m < 2**30", "bounds", ""),
    "chained": ([P, P, I], B, BLOCKS, f"{SMALL_FLAT}, n >= 1", "bounds", ""),
}  # fmt: skip


def told(rows: dict) -> dict:
    """{name: (kernel, types, constants, grid, assumptions, what fails for some launch)}"""
    found = {}
    for name, (types, constants, grid, given, *fails) in rows.items():
        for wrong, fail in enumerate(reversed(fails)):
            own = grid if isinstance(grid, str) else grid[wrong]
            found[f"{name} {wrong}"] = (name, types, {**constants, "W": wrong}, own, given, fail)
    return found


KERNELS_ODD = told(_ROWS)
