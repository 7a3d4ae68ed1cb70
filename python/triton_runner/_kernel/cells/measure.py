"""Measures one cell: a kernel compiled by a release for a target, its figures, and what it computes on the
CPU.

All that may crash or hang does so in a worker of the release. Each thread has workers of its own, so that
cells run side by side."""

from __future__ import annotations

import dataclasses
import hashlib
import threading

from triton_runner._base.errors import DiagnosticError
from triton_runner._core import ptx
from triton_runner._kernel.cells import arguments
from triton_runner._kernel.compiling import compile as compiler
from triton_runner._kernel.compiling.crashes import Crash, Refused
from triton_runner._kernel.compiling.resources import resources
from triton_runner._pipeline import workers
from triton_runner._pipeline.failures import Failure
from triton_runner._pipeline.workers import WorkerError

# A counted launch gives these of FIGURES.
COUNTED = ("executed", "sectors", "wavefronts", "conflicts", "spilled")
# And those of a launch that is replayed on a chip.
ESTIMATED = ("cycles", "microseconds", "bound_by")
# The figures of a cell, as tables and expressions name them.
FIGURES = {
    "registers": "registers of a thread (VGPRs on AMD)",
    "spills": "registers that went to memory",
    "shared": "bytes of shared memory of a block, static and dynamic (LDS)",
    "local": "bytes of memory of its own that a thread has (scratch)",
    "code": "bytes of machine code",
    "instructions": "machine instructions",
    "barriers": "named barriers",
    "occupancy": "warps on an SM by the most that it holds, computed",
    "blocks": "blocks on an SM, computed",
    "waves": "waves on a SIMD of AMD, as LLVM says",
    "sgprs": "scalar registers of AMD",
    "agprs": "accumulation registers of AMD",
    "executed": "warp instructions that a launch executes, counted in its machine code (--counts)",
    "sectors": "32-byte sectors of global memory that its requests touch",
    "wavefronts": "wavefronts of its accesses to shared memory",
    "conflicts": "those of them that bank conflicts add",
    "spilled": "sectors of local memory that its spills touch",
    "cycles": "cycles that a launch takes on a chip, estimated (--chip)",
    "microseconds": "the same at the clock that such a card chooses",
    "bound_by": "what limits it there",
    "seconds": "time of the compilation",
    "milliseconds": "time of a launch, where there is a GPU of the target",
    "equal": "whether the CPU computes the base's bits",
    "difference": "largest difference from the base's results, by their largest magnitude",
}


@dataclasses.dataclass(frozen=True)
class Result:
    """The measurements of a cell.

    - `figures`: of FIGURES; `mix`, `ptx`: how often each instruction occurs in machine code and in PTX.
    - `files`: a hash of the text of each level; `outputs`: [type, shape, bytes] of each array after the
      launch, or the name of the bytes in the store.
    - `trap`: what stopped the launch; `unrun`: why there was none; `error`, `stage`, `pass_`: why no
      figures; `crash`: the compiler failed there; `refused`: the front end does not take the kernel;
      `transient`: another try may give another result.
    - `trial`: what a trial of an assembler gave, in place of all this.
    """

    figures: dict = dataclasses.field(default_factory=dict)
    mix: dict = dataclasses.field(default_factory=dict)
    ptx: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)
    outputs: list | None = None
    trap: str | None = None
    unrun: str | None = None
    error: str | None = None
    stage: str | None = None
    pass_: str | None = None
    crash: Crash | None = None
    refused: Refused | None = None
    transient: bool = False
    trial: dict | None = None


_KEPT_WARM = 2
_warm = threading.local()
_running: set = set()  # the workers of all threads
_stopping = threading.Event()


def worker(version: str) -> workers.Worker:
    """This thread's worker of a release; cells come release by release."""
    mine = _warm.__dict__.setdefault("workers", {})
    if version not in mine:
        while len(mine) >= _KEPT_WARM:
            oldest = mine.pop(next(iter(mine)))
            oldest.close()
            _running.discard(oldest)
        mine[version] = workers.Worker(version)
        _running.add(mine[version])
    return mine[version]


