"""Is the table of machine code complete, and does each spelling do what the PTX does that it was made from?

    python tests/sass/spellings.py                                 a quarter of an hour, of all
    python tests/sass/spellings.py --ptxas 12.9 --target sm_90a --opt 3 --limit 0 --only "^lea"
    python tests/sass/spellings.py --bin FOLDER ... --seed 7 --limit 3600 --write

These are assembled: the arithmetic of tests/gpu/instruction_table.py, what the rows of PTX's table
(include/triton_runner/ptx/opcodes.def) allow besides (spelling_rows.py), each operand in each kind (a number,
a constant, a uniform value, negated, its absolute value, the upper half, under a predicate), other than
arithmetic (spelling_single.py), and what ptxas fuses (spelling_fused.py); 48 in a kernel, on 1,024 lanes of
corner values and random ones. Each kernel runs as PTX and as machine code, which have to leave the same
words.

How an instruction ends: "equal"; "different", and tried alone as `assemble --check` tries it: "contraction" and
"order" are no faults, nor is "nan", another NaN in the place of one, nor "folded", an approximation that ptxas
computed itself from a number; "no row": the machine code is refused; "known" and "open": one of these, listed in
KNOWN and in OPEN; "gap": PTX itself is not executed here; "unread": nvdisasm does not read the cubin; "not
taken": ptxas does not take it for this target. --seed chooses what comes first.
"""

# ruff: noqa: E501  (lines of PTX)
import argparse
import collections
import hashlib
import itertools
import json
import random
import re
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("gpu", "differential", "suite", "sass")]

import assembler as known  # noqa: E402
import instructions  # noqa: E402
import triton_runner  # noqa: E402
from spelling_fused import fused  # noqa: E402
from spelling_rows import of_rows, varied  # noqa: E402
from spelling_single import singles  # noqa: E402
from triton_runner import _core, _settings  # noqa: E402
from triton_runner._base import tools  # noqa: E402
from triton_runner.verbs.assemble import assemblers, inputs, trial  # noqa: E402

import results  # noqa: E402

KEPT = ROOT / "build" / "spellings"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
OPTS = (0, 1, 3)
FAULTS = ("different", "no row")
# Differences known by the name of the instruction: faults of ptxas, and PTX that is not yet hardware's.
KNOWN = {
    r"^v(add|sub|absdiff|min|max|shl|shr|mad|set)\..*\.(sat|shr7|shr15|min|max)": "PTX's is not hardware's: alu_known.txt",
    r"^(rem|div)\.s\d+ (neg|abs) \d": "neg and abs of the least number are computed in more bits",
    r"16.* (neg|abs) \d$|^setp\.(neg|abs)\.s16$": "of 16 bits, neg and abs of -32768 are computed in 32 bits",
    r"^which\.unread": "13.4 loses the predicates of an extremum that nobody reads",
    r"^cvt\.ftz\.f32\.bf16\b": "12.8 reads bf16 as f16 before sm_90",
    r"^testp\..* @p$": "ptxas leaves out the guard of testp",
    r"^set\.\w+(\.(and|or|xor))?(\.ftz)?\.(f16|bf16|f32)\.": "the bits of what set leaves are taken for 1, not for 1.0",
}
# The differences that are still open: how it ends, the name of the instruction, and what is missing.
OPEN = (
    ("different", r"^isspacep\.const", "PTX says that an address of global memory is one of constants"),
    (
        "no row",
        r"^special\.(dynamic|total)_smem_size|^fence\.proxy\.alias|^generic\.shared$",
        "what lies at the front of bank 0",
    ),
    ("no row", r"szext", "ptxas writes a constant of bank 0x1e, which no cubin has"),
)
_FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
GRID = instructions.LANES // instructions.BLOCK
MORE = ", .param .u64 .ptr .global s_, .param .u32 c_"
START = (
    ".reg .b64 %s; .reg .b32 %c, %u, %b; ld.param.u64 %s, [s_]; ld.param.u32 %c, [c_]; mov.u32 %b, %ctaid.x;\n"
    "mad.wide.u32 %s, %i, 16, %s; mad.lo.u32 %u, %b, 0x20401, %c;\n"
)
CONSTANT = 0x3F80001D
_ERROR = re.compile(r"line (\d+)")


