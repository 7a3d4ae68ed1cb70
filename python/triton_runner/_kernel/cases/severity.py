"""Decides the severity of a launch's findings: a fault, a warning with the reason why it is not a fault, or a
result that only the order of atomics decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from triton_runner import _core
from triton_runner._artifact.relaunch import Outcome
from triton_runner._base import commands
from triton_runner._base.levels import MLIR
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases import reach
from triton_runner._kernel.cases.results import NONDETERMINISTIC, Bits, Finding

# These may be intended: infinities in computations, NaNs in inputs, hints that wrap-around breaks without any
# effect on a result, and padding that a view leaves out.
_MAY_BE_MEANT = {"inf", "nanload", "hints", "view"}
# A program may want these in its outputs, if its own check of them passes.
_MAY_BE_WANTED = {"nan", "zerodiv"}
DECIDED = ", as the launch is wrong already"
# The fault that a difference shows, by the check that found it: kind and race of a KernelTrap.
_SHOWN_BY = {"order": ("data race", "global"), "timing": ("data race", "in flight")}
_ON_DIFFERENCES = {
    "levels": f"find the pass that changes the result: {commands.shell('bisect', 'PROGRAM')}",
    "reference": "dump the values that the element is made of, and compare them with the reference's",
}  # fmt: skip
_PLACE = ("file", "line", "column", "op", "program", "element", "iterations", "argument", "place", "notes")


class Findings(list):
    """The findings of one launch, in the order in which they were found."""

    def __init__(self, strict: bool):
        super().__init__()
        self.strict = strict
        self._reports: dict[tuple, tuple] = {}  # (its number, its reports by level), until settle()
        self._undefined: list[int] = []  # numbers of those that only the language leaves undefined

    def is_decided(self) -> bool:
        """Returns whether the launch is wrong whatever else is found: also where the program's own check
        passes."""
        unsettled = {number for number, _ in self._reports.values()}
        return any(
            finding.is_fault and finding.check not in _MAY_BE_WANTED and number not in unsettled
            for number, finding in enumerate(self)
        )

    def add(self, finding: Finding) -> None:
        if self.strict and finding.kind != NONDETERMINISTIC:
            finding = dataclasses.replace(finding, severity="fault")
        self.append(finding)

    def _note(self, finding: Finding, is_same) -> bool:
        """Adds a finding, or adds its level to an equal one. Returns whether it is new."""
        for number, known in enumerate(self):
            if is_same(known):
                self[number] = known.at(finding.levels[0])
                return False
        self.add(finding)
        return True

    # --- checks

    def trap(self, check: str, run: Outcome, why: str = "") -> None:
        """A trap stopped a run. Levels that stop at one line share a finding. why: the reason of a
        warning, or more words for an access out of bounds."""
        trap = run.trap
        # With infinities, and with NaNs that memory brings, NaNs are reported too.
        same = {check, "nan"} if check in ("inf", "nanload") else {check}
        is_warning = check in _MAY_BE_MEANT or trap.warning
        finding = _of_trap(check, "warning" if is_warning else "fault", [run.level], trap)
        place = (trap.file, trap.line)
        finding = finding.warned(why, is_fault=check == "oob") if why else finding
        self._note(finding, lambda other: other.check in same and (other.file, other.line) == place)

    def report(self, check: str, level: str, report) -> None:
        """A check reported a place at a level. settle() decides its severity."""
        key = (check, report.place.file, report.place.line)
        if key not in self._reports:
            self._reports[key] = len(self), {}
            self.append(_of_trap(check, "fault", [], report.place))
        number, by_level = self._reports[key]
        self[number] = self[number].at(level)
        if level not in by_level or report.reached:
            by_level[level] = report

    def reaches_output(self, check: str) -> bool:
        """Returns whether an output depends on what a check reported at a level so far."""
        known = (reports for number, reports in self._reports.values() if self[number].check == check)
        return any(report.reached for by_level in known for report in by_level.values())

    def settle(self, levels: list[str], is_in_output: Callable[[str], bool]) -> None:
        """Decides the severity of each report, after all levels (highest first) have been checked.
        is_in_output: whether a level leaves a NaN or an infinity in an output, and the highest a number."""
        lowest = {self[number].check for number, by_level in self._reports.values() if levels[-1] in by_level}
        for number, by_level in self._reports.values():
            check, above = self[number].check, levels[0] not in by_level
            reached = next((report for report in by_level.values() if report.reached), None)
            if reached is None:
                *some, last = (f"{number:g}" for number in reach.numbers_of(check))
                tried = f"{', '.join(some)} or {last}"
                why = f"harmless for these inputs: with {tried} in its place every output keeps its bits"
                if above:
                    why += f"; {levels[0]} does not compute it: it is the compiler's speculation"
            elif check == "uninit" and check not in lowest:
                self._undefined.append(number)
                why = (
                    f"undefined by the language, and defined by this compiler: {levels[-1]} reads nothing "
                    "that was not written; another release may give something else"
                )
            elif above and check != "uninit" and not any(map(is_in_output, by_level)):
                why = f"{levels[0]} does not compute it: it is the compiler's, and the levels are compared"
            else:
                why = reached.why
                if above and check != "uninit":
                    why += f"; {levels[0]} leaves a number in it"
                self[number] = self[number].saying(why, reaches=reached.why)
                continue
            self[number] = self[number].warned(why, self.strict)
        self._reports.clear()
        # With infinities, and with NaNs that memory brings, NaNs are reported too: once is enough.
        nans = {(finding.file, finding.line) for finding in self if finding.check == "nan"}
        self[:] = [
            finding
            for finding in self
            if (finding.check not in ("inf", "nanload") or finding.kind != "not a number")
            or (finding.file, finding.line) not in nans
        ]

    # --- differences

    def order(self, bits: Bits, levels: list[str], how: str, programs: int, lines: list[dict]) -> None:
        """Another order gives another result. With atomics it is nondeterministic, without them a race."""
        of_each = ["warps"] * (not set(levels) <= set(MLIR)) + ["atomics"] * bool(lines)
        if programs == 1:  # where nothing else has an order, the elements of a store have
            turns = f"its {' and '.join(of_each or ['elements'])}"
        else:
            turns = "the programs" + (f" and of their {' and '.join(of_each)}" if of_each else "")
        message = f"another order of {turns} gives another result"
        finding = _of_difference("order", bits, levels, how, message)
        if lines:
            where = ", ".join(f"{line['op']} at {line['file']}:{line['line']}" for line in lines)
            finding = finding.saying(
                f"only the order of atomics decides it: {where}", kind=NONDETERMINISTIC, severity="warning",
                lines=lines, file=lines[0]["file"], line=lines[0]["line"],
            )  # fmt: skip
        self.add(finding)

    def ungraded(self, why: str) -> None:
        """Makes the last finding a warning, of which nothing more was found out."""
        self[-1] = self[-1].warned(why + DECIDED)

    def is_ordered(self, argument: str) -> bool:
        """Returns whether the order of atomics decides an argument."""
        return any(finding.check == "order" and finding.argument == argument for finding in self)

    def difference(self, check: str, bits: Bits, run: Outcome, message: str) -> bool:
        """Adds a difference, which is a fault if noise does not explain it. False: it was known already."""
        finding = _of_difference(check, bits, [run.level], run.how, message)
        if check == "levels":
            for number in self._undefined:
                why = "the levels differ: this compiler does not define it either"
                self[number] = self[number].saying(why, severity="fault", why=None, reaches=why)
            self._undefined.clear()
        return self._note(finding, lambda other: (other.check, other.argument) == (check, bits.argument))

    def rounded(self, bits: Bits, size: float, product, cause: str, advice: str) -> None:
        """Adds a result that the target rounds far from the exact one. size: relative to the largest element;
        product: the op that sums."""
        exact, hardware = bits.numbers
        message = f"{cause}: {bits.argument!r} is off by up to {size * 100:.2g} % of its largest element"
        text = f"{message}; element {bits.element} is {hardware}, and {exact} where sums are exact\n{advice}"
        place = {} if product is None else {"op": product.name, "column": product.location.column or None}
        at = ("", 0) if product is None else (product.location.file or "", product.location.line or 0)
        self.add(
            Finding(
                "rounding", "warning", ["ptx"], "rounding", message, *at, bits.argument, text, evidence=bits,
                why='numerics="hardware" gives at TTGIR the bits of the PTX', **place,
            )
        )  # fmt: skip

    def tail(self, bits: Bits, run: Outcome) -> None:
        """The PTX writes more than the level above, as the hardware does."""
        self.difference("tail", bits, run, "stores of TMA write past the end of dimension 0")
        why = (
            "TMA writes whole chunks of 16 bytes (triton#11583); with stores that end there the levels agree"
        )
        self[-1] = self[-1].warned(why, self.strict)

    def cost(self, cost) -> None:
        """Adds what the launch is sure to lose time to: a warning, with `strict` too, because it is right."""
        text = "\n".join([cost.message, *cost.notes])
        self.append(
            Finding(
                cost.kind, "warning", ["cubin"], "cost", cost.message, cost.file, cost.line, "", text,
                notes=cost.notes or None,
            )
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Sets the note of the last finding."""
        self[-1] = dataclasses.replace(self[-1], notes=[text])

    def diverged(self, value) -> None:
        """Adds the first value in which two levels differ to the last finding."""
        more = {"diverged": value.to_json(), "file": value.file, "line": value.line}
        self[-1] = self[-1].saying(str(value), **more)


