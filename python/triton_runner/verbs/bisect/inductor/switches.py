"""Lists the parts of torch.compile that a run can leave out: those that torch's own bisector
(torch._inductor. compiler_bisector) knows, applied one by one and counted; fusions; and settings of
Inductor.

A worker asks the same places of torch as its bisector does: CompilerBisector.disable_subsystem."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re

_OPERATOR = re.compile(r"<OpOverload\(op='([\w.]+)', overload='(\w+)'\)>")  # as torch writes one
# Counted, in the order of compilation, and how a report calls them.
SUBSYSTEMS = {
    "decomposition": "decomposition",
    "pre_grad_passes": "pre-grad pass",
    "joint_graph_passes": "joint-graph pass",
    "post_grad_passes": "post-grad pass",
    "fusions": "fusion",
    "lowerings": "lowering",
}
PASSES = ("decomposition", "pre_grad_passes", "joint_graph_passes", "post_grad_passes")


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting that leaves something out. where: its module."""

    where: str
    field: str
    value: object
    what: str

    @property
    def text(self) -> str:
        """The assignment as a user writes it."""
        return f"{self.where}.{self.field} = {self.value!r}"


_INDUCTOR, _FUNCTORCH = "torch._inductor.config", "torch._functorch.config"
# Not part of SETTINGS: without it a graph with random numbers is not eager's.
OWN_RANDOM = Setting(_INDUCTOR, "fallback_random", True, "Inductor's own random numbers")
SETTINGS = (
    Setting(_FUNCTORCH, "cse", False, "common subexpressions of the graph"),
    Setting(_INDUCTOR, "pattern_matcher", False, "the pattern matcher"),
    Setting(_INDUCTOR, "emulate_precision_casts", True, "narrow results kept wide within a kernel"),
    Setting(_INDUCTOR, "layout_optimization", False, "the choice of layouts"),
    Setting(_INDUCTOR, "comprehensive_padding", False, "padding of strides"),
    Setting(_INDUCTOR, "inplace_buffers", False, "buffers written in place"),
    Setting(_INDUCTOR, "allow_buffer_reuse", False, "buffers used again"),
    Setting(_INDUCTOR, "split_reductions", False, "reductions in two steps"),
    Setting(_INDUCTOR, "unroll_reductions_threshold", 1, "unrolled reductions"),
    Setting(_INDUCTOR, "loop_ordering_after_fusion", False, "loops ordered anew after fusion"),
    Setting(_INDUCTOR, "cpp.simdlen", 1, "vectors of the CPU"),
    Setting(_INDUCTOR, "cpp.enable_loop_tail_vec", False, "vectorised ends of loops"),
    Setting(_INDUCTOR, "cpp.enable_tiling_heuristics", False, "the choice of tiles on the CPU"),
    Setting(_INDUCTOR, "triton.persistent_reductions", False, "persistent reductions"),
    Setting(_INDUCTOR, "triton.cooperative_reductions", False, "cooperative reductions"),
    Setting(_INDUCTOR, "triton.coalesce_tiling_analysis", False, "tiles that follow the memory"),
    Setting(_INDUCTOR, "triton.multi_kernel", 0, "several kernels for one reduction"),
)  # fmt: skip


def find(text: str) -> Setting:
    """The setting with that text."""
    return next(one for one in SETTINGS if one.text == text)


class Switch:
    """Counts how often a subsystem is applied in a run, and leaves out what comes after the first `most`."""

    def __init__(self, subsystem: str | None, most: int | None):
        self._subsystem, self._most = subsystem, most
        self.applied: list[str] = []

    def leaves_out(self, subsystem: str, what) -> bool:
        """Returns whether an application is left out. what: a function that names it."""
        if subsystem != self._subsystem:
            return False
        self.applied.append(_OPERATOR.sub(r"\1.\2", what()) if what else "")
        return self._most is not None and len(self.applied) > self._most

    @contextlib.contextmanager
    def installed(self):
        """While a program runs. torch's bisector is asked by every part that it knows."""
        if self._subsystem is None:
            yield
            return
        bisector = importlib.import_module("torch._inductor.compiler_bisector").CompilerBisector
        own = bisector.disable_subsystem

        def disable_subsystem(cls, backend, subsystem, debug_info=None):
            return self.leaves_out(subsystem, debug_info)

        bisector.disable_subsystem = classmethod(disable_subsystem)
        undo = self._watch_fusions() if self._subsystem == "fusions" else lambda: None
        try:
            yield
        finally:
            bisector.disable_subsystem = own
            undo()

    def _watch_fusions(self):
        scheduler = importlib.import_module("torch._inductor.scheduler").Scheduler
        own, known = scheduler.can_fuse, {}

        def can_fuse(this, first, second, *args, **named):
            if not own(this, first, second, *args, **named):
                return False
            # It is asked more than once about one pair.
            key = (id(this), *sorted((first.get_name(), second.get_name())))
            if key not in known:
                known[key] = self.leaves_out("fusions", lambda: f"{_named(first)} with {_named(second)}")
            return not known[key]

        scheduler.can_fuse = can_fuse
        return lambda: setattr(scheduler, "can_fuse", own)


def _named(node) -> str:
    """The nodes of the graph that a node of the scheduler computes, by name."""
    names = []
    for one in node.get_nodes():
        origins = [] if one.node is None else list(one.node.get_origins())
        names += [origin.name for origin in origins] or [one.get_name()]
    return " + ".join(dict.fromkeys(names))


@contextlib.contextmanager
def set_to(texts):
    """Settings in force while a program runs; one that this torch does not have changes nothing."""
    with contextlib.ExitStack() as held:
        for setting in map(find, texts):
            if has(setting):
                config = importlib.import_module(setting.where)
                held.enter_context(config.patch({setting.field: setting.value}))
        yield


def has(setting: Setting) -> bool:
    """Returns whether torch has a setting, and not this value already."""
    value = importlib.import_module(setting.where)
    for name in setting.field.split("."):
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return value != setting.value
