"""The commands that messages, notes and generated scripts print; each is made here.

    shell("debug", "--grid", "1", "x.ptx")    triton-runner debug --grid 1 x.ptx
    install("plot")                           pip install '/path/to/triton-runner[plot]'

Words in capitals (KERNEL, PROGRAM) stand for what the reader puts there. A test runs the command of each
call, and refuses a command that is written elsewhere (tests/python/cli/test_printed_commands.py).
"""

from __future__ import annotations

import os
import shlex

PROGRAM = "triton-runner"
# The package index has another project under this name: the one that this project began as.
SOURCE = "/path/to/triton-runner"
WHAT_IS_THERE = (
    "a checkout of this project, or a wheel of it; the package index has another project of that name"
)


# The release that `versions run` runs this process with: commands that it prints need it too.
RELEASE = "TRITON_RUNNER_RELEASE"


def shell(*words) -> str:
    """triton-runner with these words, as a shell reads it."""
    release = os.environ.get(RELEASE) if words[0] != "versions" else None
    with_release = ["versions", "run", release] if release else []
    return shlex.join([PROGRAM, *with_release, *map(str, words)])


def install(*extras: str, beside: tuple[str, ...] = ()) -> str:
    """How this project is installed, beside other packages."""
    source = SOURCE + (f"[{','.join(extras)}]" if extras else "")
    return shlex.join(["pip", "install", *beside, source])
