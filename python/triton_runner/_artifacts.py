"""Kernels that enter as artifacts: found, described, compiled onward where the level that executes lies
below, launched."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import difflib
import hashlib
import importlib.util
import json
import os
from pathlib import Path
from types import SimpleNamespace

from triton_runner import _core, _device, _gpu, _launch, _messages, _native, _settings, _simt, _tools
from triton_runner._errors import fail, warn
from triton_runner._keywords import Entry
from triton_runner._lazy import LazyAsm
from triton_runner._levels import (
    LEVELS,
    MLIR,
    ON_CPU,
    binary_level,
    is_above,
    level_of_text,
    levels_behind,
    levels_of,
)
from triton_runner._markers import without_markers
from triton_runner._metadata import jsonable
from triton_runner._paths import check_name
from triton_runner._pipeline.stages import compile_onward, option_names
from triton_runner._pipeline.versions import installed
from triton_runner._recent import Recent

SOURCE = ".source"  # a stage of Triton's caches: TTIR as the front end made it, of Gluon TTGIR


@dataclasses.dataclass(frozen=True, eq=False)
class Artifact:
    """The text or bytes of a kernel at one level, and what it and its metadata say about it."""

    level: str
    source: str | bytes
    path: str  # "" for a text
    description: dict

    @property
    def name(self) -> str:
        return self.description["name"]

    @property
    def label(self) -> str:
        return self.path or f"<{self.level}>"


def no_case(path: str) -> None:
    """Raises for a case (*.trcase) where one artifact is meant."""
    if path.endswith(".trcase"):
        raise fail(
            f"{path} is a case: a launch, with its kernel at all levels",
            "run, verify, lockstep, bisect, compare, reduce, report and map take it; unzip has its files",
        )


HOLDERS = ("fatbin", "so", "o")  # files that hold cubins, by the ends of their names


def piece(path: str, name: str, target: str) -> bytes:
    """The cubin in a fatbin, or in a library or object file that holds fatbins, that has a kernel, for a target: the
    one asked for, else the default or the newest. Raises DiagnosticError."""
    content = _read(path, "load", True)
    cubins = [one for one in _core.artifact.device_code(content, path) if one["level"] == "cubin"]
    named = [one for one in cubins if name in one["kernels"]] if name else [one for one in cubins if one["kernels"]]
    unread = next((one["problem"] for one in cubins if one["problem"]), "")
    if not named and unread:
        program = _tools.toolkit("cuobjdump") or "cuobjdump (of Triton's wheels, or of NVIDIA's CUDA toolkit)"
        raise fail(
            f"{path}: a cubin in it cannot be read: {unread}",
            f"{program} -xelf all {path} writes its cubins, which load() takes",
        )
    kernels = list(dict.fromkeys(kernel for one in cubins for kernel in one["kernels"]))
    if name and not named:
        near = difflib.get_close_matches(name, kernels, 3, 0.3) or kernels[:3]
        raise fail(f"{path} has no kernel '{name}'", f"it has {len(kernels)}: {', '.join(near)}, ...")
    if not name and len(kernels) > 1:
        raise fail(f"{path} has {len(kernels)} kernels, and none is named", f"as in name={kernels[0]!r}")
    targets = {one["target"]: one["content"] for one in named}
    wanted = target or _settings.current().target
    if wanted and wanted not in targets:
        raise fail(f"{path} has '{name}' not for {wanted}", f"it has it for {', '.join(targets) or 'nothing'}")
    if not targets:
        raise fail(f"{path} holds no cubin with a kernel")
    newest = max(targets, key=lambda one: int(one.partition(":")[2]))
    return targets[wanted or (_settings.DEFAULT_TARGET if _settings.DEFAULT_TARGET in targets else newest)]


def _read(path: str, keyword: str, binary: bool):
    no_case(path)
    check_name(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise fail(f"{keyword}: cannot read {path}: {error.strerror}") from None
    if binary:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise fail(
            f"{path} is not a text file: byte {error.start} is not UTF-8",
            "a binary artifact has a keyword of its own",
        ) from None


def _metadata_text(path: str, metadata_json: str | None) -> str:
    if metadata_json is None:
        found = _core.artifact.find_metadata(path) if path else ""
        return _read(found, "metadata", False) if found else ""
    if metadata_json.lstrip().startswith("{"):
        return metadata_json
    return _read(metadata_json, "metadata_json", False)


def describe(level: str, source, path: str, name: str, metadata_json: str | None) -> Artifact:
    """The artifact with its description. Errors: malformed, no such kernel, metadata that contradicts it."""
    metadata = _metadata_text(path, metadata_json)
    description = _core.artifact.describe(source, level, name, metadata, path or f"<{level}>")
    for warning in description["warnings"]:
        warn(warning)
    return Artifact(level, source, path, description)


def is_text_itself(value: str) -> bool:
    """Whether an argument is the text of a kernel, and not its path: a text has several lines."""
    return "\n" in value


_KEPT = 512  # of a program that opens ever new artifacts
_opened = Recent(_KEPT)


def open_entry(entry: Entry, name: str) -> Artifact:
    """The artifact that a launch's keyword names; the same one again while its file is unchanged."""
    key = (entry, name)
    if entry.form == "src" and is_text_itself(entry.value):
        known = _opened.get(key)
        if known is None:
            artifact = describe(entry.level, entry.value, "", name, entry.metadata_json)
            known = _opened.put(key, (None, artifact))
        return known[1]
    known = _opened.get(key)
    if known is not None and known[0] == _stamp(known[1].path):
        return known[1]
    if entry.form == "dir":
        path = _core.artifact.find(entry.value, name, entry.level)
    else:
        path = entry.value
    source = _read(path, entry.keyword, not LEVELS[entry.level].is_text)
    level = entry.level if os.path.splitext(path)[1] != SOURCE else level_of_text(source)
    artifact = describe(level, source, path, name, entry.metadata_json)
    return _opened.put(key, (_stamp(path), artifact))[1]


