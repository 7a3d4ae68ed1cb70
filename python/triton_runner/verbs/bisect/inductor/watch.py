"""Runs a program in a worker with one of torch.compile's backends, with parts of it left out, and compares
what each compiled graph gives with the same graph in eager mode.

A plan: backend ("off", "eager", ..., "inductor": the program's own), subsystem and most (switches.py),
settings, perturb (a seed: every operator's result is moved by rounding), and own_random: Inductor draws its
own random numbers, as it does by default, and graphs that draw some are not compared; else they are
eager's."""

from __future__ import annotations

import contextlib
import functools
import importlib

from triton_runner._base.typed import as_json
from triton_runner._memory.torch_modes import sees_higher_order
from triton_runner.verbs.bisect.inductor import switches
from triton_runner.verbs.bisect.inductor.compiled import INDUCTOR, OFF, Code, Compiled, Parting

_CALLS = 4  # of a graph that are compared; later ones where their number is a power of two
_PARTINGS = 8
_SET_UP = {
    "torch._inductor.config.fx_graph_cache": False,
    "torch._inductor.config.fx_graph_remote_cache": False,
    "torch._inductor.config.compile_threads": 1,
    "torch._inductor.config.fallback_random": True,
    "torch._functorch.config.enable_autograd_cache": False,
    "torch._functorch.config.enable_remote_autograd_cache": False,
    "torch._dynamo.config.automatic_dynamic_local_pgo": False,
}


class Watch:
    """The graphs of a run, and where their values part from eager's."""

    def __init__(self, plan: dict):
        self.plan = plan
        self.switch = switches.Switch(plan.get("subsystem"), plan.get("most"))
        self.asked = self.graphs = self.calls = self.compared = 0
        self.partings: list[Parting] = []
        self.notes: list[str] = []
        self.backend = INDUCTOR
        self.has_triton = False
        self.is_random = False
        self.kernels: list[Code] = []
        self.numbers: list[
            tuple
        ] = []  # (Dynamo's context, the number of the graph), by which a backward has it

    def result(self) -> Compiled:
        """The result, once the program has ended."""
        settings = [one.text for one in switches.SETTINGS if switches.has(one)] if self.graphs else []
        return Compiled(
            self.asked, self.graphs, self.calls, self.compared, self.partings, self.switch.applied,
            list(dict.fromkeys(self.notes)), self.backend, self.has_triton, settings, self.kernels,
            self.is_random,
        )  # fmt: skip

    def judged(self, verdict: str, why: str) -> tuple[str, str, dict]:
        """The verdict of a run, its reason, and the graphs as a message has them: a graph that differs is
        wrong, whatever the program says."""
        if verdict == "right" and self.partings:
            verdict, why = "wrong", str(self.partings[0])
        return verdict, why, as_json(self.result())

    @contextlib.contextmanager
    def watching(self):
        """While the program runs."""
        _set_up()
        if self.plan.get("own_random"):
            importlib.import_module("torch._inductor.config").fallback_random = False
        with contextlib.ExitStack() as held:
            held.enter_context(self.switch.installed())
            held.enter_context(switches.set_to(self.plan.get("settings") or ()))
            if seed := self.plan.get("perturb"):
                held.enter_context(_rounding(seed))
            self._take_backend(held)
            if self.plan.get("backend") != OFF:
                from triton_runner.verbs.bisect.inductor import inside  # with Inductor

                held.enter_context(inside.watching(self))
            yield self

    def is_looked_at(self, call: int, graph) -> bool:
        """Returns whether a graph is compared in its call of that number, from 0."""
        self.is_random |= graph.is_random
        if graph.is_random and self.plan.get("own_random"):
            return False
        return len(self.partings) < _PARTINGS and (call < _CALLS or not call & (call - 1))

    def _take_backend(self, held: contextlib.ExitStack) -> None:
        """Has torch.compile take the plan's backend, and watch each graph that it is given."""
        dynamo = importlib.import_module("torch._dynamo")
        torch = importlib.import_module("torch")
        own, asked = dynamo.optimize, self.plan.get("backend")
        if asked == OFF:
            held.enter_context(torch.compiler.set_stance("force_eager"))

        @functools.wraps(own)
        def optimize(backend="inductor", *args, **named):
            self.asked += 1
            if asked == OFF:
                return own(backend, *args, **named)
            registry = importlib.import_module("torch._dynamo.backends.registry")
            chosen = registry.lookup_backend(backend) if isinstance(backend, str) else backend
            self._name(chosen)
            if asked not in (None, INDUCTOR):
                chosen = registry.lookup_backend(asked)
            from triton_runner.verbs.bisect.inductor.captured import Backend  # with torch

            return own(Backend(self, chosen), *args, **named)

        dynamo.optimize = optimize
        held.callback(setattr, dynamo, "optimize", own)

    def _name(self, backend) -> None:
        inner = getattr(backend, "compiler_fn", backend)
        name = getattr(inner, "compiler_name", None) or getattr(inner, "__name__", type(inner).__name__)
        if name not in (INDUCTOR, "compile_fx"):
            self.backend = name


def _set_up() -> None:
    """Nothing that another run compiled is taken: its values would not be seen."""
    for name, value in _SET_UP.items():
        module, _, field = name.rpartition(".")
        config = importlib.import_module(module)
        if hasattr(config, field):
            setattr(config, field, value)


@contextlib.contextmanager
def _rounding(seed: int):
    """Moves the result of every operator by rounding."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    from triton_runner.verbs.bisect.inductor import graphs  # with torch

    @sees_higher_order
    class Rounding(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.number = seed * 7919

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            self.number += 1
            given = torch.utils._pytree.tree_leaves((args, kwargs or {}))
            is_made = not any(isinstance(one, torch.Tensor) for one in given)
            with torch.utils._python_dispatch._disable_current_modes():
                return out if is_made else graphs.perturbed(out, self.number, given)

    with Rounding():
        yield
