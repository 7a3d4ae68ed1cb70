"""Work that is handed to a Dask cluster, and comes back as it is finished. The workers need this package."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from triton_runner._base.commands import install
from triton_runner._base.errors import DiagnosticError, fail


def finished(option: str, address: str, how: Callable, works: dict) -> Iterator[tuple]:
    """(key, result, why there is none) of each work as it is finished. works: by key, what how(work) is
    called with, a function of a module; option: names the one that gave the address, dask://HOST:PORT."""
    try:
        from dask.distributed import Client, as_completed
    except ImportError:
        raise fail(f"{option} needs Dask, here and where the workers run", install("dask")) from None
    scheme, _, place = address.partition("://")
    if scheme != "dask" or not place:
        raise fail(f"{option} {address!r} is not of the form dask://host:port")
    try:
        client = Client(f"tcp://{place}", timeout="20s", set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise fail(f"no Dask scheduler answers at {place}: {error}") from None
    with client:
        # Dask gives a task to another worker where one dies of it, three times.
        futures = {
            client.submit(how, work, key=f"triton-runner-{key}-{os.getpid()}", pure=False): key
            for key, work in works.items()
        }
        for future in as_completed(futures, loop=client.loop):
            try:
                yield futures[future], future.result(), ""
            except DiagnosticError:
                raise
            except Exception as error:
                yield futures[future], None, f"on the cluster: {type(error).__name__}: {error}"
            future.release()
