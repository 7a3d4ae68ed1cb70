"""Reads the words of a command that name a program with its arguments, a case, a file of a kernel, or
kernel.py:name, with the options that say how it is compiled or launched."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect

import click

from triton_runner._base.errors import fail
from triton_runner._code import sources
from triton_runner._pipeline.constants import constant
from triton_runner._programs.options import (
    check_program,
    is_program,
    json_option,
    module_option,
    pairs,
    pretend_option,
    with_options,
)


@dataclasses.dataclass(frozen=True)
class Program:
    """The first word of a command and what belongs to it. args, constexprs, grid: of kernel.py:name."""

    name: str
    arguments: tuple = ()
    is_module: bool = False
    pretend_cuda: bool = False
    args: tuple = ()
    constexprs: tuple = ()
    grid: str | None = None

    @property
    def words(self) -> tuple:
        """As who runs programs takes it."""
        return self.name, list(self.arguments), self.is_module, self.pretend_cuda

    @property
    def is_program(self) -> bool:
        return self.is_module or is_program(self.name)

    def check(self) -> None:
        """Refuses a program that is not there."""
        check_program(self.name, self.is_module)

    def run(self) -> int:
        """The exit status of the program. A kernel that was not compiled is explained."""
        from triton_runner._kernel.compiling import failures
        from triton_runner._pretend.running import run_program

        return run_program(*self.words, explained=failures.explained)

    def values(self) -> list:
        """The arguments of the launch. Raises DiagnosticError where they or the grid are missing."""
        from triton_runner._artifact.shell_arguments import parse_argument

        if not self.args or not self.grid:
            advice = "give its arguments (--arg) and its grid (--grid)"
            raise fail(f"{self.name} is a kernel, and needs a launch", advice)
        return [parse_argument(text) for text in self.args]

    def given(self):
        """The launch of kernel.py:name."""
        from triton_runner._programs.command_launch import CommandLaunch  # with NumPy

        check_program(self.name.rpartition(":")[0], False)
        return CommandLaunch(self.name, self.values(), self.grid, constants(self.constexprs, "--constexpr"))

    def launch(self):
        """Launches kernel.py:name: a function without arguments."""
        from triton_runner._programs.command_launch import launching

        _, named, launch = launching(self.given())
        return functools.partial(launch, **named)


def constants(texts, option: str) -> dict:
    """The constants of NAME=VALUE by name."""
    return {name: constant(text) for name, text in pairs(texts, option).items()}


_KERNEL_OPTIONS = (
    click.option(
        "--signature", "-s",
        help='Types in order: "*fp32:16, i32, 128" (T:16: a multiple of 16; T:1: it is 1).',
    ),
    click.option(
        "--constexpr", "-c", "constexprs", multiple=True, help="NAME=VALUE: 64, True, text, tl.float16."
    ),
    click.option("--target", "-t", help='The architecture: "cuda:90", "hip:gfx942".'),
    click.option(
        "--option", "-O", "options", multiple=True, help="NAME=VALUE of Triton's options: num_warps=8."
    ),
)  # fmt: skip
release_option = click.option("--triton", "release", help="The release: 3.4.0 (default: the installed one).")


def kernel_options(function):
    """The options that say how a command's kernel is compiled, which the command takes as `how`: the keywords
    of compile()."""

    @functools.wraps(function)
    def command(signature, constexprs, target, options, **others):
        how = {
            "signature": signature, "constexprs": constants(constexprs, "--constexpr") or None,
            "target": target, "options": constants(options, "--option"),
        }  # fmt: skip
        _check_signature(others.get("kernel", ""), signature, how["constexprs"])
        return function(how=how, **others)

    return with_options(_KERNEL_OPTIONS, command)


def _check_signature(kernel: str, signature: str | None, constexprs: dict | None) -> None:
    """Refuses types that do not fit the parameters of kernel.py:name, as far as its text tells them: before
    the file runs, which takes seconds."""
    file, _, name = kernel.rpartition(":")
    if not sources.is_source(file):
        return  # who runs it says what is wrong
    functions = [node for node in sources.nodes(file, ast.FunctionDef) if node.name == name]
    if len(functions) != 1 or not functions[0].decorator_list or functions[0].args.vararg:
        return
    from triton_runner._worker import job, signatures

    try:
        signatures.signature_of(_Declared(functions[0]), signature, constexprs, None)
    except job.Refused as refused:
        raise fail(refused.message, *refused.notes) from None


class _Declared:
    """A kernel as its text declares it, for signature_of()."""

    def __init__(self, node: ast.FunctionDef):
        self.__name__ = node.name
        arguments = [*node.args.posonlyargs, *node.args.args]
        kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        defaults = [none] * (len(arguments) - len(node.args.defaults)) + node.args.defaults
        only = [*zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
        self.params = [_Parameter(one) for one in (*arguments, *node.args.kwonlyargs)]
        self.fn = lambda: None
        self.fn.__signature__ = inspect.Signature(
            [
                inspect.Parameter(one.arg, kind, default=default)
                for one, default in zip(arguments, defaults, strict=True)
            ]
            + [
                inspect.Parameter(one.arg, inspect.Parameter.KEYWORD_ONLY, default=default or none)
                for one, default in only
            ]
        )


class _Parameter:
    def __init__(self, node: ast.arg):
        self.name = node.arg
        self.is_constexpr = node.annotation is not None and "constexpr" in ast.unparse(node.annotation)


_OF_KERNEL = ("args", "constexprs", "grid")


def program_arguments(function):
    """--pretend-cuda, -m, --json, PROGRAM and the words after it; the command takes a Program, which has
    launch_options() too where the command has these."""

    @functools.wraps(function)
    def command(program, arguments, is_module, pretend_cuda, **options):
        of_kernel = {name: options.pop(name) for name in _OF_KERNEL if name in options}
        return function(program=Program(program, arguments, is_module, pretend_cuda, **of_kernel), **options)

    words = (click.argument("program"), click.argument("arguments", nargs=-1, type=click.UNPROCESSED))
    return with_options((pretend_option, module_option, json_option, *words), command)


_LAUNCH_OPTIONS = (
    click.option(
        "--arg", "--args", "args", multiple=True,
        help="For a kernel: an argument, once for each parameter in order, as for exec.",
    ),
    click.option("--constexpr", "-c", "constexprs", multiple=True, help="For kernel.py:NAME: NAME=VALUE."),
    click.option(
        "--grid",
        help='For a kernel: the programs: 4, or for kernel.py:NAME "cdiv(M, BLOCK), 2" over parameters.',
    ),
)  # fmt: skip


def argument_options(command):
    """--arg and --grid alone, for a command whose kernel_options() have the constants."""
    return with_options((_LAUNCH_OPTIONS[0], _LAUNCH_OPTIONS[2]), command)


def launch_options(command):
    """The options that say how kernel.py:name is launched, for commands that take programs too."""
    return with_options(_LAUNCH_OPTIONS, command)
