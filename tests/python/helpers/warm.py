"""Commands as a shell runs them, in processes that have loaded torch, Triton and this package already: each
is forked from a server, which this process starts once. To start Python for it costs two seconds of CPU.

    done = warm.cli("exec", path)

The work of a start itself is tested by processes of their own (test_import, test_cli): they do not come
here. This file is also the server (`warm.py serve SOCKET`) and a command for shells (`warm.py SOCKET script
FILE`).
"""

import atexit
import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import weakref
from unittest import mock

_PRELOADED = (
    "numpy", "torch", "torch.distributed.tensor", "triton", "triton.experimental.gluon", "triton_runner",
)  # fmt: skip
_PROGRAMS = ("__main__", "._worker.", ".repro")  # of the package: they do something when they are loaded


def cli(*words, variables=None, **options):
    """run() of triton-runner with these words, whose output is captured as text. variables: of the
    environment, beside those of this process."""
    env = {"env": {**os.environ, **variables}} if variables else {}
    options = {"capture_output": True, "text": True, **env, **options}
    return run([sys.executable, "-m", "triton_runner", *words], **options)


def invoke(*words, **options):
    """Returns the answer of triton-runner in this process (a click.testing.Result). No variable that it sets
    stays."""
    from click.testing import CliRunner
    from triton_runner._cli import main

    with mock.patch.dict(os.environ):
        return CliRunner().invoke(main, [*map(str, words)], **options)


