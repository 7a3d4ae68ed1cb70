"""A plan of compiler passes for every kernel that this process compiles for the CPU: what bisection changes
in a program that it runs. recorder.py says what a plan holds."""

from __future__ import annotations

from triton_runner._compiler.recorder import Recorder

in_force: dict | None = None
# What is done to every kernel whatever the plan: faults that a test plants.
planted: dict = {}
# A Recorder each of the kernels compiled since the plan is in force.
recorded: list[Recorder] = []


def wrap(stages: dict, backend) -> Recorder | None:
    """Puts the plan in force around the stages of a backend; None without one."""
    if in_force is None:
        return None
    recorder = Recorder({**in_force, **planted}, keep="none")
    recorder.wrap(stages, backend)
    recorded.append(recorder)
    return recorder


def stop_in(recorder: Recorder | None, module, stages: dict, metadata: dict):
    """The module where the plan stops: in one of the stages given, which stand behind the level executed, if
    it did not stop before."""
    if recorder is None or recorder.stop is None:
        return module
    for stage in stages.values():
        if recorder.stopped is not None:
            break
        module = stage(module, metadata)
    return recorder.stopped if recorder.stopped is not None else module
