"""triton-runner exec: arguments from their text, a launch, and what it changed."""

from __future__ import annotations

import re
import time

from triton_runner import _settings
from triton_runner._errors import fail

_TYPES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}


def _dtype(name: str):
    import ml_dtypes
    import numpy

    if name not in _TYPES:
        raise fail(f"unknown element type {name!r}", f"types: {', '.join(_TYPES)}")
    return numpy.dtype(getattr(ml_dtypes, _TYPES[name], None) or _TYPES[name])


def parse_argument(text: str):
    """An argument from its text: 12, 0.5, null, 0x1000, f32[64,64]=random:1, file.npy."""
    import numpy

    if text == "null":
        return None
    if text.endswith(".npy"):
        try:
            return numpy.load(text)
        except (OSError, ValueError) as error:
            raise fail(f"--arg {text}: {error}") from None
    array = re.fullmatch(r"(\w+)\[([\d,\s]+)\](?:=(\S+))?", text)
    if array is None:
        for number in (lambda: int(text, 0), lambda: float(text)):
            try:
                return number()
            except ValueError:
                pass
        raise fail(f"--arg {text!r} is no argument", "as in: 1024, 0.5, null, f32[64,64]=random, x.npy")
    dtype = _dtype(array[1])
    shape = tuple(int(extent) for extent in array[2].split(","))
    kind, _, seed = (array[3] or "zeros").partition(":")
    count = int(numpy.prod(shape))
    if kind == "iota":
        values = numpy.arange(count)
    elif kind == "random":
        generator = numpy.random.default_rng(int(seed or 0))
        values = generator.standard_normal(count) if dtype.kind in "fV" else generator.integers(0, 8, count)
    else:
        try:
            values = numpy.full(
                count, {"zeros": 0, "ones": 1}.get(kind) if kind in ("zeros", "ones") else float(kind)
            )
        except ValueError:
            raise fail(
                f"--arg {text!r}: unknown contents {kind!r}",
                "zeros, ones, iota, random, random:SEED or a number",
            ) from None
    return values.astype(dtype).reshape(shape)


def parse_grid(text: str) -> tuple:
    """(4, 2, 1) of "4,2,1"."""
    try:
        return tuple(int(part) for part in re.split(r"[,x\s]+", text.strip().strip("()")) if part)
    except ValueError:
        raise fail(f"--grid {text!r} is no grid", "as in: 4, or 4,2,1") from None


def execute(file: str, grid: str, args, save, name: str, metadata) -> dict:
    """Loads, launches and reports: kernel, level, device, milliseconds, and each array argument that
    changed."""
    import numpy

    from triton_runner import _driver
    from triton_runner._load import load

    settings = _settings.current()
    kernel = load(
        file, metadata, _driver.resolved_device(), name=name, target=settings.target, level=settings.level
    )
    values = [parse_argument(text) for text in args]
    names = [param.name for param in kernel.params]
    before = [value.copy() if isinstance(value, numpy.ndarray) else None for value in values]
    shape = parse_grid(grid)
    targets = {}
    for item in save:
        index, _, path = item.partition("=")
        if not index.isdigit() or int(index) >= len(values) or before[int(index)] is None or not path:
            raise fail(f"--save {item!r}: expected INDEX=FILE.npy, with the index of an array argument")
        targets[int(index)] = path
    started = time.perf_counter()
    kernel[shape](*values)
    milliseconds = (time.perf_counter() - started) * 1e3
    changed = []
    for i, (value, old) in enumerate(zip(values, before, strict=True)):
        if old is not None and value.tobytes() != old.tobytes():
            text = numpy.array2string(value.reshape(-1), threshold=16, edgeitems=6, max_line_width=100)
            changed.append(
                {
                    "name": names[i] if i < len(names) else f"#{i}",
                    "type": str(value.dtype),
                    "shape": list(value.shape),
                    "text": text,
                }
            )
    for index, path in targets.items():
        numpy.save(path, values[index])
    return {
        "kernel": kernel.name,
        "level": kernel.level,
        "device": kernel.device,
        "grid": list(shape),
        "milliseconds": milliseconds,
        "changed": changed,
    }
