"""Turns what traps, verify, bisect, lockstep, compare and profile report into findings of the page, each with
its line."""

from __future__ import annotations

import dataclasses
import json
import os

from triton_runner._base import typed
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.paths import read_json
from triton_runner._kernel.page import profiles
from triton_runner._memory.fault_log import Fault


def each(source) -> list[tuple[str, object]]:
    """(kernel, finding) of all that is in a list, a JSON file or the result of a verb: the name of the kernel
    that it is about, or "" where it names none."""
    if isinstance(source, (list, tuple)):
        return [pair for item in source for pair in each(item)]
    if isinstance(source, (str, os.PathLike)):
        return each(read_json(source, "bisect, lockstep, compare and profile write it with --json"))
    if isinstance(source, Fault):
        return [(source.kernel, source)]
    if dataclasses.is_dataclass(source) and (hasattr(source, "launches") or hasattr(source, "counters")):
        return each(typed.as_json(source))  # of profile
    if isinstance(source, dict) and "launches" in source:  # of verify, profile
        return each(source["launches"])
    if (
        not isinstance(source, dict)
        and not isinstance(source, (KernelTrap, DiagnosticError))
        and hasattr(source, "to_json")
    ):
        data = source.to_json()
        return each(json.loads(data) if isinstance(data, str) else data)
    kernel = source.get("kernel") if isinstance(source, dict) else getattr(source, "kernel", "")
    return [(kernel if isinstance(kernel, str) else "", source)]


def read(source, map_) -> list[dict]:
    """Returns what the page shows of a finding of each(). map_: the SourceMap that knows its lines."""
    if isinstance(source, (KernelTrap, DiagnosticError)) or hasattr(source, "kind"):
        return [_of_trap(source, map_)]
    if not isinstance(source, dict):
        raise fail(
            f"a finding cannot be read from a {type(source).__name__}",
            "a KernelTrap, a fault, what lockstep() or verify() returns, the JSON of bisect or compare",
        )
    if profiles.is_profile(source):
        return _of_profile(source, map_)
    if "findings" in source:  # a launch of verify
        return [_of_verdict(finding, map_) for finding in source["findings"]]
    if "cells" in source:
        return _of_comparison(source)
    if "faults" in source and "verdict" in source:
        return [finding for fault in source["faults"] for finding in _of_bisection(fault, map_)]
    if "differences" in source and "runs" in source:
        return _of_lockstep(source, map_)
    if "title" in source:
        finding = {"kind": "wrong", "text": "", **source}
        return [_placed(finding, map_, source.get("path", ""), source.get("line", 0))]
    if "value" in source and "other_value" in source:
        return [_of_difference(source, map_)]
    text = json.dumps(source, indent=2, default=str)
    return [{"kind": "note", "title": str(source.get("verdict", "verdict")), "text": text[:4000]}]


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


def _of_verdict(verdict: dict, map_) -> dict:
    kind = "wrong" if verdict["severity"] == "fault" else "note"
    title = f"{verdict['check']} at {', '.join(verdict['levels'])}"
    finding = {"kind": kind, "title": title, "text": verdict["text"]}
    return _placed(finding, map_, verdict.get("file") or "", verdict.get("line") or 0)


def _of_profile(launch: dict, map_) -> list[dict]:
    """The lines that pay for more than their work."""
    out = []
    for line in launch["lines"]:
        if line["level"] == "python" and line["causes"]:
            title = f"{line['share']:.1%} of the warp instructions"
            finding = {"kind": "note", "title": title, "text": "\n".join(line["causes"])}
            out.append(_placed(finding, map_, line["file"], line["line"]))
    return out


def _of_lockstep(lockstep: dict, map_) -> list[dict]:
    out = [_of_difference(d, map_) for d in lockstep["differences"]]
    for run, trap in (lockstep.get("traps") or {}).items():
        out.append({"kind": "wrong", "title": f"{run} stopped", "text": str(trap)})
    return out


def _of_difference(d: dict, map_) -> dict:
    a, b = d["numbers"]
    loop = f", iteration {d['iteration']}" if d["iteration"] else ""
    text = (
        f"{d['level']:<6} {d['value']} = {d['op']}\n{d['other_level']:<6} {d['other_value']} = "
        f"{d['other_op']}\nprogram {d['program']}{loop}, element {d['element']}: {a} and {b}\n"
        f"{d['elements']} of {d['of']} elements differ, by at most {d['max_error']:.6g}"
    )
    title = f"{d['other_run']} differs from {d['run']}"
    if d["variable"]:
        title += f" in '{d['variable']}'"
    return _placed({"kind": "wrong", "title": title, "text": text}, map_, d["file"] or "", d["line"] or 0)


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


def _of_comparison(comparison: dict) -> list[dict]:
    """Returns what went wrong in a cell, each, and all figures as one note."""
    rows, lines = [], []
    for cell in comparison["cells"]:
        config = " ".join(f"{key}={value}" for key, value in cell["config"].items())
        name = f"{cell['release']} {cell['target']} {config}".rstrip()
        figures = ", ".join(f"{key} {value}" for key, value in cell["figures"].items())
        lines.append(f"{name}: {cell['error'] or cell['gap'] or cell['trap'] or figures}")
        if cell["error"] or cell["trap"]:
            rows.append({"kind": "wrong", "title": name, "text": str(cell["error"] or cell["trap"])})
    return [*rows, {"kind": "note", "title": f"compare: {len(lines)} cells", "text": "\n".join(lines)}]
