"""Serves requests in a worker process, one by one, each in a process forked for it. _pipeline/workers.py asks
it.

    python child.py DESCRIPTOR FOLDER MODULE   serves the socket, with the Triton in FOLDER ("": the installed
                                               one), which has the name MODULE there
    python child.py REQUEST.json        answers one request here, for a reproducer

Messages are JSON after eight bytes of length, on a descriptor of their own: LLVM and Triton write to stdout.
The forked process sees Triton imported and nothing compiled, so that every compilation is the first of its
process (in 3.2 and 3.3 later ones differ).

It is described in doc/guide/compiler.md#workers."""

import base64
import contextlib
import ctypes
import faulthandler
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
import types

PACKAGE = "triton_runner_worker"
OUTPUT_LIMIT = 64 << 20  # bytes of stdout and stderr that are handed on: the last
# Names for preload(), which take half a second of a first launch: Triton hashes its own library, and an
# argument imports Gluon.
FIRST_LAUNCH = (
    "triton.runtime.cache:triton_key", "triton.compiler.compiler:triton_key", "triton.experimental.gluon",
)  # fmt: skip


def pack(message):
    """A message as bytes; bytes within it travel as base64."""
    text = json.dumps(message, default=_packed).encode()
    return struct.pack("<Q", len(text)) + text


def _packed(value):
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return getattr(value, "__dict__", None) or str(value)


def _unpacked(value):
    return base64.b64decode(value["base64"]) if value.keys() == {"base64"} else value


def loads(text):
    return json.loads(text, object_hook=_unpacked)


class Receiver:
    """Takes messages apart as their bytes come in."""

    def __init__(self):
        self._bytes = bytearray()

    def feed(self, data):
        self._bytes += data
        while len(self._bytes) >= 8:
            (size,) = struct.unpack_from("<Q", self._bytes)
            if len(self._bytes) < 8 + size:
                return
            message = loads(bytes(self._bytes[8 : 8 + size]))
            del self._bytes[: 8 + size]
            yield message


def answer(request, note):
    """Runs what a request names: run(request, note) of a file beside this one, or of a module of the package
    ("verbs.bisect.job"), which the worker has then."""
    if "." in request["do"]:
        _spell("triton_runner._worker", request)
        return importlib.import_module("triton_runner." + request["do"]).run(request, note)
    module = _beside(request["do"])
    _spell(PACKAGE, request)
    return module.run(request, note)


def _beside(name):
    """Imports a module that stands beside this file; in the package also one of _base that needs no other."""
    if PACKAGE not in sys.modules:
        package = sys.modules[PACKAGE] = types.ModuleType(PACKAGE)
        here = os.path.dirname(os.path.abspath(__file__))
        package.__path__ = [here, os.path.join(os.path.dirname(here), "_base")]
    return importlib.import_module(f"{PACKAGE}.{name}")


def _spell(package, request):
    """Messages name options as they do where the request comes from."""
    importlib.import_module(package + ".spelling").names.update(request.get("spelling", {}))


def _error(error):
    """An exception as a message: that of job.Refused is for the user as it stands."""
    return {
        "type": type(error).__name__,
        "message": described(error),
        "notes": list(getattr(error, "notes", [])),
        "refused": any(kind.__name__ == "Refused" for kind in type(error).__mro__),
        "place": _place(error),
        "traceback": traceback.format_exc(),
    }


def _place(error):
    """Returns where in a kernel Triton's front end stops, and why: the source of the innermost function, the
    line and the column in it; None for other errors."""
    place = None
    while error is not None:
        node, source = getattr(error, "node", None), getattr(error, "src", None)
        inner = error.__cause__ or error.__context__
        if source and hasattr(node, "lineno"):
            why = getattr(inner, "message", None)  # of an error of ours, which Triton has the repr of
            why = why or getattr(error, "error_message", None) or str(inner or "") or type(error).__name__
            place = {"source": source, "line": node.lineno, "column": node.col_offset, "why": why.strip()}
        error = inner
    return place


def described(error):
    """Returns what an exception and its causes say: the reason of a CompilationError is its cause."""
    texts = []
    while error is not None:
        text = str(error).strip() or type(error).__name__
        if not any(text in other for other in texts):
            texts.append(text)
        error = error.__cause__
    return "\n".join(texts)


def _set_environment(variables):
    """The caller's variables as they are now; those that it unset go."""
    prefixes = tuple(variables.pop("prefixes"))
    for name in [name for name in os.environ if name.startswith(prefixes) and name not in variables]:
        del os.environ[name]
    os.environ.update(variables)
    if settings := sys.modules.get("triton_runner._settings"):  # what was loaded before may have read them
        settings.read_anew()


def _be_as_caller(request):
    """Takes the caller's variables, folder and sys.path; relative names in a request are from that folder."""
    _set_environment(request.get("environment") or {"prefixes": []})
    with contextlib.suppress(OSError):  # it may be gone, or be another machine's
        os.chdir(request.get("directory") or ".")
    sys.path.extend(p for p in request.get("path", ()) if p not in sys.path)