def _learn(kernel, _, named):
    """As _dispatch's, of launches of a kernel from load()."""
    named = kernel._name_arguments([value for _, value in named], {})
    found = kernel.straight([SimpleNamespace(name=name, is_constexpr=False) for name, _ in named], named)
    # It was loaded once and for all, and nothing is called around it.
    return found and (found[0], found[1], [], [], None, [])


def _stamps(artifact: Artifact) -> list:
    """[(file, modified, bytes)] of the file that an artifact was read from."""
    stamp = _stamp(artifact.path) if artifact.path else None
    return [] if stamp is None else [(os.path.abspath(artifact.path), *stamp)]


def _stamp(path: str):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def dispatch(parameters, reserved, entries, learn, method: str, within=None) -> _core.Dispatch:
    """The known launches of a kernel; parameters: None for any number of values."""
    return _core.Dispatch(
        parameters,
        reserved,
        entries,
        _settings.current,
        _settings._current,
        _settings.__dict__,
        learn,
        within,
        method,
    )


class ArtifactKernel(_core.Launchable):
    """A kernel that entered as an artifact, ready to run: what a launch and load() return.

    As Triton's CompiledKernel: name, asm (levels behind the entry compile when asked for), metadata, n_regs,
    n_spills, and kernel[grid](*args). params: names and types as the artifact spells them.
    """

    def __init__(self, artifact: Artifact, kernel: _core.Kernel, asm: dict, target: str, device: str):
        self.name = artifact.name
        self.artifact = artifact
        self.function = kernel
        self.level = kernel.level
        self.target = target
        self.device = device
        self.params = kernel.params
        self.python_params = None  # (name, is constexpr) of the Python kernel that it stands for
        self.asm = LazyAsm(asm, levels_behind(target, artifact.level) if target else (), self._complete)
        self.hash = hashlib.sha256(_bytes(artifact.source)).hexdigest()
        self._completed: dict = {}
        self.settings: dict = {}  # of its own launches, as using() takes them
        self._known = dispatch(None, frozenset(), frozenset(), _learn, "launched")

    def _complete(self, to: str):
        if to not in self._completed:
            self._completed[to] = compile_onward(
                self.artifact.source,
                self.artifact.level,
                to,
                self.target,
                compile_options(self.artifact),
                self.artifact.label,
            )
        return self._completed[to]

    @property
    def metadata(self):
        """Triton's metadata of the kernel, as far as its file or the artifact tells."""
        said = {
            k: v
            for k, v in self.artifact.description.items()
            if k not in ("metadata", "warnings", "missing", "params")
        }
        return SimpleNamespace(**{**said, **(self.artifact.description.get("metadata") or {})})

    def _resources(self):
        level = binary_level(self.target)
        return _core.artifact.describe(self.asm[level], level, self.name, "", f"<{level}>")

    @property
    def n_regs(self) -> int:
        return self._resources()["n_regs"] or 0

    @property
    def n_spills(self) -> int:
        return self._resources()["n_spills"] or 0

    def with_settings(self, **settings) -> ArtifactKernel:
        """The same kernel, whose launches have these settings of using()."""
        other = copy.copy(self)
        other._known = None
        other.settings = {**self.settings, **settings}
        with _settings.using(**other.settings):  # says what is wrong with them
            return other

    def launch(self, grid, named, stream=None) -> None:
        """Launches with (name, value) pairs, on a GPU on the stream (the current one); waits for it on the
        CPU."""
        with _settings.using(**self.settings) if self.settings else contextlib.nullcontext():
            run = lambda: self._launch(grid, named, stream)  # noqa: E731
            if not _launch.observers:
                return run()
            name, args = self.function.name, (grid, named, stream)
            return _launch.through(_launch.Call(self, name, grid, self.launch, args, lambda: named), run)

    def _launch(self, grid, named, stream) -> None:
        settings = _settings.current()
        if self.device == "cpu":
            self.function.launch(grid, named, settings.core_options)
        else:
            options = _core.Options()
            options.device = "cuda"  # as torch calls AMD's devices too
            options.shared = settings.shared
            options.checks = settings.checks
            options.stream = _gpu.current_stream(self.function.device) if stream is None else stream
            self.function.launch(grid, named, options)

    def _subscript(self, grid):
        """kernel[grid](*args): the parameters of the artifact in order, or those of the Python kernel that it
        stands for; grid is a tuple."""

        def runner(*args, stream=None, **kwargs):
            self.launch(grid, self._name_arguments(args, kwargs), stream)
            return self

        return runner

    def launched(self, *args, grid, warmup=False, stream=None, **kwargs) -> ArtifactKernel:
        """kernel[grid](*args) of a launch that was not seen before."""
        self.launch(grid, self._name_arguments(args, kwargs), stream)
        return self

    def straight(self, params, named):
        """(launcher, guards, files) for launches with values as these (name, value) pairs, of a function with
        these parameters; None where the next such launch might be another, False where this one was
        recorded."""
        if _settings.is_recording():
            return False
        if any(isinstance(value, tuple) for _, value in named):
            return None
        found = self._code(named)
        if found is None:
            return None
        code, kept = found
        constants = {param.name for param in params if param.is_constexpr}
        slots = [
            (param.name, "value" if param.name in kept and param.name not in constants else "constexpr")
            for param in params
        ]
        guards = [(self.__dict__, ["function"])]
        # load() takes as many arguments as the kernel has, and no Triton.
        loose = self.python_params is not None and installed().loose_launches
        return _core.Launcher(code, slots, loose), guards, _stamps(self.artifact)

    def _code(self, named):
        """(the loaded code that takes such values, names of those that it takes)."""
        if isinstance(self.function, _native.NativeKernel):
            return self.function.code_for(named)
        return self.function, _core.settled(self.function, named)

    def stands_for(self, params) -> None:
        """Arguments are from here on those of a Python kernel with these parameters."""
        self.python_params, self._known = [(param.name, param.is_constexpr) for param in params], None

    packed_metadata = None  # what Triton's own launchers ask for, and run() does not

    def launch_metadata(self, grid, stream, *args):
        """What run() hands to hooks: the kernel's name, function and stream."""
        return {"name": self.name, "function": self.function, "stream": stream}

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter_hook, exit_hook, *args) -> None:
        """As Triton's CompiledKernel.run: launches over the grid (x, y, z), between the hooks. The function
        and the metadata are the kernel's own, whatever is given; a grid without programs is nothing to do."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if 0 not in (x, y, z):
            self.launch((x, y, z), self._name_arguments(args, {}), stream)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _name_arguments(self, args, kwargs) -> list:
        names = [param.name for param in self.params]
        is_native = isinstance(self.function, _native.NativeKernel)  # some parameters are Triton's own
        given = [value for value in (*args, *kwargs.values()) if value is not None]
        several = any(map(_core.is_descriptor, given))
        if self.python_params is None and (several or is_native):
            # Descriptors take several parameters: the launch settles which.
            given = [(names[i] if i < len(names) else f"#{i}", value) for i, value in enumerate(args)]
            order = {name: i for i, name in enumerate(names)}
            return given + sorted(kwargs.items(), key=lambda pair: order.get(pair[0], len(order)))
        if self.python_params is not None and (is_native or len(args) + len(kwargs) != len(names)):
            # As Triton's launches pass them: with the constexprs, with some of the trailing ones, or without.
            names = [name for name, is_constexpr in self.python_params if not is_constexpr]
            needed = max(
                (i for i, (_, constexpr) in enumerate(self.python_params, 1) if not constexpr), default=0
            )
            if len(args) >= needed and (len(args) <= len(self.python_params) or installed().loose_launches):
                given = zip(self.python_params, args, strict=False)
                return [(name, value) for (name, is_constexpr), value in given if not is_constexpr]
        unknown = [name for name in kwargs if name not in names]
        if unknown:
            raise fail(
                f"kernel '{self.name}' has no parameter {unknown[0]!r}", f"its parameters: {', '.join(names)}"
            )
        if len(args) + len(kwargs) != len(names):
            raise fail(
                f"kernel '{self.name}' takes {len(names)} arguments, "
                f"and {len(args) + len(kwargs)} were given",
                f"its parameters: {', '.join(f'{p.name}: {p.type}' for p in self.params)}",
            )
        rest = names[len(args) :]
        missing = [name for name in rest if name not in kwargs]
        if missing:
            raise fail(f"kernel '{self.name}': argument {missing[0]!r} is missing, another is given twice")
        return [*zip(names, args, strict=False), *((name, kwargs[name]) for name in rest)]

    def __repr__(self):
        return f"<kernel {self.name} ({self.level}, {self.target or 'any target'}) on {self.device}>"


def _bytes(source) -> bytes:
    return source if isinstance(source, bytes) else source.encode()


def compile_options(artifact: Artifact, **more) -> dict:
    """Compile options for the stages behind an artifact: its metadata's, what its IR says, then the
    caller's."""
    options = dict(artifact.description.get("metadata") or {})
    options.pop("extern_libs", None)  # paths of the machine that wrote the file; the backend knows its own
    for name in ("num_warps", "num_ctas"):
        if artifact.description.get(name) is not None:
            options[name] = artifact.description[name]
    options.update({name: value for name, value in more.items() if value is not None})
    return options


