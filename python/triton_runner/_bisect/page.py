"""What bisection found, as a person pastes it into an issue."""

from __future__ import annotations

from triton_runner._bisect.runs import Program


def page(found: dict, program: Program) -> str:
    """The verdict on a page."""
    release = found["release"]
    lines = [f"{program.name}: {headline(found)}", ""]
    for kind in ("wrong", "right"):
        if release[kind]:
            lines.append(f"{kind:<8} {', '.join(release[kind])}")
    lines += [f"unknown  {one['version']}: {one['why'].splitlines()[0]}" for one in release["unknown"]]
    if not found["faults"]:
        lines += ["", *(f"note: {note}" for note in found["notes"])] if found["notes"] else []
        lines += [line for one in found["evidence"] for line in _evidence(one)]
    for fault in reversed(found["faults"]):
        lines += ["", f"Triton {fault['release']['wrong'][-1]}, {program.target}: {headline(fault)}"]
        if fault["confirmed_by"]:
            spliced = f" with Triton {fault['spliced_with']}" if "splice" in fault["confirmed_by"] else ""
            lines.append(f"  found by {' and '.join(fault['confirmed_by'])}{spliced}")
        if levels := fault.get("levels"):
            told = (f"{_LEVELS.get(level, level)} {verdict}" for level, verdict in levels.items())
            lines.append("  " + ", ".join(told))
        lines += [f"  {note}" for note in fault["notes"]]
        lines += [line for one in fault["evidence"] for line in _evidence(one)]
        lines += [f"  | {line}" for one in fault["evidence"] for line in one["said"]]
    if folder := found.get("reproducer"):
        lines += ["", f"to see it again: sh {folder}/run.sh"]
    return "\n".join(lines)


_LEVELS = {"source": "front end's TTIR"}


def _evidence(one: dict) -> list[str]:
    place = f"{one['file']}:{one['line']}: " if one["line"] else ""
    if one["got"] is None:
        return [f"  {place}{one['op'] or 'it stops here'}"] if place else []
    element = ", ".join(map(str, one["element"] or ()))
    than = ("with " if one["than"].startswith("Triton") else "") + one["than"]
    size = f", by at most {one['size']:.3g} of the largest" if one.get("size") is not None else ""
    return [
        f"  {place}{one['op'] or 'an array'}: {one['argument']}[{element}] of kernel '{one['kernel']}' is "
        f"{one['got']!r}, and {one['want']!r} {than}",
        f"  launch {one['launch'] + 1} of {one['launches']} differs first; {one['elements']} of {one['of']} "
        f"elements differ ({one['class']}{size})",
    ]  # fmt: skip


def headline(found: dict) -> str:
    """The verdict in a line."""
    if found["verdict"] in ("right", "unknown"):
        return {"right": "right in every release that was judged", "unknown": "cannot be told"}[
            found["verdict"]
        ]
    if found["verdict"] == "undefined":
        return "undefined: the result depends on behaviour that the kernel does not define"
    if found["verdict"] == "nondeterministic":
        return "nondeterministic: the result depends on the order of atomics"
    if found["verdict"] in ("front end", "kernel"):
        return f"wrong as it is born: {found['verdict']}"
    if found["level"] is None:
        return "wrong, and none of its levels and passes was found to make it so"
    where = f"first wrong at {found['level']}"
    if found["pass"]:
        return f"{where}, in {found['stage']}, pass {found['pass']['name']} ({found['pass']['argument']})"
    return f"{where}{', in ' + found['stage'] if found['stage'] else ''}"
