"""Writes the type stubs: the extension's through nanobind, the package's from its table of names.

python tools/stubs.py            writes python/triton_runner/{__init__.pyi,_core/*.pyi}
python tools/stubs.py FOLDER     writes them there instead (the test compares)
"""

import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "python" / "triton_runner"


def package_stub() -> str:
    """The text of __init__.pyi."""
    import triton_runner

    lines = ['"""The public names of triton_runner; written by tools/stubs.py."""', ""]
    public = dict.fromkeys(triton_runner._MODULES, ".")
    public |= {name: f".{module}" for name, module in triton_runner._NAMES.items()}
    lines += [
        f"from {place} import {name} as {name}"
        for name, place in sorted(public.items(), key=lambda p: p[::-1])
    ]
    return "\n".join([*lines, "", "__version__: str", ""])


def write(folder: pathlib.Path) -> None:
    """Writes all stubs below the folder."""
    command = [
        sys.executable,
        "-m",
        "nanobind.stubgen",
        "-q",
        "-m",
        "triton_runner._core",
        "-r",
        "-O",
        folder,
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (folder / "__init__.pyi").write_text(package_stub())


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
