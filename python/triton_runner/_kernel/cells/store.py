"""Store keeps finished cells: a file each, named by the hash of all that decides what is in it.

Nothing is ever changed in place. A file is written beside its name, flushed to the disk and renamed, so that
a reader sees all of it or none, whoever is killed when; what several processes find out at once is the same.
Arrays that kernels computed stand in files named by the hash of their bytes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from triton_runner._base.paths import cache_folder


def folder() -> Path:
    return cache_folder("compare", "TRITON_RUNNER_STORE")


def key_of(value) -> str:
    """The hash of what JSON can hold."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:40]


class Store:
    """`trouble`: why something could not be kept, the first time; None as long as all is well."""

    def __init__(self, place=None):
        self.place = Path(place) if place else folder()
        self.trouble: OSError | None = None

    def _path(self, kind: str, key: str) -> Path:
        return self.place / kind / key[:2] / key

    def get(self, key: str, kind: str = "cells") -> dict | None:
        """A finished cell; None if there is none, or none that can be read."""
        try:
            entry = json.loads(self._path(kind, key).read_bytes())
        except (OSError, ValueError):
            return None
        return entry["result"] if isinstance(entry, dict) and entry.get("key") == key else None

    def put(self, key: str, result: dict, kind: str = "cells") -> bool:
        """Keeps a finished cell; False where the disk does not take it."""
        return self._write(self._path(kind, key), json.dumps({"key": key, "result": result}).encode())

    def put_bytes(self, data: bytes) -> str:
        """The name under which an array's bytes are found again, if they could be kept."""
        key = hashlib.sha256(data).hexdigest()[:40]
        path = self._path("values", key)
        if not path.exists():
            self._write(path, data)
        return key

    def get_bytes(self, key: str) -> bytes | None:
        """The bytes of that name, if they are there and whole."""
        with contextlib.suppress(OSError):
            data = self._path("values", key).read_bytes()
            if hashlib.sha256(data).hexdigest()[:40] == key:
                return data
        return None

    def _write(self, path: Path, data: bytes) -> bool:
        temporary = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
            return True
        except OSError as error:
            self.trouble = self.trouble or error
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            return False

    def size(self) -> tuple[int, int]:
        """(cells, bytes) that it holds."""
        files = [path for path in self.place.glob("*/*/*") if path.is_file()]
        cells = sum(path.parent.parent.name == "cells" for path in files)
        return cells, sum(path.stat().st_size for path in files)

    def clear(self) -> int:
        """Deletes all of it; how many cells there were."""
        cells = self.size()[0]
        for kind in ("cells", "values", "kernels"):
            shutil.rmtree(self.place / kind, ignore_errors=True)
        return cells
