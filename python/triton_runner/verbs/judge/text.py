"""Writes a verdict as text."""

from __future__ import annotations

import os

from triton_runner.verbs.judge.results import Row


def of_row(row: Row) -> str:
    """The verdict on an answer, for a person."""
    lines = [f"verdict: {row.label}", f"  {row.why}"]
    if row.faults:
        lines[1:] = [line for fault in row.faults for line in _of_fault(fault, row.answer)]
    for name, (was, now) in row.scaled.items():
        lines.append(f"  scaled: {name} is {now} instead of {was}, so that the inputs fit (--inputs)")
    lines += [f"  note: {note}" for note in row.notes]
    if row.speed is not None:
        lines += _of_speed(row.speed)
    if row.generated is not None:
        lines.append(f"generated inputs: {row.generated.verdict}")
        for case in row.generated.cases:
            if case.state not in ("right", "left out"):
                lines.append(f"  {case.inputs}: {case.state}: {(case.message or '').splitlines()[0]}")
        for state in ("right", "left out"):
            if names := [case.inputs for case in row.generated.cases if case.state == state]:
                lines.append(f"  {state}: {', '.join(names)}")
    lines.append(f"{row.cost.total:.1f} s of CPU time, seed {row.seed}")
    return "\n".join(lines)


def _of_speed(speed) -> list[str]:
    told = {"the answer": speed.answer, "the reference by torch.compile": speed.reference}
    lines = [f"estimated on {speed.chip}:"]
    for who, time in told.items():
        error = "an error that was not measured" if time.error is None else f"an error of {time.error:.0%}"
        many = f"{time.launches} launch{'es' * (time.launches != 1)}"
        known = f"{time.microseconds:g} us with {error}, {many}" if time.microseconds is not None else ""
        lines.append(f"  {who}: {known or f'not known: {time.why}'}")
    if speed.ratio:
        lines.append(f"  the answer takes {1 / speed.ratio:.2f} of the reference's time")
    return lines


def _of_fault(fault, answer: str) -> list[str]:
    place = f"{os.path.basename(answer)}:{fault.line}: " if fault.line else ""
    call = "" if fault.call == "own" else f" (with other inputs: {fault.call})"
    return [f"  {fault.verdict}: {place}{fault.message.splitlines()[0]}{call}", f"    {fault.advice}"]


def of_counts(counts: dict, out: str) -> str:
    """The counts of a manifest."""
    lines = [f"{count:6} {verdict}" for verdict, count in counts.items() if count]
    return "\n".join([*lines, f"rows, counts and a page: {os.path.join(out, 'index.html')}"])
