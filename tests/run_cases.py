#!/usr/bin/env python3
"""Run the golden cases of tests/cases and those that tests/golden/make.py makes in build/golden: print what
differs, or with --update write what came out as expected into the former.

A case is one file: header comments, IR, the line `// ---- expected`, and the whole output verbatim. Those of
the engines run again as on a machine without AVX-512 and on one without AVX2, those of the tile engine
without fused instructions and with a probe that looks at every value, and must print the same bytes. PTX
cases whose kernels end well run as machine code too, where Triton's ptxas assembles them for sm_90, or for
what they name from sm_89 on: those that may not print the same are listed in
tests/cases/ptx/machine_code.txt, each with its reason. With --one-way each runs in one of these ways, in
turn. With --checks they run under checks instead, and must print what they always print; those that checks
rightly report something in are listed in tests/cases/check/reported.txt, each with the kind of fault. With
--pairs the cases that a check reports something in run under each check alone, under each pair of checks and
under all at once: what several report is what one of them reports alone, and nothing is lost.
"""

import argparse
import concurrent.futures
import difflib
import functools
import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys

from golden import make
from suite.assembled import assemble, program
from suite.run import Case, execute

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
SEPARATOR = "// ---- expected"
ISAS = ("avx2", "portable")
CHECKS = ("oob", "nan", "inf", "nanload", "uninit", "race", "zerodiv", "hints", "overflow")


def name_of(path: pathlib.Path) -> str:
    """ "op/tt.load.ttir"."""
    return str(path.relative_to(CASES if path.is_relative_to(CASES) else make.INTO))


def split_case(text: str) -> tuple[str, str]:
    """The input part and the expected output of a case's text."""
    head, found, tail = ("\n" + text).partition("\n" + SEPARATOR + "\n")
    return (head[1:] + "\n" if found else text), tail


def tool_of(path: pathlib.Path, text: str) -> str:
    """The tool that the header names, else the folder's name."""
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        if line.startswith("// tool: "):
            return line.removeprefix("// tool: ").strip()
    return path.parent.name


def output_of(command: list[str], timeout: float) -> str:
    """Returns what the tool printed; a crash or a time-out is part of it."""
    done = execute(Case(command[-1], command, folder=ROOT, cpu_limit=timeout))
    if done.status == -signal.SIGKILL and done.seconds >= done.case.wall_limit:
        return "(it hangs)\n"
    if done.status == -signal.SIGXCPU:
        return f"(no end after {timeout:g} s of CPU)\n"
    return done.output + (f"{done.errors}(exit status {done.status})\n" if done.status else "")


def run_case(
    tool: str, path: pathlib.Path, isas: list[str], timeout: float, turn: int | None = None
) -> tuple[pathlib.Path, str, dict[str, str]]:
    """The case, its expected output, and what each run printed; isas: with which to run again; turn: of which
    of the ways it is the turn, if not of all."""
    text = path.read_text()
    runs = {"best": [tool, str(path)]}
    kind = tool_of(path, text)
    if kind == "tile":
        runs["not fused"] = [tool, "--no-fusion", str(path)]
        # Turns and perturbations are counted in instructions, and looks are some.
        if "\n// shuffle: " not in text and "\n// perturb: " not in text:
            runs["observed"] = [tool, "--observed", str(path)]
    if kind in ("tile", "ptx"):
        runs |= {isa: [tool, "--isa", isa, str(path)] for isa in isas}
    if kind == "ptx" and (assembled := machine_code(path, text)):
        runs["machine code"] = [tool, "--assembled", *map(str, assembled), str(path)]
    if turn is not None:
        runs = dict([list(runs.items())[turn % len(runs)]])
    return path, split_case(text)[1], {label: output_of(run, timeout) for label, run in runs.items()}


def machine_code(path: pathlib.Path, text: str) -> tuple | None:
    """The cubin and the listing that the case is to run as; None where it is not."""
    source, expected = split_case(text)
    if path.stem in differing() or not expected.startswith(("arg", "no array")):
        return None
    target = re.search(r"^\.target\s+sm_(\d+)", source, re.M)
    assembled = assemble(source, f"sm_{target[1]}" if target and int(target[1]) >= 89 else "sm_90")
    return None if isinstance(assembled, str) else assembled


@functools.cache
def differing() -> dict[str, str]:
    """Why a case does not print the same as machine code, by its name."""
    lines = (CASES / "ptx" / "machine_code.txt").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def has_isa(tool: str, isa: str) -> bool:
    """Whether this machine and the tool's build have the instruction set; where status 3 says that they have
    not, the reason is printed."""
    done = subprocess.run([tool, "--isa", isa], capture_output=True, text=True, check=False)
    if lacks := done.returncode == 3:
        print(f"not run as on lesser machines: {done.stderr}", end="")
    return not lacks


def read_reported() -> dict[str, str]:
    """The kind of fault by path of the case, of tests/cases/check/reported.txt."""
    lines = (CASES / "check" / "reported.txt").read_text().splitlines()
    rows = [line.split(": ", 1) for line in lines if line and not line.startswith("#")]
    return dict(rows)


