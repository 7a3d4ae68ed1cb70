"""In which order do the paths of a parted warp run? Random branches, whose threads log where they come to.

    python tests/gpu/paths.py run FOLDER [--seeds 0 400]     on a GPU of sm_90: FOLDER/paths.json
    python tests/gpu/paths.py check FILE [--ids 0 100]       machine code on the CPU beside it, by thread
    python tests/gpu/paths.py races FILE                     what check="race" says of the machine code
    python tests/gpu/paths.py keep FILE [COUNT]              the smallest that agree: tests/sass/paths.json.xz

A place that a thread comes to reads a counter in shared memory and puts it back one larger, without atomics:
what a thread logs says which threads came there together and after whom. A launch is of one warp, or of a
part of one. run needs libcuda and ptxas alone.
"""

import argparse
import base64
import collections
import concurrent.futures
import itertools
import json
import lzma
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KEPT = Path(__file__).resolve().parents[1] / "sass" / "paths.json.xz"
ENTRIES = 256  # of a thread's log
FUEL = 50  # places that a thread comes to, before it ends at the next one that looks
ROUNDS = 3
HEAD = f"""\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u32 number)
{{
  .reg .pred %p<400>;
  .reg .b32 %r<400>;
  .reg .b64 %d<8>;
  .shared .align 4 .b32 counter;
  mov.u32 %r0, %tid.x;
  ld.param.u32 %r1, [number];
  ld.param.u64 %d0, [out];
  cvta.to.global.u64 %d0, %d0;
  mul.wide.u32 %d1, %r0, {4 * ENTRIES};
  add.s64 %d0, %d0, %d1;
  mov.u32 %r4, 0;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 st.volatile.shared.u32 [counter], %r4;
  bar.sync 0;
  mad.lo.u32 %r2, %r0, 2654435761, %r1;
  mov.u32 %r3, {FUEL};
"""


class Kernel:
    """The PTX of a seed: blocks that jump anywhere, or branches and loops within each other."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.registers, self.predicates, self.labels, self.places = 20, 10, 0, 0
        if self.random.random() < 0.5:
            self.graph()
        else:
            self.nest(self.random.randint(1, 3))
        self.text = HEAD + "\n".join(self.lines) + "\nEND:\n  ret;\n}\n"

    def write(self, *lines: str) -> None:
        self.lines += [f"  {line}" for line in lines]

    def register(self) -> str:
        self.registers += 1
        return f"%r{self.registers - 1}"

    def predicate(self) -> str:
        self.predicates += 1
        return f"%p{self.predicates - 1}"

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def place(self) -> None:
        self.places += 1
        t = self.register()
        self.write(
            f"ld.volatile.shared.u32 {t}, [counter];", f"add.u32 {t}, {t}, 1;",
            f"st.volatile.shared.u32 [counter], {t};", f"or.b32 {t}, {t}, {self.places << 16};",
            f"st.volatile.global.u32 [%d0], {t};", "add.s64 %d0, %d0, 4;", "sub.u32 %r3, %r3, 1;",
            "mad.lo.u32 %r2, %r2, 1664525, 1013904223;",
        )  # fmt: skip
        if self.random.random() < 0.35:
            self.look()

    def look(self) -> None:
        p = self.predicate()
        self.write(f"setp.le.s32 {p}, %r3, 0;", f"@{p} bra END;")

    def condition(self) -> str:
        t, p = self.register(), self.predicate()
        self.write(f"shr.u32 {t}, %r2, {self.random.randint(8, 28)};")
        self.write(f"and.b32 {t}, {t}, {self.random.choice((1, 1, 3, 3, 2))};")
        self.write(f"setp.{self.random.choice(('eq', 'ne'))}.u32 {p}, {t}, 0;")
        return p

    def branch(self, label: str) -> None:
        p = self.condition()
        self.write(f"@{self.random.choice(('', '!'))}{p} bra {label};")

    def graph(self) -> None:
        count = self.random.randint(3, 9)
        names = [self.label() for _ in range(count)]
        for i, name in enumerate(names):
            self.lines.append(f"{name}:")
            self.place()
            self.look()
            for _ in range(self.random.choice((1, 1, 1, 2))):
                self.branch(names[self.random.randint(max(0, i - 3), min(count - 1, i + 4))])
            if self.random.random() < 0.2 and i < count - 1:
                self.write(f"bra {names[self.random.randrange(count)]};")
            if self.random.random() < 0.1:
                self.write(f"@{self.condition()} ret;")
        self.place()

    def nest(self, depth: int, loops=()) -> None:
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if depth <= 0 or kind < 0.3:
                self.place()
            elif kind < 0.6:
                other, join, two = self.label(), self.label(), self.random.random() < 0.6
                self.branch(other)
                self.place()
                self.nest(depth - 1, loops)
                if two:
                    self.write(f"bra {join};")
                self.lines.append(f"{other}:")
                if two:
                    self.place()
                    self.nest(depth - 1, loops)
                    self.lines.append(f"{join}:")
            elif kind < 0.85:
                head, out = self.label(), self.label()
                self.lines.append(f"{head}:")
                self.place()
                self.look()
                self.nest(depth - 1, (*loops, (head, out)))
                self.write(f"@{self.condition()} bra {head};")
                self.lines.append(f"{out}:")
                self.place()
            elif kind < 0.95 and loops:
                self.write(f"@{self.condition()} bra {self.random.choice(self.random.choice(loops))};")
                self.place()
                self.look()
            else:
                self.write(f"@{self.condition()} ret;")
                self.place()


def run(folder: Path, first: int, end: int, ptxas: str) -> int:
    from libcuda import Cuda

    cuda, scratch = Cuda(), Path(tempfile.mkdtemp())

    def assembled(job) -> bytes | None:
        seed, opt = job
        source, cubin = scratch / f"{seed}-{opt}.ptx", scratch / f"{seed}-{opt}.cubin"
        source.write_text(Kernel(seed).text)
        done = subprocess.run([ptxas, "-arch=sm_90", f"-O{opt}", source, "-o", cubin], capture_output=True)
        return None if done.returncode else cubin.read_bytes()

    jobs = [(seed, opt) for seed in range(first, end) for opt in (1, 3)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        cubins = list(pool.map(assembled, jobs))
    rows, unsteady = [], 0
    for (seed, opt), cubin in zip(jobs, cubins, strict=True):
        if cubin is None:
            continue
        drawn = random.Random(seed * 7 + opt)
        lanes, number = drawn.choice((2, 2, 3, 4, 8, 32)), drawn.randrange(2**32)
        image, _ = cuda.load(cubin)
        logs = []
        for _ in range(ROUNDS):
            logs.append(np.zeros((lanes, ENTRIES), np.uint32))
            cuda.launch(cuda.function(image), 1, lanes, logs[-1], number)
        cuda.call("cuModuleUnload", image)
        unsteady += any((log != logs[0]).any() for log in logs)
        rows.append({
            "seed": seed, "opt": opt, "lanes": lanes, "number": number,
            "cubin": base64.b64encode(cubin).decode(), "log": entries(logs[0]),
        })  # fmt: skip
    (folder / "paths.json").write_text(json.dumps(rows))
    print(f"{len(rows)} launches; {unsteady} of them were not the same {ROUNDS} times")
    return 0


def entries(log: np.ndarray) -> list[list[int]]:
    return [[int(entry) for entry in thread if entry] for thread in log]


def on_the_cpu(row: dict, check: str = "") -> list[list[int]]:
    """The logs of a row's launch, as the machine code leaves them here. check: as the keyword."""
    from triton_runner import _core, _settings
    from triton_runner._base import tools

    cubin = base64.b64decode(row["cubin"])
    options = {"block": (row["lanes"], 1, 1)}
    kernel = _core.load_cubin(cubin, tools.listing(cubin), "k.sass", "", [], options)
    log = np.zeros((row["lanes"], ENTRIES), np.uint32)
    arguments = (log, np.uint32(row["number"]))
    named = [(p.name, value) for p, value in zip(kernel.params, arguments, strict=True)]
    kernel.launch((1, 1, 1), named, _settings.Settings(check=check).core_options)
    return entries(log)


