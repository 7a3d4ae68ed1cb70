"""Makes PTX smaller: an instruction whose result nobody reads leaves, one whose result is read gives 0
instead; debug information, comments, labels that nobody jumps to, and functions, kernels and variables that
nobody names leave."""

from __future__ import annotations

import collections
import functools
import re

from triton_runner import ptx
from triton_runner._base.errors import DiagnosticError
from triton_runner._base.shrink import Shrinker

_REGISTER = re.compile(r"%[A-Za-z_]\w*")


def size(text: str) -> tuple:
    """(instructions, characters)."""
    module = _parsed(text)
    if module is None:
        return (1 << 30, len(text))
    return sum(len(function.instructions) for function in module.functions), len(text)


@functools.lru_cache(maxsize=16)
def _parsed(text: str):
    try:
        return ptx.parse(text)
    except DiagnosticError:
        return None


def stripped(text: str) -> str:
    """The text without debug information and comments; unchanged if it is not PTX."""
    short = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    short = re.sub(r"(?m)^\s*\.(?:loc|file)\b.*\n", "", short)
    short = re.sub(r"//[^\n]*", "", short)
    short = re.sub(r"\.section\s+\S+\s*\{[^}]*\}", "", short)
    short = re.sub(r"(?<=[,(])\s*\n\s*", " ", short)  # compilers write calls in several lines
    short = re.sub(r"(\bcall(?:\.\w+)*)\s*\n\s*", r"\1 ", short)
    short = re.sub(r"\s*\n\s*(?=[(),;])", " ", short)
    short = re.sub(r";[ \t]+(?=\S)", ";\n", short)
    short = re.sub(r"(?m)^\s*\n", "", short)
    return short if _parsed(short) is not None else text


def steps() -> list:
    """Returns what the reduction of PTX tries, a round."""
    leave = [functools.partial(_leave, instead=instead) for instead in (_nothing, _zero, _operand)]
    return [_declarations, *leave, _redirected, _labels]


_DECLARED = re.compile(
    r"(?m)^[ \t]*(?:\.(?:visible|weak|extern|common)\s+)*\.(entry|func|global|const|shared)\b"
)
_FUNCTION = re.compile(r"\.(?:entry|func)\s*(?:\.\w+\s+)*(?:\([^)]*\)\s*)?([\w$]+)")
_VARIABLE = re.compile(r"([\w$]+)\s*(?:\[[^\]]*\]\s*)*(?:=.*)?;$", re.S)


def _declared(text: str) -> list[tuple]:
    """(kind, name, start, end) of the functions and variables that stand outside of functions."""
    found, at = [], 0
    while match := _DECLARED.search(text, at):
        kind, start = match[1], match.start()
        at = text.find(";", start) + 1 or len(text)
        brace = text.find("{", start)
        if kind in ("entry", "func") and 0 <= brace < at:
            depth, at = 1, brace + 1
            while depth and at < len(text):
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
        own = text[start:at]
        named = _FUNCTION.search(own) if kind in ("entry", "func") else _VARIABLE.search(own)
        if named:
            found.append((kind, named[1], start, at))
    return found


def _declarations(shrinker: Shrinker) -> None:
    """Functions, kernels and variables leave that nothing else of the text names; one kernel stays."""

    def places(text: str) -> list:
        declared = _declared(text)
        own = collections.Counter()
        for _, name, start, end in declared:
            own[name] += _mentions(text[start:end])[name]
        everywhere = _mentions(text)
        return [name for name in dict.fromkeys(one[1] for one in declared) if own[name] == everywhere[name]]

    def edited(text: str, chosen) -> str | None:
        parts, at, declared = [], 0, _declared(text)
        if all(name in chosen for kind, name, _, _ in declared if kind == "entry"):
            return None
        for _, name, start, end in declared:
            if name in chosen:
                parts.append(text[at:start])
                at = end
        changed = "".join([*parts, text[at:]])
        return changed if _parsed(changed) is not None else None

    shrinker.each(places, edited)


def _mentions(text: str) -> collections.Counter:
    return collections.Counter(re.findall(r"[\w$]+", text))


class _Body:
    """The instructions of a text, with the lines where they stand."""

    def __init__(self, text: str):
        self.lines = text.split("\n")
        module = ptx.parse(text)
        self.instructions = [i for function in module.functions for i in function.instructions]
        self.types = {name: kind for function in module.functions for name, kind in function.registers}
        self._unwritten = self.unwritten()

    def alone(self, instruction) -> bool:
        """Returns whether its line holds nothing else."""
        line = self.lines[instruction.line - 1]
        return (
            line.count(";") == 1
            and line.strip().endswith(";")
            and ":" not in line.split(";")[0].replace("::", "")
        )

    def read(self, leaving=()) -> set[str]:
        """The registers that instructions read, but for those on the lines that leave."""
        return {
            name
            for instruction in self.instructions
            if instruction.line not in leaving
            for name in instruction.sources
        }

    def text(self) -> str | None:
        """The text of the lines; None if it is not PTX, or reads more registers that nothing writes."""
        changed = "\n".join(line for line in self.lines if line.strip())
        if _parsed(changed) is None:
            return None
        return changed if _Body(changed).unwritten() <= self._unwritten else None

    def unwritten(self) -> set[str]:
        """The registers that are read, and that no instruction is seen to write."""
        return self.read() - {name for instruction in self.instructions for name in instruction.results}


