"""Runs a program once in a worker of a release: at a level, under a plan of passes, judged by how it ends.

A request: program, arguments, is_module, pretend_cuda, or the launch of a kernel; plan, of_kernels and keep
of plans.py; launches, {} or {"keep": number}, to watch launches; choices, {autotuned kernel: configuration};
machine: launches run as machine code on this machine's GPU; partings: and where it parts from PTX; torch: a
plan of inductor/watch.py, under which its graphs are compared with eager. The
environment says device, level and target. The answer is a Trial (trial.py)."""

import contextlib
import importlib.util
import math
import os
import random
import runpy
import sys

# Traps that say nothing of the program: what the engine does not execute, and its limits.
_NOT_THE_KERNELS = ("unsupported", "timeout", "interrupted", "out of memory")


def run(request, note=lambda stage, add=None, kernel=None: None):
    # The package's driver is Triton's from the first of these on.
    from triton_runner._base.errors import KernelTrap
    from triton_runner._pipeline import failures, plans
    from triton_runner.verbs.bisect import trial

    note(failures.RUNNING)
    plans.note = note
    if request.get("pretend_cuda"):
        from triton_runner import _pretend  # it changes torch

        _pretend.install()
    plans.in_force = request.get("plan") or {}
    plans.of_kernels = request.get("of_kernels") or []
    plans.keep = request.get("keep") or "none"
    choices = _pin_choices(request.get("choices"))
    _seed()
    launches = None
    if request.get("launches") is not None:
        from triton_runner.verbs.bisect import launches  # with the core

        launches.install(request["launches"].get("keep"))
    sys.argv = [request["program"], *request["arguments"]]
    sys.path.insert(0, request["folder"])
    said = {}
    partings = [] if request.get("partings") else None
    compiled = _compiled(request.get("torch"))
    try:
        with (
            _captured(request.get("capture")),
            _machine(request.get("machine"), partings),
            compiled.watching(),
        ):
            verdict, why, measured = _run(request)
        said["measured"] = measured
    except SystemExit as stop:
        verdict, why = _of_status(stop.code)
    except KernelTrap as error:
        verdict = "unknown" if error.kind in _NOT_THE_KERNELS else "wrong"
        at = error.file or None, error.op or None, error.line or None
        place = trial.Place(*at, list(error.element), error.kernel)
        why, said = str(error), {"trap": error.kind, "race": error.race, "place": place}
    except Exception as error:
        verdict, why, said["failure"] = _of_exception(error)
    kernels = [_described(recorder, plans.keep) for recorder in plans.recorded]
    watched = launches and trial.Launches(launches.seen, launches.kept)
    own = _own_files(request)
    verdict, why, said["compiled"] = compiled.judged(verdict, why)
    found = {"kernels": kernels, "launches": watched, "choices": choices, "files": own}
    return trial.Trial(verdict, why, partings=partings or [], **found, **said)


def _of_exception(error):
    """The verdict, the reason, and the failure of the compiler that an exception of the program says."""
    # Not before the environment is that of the request.
    from triton_runner._base.errors import DiagnosticError
    from triton_runner._pipeline.failures import failure_of
    from triton_runner._worker import job

    if failure := failure_of(error):
        return "unknown", failure.message, failure
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, AssertionError):
        if "not compiled with CUDA" in text:  # of torch: the program asks for a GPU
            return "unknown", text + "; --pretend-cuda gives it CPU tensors", None
        return "wrong", text, None
    is_ours = isinstance(error, (job.Refused, DiagnosticError))
    return "unknown", "; ".join([error.message, *error.notes]) if is_ours else text, None


def _seed():
    """Gives every run the same random numbers, as far as the program sets no seed: what two runs compute is
    compared."""
    random.seed(0)
    import numpy

    numpy.random.seed(0)
    made = numpy.random.default_rng
    numpy.random.default_rng = lambda seed=0: made(0 if seed is None else seed)
    if importlib.util.find_spec("torch") is not None:  # the worker has loaded it already
        import torch

        torch.manual_seed(0)


def _own_files(request):
    """The Python files that come from the program's folder, but for a script, by their places in it."""
    folder = os.path.join(request["folder"], "")
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    if request["is_module"] and (spec := importlib.util.find_spec(request["program"])):
        files.add(spec.origin or "")
    own = {file for file in files if file.startswith(folder) and file.endswith(".py")}
    return sorted(file[len(folder) :] for file in own if "site-packages" not in file and os.path.isfile(file))


