"""Finds registers of machine code on the CPU, and the values of TTGIR and PTX that they hold.

A selector names SASS ("R10", "P0", "0x1a0", "FADD", "kernel.py:42"), or a value of the TTGIR or a register of
the PTX. Which registers of the PTX hold a value is found with taps (registers.py). Which register of the
machine code holds one of those is found by running both: it has the same numbers in the same threads
(probe/sass_run.h).
"""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

from triton_runner import _core, _settings
from triton_runner._artifact.binding import bind
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._kernel.dumps import cubin_values, instrument, registers
from triton_runner._launch.launchers import unseen
from triton_runner._memory.arguments import Arguments


def run(request, function, entry, args, kwargs, grid):
    """As registers.run: the compiled kernel, a Recording of level "cubin", and no changes: the machine code
    runs as it is."""
    launch = instrument.launcher_of(function)
    kernel = launch(entry, args, kwargs, grid, True)

    def launched(recorder, level):
        with _settings.using(recorder=recorder, level=level):
            launch(entry, args, kwargs, grid, False)

    named = sorted(bind(function, args, kwargs).items())
    return kernel, _recorded(request, compiled_of(kernel), named, launched, lambda: compiled_of(kernel)), []


def run_kernel(request, kernel, grid, named, go, kernel_of):
    """The same for a kernel of load(): the Recording, and no changes. Values are found where the kernel
    entered above its machine code; kernel_of("ptx"): the kernel there."""

    def launched(recorder, level):
        with _settings.using(recorder=recorder, level=level):
            go() if level == "cubin" else kernel_of(level).launch(grid, named)

    def of_ptx():
        try:
            with _settings.using(level="ptx"):
                return compiled_of(kernel_of("ptx"))
        except DiagnosticError:
            raise fail(
                f"kernel '{kernel.name}' entered as a cubin: of its machine code registers are recorded",
                "name one (R10), an opcode (FADD) or an address (0x1a0); values are those of kernels that "
                "enter at ptx or above",
            ) from None

    return _recorded(request, compiled_of(kernel), named, launched, of_ptx), []


def _recorded(request, compiled, named: list, launched, of_ptx):
    """launched(recorder, level): runs the machine code or the PTX; of_ptx(): the Compiled with the PTX."""
    listing = tools.listing(compiled.asm["cubin"])
    programs = [list(p) for p in request.programs]
    if cubin_values.names_sass(request):
        return _registers(request, compiled, listing, programs, launched)
    if (compiled.metadata_value("num_ctas") or 1) != 1:
        raise fail("values of a cluster are not looked for in machine code", "dump it at ptx, or name SASS")
    code = registers.Code(of_ptx())
    arguments = Arguments(named)
    before = arguments.state()
    of_machine = _core.probe.trace_machine(listing, code.name, programs)
    trap = _trap_of(lambda: launched(of_machine, "cubin"))
    after = arguments.state()

    def place(plan):
        of_ptx = _core.probe.trace_plan(plan, code.ptx, code.filename, programs)
        arguments.put_back(before)
        with unseen():  # it is not the program's launch
            _trap_of(lambda: launched(of_ptx, "ptx"))
        return _core.probe.place_by_running(
            plan, code.ptx, code.filename, code.name, of_ptx, listing, of_machine
        )

    try:
        plan = cubin_values.placed(dataclasses.replace(request, level="ptx"), code, place)
    except DiagnosticError as error:
        if not request.lenient:
            raise
        recording = SimpleNamespace(series=[], notes=[error.message])
    else:
        recording = _core.probe.recorded_by_running(
            plan, of_machine, listing, code.name, request.every_iteration
        )
    finally:
        arguments.put_back(after)
    if trap is not None:  # what it computed until then is there to be looked at
        trap.recorded = recording, []
        raise trap
    return recording


def _threads(compiled) -> int:
    """Returns the number of threads of a block."""
    if (compiled.metadata_value("num_ctas") or 1) != 1:
        raise fail("registers of a cluster's machine code are not recorded", "dump them at ptx")
    block = compiled.block or (32 * (compiled.metadata_value("num_warps") or 4),)
    return math.prod(block)


def _registers(request, compiled, listing, programs, launched):
    names = [text for text, _ in request.selectors]
    threads = _threads(compiled)
    plan = _core.probe.plan_sass_registers(listing, compiled.name, names, threads)
    recorder = _core.probe.RegisterRecorder(plan, request.every_iteration, programs, request.max_bytes)
    trap = _trap_of(lambda: launched(recorder, "cubin"))
    if trap is not None:
        trap.recorded = recorder.take(), []
        raise trap
    return recorder.take()


def _trap_of(launch) -> KernelTrap | None:
    try:
        launch()
    except KernelTrap as trap:
        return trap
    return None
