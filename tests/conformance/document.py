"""Records results of run.py in results/conformance.json: counts by file, failures and skips by reason.

    python tests/conformance/document.py RESULTS.jsonl ... [--interpreter RESULTS.jsonl]

With --interpreter: how many tests that ran both ways each passes.
"""

import argparse
import collections
import pathlib
import re
import sys

from report import ABSENT, CATEGORIES, GPU, Results, file_of, function_of, share

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from suite import results as kept
from triton_runner._base import releases

_FOLDERS = re.compile(r"/(?:[^\s/:]+/)+(?=[^\s/:]+\.py\b)")  # before the name of a file of Python
COLUMNS = ("passed", "failed", "skipped", ABSENT, GPU, "not run")


def by_file(results: Results) -> list[list]:
    groups = results.counts(file_of)
    groups["in all"] = sum(groups.values(), collections.Counter())
    rows = []
    for name, counts in groups.items():
        cells = {**counts, "failed": counts["failed"] + counts["crashed"]}
        rows.append([name, *(cells.get(column) or None for column in COLUMNS), share(counts)])
    return rows


def named(tests: list[str]) -> dict[str, int]:
    """Parametrisations by test function."""
    return dict(sorted(collections.Counter(map(function_of, tests)).items()))


def reasons(results: Results) -> dict:
    """Tests that failed, that are not counted, and that were skipped, by the reason."""
    failed, skipped = collections.defaultdict(list), collections.Counter()
    for test, record in results.tests.items():
        if record["outcome"] in ("failed", "crashed"):
            # A reason that is not in the list speaks for itself, addresses and all, but for folders.
            why = _FOLDERS.sub("", record["why"])[:200]
            failed[record.get("cause") or f"not explained: {why}"].append(test)
        if record["outcome"] == "skipped":
            skipped[record["why"] or "no reason given"] += 1
    out = {c.reason: named(c.matched) for c in results.categories if c.kind in (ABSENT, GPU) and c.matched}
    return {
        "failed": {why: named(tests) for why, tests in failed.items()},
        "not counted": out,
        "skipped": dict(skipped.most_common()),
    }


def record(results: Results) -> None:
    run = results.runs[-1]
    rows = by_file(results)
    gluon = any("gluon" in test for test in results.tests)
    share_of = f"{run['each']} of each function" if run["each"] else "all"
    build = releases.distribution_of(run["triton"])
    by = f"{build.name} " if build else ""
    key = ("gluon " if gluon else "") + by + results.name
    what = f"{'Gluon' if gluon else 'language'} at {run['level']}, {run['target']}, {share_of}" + (
        f" ({run['triton']})" if build else ""
    )
    folder = "triton/python/test/unit/language"
    if gluon:
        folder = f"build/gluon-tests/{'next/' if by == 'next ' else ''}gluon"
    figures = dict(zip([*COLUMNS, "passed of counted"], rows[-1][1:], strict=True))
    command = f"make conformance TESTS={folder}" + (f' ARGS="--release {build.name}"' if build else "")
    kept.record(
        "conformance", key, what, command, figures,
        machine=f"{kept.machine()}; Triton {run['triton']}, torch {run['torch']}", date=run["at"][:10],
        table={"columns": ["file", *figures], "rows": rows}, data=reasons(results),
    )  # fmt: skip


def passes(results: Results, test: str) -> bool:
    return results.tests.get(test, {}).get("outcome") == "passed"


def against(engine: Results, interpreter: Results) -> str:
    """On the tests that the interpreter ran and that are not its own conditions' to skip."""
    ran = {test for test, r in interpreter.tests.items() if r["outcome"] in ("passed", "failed", "crashed")}
    ran &= {test for test, r in engine.tests.items() if r["outcome"] not in ("skipped", "not run")}
    both = [sum(passes(results, test) for test in ran) for results in (engine, interpreter)]
    return f"of {len(ran)} tests {engine.name} passes {both[0]}, TRITON_INTERPRET=1 {both[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--interpreter", type=pathlib.Path)
    parser.add_argument("--categories", type=pathlib.Path, default=CATEGORIES)
    options = parser.parse_args()
    runs = [Results(path, options.categories) for path in options.results]
    if options.interpreter:
        print(against(runs[0], Results(options.interpreter, options.categories)))
        return 0
    for results in runs:
        record(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
