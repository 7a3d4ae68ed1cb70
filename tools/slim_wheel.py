"""A release of Triton made small enough to be carried to a machine without a network: 30 to 55 MB.

    python tools/slim_wheel.py 3.4.0 OUT [--python 3.12]      OUT/3.4.0/{site,library}.tar.xz

The parts that only profile or compile for AMD are left out, libtriton.so is stripped, and so is the ptxas of
a wheel with --no-ptxas (TRITON_PTXAS_PATH then names another). tests/gpu/releases.sh unpacks them there and
runs the examples. Needs pip, strip and xz.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

LEFT_OUT = (
    "triton/_C/libproton*",
    "triton/_C/include",
    "triton/FileCheck",
    "triton/profiler",
    "triton/instrumentation/*.so",
    "triton/backends/nvidia/lib/cupti*",
    "triton/backends/amd/lib",
    "triton/backends/amd/include",
)
PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_27", "manylinux_2_28")


def fetch(version: str, python: str, folder: pathlib.Path) -> pathlib.Path:
    """The release's wheel, for another Python than this one."""
    platforms = [f"--platform={name}_x86_64" for name in PLATFORMS]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
    command += [f"--python-version={python}", *platforms, "-d", str(folder), f"triton=={version}"]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def pack(folder: pathlib.Path, names: list[str], out: pathlib.Path) -> None:
    subprocess.run(
        f"tar c {' '.join(names)} | xz -T0 -2 > {out.resolve()}", cwd=folder, shell=True, check=True
    )
    print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--no-ptxas", action="store_true")
    options = parser.parse_args()
    out = options.out / options.version
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        site = pathlib.Path(scratch) / "site"
        with zipfile.ZipFile(fetch(options.version, options.python, pathlib.Path(scratch))) as wheel:
            wheel.extractall(site)
        for pattern in LEFT_OUT:
            for path in site.glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        programs = site / "triton/backends/nvidia/bin"
        for program in programs.iterdir():
            if options.no_ptxas or program.name != "ptxas":
                shutil.rmtree(program) if program.is_dir() else program.unlink()
        library = site / "triton/_C/libtriton.so"
        subprocess.run(["strip", library], check=True)
        pack(site, ["triton/_C/libtriton.so"], out / "library.tar.xz")
        library.unlink()
        pack(site, ["."], out / "site.tar.xz")


if __name__ == "__main__":
    main()
