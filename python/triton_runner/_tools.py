"""Programs of NVIDIA's toolkit: where they are, and what nvdisasm says of a cubin."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import tempfile

from triton_runner._errors import fail


def toolkit(name: str) -> str | None:
    """The path of a program of NVIDIA's toolkit: Triton's own, else this machine's; or None."""
    spec = importlib.util.find_spec("triton")
    if spec is not None and spec.origin:
        own = os.path.join(os.path.dirname(spec.origin), "backends", "nvidia", "bin", name)
        if os.path.exists(own):
            return own
    return shutil.which(name) or max(glob.glob(f"/usr/local/cuda*/bin/{name}"), default=None)


def disassembly(cubin: bytes, *options: str) -> str:
    """What `nvdisasm -c` prints of a cubin. Raises DiagnosticError: no nvdisasm, or no cubin."""
    found = toolkit("nvdisasm")
    if found is None:
        raise fail(
            "this machine has no nvdisasm, which reads cubins",
            "it comes with Triton's wheels and with NVIDIA's CUDA toolkit",
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([found, *options, "-c", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        raise fail(f"nvdisasm cannot read the cubin: {done.stderr.strip()[:300]}")
    return done.stdout
