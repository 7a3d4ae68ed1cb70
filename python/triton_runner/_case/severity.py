"""The findings of a verdict, and which of them make it: a fault, a warning that says why it is none, or an
order that only atomics decide."""

from __future__ import annotations

from triton_runner._case.subject import Run

# What may be meant: infinities that a kernel computes with, NaNs that its inputs bring, promises that
# wrap-around breaks where no result depends on it.
_MAY_BE_MEANT = {"inf", "nanload", "hints"}
# What a program may want in its outputs, where its own check passes.
_MAY_BE_WANTED = {"nan", "zerodiv"}
_FIELDS = (
    *("file", "line", "column", "op", "program", "element", "iterations", "argument", "place", "notes"),
)
NONDETERMINISTIC = "nondeterministic"


class Findings:
    """The findings of one launch, in the order in which they were made."""

    def __init__(self, strict: bool):
        self._strict = strict
        self._list: list[dict] = []
        self._reports: dict[tuple, list] = {}  # finding and its reports by level, until settle()

    @property
    def last(self) -> dict:
        return self._list[-1]

    def listed(self) -> list[dict]:
        """All of them, as JSON has them."""
        return self._list

    def extend(self, findings: list[dict]) -> None:
        for finding in findings:
            self._add(finding)

    def _add(self, finding: dict) -> None:
        if self._strict and finding["kind"] != NONDETERMINISTIC:
            finding["severity"] = "fault"
        self._list.append(finding)

    # --- checks

    def trap(self, check: str, run: Run, why: str = "") -> None:
        """What stopped a run; of several levels that stop at one line, one finding. why: of a warning."""
        trap = run.trap
        # With infinities, and with NaNs that memory brings, NaNs are reported too.
        same = {check, "nan"} if check in ("inf", "nanload") else {check}
        for known in self._list:
            if known["check"] in same and (known["file"], known["line"]) == (trap.file, trap.line):
                known["levels"] += [run.level] * (run.level not in known["levels"])
                return
        severity = "warning" if check in _MAY_BE_MEANT or trap.warning or why else "fault"
        finding = _of_trap(check, severity, [run.level], trap)
        if why:
            finding |= {"why": why, "text": f"{finding['text']}\n{why}"}
        self._add(finding)

    def report(self, check: str, level: str, report) -> None:
        """What a check reports at a level, and whether it reached anything: judged by settle()."""
        key = (check, report.place.file, report.place.line)
        if key not in self._reports:
            finding = _of_trap(check, "fault", [], report.place)
            self._list.append(finding)
            self._reports[key] = [finding, {}]
        finding, by_level = self._reports[key]
        finding["levels"] += [level] * (level not in finding["levels"])
        if level not in by_level or report.reached:
            by_level[level] = report

    def settle(self, levels: list[str]) -> None:
        """Decides what each report is, now that all of the levels (from the top) have been checked."""
        for finding, by_level in self._reports.values():
            check, above = finding["check"], levels[0] not in by_level
            reached = next((report for report in by_level.values() if report.reached), None)
            below = levels[-1] not in by_level and len(levels) > 1
            if reached is None:
                why = "harmless for these inputs: with 1 or -2 in its place every output keeps its bits"
                if above:
                    why += f"; {levels[0]} does not compute it: it is the compiler's speculation"
            elif check == "uninit" and below:
                why = (
                    f"undefined by the language, and defined by this compiler: {levels[-1]} reads nothing "
                    "that was not written; another release may give something else"
                )
            elif above and check != "uninit":
                why = f"{levels[0]} does not compute it: it is the compiler's, and the levels are compared"
            else:
                why = ""
                finding["reaches"] = reached.why
                finding["text"] += f"\n{reached.why}"
            if why:
                finding["why"] = why
                finding["text"] += f"\n{why}"
                finding["severity"] = "fault" if self._strict else "warning"
        self._reports.clear()

    # --- differences

    def order(self, argument: str, seen: dict, lines: list[str]) -> None:
        """Another order gives another result: of atomics, where the kernel has any, else of a race."""
        one = seen["evidence"]
        message = "another order of the programs and of their atomics gives another result"
        finding = _of_difference("order", one, seen["levels"], seen["how"], message)
        if lines:
            finding |= {"kind": NONDETERMINISTIC, "severity": "warning", "lines": lines}
            finding["file"], finding["line"] = lines[0]["file"], lines[0]["line"]
            where = ", ".join(f"{line['op']} at {line['file']}:{line['line']}" for line in lines)
            finding["text"] += f"\nonly the order of atomics decides it: {where}"
        self._add(finding)

    def is_ordered(self, one: dict) -> bool:
        """Whether the order of atomics decides an argument."""
        return any(f["check"] == "order" and f["argument"] == one["argument"] for f in self._list)

    def difference(self, check: str, one: dict, run: Run, message: str) -> bool:
        """A difference is a fault where noise does not explain it. False where it was known."""
        for known in self._list:
            if known["check"] == check and known["argument"] == one["argument"]:
                known["levels"] += [run.level] * (run.level not in known["levels"])
                return False
        self._add(_of_difference(check, one, [run.level], run.how, message))
        return True

    def tail(self, one: dict, run: Run) -> None:
        """PTX writes more than the level above, as the hardware does."""
        self.difference("tail", one, run, "stores of TMA write past the end of dimension 0")
        why = (
            "TMA writes whole chunks of 16 bytes (triton#11583); with stores that end there the levels agree"
        )
        self.last.update(severity="fault" if self._strict else "warning", why=why)
        self.last["text"] += f"\n{why}"

    def diverged(self, difference) -> None:
        """Adds where two levels part to the last finding."""
        self.last["diverged"] = difference.to_json()
        self.last.update(file=difference.file, line=difference.line)
        self.last["text"] += f"\n{difference}"


