"""Which release compiles which kernel for which target, and whether triton_runner.compile gives what Triton
gives.

    python tools/compile_table.py [--versions 3.0.0..3.9.0] [--targets cuda:80,hip:gfx942] [--kernels matmul]
                                  [--results FILE] [--write]

Each kernel of examples/ is compiled twice: by a worker of the release, and by that release's own
triton.compile in a process of its own (tools/compile_example.py). All levels are compared byte for byte.
Results are kept in FILE (a run that stopped goes on from there); --write records them in
results/compile.json.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.chdir(ROOT)
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
os.environ["TRITON_RUNNER_DEVICE"] = "cpu"

sys.path.append(str(ROOT / "tests"))
import compile_example  # noqa: E402
from suite import results as kept  # noqa: E402
from triton_runner._base.errors import DiagnosticError  # noqa: E402
from triton_runner._kernel.compiling.compile import request_of, run  # noqa: E402
from triton_runner._pipeline import abilities, versions  # noqa: E402
from triton_runner._pipeline.workers import WorkerError  # noqa: E402

TARGETS = [
    *(f"cuda:{arch}" for arch in (75, 80, 86, 89, 90, 100, 120)),
    *(f"hip:gfx{arch}" for arch in ("90a", "942", "950", "1100", "1200")),
]
# ptxas is not the same on every run: of equal PTX it now and then makes another cubin (3.7, 3.8; sm_100).
RUNS_OF_PTXAS = 4
KERNELS = ["vector_add", "softmax", "matmul", "attention"]
LEVELS = {
    "cuda": ["ttir", "ttgir", "llir", "ptx", "cubin"],
    "hip": ["ttir", "ttgir", "llir", "amdgcn", "hsaco"],
}


def launches(kernel):
    """(function, types, constants, attributes, options) of each kernel that an example launches."""
    found = []

    def note(function, *args, grid, warmup=False, **options):
        arguments = compile_example.bound(function, args, options)
        found.append((function, *compile_example.described(function, arguments), options))

    compile_example.run_example(kernel, note)
    return found


def plain(version, kernel, target, folder):
    """Writes what triton.compile makes into a folder; the error line if it fails."""
    place, python = versions.ensure(version)
    scripts = [str(ROOT / "tools" / "compile_example.py"), kernel, target, str(folder)]
    levels = LEVELS[target.split(":")[0]]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TRITON_RUNNER_")}
    environment["PYTHONPATH"] = place
    if target.startswith("hip:") and versions.key(version) < (3, 5):
        # These ask the linker for its version before they compile; hsaco is not compared.
        linker = Path(folder) / "ld.lld"
        linker.write_text('#!/bin/sh\ntest "$1" = --version && { echo 0; exit; }\ntouch "$6"\n')
        linker.chmod(0o755)
        environment["TRITON_HIP_LLD_PATH"] = str(linker)
        levels = levels[:-1]
    done = subprocess.run(
        [python, *scripts, ",".join(levels), "absolute"], env=environment, capture_output=True, text=True
    )
    lines = done.stderr.strip().splitlines()
    return levels, (lines[-1] if lines else f"status {done.returncode}") if done.returncode else None


def cell(version, kernel, target, found):
    """{"identical": levels, "differs": levels, "plain": its error, "worker": its error, "gap": what the
    table of abilities says}; what the table excludes is tried all the same."""
    with tempfile.TemporaryDirectory() as folder:
        levels, failed = plain(version, kernel, target, Path(folder))
        gap = abilities.gap(version, target, levels[-1])
        result = {"identical": [], "differs": [], "plain": failed, "worker": None, "gap": gap and gap[0]}
        for function, types, constants, attributes, options in found:
            try:
                request = request_of(
                    function, types, constants, target, None, levels[-1], options, attributes
                )
                request["checked"] = False
                made = run("job", request, version, isolate=True)
                for _ in range(RUNS_OF_PTXAS):
                    if differing(made, Path(folder), function.__name__, levels) != ["cubin"]:
                        break
                    result["ptxas"] = "varies"
                    made = run("job", request, version, isolate=True)
            except WorkerError as error:
                result["worker"] = error.message
                result["stage"], result["pass"] = error.stage, error.pass_name
                break
            except DiagnosticError as error:
                result["worker"] = error.message
                break
            if not failed:
                other = differing(made, Path(folder), function.__name__, levels)
                result["differs"] += other
                result["identical"] += [level for level in levels if level not in other]
        return result


def differing(made, folder, name, levels):
    """The levels that are not what triton.compile wrote into the folder."""
    texts = {level: made["asm"][level] for level in levels}
    as_bytes = {level: t if isinstance(t, bytes) else t.encode() for level, t in texts.items()}
    files = {level: folder / f"{name}.{level}" for level in levels}
    return [level for level, file in files.items() if file.exists() and file.read_bytes() != as_bytes[level]]


def mark(result):
    """Returns what a cell of the table says."""
    if result["gap"]:
        return "no" if result["plain"] and result["worker"] else "**gap is wrong**"
    if result["plain"] and result["worker"]:
        return "fails"
    if result["plain"] or result["worker"] or result["differs"]:
        return "**differs**"
    return result["identical"][-1] + ("*" if result.get("ptxas") else "")


# Columns of the table: targets that one release treats alike.
GROUPS = {
    "cuda:75": ["cuda:75"],
    "cuda:80 to 90": ["cuda:80", "cuda:86", "cuda:89", "cuda:90"],
    "cuda:100, 120": ["cuda:100", "cuda:120"],
    "gfx90a, gfx942": ["hip:gfx90a", "hip:gfx942"],
    "gfx950": ["hip:gfx950"],
    "gfx1100, gfx1200": ["hip:gfx1100", "hip:gfx1200"],
}


def first_line(text):
    """Returns the first line of a message: files of this machine by their names alone."""
    return " ".join(re.sub(r"(?<!\S)/\S+/", "", text.split("\n")[0]).split())[:200]


def record(results):
    """results/compile.json: what each release does with each group of targets, every cell, what fails."""
    cells = {tuple(key.split()): result for key, result in results.items()}
    counts = collections.Counter(mark(result).rstrip("*") for result in cells.values())
    rows, data = [], {}
    for version in sorted({version for version, _, _ in cells}, key=versions.key):
        mine = {(t, kernel): mark(result) for (v, t, kernel), result in cells.items() if v == version}
        row = [version]
        for targets in GROUPS.values():
            marks = {name: text.rstrip("*") for name, text in mine.items() if name[0] in targets}
            failing = sorted({kernel for (_, kernel), text in marks.items() if text == "fails"})
            said = ", ".join(sorted(set(marks.values()) - {"fails"}))
            row.append(said + (f"; {', '.join(failing)}: fails" if failing else ""))
        rows.append(row)
        data[version] = {k: " ".join(mine.get((t, k), "-") for t in TARGETS) for k in KERNELS}
    failures = [
        [*where, result.get("stage"), result.get("pass"), first_line(result["plain"])]
        for where, result in cells.items()
        if result["plain"] and result["worker"]
    ]
    said = f"{len(cells)} cells: " + ", ".join(f"{n} {name}" for name, n in sorted(counts.items()))
    kept.record(
        "compile", "table", "kernels compiled by a worker and by the release itself: down to which level "
        "every text and binary is the same", "python tools/compile_table.py --write", {"result": said},
        table={"columns": ["Triton", *GROUPS], "rows": rows},
        data={"targets": TARGETS, "cells": data, "what fails": failures},
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--versions", default="all")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--results", default="build/compile-table.json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    file = Path(options.results)
    results = json.loads(file.read_text()) if file.exists() else {}
    found = {kernel: launches(kernel) for kernel in options.kernels.split(",")}
    for version in versions.expand(options.versions):
        for target in options.targets.split(","):
            for kernel in found:
                key = f"{version} {target} {kernel}"
                if key not in results:
                    results[key] = cell(version, kernel, target, found[kernel])
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(json.dumps(results, indent=1))
                    print(key, mark(results[key]), flush=True)
    if options.write:
        record(results)
    return any(mark(result).startswith("**") for result in results.values())


if __name__ == "__main__":
    sys.exit(main())
