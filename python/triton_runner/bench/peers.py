"""Makes other interpreters rows of a benchmark: each is in a process of its own (peer.py), asked for a sample
when its turn comes, so that its samples lie between ours."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

from triton_runner._base.errors import fail
from triton_runner._pipeline import versions
from triton_runner.bench.rounds import Row

SECONDS = 600  # that an answer may take


class Peer:
    """An interpreter: its path, a folder with bin/python, a conda environment's name, or a Triton release,
    which this interpreter runs with this package."""

    def __init__(self, text: str, on_gpu: bool):
        self.text = text
        first, environment = [], dict(os.environ)
        self.python = _python_of(text)
        if self.python is None:
            folder, self.python = versions.ensure(versions.known(text))
            first = [folder] if folder else []
            package = str(pathlib.Path(__file__).resolve().parents[2])
            first.append(package)
        elif self.python != sys.executable:
            environment.pop("PYTHONPATH", None)  # this interpreter's packages are not its
        to_read, theirs_write = os.pipe()
        theirs_read, to_write = os.pipe()
        script = str(pathlib.Path(__file__).with_name("peer.py"))
        self._process = subprocess.Popen(
            [self.python, script, str(theirs_read), str(theirs_write), *first],
            pass_fds=(theirs_read, theirs_write), stdin=subprocess.DEVNULL, stdout=2, env=environment,
        )  # fmt: skip
        os.close(theirs_read), os.close(theirs_write)
        self._reader, self._writer = os.fdopen(to_read), os.fdopen(to_write, "w")
        try:
            self.told = self.ask({"do": "hello", "gpu": on_gpu})
        except BaseException:
            self.close()
            raise

    @property
    def label(self) -> str:
        runner = f", triton_runner {self.told['triton_runner']}" if self.told.get("triton_runner") else ""
        return f"Triton {self.told['triton']}{runner}"

    def ask(self, request: dict):
        """The answer to a request. Raises DiagnosticError where there is none."""
        watch = threading.Timer(SECONDS, self._process.kill)
        watch.start()
        line = ""
        with contextlib.suppress(OSError):
            self._writer.write(json.dumps(request) + "\n")
            self._writer.flush()
            line = self._reader.readline()
        watch.cancel()
        if not line:
            status = self._process.wait()
            raise fail(f"{self.text} ended with status {status}", "its output is above")
        reply = json.loads(line)
        if "error" in reply:
            raise fail(f"{self.text}: {reply['error']}", f"the interpreter is {self.python}")
        return reply["answer"]

    def rows(self, request: dict, only=None) -> list[Row]:
        """The ways that it has to launch a problem, or a module's kernel; `only` names those to keep."""
        rows = []
        for name, launches, skipped, wrong in self.ask(request):
            if only is not None and name not in only:
                continue
            title = self.text if name == "kernel" else f"{self.text}: {name}"
            rows.append(
                Row(
                    title, launches and f"{launches}, {self.label}", skipped=skipped, wrong=wrong,
                    sample=lambda way=name: self.ask({"do": "sample", "way": way}),
                )
            )  # fmt: skip
        return rows

    def close(self) -> None:
        for file in (self._writer, self._reader):
            with contextlib.suppress(OSError):
                file.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _python_of(text: str) -> str | None:
    """The interpreter that a text names; None for a release."""
    if text.replace(".", "").isdigit():
        return None
    folders = [text, *(os.path.join(folder, text) for folder in conda_folders())]
    for path in (text, *(os.path.join(folder, "bin", "python") for folder in folders)):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    interpreter = shutil.which(text)
    if interpreter and os.sep not in text:
        return interpreter
    raise fail(
        f"{text!r} is not an interpreter, environment or release",
        "give a path of a Python, a virtual environment's folder, a conda environment's name, or 3.4.0",
    )


def conda_folders() -> list[str]:
    """Returns where conda keeps environments."""
    homes = [os.environ.get("CONDA_EXE", ""), os.environ.get("MAMBA_EXE", "")]
    roots = [str(pathlib.Path(home).parents[1]) for home in homes if home]
    roots.append(os.environ.get("MAMBA_ROOT_PREFIX", ""))
    roots += [os.path.expanduser(f"~/{name}") for name in ("miniconda3", "miniforge3", "anaconda3")]
    folders = [os.path.join(root, "envs") for root in dict.fromkeys([*roots, "/opt/conda"]) if root]
    return [folder for folder in folders if os.path.isdir(folder)]
