"""Measures the launches of launches.py on a GPU: OUT/measured.jsonl gets a line a launch.

    python tests/gpu/timed/measure.py OUT [--only TEXT] [--ncu PATH]

| field | what it is |
|---|---|
| item, kernel, nth | the item of launches.py, the kernel, how many of that kernel came before |
| grid, warps, shared, registers, code | the launch, and 16 digits of its machine code's SHA-256 |
| events_us | median of 11 launches between CUDA events, L2 written over before each |
| ncu | what Nsight Compute counts, by metric, caches empty before; None where it has no line for the launch |

The card chooses its clock: each line has it, in Hz, as `sm__cycles_elapsed.avg.per_second`.
"""

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import traceback
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import ncu  # noqa: E402

STALLS = [
    "long_scoreboard", "short_scoreboard", "barrier", "wait", "math_pipe_throttle", "mio_throttle",
    "lg_throttle", "not_selected", "branch_resolving", "no_instruction", "membar", "gmma", "sleeping",
    "drain", "dispatch_stall", "tex_throttle", "imc_miss", "selected",
]  # fmt: skip
METRICS = [
    "gpu__time_duration.sum", "sm__cycles_elapsed.max", "sm__cycles_elapsed.avg.per_second",
    "sm__cycles_active.avg", "lts__cycles_elapsed.avg.per_second", "dram__cycles_elapsed.avg.per_second",
    "smsp__inst_executed.sum", "smsp__inst_issued.sum", "sm__warps_active.avg.per_cycle_active",
    "dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum",
    "lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", "l1tex__data_pipe_lsu_wavefronts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", "l1tex__m_xbar2l1tex_read_bytes.sum",
    "sm__inst_executed_pipe_tensor.sum",
] + [f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio" for name in STALLS]  # fmt: skip


def stand_in() -> None:
    """Stands in for what the examples take of this project, where it is not installed: triton_runner.jit."""
    try:
        import triton_runner  # noqa: F401
    except ImportError:
        import triton

        sys.modules["triton_runner"] = types.SimpleNamespace(jit=triton.jit)


def code_of(cubin: bytes, name: str) -> str:
    """Returns an ELF file's section .text.<name>: what lines and paths the rest has does not matter."""
    at, size, count, names = *struct.unpack_from("<Q", cubin, 40), *struct.unpack_from("<HHH", cubin, 58)
    sections = [struct.unpack_from("<IIQQQQ", cubin, at + i * size) for i in range(count)]
    strings = sections[names][4]
    for name_at, _, _, _, offset, length in sections:
        begin = strings + name_at
        if cubin[begin : cubin.index(b"\0", begin)].decode() == f".text.{name}":
            return hashlib.sha256(cubin[offset : offset + length]).hexdigest()[:16]
    return ""


class Recorder:
    """Triton's launches, as they come."""

    def __init__(self):
        from triton.runtime.jit import JITFunction

        self.launches, run = [], JITFunction.run

        def recorded(function, *args, grid, warmup, **kwargs):
            kernel = run(function, *args, grid=grid, warmup=warmup, **kwargs)
            if not warmup:
                again = lambda: run(function, *args, grid=grid, warmup=warmup, **kwargs)  # noqa: E731
                self.launches.append((kernel, grid, args, kwargs, function, again))
            return kernel

        JITFunction.run = recorded


def rows_of(name: str, launches: list) -> list[dict]:
    import torch

    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    rows, seen = [], {}
    for kernel, grid, args, kwargs, function, again in launches:
        if callable(grid):
            grid = grid(dict(zip(function.arg_names, args, strict=False)) | kwargs)
        nth = seen[kernel.name] = seen.get(kernel.name, -1) + 1
        times = []
        for _ in range(11):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            begin.record()
            again()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000)
        rows.append(
            {
                "item": name, "kernel": kernel.name, "nth": nth, "grid": [*grid, 1, 1][:3],
                "warps": kernel.metadata.num_warps, "shared": kernel.metadata.shared,
                "registers": kernel.n_regs, "spills": kernel.n_spills,
                "code": code_of(kernel.asm["cubin"], kernel.name),
                "events_us": round(statistics.median(times), 3), "ncu": None,
            }
        )  # fmt: skip
    return rows


def run_items(only: str, each, part: str = "0/1") -> None:
    """each(name, run, launches) of the items whose name has `only` in it; part "3/12": the fourth twelfth."""
    stand_in()
    sys.path.insert(0, str(HERE))
    import launches
    import torch

    recorder = Recorder()
    mine, parts = map(int, part.split("/"))
    for at, (name, function) in enumerate(launches.ITEMS.items()):
        if only not in name or at % parts != mine:
            continue
        recorder.launches.clear()
        launches.randn.cache_clear()
        try:
            each(name, lambda function=function: function("cuda"), recorder.launches)
        except Exception:
            print(f"{name}: {traceback.format_exc(limit=-1)}", flush=True)
            torch.cuda.synchronize()


def timed(options) -> None:
    with open(options.out / "measured.jsonl", "w") as file:

        def each(name, run, launches):
            run()
            for row in rows_of(name, list(launches)):
                file.write(json.dumps(row) + "\n")

        run_items(options.only, each)


def compiled(options) -> None:
    """All at once, in as many processes as there are cores: the rest finds the kernels in Triton's cache."""
    parts = min(12, os.cpu_count() or 1)
    command = [sys.executable, __file__, str(options.out), "--only", options.only, "--part"]
    running = [
        subprocess.Popen([*command, f"{part}/{parts}"], stdout=subprocess.DEVNULL) for part in range(parts)
    ]
    for process in running:
        process.wait()


def under_ncu(options) -> None:
    """In a process that ncu watches: each item once, without its tensors' own kernels where it can be."""
    import torch

    def each(name, run, launches):
        torch.cuda.cudart().cudaProfilerStart()
        run()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()

    run_items(options.only, each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--under-ncu", action="store_true", help="what this script calls")
    parser.add_argument("--part", default="", help="what this script calls to compile")
    parser.add_argument("--no-ncu", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.under_ncu:
        return under_ncu(options)
    if options.part:
        return run_items(options.only, lambda name, run, launches: run(), options.part)
    compiled(options)
    timed(options)
    rows = [json.loads(line) for line in (options.out / "measured.jsonl").read_text().splitlines()]
    print(len(rows), "launches", flush=True)
    if options.no_ncu:
        return None
    this = [sys.executable, __file__, str(options.out), "--under-ncu", "--only", options.only]
    kernels = {row["kernel"] for row in rows}
    command = ncu.command(options.ncu, METRICS, kernels, "--profile-from-start", "off", *this)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    (options.out / "ncu.csv").write_text(done.stdout)
    measured = ncu.read_csv(done.stdout, METRICS)
    at = 0
    for row in rows:  # an item that failed under ncu leaves none of its launches, or the first of them
        for ahead in range(at, min(at + 40, len(measured))):
            one = measured[ahead]
            if (one["kernel"], one["grid"]) == (row["kernel"], row["grid"]):
                row["ncu"], at = dict.fromkeys(METRICS) | one["numbers"], ahead + 1
                break
    (options.out / "measured.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(sum(row["ncu"] is not None for row in rows), "with counters of ncu,", len(measured), "lines of ncu")


if __name__ == "__main__":
    main()
