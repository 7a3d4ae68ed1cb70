"""Watches the graphs that Dynamo captures: wraps a backend, so that each call of what it compiled is compared
with the graph in eager mode, and its gradients with the graph's."""

from __future__ import annotations

import functools

import torch

from triton_runner._memory.arguments import host
from triton_runner.verbs.bisect.inductor import graphs
from triton_runner.verbs.bisect.inductor.compiled import EAGER


class Backend:
    """A backend of torch.compile whose graphs are watched."""

    def __init__(self, watch, backend):
        self._watch, self._backend = watch, backend
        for name in ("get_compiler_config", "reset", "compiler_name"):  # as torch asks for them
            if hasattr(backend, name):
                setattr(self, name, getattr(backend, name))

    def __call__(self, graph_module, example_inputs, **named):
        watch = self._watch
        number, graph = watch.graphs, graphs.Graph(graph_module)
        watch.graphs += 1
        watch.numbers.append((torch._guards.TracingContext.try_get(), number))
        compiled = self._backend(graph_module, example_inputs, **named)
        one = _Captured(watch, number, graph, compiled)
        return torch.compiler.disable(one.call)


class _Captured:
    def __init__(self, watch, number: int, graph: graphs.Graph, compiled):
        self._watch, self._number, self._graph, self._compiled = watch, number, graph, compiled
        self._calls = 0

    def call(self, *given):
        watch, number = self._watch, self._calls
        self._calls += 1
        watch.calls += 1
        is_same = watch.plan.get("backend") == EAGER  # the graph itself
        if is_same or not watch.is_looked_at(number, self._graph) or not all(map(graphs.is_plain, given)):
            return self._compiled(*given)
        with_gradients = torch.is_grad_enabled() and any(
            isinstance(one, torch.Tensor) and one.requires_grad for one in given
        )
        before, state = graphs.copies(list(given)), torch.get_rng_state()
        want = self._graph.expected(before, state, with_gradients=with_gradients)
        if want.why:
            watch.notes.append(f"graph {self._number} cannot be run by itself: {want.why}")
            return self._compiled(*given)
        passed = list(given)
        gradients = None
        if with_gradients:
            gradients = _Gradients(self, number, want, before)
            passed = gradients.through(passed)
        outputs = self._compiled(*passed)
        watch.compared += 1
        if gradients is not None:
            outputs = gradients.out(outputs, given, passed)
        got = self._graph.places(torch.utils._pytree.tree_leaves(outputs), given)
        self.compare("graph", number, got, want)
        return outputs

    def compare(self, part: str, call: int, got: dict, want: graphs.Expected) -> None:
        """Notes the first value that differs."""
        place, found = graphs.first_apart(got, want)
        if found is not None:
            self._watch.partings.append(self._graph.parting(self._number, part, call, place, found))


class _Gradients:
    """The gradients of a call: those that come to its outputs, and those that go to its inputs, compared with
    the graph's once they are known."""

    def __init__(self, captured: _Captured, call: int, want: graphs.Expected, before: list):
        self._captured, self._call, self._want = captured, call, want
        needs = [i for i, one in enumerate(before) if isinstance(one, torch.Tensor) and one.requires_grad]
        self._at = [i for i in needs if i not in want.runs[0].writes]
        self._coming: dict[int, torch.Tensor] = {}

    def through(self, passed: list) -> list:
        """The inputs, through a function that sees their gradients."""
        if self._at:
            for i, one in zip(self._at, _Seen.apply(self, *(passed[i] for i in self._at)), strict=True):
                passed[i] = one
        return passed

    def out(self, outputs, given: list, passed: list):
        """The outputs, each as a view that has the gradients that come from outside of the graph alone."""
        own = {id(there): here for here, there in zip(given, passed, strict=True)}
        number = iter(range(1 << 30))

        def one(value):
            i = next(number)
            if not isinstance(value, torch.Tensor) or not value.requires_grad:
                return value
            if id(value) in own:  # an input as it is
                value, self._at = own[id(value)], []
                return value
            seen = value.view_as(value)
            seen.register_hook(functools.partial(self._comes, i))
            return seen

        return torch.utils._pytree.tree_map(one, outputs)

    def _comes(self, i: int, gradient) -> None:
        self._coming.setdefault(i, gradient.detach().clone())

    def compare(self, gradients: list) -> None:
        """The gradients of the inputs are known."""
        coming, self._coming = self._coming, {}
        if not self._at or not self._want.runs:
            return
        named, want = {}, graphs.Expected(kinds={})
        names = self._captured._graph.placeholders
        for run in self._want.runs:
            at = [
                i for i in coming if isinstance(run.outputs[i], torch.Tensor) and run.outputs[i].requires_grad
            ]
            if not at:
                return
            own = torch.autograd.grad(
                [run.outputs[i] for i in at], [run.inputs[i] for i in self._at],
                [coming[i].to(run.outputs[i].dtype) for i in at], retain_graph=True, allow_unused=True,
            )  # fmt: skip
            values = {f"gradient of {names[i]}": host(one)
                      for i, one in zip(self._at, own, strict=True) if one is not None}  # fmt: skip
            if run.is_exact:
                want.exact = values
            elif run.seed:
                want.moved.append(values)
            else:
                want.own = values
        coarse = max((kind for kind in self._want.kinds.values() if kind), default=None, key=graphs.tolerance)
        want.kinds = dict.fromkeys(want.own, coarse)
        for i, gradient in zip(self._at, gradients, strict=True):
            if gradient is not None:
                named[f"gradient of {names[i]}"] = gradient
        self._captured._watch.compared += 1
        self._captured.compare("backward", self._call, named, want)
        self._want.runs.clear()


class _Seen(torch.autograd.Function):
    """Passes tensors on, and shows their gradients."""

    @staticmethod
    def forward(ctx, gradients, *tensors):
        ctx.gradients = gradients
        ctx.set_materialize_grads(False)
        return tuple(one.view_as(one) for one in tensors)

    @staticmethod
    def backward(ctx, *incoming):
        ctx.gradients.compare(list(incoming))
        return (None, *incoming)
