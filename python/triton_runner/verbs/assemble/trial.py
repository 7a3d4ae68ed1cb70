"""Tries one PTX through one assembler: compares what its machine code leaves in memory with what the PTX
itself leaves, both executed on the CPU from the same inputs, bit for bit.

A trial runs in a process of its own; its work and its result are what JSON holds, so
that results are kept by the hash of the work."""

from __future__ import annotations

import dataclasses
import json
import os
import re

from triton_runner import _core, _settings
from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._kernel.cells import arguments
from triton_runner._kernel.lockstep import where
from triton_runner._memory.arguments import Arguments
from triton_runner.verbs.assemble import assemblers, hazards, inputs

SECONDS = 30  # that a launch of a trial may take
# A product whose sum ptxas may round together with it.
_CONTRACTED = re.compile(r"\bmul(\.ftz|\.sat)*\.(f16x2|bf16x2|f16|bf16|f32x2|f32|f64)\b")
# How a trial ends.
STATES = {
    "equal": "the machine code leaves the bits of the PTX",
    "different": "the machine code leaves other bits than the PTX",
    "hazard": "the same bits here, but control words let an instruction read a value before it is written",
    "contraction": "other bits, none without contraction of products and sums (--fmad=false)",
    "order": "other bits, as the PTX itself leaves in another run: the order of atomics, a clock",
    "trap": "the PTX itself stops on these inputs",
    "unjudged": "one of the two cannot be executed here",
    "refused": "the assembler does not take the PTX",
}


@dataclasses.dataclass(frozen=True)
class Result:
    """state: one of STATES; why: what could not be done; inputs: those that show a difference; argument,
    element, want, got: the first element that differs, in hexadecimal; differing: how many; place: what
    stored it."""

    state: str
    why: str = ""
    inputs: str = ""
    argument: str = ""
    element: int | None = None
    want: str = ""
    got: str = ""
    differing: int = 0
    place: where.Place | None = None
    tried: int = 0


def work_of(
    ptx: str, name: str, assembler, target: str, opt, seeds: int, case: list | None = None, **more
) -> dict:
    """Returns what a trial is asked. case: [(name, argument)] of a launch; else the inputs are those of the
    text's head, or drawn: `seeds` times random numbers and ends of types. more: grid, block, metadata."""
    return {
        "ptx": ptx, "name": name, "ptxas": assembler.path, "version": assembler.version, "target": target,
        "opt": opt, "seeds": seeds, **more,
        "case": case and [[name, arguments.encoded(name, value)] for name, value in case],
    }  # fmt: skip


def run(request: dict, note=lambda stage: None) -> dict:
    """The result of a trial, as JSON has it: what a worker does, in a process of its own. request: work."""
    try:
        with _settings.using(timeout=SECONDS):
            result = Trial(request["work"], note).run()
    except DiagnosticError as error:
        result = Result("unjudged", str(error.message or error))
    return {name: value for name, value in dataclasses.asdict(result).items() if value not in ("", None)}


