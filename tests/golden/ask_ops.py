"""Prints those of the ops on its input that a release's parser knows, and reads the list kept of them.

    python tests/golden/ask_ops.py [FOLDER] < names    # of the Triton in the folder, or the installed one

An op is asked for in its own syntax, with nothing after its name: an op that is known says what it lacks. In
the generic form the dialects of ROCDL and NVVM take any name.
"""

import contextlib
import importlib
import os
import sys
import tempfile
import types
from pathlib import Path

KEPT = Path(__file__).with_name("release-ops.txt")
UNKNOWN = (b"is unknown", b"not found for")


def kept() -> dict[tuple[int, ...], set[str]]:
    """The ops of each release, by its first two numbers: what the one before has, added and dropped (-)."""
    ops, here = {}, set()
    for line in KEPT.read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            release, _, line = line.partition(":")
            here = ops[tuple(map(int, release.split(".")))] = set(here)
        dropped = {word[1:] for word in line.split() if word.startswith("-")}
        here |= {word for word in line.split() if not word.startswith("-")}
        here -= dropped
    return ops


def context_of(libtriton, ir):
    context = ir.context()
    ir.load_dialects(context)
    for name in ("nvidia", "amd", "proton"):
        with contextlib.suppress(ImportError, AttributeError):
            part = getattr(libtriton, name, None) or importlib.import_module(f"{libtriton.__name__}.{name}")
            part.load_dialects(context)
    return context


def main(folder: str = "") -> None:
    if folder:  # without Triton's own __init__, which needs more than the library
        package = sys.modules["triton"] = types.ModuleType("triton")
        package.__path__ = [f"{folder}/triton"]
    libtriton = importlib.import_module("triton._C.libtriton")
    context = context_of(libtriton, libtriton.ir)
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "asked.mlir"
        errors = os.open(f"{scratch}/errors", os.O_RDWR | os.O_CREAT | os.O_APPEND)
        os.dup2(errors, 2)
        for name in sys.stdin.read().split():
            text.write_text(f"module {{ tt.func public @k() {{ {name}\n tt.return }} }}")
            begin = os.fstat(errors).st_size
            with contextlib.suppress(Exception):
                libtriton.ir.parse_mlir_module(str(text), context)
            said = os.pread(errors, 1 << 16, begin)
            if not any(words in said for words in UNKNOWN):
                print(name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
