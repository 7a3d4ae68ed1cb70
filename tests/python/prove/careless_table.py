"""Has the kernels of kernels_careless.py, each as it is right and as it is wrong."""

from pathlib import Path

from odd_table import FULL, INDEX, LONG, LOOKED, SMALL_FLAT, UNSIGNED, B, told
from proved_table import BLOCKS, FLAT, MN, SMALL, I, P

FILE = str(Path(__file__).with_name("kernels_careless.py"))
TILE = {"BLOCK": 16}
# kernel: as in odd_table.py
KERNELS_CARELESS = told({
    "in_place": ([P, I], B, BLOCKS, "x.numel == n, n < 2**30", "disjoint", ""),
    "mirrored": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds covered", ""),
    "widened": ([P, P, I, I], B, "M", f"{MN}, N <= BLOCK", "bounds overflow disjoint covered", ""),
    "axes": ([P, P, I, I], B, "cdiv(N, BLOCK), M", f"{MN}, {SMALL}", "bounds disjoint covered overflow", ""),
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
    "either_mask": ([P, P, I], B, "n // BLOCK + 1", f"{SMALL_FLAT}, n >= 1", "bounds", ""),
    "upside_down": ([P, P, I, I], B, "M", f"{MN}, {SMALL}, N <= BLOCK", "bounds", ""),
    "size_product": ([P, P, I, I], B, "cdiv(M * N, BLOCK)", f"{MN}, numel < 2**36",
                     "overflow covered", ""),
    "without_the_first": ([P, P, UNSIGNED, UNSIGNED], B, BLOCKS, f"{SMALL_FLAT}, k < 2**30",
                          "bounds covered", "covered"),
    "split_sum": ([P, P, I, I], B, "M, 1, cdiv(N, BLOCK)",
                  f"x.shape == (M, N), out.numel == M, {SMALL}, N < 2**20", "disjoint", ""),
    "returns_early": ([P, P, I], B, "n // BLOCK + 3", f"{SMALL_FLAT}, n % BLOCK == 0", "bounds", ""),
    "while_it_fits": ([P, P, I], {}, "1", "x.numel == n, out.numel == 1, n < 2**30", "bounds", ""),
    "steps_in_steps": ([P, P, I, I], {}, "1", f"x.shape == (M, N), out.numel == 1, {SMALL}", "bounds", ""),
    "largest_of_four": ([P, P, I], {}, "n", "x.numel == n, out.numel == cdiv(n, 4), n < 2**30", "bounds", ""),
    "atomic_and_plain": ([P, P, I], {}, "n", "x.numel == n, out.numel == n + 1, n < 2**30", "disjoint", ""),
    "taller_box": ([P, P, I, I], TILE, FULL, f"{MN}, {SMALL}, N % 4 == 0", "bounds", ""),
    "one_to_the_left": ([P, P, I], B, "n // BLOCK + 1", SMALL_FLAT, "bounds", ""),
    "constant_turns": ([P, P, I], B, "8", SMALL_FLAT, "disjoint", ""),
    "short_places": ([P, P], {}, "1", "x.numel == 37801, out.numel == 64", "bounds overflow", ""),
    "compared_without_sign": ([P, P, I], B, "(n + 4) // BLOCK + 1", SMALL_FLAT, "bounds", ""),
    "other_lane": ([P, P, I], B, BLOCKS, SMALL_FLAT, "bounds", "covered"),
})  # fmt: skip