def close_thread() -> None:
    """Ends the workers of this thread."""
    for value in _warm.__dict__.pop("workers", {}).values():
        value.close()
        _running.discard(value)


def stop_all() -> None:
    """Ends the workers of all threads in the middle of what they do, until start()."""
    _stopping.set()
    for process in list(_running):
        process.close()


def start() -> None:
    _stopping.clear()


def measure(cell: dict) -> Result:
    """The result of a cell, its outputs with their bytes."""
    return tried(_measured, cell)


def tried(how, cell: dict) -> Result:
    """Returns the result of how(cell), or an error where its process dies or is ended."""
    for _ in range(3):
        try:
            return how(cell)
        except WorkerError as error:
            if error.ended != "killed":
                late = error.ended == "late"
                return Result(
                    error=error.message, stage=error.stage, pass_=error.pass_name, transient=late,
                    notes=[*map(str, error.notes)],
                )  # fmt: skip
            why = error.message
        except DiagnosticError as error:
            return Result(error=error.message, notes=[*map(str, error.notes)])
        except ConnectionError as error:  # the worker was ended between two requests
            why = str(error)
        except OSError as error:
            if not _stopping.is_set():
                return Result(error=f"no process could be started: {error}", transient=True)
            why = str(error)
        if _stopping.is_set():
            break
    return Result(error=f"its process was ended from outside: {why}", transient=True)


def _measured(cell: dict) -> Result:
    release, request = cell["release"], cell["request"]
    own = worker(release)
    try:
        answer = compiler.run("job", request, release, cell["timeout"], worker=own)
    except WorkerError as error:
        return _uncompiled(error, cell)
    compilation = compiler.Compilation(answer, request["target"])
    result = _compiled(compilation)
    if cell["launch"] is None:
        return result
    binary, chip = compilation.level in ("cubin", "hsaco"), cell["launch"].get("chip")
    metadata = {**compilation.metadata, "name": compilation.name}
    launch = {**cell["launch"], "target": compilation.target, "metadata": metadata}
    what = f"the launch of {request['label']} for {compilation.target}"
    variables = {**workers.environment(), "TRITON_RUNNER_PROD": "1", "TRITON_RUNNER_THREADS": "1"}
    common = {"do": "_kernel.cells.launch_job", "preload": ["numpy", "ml_dtypes"], "environment": variables}

    def ask(**more):
        return workers.ask(
            release,
            {**common, **launch, "counts": more.get("level") == "cubin", **more},
            cell["timeout"],
            what,
            own,
        )

    try:
        answer = ask(text=compilation.asm[launch["level"]])
        fields = {name: answer[name] for name in ("outputs", "trap", "unrun") if name in answer}
    except WorkerError as error:
        if error.ended == "killed":
            raise
        fields = {"unrun": error.message, "transient": error.ended == "late"}
    result = dataclasses.replace(result, **fields)
    if launch.get("counts") and compilation.level == "cubin" and "outputs" in fields:
        result = _counted(result, lambda: ask(text=compilation.asm["cubin"], level="cubin"))
    if chip and compilation.level == "cubin" and "outputs" in fields:
        job = {"do": "_kernel.cost.estimate_job", "chip": chip["name"]}
        result = _estimated(result, lambda: ask(text=compilation.asm["cubin"], level="cubin", **job))
    if binary and cell["gpu"]:
        with _one_at_a_time:
            answer = ask(text=compilation.asm[compilation.level], level=compilation.level, gpu=True)
        figures = {**result.figures, "milliseconds": answer["milliseconds"]}
        result = dataclasses.replace(result, figures=figures)
    return result


def _uncompiled(error: WorkerError, cell: dict) -> Result:
    """The result of a cell whose compilation failed."""
    if error.ended == "killed" or error.failure is None:
        raise error
    release, late = cell["release"], error.ended == "late"
    result = Result(error=error.message, stage=error.stage, pass_=error.pass_name, transient=late)
    if error.failure.is_kernels:
        return dataclasses.replace(result, refused=Refused.of(release, error.failure))
    failed = (error.failure, error.reproducer) if late else _seen_again(error, cell)
    crash = Crash.of(release, *failed)
    return dataclasses.replace(result, error=f"Triton {release}: {crash.headline}", crash=crash)


