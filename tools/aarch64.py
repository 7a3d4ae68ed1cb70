"""The C++ on 64-bit Arm: Debian's cross compiler, and unit tests and golden cases under qemu-user.

    python tools/aarch64.py [part of a case's path ...]        # make aarch64

There the engines run on the portable kernels, which must print what they print on x86, byte for byte. The
programs are linked statically, so that qemu needs no Arm system beside it.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "aarch64"
COMPILER = "aarch64-linux-gnu-g++"
DEFINITIONS = {
    "CMAKE_SYSTEM_NAME": "Linux",
    "CMAKE_SYSTEM_PROCESSOR": "aarch64",
    "CMAKE_CXX_COMPILER": COMPILER,
    "CMAKE_EXE_LINKER_FLAGS": "-static",
    "TRITON_RUNNER_PYTHON": "OFF",
    "TRITON_RUNNER_TESTS": "ON",
}
# Drivers are opened by dlopen, which a static program cannot do.
WITHOUT = ("device", "launch")


def emulator() -> str:
    """qemu-user, static or not; a message where it or the compiler is missing."""
    for name in ("qemu-aarch64-static", "qemu-aarch64"):
        if shutil.which(name) and shutil.which(COMPILER):
            return name
    sys.exit(
        f"aarch64: {COMPILER} or qemu-aarch64 is missing; on Debian: "
        "apt install g++-aarch64-linux-gnu qemu-user-static"
    )


def main() -> int:
    qemu = emulator()
    jobs = str(len(os.sched_getaffinity(0)))
    libraries = sorted({path.parent.name for path in ROOT.glob("src/*/*_test.cpp")} - set(WITHOUT))
    tests = [f"{library}_test" for library in libraries]
    definitions = [f"-D{name}={value}" for name, value in DEFINITIONS.items()]
    subprocess.run(
        ["cmake", "-G", "Ninja", "-S", ROOT, "-B", BUILD, *definitions], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["ninja", "-C", BUILD, "-j", jobs, "--quiet", "case_tool", *tests], check=True)
    failed = 0
    for test in tests:
        print(f"{test}: ", end="", flush=True)
        failed += subprocess.run([qemu, BUILD / test]).returncode != 0
    tool = BUILD / "case_tool.sh"
    tool.write_text(f'#!/bin/sh\nexec {qemu} {BUILD}/tests/tools/case_tool "$@"\n')
    tool.chmod(0o755)
    options = ["--tool", tool, "--isa", "", "--timeout", "3600", *sys.argv[1:]]
    failed += subprocess.run([sys.executable, ROOT / "tests" / "run_cases.py", *options]).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
