"""Executes a graph of torch.compile in eager mode, node by node, and compares what compiled code gives with
it: in the graph's own types, in f64, and with other roundings (each node's result moved by a part of its last
place), which tell how far rounding moves a value."""

from __future__ import annotations

import contextlib
import copy
import dataclasses

import numpy
import torch

from triton_runner._base.errors import in_a_line
from triton_runner._memory import compared
from triton_runner._memory.arguments import host
from triton_runner._memory.difference import magnitude, plain, tolerance
from triton_runner._memory.files import kind_of
from triton_runner.verbs.bisect.inductor import lines
from triton_runner.verbs.bisect.inductor.compiled import Apart, Parting

_NARROWED = (torch.float16, torch.bfloat16, torch.float32)  # types that are f64 in the exact run
_CASTS = ("half", "bfloat16", "float")
_DRAWS = (
    "rand",
    "normal",
    "bernoulli",
    "dropout",
    "uniform",
    "multinomial",
    "exponential",
    "seed",
    "poisson",
)
_SEEDS = (1, 2)  # runs with other roundings
_TIMES = 8  # how much more than in the runs that were tried rounding may move a value
VALUE = "value"


def copied(graph_module):
    """The graph as it is now: passes change it in place."""
    return torch.fx.GraphModule(graph_module, copy.deepcopy(graph_module.graph))


def copies(values: list) -> list:
    """The tensors in memory of their own, with the same strides; those that share memory share it again."""
    storages: dict = {}

    def one(value):
        if not isinstance(value, torch.Tensor):
            return value
        if not is_plain(value):
            return value.detach().clone().requires_grad_(value.requires_grad)
        storage = value.untyped_storage()
        key = storage.data_ptr() or id(storage)
        if key not in storages:
            storages[key] = storage.clone()
        with torch.no_grad():
            same = value.detach().new_empty(0)
            same.set_(storages[key], value.storage_offset(), value.size(), value.stride())
        return same.requires_grad_(value.requires_grad)

    return [one(value) for value in values]


def is_plain(value) -> bool:
    """Returns whether a value is no tensor, or one that can be copied as it is."""
    return not isinstance(value, torch.Tensor) or (
        type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided
    )


def exact(value):
    """A value in f64."""
    if isinstance(value, torch.Tensor) and value.dtype in _NARROWED:
        return value.detach().to(torch.float64).requires_grad_(value.requires_grad)
    return value


