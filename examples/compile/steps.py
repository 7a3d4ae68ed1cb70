"""The examples of this folder share these functions."""

import os
import re
from pathlib import Path


def compared(name: str, result, expected, tolerance: float) -> None:
    """Says the largest difference, and ends the program where it is too large."""
    difference = (result.float() - expected.float()).abs().max().item()
    print(f"{name}: largest difference {difference:.2g}")
    if not difference <= tolerance:
        raise SystemExit(f"{name}: more than {tolerance}")


def edited(kernel: str, before: str, after: str) -> str:
    """The TTIR of a kernel that was launched, from Triton's cache, with the first `before` (a regular
    expression) as `after`."""
    cache = Path(os.environ.get("TRITON_CACHE_DIR") or Path.home() / ".triton" / "cache")
    newest = max(cache.rglob(f"{kernel}.ttir"), key=lambda file: file.stat().st_mtime)
    text, count = re.subn(before, after, newest.read_text(), count=1)
    if count == 0:
        raise SystemExit(f"{newest} has no {before}")
    return text
