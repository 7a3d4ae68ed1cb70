"""Judges right, cheating and planted answers, and keeps the counts in results/judge.json:
`python tests/judge/run.py [right cheating planted] [--first N] [--jobs N]`. Exit status 1: an answer that
cheats or has a fault was verified and nothing in its row says why, or a right one called wrong."""

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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import results

SETS = {"right": answers_right, "cheating": answers_cheating, "planted": answers_planted}
WHAT = {
    "right": "right answers to tasks, as `judge` calls them",
    "cheating": "answers that cheat, each in another way, as `judge` calls them",
    "planted": "right answers with one fault planted, as `judge` calls them",
}


def written(folder: pathlib.Path, name: str, text: str) -> str:
    """Writes a task and returns the name of its file; BackendBench's are text files."""
    path = folder / f"{name}{'.txt' if text.startswith('Operator:') else '.py'}"
    path.write_text(text)
    return path.name


def judged(answers, tasks: dict, jobs: int, seconds: float, say=lambda text: None) -> list:
    """(name, row) of each answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = []
        for number, (_, task, text) in enumerate(answers):
            (folder / f"answer{number}.py").write_text(text)
            lines.append(f"{written(folder, task, tasks[task])} answer{number}.py")
        (folder / "manifest").write_text("\n".join(lines))
        options = Options(seconds=seconds)
        rows = run.judge_all(str(folder / "manifest"), str(folder / "out"), jobs, options, say)
    return [(name, row) for (name, _, _), row in zip(answers, rows, strict=True)]


def record(key: str, rows: list, words: str) -> None:
    """Keeps the counts of a set, and by kind of fault those of planted ones."""
    seconds = sorted(row.cost.total for _, row in rows)
    counts = collections.Counter(row.verdict for _, row in rows)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    middle = seconds[len(seconds) // 2]
    kinds: dict = collections.defaultdict(collections.Counter)
    for name, row in rows:
        kinds[name.partition(": ")[2] if key == "planted" else name][row.verdict] += 1
    data = {
        "kinds": {kind: dict(verdicts) for kind, verdicts in sorted(kinds.items())},
        "cpu_seconds": {"median": round(middle, 2), "sum": round(sum(seconds), 1)},
        "generated": dict(collections.Counter(row.generated.verdict for _, row in rows if row.generated)),
    }  # fmt: skip
    figures = {"result": f"{len(rows)}: {told}; {middle:.1f} s of CPU time each (median)"}
    results.record("judge", key, WHAT[key], f"python tests/judge/run.py {words}", figures, data=data)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("sets", nargs="*", choices=[*SETS, []], default=[*SETS])
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--first", type=int)
    options.add_argument("--seconds", type=float, default=20.0)
    chosen = options.parse_args()
    amiss = []
    for key in chosen.sets:
        answers = SETS[key].ANSWERS[: chosen.first]
        rows = judged(answers, SETS[key].TASKS, chosen.jobs, chosen.seconds)
        record(key, rows, f"{key} --first {chosen.first}" if chosen.first else key)
        fine = ("verified", "not_judged")
        known = answers_planted.VERIFIED if key == "planted" else {}
        for name, row in rows:
            if key == "planted" and row.verdict == "verified" and _is_told(row, known.get(name, "")):
                continue
            if (row.verdict in fine) != (key == "right") and row.verdict != "not_judged":
                amiss.append((key, name, row.verdict, row.why))
    print(json.dumps(amiss, indent=1))
    return int(bool(amiss))


def _is_told(row, why: str) -> bool:
    """Whether what a verified answer is verified in spite of stands in its row."""
    generated = row.generated.verdict if row.generated else ""
    is_noted = any("rounds more often" in note for note in row.notes)
    return generated == "wrong" or is_noted or "right for this task" in why


if __name__ == "__main__":
    sys.exit(main())
