"""A folder that shows a fault again, for an issue: the program, the launch that goes wrong, the IR on both
sides of the pass, and the verdict."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
from pathlib import Path

from triton_runner._bisect import page
from triton_runner._bisect.runs import Program, Release
from triton_runner._paths import make_folder


def write(folder: str, program: Program, found: dict, case: str = "") -> str:
    """Writes the folder; its path. case: the file that the program was taken from, which stands for it.

    run.sh bisects the program, which is there with what it imports from its own folder, again in one wrong
    and one right release; <kernel>-0.trcase is the launch, where it could be captured; before.mlir and
    after.mlir (.ll inside LLVM) are the IR around the pass, beside the levels that the wrong release made.
    """
    place = Path(folder)
    make_folder(place)
    fault = found["faults"][-1]
    wrong = fault["release"]["wrong"][-1]
    (place / "verdict.json").write_text(json.dumps(found, indent=2) + "\n")
    shown = dataclasses.replace(program, name=Path(case).name) if case else program
    (place / "verdict.txt").write_text(page.page(found, shown) + "\n")
    versions = [wrong, *([fault["spliced_with"]] if fault.get("spliced_with") else [])]
    _write_run(place, program, versions, case)
    release = Release(wrong, program)
    try:
        launch = fault["evidence"][0].get("launch", 0)
        taken = {"folder": str(place.resolve()), "number": launch}
        more = {} if program.is_measured or case else {"capture": taken}
        if choices := release.at(program.lowest).choices:  # launches are numbered without those that tune
            more["choices"] = choices
        inside = {"llvm": True} if _is_inside_llvm(fault) else None
        outcome = release.at(program.lowest, inside, keep="text", **more)
    finally:
        release.close()
    for file in outcome.files if not case else ():
        (place / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(program.folder) / file, place / file)
    name = fault["evidence"][0].get("kernel")
    for kernel in outcome.kernels:
        if name in (None, kernel["name"]):
            _write_kernel(place, kernel, fault)
            break
    return str(place)


def _write_run(place: Path, program: Program, versions: list[str], case: str) -> None:
    file, _, function = program.name.rpartition(":") if program.launch else (program.name, "", "")
    command = ["triton-runner", "bisect", "--versions", ",".join(versions), "--target", program.target]
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
    if program.launch and (oracle := program.launch["oracle"].get("path")):
        shutil.copy(oracle, place / Path(oracle).name)
    command += [*program.arguments, *_launch_options(program.launch)]
    (place / "run.sh").write_text(
        '#!/bin/sh\n# Finds the fault again: pip install triton-runner\ncd "$(dirname "$0")"\n'
        f'exec {shlex.join(command)} "$@"\n'
    )


def _launch_options(launch: dict | None) -> list[str]:
    if launch is None:
        return []
    judged = launch["oracle"]
    oracle = Path(judged["path"]).name if "path" in judged else judged["kind"]
    if judged.get("compare"):
        name = f"instr:{judged['name']}" if judged["name"] else judged["kind"]
        oracle = f"{name}{judged['compare']}{judged['bound']:g}"
    options = ["--oracle", oracle, "--grid", ",".join(map(str, launch["grid"]))]
    texts = [text for text in launch["arguments"] if isinstance(text, str)]
    options += ["--args", ", ".join(texts)] if texts else []
    for flag, values in (("-c", launch["constexprs"]), ("-O", launch["options"])):
        for name, value in values.items():
            options += [flag, f"{name}={value}"]
    return options


def _is_inside_llvm(fault: dict) -> bool:
    return fault["pass"] is not None and fault["pass"]["add"] is None


def _write_llvm(place: Path, kernel: dict, fault: dict) -> None:
    """before.ll and after.ll of a pass that works on LLVM's IR."""
    steps = kernel["llvm"].get(fault["level"], [])
    named = [i for i, step in enumerate(steps) if step[1] == fault["pass"]["argument"]]
    if len(named) < fault["pass"]["nth"]:
        return
    at = named[fault["pass"]["nth"] - 1]
    for side, i in (("before", at - 1), ("after", at)):
        if i >= 0 and steps[i][2] is not None:
            (place / f"{side}.ll").write_text(kernel["llvm_texts"][steps[i][2]])


def _write_kernel(place: Path, kernel: dict, fault: dict) -> None:
    """The levels of a kernel, and the IR before and behind the pass."""
    for level, text in kernel["made"].items():
        (place / f"{kernel['name']}.{level}").write_text(text)
    metadata = {**kernel["metadata"], "name": kernel["name"]}
    (place / f"{kernel['name']}.json").write_text(json.dumps(metadata))
    named = fault["pass"]
    if named is None:
        if kernel["first"] is not None:
            (place / "source.ttir").write_text(kernel["texts"][kernel["first"]])
        return
    if _is_inside_llvm(fault):
        _write_llvm(place, kernel, fault)
        return
    before, seen = kernel["first"], 0
    for stage, add, _, after in kernel["passes"]:
        if (stage, add) == (fault["stage"], named["add"]):
            seen += 1
            if seen == named["nth"]:
                for side, number in (("before", before), ("after", after)):
                    if number is not None:
                        (place / f"{side}.mlir").write_text(kernel["texts"][number])
                return
        before = after
