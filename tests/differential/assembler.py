"""Random PTX on trial: what each assembler makes of it, at each -O, has to leave the bits that the PTX
leaves, all of it executed on the CPU.

    python tests/differential/assembler.py                        a hundred programs by the newest ptxas
    python tests/differential/assembler.py --seeds 0 5000 --ptxas all --opt 0 1 2 3 --limit 3600

A trial that is done is kept: the same command goes on where it was interrupted. A program whose trial ends
as "different" is tried again with what sets off a KNOWN fault written otherwise: if it is right then, it is
counted by that fault's name. All others, and hazards, are left in build/differential/, reduced, for
`triton-runner assemble FILE --check`. --write records the counts (tests/suite/results.py).
"""

import argparse
import collections
import itertools
import pathlib
import re
import sys
import time

import triton_runner
from random_ptx import generate_ptx
from triton_runner.verbs.assemble import assemblers, trial
from triton_runner.verbs.assemble import run as trials

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "differential"
AT_ONCE = 20  # seeds
WRONG = ("different", "hazard")
REDUCING = 180  # seconds

# A zero of which the assembler does not know that it is one: no %n has this bit.
_ZERO = "  .reg .b32 %zero, %known<99>, %hidden<99>; and.b32 %zero, %n, 128;\n"
_BODY = "  mad.lo.s32 %at, %block"


def _with_zero(ptx: str) -> str:
    if "%zero" in ptx.partition(_BODY)[0]:
        return ptx
    return ptx.replace(_BODY, _ZERO + _BODY, 1)


def prmt_sign(ptx: str) -> str:
    """doc/solving_triton_issues/prmt-sign.md: selectors that are not numbers."""
    count = itertools.count()
    line = re.compile(r"^(.*?)(prmt\.b32(?:\.\w+)? [^;]*, )(0x[0-9a-f]+|\d+);", re.MULTILINE)

    def one(found) -> str:
        name = f"%known{next(count)}"
        return f"  xor.b32 {name}, %zero, {found[3]};\n{found[1]}{found[2]}{name};"

    return _with_zero(line.sub(one, ptx))


def packed_add(ptx: str) -> str:
    """doc/solving_triton_issues/packed-add.md: constants that the assembler does not know."""
    count = itertools.count(1)

    def one(found) -> str:
        name = f"%hidden{next(count)}"
        return f"  xor.b32 {name}, %zero, {found[3]};\n{found[1]}{found[2]}{name};"

    return _with_zero(re.sub(r"^(.*?)(add\.s16x2 [^;]*, )(\S+);", one, ptx, flags=re.MULTILINE))


def abs_max(ptx: str) -> str:
    """doc/solving_triton_issues/abs-max.md: abs in the place of max(x, -x)."""
    return re.sub(r"(neg\.s32 (%r\d+), (%r\d+);\s+)max\.s32 (%r\d+), \3, \2;", r"\1abs.s32 \4, \3;", ptx)


KNOWN = {"prmt-sign": prmt_sign, "packed-add": packed_add, "abs-max": abs_max}


def subject(name: str, ptx: str) -> trials.TriedPtx:
    return trials.TriedPtx(name, ptx, {"metadata": "", "kernel": ""})


def cause(ptx: str, assembler, opt: int, tried) -> str:
    """The known faults without which a program is right; "" if it is not."""
    for names in [*((name,) for name in KNOWN), *itertools.combinations(KNOWN, 2), tuple(KNOWN)]:
        mended = ptx
        for name in names:
            mended = KNOWN[name](mended)
        if mended != ptx and tried(mended, assembler, opt) == "equal":
            return " and ".join(names)
    return ""


def tried_here(ptx: str, assembler, opt: int) -> str:
    """How a trial ends, in this process."""
    try:
        work = trial.work_of(ptx, "", assembler, assemblers.target_of(ptx), opt, 1)
        return trial.Trial(work).run().state
    except triton_runner.DiagnosticError:
        return "unjudged"