def perturbed(value, seed: int, given=()):
    """A float tensor of which each element is moved by up to half a unit in its last place; a view of what it
    is computed from stays."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.dtype.itemsize < 2:
        return value
    storage = value.untyped_storage().data_ptr()
    if not value.numel() or any(
        isinstance(one, torch.Tensor) and one.untyped_storage().data_ptr() == storage for one in given
    ):
        return value
    draw = torch.Generator().manual_seed(seed * 1_000_003 + value.numel())
    noise = torch.empty(value.shape, dtype=torch.float64).uniform_(-1, 1, generator=draw)
    return (value.double() * (1 + noise * torch.finfo(value.dtype).eps)).to(value.dtype)


class Nodes(torch.fx.Interpreter):
    """A run of a graph. kept: copies of the values of the nodes that are asked for; drawn: of random ones;
    is_exact: in f64, with the random numbers that a run in the graph's own types drew; seed: of other
    roundings."""

    def __init__(self, graph_module, keep=(), drawn: dict | None = None, is_exact=False, seed: int = 0):
        super().__init__(graph_module)
        self.kept: dict = {}
        self.drawn: dict = {}
        self._keep, self._drawn, self._exact, self._seed = set(keep), drawn or {}, is_exact, seed

    def run_node(self, n):
        if self._exact and n.name in self._drawn:
            return torch.utils._pytree.tree_map(exact, self._drawn[n.name])
        result = super().run_node(n)
        if self._exact and n.op == "get_attr":
            result = exact(result)
        if self._seed and n.op.startswith("call"):
            self._seed += 1
            given = [self.env.get(one) for one in n.all_input_nodes]
            result = perturbed(result, self._seed, given)
        if n.name in self._keep and isinstance(result, torch.Tensor):
            self.kept[n.name] = _clone(result)
        if is_random(n):
            self.drawn[n.name] = torch.utils._pytree.tree_map(_clone, result)
        return result

    def fetch_args_kwargs_from_env(self, n):
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        if not self._exact:
            return args, kwargs
        return torch.utils._pytree.tree_map(
            lambda one: torch.float64 if one in _NARROWED else one, (args, kwargs)
        )

    def call_method(self, target, args, kwargs):
        return super().call_method("double" if self._exact and target in _CASTS else target, args, kwargs)


def _clone(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def is_random(node) -> bool:
    """Returns whether a node draws random numbers."""
    return node.op.startswith("call") and any(word in str(node.target) for word in _DRAWS)


@dataclasses.dataclass
class Ran:
    """A run of a graph: its inputs, its outputs, and the numbers of the inputs that it writes to."""

    is_exact: bool
    seed: int
    inputs: list
    outputs: list
    writes: list[int]


@dataclasses.dataclass
class Expected:
    """The values of a graph by their places ("output 0", "input x afterwards", a node's name): in its own
    types, in f64 (or none: then it does not run so), with other roundings. why: why there are none."""

    own: dict = dataclasses.field(default_factory=dict)
    exact: dict = dataclasses.field(default_factory=dict)
    moved: list[dict] = dataclasses.field(default_factory=list)
    kinds: dict = dataclasses.field(default_factory=dict)
    why: str = ""
    runs: list[Ran] = dataclasses.field(default_factory=list)


class Graph:
    """A graph that was compiled, kept as it was then."""

    def __init__(self, graph_module):
        self.module = copied(graph_module)
        self.nodes = {node.name: node for node in self.module.graph.nodes}
        self.placeholders = [node.name for node in self.module.graph.nodes if node.op == "placeholder"]
        self.is_random = any(is_random(node) for node in self.nodes.values())
        self._kinds = self._coarsest()

    def output_names(self) -> list[str]:
        """The nodes that are outputs, in order."""
        (output,) = (node for node in self.module.graph.nodes if node.op == "output")
        flat, _ = torch.utils._pytree.tree_flatten(output.args)
        return [getattr(one, "name", "") for one in flat]

    def places(self, outputs: list, inputs: list) -> dict[str, torch.Tensor]:
        """The tensors that a call gives and leaves, by their places."""
        values = {f"output {i}": one for i, one in enumerate(outputs)}
        values |= {f"input {name} afterwards": one
                   for name, one in zip(self.placeholders, inputs, strict=False)}  # fmt: skip
        return {place: one for place, one in values.items() if isinstance(one, torch.Tensor)}

    def name_at(self, place: str) -> str:
        """The node of a place: "output 0", "input x afterwards", "gradient of x", or a node's name."""
        kind, *rest = place.split()
        if kind == "output":
            return self.output_names()[int(rest[0])]
        return rest[0] if kind == "input" else place.split()[-1]

    def parting(self, number: int, part: str, call: int, place: str, found: Apart) -> Parting:
        """A value of compiled code that differs. number: the graph's."""
        name = self.name_at(place)
        node = self.nodes.get(name)
        target = str(node.target) if node is not None and node.op.startswith("call") else None
        return Parting(number, part, call, place, found, name, target, line=node and lines.of_node(node))

    def _coarsest(self) -> dict:
        """The coarsest type of float that a node's value was rounded to on its way, by the node's name: its
        own, or that of a node that it is computed from."""
        kinds: dict = {}
        for node in self.module.graph.nodes:
            mine = [kinds[one.name] for one in node.all_input_nodes if one.name in kinds]
            value = node.meta.get("val", node.meta.get("example_value"))
            if node.op.startswith("call") and isinstance(value, torch.Tensor) and value.is_floating_point():
                mine.append(kind_of(value.dtype))
            if mine:
                kinds[node.name] = max(mine, key=tolerance)
        return kinds

    def expected(self, given: list, state, keep=(), with_gradients=False) -> Expected:
        """The values of the graph for these inputs, which are copied for each run. state: of the generator of
        random numbers, as it was when the compiled code began."""
        result = Expected()
        names = self.output_names()
        drawn: dict = {}
        ways = [(False, 0), (True, 0), *((False, seed) for seed in _SEEDS)]
        for is_exact, seed in ways:
            inputs = copies([exact(one) for one in given] if is_exact else given)
            leaves = inputs
            if with_gradients:
                inputs = [_computed(one) for one in inputs]
            versions = [getattr(one, "_version", 0) for one in inputs]
            run = Nodes(self.module, keep, drawn, is_exact, seed)
            try:
                with _as_it_was(state, is_exact):
                    outputs = run.run(*inputs)
            except Exception as error:
                if not is_exact and not seed:
                    result.why = in_a_line(error)
                    return result
                continue
            flat, _ = torch.utils._pytree.tree_flatten(outputs)
            values = self.places(flat, inputs) | run.kept
            arrays = {place: host(one.detach()) for place, one in values.items()}
            if is_exact:
                result.exact = arrays
            elif seed:
                result.moved.append(arrays)
            else:
                result.own, drawn = arrays, run.drawn
            writes = [i for i, one in enumerate(inputs) if getattr(one, "_version", 0) != versions[i]]
            result.runs.append(Ran(is_exact, seed, leaves, flat, writes))
        result.kinds = {f"output {i}": self._kinds.get(name) for i, name in enumerate(names)}
        result.kinds |= {name: self._kinds.get(name) for name in keep}
        return result


def _computed(tensor):
    """A tensor that is no leaf of autograd, which the graph may write to."""
    return tensor.clone() if isinstance(tensor, torch.Tensor) and tensor.requires_grad else tensor


@contextlib.contextmanager
def _as_it_was(state, is_exact: bool):
    """The generator of random numbers in that state; new tensors in f64 where the run is exact."""
    now, default = torch.get_rng_state(), torch.get_default_dtype()
    torch.set_rng_state(state)
    if is_exact:
        torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_rng_state(now)
        torch.set_default_dtype(default)


def first_apart(got: dict[str, torch.Tensor], want: Expected) -> tuple[str, Apart | None]:
    """(place, difference) of the first value that differs; ("", None) where none does."""
    for place, value in got.items():
        if place in want.own and (found := differs(host(value.detach()), place, want)) is not None:
            return place, found
    return "", None


def differs(got: numpy.ndarray, place: str, want: Expected) -> Apart | None:
    """How compiled code's value differs from the graph's at a place; None where rounding explains it."""
    own, of_exact = want.own[place], want.exact.get(place)
    moved = [other[place] for other in want.moved if place in other]
    if got.shape != own.shape or got.dtype != own.dtype:
        texts = (f"{array.dtype}{list(array.shape)}" for array in (got, own))
        return Apart(None, own.size, own.size, None, *texts)
    kind = want.kinds.get(place) or kind_of(own.dtype)
    others = [*moved, *([of_exact] if of_exact is not None and own.dtype.kind in "iub" else [])]
    decided = _decided(own, [one for one in others if one.shape == own.shape], kind)
    got = numpy.where(decided, got, own).astype(own.dtype, copy=False)
    rule = compared.Rule(kinds={VALUE: kind})
    rule.spread = compared.spread({VALUE: own}, [{VALUE: other} for other in moved])
    known = {}
    if of_exact is not None and of_exact.shape == own.shape and own.dtype.kind not in "iubc":
        # An element that is eager's is right, however far rounding has brought eager itself.
        known = {VALUE: numpy.where(_is_explained(got, own, [of_exact, *moved], decided), got, of_exact)}
    wrong = compared.compare({VALUE: got}, {VALUE: own}, known, rule)
    if wrong is None:
        return None
    with numpy.errstate(all="ignore"):
        error = numpy.abs(got.astype(numpy.float64) - own.astype(numpy.float64))
    size = float(numpy.nan_to_num(error, nan=1e300, posinf=1e300).max(initial=0.0)) / (magnitude(own) or 1.0)
    at = tuple(wrong.element or ())
    return Apart(size, wrong.elements, wrong.of, list(at), plain(got[at]), plain(own[at]))


def _is_explained(got, own, others: list, decided) -> numpy.ndarray:
    """Returns which elements are as near to eager's as a few times the largest move by rounding."""
    with numpy.errstate(all="ignore"):
        x = own.astype(numpy.float64)
        moves = [numpy.where(decided, numpy.abs(x - other.astype(numpy.float64)), 0.0) for other in others]
        noise = max(
            (float(numpy.nan_to_num(one, nan=0.0, posinf=0.0).max(initial=0.0)) for one in moves), default=0.0
        )
        near = numpy.abs(got.astype(numpy.float64) - x) <= _TIMES * noise
        return near | (got == own) | (numpy.isnan(x) & numpy.isnan(got.astype(numpy.float64)))


def _decided(own: numpy.ndarray, others: list, kind: str) -> numpy.ndarray:
    """Returns which elements rounding does not decide: one of a choice that another rounding makes otherwise
    says nothing."""
    fine = numpy.ones(own.shape, bool)
    is_float = own.dtype.kind not in "iubc"
    with numpy.errstate(all="ignore"):
        x = own.astype(numpy.complex128 if own.dtype.kind == "c" else numpy.float64)
        allowed = 4 * tolerance(kind) * (magnitude(own) or 1.0) if is_float else 0.0
        for other in others:
            y = other.astype(x.dtype)
            fine &= (x == y) | (numpy.isnan(x) & numpy.isnan(y)) | (numpy.abs(x - y) <= allowed)
    return fine