def _check_level(artifact: Artifact, wanted: str) -> None:
    if wanted in LEVELS and is_above(wanted, artifact.level):
        raise fail(
            f"level={wanted!r} was asked for, and the kernel enters at {artifact.level}: "
            "execution cannot go back",
            f"leave level= out, or give the kernel at {wanted}",
        )


def _check_target(artifact: Artifact, wanted: str) -> str:
    said = artifact.description.get("target") or ""
    if said and wanted and said != wanted and artifact.level != "ttir":
        raise fail(
            f"{artifact.label} was compiled for {said}, and target={wanted!r} was asked for",
            "compile the kernel for that target, or leave target= out",
        )
    return wanted or said


_executables = Recent(_KEPT)


def executable(artifact: Artifact, block=None, cluster=None, **options) -> ArtifactKernel:
    """The artifact loaded on the device of the settings in force, compiled onward where that is needed.
    block, cluster: of PTX on the CPU, where the text does not say them; options: of the compilation."""
    settings = _settings.current()
    device = _device.resolved_device()
    shape = (block, cluster)
    key = (artifact, device, settings.level, settings.target, shape, tuple(sorted(options.items())))
    made = _executables.get(key)
    if made is None:
        if device == "cpu":
            made = _on_cpu(artifact, settings, device, options, *shape)
        else:
            made = _on_gpu(artifact, settings, device, options)
        _executables.put(key, made)
    return made


