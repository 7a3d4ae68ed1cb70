"""Measures what a launch from Python costs beside the driver's own call, and checks that such launches are
right: needs a GPU.

    python tests/gpu/launch_latency.py OUT [--cores 3,5,9]

Microseconds a launch, the least and the median of 60 bursts of 200, all ways in turn in one process: a loop
of cuLaunchKernelEx in C++ (launch_raw.cpp), Triton's JIT and compiled kernels, CuPy, and ours: jit,
artifacts, load(). Kernels are empty: without arguments, and with 5 tensors, 9 integers and 5 constexprs. On
each of the cores (by default the last): neighbours on a machine slow some of them down.
Before anything is timed each way's result is compared. Raw samples go to OUT/launch_latency.json.
"""

import argparse
import ctypes
import gc
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
os.environ.setdefault("TRITON_ALWAYS_COMPILE", "0")

import torch
import triton
import triton.language as tl
import triton_runner

ROOT = Path(__file__).resolve().parents[2]
BURSTS, LAUNCHES, FIRSTS = 60, 200, 5


@triton.jit
def empty(BLOCK: tl.constexpr):
    pass


@triton.jit
def empty_19(
    a, b, c, d, e, m, n, k, s0, s1, s2, s3, s4, s5,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr, E: tl.constexpr,
):  # fmt: skip
    pass


