"""Asks worker processes: each is a Triton release in a process of its own, kept warm, that answers requests
(child.py of _worker).

A worker that dies takes one request with it: the error says its stage, its pass where MLIR tells, what it
wrote, and a folder that reproduces it. It is described in doc/guide/compiler.md."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

from triton_runner._base import commands, interrupts, renamed
from triton_runner._base.errors import DiagnosticError, fail
from triton_runner._base.releases import release_of
from triton_runner._pipeline import versions
from triton_runner._pipeline.failures import SOURCE, Failure
from triton_runner._worker import child, spelling
from triton_runner._worker.spelling import option

# These decide how Triton and LLVM compile: sent with each request, as the caller has them then.
_ENVIRONMENT = ("TRITON_", "MLIR_", "LLVM_", "NVPTX_", "AMDGCN_", "USE_", "DISABLE_", "ENABLE_", "PROTON_")
_KEPT_WARM = 4
_KEPT_REPRODUCERS = 20
_reproducers = itertools.count(1)
_NO_ANSWER = 20  # times what a request may take: then the process does not answer at all
_DEFAULT_TIMEOUT = 600.0  # seconds a request may take; TRITON_RUNNER_TIMEOUT is of kernels
# Faults of the kernel's Python, which its message tells whole: no folder is needed to see them again.
_OF_THE_KERNEL = ("CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct")
_TELLING = re.compile(r"error|assert|fatal|unsupported", re.I)
_PASS = re.compile(r"IR Dump Before (\w+)(?: \(([\w-]+)[^)]*\))?")


class WorkerError(DiagnosticError):
    """A worker's request that failed: stage ("ttgir"), pass_name, output (what it wrote), reproducer (a
    folder), ended ("killed" from outside, "late", or "": another try gives the same), failure (where it was,
    and all that was said; None where the request itself is refused)."""

    def __init__(
        self, message: str, *notes: str, stage=None, pass_name=None, output="", reproducer=None, ended="",
        failure: Failure | None = None,
    ):  # fmt: skip
        text = "\n".join([f"error: {message}", *(f"note: {note}" for note in notes)])
        super().__init__(text, message=message, notes=notes)
        self.stage = stage
        self.pass_name = pass_name
        self.output = output
        self.reproducer = reproducer
        self.ended = ended
        self.failure = failure


class Worker:
    """The process of one release. place: (folder, interpreter), where it is not that of the version."""

    def __init__(self, version: str, place: tuple[str, str] | None = None):
        self.version = version
        self.folder, self.python = place or versions.ensure(version)
        self.module = release_of(version).module
        self._lock = threading.Lock()
        self._process = self._socket = None
        self.used = time.monotonic()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        script = Path(child.__file__)
        command = [self.python, str(script), str(theirs.fileno()), self.folder, self.module]
        with theirs:
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL,
                # Sets have one order in all workers, and none is a Python of the program.
                env={"PYTHONHASHSEED": "0", **os.environ, "TRITON_RUNNER_STARTED": ""},
            )  # fmt: skip
        self._socket, self._receiver = ours, child.Receiver()
        hello = self._receive(120)
        error = hello.get("error")
        if error is None and self.folder and not versions.says(self.version, hello["result"]["triton"]):
            other = hello["result"]
            error = {
                "type": "ImportError",
                "message": f"{other['triton']} was imported, from {other['file']}",
            }
        if error:
            self.close()
            raise fail(
                f"Triton {self.version} does not start: {error['type']}: {error['message']}",
                f"interpreter: {self.python}; folder: {self.folder or 'its own'}",
                f"to fetch it anew: {commands.shell('versions', 'remove', self.version)}",
            )

    def _receive(self, timeout: float | None) -> dict:
        """The next message; an empty one if the process is gone or late."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return {"error": {"type": "TimeoutError", "message": f"no answer in {timeout:.0f} s"}}
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 20)
            except TimeoutError:
                continue
            except ConnectionError:
                data = b""
            if not data:
                return {"error": {"type": "EOFError", "message": "the process ended"}}
            for message in self._receiver.feed(data):
                return message

    def call(self, request: dict, timeout: float | None = None) -> dict:
        """The answer to a request ({"do": "job", ...}): {"result" | "error" | "signal" | "timeout", "stage",
        "output", "seconds"}."""
        timeout = _DEFAULT_TIMEOUT if timeout is None else timeout or None
        request = {"timeout": timeout, **_of_caller(), **request}
        with self._lock:
            self.used = time.monotonic()
            if self._process is None or self._process.poll() is not None:
                self._start()
            try:
                self._socket.settimeout(None)
                self._socket.sendall(child.pack(request))
                # The process itself ends what is late, by time that does not count waits for a core.
                answer = self._receive(timeout and _NO_ANSWER * (timeout + 30))
            except BaseException:  # Ctrl-C: what it was doing ends with it
                self.close()
                raise
            if "EOFError" in str(answer.get("error")) or self._process.poll() is not None:
                self.close()
            return answer

    def close(self) -> None:
        process, self._process = self._process, None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if process is not None:
            interrupts.end_children(process.pid)  # a request's process has a group of its own
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def environment() -> dict:
    """The variables that a request takes along."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)}
    return {**kept, "prefixes": list(_ENVIRONMENT)}


def _of_caller() -> dict:
    """Returns what a request takes along of this process: the worker may have been started elsewhere."""
    try:
        directory = os.getcwd()
    except FileNotFoundError:
        directory = None
    return {
        "environment": environment(), "directory": directory, "path": sys.path, "spelling": spelling.names,
    }  # fmt: skip


_warm: dict[str, Worker] = {}
_guard = threading.Lock()


def worker(version: str) -> Worker:
    """The worker of a release, warm if it was used before; a few are kept."""
    with _guard:
        if version not in _warm:
            while len(_warm) >= _KEPT_WARM:
                oldest = min(_warm, key=lambda v: _warm[v].used)
                _warm.pop(oldest).close()
            _warm[version] = Worker(version)
        return _warm[version]


@atexit.register
def close_all() -> None:
    """Ends all workers."""
    with _guard:
        for warm in _warm.values():
            warm.close()
        _warm.clear()


def _forget() -> None:
    """In a forked process: the workers are the parent's."""
    global _guard
    _guard = threading.Lock()
    _warm.clear()


