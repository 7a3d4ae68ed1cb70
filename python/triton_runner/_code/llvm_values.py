"""Puts a tap after a value of LLIR: the PTX that LLVM makes then shows in which registers the value is."""

from __future__ import annotations

import difflib

from triton_runner._base.errors import fail
from triton_runner._code import llvm_ir
from triton_runner._core import probe

# LLVM's types: ours, and the letter by which inline assembly for NVPTX takes them.
_TYPES = {
    "i1": ("i1", "b"), "i8": ("i8", "h"), "i16": ("i16", "h"), "half": ("f16", "h"), "bfloat": ("bf16", "h"),
    "float": ("f32", "f"), "double": ("f64", "d"),
    **dict.fromkeys(("i64", "ptr", "ptr addrspace(1)"), ("i64", "l")),
    **dict.fromkeys(("i32", "<2 x half>", "<2 x bfloat>", "<2 x i16>", "<4 x i8>"), ("i32", "r")),
}  # fmt: skip


def tap(text: str, filename: str, kernel: str, names: list, threads: int, blocks: int):
    """LLIR with a tap after each named value of the kernel's function: a _core.probe.Tapped. Errors: no
    such value (with the nearest names), a value that is in no single register."""
    lines = text.split("\n")
    defined = llvm_ir.values(text, kernel)
    file, places = llvm_ir.places(text)
    taps: dict = {}
    values = []
    for name in names:
        if name not in defined:
            near = difflib.get_close_matches(name, defined, 3)
            raise fail(f"{filename}: '{kernel}' has no value {name}", *[f"did you mean '{n}'?" for n in near])
        at = defined[name]
        kind = at.type
        if kind == "ptr addrspace(3)":  # as wide as the module says
            kind = "i32" if "p3:32" in text.partition("\n\n")[0] else "i64"
        if kind not in _TYPES:
            raise fail(
                f"{filename}:{at.line + 1}: {name} has the type {at.type or 'of ' + at.op}, which is in no "
                "single register",
                "name the extractvalue or extractelement of the part that is wanted",
            )
        kind, letter = _TYPES[kind]
        line, column = places.get(at.debug, (0, 0))
        number = len(values)
        values.append(
            {
                "value": name,
                "op": at.op,
                "type": kind,
                "type_text": at.type,
                "file": file if file and line else filename,
                "line": line or at.line + 1,
                "column": column,
                "location": f"{filename}:{at.line + 1}",
            }
        )
        where = at.line
        while at.op == "phi" and " = phi " in lines[where + 1]:
            where += 1
        taps.setdefault(where, []).append(
            f'  %triton_runner_tap{number} = call i32 asm sideeffect "mov.b32 $0, 0; // triton_runner.tap '
            f'{number} $1", "=r,{letter}"({at.type} {name}){f", !dbg !{at.debug}" if at.debug else ""}'
        )
    tapped = [part for i, line in enumerate(lines) for part in (line, *taps.get(i, ()))]
    return probe.thread_taps("\n".join(tapped), kernel, values, threads, blocks)
