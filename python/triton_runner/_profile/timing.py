"""What the replay of an SM has to know of a chip (`_core.probe.REPLAY_PARAMETERS`), with its sources.

Sources:

- [rates] chips.py: threads of a cycle and SM by pipe, matrix operations by type; an SM has four parts.
- [luo] Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture through Microbenchmarking
  and Multiple Level Analysis" (arXiv 2402.13499): latencies of L1, shared memory, L2 and memory; throughput
  of mma and wgmma, which is 62 % of the peak for mma on the H100; all of that for the A100.
- [huerta] Huerta et al., "Analyzing Modern NVIDIA GPU Cores" (MICRO 2025, arXiv 2503.20481; an A6000): queues
  of requests, reads of registers, constants.
- [estimate] ours, not measured yet.
"""

from __future__ import annotations

from triton_runner._core import probe
from triton_runner._profile.chips import Chip, chip_named

_HOPPER = {
    # [rates]: 32 threads by those of a part of the SM
    "fma_interval": 1, "fmaheavy_interval": 2, "alu_interval": 2, "fp16_interval": 1, "fp64_interval": 2,
    "xu_interval": 8,
    "uniform_interval": 2,  # [estimate]
    "lsu_interval": 4, "lsu_queue": 5,  # [huerta]
    "xu_latency": 23, "fp64_latency": 16, "special_latency": 30,  # [estimate]
    "constant_latency": 29,  # [huerta]
    "constant_miss": 200,  # [estimate]
    "shuffle_latency": 24,  # [huerta]
    "shared_latency": 29, "l1_latency": 40, "l2_latency": 263, "dram_latency": 478,  # [luo]
    "shared_atomic_latency": 60, "atomic_latency": 320,  # [estimate]
    "read_latency": 11,  # [huerta]
    "barrier_latency": 12, "barrier_interval": 2, "mbarrier_latency": 24, "fence_latency": 400,  # [estimate]
    "tma_latency": 170, "copy_latency": 10, "branch_cycles": 8,  # [estimate]
    "hmma_latency": 33, "gmma_latency": 32,  # [luo]
    # [luo]: 62 % of the peak for mma; [rates] for wgmma
    "hmma_f16": 640, "hmma_tf32": 320, "hmma_8bit": 1280, "dmma": 64,
    "gmma_f16": 1024, "gmma_tf32": 512, "gmma_8bit": 2048,
    "shared_bytes": 128, "l1_bytes": 128,  # [luo]
    "l2_sm_bytes": 64, "l2_bytes": 4000, "l2_atomics": 96,  # [estimate]
    "tma_bytes": 128, "tma_interval": 16,  # [estimate]
    "l1_size": 256 << 10, "l2_size": 40 << 20,  # whitepaper; [estimate]
    "code_latency": 300, "code_ahead": 3,  # [estimate]
    "launch_cycles": 2600, "block_cycles": 250, "block_interval": 1.18,  # [estimate]
}  # fmt: skip

# What of a chip's memory bandwidth (chips.py) can be reached. [estimate]
_REACHED = 0.92

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

TIMINGS = {"h100": _HOPPER, "h200": _HOPPER, "a100": _AMPERE}

# The mean absolute error of estimates on the chip by kind, which tests/gpu/timed/estimate.py measured.
ERRORS: dict[str, dict[str, float]] = {}


def parameters(chip: str, clock: float = 0.0) -> dict[str, float]:
    """A number for each parameter of the replay. clock: in Hz, where it is not the highest. Raises
    DiagnosticError for a chip that is not in the table."""
    known = chip_named(chip, TIMINGS)
    reached = _REACHED * known.memory / (clock or known.clock)
    out = {**TIMINGS[chip], "dram_bytes": reached}
    return {name: float(out[name]) for name, _ in probe.REPLAY_PARAMETERS}


def error_of(chip: Chip, kind: str) -> float | None:
    """The mean absolute error that was measured for launches of the kind; None: it was not."""
    return ERRORS.get(chip.name, {}).get(kind)
