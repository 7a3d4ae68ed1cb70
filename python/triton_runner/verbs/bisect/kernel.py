"""Judges one kernel, "kernel.py:name", by an oracle instead of a program. An oracle judges what the kernel
computes, or the resources that its code needs.

An oracle defines what is wrong: "wrong" (other values than a reference), "reads" (memory that its TTIR does
not read), "shared>1536", "regs>64",
"spills>0", "instr:ldmatrix<30" (of PTX; of machine code in capitals, "instr:HMMA<8"), "cycles>9000" and
"slower" (the estimated time on a chip, beside that of the first release), or the path of a program, which is
given the folder of what was compiled and exits as a bisected program does."""

from __future__ import annotations

import dataclasses
import operator
import os
import re
import subprocess
import sys

import numpy

from triton_runner import _core, _settings
from triton_runner._artifact.relaunch import of_call
from triton_runner._base import commands, scratch
from triton_runner._base.errors import fail
from triton_runner._base.paths import in_a_file
from triton_runner._kernel.cost import chips, timing
from triton_runner._launch.launchers import observing
from triton_runner._memory.arguments import unpacked
from triton_runner._memory.arrays import wrap
from triton_runner._pipeline import abilities
from triton_runner._worker import job, signatures
from triton_runner.verbs.bisect import classes
from triton_runner.verbs.bisect.results import KernelLaunch, Oracle

_COMPARISONS = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
_MEASURE = re.compile(
    r"(shared|regs|spills|instr:(?P<name>[\w.]+)|cycles|slower|time)(?P<compare>[<>]=?)(?P<bound>[\d.]+)"
)
_FORMS = "oracles: wrong, reads, shared>N, regs>N, spills>N, instr:ldmatrix<N, slower, cycles>N, PROGRAM"
_ESTIMATED = ("slower", "cycles")
_SLOWER = 1.05  # than the first release, where nobody says by how much


def oracle(text: str, chip: str = "", target: str = "") -> Oracle:
    """The oracle that a text describes. chip: on which cycles are estimated. Raises DiagnosticError."""
    if text in ("wrong", "reads"):
        return Oracle(text)
    if text.startswith(_ESTIMATED):
        return _of_time(text, chip, target)
    if text.split(">")[0].split("<")[0] == "time":
        raise fail(
            f"--oracle {text}: time is measured on a GPU, and bisection compiles for one without using it",
            "--oracle slower --chip h200 estimates it; "
            f"`{commands.shell('compare', 'KERNEL', '--versions', 'all')}` times releases where a GPU is",
        )
    if match := _MEASURE.fullmatch(text):
        kind = "instr" if match["name"] else match[1]
        return Oracle(kind, match["name"], match["compare"], float(match["bound"]))
    if os.path.isfile(text):
        return Oracle("program", path=os.path.abspath(text))
    raise fail(f"--oracle {text!r} is neither an oracle nor a file", _FORMS)


def _of_time(text: str, chip: str, target: str) -> Oracle:
    """An oracle of the estimated time. "slower": its bound is known when the first release was judged."""
    if not chip:
        raise fail(f"--oracle {text}: cycles are estimated for a chip", "--chip h200")
    chips.check_target(chips.chip_named(chip, timing.TIMINGS), target)
    if text == "slower":
        return Oracle("slower", None, ">", _SLOWER, chip=chip)
    if match := _MEASURE.fullmatch(text):
        return Oracle(match[1], None, match["compare"], float(match["bound"]), chip=chip)
    raise fail(f"--oracle {text!r} is no measure", "as in: slower, slower>1.2, cycles>9000")


def than(oracle: Oracle, version: str, cycles: float) -> Oracle:
    """The oracle "slower", now that a release has so many cycles."""
    bound = oracle.bound * cycles
    return dataclasses.replace(oracle, kind="cycles", bound=bound, than=version, base=cycles)


