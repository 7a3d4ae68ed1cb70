"""The process of the reference: it reads the task, makes inputs, and computes what they should give, once as
the task does and once in f64. It never sees the answer."""

from __future__ import annotations

import copy
import random
import traceback

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from triton_runner._artifact.compiled_kernel import compiled_of
from triton_runner._base.typed import as_json
from triton_runner._launch.launchers import observing
from triton_runner._memory.torch_modes import sees_higher_order
from triton_runner._pipeline.failures import reason_of
from triton_runner._pretend.tensors import mark
from triton_runner.verbs.judge import facts, formats, narrow, sandbox, wire

# Operators that only make, move or look at memory.
_MOVES = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros",
    "zeros_like", "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full",
    "scalar_tensor", "arange", "detach", "alias", "view", "_unsafe_view", "reshape",
    "_reshape_alias", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "slice",
    "select", "split", "split_with_sizes", "unbind", "narrow", "as_strided", "clone", "copy_",
    "_to_copy", "to", "contiguous", "lift_fresh", "lift", "cat", "stack", "fill_", "zero_", "unfold",
    "diagonal", "randn", "rand", "normal_", "uniform_", "randint", "randperm", "resize_",
    "linspace", "logspace", "eye", "rand_like", "randn_like", "randint_like", "random_", "tril_indices",
    "triu_indices",
    "_local_scalar_dense", "repeat", "flatten", "chunk", "chunk_cat", "constant_pad_nd",
    "index_select", "gather",
}  # fmt: skip
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


@sees_higher_order
class _Operators(TorchDispatchMode):
    """The operators that compute something, each with how many elements it gives."""

    watches_memory = True

    def __init__(self, fill: int):
        super().__init__()
        self.seen: list = []
        self._fill = fill  # what memory without contents holds

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if wire.EMPTY.match(func._schema.name):
            wire.fill(out, self._fill)
        if (name := func._schema.name.removeprefix("aten::")) not in _MOVES:
            first = out[0] if isinstance(out, (tuple, list)) and out else out
            self.seen.append([name.rstrip("_"), first.numel() if isinstance(first, torch.Tensor) else 1])
        return out


def _has_f32_products(kernels: list) -> bool:
    """Whether kernels of the task's own multiply matrices, and none of them rounds operands to tf32."""
    compiled = [compiled_of(kernel) for kernel in {id(one): one for one in kernels}.values()]
    texts = [str(one.asm["ttir"]) for one in compiled if one.has("ttir")]
    products = [text for text in texts if "tt.dot " in text]
    return bool(products) and not any(facts.facts_of(text)["tf32"] for text in products)


def is_move(name: str) -> bool:
    """Whether an operator only makes, moves or looks at memory."""
    return name.removeprefix("aten::") in _MOVES


def _mapped(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(item, change) for item in value)
    return {k: _mapped(v, change) for k, v in value.items()} if isinstance(value, dict) else value


