"""Makes AMDGCN smaller: instructions leave, and labels that nobody jumps to; comments, debug information and
empty lines leave first. Registers are the machine's own, so that what an instruction reads is there without
those before it: the oracle says whether the fault still is."""

from __future__ import annotations

import collections
import re

from triton_runner._base.shrink import Shrinker

_INSTRUCTION = re.compile(r"\s+[a-z]\w*(?:\s|$)")
_LABEL = re.compile(r"(\.?[\w$]+):\s*$")
# Sections whose lines tell a debugger where the code is from.
_DEBUG = re.compile(r'(?m)^\s*\.section\s+"?\.debug_.*\n(?:(?!\s*\.(?:section|text|amdgpu_metadata)\b).*\n)*')


def size(text: str) -> tuple:
    """(instructions, characters)."""
    return sum(map(_is_instruction, text.split("\n"))), len(text)


def _is_instruction(line: str) -> bool:
    return _INSTRUCTION.match(line) is not None


def stripped(text: str) -> str:
    """The text without comments and debug information."""
    code, metadata, rest = text.partition("\t.amdgpu_metadata")
    short = _DEBUG.sub("", code)
    short = re.sub(r"(?m)(?:;|//).*$", "", short)
    short = re.sub(r"(?m)^\s*\.(?:loc|file|ident|cfi_\w+)\b.*\n", "", short)
    return re.sub(r"(?m)^\s*\n", "", short) + metadata + _DEBUG.sub("", rest)


def steps() -> list:
    """Returns what the reduction of AMDGCN tries, a round."""
    return [_instructions, _labels]


def _without(text: str, leaving) -> str:
    gone = set(leaving)
    return "\n".join(line for i, line in enumerate(text.split("\n")) if i not in gone)


def _instructions(shrinker: Shrinker) -> None:
    shrinker.each(
        lambda text: [i for i, line in enumerate(text.split("\n")) if _is_instruction(line)], _without
    )


def _labels(shrinker: Shrinker) -> None:
    def places(text: str) -> list:
        found = [(i, _LABEL.match(line)) for i, line in enumerate(text.split("\n"))]
        named = collections.Counter(re.findall(r"[\w.$]+", text))
        return [i for i, label in found if label and named[label[1]] == 1]

    shrinker.each(places, _without)
