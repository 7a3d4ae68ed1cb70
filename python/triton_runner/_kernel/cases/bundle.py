"""Writes a case: what a launch had (kernel, arguments, texts of all levels, passes, metadata), what was found
out about it, and a program that does it again."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

from triton_runner._artifact.compiled_kernel import Compiled, compiled_of
from triton_runner._artifact.relaunch import Outcome, Relaunch
from triton_runner._base.errors import DiagnosticError, KernelTrap, fail
from triton_runner._base.levels import levels_of
from triton_runner._base.typed import as_json
from triton_runner._kernel.cases import archive, case, fingerprint, page, source, tensors
from triton_runner._kernel.cases.results import Judged
from triton_runner._kernel.compiling.passes import Trace
from triton_runner._kernel.compiling.passes import passes as passes_of
from triton_runner._launch.launchers import Call, constants_of, signature
from triton_runner._memory import pointed
from triton_runner._memory.arguments import Arguments
from triton_runner._memory.contents import Arrays, Pair
from triton_runner._memory.difference import difference, tolerance
from triton_runner._memory.files import DTYPES
from triton_runner._pipeline import portable
from triton_runner._worker.job import find_backend, jsonable

MAX_BYTES = 64 << 20  # of stored arguments
_REPRO = Path(__file__).with_name("repro.py")
_EXPECTED = "expected.safetensors"


def files_of(
    call: Call, launch: Relaunch, *, trap: KernelTrap | None = None, verdict: Judged | None = None,
    passes: bool = True, report: bool = True, max_bytes: int = MAX_BYTES, level: str = "",
) -> dict:  # fmt: skip
    """The files of a case by name, without what is expected of it. launch: it was watched() while it ran;
    trap: what stopped it."""
    notes: list[str] = []
    compiled = compiled_of(call.kernel)
    texts = _texts(compiled, notes)
    blocks, arrays, memory = tensors.taken(launch.arguments, max_bytes)
    notes += memory
    about = {
        "schema": case.SCHEMA, "kernel": launch.name, "grid": list(launch.grid), "target": launch.target,
        "level": level or compiled.level, "entry": launch.entry,
        "block": _listed(compiled.block), "cluster": _listed(compiled.cluster),
        "arguments": [case.argument(*pair, launch.arguments.views) for pair in launch.arguments.named],
        **_behind(launch.arguments), "blocks": blocks,
        "trap": str(trap) if trap else None, "verdict": verdict and verdict.verdict,
        "made": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "environment": fingerprint.taken(), "notes": notes,
    }  # fmt: skip
    files = {
        "arguments.safetensors": tensors.packed(arrays),
        _EXPECTED: tensors.packed({}),
        **{archive.artifact(launch.name, at): text for at, text in texts.items()},
        archive.artifact(launch.name, "json"): json.dumps(launch.metadata, indent=2),
    }
    if python := _python(call, about, notes):
        files |= {"kernel.py": python, "repro.py": _repro()}
        if passes:
            files |= _passes(call, notes)
    if verdict is not None:
        files["verify.json"] = json.dumps(as_json(verdict), indent=2)
    if report:
        files |= _page(files, about, notes)
    return {"case.json": json.dumps(about, indent=2), **files}


def _behind(arguments: Arguments) -> dict:
    """The tensors whose addresses the arguments have, and where those stand; nothing where there are none."""
    if not arguments.pointed:
        return {}
    found = pointed.pointers(arguments.named, arguments.pointed)
    return {
        "pointed": [case.argument(*pair, arguments.views) for pair in arguments.pointed],
        "pointers": [{"argument": name, "element": number, "to": to} for name, number, to in found],
    }


def _repro() -> str:
    """The text of repro.py, which runs without this package: with the table of tolerances in it."""
    by_type = {dtype: room for kind, (dtype, _) in DTYPES.items() if (room := tolerance(kind))}
    text, filled = re.subn(
        r"^TOLERANCE: dict = \{\}.*$", f"TOLERANCE = {by_type}  # fmt: skip", _REPRO.read_text(), flags=re.M
    )
    assert filled == 1
    return text


def write(path, call: Call, launch: Relaunch, **options) -> str:
    """Writes a launch as a case, and runs what was written: what that gives is what is expected of it.
    Returns how the case differs from the launch; "": it does what the launch did."""
    files = files_of(call, launch, **options)
    archive.write(path, files)
    about = json.loads(files["case.json"])
    odd = ""
    try:
        written = case.open_case(path)
        run = written.run(next(iter(written.subject.levels), ""))
        trap = options.get("trap")
        odd = _unlike(trap, run) if trap or run.trap else _otherwise(written, run, launch)
        if trap is None and run.trap is None:
            left = options.get("max_bytes", MAX_BYTES)
            files[_EXPECTED] = tensors.packed(_expected(run, left, about["notes"]))
    except DiagnosticError as error:
        about["notes"].append(f"the case was not run, and has no expected results: {error.message}")
    if odd:
        about["notes"].append(odd)
    archive.write(path, {**files, "case.json": json.dumps(about, indent=2)})
    return odd


def _listed(value):
    return None if value is None else list(value)


def _texts(compiled: Compiled, notes: list) -> dict:
    """The texts of all levels, as far as they can be made here."""
    files = {}
    for level in levels_of(compiled.target):
        try:
            text = compiled.asm[level]
        except KeyError:
            continue  # above its entry
        except Exception as error:  # whatever Triton's later stages and ptxas raise: the case shows the rest
            notes.append(f"{level} and the levels below it were not compiled: {str(error).splitlines()[0]}")
            break
        files[level] = text
    return files


def _expected(run: Outcome, max_bytes: int, notes: list) -> dict:
    """The arguments that the highest level changes on the CPU, the reference of repro.py."""
    outputs = {}
    for name in run.contents.hashes:
        array = run.arrays[name]
        max_bytes -= array.nbytes
        if max_bytes < 0:
            notes.append(f"the expected contents of '{name}' are left out: {array.nbytes:,} bytes")
            continue
        outputs[name] = array
    return outputs


def _unlike(trap: KernelTrap | None, run: Outcome) -> str:
    """How the run of a case ends unlike its launch, where one of them stopped."""
    stop = str(run.trap).splitlines()[0] if run.trap else ""
    if trap is None:
        return f"the launch ran to its end, and the case stops at {run.level}: {stop}"
    if run.trap is None:
        return f"the launch stopped, and the case runs to its end at {run.level}"
    if (trap.kind, trap.file, trap.line) == (run.trap.kind, run.trap.file, run.trap.line):
        return ""
    return f"the case stops elsewhere at {run.level}: {stop}"


def _otherwise(written: case.Case, run: Outcome, launch: Relaunch) -> str:
    """How the memory that the launch left differs from what the run of its case leaves."""
    if tensors.drawn(written.about["blocks"]):
        return ""  # it ran with other numbers
    left, odd = launch.arguments.now(), []
    tables = {one["argument"] for one in written.about.get("pointers", ())}  # of addresses, which are others
    for name, view in run.contents.views.items():
        if name in tables:
            continue
        pair = Pair.of_arrays(run.arrays[name], Arrays(left)[name])
        allowed = tolerance(view.dtype)
        differences = [difference(x, y, allowed) for _, x, y in pair.differing()]
        odd += [f"'{name}': {differs}" for differs in differences if differs]
    return f"the launch left other results than {run.level} gives: {'; '.join(odd)}" if odd else ""


def _python(call: Call, about: dict, notes: list) -> str:
    """kernel.py, where the kernel has a source that can be taken; it then also has what repro.py calls it
    with."""
    if call.function is None:
        return ""
    passed = {argument["name"] for argument in about["arguments"]}
    try:
        text, name = source.module_of(portable.kernel(call.function))
        about["constants"] = {
            name: portable.constant(value, f"constant {name}")
            for name, value in constants_of(call.kernel.src).items()
            if name not in passed
        }
    except DiagnosticError as error:
        notes.append(f"its Python is left out: {error.message}")
        return ""
    about |= {"python": name, "options": _options(call.kernel), **_specialised(call.kernel)}
    return text


def _options(kernel) -> dict:
    """The compile options of a launched kernel that are not the backend's own."""
    compiled = compiled_of(kernel)
    backend = find_backend(compiled.target)
    usual, chosen = vars(backend.parse_options({})), compiled.options()
    return {
        name: jsonable(chosen[name])
        for name, value in usual.items()
        if name in chosen and chosen[name] != value and isinstance(chosen[name], (bool, int, str))
        and name not in ("arch", "backend_name")
    }  # fmt: skip


