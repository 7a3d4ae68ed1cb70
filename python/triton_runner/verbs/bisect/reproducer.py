"""Writes a folder that reproduces a fault, for an issue: the program, the launch that goes wrong, the IR
before and after the pass, and the verdict."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

from triton_runner._base import commands
from triton_runner._base.paths import make_folder
from triton_runner._base.typed import as_json
from triton_runner.verbs.bisect.results import CompilerFault, Found, KernelLaunch
from triton_runner.verbs.bisect.runs import BisectedProgram, Release
from triton_runner.verbs.bisect.trial import Kernel


def write(folder: str, program: BisectedProgram, bisected: Found, case: str = "") -> str:
    """Writes the folder and returns its path. case: the case from which the program was taken, which
    replaces it.

    run.sh bisects the program, which is there with what it imports from its own folder, again in one wrong
    and one right release; <kernel>-0.trcase is the launch, where it could be captured; before.mlir and
    after.mlir (.ll inside LLVM) are the IR around the pass, beside the levels that the wrong release made.
    """
    place = Path(folder)
    make_folder(place)
    fault = bisected.faults[-1]
    wrong, seen = fault.release.wrong[-1], fault.evidence[0]
    (place / "verdict.json").write_text(json.dumps(as_json(bisected), indent=2) + "\n")
    (place / "verdict.txt").write_text(bisected.page(Path(case).name if case else program.name) + "\n")
    versions = [wrong, *([fault.spliced_with] if fault.spliced_with else [])]
    _write_run(place, program, versions, case)
    with contextlib.closing(Release(wrong, program)) as release:
        taken = {"folder": str(place.resolve()), "number": seen.launch or 0}
        # Launches are numbered without those that tune.
        more = release.choices | ({} if program.is_measured or case else {"capture": taken})
        inside = {"llvm": True} if _is_inside_llvm(fault) else None
        trial = release.at(program.lowest, inside, keep="text", **more)
    for file in trial.files if not case else ():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(program.folder) / file, place / file)
    for kernel in [kernel for kernel in trial.kernels if seen.kernel in (None, kernel.name)][:1]:
        _write_kernel(place, kernel, fault)
    return str(place)


def _write_run(place: Path, program: BisectedProgram, versions: list[str], case: str) -> None:
    file, _, function = program.name.rpartition(":") if program.launch else (program.name, "", "")
    command = ["bisect", "--versions", ",".join(versions), "--target", program.target]
    command += ["--pretend-cuda"] if program.pretend_cuda else []
    command += ["--levels", ",".join(program.chosen)] if program.chosen else []
    if case:
        shutil.copy(case, place)
        command.append(Path(case).name)
    elif program.is_module:
        command += ["-m", program.name]
    else:
        shutil.copy(file, place / Path(file).name)
        command.append(Path(file).name + (f":{function}" if function else ""))
    if program.launch and (oracle := program.launch.oracle.path):
        shutil.copy(oracle, place / Path(oracle).name)
    command += [*program.arguments, *_launch_options(program.launch)]
    (place / "run.sh").write_text(
        "#!/bin/sh\n# Finds the fault again. It needs Triton Runner, which is installed by\n"
        f"#   {commands.install()}    ({commands.WHAT_IS_THERE})\n"
        f'cd "$(dirname "$0")"\nexec {commands.shell(*command)} "$@"\n'
    )


def _launch_options(launch: KernelLaunch | None) -> list[str]:
    if launch is None:
        return []
    options = ["--oracle", str(launch.oracle), "--grid", ",".join(map(str, launch.grid))]
    texts = [text for text in launch.arguments if isinstance(text, str)]
    options += ["--args", ", ".join(texts)] if texts else []
    for flag, values in (("-c", launch.constexprs), ("-O", launch.options)):
        for name, value in values.items():
            options += [flag, f"{name}={value}"]
    return options


def _is_inside_llvm(fault: CompilerFault) -> bool:
    return fault.pass_ is not None and fault.pass_.add is None


def _write_kernel(place: Path, kernel: Kernel, fault: CompilerFault) -> None:
    """The levels of a kernel, and the IR before and after the pass."""
    for level, text in kernel.made.items():
        (place / f"{kernel.name}.{level}").write_text(text)
    (place / f"{kernel.name}.json").write_text(json.dumps({**kernel.metadata, "name": kernel.name}))
    named = fault.pass_
    if named is None:
        texts = {"source.ttir": kernel.source}
    elif _is_inside_llvm(fault):
        steps = kernel.llvm.get(fault.level, [])
        at = [i for i, step in enumerate(steps) if step.argument == named.argument][named.nth - 1 : named.nth]
        numbers = [steps[i].text if i >= 0 else None for i in (at[0] - 1, at[0])] if at else [None, None]
        before, after = (None if number is None else kernel.llvm_texts[number] for number in numbers)
        texts = {"before.ll": before, "after.ll": after}
    else:
        before, after = kernel.around(fault.stage, named.add, named.nth)
        texts = {"before.mlir": before, "after.mlir": after}
    for file, text in texts.items():
        if text is not None:
            (place / file).write_text(text)
