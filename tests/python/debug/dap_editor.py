"""An editor without windows: starts `triton-runner debug --dap`, or goes to its port, and speaks the protocol
through a client of the package index (dap-python), which holds every answer against the protocol's types."""

import contextlib
import os
import pathlib
import select
import socket
import subprocess
import sys
import time

from dap.client import Client

HERE = pathlib.Path(__file__).parent
COMMAND = [sys.executable, "-m", "triton_runner", "debug", "--dap"]
PATIENCE = 120  # seconds for an answer: a guard against hangs
GOING = {
    "configurationDone", "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "pause",
    "terminate",
}  # fmt: skip


# dap-python 0.5.0 differs here from the protocol: it takes the bodies of setExceptionBreakpoints, and empty
# ones, for whole responses, writes exceptionId as exceptionID, and takes numbers of breakpoints in `stopped`
# for texts. Answers to nonsense, which have no request, it cannot take.
UNTYPED = {"setExceptionBreakpoints", "exceptionInfo"}


class Gone(Exception):
    """The debugger closed the connection."""


class Editor:
    """A session, from `initialize` on. messages: all that came, as they came."""

    def __init__(self, connection=None, cwd=HERE, env=None, command=COMMAND):
        self.process = None
        if connection is None:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                env={**os.environ, **(env or {})},
            )  # fmt: skip
            self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        else:
            self._connection = connection
            self._in = self._out = connection.fileno()
        self.client = Client("triton")  # which has `initialize` ready
        self.messages: list[dict] = []
        parse = self.client.handler._parse_message

        def parsed(message):
            self.messages.append(message)
            return parse(_as_typed(message))

        self.client.handler._parse_message = parsed
        handle = self.client.handler.handle_response
        pending = self.client._pending_requests

        def handled(response):
            is_typed = response.command not in UNTYPED and not (response.success and not response.body)
            if response.request_seq not in pending or not is_typed:
                return pending.pop(response.request_seq, response)
            return handle(response)

        self.client.handler.handle_response = handled
        self._read = 0
        self.capabilities = self.wait(lambda m: m.get("command") == "initialize")["body"]

    # ---- the connection

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._in, data) :]

    def next_message(self) -> dict:
        """The next message that nobody has looked at. Raises Gone at the end."""
        limit = time.monotonic() + PATIENCE
        if data := self.client.send():
            self.write(bytes(data))
        while self._read == len(self.messages):
            if not select.select([self._out], [], [], max(limit - time.monotonic(), 0))[0]:
                raise TimeoutError(f"no answer in {PATIENCE} s; so far: {self.messages[-3:]}")
            data = os.read(self._out, 1 << 16)
            if not data:
                raise Gone
            for _ in self.client.receive(data):
                pass
        self._read += 1
        return self.messages[self._read - 1]

    def wait(self, matches) -> dict:
        """The next message for which matches(message) holds; those before it are passed over."""
        while not matches(message := self.next_message()):
            pass
        return message

    def printed(self, text: str) -> dict:
        """The message with what the program has printed, which may have come before a response."""

        def has_it(message: dict) -> bool:
            return message.get("event") == "output" and text in message["body"]["output"]

        return next(filter(has_it, self.messages), None) or self.wait(has_it)

    # ---- requests

    def ask(self, command: str, **arguments) -> dict:
        """The response to a request."""
        seq = self.client.send_request(command, arguments)
        return self.wait(lambda m: m["type"] == "response" and m["request_seq"] == seq)

    def body(self, command: str, **arguments) -> dict:
        """The body of the response, which has to be a success."""
        response = self.ask(command, **arguments)
        assert response["success"], response["message"]
        return response["body"]

    def stop(self) -> dict:
        """The next stop, or the end."""
        return self.wait(lambda m: m.get("event") in ("stopped", "terminated"))

    def go(self, command: str, **arguments) -> dict:
        """A request that goes on, and where that stops."""
        self.body(command, **arguments)
        return self.stop()

    def launch(self, program: str, breakpoints=(), **arguments) -> dict:
        """Starts a program with breakpoints in it, and returns the first stop."""
        self.body("launch", program=str(HERE / program), **arguments)
        if breakpoints:
            lines = [{"line": line} if isinstance(line, int) else line for line in breakpoints]
            self.body("setBreakpoints", source={"path": str(HERE / program)}, breakpoints=lines)
        return self.go("configurationDone")

    def close(self) -> int | None:
        """Disconnects; the exit status."""
        with contextlib.suppress(Gone, OSError):
            self.ask("disconnect")
        return self.process.wait(PATIENCE) if self.process else None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        with contextlib.suppress(OSError):
            self.close() if error[0] is None else None
        if self.process is not None:
            self.process.kill()
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                stream.close()
            self.process.wait()


def _as_typed(message: dict) -> dict:
    """A message as dap-python types it."""
    if message.get("event") != "stopped" or "hitBreakpointIds" not in message["body"]:
        return message
    numbers = [*map(str, message["body"]["hitBreakpointIds"])]
    return {**message, "body": {**message["body"], "hitBreakpointIds": numbers}}


def on_port(process) -> socket.socket:
    """A connection to the port that a debugger says it listens at."""
    line = process.stdout.readline().decode()
    host, _, port = line.rpartition(" ")[2].strip().rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


# ---- messages as lines of a golden file


def lines_of(message: dict) -> list[str]:
    """Returns what a golden file shows of a message."""
    if message["type"] == "event":
        head = f"* {message['event']}"
    elif message["success"]:
        head = f"< {message['command']}"
    else:
        return [f"< {message['command']} fails: {message['message']}"]
    scalars, rows = [], []
    for key, value in message["body"].items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows += [f"    {_fields(row)}" for row in value]
        else:
            scalars.append(f"{key}={_text(value)}")
    return [" ".join([head, *scalars]), *rows]


def _fields(row: dict) -> str:
    return " ".join(f"{key}={_text(value)}" for key, value in row.items() if value not in (0, "", None))


def _text(value) -> str:
    if isinstance(value, dict):
        return value.get("path") or value.get("name") or str(value)
    if isinstance(value, str):
        return repr(value.replace("\n", " | ")) if " " in value or "\n" in value else value
    return str(value)
