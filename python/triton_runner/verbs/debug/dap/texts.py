"""Shows an editor the texts of levels, their lines as instructions, and memory: sources without a file,
disassembly, bytes.

An instruction is a place of the launch, and its number is its address."""

from __future__ import annotations

import base64
import os

from triton_runner._base.errors import fail
from triton_runner._base.levels import level_of_name

SHARED = "shared"
_MOST = 5000  # instructions in an answer
_VALUE = "value:"


def of_file(path: str) -> dict:
    """A source of the protocol."""
    return {"name": os.path.basename(path), "path": os.path.abspath(path)}


def of_launch(adapter) -> dict:
    """The text of the level of the launch that stands: shown by `source`, unless it is a file's."""
    stopped = adapter.standing()
    if level_of_name(adapter.program) == stopped.level:
        return of_file(adapter.program)
    return {
        "name": _named(stopped.kernel, stopped.level),
        "sourceReference": stopped.launch + 1,
        "origin": "compiled",
    }


def _named(kernel: str, level: str) -> str:
    """Returns what an editor shows as the name of a text, by whose ending it chooses the colours."""
    return f"{kernel}.{'sass' if level == 'cubin' else level}"


def source(adapter, arguments) -> dict:
    """The text of a level, by the number of its launch."""
    of = arguments.within("source", {})
    number = of.number("sourceReference", 0) or arguments.number("sourceReference", 0)
    text = adapter.session.text(number - 1)
    return {"content": text, "mimeType": "text/plain"}


def loaded(adapter, arguments) -> dict:
    """The texts of the launches so far, and the file of the kernel that stands."""
    session = adapter.session
    rows = [
        {"name": _named(name, session.level), "sourceReference": number + 1, "origin": "compiled"}
        for number, name in enumerate(session.launches)
    ]
    if adapter.stopped is not None and adapter.session.places.main_file:
        rows.append(of_file(adapter.session.places.main_file))
    return {"sources": rows}


def reference(place: int) -> str:
    """The address of a place."""
    return f"{place:#x}"


def value_reference(name: str) -> str:
    """The name of the memory that a value is."""
    return f"{_VALUE}{name}"


def place_of(adapter, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise fail(f"{text[:80]!r} is not the address of an instruction", "as in 0x12") from None


def disassemble(adapter, arguments) -> dict:
    """The ops or instructions around a place, each with its line of the program."""
    first = place_of(adapter, arguments.text("memoryReference"))
    first += arguments.number("offset", 0) + arguments.number("instructionOffset", 0)
    count = min(arguments.number("instructionCount", least=0), _MOST)
    places = adapter.session.places
    rows, shown = [], None
    for place in range(first, first + count):
        if not 0 <= place < len(places.all):  # the protocol wants as many rows as it asked for
            rows.append({"address": f"{place:#x}", "instruction": "", "presentationHint": "invalid"})
            continue
        at = places.all[place]
        row = {"address": f"{place:#x}", "instruction": places.text(place), "symbol": at.function}
        if frames := places.frames[place]:
            if frames[0].file != shown:
                row["location"], shown = of_file(frames[0].file), frames[0].file
            row["line"] = adapter.client.line(frames[0].line)
        rows.append(row)
    return {"instructions": rows}


def read_memory(adapter, arguments) -> dict:
    """Bytes of the block's shared memory, or of a value's elements."""
    name, offset = arguments.text("memoryReference"), arguments.number("offset", 0)
    count = min(arguments.number("count", least=0), 1 << 22)
    state = adapter.session.state
    if name == SHARED:
        data = state.shared()
    elif name.startswith(_VALUE):
        data = state.read(state.number(name[len(_VALUE) :]))[0].tobytes()
    else:
        raise fail(f"there is no memory {name[:80]!r}", f"'{SHARED}', or 'value:' and the name of a value")
    start, stop = min(max(offset, 0), len(data)), min(max(offset + count, 0), len(data))
    missing = count - max(stop - start, 0)
    out: dict = {"address": f"{start:#x}", "data": base64.b64encode(data[start:stop]).decode()}
    return {**out, "unreadableBytes": missing} if missing else out