class Trial:
    """One PTX through one assembler, on its inputs."""

    def __init__(self, work: dict, note=lambda stage: None):
        self.work, self.note = work, note
        self.ptx, self.target = work["ptx"], work["target"]
        self.assembler = assemblers.Assembler(work["ptxas"], work["version"], "")
        self.metadata = json.loads(work.get("metadata") or "{}")
        described = _core.artifact.describe(
            self.ptx, "ptx", work["name"], json.dumps(self.metadata), "kernel.ptx"
        )
        self.name, self.params = described["name"], described["params"]

    def assembled(self, *options: str) -> bytes:
        """Raises DiagnosticError: what the assembler says."""
        self.note("assemble")
        return assemblers.assemble(self.ptx, self.assembler, self.target, self.work["opt"], *options)

    def run(self) -> Result:
        try:
            options = [] if self.metadata.get("enable_fp_fusion", True) else ["--fmad=false"]
            cubin = self.assembled(*options)
        except DiagnosticError as error:
            return Result("refused", "\n".join([error.message, *error.notes]))
        return self.judged(cubin)

    def judged(self, cubin: bytes) -> Result:
        """How machine code that was made of the PTX compares with it."""
        tried, stopped = 0, None
        for given in self._inputs():
            self.note(f"inputs {given.name}")
            ended = self._compare(given, cubin)
            if ended.state == "trap":
                stopped = stopped or ended
                continue
            tried += 1
            if ended.state != "equal":
                return dataclasses.replace(ended, tried=tried)
        if tried or stopped is None:
            return self._hazard(cubin) or Result("equal", tried=tried)
        return stopped

    def _hazard(self, cubin: bytes) -> Result | None:
        """The first hazard of the kernel's machine code, which the engine does not notice by executing it."""
        self.note("hazards")
        for kernel in hazards.of_cubin(cubin):
            if kernel.kernel == self.name and kernel.hazards:
                first = kernel.hazards[0]
                more = [line for hazard in kernel.hazards[1:9] for line in hazards.lines(hazard, self.ptx)]
                line = first.at.ptx_line
                place = where.Place(
                    first.at.text,
                    line,
                    where.line_of(self.ptx, line),
                    first.at.program or f"{first.at.address:#x}",
                )
                return Result("hazard", "\n".join([first.message, *more]), place=place)
        return None

    def _inputs(self):
        """The inputs, one by one; of drawn ones the first numbers that the PTX runs to its end with."""
        work = self.work
        grid = tuple(work.get("grid") or (1, 1, 1))
        block = work.get("block") and tuple(work["block"])
        if work["case"] is not None:
            values = tuple(arguments.decoded(value) for _, value in work["case"])
            yield inputs.Inputs("case", values, grid, block)
            return
        if (given := inputs.of_head(self.ptx)) is not None:
            yield given
            return
        for seed in range(work["seeds"]):
            for kind in ("random", "edge"):
                for given in inputs.drawn(self.params, kind, seed, grid):
                    given = dataclasses.replace(given, block=block)
                    if self.launch(given, b"").run("ptx", oob="trap").trap is None:
                        yield given
                        break

    def launch(self, given: inputs.Inputs, cubin: bytes) -> Relaunch:
        """A launch that runs at level "ptx" and, of a cubin, "cubin"."""
        names = (
            [name for name, _ in self.work["case"]] if self.work["case"] else [p["name"] for p in self.params]
        )
        named = list(zip(names, given.arguments, strict=False))
        texts = {"ptx": self.ptx, "cubin": cubin}
        metadata = {**self.metadata, **({} if given.shared is None else {"shared": given.shared})}
        return Relaunch(
            self.name, "cuda:" + re.sub(r"\D", "", self.target), texts, lambda: metadata, "ptx", given.grid,
            Arguments(named), given.block,
        )  # fmt: skip

    def _compare(self, given: inputs.Inputs, cubin: bytes) -> Result:
        launch = self.launch(given, cubin)
        want = launch.run("ptx")
        if want.trap is not None:
            return Result("trap", str(want.trap), given.name)
        got = launch.run("cubin")
        if got.trap is not None and got.trap.kind == "timeout":
            return Result("unjudged", "the machine code did not end in time", given.name)
        if got.trap is not None and got.trap.kind == "unsupported":
            return Result("unjudged", str(got.trap), given.name)
        difference = None if got.trap is not None else where.first_difference(want, got)
        if got.trap is None and difference is None:
            return Result("equal")
        self.note("instruction")

        if got.trap is not None:
            place = where.place_of(launch, want, got)
            return Result("different", f"the machine code stops: {got.trap}", given.name, place=place)
        argument, element, bits, count = difference
        result = Result("different", "", given.name, argument, element, bits[0], bits[1], count)
        state = self.freedom(given, want, launch)
        if state != "different":
            return dataclasses.replace(result, state=state)
        return dataclasses.replace(result, place=where.place_of(launch, want, got, argument, element))

    def freedom(self, given: inputs.Inputs, want: Outcome, launch: Relaunch) -> str:
        """Returns whether PTX leaves a difference open: "order", "contraction"; else "different"."""
        if where.first_difference(want, launch.run("ptx", order=1)) is not None:
            return "order"
        if not _CONTRACTED.search(self.ptx):
            return "different"
        without = self.launch(given, self.assembled("--fmad=false"))
        with _settings.using(fmad="off"):
            same = where.first_difference(without.run("ptx"), without.run("cubin")) is None
        return "contraction" if same else "different"


def key_parts(work: dict) -> dict:
    """Returns what decides a result: the work, without what only names it, and the engine's own build."""
    built = os.stat(_core.__file__)
    case = work["case"] and [[name, arguments.digest(value)] for name, value in work["case"]]
    parts = {name: value for name, value in work.items() if name not in ("ptxas", "case", "label")}
    program = os.stat(work["ptxas"]).st_size
    return {**parts, "ptxas": program, "case": case, "engine": [built.st_size, built.st_mtime_ns]}
