"""Gives settings as options to verbs that launch, and does what such a verb needs before and after: the
settings come into force, and what launches noted is shown. The settings themselves are _settings."""

from __future__ import annotations

import dataclasses
import os

import click

from triton_runner import _settings
from triton_runner._programs.options import (
    check_settings,
    with_options,
)

LOOK = "triton_runner.look"  # of a command's context: the note on how to look at a trap


def _settings_option(field: dataclasses.Field):
    row = field.metadata["row"]
    kind = click.Choice(row.words) if row.words else type(field.default) if row.lowest is not None else None
    return click.option(f"--{field.name}", type=kind, help=row.says)


_SETTINGS_OPTIONS = [
    _settings_option(field)
    for field in dataclasses.fields(_settings.Settings)
    if field.metadata["row"].option
]


def settings_options(command):
    return with_options(_SETTINGS_OPTIONS, command)


program_option = click.option("--program", "only", help="Run only this program of each launch: 7, or 7,2,0.")


def apply_settings(**given) -> None:
    """Through the environment, so that processes which the program starts have them too."""
    for name, value in given.items():
        if value is not None:
            os.environ[f"TRITON_RUNNER_{name.upper()}"] = str(value)
    _settings.current()
    check_settings(given.get("level") or "")


def fault_status() -> int:
    """Shows what launches noted and went on after; 1 if there was anything."""
    from triton_runner._memory import fault_log, uninit

    summary = fault_log.summary()
    if summary:
        click.echo(summary, err=True)
    left = uninit.finish()
    for it in left:
        click.echo(f"[triton-runner] {'uninit' if it.used else 'warning'}: {it}", err=True)
    return int(bool(summary) or any(it.used for it in left))
