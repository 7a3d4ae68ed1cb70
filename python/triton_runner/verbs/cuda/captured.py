"""Makes cases of the launches that libcuda.so.1 has kept as files (src/driver/kept.cpp)."""

from __future__ import annotations

import dataclasses
import re
import struct
from pathlib import Path

import numpy

from triton_runner._artifact.loading import load
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._kernel.cases.capture import capture
from triton_runner._settings import messages

_TYPE = re.compile(r"\b(?:ld|st|red|atom)\.[\w.:]*global[\w.:]*\.(?:v[248]\.)?([bfsu]\d+)\b")
_FLOATS = {"f16": numpy.float16, "f32": numpy.float32, "f64": numpy.float64}


@dataclasses.dataclass
class Launch:
    """A launch as the driver kept it. values: its parameters' bytes, or (block, offset) of those that point
    into memory; memory: what each block held before it; fault: what stopped it; missing: why its code is not
    kept."""

    folder: Path
    kernel: str = ""
    shown: str = ""
    level: str = ""
    number: int = 0
    grid: tuple = ()
    block: tuple = ()
    cluster: tuple = ()
    shared: int = 0
    fault: str = ""
    missing: str = ""
    memory: list = dataclasses.field(default_factory=list)
    values: list = dataclasses.field(default_factory=list)

    @property
    def text(self) -> Path:
        return self.folder / f"kernel.{self.level}"


def read(folder: Path) -> Launch:
    """Returns the launch of a folder."""
    launch = Launch(folder)
    for line in (folder / "launch.txt").read_text().splitlines():
        what, _, rest = line.partition(" ")
        if what == "memory":
            launch.memory.append(numpy.fromfile(folder / f"memory-{len(launch.memory)}", numpy.uint8))
        elif what == "value":
            launch.values.append(bytes.fromhex(rest))
        elif what == "pointer":
            launch.values.append(tuple(map(int, rest.split())))
        elif what in ("grid", "block", "cluster"):
            setattr(launch, what, tuple(map(int, rest.split())))
        else:
            setattr(launch, what, int(rest) if what in ("number", "shared") else rest)
    return launch


def others(kept: Path) -> list[str]:
    """Returns the names of kernels that were launched and not asked for, in the order of their launches."""
    path = kept / "others.txt"
    return list(dict.fromkeys(path.read_text().splitlines())) if path.exists() else []


def element_of(text: str) -> type:
    """Returns the type of arrays, which PTX does not say: the one floating-point type of all accesses to
    global memory, else bytes."""
    found = {_FLOATS.get(name) for name in _TYPE.findall(text)}
    return found.pop() if len(found) == 1 and None not in found else numpy.uint8


def _value(launch: Launch, param, value, element: type):
    if isinstance(value, tuple):
        block, offset = value
        rest = launch.memory[block][offset:]
        return rest.view(element) if rest.nbytes % numpy.dtype(element).itemsize == 0 else rest
    if len(value) > 8:
        raise fail(
            f"parameter '{param.name}' is a structure of {len(value)} bytes: a case has arrays and numbers"
        )
    if param.type in (".f32", ".f64"):
        return struct.unpack("<f" if len(value) == 4 else "<d", value)[0]
    return int.from_bytes(value, "little")


def _with_short_name(launch: Launch) -> None:
    """Gives the kernel of PTX a name that people write: smooth for _ZN8__main__6smoothB2v1B96cw51cX..."""
    text = launch.text.read_text()
    mentioned = set(re.findall(r"[\w$]+", re.sub(r'"[^"]*"|//.*', "", text)))  # not those of files
    short = re.sub(r"\W", "_", launch.shown.rpartition("::")[2])
    while short in mentioned or not short or short[0].isdigit():
        short = f"kernel_{short}"
    if launch.shown != launch.kernel:
        name = re.escape(launch.kernel)  # and of its parameters
        launch.text.write_text(re.sub(rf"(?<![\w$]){name}(?=_param_\d|[^\w$])", short, text))
        launch.kernel = short


def _run(launch: Launch) -> None:
    if launch.missing:
        raise fail(launch.missing)
    is_text = launch.level == "ptx"
    if is_text:
        _with_short_name(launch)
    element = element_of(launch.text.read_text()) if is_text else numpy.uint8
    metadata = {"name": launch.kernel, "shared": launch.shared}
    shape = {"block": launch.block, "cluster": launch.cluster if launch.cluster != (1, 1, 1) else None}
    kernel = load(launch.text, metadata, "cpu", name=launch.kernel, **shape)
    pairs = zip(kernel.params, launch.values, strict=True)
    kernel[launch.grid](*[_value(launch, param, value, element) for param, value in pairs])


def cases_of(kept: Path, folder: Path) -> list[tuple[Launch, str, str]]:
    """Writes a case of each launch that was kept, and returns the launches in order, each with its case,
    or with "" and the reason why there is none."""
    out = []
    for one in sorted(kept.glob("*/launch.txt"), key=lambda path: path.stat().st_mtime_ns):
        launch, reason = read(one.parent), ""
        own = folder / f"launch-{launch.number}"
        with capture(own, lambda seen: True) as captured, messages.silent():
            captured.warns = False  # the notes of the case say it
            try:
                _run(launch)
            except KernelTrap:
                pass  # the case holds it
            except DiagnosticError as error:
                reason = error.message
        path = ""
        if captured.cases:
            name = re.sub(r"\W", "_", launch.shown.rpartition("::")[2]) or "kernel"
            path = str(folder / f"{name}-{launch.number}.trcase")
            Path(captured.cases[0]).replace(path)
        own.rmdir()
        out.append((launch, path, reason))
    return out
