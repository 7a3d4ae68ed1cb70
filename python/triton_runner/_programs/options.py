"""Has the options that all verbs share: --json, programs and their words, options of the form NAME=VALUE; and
the group `verbs`, in which each verb says where help lists it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys

import click

from triton_runner import _settings
from triton_runner._base import commands, drawing
from triton_runner._base.levels import ENDINGS, HOLDERS
from triton_runner._base.paths import check_output, check_there
from triton_runner._base.typed import as_json
from triton_runner._settings import devices


class ProgramOrFile(click.Command):
    """A command whose first argument is a program, to which all words after it belong, or something else (a
    case, a level of a kernel, kernel.py:name, a folder), around which options stand in any order. Words after
    a program that are options of this command are told on stderr, unless "--" stands before the program.
    taken_after: options with a value that the command takes right after the program too."""

    taken_after: tuple[str, ...] = ()

    def parse_args(self, context, args):
        context.allow_interspersed_args = False
        first, rest = [param.name for param in self.params if isinstance(param, click.Argument)]
        taken = self.make_parser(context).parse_args([*args])[0]
        what, after = taken.get(first), taken.get(rest)
        if isinstance(what, str) and isinstance(after, (list, tuple)) and after:
            before = args[: len(args) - len(after) - 1]
            if not is_program(what) and not taken.get("is_module"):
                context.allow_interspersed_args = True
            elif "--" not in before:
                own = next(
                    (i for i in range(0, len(after), 2) if after[i] not in self.taken_after), len(after)
                )
                args = [*before, *after[:own], what, *after[own:]]
                self._tell(what, after[own:])
        left = super().parse_args(context, args)
        if isinstance(what, str) and what.endswith(".trcase") and context.params.get(rest):
            surplus = " ".join(map(str, context.params[rest]))
            raise click.UsageError(f"{what} is a case, which takes no arguments: {surplus}", context)
        return left

    def _tell(self, program: str, after) -> None:
        names = {name for param in self.params if isinstance(param, click.Option) for name in param.opts}
        own = dict.fromkeys(word.partition("=")[0] for word in after)
        if not program.endswith(".py"):
            own.pop("-m", None)  # an interpreter's own: cuda python -m pytest
        if own := [word for word in own if word in names]:
            verbs = "stands after {0} and goes" if len(own) == 1 else "stand after {0} and go"
            click.echo(
                f"triton-runner: {' and '.join(own)} {verbs.format(program)} to the program; options of "
                f"{commands.PROGRAM} stand before it",
                err=True,
            )


def is_program(what: str) -> bool:
    """Returns whether a first argument is a Python program, and not a file of a kernel, kernel.py:name or a
    folder without a __main__.py."""
    if os.path.isdir(what):
        return os.path.isfile(os.path.join(what, "__main__.py"))
    return not re.search(rf"\.(trcase|{'|'.join((*ENDINGS, *HOLDERS))})$|\.py:[\w.]+$", what)


def check_program(program: str, is_module: bool) -> None:
    """Refuses a program that is not there. Modules are looked for where they run."""
    if not is_module and not os.path.isfile(os.path.join(program, "__main__.py")):
        check_there(program)


def check_settings(level: str = "") -> None:
    """Refuses, before any work, settings under which no launch can run: a device that is not here, a level
    that the device does not execute, an architecture that the installed Triton does not compile for."""
    target = _settings.current().target
    if devices.resolved_device() == "cpu":
        with _settings.using(level=level or None):
            devices.cpu_target()
    if target and importlib.util.find_spec("triton") is not None:
        try:
            from triton_runner._pipeline import targets  # it imports Triton

            targets.make_target(target)
        except ImportError:
            pass  # a Triton that does not load is told by who needs it


class Output(click.ParamType):
    """A file or a folder that a command writes, refused before its work where it cannot be written. ending:
    the one that the file's name has to have. takes_stdout: "-" is the standard output."""

    name = "path"

    def __init__(self, is_folder: bool = False, ending: str = "", takes_stdout: bool = False):
        self.is_folder, self.ending, self._takes_stdout = is_folder, ending, takes_stdout

    def convert(self, value, param, context):
        if self.ending and not value.endswith(self.ending) and not value.startswith("/dev/"):
            self.fail(f"{value!r} is written as {self.ending[1:].upper()}: end its name in {self.ending}")
        if value != "-" or not self._takes_stdout:
            check_output(value, self.is_folder)
        return value


class Picture(Output):
    """A picture that a command draws. own: the kinds that it draws without matplotlib."""

    def __init__(self, own: tuple[str, ...] = ()):
        super().__init__()
        self._own = own

    def convert(self, value, param, context):
        value = super().convert(value, param, context)
        if drawing.kind_of(value) not in self._own:
            drawing.check_picture(value)
        return value


class Verbs(click.Group):
    """All verbs. Each says where the first page of help has it: under the title `group`, at this `place`
    there; first: (place, what it is for) among those that people begin with."""

    def command(self, name, *, group: str = "", place: int = 0, first: tuple = (), **keywords):
        return self._placed(super().command(name, **keywords), group, place, first)

    def group(self, name, *, group: str = "", place: int = 0, first: tuple = (), **keywords):
        return self._placed(super().group(name, **keywords), group, place, first)

    def _placed(self, decorate, group: str, place: int, first: tuple):
        def placed(function):
            command = decorate(function)
            command.listed = (group, place, first)
            return command

        return placed


verbs = Verbs()
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
pretend_option = click.option(
    "--pretend-cuda", is_flag=True, help='Scripts that say device="cuda" get CPU tensors.'
)
module_option = click.option("-m", "is_module", is_flag=True, help="PROGRAM is a module, as for python -m.")


def with_options(options, command):
    """The command with these options, in the order of its help."""
    for option in reversed(options):
        command = option(command)
    return command


def print_json(value) -> None:
    click.echo(json.dumps(as_json(value), indent=2, default=str))


def print_result(result, is_json: bool, show) -> None:
    """A result as JSON, or as show(result) prints it or gives its text."""
    if is_json:
        print_json(result)
    elif (text := show(result)) is not None:
        click.echo(text)


@contextlib.contextmanager
def prints_aside(as_json: bool):
    """While a program runs: what it prints goes to stderr where stdout is for JSON alone, and what libraries
    print (a GPU's printf) too."""
    if not as_json:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def pairs(texts, option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """{name: text after the first "="} of an option that may be repeated. Raises UsageError."""
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"{option} {text}: expected {form}")
        options[name] = value
    return options
