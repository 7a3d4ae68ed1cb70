"""Reads and writes the file of a case: a zip that is written completely or not at all, and read as untrusted
input.

Nothing is unpacked by its own name before that was looked at: no absolute name, none that leaves the folder,
no link, no entry that shares bytes with another, no more than the limits allow, counted as it is read. There
is no pickle in it, and reading runs nothing of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import zipfile
import zlib
from pathlib import Path

from triton_runner._base import commands
from triton_runner._base.errors import fail
from triton_runner._base.paths import written_whole

SUFFIX = ".trcase"
MAX_BYTES = 1 << 30  # of all files together; TRITON_RUNNER_UNPACK
_MAX_FILES = 2000
_MAX_JSON = 32 << 20
# Letters, digits and a few signs in each part, none of which begins with a dot.
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,200}(?:/[A-Za-z0-9_][\w.+-]{0,200}){0,3}", re.ASCII)
_ENCRYPTED = 0x1
_NO_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def artifact(kernel: str, ending: str) -> str:
    """The file of a kernel's text of a level, or of its metadata (json). Names that C++ and numba make may be
    longer than a file's may."""
    if len(kernel) > 150:
        kernel = f"{kernel[:100]}-{hashlib.sha256(kernel.encode()).hexdigest()[:16]}"
    return f"artifacts/{kernel}.{ending}"


def write(path: str | os.PathLike, files: dict) -> None:
    """Writes {name: text or bytes} as a case."""
    with written_whole(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            assert _NAME.fullmatch(name), name
            archive.writestr(name, content)


class Archive:
    """The files of a case by name. Raises DiagnosticError for anything that write() would not write."""

    def __init__(self, path: str | os.PathLike):
        self.path = os.fspath(path)
        self._left = self._limit = limit()
        try:
            with open(self.path, "rb") as file:
                self._entries = self._looked_at(file)
                self._files = {name: self._read(file, entry) for name, entry in self._entries.items()}
        except OSError as error:
            raise fail(f"cannot read {self.path}: {error.strerror or error}") from None
        except _NO_ZIP as error:
            if Path(self.path).read_bytes()[:2] == b"PK":
                raise self.bad(f"it is not a complete zip file: {error}") from None
            written = commands.shell("bundle", "-o", "case.trcase", "PROGRAM")
            raise fail(f"{self.path} is not a case", f"`{written}` writes one") from None

    def bad(self, why: str, *notes: str):
        """An error about this case."""
        return fail(f"{self.path}: {why}", *notes)

    def _looked_at(self, file) -> dict:
        size = os.fstat(file.fileno()).st_size
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        if len(entries) > _MAX_FILES:
            raise self.bad(f"it has {len(entries)} files, and a case has at most {_MAX_FILES}")
        known: dict = {}
        for entry in entries:
            name, mode = entry.filename, entry.external_attr >> 16
            if entry.orig_filename != name or not _NAME.fullmatch(name):
                raise self.bad(f"it has a file named {entry.orig_filename!r}, which no case has")
            if name.lower() in {other.lower() for other in known}:
                raise self.bad(f"it has {name} twice")
            if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                raise self.bad(f"{name} is a link or a device, not a plain file")
            if entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
                raise self.bad(f"{name} is encrypted or packed in a way that no case is")
            known[name] = entry
        end = 0
        for entry in sorted(known.values(), key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise self.bad(f"{entry.filename} shares bytes with another file")
            end = entry.header_offset + entry.compress_size
        if end > size:
            raise self.bad("it is cut off")
        total = sum(entry.file_size for entry in known.values())
        if total > self._limit:
            raise self._too_large(total)
        return known

    def _too_large(self, total: int):
        return self.bad(
            f"its files take {total:,} bytes, and {self._limit:,} are allowed",
            "TRITON_RUNNER_UNPACK allows more, where you know the file",
        )

    def _read(self, file, entry) -> bytes:
        """The content of an entry. Its bytes are counted, because the size that it states may be false."""
        pieces = []
        with zipfile.ZipFile(file) as made, made.open(entry) as content:
            while piece := content.read(1 << 20):
                self._left -= len(piece)
                if self._left < 0:
                    raise self._too_large(self._limit - self._left)
                pieces.append(piece)
        return b"".join(pieces)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def names(self) -> list[str]:
        return list(self._files)

    def contents(self) -> dict[str, bytes]:
        """All files by name."""
        return dict(self._files)

    def bytes(self, name: str) -> bytes:
        if name not in self._files:
            raise self.bad(f"it has no {name}")
        return self._files[name]

    def text(self, name: str) -> str:
        try:
            return self.bytes(name).decode()
        except UnicodeDecodeError as error:
            raise self.bad(f"{name} is not a text file: byte {error.start} is not UTF-8") from None

    def json(self, name: str) -> dict:
        """The JSON object in a file."""
        data = self.bytes(name)
        if len(data) > _MAX_JSON:
            raise self.bad(f"{name} has {len(data):,} bytes, and {_MAX_JSON:,} are allowed")
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.bad(f"{name} is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise self.bad(f"{name} is not a JSON object")
        return value

    def extract(self, folder: str | os.PathLike) -> Path:
        """Writes the files into a new or an empty folder."""
        target = Path(folder)
        if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
            raise fail(f"{target} is there already", "name a folder that is not there, or an empty one")
        for name, content in self._files.items():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return target


def limit() -> int:
    """The largest size of an unpacked case in bytes."""
    limit = os.environ.get("TRITON_RUNNER_UNPACK", "")
    if limit and not limit.isdigit():
        raise fail(f"TRITON_RUNNER_UNPACK is {limit!r}, and should be a number of bytes")
    return int(limit) if limit else MAX_BYTES
