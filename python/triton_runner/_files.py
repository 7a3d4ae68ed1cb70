"""Arrays in files: .npy, .npz and .safetensors, read and written with NumPy alone."""

from __future__ import annotations

import json
import os
import struct

import numpy

from triton_runner._errors import fail

# Element types as arguments name them: the NumPy or ml_dtypes name, and that of safetensors.
DTYPES = {
    "i1": ("bool", "BOOL"),
    "i8": ("int8", "I8"),
    "i16": ("int16", "I16"),
    "i32": ("int32", "I32"),
    "i64": ("int64", "I64"),
    "u8": ("uint8", "U8"),
    "u16": ("uint16", "U16"),
    "u32": ("uint32", "U32"),
    "u64": ("uint64", "U64"),
    "f16": ("float16", "F16"),
    "f32": ("float32", "F32"),
    "f64": ("float64", "F64"),
    "bf16": ("bfloat16", "BF16"),
    "f8E4M3FN": ("float8_e4m3fn", "F8_E4M3"),
    "f8E5M2": ("float8_e5m2", "F8_E5M2"),
    "f8E4M3FNUZ": ("float8_e4m3fnuz", "F8_E4M3FNUZ"),
    "f8E5M2FNUZ": ("float8_e5m2fnuz", "F8_E5M2FNUZ"),
    "f8E8M0FNU": ("float8_e8m0fnu", "F8_E8M0"),
}
_KINDS = {dtype: kind for kind, (dtype, _) in DTYPES.items()}
_SUFFIXES = (".npy", ".npz", ".safetensors")


def numpy_named(name: str):
    """The dtype of NumPy or ml_dtypes of that name: "float32", "bfloat16", ..."""
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, name, None) or name)


def dtype_named(name: str):
    """The NumPy dtype of "f32", "bf16", ..."""
    if name not in DTYPES:
        raise fail(f"unknown element type {name!r}", f"types: {', '.join(DTYPES)}")
    return numpy_named(DTYPES[name][0])


def kind_of(dtype) -> str:
    """The element type of an array as the IR names it: "f16" of NumPy's or torch's float16."""
    name = str(dtype).removeprefix("torch.")
    return _KINDS.get(name, name)


def _split(text: str) -> tuple[str, str]:
    """("x.npz", "key") of "x.npz:key"."""
    if text.endswith(_SUFFIXES):
        return text, ""
    path, colon, key = text.rpartition(":")
    return (path, key) if colon and path.endswith(_SUFFIXES) else (text, "")


def is_array_file(text: str) -> bool:
    """Whether a text names a file of arrays, with or without the key of one."""
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
            loaded = numpy.load(file, allow_pickle=False)
            if path.endswith(".npz"):
                loaded = loaded[_chosen(path, key, list(loaded.files))]
        return numpy.ascontiguousarray(loaded)
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, EOFError, struct.error) as error:
        raise fail(f"{path} is not an array file that NumPy or safetensors can read: {error}") from None


def _load_safetensors(path: str, key: str):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        if size > os.path.getsize(path):
            raise ValueError("its header is longer than the file")
        header = json.loads(file.read(size))
        names = [name for name in header if name != "__metadata__"]
        entry = header[_chosen(path, key, names)]
        begin, end = entry["data_offsets"]
        file.seek(8 + size + begin)
        data = file.read(end - begin)
    kinds = {theirs: ours for ours, (_, theirs) in DTYPES.items()}
    if entry["dtype"] not in kinds:
        raise ValueError(f"elements of type {entry['dtype']}")
    return numpy.frombuffer(bytearray(data), dtype_named(kinds[entry["dtype"]])).reshape(entry["shape"])


def save_array(path: str, name: str, value) -> None:
    """Writes one array; in .npz and .safetensors it has a name."""
    save_arrays(path, {name: value})


def save_arrays(path: str, arrays: dict, about: dict | None = None) -> None:
    """Writes arrays by name into a .npz or .safetensors file, or a single one into a .npy file, whole or not
    at all. about: texts that go into the header of safetensors."""
    temporary = f"{path}.part"
    try:
        with open(temporary, "wb") as file:
            if path.endswith(".safetensors"):
                _write_safetensors(file, arrays, about)
            elif path.endswith(".npz"):
                numpy.savez(file, **arrays)
            else:
                (value,) = arrays.values()
                numpy.save(file, value)
        os.replace(temporary, path)
    except OSError as error:
        raise fail(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)


def _write_safetensors(file, arrays: dict, about: dict | None) -> None:
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
    file.write(struct.pack("<Q", len(text)) + text)
    for value in arrays.values():
        file.write(value.tobytes())
