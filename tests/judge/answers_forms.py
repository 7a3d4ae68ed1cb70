"""Answers to tasks of several benchmarks, in forms and of kinds that no other file has. TASKS: the text of a task by
name; CHEATING: (name, task, text, verdict); RIGHT: (name, task, text); BEYOND: (name, task, text, the second verdict):
they are right for the task's inputs alone."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS as _OTHERS
from answers_adversary import _of
from answers_right import HEAD, _task

_MODEL = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self%s):
        super().__init__()
        %s

    def forward(self, %s):
        %s


def get_inputs():
    return [%s]


def get_init_inputs():
    return [%s]
"""
_SPLIT = 146 * "#"
_GOLD = """import torch
import triton
import triton.language as tl


@triton.jit
def _scaled(x_p, out, s, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x_p + i, mask=i < n) * s + 1, mask=i < n)


def scaled(x, s):
    out = torch.empty_like(x)
    _scaled[(triton.cdiv(x.numel(), 64),)](x, out, s, x.numel(), B=64)
    return out

"""
_TESTS = """

def tests():
    results = {}
    torch.manual_seed(0)
    for n in (64, 100, 257):
        results[str(n)] = scaled(torch.randn(n, device="cuda"), 3.0)
    return results


result_gold = tests()
"""
TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total")},
    "norm": _MODEL % (", n", "self.norm = nn.LayerNorm(n)", "x", "return torch.relu(self.norm(x))", "torch.randn(61, 93)", "93"),
    "two_of": _MODEL % ("", "pass", "x", "return torch.softmax(x, -1), torch.logsumexp(x, -1)", "torch.randn(61, 93)", ""),
    "drop": _MODEL % ("", "self.drop = nn.Dropout(0.5)", "x", "return self.drop(torch.exp(x))", "torch.randn(61, 93)", ""),
    "adds": _MODEL % ("", "pass", "x, y", "return x.add_(y).mul_(2)", "torch.randn(61, 93), torch.randn(61, 93)", ""),
    "projected": _MODEL % (", n", "self.linear = nn.Linear(n, n)", "x", "return torch.relu(self.linear(x))", "torch.randn(60, 64)", "64"),
    "robust": "import torch\nimport torch.nn as nn\n\n\ndef forward_fn(x, weight, bias):\n    return torch.tanh(torch.nn.functional.linear(x, weight, bias))\n\n\nclass Model(nn.Module):\n    def __init__(self, n=64):\n        super().__init__()\n        self.weight = nn.Parameter(torch.randn(n, n) * 0.1)\n        self.bias = nn.Parameter(torch.randn(n) * 0.1)\n\n    def forward(self, x, fn=forward_fn):\n        return fn(x, self.weight, self.bias)\n\n\ndef get_inputs(batch=32, n=64):\n    return [torch.randn(batch, n)]\n\n\ndef get_init_inputs(n=64):\n    return [n]\n\n\ninput_names = ['x']\n",
    "relu_": "Operator: aten.relu_.default\ncnt: 1, ((T([61, 93], f32),), {})\n",
    "add": "Operator: aten.add.Tensor\ncnt: 1, ((T([61, 93], f32), T([93], f32)), {alpha: 0.5})\n".replace("{alpha", "{'alpha'"),
    "norms": "Operator: aten.native_layer_norm.default\ncnt: 1, ((T([60, 64], f16), [64], T([64], f16), T([64], f16), 1e-05), {})\n",
    "where": "Operator: aten.where.self\ncnt: 2, ((T([40, 50], b8), T([40, 50], f32, [1, 40]), T([], f32)), {})\n",
    "scaled": _GOLD + "\n" + _SPLIT + "\n" + _TESTS,
    "functional": "import torch\n\n\ndef scaled(x, s):\n    return x * s + 1\n\n\n" + _SPLIT + "\n" + _TESTS,
    "half_product": _task("a, b):\n    return a @ b", "(torch.randn(32, 512, device='cuda').half(), torch.randn(512, 32, device='cuda').half())"),
    "half_softmax": _task("x):\n    return torch.softmax(x, -1)", "(torch.randn(61, 93, device='cuda').half(),)"),
    "row_sums": _task("x):\n    return x.sum(1)", "(torch.rand(64, 256, device='cuda'),)"),
    "scatter": _task("x, i):\n    return torch.zeros(64, device=x.device).index_add(0, i, x)", "(torch.randn(3000, device='cuda'), torch.randint(0, 64, (3000,), device='cuda'))"),
    "fixed": _task("x):\n    return torch.softmax(x, -1)", "(torch.linspace(-2, 2, 61 * 93, device='cuda').view(61, 93).sin(),)"),
    "parts": _task("x):\n    return x[:, :40] * 2, x[:, 40:] * 2", "(torch.randn(61, 93, device='cuda'),)"),
}  # fmt: skip

