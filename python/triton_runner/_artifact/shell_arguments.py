"""Reads arguments from the text of a command line ("f32[64] iota"), launches with them, and says what the
launch changed: for triton-runner exec."""

from __future__ import annotations

import math
import re
import time

import numpy

from triton_runner import _settings
from triton_runner._artifact.loading import load
from triton_runner._artifact.reading import describe, read_kernel
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import LEVELS, level_of_name, levels_of
from triton_runner._base.paths import check_output
from triton_runner._memory.files import dtype_named, is_array_file, load_array, number_of, save_array
from triton_runner._memory.ghost_memory import Ghost, ghost_at
from triton_runner._settings import devices
from triton_runner._worker import elements

_FORMS = "as in: 1024, i64=7, 0.5, f32=0.5, null, f32[64,64]=rand:1, x.npy, x.npz:key, x.safetensors:key"
_CONTENTS = "contents: zeros, ones, iota, iota:START, rand, rand:SEED, ghost, ghost:CONTENTS, a number"
_NAMED = {"zeros": 0.0, "ones": 1.0}
_SHOWN_VALUES = 1024  # an array of at most so many elements is written out in the JSON


_ARRAY = re.compile(r"(\w+)\[([\d,\s]+)\](?:=(\S+))?")


def _contents(text: str, dtype, count: int):
    """Values of an array by their text. rand: standard normal numbers, integers from 0 to 7."""
    kind, _, number = (text or "zeros").partition(":")
    try:
        if kind == "iota":
            return numpy.arange(count) + (
                float(number) if dtype.kind in "fV" and number else int(number or 0)
            )
        if kind in ("rand", "random"):
            generator = numpy.random.default_rng(int(number or 0))
            if dtype.kind in "fV":
                return generator.standard_normal(count)
            return generator.integers(0, 8, count)
        return numpy.full(count, _NAMED[kind] if text in _NAMED or not text else float(text))
    except (ValueError, TypeError):
        raise fail(f"an array has unknown contents {text!r}", _CONTENTS) from None


def parse_argument(text: str):
    """An argument from its text: 12, i32=5, 0.5, null, 0x1000, f32[64,64]=rand:1, file.npy, file.npz:key."""
    if text == "null":
        return None
    if is_array_file(text):
        return load_array(text)
    array = _ARRAY.fullmatch(text)
    if array is not None:
        dtype = dtype_named(array[1])
        shape = tuple(int(extent) for extent in array[2].split(","))
        count = math.prod(shape)
        if (array[3] or "").partition(":")[0] == "ghost":
            return _ghost(array[3].partition(":")[2], shape, dtype)
        try:
            return _contents(array[3], dtype, count).astype(dtype).reshape(shape)
        except DiagnosticError:
            raise
        except (MemoryError, ValueError):
            size = count * dtype.itemsize / 2**30
            raise fail(f"argument {text!r}: {size:,.1f} GiB do not fit into the memory here") from None
    kind, typed, value = text.partition("=") if "=" in text else ("", "", text)
    number = _number(value)
    if number is None or (typed and elements.find(kind) is None):
        raise fail(f"{text!r} is not an argument of a launch", _FORMS)
    if not typed:
        return number
    dtype = dtype_named(kind)
    try:
        if isinstance(number, int) or dtype.kind in "fV":
            return number_of(dtype, number)
    except OverflowError:
        pass
    raise fail(f"argument {text!r}: {value} is not a value of type {kind}")


def check_argument(text: str) -> None:
    """Raises what parse_argument() would, without making the array."""
    if match := _ARRAY.fullmatch(text):
        text = f"{match[1]}[1]" + (f"={match[3]}" if match[3] else "")
    parse_argument(text)


def _ghost(contents: str, shape: tuple, dtype):
    """An array of which only what is written takes memory, with the contents of its first part repeated."""
    if not contents or contents == "zeros":
        return Ghost(shape, dtype).array
    return Ghost(shape, dtype, lambda index: _contents(contents, dtype, index.size)).array


