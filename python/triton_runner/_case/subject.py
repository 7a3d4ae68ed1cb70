"""What a verdict is about: a kernel's texts by level, and one launch of it with the contents of its
arguments, which can be run at any level, again and again."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from types import SimpleNamespace

import numpy

from triton_runner import _artifacts, _device, _gpu, _lockstep, _settings
from triton_runner._case.contents import Contents, is_descriptor
from triton_runner._case.observe import Launch, unseen
from triton_runner._errors import KernelTrap
from triton_runner._files import DTYPES
from triton_runner._levels import EXECUTED, binary_level, is_above, levels_of
from triton_runner._metadata import jsonable
from triton_runner._pipeline import stages

# The levels that verdicts look at: LLIR runs as the PTX that it becomes.


@dataclasses.dataclass
class Run:
    """One run: what it left in the blocks of the arguments, or the trap that stopped it; its seconds."""

    level: str
    how: str
    blocks: list
    trap: KernelTrap | None
    seconds: float


class Subject:
    """A launch that can be repeated: kernel, grid, contents.

    texts: mapping of levels to texts, which may compile what is asked for; metadata(): Triton's of the
    kernel, those that its later stages write among them.
    """

    def __init__(self, name, target, texts, metadata, entry, grid, contents, block=None, cluster=None):
        self.name, self.target, self.texts, self.grid = name, target, texts, grid
        self._metadata = metadata
        self.entry, self.contents = entry, contents
        self._shape = {"block": block, "cluster": cluster}
        self._artifacts: dict = {}

    @property
    def levels(self) -> tuple[str, ...]:
        """Those of EXECUTED that the kernel passes from its entry on."""
        there = [level for level in levels_of(self.target) if level in EXECUTED]
        first = "ptx" if self.entry == "llir" else self.entry
        return tuple(level for level in there if level == first or is_above(first, level))

    @functools.cached_property
    def metadata(self) -> dict:
        return json.loads(json.dumps(self._metadata(), default=jsonable))

    def artifact(self, level: str) -> _artifacts.Artifact:
        """The kernel as it is at a level."""
        if level not in self._artifacts:
            text = self.texts[level]
            self._artifacts[level] = _artifacts.describe(
                level, text, "", self.name, json.dumps(self.metadata)
            )
        return self._artifacts[level]

    def kernel(self, level: str):
        """What runs a level on the device of the settings in force."""
        shape = self._shape if level == "ptx" else {}
        return _artifacts.executable(self.artifact(level), **shape)

    def run(self, level: str, how: str = "plain", **settings) -> Run:
        """A run on the CPU, from the contents as they were at first, which are put back afterwards; on one
        thread, so that its programs run in the order of the grid."""
        fixed = {"device": "cpu", "level": level, "target": self.target, "threads": 1}
        with unseen(), _settings.using(**{**fixed, **settings}):
            kernel = self.kernel(level)
            self.contents.put_back()
            trap, started = None, time.perf_counter()
            try:
                kernel.launch(self.grid, self.contents.named)
            except KernelTrap as error:
                trap = error
            seconds = time.perf_counter() - started
        blocks = self.contents.taken()
        self.contents.put_back()
        return Run(level, how, blocks, trap, seconds)

    def recompiled(self, **options) -> Subject:
        """The same launch, its PTX compiled from its TTGIR with other options (enable_fp_fusion=False)."""
        metadata = {**self.metadata, **options}
        ttgir = self.texts["ttgir"]
        compiling = _artifacts.compile_options(self.artifact("ttgir"), **options)
        made = stages.compile_onward(ttgir, "ttgir", "ptx", self.target, compiling, self.name)
        texts = {"ttgir": ttgir, "ptx": made.asm["ptx"]}
        return Subject(
            self.name, self.target, texts, lambda: metadata, "ttgir", self.grid, self.contents, **self._shape
        )

    def run_on_gpu(self, how: str = "plain", level: str = "") -> Run:
        """A run on this machine's GPU, with copies of the contents there, compiled for it from a level, that
        of the entry unless said."""
        import torch

        backend = _device.gpu()
        with unseen(), _settings.using(device=backend, level=""):  # a level is what the CPU executes
            kernel = self.kernel(level or self.entry)
            there = [torch.from_numpy(data).to("cuda") for data in self.contents.saved]
            started = time.perf_counter()
            kernel.launch(self.grid, [(n, self._moved(n, v, there)) for n, v in self.contents.named])
            torch.cuda.synchronize()
            seconds = time.perf_counter() - started
        level = binary_level(_gpu.current_target())
        return Run(level, how, [data.cpu().numpy() for data in there], None, seconds)

    def _moved(self, name: str, value, blocks: list):
        """An argument that lies in tensors of bytes on a GPU."""
        if name not in self.contents.views:
            return value
        import torch

        view = self.contents.views[name]
        dtype = getattr(torch, DTYPES[view.dtype][0])
        width = torch.empty(0, dtype=dtype).element_size()
        whole = torch.empty(0, dtype=dtype, device="cuda")
        shape, strides = (view.shape, view.strides) if view.shape else ((1,), (1,))
        moved = whole.set_(blocks[view.block].untyped_storage(), view.offset // width, shape, strides)
        if not is_descriptor(value):
            return moved
        fields = {
            f: getattr(value, f) for f in ("shape", "strides", "block_shape", "padding") if hasattr(value, f)
        }
        return SimpleNamespace(base=moved, **fields)

    def lockstep(self, levels: tuple, **options):
        """lockstep() of two levels or more, on the CPU."""
        with unseen(), _settings.using(device="cpu", level=levels[0], target=self.target, threads=1):
            kernel = self.kernel(levels[0])
            self.contents.put_back()
            names = [param.name for param in kernel.params]
            args = [value for name, value in self.contents.named if name in names]
            sources = {level: self.texts[level] for level in levels[1:]}
            return _lockstep.lockstep(kernel, args, grid=self.grid, levels=levels, sources=sources, **options)

    def arrays(self, run: Run) -> dict[str, numpy.ndarray]:
        """What a run left in the arguments, by name."""
        return self.contents.arrays(run.blocks)


def of_launch(launch: Launch) -> Subject:
    """The subject of a launch that is about to run."""
    compiled, entry = launch.compiled, launch.compiled.entry

    def metadata() -> dict:
        later = getattr(launch.kernel, "_later_metadata", dict)
        return {**later(), **compiled.metadata()}

    if entry == "python":
        entry = "ttir" if compiled.has("ttir") else "ttgir"
    return Subject(
        compiled.name, compiled.target, compiled.asm, metadata, entry, launch.grid,
        Contents(launch.named), compiled.block, compiled.cluster,
    )  # fmt: skip