def _on_cpu(artifact: Artifact, settings, device, options, block, cluster) -> ArtifactKernel:
    if artifact.level not in ON_CPU:
        raise fail(
            f"{artifact.label}: the CPU executes {', '.join(ON_CPU)}, not {artifact.level}",
            "run it on a GPU, or give the kernel's ttir or ttgir",
        )
    _check_level(artifact, settings.level)
    target = _check_target(artifact, settings.target)
    level = artifact.level if settings.level in ("", "python") else settings.level
    if level not in ON_CPU:
        raise fail(
            f"level {level!r} is not executed on the CPU",
            f"the CPU executes {', '.join(ON_CPU)}",
        )
    level = LEVELS[level].runs_as or level
    asm = {artifact.level: artifact.source}
    if level != artifact.level:
        target = target or _settings.DEFAULT_TARGET
        if level in ("ptx", "cubin"):
            _device.check_simt_target(target, artifact.level)
        asm |= compiled(artifact, level, target, options)
    label = artifact.label if level == artifact.level else f"{artifact.name}.{level}"
    if level != "cubin":
        _print_later_stages(artifact, asm[level], level, target or _settings.DEFAULT_TARGET)
    if level in ("ptx", "cubin"):
        description = _described(artifact, asm, level)
        kernel = _simt.SimtKernel(asm[level], label, description, block, cluster)
    else:
        kernel = _core.load_tile(asm[level], label, artifact.name)
    return ArtifactKernel(artifact, kernel, asm, target or kernel.target or _settings.DEFAULT_TARGET, device)


