"""This package's engines and torch in turn: for a busy machine, and for less than its best vectors.

    python benchmark/in_turn.py [--isa avx2] [--rounds 30] [--engines ttir cubin-fast ...] [case ...]
    python benchmark/in_turn.py --isa avx2 --beside ../before add      the built tree of another commit too

Each engine has a process of its own, all pinned to one core; they take turns of some milliseconds, so that
what disturbs one disturbs all. Times are CPU time: the least sample of all rounds, in brackets the median.
With --isa avx2 torch's libraries are held to AVX2 too.
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
ENGINES = ("torch", "ttir", "ttgir", "ptx", "ptx-fast", "cubin", "cubin-fast")
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
SAMPLE_SECONDS, TURN_SECONDS = 1e-3, 0.02


def sample(run, launches: int) -> float:
    """Milliseconds of CPU time of one launch."""
    begin = time.process_time()
    for _ in range(launches):
        run()
    return (time.process_time() - begin) / launches * 1e3


def work(engine: str) -> None:
    """The process of one engine: reads `case NAME` and `turn`, answers each with a line of JSON."""
    engine, _, variant = engine.partition("-")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if engine != "torch":
        import triton_runner
    import cases
    import torch

    torch.set_num_threads(1)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        verb, *name = line.split()
        if verb == "case":
            case = cases.cases()[name[0]]()
            answer = {"title": f"{case.name} {case.size}", "right": True}
            if engine == "torch":
                run = case.fresh or case.torch
            else:
                settings = {"mma": variant or "exact" if engine in WITHOUT_TILES else case.mma}
                with triton_runner.using(**settings):
                    compiled = case.launch()
                difference = (case.out.float() - case.torch().float()).abs().max().item()
                answer["right"] = difference <= case.tolerance
                run = functools.partial(compiled.run, *(*case.grid, 1, 1)[:3], *(None,) * 6, *case.values)
            once = min(sample(run, 1) for _ in range(3))
            launches = max(1, round(SAMPLE_SECONDS * 1e3 / max(once, 1e-4)))
        else:
            answer, end = [], time.perf_counter() + TURN_SECONDS
            with contextlib.nullcontext() if engine == "torch" else triton_runner.using(**settings):
                while not answer or time.perf_counter() < end:
                    answer.append(sample(run, launches))
        print(json.dumps(answer), file=answers, flush=True)


class Worker:
    """An engine's process, of this tree or of another one."""

    def __init__(self, engine: str, isa: str, target: str, tree: pathlib.Path | None = None):
        self.title = engine + (" before" if tree else "")
        level = engine.partition("-")[0]
        env = (
            os.environ
            | HELD[isa]
            | {"TRITON_DEFAULT_FP_FUSION": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        )
        # glibc then keeps freed blocks: torch's new results cost no page faults.
        env |= {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
        if level != "torch":
            env |= {"TRITON_RUNNER_DEVICE": "cpu", "TRITON_RUNNER_LEVEL": level, "TRITON_RUNNER_THREADS": "1"}
        if level in WITHOUT_TILES:
            env["TRITON_RUNNER_TARGET"] = target
        python = tree / ".venv/bin/python" if tree else sys.executable
        self.process = subprocess.Popen(
            [python, __file__, "--work", engine],
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


def measured(workers: list[Worker], case: str, rounds: int) -> str:
    """A line of the table: least and median milliseconds of each worker, quotients with the first one."""
    title, least, cells = "", [], []
    for worker in workers:
        answer = worker.ask(f"case {case}")
        title = answer["title"]
        if not answer["right"]:
            raise SystemExit(f"{case} at {worker.title}: the result is wrong")
    samples = [[] for _ in workers]
    for _ in range(rounds):
        for worker, found in zip(workers, samples, strict=True):
            found += worker.ask("turn")
    for found in samples:
        found.sort()
        least.append(found[0])
        ratio = f" {found[0] / least[0]:.2f}" if len(least) > 1 else ""
        cells.append(f"{found[0]:.4g} ({found[len(found) // 2]:.4g}){ratio}")
    return "| " + " | ".join([title, *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", choices=HELD, default="best", help="the vectors that both sides may use")
    parser.add_argument("--target", default="cuda:80", help="of ptx and of machine code")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument(
        "--beside", type=pathlib.Path, help="another tree, built: its engines are measured too"
    )
    parser.add_argument("--work", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", help="add, softmax, matmul-512, ... (see cases.py)")
    options = parser.parse_intermixed_args()
    if options.work:
        return work(options.work)
    workers = []
    for engine in options.engines:
        workers.append(Worker(engine, options.isa, options.target))
        if options.beside and engine != "torch":
            workers.append(Worker(engine, options.isa, options.target, options.beside))
    if not options.cases:
        import cases

        options.cases = list(cases.cases())
    print(f"milliseconds of CPU time, {options.isa}: least (median), quotient with {workers[0].title}")
    print("| kernel | " + " | ".join(worker.title for worker in workers) + " |")
    print("|" + "---|" * (len(workers) + 1))
    for case in options.cases:
        print(measured(workers, case, options.rounds), flush=True)
    for worker in workers:
        worker.process.stdin.close()


if __name__ == "__main__":
    main()