def run_checked(tool: str, paths: list[pathlib.Path], checks: str, jobs: int, timeout: float) -> int:
    """Runs the tile cases that choose no checks themselves under `checks`. The number that went wrong."""
    reported = read_reported()
    texts = {path: path.read_text() for path in paths}
    chosen = [p for p in paths if tool_of(p, texts[p]) == "tile" and "// checks:" not in texts[p]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        commands = [[tool, "--checks", checks, str(path)] for path in chosen]
        for path, output in zip(chosen, pool.map(lambda c: output_of(c, timeout), commands), strict=True):
            name = name_of(path)
            kind = reported.get(name)
            good = output == split_case(texts[path])[1] if kind is None else f": {kind} in " in output
            if not good:
                failed += 1
                wanted = "no report" if kind is None else kind
                print(f"FAILED {name} (expected {wanted})\n" + "\n".join(output.splitlines()[:4]))
    print(f"checked cases: {len(chosen) - failed} passed, {failed} failed")
    return failed


def report_of(output: str) -> str:
    """Returns what checks say, without the arguments, which hold what was stored until then; "": nothing."""
    return output.partition("\narg")[0] + "\n" if output.startswith("kernel '") else ""


def under_pairs(tool: str, path: pathlib.Path, timeout: float) -> tuple[int, list[str]]:
    """How often a case ran under checks, and what several of them report that none reports alone."""
    level = path.suffix[1:]
    checks = [c for c in CHECKS if level != "ptx" or c not in ("nanload", "hints")]

    def report(*several: str) -> str:
        return report_of(output_of([tool, "--checks", ",".join(several), str(path)], timeout))

    alone = {c: report(c) for c in checks}
    if not any(alone.values()):
        return len(checks), []
    wrong, sets = [], [*itertools.combinations(checks, 2), tuple(checks)]
    for several in sets:
        expected = {alone[c] for c in several if alone[c]} or {""}
        if (said := report(*several)) not in expected:
            wrong.append(f"under {','.join(several)}:\n{said}alone:\n{''.join(sorted(expected))}")
    return len(checks) + len(sets), wrong


def run_pairs(tool: str, paths: list[pathlib.Path], jobs: int, timeout: float) -> int:
    """Runs the cases that choose checks themselves under all pairs of checks. The number that went wrong."""
    texts = {path: path.read_text() for path in paths}
    chosen = [p for p in paths if "\n// checks:" in texts[p] and "// substitute" not in texts[p]]
    failed = runs = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda path: under_pairs(tool, path, timeout), chosen)
        for path, (count, wrong) in zip(chosen, results, strict=True):
            runs += count
            failed += bool(wrong)
            for text in wrong:
                print(f"FAILED {name_of(path)} {text}")
    print(f"pairs of checks, {runs} runs: {len(chosen) - failed} passed, {failed} failed")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default=str(ROOT / "build" / "release" / "tests" / "tools" / "case_tool"))
    parser.add_argument("--update", action="store_true", help="write the output as the expected one")
    parser.add_argument("--checks", help="run the tile cases under these checks: oob,nan,uninit,race")
    parser.add_argument("--pairs", action="store_true", help="run under pairs of checks what checks report")
    parser.add_argument(
        "--isa",
        action="append",
        help=f"also run tile and ptx cases so (default: {', '.join(ISAS)}; '': none)",
    )
    parser.add_argument("--one-way", action="store_true", help="run each case in one way only, in turn")
    parser.add_argument(
        "--timeout", type=float, default=600, help="seconds of CPU a case, ten times what any takes"
    )
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("parts", nargs="*", help="only cases whose path contains one of these")
    options = parser.parse_args()
    if not os.access(options.tool, os.X_OK):
        parser.error(f"{options.tool} is not there: build the target case_tool, or name it with --tool")

    failed = 0
    if different := make.write():
        failed += len(different)
        make.explain(different)
    paths = [p for root in (CASES, make.INTO) for p in sorted(root.rglob("*.*"))]
    paths = [p for p in paths if p.is_file() and p.suffix in (".ttir", ".ttgir", ".ptx", ".amdgcn")]
    paths = [p for p in paths if not options.parts or any(part in str(p) for part in options.parts)]
    if options.pairs:
        failed += run_pairs(options.tool, paths, options.jobs, options.timeout)
        return min(failed, 1)
    if options.checks:
        failed += run_checked(options.tool, paths, options.checks, options.jobs, options.timeout)
        return min(failed, 1)
    isas = [isa for isa in options.isa or ISAS if isa and has_isa(options.tool, isa)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        turns = itertools.count() if options.one_way else itertools.repeat(None)
        for path, expected, outputs in pool.map(
            lambda p, turn: run_case(options.tool, p, isas, options.timeout, turn), paths, turns
        ):
            name = path.relative_to(ROOT)
            if options.update and path.is_relative_to(CASES) and outputs.get("best", expected) != expected:
                source = split_case(path.read_text())[0]
                source += "" if source.endswith("\n") or not source else "\n"
                path.write_text(source + SEPARATOR + "\n" + outputs["best"])
                print(f"updated {name}")
                expected = outputs["best"]
            for label, output in outputs.items():
                if output == expected:
                    continue
                failed += 1
                print(f"FAILED {name} ({label})")
                diff = difflib.unified_diff(
                    expected.splitlines(), output.splitlines(), "expected", "actual", lineterm="", n=1
                )
                print("\n".join(list(diff)[:40]))
                break
    if not program("ptxas"):
        print("machine code: skipped, there is no ptxas")
    print(f"cases: {max(len(paths) - failed, 0)} passed, {failed} failed")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