def _exact(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


# --- other inputs than the task's: by name, what becomes of each tensor


def _shuffled(tensor):
    """The same numbers at other places, floats with other sizes."""
    flat = tensor.reshape(-1)[torch.randperm(tensor.numel())].reshape(tensor.shape)
    return flat * (0.75 + 0.5 * torch.rand(())).to(flat.dtype) if flat.is_floating_point() else flat


def _some(tensor, number: float):
    tensor = tensor.clone()
    if tensor.is_floating_point() and tensor.numel():
        flat = tensor.view(-1)
        flat[torch.randperm(flat.numel())[: max(1, flat.numel() // 50)]] = number
    return tensor


def _strided(tensor):
    """The same numbers with their last two dimensions the other way around in memory, or apart."""
    if tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    apart = tensor.new_zeros((*tensor.shape, 2)) if tensor.dim() else tensor
    if tensor.dim():
        apart[..., 0] = tensor
        return apart[..., 0]
    return tensor


def _steep(tensor):
    """The same numbers, larger at both ends of each dimension: what leaves out an end shows."""
    tensor = tensor.clone()
    for dim, size in enumerate(tensor.shape):
        for end in {0, size - 1} if size else ():
            tensor.select(dim, end).mul_(8.0)
    return tensor


def _is_float(change):
    return lambda tensor: change(tensor) if tensor.dtype in FLOATS else tensor


WAYS = {
    "zeros": _is_float(torch.zeros_like),
    "all equal": _is_float(lambda tensor: torch.full_like(tensor, 0.75)),
    "infinities": _is_float(lambda tensor: _some(tensor, float("inf"))),
    "NaN": _is_float(lambda tensor: _some(tensor, float("nan"))),
    "denormals": _is_float(lambda tensor: tensor * torch.finfo(tensor.dtype).tiny),
    "large offsets": _is_float(lambda tensor: tensor + 100.0),
    "all negative": _is_float(lambda tensor: -tensor.abs() - 1.0),
    "large ends": _is_float(_steep),
    "strides": _strided,
}
SIZES = ("one less", "one")  # of the leading dimension that all tensors have


def _cut(given, to: str):
    """The inputs with a smaller leading dimension; None: they have none in common."""
    tensors: list = []
    _mapped(given, tensors.append)
    sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in tensors}
    if len(sizes) != 1 or (size := sizes.pop()) < 3:
        return None
    return _mapped(given, lambda tensor: tensor[: 1 if to == "one" else size - 1].clone())


class Reference:
    """A task, its inputs and what they should give."""

    def __init__(self, path: str, most: int, chosen: str | None):
        self._task = formats.read(path, most, chosen)
        self._inputs: dict = {}

    def setup(self, seed: int) -> tuple[dict, list]:
        parts: list = []
        task, text = self._task, dict(self._task.setup())
        text["given"] = wire.packed(list(text["given"]), parts)
        task.prepare(seed)
        scaled = {name: list(sizes) for name, sizes in task.scaled.items()}
        told = {"task": text, "rule": task.rule, "scaled": scaled, "is_script": task.is_script}
        told["equal weights"] = {name: list(one) for name, one in task.equal_weights().items()}
        return {"say": "setup", **told}, parts

    def inputs(self, name: str, seed: int) -> tuple[dict, list]:
        """The inputs of that name: own, again (the same call with others), low bits (of own's), or one of
        WAYS and SIZES."""
        torch.manual_seed(seed)
        random.seed(seed), numpy.random.seed(seed % 2**32)  # tasks use these, too
        given = self._task.inputs()
        if name in ("again", "third", "late") and _same(given, self._inputs.get("own")):
            given = _mapped(given, _shuffled)
        elif name == "low bits":
            changed = _mapped(self._inputs["own"], narrow.other_low_bits)
            given = None if _same(self._inputs["own"], changed) else changed
        elif name in WAYS:
            changed = _mapped(given, WAYS[name])
            given = None if _same(given, changed) and name != "strides" else changed
        elif name in SIZES:
            given = _cut(given, name)
        if given is None or (self._task.is_script and name in (*WAYS, *SIZES)):
            return {"say": "none"}, []
        if self._task.is_moved:
            given = _mapped(given, lambda tensor: mark(tensor, "cuda"))
        parts: list = []
        text = {"say": "inputs", "given": wire.packed(list(given), parts)}
        # As the answer's process has them: in memory of their own, with the same strides.
        self._inputs[name] = tuple(wire.unpacked(text["given"], parts))
        return text, parts

    def time(self, name: str, chip: str) -> tuple[dict, list]:
        """Returns the estimated time of the reference as torch.compile makes it."""
        from triton_runner.verbs.judge import estimates  # most trials do without

        given, named = copy.deepcopy(self._inputs[name])
        time = estimates.of_reference(lambda: self._task.call(given, named, False), chip)
        return {"say": "time", "time": as_json(time)}, []

    def expected(self, name: str, seed: int, fill: int = 0xFF) -> tuple[dict, list]:
        """Returns what the reference gives: as the task computes it, and in f64. fill: a byte of memory
        that nothing has written."""
        parts: list = []
        text: dict = {"say": "expected", "is_script": self._task.is_script, "seed": seed}
        for exact in (False, True):
            given, named = copy.deepcopy(self._inputs[name])
            if exact:
                given, named = _mapped(given, _exact), _mapped(named, _exact)
            tensors: list = []
            _mapped([given, named], tensors.append)
            before = [tensor.clone() for tensor in tensors]
            kept = {name: one.clone() for name, one in self._task.state(exact).items()}
            torch.manual_seed(seed)
            try:
                # A script of tests has its own types, and nothing in f64.
                if exact and self._task.is_script:
                    raise TypeError("a script")
                launched: list = []
                with (
                    torch.set_grad_enabled(self._task.is_script),
                    _Operators(fill) as operators,
                    observing(lambda call, go, launched=launched: (launched.append(call.kernel), go())),
                ):
                    result = self._task.call(given, named, exact)
                if (text_alone := _text_alone(result)) is not None:
                    return {"say": "failed", "why": f"it gives no tensor and no number: {text_alone}"}, []
                result = _mapped(result, lambda tensor: tensor.detach())
                text["exact" if exact else "own"] = wire.packed(result, parts)
                now = self._task.state(exact)
                state = {
                    k: v for k, v in now.items() if v.is_floating_point() and not torch.equal(v, kept[k])
                }
                text["exact state" if exact else "state"] = wire.packed(state, parts)
            except Exception as error:
                if not exact:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    where = f"{last.filename}:{last.lineno}"
                    why = f"{type(error).__name__}: {reason_of(error)} ({where})"
                    return {"say": "failed", "why": why}, []
                text["exact"], text["why not exact"] = None, str(error)[:200]
            if not exact:
                text["operators"], text["launches"] = operators.seen, len(launched)
                text["has_f32_products"] = _has_f32_products(launched)
                changed = [
                    not torch.equal(a, b) and not _both_nan(a, b)
                    for a, b in zip(before, tensors, strict=True)
                ]
                text["changed"] = changed
                there: list = []
                _mapped(result, lambda tensor, there=there: there.append(_memory(tensor)))
                text["returned"] = [  # what inputs hold that it changes and returns
                    wire.packed(t, parts) if c and _memory(t) in there else None
                    for t, c in zip(tensors, changed, strict=True)
                ]
        return text, parts


def _text_alone(value) -> str | None:
    """The first text of a result that is made of texts, as of tests that keep what they caught."""
    if isinstance(value, (dict, list, tuple)):
        texts = [_text_alone(item) for item in (value.values() if isinstance(value, dict) else value)]
        return texts[0] if texts and None not in texts else None
    return value[:200] if isinstance(value, str) else None


def _memory(tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _both_nan(a, b) -> bool:
    return a.is_floating_point() and torch.equal(a.nan_to_num(0.5), b.nan_to_num(0.5))


def _same(a, b) -> bool:
    """Whether two inputs hold the same."""
    if b is None:
        return False
    left, right = [], []
    _mapped(list(a), left.append), _mapped(list(b), right.append)
    return len(left) == len(right) and all(
        x.shape == y.shape and x.dtype == y.dtype and (torch.equal(x, y) or _both_nan(x, y))
        for x, y in zip(left, right, strict=True)
    )


def main(
    read: int, write: int, path: str, most: int, chosen: str | None, seconds: float, memory: int
) -> None:
    """Answers questions about a task until its judge has heard enough."""
    sandbox.limits(seconds, memory)
    try:
        reference = Reference(path, most, chosen)
    except formats.NoTask as error:
        wire.send(write, {"say": "no task", "why": str(error)})
        return
    except Exception as error:
        wire.send(write, {"say": "no task", "why": f"{path}: {type(error).__name__}: {error}"})
        return
    while True:
        request, _ = wire.receive(read)
        if request["say"] == "end":
            return
        asked = {name: value for name, value in request.items() if name != "say"}
        try:
            wire.send(write, *getattr(reference, request["say"])(**asked))
        except Exception as error:
            wire.send(write, {"say": "failed", "why": f"{type(error).__name__}: {error}"})
