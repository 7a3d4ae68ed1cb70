"""Reads and writes arrays in files (.npy, .npz and .safetensors) with NumPy alone."""

from __future__ import annotations

import json
import mmap
import struct

import numpy

from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.paths import written_whole
from triton_runner._worker import elements

# By the name that the IR has: the NumPy or ml_dtypes name, and that of safetensors.
DTYPES = {row.name: (row.numpy, row.safetensors) for row in elements.ROWS}
_SUFFIXES = (".npy", ".npz", ".safetensors")


def numpy_named(name: str):
    """The dtype of NumPy or ml_dtypes of that name: "float32", "bfloat16", ..."""
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, name, None) or name)


def dtype_named(name: str):
    """The NumPy dtype of "f32", "fp32", "float32", "bf16", ..."""
    row = elements.find(name)
    if row is None:
        raise fail(f"unknown element type {name!r}", f"types: {', '.join(DTYPES)}")
    return numpy_named(row.numpy)


def number_of(dtype, number):
    """A number as a launch passes it for a parameter of that type, in the type of NumPy or ml_dtypes."""
    if dtype.kind not in "fV" or dtype.itemsize == 1:
        return dtype.type(number)
    from triton_runner._core import float_bits

    return numpy.array(float_bits(kind_of(dtype), float(number)), f"u{dtype.itemsize}").view(dtype)[()]


def kind_of(dtype) -> str:
    """The element type of an array as the IR has it: "f16" of NumPy's or torch's float16, Triton's fp16."""
    row = elements.find(str(dtype))
    return row.name if row else str(dtype).removeprefix("torch.")


def _split(text: str) -> tuple[str, str]:
    """("x.npz", "key") of "x.npz:key"."""
    if text.endswith(_SUFFIXES):
        return text, ""
    path, colon, key = text.rpartition(":")
    return (path, key) if colon and path.endswith(_SUFFIXES) else (text, "")


def is_array_file(text: str) -> bool:
    """Returns whether a text names a file of arrays, with or without the key of one."""
    return _split(text)[0].endswith(_SUFFIXES)


def _chosen(path: str, key: str, names: list) -> str:
    if key in names:
        return key
    if key or len(names) != 1:
        what = f"has no array {key!r}" if key else f"has {len(names)} arrays, and none is named"
        raise fail(f"{path} {what}", f"as in {path}:{(names or ['key'])[0]}", f"arrays: {', '.join(names)}")
    return names[0]


def load_array(text: str):
    """The array of "x.npy", "x.npz:key" or "x.safetensors:key", writable; the key may be left out where there
    is one array only."""
    path, key = _split(text)
    try:
        if path.endswith(".safetensors"):
            return _load_safetensors(path, key)
        with open(path, "rb") as file:
            if file.read(2) not in (b"\x93N", b"PK"):
                raise fail(f"{path} is not a file that NumPy wrote", "numpy.save(path, array) writes one")
            file.seek(0)
            loaded = numpy.load(file, allow_pickle=False)
            if path.endswith(".npz"):
                loaded = loaded[_chosen(path, key, list(loaded.files))]
        return numpy.ascontiguousarray(loaded)
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror or error}") from None
    except DiagnosticError:
        raise
    except (ValueError, KeyError, EOFError, struct.error) as error:
        raise fail(f"{path} is not an array file that NumPy or safetensors can read: {error}") from None


def _load_safetensors(path: str, key: str):
    with open(path, "rb") as file:
        arrays = from_safetensors(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return arrays[_chosen(path, key, list(arrays))].copy()


def from_safetensors(data) -> dict:
    """The arrays of safetensors by name, read-only views of its bytes. Raises ValueError, TypeError or
    KeyError for an unknown name, or one that lies outside of it."""
    if len(data) < 8:
        raise ValueError("its header is cut off")
    (size,) = struct.unpack_from("<Q", data)
    if size > len(data) - 8:
        raise ValueError("its header is longer than the file")
    kinds = {theirs: ours for ours, (_, theirs) in DTYPES.items()}
    body, arrays = memoryview(data)[8 + size :], {}
    for name, entry in json.loads(bytes(data[8 : 8 + size])).items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in kinds:
            raise ValueError(f"elements of type {entry['dtype']}")
        begin, end = entry["data_offsets"]
        shape = tuple(entry["shape"])
        if not 0 <= begin <= end <= len(body) or any(n < 0 for n in shape):
            raise ValueError(f"{name} lies outside of the file")
        arrays[name] = numpy.frombuffer(body[begin:end], dtype_named(kinds[entry["dtype"]])).reshape(shape)
    return arrays


def save_array(path: str, name: str, value) -> None:
    """Writes one array; in .npz and .safetensors it has a name."""
    save_arrays(path, {name: value})


def save_arrays(path: str, arrays: dict, about: dict | None = None) -> None:
    """Writes arrays by name into a .npz or .safetensors file, or a single one into a .npy file, whole or not
    at all. about: texts that go into the header of safetensors."""
    with written_whole(path) as file:
        if path.endswith(".safetensors"):
            file.writelines(to_safetensors(arrays, about))
        elif path.endswith(".npz"):
            numpy.savez(file, **arrays)
        else:
            (value,) = arrays.values()
            numpy.save(file, value)


def to_safetensors(arrays: dict, about: dict | None = None) -> list[bytes]:
    """Arrays by name as the pieces of a file."""
    kinds = dict(DTYPES.values())
    header, at = {"__metadata__": about} if about else {}, 0
    for name, value in arrays.items():
        if str(value.dtype) not in kinds:
            raise fail(f"safetensors has no type for {name} ({value.dtype})", "save it as .npz")
        offsets = [at, at + value.nbytes]
        header[name] = {
            "dtype": kinds[str(value.dtype)], "shape": list(value.shape), "data_offsets": offsets
        }  # fmt: skip
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text, *(value.tobytes() for value in arrays.values())]
