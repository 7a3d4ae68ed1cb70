"""Tests variables of Python at PTX and in machine code, at each instruction of a program: what is shown is
what the program computes there, at PTX in that order."""

import debugged
import numpy
import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")
from triton_runner import _settings
from triton_runner._core import probe
from triton_runner.verbs.debug import target as targets
from triton_runner.verbs.debug.session import Session


def recorded(variables, name: str, program) -> dict:
    """The bytes of each value of a variable, one computation after the other, recorded in a run aside."""
    plan = variables.source.plan(name)
    if plan is None:
        return {}
    recorder = probe.RegisterRecorder(plan, True, [program], 1 << 30)
    variables._run("ptx", recorder)
    out = {}
    for series in recorder.take().series:
        data, count = numpy.ascontiguousarray(series.data).tobytes(), len(series.programs)
        size = len(data) // count
        out[series.site.value] = [data[i * size : (i + 1) * size] for i in range(count)]
    return out


def shown(session, names) -> dict:
    """Returns what stops show of each value, and how often a variable was there."""
    values, there, event = {}, 0, session.start()
    while event.event == "stopped":
        state = session.state
        for name in names:
            status, assignment = state._locate(name)
            if status != "there":
                continue
            array, mask = state.read_python(name)
            there += 1
            values.setdefault((name, assignment.site.value), []).append((array, mask))
        event = session.next_op()
    return values, there


def is_that(array, mask, data: bytes) -> bool:
    """Whether the elements that are there are those of a record, to the bit."""
    own, other = (numpy.frombuffer(d, "u1").reshape(array.size, -1) for d in (array.tobytes(), data))
    return bool((own == other)[... if mask is None else mask.ravel()].all())


@pytest.mark.parametrize(
    "kernel, level, program, names, least",
    [
        ("row_sums", "ptx", 1, ("acc", "x", "offsets", "mask", "start", "total"), 120),
        ("row_sums", "cubin", 1, ("offsets", "mask", "total"), 20),
        ("product", "ptx", 0, ("acc", "a", "b", "rows"), 100),
        ("product", "cubin", 0, ("acc", "a", "b", "rows"), 10),
    ],
)
def test_what_is_shown_is_what_is_computed(kernel, level, program, names, least):
    target, program = targets.of(debugged.main), [program, 0, 0]
    with (
        _settings.using(target="cuda:80"),
        Session(target, level=level, kernel=kernel, program=program) as session,
    ):
        session.start()
        records = {name: recorded(session._variables, name, program) for name in names}
        session.close()
    with (
        _settings.using(target="cuda:80"),
        Session(target, level=level, kernel=kernel, program=program) as session,
    ):
        values, there = shown(session, names)
    assert there >= least
    for (name, value), seen in values.items():
        computed, at = records[name][value], 0
        for array, mask in seen:
            if (
                level == "cubin"
            ):  # instructions of several iterations stand side by side where a loop was unrolled
                at = 0
            while at < len(computed) and not is_that(array, mask, computed[at]):
                at += 1
            assert at < len(computed), (name, value)