def _print_later_stages(artifact: Artifact, text, level: str, target: str) -> None:
    if importlib.util.find_spec("triton") is not None:  # without it TTIR and TTGIR run all the same
        from triton_runner._pipeline.dumps import print_later_stages

        print_later_stages(text, level, target, compile_options(artifact), artifact.label, "triton")


def _described(artifact: Artifact, asm: dict, level: str) -> dict:
    """What is known of the code at `level`: of the artifact itself, or of what was compiled from it, whose
    metadata is taken out of asm."""
    if level == artifact.level:
        return {**artifact.description, "level": level}
    described = _core.artifact.describe(
        asm[level], level, artifact.name, asm.pop("metadata"), f"{artifact.name}.{level}"
    )
    return {**_native.inherit(described, artifact.description), "level": level}


def _on_gpu(artifact: Artifact, settings, device, options) -> ArtifactKernel:
    _check_level(artifact, settings.level)
    here = _gpu.current_target()
    # TTIR belongs to no architecture, whatever the one that its metadata was written for.
    target = (
        settings.target or here
        if artifact.level == "ttir"
        else _check_target(artifact, settings.target) or here
    )
    if target.split(":")[0] != device:
        raise fail(f"{artifact.label} was compiled for {target}, and the device here is {here}")
    levels = levels_of(device)
    # Code for an older architecture runs through the driver's own compiler of PTX; a cubin is for its
    # architecture.
    load_level = levels[-1] if target == here or device == "hip" else "ptx"
    if levels.index(artifact.level) > levels.index(load_level):
        load_level = artifact.level
    asm = {artifact.level: artifact.source}
    if load_level != artifact.level:
        asm |= compiled(artifact, load_level, target, options)
    description = _described(artifact, asm, load_level)
    kernel = _gpu.load(asm[load_level], description, _gpu.current_device())
    return ArtifactKernel(artifact, kernel, asm, target, device)


