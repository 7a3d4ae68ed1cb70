"""The pytest plug-in: `pytest --triton=cpu` runs the kernels of a test suite on the CPU and judges them.

pytest loads this module in every run of an environment that has the package, so it stands outside of it and
imports nothing of it, of Triton or of torch unless --triton is given: then
triton_runner.verbs.verify.pytest_plugin does the work.
"""

from __future__ import annotations

import argparse

import pytest

_NAME = "triton_runner_judging"
_MARKER = (
    "triton_check(checks): the checks of this test's kernels, in place of --triton-check; without any, they "
    "run and are not judged"
)


def pytest_addoption(parser):
    group = parser.getgroup("triton", "kernels of Triton (triton-runner)")
    group.addoption(
        "--triton", metavar="DEVICE", choices=("auto", "cpu", "cuda", "hip"),
        help="Run kernels on the CPU (cpu), or on a GPU (cuda, hip, auto), and judge each: a finding fails "
        "its test.",
    )  # fmt: skip
    group.addoption(
        "--triton-level", metavar="LEVEL", choices=("ttir", "ttgir", "llir", "ptx"),
        help="The level that the CPU executes and checks: ttir (the default), ttgir, llir or ptx.",
    )  # fmt: skip
    group.addoption(
        "--triton-check", metavar="CHECKS",
        help='What is looked for: "race,overflow", or "all"; by default oob,uninit,race,overflow.',
    )  # fmt: skip
    group.addoption("--triton-target", metavar="TARGET", help='The architecture: "cuda:90", "hip:gfx942".')
    group.addoption(
        "--triton-pretend-cuda", action="store_true", help='Tests that say device="cuda" get CPU tensors.'
    )
    group.addoption("--triton-strict", action="store_true", help="Warnings are faults.")
    group.addoption(
        "--triton-kernel", metavar="NAME", action="append", help="Judge this kernel only; may be repeated."
    )
    group.addoption(
        "--triton-launches", metavar="N", type=int, default=16,
        help="Largest number of different launches of a test to judge (default: 16).",
    )  # fmt: skip
    group.addoption(
        "--triton-prove", action="store_true",
        help="Prove of kernels, for every size, what triton-runner prove does; a refutation fails its test.",
    )  # fmt: skip
    group.addoption("--triton-sarif", metavar="FILE", type=_output, help="Write the findings as SARIF 2.1.0.")
    group.addoption(
        "--triton-github", action="store_true", help="Print the findings as annotations of GitHub."
    )


def _output(path: str) -> str:
    """A file that can be written."""
    from triton_runner._programs.options import Output

    try:
        return Output()(path)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("error: ")) from None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    _start(early_config, early_config.known_args_namespace)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.addinivalue_line("markers", _MARKER)
    _start(config, config.option)


def _start(config, options):
    """Before conftest.py and tests are imported, which may ask torch for a GPU."""
    if config.pluginmanager.has_plugin(_NAME):
        return
    if options.triton is None:
        given = {"level": "", "check": "", "target": "", "pretend_cuda": False, "strict": False, "kernel": "",
                 "sarif": "", "github": False, "prove": False}  # fmt: skip
        for name, default in given.items():
            if (getattr(options, f"triton_{name}") or default) != default:
                raise pytest.UsageError(
                    f"--triton-{name.replace('_', '-')} needs --triton, as in --triton=cpu"
                )
        return
    from triton_runner.verbs.verify import pytest_plugin

    config.pluginmanager.register(pytest_plugin.Plugin(options), _NAME)
