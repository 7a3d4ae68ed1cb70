"""Renders the result of `bisect --torch` as a report that can be pasted into an issue."""

from __future__ import annotations

from triton_runner.verbs.bisect.inductor.compiled import NAMES
from triton_runner.verbs.bisect.torch_results import Judged, TorchFound

_LEVELS = {"source": "Triton's front end"}


def page(found: TorchFound, name: str) -> str:
    """The report. name: the program's."""
    lines = [f"{name}: {found.main.headline}"]
    if len(found.releases) > 1:
        lines.append("")
        lines += [f"torch {one.torch:<10} {one.headline}" for one in found.releases]
    for one in reversed(found.releases):
        if one is found.main or one.verdict not in ("right", "unknown"):
            lines += ["", *_release(one, found.target)]
    return "\n".join(lines)


def _release(one: Judged, target: str) -> list[str]:
    ran = f"Triton {one.triton}, {target}: {one.runs} run{'s' * (one.runs != 1)}" if one.triton else "not run"
    lines = [f"torch {one.torch}, {ran}"]
    if one.line:
        lines.append(f"  {one.line}")
    if one.node or one.kernel:
        names = [f"node {one.node}" if one.node else "", f"kernel {one.kernel}" if one.kernel else ""]
        lines.append(f"  {', '.join(filter(None, names))}")
    if one.parting:
        lines.append(f"  {one.parting}")
    if one.cause:
        lines.append(f"  {_without(one.cause)}")
    lines += [f"  {_without(cause)}" for cause in one.others]
    if one.stages:
        verdicts = (f"{NAMES.get(stage, stage)} {verdict}" for stage, verdict in one.stages.items())
        lines.append("  " + ", ".join(verdicts))
    if one.levels:
        verdicts = (f"{_LEVELS.get(level, level)} {verdict}" for level, verdict in one.levels.items())
        lines.append("  " + ", ".join(verdicts))
    if one.compared:
        graphs = f"{one.graphs} graph{'s' * (one.graphs != 1)}"
        lines.append(f"  {graphs}, compared with eager {one.compared} time{'s' * (one.compared != 1)}")
    if one.fault:
        lines += [f"  {note}" for note in one.fault.notes]
        lines += filter(None, map(str, one.fault.evidence))
    lines += [f"  note: {note}" for note in one.notes]
    lines += [f"  | {line}" for line in one.said]
    return lines


def _without(cause) -> str:
    if cause.kind == "setting":
        return str(cause)
    return f"wrong from {cause} on, and right without it"
