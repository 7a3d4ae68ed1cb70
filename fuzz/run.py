"""Build the fuzz targets with ASan and UBSan, replay the regressions, and run each target on mutated cases,
as many targets at once as there are cores.

    python fuzz/run.py                            all targets for 60 s in all, with g++ and our driver
    python fuzz/run.py --libfuzzer --limit 1800   the same mutations led by coverage: clang's libFuzzer
    python fuzz/run.py --target tile --inputs 0   only the regressions

A crash leaves its input in build/fuzz/ and prints the command that runs it again. libFuzzer keeps what
reached new code in build/fuzz/corpus-<target>/ and goes on from there.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "corpus")]
import corpus  # noqa: E402
from golden import make  # noqa: E402
from suite.assembled import assemble  # noqa: E402

FOUND = ROOT / "build" / "fuzz"
REGRESSIONS = ROOT / "fuzz" / "regressions"
SEEDS = (
    "fuzz/regressions", "fuzz/seeds", "tests/cases", "build/golden", "build/corpus", "build/assembled",
    "examples",
)  # fmt: skip
TARGETS = {  # and what they read
    "ir": ("*.tt*ir",),
    "tile": ("*.tt*ir",),
    "ptx": ("*.ptx",),
    "simt": ("*.ptx",),
    "sass": ("*.listed",),
    "amdgcn": ("*.amdgcn",),
    "hsaco": ("*.hsaco",),
    "report": ("*.ttgir", "*.llir", "*.ptx", "*.amdgcn", "*.sass"),
}
JOBS = len(os.sched_getaffinity(0))
LARGEST = 32 * 1024  # bytes; larger files only slow the mutations down
ENVIRONMENT = os.environ | {
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "ASAN_OPTIONS": "detect_stack_use_after_return=1",
}


def write_listed(most: int = 60) -> None:
    """Seeds of fuzz_sass: golden PTX cases as machine code, a listing and its cubin in one file."""
    for path in sorted((ROOT / "tests/cases/ptx").glob("*.ptx"), key=lambda path: path.stat().st_size)[:most]:
        made = assemble(path.read_text().split("\n// ---- expected\n")[0], "sm_90")
        if isinstance(made, tuple):
            cubin, listing = map(pathlib.Path, made)
            listed = listing.read_bytes() + b"\n---- cubin\n" + cubin.read_bytes()
            listing.with_suffix(".listed").write_bytes(listed)


def build(libfuzzer: bool, targets: list[str]) -> pathlib.Path:
    """The folder of the programs. That of g++ is shared with the sanitizer part of the tests (run_all.py)."""
    folder = ROOT / "build" / ("libfuzzer" if libfuzzer else "asan")
    flags = (
        "-DTRITON_RUNNER_TESTS=ON -DTRITON_RUNNER_FUZZ=ON -DTRITON_RUNNER_PYTHON=OFF -DCMAKE_BUILD_TYPE=None"
    )
    if libfuzzer:
        flags += " -DTRITON_RUNNER_SANITIZE=address,undefined -DCMAKE_CXX_FLAGS=-O1"
        flags += " -DTRITON_RUNNER_LIBFUZZER=ON -DCMAKE_CXX_COMPILER=clang++"
    else:
        flags += " -DTRITON_RUNNER_SANITIZE=quick -DCMAKE_CXX_FLAGS=-O0"
    command = ["cmake", "-G", "Ninja", "-S", ".", *flags.split(), "-B", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    programs = [f"fuzz_{target}" for target in targets]
    subprocess.run(["ninja", "-C", str(folder), "-j", str(JOBS), "--quiet", *programs], check=True)
    return folder / "fuzz"


def execute(command: list[str], seconds: float) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        return 124, (expired.stdout or b"").decode("utf-8", "replace") + "\none input did not end\n"
    return done.returncode, done.stdout.decode("utf-8", "replace")


def shown(output: str) -> str:
    """Returns a failure's output from where the sanitizer's report, or the target's own message, begins."""
    lines = output.splitlines()
    start = next(
        (i for i, line in enumerate(lines) if re.search(r"runtime error|ERROR: |fuzz_\w+: ", line)),
        max(0, len(lines) - 40),
    )
    return "\n".join(lines[start : start + 40])


def fuzz(
    folder: pathlib.Path, target: str, seconds: float, options: argparse.Namespace
) -> tuple[int, list[str]]:
    """How many failures one target had, and what is to be printed of it."""
    program = str(folder / f"fuzz_{target}")
    failures, said = 0, []

    def report(name: str, status: int, output: str, again: list[str]) -> None:
        nonlocal failures
        failures += status != 0
        how = f"exit status {status}\n{shown(output)}\nagain: {' '.join(again)}" if status else output
        said.append(f"{name}: {how}")

    for regression in sorted(path for kind in TARGETS[target] for path in REGRESSIONS.glob(kind)):
        status, output = execute([program, str(regression)], 60)
        if status != 0:
            report(f"fuzz_{target}: {regression.name}", status, output, [program, str(regression)])
    if options.inputs == 0:
        return failures, [*said, f"fuzz_{target}: regressions only"]
    found = FOUND / f"{target}-{options.seed}"
    if options.libfuzzer:
        kept = FOUND / f"corpus-{target}"
        kept.mkdir(exist_ok=True)
        limits = f"-max_total_time={int(seconds)} -runs={options.inputs} -seed={options.seed}"
        command = [program, *limits.split(), f"-max_len={LARGEST}", "-len_control=0"]
        command += ["-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1"]
        command += [f"-artifact_prefix={found}-", str(kept)]
        command += [str(ROOT / name) for name in SEEDS]
    else:
        files = [
            path for name in SEEDS for kind in TARGETS[target] for path in sorted((ROOT / name).rglob(kind))
        ]
        seeds = [str(path) for path in files if path.stat().st_size <= LARGEST]
        command = [program, str(seconds), str(options.inputs), str(options.seed), str(found), *seeds]
    status, output = execute(command, seconds + 300)
    kept_input = re.search(r"Test unit written to (\S+)", output)
    executed = re.search(r"number_of_executed_units: (\d+)", output)
    report(
        f"fuzz_{target}",
        status,
        f"{executed[1]} inputs" if executed else output.strip(),
        [program, kept_input[1] if kept_input else str(found)],
    )
    return failures, said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60, help="seconds for all targets, without the build")
    parser.add_argument(
        "--inputs", type=int, default=2**31 - 1, help="at most so many a target: the same ones each time"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=tuple(TARGETS), help="only this one")
    parser.add_argument("--libfuzzer", action="store_true", help="with clang, led by coverage")
    options = parser.parse_args()
    targets = [options.target] if options.target else list(TARGETS)
    corpus.unpacked()
    make.write()
    if "sass" in targets:
        write_listed()
    if options.libfuzzer and not shutil.which("clang++"):
        parser.error("--libfuzzer needs clang++ (Debian: apt install clang)")

    folder = build(options.libfuzzer, targets)
    FOUND.mkdir(parents=True, exist_ok=True)
    at_once = min(JOBS, len(targets))
    seconds = options.limit * at_once / len(targets)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for findings, said in pool.map(lambda target: fuzz(folder, target, seconds, options), targets):
            failed += findings
            print("\n".join(said), flush=True)
    print(f"fuzz: {len(targets)} targets, {failed} failed" if failed else f"fuzz: {len(targets)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