os.register_at_fork(after_in_child=_forget)


def ask(
    version: str, request: dict, timeout: float | None = None, what: str = "the request", one=None
) -> dict:
    """The result of a request; WorkerError says why there is none. The result's "output" is what was
    written. one: the worker; else the release's warm one."""
    one = one or worker(version)
    answer = one.call(request, timeout)
    if "result" in answer:
        return {**answer["result"], "output": answer["output"], "seconds": answer["seconds"]}
    stage, error = answer.get("stage"), answer.get("error")
    output = answer.get("output", "")
    written = [line for line in output.splitlines() if line.strip()]
    at = f" in stage {stage}" if stage else ""
    if error and error.get("refused"):
        notes = [*error["notes"], *_error_lines(written, only_telling=True)]
        raise WorkerError(error["message"], *notes, stage=stage, output=output)
    pass_name = answer.get("add")
    if error and answer.keys() & {"output"}:
        why = f"{error['type']}: {error['message']}".strip()
        if error["type"] in _OF_THE_KERNEL:
            message = f"Triton {version} failed on {what}{at}: {why}"
            refusal = _refusal(error, request)
            raise WorkerError(message, stage=stage, output=output, failure=refusal)
        pass_name = pass_name or _failed_pass(written)
        notes = _error_lines(written)
    elif answer.get("timeout"):
        why, notes = f"it was ended after {answer['seconds']:.1f} s", [f"{option('timeout')} allows for more"]
    elif "signal" in answer:
        if pass_name is None and stage in ("ttir", "ttgir", "llir") and "LLVM ERROR" not in output:
            pass_name = _pass_of_death(one, request, timeout)
        why = f"the compiler died of {signal.Signals(answer['signal']).name}"
        why += f" in pass {pass_name}" if pass_name and pass_name not in at else ""
        notes = _error_lines(written)
    else:
        why = error["message"] if error else f"it ended with status {answer.get('status')}"
        notes = written[-3:]
    try:
        folder = write_reproducer(one, request, output)
        again = f"to see it again: sh {folder}/run.sh"
    except OSError as unwritten:  # a home that may not be written to
        folder, again = None, f"the reproducer could not be written: {unwritten}"
    stages = [request["hint"]] if request.get("hint") else []
    raise WorkerError(
        f"Triton {version} failed on {what}{at}: {why}",
        *stages,
        *notes,
        again,
        stage=stage,
        pass_name=pass_name,
        output=output,
        reproducer=folder,
        ended=_ended(answer),
        failure=_failure(answer, request, why),
    )


