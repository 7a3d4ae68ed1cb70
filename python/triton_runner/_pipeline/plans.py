"""Applies a plan of compiler passes to the kernels that this process compiles for the CPU: bisection changes
compilations so in a program that it runs. recorder.py of _worker says what a plan holds."""

from __future__ import annotations

import dataclasses

from triton_runner import _core
from triton_runner._base.levels import MLIR
from triton_runner._pipeline import failures
from triton_runner._worker import llvm_passes
from triton_runner._worker.recorder import PassError, Recorder

# The plan for every kernel; None: nothing is recorded.
in_force: dict | None = None
# "options" in it: {name: value} of Triton's options that every kernel gets, whatever its launch says;
# "llvm": whether the passes inside LLVM are kept too.
# [name, n, plan]: of the nth kernel of a name alone, in the order in which they are compiled, from 0.
of_kernels: list = []
# Holds what is done to every kernel whatever the plan: faults that a test plants.
planted: dict = {}
keep = "none"  # what is kept of the IR, as a Recorder has it
# A Recorder each of the kernels compiled since the plan is in force, with the kernel's name, what each stage
# made, and the metadata as they are after the last.
recorded: list[Recorder] = []
# Told where this process is, for one that outlives it: note(level, add, kernel), as a Failure has them.
note = lambda level, add=None, kernel=None: None  # noqa: E731


def wrap(stages: dict, backend) -> Recorder | None:
    """Puts the plan in force around the stages of a backend; None without one."""
    if in_force is None:
        return None

    def at(add: str | None) -> None:
        recorder.at = add
        note(recorder.level, add, recorder.name)

    def call(path: str, function, args, kwargs):
        if path.startswith("llvm."):
            at(path)
        return function(*args, **kwargs)

    recorder = Recorder(keep=keep, on_pass=lambda step: at(step and step["add"]), on_call=call)
    recorder.name, recorder.compiled, recorder.results, recorder.llvm = "", {}, {}, {}
    if in_force.get("llvm"):
        llvm_passes.record(stages, recorder.llvm)
    recorder.wrap(stages, backend)
    for level, stage in list(stages.items()):
        stages[level] = _starting(recorder, level, stage)
    recorder.level, recorder.at = failures.SOURCE, None
    recorded.append(recorder)
    note(failures.SOURCE)
    return recorder


def _starting(recorder: Recorder, level: str, stage):
    """The stage, before which the recorder takes the plan of its kernel where it is the first that runs."""

    def run(source, metadata):
        if not recorder.compiled:
            recorder.compiled = metadata
            if level in MLIR or level == "glir":
                recorder.name = _core.kernel_names(str(source), f"<{level}>")[0]
            nth = sum(other.name == recorder.name for other in recorded[: recorded.index(recorder)])
            own = next((plan for name, n, plan in of_kernels if (name, n) == (recorder.name, nth)), {})
            recorder.follow({**in_force, **own, **planted})
        recorder.level, recorder.at = level, None
        note(level, None, recorder.name)
        try:
            recorder.results[level] = result = stage(source, metadata)
        except Exception as error:
            own = error.__cause__ if isinstance(error, PassError) and error.step else error
            failures.noted(level, recorder.name, own, recorder.at)
            raise own from None  # what the program would meet without a recorder
        note(failures.RUNNING)
        return result

    return run


def with_options(options):
    """The options of a kernel, with those of the plan in their place."""
    wanted = (in_force or {}).get("options") or {}
    return dataclasses.replace(options, **{n: v for n, v in wanted.items() if hasattr(options, n)})


def stop_in(recorder: Recorder | None, module, stages: dict, metadata: dict):
    """The module where the plan stops: in one of the stages given, which stand after the level executed, if
    it did not stop before."""
    if recorder is None or recorder.stop is None:
        return module
    for stage in stages.values():
        if recorder.stopped is not None:
            break
        module = stage(module, metadata)
    return recorder.stopped if recorder.stopped is not None else module
