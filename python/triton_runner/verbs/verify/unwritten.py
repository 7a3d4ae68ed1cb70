"""Reports what nobody wrote, as findings: of the elements of torch.empty that a program's launches left as
they were, those that something reads are a fault, and the others a warning."""

from __future__ import annotations

import dataclasses

from triton_runner import _core
from triton_runner._kernel.cases.results import Finding, Judged
from triton_runner._memory.uninit import Unwritten


def finding(it: Unwritten, strict: bool, stores: str) -> Finding:
    """One argument's, at the level at which the program's own launch ran. stores: what writes to it."""
    message = f"kernel '{it.kernel}': {it.message}"
    if it.used:
        why = f"they are read by {it.used} at {it.file}:{it.line}"
    else:
        why = "nothing reads them before the program ends, or before their memory is given back"
    severity = "fault" if it.used or strict else "warning"
    lines = [message, why, *([f"{stores}, writes to it"] if stores else [])]
    return Finding(
        "uninit", severity, [it.level], "never written", message, it.file, it.line, it.argument,
        "\n".join(lines), why=None if it.used else why, reaches=why if it.used else None,
        advice=_core.advice_on("uninitialized value"),
    )  # fmt: skip


def added(judged: list[Judged], found: list[Unwritten], strict: bool, stores=lambda *_: "") -> list[Judged]:
    """The verdicts on the launches of a program, each with what its kernel did not write: with the last
    launch of that kernel that was judged, as launches that are alike are judged once. stores(kernel,
    argument): names the lines that write to an argument."""
    judged = list(judged)
    for it in found:
        at = [number for number, one in enumerate(judged) if one.kernel == it.kernel]
        if at:
            one = judged[at[-1]]
            findings = [*one.findings, finding(it, strict, stores(it.kernel, it.argument))]
            judged[at[-1]] = dataclasses.replace(one, findings=findings).settled()
    return judged
