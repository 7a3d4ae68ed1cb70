"""Lists the benchmarks by name: their sections, each with all the rows that there are."""

from __future__ import annotations

import dataclasses

from triton_runner._settings import devices
from triton_runner.bench.rounds import Section
from triton_runner.bench.ways import Bench

CPU_BURST = 5  # launches of a sample of a kernel's time there


@dataclasses.dataclass(frozen=True)
class Measurement:
    """The plan of a run: sizes of the problems (none: those of the device), and what a burst is."""

    folder: str
    peers: tuple = ()
    sizes: tuple[int, ...] = ()
    launches: int = 200


def launch_latency(plan: Measurement):
    """Measures what a launch costs the host, of a kernel that does nothing."""
    for count in (0, 19):
        bench = Bench({"problem": "launch", "count": count}, "launch", plan.launches, plan.folder)
        rows = [bench.raw(), *bench.triton_rows(), bench.ours()]
        rows += [bench.entered(level) for level in bench.levels()]
        rows += [bench.loaded(bench.levels()[-1] if bench.on_gpu else "ttir"), bench.cupy()]
        for peer in plan.peers:
            rows += peer.rows(bench.request)
        yield Section(f"launch latency, {bench.problem.size}, bursts of {plan.launches}", rows, "triton.jit")


def _kernel_time(title: str, asked: dict, plan: Measurement):
    on_gpu = devices.resolved_device() != "cpu"
    for kind in ("cold", "warm") if on_gpu else ("launch",):
        bench = Bench(asked, kind, CPU_BURST, plan.folder)
        rows = [bench.torch(), bench.triton_rows()[0], bench.ours()]
        rows += [bench.entered(level) for level in bench.levels()]
        rows.append(bench.loaded(bench.levels()[-1] if on_gpu else "ptx"))
        for peer in plan.peers:
            rows += peer.rows(bench.request, only=("triton.jit", "triton_runner.jit"))
        state = {"cold": ", L2 cold", "warm": ", L2 warm"}.get(kind, "")
        yield Section(
            f"{title}, {bench.problem.size}{state}", rows, "triton.jit", unit=1e-3, work=bench.problem.work
        )


def matmul(plan: Measurement):
    """A matrix product at every level, beside native Triton and torch."""
    on_gpu = devices.resolved_device() != "cpu"
    for n in plan.sizes or ((1024, 2048, 4096, 8192) if on_gpu else (256,)):
        yield from _kernel_time("matmul", {"problem": "matmul", "n": n}, plan)


def attention(plan: Measurement):
    """Flash attention at every level, beside native Triton and torch."""
    on_gpu = devices.resolved_device() != "cpu"
    for length in plan.sizes or ((1024, 4096, 8192) if on_gpu else (256,)):
        asked = {"problem": "attention", "heads": 32 if on_gpu else 2, "length": length}
        yield from _kernel_time("attention", asked, plan)


SUITES = {"launch_latency": launch_latency, "matmul": matmul, "attention": attention}
