"""look() gives the command that runs a launch that stopped again, under the debugger."""

from __future__ import annotations

from triton_runner import _settings
from triton_runner._base import commands as shell_commands
from triton_runner._base.levels import executed, level_of_name

DEBUGGED = ("ttir", "ttgir", "ptx", "cubin", "amdgcn")


_SAME = ("device", "level", "target", "check", "threads")  # settings that the debugger has or can do without


def look(words: list[str], settings: dict, *others) -> list[str]:
    """The note that says which command stops at a trap: of a program or file with its arguments, launched
    with these settings. None where the debugger lacks one of them, or another option that was given."""
    target = settings.get("target") or _settings.DEFAULT_TARGET
    level = executed(_settings.current().level or "", target)
    if any(others) or any(value is not None and name not in _SAME for name, value in settings.items()):
        return []
    own = next(filter(None, map(level_of_name, words)), "")  # a file's name says its own
    runs = level or executed(own, target)
    if runs and runs not in DEBUGGED:
        return []
    options = {"--level": level, "--target": settings.get("target"), "--check": settings.get("check")}
    shown = [word for name, value in options.items() if value for word in (name, value)]
    return [f"to look at it: {shell_commands.shell('debug', *shown, *words)}"]