def _number(text: str):
    """An int or a float by its text, or None."""
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def parse_grid(text: str, option: str = "--grid") -> tuple:
    """(4, 2, 1) of "4,2,1"."""
    numbers = [part for part in re.split(r"(?<=\d)[,x\s]+", text.strip().strip("()")) if part]
    if not 1 <= len(numbers) <= 3 or not all(re.fullmatch(r"-?\d+", part) for part in numbers):
        raise fail(f"{option} {text!r} is not one to three numbers", "as in: 4, or 4,2,1")
    return tuple(map(int, numbers))


def _axes(text: str | None, option: str):
    """Three axes of --block and --cluster; None where not given."""
    if not text:
        return None
    axes = parse_grid(text, option)
    if not 1 <= len(axes) <= 3 or min(axes) < 1:
        raise fail(f"{option} {text!r}: expected one to three numbers of at least 1", "as in: 128, or 16,8")
    return axes + (1,) * (3 - len(axes))


def _targets(save, values) -> dict:
    """{argument: path} of --save INDEX=FILE."""
    targets = {}
    for item in save:
        index, _, path = item.partition("=")
        is_value = index.isdigit() and int(index) < len(values)
        if not is_value or not isinstance(values[int(index)], numpy.ndarray) or not is_array_file(path):
            raise fail(
                f"--save {item!r}: expected INDEX=FILE with the index of an array argument",
                "files: x.npy, x.npz, x.safetensors",
            )
        check_output(path)
        targets[int(index)] = path
    return targets


def _changed(name: str, value, old) -> dict | None:
    """Returns what a launch changed of an array. old: its contents before; None: it is a ghost."""
    if old is not None:
        return _change(name, value) if value.tobytes() != old.tobytes() else None
    written = ghost_at(value.ctypes.data).written()
    if not written.size:
        return None
    parts = value.reshape(-1)[written]
    at = [int(index) for index in written[:_SHOWN_VALUES]]
    change = {**_change(name, parts), "shape": list(value.shape), "elements": int(written.size), "at": at}
    change["text"] = f"{written.size} elements from {written[0]} to {written[-1]}: {change['text']}"
    return change


def _change(name: str, value) -> dict:
    """A changed array for people and for JSON."""
    text = numpy.array2string(value.reshape(-1), threshold=16, edgeitems=6, max_line_width=100)
    change = {"name": name, "type": str(value.dtype), "shape": list(value.shape), "text": text}
    if value.size <= _SHOWN_VALUES:
        change["values"] = value.reshape(-1).astype(float if value.dtype.kind in "fV" else int).tolist()
    return change


def target_that_it_needs(file: str, metadata, name: str) -> str:
    """The target of a file whose level the default target lacks; "" of another file. It says which levels
    the file may be executed at."""
    level = level_of_name(file)
    if not level or level in levels_of(_settings.DEFAULT_TARGET):
        return ""
    source = read_kernel(file, not LEVELS[level].is_text)
    return describe(level, source, file, name, metadata).description.get("target") or ""


def execute(
    file: str, grid: str, args, save, name: str, metadata, block=None, cluster=None, shared=None
) -> dict:
    """Loads, launches and reports: kernel, level, device, milliseconds, and each array argument that
    changed."""
    settings = _settings.current()
    kernel = load(
        file,
        metadata,
        devices.resolved_device(),
        name=name,
        target=settings.target,
        level=settings.level,
        block=_axes(block, "--block"),
        cluster=_axes(cluster, "--cluster"),
    )
    if shared is not None:
        kernel = kernel.with_settings(shared=shared)
    values = [parse_argument(text) for text in args]
    names = [param.name for param in kernel.params]
    arrays = {i: value for i, value in enumerate(values) if isinstance(value, numpy.ndarray)}
    before = {i: None if ghost_at(value.ctypes.data) else value.copy() for i, value in arrays.items()}
    targets = _targets(save, values)
    shape = parse_grid(grid)
    started = time.perf_counter()
    kernel[shape](*values)
    milliseconds = (time.perf_counter() - started) * 1e3
    changes = [_changed(names[i] if i < len(names) else f"#{i}", arrays[i], before[i]) for i in arrays]
    for index, path in targets.items():
        save_array(path, names[index] if index < len(names) else f"arg{index}", values[index])
    return {
        "kernel": kernel.name,
        "level": kernel.level,
        "device": kernel.device,
        "grid": list(shape),
        "milliseconds": milliseconds,
        "changed": [change for change in changes if change],
    }
