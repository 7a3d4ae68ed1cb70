"""Keeps one virtual environment per Triton release and runs the project's release tests in them.

    python tools/releases.py create [VERSION ...]      make the environments, print their folders
    python tools/releases.py test [VERSION ...]        install the project into each, run tests/releases
        --quick   only the releases that `make test` covers     --all   also 3.3.0, 3.5.0 and 3.7.0
        --table FILE   write the result as a Markdown table (doc/versions.md)

An environment holds triton, numpy, ml_dtypes and click, no torch (about 0.6 GB). They live under
$TRITON_RUNNER_RELEASES, by default ${XDG_CACHE_HOME:-~/.cache}/triton-runner/releases/<version>.
Needs nothing but the standard library and a pip of its own.
"""

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

RELEASES = ["3.0.0", "3.1.0", "3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0"]
MORE_RELEASES = ["3.3.0", "3.5.0", "3.7.0"]
QUICK_RELEASES = ["3.0.0", "3.4.0", "3.9.0"]

# What an environment needs beside Triton: the project's own needs, and what 3.0 and 3.1 import undeclared.
PACKAGES = ["numpy", "ml_dtypes", "click", "filelock", "setuptools"]


def releases_dir():
    """The folder of all environments."""
    if chosen := os.environ.get("TRITON_RUNNER_RELEASES"):
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "triton-runner" / "releases"


def pip(python, *args):
    """Runs this interpreter's pip on the environment of `python`."""
    command = [sys.executable, "-m", "pip", "--python", str(python), *map(str, args)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"releases: {' '.join(command)} failed with status {done.returncode}:\n{done.stdout}")


def ensure(version):
    """The Python of release `version`, whose environment is made if it is not there yet."""
    folder = releases_dir() / version
    python = folder / "bin" / "python"
    if (folder / ".complete").exists():
        return python
    print(f"releases: making {folder}", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted run left
    venv.create(folder, with_pip=False, symlinks=True)
    pip(python, "install", "--quiet", "--no-compile", f"triton=={version}", *PACKAGES)
    (folder / ".complete").touch()
    return python


def create(versions):
    for version in versions:
        print(ensure(version))


def main(argv):
    create(argv[1:] or RELEASES)


if __name__ == "__main__":
    main(sys.argv[1:])