def _leave(shrinker: Shrinker, instead) -> None:
    """Instructions leave. What is read of what they write needs another that writes it, or what
    instead(body, instruction, register) puts there."""

    def places(text: str) -> range:
        return range(len(_Body(text).instructions))

    def edited(text: str, chosen) -> str | None:
        body = _Body(text)
        leaving = {body.instructions[i].line for i in chosen if body.alone(body.instructions[i])}
        read = body.read(leaving)
        others = {n for one in body.instructions if one.line not in leaving for n in one.results}
        for number in chosen:
            instruction = body.instructions[number]
            if instruction.line not in leaving:
                continue
            needed = [name for name in instruction.results if name in read and name not in others]
            values = [instead(body, instruction, name) for name in needed]
            if None not in values:
                body.lines[instruction.line - 1] = "".join(values)
        return body.text()

    shrinker.each(places, edited)


def _nothing(body: _Body, instruction, name: str) -> str | None:
    return None


def _zero(body: _Body, instruction, name: str) -> str | None:
    """Zero in a register; None where the instruction does just that."""
    if instruction.base == "mov":
        return None
    kind = body.types[name]
    if kind == "pred":
        return f"\tsetp.ne.b32 \t{name}, 0, 0;"
    value = {"f32": "0f00000000", "f64": "0d0000000000000000"}.get(kind, "0")
    return f"\tmov.{kind} \t{name}, {value};"


def _operand(body: _Body, instruction, name: str) -> str | None:
    """Readers of the register read one of the instruction's own operands."""
    for operand in instruction.operands[1:]:
        for other in _REGISTER.findall(operand):
            if other != name and body.types.get(other) == body.types[name]:
                pattern = re.compile(re.escape(name) + r"(?!\w)")
                body.lines = [pattern.sub(other, line) for line in body.lines]
                return ""
    return None


_NEAREST, _MOST_WAYS = 32, 512


def _redirected(shrinker: Shrinker) -> None:
    """A store stores what an earlier instruction made; what then is not read leaves."""

    def places(text: str) -> list:
        body, edits = _Body(text), []
        for number, instruction in enumerate(body.instructions):
            if not (instruction.does("writes") and instruction.does("consumes") and body.alone(instruction)):
                continue
            for stored in _REGISTER.findall(instruction.operands[-1]):
                before = [n for other in body.instructions[:number] for n in other.results]
                kinds = [n for n in before[::-1] if body.types[n] == body.types.get(stored) and n != stored]
                edits += [(number, stored, name) for name in list(dict.fromkeys(kinds))[:_NEAREST]]
        return edits[-_MOST_WAYS:]

    def edited(text: str, chosen) -> str | None:
        if len(chosen) > 1:
            return None  # each is another way
        body = _Body(text)
        ((number, stored, name),) = chosen
        line = body.instructions[number].line - 1
        head, _, value = body.lines[line].rpartition(",")
        body.lines[line] = head + "," + re.sub(re.escape(stored) + r"(?!\w)", name, value)
        return _without_dead(body.text())

    shrinker.each(places, edited)


def _without_dead(text: str | None) -> str | None:
    """The text without instructions whose results nobody reads."""
    while text is not None:
        body = _Body(text)
        read = body.read()
        dead = [
            one
            for one in body.instructions
            if body.alone(one) and one.results and not read.intersection(one.results)
        ]
        if not dead:
            return text
        for instruction in dead:
            body.lines[instruction.line - 1] = ""
        text = body.text()
    return None


def _labels(shrinker: Shrinker) -> None:
    """Labels that nobody jumps to, and declarations of registers and of variables that nobody names."""
    label = re.compile(r"^\s*(\$?\w+):\s*$")
    variable = re.compile(r"^\s*\.(?:param|local|shared)\b[^;(]*?([\w$]+)\s*(?:\[\d+\])?;\s*$")

    def places(text: str) -> list:
        lines = text.split("\n")
        unused = [i for i, line in enumerate(lines) if (m := label.match(line)) and text.count(m[1]) == 1]
        named = _mentions(text)
        unused += [i for i, line in enumerate(lines) if (m := variable.match(line)) and named[m[1]] == 1]
        for i, line in enumerate(lines):
            declared = re.match(r"\s*\.reg \.\w+\s+(%\w+)<\d+>;", line)
            if declared and not re.search(re.escape(declared[1]) + r"\d", text):
                unused.append(i)
        return unused

    def edited(text: str, chosen) -> str | None:
        lines = text.split("\n")
        changed = "\n".join(line for i, line in enumerate(lines) if i not in set(chosen))
        return changed if _parsed(changed) is not None else None

    shrinker.each(places, edited)
