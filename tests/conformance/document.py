"""Writes the tables of doc/measurements/verified.md from results of run.py, between two marker lines.

    python tests/conformance/document.py RESULTS.jsonl ... [--interpreter RESULTS.jsonl ...] [--write FILE]

Every figure of that page comes from here; without --write the tables are printed.
"""

import argparse
import collections
import pathlib
import sys

from report import ABSENT, CATEGORIES, GPU, KNOWN, Results, file_of, function_of, share

BEGIN, END = "<!-- written by tests/conformance/document.py -->", "<!-- end of what it wrote -->"
COLUMNS = ("passed", "failed", "skipped", ABSENT, GPU, "not run")


def row(*cells) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def heading(results: Results) -> list[str]:
    run = results.runs[-1]
    commits = list(dict.fromkeys(run["commit"] for run in results.runs))
    what = f"up to {run['each']} parametrisations of each function" if run["each"] else "all tests"
    return [
        f"### {results.name}",
        "",
        f"{what}; commit {', '.join(commits)}; {run['at'][:10]}; Triton {run['triton']}, "
        f"torch {run['torch']}.",
        "",
    ]


def by_file(results: Results) -> list[str]:
    lines = [row("file", *COLUMNS, "passed of counted"), row("---", *["---:"] * (len(COLUMNS) + 1))]
    groups = results.counts(file_of)
    groups["in all"] = sum(groups.values(), collections.Counter())
    for name, counts in groups.items():
        cells = {**counts, "failed": counts["failed"] + counts["crashed"]}
        lines.append(row(name, *(cells.get(column, 0) or "" for column in COLUMNS), share(counts)))
    return lines


def named(tests: list[str]) -> str:
    """Test functions with how many of their parametrisations."""
    counts = collections.Counter(function_of(test) for test in tests)
    return ", ".join(f"`{name}`" + (f" {n}" if n > 1 else "") for name, n in sorted(counts.items()))


def failures(runs: list[Results]) -> list[str]:
    causes: dict[str, dict[str, list[str]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for results in runs:
        for test, record in results.tests.items():
            if record["outcome"] in ("failed", "crashed"):
                # What is not in the list speaks for itself, addresses and all.
                causes[record.get("cause") or "not explained: " + record["why"][:200]][results.name].append(
                    test
                )
    lines = [row("cause", "where", "tests"), row("---", "---", "---")]
    for cause, where in causes.items():
        tests = max(where.values(), key=len)
        said = ", ".join(f"{name}: {len(some)}" for name, some in where.items())
        lines.append(row(cause.replace("|", "\\|"), said, named(tests)))
    return lines if causes else ["None."]


def taken_out(runs: list[Results], kind: str) -> list[str]:
    lines = [row("reason", "where", "tests"), row("---", "---", "---")]
    for i, category in enumerate(runs[0].categories):
        matched = {results.name: results.categories[i].matched for results in runs}
        if category.kind == kind and any(matched.values()):
            said = ", ".join(f"{name}: {len(tests)}" for name, tests in matched.items() if tests)
            lines.append(row(category.reason, said, named(max(matched.values(), key=len))))
    return lines


def skips(runs: list[Results]) -> list[str]:
    reasons: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for results in runs:
        for record in results.tests.values():
            if record["outcome"] == "skipped":
                reasons[record["why"] or "no reason given"][results.name] += 1
    lines = [row("the test's own reason", *(results.name for results in runs))]
    lines.append(row("---", *["---:"] * len(runs)))
    for why, counts in sorted(reasons.items(), key=lambda item: -sum(item[1].values())):
        lines.append(row(why.replace("|", "\\|"), *(counts[results.name] or "" for results in runs)))
    return lines


def passes(results: Results, test: str) -> bool:
    return test in results.tests and results.tests[test]["outcome"] == "passed"


def against(engine: Results, interpreter: Results) -> list[str]:
    """On the tests that the interpreter ran and that are not its own conditions' to skip."""
    ran = {test for test, r in interpreter.tests.items() if r["outcome"] in ("passed", "failed", "crashed")}
    ran &= {test for test, record in engine.tests.items() if record["outcome"] not in ("skipped", "not run")}
    lines = [row("file", "tests", engine.name, "TRITON_INTERPRET=1"), row("---", "---:", "---:", "---:")]
    for name in [*sorted({file_of(test) for test in ran}), "in all"]:
        tests = [test for test in ran if name in ("in all", file_of(test))]
        counts = [sum(passes(results, test) for test in tests) for results in (engine, interpreter)]
        lines.append(row(name, len(tests), *counts))
    only = [test for test in sorted(ran) if passes(engine, test) and not passes(interpreter, test)]
    other = [test for test in sorted(ran) if passes(interpreter, test) and not passes(engine, test)]
    lines += ["", f"Only the engine passes {len(only)}: {named(only) or 'none'}."]
    lines += ["", f"Only the interpreter passes {len(other)}: {named(other) or 'none'}."]
    return lines


def document(runs: list[Results], interpreters: list[Results]) -> str:
    lines: list[str] = []
    for results in runs:
        lines += [*heading(results), *by_file(results), ""]
    lines += ["## Failures and their causes", "", *failures(runs), ""]
    lines += ["## Not counted", "", "What these tests need is not in Triton's wheel:", ""]
    lines += [*taken_out(runs, ABSENT), "", "Tied to a GPU's assembly:", "", *taken_out(runs, GPU), ""]
    passed = [(r.name, c) for r in runs for c in r.categories if c.kind != KNOWN and c.passed]
    said = "; ".join(f"{name}: {len(c.passed)} of `{c.tests.pattern}`" for name, c in passed)
    lines += [f"Listed there, but pass: {said or 'none'}.", ""]
    lines += ["## Skipped by their own conditions", "", *skips(runs), ""]
    for results in interpreters:
        lines += ["## Beside Triton's interpreter", "", *heading(results)[2:], *against(runs[0], results), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--interpreter", type=pathlib.Path, nargs="+", default=[])
    parser.add_argument("--categories", type=pathlib.Path, default=CATEGORIES)
    parser.add_argument("--write", type=pathlib.Path, help="replace what is between the markers of this page")
    options = parser.parse_args()
    runs = [Results(path, options.categories) for path in options.results]
    names = collections.Counter(results.name for results in runs)
    for number, results in enumerate(runs, 1):
        if names[results.name] > 1:
            results.name += f" (run {number})"
    interpreters = [Results(path, options.categories) for path in options.interpreter]
    text = document(runs, interpreters)
    if not options.write:
        print(text)
        return 0
    page = options.write.read_text()
    before, _, rest = page.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not end:
        raise SystemExit(f"{options.write} lacks the lines {BEGIN} and {END}")
    options.write.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{behind}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
