"""Makes what the page shows of a launch that `profile` counted: its counters and bounds, and how much of it
each line of each level is."""

from __future__ import annotations

_LISTED = 24  # lines of the table
_HOT = 16  # an instruction has full heat from this multiple of the coldest one's share


def is_profile(source) -> bool:
    """Returns whether it is a launch in the JSON of profile."""
    return isinstance(source, dict) and {"counters", "instructions", "lines"} <= source.keys()


def of(findings, map_, addresses) -> dict | None:
    """The first profile among the findings of a kernel; None: there is none. addresses(listing, kernel): the
    lines of a kernel's instructions.

    heat: {level: {line: how hot it is, from 0 to 1}}, of Python by the number of the file first; scale:
    {level: what the heat counts, and its least and greatest share}.
    """
    launch = next((one for one in findings if is_profile(one)), None)
    if launch is None:
        return None
    heat, scale = _heat(launch, map_, addresses)
    return {
        "grid": launch["grid"], "programs": launch["programs"], "of": launch["of"],
        "isExtrapolated": launch["is_extrapolated"], "chip": launch["chip"], "notes": launch["notes"],
        "counters": {name: n for name, n in launch["counters"].items() if n},
        "bounds": launch["bounds"], "lines": _lines(launch, map_), "heat": heat, "scale": scale,
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


def _weight(line: dict, launch: dict) -> tuple[float, float]:
    """Returns what lines are sorted by, as the table shows them: the least time on a chip, or else the
    share."""
    return (line["microseconds"] or 0 if launch["chip"] else line["share"]), line["share"]


def _lines(launch: dict, map_) -> list[dict]:
    rows = [one for one in launch["lines"] if one["level"] == "python"]
    rows.sort(key=lambda one: _weight(one, launch), reverse=True)
    return [
        {
            "file": _file(one["file"], map_), "line": one["line"], "text": one["text"], "share": one["share"],
            "executed": one["counts"].get("executed", 0), "boundBy": one["bound_by"],
            "microseconds": one["microseconds"], "causes": one["causes"],
        }
        for one in rows[:_LISTED]
    ]  # fmt: skip


def _heat(launch: dict, map_, addresses) -> tuple[dict, dict]:
    """Lines are weighed by their least time on a chip, or else by warp instructions; machine code by the
    cycles of the replay, where there is one."""
    of = "the least time" if launch["chip"] else "warp instructions"
    weights: dict[str, dict] = {}
    for one in launch["lines"]:
        line = (_file(one["file"], map_), one["line"]) if one["level"] == "python" else one["line"]
        weights.setdefault(one["level"], {})[line] = _weight(one, launch)[0]
    counted = dict.fromkeys(weights, of)
    if sass := map_.levels.get("sass"):
        lines, stalls = addresses(sass.text, launch["kernel"]), (launch.get("estimate") or {}).get("stalls")
        counted["sass"] = "the cycles of the replay" if stalls else "warp instructions"
        own = weights["sass"] = {}
        for one in stalls or launch["instructions"]:
            if (line := lines.get(one["address"])) is not None:
                own[line] = own.get(line, 0) + one["share"]
    elif "amdgcn" in map_.levels:
        counted["amdgcn"] = "warp instructions"
        weights["amdgcn"] = {one["address"]: one["share"] for one in launch["instructions"]}
    heat: dict[str, dict] = {}
    scale = {}
    for level, lines in weights.items():
        shares = [n for n in lines.values() if n]
        if not shares:
            continue
        top, total = max(shares), sum(shares)
        # Instructions that all run equally often are not hot: full heat needs much more than the least.
        full = max(top, _HOT * min(shares)) if level in ("ptx", "sass", "amdgcn") else top
        heat[level] = {line: round(n / full, 4) for line, n in lines.items() if n}
        scale[level] = {"of": counted[level], "least": min(shares) / total, "most": top / total}
    python: dict[str, dict] = {}
    for (file, line), hot in heat.pop("python", {}).items():
        python.setdefault(str(file), {})[str(line)] = hot
    return {**heat, "python": python}, scale