@triton.jit
def filled(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


@triton.jit
def scaled(x, y, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor + tl.load(y + i, mask=i < n), mask=i < n)


def raw_library(out: Path):
    library = out / "libraw.so"
    subprocess.run(
        ["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT}/include",
         f"{ROOT}/tests/gpu/launch_raw.cpp", "-ldl", "-o", str(library)], check=True)  # fmt: skip
    burst = ctypes.CDLL(str(library)).raw_burst
    burst.restype = ctypes.c_double
    burst.argtypes = [
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
    ]  # fmt: skip
    return burst


def save(kernel, folder: Path) -> Path:
    """The kernel's levels and metadata as files, as a launch of an artifact takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    for level in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        triton_runner._core.artifact.write(str(folder / f"{kernel.name}.{level}"), kernel.asm[level])
    fields = {**kernel.metadata._asdict(), "target": vars(kernel.metadata.target)}
    triton_runner._core.artifact.write(str(folder / f"{kernel.name}.json"), json.dumps(fields, default=str))
    return folder


def in_turn(ways: dict, bursts: int = BURSTS) -> dict:
    """Samples of each way, in turn: a launch, or a function of (count) that gives microseconds a launch."""
    for kind, way in ways.values():
        for _ in range(5):
            way(LAUNCHES) if kind == "timed" else way()
    samples = {name: [] for name in ways}
    gc.disable()
    for _ in range(bursts):
        for name, (kind, way) in ways.items():
            torch.cuda.synchronize()
            if kind == "timed":
                samples[name].append(way(LAUNCHES))
                continue
            start = time.perf_counter()
            for _ in range(LAUNCHES):
                way()
            samples[name].append((time.perf_counter() - start) / LAUNCHES * 1e6)
    gc.enable()
    return samples


def cupy_kernel(arguments: tuple):
    try:
        import cupy
    except ImportError:
        return None
    types = {torch.Tensor: "float*", int: "int"}
    params = ", ".join(f"{types[type(a)]} p{i}" for i, a in enumerate(arguments))
    kernel = cupy.RawKernel(f'extern "C" __global__ void k({params}) {{}}', "k")
    given = tuple(cupy.asarray(a) if isinstance(a, torch.Tensor) else cupy.int32(a) for a in arguments)
    return lambda: kernel((1,), (128,), given)


def written(function, grid, args: tuple, meta: dict | None = None):
    """A function that makes the call as a program writes it: each argument by its name."""
    names = [f"a{i}" for i in range(len(args))]
    given = ", ".join([*names, *(f"{name}={name}" for name in meta or ())])
    subscript = "" if grid is None else "[grid]"
    parameters = ", ".join(["function", "grid", *names, *(meta or ())])
    made = {}
    exec(f"def make({parameters}):\n    return lambda: function{subscript}({given})\n", made)
    return made["make"](function, grid, *args, **(meta or {}))


def ways_of(kernel, args: tuple, meta: dict, out: Path, burst) -> dict:
    ours = triton_runner.jit(kernel.fn)
    compiled = kernel[(1,)](*args, **meta)
    folder = save(compiled, out / kernel.__name__)
    words = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in args] + [0, 0]
    array = (ctypes.c_uint64 * len(words))(*words)
    values = (*args, *meta.values())
    loaded = triton_runner.load(folder / f"{kernel.__name__}.cubin", device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    head = (1, 1, 1, stream, compiled.function, compiled.packed_metadata, None, None, None)
    one, three, here = (1,), (1, 1, 1), {"cubin_dir": str(folder)}
    found = {
        "cuLaunchKernelEx in C++": (
            "timed",
            lambda count: burst(compiled.function, array, len(words), 128, stream, count),
        ),
        "triton.jit": ("launch", written(kernel, one, args, meta)),
        "CompiledKernel[grid]": ("launch", written(compiled, three, values)),
        "CompiledKernel.run": ("launch", written(compiled.run, None, (*head, *values))),
        "CuPy": ("launch", cupy_kernel(args)),
        "ours: jit": ("launch", written(ours, one, args, meta)),
        "ours: ttir_dir": ("launch", written(ours, one, args, {**meta, "ttir_dir": str(folder)})),
        "ours: cubin_dir": ("launch", written(ours, one, args, {**meta, **here})),
        "ours: load()": ("launch", written(loaded, one, args)),
    }
    return {name: way for name, way in found.items() if way[1] is not None}


def check(out: Path) -> None:
    """All ways to launch give the same sums: on the default stream, on another one, in a graph."""
    n, grid = 1000, (8,)
    x = torch.arange(n, device="cuda", dtype=torch.float32)
    ours = triton_runner.jit(scaled.fn)
    compiled = scaled[grid](x, torch.zeros_like(x), n, 2.0, BLOCK=128)
    folder = save(compiled, out / "scaled")
    loaded = triton_runner.load(folder / "scaled.cubin", device="cuda")
    ways = {
        "jit": lambda y: ours[grid](x, y, n, 2.0, BLOCK=128),
        "load": lambda y: loaded[grid](x, y, n, 2.0),
    }
    for level in ("ttir", "ttgir", "llir", "ptx", "cubin"):
        ways[f"{level}_dir"] = lambda y, level=level: ours[grid](
            x, y, n, 2.0, BLOCK=128, **{f"{level}_dir": str(folder)}
        )
    ways["ptx_src"] = lambda y, text=compiled.asm["ptx"]: ours[grid](
        x, y, n, 2.0, BLOCK=128, ptx_src=text, metadata_json=str(folder / "scaled.json")
    )
    for name, way in ways.items():
        y = torch.zeros_like(x)
        for _ in range(4):
            way(y)
        assert (y == 8 * x).all(), name
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = torch.zeros_like(x)
            torch.cuda._sleep(20_000_000)  # another stream would not wait for this
            way(y)
            y *= 2
        torch.cuda.synchronize()
        assert (y == 4 * x).all(), (name, "on another stream")
        y = torch.zeros_like(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            way(y)
        torch.cuda.synchronize()
        assert not y.any(), (name, "ran while it was captured")
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert (y == 6 * x).all(), (name, "in a graph")
    print(f"right, also on a second stream and in a CUDA graph: {', '.join(ways)}", flush=True)
    for wrong in (torch.zeros(n), 5.0, "x"):
        for _ in range(2):
            try:
                ours[grid](wrong, x, n, 2.0, BLOCK=128)
            except Exception as error:
                said = f"{type(error).__name__}: {error}".splitlines()[0]
            else:
                said = "NOT REFUSED"
            print(f"  refused: {type(wrong).__name__}: {said}", flush=True)
    if torch.cuda.device_count() > 1:
        with torch.cuda.device(1):
            there = x.to("cuda:1")
            y = torch.zeros_like(there)
            for _ in range(4):
                ours[grid](there, y, n, 2.0, BLOCK=128)
            assert (y == 8 * there).all()
        print("right on a second device", flush=True)


def rates(launch, threads: int, seconds: float = 1.5) -> float:
    """Launches a second of so many threads together."""
    stop, counts, go = threading.Event(), [0] * threads, threading.Barrier(threads + 1)

    def work(i):
        torch.cuda.set_device(0)
        launch()
        go.wait()
        while not stop.is_set():
            for _ in range(50):
                launch()
            counts[i] += 50

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    go.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for worker in workers:
        worker.join()
    torch.cuda.synchronize()
    return sum(counts) / (time.perf_counter() - start)


def raw_rates(burst, function, words, threads: int, launches: int = 400_000) -> float:
    """The same of the driver's own call, from C++, without Python's lock."""
    go = threading.Barrier(threads + 1)

    def work():
        torch.cuda.set_device(0)
        stream = torch.cuda.current_stream().cuda_stream
        go.wait()
        burst(function, words, len(words), 128, stream, launches // threads)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    go.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    taken = time.perf_counter() - start
    torch.cuda.synchronize()
    return launches // threads * threads / taken


def streams_rates(launch, seconds: float = 1.0) -> float:
    """Launches a second of eight threads, each on a stream of its own."""
    own = threading.local()

    def there():
        if not hasattr(own, "stream"):
            own.stream = torch.cuda.Stream()
            torch.cuda.set_stream(own.stream)
        launch()

    return rates(there, 8, seconds)


FIRST = """
import os, sys, time
os.environ["TRITON_RUNNER_PROD"] = "1"
os.environ["TRITON_ALWAYS_COMPILE"] = "0"
import torch, triton
import triton_runner
sys.path.insert(0, {tests!r})
import launch_latency as l
torch.zeros(1, device="cuda")
x = torch.zeros(1000, device="cuda")
times = []
def timed(launch):
    start = time.perf_counter()
    launch()
    times.append((time.perf_counter() - start) * 1e3)
ours = triton_runner.jit(l.scaled.fn)
def load():
    triton_runner.load({cubin!r}, device="cuda")[(8,)](x, x, 1000, 2.0)
jobs = {{"triton": lambda: l.scaled[(8,)](x, x, 1000, 2.0, BLOCK=128),
        "ours": lambda: ours[(8,)](x, x, 1000, 2.0, BLOCK=128), "load": load}}
l.empty[(1,)](BLOCK=32)  # Triton's driver is there
triton_runner.jit(l.empty.fn)[(1,)](BLOCK=64)
if {warm}:  # the first argument of a process makes Triton import Gluon
    l.filled[(1,)](x, BLOCK=32)
timed(jobs[{name!r}])
print(*times)
"""


def first_launches(out: Path) -> dict:
    """Milliseconds of a first launch in a process whose context exists, of a cached kernel; behind
    another kernel that took a tensor, and not."""
    found: dict = {}
    cubin = str(out / "scaled" / "scaled.cubin")
    for turn, warm, name in itertools.product(range(FIRSTS + 1), (True, False), ("triton", "ours", "load")):
        program = FIRST.format(tests=str(Path(__file__).parent), cubin=cubin, name=name, warm=warm)
        done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
        if turn:  # the first may have filled the cache
            what = name if warm else f"{name}, the first of its process with an argument"
            found.setdefault(what, []).append(float(done.stdout.split()[-1]))
    return found


def many_keys(kernel) -> dict:
    """Nanoseconds that a launch takes with 1 and with 10,000 known launches."""
    ours = triton_runner.jit(kernel.fn)
    compiled = ours[(1,)](BLOCK=0)
    ours[(1,)](BLOCK=0)

    def best() -> float:
        return min(in_turn({"": ("launch", lambda: ours[(1,)](BLOCK=0))}, 30)[""]) * 1e3

    few = best()
    own = triton_runner._jit.jit.JITFunction.run
    try:
        triton_runner._jit.jit.JITFunction.run = lambda *args, **kwargs: compiled
        for i in range(10_000):
            ours[(1,)](BLOCK=i)
    finally:
        triton_runner._jit.jit.JITFunction.run = own
    return {"1": few, "10000": best()}


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def latencies(cases: dict, cores: list, out: Path, burst) -> dict:
    """{case: {core: samples of each way}}, printed as tables."""
    found: dict = {}
    for case, (kernel, args, meta) in cases.items():
        ways = ways_of(kernel, args, meta, out, burst)
        for core in cores:
            os.sched_setaffinity(0, {core})
            samples = found.setdefault(case, {})[core] = in_turn(ways)
            raw = samples["cuLaunchKernelEx in C++"]
            print(f"\n| {case}, core {core} | least | median | least / raw | median / raw |")
            print("|---|---|---|---|---|")
            for name, taken in samples.items():
                least, middle = min(taken), statistics.median(taken)
                ratios = f"{least / min(raw):.2f} | {middle / statistics.median(raw):.2f}"
                print(f"| {name} | {least:.2f} | {middle:.2f} | {ratios} |", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")])
    options = parser.parse_args()
    out, every_core = options.out, os.sched_getaffinity(0)
    out.mkdir(parents=True, exist_ok=True)
    report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": triton.__version__}
    print(report, flush=True)
    check(out)
    burst = raw_library(out)
    tensors = tuple(torch.zeros(1024, device="cuda") for _ in range(5))
    numbers, constants = (
        (7, 100, 13, 1000, 10, 100, 20, 200, 30),
        {"A": 32, "B": 32, "C": 32, "D": 32, "E": 32},
    )
    cases = {
        "no argument": (empty, (), {"BLOCK": 32}),
        "19 arguments": (empty_19, (*tensors, *numbers), constants),
    }
    report["microseconds"] = latencies(cases, options.cores or [max(every_core)], out, burst)
    report["keys"] = many_keys(empty)
    print("\nnanoseconds of a launch by known launches:", report["keys"], flush=True)
    os.sched_setaffinity(0, every_core)
    ours = triton_runner.jit(empty_19.fn)
    launch = lambda: ours[(1,)](*tensors, *numbers, **constants)  # noqa: E731
    theirs = lambda: empty_19[(1,)](*tensors, *numbers, **constants)  # noqa: E731
    compiled = theirs()
    words = [a.data_ptr() for a in tensors] + list(numbers) + [0, 0]
    array = (ctypes.c_uint64 * len(words))(*words)
    report["launches_a_second"] = {"driver": {}, "ours": {}, "triton": {}}
    for threads in (1, 2, 4, 8, 1, 8):
        found = {
            "driver": raw_rates(burst, compiled.function, array, threads),
            "ours": rates(launch, threads),
            "triton": rates(theirs, threads, 1.0),
        }
        for name, rate in found.items():
            report["launches_a_second"][name].setdefault(threads, []).append(rate)
        said = ", ".join(f"{name} {rate:.0f}" for name, rate in found.items())
        print(f"launches a second, {threads} threads: {said}", flush=True)
    rate = report["launches_a_second"]["ours, a stream each"] = streams_rates(launch)
    print(f"launches a second, 8 threads, a stream each: {rate:.0f}", flush=True)
    before, free = resident(), torch.cuda.mem_get_info()[0]
    for _ in range(1_000_000):
        launch()
    torch.cuda.synchronize()
    report["growth"] = {"resident": resident() - before, "device": free - torch.cuda.mem_get_info()[0]}
    print("bytes more after a million launches:", report["growth"], flush=True)
    report["first_launch_ms"] = first_launches(out)
    print("milliseconds of a first launch:", report["first_launch_ms"], flush=True)
    (out / "launch_latency.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main()
