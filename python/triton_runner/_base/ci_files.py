"""Writes what CI systems read of a result: JUnit XML, SARIF 2.1.0 and annotations of GitHub.

A verb or the pytest plug-in gives its result as a Suite of Checks with their Issues; nothing here knows what
was judged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import urllib.parse
import xml.etree.ElementTree as xml

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
UNJUDGED = "not-judged"  # the rule of what could not be judged
STATES = ("passed", "failed", "error", "skipped")
_SENTENCES = {UNJUDGED: "What was to be judged could not be run."}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclasses.dataclass(frozen=True)
class Issue:
    """Something that a person should see at a line. level: "error", "warning" or "note"; rule: what found
    it, such as "race"; file: "" and line: 0 where no place is known."""

    rule: str
    level: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    kernel: str = ""

    @property
    def place(self) -> str:
        """Returns what two reports of one thing have in common."""
        at = str(self.line) if self.line else "" if self.kernel else self.message
        return "\0".join([self.rule, self.kernel, shown_path(self.file), at])


@dataclasses.dataclass(frozen=True)
class Check:
    """One thing that was judged: a launch, a cell, a release. state: one of STATES; why: what it says of
    one that did not pass; group: what it belongs to."""

    name: str
    group: str
    state: str
    why: str = ""
    seconds: float = 0.0
    issues: tuple[Issue, ...] = ()


@dataclasses.dataclass(frozen=True)
class Suite:
    """The result of a command. verb: "verify"; subject: what was judged; version: of this package; file: the
    place of issues without one; status: the exit status; rules: a sentence on each that has one."""

    verb: str
    subject: str
    version: str
    checks: tuple[Check, ...]
    file: str = ""
    status: int = 0
    rules: dict[str, str] = dataclasses.field(default_factory=dict)

    @property
    def issues(self) -> dict[Issue, int]:
        """Each issue once by rule and place, with how often it was found, errors first.
        What could not be judged is one too."""
        known: dict[tuple, list] = {}
        for issue in sorted(self._all(), key=lambda issue: _LEVELS.index(issue.level)):
            issue = issue if issue.file else dataclasses.replace(issue, file=self.file, line=0, column=0)
            known.setdefault(issue.place, [issue, 0])[1] += 1
        return dict(map(tuple, known.values()))

    def _all(self):
        for check in self.checks:
            yield from check.issues
            if check.state in ("failed", "error") and not any(one.level == "error" for one in check.issues):
                rule = UNJUDGED if check.state == "error" else self.verb
                yield Issue(rule, "error", f"{check.name}: {check.why}")


_LEVELS = ("error", "warning", "note")


def shown_path(file: str) -> str:
    """A path as a repository has it: relative to the folder of the process where it is inside of that."""
    inside = os.path.relpath(os.path.realpath(file), os.path.realpath(os.curdir))
    return file if inside.startswith(os.pardir + os.sep) or not os.path.isabs(file) else inside


def _plain(text: str) -> str:
    """A text without characters that XML cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


def junit(suite: Suite) -> str:
    """JUnit XML: a test case for each check."""
    counts = {state: sum(check.state == state for check in suite.checks) for state in STATES}
    numbers = {
        "tests": len(suite.checks), "failures": counts["failed"], "errors": counts["error"],
        "skipped": counts["skipped"], "time": f"{sum(check.seconds for check in suite.checks):.3f}",
    }  # fmt: skip
    numbers = {name: str(value) for name, value in numbers.items()}
    root = xml.Element("testsuites", {"name": f"triton-runner {suite.verb}", **numbers})
    inner = xml.SubElement(root, "testsuite", {"name": _plain(suite.subject), **numbers})
    for check in suite.checks:
        names = {"classname": _plain(check.group), "name": _plain(check.name)}
        case = xml.SubElement(inner, "testcase", {**names, "time": f"{check.seconds:.3f}"})
        tag = {"failed": "failure", "error": "error", "skipped": "skipped"}.get(check.state)
        if tag:
            first = _plain(check.why).partition("\n")[0]
            rules = [issue.rule for issue in check.issues if issue.level == "error"]
            kind = {} if tag == "skipped" else {"type": (rules or [suite.verb])[0]}
            told = xml.SubElement(case, tag, {"message": first, **kind})
            told.text = _plain("\n".join(_texts(check, "error") or [check.why]))
        if others := _texts(check, "warning", "note"):
            xml.SubElement(case, "system-out").text = _plain("\n".join(others))
    xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + xml.tostring(root, encoding="unicode") + "\n"


def _texts(check: Check, *levels: str) -> list[str]:
    return [f"{one.level}, {one.rule}: {one.message}" for one in check.issues if one.level in levels]


def sarif(suite: Suite) -> str:
    """SARIF 2.1.0: a result for each issue, a rule for each kind."""
    issues = suite.issues
    rules = list(dict.fromkeys(issue.rule for issue in issues))
    driver = {
        "name": "triton-runner", "version": suite.version,
        "rules": [_rule(rule, suite.rules.get(rule, "")) for rule in rules],
    }  # fmt: skip
    invocation = {"executionSuccessful": suite.status in (0, 1), "exitCode": suite.status}
    run = {
        "tool": {"driver": driver}, "invocations": [invocation], "columnKind": "unicodeCodePoints",
        "results": [_result(issue, count, rules) for issue, count in issues.items()],
    }  # fmt: skip
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2) + "\n"


def _rule(rule: str, sentence: str) -> dict:
    sentence = sentence or _SENTENCES.get(rule, f"Found by triton-runner: {rule.replace('-', ' ')}.")
    return {"id": rule, "name": rule, "shortDescription": {"text": sentence}}


def _result(issue: Issue, count: int, rules: list[str]) -> dict:
    known = hashlib.sha256(issue.place.encode()).hexdigest()[:32]  # by which code scanning knows it again
    result = {
        "ruleId": issue.rule, "ruleIndex": rules.index(issue.rule), "level": issue.level,
        "message": {"text": issue.message}, "occurrenceCount": count,
        "partialFingerprints": {"tritonRunnerFinding/v1": known},
    }  # fmt: skip
    if issue.file:
        result["locations"] = [_location(issue)]
    return result


def _location(issue: Issue) -> dict:
    path = shown_path(issue.file)
    if os.path.isabs(path):
        artifact = {"uri": "file://" + urllib.parse.quote(path)}
    else:
        artifact = {"uri": urllib.parse.quote(path), "uriBaseId": "%SRCROOT%"}
    region = {"startLine": max(issue.line, 1)} | ({"startColumn": issue.column} if issue.column else {})
    location: dict = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if issue.kernel:
        location["logicalLocations"] = [{"name": issue.kernel, "kind": "function"}]
    return location


def annotations(suite: Suite) -> list[str]:
    """A line for each issue, which GitHub shows at the line of the pull request."""
    return [_annotation(issue) for issue in suite.issues]


def _annotation(issue: Issue) -> str:
    place = {"file": shown_path(issue.file), "line": max(issue.line, 1)} if issue.file else {}
    place |= {"col": issue.column} if issue.file and issue.column else {}
    place["title"] = f"triton-runner: {issue.rule}" + (f" in {issue.kernel}" if issue.kernel else "")
    # GitHub's own escapes: of the text, and more escapes of the properties before it.
    words = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in place.items())
    kind = {"note": "notice"}.get(issue.level, issue.level)
    return f"::{kind} {words}::{_escaped(issue.message)}"


def _escaped(text: str, more: str = "") -> str:
    return re.sub(f"[%\r\n{more}]", lambda found: f"%{ord(found[0]):02X}", text)
