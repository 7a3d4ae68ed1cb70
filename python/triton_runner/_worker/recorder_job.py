"""Runs job.run() under a recorder: the same compilation, pass by pass, whole or as a plan says.

A request is job.run()'s, with these fields more:

    plan, keep   see recorder.Recorder
    walk         of a text: the stages run from the first, as a plan that starts at a pass wants it
    llvm         whether the passes inside LLVM are kept too, as llvm_passes.record() has them

and so is the answer: passes, texts; stopped: the text after the pass that the plan stops at.

It is described in doc/guide/passes.md#how-it-works-and-its-limits."""

import time

from . import job, llvm_passes
from .recorder import PassError, Recorder


def run(request, note=lambda stage, add=None: None):
    def say(step):
        last = recorder.passes[-1] if recorder.passes else None
        if step is not None:
            note("{stage}, pass {number} {add}".format(**step), step["add"])
        elif last is not None:
            note("{}, after its passes".format(last["stage"]))

    def wrap(stages, backend):
        if request.get("llvm"):
            llvm_passes.record(stages, inside)
        recorder.wrap(stages, backend)

    inside = {}
    recorder = Recorder(request.get("plan"), request.get("keep", "text"), on_pass=say)
    start = time.perf_counter()
    try:
        answer = job.run({**request, "wrap": wrap}, note)
    except PassError as error:
        if error.step is None:
            raise job.Refused(str(error)) from None
        raise
    answer["seconds"] = time.perf_counter() - start
    answer["passes"] = recorder.passes
    answer["texts"] = recorder.texts
    answer["llvm"] = inside
    answer["stopped"] = recorder.stopped and str(recorder.stopped)
    answer["unmet"] = [selector.said for selector in recorder.unmet()]
    answer["asm"] = {level: text for level, text in answer["asm"].items() if recorder.made(level)}
    return answer
