"""Gives the numbers that the replay of an SM has to know of a chip (`_core.probe.REPLAY_PARAMETERS`), with
sources.

- [rates] chips.py: threads of a cycle and SM by pipe, matrix operations by type; an SM has four parts.
- [micro] tests/gpu/timed/micro.cu on an H200 and an H100 (results/timed.json has what it said).
- [luo] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture through Microbenchmarking"
  (arXiv 2402.13499): mma reaches 62 % of the peak on an H100, wgmma all of it, and mma all of it on an A100;
  shared memory's width; latencies of an A100 by those of an H100.
- [huerta] Huerta et al., "Analyzing Modern NVIDIA GPU Cores" (MICRO 2025, arXiv 2503.20481; an A6000): queues
  of requests, reads of registers, constants.
- [fit] the launches of an H200 that tests/gpu/timed/estimate.py calls FITTED, and what ncu counts of them.
- [estimate] ours: what it is changes the estimates of the fitted launches little."""

from __future__ import annotations

from triton_runner._core import probe
from triton_runner._kernel.cost.chips import Chip, chip_named

_HOPPER = {
    # [rates]: 32 threads by those of a part of the SM; [micro] agrees
    "fma_interval": 1, "fmaheavy_interval": 2, "alu_interval": 2, "fp16_interval": 1, "fp64_interval": 2,
    "xu_interval": 8,
    "uniform_interval": 2,  # [estimate]
    "lsu_interval": 4,  # [micro]: SHFL, one a cycle and SM
    "lsu_queue": 5, "read_latency": 11, "constant_latency": 29,  # [huerta]
    # [micro]: EX2; SHFL, LDS, loads from L1 and L2 without their address; BAR of 1 to 32 warps
    "xu_latency": 17, "shuffle_latency": 24, "shared_latency": 23, "l1_latency": 31, "l2_latency": 277,
    "barrier_latency": 12, "barrier_interval": 2,
    "hmma_latency": 24,  # [micro]
    "dram_latency": 750, "dram_spread": 200, "constant_miss": 500, "code_latency": 400,  # [fit]; idle: 650
    "fp64_latency": 16, "special_latency": 30, "l2_spread": 60,  # [estimate]
    "shared_atomic_latency": 60, "atomic_latency": 320,  # [estimate]; [micro]
    "mbarrier_latency": 12, "fence_latency": 400, "branch_cycles": 8, "copy_latency": 10,  # [estimate]
    "tma_latency": 30, "tma_bytes": 109,  # [micro]: bulk copies of 16 bytes and 64 KiB that hit L2
    "tma_interval": 16, "code_ahead": 15,  # [estimate]
    "gmma_latency": 32, "gmma_queue": 2,  # [estimate]; [fit]
    # [luo]: 62 % of the peak for mma; [rates] for wgmma
    "hmma_f16": 640, "hmma_tf32": 320, "hmma_8bit": 1280, "dmma": 64,
    "gmma_f16": 1024, "gmma_tf32": 512, "gmma_8bit": 2048,
    "shared_bytes": 128, "l1_bytes": 128,  # [luo]
    "l2_sm_bytes": 72,  # [micro]: one SM reads 256 MiB
    "l2_bytes": 5600,  # 96 slices of 64 bytes at ncu's clock of L2, 0.91 of the SM's
    "l2_requests": 48, "l1_tags": 2, "dram_partial": 32,  # [fit]: gather, copy_strided
    "l2_merged": 1.6,  # [fit]: bytes that L1 gets by sectors that L2 reads, in product
    "l2_atomics": 31, "l2_line_atomics": 0.05,  # [fit]: histogram of 2^20 bins; of 64
    "l1_size": 256 << 10,  # NVIDIA's whitepaper of the H100
    "l2_size": 50e6,  # [micro]: 48 MiB that are read again come from L2
    "launch_cycles": 2550, "block_cycles": 100, "block_interval": 1.18,  # [fit]: nothing
}  # fmt: skip

# The part of a chip's memory bandwidth (chips.py) that can be reached. [micro]: 1 GiB
_REACHED = 0.94

# Nothing of it was measured: the rates of chips.py, and the H100's latencies in the ratio that [luo] gives.
_AMPERE = _HOPPER | {
    "fma_interval": 2, "fp64_interval": 4,  # [rates]
    "hmma_f16": 512, "hmma_tf32": 256, "hmma_8bit": 1024, "dmma": 32,  # [rates]
    "l1_latency": _HOPPER["l1_latency"] * 37.9 / 40.7,  # [luo]
    "l2_latency": _HOPPER["l2_latency"] * 261.5 / 263,  # [luo]
    "dram_latency": _HOPPER["dram_latency"] * 466.3 / 478.8,  # [luo]
    "l2_sm_bytes": 64, "l2_bytes": 5120,  # whitepaper
    "l1_size": 192 << 10, "l2_size": 40e6,  # whitepaper
}  # fmt: skip

# Nor of these: the rates of chips.py and NVIDIA's papers, other latencies as of the H100.
_ADA = _HOPPER | {
    "fp64_interval": 64,  # [rates]
    "hmma_f16": 128, "hmma_tf32": 64, "hmma_8bit": 512,  # [rates], with sums in f32
    "l2_sm_bytes": 64, "l1_size": 128 << 10, "l2_size": 72e6,  # whitepaper
}  # fmt: skip
_BLACKWELL = _HOPPER | {"l2_size": 126e6}

TIMINGS = {
    "h100": _HOPPER | {"launch_cycles": 4050},  # nothing, on an H100
    "h100-pcie": _HOPPER | {"launch_cycles": 4050},
    "h200": _HOPPER,
    "a100": _AMPERE,
    "b200": _BLACKWELL,
    "rtx4090": _ADA,
}

# The clock that cards chose for kernels without products of matrices, in Hz, and what part of it they lose
# where the tensor cores are always busy. [fit]: ncu's clock of the fitted launches, and of `product` in bf16.
_CLOCKS = {"h100": (1.95e9, 0.13), "h200": (1.95e9, 0.29)}

# The mean absolute error of estimates by kind, of launches that nothing was fitted on: results/timed.json.
ERRORS = {
    "h100": {"under 5 us": 0.045, "memory-bound": 0.121, "tensor cores": 0.125, "latency-bound": 0.154},
    "h200": {"under 5 us": 0.064, "memory-bound": 0.086, "tensor cores": 0.113, "latency-bound": 0.137},
}


def parameters(chip: str, clock: float = 0.0) -> dict[str, float]:
    """A number for each parameter of the replay. clock: in Hz, where it is known. Raises DiagnosticError for
    a chip that is not in the table."""
    known = chip_named(chip, TIMINGS)
    reached = _REACHED * known.memory / (clock or clock_of(known, 0.0))
    out = {**TIMINGS[chip], "dram_bytes": reached}
    return {name: float(out[name]) for name, _ in probe.REPLAY_PARAMETERS}


def clock_of(chip: Chip, tensor: float) -> float:
    """In Hz, where the tensor cores are busy for a part of the time. Of a chip that was not measured: the
    highest."""
    clock, loss = _CLOCKS.get(chip.name, (chip.clock, 0.0))
    return clock * (1 - loss * tensor)


def error_of(chip: Chip, kind: str) -> float | None:
    """The mean absolute error that was measured for launches of the kind; None: it was not."""
    return ERRORS.get(chip.name, {}).get(kind)
