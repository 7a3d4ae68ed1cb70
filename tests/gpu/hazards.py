"""Planted control words (tests/sass/hazards.json) on a GPU: which of them change its answer?

    python tests/gpu/hazards.py make FOLDER     with the assemblers, without a GPU
    python tests/gpu/hazards.py run FOLDER      on a GPU of sm_90; writes FOLDER/answers.json

make writes each kernel as ptxas made it and with its broken word. run launches both from the same inputs,
in a process of its own, as a broken word may hang or fault, ROUNDS times, and compares every byte with the
right kernel's first launch. A word that changes nothing is a hazard all the same: what it leaves open went
well this time. The exit status is 1 where a right kernel does not give the same bytes each time, which says
nothing of the words.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "sass"))

import control_words as planting  # noqa: E402

ROUNDS = 20
SECONDS = 90


def make(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in json.loads(planting.PLANTED.read_text()) if row["target"] == "sm_90a"]
    for number, row in enumerate(rows):
        cubin = planting.assembled(row["ptx"], row["ptxas"], row["target"])
        (folder / f"{number}-right.cubin").write_bytes(cubin)
        where = row["kernel"], row["address"], row["field"], row["value"]
        (folder / f"{number}-broken.cubin").write_bytes(planting.edited(cubin, *where))
    (folder / "words.json").write_text(json.dumps(rows))
    print(f"{len(rows)} words")
    return 0


def launched(path: Path, row: dict, device: str, rounds: int) -> list[str]:
    """The hash of what each launch of a cubin leaves in its arrays."""
    import numpy
    import triton_runner
    from triton_runner.verbs.assemble import inputs

    given = inputs.of_head(planting.source(row["ptx"]))
    kernel = triton_runner.load(path, name=row["kernel"], device=device, block=given.block)
    more = {} if given.shared is None else {"shared": given.shared}
    answers = []
    for _ in range(rounds):
        arguments = [
            on(value, device) if isinstance(value, numpy.ndarray) else value for value in given.arguments
        ]
        kernel[given.grid](*arguments, **more)
        left = [bytes_of(value) for value in arguments if not isinstance(value, (numpy.generic, type(None)))]
        answers.append(hashlib.sha256(b"".join(left)).hexdigest()[:16])
    return answers


def on(array, device: str):
    """An array's bytes on a device."""
    if device == "cpu":
        return array.copy()
    import torch

    return torch.from_numpy(array.view("u1").copy()).to(device)


def bytes_of(array) -> bytes:
    return array.tobytes() if hasattr(array, "tobytes") else array.cpu().numpy().tobytes()


def answer(folder: Path, number: int, kind: str, device: str, rounds: int) -> list[str] | str:
    """Returns what `one` prints of a kernel, or why it does not."""
    command = [sys.executable, __file__, "one", str(folder), "--number", str(number), "--kind", kind]
    command += ["--device", device, "--rounds", str(rounds)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "no end"
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[-200:]


def judged(row: dict, right: list[str] | str, broken: list[str] | str) -> dict:
    row = {**row, "answers": {"right": right, "broken": broken}}
    if not isinstance(right, list) or len(set(right)) != 1:
        return {**row, "state": "right kernel differs by itself"}
    if not isinstance(broken, list):
        return {**row, "state": "fault"}
    changed = sum(one != right[0] for one in broken)
    return {**row, "changed": changed, "state": "changed" if changed else "same"}


def run(folder: Path, device: str, rounds: int, jobs: int) -> int:
    rows, states = json.loads((folder / "words.json").read_text()), collections.Counter()
    asked = [(number, kind) for number in range(len(rows)) for kind in ("right", "broken")]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(lambda which: answer(folder, *which, device, rounds), asked))
    rows = [judged(*each) for each in zip(rows, answers[::2], answers[1::2], strict=True)]
    for number, row in enumerate(rows):
        states[row["state"]] += 1
        print(f"{number}: {row['kind']} in {row['ptx']} at {row['address']:#x}: {row['state']}", flush=True)
    (folder / "answers.json").write_text(json.dumps(rows, indent=1))
    print(", ".join(f"{count} {state}" for state, count in states.most_common()))
    return int("right kernel differs by itself" in states)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["make", "run", "one"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--jobs", type=int, default=6, help="processes at a time")
    parser.add_argument("--number", type=int)
    parser.add_argument("--kind")
    options = parser.parse_args()
    if options.what == "make":
        return make(options.folder)
    if options.what == "run":
        return run(options.folder, options.device, options.rounds, options.jobs)
    row = json.loads((options.folder / "words.json").read_text())[options.number]
    path = options.folder / f"{options.number}-{options.kind}.cubin"
    print(json.dumps(launched(path, row, options.device, options.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