def _refusal(error: dict, request: dict) -> Failure:
    """Returns what the front end says of a kernel, at the line of its file."""
    functions, kernel = _functions(request)
    at, place = ("", 0, 0), error.get("place")
    for function in functions if place else ():
        source = function["source"]
        if textwrap.dedent(source).strip() == place["source"].strip():
            indent = len(source) - len(source.lstrip())
            at = function["file"], function["line"] + place["line"] - 1, place["column"] + indent + 1
    message = (place or {}).get("why") or error["message"]
    return Failure(SOURCE, None, error["type"], message, kernel, *at, is_kernels=True)


def _failure(answer: dict, request: dict, why: str) -> Failure:
    """Returns where a compiler was that failed, and all that was said."""
    error, died = answer.get("error"), answer.get("signal")
    how = error["type"] if error else signal.Signals(died).name if died else "timeout"
    level = (answer.get("stage") or "").partition(",")[0].removeprefix("make_")
    said = all_said(answer.get("output", ""), error["message"].strip() if error else why)
    return Failure(level, answer.get("add"), how, said, _functions(request)[1])


def _functions(request: dict) -> tuple[list, str]:
    """The functions of a request's kernel as portable.py describes them, and the kernel's name."""
    kernel = request.get("kernel") or {}
    functions = kernel.get("functions", [])
    return functions, functions[kernel["entry"]]["name"] if functions else ""


def all_said(written: str, message: str) -> str:
    """The lines in which a compiler says what is wrong, and then a message, which may have some of them."""
    lines = dict.fromkeys(telling_lines([line for line in written.splitlines() if line.strip()]))
    return "\n".join([*(line for line in lines if line not in message), message])


def _ended(answer: dict) -> str:
    """WorkerError.ended of an answer without a result."""
    if answer.get("timeout"):
        return "late"
    return "killed" if "output" not in answer or answer.get("signal") == signal.SIGKILL else ""


def _error_lines(written: list[str], only_telling: bool = False) -> list[str]:
    """The lines of what was written that a person reads first."""
    telling = telling_lines(written)
    return (telling if telling or only_telling else written)[:3]


def telling_lines(written: list[str]) -> list[str]:
    """The lines in which LLVM, MLIR or ptxas says what is wrong, whole."""
    own = "Fatal Python"  # of faulthandler, which tells where Python was
    return [line for line in written if _TELLING.search(line) and own not in line]


def _failed_pass(written: list[str]) -> str | None:
    match = re.search(r"Pass '?(\w+)'? failed|failed in pass (\w+)", "\n".join(written))
    return match and (match[1] or match[2])


def _pass_of_death(process: Worker, request: dict, timeout: float | None) -> str | None:
    """The pass that a request dies in: it is tried once more, with MLIR telling each pass that it begins."""
    variables = {**environment(), **request.get("environment", {}), "MLIR_ENABLE_DUMP": "1"}
    output = process.call({**request, "environment": variables}, timeout).get("output", "")
    begun = _PASS.findall(output)
    return begun[-1][0] if begun else None


def write_reproducer(process: Worker, request: dict, output: str) -> str:
    """A folder that repeats a request by itself: run.sh, the request, the files of the worker, what it
    wrote."""
    base = versions.folder().parent / "reproducers"
    base.mkdir(parents=True, exist_ok=True)
    old = sorted((p for p in base.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for path in old[: max(0, len(old) - _KEPT_REPRODUCERS + 1)]:
        shutil.rmtree(path, ignore_errors=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    place = base / f"{process.version}-{stamp}-{os.getpid()}-{next(_reproducers)}"
    place.mkdir()
    for source in Path(child.__file__).parent.glob("[!_]*.py"):
        shutil.copy(source, place)
    shutil.copy(renamed.__file__, place)
    kept = {**_of_caller(), **request, "folder": process.folder, "module": process.module}
    (place / "request.json").write_bytes(child.pack(kept)[8:])
    (place / "output.txt").write_text(output)
    (place / "run.sh").write_text(
        "#!/bin/sh\n"
        f'# Triton {process.version}. With another one: its folder as "folder" in request.json.\n'
        f'exec "{process.python}" "$(dirname "$0")/child.py" "$(dirname "$0")/request.json"\n'
    )
    return str(place)