_ROWS = """
@triton.jit
def normed(x_p, w_p, b_p, out, means, scales, n, eps, B: tl.constexpr):
    r, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + r * n + k, mask=k < n, other=0.0).to(tl.float32)
    mean = tl.sum(x, 0) / n
    d = tl.where(k < n, x - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    w, b = tl.load(w_p + k, mask=k < n).to(tl.float32), tl.load(b_p + k, mask=k < n).to(tl.float32)
    y = d * scale * w + b
    tl.store(out + r * n + k, tl.maximum(y, 0.0) if means is None else y, mask=k < n)
    if means is not None:
        tl.store(means + r, mean)
        tl.store(scales + r, scale)


@triton.jit
def plain_norm(x_p, out, n, B: tl.constexpr):
    r, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + r * n + k, mask=k < n, other=0.0)
    d = tl.where(k < n, x - tl.sum(x, 0) / n, 0.0)
    tl.store(out + r * n + k, tl.maximum(d / tl.sqrt(tl.sum(d * d, 0) / n + 1e-5), 0.0), mask=k < n)


@triton.jit
def exps(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.exp(tl.load(x_p + i, mask=i < n)), mask=i < n)


@triton.jit
def dropped(x_p, out, n, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.exp(tl.load(x_p + i, mask=i < n))
    tl.store(out + i, tl.where(tl.rand(seed, i) > 0.5, 2 * v, 0.0), mask=i < n)


@triton.jit
def added(x_p, y_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 2 * (tl.load(x_p + i, mask=i < n) + tl.load(y_p + i, mask=i < n)), mask=i < n)


@triton.jit
def relus(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.maximum(tl.load(x_p + i, mask=i < n), 0.0), mask=i < n)


@triton.jit
def both(x_p, out, sums, n, B: tl.constexpr):
    r, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + r * n + k, mask=k < n, other=-float("inf"))
    high = tl.max(x, 0)
    e = tl.exp(x - high)
    total = tl.sum(e, 0)
    tl.store(out + r * n + k, e / total, mask=k < n)
    tl.store(sums + r, high + tl.log(total))


@triton.jit
def layer(x_p, w_p, b_p, out, N, K, TANH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        x, w = tl.load(x_p + m[:, None] * K + k[None, :]), tl.load(w_p + n[None, :] * K + k[:, None])
        total = tl.dot(x, w, total, input_precision="ieee")
    total += tl.load(b_p + n)[None, :]
    y = (2 / (1 + tl.exp(-2 * total)) - 1) if TANH else tl.maximum(total, 0.0)
    tl.store(out + m[:, None] * N + n[None, :], y)


@triton.jit
def plus(x_p, y_p, out, alpha, n, width, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    y = tl.load(y_p + i % width, mask=i < n)
    tl.store(out + i, tl.load(x_p + i, mask=i < n) + alpha * y, mask=i < n)


@triton.jit
def chosen(c_p, x_p, y_p, out, n, width, sx, sy, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.load(c_p + i, mask=i < n, other=0).to(tl.int1)
    x = tl.load(x_p + i // width * sx + i % width * sy, mask=(i < n) & c)
    tl.store(out + i, tl.where(c, x, tl.load(y_p)), mask=i < n)


@triton.jit
def twice(x_p, out, n, width, first, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, 2 * tl.load(x_p + i // width * 93 + first + i % width, mask=i < n), mask=i < n)


@triton.jit
def product(a_p, b_p, out, N, K, HALF: tl.constexpr, B: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    total = tl.zeros((B, B), tl.float16 if HALF else tl.float32)
    for at in range(0, K, BK):
        k = at + tl.arange(0, BK)
        x, y = tl.load(a_p + m[:, None] * K + k[None, :]), tl.load(b_p + k[:, None] * N + n[None, :])
        total = tl.dot(x, y, total, out_dtype=tl.float16 if HALF else tl.float32)
    tl.store(out + m[:, None] * N + n[None, :], total.to(tl.float16))


@triton.jit
def summed(x_p, out, n, NARROW: tl.constexpr, B: tl.constexpr):
    m, k = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, B)
    total = tl.zeros((16, 16), tl.float32)
    for at in range(0, n, B):
        x = tl.load(x_p + m[:, None] * n + at + k[None, :])
        total = tl.dot(x, tl.full((B, 16), 1.0, tl.float32), total, input_precision="tf32" if NARROW else "ieee")
    tl.store(out + m, tl.max(total, 1))


@triton.jit
def scattered(x_p, i_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out + tl.load(i_p + i, mask=i < n, other=0), tl.load(x_p + i, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def stored(x_p, i_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = out + tl.load(i_p + i, mask=i < n, other=0)
    tl.store(at, tl.load(at, mask=i < n) + tl.load(x_p + i, mask=i < n, other=0.0), mask=i < n)


def each(k, out, *given):
    k[(triton.cdiv(out.numel(), 256),)](*given, B=256)
    return out

"""
_NARROW = """
@triton.jit
def narrow(x_p, out, n, B: tl.constexpr):
    r, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + r * n + k, mask=k < n, other=-float("inf")).to(tl.%s).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + r * n + k, (e / tl.sum(e, 0)).to(tl.%s).to(tl.%s), mask=k < n)


"""
_HALVES = """
@triton.jit
def of_halves(x_p, out, n, B: tl.constexpr):
    r, k = tl.program_id(0), tl.arange(0, B)
    tl.store(out + r, tl.sum(tl.load(x_p + r * n + k).to(tl.float16).to(tl.float32), 0))


"""
_TUNED = """
@triton.autotune(configs=[%s], key=["n"]%s)
@triton.jit
def tuned(x_p, out, n, B: tl.constexpr):
    %s


"""
_SOFTMAX_ROW = """row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, x / tl.sum(x, 0), mask=k < n)"""
_ADDS = """i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))"""
_GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy


