"""Reads and writes messages of the Debug Adapter Protocol as bytes: a header with Content-Length, an empty
line, JSON.

Bytes that are not a message are reported as such, and reading goes on at the next header: a client that sends
nonsense gets an answer to each piece of it."""

from __future__ import annotations

import dataclasses
import json
import re

_LENGTH = re.compile(rb"content-length:[ \t]*(\d+)[ \t]*(?:\r\n|$)", re.IGNORECASE)
_END = b"\r\n\r\n"
MOST_HEADER = 1 << 13  # bytes
MOST_BODY = 1 << 25


@dataclasses.dataclass(frozen=True)
class Malformed:
    """Bytes that are no message. seq: of the request that it would be, where that can be read."""

    why: str
    seq: int = 0
    command: str = ""


def encoded(message: dict) -> bytes:
    """The bytes of a message."""
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Decoder:
    """Takes bytes in any pieces, and returns the messages that they complete."""

    def __init__(self):
        self._held = bytearray()

    @property
    def is_empty(self) -> bool:
        """Returns whether no message has begun."""
        return not self._held

    def feed(self, data: bytes) -> list:
        """The messages (dict) and pieces of nonsense (Malformed) that the bytes complete."""
        self._held += data
        out: list = []
        while (message := self._next()) is not None:
            out.append(message)
        return out

    def _next(self):
        end = self._held.find(_END)
        if end < 0:
            return self._without_header() if len(self._held) > MOST_HEADER else None
        header = _LENGTH.search(self._held, 0, end + 2)
        if header is None:
            del self._held[: end + len(_END)]
            return Malformed("the header has no Content-Length")
        length = int(header[1][:12])
        if length > MOST_BODY:
            del self._held[: end + len(_END)]
            return Malformed(f"Content-Length is {length}, at most {MOST_BODY} bytes are read")
        begin = end + len(_END)
        if len(self._held) < begin + length:
            return None
        body = bytes(self._held[begin : begin + length])
        del self._held[: begin + length]
        return _message(body)

    def _without_header(self) -> Malformed:
        begin = self._held.lower().rfind(b"content-length:")
        del self._held[: begin if begin > 0 else len(self._held)]
        return Malformed(f"there is no header in {MOST_HEADER} bytes")


def _message(body: bytes):
    try:
        message = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        return Malformed(f"the content is not JSON: {error}")
    return message if isinstance(message, dict) else Malformed("the content is not a JSON object")


def checked_request(message: dict):
    """A message of the client, if it is a request; what is wrong with it otherwise."""
    seq, command = message.get("seq"), message.get("command")
    seq = seq if isinstance(seq, int) and not isinstance(seq, bool) else 0
    if message.get("type") != "request":
        return Malformed(f"a message of type {message.get('type')!r} is not a request", seq)
    if not isinstance(command, str) or not command:
        return Malformed("the request has no command", seq)
    if not seq:
        return Malformed(f"the request '{command[:80]}' has no seq", 0, command)
    if not isinstance(message.get("arguments") or {}, dict):
        return Malformed(f"the arguments of '{command[:80]}' are not a JSON object", seq, command)
    return message


def refusal(seq: int, command: str, message: str) -> dict:
    """The response to a request that could not be done."""
    error = {"id": 1, "format": "{text}", "variables": {"text": message}, "showUser": True}
    return {
        "type": "response", "request_seq": seq, "success": False, "command": command, "message": message,
        "body": {"error": error},
    }  # fmt: skip


def event(name: str, /, **body) -> dict:
    """An event; fields that are None are left out."""
    return {
        "type": "event",
        "event": name,
        "body": {key: value for key, value in body.items() if value is not None},
    }