def verdict_of(findings: list[dict], is_known: bool) -> str:
    """The verdict that findings make; is_known: every level was run."""
    if any(finding["severity"] == "fault" for finding in findings):
        return "wrong"
    if not is_known:
        return "unknown"
    return NONDETERMINISTIC if any(f["kind"] == NONDETERMINISTIC for f in findings) else "right"


def accept(findings: list[dict]) -> bool:
    """The program's own check passes: a NaN or a division by 0 that every level leaves alike is meant.
    Returns whether there was any."""
    faults = [finding for finding in findings if finding["severity"] == "fault"]
    if any(finding["check"] == "levels" for finding in faults):
        return False
    meant = [finding for finding in faults if finding["check"] in _MAY_BE_WANTED]
    for finding in meant:
        finding["severity"] = "warning"
        finding["why"] = "every level leaves it alike, and the program's own check passes"
        finding["text"] += f"\n{finding['why']}"
    return bool(meant)


def _of_trap(check: str, severity: str, levels: list[str], trap) -> dict:
    return {
        "check": check, "severity": severity, "levels": levels, "kind": trap.kind,
        "message": trap.message or str(trap), **{name: _plain(getattr(trap, name)) for name in _FIELDS},
        "text": str(trap),
    }  # fmt: skip


def _of_difference(check: str, one: dict, levels: list[str], how: str, message: str) -> dict:
    first, second = one["numbers"] or (None, None)
    message = f"{message} in {one['argument']!r}"
    text = (
        f"{message}: {one['elements']} of {one['of']} elements differ, by at most {one['max_error']}; "
        f"element {one['element']}: {first} and {second}"
    )
    return {
        "check": check, "severity": "warning" if one["agrees"] else "fault", "levels": list(levels),
        "kind": "difference", "message": message, "argument": one["argument"], "how": how, "evidence": one,
        "file": "", "line": 0, "text": text,
    }  # fmt: skip


def _plain(value):
    return list(value) if isinstance(value, tuple) else value
