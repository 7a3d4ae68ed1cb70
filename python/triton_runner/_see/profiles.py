"""What the page shows of a launch that `profile` counted: its counters and bounds, and how much of it each
line of each level is."""

from __future__ import annotations

_LISTED = 24  # lines of the table


def is_profile(source) -> bool:
    """Whether it is a launch in the JSON of profile."""
    return isinstance(source, dict) and {"counters", "instructions", "lines"} <= source.keys()


def of(findings, map_, addresses) -> dict | None:
    """The first profile among the findings of a kernel; None: there is none. addresses(listing, kernel): the
    lines of a kernel's instructions.

    heat: {level: {line: its part of the hottest line of that level}}, by time where a chip bounds it, else by
    warp instructions; of Python by the number of the file first.
    """
    launch = next((one for one in findings if is_profile(one)), None)
    if launch is None:
        return None
    return {
        "grid": launch["grid"], "programs": launch["programs"], "of": launch["of"],
        "isExtrapolated": launch["is_extrapolated"], "chip": launch["chip"], "notes": launch["notes"],
        "counters": {name: n for name, n in launch["counters"].items() if n},
        "bounds": launch["bounds"], "lines": _lines(launch, map_), "heat": _heat(launch, map_, addresses),
        "estimate": _estimate(launch, map_),
    }  # fmt: skip


def _estimate(launch: dict, map_) -> dict | None:
    """The time by the replay of an SM, and the timeline of its first block's warps: runs of (begin, end,
    reason, text of the instruction, file, line)."""
    estimate = launch.get("estimate")
    if not estimate:
        return None
    timeline = estimate["timeline"] or {"cycles": 0, "reasons": [], "warps": []}
    places = {one["address"]: one for one in launch["instructions"]}
    warps = []
    for runs in timeline["warps"]:
        at = [places[run["address"]] for run in runs]
        warps.append(
            [
                [run["begin"], run["end"], run["reason"], one["text"], _file(one["file"], map_), one["line"]]
                for run, one in zip(runs, at, strict=True)
            ]
        )
    return {
        **{name: estimate[name] for name in ("chip", "cycles", "microseconds", "kind", "error", "stalls")},
        "boundBy": estimate["bound_by"], "blockCycles": timeline["cycles"], "reasons": timeline["reasons"],
        "warps": warps,
    }  # fmt: skip


def _file(path: str, map_) -> int:
    return map_.files.index(path) if path in map_.files else -1


def _weight(line: dict) -> float:
    return line["microseconds"] or line["share"]


def _lines(launch: dict, map_) -> list[dict]:
    rows = sorted((one for one in launch["lines"] if one["level"] == "python"), key=_weight, reverse=True)
    return [
        {
            "file": _file(one["file"], map_), "line": one["line"], "text": one["text"], "share": one["share"],
            "executed": one["counts"].get("executed", 0), "boundBy": one["bound_by"],
            "microseconds": one["microseconds"], "causes": one["causes"],
        }
        for one in rows[:_LISTED]
    ]  # fmt: skip


def _heat(launch: dict, map_, addresses) -> dict:
    out: dict[str, dict] = {}
    for one in launch["lines"]:
        if one["level"] == "python":
            of_file = out.setdefault("python", {}).setdefault(str(_file(one["file"], map_)), {})
            of_file[str(one["line"])] = _weight(one)
        else:
            out.setdefault(one["level"], {})[str(one["line"])] = _weight(one)
    if sass := map_.levels.get("sass"):
        lines = addresses(sass.text, launch["kernel"])
        own = {str(lines[i["address"]]): i["share"] for i in launch["instructions"] if i["address"] in lines}
        out["sass"] = own
    python = out.pop("python", {})
    scaled = {level: _scaled(lines) for level, lines in out.items()}
    top = max((n for lines in python.values() for n in lines.values()), default=0)
    return scaled | {"python": {file: _scaled(lines, top) for file, lines in python.items()}}


def _scaled(lines: dict, top: float = 0) -> dict:
    top = top or max(lines.values(), default=0) or 1
    return {line: round(n / top, 4) for line, n in lines.items() if n}
