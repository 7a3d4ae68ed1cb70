"""Subject is the launch that lockstep() runs again: of a kernel, of a file, or of what load() gave, with the
texts that replace what Triton compiles for a level."""

from __future__ import annotations

import collections
import dataclasses
import json
import os

from triton_runner import _core, _settings
from triton_runner._artifact.executable import executable
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.loading import load
from triton_runner._artifact.reading import describe, is_text_itself, read_kernel
from triton_runner._artifact.relaunch import Relaunch, of_call
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, MLIR, ON_CPU
from triton_runner._base.metadata import jsonable
from triton_runner._launch.launchers import observing
from triton_runner._memory.arguments import Arguments

_OPTIONS = ("num_warps", "num_ctas", "num_stages")
# The levels that are compared by default: PTX is compared with the TTGIR from which it was made.
_USUAL = {
    "ttir": ("ttir", "ttgir"),
    "ttgir": ("ttgir", "ptx"),
    "llir": ("ttgir", "llir"),
    "ptx": ("ttgir", "ptx"),
}


@dataclasses.dataclass(frozen=True)
class Subject:
    """A launch; `levels`: compared by default; `on_gpu`: the same launch with the TTGIR that a GPU is given;
    `settings`: those of a loaded kernel."""

    launch: Relaunch
    levels: tuple = MLIR
    on_gpu: Relaunch | None = None
    settings: dict = dataclasses.field(default_factory=dict)
    notes: tuple = ()


def subject_of(kernel, args, constexprs: dict, grid, sources: dict, target: str | None = None) -> Subject:
    """The launch of a kernel with arguments, which is not executed; sources: {level or device: path or
    text}."""
    given = {level: _read(level, source) for level, source in sources.items()}
    texts = {level: text for level, text in given.items() if level in LEVELS}
    levels, loaded, notes = MLIR, None, ()
    target = target or _settings.current().target or _target_of(texts)
    with _settings.using(device="cpu", target=target):
        if isinstance(kernel, (str, os.PathLike, ArtifactKernel)):
            loaded = kernel if isinstance(kernel, ArtifactKernel) else load(kernel)
            levels, notes = _usual(loaded), _complete(loaded, texts)
            options = {name: constexprs.pop(name) for name in _OPTIONS if name in constexprs}
            kernel = _entering(loaded, texts, options)
        launch = launch_of(kernel, args, constexprs, grid)
    if loaded is not None:
        launch = shaped(launch, loaded)
    on_gpu = next((text for level, text in given.items() if level not in LEVELS), None)
    return Subject(
        _with_texts(launch, texts) if texts else launch, levels,
        on_gpu and _with_texts(launch, {"ttgir": on_gpu}), loaded.settings if loaded else {}, notes,
    )  # fmt: skip


def _read(level: str, source) -> str | bytes:
    text = os.fspath(source)
    if isinstance(text, bytes) or is_text_itself(text):
        return text
    return read_kernel(text, level in LEVELS and not LEVELS[level].is_text, f"sources[{level!r}]")


def _target_of(texts: dict) -> str | None:
    """Returns the target of the lowest text that says what it was compiled for."""
    targets = [_core.artifact.describe(texts[level], level)["target"] for level in LEVELS if level in texts]
    return next((target for target in reversed(targets) if target), None)


def _usual(loaded: ArtifactKernel) -> tuple:
    if loaded.artifact.level not in _USUAL:
        raise fail(
            f"{loaded.artifact.label}: lockstep does not begin at {loaded.artifact.level}",
            f"levels: {', '.join(_USUAL)}",
        )
    return _USUAL[loaded.artifact.level]


def _complete(loaded: ArtifactKernel, texts: dict) -> tuple:
    """Adds a loaded kernel's own text to those given, and for PTX the TTGIR beside its file. Returns
    notes."""
    entry, path = loaded.artifact.level, loaded.artifact.path
    texts.setdefault(entry, loaded.artifact.source)
    if entry in MLIR or {*MLIR} & {*texts}:
        return ()
    beside = f"{os.path.splitext(path)[0]}.ttgir" if path else ""
    if not os.path.isfile(beside):
        raise fail(
            f"kernel '{loaded.name}': values of {entry} are compared with those of the TTGIR that it comes "
            "from, and there is none",
            f'give it: sources={{"ttgir": path or text}}, or put {loaded.name}.ttgir beside the file',
        )
    texts["ttgir"] = _read("ttgir", beside)
    return (f"ttgir is {beside}",)


def _entering(loaded: ArtifactKernel, texts: dict, options: dict) -> ArtifactKernel:
    """The loaded kernel, as it enters at the highest level of its texts."""
    artifact = loaded.artifact
    top = min(texts, key=ON_CPU.index)
    if top != artifact.level or texts[top] != artifact.source:
        metadata = artifact.description.get("metadata")
        metadata = metadata and json.dumps(metadata, default=jsonable)
        artifact = describe(top, texts[top], "", loaded.name, metadata)
    return executable(artifact, **options) if options or artifact is not loaded.artifact else loaded


def launch_of(kernel, args, constexprs: dict, grid) -> Relaunch:
    """Returns a launch that is not executed, its arguments in memory of this machine's CPU."""
    named = isinstance(args, dict)
    names = getattr(kernel, "arg_names", None) or [param.name for param in kernel.params]
    names = [*names, *(f"#{i}" for i in range(len(args)))]
    pairs = list(args.items()) if named else list(zip(names, args, strict=False))
    arguments = Arguments(pairs)
    if not arguments.is_on("cpu"):
        pairs = arguments.copied("cpu").named
    seen: list[Relaunch] = []
    with observing(lambda call, go: seen.append(of_call(call))):
        values = dict(pairs) if named else {}
        kernel[grid](*([] if named else [value for _, value in pairs]), **values, **constexprs)
    return seen[0]


def shaped(launch: Relaunch, loaded: ArtifactKernel) -> Relaunch:
    """The launch of a loaded kernel, with the block and the cluster that load() was given."""
    shape = {name: getattr(loaded.function, name, None) for name in ("block", "cluster")}
    return dataclasses.replace(launch, **shape)


def _with_texts(launch: Relaunch, texts: dict) -> Relaunch:
    """The launch with these texts in the place of its own."""
    entry = min((launch.entry, *texts), key=[*LEVELS].index)
    texts_of = collections.ChainMap(texts, launch.texts)
    return dataclasses.replace(launch, texts=texts_of, entry=entry, given=tuple(texts))
