"""Judges all right, cheating and planted answers, and counts the verdicts: `python
tests/judge/run.py --write` writes results/judge.json."""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import answers_cheating
import answers_planted
import answers_right
from triton_runner.verbs.judge import run
from triton_runner.verbs.judge.trial import Options

RESULTS = pathlib.Path(__file__).resolve().parents[2] / "results" / "judge.json"


def judged(answers, tasks: dict, jobs: int, seconds: float) -> list:
    """(name, row) of each answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = []
        for task, text in tasks.items():
            (folder / f"{task}.py").write_text(text)
        for number, (_, task, text) in enumerate(answers):
            (folder / f"answer{number}.py").write_text(text)
            lines.append(f"{task}.py answer{number}.py")
        (folder / "manifest").write_text("\n".join(lines))
        rows = run.judge_all(str(folder / "manifest"), str(folder / "out"), jobs, Options(seconds=seconds))
    return [(name, row) for (name, _, _), row in zip(answers, rows, strict=True)]


def summary(rows: list) -> dict:
    """Counts by verdict, and CPU seconds of a trial."""
    seconds = sorted(row.cost.total for _, row in rows)
    counts = collections.Counter(row.verdict for _, row in rows)
    generated = collections.Counter(row.generated.verdict for _, row in rows if row.generated)
    return {
        "answers": len(rows), "verdicts": dict(counts.most_common()),
        "generated": dict(generated.most_common()),
        "cpu_seconds": {"median": seconds[len(seconds) // 2], "sum": round(sum(seconds), 1)},
    }  # fmt: skip


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--write", action="store_true")
    chosen = options.parse_args()
    right = judged(answers_right.ANSWERS, answers_right.TASKS, chosen.jobs, chosen.seconds)
    cheating = judged(answers_cheating.ANSWERS, answers_cheating.TASKS, chosen.jobs, chosen.seconds)
    planted = judged(answers_planted.ANSWERS, answers_planted.TASKS, chosen.jobs, chosen.seconds)
    kinds: dict = collections.defaultdict(collections.Counter)
    for name, row in planted:
        kinds[name.split(": ")[1]][row.verdict] += 1
    result = {
        "right": summary(right), "cheating": summary(cheating), "planted": summary(planted),
        "planted by kind": {kind: dict(counts) for kind, counts in sorted(kinds.items())},
        "not found": [name for name, row in planted if row.verdict == "verified"],
        "verified though they cheat": [name for name, row in cheating if row.verdict == "verified"],
        "called wrong though right": {
            name: row.why for name, row in right if row.verdict not in ("verified", "not_judged")
        },
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if chosen.write:
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    return int(bool(result["verified though they cheat"] or result["called wrong though right"]))


if __name__ == "__main__":
    sys.exit(main())
