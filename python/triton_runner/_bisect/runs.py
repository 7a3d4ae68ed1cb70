"""What bisection runs: a program in a release, in variants.

Each run is a process forked from a worker of the release, in which torch and Triton are loaded once; the CPU
engines execute the level asked for.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from triton_runner._base.levels import EXECUTED
from triton_runner._bisect.results import KernelLaunch
from triton_runner._compiler import workers
from triton_runner._launch import gpu_driver
from triton_runner._memory.arguments import unpacked
from triton_runner._settings import devices

# From the top: the front end's TTIR, what the engines execute of each stage's result, and machine code on
# a GPU.
LEVELS = ("source", *EXECUTED, "cubin")
# Workers of releases that were closed, for the next that is of theirs: torch is loaded in them.
_idle: dict[str, workers.Worker] = {}
_KEPT = 2
_PRELOADED = (
    "numpy", "torch", "triton_runner", "triton_runner._pretend",
    # Half a second of a first launch: Triton hashes its own library, and an argument imports Gluon.
    "triton.runtime.cache:triton_key", "triton.compiler.compiler:triton_key", "triton.experimental.gluon",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Program:
    """What is run and judged: a script or a module with its arguments; or a kernel ("kernel.py:name"), whose
    launch (see kernel.py) an oracle judges."""

    name: str
    arguments: tuple = ()
    is_module: bool = False
    pretend_cuda: bool = False
    target: str = "cuda:90"
    timeout: float = 300.0
    launch: KernelLaunch | None = None
    chosen: tuple = ()  # the levels to execute, one of the target's among them; none: all
    judge: Callable | None = None  # of a kernel's arrays behind the launch, in this process

    @property
    def executed(self) -> tuple:
        """The levels that the engines execute for the target, from the top."""
        return LEVELS[: LEVELS.index("ptx" if self.target.startswith("cuda:") else "ttgir") + 1]

    @property
    def lowest(self) -> str:
        """The level at which a release is judged: the lowest that is executed, of those chosen."""
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
        """Whether machine code is judged too: where it is asked for, and where a GPU of the target is."""
        if self.is_measured or self.lowest != "ptx":
            return False
        if self.chosen:
            return "cubin" in self.chosen
        return devices.gpu() == "cuda" and gpu_driver.current_target() == self.target

    @property
    def is_measured(self) -> bool:
        """Whether the oracle looks at what was compiled, not at what it computes."""
        return self.launch is not None and self.launch.oracle.kind not in ("wrong", "callable")

    @property
    def folder(self) -> str:
        """What it imports from beside itself."""
        file = self.name.rpartition(":")[0] if self.launch else self.name
        return os.getcwd() if self.is_module else os.path.dirname(os.path.abspath(file))

    def request(self) -> dict:
        """What _bisect/job.py is asked."""
        return {
            "do": "_bisect.job", "program": self.name, "arguments": list(self.arguments),
            "is_module": self.is_module, "pretend_cuda": self.pretend_cuda, "folder": self.folder,
            "launch": self.launch and dataclasses.asdict(self.launch), "preload": list(_PRELOADED),
        }  # fmt: skip


class Ran(NamedTuple):
    """A pass that ran in a compilation; after: the number of the text after it, None where there is none."""

    stage: str
    add: str
    ran: bool
    after: int | None


class LlvmPass(NamedTuple):
    """A pass inside LLVM; text: the number of the IR after it."""

    name: str
    argument: str
    text: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel that a run compiled: its passes; first: the number of the text before them. texts, made (by
    level) and metadata where they were kept; llvm: passes inside LLVM by level, which change llvm_texts."""

    name: str
    passes: list[Ran]
    first: int | None
    shared: int = 0
    asynchronous: bool = False
    texts: list = dataclasses.field(default_factory=list)
    made: dict = dataclasses.field(default_factory=dict)
    metadata: dict = dataclasses.field(default_factory=dict)
    llvm: dict[str, list[LlvmPass]] = dataclasses.field(default_factory=dict)
    llvm_texts: list = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, told: dict) -> Kernel:
        passes = [Ran(*entry) for entry in told["passes"]]
        llvm = {level: [LlvmPass(*step) for step in steps] for level, steps in told.get("llvm", {}).items()}
        return cls(**{**told, "passes": passes, "llvm": llvm})

    @property
    def source(self) -> str | None:
        """The IR as the front end made it."""
        return None if self.first is None else self.texts[self.first]

    def around(self, stage: str, add: str, nth: int) -> tuple:
        """The IR before and after a pass; None where it is not known."""
        before, seen = self.first, 0
        for step in self.passes:
            seen += (step.stage, step.add) == (stage, add)
            if seen == nth and (step.stage, step.add) == (stage, add):
                return tuple(
                    None if number is None else self.texts[number] for number in (before, step.after)
                )
            before = step.after
        return None, None


