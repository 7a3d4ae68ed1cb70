"""Follows doc/agents.md by a script: judges ten broken kernels as a program that writes kernels would, and
finds for each what the page promises: a status from its table, and a line or an element, with advice.
`python tests/judge/follow.py`"""

import json
import pathlib
import subprocess
import sys
import tempfile

import answers_planted
from answers_planted import TASKS

NAMES = (
    "gelu: mask dropped", "softmax: off by one", "softmax: one row less", "layer_norm: other stride",
    "total: no atomic update", "total: no ticket", "matmul: last step left out",
    "cross_entropy: wrong neutral element", "attention: no scale", "transpose: not transposed",
)  # fmt: skip
STATUSES = {1: "wrong", 3: "unsafe"}


def followed(name: str, task: str, text: str) -> dict:
    """Returns what a program learns of a broken kernel. Raises AssertionError: the page promises more."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder) / f for f in ("task.py", "answer.py")]
        files[0].write_text(TASKS[task])
        files[1].write_text(text)
        own = [sys.executable, "-m", "triton_runner", "judge", "--json", "--no-generated"]
        done = subprocess.run([*own, *map(str, files)], capture_output=True, text=True)
    row = json.loads(done.stdout)
    first = row["faults"][0]
    assert STATUSES.get(done.returncode) == row["verdict"], (name, row["verdict"], row["why"])
    assert first["advice"] and (first.get("line") or any(one.get("element") for one in row["faults"])), row
    return first


def main() -> int:
    found = {name: (task, text) for name, task, text in answers_planted.ANSWERS}
    for name in NAMES:
        first = followed(name, *found[name])
        place = f"line {first['line']}" if first.get("line") else f"element {first.get('element')}"
        print(f"{name}: {first['verdict']}, {place}: {first['advice']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
