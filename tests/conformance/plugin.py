"""pytest plug-in that runs Triton's own tests, unmodified, on CPU tensors with the driver of this package.

Picks evenly spaced parametrisations of every test function, stops at a deadline, and writes one JSON line
a test. Settings come in environment variables (run.py starts the process): CONFORMANCE_RESULTS (a file),
CONFORMANCE_EACH (parametrisations a function; 0: all), CONFORMANCE_UNTIL (time.time() at which to stop).
"""

import json
import os
import time

import pytest
import triton_runner  # noqa: F401  (importing it makes the CPU Triton's device)


def group_of(item: pytest.Item) -> str:
    """The test function, without its parameters."""
    return f"{item.path.name}::{getattr(item, 'originalname', None) or item.name}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    each = int(os.environ.get("CONFORMANCE_EACH", "0"))
    if each == 0:
        return
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if any(mark.name == "interpreter" for mark in item.iter_markers()) or not config.option.markexpr:
            groups.setdefault(group_of(item), []).append(item)
    chosen = set()
    for members in groups.values():
        count = min(each, len(members))
        chosen |= {id(members[i * len(members) // count]) for i in range(count)}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]


def write(record: dict) -> None:
    with open(os.environ["CONFORMANCE_RESULTS"], "a") as file:
        file.write(json.dumps(record) + "\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    if time.time() > float(os.environ.get("CONFORMANCE_UNTIL", "inf")):
        write({"group": group_of(item), "test": item.nodeid, "outcome": "not run", "why": "the time limit"})
        return True
    # Known until the report comes: a test that takes the process down leaves this line as its last.
    write({"group": group_of(item), "test": item.nodeid, "outcome": "started", "why": ""})
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = (yield).get_result()
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        why = ""
        if report.skipped and isinstance(report.longrepr, tuple):
            why = report.longrepr[2]
        elif report.failed and call.excinfo is not None:
            lines = str(call.excinfo.value).strip().splitlines()
            why = f"{call.excinfo.typename}: {lines[0] if lines else ''}"
        outcome = "skipped" if report.skipped else report.outcome
        write({"group": group_of(item), "test": item.nodeid, "outcome": outcome, "why": why[:300]})
