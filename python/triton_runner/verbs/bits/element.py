"""Element is one element of an output in one launch: which program stores it (stores.py), and the values that
it is made of as the launch computes them."""

from __future__ import annotations

import numpy

from triton_runner._artifact.relaunch import Relaunch
from triton_runner._base.errors import DiagnosticError
from triton_runner._code.chain import Chain, Node
from triton_runner._kernel.dumps.dumping import dumping
from triton_runner.verbs.bits.stores import Stores, Write

MOST_WRITES = 64  # programs that add to one element, and are looked at


class Unknown(Exception):
    """Why the values of an element cannot be shown."""


class Element:
    """An element of an argument in a launch. level: whose bits are compared; settings: of the run."""

    def __init__(self, launch: Relaunch, level: str, argument: str, element: tuple, settings: dict):
        self.launch, self.level, self._settings = launch, level, settings
        try:
            self.ttgir = launch.texts["ttgir"]
        except (KeyError, DiagnosticError):
            raise Unknown(f"there is no TTGIR of kernel '{launch.name}'") from None
        self.chain = Chain(self.ttgir, launch.name)
        self.writes = self._writes(argument, element)
        if not self.writes:
            raise Unknown("no store that can be followed writes the element")
        self.programs = list(dict.fromkeys(write.program for write in self.writes))
        self._dump: dict = {}

    def root(self, write: Write) -> Node:
        """Returns what a write stores."""
        return Node(write.value, write.part)

    def _writes(self, argument: str, element: tuple) -> list[Write]:
        stores = Stores(self.chain.module, self.chain.names, self.launch)
        names = stores.recorded()
        if not names:
            return []
        return stores.writes(_recorded(self.launch, "ttgir", names, (), self._settings), argument, element)

    def look(self) -> None:
        """Records what the writes are made of, in one run."""
        nodes = [node for write in self.writes[:MOST_WRITES] for node in self.chain.below(self.root(write))]
        names = list(dict.fromkeys(self.chain.names[node.value] for node in nodes))
        if names:
            dump = _recorded(self.launch, self.level, names, self.programs[:MOST_WRITES], self._settings)
            self._dump = {values.name: values for values in dump}

    def records(self, node: Node, program: tuple) -> dict | None:
        """{iteration: the part of the value} of a node in a program; None: it is not recorded."""
        values = self._dump.get(self.chain.names.get(node.value, ""))
        if values is None:
            return None
        whole, at = values.to_numpy(), tuple(slice(None) if i is None else i for i in node.part)
        rows = numpy.flatnonzero((values.programs == numpy.array(program)).all(axis=1))
        found = {tuple(values.iterations[row].tolist()): whole[row][at] for row in rows}
        return found or None

    def values_of(self, node: Node):
        """Returns what the dump says of a node's value: op, variable, file, line; None: it is not in it."""
        return self._dump.get(self.chain.names.get(node.value, ""))


def _recorded(launch: Relaunch, level: str, names: list, programs, settings: dict):
    session = dumping(launch.name, *names, every_iteration=True, programs=list(programs) or None)
    ttgir = launch.texts["ttgir"] if level in ("ptx", "amdgcn") else ""
    session.adapt(level=level, lenient=True, ttgir=ttgir)
    with session:
        launch.run(level, record=session.record, **settings)
    if not session.launches:
        raise Unknown("its values could not be recorded")
    return session.launches[-1]
