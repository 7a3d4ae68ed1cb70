"""Judges published answers to TritonBench, and keeps the counts in results/judge.json:

    git clone https://github.com/thunlp/TritonBench          # Apache 2.0; or the git folder of a mirror
    python tests/judge/audit.py TritonBench --model output_claude-3-5-sonnet-20240620_comp --first 40

Each answer is also run as the benchmark runs it, without a check, in a sandbox, and its results are compared
with those of the benchmark's own code: recall is the part of the answers with other results that is not
`verified`, and an alarm is a verdict other than that on one with the same results, to be looked at by hand:
reading beside an array changes no result, and is a fault all the same. Tasks are taken by size of their
text, the smallest first. Nothing of the benchmark is kept here.
"""

import argparse
import collections
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import traceback

from triton_runner._base import scratch as folders
from triton_runner.verbs.judge import processes, run, sandbox, wire
from triton_runner.verbs.judge.trial import Options

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from suite import extract, results

_FOLDER, _INDEX, _ANSWERS = "data/TritonBench_G_v1", "data/TritonBench_G_v1.json", "LLM_generated"
_BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)
_FINE = ("verified", "not_judged")
_NEAR = 1e-3  # as the benchmark prints numbers


def unpack(bench: str, model: str, folder: pathlib.Path) -> pathlib.Path:
    """Writes the parts of the benchmark that are needed; gives the file of the model's answers."""
    listed = ["git", "-C", bench, "ls-tree", "-r", "--name-only", "HEAD", _ANSWERS]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()
    chosen = [name for name in names if name.endswith(f"/{model}.jsonl") and "Bench_G" in name]
    if not chosen:
        sys.exit(f"no answers of {model}; there are {', '.join(pathlib.Path(n).stem for n in names)}")
    words = ["git", "-C", bench, "archive", "HEAD", _FOLDER, _INDEX, chosen[0]]
    archive = subprocess.run(words, capture_output=True).stdout  # what a mirror lacks is another part
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        extract(packed, folder)
    return folder / chosen[0]


def chosen(folder: pathlib.Path, file: pathlib.Path, first: int) -> list[tuple[str, str]]:
    """(the task's file, the text of the answer), the smallest tasks first."""
    index = json.loads((folder / _INDEX).read_text())
    found = []
    for line in file.read_text().splitlines():
        item = json.loads(line)
        label = re.sub(r"<\|(im_end|EOT)\|>", "", item["label"])
        name = next((one["file"] for one in index if label.strip() and label.strip() in one["output"]), None)
        if name is not None:
            blocks = _BLOCK.findall(item["predict"])
            found.append((name, blocks[-1] if blocks else re.sub(r"<\|\w+\|>", "", item["predict"])))
    size = lambda one: (folder / _FOLDER / one[0]).stat().st_size  # noqa: E731
    return sorted(found, key=size)[:first]


def main_of_plain(read: int, write: int, scratch: str, task: str, answer: str, seconds: float) -> None:
    """Runs both with the tests of the task, without a check, and tells how the results compare."""
    import torch

    sandbox.enter(scratch, seconds, 8 << 30, is_alone=True)
    gold, tests = re.split(r"^#{40,}\s*$", task, maxsplit=1, flags=re.MULTILINE)
    found = []
    for number, text in enumerate((gold, answer)):
        path = os.path.join(scratch, f"plain{number}.py")
        pathlib.Path(path).write_text(text)
        names = {"__name__": "plain", "__file__": path}
        try:
            exec(compile(text, path, "exec"), names)
            torch.manual_seed(7)  # here, as an answer may draw numbers when it is loaded
            exec(compile(tests, "tests", "exec"), names)
            found.append(names["result_gold"])
        except BaseException as error:
            why = f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"
            told = "the benchmark's own code fails" if number == 0 else "fails"
            wire.send(write, {"say": told, "why": why, "trace": traceback.format_exc()[-800:]})
            return
    wire.send(write, {"say": "same" if is_near(*found) else "differs", "why": ""})