def _specialised(kernel) -> dict:
    """Returns what a launched kernel was compiled for, as compile() takes it."""
    src = kernel.src
    attrs, names = getattr(src, "attrs", None), src.fn.arg_names
    attrs = attrs if isinstance(attrs, dict) else {}
    return {
        "parameters": [param.name for param in src.fn.params if not param.is_constexpr],
        "signature": {name: kind for name, kind in signature(src) if kind != "constexpr"},
        "attrs": {
            names[at[0]]: [list(item) for item in value] for at, value in attrs.items() if len(at) == 1
        },
    }


def trace_of(kernel, to: str | None = None) -> Trace:
    """A launched kernel of Python, compiled again with all its passes as it was launched."""
    src, compiled = kernel.src, _specialised(kernel)
    return passes_of(
        src.fn, compiled["signature"], constants_of(src), attrs=compiled["attrs"], to=to, check=False,
        target=compiled_of(kernel).target, options=_options(kernel),
    )  # fmt: skip


def _passes(call: Call, notes: list) -> dict:
    """The IR after each pass that changed it."""
    try:
        trace = trace_of(call.kernel, to=levels_of(compiled_of(call.kernel).target)[-2])
    except DiagnosticError as error:
        notes.append(f"the passes are left out: {error.message}")
        return {}
    files = {"passes/000-source.mlir": trace[0].before or ""} if len(trace) else {}
    for step in trace:
        if step.changed and step.after is not None:
            files[f"passes/{step.number:03}-{step.name}.mlir"] = step.after
    ran = [{"number": o.number, "name": o.name, "stage": o.stage, "seconds": o.seconds} for o in trace]
    files[page.PASSES] = json.dumps({"release": trace.release, "passes": ran}, indent=1)
    return files


def _page(files: dict, about: dict, notes: list) -> dict:
    """report.html, and the source that it shows, by which it can be made again."""
    try:
        text, sources = page.new(files, about)
    except DiagnosticError as error:
        notes.append(f"the page is left out: {error.message}")
        return {}
    return {"report.html": text, page.SOURCES: json.dumps(sources)}


def check_name(path) -> None:
    """Refuses another suffix: the other verbs know a case by it."""
    if not str(path).endswith(archive.SUFFIX):
        raise fail(f"{path}: a case is named *{archive.SUFFIX}", f"as in {Path(path).stem}{archive.SUFFIX}")
