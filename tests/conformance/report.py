"""Results files of run.py: outcomes with their categories, grouped (document.py records them).

    python tests/conformance/report.py RESULTS.jsonl ... [--functions] [--failures]

categories.json decides which failures are not the engine's: each of its rows names tests and the error that
they have to fail with. Nothing else is taken out of the count, and a listed test that passes is shown.
"""

import argparse
import collections
import importlib.metadata
import json
import pathlib
import re
import sys

CATEGORIES = pathlib.Path(__file__).resolve().parent / "categories.json"
ABSENT, GPU, KNOWN = "not in this Triton", "tied to a GPU", "failure"
OUTCOMES = ("passed", "failed", "crashed", "skipped", ABSENT, GPU, "not run")
HEADINGS = {ABSENT: "absent", GPU: "for GPU"}


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


class Category:
    """A row of categories.json: which tests, failing with what, count as what, because of what."""

    def __init__(self, row: dict):
        self.kind = row["category"]
        if self.kind not in (ABSENT, GPU, KNOWN):
            raise SystemExit(f"no category {self.kind!r}; there are {ABSENT}, {GPU}, {KNOWN}")
        self.tests, self.error = re.compile(row["tests"]), re.compile(row["error"])
        self.when = re.compile(row.get("when", ""))
        self.reason = row["reason"]
        self.some_pass = row.get("some_pass", False)
        self.matched: list[str] = []
        self.passed: list[str] = []


class Results:
    """The last outcome of every test of one results file, failures sorted into categories."""

    def __init__(self, path: pathlib.Path, categories: pathlib.Path = CATEGORIES):
        self.runs: list[dict] = []
        self.tests: dict[str, dict] = {}
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if "run" in record:
                self.runs.append(record["run"])
            for test in record.get("collected", []):
                self.tests.setdefault(test, {"test": test, "outcome": "not run", "why": "the time limit"})
            if "test" in record:
                self.tests[record["test"]] = record
        run = self.runs[-1] if self.runs else {"level": "?", "target": "?"}
        self.name = f"{run['level']} {run['target']}".strip()
        self.categories = [Category(row) for row in json.loads(categories.read_text())]
        for record in self.tests.values():
            self.sort(record)

    def sort(self, record: dict) -> None:
        if record["outcome"] == "started":
            record.update(outcome="not run", why="the run was ended")
        for category in self.categories:
            if not category.tests.search(record["test"]) or not category.when.search(self.name):
                continue
            if record["outcome"] == "passed" and category.kind != KNOWN and not category.some_pass:
                category.passed.append(record["test"])
            if record["outcome"] in ("failed", "crashed") and category.error.search(record["why"]):
                category.matched.append(record["test"])
                record["cause"] = category.reason
                if category.kind != KNOWN:
                    record["outcome"] = category.kind
                return

    def counts(self, key) -> dict[str, collections.Counter]:
        """Outcomes by what key(test name) says."""
        groups: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for test, record in self.tests.items():
            groups[key(test)][record["outcome"]] += 1
        return dict(sorted(groups.items()))


def file_of(test: str) -> str:
    return test.split("::")[0].split("/")[-1]


def function_of(test: str) -> str:
    return test.split("[")[0].split("/")[-1]


def share(counts: collections.Counter) -> str:
    """Passed of those that count: passed, failed and crashed."""
    counted = counts["passed"] + counts["failed"] + counts["crashed"]
    # Rounded down: 100 % is said of nothing else.
    return f"{counts['passed'] * 10000 // counted / 100:.2f} %" if counted else ""


def table(groups: dict[str, collections.Counter], title: str) -> str:
    width = 9
    headings = [HEADINGS.get(outcome, outcome) for outcome in OUTCOMES]
    lines = ["".join(f"{heading:>{width}}" for heading in (*headings, "share")) + f"  {title}"]
    total = sum(groups.values(), collections.Counter())
    for name, counts in [*groups.items(), ("in all", total)]:
        cells = [counts[outcome] or "" for outcome in OUTCOMES]
        lines.append("".join(f"{cell:>{width}}" for cell in (*cells, share(counts))) + f"  {name}")
    return "\n".join(lines)


def show(results: Results, functions: bool = True) -> None:
    if functions:
        print(table(results.counts(function_of), "test"))
        print()
    for outcome in ("failed", "crashed", "skipped"):
        reasons: dict[str, list[str]] = collections.defaultdict(list)
        for test, record in results.tests.items():
            if record["outcome"] == outcome:
                reasons[record.get("cause") or record["why"] or "no reason given"].append(test)
        if reasons:
            print(f"{outcome}, by reason:")
        for why, tests in sorted(reasons.items(), key=lambda item: -len(item[1])):
            print(f"{len(tests):9}  {why[:300]}  (say {tests[0].split('/')[-1]})")
    for kind in (ABSENT, GPU):
        rows = [c for c in results.categories if c.kind == kind and c.matched]
        if rows:
            print(f"{kind} ({HEADINGS[kind]}: not counted, listed in categories.json):")
        for category in rows:
            names = sorted({function_of(test) for test in category.matched})
            print(f"{len(category.matched):9}  {category.reason}: {', '.join(names)}")
    for category in results.categories:
        if category.passed:
            say = category.passed[0].split("/")[-1]
            print(f"listed but passes: {len(category.passed)} of {category.tests.pattern}", end=" ")
            print(f"({category.reason}), say {say}")
    print()
    print(table(results.counts(file_of), "file"))
    total = sum(results.counts(file_of).values(), collections.Counter())
    if total["not run"]:
        print(f"{total['not run']} were not run yet: the time limit; with --results the next run goes on")
    failed = total["failed"] + total["crashed"]
    print(f"{results.name}: {total['passed']} passed, {failed} failed, {total['skipped']} skipped")


def forget(path: pathlib.Path, outcomes: list[str]) -> None:
    """Take tests with these outcomes out of a results file, so that they run again."""
    lines = path.read_text().splitlines(keepends=True)
    last = {r["test"]: r["outcome"] for r in map(json.loads, lines) if "test" in r}
    kept = [line for line in lines if last.get(json.loads(line).get("test")) not in outcomes]
    path.write_text("".join(kept))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--categories", type=pathlib.Path, default=CATEGORIES)
    parser.add_argument("--functions", action="store_true", help="also by test function")
    parser.add_argument("--failures", action="store_true", help="every failure, with its whole reason")
    options = parser.parse_args()
    for path in options.results:
        results = Results(path, options.categories)
        show(results, options.functions)
        if options.failures:
            for test, record in results.tests.items():
                if record["outcome"] in ("failed", "crashed"):
                    print(f"{test} ({record.get('where', '')}): {record['why']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
