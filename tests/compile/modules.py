"""Cases of whole modules, of shapes that change, and of Inductor's ways to tune."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from models import case, module, randn, row
from torch import nn

# Modules.


class Block(nn.Module):
    """A transformer's block."""

    def __init__(self, size=64, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.RMSNorm(size)
        self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(
            F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        )
        return x + self.down(F.gelu(self.up(self.norm2(x))))


module("module", "transformer_block", Block, (2, 16, 64), grad=True, rtol=1e-3, atol=1e-4)


@case("module", grad=True, rtol=1e-3, atol=1e-4, kernels=3)
def tiny_gpt(d):
    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(100, 64), nn.Embedding(32, 64)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 100)

        def forward(self, tokens):
            x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
            logits = self.head(self.norm(self.blocks(x)))
            return F.cross_entropy(logits[:, :-1].reshape(-1, 100), tokens[:, 1:].reshape(-1))

    return Gpt().to(d), (torch.randint(0, 100, (2, 16), device=d),)


@case("module", grad=True, rtol=1e-3, atol=1e-4)
def residual_network(d):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
            self.na, self.nb = nn.BatchNorm2d(8), nn.BatchNorm2d(8)

        def forward(self, x):
            return F.adaptive_avg_pool2d(F.relu(x + self.nb(self.b(F.relu(self.na(self.a(x)))))), 1).flatten(
                1
            )

    return Residual().to(d), (randn(2, 8, 10, 10, device=d, grad=True),)


@case("module", grad=True, rtol=1e-3, atol=1e-4)
def lstm_cell(d):
    cell = nn.LSTMCell(16, 32).to(d)

    def f(x):
        h = c = torch.zeros(4, 32, device=x.device)
        for step in x:
            h, c = cell(step, (h, c))
        return h

    return f, (randn(5, 4, 16, device=d, grad=True),)


@case("module", rtol=1e-3, atol=1e-4)
def experts(d):
    gate = nn.Linear(32, 4).to(d)
    weights = randn(4, 32, 32, device=d)

    def f(x):
        share, chosen = gate(x).softmax(-1).topk(2, -1)
        return (torch.einsum("td,tkde->tke", x, weights[chosen]) * share[..., None]).sum(1).relu()

    return f, (randn(10, 32, device=d),)


@case("module")
def key_value_cache(d):
    def f(cache, at, k):
        cache.index_copy_(1, at, k)
        return cache * 2

    return f, (torch.zeros(2, 32, 8, device=d), torch.tensor([5, 6], device=d), randn(2, 2, 8, device=d))


@case("module", grad=True, fullgraph=False)
def graph_break(d):
    def f(x):
        y = x.sin()
        torch._dynamo.graph_break()
        return (y * 2).cos().sum(0)

    return f, (randn(30, 30, device=d, grad=True),)


@case("module", grad=True)
def checkpointed(d):
    from torch.utils.checkpoint import checkpoint

    m = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 16)).to(d)
    return lambda x: checkpoint(m, x, use_reentrant=False).sin(), (randn(8, 16, device=d, grad=True),)


@case("module", grad=True, rtol=3e-2, atol=3e-2, why="products in bf16 under autocast")
def autocast(d):
    m = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8)).to(d)

    def f(x):
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return m(x).float().softmax(-1)

    return f, (randn(16, 32, device=d, grad=True),)


row(
    "module", "functional_grad",
    lambda x: torch.func.vmap(torch.func.grad(lambda v: (v.sin() * v).sum()))(x), (6, 20),
)  # fmt: skip


@case("module", kernels=1)
def adam_step(d):
    def f(weights, grads, first, second):
        for w, g, m, v in zip(weights, grads, first, second, strict=True):
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            w.addcdiv_(m, v.sqrt() + 1e-8, value=-1e-3)
        return weights

    def tensors():
        return [randn(10, 8, device=d), randn(33, device=d)]

    return f, (tensors(), tensors(), [t.abs() for t in tensors()], [t.abs() for t in tensors()])


# Shapes that change, and tuning.


@case("dynamic", dynamic=True)
def dynamic_softmax(d):
    return lambda x: torch.softmax(x * 2, -1).sum(0), [(randn(n, 3 * n, device=d),) for n in (5, 17, 64)]


@case("dynamic", dynamic=True, grad=True, rtol=1e-3, atol=1e-4)
def dynamic_mlp(d):
    m = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32)).to(d)
    return m, [(randn(n, 16, device=d, grad=True),) for n in (3, 8, 50)]


@case("dynamic")
def automatic_dynamic(d):
    return lambda x: (x.exp() / 2).cumsum(0).sum(-1), [(randn(n, 40, device=d),) for n in (10, 11, 30)]


row(
    "tuned", "tuned_pointwise",
    lambda x, y: (x.t() * y).exp(), (64, 128), (128, 64), options={"max_autotune_pointwise": True},
)  # fmt: skip
row(
    "tuned", "coordinate_descent",
    lambda x: (x * 2).softmax(-1), (32, 200), options={"coordinate_descent_tuning": True},
)  # fmt: skip
row(
    "tuned", "tuned_reduction", lambda x: x.sin().sum(-1), (16, 4096),
    options={"max_autotune": True, "coordinate_descent_tuning": True},
)  # fmt: skip
row(
    "tuned", "reduce_overhead", lambda x: (x.sin() + 1).sum(-1), (20, 50), options={"triton.cudagraphs": True}
)  # fmt: skip
row(
    "tuned", "looped_reduction",
    lambda x: F.layer_norm(x, (300,)), (10, 300), options={"triton.persistent_reductions": False},
)  # fmt: skip
row(
    "tuned", "combo_kernels", lambda a, b, c: (a.sin(), b.cos(), c.exp()), (100,), (200,), (50,),
    options={"combo_kernels": True, "benchmark_combo_kernel": False},
)  # fmt: skip
