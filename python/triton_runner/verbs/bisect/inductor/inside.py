"""Watches the graphs that Inductor compiles, forward and backward: each call is compared with the graph as it
is before Inductor's last passes, and where it differs, kernel by kernel with the graph that is lowered."""

from __future__ import annotations

import contextlib
import dataclasses

import torch

from triton_runner._memory.arguments import host
from triton_runner.verbs.bisect.inductor import code, graphs, lines
from triton_runner.verbs.bisect.inductor.compiled import Code, Node, Parting


@contextlib.contextmanager
def watching(watch):
    """While a program runs."""
    from torch._inductor import compile_fx, graph, output_code

    it = _Inside(watch)
    lowering, compiled = graph.GraphLowering, output_code.CompiledFxGraph
    own = (compile_fx._recursive_post_grad_passes, lowering.__init__, lowering.codegen,
           compiled.__init__, compiled.__call__)  # fmt: skip

    def passes(module, *args, **named):
        if not it.depth:
            it.before = graphs.Graph(module)
        it.depth += 1
        try:
            return own[0](module, *args, **named)
        finally:
            it.depth -= 1

    def lower(self, module, *args, **named):
        own[1](self, module, *args, **named)
        before, it.before = it.before, None
        it.lowered[id(self)] = _Lowered(self, before, graphs.Graph(module))

    def generate(self):
        text, kernels = own[2](self)
        if hasattr(text, "value") and id(self) in it.lowered:
            lowered = it.lowered[id(self)]
            text.value, lowered.written, lowered.calls_of = code.hooked(text.value, self)
        return text, kernels

    def finish(self, *args, **named):
        own[3](self, *args, **named)
        lowered = named.get("graph", args[1] if len(args) > 1 else None)
        self._triton_runner = it.finished(lowered)

    def call(self, inputs):
        known = getattr(self, "_triton_runner", None)
        return own[4](self, inputs) if known is None else it.call(known, inputs, lambda: own[4](self, inputs))

    compile_fx._recursive_post_grad_passes = passes
    lowering.__init__, lowering.codegen = lower, generate
    compiled.__init__, compiled.__call__ = finish, call
    try:
        yield
    finally:
        compile_fx._recursive_post_grad_passes = own[0]
        lowering.__init__, lowering.codegen = own[1:3]
        compiled.__init__, compiled.__call__ = own[3:]


@dataclasses.dataclass
class _Lowered:
    """A graph that Inductor lowers. before: as it was before the last passes; graph: as it is lowered."""

    inductor: object
    before: graphs.Graph | None
    graph: graphs.Graph
    number: int = 0
    part: str = "forward"
    written: list = dataclasses.field(default_factory=list)
    calls_of: dict = dataclasses.field(default_factory=dict)  # by a name, the last kernel that it is given to
    calls: int = 0


class _Inside:
    def __init__(self, watch):
        self._watch = watch
        self.before: graphs.Graph | None = None
        self.depth = 0
        self.lowered: dict[int, _Lowered] = {}

    def finished(self, inductor) -> _Lowered | None:
        """Inductor's graph is compiled."""
        lowered = self.lowered.pop(id(inductor), None)
        if lowered is not None:
            context = torch._guards.TracingContext.try_get()
            numbers = [number for known, number in self._watch.numbers if known is context]
            lowered.number = numbers[-1] if numbers else max(self._watch.graphs - 1, 0)
            lowered.part = "backward" if getattr(inductor, "is_backward", False) else "forward"
            lowered.inductor = None
            self._watch.has_triton |= any("triton_" in one.kernel for one in lowered.written)
            nodes = lowered.graph.nodes
            for kernel, names in dict.fromkeys((one.kernel, one.nodes) for one in lowered.written):
                of = [Node(name, str(nodes[name].target), lines.of_node(nodes[name]))
                      for name in names if name in nodes]  # fmt: skip
                self._watch.kernels.append(Code(kernel, lowered.number, lowered.part, of))
        return lowered

    def call(self, lowered: _Lowered, inputs: list, go):
        """A call of a compiled graph. inputs: which it empties."""
        watch, call = self._watch, lowered.calls
        lowered.calls += 1
        if not watch.is_looked_at(call, lowered.graph) or not all(
            not isinstance(one, torch.Tensor) or type(one) in (torch.Tensor, torch.nn.Parameter)
            for one in inputs
        ):
            return go()
        given = list(inputs)
        with torch.no_grad():
            before, state = graphs.copies(given), torch.get_rng_state()
        handed: list = []
        with _hook(lambda name, value: handed.append((int(name), value))):
            outputs = go()
        with torch.no_grad():
            self._judge(lowered, call, before, state, given, outputs, handed)
        return outputs

    def _judge(self, lowered: _Lowered, call: int, before, state, given, outputs, handed) -> None:
        watch, graph = self._watch, lowered.before or lowered.graph
        want = graph.expected(before, state)
        if want.why:
            watch.notes.append(f"graph {lowered.number}, {lowered.part}, cannot be run by itself: {want.why}")
            return
        watch.compared += 1
        place, found = graphs.first_apart(graph.places(outputs, given), want)
        if found is None:
            return
        kernel = self._kernel(lowered, call, before, state, handed)
        if kernel is not None:
            watch.partings.append(kernel)
            return
        parting = graph.parting(lowered.number, lowered.part, call, place, found)
        name = parting.node
        node = graph.nodes.get(name)
        if node is not None and "copy_" in str(node.target):
            name = node.args[0].name  # what it writes to
        watch.partings.append(dataclasses.replace(parting, kernel=lowered.calls_of.get(name)))

    def _kernel(self, lowered: _Lowered, call: int, before, state, handed) -> Parting | None:
        """The first kernel whose value of a node differs from that of the graph that is lowered."""
        names = [one.node for one in lowered.written if one.node]
        want = lowered.graph.expected(before, state, keep=names)
        if want.why:
            return None
        for number, value in handed:
            written = lowered.written[number]
            own = want.own.get(written.node)
            if own is None or not isinstance(value, torch.Tensor) or tuple(value.shape) != own.shape:
                continue
            found = graphs.differs(host(value), written.node, want)
            if found is not None:
                parting = lowered.graph.parting(lowered.number, lowered.part, call, written.node, found)
                return dataclasses.replace(parting, kernel=written.kernel, kernels_nodes=list(written.nodes))
        return None


@contextlib.contextmanager
def _hook(see):
    """torch's hook of intermediate values, which keeps copies: buffers are used again."""
    from torch._inductor.hooks import intermediate_hook

    def keep(name, value):
        see(name, value.detach().clone() if isinstance(value, torch.Tensor) else value)

    with intermediate_hook(keep):
        yield