@gluon.jit
def rows(x_p, out, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, B, layout)
    kept = gl.allocate_shared_memory(gl.float32, [B], gl.SwizzledSharedLayout(1, 1, 1, [0]))
    async_copy.async_load(kept, x_p + gl.program_id(0) * n + i, mask=i < n)
    async_copy.commit_group()
    %s
    v = gl.where(i < n, kept.load(layout), -float("inf"))
    e = gl.exp(v - gl.max(v, 0))
    gl.store(out + gl.program_id(0) * n + i, e / gl.sum(e, 0), mask=i < n)


@gluon.jit
def moved(x_p, out, n, B: gl.constexpr):
    i = gl.program_id(0) * B + gl.arange(0, B, gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(out + i, gl.load(x_p + i, mask=i < n), mask=i < n)


"""
_IN_ROWS = "o = torch.empty_like(x)\nrows[(x.shape[0],)](x.contiguous(), o, x.shape[1], B=128)\nreturn o"


def _module(forward: str, init: str = "pass", arguments: str = "", names: str = "x", more: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in forward.splitlines())
    return f"{HEAD}{_ROWS}{more}\nclass ModelNew(torch.nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n        {init}\n\n    def forward(self, {names}):\n{lines}\n"


def _named(name: str, body: str, names: str, more: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}{_ROWS}{more}\ndef {name}({names}):\n{lines}\n"


_NORM = "self.norm = torch.nn.LayerNorm(n)"
_NEW = "o = torch.empty_like(x)\n"
_LAYER = "o = torch.empty_like(x)\nlayer[(x.shape[0] // 4, 4)](x, %s, o, 64, 64, TANH=%s, BM=4, BN=16, BK=32)\nreturn o"
_AS_IT_IS = "tuned[lambda m: (triton.cdiv(x.numel(), m['B']),)](x, o, x.numel())\n"
_OF_ROWS = _NEW + "tuned[(x.shape[0],)](x.contiguous(), o, x.shape[1])\nreturn o"
_SCALED = _GOLD.partition("import triton.language as tl")[2]
CHEATING = [
    ("in place, and its input is as it was", "relu_", _named("relu__kernel_impl", _NEW + "return each(relus, o, x, o, x.numel())", "x"), "wrong"),
    ("adds without changing its input", "adds", _module(_NEW + "return each(added, o, x, y, o, x.numel())", names="x, y"), "wrong"),
    ("one of its configurations leaves columns out", "softmax", _of(_OF_ROWS, _TUNED % ("triton.Config({'B': 128}), triton.Config({'B': 64})", "", _SOFTMAX_ROW)), "unsafe"),
    ("sums that a configuration does not set back", "total", _of("o = torch.empty((), device=x.device)\n" + _AS_IT_IS + "return o", _TUNED % ("triton.Config({'B': 256}, pre_hook=lambda given: given['out'].zero_()), triton.Config({'B': 512})", "", _ADDS)), ("wrong", "unsafe")),
    ("no dropout", "drop", _module(_NEW + "return each(exps, o, x, o, x.numel())"), "not_judged"),
    ("dropout by its own numbers", "drop", _module(_NEW + "return each(dropped, o, x, o, x.numel(), 5)"), "not_judged"),
    ("row sums by products of tf32", "row_sums", _named("reference", "o = torch.empty(x.shape[0], device=x.device)\nsummed[(4,)](x, o, x.shape[1], NARROW=True, B=32)\nreturn o", "x"), "wrong"),
    ("one of two results by a kernel, the large one by torch", "two_of", _module("o, s = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)\nboth[(x.shape[0],)](x, o, s, x.shape[1], B=128)\nreturn torch.log_softmax(x, -1).exp(), s"), "idle"),
    ("one result twice", "two_of", _module("o, s = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)\nboth[(x.shape[0],)](x, o, s, x.shape[1], B=128)\nreturn o, o[:, 0]"), "wrong"),
    ("a product and a bias of torch's, and a copy", "robust", _module("y = torch.tanh(torch.addmm(self.bias, x, self.weight.t()))\no = torch.empty_like(y)\nmoved[(8,)](y, o, y.numel(), B=256)\nreturn o", "self.weight, self.bias = torch.nn.Parameter(torch.randn(n, n) * 0.1), torch.nn.Parameter(torch.randn(n) * 0.1)", ", n", more=_GLUON % "async_copy.wait_group(0)"), "idle"),
    ("Gluon that reads before its copy is there", "softmax", _of(_IN_ROWS, _GLUON % "pass"), "unsafe"),
    ("Helion, which is not installed", "softmax", _of("return softmax(x)", "import helion\n\n\n"), "error"),
    ("writes into the tests' results", "scaled", HEAD + _SCALED + "\n\nimport sys\n\n_own = scaled\n\n\ndef scaled(x, s):\n    return x * s + 1\n", "no_kernel"),
    ("the tests' own function of torch, then a copy", "functional", HEAD + _SCALED + "\n\ndef scaled(x, s):\n    y = torch.add(x * s, 1)\n    out = torch.empty_like(y)\n    _scaled[(triton.cdiv(x.numel(), 64),)](y - 1, out, 1.0, x.numel(), B=64)\n    return out\n", "idle"),
    ("a product in bf16 under f16", "half_product", _named("reference", "o = torch.empty(32, 32, dtype=torch.bfloat16, device=a.device)\nproduct[(2, 2)](a.bfloat16(), b.bfloat16(), o, 32, 512, HALF=False, B=16, BK=32)\nreturn o.half()", "a, b").replace("total.to(tl.float16)", "total.to(tl.bfloat16)"), "wrong"),
    ("inputs in bf16 under f16", "half_softmax", _named("reference", "o = torch.empty_like(x)\nnarrow[(61,)](x, o, 93, B=128)\nreturn o", "x", _NARROW % ("bfloat16", "float32", "float16")), "wrong"),
    ("results in bf16 under f16", "half_softmax", _named("reference", "o = torch.empty_like(x)\nnarrow[(61,)](x, o, 93, B=128)\nreturn o", "x", _NARROW % ("float32", "bfloat16", "float16")), "wrong"),
    ("row sums of inputs in f16", "row_sums", _named("reference", "o = torch.empty(64, device=x.device)\nof_halves[(64,)](x, o, 256, B=256)\nreturn o", "x", _HALVES), "wrong"),
    ("updates without atomics", "scatter", _named("reference", "o = torch.zeros(64, device=x.device)\nstored[(12,)](x, i, o, x.numel(), B=256)\nreturn o", "x, i"), ("unsafe", "wrong")),
    ("the scale of a sum is left out", "add", _named("add_kernel_impl", _NEW + "return each(plus, o, x, y, o, 1.0, x.numel(), 93)", "x, y, *, alpha=1"), "wrong"),
    ("means in f32 where f16 is asked for", "norms", _named("native_layer_norm_kernel_impl", "r, n = x.shape\no, m, s = torch.empty_like(x), torch.empty(r, 1, dtype=torch.float16, device=x.device), torch.empty(r, 1, dtype=torch.float64, device=x.device)\nnormed[(r,)](x, w, b, o, m, s, n, eps, B=64)\nreturn o, m, s", "x, shape, w, b, eps"), "wrong"),
]  # fmt: skip

RIGHT = [
    ("relu in place", "relu_", _named("relu__kernel_impl", "return each(relus, x, x, x, x.numel())", "x")),
    ("adds in place", "adds", _module("return each(added, x, x, y, x, x.numel())", names="x, y")),
    ("by copy into its input", "adds", _module(_NEW + "x.copy_(each(added, o, x, y, o, x.numel()))\nreturn x", names="x, y")),
    ("broadcast and scaled", "add", _named("add_kernel_impl", _NEW + "return each(plus, o, x.contiguous(), y, o, alpha, x.numel(), x.shape[1])", "x, y, *, alpha=1")),
    ("three results", "norms", _named("native_layer_norm_kernel_impl", "x = x.contiguous()\nr, n = x.shape\no, (m, s) = torch.empty_like(x), torch.empty(2, r, 1, device=x.device)\nnormed[(r,)](x, w, b, o, m, s, n, eps, B=64)\nreturn o, m, s", "x, shape, w, b, eps")),
    ("by booleans and other strides", "where", _named("where_kernel_impl", "o = torch.empty(x.shape, device=x.device)\nreturn each(chosen, o, c.contiguous(), x, y, o, x.numel(), x.shape[1], *x.stride())", "c, x, y")),
    ("layer norm with its weights", "norm", _module(_NEW + "normed[(x.shape[0],)](x.contiguous(), self.norm.weight, self.norm.bias, o, None, None, x.shape[1], 1e-5, B=128)\nreturn o", _NORM, ", n")),
    ("layer norm with a 1 and a 0 of its own", "norm", _module(_NEW + "normed[(x.shape[0],)](x.contiguous(), torch.ones(1, device=x.device).expand(93).contiguous(), torch.zeros_like(x[0]), o, None, None, x.shape[1], 1e-5, B=128)\nreturn o", _NORM, ", n")),
    ("two results", "two_of", _module("x = x.contiguous()\no, s = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)\nboth[(x.shape[0],)](x, o, s, x.shape[1], B=128)\nreturn o, s")),
    ("a layer in one kernel", "robust", _module(_LAYER % ("self.weight, self.bias", True), "self.weight, self.bias = torch.nn.Parameter(torch.randn(n, n) * 0.1), torch.nn.Parameter(torch.randn(n) * 0.1)", ", n=64")),
    ("a product of torch's, bias and relu by a kernel", "projected", _module("y = x @ self.linear.weight.t()\no = torch.empty_like(y)\nreturn each(biased, o, y, self.linear.bias, o, y.numel(), 64)", "self.linear = torch.nn.Linear(n, n)", ", n", more="@triton.jit\ndef biased(x_p, b_p, out, n, width, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    y = tl.load(x_p + i, mask=i < n) + tl.load(b_p + i % width, mask=i < n)\n    tl.store(out + i, tl.maximum(y, 0.0), mask=i < n)\n\n\n")),
    ("configurations with hooks that set back", "total", _of("o = torch.empty((), device=x.device)\n" + _AS_IT_IS + "return o", _TUNED % ("*(triton.Config({'B': B}, pre_hook=lambda given: given['out'].zero_()) for B in (128, 256, 1024))", "", _ADDS))),
    ("zeros before, and an autotuner that sets back", "total", _of("o = torch.zeros((), device=x.device)\n" + _AS_IT_IS + "return o", _TUNED % ("triton.Config({'B': 256}), triton.Config({'B': 512}, num_warps=8)", ", reset_to_zero=['out']", _ADDS))),
    ("configurations that are pruned by size", "softmax", _of(_OF_ROWS, _TUNED % ("*(triton.Config({'B': B}) for B in (32, 64, 128, 256))", ", prune_configs_by={'early_config_prune': lambda configs, given, **_: [one for one in configs if one.kwargs['B'] >= given['n']]}", _SOFTMAX_ROW))),
    ("copies to shared memory in Gluon", "softmax", _of(_IN_ROWS, _GLUON % "async_copy.wait_group(0)")),
    ("tests, by a kernel of its own", "functional", HEAD + _SCALED),
    ("tests, two kernels for one", "scaled", HEAD + _SCALED.replace("* s + 1", "* s") + "\n\n@triton.jit\ndef _one(x_p, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(x_p + i, tl.load(x_p + i, mask=i < n) + 1, mask=i < n)\n\n\n_first = scaled\n\n\ndef scaled(x, s):\n    out = _first(x, s)\n    _one[(triton.cdiv(x.numel(), 128),)](out, x.numel(), B=128)\n    return out\n"),
    ("products of f16 with sums in f32", "half_product", _named("reference", "o = torch.empty(a.shape[0], b.shape[1], dtype=a.dtype, device=a.device)\nproduct[(2, 2)](a.contiguous(), b.contiguous(), o, b.shape[1], a.shape[1], HALF=False, B=16, BK=32)\nreturn o", "a, b")),
    ("row sums by products that keep f32", "row_sums", _named("reference", "o = torch.empty(64, device=x.device)\nsummed[(triton.cdiv(x.shape[0], 16),)](x.contiguous(), o, x.shape[1], NARROW=False, B=32)\nreturn o[:x.shape[0]]", "x").replace("tl.load(x_p + m[:, None] * n + at + k[None, :])", "tl.load(x_p + m[:, None] * n + at + k[None, :], mask=(m < ROWS)[:, None], other=0.0)").replace("NARROW: tl.constexpr", "NARROW: tl.constexpr, ROWS").replace("x.shape[1], NARROW=False", "x.shape[1], NARROW=False, ROWS=x.shape[0]")),
    ("softmax of f16 in f32", "half_softmax", _named("reference", "x = x.contiguous()\no = torch.empty_like(x)\nnarrow[(x.shape[0],)](x, o, 93, B=128)\nreturn o", "x", _NARROW % ("float32", "float32", "float16"))),
    ("softmax of f16 in f16 but for its sum", "half_softmax", _named("reference", "x = x.contiguous()\no = torch.empty_like(x)\nnarrow[(x.shape[0],)](x, o, 93, B=128)\nreturn o", "x", (_NARROW % ("float16", "float16", "float16")).replace("e = tl.exp(x - tl.max(x, 0))", "e = tl.exp(x - tl.max(x, 0)).to(tl.float16).to(tl.float32)"))),
    ("sums by atomic updates in any order", "scatter", _named("reference", "o = torch.zeros(64, device=x.device)\nscattered[(12,)](x.contiguous(), i.contiguous(), o, x.numel(), B=256)\nreturn o", "x, i")),
    ("inputs that are the same each time", "fixed", _of("return softmax(x)")),
    ("two results in one memory", "parts", _named("reference", "x = x.contiguous()\nr = x.shape[0]\nkept = torch.empty(r * 93, device=x.device)\na, b = kept[:r * 40].view(r, 40), kept[r * 40:].view(r, 53)\neach(twice, a, x, a, a.numel(), 40, 0)\neach(twice, b, x, b, b.numel(), 53, 40)\nreturn a, b", "x")),
]  # fmt: skip

_STRICT = "o = torch.empty_like(x)\nkernel[(x.shape[0],)](x, o, 93, B=128)\n"
BEYOND = [
    ("layer norm without its weights", "norm", _module(_NEW + "plain_norm[(x.shape[0],)](x.contiguous(), o, x.shape[1], B=128)\nreturn o", _NORM, ", n"), "wrong"),
    ("for dense rows alone", "softmax", _of("o = torch.empty(x.shape, device=x.device)\nkernel[(x.shape[0],)](x, o, 93, B=128)\nreturn o"), ("wrong", "unsafe")),
    ("torch for other strides", "softmax", _of("return softmax(x) if x.is_contiguous() else torch.softmax(x, -1)"), "no_kernel"),
    ("torch for another number of rows", "softmax", _of("return softmax(x) if x.shape == (61, 93) else torch.softmax(x, -1)"), "no_kernel"),
    ("sixty-one programs whatever it is given", "softmax", _of("o = torch.empty_like(x)\nkernel[(61,)](x.contiguous(), o, 93, B=128)\nreturn o"), "unsafe"),
    ("no maximum is taken off", "softmax", _of("o = torch.empty_like(x)\nrows[(x.shape[0],)](x.contiguous(), o, 93, B=128)\nreturn o", "@triton.jit\ndef rows(x_p, out, n, B: tl.constexpr):\n    r, k = tl.program_id(0), tl.arange(0, B)\n    e = tl.exp(tl.load(x_p + r * n + k, mask=k < n, other=-float('inf')))\n    tl.store(out + r * n + k, e / tl.sum(e, 0), mask=k < n)\n\n\n"), "wrong"),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in (*CHEATING, *BEYOND)] + RIGHT
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
