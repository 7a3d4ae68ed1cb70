"""Has the kernels of kernels_careless.py, each as it is right and as it is wrong."""

from pathlib import Path

from odd_table import FULL, INDEX, LONG, LOOKED, SMALL_FLAT, B, told
from proved_table import BLOCKS, FLAT, MN, SMALL, I, P

FILE = str(Path(__file__).with_name("kernels_careless.py"))
TILE = {"BLOCK": 16}
# kernel: as in odd_table.py
KERNELS_CARELESS = told({
    "in_place": ([P, I], B, BLOCKS, "x.numel == n, n < 2**30", "disjoint", ""),
    "mirrored": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds covered", ""),
    "widened": ([P, P, I, I], B, "M", f"{MN}, N <= BLOCK", "bounds overflow disjoint covered", ""),
    "axes": ([P, P, I, I], B, "cdiv(N, BLOCK), M", f"{MN}, {SMALL}", "bounds disjoint covered", ""),
    "other_extent": ([P, P, I, I], TILE, FULL, f"{MN}, {SMALL}", "bounds disjoint covered", ""),
    "assumed_there": ([P, P, I, I], {}, "1", "x.numel == n, out.numel == 1", "bounds", ""),
    "taken_in_turns": ([P, P, I], B, "4", SMALL_FLAT, "disjoint", ""),
    "whole_tiles": ([P, P, I, I], TILE, (FULL, "cdiv(M, BLOCK), cdiv(N, BLOCK) + 1"),
                    f"{MN}, {SMALL}, N % 16 == 0", "bounds disjoint", ""),
    "wide_box": ([P, P, I, I], TILE, FULL, f"{MN}, {SMALL}", "bounds disjoint", ""),
    "cleared_first": ([P, P, I, I], B, BLOCKS, f"x.numel == n, out.numel == V, V >= 1, {SMALL}",
                      "disjoint", ""),
    "leaves_late": ([P, P, I], B, "n // BLOCK + 1", f"{SMALL_FLAT}, n % BLOCK == 0", "bounds", ""),
    "otherwise": ([P, INDEX, P, I, I], B, BLOCKS, f"{LOOKED}, {SMALL}", "bounds", ""),
    "fixed_rows": ([P, P, I], {"BLOCK": 128, "N": 100}, "M",
                   f"x.numel == M * 100, out.numel == M * 100, {SMALL}", "bounds disjoint", ""),
    "long_places": ([P, P, LONG], B, BLOCKS, FLAT, "bounds overflow disjoint covered", ""),
    "one_before": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds", ""),
    "chosen_place": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds", ""),
    "by_fractions": ([P, P, I], B, BLOCKS, SMALL_FLAT, "covered", ""),
    "goes_on_first": ([P, P, I], B, "1", "x.numel == n, out.numel == 1, n < 2**30", "bounds", ""),
    "rounded_up": ([P, P, I, I], B, "M", f"{MN}, {SMALL}, N <= BLOCK", "bounds disjoint", ""),
    "by_halves": ([P, P, I], {}, "n", "x.numel == n, out.numel == cdiv(n, 2), n < 2**30", "disjoint", ""),
    "numbered": ([P, P, I, I], {}, "A, B", f"x.numel == A * B, out.numel == A * B, {SMALL}",
                 "bounds disjoint covered overflow", ""),
    "old_mask": ([P, P, I], B, "cdiv(n, BLOCK * 4)", SMALL_FLAT, "bounds", ""),
})  # fmt: skip
