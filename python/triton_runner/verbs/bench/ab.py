"""Compares A with B (--ab A B): two kernels of Python files, two artifacts, or two Triton releases, side by
side.

A third row repeats A: what it differs from A by is noise, and so is a difference of B's of that size."""

from __future__ import annotations

import os

import numpy

from triton_runner._artifact import loading, shell_arguments
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.levels import LEVELS
from triton_runner._base.paths import check_there
from triton_runner._pipeline import versions
from triton_runner._pipeline.constants import constant
from triton_runner._programs.options import pairs
from triton_runner._settings import devices
from triton_runner._worker import job, signatures
from triton_runner.bench import native
from triton_runner.bench.peers import Peer
from triton_runner.bench.rounds import Row, Section, WrongResult
from triton_runner.bench.timing import timer

AGAIN = "A again (noise)"


def _kind(text: str) -> str:
    path, colon, _ = text.rpartition(":")
    if colon and path.endswith(".py"):
        check_there(path)
        return "kernel"
    if os.path.splitext(text)[1][1:] in LEVELS:
        check_there(text)
        return "artifact"
    if text.replace(".", "").isdigit() or text in versions.RELEASES:
        return "release"
    raise fail(f"--ab {text}: neither kernel.py:name, nor an artifact, nor a release", "as in 3.4.0, a.cubin")


def sections(pair, benchmarks, grid, args, constexprs, tolerance, sizes, stack, launches):
    """The sections that compare a pair."""
    kinds = {_kind(text) for text in pair}
    if kinds == {"release"}:
        yield from _releases(pair, benchmarks or ("matmul",), sizes, stack, launches)
        return
    if "release" in kinds:
        raise fail("--ab takes two releases, or two kernels, not one of each")
    if not grid:
        raise fail(
            "--ab of kernels needs --grid",
            "and --arg for each parameter, as in --grid 4 --arg f32[64]=iota --arg 64",
        )
    yield _kernels(pair, grid, args, constexprs, tolerance)


def _releases(pair, benchmarks, sizes, stack, launches):
    on_gpu = devices.resolved_device() != "cpu"
    peers = [stack.enter_context(Peer(text, on_gpu)) for text in (*pair, pair[0])]
    requests = []
    for name in benchmarks:
        if name == "launch_latency":
            requests += [("launch", {"problem": "launch", "count": n}, launches) for n in (0, 19)]
            continue
        for size in sizes or ((2048,) if on_gpu else (256,)):
            asked = {"problem": name, "n": size} if name == "matmul" else {
                "problem": name, "heads": 32 if on_gpu else 2, "length": size}  # fmt: skip
            requests += [(kind, asked, 1) for kind in (("cold", "warm") if on_gpu else ("launch",))]
    for kind, asked, burst in requests:
        request = {"do": "ways", "problem": asked, "timer": kind, "launches": burst}
        rows = [peer.rows(request, only=("triton.jit",))[0] for peer in peers]
        for row, name in zip(rows, (f"A: {pair[0]}", f"B: {pair[1]}", AGAIN), strict=True):
            row.name = name
        size = ", ".join(f"{k} {v}" for k, v in asked.items() if k != "problem")
        title = f"{asked['problem']}, {size}" + (f", L2 {kind}" if kind != "launch" else "")
        yield Section(title, rows, rows[0].name, unit=1e-6 if asked["problem"] == "launch" else 1e-3)


class _Side:
    """A kernel with arguments of its own, from the same texts."""

    def __init__(self, text: str, grid, args, constexprs):
        device = "cpu" if devices.resolved_device() == "cpu" else "cuda"
        self.values = values = [_as_tensor(shell_arguments.parse_argument(arg), device) for arg in args]
        shape = shell_arguments.parse_grid(grid)
        if _kind(text) == "artifact":
            kernel = loading.load(text, device=devices.resolved_device())
            self.launches = f"{os.path.basename(text)}, {kernel.target}"
            self.call = lambda: kernel[shape](*values)
            self.call()
            return
        path, _, name = text.rpartition(":")
        try:
            kernel = job.load_function({"file": path, "name": name})
        except job.Refused as error:
            raise fail(error.message, *error.notes) from None
        texts = pairs(constexprs, "--constexpr")
        keywords = {name: signatures.decoded(constant(text)) for name, text in texts.items()}
        try:
            compiled = kernel[shape](*values, **keywords)
        except (DiagnosticError, KernelTrap):
            raise
        except Exception as error:  # of Triton: an argument that is missing, an error in the kernel
            lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
            raise fail(
                f"--ab {text}: {type(error).__name__}: {lines[-1]}",
                "--arg is given once a parameter, in order, and -c NAME=VALUE once a constexpr",
            ) from None
        self.launches = native.describe(compiled)
        self.call = lambda: kernel[shape](*values, **keywords)

    def arrays(self) -> list:
        return [value.cpu().double().numpy() for value in self.values if hasattr(value, "cpu")]


def _as_tensor(value, device: str):
    """An array as a tensor of its type there; a number as Python's."""
    if not isinstance(value, (numpy.ndarray, numpy.generic)):
        return value
    if not value.shape:
        return value.item()
    import torch

    if value.dtype.kind != "V":
        return torch.from_numpy(value).to(device)
    bits = value.view(f"u{value.dtype.itemsize}")  # of ml_dtypes: torch has the type by the same name
    return torch.from_numpy(bits).view(getattr(torch, value.dtype.name)).to(device)


def _kernels(pair, grid, args, constexprs, tolerance) -> Section:
    on_gpu = devices.resolved_device() != "cpu"
    a, b, again = (_Side(text, grid, args, constexprs) for text in (*pair, pair[0]))
    take = timer("warm", on_gpu)
    expected = a.arrays()

    def check() -> None:
        for number, (array, right) in enumerate(zip(b.arrays(), expected, strict=True)):
            difference = numpy.abs(array - right).max(initial=0)
            if not difference <= tolerance:
                raise WrongResult(f"array {number} differs from A's by {difference:g}: --tolerance")

    rows = [
        Row(f"A: {pair[0]}", a.launches, lambda: take(a.call)),
        Row(f"B: {pair[1]}", b.launches, lambda: take(b.call), check),
        Row(AGAIN, again.launches, lambda: take(again.call)),
    ]
    return Section(f"A and B over the grid {grid}", rows, rows[0].name)
