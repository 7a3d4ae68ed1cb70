"""Makes launches whose kernel stores what is dumped: on a GPU, and at PTX on the CPU where the kernel has
dl.dump statements. There, values that are only named are read from registers (registers.py); `_way` in
launches.py chooses.

The kernel's TTGIR gets stores to a buffer of ours (probe/insert.h), on NVIDIA's GPUs its PTX where llir or
ptx is asked for (register_stores.py). It goes through Triton's own later stages, and is launched as an
artifact with one more argument. The plain kernel is launched on copies of the arguments first, so that what
the stores change can be said: the outputs, shared memory, registers, waits.
"""

from __future__ import annotations

import functools
import json

from triton_runner import _core, _settings
from triton_runner._artifact.binding import bind
from triton_runner._artifact.compiled_kernel import Compiled, compiled_of
from triton_runner._artifact.executable import executable
from triton_runner._artifact.onward import compile_artifact
from triton_runner._artifact.reading import Artifact, describe
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.levels import MLIR
from triton_runner._base.metadata import jsonable
from triton_runner._base.releases import installed
from triton_runner._kernel.dumps import register_stores, requests
from triton_runner._kernel.dumps.changes import Before, Copies, changes_of, check_shared
from triton_runner._kernel.dumps.statements import uses_statements
from triton_runner._launch.launchers import axes_of
from triton_runner._memory import arrays
from triton_runner._memory.arguments import aligned
from triton_runner._pipeline.stages import option_names
from triton_runner._settings import devices


def run(request, function, entry, args, kwargs, grid, compare=True):
    """Launches a Python kernel (entry: the artifact that it enters as, or None) with the dump of a
    requests.Request. Returns the plain kernel, compiled, the _core.probe.Recording, and what the stores
    changed, a sentence each.

    Values are named as at request.level; where that is neither "ttir" nor "ttgir", as at the level that the
    kernel enters at or, of a Python kernel, at TTIR (TTGIR where PTX executes). compare: launch the plain
    kernel too, and compare outputs. Errors: unknown values, a grid out of range, values that cannot be
    stored, shared memory that the device does not have.
    """
    launch = launcher_of(function)
    kernel = launch(entry, args, kwargs, grid, True)
    bound = bind(function, args, kwargs)
    axes = axes_of(grid(bound) if callable(grid) else grid)
    compiled = compiled_of(kernel)
    named = compiled.passed(bound, {p.name for p in function.params if p.is_constexpr})
    level = _level(request, entry)
    # The plain kernel is without its dl.dump statements too: their markers would print on a GPU.
    again, quiet = _without_statements(function, launch, kernel, entry, args, kwargs, grid)

    def launch_copies(copies):
        values = tuple(copies.get(name, value) for name, value in zip(function.arg_names, args, strict=False))
        again(entry, values, {name: copies.get(name, v) for name, v in kwargs.items()}, grid, False)

    return kernel, *_run(
        request, compiled, compiled_of(quiet), level, axes, named, launch_copies if compare else None
    )


def run_kernel(request, kernel, grid, named, compare=True):
    """The same for a loaded artifact (an ArtifactKernel) and (name, value) pairs: the Recording and the
    changes."""

    def launch_copies(copies):
        kernel.launch(grid, list(copies.items()))

    compiled = compiled_of(kernel)
    level = request.level if request.level in MLIR else compiled.entry
    return _run(request, compiled, compiled, level, axes_of(grid), named, launch_copies if compare else None)


def _run(request, compiled: Compiled, quiet: Compiled, level: str, axes: tuple, named: list, launch_copies):
    """quiet: the kernel without its dump statements; launch_copies: launches it with other arguments by
    name."""
    before = Before(quiet)
    stored, changes = None, []
    on_cuda = compiled.target.startswith("cuda:")
    if on_cuda and request.selectors and _BELOW.intersection((request.level, level)):
        stored, changes = register_stores.instrumented(request, quiet, axes, named)
    if stored is not None:
        insertion, artifact = stored, register_stores.artifact(stored, quiet, named)
    else:
        insertion, artifact = with_stores(request, compiled, level, axes, named)
    quiet_kernel = loaded(artifact, quiet)
    check_shared(compiled.name, before, quiet_kernel)

    copies = Copies(named) if launch_copies else None
    buffer, host = _buffer(insertion.bytes)
    trapped = None  # the plain kernel's trap: its place is in the code that the user knows
    with requests.suspended():  # these launches are of the dump that is being taken
        if copies is not None and copies.taken:
            try:
                launch_copies(copies.named)
            except KernelTrap as trap:
                trapped, copies = trap, None
        try:
            quiet_kernel.kernel.launch(axes, [*named, ("dump_buffer", buffer)])
        except KernelTrap as trap:  # what it computed until then is there to be looked at
            trapped = trapped or trap
    recording = insertion.decode(host(), list(request.programs))
    changes = [*changes, *changes_of(before, quiet_kernel, copies)]
    if trapped is not None:
        trapped.recorded = recording, changes
        raise trapped
    return recording, changes


_BELOW = {"llir", "ptx"}  # levels whose values each thread has in registers