def taken_somewhere(candidates: list) -> list:
    """Those that the newest assembler takes for one of its targets; kept, since most are none of PTX."""
    newest, chosen = assemblers.default(), []
    key = hashlib.sha256(
        repr([(one.name, one.text) for one in candidates] + [newest.version]).encode()
    ).hexdigest()
    place = KEPT / f"taken-{key[:16]}.json"
    if not place.exists():
        for target in ("sm_90a", "sm_100a", "sm_120a"):
            rest = [one for one in candidates if one.name not in chosen]
            for at in range(0, len(rest), 2000):
                chosen += [one.name for one in accepted(rest[at : at + 2000], newest, target)]
        KEPT.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(chosen))
    names = set(json.loads(place.read_text()))
    return [one for one in candidates if one.name in names]


def accepted(batch: list, assembler, target: str) -> list:
    """The instructions of a batch of which the assembler has nothing to say."""
    while batch:
        text = text_of(batch, target)
        cubin, log = assemblers.attempt(text, assembler, target, 0)
        of_line = lines_of(text, batch)
        refused = {
            of_line[int(found[1])]
            for line in log
            if (found := _ERROR.search(line)) and int(found[1]) in of_line
        }
        if cubin is not None or not refused:
            return batch if cubin is not None else []
        batch = [one for k, one in enumerate(batch) if k not in refused]
    return []


def everything() -> list:
    """All instructions, each once."""
    table = instructions.instructions()
    texts = {one.text for one in table}
    plain = [*table, *taken_somewhere([one for one in of_rows() if one.text not in texts])]
    found = {}
    for one in (*plain, *varied(plain), *fused(), *singles()):
        found.setdefault(one.name, one)
    return list(found.values())


def text_of(batch: list, target: str) -> str:
    head = f".version 9.4\n.target {target}\n.address_size 64\n"
    return instructions.module(batch, head=head, more=MORE, start=START)


def head_of(batch: list) -> str:
    """The lines that describe a batch's launch, for `triton-runner assemble --check`."""
    data, outputs = instructions.inputs(batch), sum(len(one.results) for one in batch)
    lines = [
        f"grid: {GRID}", f"arg: x64[{len(data)}] {{{', '.join(hex(v) for v in data)}}}",
        f"arg: x64[{outputs * instructions.LANES}] zeros", f"arg: x64[{instructions.LANES * 2}] zeros",
        f"arg: i32 {CONSTANT}",
    ]  # fmt: skip
    return "".join(f"// {line}\n" for line in lines)


def lines_of(text: str, batch: list) -> dict[int, int]:
    """Which instruction of a batch each line of its text belongs to."""
    starts = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith("{ ")]
    bounds = [*starts[-len(batch) :], len(text.splitlines()) - 1]
    return {n: k for k in range(len(batch)) for n in range(bounds[k], bounds[k + 1])}