def compiled(artifact: Artifact, to: str, target: str, options: dict) -> dict:
    """The levels behind the artifact up to `to` (and "metadata", a JSON text), from Triton's cache or its
    stages."""
    import triton
    from triton.runtime.cache import get_cache_manager

    given = compile_options(artifact, **options)
    text = json.dumps([triton.__version__, artifact.level, to, target, given], default=str, sort_keys=True)
    manager = get_cache_manager(hashlib.sha256(text.encode() + _bytes(artifact.source)).hexdigest())
    group_name = f"{artifact.name}.json"
    folder = getattr(manager, "cache_dir", "the cache")
    with _messages.always_compile_by_default():
        if os.environ.get("TRITON_ALWAYS_COMPILE", "0") != "1":
            group = manager.get_group(group_name) or {}
            if f"{artifact.name}.{to}" in group:
                _messages.kernel_saved(folder, cache_hit=True)
                files = {Path(p).suffix[1:]: Path(p) for p in group.values()}
                asm = {
                    level: p.read_text() if LEVELS[level].is_text else p.read_bytes()
                    for level, p in files.items()
                    if level != "json"
                }
                return {**asm, "metadata": files["json"].read_text()}
        source = artifact.source
        if to not in MLIR:  # a dump on a GPU has stores in the place of its markers
            source = without_markers(source, artifact.level, artifact.label)
        made = compile_onward(source, artifact.level, to, target, given, artifact.label)
        metadata = json.dumps(made.metadata, default=jsonable)
        files = {
            **{f"{artifact.name}.{level}": value for level, value in made.asm.items()},
            group_name: metadata,
        }
        manager.put_group(
            group_name,
            {
                name: manager.put(value, name, binary=isinstance(value, bytes))
                for name, value in files.items()
            },
        )
        _messages.kernel_saved(folder, cache_hit=False)
    return {**made.asm, "metadata": metadata}


def run(function, entry: Entry, args, kwargs, grid, warmup: bool) -> ArtifactKernel:
    """A launch of a Python kernel that enters as an artifact: Python gives the parameters' names and the
    grid's meta."""
    artifact = open_entry(entry, function.__name__)
    params = {name: value for name, value in kwargs.items() if name in function.arg_names}
    options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
    _check_options(options)
    kernel = executable(
        artifact, **{k: v for k, v in options.items() if k in ("num_warps", "num_ctas", "num_stages")}
    )
    kernel.stands_for(function.params)
    if warmup:
        return kernel
    bound = _bind(function, args, params)
    if callable(grid):
        grid = grid(bound)
    constexprs = {param.name for param in function.params if param.is_constexpr}
    kernel.launch(
        tuple(grid) if isinstance(grid, list) else grid,
        [(name, value) for name, value in bound.items() if name not in constexprs],
    )
    return kernel


def _check_options(options: dict) -> None:
    for name in options:
        if name not in option_names(_settings.current().target or _settings.DEFAULT_TARGET):
            raise fail(f"keyword argument {name!r} is neither a parameter of the kernel nor an option")


def _bind(function, args, params) -> dict:
    """Arguments by parameter name, defaults applied; constexprs may be left out, as the artifact holds
    them."""
    try:
        bound = function.signature.bind_partial(*args, **params)
    except TypeError as error:
        raise fail(
            f"kernel '{function.__name__}': {error}", f"its parameters: {', '.join(function.arg_names)}"
        ) from None
    bound.apply_defaults()
    missing = [p.name for p in function.params if p.name not in bound.arguments and not p.is_constexpr]
    if missing:
        raise fail(
            f"kernel '{function.__name__}': missing argument {missing[0]!r}",
            f"its parameters: {', '.join(function.arg_names)}",
        )
    return dict(bound.arguments)