def _work(request, pipe, output):
    """The forked process: answers the request into the pipe and ends."""
    os.setsid()  # ptxas and others end with it
    end_with_parent()
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    faulthandler.enable()

    def send(message):
        data = memoryview(pack(message))
        while data:
            data = data[os.write(pipe, data) :]

    try:
        _be_as_caller(request)

        def note(stage, add=None, kernel=None):
            """Notes what the process is at: a stage, the function of Triton that adds the pass, and the
            kernel; and how many bytes were written before it."""
            sys.stdout.flush()
            written = os.lseek(1, 0, os.SEEK_CUR)
            send({"stage": stage, "add": add, "kernel": kernel, "written": written})

        send({"result": answer(request, note)})
    except Exception as error:
        send({"error": _error(error)})
    except BaseException as error:  # SystemExit of a program
        send({"error": {**_error(error), "type": type(error).__name__}})
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def end_with_parent(parent=None):
    """The kernel ends this process when the one that made it has ended; Linux only. parent: its number, where
    it may have ended by now."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    except (OSError, AttributeError):
        return
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def die_by(number):
    """Ends this process by the signal that ended another one, of which there is a core already."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def serve_one(request, caller):
    """The answer to a request, from a process of its own: what it said, or how it died."""
    began = time.monotonic()
    deadline = began + request["timeout"] if request.get("timeout") else None
    stage = {"stage": None}
    with tempfile.TemporaryFile() as output:
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            _work(request, write_end, output.fileno())
        os.close(write_end)
        receiver = Receiver()
        while True:
            left = None if deadline is None else max(0, deadline - time.monotonic())
            ready, _, _ = select.select([read_end, caller], [], [], left)
            if not ready:  # what it waited for a core is not its own time
                deadline = began + request["timeout"] + waited(child)
                if deadline > time.monotonic():
                    continue
            if (
                not ready or caller in ready
            ):  # too late, or the caller is gone: it asks for one thing at a time
                stage["timeout"] = not ready
                _kill(child)
                if ready:
                    sys.exit(0)
                break
            data = os.read(read_end, 1 << 20)
            if not data:
                break
            for message in receiver.feed(data):
                stage.update(message)
        os.close(read_end)
        _, status = os.waitpid(child, 0)
        output.seek(max(0, output.seek(0, os.SEEK_END) - OUTPUT_LIMIT))
        stage["output"] = output.read().decode(errors="replace")
    if os.WIFSIGNALED(status) and not stage.get("timeout"):
        stage["signal"] = os.WTERMSIG(status)
    elif not {"result", "error", "timeout"} & stage.keys():
        stage["status"] = os.WEXITSTATUS(status)
    stage["seconds"] = time.monotonic() - began
    return stage


def waited(process):
    """Seconds in which a process and those that it started were ready to run, and others had the cores."""
    seconds, folder = 0.0, f"/proc/{process}/task"
    threads = [0.0]
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/schedstat") as file:
                threads.append(int(file.read().split()[1]) / 1e9)
            with open(f"{folder}/{thread}/children") as file:
                seconds += sum(waited(int(child)) for child in file.read().split())
    except (OSError, IndexError, ValueError):  # it ended, or the kernel does not count
        pass
    return seconds + max(threads)


def _kill(child):
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)


def _prepare(folder, module):
    """Imports Triton, from the folder where one is given, by its name there."""
    renamed = _beside("renamed")
    sys.path[:] = [
        p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))
    ]
    if folder:
        renamed.prefer(folder, module)
    import triton
    import triton.backends
    import triton.compiler
    import triton.language
    import triton.runtime

    return {"triton": triton.__version__, "file": triton.__file__, "python": sys.version.split()[0]}


def serve(descriptor, folder, module):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides
    caller = socket.socket(fileno=descriptor)
    try:
        hello = {"result": _prepare(folder, module)}
    except BaseException as error:
        hello = {"error": _error(error)}
    caller.sendall(pack(hello))
    receiver = Receiver()
    while "result" in hello:
        data = caller.recv(1 << 20)
        if not data:
            return
        for request in receiver.feed(data):
            if names := [name for name in request.get("preload", ()) if name not in sys.modules]:
                sys.path.extend(p for p in request.get("path", ()) if p not in sys.path)
                preload(names)
            caller.sendall(pack(serve_one(request, caller)))


def preload(names):
    """Imports modules, and calls each "module:function" (which remembers its result), once: the processes
    forked from here have it."""
    for name in names:
        module, _, function = name.partition(":")
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            continue  # who needs it says so
        if hasattr(loaded, function):
            getattr(loaded, function)()


def reproduce(path):
    """Answers the request of a file in this process, so that it dies as the worker did."""
    faulthandler.enable()
    with open(path) as file:
        request = loads(file.read())
    _prepare(request.get("folder") or "", request.get("module") or "triton")
    _be_as_caller(request)

    def note(stage, add=None, kernel=None):
        print(*filter(None, ("stage", stage, add, kernel)), file=sys.stderr, flush=True)

    result = loads(pack(answer(request, note))[8:])
    for level, text in result.get("asm", {}).items():
        print(f"{level}: {len(text)} {'bytes' if isinstance(text, bytes) else 'characters'}")
    if result.get("failure"):
        sys.exit("{how}: {message}".format(**result["failure"]))


if __name__ == "__main__":
    if sys.argv[1].isdigit():
        serve(*[int(sys.argv[1]), *sys.argv[2:]])
    else:
        reproduce(sys.argv[1])
