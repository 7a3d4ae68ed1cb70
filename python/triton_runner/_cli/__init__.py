"""The command line: all verbs (triton_runner.verbs), and what becomes of their errors.

Exit status: 0, 1 when what ran failed, 2 for bad usage or bad input, 130 when it was interrupted.
"""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import pkgutil

import click

from triton_runner._base import interrupts, releases
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, with_source
from triton_runner._cli import help
from triton_runner._programs.options import (
    verbs,
)
from triton_runner._programs.settings import LOOK
from triton_runner._settings import messages

_VERBS = "triton_runner.verbs"  # the command line finds each verb's room there and names none


class _Group(help.Group):
    """Bad input is a message and status 2, a kernel's fault a message and status 1; else a verb's function
    gives the status, or None for 0. A verb that is asked for is loaded alone."""

    @property
    def commands(self):
        return _load()

    @commands.setter
    def commands(self, commands):
        pass  # those of click's constructor: verbs has all

    def get_command(self, context, name):
        return _load(name).get(name)

    def invoke(self, context):
        messages.without_fusion_notice()
        with interrupts.watching():
            self._invoke(context)

    def _invoke(self, context):
        try:
            status = super().invoke(context)
        except DiagnosticError as error:
            click.echo(str(error), err=True)
            context.exit(error.status)
        except KernelTrap as error:
            click.echo(with_source(error, *context.meta.get(LOOK, [])), err=True)
            context.exit(1)
        except (ImportError, AttributeError) as error:
            if (reason := releases.missing(error)) is None:
                raise
            click.echo(str(fail(*reason)), err=True)
            context.exit(2)
        except OSError as error:
            if error.errno == errno.EPIPE:  # who read has gone, which click knows to be quiet about
                raise
            place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
            click.echo(f"error: {place}{error.strerror or error}", err=True)
            context.exit(2)
        except KeyboardInterrupt:
            interrupts.leave()
            context.exit(interrupts.STATUS)
        context.exit(int(status or 0))


def _load(name: str = "") -> dict:
    """The commands of verbs, after the room of this one was loaded, or every room."""
    rooms = [found.name for found in pkgutil.iter_modules(importlib.import_module(_VERBS).__path__)]
    for room in [name] if name in rooms else rooms:
        importlib.import_module(f"{_VERBS}.{room}.command")
    return verbs.commands


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="triton-runner", prog_name="triton-runner")
def main():
    """Run Triton kernels from any level of their compilation, on the CPU or a GPU."""


if __name__ == "__main__":
    main()
