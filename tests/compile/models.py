"""Functions and modules for torch.compile, each with what it is given: a list that tests/compile/run.py and
the tests walk.

A case is a function of the device that gives (callable, arguments); `@case` names its options, and `row` and
`module` make a case of one expression. The result may hold tensors in any nesting; with grad=True the sum of
its floating-point tensors is differentiated too.
"""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

CASES: dict[str, Case] = {}


@dataclasses.dataclass(frozen=True)
class Case:
    """How a function is compiled and compared. `rtol` and `atol` are for sums in another order; where they
    are wider, `why` says it."""

    name: str
    family: str
    make: object
    grad: bool = False
    rtol: float = 1e-4
    atol: float = 1e-5
    why: str = ""
    options: dict = dataclasses.field(default_factory=dict)  # torch.compile(options=...)
    dynamic: bool | None = None
    kernels: int = 1  # Triton kernels that must have run, at least
    only: str = ""  # "cuda": what Inductor does for a GPU only
    fullgraph: bool = True


HALF = {"rtol": 2e-2, "atol": 2e-2, "why": "eager rounds every step to 16 bits, Inductor computes in f32"}


def case(family: str, **options):
    def enter(make):
        CASES[make.__name__] = Case(make.__name__, family, make, **options)
        return make

    return enter


def randn(*shape, device, dtype=torch.float32, grad=False):
    return torch.randn(*shape, device=device, dtype=dtype).requires_grad_(grad)


def given(arguments, device, grad=False, **_) -> tuple:
    """A shape gives normal numbers, with a gradient if the case has one; the rest are called for theirs."""
    return tuple(a(device) if callable(a) else randn(*a, device=device, grad=grad) for a in arguments)


def row(family: str, name: str, function, *arguments, **options):
    """A case of `function`."""
    CASES[name] = Case(name, family, lambda d: (function, given(arguments, d, **options)), **options)


def module(family: str, name: str, make, *arguments, **options):
    """A case of the module that `make` gives."""
    CASES[name] = Case(name, family, lambda d: (make().to(d), given(arguments, d, **options)), **options)


# Element by element.

row("pointwise", "sin_mul_relu", lambda x, y: (torch.sin(x) * y + 1).relu(), (1000,), (1000,))
row("pointwise", "gelu_silu", lambda x: F.gelu(x) * F.silu(x) + torch.tanh(x), (33, 65), grad=True)


@case("pointwise", grad=True)
def swiglu(d):
    def f(x):
        a, b = x.chunk(2, -1)
        return F.silu(a) * b

    return f, (randn(16, 96, device=d, grad=True),)


row("pointwise", "casts", lambda x: (x.to(torch.bfloat16) * 2 + 1).float() + x.half().float(), (777,), **HALF)
row(
    "pointwise", "integers",
    lambda x: (
        x // 7, x % 7, x << 2, x & 0xF0, x.to(torch.int8), torch.div(x, 3, rounding_mode="trunc"),
    ),
    lambda d: torch.arange(-500, 500, device=d),
)  # fmt: skip
row(
    "pointwise", "logic",
    lambda x, y: (torch.where((x > 0) & ~(y > 0), x, y).clamp(-1, 1), x.isnan() | (x == y)),
    (50, 20), (50, 20),
)  # fmt: skip
row("pointwise", "broadcasts", lambda a, b, c: a * b + c, (8, 1, 30), (5, 1), (30,), grad=True)
row(
    "pointwise", "transposed",
    lambda x, y: x.t() + y.permute(1, 0)[:, ::2].repeat(1, 2), (40, 24), (40, 24),
)  # fmt: skip
row(
    "pointwise", "special_functions",
    lambda x: (
        torch.erf(x), torch.lgamma(x.abs() + 1), torch.expm1(x), torch.log1p(x.abs()), torch.atan2(x, x + 2),
    ),
    (500,),
)  # fmt: skip
row(
    "pointwise", "float64",
    lambda x: torch.exp(x) * torch.cos(x) + x.pow(3), lambda d: randn(300, device=d, dtype=torch.float64),
)  # fmt: skip


@case("pointwise")
def factories(d):
    def f(x):
        return x + torch.arange(64, device=d) + torch.full((64,), 2.0, device=x.device) + torch.ones_like(x)

    return f, (randn(3, 64, device=d),)


