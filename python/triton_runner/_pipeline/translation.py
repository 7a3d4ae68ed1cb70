"""Brings TTIR, TTGIR and LLIR of other releases to what a release reads, before it compiles them."""

from __future__ import annotations

import re

from triton_runner import _core
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.levels import GLIR
from triton_runner._base.releases import DISTRIBUTIONS, distribution_of, release_of
from triton_runner._code import llvm_ir
from triton_runner._settings import messages

LEVELS = ("ttir", "ttgir", "llir")
_told: set[str] = set()


def number(version: str) -> int:
    """A release as the op table counts them: 304 of "3.4.0"; the number of a distribution's row."""
    if row := distribution_of(version):
        return row.number
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None:
        raise fail(f"{version!r} is not a Triton release", "releases are written 3.4.0, or 3.4")
    return 100 * int(match[1]) + int(match[2])


def spelled(of: int) -> str:
    """ "3.4" of 304, "fbtriton" of its number."""
    others = {row.number: name for name, row in DISTRIBUTIONS.items()}
    return others.get(of) or f"{of // 100}.{of % 100}"


def written_by(text: str, filename: str = "") -> list[int]:
    """The releases that may have printed a text, by its ops' names, oldest first, then the distributions."""
    return _core.ir.written_by(text, filename)


def ends(writers: list[int]) -> list[str]:
    """The first and the last release of written_by(); where there is none, the distributions."""
    others = {row.number for row in DISTRIBUTIONS.values()}
    releases = [of for of in writers if of not in others]
    return [*map(spelled, [releases[0], releases[-1]] if releases else writers)]


def described(writers: list[int]) -> str:
    """ "3.4 to 3.9", "fbtriton" of written_by()."""
    return " to ".join(dict.fromkeys(ends(writers))) or "no known release"


def translate(text: str, to: str, filename: str = "", from_: str | None = None) -> tuple[str, list[str]]:
    """The text as release `to` reads it, and what was changed. Raises DiagnosticError: an op that the release
    lacks; a text that is not of release `from_`."""
    if from_ is not None:
        writers = written_by(text, filename)
        if number(from_) not in writers:
            raise fail(
                f"{filename or 'the text'} was not printed by Triton {from_}: its ops are those of "
                f"{described(writers)}"
            )
    return _core.ir.translate(text, number(to), filename)


def translate_llir(text: str, to: str) -> tuple[str, list[str]]:
    """translate() of LLIR, for the LLVM of release `to`."""
    return llvm_ir.translate(text, release_of(to).version)


def for_compiler(text: str, level: str, release: str, filename: str = "") -> tuple[str, str | None]:
    """Returns what a release's compiler is given: the text, translated where that is needed (a note says so,
    once a file), and why it could not be where it could not: the compiler then judges the text as it is."""
    level = "ttgir" if level == GLIR else level
    if level not in LEVELS:
        return text, None
    try:
        if level == "llir":
            translated, changes = translate_llir(text, release)
        else:
            translated, changes = translate(text, release, filename)
    except DiagnosticError as error:
        return text, error.message
    if changes and (filename or text) not in _told:
        _told.add(filename or text)
        messages.translated(filename or f"the {level.upper()}", release, changes)
    return translated, None


def has_calls_to_inline(text: str, level: str, filename: str = "") -> bool:
    """Returns whether a text is TTIR as the front end made it: it calls functions that Triton's TTIR stage
    inlines. The later stages do not compile such calls."""
    if level != "ttir" or "tt.call" not in text:
        return False
    try:
        module = _core.ir.parse(text, filename)
    except DiagnosticError:
        return False  # the compiler says what is wrong with it
    functions = {function.attr("sym_name").value: function for function in module.functions}
    for op in module.walk():
        callee = functions.get(op.attr("callee").value) if op.name == "tt.call" else None
        noinline = callee.attr("noinline") if callee else None
        if callee and not (noinline and noinline.value):
            return True
    return False