def reduced(ptx: str, assembler, opt: int, state: str) -> str:
    """The smallest text whose trial ends in the same way, and not by a known fault."""
    head = "".join(line for line in ptx.splitlines(True) if line.startswith("// "))
    end = time.monotonic() + REDUCING

    def is_wrong(text: str) -> bool:
        whole = head + text.removeprefix(head)
        if time.monotonic() > end or tried_here(whole, assembler, opt) != state:
            return False
        return state != "different" or not cause(whole, assembler, opt, tried_here)

    return head + triton_runner.reduce(ptx, is_wrong).text.removeprefix(head)


class Run:
    """The counts of a run, and what it finds."""

    def __init__(self, options):
        self.options, self.assemblers = options, trials.chosen_assemblers(options.ptxas)
        self.counts, self.why, self.programs, self.found = collections.Counter(), collections.Counter(), 0, []

    def run(self) -> None:
        end = time.monotonic() + self.options.limit
        for first in range(*self.options.seeds, AT_ONCE):
            for number, target in enumerate(self.options.target):
                if time.monotonic() > end:
                    return
                seeds = range(first, min(first + AT_ONCE, self.options.seeds[1]))
                self._try([seed for seed in seeds if seed % len(self.options.target) == number], target)

    def _try(self, seeds: list[int], target: str) -> None:
        chosen = [subject(f"ptx-{seed}", generate_ptx(seed, target)) for seed in seeds]
        self.programs += len(chosen)
        texts = {one.name: one.ptx for one in chosen}
        for one in trials.run(chosen, self.assemblers, self.options.opt, "", 1, self.options.jobs):
            state = one.result.state
            if state in WRONG:
                state = self._wrong(one, texts[one.name], target)
            elif state != "equal":
                self.why[state, one.result.why.splitlines()[0] if one.result.why else ""] += 1
            self.counts[one.ptxas, one.opt, state] += 1

    def _wrong(self, one, ptx: str, target: str) -> str:
        assembler = next(a for a in self.assemblers if a.version == one.ptxas)
        state = one.result.state
        if state == "different" and (name := cause(ptx, assembler, one.opt, self._tried)):
            return f"known: {name}"
        KEPT.mkdir(parents=True, exist_ok=True)
        path = KEPT / f"{one.name}-{one.ptxas}-O{one.opt}-{target}.ptx"
        path.write_text(ptx)
        print(f"{path}: {one.result}", flush=True)
        self.found.append(path.name)
        if self.options.reduce:
            path.with_suffix(".reduced.ptx").write_text(reduced(ptx, assembler, one.opt, state))
        return state

    def _tried(self, ptx: str, assembler, opt: int) -> str:
        (one,) = trials.run([subject("mended", ptx)], [assembler], [opt], "", 1, 1)
        return one.result.state

    def show(self) -> None:
        print(f"{self.programs} programs")
        for (ptxas, opt, state), count in sorted(self.counts.items()):
            print(f"  ptxas {ptxas} -O{opt}: {count} {state}")
        for (state, reason), count in self.why.most_common(20):
            print(f"  {count} {state}: {reason}")

    def write(self) -> None:
        sys.path.append(str(ROOT / "tests" / "suite"))
        import results

        figures = {"programs": self.programs, "trials": sum(self.counts.values())}
        for (_, _, state), count in sorted(self.counts.items(), key=lambda one: one[0][2]):
            figures[state] = figures.get(state, 0) + count
        rows = sorted({(ptxas, state) for ptxas, _, state in self.counts})
        opts = self.options.opt
        table = {"columns": ["ptxas", "ends as", *(f"-O{opt}" for opt in opts)], "rows": [
            [ptxas, state, *(self.counts[ptxas, opt, state] for opt in opts)] for ptxas, state in rows
        ]}  # fmt: skip
        results.record(
            "assembler", "random", "random PTX, each assembler's machine code beside it, on the CPU",
            "python tests/differential/assembler.py " + " ".join(sys.argv[1:]), figures, table=table,
        )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FROM", "TO"))
    parser.add_argument("--ptxas", nargs="*", default=[], help="versions, paths, or all")
    parser.add_argument("--opt", type=int, nargs="*", default=[3])
    parser.add_argument("--target", nargs="*", default=["sm_90a"], help="taken in turn by the seeds")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which no more trials begin")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--reduce", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    run = Run(options)
    run.run()
    run.show()
    if options.write:
        run.write()
    return int(bool(run.found))


if __name__ == "__main__":
    sys.exit(main())
