"""Evidence of a fault: the launch that goes wrong first, the first element that is wrong, and the line that
stores it.

The launches of the wrong release are compared with those of a right one; without one, with those of a level
at which the release is right.
"""

from __future__ import annotations

from triton_runner import ir
from triton_runner._bisect import classes, stores
from triton_runner._bisect.runs import Release
from triton_runner._errors import DiagnosticError
from triton_runner._rerun.arguments import unpacked
from triton_runner._rerun.typed import as_json

_TRIED = 16  # launches that differ whose contents are looked at


def evidence(search, printed: list[str]) -> list[dict]:
    """[{file, op, line, element, got, want, ...}], or where no launch can be compared what the program
    printed."""
    plain = stores.plain(search.program, printed)
    wrong = search.at(search.wrong_at)
    if wrong.place:
        return [stores.of_trap(search.program, wrong.place, printed)]
    if search.program.is_measured:
        return [plain]
    pair = _pair(search)
    if pair is None:
        return [plain]
    found = _first_difference(search, *pair)
    return [plain if found is None else {**plain, **found}]


def _pair(search) -> tuple | None:
    """((release, level), what it is called) of the run to compare with."""
    for right in search.rights[:1]:
        return right, search.program.lowest, f"Triton {right.version}"
    levels = [level for level, verdict in search.found.get("levels", {}).items() if verdict == "right"]
    return (search.release, levels[-1], f"at {levels[-1]}") if levels else None


def _first_difference(search, right: Release, level: str, name: str) -> dict | None:
    got = search.at(search.wrong_at, launches={}).launches
    want = right.at(level, launches={}, **search.more).launches
    if not got or not want:
        return None
    drifts, tried = None, 0
    for number, (mine, theirs) in enumerate(zip(got["seen"], want["seen"], strict=False)):
        if mine["kernel"] != theirs["kernel"]:
            search.note(f"launch {number} is of {mine['kernel']}, and of {theirs['kernel']} with {name}")
            break
        if mine["arrays"] == theirs["arrays"]:
            continue
        tried += 1
        found = _contents(search, right, level, number)
        if found is not None:
            if found["class"] != "wrong" and search.orders.is_of_atomics(number):
                found["class"] = "atomics"
            found |= {"kernel": mine["kernel"], "launch": number, "launches": len(got["seen"]), "than": name}
            if found["class"] not in ("drift", "atomics"):
                return _placed(search, found)
            drifts = drifts or found
        if tried == _TRIED:
            break
    return drifts and _placed(search, drifts)


def _contents(search, right: Release, level: str, number: int) -> dict | None:
    """The first element of a launch that differs, of the first array that does so for the worst."""
    mine = search.at(search.wrong_at, launches={"keep": number}).launches["kept"].get("after")
    theirs = right.at(level, launches={"keep": number}, **search.more).launches["kept"].get("after")
    if not mine or not theirs:
        return None
    differences = []
    for position, (index, taken) in enumerate(mine.items()):
        if index in theirs:
            found = classes.compare(unpacked(taken), unpacked(theirs[index]))
            if found is not None:
                differences.append({**as_json(found), "argument": position, "arrays": len(mine)})
    worst = ("wrong", "bits", "drift")
    return min(differences, key=lambda one: worst.index(one["class"]), default=None)


def _placed(search, found: dict) -> dict:
    """With the op and the line of Python that store to the array."""
    kernels = search.at(search.wrong_at, keep="text").kernels
    of_name = [one for one in kernels if one["name"] == found["kernel"] and one.get("first") is not None]
    arrays = found.pop("arrays")
    if not of_name:
        return found
    try:
        module = ir.parse(of_name[0]["texts"][of_name[0]["first"]])
    except DiagnosticError:
        return found
    name, op = stores.store(module, found["argument"], arrays)
    if op is not None:
        found |= stores.placed(search.program, op)
    return {**found, "argument": name or found["argument"]}
