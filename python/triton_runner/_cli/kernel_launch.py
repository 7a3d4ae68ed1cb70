"""The launch that --arg, --constexpr and --grid describe, for all verbs that take kernel.py:name."""

from __future__ import annotations

from triton_runner._base.errors import fail
from triton_runner._settings.options import check_program


def launch_of(name: str, args, constexprs, grid: str | None):
    """kernel.py:name with its arguments, as a kernel.Given. Raises DiagnosticError where it lacks some."""
    # Most verbs do without what it loads.
    from triton_runner._artifact.shell_arguments import parse_argument
    from triton_runner._bits import kernel
    from triton_runner._cli.compile_command import constants

    check_program(name.rpartition(":")[0], False)
    check_launch(name, args, grid)
    values = [parse_argument(text) for text in args]
    return kernel.Given(name, values, grid, constants(constexprs, "--constexpr"))


def check_launch(name: str, args, grid: str | None) -> None:
    """Refuses a kernel without its arguments or its grid."""
    if not args or not grid:
        raise fail(
            f"{name} is a kernel, and needs a launch", "give its arguments (--arg) and its grid (--grid)"
        )
