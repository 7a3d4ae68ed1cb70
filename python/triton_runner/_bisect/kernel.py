"""Bisecting one kernel, "kernel.py:name", by an oracle instead of a program: what it computes, or what its
code needs.

An oracle says what is wrong: "wrong" (other values than a reference), "shared>1536", "regs>64", "spills>0",
"instr:ldmatrix<30" (of PTX; of machine code in capitals, "instr:HMMA<8"), or the path of a program, which is
given the folder of what was compiled and exits as a bisected program does.
"""

from __future__ import annotations

import operator
import os
import re
import subprocess
import sys
import tempfile

import numpy

from triton_runner._base.errors import fail
from triton_runner._bisect import classes
from triton_runner._bisect.results import KernelLaunch, Oracle
from triton_runner._compiler import abilities
from triton_runner._memory.arguments import unpacked
from triton_runner._memory.arrays import wrap
from triton_runner._worker import job

_COMPARISONS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
_MEASURE = re.compile(r"(shared|regs|spills|instr:(?P<name>[\w.]+)|time)(?P<compare>[<>]=?)(?P<bound>[\d.]+)")
_FORMS = "oracles: wrong, shared>N, regs>N, spills>N, instr:ldmatrix<N, PROGRAM"


def oracle(text: str) -> Oracle:
    """What judge() takes for an oracle as a person writes it. Raises DiagnosticError."""
    if text == "wrong":
        return Oracle("wrong")
    if text.split(">")[0].split("<")[0] == "time":
        raise fail(
            f"--oracle {text}: time is measured on a GPU, and bisection compiles for one without using it",
            "`triton-runner compare` times each release where a GPU is",
        )
    if match := _MEASURE.fullmatch(text):
        kind = "instr" if match["name"] else match[1]
        return Oracle(kind, match["name"], match["compare"], float(match["bound"]))
    if os.path.isfile(text):
        return Oracle("program", path=os.path.abspath(text))
    raise fail(f"--oracle {text!r} is neither an oracle nor a file", _FORMS)


def judge(name: str, told: dict) -> tuple[str, str]:
    """In a worker: launches or compiles the kernel; the verdict and why."""
    from triton_runner._artifact.shell_arguments import parse_argument  # the parent process does without both

    launch = KernelLaunch.of(told)
    path, _, function_name = name.rpartition(":")
    decorated = job.load_decorated({"file": path, "name": function_name})
    function = job.innermost(decorated)
    constants, computed = _decorations(decorated)
    constants |= {key: job.decoded(value) for key, value in launch.constexprs.items()}
    constants |= launch.options
    names = [each for each in function.arg_names if each not in {*constants, *computed}]
    values = [_value(taken, parse_argument) for taken in launch.arguments]
    if len(values) > len(names):
        raise ValueError(f"{len(values)} arguments for {len(names)} parameters: {', '.join(names)}")
    arguments = {key: wrap(key, value) for key, value in zip(names, values, strict=False)}
    everything = {**arguments, **constants}
    everything |= {key: compute(everything) for key, compute in computed.items() if key not in everything}
    grid = tuple(launch.grid)
    if launch.oracle.kind in ("wrong", "callable"):
        function[grid](**everything)
        return _compared(values, launch.reference)
    return _measured(function.warmup(grid=grid, **everything), launch.oracle)


def _decorations(function) -> tuple[dict, dict]:
    """What an autotuner around a kernel gives it, in its first configuration; and what heuristics compute."""
    constants, computed = {}, {}
    while function is not None:
        if configurations := getattr(function, "configs", None):
            constants = configurations[0].all_kwargs()
        elif isinstance(values := getattr(function, "values", None), dict):
            computed |= values
        function = getattr(function, "fn", None)
    return constants, computed


def _value(taken, parse_argument):
    if isinstance(taken, dict):
        return unpacked(taken["array"]).copy()
    return parse_argument(taken)


def _compared(values, reference) -> tuple[str, str]:
    if reference is None:
        return "right", "nothing to compare with"
    arrays = [value for value in values if isinstance(value, numpy.ndarray)]
    for i, (value, taken) in enumerate(zip(arrays, reference.values(), strict=True)):
        difference = classes.compare(value, unpacked(taken))
        if difference is not None and difference.class_ != "drift":
            return "wrong", difference.sentence(f"array {i}")
    return "right", ""


def _measured(compiled, judged_by: Oracle) -> tuple[str, str]:
    if judged_by.kind == "program":
        return _by_program(compiled, judged_by.path)
    value = _figure(compiled, judged_by)
    is_wrong = _COMPARISONS[judged_by.compare](value, judged_by.bound)
    name = f"instr:{judged_by.name}" if judged_by.name else judged_by.kind
    return "wrong" if is_wrong else "right", f"{name} is {value}"


def _figure(compiled, judged_by: Oracle):
    kind, opcode = judged_by.kind, judged_by.name
    if kind == "shared":
        return compiled.metadata.shared
    if kind == "regs":
        return compiled.n_regs
    if kind == "spills":
        return compiled.n_spills
    if opcode.isupper():
        from triton_runner._compiler.resources import resources  # it disassembles

        binary = "cubin" if "cubin" in compiled.asm else "hsaco"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"kernel.{binary}")
            with open(path, "wb") as file:
                file.write(compiled.asm[binary])
            return resources(path).count(opcode)
    text = compiled.asm["ptx" if "ptx" in compiled.asm else "amdgcn"]
    return len(re.findall(rf"^\s*(?:@!?%\w+\s+)?{re.escape(opcode)}(?=[.\s;])", text, re.M))


def _every_level(asm) -> list[str]:
    """The levels that there are and the binary, which is made when it is asked for."""
    import triton

    binary = next(level for level in ("cubin", "hsaco") if level in asm)
    able = not abilities.gap(triton.__version__, os.environ["TRITON_RUNNER_TARGET"], binary)
    return list(dict.fromkeys([*asm, binary] if able else asm))


def _by_program(compiled, path: str) -> tuple[str, str]:
    """A program's exit status for a folder with kernel.<level> of each level."""
    with tempfile.TemporaryDirectory() as folder:
        for level in _every_level(compiled.asm):
            content = compiled.asm[level]
            with open(os.path.join(folder, f"kernel.{level}"), "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        runner = [sys.executable] if path.endswith(".py") else []
        status = subprocess.run([*runner, path, folder], check=False).returncode
    if status == 0:
        return "right", ""
    return ("wrong" if 0 < status < 128 and status != 125 else "unknown"), f"it exited with {status}"