def _pin_choices(choices):
    """Lets autotuners take the configurations chosen, {kernel: configuration as text}, without timing any;
    the dict into which they write those that they take. Of a kernel that is not in it they take the first
    that runs: the times of a CPU say nothing, and would differ from run to run."""
    from triton.runtime.autotuner import Autotuner

    taken = {}
    run, bench = Autotuner.run, Autotuner._bench

    def name(tuner):
        return getattr(tuner.base_fn, "__name__", "")

    def pinned(self, *args, config, **meta):
        if not choices or name(self) not in choices:
            times = bench(self, *args, config=config, **meta)
            runs = all(math.isfinite(time) for time in (times if hasattr(times, "__iter__") else [times]))
            return [float(self.configs.index(config))] * 3 if runs else times
        return [float(str(config) != choices[name(self)])] * 3

    def noting(self, *args, **kwargs):
        result = run(self, *args, **kwargs)
        taken.setdefault(name(self), str(self.best_config))
        return result

    Autotuner.run, Autotuner._bench = noting, pinned
    return taken


def _run(request):
    if request["launch"]:
        from triton_runner.verbs.bisect import kernel  # with NumPy

        return kernel.judge(request["program"], request["launch"])
    if request["is_module"]:
        runpy.run_module(request["program"], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(request["program"], run_name="__main__")
    return "right", "", None


class _NotWatched:
    """A program whose compiled graphs nobody compares."""

    def watching(self):
        return contextlib.nullcontext()

    def judged(self, verdict, why):
        return verdict, why, None


def _compiled(plan):
    """The graphs of torch.compile."""
    if plan is None:
        return _NotWatched()
    from triton_runner.verbs.bisect.inductor import watch  # with torch

    return watch.Watch(plan)


def _captured(case):
    """Writes a launch as a case, {"folder", "number"}."""
    if not case:
        return contextlib.nullcontext()
    from triton_runner._kernel.cases.capture import capture  # no other run needs it

    return capture(case["folder"], lambda seen: seen.number == case["number"], most=1)


def _machine(enabled, partings):
    """Launches as machine code."""
    if not enabled:
        return contextlib.nullcontext()
    from triton_runner.verbs.bisect import assembled  # no other run needs it

    return assembled.machine(partings)


def _described(recorder, keep):
    """A kernel that was compiled."""
    # Not before the environment is that of the request.
    from triton_runner._worker import job
    from triton_runner.verbs.bisect.trial import Kernel, Ran

    passes = [Ran(step["stage"], step["add"], step["ran"], step["after"]) for step in recorder.passes]
    first = next((step["before"] for step in recorder.passes), None)
    facts = {"shared": recorder.compiled.get("shared") or 0, "asynchronous": _is_asynchronous(recorder),
             "waits": "amdgcn" in recorder.results}  # fmt: skip
    if keep == "text":
        facts["texts"] = recorder.texts
        facts["made"] = {level: text for level, text in recorder.results.items() if isinstance(text, str)}
        options = {name: value for name, value in recorder.compiled.items() if name != "target"}
        facts["metadata"] = job.jsonable(options)
    if recorder.llvm:
        facts["llvm"], facts["llvm_texts"] = _numbered(recorder.llvm)
    return Kernel(recorder.name, passes, first, **facts)


def _is_asynchronous(recorder):
    """Returns whether a kernel has operations that go on beside its program, at the lowest level that was
    made."""
    # Not before the environment is that of the request.
    from triton_runner._kernel import asynchronous

    made = recorder.results
    level = next((level for level in reversed(asynchronous.LEVELS) if level in made), None)
    if level is None or (level == "ttgir" and "llir" in made):  # lowering changes the module in place
        return False
    return asynchronous.is_asynchronous(level, str(made[level]))


def _numbered(found):
    """LLVM's passes by level, and their texts: most change nothing."""
    # Not before the environment is that of the request.
    from triton_runner.verbs.bisect.trial import LlvmPass

    texts, numbers = [], {}
    levels = {}
    for level, steps in found.items():
        levels[level] = []
        for step in steps:
            text = step["text"]
            if text is not None and text not in numbers:
                numbers[text] = len(texts)
                texts.append(text)
            levels[level].append(LlvmPass(step["name"], step["argument"], numbers.get(text)))
    return levels, texts


def _of_status(code):
    """As `git bisect run` reads an exit status: 125 cannot tell, other ones up to 127 are wrong."""
    if code in (None, 0):
        return "right", ""
    if code == 125 or not isinstance(code, int) or not 0 < code < 128:
        return "unknown", f"it exited with {code!r}"
    return "wrong", f"it exited with {code}"
