"""Kernels that lockstep() is given as files or as load() makes them, launched at each level as it launches
kernels of triton_runner.jit."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._artifact.executable import executable
from triton_runner._artifact.kernel import ArtifactKernel
from triton_runner._artifact.loading import load
from triton_runner._artifact.reading import Artifact, describe, is_text_itself, read_kernel
from triton_runner._base.errors import fail
from triton_runner._base.levels import MLIR, ON_CPU
from triton_runner._base.metadata import as_path_or_text

_OPTIONS = ("num_warps", "num_ctas", "num_stages")
# Which levels are compared where nobody says it: PTX is compared with the TTGIR that it comes from.
_USUAL = {
    "ttir": ("ttir", "ttgir"),
    "ttgir": ("ttgir", "ptx"),
    "llir": ("ttgir", "llir"),
    "ptx": ("ttgir", "ptx"),
}


def is_loaded(kernel) -> bool:
    """Whether this is a path or a loaded artifact, and not a function of triton_runner.jit."""
    return isinstance(kernel, (str, os.PathLike, ArtifactKernel))


class Loaded:
    """An artifact, and what `sources` gives for levels above or below it or for a device."""

    def __init__(self, kernel, sources: dict):
        if not isinstance(kernel, ArtifactKernel):
            kernel = load(kernel, device="cpu")
        self._kernel = kernel
        self.name = self.__name__ = kernel.name
        self._entry = kernel.artifact.level
        if self._entry not in _USUAL:
            raise fail(
                f"{kernel.artifact.label}: lockstep does not begin at {self._entry}",
                f"levels: {', '.join(_USUAL)}",
            )
        self._artifacts = {self._entry: kernel.artifact}
        for level, source in sources.items():
            self._artifacts[level] = self._given(level if level in ON_CPU else "ttgir", source)
        self.notes: list[str] = []
        if self._entry in ("llir", "ptx") and not {*MLIR} & {*self._artifacts}:
            self._look_beside(kernel.artifact.path)
        above = min((level for level in ON_CPU if level in self._artifacts), key=ON_CPU.index)
        params = self._artifacts[above].description["params"]
        self.arg_names = [p["name"] for p in params] if all(p["name"] for p in params) else []

    def usual_levels(self) -> tuple:
        """What is compared where nobody says it."""
        return _USUAL[self._entry]

    def _given(self, level: str, source) -> Artifact:
        text, metadata = os.fspath(source), self._kernel.artifact.description.get("metadata")
        path = "" if is_text_itself(text) else text
        content = read_kernel(text, f"sources[{level!r}]", False) if path else text
        own = as_path_or_text(metadata, "metadata") if metadata and not path else None
        return describe(level, content, path, self.name, own)

    def _look_beside(self, path: str) -> None:
        beside = f"{os.path.splitext(path)[0]}.ttgir" if path else ""
        if not beside or not os.path.isfile(beside):
            raise fail(
                f"kernel '{self.name}': values of {self._entry} are compared with those of the TTGIR that it "
                "comes from, and there is none",
                f'give it: sources={{"ttgir": path or text}}, or put {self.name}.ttgir beside the file',
            )
        self._artifacts["ttgir"] = self._given("ttgir", beside)
        self.notes.append(f"ttgir is {beside}")

    def _artifact_for(self, level: str, device: str) -> Artifact:
        """What runs at a level: its own text, or the nearest one above, which is compiled down to it."""
        if device in self._artifacts:
            return self._artifacts[device]
        above = [name for name in ON_CPU[: ON_CPU.index(level) + 1] if name in self._artifacts]
        if not above:
            raise fail(
                f"kernel '{self.name}' enters at {self._entry}, and nothing is given to run at {level}",
                f"levels= from {self._entry} on, or sources={{{level!r}: path or text}}",
            )
        return self._artifacts[above[-1]]

    def __getitem__(self, grid):
        def launch(*args, **keywords):
            settings = _settings.current()
            artifact = self._artifact_for(settings.level or "ttgir", settings.device)
            options = {name: keywords.pop(name) for name in _OPTIONS if name in keywords}
            unknown = [name for name in keywords if name not in self.arg_names]
            if unknown:
                raise fail(
                    f"kernel '{self.name}' has no parameter {unknown[0]!r}",
                    "what an artifact was compiled for cannot be chosen any more",
                    f"its parameters: {', '.join(self.arg_names) or 'have no names'}",
                )
            if artifact.level in ("llir", "ptx"):
                options["block"] = getattr(self._kernel.function, "block", None)
                options["cluster"] = getattr(self._kernel.function, "cluster", None)
            kernel = executable(artifact, **options)
            if self._kernel.settings:
                kernel = kernel.with_settings(**self._kernel.settings)
            return kernel[grid](*args, *(keywords[name] for name in self.arg_names if name in keywords))

        return launch
