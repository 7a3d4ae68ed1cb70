"""Answers per core and hour: right and faulty answers to tasks in KernelBench's form, judged by this tool
with all checks and by ttsem, one at a time, from one manifest. Verdicts and CPU seconds are kept in
results/judge.json:

    python tests/judge/throughput.py --ttsem VENV/bin/python
    python tests/judge/throughput.py --ttsem VENV/bin/python --planted ROWS.jsonl [--minutes 50]

The second one judges the answers of answers_planted.py in a shuffled order, as many as there is time for.
ROWS keeps what ttsem said of each, so that a run that was stopped goes on; then this tool judges the same.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import answers_planted
import answers_right
import run as judging

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import results

RIGHT = (
    "gelu 256 8", "softmax 256 1", "softmax online 32", "layer norm 128", "rms norm 256", "cumsum 128",
    "matmul 32 32 32 , input_precision=\"ieee\"", "total 1024", "transpose 32", "attention 32 64",
)  # fmt: skip
FAULTY = (
    "gelu: mask dropped", "softmax: one row less", "layer_norm: other stride", "total: no atomic update",
    "transpose: not transposed",
)  # fmt: skip
MODEL = """

class Model(torch.nn.Module):
    def forward(self, *given):
        return reference(*given)


def get_inputs():
    return list(inputs())


def get_init_inputs():
    return []
"""
ANSWER = """

class ModelNew(torch.nn.Module):
    def forward(self, *given):
        return reference(*given)
