"""Makes recipes for a checkout of Triton: how to build it, test it, take a pass alone, run programs with it
here, and bisect its commits. What they need to know is read from the checkout."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from triton_runner._base import commands
from triton_runner._base.errors import fail


class Checkout:
    """A folder with Triton's sources."""

    def __init__(self, folder: str):
        self.root = Path(folder).resolve()
        self.package = self.root / "python" / "triton" / "__init__.py"
        if not self.package.is_file():
            raise fail(
                f"{folder} is not a checkout of Triton: {self.package} is not there",
                "git clone https://github.com/triton-lang/triton",
            )

    @property
    def version(self) -> str:
        match = re.search(r"__version__ = ['\"]([^'\"]+)", self.package.read_text())
        return match[1] if match else "unknown"

    @property
    def llvm(self) -> str | None:
        """The commit of LLVM that it is built with; None: the file that says it is not there."""
        path = self.root / "cmake" / "llvm-hash.txt"
        return path.read_text().strip() if path.is_file() else None

    @property
    def project(self) -> Path:
        """The folder that pip installs: the root since 3.4, python/ before."""
        return self.root if (self.root / "setup.py").is_file() else self.root / "python"

    @property
    def build(self) -> Path:
        """The folder where ninja builds: one that is there, or setup.py's for this Python."""
        there = sorted((self.project / "build").glob("cmake.*"))
        name = f"cmake.{sys.platform}-{os.uname().machine}-{sys.implementation.name}-%d.%d"
        return there[-1] if there else self.project / "build" / (name % sys.version_info[:2])

    def facts(self) -> dict:
        built = sorted((self.root / "python" / "triton" / "_C").glob("libtriton*.so"))
        build = commands.shell("dev", "build", "--checkout", self.root, "--run")
        return {
            "checkout": str(self.root), "triton": self.version,
            "llvm": self.llvm or "not said: there is no cmake/llvm-hash.txt",
            "build": f"{self.build}{'' if self.build.is_dir() else ' (not there yet)'}",
            "built": str(built[0]) if built else f"no: {build}",
        }  # fmt: skip


def recipes(checkout: Checkout) -> dict:
    """{name: (what it is for, its commands)}."""
    root, build = shlex.quote(str(checkout.root)), shlex.quote(str(checkout.build))
    python = shlex.quote(sys.executable)
    fast = "TRITON_BUILD_WITH_CCACHE=true TRITON_BUILD_WITH_CLANG_LLD=true"
    install = f"{python} -m pip install -e {shlex.quote(str(checkout.project))} --no-build-isolation -v"
    llvm = shlex.quote(str(checkout.root / ".llvm-project"))
    with_it = f"PYTHONPATH={shlex.quote(str(checkout.root / 'python'))}"
    own_llvm = (
        f"LLVM_INCLUDE_DIRS={llvm}/build/include LLVM_LIBRARY_DIR={llvm}/build/lib LLVM_SYSPATH={llvm}/build"
    )
    return {
        "build": (
            "the checkout in place, with the LLVM that it downloads (ccache, clang and lld make it faster)",
            [f"{python} -m pip install -r {root}/python/requirements.txt", f"{fast} {install}"],
        ),
        "rebuild": ("what changed", [f"ninja -C {build}"]),
        "llvm": (
            "LLVM from source, with assertions and -debug-only, and the checkout with it",
            [
                f"git clone --filter=blob:none https://github.com/llvm/llvm-project {llvm}",
                f"git -C {llvm} checkout {checkout.llvm or 'COMMIT'}",
                f"cmake -S {llvm}/llvm -B {llvm}/build -G Ninja -DCMAKE_BUILD_TYPE=Release "
                '-DLLVM_ENABLE_ASSERTIONS=ON "-DLLVM_ENABLE_PROJECTS=mlir;llvm;lld" '
                '"-DLLVM_TARGETS_TO_BUILD=host;NVPTX;AMDGPU"',
                f"ninja -C {llvm}/build",
                f"{own_llvm} {fast} {install}",
            ],
        ),
        "test": (
            "what needs no GPU: lit and unit tests, and the language on the interpreter",
            [
                f"ninja -C {build} check-triton-lit-tests",
                f"ninja -C {build} check-triton-unit-tests",
                f"TRITON_INTERPRET=1 {with_it} {python} -m pytest -q -m interpreter "
                f"{root}/python/test/unit/language/test_core.py --device cpu",
            ],
        ),
        "opt": (
            "a pass alone, on a file x.ttgir",
            [f"ninja -C {build} triton-opt", f"{build}/bin/triton-opt --tritongpu-coalesce x.ttgir"],
        ),
        "run": (
            "program.py with the checkout, on the CPU",
            [f"{with_it} {python} -m triton_runner run --device cpu --level ptx program.py"],
        ),
        "bisect": (
            "the commit that made program.py wrong: give git a good and a bad one first",
            [
                f"git -C {root} bisect start BAD GOOD",
                f"git -C {root} bisect run sh -c "
                + shlex.quote(
                    f"ninja -C {build} || exit 125; {with_it} {python} -m triton_runner run "
                    f"--device cpu --level ptx {shlex.quote(os.path.abspath('program.py'))}"
                ),
            ],
        ),
    }