def is_near(want, got) -> bool:
    """Whether two results are the same as far as the benchmark looks."""
    import torch

    if isinstance(want, torch.Tensor):
        if not isinstance(got, torch.Tensor) or want.shape != got.shape:
            return False
        want, got = want.detach(), got.detach()
        if not (want.is_floating_point() or want.is_complex()):
            return bool((want == got).all())
        return torch.allclose(want.double(), got.double(), _NEAR, _NEAR, equal_nan=True)
    if isinstance(want, dict):
        return (
            isinstance(got, dict)
            and want.keys() == got.keys()
            and all(is_near(want[k], got[k]) for k in want)
        )
    if isinstance(want, (list, tuple)):
        return len(want) == len(got) and all(map(is_near, want, got))
    return want == got or (isinstance(want, float) and abs(want - got) <= _NEAR * (1 + abs(want)))


def plain(task: str, answer: str, seconds: float) -> dict:
    """Returns how the results of an answer compare with the benchmark's."""
    with folders.folder("judge") as scratch:
        process = processes.Process(
            "plain", main_of_plain, scratch, task, answer, seconds, patience=3 * seconds + 60
        )
        try:
            text, _ = process.hear()
            return text
        except wire.Gone:
            process.end(gently=False)
            return {"say": "no end", "why": process.how_ended}
        finally:
            process.end()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("bench")
    options.add_argument("--model", required=True)
    options.add_argument("--first", type=int, default=184)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--seconds", type=float, default=30.0)
    options.add_argument("--keep", help="a folder for the manifest and the rows, to look at")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(asked.keep or name)
        folder.mkdir(parents=True, exist_ok=True)
        answers = chosen(folder, unpack(asked.bench, asked.model, folder), asked.first)
        lines = []
        for number, (task, text) in enumerate(answers):
            (folder / f"answer{number}.py").write_text(text)
            lines.append(f"{_FOLDER}/{task} answer{number}.py")
        (folder / "manifest").write_text("\n".join(lines))
        judging = Options(seconds=asked.seconds)
        say = lambda text: print(text, file=sys.stderr, flush=True)  # noqa: E731
        rows = run.judge_all(str(folder / "manifest"), str(folder / "out"), asked.jobs, judging, say)
        processes.load()
        beside = []
        for number, ((task, text), row) in enumerate(zip(answers, rows, strict=True)):
            kept = folder / f"plain{number}.json"
            if not kept.is_file():  # beside the rows, which are not made again either
                kept.write_text(json.dumps(plain((folder / _FOLDER / task).read_text(), text, asked.seconds)))
            truth = json.loads(kept.read_text())
            beside.append((task, truth["say"], row))
            print(task, truth["say"], row.verdict, row.why[:150], truth["why"][:80], sep=" | ", flush=True)
    record(asked, beside)


def record(asked, beside: list) -> None:
    """Keeps the counts: verdicts by what the results are without checks."""
    table = collections.defaultdict(collections.Counter)
    for _, truth, row in beside:
        table[truth][row.verdict] += 1
    faulty = [row for _, truth, row in beside if truth in ("differs", "fails", "no end")]
    caught = sum(row.verdict not in _FINE for row in faulty)
    missed = [
        task for task, truth, row in beside if truth in ("differs", "fails") and row.verdict == "verified"
    ]
    alarms = [f"{task}: {row.verdict}" for task, truth, row in beside
              if truth == "same" and row.verdict not in _FINE]  # fmt: skip
    figures = {"answers": len(beside), "faulty": len(faulty), "caught": caught, "missed": len(missed),
               "alarms where results are the same": len(alarms)}  # fmt: skip
    data = {"verdicts": {truth: dict(verdicts) for truth, verdicts in sorted(table.items())},
            "missed": missed, "alarms": alarms}  # fmt: skip
    words = f"python tests/judge/audit.py TritonBench --model {asked.model} --first {asked.first}"
    what = f"published answers of {asked.model} to TritonBench G, the {asked.first} smallest tasks"
    results.record("judge", f"TritonBench {asked.model}", what, words, figures, data=data)


if __name__ == "__main__":
    main()
