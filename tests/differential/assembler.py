"""Random PTX on trial: what each assembler makes of it, at each -O, has to leave the bits that the PTX
leaves, all of it executed on the CPU.

    python tests/differential/assembler.py                        a hundred programs by the newest ptxas
    python tests/differential/assembler.py --seeds 0 5000 --ptxas all --opt 0 1 2 3 --limit 3600

A trial that is done is kept: the same command goes on where it was interrupted. Programs whose trial ends
as "different" or "hazard" are left in build/differential/, for `triton-runner assemble FILE --check`.
"""

import argparse
import collections
import pathlib
import sys
import time

from random_ptx import generate_ptx
from triton_runner._assemble import trials

KEPT = pathlib.Path(__file__).resolve().parents[2] / "build" / "differential"
AT_ONCE = 20  # seeds
WRONG = ("different", "hazard")


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
    options = parser.parse_args()
    assemblers = trials.chosen_assemblers(options.ptxas)
    end, counts, why, programs = (
        time.monotonic() + options.limit,
        collections.Counter(),
        collections.Counter(),
        0,
    )
    for first in range(options.seeds[0], options.seeds[1], AT_ONCE):
        if time.monotonic() > end:
            break
        for number, target in enumerate(options.target):
            seeds = range(first, min(first + AT_ONCE, options.seeds[1]))
            chosen = [
                trials.Subject(f"ptx-{seed}", generate_ptx(seed, target), {"metadata": "", "kernel": ""})
                for seed in seeds
                if seed % len(options.target) == number
            ]
            programs += len(chosen)
            for one in trials.run(chosen, assemblers, options.opt, "", 1, options.jobs):
                counts[one.ptxas, one.opt, one.result.state] += 1
                if one.result.state not in ("equal", *WRONG):
                    why[one.result.state, one.result.why.splitlines()[0] if one.result.why else ""] += 1
                if one.result.state in WRONG:
                    KEPT.mkdir(parents=True, exist_ok=True)
                    text = next(subject.ptx for subject in chosen if subject.name == one.name)
                    (KEPT / f"{one.name}.ptx").write_text(text)
                    print(f"{one.name}: ptxas {one.ptxas} -O{one.opt} {target}: {one.result}", flush=True)
    print(f"{programs} programs")
    for (ptxas, opt, state), count in sorted(counts.items()):
        print(f"  ptxas {ptxas} -O{opt}: {count} {state}")
    for (state, reason), count in why.most_common(20):
        print(f"  {count} {state}: {reason}")
    return int(any(state in WRONG for _, _, state in counts))


if __name__ == "__main__":
    sys.exit(main())