row(
    "pointwise", "dropout", lambda x: F.dropout(x, 0.5) * 2, (20, 50),
    why="the same generator draws for both", options={"fallback_random": True},
)  # fmt: skip

# Memory.

row(
    "memory", "cat_stack_pad",
    lambda x, y: F.pad(torch.cat([x, y * 2], 1), (1, 2), value=3.0) + 1, (6, 10), (6, 7), grad=True,
)  # fmt: skip
row(
    "memory", "embedding",
    lambda w, i: F.embedding(i, w) * 2,
    (100, 32), lambda d: torch.randint(0, 100, (4, 9), device=d), grad=True,
)  # fmt: skip
row(
    "memory", "gather_scatter",
    lambda x, i: (torch.gather(x, 1, i) + 1, torch.zeros_like(x).scatter_add(1, i, x)),
    (8, 40), lambda d: torch.randint(0, 40, (8, 40), device=d),
)  # fmt: skip


@case("memory")
def index_put(d):
    def f(x, i, v):
        x = x.clone()
        x[i] = v * 2
        return x

    return f, (randn(50, 8, device=d), torch.randperm(50, device=d)[:10], randn(10, 8, device=d))


@case("memory")
def in_place(d):
    def f(x, y):
        x.mul_(2).add_(y)
        y[:, 0] = 0
        return x.sum() + y.sum()

    return f, (randn(10, 10, device=d), randn(10, 10, device=d))


row(
    "memory", "roll_flip_upsample",
    lambda x: F.interpolate(torch.roll(x, 3, -1).flip(-2), scale_factor=2) + 1, (1, 2, 9, 11),
)  # fmt: skip
row(
    "memory", "max_pool",
    lambda x: F.avg_pool2d(F.max_pool2d(x, 3, 2, 1).relu(), 2), (2, 3, 16, 16), grad=True,
)  # fmt: skip

# Reductions and scans.

row("reduction", "sums", lambda x: (x.sum(), x.mean(0), x.std(1), x.norm()), (64, 100), grad=True)
row("reduction", "long_sum", lambda x: (x.sum(), x.var(), x.amax()), (300_000,))
row(
    "reduction", "extremes",
    lambda x: (x.argmax(-1), x.amin(0), x.max(1), x.prod(1), (x > 2).any(1), (x > -9).all()), (30, 70),
)  # fmt: skip
row("reduction", "scans", lambda x: (x.cumsum(-1), x.logcumsumexp(-1), (x > 0).long().cumsum(0)), (20, 200))
row("reduction", "logsumexp", lambda x: x.logsumexp(-1), (40, 129), grad=True)
row("reduction", "sorting", lambda x: (x.sort(-1), x.abs().sort(-1, descending=True)[0]), (8, 100))
row(
    "reduction", "bucketize",
    lambda x, edges: torch.bucketize(x, edges) * 2, (500,), lambda d: torch.linspace(-2, 2, 17, device=d),
)  # fmt: skip

# Softmax and norms.

row("norm", "softmax", lambda x: torch.softmax(x, -1) * x, (64, 300), grad=True)
row(
    "norm", "cross_entropy",
    lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1),
    (32, 500), lambda d: torch.randint(0, 500, (32,), device=d), grad=True,
)  # fmt: skip
module("norm", "layer_norm", lambda: nn.LayerNorm(200), (16, 200), grad=True)
module("norm", "rms_norm", lambda: nn.RMSNorm(768), (4, 10, 768), grad=True)
module("norm", "batch_norm", lambda: nn.BatchNorm2d(8), (4, 8, 7, 7), grad=True)
module("norm", "group_norm", lambda: nn.Sequential(nn.GroupNorm(4, 16), nn.SiLU()), (2, 16, 9, 9), grad=True)
module(
    "norm", "layer_norm_bf16",
    lambda: nn.LayerNorm(256, dtype=torch.bfloat16),
    lambda d: randn(8, 256, device=d, dtype=torch.bfloat16, grad=True), grad=True, **HALF,
)  # fmt: skip
row(
    "norm", "long_softmax", lambda x: torch.log_softmax(x, -1), (2, 50_000),
    options={"triton.multi_kernel": 0, "split_reductions": False},
)  # fmt: skip