def judge(name: str, told: dict) -> tuple[str, str, float | None]:
    """Launches or compiles the kernel, in a worker. Returns the verdict, the reason, and the number that was
    measured."""
    from triton_runner._artifact.shell_arguments import parse_argument  # the parent process does without both

    launch = KernelLaunch.of(told)
    path, _, function_name = name.rpartition(":")
    decorated = job.load_decorated({"file": path, "name": function_name})
    function = job.innermost(decorated)
    constants, computed = _decorations(decorated)
    constants |= {key: signatures.decoded(value) for key, value in launch.constexprs.items()}
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
        return *_compared(values, launch.reference), None
    if launch.oracle.kind == "reads":
        return *_reads(lambda: function[grid](**everything)), None
    if launch.oracle.kind in _ESTIMATED:
        return _estimated(lambda: function[grid](**everything), launch.oracle)
    return _measured(function.warmup(grid=grid, **everything), launch.oracle)


def _decorations(function) -> tuple[dict, dict]:
    """The constants of an autotuner's first configuration, and those that heuristics compute."""
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


def _reads(launch) -> tuple[str, str]:
    """Whether the launch, as it is compiled now, reads memory that its TTIR does not read."""
    above, now = _core.ReadSet(), _core.ReadSet()
    for level, reads in (("ttir", above), (None, now)):
        with _settings.using(check="race", level=level, reads=reads, threads=1):
            launch()
    more = now.beyond(above)
    if not more:
        return "right", ""
    place, _, count = more[0]
    return "wrong", f"it reads {count} byte{'s' * (count != 1)} that TTIR does not read, in {place}"


def _measured(compiled, judged_by: Oracle) -> tuple[str, str, float | None]:
    if judged_by.kind == "program":
        return *_by_program(compiled, judged_by.path), None
    value = _figure(compiled, judged_by)
    is_wrong = _COMPARISONS[judged_by.compare](value, judged_by.bound)
    name = f"instr:{judged_by.name}" if judged_by.name else judged_by.kind
    return "wrong" if is_wrong else "right", f"{name} is {value}", value


def _estimated(launch, judged_by: Oracle) -> tuple[str, str, float]:
    """The launch replayed on the chip. "slower" before there is something to compare with: only its time."""
    from triton_runner._kernel.cost.replay import estimate  # other oracles do without

    calls = []
    with observing(lambda call, go: calls.append(of_call(call))):
        launch()
    it = estimate(calls[-1], chip=judged_by.chip)
    why = f"{it.cycles:,.0f} cycles on {it.chip}, bound by {it.bound_by}"
    if judged_by.kind == "slower":
        return "right", why, it.cycles
    if judged_by.than:
        why += f"; {it.cycles / judged_by.base:.2f} times those of Triton {judged_by.than}"
    is_wrong = _COMPARISONS[judged_by.compare](it.cycles, judged_by.bound)
    return "wrong" if is_wrong else "right", why, it.cycles


def _figure(compiled, judged_by: Oracle):
    kind, opcode = judged_by.kind, judged_by.name
    if kind == "shared":
        return compiled.metadata.shared
    if kind == "regs":
        return compiled.n_regs
    if kind == "spills":
        return compiled.n_spills
    if opcode.isupper():
        from triton_runner._kernel.compiling.resources import resources  # it disassembles

        binary = "cubin" if "cubin" in compiled.asm else "hsaco"
        with in_a_file(compiled.asm[binary], f"kernel.{binary}") as path:
            return resources(path).count(opcode)
    text = compiled.asm["ptx" if "ptx" in compiled.asm else "amdgcn"]
    return len(re.findall(rf"^\s*(?:@!?%\w+\s+)?{re.escape(opcode)}(?=[.\s;])", text, re.M))


def _every_level(asm) -> list[str]:
    """The levels of a compiled kernel, and its binary, which is made on demand."""
    import triton

    binary = next(level for level in ("cubin", "hsaco") if level in asm)
    able = not abilities.gap(triton.__version__, os.environ["TRITON_RUNNER_TARGET"], binary)
    return list(dict.fromkeys([*asm, binary] if able else asm))


def _by_program(compiled, path: str) -> tuple[str, str]:
    """The exit status of an oracle program for a folder that holds kernel.<level> for each level."""
    with scratch.folder("oracle") as folder:
        for level in _every_level(compiled.asm):
            content = compiled.asm[level]
            with open(os.path.join(folder, f"kernel.{level}"), "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        runner = [sys.executable] if path.endswith(".py") else []
        status = subprocess.run([*runner, path, folder], check=False).returncode
    if status == 0:
        return "right", ""
    return ("wrong" if 0 < status < 128 and status != 125 else "unknown"), f"it exited with {status}"