def log_or_error(row: dict, check: str = "") -> list[list[int]] | str:
    try:
        return on_the_cpu(row, check)
    except Exception as error:  # a deadlock is a difference, too
        return str(error)[:300]


def has_parted(row: dict) -> bool:
    return any(log != row["log"][0] for log in row["log"])


def timeline(log: list[list[int]]) -> str:
    """A word a step: 2:s5[0, 3] says that second step was place 5, threads 0 and 3."""
    steps = collections.defaultdict(list)
    for lane, thread in enumerate(log):
        for entry in thread:
            steps[entry & 0xFFFF, entry >> 16].append(lane)
    return " ".join(f"{step}:s{place}{lanes}" for (step, place), lanes in sorted(steps.items()))


def compared(rows: list[dict]) -> list[tuple[dict, list[list[int]] | str]]:
    """Each launch that parts, with what the CPU leaves."""
    parted = [row for row in rows if has_parted(row)]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        return list(zip(parted, pool.map(log_or_error, parted), strict=True))


def check(rows: list[dict], shown: int = 8) -> int:
    """How many launches leave other logs than the GPU's."""
    results = compared(rows)
    wrong = [(row, got) for row, got in results if got != row["log"]]
    for row, got in wrong[:shown]:
        print(f"seed {row['seed']}, -O{row['opt']}, {row['lanes']} threads")
        print(f"  gpu {timeline(row['log'])[:600]}")
        print(f"  cpu {got if isinstance(got, str) else timeline(got)[:600]}")
    print(f"{len(results)} launches that part: {len(results) - len(wrong)} as on the GPU")
    return len(wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("run", "check", "races", "keep"))
    parser.add_argument("path", type=Path)
    parser.add_argument("count", nargs="?", type=int, default=40)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 400))
    parser.add_argument("--ids", type=int, nargs=2, default=(0, None))
    parser.add_argument("--ptxas", default="ptxas")
    options = parser.parse_args()
    if options.command == "run":
        return run(options.path, *options.seeds, options.ptxas)
    rows = json.loads(options.path.read_text())[slice(*options.ids)]
    if options.command == "check":
        return 1 if check(rows) else 0
    if options.command == "races":
        with concurrent.futures.ProcessPoolExecutor() as pool:
            said = list(pool.map(log_or_error, rows, itertools.repeat("race")))
        for row, text in zip(rows, said, strict=True):
            if isinstance(text, str):
                print(f"seed {row['seed']}, -O{row['opt']}: {text}")
        print(f"{len(rows)} launches, {sum(isinstance(text, str) for text in said)} of them reported")
        return 0
    rows = [row for row, got in compared(rows) if got == row["log"]]
    rows.sort(key=lambda row: len({entry & 0xFFFF for thread in row["log"] for entry in thread}))
    rows = rows[:: max(1, len(rows) // options.count)]
    KEPT.write_bytes(lzma.compress(json.dumps(rows[: options.count]).encode()))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
