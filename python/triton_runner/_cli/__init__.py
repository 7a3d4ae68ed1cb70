"""Runs the command line: finds all verbs (triton_runner.verbs), and decides what becomes of their errors.

Exit status: 0, 1 when what ran failed, 2 for bad usage or bad input, 130 when it was interrupted."""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.util
import os
import pkgutil
import sys

import click

from triton_runner import _core
from triton_runner._base import interrupts, progress, releases
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, with_source
from triton_runner._cli import help
from triton_runner._core.probe import nearest_names
from triton_runner._programs.options import ProgramOrFile, verbs
from triton_runner._programs.settings import LOOK
from triton_runner._settings import messages
from triton_runner._worker import spelling

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

    def parse_args(self, context, args):
        with _one_style(context):
            return super().parse_args(context, args)

    def resolve_command(self, context, args):
        name, command, rest = super().resolve_command(context, args)
        context.with_resource(_spelled(command.params))
        # Verbs that execute a program leave stderr to it, but for lines of their own; those of "" only speak.
        speaks = command.listed[0] == "execute" and isinstance(command, ProgramOrFile)
        if command.listed[0] and not speaks:
            context.with_resource(progress.lines(name, progress.begin_of_process()))
        return name, command, rest

    def invoke(self, context):
        messages.without_fusion_notice()
        with interrupts.watching():
            self._invoke(context)

    def _invoke(self, context):
        try:
            with _one_style(context):
                status = super().invoke(context)
            sys.stdout.flush()  # a reader that has gone and a full disk are said here
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


@contextlib.contextmanager
def _one_style(context):
    """Bad usage reads as every other error does."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        command = error.ctx or context
        verb = "" if command.parent or not context.invoked_subcommand else f" {context.invoked_subcommand}"
        text, near = error.format_message(), []
        if isinstance(error, click.NoSuchOption):
            text = f"No such option '{error.option_name}'"
            options = [param for param in command.command.params if isinstance(param, click.Option)]
            names = sorted({name for option in options for name in option.opts})
            near = [f"did you mean {name}?" for name in nearest_names(error.option_name, names)]
        told = fail(text.rstrip("."), *near, f"{command.command_path}{verb} --help says what it takes")
        click.echo(str(told), err=True)
        context.exit(error.exit_code)


# Options that Python calls otherwise than the parameters of commands.
_IN_PYTHON = {
    "metadata": ("metadata_json",), "kernel": ("name",), "variants": ("signature", "constexprs"),
    "file": ("aliases",),
}  # fmt: skip


@contextlib.contextmanager
def _spelled(params):
    """Messages name options as this command does."""
    before, names = spelling.names, {}
    for param in params:
        for option in (max(param.opts, key=len),) if isinstance(param, click.Option) else ():
            keyword = option.lstrip("-").replace("-", "_")
            names |= dict.fromkeys((param.name, keyword, *_IN_PYTHON.get(keyword, ())), option)
    spelling.names = names
    _core.name_options(names)
    try:
        yield
    finally:
        spelling.names = before
        _core.name_options(before)


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