def accepted(findings: list[Finding], by: str) -> list[Finding] | None:
    """The findings if a check of the program's own compared the result and passed: a NaN or a division by 0
    that all levels agree on is then a warning. by: the check. None: there is no such finding."""
    faults = [finding for finding in findings if finding.is_fault]
    meant = [finding for finding in faults if finding.check in _MAY_BE_WANTED]
    if not meant or any(finding.check == "levels" for finding in faults):
        return None
    why = f"every level leaves the same value, and the program's own check passes ({by})"
    return [finding.warned(why) if finding in meant else finding for finding in findings]


def _of_trap(check: str, severity: str, levels: list[str], trap) -> Finding:
    place = {name: as_json(getattr(trap, name)) for name in _PLACE}
    return Finding(
        check, severity, levels, trap.kind, trap.message or str(trap), text=str(trap),
        advice=trap.advice or None, **place,
    )  # fmt: skip


def _of_difference(check: str, bits: Bits, levels: list[str], how: str, message: str) -> Finding:
    first, second = bits.numbers or (None, None)
    message = f"{message} in {bits.argument!r}"
    text = (
        f"{message}: {bits.elements} of {bits.of} elements differ, by at most {bits.max_error}; "
        f"element {bits.element}: {first} and {second}"
    )
    advice = _core.advice_on(*_SHOWN_BY[check]) if check in _SHOWN_BY else _ON_DIFFERENCES.get(check)
    return Finding(
        check, "warning" if bits.agrees else "fault", list(levels), "difference", message, "", 0,
        bits.argument, text, how=how, evidence=bits, advice=advice,
    )  # fmt: skip
