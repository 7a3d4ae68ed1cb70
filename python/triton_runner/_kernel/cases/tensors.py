"""Stores the memory of a case. Blocks of bytes are stored as safetensors; constant or too large blocks become
a generator with the hash of the original bytes. repro.py, which runs without the package, reads the same
blocks and kinds of generators."""

from __future__ import annotations

import hashlib
import math

import numpy

from triton_runner._base.errors import fail
from triton_runner._memory.arguments import Arguments, View, aligned
from triton_runner._memory.difference import same_bits
from triton_runner._memory.files import DTYPES, from_safetensors, numpy_named, to_safetensors

_ALIGNMENT = 64
_PIECE = 1 << 20  # elements


def taken(arguments: Arguments, max_bytes: int) -> tuple[list[dict], dict[str, numpy.ndarray], list[str]]:
    """The JSON description of each block, the stored arrays by name, and notes on what is incomplete.

    A block of one repeated element becomes a generator. Other blocks are stored if they fit into max_bytes,
    small ones first; the rest is drawn again with the mean and deviation of what was there.
    """
    described, stored, notes = [], {}, []
    left, first = max_bytes, arguments.first
    order = sorted(range(len(first.base)), key=lambda i: first.base[i].nbytes)
    by_number: dict[int, dict] = {}
    for number in order:
        data = first.block(number)
        name, view = next(pair for pair in arguments.views.items() if pair[1].block == number)
        block = {
            "bytes": int(data.nbytes),
            "align": arguments.address(number) % _ALIGNMENT,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        typed = _typed(data, view)
        if data.nbytes and same_bits(typed, typed[:1]).all():
            block["generator"] = {"kind": "repeat", "hex": typed[:1].tobytes().hex()}
        elif data.nbytes <= left:
            left -= data.nbytes
            block["stored"] = name
            stored[name] = typed.reshape(view.shape) if view.is_whole(data.nbytes) else data
        else:
            block["generator"] = _drawn(typed, view)
            notes.append(
                f"argument '{name}' has {data.nbytes:,} bytes, more than the case has room for: its numbers "
                "are drawn again"
            )
        by_number[number] = block
    described = [by_number[number] for number in range(len(first.base))]
    return described, stored, notes


def _typed(data: numpy.ndarray, view: View) -> numpy.ndarray:
    """The bytes as elements of the type, if they are a whole number of elements."""
    return data.view(view.type) if data.nbytes % view.type.itemsize == 0 else data


def _drawn(typed: numpy.ndarray, view: View) -> dict:
    if typed.dtype.kind in "iub":
        return {"kind": "integers", "dtype": view.dtype, "low": int(typed.min()), "high": int(typed.max())}
    count, mean, squares = 0, 0.0, 0.0  # squares: of the distances from the mean
    for at in range(0, typed.size, _PIECE):
        finite = typed[at : at + _PIECE].astype("float64")
        finite = finite[numpy.isfinite(finite)]
        if finite.size:
            step, total = float(finite.mean()) - mean, count + finite.size
            squares += float(finite.var()) * finite.size + step * step * count * finite.size / total
            mean, count = mean + step * finite.size / total, total
    deviation = math.sqrt(squares / count) if count else 0.0
    return {"kind": "normal", "dtype": view.dtype, "mean": mean, "deviation": deviation}


def drawn(blocks: list[dict]) -> bool:
    """Returns whether numbers of the arguments are drawn again, of a case with these blocks."""
    return any(block.get("generator", {}).get("kind") not in (None, "repeat") for block in blocks)


def made(blocks: list[dict], arrays: dict, limit: int) -> list[numpy.ndarray]:
    """The blocks in memory, aligned as they were. Raises DiagnosticError for too much or missing data."""
    total = sum(_size(block) for block in blocks)
    if total > limit:
        raise fail(
            f"the arguments of the case take {total:,} bytes, and {limit:,} are allowed",
            "TRITON_RUNNER_UNPACK allows more, where you know the file",
        )
    return [_block(block, arrays) for block in blocks]


def _size(block: dict) -> int:
    size, align = block.get("bytes"), block.get("align", 0)
    if not isinstance(size, int) or size < 0 or not isinstance(align, int) or not 0 <= align < _ALIGNMENT:
        raise fail(f"the case has a block of {size!r} bytes at {align!r}")
    return size


def _block(block: dict, arrays: dict) -> numpy.ndarray:
    size = block["bytes"]
    data = aligned(size, _ALIGNMENT, block.get("align", 0))
    if "stored" in block:
        stored = arrays.get(block["stored"])
        if stored is None or stored.nbytes != size:
            raise fail(f"the case has no array of {size} bytes named {block['stored']!r}")
        data[:] = numpy.frombuffer(stored.tobytes(), numpy.uint8)
    else:
        data[:] = _generated(block.get("generator"), size)
    return data


def _generated(generator, size: int) -> numpy.ndarray:
    try:
        kind = generator["kind"]
        if kind == "repeat":
            element = bytes.fromhex(generator["hex"])
            return numpy.frombuffer(element * (size // len(element)), numpy.uint8)
        dtype = numpy_named(DTYPES[generator["dtype"]][0])
        chance, count = numpy.random.default_rng(0), size // dtype.itemsize
        if kind == "integers":
            drawn = chance.integers(generator["low"], generator["high"], count, endpoint=True)
        elif kind == "normal":
            drawn = chance.normal(float(generator["mean"]), abs(float(generator["deviation"])), count)
        else:
            raise ValueError(kind)
        content = drawn.astype(dtype).view(numpy.uint8)
        return numpy.concatenate([content, numpy.zeros(size - content.size, numpy.uint8)])
    except (TypeError, ValueError, KeyError, ZeroDivisionError) as error:
        raise fail(f"the case has an unknown generator: {generator!r}") from error


def packed(arrays: dict) -> bytes:
    """Arrays by name as safetensors."""
    return b"".join(to_safetensors(arrays))


def unpacked(data: bytes) -> dict[str, numpy.ndarray]:
    """The arrays of safetensors, as read-only views. Raises DiagnosticError for data outside of the bytes."""
    try:
        return from_safetensors(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise fail(f"the case's arrays are not safetensors: {error}") from None
