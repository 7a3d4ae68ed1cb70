"""Runs job.run() with a stopwatch: how long each stage takes and, if wanted, what it spends that time on.

A request is job.run()'s, with the field

    parts        whether the parts of the stages are timed too; else the compilation is the plain one

The answer is {"stages": [[level, stage, seconds]], "parts": [{"level", "kind", "name", "seconds"}], "own":
seconds that the timing itself took, "name", "release"}, and of a plain compilation "asm" and "metadata" as
job.run() has them. The kinds:

    pass         a pass of MLIR, run by a pass manager of its own (recorder.py); name: Triton's of it
    call         a function of Triton's bindings, by its path: "llvm.to_module"
    optimise     a pass within llvm.optimize_module, by what LLVM prints as it begins and ends (pass_clock.py)
    generate     a pass within llvm.translate_to_asm, as LLVM's own timers report it (LLVM_ENABLE_TIMING)
    process      a program that a stage runs: ptxas, its name with what it was asked for
    ptxas        within that process, the compilation of a function, as `ptxas -v` reports it

It is described in doc/guide/passes.md#what-takes-the-time."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from . import job, llvm_passes, pass_clock
from .recorder import Recorder

_OPTIMISE, _GENERATE = "llvm.optimize_module", "llvm.translate_to_asm"
# "   0.0043 ( 22.8%)   0.0043 ( 22.6%)  Global Value Numbering #2": the last column is wall time.
_TIMER = re.compile(r"^ +[\d.]+ \( *[\d.]+%\).* ([\d.]+) \( *[\d.]+%\)  (\S.*?)(?: #\d+)?$", re.M)
# Passes that only print, where an earlier stage switched LLVM's printing on for good.
_PRINTERS = ("Print Module IR", "Print Function IR", "MachineFunction Printer")
_PTXAS_FUNCTION = re.compile(r"Compiling entry function '([^']+)'|Compile time = ([\d.]+) ms")


class Stopwatch:
    """The stages and parts of one compilation."""

    def __init__(self):
        self.stages = []
        self.parts = []
        self.own = 0.0
        self.level = None
        self.began = None

    def add(self, kind, name, seconds):
        part = {"level": self.level, "kind": kind, "name": name, "seconds": seconds}
        self.parts.append(part)

    def wrap(self, stages):
        for level, stage in list(stages.items()):
            stages[level] = self._stage(level, stage)
        self.began = time.perf_counter()

    def _stage(self, level, stage):
        def run(source, metadata):
            begin, own = time.perf_counter(), self.own
            if not self.stages:
                self.stages.append(["source", "front end", begin - self.began])
            self.level = level
            result = stage(source, metadata)
            spent = time.perf_counter() - begin - (self.own - own)
            self.stages.append([level, "make_" + level, spent])
            return result

        return run

    def call(self, path, function, args, kwargs):
        """A function of Triton's bindings."""
        run = {_OPTIMISE: self._optimise, _GENERATE: self._generate}.get(path, self._plain)
        return run(path, function, args, kwargs)

    def _plain(self, path, function, args, kwargs):
        begin = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self.add("call", path, time.perf_counter() - begin)

    def _optimise(self, path, function, args, kwargs):
        since = time.perf_counter()
        clock = subprocess.Popen(
            [sys.executable, "-S", "-E", os.path.abspath(pass_clock.__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        clock.stdout.readline()  # it is ready
        begin = time.perf_counter()
        try:
            with llvm_passes.variables(LLVM_IR_ENABLE_DUMP="1"), llvm_passes.standard_error(clock.stdin):
                result = function(*args, **kwargs)
        finally:
            end = time.perf_counter()
            clock.stdin.close()
            said = json.loads(clock.stdout.read() or b"{}")
            clock.wait()
            sys.stderr.write(said.get("rest", ""))
        seconds = end - begin - said.get("printing", 0.0)
        for name, spent in said.get("passes", ()):
            self.add("optimise", name.replace("(anonymous namespace)::", ""), spent)
        self.add("call", path, seconds)
        self.own += time.perf_counter() - since - seconds
        return result

    def _generate(self, path, function, args, kwargs):
        begin = time.perf_counter()
        with tempfile.TemporaryFile() as file:
            try:
                with llvm_passes.variables(LLVM_ENABLE_TIMING="1"), llvm_passes.standard_error(file):
                    result = function(*args, **kwargs)
            finally:
                seconds = time.perf_counter() - begin
                file.seek(0)
                output = file.read().decode(errors="replace")
                timers = [(name, float(spent)) for spent, name in _TIMER.findall(output) if name != "Total"]
                if not timers:
                    sys.stderr.write(output)
        printing = sum(spent for name, spent in timers if name in _PRINTERS)
        for name, spent in timers:
            if name not in _PRINTERS:
                self.add("generate", name, spent)
        self.own += printing
        self.add("call", path, seconds - printing)
        return result

    @contextlib.contextmanager
    def processes(self):
        """Times the programs that the stages run."""
        run = subprocess.run

        def timed(command, *args, **kwargs):
            begin = time.perf_counter()
            try:
                return run(command, *args, **kwargs)
            finally:
                seconds = time.perf_counter() - begin
                if self.level is not None:
                    self._process(command, kwargs.get("stderr"), seconds)

        subprocess.run = timed
        try:
            yield
        finally:
            subprocess.run = run

    def _process(self, command, log, seconds):
        words = [command] if isinstance(command, str) else [str(word) for word in command]
        name = os.path.basename(words[0])
        self.add("process", name + " --version" if "--version" in words else name, seconds)
        if isinstance(getattr(log, "name", None), str):
            with open(log.name, errors="replace") as file:
                function = ""
                for named, took in _PTXAS_FUNCTION.findall(file.read()):
                    function = named or function
                    if took:
                        self.add("ptxas", function, float(took) / 1e3)


def run(request, note=lambda stage: None):
    watch = Stopwatch()
    recorder = Recorder(keep="none", on_call=watch.call)

    def wrap(stages, backend):
        if request.get("parts"):
            recorder.wrap(stages, backend)
        watch.wrap(stages)

    with watch.processes() if request.get("parts") else contextlib.nullcontext():
        answer = job.run({**request, "wrap": wrap}, note)
    for step in recorder.passes:
        watch.parts.append(
            {"level": step["level"], "kind": "pass", "name": step["add"], "seconds": step["seconds"]}
        )
    made = {} if request.get("parts") else {key: answer[key] for key in ("asm", "metadata")}
    return {
        "stages": watch.stages,
        "parts": watch.parts,
        "own": watch.own,
        "name": answer["name"],
        "release": answer["release"],
        "notes": answer.get("notes", []),
        **made,
    }
