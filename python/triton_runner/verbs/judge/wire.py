"""Carries messages between the processes of the judge: a JSON text and byte strings, through pipes. Nothing
that an answer's process sends is unpickled or evaluated.

    send(pipe, {"say": "ready"}, [b"..."])      receive(pipe) -> ({"say": "ready"}, [b"..."])
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import select
import struct
import time

from triton_runner._base.metadata import jsonable

MOST = 1 << 31  # bytes of a message
_DTYPES = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32",
    "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
)  # fmt: skip


# Operators that give memory without contents.
EMPTY = re.compile(r"aten::(new_)?empty(_like|_strided|_permuted)?$|aten::resize_?$")


class Gone(Exception):
    """The process at the other end has ended, or says nothing in time."""


def send(pipe: int, text, parts=()) -> None:
    """Writes a message."""
    data = json.dumps(text, default=jsonable).encode()
    head = struct.pack(f"<{2 + len(parts)}Q", len(data), len(parts), *map(len, parts))
    for piece in (struct.pack("<Q", len(head)), head, data, *parts):
        view = memoryview(piece)
        while view.nbytes:
            view = view[os.write(pipe, view[: 1 << 20]) :]


def receive(pipe: int, until: float | None = None, is_alive=lambda: True) -> tuple:
    """Reads a message. Raises Gone at its end, after the time `until`, or when is_alive() says no."""
    (size,) = struct.unpack("<Q", _read(pipe, 8, until, is_alive))
    if not 16 <= size <= 1 << 24:
        raise Gone("a malformed message")
    head = struct.unpack(f"<{size // 8}Q", _read(pipe, size, until, is_alive))
    if head[1] != len(head) - 2 or head[0] + sum(head[2:]) > MOST:
        raise Gone("a malformed message, or one that is too large")
    text = _read(pipe, head[0], until, is_alive)
    parts = [_read(pipe, size, until, is_alive) for size in head[2:]]
    try:
        return json.loads(text), parts
    except (ValueError, RecursionError) as error:
        raise Gone("a malformed message") from error


def _read(pipe: int, size: int, until: float | None, is_alive) -> bytes:
    out = bytearray()
    while len(out) < size:
        if until is not None:
            while not select.select([pipe], [], [], 0.5)[0]:
                if not is_alive() or time.monotonic() > until:
                    raise Gone("it says nothing in time")
        piece = os.read(pipe, min(size - len(out), 1 << 20))
        if not piece:
            raise Gone("it has ended")
        out += piece
    return bytes(out)


# --- values: tensors as [number], lists, numbers, texts


def dtype_name(tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def dtype_of(name: str):
    import torch

    if name not in _DTYPES:
        raise ValueError(f"no element type: {name!r}")
    return getattr(torch, name)


def storage_bytes(tensor) -> bytes:
    """The bytes of all the memory that a tensor lies in."""
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    return ctypes.string_at(storage.data_ptr(), size) if size else b""


def described(tensor, parts: list) -> dict:
    """A tensor with its memory, whose bytes are added to parts."""
    tensor = tensor.detach()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    parts.append(storage_bytes(tensor))
    return {
        "dtype": dtype_name(tensor), "shape": list(tensor.shape), "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(), "part": len(parts) - 1, "device": tensor.device.type,
    }  # fmt: skip


def made(text: dict, parts: list):
    """The tensor again, in memory of its own. Under --pretend-cuda it says the device that it said."""
    import torch

    from triton_runner._pretend.tensors import mark  # it loads torch

    data = bytearray(parts[text["part"]])
    flat = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    flat = flat.clone()  # aligned as torch's own memory is
    empty = torch.empty(0, dtype=dtype_of(text["dtype"]))
    tensor = empty.set_(flat.untyped_storage(), text["offset"], text["shape"], text["strides"])
    return mark(tensor, "cuda" if text.get("device") == "cuda" else "cpu")


def fill(tensor, byte: int) -> None:
    """Puts a byte into all the memory that a tensor lies in."""
    size = tensor.untyped_storage().nbytes()
    if size:
        ctypes.memset(tensor.untyped_storage().data_ptr(), byte, size)


def refilled(old, new):
    """The tensor of an earlier call with the contents of a new one, or the new one where their forms differ:
    what was kept by the address or the name of an input is seen so."""
    import torch

    if old is None or old.requires_grad or _form(old) != _form(new):
        return new
    size = new.untyped_storage().nbytes()
    if size:
        ctypes.memmove(old.untyped_storage().data_ptr(), new.untyped_storage().data_ptr(), size)
        torch.autograd.graph.increment_version(old)  # as any write does
    return old


def _form(tensor) -> tuple:
    about = tensor.shape, tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes()
    return tensor.dtype, tensor.device, *about


def packed(value, parts: list):
    """A value of Python with tensors in it, as JSON takes it. Raises TypeError for what is neither."""
    import torch

    if isinstance(value, torch.Tensor):
        return {"tensor": described(value, parts)}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [packed(item, parts) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[packed(k, parts), packed(v, parts)] for k, v in value.items()]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"is": value}
    if hasattr(value, "__array_interface__"):
        return {"tensor": described(torch.from_numpy(value), parts)}
    raise TypeError(f"a value of type {type(value).__name__}")


def unpacked(text: dict, parts: list, tensor=made):
    """The value again."""
    ((kind, of),) = text.items()
    if kind == "tensor":
        return tensor(of, parts)
    if kind in ("list", "tuple"):
        items = (unpacked(item, parts, tensor) for item in of)
        return list(items) if kind == "list" else tuple(items)
    if kind == "dict":
        return {unpacked(k, parts, tensor): unpacked(v, parts, tensor) for k, v in of}
    if kind == "dtype":
        return dtype_of(of)
    if kind == "device":
        import torch

        return torch.device(of)
    return of
