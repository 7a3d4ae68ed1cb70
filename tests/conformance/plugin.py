"""pytest plug-in that runs Triton's own tests, unmodified, with the CPU as Triton's device.

run.py starts the processes. Each takes its share of the tests that have no outcome yet, writes a JSON line
when a test starts and one when it ends, and a last one when it has no more to do: what a process that dies
leaves open is the crash. Settings come as a file of JSON, whose path is in the environment variable
CONFORMANCE (run.py).
"""

import contextlib
import faulthandler
import gc
import json
import os
import pathlib
import re
import sys
import time

import pytest
from sampling import sampled

SETTINGS = json.loads(pathlib.Path(os.environ["CONFORMANCE"]).read_text())
STDERR = os.dup(2)  # pytest redirects 2 itself
FREEZE_EVERY = 250
WHY = 600  # characters of a failure that are kept

if SETTINGS["module"] != "triton":
    from triton_runner._base import renamed

    renamed.prefer(SETTINGS["site"], SETTINGS["module"])

if not SETTINGS["interpreter"]:
    import triton_runner  # noqa: F401  (importing it makes the CPU Triton's device)

    if SETTINGS["pretend_cuda"]:
        from triton_runner import _pretend

        _pretend.install()

    if SETTINGS["kept"]:
        import kept_llir

        kept_llir.install(SETTINGS["kept"])


def write(record: dict) -> None:
    """One line, in one system call, so that several processes can share the file."""
    line = json.dumps({**record, "worker": SETTINGS["shard"][0]}) + "\n"
    with open(SETTINGS["results"], "a") as file:
        file.write(line)


def finished() -> set[str]:
    """The tests that need not run again."""
    with contextlib.suppress(FileNotFoundError), open(SETTINGS["results"]) as file:
        outcomes = {r["test"]: r["outcome"] for r in map(json.loads, file) if "test" in r}
        return {test for test, outcome in outcomes.items() if outcome not in SETTINGS["again"]}
    return set()


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be imported is a failed test: nothing in it is passed over in silence."""
    if report.failed and SETTINGS["shard"][0] == 0:
        lines = str(report.longrepr).splitlines()
        errors = [line[1:].strip() for line in lines if line.startswith("E ")] or lines
        why = " ".join(errors[-3:])
        why = f"the file cannot be imported: {why}"[:WHY]
        write({"test": report.nodeid, "outcome": "failed", "why": why})


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = sampled(items, SETTINGS["each"])
    if SETTINGS["only"]:
        with open(SETTINGS["only"]) as file:
            only = set(file.read().split("\n"))
        chosen = [item for item in chosen if item.nodeid in only]
    number, of = SETTINGS["shard"]
    if number == 0:
        write({"collected": [item.nodeid for item in chosen]})
    done = finished()
    mine = {id(item) for i, item in enumerate(chosen) if i % of == number and item.nodeid not in done}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in mine])
    items[:] = [item for item in items if id(item) in mine]
    # Triton's fixture collects garbage after every test; what is alive now will stay so.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item):
    if time.time() > SETTINGS["until"]:
        item.session.shouldstop = "the time limit"
        return True
    write({"test": item.nodeid, "outcome": "started", "at": time.time()})
    # Ends the process, with a traceback in the log: the engine may be in native code.
    faulthandler.dump_traceback_later(SETTINGS["timeout"], exit=True, file=STDERR)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        item.session.conformance_count = getattr(item.session, "conformance_count", 0) + 1
        if item.session.conformance_count % FREEZE_EVERY == 0:
            gc.freeze()


def why_failed(error: pytest.ExceptionInfo, tests: str) -> tuple[str, str]:
    """Returns what an exception and its causes say, and the last line of the test file on its way."""
    parts, value = [], error.value
    while value is not None and len(parts) < 3:
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(value))
        said = " | ".join(line.strip() for line in text.splitlines() if line.strip())
        said = said if len(said) <= WHY else f"{said[: WHY // 2]} ... {said[-WHY // 2 :]}"
        parts.append(f"{type(value).__name__}: {said}" if said else type(value).__name__)
        value = value.__cause__
    lines = [entry.lineno + 1 for entry in error.traceback if str(entry.path) == tests]
    return " <- ".join(parts), f"line {lines[-1]}" if lines else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    record = {"test": item.nodeid, "outcome": report.outcome, "why": "", "seconds": round(call.duration, 3)}
    if report.skipped:
        if hasattr(report, "wasxfail"):
            record["why"] = f"expected to fail: {report.wasxfail}"
        elif isinstance(report.longrepr, tuple):
            record["why"] = report.longrepr[2].removeprefix("Skipped: ")
    elif report.failed and call.excinfo is not None:
        record["why"], record["where"] = why_failed(call.excinfo, str(item.path))
    # A test is its call; set-up and tear-down only count where they do not pass.
    if report.when == "call" or report.outcome != "passed":
        write(record)
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not sys.is_finalizing():
        write({"ended": True, "stopped": bool(session.shouldstop)})
