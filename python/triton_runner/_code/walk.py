"""reached() walks through a graph of any kind: of values, of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def reached(first: Iterable, following: Callable) -> Iterator:
    """Yields the first nodes and all nodes that following(node) leads to, each once, depth first."""
    seen, waiting = set(), [*first]
    while waiting:
        if (node := waiting.pop()) not in seen:
            seen.add(node)
            yield node
            waiting += following(node)
