"""Compiles the libraries of tests/gpu that stand in for a GPU: fake_cuda, fake_hip, gpu_tensors."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def build(source: str, library: Path, *flags: str) -> None:
    """tests/gpu/<source>.cpp as a shared library; flags: more of the compiler's."""
    internal = library.parent / "internal" / "triton_runner"  # as CMake shows the folder
    if not internal.exists():
        internal.mkdir(parents=True)
        (internal / "device").symlink_to(ROOT / "src" / "device" / "internal")
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", *flags]
    command += [f"-I{ROOT}/include", f"-I{internal.parent}"]
    subprocess.run([*command, f"{ROOT}/tests/gpu/{source}.cpp", "-o", str(library)], check=True)
