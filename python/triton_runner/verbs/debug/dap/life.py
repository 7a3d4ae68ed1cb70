"""Answers requests of the beginning and the end: launch, configurationDone, terminate, disconnect."""

from __future__ import annotations

import os

from triton_runner import _settings
from triton_runner._base.errors import fail
from triton_runner.verbs.debug import target as targets
from triton_runner.verbs.debug.session import Session

# The attributes of the launch request, and how each is read.
LAUNCH = {
    "program": lambda a, name: a.text(name, ""),
    "module": lambda a, name: a.text(name, ""),
    "args": lambda a, name: a.texts(name, []),
    "cwd": lambda a, name: a.text(name, "") or os.getcwd(),
    "env": lambda a, name: a.environment(name),
    "level": lambda a, name: a.text(name, ""),
    "kernel": lambda a, name: a.text(name, ""),
    "focus": lambda a, name: a.program(name),
    "grid": lambda a, name: a.text(name, "") or None,
    "target": lambda a, name: a.text(name, "") or None,
    "check": lambda a, name: a.text(name, ""),
    "pretendCuda": lambda a, name: a.flag(name),
    "stopOnEntry": lambda a, name: a.flag(name),
}


def launch(adapter, arguments) -> dict:
    """Makes the session; the program runs once the editor has set its breakpoints."""
    if adapter.session is not None:
        raise fail("'launch' came a second time", "a session runs one program")
    what = {name: read(arguments, name) for name, read in LAUNCH.items()}
    adapter.settings = {"target": what["target"]}
    with _settings.using(check=what["check"] or None, **adapter.settings):
        session = _session(what, adapter.start_program)
    adapter.no_debug = arguments.flag("noDebug")
    adapter.stop_on_entry = what["stopOnEntry"]
    adapter.checks = [check for check in what["check"].split(",") if check]
    adapter.session = session
    adapter.change()
    name = adapter.program = what["module"] or os.path.abspath(what["program"])
    adapter.after(lambda: adapter.tell("initialized"))
    adapter.after(
        lambda: adapter.tell("process", name=name, systemProcessId=os.getpid(), startMethod="launch")
    )
    return {}


def _session(what: dict, start) -> Session:
    """The session of a program, in its folder and environment."""
    program, module = what["program"], what["module"]
    if bool(program) == bool(module):
        raise fail("the request 'launch' needs either a 'program' or a 'module'")
    if not os.path.isdir(what["cwd"]):
        raise fail(f"cwd: there is no folder {what['cwd']}")
    os.chdir(what["cwd"])
    for name, value in what["env"].items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    target = targets.of(
        module or os.path.abspath(program), what["args"], grid=what["grid"], is_module=bool(module),
        pretend_cuda=what["pretendCuda"],
    )  # fmt: skip
    return Session(target, what["level"], what["kernel"], what["focus"], start=start)


def attach(adapter, arguments) -> dict:
    raise fail(
        "a running program cannot be attached to: its launches are made anew for the debugger",
        "use the request 'launch' with the program",
    )


def configuration_done(adapter, arguments) -> dict:
    """The program runs now."""
    if adapter.has_begun:
        raise fail("'configurationDone' came a second time")
    session = adapter.session
    session.check = ",".join(dict.fromkeys([*adapter.checks, *adapter.filters]))
    if adapter.no_debug:
        adapter.points.clear()
        adapter.events.traps = False
    adapter.points.apply(session)
    adapter.has_begun = True
    begin = session.start if adapter.stop_on_entry and not adapter.no_debug else session.resume

    def begun():
        with _settings.using(**adapter.settings):  # the program has what is in force where it is begun
            return begin()

    adapter.go(begun)
    return {}


def terminate(adapter, arguments) -> dict:
    adapter.after(adapter.end)
    return {}


def disconnect(adapter, arguments) -> dict:
    adapter.after(adapter.leave)
    return {}


def cancel(adapter, arguments) -> dict:
    """Requests are answered in turn: there is none to cancel."""
    return {}
