"""One PTX through one assembler: what its machine code leaves in memory beside what the PTX itself leaves,
both executed on the CPU from the same inputs, bit for bit.

A trial runs in a process of its own; its work and its result are what JSON holds, so
that results are kept by the hash of the work.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import re

import numpy

from triton_runner import _core, _settings
from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._assemble import assemblers, hazards, inputs
from triton_runner._base import tools
from triton_runner._base.errors import DiagnosticError, KernelTrap
from triton_runner._compare import arguments
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.difference import same_bits
from triton_runner._memory.registry import register_memory

SECONDS = 30  # that a launch of a trial may take
# How a trial ends.
STATES = {
    "equal": "the machine code leaves the bits of the PTX",
    "different": "the machine code leaves other bits than the PTX",
    "hazard": "the same bits here, but control words let an instruction read what is not there yet",
    "contraction": "other bits, none without contraction of products and sums (--fmad=false)",
    "order": "other bits, as the PTX itself leaves in another run: the order of atomics, a clock",
    "trap": "the PTX itself stops on these inputs",
    "unjudged": "one of the two cannot be executed here",
    "refused": "the assembler does not take the PTX",
}


@dataclasses.dataclass(frozen=True)
class Place:
    """An instruction of the machine code: its text; the line of the PTX that it was made from (0: not
    known) and that line; where it is in the program, or else in the listing. maker, maker_line, maker_ptx:
    the same of the instruction that made what it stores."""

    sass: str
    ptx_line: int = 0
    ptx: str = ""
    program: str = ""
    maker: str = ""
    maker_line: int = 0
    maker_ptx: str = ""


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
    place: Place | None = None
    tried: int = 0


def work_of(
    ptx: str, name: str, assembler, target: str, opt, seeds: int, case: list | None = None, **more
) -> dict:
    """What a trial is asked. case: [(name, argument)] of a launch; else the inputs are those of the text's
    head, or drawn: `seeds` times random numbers and ends of types. more: grid, block, metadata."""
    return {
        "ptx": ptx, "name": name, "ptxas": assembler.path, "version": assembler.version, "target": target,
        "opt": opt, "seeds": seeds, **more,
        "case": case and [[name, arguments.encoded(name, value)] for name, value in case],
    }  # fmt: skip


def run(request: dict, note=lambda stage: None) -> dict:
    """The result of a trial, as JSON has it: what a worker does, in a process of its own. request: work."""
    try:
        with _settings.using(timeout=SECONDS):
            result = _Trial(request["work"], note).run()
    except DiagnosticError as error:
        result = Result("unjudged", str(error.message or error))
    return {name: value for name, value in dataclasses.asdict(result).items() if value not in ("", None)}


class _Trial:
    def __init__(self, work: dict, note):
        self.work, self.note = work, note
        self.ptx, self.target = work["ptx"], work["target"]
        self.assembler = assemblers.Assembler(work["ptxas"], work["version"], "")
        self.metadata = json.loads(work.get("metadata") or "{}")
        described = _core.artifact.describe(
            self.ptx, "ptx", work["name"], json.dumps(self.metadata), "kernel.ptx"
        )
        self.name, self.params = described["name"], described["params"]

    def _assembled(self, *options: str) -> bytes:
        self.note("assemble")
        return assemblers.assemble(self.ptx, self.assembler, self.target, self.work["opt"], *options)

    def run(self) -> Result:
        try:
            options = [] if self.metadata.get("enable_fp_fusion", True) else ["--fmad=false"]
            cubin = self._assembled(*options)
        except DiagnosticError as error:
            return Result("refused", "\n".join([error.message, *error.notes]))
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
                place = Place(
                    first.at.text,
                    line,
                    hazards.line_of(self.ptx, line),
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
                    if self._launch(given, b"").run("ptx", oob="trap").trap is None:
                        yield given
                        break

    def _launch(self, given: inputs.Inputs, cubin: bytes, values=None) -> Relaunch:
        names = (
            [name for name, _ in self.work["case"]] if self.work["case"] else [p["name"] for p in self.params]
        )
        named = list(zip(names, given.arguments if values is None else values, strict=False))
        texts = {"ptx": self.ptx, "cubin": cubin}
        metadata = {**self.metadata, **({} if given.shared is None else {"shared": given.shared})}
        return Relaunch(
            self.name, "cuda:" + re.sub(r"\D", "", self.target), texts, lambda: metadata, "ptx", given.grid,
            Arguments(named), given.block,
        )  # fmt: skip

    def _compare(self, given: inputs.Inputs, cubin: bytes) -> Result:
        launch = self._launch(given, cubin)
        want = launch.run("ptx")
        if want.trap is not None:
            return Result("trap", str(want.trap), given.name)
        got = launch.run("cubin")
        if got.trap is not None and got.trap.kind == "timeout":
            return Result("unjudged", "the machine code did not end in time", given.name)
        if got.trap is not None and got.trap.kind == "unsupported":
            return Result("unjudged", str(got.trap), given.name)
        if got.trap is not None:
            place = _place(got.trap, self.ptx)
            return Result("different", f"the machine code stops: {got.trap}", given.name, place=place)
        difference = first_difference(want, got)
        if difference is None:
            return Result("equal")
        argument, element, bits, count = difference
        result = Result(
            "different", "", given.name, argument, element, bits[0], bits[1], count,
            place=self._stored(given, cubin, launch, argument, element),
        )  # fmt: skip
        return dataclasses.replace(result, state=self._freedom(given, want, launch))

    def _freedom(self, given: inputs.Inputs, want: Outcome, launch: Relaunch) -> str:
        """Whether PTX leaves the difference open."""
        if first_difference(want, launch.run("ptx", order=1)) is not None:
            return "order"
        without = self._launch(given, self._assembled("--fmad=false"))
        with _settings.using(fmad="off"):
            same = first_difference(without.run("ptx"), without.run("cubin")) is None
        return "contraction" if same else "different"

    def _stored(self, given: inputs.Inputs, cubin: bytes, launch: Relaunch, argument: str, element: int):
        """The instruction that stores an element of an array: what stops where these bytes are nobody's
        memory, and all around them is."""
        view = launch.arguments.views[argument]
        data = launch.arguments.saved[view.block]
        memory = ctypes.create_string_buffer(data.tobytes() + bytes(64))  # no array that anybody would find
        start, size = -(-ctypes.addressof(memory) // 64) * 64, view.type.itemsize
        ctypes.memmove(start, data.tobytes(), data.nbytes)
        at = start + view.offset + element * size
        pieces = [(start, at - start), (at + size, start + data.nbytes - at - size)]
        for address, length in pieces:
            if length:
                register_memory(address, length, argument)
        values = [
            start + view.offset if name == argument else value for name, value in launch.arguments.named
        ]  # fmt: skip
        try:
            trap = self._launch(given, cubin, values).run("cubin").trap
        finally:
            for address, length in pieces:
                if length:
                    register_memory(address, 0)
        return None if trap is None else _with_maker(_place(trap, self.ptx), trap, cubin, self.ptx)


def first_difference(want: Outcome, got: Outcome):
    """(argument, index of the element, (want, got) as hexadecimal numbers, how many differ) of the first
    array that differs; None where none does. All NaNs of a float type are one."""
    for name, left in want.arrays.items():
        right = got.arrays[name]
        same = same_bits(left, right)
        if left.dtype.kind in "fV":
            as_numbers = [array.astype(numpy.float64) for array in (left, right)]
            same = same | (numpy.isnan(as_numbers[0]) & numpy.isnan(as_numbers[1]))
        if not same.all():
            at = int(numpy.flatnonzero(~same.ravel())[0])
            bits = f"u{left.dtype.itemsize}"
            pair = [numpy.ascontiguousarray(array).view(bits).ravel()[at] for array in (left, right)]
            return (
                name,
                at,
                tuple(f"{int(x):#0{2 + 2 * left.dtype.itemsize}x}" for x in pair),
                int((~same).sum()),
            )
    return None


def _place(trap: KernelTrap, ptx: str) -> Place:
    """Where a trap of machine code stands."""
    match = re.search(r"'(.*)' was made from line (\d+) of the PTX", "\n".join(trap.notes))
    number = int(match[2]) if match else 0
    text = match[1] if match else trap.op or trap.message
    return Place(text, number, hazards.line_of(ptx, number), trap.location)


def _with_maker(place: Place, trap: KernelTrap, cubin: bytes, ptx: str) -> Place:
    """The place with the instruction that made what is stored there, where no jump lies between them."""
    where = re.search(r"<cubin>:(\d+):", "\n".join([trap.location, *trap.notes]))
    listing = tools.listing(cubin)
    maker = _core.maker_of_stored(listing, int(where[1])) if where else None
    if maker is None:
        return place
    line, text = maker["ptx_line"], maker["text"]
    return dataclasses.replace(place, maker=text, maker_line=line, maker_ptx=hazards.line_of(ptx, line))


def key_parts(work: dict) -> dict:
    """What decides a result: the work, without what only names it, and the engine's own build."""
    built = os.stat(_core.__file__)
    case = work["case"] and [[name, arguments.digest(value)] for name, value in work["case"]]
    parts = {name: value for name, value in work.items() if name not in ("ptxas", "case", "label")}
    program = os.stat(work["ptxas"]).st_size
    return {**parts, "ptxas": program, "case": case, "engine": [built.st_size, built.st_mtime_ns]}
