"""Guard is the process that the editor talks to.

The adapter and the program that it debugs are a process below it. The guard tells the editor what the process
prints and how it dies, so that no program can break the protocol, and ends it when the editor goes."""

from __future__ import annotations

import codecs
import contextlib
import os
import selectors
import signal
import socket
import time

from triton_runner._pipeline import stages
from triton_runner._programs import watched
from triton_runner.verbs.debug.dap.transport import (
    Decoder,
    Malformed,
    checked_request,
    encoded,
    event,
    refusal,
)

_READ = 1 << 16
_PATIENCE = 3.0  # seconds that an adapter has to end by itself
_ENDING = ("disconnect", "terminate")


class _Pipe:
    """One direction of output of the program."""

    def __init__(self, category: str):
        self.category = category
        self.fd, self.theirs = os.pipe()
        os.set_blocking(self.fd, False)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> str | None:
        """Reads what is there; None at its end."""
        try:
            data = os.read(self.fd, _READ)
        except BlockingIOError:
            return ""
        return self._decoder.decode(data) if data else None


class Guard:
    """Between a client (two file descriptors) and the adapter."""

    def __init__(self, client_in: int, client_out: int, serve):
        self._in, self._out = client_in, client_out
        self._serve, self._notes = serve, stages.Notes()
        self._client, self._adapter = Decoder(), Decoder()
        self._seq = 0
        self._pending: dict[int, str] = {}  # requests without a response
        self._to_client, self._to_adapter = bytearray(), bytearray()
        self._pipes = [_Pipe("stdout"), _Pipe("stderr")]
        self._deadline: float | None = None
        self._is_over = False  # disconnect was answered, or the client has gone
        self._alive, self._told_end = True, False
        self._status: int | None = None  # of the process below, once it has ended
        self.status = 1

    def run(self) -> int:
        """Until the client has gone or disconnected: the exit status."""
        self._start()
        try:
            while not (self._is_over and not self._to_client):
                self._turn()
        except (BrokenPipeError, ConnectionError):
            self.status = 1
        finally:
            self._end()
        return self.status

    # ---- the process below

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            with self._notes.taken():
                _become_adapter(ours, theirs, self._pipes, (self._in, self._out), self._serve)
        theirs.close()
        for pipe in self._pipes:
            os.close(pipe.theirs)
        ours.setblocking(False)
        self._socket = ours
        for fd in (self._in, self._out):
            os.set_blocking(fd, False)

    def _end(self) -> None:
        """Lets the adapter end by itself for a moment, and then ends it and what it started."""
        self._socket.close()
        limit = time.monotonic() + (_PATIENCE if self._alive else 0)
        while not self._has_ended() and time.monotonic() < limit:
            time.sleep(0.01)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        if self._status is None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        for pipe in self._pipes:
            os.close(pipe.fd)
        for fd in (self._in, self._out):
            with contextlib.suppress(OSError):
                os.set_blocking(fd, True)

    def _has_ended(self) -> bool:
        if self._status is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is not None

    # ---- a turn of the loop

    def _turn(self) -> None:
        with selectors.DefaultSelector() as selector:
            if not self._to_adapter and not self._is_over:
                selector.register(self._in, selectors.EVENT_READ, self._from_client)
            if self._to_client:
                selector.register(self._out, selectors.EVENT_WRITE, self._write_client)
            if self._alive and not self._to_client:  # a client that does not read stops the program, too
                wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._to_adapter else 0)
                selector.register(self._socket, wanted, self._with_adapter)
                for pipe in self._pipes:
                    selector.register(pipe.fd, selectors.EVENT_READ, self._from_pipes)
            rest = None if self._deadline is None else max(self._deadline - time.monotonic(), 0)
            ready = selector.select(rest)
            for key, events in sorted(ready, key=lambda r: r[0].data == self._from_pipes):
                key.data(events)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._lose_patience()

    def _send(self, message: dict) -> None:
        self._seq += 1
        self._to_client += encoded({"seq": self._seq, **message})

    def _write_client(self, events) -> None:
        with contextlib.suppress(BlockingIOError):
            del self._to_client[: os.write(self._out, self._to_client)]

    def _from_client(self, events) -> None:
        try:
            data = os.read(self._in, _READ)
        except BlockingIOError:
            return
        if not data:
            self._is_over, self._to_client = True, bytearray()
            return
        for message in self._client.feed(data):
            request = message if isinstance(message, Malformed) else checked_request(message)
            if isinstance(request, Malformed):
                self._send(refusal(request.seq, request.command[:80], request.why))
            elif self._alive:
                self._pending[request["seq"]] = request["command"]
                self._to_adapter += encoded(request)
                if request["command"] in _ENDING:
                    self._deadline = self._deadline or time.monotonic() + _PATIENCE
            else:
                self._answer_alone(request["seq"], request["command"])

    def _from_pipes(self, events=0, times: int = 1) -> None:
        """Sends what the program has printed: one read has all that a pipe can hold."""
        for pipe in self._pipes:
            for _ in range(times):
                if text := pipe.read():
                    self._send(event("output", category=pipe.category, output=text))

    def _with_adapter(self, events) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                del self._to_adapter[: self._socket.send(self._to_adapter)]
            data = self._socket.recv(_READ) if events & selectors.EVENT_READ else None
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if data is None:
            return
        if not data:
            self._bury()
            return
        for message in self._adapter.feed(data):
            self._hand_on(message)

    def _hand_on(self, message: dict) -> None:
        if message["type"] == "event":
            self._from_pipes()  # what was printed before it comes before it
            self._told_end |= message["event"] == "terminated"
        else:
            self._pending.pop(message["request_seq"], None)
            if message["command"] == "disconnect":
                self._is_over, self.status = True, 0
            if message["command"] == "terminate" and "disconnect" not in self._pending.values():
                self._deadline = None
        self._send(message)

    # ---- an adapter that has died or says nothing

    def _bury(self) -> None:
        """The adapter has ended: tells what it did not."""
        self._alive = False
        limit = time.monotonic() + _PATIENCE
        while not self._has_ended() and time.monotonic() < limit:
            time.sleep(0.005)
        self._from_pipes(times=4)
        if self._is_over:
            return
        if not self._told_end:
            self._tell_death()
        for seq, command in list(self._pending.items()):
            self._answer_alone(seq, command)
        self._pending.clear()

    def _tell_death(self) -> None:
        status = self._status if self._status is not None else -signal.SIGKILL
        end = watched.End.of(status)
        how = f"the program ended its process: {f'signal {end.signal}' if end.signal else f'status {status}'}"
        for line in watched.lines_of_compiler(end, self._notes) or [how]:
            self._send(event("output", category="important", output=f"{line}\n"))
        self._send(event("exited", exitCode=status if status >= 0 else 128 - status))
        self._send(event("terminated"))

    def _answer_alone(self, seq: int, command: str) -> None:
        if command not in _ENDING:
            self._send(refusal(seq, command, "the program has ended"))
            return
        self._send({"type": "response", "request_seq": seq, "success": True, "command": command, "body": {}})
        if command == "disconnect":
            self._is_over, self.status = True, 0

    def _lose_patience(self) -> None:
        self._deadline = None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)


def _become_adapter(ours, theirs, pipes, client: tuple, serve) -> None:
    """The adapter's process: a group of its own, whose standard output and errors are the pipes. It does not
    return."""
    status = 1
    try:
        ours.close()
        os.setsid()
        for target, pipe in zip((1, 2), pipes, strict=True):
            os.dup2(pipe.theirs, target)
            os.close(pipe.theirs)
            os.close(pipe.fd)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        for fd in {*client, nothing} - {0, 1, 2}:
            os.close(fd)
        serve(theirs)
        status = 0
    except BaseException as error:  # its last words; killed by a signal it has none
        text = f"triton-runner: the debugger failed: {type(error).__name__}: {error}\n"
        with contextlib.suppress(OSError):
            os.write(2, text.encode("utf-8", "replace"))
    finally:
        os._exit(status)