def _seen_again(error: WorkerError, cell: dict) -> tuple[Failure, str | None]:
    """The failure and the reproducer of the same compilation, recorded pass by pass: it knows in which pass
    the compiler was. Those of the first one, where it does not fail then."""
    release, first = cell["release"], error.failure
    try:
        compiler.run("recorder_job", cell["request"], release, cell["timeout"], worker=worker(release))
    except WorkerError as again:
        if again.failure is not None and again.failure.level == first.level:
            return dataclasses.replace(again.failure, how=first.how), again.reproducer
    return first, error.reproducer


def _answer(ask) -> dict:
    """Returns the answer of a worker, or the reason where it died of the request."""
    try:
        return ask()
    except WorkerError as error:
        if error.ended == "killed":
            raise
        return {"unrun": error.message}


def _estimated(result: Result, ask) -> Result:
    """The result with its time on a chip and a note on the error; or a note why there is none."""
    answer = _answer(ask)
    if "estimate" not in answer:
        return dataclasses.replace(result, notes=[*result.notes, f"no cycles: {answer['unrun']}"])
    it = answer["estimate"]
    error = "was not measured" if it["error"] is None else f"is {it['error']:.0%} on average"
    note = f"cycles are estimates for {it['chip']}: their error {error} for launches like this ({it['kind']})"
    figures = {**result.figures, **{name: it[name] for name in ESTIMATED}}
    return dataclasses.replace(result, figures=figures, notes=[*result.notes, note])


def _counted(result: Result, ask) -> Result:
    """The result with the figures of its machine code, counted on the CPU; or a note why there are none."""
    answer = _answer(ask)
    if "counts" not in answer:
        why = answer.get("trap") or answer.get("unrun")
        return dataclasses.replace(result, notes=[*result.notes, f"nothing is counted: {why}"])
    counts = answer["counts"]
    wavefronts = counts["shared_wavefronts"]
    figures = dict(
        zip(
            COUNTED,
            (
                counts["executed"], counts["global_sectors"], wavefronts, wavefronts - counts["shared_least"],
                counts["local_sectors"],
            ),
            strict=True,
        )
    )  # fmt: skip
    return dataclasses.replace(result, figures={**result.figures, **figures})


_one_at_a_time = threading.Lock()  # launches that are timed


def _compiled(made: compiler.Compilation) -> Result:
    r = resources(made)
    shared = None if r.dynamic_shared is None else r.dynamic_shared + (r.static_shared or 0)
    occupancy = r.occupancy or {}
    figures = {
        "registers": r.registers, "spills": r.spills, "shared": shared, "local": r.local_bytes,
        "code": r.code_bytes, "instructions": sum(r.instructions.values()) or None, "barriers": r.barriers,
        "occupancy": occupancy["warps"] / occupancy["most_warps"] if occupancy else None,
        "blocks": occupancy.get("blocks"), "waves": r.waves, "sgprs": r.sgprs, "agprs": r.agprs,
        "seconds": made.seconds,
    }  # fmt: skip
    files = {
        level: hashlib.sha256(x if isinstance(x, bytes) else x.encode()).hexdigest()[:16]
        for level, x in made.asm.items()
    }
    return Result(figures, r.instructions, _ptx_mix(made.asm.get("ptx")), files, list(r.notes))


def _ptx_mix(text: str | None) -> dict:
    """Returns how often each opcode stands in a PTX, the most frequent first."""
    counts: dict[str, int] = {}
    for function in ptx.parse(text).functions if text else ():
        for instruction in function.instructions:
            counts[instruction.opcode] = counts.get(instruction.opcode, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: -pair[1]))


def count(result, name: str) -> int:
    """Returns how many instructions of a result or row begin with a name: "LDG", "ldmatrix", "v_mfma"."""
    counts = [*result.mix.items(), *result.ptx.items()]
    return sum(n for op, n in counts if op == name or op.startswith((name + ".", name + "_")))


def as_arrays(outputs) -> list:
    """The outputs of a result as NumPy arrays."""
    return [arguments.decoded({"dtype": d, "shape": s, "bytes": b}) for d, s, b in outputs]
