"""Launches a kernel whose compilation follows a plan: jit's keywords start_pass=, skip_pass= and ir_after=.

The kernel is compiled by the installed Triton, in this process, to the level that the device executes, and
enters there as an artifact does."""

from __future__ import annotations

import json
import os

from triton_runner._artifact.entries import open_entry
from triton_runner._artifact.reading import compile_options
from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._base.levels import LEVELS, MLIR, levels_of
from triton_runner._base.paths import read_text
from triton_runner._kernel.compiling import passes_select
from triton_runner._launch import gpu_driver
from triton_runner._pipeline.guard import death_of_child
from triton_runner._settings import devices
from triton_runner._settings.keywords import Entry
from triton_runner._worker import elements, job, recorder_job
from triton_runner._worker.recorder import PassError


def specialised(function, args, kwargs) -> dict:
    """signature, constexprs, attrs and options of a request for what a launch with these arguments
    compiles."""
    named = dict(zip(function.arg_names, args, strict=False))
    named.update((name, value) for name, value in kwargs.items() if name in function.arg_names)
    options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
    signature, constexprs, attrs = {}, {}, {}
    for parameter in function.params:
        name = parameter.name
        if name not in named:
            continue  # its default
        value = named[name]
        if parameter.is_constexpr or value is None:
            constexprs[name] = value
            continue
        signature[name], number = _kind(name, value)
        if number is None or parameter.do_not_specialize:
            continue
        if number == 1 and not hasattr(value, "data_ptr"):
            signature[name] += ":1"
        elif number % 16 == 0 and not getattr(parameter, "do_not_specialize_on_alignment", False):
            attrs[name] = [["tt.divisibility", 16]]
    return {"signature": signature, "constexprs": constexprs, "attrs": attrs, "options": options}


def _kind(name: str, value) -> tuple[str, int | None]:
    """Triton's name of an argument's type, and the number that it is specialised on."""
    if hasattr(value, "block_shape"):
        return f"tensordesc<{_element(name, value.base)}{list(value.block_shape)}>", None
    if hasattr(value, "tma_desc_cpu_ptr"):
        return "nvTmaDesc", None
    if hasattr(value, "data_ptr"):
        return "*" + _element(name, value), value.data_ptr()
    if hasattr(value, "ctypes"):
        return "*" + _element(name, value), value.ctypes.data
    if isinstance(value, bool):
        return "i1", None
    if isinstance(value, int):
        size = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
        return size, value
    if isinstance(value, float):
        return "fp32", None
    raise fail(
        f"argument {name!r} is a {type(value).__name__}: a launch under a plan of passes takes tensors and "
        "numbers"
    )


def _element(name: str, tensor) -> str:
    row = elements.find(str(tensor.dtype))
    if row is None or not row.triton:
        raise fail(f"argument {name!r} has elements of {tensor.dtype}, for which Triton has no type")
    return row.triton


def plan_of(start=None, skip=(), after=None) -> dict:
    """The plan of start_pass=, skip_pass= and ir_after={pass: file or text}."""
    skip = [skip] if isinstance(skip, (str, int)) else skip or ()
    plan = {
        "skip": [passes_select.selector(each) for each in skip],
        "replace": [[passes_select.first(name), content(text)] for name, text in (after or {}).items()],
    }
    return plan | ({"start": passes_select.first(start)} if start is not None else {})


def content(source) -> str:
    """An IR that is given as a text or as a file."""
    text = os.fspath(source)
    if "\n" in text:
        return text
    return read_text(text)


def unmet(answer: dict, label: str, target: str) -> None:
    """Raises DiagnosticError if a pass of the plan did not run."""
    if answer["unmet"]:
        raise fail(
            f"pass {answer['unmet'][0]} does not run for {label} and {target}",
            f"{len(answer['passes'])} passes were seen; `{commands.shell('passes', 'KERNEL')}` lists them",
        )


def _executed(target: str) -> str:
    """The level at which the result enters: what the CPU executes, or the last text before a GPU's binary."""
    if devices.resolved_device() == "cpu":
        return devices.cpu_target()[1]
    return [level for level in levels_of(target) if LEVELS[level].is_text][-1]


_entries: dict[str, Entry] = {}


def entry(function, passes: dict, own: Entry | None, args, kwargs) -> Entry:
    """Returns what a launch with start_pass=, skip_pass=, ir_after= enters with, in place of the Python
    source or of the artifact it was given."""
    plan = plan_of(passes.get("start_pass"), passes.get("skip_pass"), passes.get("ir_after"))
    on_cpu = devices.resolved_device() == "cpu"
    target = devices.cpu_target()[0] if on_cpu else gpu_driver.current_target()
    label = f"kernel '{function.__name__}'"
    if own is None:
        if "start" in plan:
            raise fail(
                "start_pass= starts with an IR, and the kernel enters as Python",
                "give its input: ttir_src= or ttgir_src= (or a _dir=)",
            )
        request = {"kernel": function, **specialised(function, args, kwargs)}
    else:
        artifact = open_entry(own, function.__name__)
        if artifact.level not in MLIR:
            raise fail(f"passes run on TTIR and TTGIR, and {label} enters as {artifact.level}")
        options = {name: value for name, value in kwargs.items() if name not in function.arg_names}
        request = {
            "text": artifact.source, "level": artifact.level, "filename": artifact.label,
            "metadata": {**compile_options(artifact), **options}, "walk": "start" in plan,
        }  # fmt: skip
    level = _executed(target)
    request |= {"target": target, "to": level, "plan": plan, "keep": "none"}
    key = json.dumps([function.cache_key, request], default=repr, sort_keys=True)
    if key not in _entries:
        _entries[key] = _compiled(request, level, label)
    return _entries[key]


def _compiled(request: dict, level: str, label: str) -> Entry:
    if (reason := death_of_child(lambda: recorder_job.run(request))) is not None:
        raise fail(f"the compiler died on {label} under this plan of passes: {reason}")
    try:
        answer = recorder_job.run(request)
    except job.Refused as error:
        raise fail(error.message, *error.notes) from None
    except PassError as error:
        name, _ = passes_select.name_of(error.step["add"])
        raise fail(
            f"pass {error.step['number']} ({name}) of {label} failed: {error}",
            "MLIR's message is on stderr",
        ) from None
    unmet(answer, label, request["target"])
    metadata = json.dumps(job.jsonable({**answer["metadata"], "name": answer["name"]}))
    return Entry(level, "src", answer["asm"][level], metadata)
