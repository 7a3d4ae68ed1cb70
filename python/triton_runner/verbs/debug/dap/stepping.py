"""Answers requests that go on, or back. Each is answered at once; where the launch stops next is an event."""

from __future__ import annotations

from triton_runner._base.errors import fail

_GRANULARITIES = ("statement", "line", "instruction")


def go_on(adapter, arguments) -> dict:
    _go(adapter, arguments, adapter.session.resume)
    return {"allThreadsContinued": not arguments.flag("singleThread")}


def _go(adapter, arguments, command) -> None:
    """singleThread: the other threads of the program get no turn until it stops."""
    if arguments.flag("singleThread"):
        task, threads = adapter.events.thread(arguments.number("threadId"))
        adapter.go(lambda: adapter.session.alone(command, threads, task))
    else:
        adapter.go(command)


def over(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.next, adapter.session.next_op)


def into(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.step, adapter.session.next_op)


def out(adapter, arguments) -> dict:
    return _step(adapter, arguments, adapter.session.out, adapter.session.out)


def back(adapter, arguments) -> dict:
    """The program is run again as it ran, so that singleThread changes nothing."""
    adapter.go(_step_of(adapter, arguments, adapter.session.reverse_next, adapter.session.reverse_op))
    return {}


def _step(adapter, arguments, line, instruction) -> dict:
    stands = adapter.events.thread_of(adapter.stopped)
    if arguments.flag("singleThread") and arguments.number("threadId") != stands:
        raise fail(f"thread {stands} stands here, and alone can step", "'continue' runs another one")
    _go(adapter, arguments, _step_of(adapter, arguments, line, instruction))
    return {}


def _step_of(adapter, arguments, line, instruction):
    granularity = arguments.text("granularity", "statement")
    if granularity not in _GRANULARITIES:
        raise fail(f"granularity {granularity!r} is not one of {', '.join(_GRANULARITIES)}")
    by_instruction = granularity == "instruction" or not adapter.stopped.frames
    return instruction if by_instruction else line


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
