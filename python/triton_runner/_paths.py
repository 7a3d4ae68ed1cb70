"""Places of files, and whether a file is a program."""

from __future__ import annotations

import os

from triton_runner._errors import fail
from triton_runner._levels import LEVELS


def get_file_dir(file: str) -> str:
    """The absolute folder that holds `file`: get_file_dir(__file__) is where the calling script lies."""
    return os.path.dirname(os.path.abspath(os.fspath(file)))


def check_program(file: str) -> None:
    """Refuses what is no Python program: a file that is not there, one that holds a kernel's level, a folder
    without a __main__.py."""
    if os.path.isdir(file):
        if not os.path.isfile(os.path.join(file, "__main__.py")):
            raise fail(f"{file} is a folder without a __main__.py", "name the program in it")
        return
    if not os.path.isfile(file):
        raise fail(f"no such file: {file}")
    if os.path.splitext(file)[1][1:] in LEVELS:
        raise fail(
            f"{file} holds a level of a kernel, and is no Python program",
            "`triton-runner exec` runs TTIR, TTGIR and PTX; triton_runner.load() launches any level",
        )
