"""Writes tests/golden/release-ops.txt: of the dialects of ops.def, the ops that each release's parser knows.

    python tools/release_ops.py     # fetches the newest patch of every release that is not there yet

Names are those in the libraries of all releases and in ops.def: a compiler puts a short name into
instructions, where nobody finds it.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

from triton_runner._base.releases import parse_version, place
from triton_runner._pipeline import versions
from triton_runner.verbs.ops import run as ops

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))
from golden import ask_ops  # noqa: E402

NOT_KEPT = ("builtin", "tlx")  # what has no dialect in its name; a plug-in's
HEAD = """\
# Written by tools/release_ops.py: the ops that each release's parser knows, as what it adds and drops (-).
"""


def names_in(library: Path, dialects: set[str]) -> set[str]:
    """With pieces of other names, which no parser knows. A search for a literal dialect takes no time."""
    text = library.read_bytes()
    patterns = [rf"{dialect}\.[a-z][A-Za-z0-9_.]*(?=\0)".encode() for dialect in dialects]
    return {name.decode() for pattern in patterns for name in re.findall(pattern, text)}


def asked(folder: str, names: set[str]) -> set[str]:
    command = [sys.executable, ask_ops.__file__, folder]
    done = subprocess.run(command, input="\n".join(sorted(names)), capture_output=True, text=True)
    assert done.returncode == 0, f"{folder}: {done.stderr[-2000:]}"
    return set(done.stdout.split())


def main() -> None:
    own = str(place().parent)
    folders = {version: versions.ensure(version)[0] or own for version in versions.newest_patches()}
    table = [row for row in ops.table() if row["dialect"] not in NOT_KEPT]
    names = {one["name"] for row in table for one in (row, *row["old_names"]) if "{" not in one["name"]}
    dialects = {name.partition(".")[0] for name in names} | {old.rstrip(".") for old in ops.OLD_DIALECTS}
    dialects -= {"llvm"}  # its intrinsics are 17000
    for folder in folders.values():
        names |= names_in(Path(folder) / "triton" / "_C" / "libtriton.so", dialects)
    for old, new in ops.OLD_DIALECTS.items():
        names |= {old + name.removeprefix(new) for name in names if name.startswith(new)}
    text, before = HEAD, set()
    for version, folder in folders.items():
        here = asked(folder, names)
        words = [*sorted(here - before), *(f"-{name}" for name in sorted(before - here))]
        release = ".".join(map(str, parse_version(version)))
        line = f"{release}: {' '.join(words)}"
        text += textwrap.fill(line, 158, subsequent_indent="  ", break_on_hyphens=False) + "\n"
        before = here
    ask_ops.KEPT.write_text(text)


if __name__ == "__main__":
    main()
