"""The answers to what a stranger mistypes, a file a verb (verbs/VERB.txt, below the line that
test_json_output.py reads):

    $ triton-runner exec kernel.ttir --grid x
    error: --grid 'x' is not one to three numbers
    note: as in: 4, or 4,2,1

Each command ends with status 2 within a second of CPU and prints its lines, which say what is wrong and what
to do, and no traceback. `python tests/python/cli/test_mistakes.py VERB` (or no verb, for all) writes the
lines anew: read the difference. /here is the folder that a command runs in, RELEASE the installed one.
"""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "helpers"))  # for who writes the files
import warm

triton = pytest.importorskip("triton")
pytest.importorskip("torch")
from triton_runner._cli import main  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parents[2] / "examples/exec"
PROMPT = "$ triton-runner "
LEAST = 200  # commands in all files
VERBS = sorted(path.stem for path in (HERE / "verbs").glob("*.txt"))
ADD = """import torch, triton, triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x, y = tl.load(x_ptr + at, mask=mask), tl.load(y_ptr + at, mask=mask)
    tl.store(out_ptr + at, x + y, mask=mask)


def main():
    x, out = torch.ones(64), torch.empty(64)
    add_kernel[(1,)](x, x, out, 64, BLOCK=64)


if __name__ == "__main__":
    main()
"""
NOISE = bytes(range(256)) * 4


@contextlib.contextmanager
def folder():
    """The folder that commands run in."""
    with tempfile.TemporaryDirectory() as name:
        here = pathlib.Path(os.path.realpath(name))
        for level in ("ttir", "ptx"):
            shutil.copy(EXAMPLES / f"add_kernel.{level}", here / f"kernel.{level}")
        (here / "add.py").write_text(ADD)
        (here / "broken.py").write_text("import triton\n\ndef add_kernel(:\n    pass\n")
        (here / "plain.py").write_text("print('no kernel')\n")
        for name in ("empty.ttir", "empty.ptx"):
            (here / name).write_text("")
        for name in ("noise.ttir", "noise.trcase", "kernel.cubin"):
            (here / name).write_bytes(NOISE)
        for name in ("notes.txt", "notes.npy"):
            (here / name).write_text("Remember the milk.\n")
        for name in ("folder", "empty"):
            (here / name).mkdir()
        yield here


def open_line(verb: str) -> str:
    """Returns the first line of a verb's file: its use with --json."""
    return (HERE / "verbs" / f"{verb}.txt").read_text().partition("\n")[0]


def cases(verb: str) -> list[tuple[str, str]]:
    """(command, what it prints) of each mistake."""
    first, *parts = (HERE / "verbs" / f"{verb}.txt").read_text().split(f"\n{PROMPT}")
    assert first.strip() == open_line(verb), first
    return [
        (command, answer.rstrip("\n") + "\n") for command, _, answer in (p.partition("\n") for p in parts)
    ]


def asked(command: str, here: pathlib.Path):
    """(what it prints, how it ended) of a command."""
    done = warm.cli(*shlex.split(command), cwd=here, variables={"COLUMNS": "100"})
    text = (done.stdout + done.stderr).replace(str(here), "/here")
    text = re.sub(r"note: builds of others: .*\n", "", text)  # those that this machine has
    return text.replace(triton.__version__, "RELEASE"), done


def test_every_verb_is_here():
    assert set(VERBS) == set(main.list_commands(None))
    assert sum(len(cases(verb)) for verb in VERBS) >= LEAST


@pytest.mark.parametrize("verb", VERBS)
def test_mistakes(verb):
    wrong = []
    seconds = max(1.0, 25 * warm.cli("--version").seconds)  # of CPU: a slow machine takes longer for all
    with folder() as here:
        before = {path.name for path in here.iterdir()}
        for command, expected in cases(verb):
            text, done = asked(command, here)
            if text != expected:
                wrong.append(f"{PROMPT}{command}\n{text}instead of\n{expected}")
            assert done.returncode == 2, (command, done)
            assert "Traceback" not in text and "error: " in text, (command, text)
            assert done.seconds < seconds, (command, done.seconds)
        assert {path.name for path in here.iterdir()} == before
    assert not wrong, "\n".join(wrong)


def write(verb: str) -> None:
    """Writes what the commands of a file print now; says which are not as the test wants them."""
    with folder() as here:
        parts = [open_line(verb) + "\n"]
        for command, _ in cases(verb):
            text, done = asked(command, here)
            if done.returncode != 2 or done.seconds > 0.8 or "Traceback" in text or "error: " not in text:
                print(f"{command}: status {done.returncode}, {done.seconds:.2f} s", flush=True)
            parts.append(f"{PROMPT}{command}\n{text}")
    (HERE / "verbs" / f"{verb}.txt").write_text("\n".join(parts))
    print(verb, len(parts) - 1, flush=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or VERBS:
        write(name)