"""


def write(folder: pathlib.Path) -> list[str]:
    """Writes the tasks and answers in KernelBench's form and both manifests; gives the answers' names."""
    chosen = [one for one in answers_right.ANSWERS if one[0] in RIGHT]
    chosen += [one for one in answers_planted.ANSWERS if one[0] in FAULTY]
    lines = []
    for number, (_, task, text) in enumerate(chosen):
        (folder / f"{task}.py").write_text(in_kernelbench(task))
        (folder / f"answer{number}.py").write_text(text + ANSWER)
        lines.append({"id": str(number), "task": f"{task}.py", "answer": f"answer{number}.py"})
    (folder / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return [name for name, _, _ in chosen]


def judged(command: list, folder: pathlib.Path, out: str) -> tuple[list[str], float]:
    """The verdicts in the manifest's order, and the CPU seconds of all."""
    before = os.times()
    words = [*command, "--manifest", "manifest.jsonl", "--out", out, "--jobs", "1"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    rows = (folder / out / "rows.jsonl").read_text().splitlines()
    rows = {os.path.basename(row["answer"]): row["verdict"] for row in map(json.loads, rows)}
    if not rows:
        sys.exit(done.stdout + done.stderr)
    return [rows[f"answer{number}.py"] for number in range(len(rows))], seconds


def judged_by_ttsem(python: str, folder: pathlib.Path, count: int) -> tuple[list[str], float]:
    """The same by ttsem, of the first answers one by one. Its sandbox is left out, as the CPU time of what
    bubblewrap runs is not told to its parent, and so is its limit of the clock, as this machine is busy."""
    lines = (folder / "manifest.jsonl").read_text().splitlines()[:count]
    rows = [by_ttsem(python, folder, line["task"], line["answer"], 3000) for line in map(json.loads, lines)]
    return [verdict for verdict, _ in rows], sum(seconds for _, seconds in rows)


def by_ttsem(python: str, folder: pathlib.Path, task: str, answer: str, limit: int) -> tuple[str, float]:
    """ttsem's verdict on one answer, or "none", and its CPU seconds."""
    with tempfile.TemporaryFile("w+") as said:
        words = [python, "-m", "ttsem", "judge", task, answer, "--json", "--no-sandbox"]
        child = subprocess.Popen([*words, "--timeout", str(limit)], stdout=said, cwd=folder)
        _, _, used = os.wait4(child.pid, 0)
        said.seek(0)
        text = said.read()
    row = json.loads(text) if text.strip() else {"verdict": "none"}
    verdict = row["verdict"] if "verdict" in row else row["scaled"]["verdict"]
    return verdict, used.ru_utime + used.ru_stime


def planted_by_ttsem(python: str, kept: pathlib.Path, minutes: float) -> list[dict]:
    """The rows of planted answers, each {"n": its number, "verdict", "cpu"}: those that are kept, and more
    until the time is over."""
    rows = [*map(json.loads, kept.read_text().splitlines())] if kept.exists() else []
    order, until = [*range(len(answers_planted.ANSWERS))], time.monotonic() + 60 * minutes
    random.Random(1).shuffle(order)
    with tempfile.TemporaryDirectory() as name, kept.open("a") as file:
        folder = pathlib.Path(name)
        done = {row["n"] for row in rows}
        for number in (one for one in order if one not in done):
            if time.monotonic() > until:
                break
            called, task, text = answers_planted.ANSWERS[number]
            (folder / f"{task}.py").write_text(in_kernelbench(task))
            answer = text if "class ModelNew" in text else text + ANSWER
            (folder / "answer.py").write_text(answer)
            verdict, seconds = by_ttsem(python, folder, f"{task}.py", "answer.py", 3000)
            rows.append({"n": number, "name": called, "task": task, "verdict": verdict, "cpu": seconds})
            file.write(json.dumps(rows[-1]) + "\n")
            file.flush()
    return rows


def in_kernelbench(task: str) -> str:
    """The text of a task in KernelBench's form."""
    text = answers_planted.TASKS[task]
    return text if "class Model" in text else text.replace(", device='cuda'", "") + MODEL


def compare_planted(python: str, kept: pathlib.Path, minutes: float) -> None:
    """Keeps what ttsem and this tool say of the same planted answers."""
    rows = planted_by_ttsem(python, kept, minutes)
    answers = [answers_planted.ANSWERS[row["n"]] for row in rows]
    own = judging.judged(answers, answers_planted.TASKS, 1, 20.0)
    data, figures = {}, {}
    said = {
        "ttsem judge": ([row["verdict"] for row in rows], sum(row["cpu"] for row in rows)),
        "`judge`": ([row.verdict for _, row in own], sum(row.cost.total for _, row in own)),
    }
    for called, (verdicts, seconds) in said.items():
        counts = collections.Counter(verdicts)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        figures[called] = f"{told}; {seconds / len(verdicts):.1f} s of CPU time each"
        data[called] = dict(counts)
    what = f"{len(rows)} of {len(answers_planted.ANSWERS)} right answers with one fault planted"
    command = "python tests/judge/throughput.py --planted ROWS.jsonl"
    results.record("judge", "ttsem planted", what, command, figures, data=data)
    print(json.dumps(figures, indent=1))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ttsem", help="a Python that has ttsem")
    options.add_argument("--first", type=int, default=4, help="how many answers ttsem judges")
    options.add_argument("--no-own", action="store_true", help="keep this tool's figures as they are")
    options.add_argument(
        "--planted", type=pathlib.Path, help="judge planted answers; the rows are kept there"
    )
    options.add_argument("--minutes", type=float, default=50.0, help="of ttsem's planted answers")
    chosen = options.parse_args()
    if chosen.planted:
        compare_planted(chosen.ttsem, chosen.planted, chosen.minutes)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        names = write(folder)
        before = results.read("judge").get("throughput", {"figures": {}, "data": {}})
        figures, data = {**before["figures"]}, {**before["data"], "answers": names}
        if not chosen.no_own:
            own = [sys.executable, "-m", "triton_runner", "judge"]
            keep("`judge`", *judged(own, folder, "out"), figures, data)
        if chosen.ttsem:
            keep("ttsem judge", *judged_by_ttsem(chosen.ttsem, folder, chosen.first), figures, data)
    record(names, figures, data)
    return 0


def keep(called: str, verdicts: list[str], seconds: float, figures: dict, data: dict) -> None:
    """Adds what a judge said."""
    an_hour = round(3600 * len(verdicts) / seconds)
    counts = collections.Counter(verdicts)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    figures[called] = f"{an_hour} answers per core and hour ({seconds / len(verdicts):.1f} s each): {told}"
    data[called] = {"verdicts": verdicts, "cpu_seconds": round(seconds, 1)}
    print(called, figures[called], flush=True)


def record(names: list[str], figures: dict, data: dict) -> None:
    what = f"{len(names)} answers to tasks in KernelBench's form, 10 right and 5 faulty; ttsem: the first"
    results.record("judge", "throughput", what, "python tests/judge/throughput.py", figures, data=data)


if __name__ == "__main__":
    sys.exit(main())
