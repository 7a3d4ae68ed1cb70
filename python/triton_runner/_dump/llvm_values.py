"""Values of LLIR by name: taps behind them, which the PTX that LLVM makes shows with their registers.

A value is found by its line in the text, its type by how the instruction is written (LLVM Language Reference,
"Instruction Reference")."""

from __future__ import annotations

import dataclasses
import difflib
import re

from triton_runner._base.errors import fail
from triton_runner._core import probe

# LLVM's types: ours, and the letter by which inline assembly for NVPTX takes them.
_TYPES = {
    "i1": ("i1", "b"),
    "i8": ("i8", "h"),
    "i16": ("i16", "h"),
    "i32": ("i32", "r"),
    "i64": ("i64", "l"),
    "half": ("f16", "h"),
    "bfloat": ("bf16", "h"),
    "float": ("f32", "f"),
    "double": ("f64", "d"),
    "ptr": ("i64", "l"),
    "ptr addrspace(1)": ("i64", "l"),
    "<2 x half>": ("i32", "r"),
    "<2 x bfloat>": ("i32", "r"),
    "<2 x i16>": ("i32", "r"),
    "<4 x i8>": ("i32", "r"),
}
_TYPE = r"(?:<[^>]*>|\{[^}]*\}|\[[^\]]*\]|ptr addrspace\(\d+\)|ptr|i\d+|half|bfloat|float|double)"
_BINARY = r"(?:f?add|f?sub|f?mul|[fus]div|[fus]rem|shl|lshr|ashr|and|or|xor|fneg|freeze)"
_CAST = (
    r"(?:trunc|zext|sext|fptrunc|fpext|fptoui|fptosi|uitofp|sitofp|ptrtoint|inttoptr|bitcast|addrspacecast)"
)
_FORMS = (
    re.compile(rf"{_BINARY}\b[a-z ]*? ({_TYPE}) "),
    re.compile(rf"{_CAST}\b.* to ({_TYPE})(?:,|$)"),
    re.compile(rf"phi\b[a-z ]*? ({_TYPE}) \["),
    re.compile(rf"load\b[a-z ]*? ({_TYPE}), ptr"),
    re.compile(rf"select\b[a-z ]*? \S+ [^,]+, ({_TYPE}) "),
    re.compile(rf"(?:tail |musttail |notail )?call\b[a-z_() 0-9]*? ({_TYPE}) (?:@|asm|\()"),
    re.compile(rf"extractelement <\d+ x ({_TYPE})> "),
    re.compile(rf"(?:insertelement|shufflevector) ({_TYPE}) "),
    re.compile(rf"atomicrmw .*, ({_TYPE}) \S+ "),
)
_DEFINITION = re.compile(r"\s+(%[\w.$-]+) = (.*)")
_PLACE = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+), column: (\d+)")
_FILE = re.compile(r'!DIFile\(filename: "([^"]*)"')


@dataclasses.dataclass(frozen=True)
class _Definition:
    line: int  # in the text, from 0
    op: str
    text: str  # behind the equals sign

    @property
    def type(self) -> str | None:
        if self.op in ("icmp", "fcmp"):
            return "i1"
        if self.op in ("getelementptr", "alloca"):
            return "ptr"
        if self.op == "extractvalue":
            parts = re.match(r"extractvalue \{([^{}]*)\} \S+, (\d+)(?:, !|$)", self.text)
            inner = [part.strip() for part in parts[1].split(",")] if parts else []
            return inner[int(parts[2])] if parts and int(parts[2]) < len(inner) else None
        for form in _FORMS:
            found = form.match(self.text)
            if found:
                return found[1]
        return None


def tap(text: str, filename: str, kernel: str, names: list, threads: int, blocks: int):
    """LLIR with a tap behind each named value of the kernel's function: a _core.probe.Tapped. Errors: no
    such value (with the nearest names), a value that is in no single register."""
    lines = text.split("\n")
    found = _definitions(lines, kernel)
    places = {number: (int(line), int(column)) for number, line, column in _PLACE.findall(text)}
    file = _FILE.search(text)
    behind: dict = {}
    values = []
    for name in names:
        if name not in found:
            near = difflib.get_close_matches(name, found, 3)
            raise fail(f"{filename}: '{kernel}' has no value {name}", *[f"did you mean '{n}'?" for n in near])
        at = found[name]
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
        debug = re.search(r", !dbg !(\d+)", at.text)
        line, column = places.get(debug[1], (0, 0)) if debug else (0, 0)
        number = len(values)
        values.append(
            {
                "value": name,
                "op": at.op,
                "type": kind,
                "type_text": at.type,
                "file": file[1] if file and line else filename,
                "line": line or at.line + 1,
                "column": column,
                "location": f"{filename}:{at.line + 1}",
            }
        )
        where = at.line
        while at.op == "phi" and " = phi " in lines[where + 1]:
            where += 1
        behind.setdefault(where, []).append(
            f'  %triton_runner_tap{number} = call i32 asm sideeffect "mov.b32 $0, 0; // triton_runner.tap '
            f'{number} $1", "=r,{letter}"({at.type} {name}){debug[0] if debug else ""}'
        )
    tapped = [part for i, line in enumerate(lines) for part in (line, *behind.get(i, ()))]
    return probe.thread_taps("\n".join(tapped), kernel, values, threads, blocks)


def names(text: str, kernel: str) -> set:
    """The names of the values of a kernel's function."""
    return set(_definitions(text.split("\n"), kernel))


def _definitions(lines: list, kernel: str) -> dict:
    """Where the values of a function are defined, by name."""
    start = re.compile(rf'define .*@"?{re.escape(kernel)}"?\(')
    found, inside = {}, False
    for i, line in enumerate(lines):
        if start.match(line):
            inside = True
        elif line.startswith("}"):
            inside = False
        elif inside and (at := _DEFINITION.match(line)):
            words = at[2].split()
            op = words[1] if words[0] in ("tail", "musttail", "notail") else words[0]
            found[at[1]] = _Definition(i, op, at[2])
    return found
