"""Finds the pass that a person names: by its number in the listing, or as "add_coalesce", "coalesce",
"tritongpu-coalesce", "TritonGPUCoalesce"; "canonicalizer#2" is the second of its name, "make_ttgir:cse" one
of a stage."""

from __future__ import annotations

import difflib
import re

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._kernel.compiling.passes_names import NAMES

_FORM = re.compile(r"(?:(?P<stage>\w+):)?(?P<name>[\w.-]+?)(?:#(?P<nth>\d+))?")


def name_of(add: str) -> tuple[str, str]:
    """MLIR's name and argument of what an add function adds; of one that no table has, made from its own
    name."""
    if add in NAMES:
        return NAMES[add]
    words = add.rpartition(".")[2].removeprefix("add_").split("_")
    return "".join(word.capitalize() for word in words), "-".join(words)


def _forms(add: str) -> set[str]:
    """All names of a pass, in one spelling."""
    name, argument = name_of(add)
    short = add.rpartition(".")[2]
    forms = {add, short, short.removeprefix("add_"), name, name.removesuffix("Pass"), argument}
    return {_spelled(form) for form in forms}


def _spelled(name: str) -> str:
    return name.lower().replace("_", "-")


def selector(pass_) -> dict:
    """Returns what recorder.Selector takes for a name or a number. Raises DiagnosticError."""
    text = str(pass_).strip()
    if text.isdigit():
        if int(text) == 0:
            raise fail("pass 0: passes are numbered from 1")
        return {"number": int(text), "said": text}
    match = _FORM.fullmatch(text)
    spelled = _spelled(match["name"]) if match else ""
    adds = [add for add in NAMES if spelled in _forms(add)]
    if not adds and match and match["name"].startswith("add_"):
        adds = [match["name"]]  # of a plug-in
    if not adds:
        known = {form: add for add in NAMES for form in _forms(add)}
        forms = difflib.get_close_matches(spelled, known, n=6)
        near = list(dict.fromkeys(name_of(known[form])[1] for form in forms))[:3]
        raise fail(
            f"no pass is called {text!r}",
            *([f"the nearest: {', '.join(near)}"] if near else []),
            f"`{commands.shell('passes', 'KERNEL')}` lists those that run; their numbers are taken too",
        )
    nth = int(match["nth"]) if match["nth"] else None
    return {"adds": adds, "nth": nth, "stage": match["stage"], "said": text}


def first(pass_) -> dict:
    """A selector of one pass: the first of several of its name."""
    chosen = selector(pass_)
    if chosen.get("nth") is None and "adds" in chosen:
        chosen["nth"] = 1
    return chosen
