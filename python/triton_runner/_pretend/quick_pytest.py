"""Runs, under pytest with --quick, each test function at the first of its parameters that it does not
skip."""

from __future__ import annotations

import pytest

from triton_runner._settings import quick_mode

_ran: set[str] = set()
_left_out: set[str] = set()


def _function(item) -> str:
    return item.nodeid.split("[")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _function(item) in _ran:
        _left_out.add(_function(item))
        pytest.skip("--quick: a test function runs at its first parameters")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    outcome = yield
    if not (outcome.excinfo and issubclass(outcome.excinfo[0], pytest.skip.Exception)):
        _ran.add(_function(item))


def pytest_unconfigure():
    if _left_out:
        quick_mode.say(f"{len(_left_out)} test functions ran at their first parameters only")
