"""Lists the chips whose limits are published: what an SM does in a cycle, how many SMs, how fast. What only
the replay has to know of a chip is in timing.py.

Sources, of which every number is taken or computed:

- H100: NVIDIA, "NVIDIA H100 Tensor Core GPU" data sheet and "NVIDIA H100 Tensor Core GPU Architecture"
  (whitepaper): SMs, f32, f64 and matrix rates (without sparsity), memory bandwidth, 50 MB of L2.
- H200: NVIDIA, "NVIDIA H200 Tensor Core GPU" data sheet: the rates of the H100 SXM, 4.8 TB/s.
- A100: NVIDIA, "NVIDIA A100 Tensor Core GPU Architecture" (whitepaper): SMs, clock, rates, 5,120 bytes of L2
  a clock, 40 MB of L2; data sheet of the 80 GB part: 2,039 GB/s.
- RTX 4090: NVIDIA, "NVIDIA Ada GPU Architecture" (whitepaper): SMs, clock, 1,008 GB/s, 72 MB of L2, rates of
  matrices (f16 with sums in f16, which are twice those with sums in f32).
- B200: NVIDIA, "NVIDIA HGX B200" data sheet: rates without sparsity, 8 TB/s; SMs and the size of L2 as its
  driver says them.
- Instructions of a cycle and SM: NVIDIA, "CUDA C++ Programming Guide", table "Throughput of Native Arithmetic
  Instructions" (compute capability 8.0, 8.9, 9.0, 10.0): f32, f16, f64, integer, special functions. Four
  schedulers that issue one warp instruction a cycle each, and 32 load/store units: the whitepapers' pictures.
- Shared memory: 32 banks of 4 bytes a cycle; an SM deals its warps to its four schedulers (CUDA C++
  Programming Guide, "Compute Capability 9.0").

Clocks are what the data sheets' f32 rates say: 66.9 TFLOPS / (132 SMs * 128 * 2) = 1.98 GHz; of the PCIe card
51.2 / (114 * 128 * 2) = 1.755 GHz; A100: 1.41 GHz. The matrix units are said to run slower than that at their
peak, so that a bound by them is lower than what is reached. NVIDIA publishes no L2 rate of the H100 and H200:
L2 bounds nothing there."""

from __future__ import annotations

import dataclasses

from triton_runner._base.errors import fail


@dataclasses.dataclass(frozen=True)
class Chip:
    """Threads' instructions of a cycle and SM by pipe (of `_core`'s pipes), matrix operations by type, bytes
    of a second of memory, bytes of a clock of L2 (None: not published)."""

    name: str
    capability: int
    sms: int
    clock: float  # Hz, the highest
    memory: float  # bytes a second
    l2_bytes: int
    l2: int | None
    pipes: dict
    matrices: dict
    schedulers: int = 4
    shared: int = 1  # wavefronts a cycle


_HOPPER = {"FMA": 128, "FMAHEAVY": 64, "ALU": 64, "XU": 16, "FP16": 128, "FP64": 64, "LSU": 32}
_AMPERE = {"FMA": 64, "FMAHEAVY": 64, "ALU": 64, "XU": 16, "FP16": 128, "FP64": 32, "LSU": 32}
_HOPPER_MATRICES = {"f16": 4096, "tf32": 2048, "f8": 8192, "s8": 8192, "f64": 256}
_ADA = {"FMA": 128, "FMAHEAVY": 64, "ALU": 64, "XU": 16, "FP16": 128, "FP64": 2, "LSU": 32}
_ADA_MATRICES = {"f16": 1024, "tf32": 256, "f8": 2048, "s8": 2048, "s4": 4096}
_BLACKWELL_MATRICES = {"f16": 8192, "tf32": 4096, "f8": 16384, "s8": 16384, "f64": 128}
_AMPERE_MATRICES = {"f16": 2048, "tf32": 1024, "s8": 4096, "s4": 8192, "b1": 32768, "f64": 128}

CHIPS = {
    chip.name: chip
    for chip in (
        Chip("h100", 90, 132, 1.98e9, 3.35e12, 50 << 20, None, _HOPPER, _HOPPER_MATRICES),
        Chip("h100-pcie", 90, 114, 1.755e9, 2.0e12, 50 << 20, None, _HOPPER, _HOPPER_MATRICES),
        Chip("h200", 90, 132, 1.98e9, 4.8e12, 50 << 20, None, _HOPPER, _HOPPER_MATRICES),
        Chip("b200", 100, 148, 1.98e9, 8.0e12, 126 << 20, None, _HOPPER, _BLACKWELL_MATRICES),
        Chip("rtx4090", 89, 128, 2.52e9, 1.008e12, 72 << 20, None, _ADA, _ADA_MATRICES),
        Chip("a100", 80, 108, 1.41e9, 2.039e12, 40 << 20, 5120, _AMPERE, _AMPERE_MATRICES),
    )
}


def chip_named(name: str, known: dict | None = None) -> Chip:
    """Raises DiagnosticError for a chip that is not in the table, or not among those `known`."""
    known = known if known is not None else CHIPS
    if name not in known:
        raise fail(f"unknown chip {name!r}", f"chips: {', '.join(known)}")
    return CHIPS[name]


def check_target(chip: Chip, target: str) -> None:
    """Raises DiagnosticError where machine code for the target does not run on the chip."""
    if target != f"cuda:{chip.capability}":
        raise fail(
            f"the kernel is compiled for {target}, and {chip.name} is cuda:{chip.capability}",
            f"compile it for cuda:{chip.capability}, or name a chip of {target}",
        )
