"""Runs one program in one release, at a level and under a plan of passes: the runs of which bisection is
made.

Each run is a process forked from a worker of the release, which has loaded torch and Triton once. The CPU
engines execute the requested level."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable

from triton_runner._base import scratch
from triton_runner._base.levels import EXECUTED, MLIR, levels_of
from triton_runner._base.typed import of_json
from triton_runner._launch import gpu_driver
from triton_runner._memory.arguments import unpacked
from triton_runner._pipeline import workers
from triton_runner._pipeline.failures import RUNNING, Failure
from triton_runner._settings import devices
from triton_runner._worker.child import FIRST_LAUNCH
from triton_runner.verbs.bisect.inductor import preload as inductor
from triton_runner.verbs.bisect.results import KernelLaunch
from triton_runner.verbs.bisect.trial import Trial

# From the top: the front end's TTIR, what the engines execute of each stage's result, and machine code on
# a GPU.
LEVELS = ("source", *EXECUTED, "cubin")
# Workers of releases that were closed, for the next that is of theirs: torch is loaded in them.
_idle: dict[str, workers.Worker] = {}
_KEPT = 2
_PRELOADED = (
    "numpy", "torch", "triton_runner", "triton_runner._pretend", *FIRST_LAUNCH,
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class BisectedProgram:
    """The program under test: a script or a module with its arguments; or a kernel ("kernel.py:name") whose
    launch an oracle judges (kernel.py)."""

    name: str
    arguments: tuple = ()
    is_module: bool = False
    pretend_cuda: bool = False
    target: str = "cuda:90"
    timeout: float = 300.0
    launch: KernelLaunch | None = None
    chosen: tuple = ()  # the levels to execute, one of the target's among them; none: all
    judge: Callable | None = None  # judges a kernel's arrays after the launch, in this process
    torch: dict | None = None  # a plan of inductor/watch.py: its compiled graphs are compared with eager

    @property
    def executed(self) -> tuple:
        """The levels that the engines execute for the target, highest first."""
        return ("source", *(level for level in levels_of(self.target) if level in EXECUTED))

    @property
    def code(self) -> str:
        """The level of the text that LLVM generates for the target: "ptx" or "amdgcn"."""
        return self.executed[-1]

    @property
    def lowest(self) -> str:
        """The level at which a release is judged: the lowest of the chosen levels that an engine executes."""
        return self.levels[-1]

    @property
    def levels(self) -> tuple:
        if not self.chosen or self.is_measured:
            return self.executed
        # Machine code is what the lowest level of all is made into.
        below = self.executed[-1:] if "cubin" in self.chosen else ()
        return tuple(level for level in self.executed if level in (*self.chosen, *below))

    @property
    def is_assembled(self) -> bool:
        """Returns whether machine code is judged too: on request, or if there is a GPU of the target."""
        if self.is_measured or self.lowest != "ptx":
            return False
        if self.chosen:
            return "cubin" in self.chosen
        return devices.gpu() == "cuda" and gpu_driver.current_target() == self.target

    @property
    def is_measured(self) -> bool:
        """Returns whether the oracle judges the compiled code, not what it computes."""
        return self.launch is not None and self.launch.oracle.kind not in ("wrong", "callable", "reads")

    @property
    def folder(self) -> str:
        """The folder from which the program imports its own modules."""
        file = self.name.rpartition(":")[0] if self.launch else self.name
        return os.getcwd() if self.is_module else os.path.dirname(os.path.abspath(file))

    def request(self) -> dict:
        """The request to verbs/bisect/job.py."""
        preload = _PRELOADED
        if self.torch is not None:  # Inductor is loaded after --pretend-cuda has changed torch
            pretend = ("triton_runner._pretend:install",) if self.pretend_cuda else ()
            preload = (*preload, *pretend, *inductor.modules("cuda" if self.pretend_cuda else "cpu"))
        return {
            "do": "verbs.bisect.job", "program": self.name, "arguments": list(self.arguments),
            "is_module": self.is_module, "pretend_cuda": self.pretend_cuda, "folder": self.folder,
            "launch": self.launch and dataclasses.asdict(self.launch), "preload": list(preload),
            "torch": self.torch,
        }  # fmt: skip


class Release:
    """A release, which runs the program at a level and under a plan of passes."""

    def __init__(self, version: str, program: BisectedProgram, say=lambda text: None, torch="", place=None):
        """torch: the release of torch, where that is what is judged; place: (its folder, the interpreter)."""
        self.version, self.program, self.say = version, program, say
        # A worker that has loaded Inductor, as a GPU or not, is for such programs alone.
        self._kind = f"torch {torch} {program.pretend_cuda}" if torch else version
        self._worker = _idle.pop(self._kind, None) or workers.Worker(version, place)
        self.folder = self._worker.folder  # "": the one that is installed
        self._caches = scratch.folder("bisect")
        self._known: dict = {}
        self._count = [0]
        self._conditions: tuple[dict, ...] = ({},)

    @property
    def choices(self) -> dict:
        """The configurations that autotuners take in all runs of the release: options for at()."""
        choices = self.at(self.program.lowest).choices
        return {"choices": choices} if choices else {}

    @property
    def runs(self) -> int:
        """The number of runs so far."""
        return self._count[0]

    def under(self, *conditions: dict) -> Release:
        """The same release, but a run counts as wrong if it is wrong under any of these sets of variables."""
        view = copy.copy(self)  # it shares the worker and what is known
        view._conditions = conditions
        return view

    def close(self) -> None:
        if len(_idle) < _KEPT and self._kind not in _idle:
            _idle[self._kind] = self._worker
        else:
            self._worker.close()
        self._caches.close()

    def at(self, level: str, plan: dict | None = None, **more) -> Trial:
        """The trial of a variant; each variant runs once. Under several conditions: the first wrong trial,
        or else the first right one.

        plan: for all kernels; more: of_kernels=[[name, n, plan]], keep="text", launches={} and choices, as
        the job takes them; variables={}: environment variables.
        """
        variables = more.pop("variables", None) or {}
        trials = []
        for condition in self._conditions:
            trials.append(self._once(level, plan, {**condition, **variables}, more))
            if trials[-1].verdict == "wrong":
                return trials[-1]
        return next((trial for trial in trials if trial.verdict == "right"), trials[0])

    def _once(self, level: str, plan: dict | None, variables: dict, more: dict) -> Trial:
        said = (level, plan, sorted(variables.items()), sorted(more.items()))
        key = hashlib.blake2b(repr(said).encode()).digest()
        if key not in self._known:
            self._known[key] = self._run(level, plan, variables, **more)
        return self._known[key]

    def reproducer(self, failed: Trial) -> str | None:
        """Writes a folder that repeats the run at the lowest level, whose compilation failed; returns its
        path."""
        request = self._request(self.program.lowest, None, {}, {})
        shutil.rmtree(request["environment"]["TRITON_CACHE_DIR"], ignore_errors=True)
        try:
            return workers.write_reproducer(self._worker, request, failed.output)
        except OSError:  # a home that may not be written to
            return None

    def _request(self, level: str, plan: dict | None, variables: dict, more: dict) -> dict:
        program = self.program
        if level == "source":
            level, plan = "ttir", {"stop": {"number": 0}}
        if level == "cubin":
            level, more = "ptx", {**more, "machine": True}
        environment = {
            **workers.environment(), "TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_LEVEL": level,
            "TRITON_RUNNER_TARGET": program.target, "TRITON_RUNNER_PROD": "1",
            # One fixed order of the programs at every level, on any number of cores.
            "TRITON_RUNNER_THREADS": "1",
            "TRITON_CACHE_DIR": tempfile.mkdtemp(dir=self._caches.path), **variables,
        }  # fmt: skip
        environment.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
        # Files that compilers leave when they are ended go with the release.
        environment.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(self._caches.path, "inductor"))
        environment.setdefault("TMPDIR", self._caches.path)
        if level in MLIR and (checks := environment.get("TRITON_RUNNER_CHECK")):
            checks = [check for check in checks.split(",") if check != "hazard"]  # of machine code alone
            environment["TRITON_RUNNER_CHECK"] = ",".join(checks)
        if program.judge is not None:
            more = {**more, "launches": {"keep": 0}}  # its only launch
        return {**program.request(), "plan": plan, "environment": environment, **more}

    def _run(self, level: str, plan: dict | None, variables: dict, **more) -> Trial:
        program = self.program
        request = self._request(level, plan, variables, more)
        self._count[0] += 1
        answer = self._worker.call(request, program.timeout)
        shutil.rmtree(request["environment"]["TRITON_CACHE_DIR"], ignore_errors=True)
        output = answer.get("output", "")
        if "result" in answer:
            trial = dataclasses.replace(of_json(Trial, answer["result"]), output=output)
            if trial.failure is not None and not trial.failure.is_kernels:
                return _failed(trial.failure, answer)
            if trial.launches is not None:
                kept = {name: unpacked(array) for name, array in trial.launches.kept.items()}
                trial = dataclasses.replace(trial, launches=dataclasses.replace(trial.launches, kept=kept))
            if program.judge is not None and trial.verdict == "right":
                is_right = program.judge([*trial.launches.kept.values()])
                trial = dataclasses.replace(trial, verdict="right" if is_right else "wrong")
            return trial
        late, died = answer.get("timeout"), answer.get("signal")
        if (late or died) and answer.get("stage") not in (None, RUNNING):
            how = "timeout" if late else signal.Signals(died).name
            why = f"it takes longer than {program.timeout:g} s" if late else f"the compiler died of {how}"
            place = answer["stage"], answer.get("add")
            return _failed(Failure(*place, how, why, answer.get("kernel") or ""), answer)
        if late:
            return Trial("unknown", f"it ran longer than {program.timeout:g} s", output)
        if died:
            return Trial("unknown", f"it died of signal {died}", output)
        error = answer.get("error") or {"type": "worker", "message": f"status {answer.get('status')}"}
        return Trial("unknown", f"{error['type']}: {error['message']}", output)


def _failed(failure: Failure, answer: dict) -> Trial:
    """The trial of a program of which the compiler fails on a kernel. What LLVM, MLIR and ptxas wrote tells
    more than the exception or the signal."""
    output = answer.get("output", "")
    written = output.encode()[answer.get("written") or 0 :].decode(errors="replace")
    message = workers.all_said(written, failure.message)
    return Trial("unknown", message, output, failure=dataclasses.replace(failure, message=message))
