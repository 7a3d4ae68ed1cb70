"""Places of files."""

from __future__ import annotations

import os


def get_file_dir(file: str) -> str:
    """The absolute folder that holds `file`: get_file_dir(__file__) is where the calling script lies."""
    return os.path.dirname(os.path.abspath(os.fspath(file)))