class Seen(NamedTuple):
    """A launch: its kernel, its grid, and a fingerprint of each array after it."""

    kernel: str
    grid: list
    arrays: dict


@dataclasses.dataclass(frozen=True, eq=False)
class Launches:
    """The launches of a run, and the arrays after the one that is kept, by position."""

    seen: list[Seen]
    kept: dict

    @classmethod
    def of(cls, told: dict | None) -> Launches | None:
        if told is None:
            return None
        kept = {name: unpacked(value) for name, value in told["kept"].items()}
        return cls([Seen(**entry) for entry in told["seen"]], kept)


@dataclasses.dataclass(eq=False)
class Trial:
    """How a run ended: "right", "wrong" or "unknown", why, what it printed; the kernels that it compiled; its
    launches where asked for; which configuration each autotuned kernel took."""

    verdict: str
    why: str = ""
    output: str = ""
    kernels: list[Kernel] = dataclasses.field(default_factory=list)
    launches: Launches | None = None
    choices: dict = dataclasses.field(default_factory=dict)
    files: list = dataclasses.field(default_factory=list)  # imported from the program's folder
    trap: str | None = None  # the kind of the trap that stopped it
    place: dict | None = None  # file, op, line, element and kernel of the trap

    @classmethod
    def of(cls, told: dict, output: str) -> Trial:
        kernels = [Kernel.of(entry) for entry in told["kernels"]]
        return cls(
            **{**told, "output": output, "kernels": kernels, "launches": Launches.of(told["launches"])}
        )

    @property
    def first_why(self) -> str:
        lines = [line.strip() for line in self.why.splitlines() if line.strip()]
        # Of an error in a kernel the first line is its place, and the last what is wrong.
        return " ".join([lines[0], lines[-1]] if lines[0].endswith(":") else lines[:1]) if lines else ""

    @property
    def last_lines(self) -> list[str]:
        """What it printed last, or why it ended."""
        lines = [line[:200] for line in self.output.splitlines() if line.strip()][-8:]
        return [*lines, *([self.why] if self.why and not lines else [])]


class Release:
    """A release that runs the program in variants: at a level, under a plan of passes."""

    def __init__(self, version: str, program: Program, say=lambda text: None):
        self.version, self.program, self.say = version, program, say
        self._worker = _idle.pop(version, None) or workers.Worker(version)
        self.folder = self._worker.folder  # "": the one that is installed
        self._caches = tempfile.mkdtemp(prefix="triton-runner-bisect-")
        self._known: dict = {}
        self._count = [0]
        self._conditions: tuple[dict, ...] = ({},)

    @property
    def choices(self) -> dict:
        """Which configurations autotuners take, as all its runs are to take them: what at() is given."""
        choices = self.at(self.program.lowest).choices
        return {"choices": choices} if choices else {}

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return self._count[0]

    def under(self, *conditions: dict) -> Release:
        """The same release, in which a run is wrong where it is wrong under one of these variables."""
        view = copy.copy(self)  # it shares the worker and what is known
        view._conditions = conditions
        return view

    def close(self) -> None:
        if len(_idle) < _KEPT and self.version not in _idle:
            _idle[self.version] = self._worker
        else:
            self._worker.close()
        shutil.rmtree(self._caches, ignore_errors=True)

    def at(self, level: str, plan: dict | None = None, **more) -> Trial:
        """The trial of a variant; each is run once. Under several conditions it is the first that is wrong,
        else the first that is right.

        plan: of all kernels; more: of_kernels=[[name, n, plan]], keep="text", launches={}, as the job takes
        them, choices of autotuners; variables={}, of the environment.
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

    def _run(self, level: str, plan: dict | None, variables: dict, **more) -> Trial:
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
            "TRITON_CACHE_DIR": tempfile.mkdtemp(dir=self._caches), **variables,
        }  # fmt: skip
        environment.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
        if program.judge is not None:
            more = {**more, "launches": {"keep": 0}}  # its only launch
        request = {**program.request(), "plan": plan, "environment": environment, **more}
        self._count[0] += 1
        answer = self._worker.call(request, program.timeout)
        shutil.rmtree(environment["TRITON_CACHE_DIR"], ignore_errors=True)
        output = answer.get("output", "")
        if "result" in answer:
            trial = Trial.of(answer["result"], output)
            if program.judge is not None and trial.verdict == "right":
                trial.verdict = "right" if program.judge([*trial.launches.kept.values()]) else "wrong"
            return trial
        if answer.get("timeout"):
            return Trial("unknown", f"it ran longer than {program.timeout:g} s", output)
        if "signal" in answer:
            return Trial("unknown", f"it died of signal {answer['signal']}", output)
        error = answer.get("error") or {"type": "worker", "message": f"status {answer.get('status')}"}
        return Trial("unknown", f"{error['type']}: {error['message']}", output)