def with_stores(request, compiled: Compiled, level: str, axes: tuple, named: list):
    """The stores of a request in the text of a kernel at "ttir" or "ttgir" (a _core.probe.Insertion), and the
    artifact that they make of it."""
    if level == "ttir" and "ttir" not in compiled.asm:  # Gluon has none
        level = "ttgir"
    if level not in MLIR:
        raise fail(
            f"kernel '{compiled.name}' enters at {level}: stores of values are put into TTIR and TTGIR only",
            "give its ttir or ttgir, or dump registers: at ptx, or at cubin with cuda-gdb",
        )
    metadata = json.dumps(options_of(compiled), default=jsonable)
    text, name = _text(compiled, level), compiled.name
    numbers = tuple(_numbers(_described(level, text, name, metadata), named))
    insertion = _insertion(request, text, name, level, compiled.target, metadata, numbers, axes)
    return insertion, ttgir_artifact(insertion.text, compiled)


def ttgir_artifact(text: str, compiled: Compiled) -> Artifact:
    """A text of the kernel's TTGIR as an artifact that is compiled as the kernel was."""
    return _described("ttgir", text, compiled.name, json.dumps(options_of(compiled), default=jsonable))


def launcher_of(function):
    """launch(entry, args, kwargs, grid, warmup) of a kernel of triton_runner.jit, or of triton.jit."""
    own = getattr(function, "launch", None)
    if own is not None:
        return own

    def launch(entry, args, kwargs, grid, warmup):
        if warmup:
            return function.warmup(*args, grid=grid, **kwargs)
        return function.run(*args, grid=grid, warmup=False, **kwargs)

    return launch


def _without_statements(function, launch, kernel, entry, args, kwargs, grid):
    if entry is not None or not hasattr(function, "without_dumps") or not uses_statements(function):
        return launch, kernel
    quiet = function.without_dumps.launch
    return quiet, quiet(entry, args, kwargs, grid, True)


def _level(request, entry) -> str:
    if request.level in MLIR:
        return request.level
    if entry is not None:
        return entry.level
    if not request.selectors or (request.level or _settings.current().level) in ("", "python", "ttir"):
        return "ttir"  # statements have no names: at TTIR they stand in the loops that the program wrote
    return "ttgir"


def options_of(compiled: Compiled) -> dict:
    """Returns what the later stages need to know: the kernel's compile options."""
    names = (option_names(compiled.target) | {"tensordesc_meta"}) - {"extern_libs", "arch"}
    return {k: v for k, v in compiled.options().items() if k in names and v is not None}


def _text(compiled: Compiled, level: str) -> str:
    try:
        return compiled.asm[level]
    except KeyError:
        raise fail(
            f"kernel '{compiled.name}' has no {level}: it enters below it",
            "name values of the level that it enters at",
        ) from None


@functools.lru_cache(maxsize=64)
def _insertion(request, text: str, name: str, level: str, target: str, metadata: str, numbers, grid):
    """Returns what is stored where; made once for the launches of a loop."""
    put = _core.probe.insert_markers if level == "ttir" else _core.probe.insert_stores
    insertion = put(
        text, f"{name}.{level}", name, [(text, list(lines)) for text, lines in request.selectors],
        grid=grid, arguments=list(numbers), programs=list(request.programs),
        every_iteration=request.every_iteration, markers=request.markers, max_bytes=request.max_bytes,
        print_signs=installed().print_takes_signs,
    )  # fmt: skip
    if level == "ttir":
        artifact = _described("ttir", insertion.text, name, metadata)
        ttgir = compile_artifact(artifact, "ttgir", target, {})["ttgir"]
        insertion.replace_markers(ttgir, f"{name}.ttgir", name)
    return insertion


def _numbers(artifact, named: list) -> list:
    """The integer arguments, a parameter of the artifact each; none where counting does not tell which."""
    try:
        values, _ = _core.ArtifactCode(artifact.description).settle(named)
    except DiagnosticError:
        return []
    if len(values) != len(artifact.description["params"]):
        return []  # a descriptor takes several
    return [v if isinstance(v, int) and not isinstance(v, bool) else None for _, v in values]


@functools.lru_cache(maxsize=64)
def _described(level: str, text: str, name: str, metadata: str):
    return describe(level, text, "", name, metadata)


def loaded(artifact, plain: Compiled) -> Compiled:
    """An artifact with stores, loaded; plain: the kernel that it was made of, which may know of PTX what the
    text does not say."""
    settings = {"target": plain.target, "level": "ptx" if devices.resolved_device() == "cpu" else ""}
    with _settings.using(**settings):
        return compiled_of(executable(artifact, plain.block, plain.cluster))


def _buffer(size: int):
    """Zeroed memory that the device sees, and how to read it as NumPy's."""
    if devices.resolved_device() == "cpu":
        memory = aligned(size, 128)
        (wrapped,) = [arrays.wrap("dump_buffer", memory)]
        return wrapped, lambda: memory
    try:
        import torch
    except ImportError:
        raise fail(
            "dumps on a GPU need torch, for their buffer", "install torch, or dump on the CPU"
        ) from None
    memory = torch.zeros(max(size, 16), dtype=torch.uint8, device="cuda")
    return memory, lambda: memory[:size].cpu().numpy()
