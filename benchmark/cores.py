"""Measures what several cores give at each level: a launch on one core and on all, in turn.

    python benchmark/cores.py [--cores 16] [--rounds 8] [--engines ttir ptx-fast ...] [--write] [case ...]

Each engine has a process of its own, with torch's threads held to the same number; a cell is milliseconds of
CPU time on one core, of wall clock on all, and how many times quicker that is. --write keeps the table in
results/bench.json.
"""

import argparse
import os

import in_turn

ENGINES = ("torch", "ttir", "ttgir", "ptx-fast", "cubin-fast")
CASES = ("matmul-1024-large", "attention", "softmax", "layer-norm", "cumsum", "row-sum", "add")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--target", default="cuda:80", help="of ptx and of machine code")
    parser.add_argument("--engines", nargs="+", choices=in_turn.ENGINES, default=ENGINES)
    parser.add_argument("--write", action="store_true", help="keep the rows in results/bench.json")
    parser.add_argument("cases", nargs="*", help="matmul-1024-large, attention, ... (see cases.py)")
    options = parser.parse_intermixed_args()
    workers = [in_turn.Worker(engine, "best", options.target, cores=cores)
               for engine in options.engines for cores in (1, options.cores)]  # fmt: skip
    columns, rows = ["kernel", *options.engines], []
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for case in options.cases or CASES:
        title, samples = in_turn.measured(workers, case, options.rounds)
        least = [found[0] for found in samples]
        rows.append([title] + [f"{one:.3g}, {all_:.3g}: {one / all_:.1f}"
                               for one, all_ in zip(least[::2], least[1::2], strict=True)])  # fmt: skip
        print("| " + " | ".join(rows[-1]) + " |", flush=True)
    for worker in workers:
        worker.close()
    if options.write:
        what = (
            f"Milliseconds of a launch, CPU time on one core and wall clock on {options.cores}, and how many "
        )
        what += f"times quicker it is there: the least of {options.rounds} turns; PTX and machine code for "
        what += f"{options.target}, products fast"
        command = f"python benchmark/cores.py --rounds {options.rounds} --write"
        table = {"columns": columns, "rows": rows}
        in_turn.kept.record("bench", "cores", what, command, {}, table=table)


if __name__ == "__main__":
    main()
