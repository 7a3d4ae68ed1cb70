"""Build the fuzz targets with ASan and UBSan and run each for a share of --limit seconds on mutated cases.

A crash leaves the input under build/fuzz/ and prints the command that runs it again.
"""

import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "asan"  # shared with the sanitizer part of the tests
FOUND = ROOT / "build" / "fuzz"
TARGETS = ("fuzz_ir", "fuzz_tile")
LARGEST = 64 * 1024  # bytes; larger files only slow the mutations down


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60, help="seconds in all, without the build")
    parser.add_argument(
        "--inputs", type=int, default=2**31, help="at most so many a target: always the same ones"
    )
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    configure = (
        "cmake -G Ninja -S . -DTRITON_RUNNER_TESTS=ON -DTRITON_RUNNER_FUZZ=ON -DTRITON_RUNNER_PYTHON=OFF"
    )
    flags = "-DTRITON_RUNNER_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS=-O1"
    command = [*configure.split(), *flags.split(), "-B", str(BUILD)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(BUILD), "--quiet", *TARGETS], check=True)
    files = [p for folder in ("cases", "corpus") for p in sorted((ROOT / "tests" / folder).rglob("*.tt*ir"))]
    files = [str(p) for p in files if p.stat().st_size <= LARGEST]
    FOUND.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_OPTIONS": "allocator_may_return_null=1",
    }
    failed = 0
    for target in TARGETS:
        program, input_file = BUILD / "fuzz" / target, FOUND / f"{target}-{options.seed}"
        seconds = options.limit / len(TARGETS)
        try:
            done = subprocess.run(
                [program, str(seconds), str(options.inputs), str(options.seed), input_file, *files],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds + 60,
            )
            status, output = done.returncode, done.stdout.decode("utf-8", "replace")
        except subprocess.TimeoutExpired as expired:
            status, output = (
                124,
                (expired.stdout or b"").decode("utf-8", "replace") + "\none input did not end\n",
            )
        print(f"{target}: {output.strip() if status == 0 else f'exit status {status}'}")
        if status != 0:
            failed += 1
            print("\n".join(output.splitlines()[:40]))
            print(f"again: {program.relative_to(ROOT)} {input_file.relative_to(ROOT)}")
    print(f"fuzz: {len(TARGETS) - failed} passed, {failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
