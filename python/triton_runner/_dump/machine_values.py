"""Registers of machine code on the CPU, and the values of TTGIR and PTX that they hold.

A selector names SASS ("R10", "P0", "0x1a0", "FADD", "kernel.py:42"), or a value of the TTGIR or a register of
the PTX. Which registers of the PTX hold a value is found with taps (registers.py). Which register of the
machine code holds one of those is found by running both: it has the same numbers in the same threads
(probe/sass_run.h).
"""

from __future__ import annotations

import dataclasses
import math

from triton_runner import _core, _settings
from triton_runner._artifact.binding import bind
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base import tools
from triton_runner._base.errors import KernelTrap, fail
from triton_runner._dump import cubin_values, instrument, registers
from triton_runner._memory.arguments import Arguments


def run(request, function, entry, args, kwargs, grid):
    """As registers.run: the compiled kernel, a Recording of level "cubin", and no changes: the machine code
    runs as it is."""
    launch = instrument.launcher_of(function)
    kernel = launch(entry, args, kwargs, grid, True)
    compiled = compiled_of(kernel)
    listing = tools.listing(compiled.asm["cubin"])
    programs = [list(p) for p in request.programs]

    def launched(recorder, level):
        with _settings.using(recorder=recorder, level=level):
            return launch(entry, args, kwargs, grid, False)

    if cubin_values.names_sass(request):
        return _named(request, compiled, listing, programs, launched)
    if (compiled.metadata_value("num_ctas") or 1) != 1:
        raise fail("values of a cluster are not looked for in machine code", "dump it at ptx, or name SASS")
    code = registers.Code(compiled)
    arguments = Arguments(sorted(bind(function, args, kwargs).items()))
    before = arguments.state()
    of_machine = _core.probe.trace_machine(listing, code.name, programs)
    kernel, trap = _until_trap(lambda: launched(of_machine, "cubin"), kernel)
    after = arguments.state()

    def place(plan):
        of_ptx = _core.probe.trace_plan(plan, code.ptx, code.filename, programs)
        arguments.put_back(before)
        _until_trap(lambda: launched(of_ptx, "ptx"), None)
        return _core.probe.place_by_running(
            plan, code.ptx, code.filename, code.name, of_ptx, listing, of_machine
        )

    try:
        plan = cubin_values.placed(dataclasses.replace(request, level="ptx"), code, place)
    finally:
        arguments.put_back(after)
    recording = _core.probe.recorded_by_running(plan, of_machine, listing, code.name, request.every_iteration)
    if trap is not None:  # what it computed until then is there to be looked at
        trap.recorded = recording, []
        raise trap
    return kernel, recording, []


def run_kernel(request, kernel, launch):
    """The same for a kernel of load() and what launches it: registers of the SASS alone."""
    compiled = compiled_of(kernel)
    if not cubin_values.names_sass(request):
        raise fail(
            f"kernel '{kernel.name}' was loaded: of its machine code registers are recorded",
            "name one (R10), an opcode (FADD) or an address (0x1a0); values are those of kernels from Python",
        )

    def launched(recorder, level):
        with _settings.using(recorder=recorder):
            return launch()

    listing = tools.listing(compiled.asm["cubin"])
    return _named(request, compiled, listing, [list(p) for p in request.programs], launched)


def _threads(compiled) -> int:
    """Of a block."""
    if (compiled.metadata_value("num_ctas") or 1) != 1:
        raise fail("registers of a cluster's machine code are not recorded", "dump them at ptx")
    block = compiled.block or (32 * (compiled.metadata_value("num_warps") or 4),)
    return math.prod(block)


def _named(request, compiled, listing, programs, launched):
    names = [text for text, _ in request.selectors]
    threads = _threads(compiled)
    plan = _core.probe.plan_sass_registers(listing, compiled.name, names, threads)
    recorder = _core.probe.RegisterRecorder(plan, request.every_iteration, programs, request.max_bytes)
    try:
        kernel = launched(recorder, "cubin")
    except KernelTrap as trap:
        trap.recorded = recorder.take(), []
        raise
    return kernel, recorder.take(), []


def _until_trap(launch, kernel):
    try:
        return launch(), None
    except KernelTrap as trap:
        return kernel, trap