def run(
    words, *, capture_output=False, stdin=None, stdout=None, stderr=None, input=None, text=False, cwd=None,
    env=None, check=False, timeout=None,
):  # fmt: skip
    """subprocess.run() of [sys.executable, ...]: a script, -m MODULE or -c CODE; of Python's own options -W
    ignore. input: a text. timeout: of no use here, pytest has one."""
    words = [*map(str, words)]
    assert words[0] == sys.executable, words
    pipes = [subprocess.PIPE] * 2 if capture_output else [stdout, stderr]
    with contextlib.ExitStack() as opened:
        files = [opened.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write((input or "").encode())
        files[0].seek(0)
        into = [stdin.fileno() if hasattr(stdin, "fileno") else files[0].fileno()]
        for number, pipe in enumerate(pipes, 1):
            into.append(_descriptor(pipe, files[number], number, into[-1]))
        env = dict(os.environ if env is None else env)
        request = {"words": words[1:], "cwd": str(cwd or os.getcwd()), "env": env}
        status, seconds = ask(_server(env.get("LD_LIBRARY_PATH", "")), request, into)
        texts = [file.seek(0) or file.read() for file in files[1:]]
    texts = [each if pipe == subprocess.PIPE else None for each, pipe in zip(texts, pipes, strict=True)]
    if text:
        texts = [each if each is None else each.decode() for each in texts]
    done = subprocess.CompletedProcess(words, status, *texts)
    done.seconds = seconds  # of CPU
    if check:
        done.check_returncode()
    return done


def python() -> list[str]:
    """Returns what stands in for `python` in a command: a process that passes its words and streams on."""
    return [sys.executable, "-I", "-S", __file__, _server()]


def shims(folder) -> str:
    """A folder with `triton-runner` and `python` for a shell."""
    for name, more in (("triton-runner", "-m triton_runner "), ("python", "")):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec {" ".join(python())} {more}"$@"\n')
        os.chmod(path, 0o755)
    return str(folder)


def _descriptor(pipe, file, number: int, before: int) -> int:
    """Returns where a stream goes: to `file`, which is read, unless subprocess.run would do otherwise."""
    if pipe in (subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL):
        return before if pipe == subprocess.STDOUT else file.fileno()
    return number if pipe is None else pipe if isinstance(pipe, int) else pipe.fileno()


def ask(place: str, request: dict, files: list[int]) -> tuple[int, float]:
    """The exit status of a command, whose stdin, stdout and stderr are `files`, and its seconds of CPU."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        socket.send_fds(connection, [b"x"], files)
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile() as answer:
            status, seconds = (answer.readline() or f"{-signal.SIGKILL} 0").split()
            return int(status), float(seconds)


@functools.cache
def _server(libraries: str = "") -> str:
    """The place of a server. libraries: its LD_LIBRARY_PATH, which is read at a start."""
    folder = tempfile.mkdtemp(prefix="warm-")
    place = os.path.join(folder, "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
    )  # fmt: skip

    def end():
        process.stdin.close()
        process.wait()
        for path in (place, folder):
            with contextlib.suppress(OSError):
                (os.rmdir if path == folder else os.unlink)(path)

    atexit.register(end)
    process.stdout.readline()
    return place


# --- the server


def serve(place: str):
    """Returns a request in a process forked for it; ends with the process that started it."""
    sys.path.pop(0)  # of this file
    for name in _PRELOADED:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(sys.modules["triton_runner"].__path__, "triton_runner."):
        if not any(part in module.name for part in _PROGRAMS):
            importlib.import_module(module.name)
    with contextlib.suppress(ImportError, AttributeError):
        importlib.import_module("triton.runtime.cache").triton_key()  # it hashes Triton
    for each in weakref.finalize._registry:
        each.atexit = False  # torch's take its operators apart: more than half of what a small command takes
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    print("ready", flush=True)
    at_work = {}  # of the descriptor of a process: its number, and who asked
    while True:
        ready, _, _ = select.select([listener, 0, *at_work], [], [])
        if 0 in ready:
            listener.close()
        for ended in [*at_work] if 0 in ready else {*ready} & {*at_work}:
            _tell(ended, *at_work.pop(ended))
        if 0 in ready:
            os._exit(0)
        if listener in ready:
            connection, _ = listener.accept()
            _, files, _, _ = socket.recv_fds(connection, 1, 3)
            with connection.makefile() as lines:
                request = json.loads(lines.readline())
            if (child := os.fork()) == 0:
                for mine in (listener, connection, *(asking for _, asking in at_work.values())):
                    mine.close()
                for file in at_work:
                    os.close(file)
                return _begun(request, files)
            for file in files:
                os.close(file)
            at_work[os.pidfd_open(child)] = child, connection


def _tell(ended: int, child: int, connection):
    """Tells who asked how a process ended; waits for its end."""
    _, status, used = os.wait4(child, 0)
    os.close(ended)
    with contextlib.suppress(OSError), connection:
        seconds = used.ru_utime + used.ru_stime
        connection.sendall(b"%d %f\n" % (os.waitstatus_to_exitcode(status), seconds))


def _begun(request: dict, files: list[int]) -> dict:
    """The request, in a process that has its streams, variables and folder."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    return request


def _ended(request: dict) -> int:
    """Runs a request as Python would, to its exit status."""
    status = 0
    try:
        _run(request)
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return status & 255


def _run(request: dict) -> None:
    """As Python takes its command line."""
    words = request["words"]
    if folders := [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]:
        sys.path[:0] = folders
        sys.modules.pop("sitecustomize", None)
        with contextlib.suppress(ImportError):
            importlib.import_module("sitecustomize")
    if words[:2] == ["-W", "ignore"]:
        warnings.simplefilter("ignore")
        words = words[2:]
    if words[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *words[2:]]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(words[1], "<string>", "exec"), vars(main))
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        status, libc = _ended(serve(sys.argv[2])), ctypes.CDLL(None)
        if os.environ.get("LD_LIBRARY_PATH"):  # a driver of ours (fake_gpu.py) writes its log when it ends
            libc.exit(status)
        libc.fflush(None)
        os._exit(status)  # to take apart what is loaded takes six times what the rest of a process does
    else:
        whole = {"words": sys.argv[2:], "cwd": os.getcwd(), "env": dict(os.environ)}
        sys.exit(ask(sys.argv[1], whole, [0, 1, 2])[0])
