"""Proves the kernels that one test of a suite launches: pytest --triton-prove."""

from __future__ import annotations

import contextlib

from triton_runner.verbs.prove import launches, run
from triton_runner.verbs.prove.results import Proof

_SECONDS = 2.0  # for each property


class Kernels:
    """names, most: which are looked at. known: proofs of the tests before, which are not made again."""

    def __init__(self, names, most: int, known: dict):
        self._watching = launches.Watching(names, most, None)
        self._known = known
        self._proofs: list[Proof] | None = None

    @contextlib.contextmanager
    def looking(self):
        """The block is the test, or its end."""
        with self._watching.looking():
            yield

    def proofs(self) -> list[Proof]:
        if self._proofs is None or len(self._proofs) < len(self._watching.subjects):
            self._proofs = [self._of(subject) for subject in self._watching.subjects]
        return self._proofs

    def _of(self, subject) -> Proof:
        key = (subject.text, *(one.text for one in subject.assumptions))
        if key not in self._known:
            subject.simplify()
            self._known[key] = run.proof(subject, (), _SECONDS)
        return self._known[key]
