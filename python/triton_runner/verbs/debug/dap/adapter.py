"""Adapter reads requests, has each answered by the handler of its row, and drives a Session.

Commands that go on (continue, next, stepBack, ...) are answered at once and run on a thread of their own, so
that pause and disconnect are read meanwhile; what the launch comes to is an event."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import sys
import threading

import numpy

from triton_runner._base.errors import DiagnosticError, KernelTrap, fail, in_a_line
from triton_runner.verbs.debug.dap import requests
from triton_runner.verbs.debug.dap.events import Events, flush
from triton_runner.verbs.debug.dap.points import Points
from triton_runner.verbs.debug.dap.request_fields import RequestFields
from triton_runner.verbs.debug.dap.transport import Decoder, encoded, event, refusal
from triton_runner.verbs.debug.dap.variables import Variables
from triton_runner.verbs.debug.results import Exited, Stopped
from triton_runner.verbs.debug.session import Session
from triton_runner.verbs.debug.stage import MainThread, on_a_thread

_PATIENCE = 1.0  # seconds that a program has to end by itself


class Client:
    """How the editor counts lines and columns, which it says in `initialize`."""

    def __init__(self, arguments: RequestFields):
        if arguments.text("pathFormat", "path") != "path":
            raise fail("this debugger names files by paths: pathFormat 'path'")
        self.first_line = int(arguments.flag("linesStartAt1", True))
        self.first_column = int(arguments.flag("columnsStartAt1", True))

    def line(self, line: int) -> int:
        """Its number of a line of ours."""
        return line - 1 + self.first_line

    def line_of(self, line: int) -> int:
        """Our number of a line of its."""
        return line + 1 - self.first_line

    def column(self, column: int) -> int:
        return max(column, 1) - 1 + self.first_column


class Adapter:
    """The state of a debugging session, of which the handlers of requests are functions."""

    def __init__(self, channel: socket.socket, start=on_a_thread):
        """start: of the Session, where the program runs."""
        self.start_program = start
        self._channel, self._writing = channel, threading.Lock()
        self.client: Client | None = None
        self.session: Session | None = None
        self.has_begun = False  # configurationDone
        self.stop_on_entry = self.no_debug = False
        self.variables = Variables()
        self.events = Events(self)
        self.points = Points(self.events.log)
        self.program = ""
        self.settings: dict = {}
        self.checks: list[str] = []  # of the launch request
        self.filters: list[str] = []  # checks that are filters of exceptions
        self._later: list = []
        self._orders: queue.SimpleQueue = queue.SimpleQueue()
        self.is_running = False
        self._is_over = False
        threading.Thread(target=self._drive, daemon=True).start()

    # ---- requests

    def serve(self) -> None:
        """Until the client disconnects or has gone."""
        decoder = Decoder()
        while not self._is_over:
            try:
                data = self._channel.recv(1 << 16)
            except ConnectionError:
                data = b""
            if not data:
                break
            for request in decoder.feed(data):
                self._answer(request)
        self._close()

    def _answer(self, request: dict) -> None:
        seq, command = request["seq"], request["command"]
        try:
            with numpy.errstate(all="ignore"):  # what people ask for may divide by zero
                body = requests.answered(self, command, RequestFields(command, request.get("arguments")))
        except Exception as error:  # the editor shows a sentence, and goes on
            self.send(refusal(seq, command, _sentence(error)))
        else:
            response = {"type": "response", "request_seq": seq, "success": True, "command": command}
            self.send({**response, "body": body or {}})
        later, self._later = self._later, []
        for call in later:
            call()

    def begin(self, arguments: RequestFields) -> None:
        """The client has said who it is."""
        self.client = Client(arguments)

    def send(self, message: dict) -> None:
        """Sends a message, from any thread."""
        with self._writing, contextlib.suppress(OSError):
            self._channel.sendall(encoded(message))

    def tell(self, name: str, /, **body) -> None:
        """Sends an event."""
        self.send(event(name, **body))

    def after(self, call) -> None:
        """Adds what is done once the response to this request has been sent."""
        self._later.append(call)

    # ---- the session

    @property
    def stopped(self) -> Stopped | None:
        """The place where the launch stands; None while it runs, and before and after the program."""
        where = self.session.where() if self.session is not None and not self.is_running else None
        return where if isinstance(where, Stopped) else None

    @property
    def has_ended(self) -> bool:
        return self.events.ended.is_set()

    def standing(self) -> Stopped:
        """Returns where the launch stands. Raises DiagnosticError where it does not."""
        stopped = self.stopped
        if stopped is None:
            raise fail("the program has ended" if self.has_ended else "the program runs: pause it first")
        return stopped

    def go(self, call) -> None:
        """Has the session do something that goes on, once the response has been sent."""
        self.is_running = True
        self.after(lambda: self._orders.put(call))

    def pause(self) -> None:
        self.events.pausing = True
        self.session.interrupt()

    def change(self) -> None:
        """Breakpoints were set: the session takes them at once, or where it stops for a moment to do so."""
        if self.session is None:
            return
        if self.is_running and self.has_begun:
            self.session.interrupt()
        else:
            self.points.apply(self.session)

    def end(self) -> None:
        """The program ends where it is; the client hears of it."""
        waits = self.is_running
        self.is_running = True
        self._shut()
        if not waits or not self.events.ended.wait(0.1):
            self.events.handle(Exited(1))

    def _shut(self) -> None:
        """Ends the program, which may be in code that nothing interrupts: then it ends with this process."""
        shutting = threading.Thread(target=self.session.close, daemon=True)
        shutting.start()
        shutting.join(_PATIENCE)

    def leave(self) -> None:
        self._is_over = True

    def _drive(self) -> None:
        """On a thread of its own: runs the orders, and tells what they come to."""
        while True:
            call = self._orders.get()
            try:
                happened = self._changed(call())
                while not self.events.is_shown(happened):
                    again = happened.reason == "interrupt"  # the order has not come to its end
                    happened = self._changed(call() if again else self.session.resume())
            except Exception as error:  # the editor hears of it, and the launch stands where it stood
                happened = self.session.where() or Exited(1)
                self.tell("output", category="important", output=f"{_sentence(error)}\n")
            self.events.handle(happened)

    def _changed(self, happened: Stopped | Exited) -> Stopped | Exited:
        """Breakpoints that were set meanwhile are taken here."""
        if isinstance(happened, Stopped):
            self.points.apply(self.session)
        return happened

    def _close(self) -> None:
        """Ends the program, and what it started, this process included."""
        if self.session is not None and not self.events.ended.is_set():
            self._shut()
        flush()
        with contextlib.suppress(OSError):
            self._channel.close()
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGTERM)


def _sentence(error: Exception) -> str:
    """The message of an error with its notes, without the prefixes of the command line."""
    if isinstance(error, KernelTrap):
        return str(error)
    if not isinstance(error, DiagnosticError):
        return f"internal error: {in_a_line(error)}"
    return error.sentence


def serve(channel: socket.socket) -> None:
    """Serves the client of a guard, in this process: its standard output is the program's."""
    # Those of the process above may believe that they write to a file.
    sys.stdout, sys.stderr = (
        open(fd, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 (kept to the end)
        for fd in (1, 2)
    )
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    main = MainThread()
    main.serve(lambda: Adapter(channel, main.start).serve())
