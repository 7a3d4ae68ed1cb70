"""Runs `triton-runner bisect --torch`: which releases of torch, and what becomes of the verdict."""

from __future__ import annotations

import functools
import importlib.util
import json

import click

from triton_runner._base.errors import fail
from triton_runner._base.paths import write_file
from triton_runner._base.progress import telling
from triton_runner._base.typed import as_json
from triton_runner._pipeline import torch_releases, versions
from triton_runner._programs.ci import of_torch, write_ci
from triton_runner._programs.options import is_program
from triton_runner.verbs.bisect import torch_search, torch_text
from triton_runner.verbs.bisect.runs import BisectedProgram, Release
from triton_runner.verbs.bisect.torch_results import TorchFound

_STATUS = {"right": 0, "rounding": 0, "random": 0, "not compiled": 125, "unknown": 125}


def check(program: str, others: list[str]) -> None:
    """Refuses what --torch does not take. others: the options that are for something else."""
    if others:
        raise fail(
            f"--torch takes no {others[0]}", "it judges a program; --torch-versions names releases of torch"
        )
    if not is_program(program):
        raise fail(f"--torch takes a program with torch.compile, and not {program}")
    if importlib.util.find_spec("torch") is None:
        raise fail("--torch needs torch, which is not installed", "pip install torch")


def found(program: BisectedProgram, wanted: str | None, say) -> TorchFound:
    """The verdict in each of the releases of torch that are wanted; by default in the installed one."""
    names = torch_releases.expand(wanted)
    releases = [(name, functools.partial(_release, name)) for name in names]
    return torch_search.bisect_torch(program, releases, say)


def _release(version: str, program: BisectedProgram, say) -> Release:
    if torch_releases.find(version) is None:
        say(f"torch {version}: it is fetched")
    folder, python = torch_releases.ensure(version)
    triton = torch_releases.triton_of(folder) or versions.installed()
    if triton is None:
        raise fail(f"torch {version} needs Triton, which is not installed")
    return Release(triton, program, say, version, (folder, python))


def run(program: BisectedProgram, wanted: str | None, file: str | None, ci: dict) -> int:
    """Prints the verdict and writes the files; the exit status."""
    with telling("bisect", bar=True) as report:
        result = found(program, wanted, lambda text, done=None: report(text, *(done or ())))
    written = json.dumps(as_json(result), indent=2)
    if file == "-":
        click.echo(written)
    else:
        click.echo(torch_text.page(result, program.name))
        if file:
            write_file(file, written + "\n")
    status = _STATUS.get(result.verdict, 1)
    write_ci(lambda version: of_torch(result, status, version), **ci, aside=file == "-")
    return status
