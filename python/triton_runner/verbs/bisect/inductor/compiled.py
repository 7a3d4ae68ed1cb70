"""Defines how one run of a program with torch.compile is told: its graphs, and where their values part from
eager's. A worker makes these, and the search reads them."""

from __future__ import annotations

import dataclasses

# The stages of torch.compile in order; "off" runs the program without it.
OFF, EAGER, AOT, DECOMPOSED, INDUCTOR = "off", "eager", "aot_eager", "aot_eager_decomp_partition", "inductor"
NAMES = {OFF: "without torch.compile"}  # as people call a stage, where its name says less
STAGES = (OFF, EAGER, AOT, DECOMPOSED, INDUCTOR)


@dataclasses.dataclass(frozen=True)
class Apart:
    """A difference of a value from the expected one. size: the largest, of the largest number; element: the
    first that differs; None where the shape or the type does."""

    size: float | None
    elements: int
    of: int
    element: list[int] | None
    got: float | int | bool | str
    want: float | int | bool | str


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the user's program."""

    file: str
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.code}".removesuffix(": ")


@dataclasses.dataclass(frozen=True)
class Parting:
    """A value of compiled code that is not the graph's. graph: the number of the graph; part: "forward",
    "backward", or "graph" as Dynamo captured it; call: the first call that is wrong; place: "output 0",
    "input x afterwards", "gradient of x", or the node; target: the operator; kernel: the one that computes
    it; kernels_nodes: the nodes that this kernel computes."""

    graph: int
    part: str
    call: int
    place: str
    differs: Apart
    node: str | None = None
    target: str | None = None
    kernel: str | None = None
    kernels_nodes: list[str] = dataclasses.field(default_factory=list)
    line: Line | None = None

    def __str__(self) -> str:
        where = f"graph {self.graph}, {self.part}" if self.part != "graph" else f"graph {self.graph}"
        what = self.place if self.node in (None, self.place) else f"{self.place} (node {self.node})"
        differs = self.differs
        if differs.element is None:
            return f"{where}, {what}: it is {differs.got}, and {differs.want} in eager"
        element = f"[{', '.join(map(str, differs.element))}]" if differs.element else "it"
        rest = f"{differs.elements} of {differs.of} elements differ"
        return f"{where}, {what}: {element} is {differs.got!r}, and {differs.want!r} in eager; {rest}"


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of a graph that a kernel computes."""

    name: str
    target: str
    line: Line | None = None


@dataclasses.dataclass(frozen=True)
class Code:
    """A kernel that Inductor wrote, or a call that it makes, and the nodes that it computes."""

    kernel: str
    graph: int
    part: str
    nodes: list[Node]


@dataclasses.dataclass(frozen=True)
class Compiled:
    """The graphs of one run. asked: calls of torch.compile; graphs: that were compiled; calls: of compiled
    graphs; compared: how often values were compared with eager's; partings: those that differ; applied: the
    applications of the subsystem that is switched, by name; notes: on what could not be compared; backend:
    the program's own; has_triton: Inductor's kernels are Triton's; settings: those that this torch has;
    is_random: a graph draws random numbers."""

    asked: int = 0
    graphs: int = 0
    calls: int = 0
    compared: int = 0
    partings: list[Parting] = dataclasses.field(default_factory=list)
    applied: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    backend: str = INDUCTOR
    has_triton: bool = False
    settings: list[str] = dataclasses.field(default_factory=list)
    kernels: list[Code] = dataclasses.field(default_factory=list)
    is_random: bool = False

    def node(self, name: str) -> Node | None:
        """The node of that name in the first graph that has one."""
        return next((node for code in self.kernels for node in code.nodes if node.name == name), None)

    def code(self, kernel: str) -> Code | None:
        """The kernel of that name; Triton cuts long names."""
        return next((code for code in self.kernels if code.kernel == kernel), None)
