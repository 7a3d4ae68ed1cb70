"""This package's engines and torch in turn: for a busy machine, and for less than its best vectors.

    python benchmark/in_turn.py [--isa avx2] [--rounds 30] [--engines ttir cubin-fast ...] [case ...]
    python benchmark/in_turn.py --isa avx2 --beside ../before add      the built tree of another commit too
    python benchmark/in_turn.py --isa avx2 --write                     keeps the table in results/bench.json

Each engine has a process of its own, all pinned to one core; they take turns of some milliseconds, so that
what disturbs one disturbs all. Times are CPU time: the least sample of all rounds, in brackets the median.
With --isa avx2 torch's libraries are held to AVX2 too. ptx-checked is a launch with check="oob,uninit,race",
products as ptx-fast has them.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "tests"))
from suite import results as kept  # noqa: E402

ENGINES = ("interpreter", "torch", "ttir", "ttgir", "ptx", "ptx-fast", "ptx-checked", "cubin", "cubin-fast")
FOREIGN = ENGINES[:2]  # they run without this package
CHECKED = {"mma": "fast", "check": "oob,uninit,race"}
# The table that is kept has these columns of milliseconds, and of quotients.
KEPT = ("torch", "ttir", "ttgir", "ptx-fast", "cubin-fast", "ptx-checked")
QUOTIENTS = (("ttir", "torch"), ("ttgir", "ttir"), ("ptx-fast", "ttir"), ("cubin-fast", "ptx-fast"),
             ("ptx-checked", "ptx-fast"))  # fmt: skip
WITHOUT_TILES = ("ptx", "cubin")  # levels that a target's threads execute
HELD = {
    "best": {},
    "avx2": {
        "TRITON_RUNNER_ISA": "avx2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
SAMPLE_SECONDS, TURN_SECONDS, SLOW_MILLISECONDS = 1e-3, 0.02, 300


def sample(run, launches: int, clock) -> float:
    """Milliseconds of one launch."""
    begin = clock()
    for _ in range(launches):
        run()
    return (clock() - begin) / launches * 1e3


def work(engine: str, cores: int) -> None:
    """The process of one engine: reads `case NAME` and `turn`, answers each with a line of JSON."""
    engine, _, variant = engine.partition("-")
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    clock = time.process_time if cores == 1 else time.perf_counter
    if engine not in FOREIGN:
        import triton_runner
    import cases
    import torch

    torch.set_num_threads(cores)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        verb, *name = line.split()
        if verb == "case":
            case = cases.named(name[0])
            answer = {"title": f"{case.name} {case.size}", "right": True}
            if engine == "torch":
                run = case.fresh or case.torch
            elif engine == "interpreter":
                run = case.launch
            else:
                settings = {"mma": variant or "exact" if engine in WITHOUT_TILES else case.mma}
                settings = CHECKED if variant == "checked" else settings
                with triton_runner.using(**settings):
                    compiled = case.launch()
                difference = (case.out.float() - case.torch().float()).abs().max().item()
                answer["right"] = difference <= case.tolerance
                run = functools.partial(compiled.run, *(*case.grid, 1, 1)[:3], *(None,) * 6, *case.values)
            once = sample(run, 1, clock)
            if once < SLOW_MILLISECONDS:
                once = min(sample(run, 1, clock) for _ in range(3))
            launches = max(1, round(SAMPLE_SECONDS * 1e3 / max(once, 1e-4)))
        else:
            answer, end = [], time.perf_counter() + TURN_SECONDS
            with contextlib.nullcontext() if engine in FOREIGN else triton_runner.using(**settings):
                while not answer or time.perf_counter() < end:
                    answer.append(sample(run, launches, clock))
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """An engine's process, of this tree or of another one. On several cores it tells the wall clock."""

    def __init__(self, engine: str, isa: str, target: str, tree: pathlib.Path | None = None, cores: int = 1):
        self.title = engine + (" before" if tree else "")
        level = engine.partition("-")[0]
        env = (
            os.environ
            | HELD[isa]
            | {"TRITON_DEFAULT_FP_FUSION": "1", "OMP_NUM_THREADS": f"{cores}", "MKL_NUM_THREADS": f"{cores}"}
        )
        # glibc then keeps freed blocks: torch's new results cost no page faults.
        env |= {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
        if level == "interpreter":
            env["TRITON_INTERPRET"] = "1"
        elif level != "torch":
            env |= {
                "TRITON_RUNNER_DEVICE": "cpu",
                "TRITON_RUNNER_LEVEL": level,
                "TRITON_RUNNER_THREADS": f"{cores}",
            }
        if level in WITHOUT_TILES:
            env["TRITON_RUNNER_TARGET"] = target
        python = tree / ".venv/bin/python" if tree else sys.executable
        self.process = subprocess.Popen(
            [python, __file__, "--work", engine, "--cores", f"{cores}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )

    def ask(self, request: str):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.title} ended at '{request}': its output is above")
        return json.loads(answer)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def measured(workers: list[Worker], case: str, rounds: int) -> tuple[str, list[list[float]]]:
    """Returns the title of the case, and each worker's samples, sorted."""
    title = ""
    for worker in workers:
        answer = worker.ask(f"case {case}")
        title = answer["title"]
        if not answer["right"]:
            raise SystemExit(f"{case} at {worker.title}: the result is wrong")
    samples = [[] for _ in workers]
    for _ in range(rounds):
        for worker, found in zip(workers, samples, strict=True):
            found += worker.ask("turn")
    return title, [sorted(found) for found in samples]


def line(title: str, samples: list[list[float]]) -> str:
    """A line of the table: least and median milliseconds of each worker, quotients with the first one."""
    cells = []
    for k, found in enumerate(samples):
        ratio = f" {found[0] / samples[0][0]:.2f}" if k else ""
        cells.append(f"{found[0]:.4g} ({found[len(found) // 2]:.4g}){ratio}")
    return "| " + " | ".join([title, *cells]) + " |"


def record(least: dict[str, dict[str, float]], options, command: str) -> None:
    """results/bench.json: a row a case, of the least samples."""
    rows = [
        [title, *(f"{times[engine]:.3g}" for engine in KEPT),
         *(f"{times[a] / times[b]:.2f}" for a, b in QUOTIENTS)]
        for title, times in least.items()
    ]  # fmt: skip
    columns = ["kernel", *KEPT, *(f"{a} of {b}" for a, b in QUOTIENTS)]
    vectors = "AVX2" if options.isa == "avx2" else "the widest vectors"
    what = f"Milliseconds of CPU time of one thread, the least of {options.rounds} turns; {vectors}; "
    what += f"PTX and machine code for {options.target}, products fast; checked: oob, uninit, race"
    kept.record("bench", f"levels-{options.isa}", what, command, {}, table={"columns": columns, "rows": rows})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", choices=HELD, default="best", help="the vectors that both sides may use")
    parser.add_argument("--target", default="cuda:80", help="of ptx and of machine code")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES[1:])
    parser.add_argument(
        "--beside", type=pathlib.Path, help="another tree, built: its engines are measured too"
    )
    parser.add_argument("--write", action="store_true", help="keep the rows in results/bench.json")
    parser.add_argument("--work", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", help="add, softmax, matmul-512, ... (see cases.py)")
    options = parser.parse_intermixed_args()
    if options.work:
        return work(options.work, options.cores)
    if options.write:
        options.engines = KEPT
    workers = []
    for engine in options.engines:
        workers.append(Worker(engine, options.isa, options.target))
        if options.beside and engine not in FOREIGN:
            workers.append(Worker(engine, options.isa, options.target, options.beside))
    if not options.cases:
        import cases

        options.cases = list(cases.cases())
    print(f"milliseconds of CPU time, {options.isa}: least (median), quotient with {workers[0].title}")
    print("| kernel | " + " | ".join(worker.title for worker in workers) + " |")
    print("|" + "---|" * (len(workers) + 1))
    least = {}
    for case in options.cases:
        title, samples = measured(workers, case, options.rounds)
        print(line(title, samples), flush=True)
        least[title] = {w.title: found[0] for w, found in zip(workers, samples, strict=True)}
    if options.write:
        record(least, options, "python benchmark/" + " ".join(["in_turn.py", *sys.argv[1:]]))
    for worker in workers:
        worker.close()


if __name__ == "__main__":
    main()
