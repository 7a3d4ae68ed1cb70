"""Some parametrisations of each test function. As a plug-in of pytest: at most $SAMPLE_EACH of each, and no
test begins $SAMPLE_SECONDS after the first."""

import os
import time

import pytest

_BEGAN = pytest.StashKey[float]()


def sampled(items: list[pytest.Item], each: int) -> list[pytest.Item]:
    """At most `each` of the items of a function, evenly spaced; 0: all."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        groups.setdefault(item.nodeid.split("[")[0], []).append(item)
    chosen = []
    for members in groups.values():
        count = min(each or len(members), len(members))
        chosen += [members[i * len(members) // count] for i in range(count)]
    return chosen


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = sampled(items, int(os.environ["SAMPLE_EACH"]))
    kept = set(map(id, chosen))
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = chosen


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    began = item.config.stash.setdefault(_BEGAN, time.monotonic())
    if time.monotonic() - began > float(os.environ["SAMPLE_SECONDS"]):
        item.session.shouldstop = "the time limit"
