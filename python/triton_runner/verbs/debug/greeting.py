"""Says first in the terminal what is loaded, and what to type."""

from __future__ import annotations

import os

from triton_runner._code import sources


def lines(session) -> list[str]:
    name = session.target.name
    own = sources.kernels(name) if sources.is_source(name) else {}
    what = ", ".join(f"{kernel} (line {at.first})" for kernel, at in own.items())
    loaded = f"{os.path.basename(name)}: " + (f"kernel{'s' * (len(own) > 1)} {what}" if own else "loaded")
    first = next((at.code[0] for at in own.values() if at.code), None)
    place = f"break {first}" if first else "break LINE, or break KERNEL,"
    return [
        f"{loaded}. It has not begun; its launches run on the CPU, at {session.level}.",
        f"{place} and then run: stops there. start: stops at the first launch. help: lists the commands. "
        "Tab completes.",
    ]
