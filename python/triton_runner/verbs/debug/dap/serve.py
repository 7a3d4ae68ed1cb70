"""Serves a client on standard input and output, or on a port of this machine."""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket

from triton_runner._base.errors import fail
from triton_runner.verbs.debug.dap import adapter
from triton_runner.verbs.debug.dap.guard import Guard

STDIO = "stdio"
_LOCAL = {"": "127.0.0.1", "localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1", "[::1]": "::1"}


def main(where: str) -> int:
    """Serves a session of an editor: on standard input and output, or on a port. Returns the exit status."""
    return _on_stdio() if where == STDIO else _on_port(*address(where))


def address(text: str) -> tuple[str, int]:
    """(host, port) of "4711" or "localhost:4711"; port 0 is any that is free."""
    match = re.fullmatch(r"(?:(.*):)?(\d{1,5})", text)
    if match is None or int(match[2]) > 65535:
        raise fail(
            f"--dap {text}: expected a port",
            "as in --dap, --dap 4711 or --dap localhost:4711; the editor names the program",
        )
    host = _LOCAL.get(match[1] or "")
    if host is None:
        raise fail(
            f"--dap {text}: the debugger listens on this machine only",
            "whoever reaches the port can run programs: use localhost, and a tunnel from elsewhere (ssh -L)",
        )
    return host, int(match[2])


def _on_stdio() -> int:
    """Nothing but the protocol may be written to its descriptor: descriptor 1 becomes that of the errors."""
    client_in, client_out = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    return Guard(client_in, client_out, adapter.serve).run()


def _on_port(host: str, port: int) -> int:
    """Serves the first client that says something; there is no second one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise fail(f"--dap: cannot listen on {host}:{port}: {error.strerror}") from None
        listener.listen(4)
        shown = f"[{host}]" if ":" in host else host
        print(f"triton-runner: waiting for an editor at {shown}:{listener.getsockname()[1]}", flush=True)
        client = _first_client(listener)
    with client:
        return Guard(client.fileno(), os.dup(client.fileno()), adapter.serve).run()


def _first_client(listener) -> socket.socket:
    """Some editors try whether the port is there, and close the connection again: that is no client."""
    while True:
        client, _ = listener.accept()
        with contextlib.suppress(ConnectionError):
            select.select([client], [], [])
            if client.recv(1, socket.MSG_PEEK):
                return client
        client.close()
