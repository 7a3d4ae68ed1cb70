"""pytest under --quick: each test function runs at the first of its parameters that it does not skip."""

from __future__ import annotations

import pytest

from triton_runner import _quick

_ran: set[str] = set()


def _function(item) -> str:
    return item.nodeid.split("[")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _function(item) in _ran:
        pytest.skip("--quick: a test function runs at its first parameters")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    outcome = yield
    if not (outcome.excinfo and issubclass(outcome.excinfo[0], pytest.skip.Exception)):
        _ran.add(_function(item))
        if "[" in item.nodeid:
            _quick.say("test functions run at their first parameters")
