"""Registers of an untouched cubin, read by cuda-gdb: the launch runs again in a program of its own, under the
debugger, which stops it after the instructions that were asked for.

A selector names SASS: a register ("R10": wherever it is written), an address in the kernel ("0x1a0", and
"0x1a0:R10"), an opcode ("FADD"), or a line of the Python source ("kernel.py:42"). Or it names a value of the
TTGIR ("%54", "acc", "tt.dot") or a register of the PTX ("%r7"): cubin_values.py finds which registers of the
SASS hold it, where ptxas kept it. A stop takes about 0.15 s: ask for few programs.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy

from triton_runner import _core, _settings
from triton_runner._artifact.binding import bind
from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._artifact.executable import executable
from triton_runner._artifact.reading import describe
from triton_runner._base import scratch, tools
from triton_runner._base.errors import fail
from triton_runner._base.metadata import jsonable
from triton_runner._base.progress import telling
from triton_runner._kernel.dumps import cubin_values, instrument
from triton_runner._launch.launchers import axes_of
from triton_runner._memory import arrays
from triton_runner._worker.spelling import option

_START, _STOP = 15.0, 0.15  # seconds: cuda-gdb's start, and a stop of a warp (tests/gpu/dump_gdb.py)
_REGISTERS = re.compile(r">R(\w?)")  # the first of them that a row says is written


def find() -> str | None:
    """The path of cuda-gdb on this machine, or None."""
    return tools.toolkit("cuda-gdb")


def run(request, function, entry, args, kwargs, grid, threads=None):
    """As instrument.run: the compiled kernel, a Recording of level "cubin", and no changes. threads: which of
    a block, all by default. The caller's tensors keep what they hold: the launch runs on copies.

    Errors: no cuda-gdb, no GPU of NVIDIA, selectors that name nothing, a value of which no register of the
    SASS holds anything, a kernel that fails.
    """
    debugger = find()
    if debugger is None:
        raise fail(
            "this machine has no cuda-gdb, which reads the registers of a cubin",
            "it comes with NVIDIA's CUDA toolkit; dump at ttir or ttgir without it",
        )
    launch = instrument.launcher_of(function)
    kernel = launch(entry, args, kwargs, grid, True)
    compiled = compiled_of(kernel)
    plan = cubin_values.plan(request, compiled)
    bound = bind(function, args, kwargs)
    axes = axes_of(grid(bound) if callable(grid) else grid)
    named = compiled.passed(bound, {p.name for p in function.params if p.is_constexpr})
    facts = {name: compiled.metadata_value(name) for name in ("num_warps", "num_ctas", "shared")}
    metadata = compiled.metadata() | {name: value for name, value in facts.items() if value is not None}
    with scratch.folder("gdb") as folder:
        threads_of_block = 32 * int(metadata.get("num_warps") or 4)
        programs = _programs(request, axes)
        spec = {
            "kernel": kernel.name,
            "selectors": [text for text, _ in request.selectors],
            "programs": programs,
            "threads": threads,
            "block_threads": threads_of_block,
            "grid": axes,
            "out": str(Path(folder, "records.jsonl")),
            "table": table(),
            "environment": {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        }
        if plan is not None:
            spec |= plan.spec()
        _save(Path(folder), spec, kernel, metadata, named)
        _debug(debugger, Path(folder), spec)
        records = _records(Path(spec["out"]))
        return kernel, plan.recording(records, request) if plan else _recording(records, spec, request), []


def table() -> dict[str, tuple[bool, int]]:
    """Returns for each opcode of machine code whether it ends straight code, and how many registers it writes
    where its suffixes say no more. What cuda_gdb_script.py knows of opcodes."""
    result = {}
    for row in _core.sass.opcode_table():
        written = _REGISTERS.search(row["operands"])
        count = (
            {"2": 2, "4": 4, "M": 2, "G": 2}.get(written[1], 1) if written else int("P" in row["operands"])
        )
        result.setdefault(row["name"].partition("_")[0], ("controls" in row["traits"], count))
    return result


def _gives_floats(opcode: str) -> bool:
    base = opcode.partition(".")[0]
    rows = [row for row in _core.sass.opcode_table() if row["name"].partition("_")[0] == base]
    return any("floats" in row["traits"] or (row["is_product"] and ".F32" in opcode) for row in rows)


def _programs(request, grid) -> list:
    types = []
    for z in range(grid[2]):
        for y in range(grid[1]):
            for x in range(grid[0]):
                asked = not request.programs or any(
                    all(want in (-1, have) for want, have in zip(p, (x, y, z), strict=True))
                    for p in request.programs
                )
                if asked:
                    types.append([x, y, z])
                if len(types) > 64:
                    raise fail(
                        "cuda-gdb reads registers one by one: at most 64 programs can be asked for",
                        f"choose them, as in {option('programs', '0,5', '[0, 5]')}",
                    )
    return types


def _save(folder: Path, spec: dict, kernel, metadata: dict, named: list) -> None:
    import torch

    for name, value in named:
        if not isinstance(value, (int, float, torch.Tensor, type(None))):
            raise fail(f"argument '{name}' cannot be handed to the program that cuda-gdb runs: {type(value)}")
    torch.save(
        [(n, v.cpu() if isinstance(v, torch.Tensor) else v) for n, v in named], folder / "arguments.pt"
    )
    (folder / "kernel.cubin").write_bytes(kernel.asm["cubin"])
    (folder / "kernel.json").write_text(json.dumps(metadata, default=jsonable))
    (folder / "spec.json").write_text(json.dumps(spec))
    launch = _plain_launch(folder, spec, metadata, named)
    if launch is not None:
        (folder / "launch.json").write_text(json.dumps(launch))


def _plain_launch(folder: Path, spec: dict, metadata: dict, named: list) -> dict | None:
    """Returns what cuda_gdb_child.py needs, with the arrays written to files; None where a launch takes more
    than it knows: descriptors, scratch memory, clusters."""
    import torch

    cubin = (folder / "kernel.cubin").read_bytes()
    text = (folder / "kernel.json").read_text()
    description = describe("cubin", cubin, "", spec["kernel"], text).description
    sizes = [param["bytes"] for param in description["params"]]
    own_parameters = len(sizes) - (description.get("hidden_pointers") or 0)
    more = ("global_scratch_size", "profile_scratch_size", "cooperative", "tensordesc_meta")
    if (
        own_parameters != len(named)
        or any(description.get(key) for key in more)
        or (description.get("num_ctas") or 1) != 1
    ):
        return None
    parameters, storages = [], {}
    for (_, value), size in zip(named, sizes, strict=False):
        if isinstance(value, torch.Tensor) and size == 8:
            storage = value.untyped_storage()
            key = storage.data_ptr()
            if key not in storages:
                storages[key] = (len(storages), storage)
            parameters.append([storages[key][0], value.data_ptr() - key])
        elif isinstance(value, float) and size in (4, 8):
            parameters.append(struct.pack("<f" if size == 4 else "<d", value).hex())
        elif isinstance(value, int):
            parameters.append((value % (1 << (8 * size))).to_bytes(size, "little").hex())
        elif value is None:
            parameters.append(bytes(size).hex())
        else:
            return None
    parameters += [bytes(size).hex() for size in sizes[own_parameters:]]
    buffers = []
    for number, storage in storages.values():
        arrays.bytes_of(storage).cpu().numpy().tofile(folder / f"buffer{number}")
        buffers.append(storage.nbytes())
    return {
        "kernel": spec["kernel"], "grid": spec["grid"], "threads": spec["block_threads"],
        "shared": int(metadata.get("shared") or 0), "device": _device(), "buffers": buffers,
        "parameters": parameters,
    }  # fmt: skip


def _device() -> int:
    import torch

    return torch.cuda.current_device() if torch.cuda.is_available() else 0


def _debug(debugger: str, folder: Path, spec: dict) -> None:
    """Runs cuda-gdb on ourselves; says what it will take, and how far it is."""
    script = Path(__file__).with_name("cuda_gdb_script.py")
    child = [sys.executable, "-m", "triton_runner._kernel.dumps.cuda_gdb", str(folder)]
    if (folder / "launch.json").exists():
        child = [sys.executable, "-S", str(script.with_name("cuda_gdb_child.py")), str(folder)]
    command = [debugger, "-batch", "-nx", "-x", str(script), "--args", *child]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["TRITON_RUNNER_GDB"] = str(folder / "spec.json")
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        watcher = threading.Thread(target=_watch, args=(Path(spec["out"]), process))
        watcher.start()
        process.wait()
        watcher.join()
    records = _records(Path(spec["out"]))
    error = next((r["error"] for r in records if "error" in r), None)
    if error is None and any("end" in r for r in records):
        return
    said = (folder / "log").read_text().strip().splitlines()[-12:]
    if error == "nothing in the SASS is named so":
        sass = next(r["sass"] for r in records if "sass" in r)
        raise fail(
            f"nothing in the SASS of {spec['kernel']} is named {' or '.join(map(repr, spec['selectors']))}",
            *(f"{offset:#06x}: {text}" for offset, text, *_ in sass[:12]),
        )
    raise fail(f"cuda-gdb did not finish: {error or f'exit status {process.returncode}'}", *said)


def _records(path: Path) -> list:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("}")]


def _watch(path: Path, process) -> None:
    with telling(f"cuda-gdb starts (about {_START:.0f} s)", bar=True) as report:
        while process.poll() is None:
            try:
                text = path.read_text()
            except OSError:
                text = ""
            plan = re.search(r'^\{"plan": (\d+)\}', text, re.M)
            if plan:
                stops = int(plan[1])
                report(
                    f"stops of warps (about {stops * _STOP:.0f} s an iteration)",
                    min(text.count('\n{"at": '), stops), stops,
                )  # fmt: skip
            time.sleep(0.5)


def _recording(records: list, spec: dict, request):
    sass = {
        offset: (text, file, line)
        for offset, text, file, line in next(r["sass"] for r in records if "sass" in r)
    }
    # A record holds all threads of a program at one execution: its warps come one after the other.
    series: dict = {}
    executions: dict = {}
    for r in records:
        if "at" not in r:
            continue
        definition, program, warp = r["at"] - 16, tuple(r["block"]), r["warp"]
        execution = executions[r["at"], program, warp] = executions.get((r["at"], program, warp), -1) + 1
        number = execution if request.every_iteration else 0
        for register, values in r["values"].items():
            cells = series.setdefault((definition, register), {}).setdefault((program, number), {})
            cells.update({warp * 32 + lane: v for lane, v in zip(r["lanes"], values, strict=True)})
    arrays = []
    for (at, register), cells in sorted(series.items()):
        text, file, line = sass[at]
        opcode = text.split()[1 if text.startswith("@") else 0]
        kept = sorted(cells.items(), key=lambda item: (item[0][0][::-1], item[0][1]))
        values = numpy.zeros((len(kept), spec["block_threads"]), numpy.uint32)
        mask = numpy.zeros(values.shape, numpy.uint8)
        for i, (_, threads) in enumerate(kept):
            for thread, value in threads.items():
                values[i, thread], mask[i, thread] = value, 1
        arrays.append(
            _core.probe.make_series(
                {"kernel": spec["kernel"], "level": "cubin", "value": f"{register}#{at:#x}", "op": opcode,
                 "file": file, "line": line, "type": "f32" if _gives_floats(opcode) else "i32"},
                [list(program) for (program, _), _ in kept], [[n] for (_, n), _ in kept], values, mask,
            )
        )  # fmt: skip
    unread = next((r["unread"] for r in records if "unread" in r), [])
    notes = [f"{offset:#x} {text}: not read, because a jump follows it" for offset, text in unread]
    return _core.probe.make_recording(arrays, notes)


def main(folder: str) -> None:
    """The program under the debugger: one launch of the cubin."""
    import torch

    base = Path(folder)
    spec = json.loads((base / "spec.json").read_text())
    named = torch.load(base / "arguments.pt", weights_only=False)
    named = [(name, v.cuda() if isinstance(v, torch.Tensor) else v) for name, v in named]
    cubin = (base / "kernel.cubin").read_bytes()
    artifact = describe("cubin", cubin, "", spec["kernel"], (base / "kernel.json").read_text())
    with _settings.using(device="cuda"):
        executable(artifact).launch(tuple(spec["grid"]), named)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main(sys.argv[1])
