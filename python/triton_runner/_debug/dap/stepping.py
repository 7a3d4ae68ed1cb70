"""Requests that go on, or back. Each is answered at once; where the launch stops next is an event."""

from __future__ import annotations

from triton_runner._base.errors import fail

_GRANULARITIES = ("statement", "line", "instruction")


def go_on(adapter, arguments) -> dict:
    adapter.go(adapter.session.resume)
    return {"allThreadsContinued": True}


def over(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.next, adapter.session.next_op)


def into(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.step, adapter.session.next_op)


def out(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.out, adapter.session.out)


def back(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.reverse_next, adapter.session.reverse_op)


def _step(adapter, arguments, line, instruction) -> dict:
    granularity = arguments.text("granularity", "statement")
    if granularity not in _GRANULARITIES:
        raise fail(f"granularity {granularity!r} is none of {', '.join(_GRANULARITIES)}")
    adapter.go(instruction if granularity == "instruction" or not adapter.stopped.frames else line)
    return {}


def go_back(adapter, arguments) -> dict:
    adapter.go(adapter.session.reverse_resume)
    return {}


def pause(adapter, arguments) -> dict:
    if adapter.has_ended:
        raise fail("the program has ended")
    if not adapter.has_begun:
        raise fail("the program has not started")
    if adapter.is_running:
        adapter.pause()
    return {}
