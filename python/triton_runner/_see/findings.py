"""Verdicts of other verbs as findings of the page: what was found wrong, in which line, in whose words."""

from __future__ import annotations

import json
import os

from triton_runner._base.errors import DiagnosticError, KernelTrap, fail


def read(given, map_) -> list[dict]:
    """Findings of a trap, a fault, what lockstep(), bisect or compare found, a dict or a JSON file of those,
    or of a list of them. map_: the SourceMap that their lines are looked up in."""
    if isinstance(given, (list, tuple)):
        return [finding for item in given for finding in read(item, map_)]
    if isinstance(given, (str, os.PathLike)):
        return read(_loaded(given), map_)
    if isinstance(given, (KernelTrap, DiagnosticError)) or hasattr(given, "kind"):
        return [_of_trap(given, map_)]
    if hasattr(given, "to_json"):
        data = given.to_json()
        return read(json.loads(data) if isinstance(data, str) else data, map_)
    if not isinstance(given, dict):
        raise fail(
            f"a finding cannot be read from a {type(given).__name__}",
            "a KernelTrap, a fault, what lockstep() or verify() returns, the JSON of bisect or compare",
        )
    if "launches" in given:  # of verify; and one launch of it, as a case has it
        return [finding for launch in given["launches"] for finding in read(launch, map_)]
    if "findings" in given:
        return [_of_verdict(finding, map_) for finding in given["findings"]]
    if "cells" in given:
        return _of_comparison(given)
    if "faults" in given and "verdict" in given:
        return [finding for fault in given["faults"] for finding in _of_bisection(fault, map_)]
    if "differences" in given and "runs" in given:
        return _of_lockstep(given, map_)
    if "title" in given:
        return [
            _placed({"kind": "wrong", "text": "", **given}, map_, given.get("path", ""), given.get("line", 0))
        ]
    if "value" in given and "other_value" in given:
        return [_of_difference(given, map_)]
    text = json.dumps(given, indent=2, default=str)
    return [{"kind": "note", "title": str(given.get("verdict", "verdict")), "text": text[:4000]}]


def _loaded(path):
    try:
        with open(path) as file:
            return json.load(file)
    except OSError as error:
        raise fail(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise fail(
            f"{path} is not JSON: {error}", "bisect, lockstep and compare write it with --json"
        ) from None


def _placed(finding: dict, map_, path: str, line: int) -> dict:
    """The finding with the number of its file and the line, as far as the map knows that file."""
    if path and line:
        finding["where"] = f"{os.path.basename(path)}:{line}"
        same = [n for n, file in enumerate(map_.files) if file == path or os.path.basename(file) == path]
        if same:
            finding |= {"file": same[0], "line": line}
        elif (level := os.path.splitext(path)[1][1:]) in map_.levels:
            finding |= {"level": level, "levelLine": line}
    return finding


def _of_trap(trap, map_) -> dict:
    text = getattr(trap, "text", "") or str(trap)
    kind = getattr(trap, "kind", "") or "error"
    op = getattr(trap, "op", "")
    title = f"{kind}{f' in {op}' if op else ''}"
    return _placed({"kind": "wrong", "title": title, "text": text}, map_, trap.file or "", trap.line or 0)


def _of_verdict(one: dict, map_) -> dict:
    kind = "wrong" if one["severity"] == "fault" else "note"
    title = f"{one['check']} at {', '.join(one['levels'])}"
    finding = {"kind": kind, "title": title, "text": one["text"]}
    return _placed(finding, map_, one.get("file") or "", one.get("line") or 0)


def _of_lockstep(found: dict, map_) -> list[dict]:
    out = [_of_difference(difference, map_) for difference in found["differences"]]
    for run, trap in (found.get("traps") or {}).items():
        out.append({"kind": "wrong", "title": f"{run} stopped", "text": str(trap)})
    return out


def _of_difference(one: dict, map_) -> dict:
    a, b = one["numbers"]
    loop = f", iteration {one['iteration']}" if one["iteration"] else ""
    text = (
        f"{one['level']:<6} {one['value']} = {one['op']}\n{one['other_level']:<6} {one['other_value']} = "
        f"{one['other_op']}\nprogram {one['program']}{loop}, element {one['element']}: {a} and {b}\n"
        f"{one['elements']} of {one['of']} elements differ, by at most {one['max_error']:.6g}"
    )
    title = f"{one['other_run']} differs from {one['run']}"
    if one["variable"]:
        title += f" in '{one['variable']}'"
    return _placed({"kind": "wrong", "title": title, "text": text}, map_, one["file"] or "", one["line"] or 0)


def _of_bisection(fault: dict, map_) -> list[dict]:
    """The pass that it names, and each place where a result is wrong."""
    pass_ = fault.get("pass") or {}
    where = f"{fault.get('stage') or ''}, pass {pass_['name']}" if pass_ else fault.get("stage") or ""
    words = [line for one in fault.get("evidence", ()) for line in one.get("said", ())]
    text = "\n".join(
        [
            f"Triton {', '.join((fault.get('release') or {}).get('wrong', ()))}",
            *(f"found by {how}" for how in fault.get("confirmed_by", ())), *fault.get("notes", ()), *words,
        ]
    )  # fmt: skip
    title = f"{fault.get('verdict', 'fault')}: first wrong at {fault.get('level')}"
    result = [{"kind": "wrong", "title": title, "text": text, "where": where, "pass": pass_.get("name", "")}]
    for place in fault.get("evidence", ()):
        if place.get("file") and place.get("line"):
            text = f"element {place.get('element')}: {place.get('got')}, and should be {place.get('want')}"
            wrong = {"kind": "wrong", "title": f"wrong in {place.get('op')}", "text": text}
            result.append(_placed(wrong, map_, place["file"], place["line"]))
    return result


def _of_comparison(given: dict) -> list[dict]:
    """What went wrong in a cell, each, and all figures as one note."""
    rows, lines = [], []
    for cell in given["cells"]:
        config = " ".join(f"{key}={value}" for key, value in cell["config"].items())
        name = f"{cell['release']} {cell['target']} {config}".rstrip()
        figures = ", ".join(f"{key} {value}" for key, value in cell["figures"].items())
        lines.append(f"{name}: {cell['error'] or cell['gap'] or cell['trap'] or figures}")
        if cell["error"] or cell["trap"]:
            rows.append({"kind": "wrong", "title": name, "text": str(cell["error"] or cell["trap"])})
    return [*rows, {"kind": "note", "title": f"compare: {len(lines)} cells", "text": "\n".join(lines)}]