class Kernel:
    """A batch of instructions as one kernel, through one assembler."""

    def __init__(self, batch: list, assembler, target: str, opt: int):
        self.batch, self.assembler, self.target, self.opt = batch, assembler, target, opt
        self.ends: dict[str, tuple[str, str]] = {}  # how each ended, and a word about it

    def run(self) -> dict:
        self._alone_or_halves(self.batch)
        return self.ends

    def _alone_or_halves(self, batch: list) -> None:
        """Runs a batch; what stops it whole (a cubin that nvdisasm does not read, a fault of ours) is that of one
        instruction, which is looked for by halves."""
        batch = [one for one in batch if one.name not in self.ends]
        try:
            self._run(self._taken(batch))
        except Exception as error:
            if len(batch) > 1:
                for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                    self._alone_or_halves(part)
            elif isinstance(error, triton_runner.DiagnosticError):
                self._drop(batch, "unread" if "nvdisasm" in error.message else "no row", str(error.message))
            else:
                self._drop(batch, "different", f"{type(error).__name__}: {error}")

    def _drop(self, batch: list, how: str, why: str) -> None:
        for one in batch:
            self.ends.setdefault(one.name, (how, why))

    def _taken(self, batch: list) -> list:
        """Returns what the assembler takes of a batch; makes self.cubin."""
        while batch:
            self.text = text_of(batch, self.target)
            self.cubin, log = assemblers.attempt(self.text, self.assembler, self.target, self.opt)
            if self.cubin is not None:
                return batch
            of_line = lines_of(self.text, batch)
            refused = {
                of_line[int(found[1])]: line
                for line in log
                if (found := _ERROR.search(line)) and int(found[1]) in of_line
            }
            if not refused:
                if len(batch) == 1:
                    self._drop(batch, "not taken", log[0])
                    return []
                for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                    self._run(self._taken(part))
                return []
            for k, why in refused.items():
                self._drop([batch[k]], "not taken", why.partition("error")[2].strip(" :;"))
            batch = [one for k, one in enumerate(batch) if k not in refused]
        return []

    def _run(self, batch: list) -> None:
        while batch:
            data = instructions.inputs(batch)
            outputs = sum(len(one.results) for one in batch)
            case = [
                ("in_", data), ("out_", numpy.zeros(outputs * instructions.LANES, numpy.uint64)),
                ("s_", numpy.zeros(instructions.LANES * 2, numpy.uint64)), ("c_", numpy.int32(CONSTANT)),
            ]  # fmt: skip
            work = trial.work_of(
                self.text, "k", self.assembler, self.target, self.opt, 1, case, grid=(GRID, 1, 1)
            )
            judged = trial.Trial(work)
            launch = judged.launch(
                inputs.Inputs("case", tuple(value for _, value in case), (GRID, 1, 1)), self.cubin
            )
            try:
                want = launch.run("ptx")
            except triton_runner.DiagnosticError as error:
                return self._without(batch, error.line, "gap", error)
            try:
                got = launch.run("cubin")
            except triton_runner.DiagnosticError as error:
                listing = tools.listing(self.cubin)
                made = [i for i in _core.sass.parse_kernel(listing, "k").instructions if i.line == error.line]
                if not made:
                    raise
                return self._without(batch, made[0].ptx_line, "no row", error, str(made[0]))
            if want.trap or got.trap:
                return self._stopped(batch, want.trap or got.trap, "gap" if want.trap else "different")
            return self._compare(batch, want, got)

    def _without(self, batch: list, line: int, how: str, error, what: str = "") -> None:
        """The rest of a batch, without the instruction of a line."""
        k = lines_of(self.text, batch).get(line)
        if k is None:
            if len(batch) == 1:
                return self._drop(batch, how, what or error.message)
            for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
                self._run(self._taken(part))
            return None
        self._drop([batch[k]], how, what or error.message)
        return self._run(self._taken(batch[:k] + batch[k + 1 :]))

    def _stopped(self, batch: list, trap, how: str) -> None:
        if len(batch) == 1:
            return self._drop(batch, how, str(trap.message))
        for part in (batch[: len(batch) // 2], batch[len(batch) // 2 :]):
            self._run(self._taken(part))
        return None

    @staticmethod
    def _only_nans(one, a, b) -> bool:
        """Whether two results of an instruction differ in NaNs of floats alone, whose bits PTX leaves open."""
        for kind, x, y in zip(one.results, a, b, strict=True):
            name = kind.removesuffix("x2")
            if name not in _FLOATS:
                if (x != y).any():
                    return False
                continue
            bits, mantissa = _FLOATS[name]
            for shift in range(0, instructions.width(kind), bits):
                x_part, y_part = ((v >> numpy.uint64(shift)) & numpy.uint64((1 << bits) - 1) for v in (x, y))
                rest = (1 << (bits - 1)) - 1
                infinity = numpy.uint64(rest >> mantissa << mantissa)
                nans = [(v & numpy.uint64(rest)) > infinity for v in (x_part, y_part)]
                if ((x_part != y_part) & ~(nans[0] & nans[1])).any():
                    return False
        return True

    def _compare(self, batch: list, want, got) -> None:
        a, b = (ended.arrays["out_"].reshape(-1, instructions.LANES) for ended in (want, got))
        first, apart = 0, []
        for one in batch:
            last = first + len(one.results)
            wrong = numpy.flatnonzero((a[first:last] != b[first:last]).any(axis=0))
            if len(wrong):
                lane = wrong[0]
                given = ", ".join(
                    f"{int(instructions.operand(k, n)[lane]):#x}" for n, k in enumerate(one.operands)
                )
                left = " ".join(f"{int(v):#x}" for v in a[first:last, lane])
                right = " ".join(f"{int(v):#x}" for v in b[first:last, lane])
                why = f"{len(wrong)} lanes; ({given}): PTX {left}, machine code {right}"
                if self._only_nans(one, a[first:last], b[first:last]):
                    self._drop([one], "nan", why)
                elif ".approx" in one.text and re.search(r" (number|minus|zero) \d$", one.name):
                    self._drop([one], "folded", why)
                else:
                    apart.append((one, why))
            else:
                self._drop([one], "equal", "")
            first = last
        for one, why in apart:
            self._drop([one], *self._alone(one, why, batch))

    def _alone(self, one, why: str, batch: list) -> tuple[str, str]:
        """Finds what a difference is: the instruction alone is tried as `assemble --check` does it."""
        for pattern, fault in KNOWN.items():
            if re.search(pattern, one.name):
                return "known", fault
        head, text = head_of([one]), text_of([one], self.target)
        work = trial.work_of(head + text, "k", self.assembler, self.target, self.opt, 1)
        judged = trial.Trial(work).run()
        if judged.state in ("contraction", "order"):
            return judged.state, why
        if judged.state == "different" and (
            name := known.cause(head + text, self.assembler, self.opt, known.tried_here)
        ):
            return "known", name
        if judged.state == "equal":  # among others only
            head, text = head_of(batch), text_of(batch, self.target)
        KEPT.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^\w.]+", "_", one.name)
        place = KEPT / f"{name}-{self.assembler.version}-O{self.opt}-{self.target}.ptx"
        place.write_text(head + text)
        maker = judged.place and (judged.place.maker or judged.place.sass)
        return "different", f"{why}; {maker or judged.state}; {place.relative_to(ROOT)}"


def work_of(options, chosen: list) -> list[tuple]:
    """(assembler, target, -O, instructions) of each kernel, in the order that the seed gives."""
    more = tuple((place, place) for place in options.bin)
    there = assemblers.assemblers(more)
    tried = [
        one
        for one in there
        if not options.ptxas or any(one.version.startswith(text) for text in options.ptxas)
    ]
    draw = random.Random(options.seed)
    draw.shuffle(chosen)
    batches = [chosen[at : at + options.each] for at in range(0, len(chosen), options.each)]
    # Each kernel of one assembler after the other, so that a run that ends early has had all of them.
    rest = []
    for target in options.target:
        for opt in options.opt:
            for one in tried:
                own = batches[:]
                draw.shuffle(own)
                rest += [(place, one, target, opt, batch) for place, batch in enumerate(own)]
    draw.shuffle(rest)
    rest.sort(key=lambda item: item[0])
    return [item[1:] for item in rest]


def run_one(work: tuple) -> tuple:
    assembler, target, opt, batch = work
    with _settings.using(timeout=30):
        return assembler.version, target, opt, Kernel(batch, assembler, target, opt).run()


class Counts:
    """How the instructions ended, and what is at fault."""

    def __init__(self):
        self.by: dict[tuple, collections.Counter] = collections.defaultdict(collections.Counter)
        self.ends: dict[tuple, str] = {}
        self.faults: dict[tuple, list] = collections.defaultdict(list)
        self.kernels, self.names = 0, set()
        self.gaps: dict[str, str] = {}
        self.taken: set[str] = set()

    def add(self, version: str, target: str, opt: int, ends: dict) -> None:
        self.kernels += 1
        for name, (how, why) in ends.items():
            self.ends[version, target, opt, name] = how
            self.by[version, target][how] += 1
            self.names.add(name)
            if how != "not taken":
                self.taken.add(name)
            if how == "gap":
                self.gaps.setdefault(name, why)
            if any(how == ends and re.search(pattern, name) for ends, pattern, _ in OPEN):
                self.by[version, target]["open"] += 1
                self.by[version, target][how] -= 1
                continue
            if how in FAULTS:
                if (name, how) not in self.faults:
                    print(f"{how}: {name}, ptxas {version} -O{opt} {target}: {why}", flush=True)
                self.faults[name, how].append((version, target, opt, why))

    def show(self) -> None:
        total = sum(self.by.values(), collections.Counter())
        print(
            f"{len(self.names)} instructions in {self.kernels} kernels; {len(self.names - self.taken)} are taken nowhere"
        )
        for (version, target), counts in sorted(self.by.items()):
            print(
                f"  ptxas {version} {target}: "
                + ", ".join(f"{n} {how}" for how, n in counts.most_common() if n)
            )
        print("  all: " + ", ".join(f"{n} {how}" for how, n in total.most_common() if n))
        for name, why in sorted(self.gaps.items()):
            print(f"  gap: {name}: {why[:120]}")
        for (name, how), places in sorted(self.faults.items()):
            print(f"  {how} {len(places)} times: {name}: {places[0][3][:160]}")

    def write(self) -> None:
        total = sum(self.by.values(), collections.Counter())
        figures = {
            "instructions": len(self.names),
            "kernels": self.kernels,
            **{how: n for how, n in total.most_common() if n},
        }
        columns = [
            "equal",
            "nan",
            "contraction",
            "order",
            "folded",
            "known",
            "gap",
            "open",
            "no row",
            "different",
        ]
        versions = sorted({version for version, _ in self.by})
        rows = []
        for version in versions:
            counts = sum((c for (v, _), c in self.by.items() if v == version), collections.Counter())
            rows.append(
                [version, len({t for v, t in self.by if v == version}), *(counts[name] for name in columns)]
            )
        results.record(
            "sass", "spellings", "each instruction of PTX and what ptxas fuses, as PTX and as machine code",
            "python tests/sass/spellings.py " + " ".join(sys.argv[1:]), figures,
            table={"columns": ["ptxas", "targets", *columns], "rows": rows},
            data={"gaps": self.gaps, "faults": {f"{name}: {how}": places for (name, how), places in self.faults.items()}},
        )  # fmt: skip


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--target", nargs="*", default=TARGETS)
    parser.add_argument(
        "--ptxas", nargs="*", default=[], help="beginnings of versions (default: all of this machine)"
    )
    parser.add_argument("--bin", nargs="*", default=[], help="folders with more assemblers")
    parser.add_argument("--opt", nargs="*", type=int, default=OPTS)
    parser.add_argument("--only", default="", help="instructions whose name this regular expression finds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=900, help="seconds after which no more kernels begin; 0: none"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--each", type=int, default=instructions.PER_ENTRY, help="instructions in a kernel")
    parser.add_argument("--dump", default="", help="a file for how each ended")
    parser.add_argument("--write", action="store_true", help="keep the counts in results/sass.json")
    options = parser.parse_args(argv)
    chosen = [one for one in everything() if re.search(options.only, one.name)]
    work, counts, end = work_of(options, chosen), Counts(), time.monotonic() + (options.limit or 1e9)
    with ProcessPoolExecutor(options.jobs) as pool:
        ahead = iter(work)
        running = {pool.submit(run_one, item) for item in itertools.islice(ahead, 2 * options.jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for ended in done:
                counts.add(*ended.result())
            if time.monotonic() < end:
                running |= {pool.submit(run_one, item) for item in itertools.islice(ahead, len(done))}
    print(f"{counts.kernels} of {len(work)} kernels")
    counts.show()
    if options.write:
        counts.write()
    if options.dump:
        faults = [[*key, *places] for key, places in counts.faults.items()]
        ends = [[*key, how] for key, how in counts.ends.items() if how != "equal"]
        Path(options.dump).write_text(
            json.dumps(
                {
                    "kernels": counts.kernels,
                    "of": len(work),
                    "instructions": len(chosen),
                    "by": [[*k, v] for k, v in counts.by.items()],
                    "ends": ends,
                    "all": len(counts.ends),
                    "faults": faults,
                    "gaps": counts.gaps,
                }
            )
        )
    return int(bool(counts.faults))


if __name__ == "__main__":
    sys.exit(main())
