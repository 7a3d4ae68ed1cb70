"""Tells which architectures the Triton at hand compiles for: its LLVM and its ptxas are asked, so that no
list of ours grows old."""

import contextlib
import difflib
import functools
import os
import re
import subprocess
import sys
import tempfile

from .llvm_passes import standard_error


def _said_by_llvm(backend, processor):
    """Returns what the LLVM of this Triton writes to stderr about a processor; "help": the names of all, once
    in a process."""
    from triton._C.libtriton import llvm

    triple = {"cuda": "nvptx64-nvidia-cuda", "hip": "amdgcn-amd-amdhsa"}[backend]
    with tempfile.TemporaryFile() as file:
        with standard_error(file):
            llvm.init_targets()
            for more in ((), (False,)):  # how many arguments it takes depends on the release
                with contextlib.suppress(TypeError, RuntimeError):
                    llvm.translate_to_asm("", triple, processor, "", [], False, False, *more)
        file.seek(0)
        return file.read().decode(errors="replace")


@functools.cache
def unknown(backend, arch):
    """Why there is no compiling for ("cuda", "42"), and what is near; None where there is."""
    import triton

    if "not a recognized processor" not in _said_by_llvm(
        backend, "sm_" + arch if backend == "cuda" else arch
    ):
        return None
    architectures = _architectures(backend)
    if backend == "cuda":
        assembled = _known_to_ptxas() or architectures
        nearest = sorted(
            (arch for arch in architectures if arch in assembled), key=lambda one: abs(int(one) - int(arch))
        )[:3]
    else:
        nearest = difflib.get_close_matches(arch, architectures, cutoff=0)
    named = ", ".join(backend + ":" + arch for arch in nearest)
    return (
        f"Triton {triton.__version__} does not compile for {backend}:{arch}",
        "the nearest that it compiles for: " + (named or "not known"),
    )


def _architectures(backend):
    """Returns the architectures that this Triton knows, as ["75", "80", ...] or ["gfx942", ...], asked in
    another process."""
    code = (
        f"import sys, types; sys.path[:] = {sys.path!r}; sys.modules['own'] = types.ModuleType('own'); "
        f"sys.modules['own'].__path__ = [{os.path.dirname(os.path.abspath(__file__))!r}]; "
        f"from own import architectures; print(architectures._said_by_llvm({backend!r}, 'help'))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    return re.findall(r"^ +(?:sm_)?(\d+|gfx\w+) +- Select", done.stdout, re.M)


def _known_to_ptxas():
    """The architectures that the ptxas of this Triton knows, as ["75", "80", ...]; none where it is not."""
    import triton

    ptxas = os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin", "ptxas")
    try:
        text = subprocess.run([ptxas, "--help"], stdout=subprocess.PIPE, text=True).stdout
    except OSError:
        return []
    return re.findall(r"'sm_(\d+)'", text)
