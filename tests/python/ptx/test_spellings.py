"""Each spelling that ptxas writes has a row, and does what the PTX does (tests/sass/spellings.py):
a sample of them, another one each day, and more in `make test PARTS=long`."""

import datetime
import json
import pathlib
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long  # the first run asks ptxas which of 29,000 instructions it takes
ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*arguments) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", ROOT / "tests/sass/spellings.py", *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_spellings_that_have_been_refused_once():
    only = "^(which|max|min|add.max|shl.9|shf.23|carry.shl.9|lea).*(s32|x2|9|23|number|add)$|^pack.u4"
    said = run("--ptxas", "12.9", "--target", "sm_90a", "--opt", "3", "--limit", 0, "--only", only)
    instructions, kernels = re.match(r"(\d+) of \d+ kernels\n(\d+) instructions", said).groups()
    assert int(instructions) >= 2 and int(kernels) >= 100, said


def test_a_sample_of_spellings():
    day = datetime.date.today().toordinal()
    assert int(re.match(r"(\d+) of", run("--seed", day, "--limit", 40))[1]) > 0


def test_many_spellings():
    day = datetime.date.today().toordinal()
    assert int(re.match(r"(\d+) of", run("--seed", day, "--limit", 500))[1]) > 0


def test_a_wrong_lowering_is_found(tmp_path):
    """The comparison itself: a kernel whose machine code is that of another PTX is different."""
    source = """
import sys
sys.path[:0] = [{sass!r}]
import json, spellings
from triton_runner.verbs.assemble import assemblers
kernel = [one for one in spellings.everything() if one.name in ("shl.9.add", "shl.9.sub")]
right = spellings.Kernel(kernel, assemblers.default(), "sm_90a", 3)
wrong = spellings.Kernel(kernel, assemblers.default(), "sm_90a", 3)
taken = wrong._taken
def other(batch):
    batch = taken(batch)
    text = wrong.text.replace("sub.s32", "add.s32")
    wrong.cubin, _ = assemblers.attempt(text, wrong.assembler, "sm_90a", 3)
    return batch
wrong._taken = other
print(json.dumps([right.run(), wrong.run()]))
"""
    program = tmp_path / "program.py"
    program.write_text(source.format(sass=str(ROOT / "tests" / "sass")))
    done = subprocess.run([sys.executable, "-W", "ignore", program], capture_output=True, text=True)
    right, wrong = json.loads(done.stdout.splitlines()[-1])
    assert {name: how for name, (how, _) in right.items()} == {"shl.9.add": "equal", "shl.9.sub": "equal"}
    assert {name: how for name, (how, _) in wrong.items()} == {"shl.9.add": "equal", "shl.9.sub": "different"}
