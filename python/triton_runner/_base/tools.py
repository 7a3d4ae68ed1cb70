"""Programs of NVIDIA's toolkit: where they are, and what nvdisasm says of a cubin. It takes half a second for
a large kernel, so that its answers are kept in files, named by the hash of what was asked."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
import zlib
from pathlib import Path

from triton_runner._base.errors import fail

KEPT = 32 << 20  # bytes of kept answers; beyond them the one that was used longest ago goes


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
    nvdisasm = toolkit("nvdisasm")
    if nvdisasm is None:
        raise fail(
            "this machine has no nvdisasm, which reads cubins",
            "it comes with Triton's wheels and with NVIDIA's CUDA toolkit",
        )
    place = folder() / _key(nvdisasm, cubin, options)
    kept = _kept(place)
    if kept is not None:
        return kept
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([nvdisasm, *options, "-c", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        raise fail(f"nvdisasm cannot read the cubin: {done.stderr.strip()[:300]}")
    _keep(place, done.stdout)
    return done.stdout


# --- answers that are kept


def folder() -> Path:
    """${XDG_CACHE_HOME:-~/.cache}/triton-runner/sass."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "triton-runner" / "sass"


def _key(program: str, cubin: bytes, options: tuple) -> str:
    """Another nvdisasm may say something else."""
    about = os.stat(program)
    asked = repr((program, about.st_size, about.st_mtime_ns, options)).encode()
    return hashlib.sha256(asked + b"\0" + cubin).hexdigest()


def _kept(place: Path) -> str | None:
    """The answer in a file; None where there is none, or none that is whole."""
    try:
        text = zlib.decompress(place.read_bytes()).decode()
        os.utime(place)
    except (OSError, ValueError, zlib.error):
        return None
    return text


def _keep(place: Path, text: str) -> None:
    """Writes a file whole or not at all; where that cannot be done, the next one asks nvdisasm again."""
    with contextlib.suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=".part-", dir=place.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(zlib.compress(text.encode(), 1))
            os.replace(part, place)
        except OSError:
            os.unlink(part)
            return
        files = [(one.stat().st_mtime_ns, one.stat().st_size, one) for one in place.parent.iterdir()]
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= KEPT:
                break
            path.unlink()
            total -= size