# Products. Without max_autotune they are torch's own, and what is around them is Triton's.

TEMPLATES = {
    "max_autotune": True,
    "max_autotune_gemm_backends": "TRITON",
    "autotune_in_subproc": False,
    "benchmark_epilogue_fusion": False,  # Inductor's file for it is no valid Python for the device "cpu"
    "test_configs.max_mm_configs": 3,  # each is compiled and timed
}
TEMPLATE = {"options": TEMPLATES, "rtol": 1e-3, "atol": 1e-3}


module(
    "product", "linear_gelu",
    lambda: nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 32)), (20, 64), grad=True,
)  # fmt: skip
row("product", "mm_template", lambda a, b: torch.relu(a @ b + 1), (64, 48), (48, 80), **TEMPLATE)
row(
    "product", "mm_template_f16",
    lambda a, b: a @ b, *[lambda d: randn(64, 64, device=d, dtype=torch.float16)] * 2,
    options=TEMPLATES, **HALF,
)  # fmt: skip


@case("product", **TEMPLATE)
def addmm_template(d):
    m = nn.Linear(64, 32).to(d)
    return lambda x: F.silu(m(x)), (randn(40, 64, device=d),)


row("product", "bmm_template", lambda a, b: torch.bmm(a, b) * 2, (3, 32, 40), (3, 40, 16), **TEMPLATE)
module(
    "product", "mlp_templates",
    lambda: nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32)), (32, 32), grad=True, **TEMPLATE,
)  # fmt: skip


@case("product", **TEMPLATE, only="cuda")
def conv_template(d):
    m = nn.Conv2d(8, 16, 3, padding=1).to(d)
    return lambda x: m(x).relu(), (randn(1, 8, 8, 8, device=d),)


module(
    "product", "conv_bn_relu",
    lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()), (2, 3, 12, 12),
    grad=True, rtol=1e-3, atol=1e-4,
)  # fmt: skip


@case("product", **HALF)
def int8_weights(d):
    w = torch.randint(-8, 8, (64, 32), device=d, dtype=torch.int8)
    return lambda x, w: x @ (w.to(x.dtype) * 0.1), (randn(16, 64, device=d), w)


# Attention.


def _qkv(d, batch=1, heads=2, length=64, size=32, grad=True):
    return tuple(randn(batch, heads, length, size, device=d, grad=grad) for _ in range(3))


@case("attention", grad=True, rtol=1e-3, atol=1e-4)
def attention_by_hand(d):
    def f(q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        mask = torch.ones(q.shape[-2], q.shape[-2], device=q.device, dtype=torch.bool).tril()
        return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v

    return f, _qkv(d)


@case("attention", grad=True, rtol=1e-3, atol=1e-4)
def scaled_dot_product(d):
    return lambda q, k, v: F.scaled_dot_product_attention(q * 2, k, v, is_causal=True) + 1, _qkv(d)


@case("attention", grad=False, rtol=1e-3, atol=1e-3, only="cuda")
def flex_causal(d):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device=d)
    return lambda q, k, v: flex_attention(q, k, v, block_mask=mask), _qkv(d, length=128, grad=False)


@case("attention", grad=True, rtol=1e-3, atol=1e-3, only="cuda")
def flex_score_mod(d):
    from torch.nn.attention.flex_attention import flex_attention

    def alibi(score, b, h, q, k):
        return score + (k - q) * 0.1 * (h + 1)

    return lambda q, k, v: flex_attention(q, k, v, score_mod=alibi), _qkv(d, length=128)


@case("attention", grad=True, rtol=1e-3, atol=1e-3, only="cuda")
def flex_gqa(d):
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = randn(1, 4, 128, 32, device=d, grad=True), *_qkv(d, length=128)[:2]
    return lambda q, k, v: flex_attention(q, k, v, enable_gqa=True), (q, k, v)


@case("attention", rtol=1e-3, atol=1e-4)
def rope(d):
    def f(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    angles = torch.arange(16, device=d)[:, None] * torch.rand(32, device=d)
    return f, (randn(2, 4, 16, 32, device=d), angles.cos(), angles.sin())
