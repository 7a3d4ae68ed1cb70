"""Right answers to tasks of the judge, each a real kernel, most of them with several parameters: none may be called
tampered or wrong. TASKS: the text of a task by name; ANSWERS: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

HEAD = """import torch
import triton
import triton.language as tl


"""
TASK = "import torch\n\n\n"


def _task(reference: str, inputs: str, more: str = "") -> str:
    return f"{TASK}{more}def reference({reference}\n\n\ndef inputs():\n    return {inputs}\n"


_RAND = "torch.randn(61, 93, device='cuda')"
TASKS = {
    "gelu": _task("x):\n    return torch.nn.functional.gelu(x)", f"({_RAND},)"),
    "add_half": _task("x, y):\n    return x + y", f"({_RAND}.half(), {_RAND}.half())"),
    "softmax": _task("x):\n    return torch.softmax(x, dim=-1)", f"({_RAND},)"),
    "softmax_bf16": _task(
        "x):\n    return torch.softmax(x.float(), -1).bfloat16()", f"({_RAND}.bfloat16(),)"
    ),
    "layer_norm": _task(
        "x, w, b):\n    return torch.nn.functional.layer_norm(x, x.shape[-1:], w, b)",
        f"({_RAND}, torch.rand(93, device='cuda'), torch.randn(93, device='cuda'))",
    ),
    "rms_norm": _task(
        "x, w):\n    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w",
        f"({_RAND}, torch.rand(93, device='cuda'))",
    ),
    "matmul": _task(
        "a, b):\n    return a @ b",
        "(torch.randn(90, 75, device='cuda'), torch.randn(75, 110, device='cuda'))",
    ),
    "matmul_half": _task(
        "a, b):\n    return a @ b",
        "(torch.randn(90, 75, device='cuda').half(), torch.randn(75, 110, device='cuda').half())",
    ),
    "total": _task("x):\n    return x.sum()", "(torch.rand(5000, device='cuda'),)"),
    "total_int": _task("x):\n    return x.sum()", "(torch.randint(0, 100, (5000,), device='cuda'),)"),
    "mse": _task("x, y):\n    return ((x - y) ** 2).mean()", f"({_RAND}, {_RAND})"),
    "transpose": _task("x):\n    return x.t().contiguous()", f"({_RAND},)"),
    "cumsum": _task("x):\n    return torch.cumsum(x, dim=1)", f"({_RAND},)"),
    "argmax": _task("x):\n    return torch.argmax(x, dim=1)", f"({_RAND},)"),
    "histogram": _task(
        "x):\n    return torch.bincount(x, minlength=64).int()",
        "(torch.randint(0, 64, (3000,), device='cuda'),)",
    ),
    "max_pool": _task("x):\n    return torch.nn.functional.max_pool1d(x, 3)", f"({_RAND},)"),
    "attention": _task(
        "q, k, v):\n    return torch.softmax(q @ k.transpose(1, 2) * 0.125, -1) @ v",
        "tuple(torch.randn(4, 64, 64, device='cuda') for _ in range(3))",
    ),
    "cross_entropy": _task(
        "x, t):\n    return torch.nn.functional.cross_entropy(x, t, reduction='none')",
        f"({_RAND}, torch.randint(0, 93, (61,), device='cuda'))",
    ),
    "embedding": _task("w, i):\n    return w[i]", f"({_RAND}, torch.randint(0, 60, (50,), device='cuda'))"),
    "quotient": _task(
        "x, y):\n    return torch.where(y != 0, x / torch.where(y != 0, y, 1), 0)",
        f"({_RAND}, torch.randint(-2, 3, (61, 93), device='cuda').float())",
    ),
    "quantised": _task(
        "x):\n    return torch.round(x * (127 / x.abs().max())).to(torch.int8)", f"({_RAND},)"
    ),
    "in_place": _task("x):\n    x.mul_(2.5)\n    return x", f"({_RAND},)"),
    "two": _task("x):\n    return x.amax(1), x.amin(1)", f"({_RAND},)"),
    "linear_softmax": """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.softmax(self.linear(x), dim=-1)


batch_size = 32
features = 96


def get_inputs():
    return [torch.randn(batch_size, features)]


def get_init_inputs():
    return [features]
""",
    "batch_norm": """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.randn(40, 64)]


def get_init_inputs():
    return [64]
""",
}

_ELEMENTWISE = """
@triton.jit
def kernel({pointers}, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
{body}
    tl.store(out + i, y, mask=m)


def reference({names}):
    first = {first}
    out = torch.empty_like(first)
    n = first.numel()
    kernel[(triton.cdiv(n, {B}),)]({passed}, out, n, B={B}, num_warps={warps})
    return out
"""


def _elementwise(names: str, body: str, B: int, warps: int) -> str:
    each = names.split(", ")
    passed = ", ".join(f"{name}.contiguous()" for name in each)
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return HEAD + _ELEMENTWISE.format(
        pointers=", ".join(f"{name}_p" for name in each), body=lines, names=names, B=B, warps=warps,
        first=f"{each[0]}.contiguous()", passed=passed,
    )  # fmt: skip


_ROWS = """
@triton.jit
def kernel({pointers}, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, B)
    m = k < n
    x = tl.load(x_p + row * n + k, mask=m, other={other}).to(tl.float32)
{body}


def reference({names}):
    x = x.contiguous()
    out = {out}
    kernel[(x.shape[0],)]({passed}, out, x.shape[1], B={B}, num_warps={warps})
    return out
"""


def _rows(
    names: str, body: str, B: int, warps: int, other: str = "0.0", out: str = "torch.empty_like(x)"
) -> str:
    each = names.split(", ")
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return HEAD + _ROWS.format(
        pointers=", ".join(f"{name}_p" for name in each), names=names, body=lines, B=B, warps=warps, other=other,
        out=out, passed=", ".join(each),
    )  # fmt: skip


_SOFTMAX = """x = tl.exp(x - tl.max(x, 0))
tl.store(out + row * n + k, x / tl.sum(x, 0), mask=m)"""
_ONLINE = (
    HEAD
    + """
@triton.jit
def kernel(x_p, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, B)
    high, total = -float("inf"), 0.0
    for start in range(0, n, B):
        x = tl.load(x_p + row * n + start + k, mask=start + k < n, other=-float("inf")).to(tl.float32)
        now = tl.maximum(high, tl.max(x, 0))
        total = total * tl.exp(high - now) + tl.sum(tl.exp(x - now), 0)
        high = now
    for start in range(0, n, B):
        x = tl.load(x_p + row * n + start + k, mask=start + k < n, other=-float("inf")).to(tl.float32)
        tl.store(out + row * n + start + k, tl.exp(x - high) / total, mask=start + k < n)


def reference(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    kernel[(x.shape[0],)](x, out, x.shape[1], B=%d)
    return out
"""
)
_LAYER_NORM = """mean = tl.sum(x, 0) / n
d = tl.where(m, x - mean, 0.0)
r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + 1e-5)
y = d * r * tl.load(w_p + k, mask=m) + tl.load(b_p + k, mask=m)
tl.store(out + row * n + k, y, mask=m)"""
_RMS_NORM = """r = tl.rsqrt(tl.sum(x * x, 0) / n + 1e-6)
tl.store(out + row * n + k, x * r * tl.load(w_p + k, mask=m), mask=m)"""
_MATMUL = (
    HEAD
    + """
@triton.jit
def kernel(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + i[:, None] * am + k[None, :] * ak, mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * bk + j[None, :] * bn, mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
        total = tl.dot(x, y, total%(dot)s)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))


def reference(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, %(BM)d), triton.cdiv(N, %(BN)d))
    kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BM=%(BM)d, BN=%(BN)d, BK=%(BK)d)
    return c
"""
)
_TOTAL_ATOMIC = (
    HEAD
    + """
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0), 0))


def reference(x):
    out = torch.zeros((), device=x.device, dtype=x.dtype)
    kernel[(triton.cdiv(x.numel(), %d),)](x.contiguous(), out, x.numel(), B=%d)
    return out
"""
)
_TOTAL_LAST_BLOCK = (
    HEAD
    + """
@triton.jit
def kernel(x, parts, count, out, n, P: tl.constexpr, B: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    tl.store(parts + p, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))
    done = tl.atomic_add(count, 1)
    if done == tl.num_programs(0) - 1:
        k = tl.arange(0, P)
        tl.store(out, tl.sum(tl.load(parts + k, mask=k < tl.num_programs(0), other=0.0), 0))


def reference(x):
    blocks = triton.cdiv(x.numel(), %(B)d)
    parts = torch.empty(blocks, device=x.device)
    count, out = torch.zeros(1, dtype=torch.int32, device=x.device), torch.empty((), device=x.device)
    kernel[(blocks,)](x.contiguous(), parts, count, out, x.numel(), P=triton.next_power_of_2(blocks), B=%(B)d)
    return out
"""
)
_TOTAL_LOCK = (
    HEAD
    + """
@triton.jit
def kernel(x, lock, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    part = tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


def reference(x):
    lock, out = torch.zeros(1, dtype=torch.int32, device=x.device), torch.zeros((), device=x.device)
    kernel[(triton.cdiv(x.numel(), %(B)d),)](x.contiguous(), lock, out, x.numel(), B=%(B)d)
    return out
"""
)
_MSE = (
    HEAD
    + """
@triton.jit
def kernel(x, y, parts, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.load(x + i, mask=i < n, other=0.0) - tl.load(y + i, mask=i < n, other=0.0)
    tl.store(parts + tl.program_id(0), tl.sum(d * d, 0))


def reference(x, y):
    parts = torch.empty(triton.cdiv(x.numel(), %(B)d), device=x.device)
    kernel[(parts.numel(),)](x.contiguous(), y.contiguous(), parts, x.numel(), B=%(B)d)
    return parts.sum() / x.numel()
"""
)
_TRANSPOSE = (
    HEAD
    + """
@triton.jit
def kernel(x, out, M, N, xm, xn, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    m = (i[:, None] < M) & (j[None, :] < N)
    t = tl.load(x + i[:, None] * xm + j[None, :] * xn, mask=m)
    tl.store(out + j[:, None] * M + i[None, :], tl.trans(t), mask=tl.trans(m))


def reference(x):
    M, N = x.shape
    out = torch.empty(N, M, device=x.device, dtype=x.dtype)
    kernel[(triton.cdiv(M, %(B)d), triton.cdiv(N, %(B)d))](x, out, M, N, *x.stride(), B=%(B)d)
    return out
"""
)
_HISTOGRAM = (
    HEAD
    + """
@triton.jit
def kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(out + v, 1, mask=i < n)


def reference(x):
    out = torch.zeros(64, dtype=torch.int32, device=x.device)
    kernel[(triton.cdiv(x.numel(), %(B)d),)](x.contiguous(), out, x.numel(), B=%(B)d)
    return out
"""
)
_MAX_POOL = (
    HEAD
    + """
@triton.jit
def kernel(x, out, n, of, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    m = k < of
    y = tl.load(x + row * n + 3 * k, mask=m)
    y = tl.maximum(y, tl.load(x + row * n + 3 * k + 1, mask=m), propagate_nan=tl.PropagateNan.ALL)
    y = tl.maximum(y, tl.load(x + row * n + 3 * k + 2, mask=m), propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + row * of + k, y, mask=m)


def reference(x):
    x, of = x.contiguous(), x.shape[1] // 3
    out = torch.empty(x.shape[0], of, device=x.device)
    kernel[(x.shape[0],)](x, out, x.shape[1], of, B=%d)
    return out
"""
)
_ATTENTION = (
    HEAD
    + """
@triton.jit
def kernel(q, k, v, out, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    base, d = tl.program_id(1) * n * D, tl.arange(0, D)
    x = tl.load(q + base + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    high = tl.full((BM,), -float("inf"), tl.float32)
    total, sums = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        j = start + tl.arange(0, BN)
        y = tl.load(k + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        s = tl.dot(x, tl.trans(y), input_precision="ieee") * 0.125
        s = tl.where(j[None, :] < n, s, -float("inf"))
        now = tl.maximum(high, tl.max(s, 1))
        p, scale = tl.exp(s - now[:, None]), tl.exp(high - now)
        z = tl.load(v + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        sums = sums * scale[:, None] + tl.dot(p, z, input_precision="ieee")
        total, high = total * scale + tl.sum(p, 1), now
    tl.store(out + base + i[:, None] * D + d[None, :], sums / total[:, None], mask=i[:, None] < n)


def reference(q, k, v):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    out = torch.empty_like(q)
    grid = (triton.cdiv(q.shape[1], %(BM)d), q.shape[0])
    kernel[grid](q, k, v, out, q.shape[1], D=q.shape[2], BM=%(BM)d, BN=%(BN)d)
    return out
"""
)
_ENTROPY = """t = tl.load(t_p + row)
high = tl.max(x, 0)
log = high + tl.log(tl.sum(tl.exp(x - high), 0))
tl.store(out + row, log - tl.sum(tl.where(k == t, x, 0.0), 0))"""
_EMBEDDING = (
    HEAD
    + """
@triton.jit
def kernel(w, i, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    at = tl.load(i + row)
    tl.store(out + row * n + k, tl.load(w + at * n + k, mask=k < n), mask=k < n)


def reference(w, i):
    out = torch.empty(i.numel(), w.shape[1], device=w.device)
    kernel[(i.numel(),)](w.contiguous(), i.contiguous(), out, w.shape[1], B=%d)
    return out
"""
)
_QUANTISED = (
    HEAD
    + """
@triton.jit
def kernel(x, out, scale, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    y = tl.load(x + i, mask=i < n, other=0.0) * scale
    low = tl.floor(y)
    d = y - low
    odd = (low - 2 * tl.floor(low / 2)) != 0
    y = tl.where((d > 0.5) | ((d == 0.5) & odd), low + 1, low)
    tl.store(out + i, y.to(tl.int8), mask=i < n)


def reference(x):
    x, out = x.contiguous(), torch.empty(x.shape, dtype=torch.int8, device=x.device)
    kernel[(triton.cdiv(x.numel(), %(B)d),)](x, out, %(scale)s, x.numel(), B=%(B)d)
    return out
"""
)
_IN_PLACE = (
    HEAD
    + """
@triton.jit
def kernel(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2.5, mask=i < n)


def reference(x):
    kernel[(triton.cdiv(x.numel(), %(B)d),)](x, x.numel(), B=%(B)d)
    return x
"""
)
_TWO = (
    HEAD
    + """
@triton.jit
def kernel(x, high, low, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    tl.store(high + row, tl.max(tl.load(x + row * n + k, mask=k < n, other=-float("inf")), 0))
    tl.store(low + row, tl.min(tl.load(x + row * n + k, mask=k < n, other=float("inf")), 0))


def reference(x):
    x = x.contiguous()
    high, low = torch.empty(x.shape[0], device=x.device), torch.empty(x.shape[0], device=x.device)
    kernel[(x.shape[0],)](x, high, low, x.shape[1], B=%d)
    return high, low
"""
)
_MODULE = (
    HEAD
    + """
@triton.jit
def kernel(x_p, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    k = tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, x / tl.sum(x, 0), mask=k < n)


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
        self.calls = 0

    def forward(self, x):
        %(prepare)s
        x = self.linear(x)
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, out, x.shape[1], B=%(B)d)
        return out
"""
)
_BATCH_NORM = (
    HEAD
    + """
@triton.jit
def kernel(x, w, b, mean, var, out, N, C, eps, momentum, B: tl.constexpr):
    c, i = tl.program_id(0), tl.arange(0, B)
    m = i < N
    v = tl.load(x + i * C + c, mask=m, other=0.0)
    a = tl.sum(v, 0) / N
    d = tl.where(m, v - a, 0.0)
    s = tl.sum(d * d, 0)
    y = d / tl.sqrt(s / N + eps) * tl.load(w + c) + tl.load(b + c)
    tl.store(out + i * C + c, tl.maximum(y, 0.0), mask=m)
    tl.store(mean + c, (1 - momentum) * tl.load(mean + c) + momentum * a)
    tl.store(var + c, (1 - momentum) * tl.load(var + c) + momentum * s / (N - 1))


class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(features)

    def forward(self, x):
        x, norm = x.contiguous(), self.norm
        out = torch.empty_like(x)
        B = triton.next_power_of_2(x.shape[0])
        kernel[(x.shape[1],)](x, norm.weight, norm.bias, norm.running_mean, norm.running_var, out, *x.shape,
                              norm.eps, norm.momentum, B=B, num_warps=%d)
        return out
"""
)
_GELU = "x = tl.load(x_p + i, mask=m)\ny = 0.5 * x * (1 + tl.erf(x * 0.70710678118654752))"
_ADD = "y = tl.load(x_p + i, mask=m) + tl.load(y_p + i, mask=m)"
_QUOTIENT = (
    "a = tl.load(x_p + i, mask=m)\nb = tl.load(y_p + i, mask=m, other={other})\n"
    "y = tl.where(b != 0, a / {by}, 0.0)"
)
_CUMSUM = "tl.store(out + row * n + k, tl.cumsum(x, 0), mask=m)"
_ARGMAX = "tl.store(out + row, tl.argmax(x, 0))"
_INDICES = "torch.empty(x.shape[0], dtype=torch.int64, device=x.device)"
_ONE_A_ROW = "torch.empty(x.shape[0], device=x.device)"
_WARM = (
    "self.calls += 1\n        if self.calls == 1:\n            kernel[(1,)](x, torch.empty_like(x), 8, B=8)"
)

ANSWERS = [
    *((f"gelu {B} {w}", "gelu", _elementwise("x", _GELU, B, w)) for B, w in ((128, 4), (256, 8), (1024, 1), (64, 2))),
    *((f"add {B}", "add_half", _elementwise("x, y", _ADD, B, 4)) for B in (128, 512, 2048)),
    *((f"softmax {B} {w}", "softmax", _rows("x", _SOFTMAX, B, w, "-float('inf')")) for B, w in ((128, 4), (256, 1))),
    *((f"softmax online {B}", "softmax", _ONLINE % B) for B in (16, 32, 64)),
    ("softmax bf16", "softmax_bf16", _rows("x", _SOFTMAX, 128, 4, "-float('inf')")),
    ("softmax bf16 online", "softmax_bf16", _ONLINE % 32),
    *((f"layer norm {B}", "layer_norm", _rows("x, w, b", _LAYER_NORM, B, 4)) for B in (128, 512)),
    *((f"rms norm {B}", "rms_norm", _rows("x, w", _RMS_NORM, B, 2)) for B in (128, 256)),
    *(
        (f"matmul {BM} {BN} {BK} {dot}", "matmul", _MATMUL % {"BM": BM, "BN": BN, "BK": BK, "dot": dot})
        for BM, BN, BK in ((32, 32, 32), (16, 64, 16), (64, 16, 16))
        for dot in (', input_precision="ieee"', "")
    ),
    *(
        (f"matmul half {B}", "matmul_half", _MATMUL % {"BM": B, "BN": B, "BK": 16, "dot": ""}) for B in (16, 32, 64)
    ),
    *((f"total {B}", "total", _TOTAL_ATOMIC % (B, B)) for B in (256, 1024)),
    *((f"total of integers {B}", "total_int", _TOTAL_ATOMIC % (B, B)) for B in (512, 2048)),
    *((f"total by the last block {B}", "total", _TOTAL_LAST_BLOCK % {"B": B}) for B in (256, 512)),
    *((f"total under a lock {B}", "total", _TOTAL_LOCK % {"B": B}) for B in (512, 1024)),
    *((f"mse {B}", "mse", _MSE % {"B": B}) for B in (256, 1024)),
    *((f"transpose {B}", "transpose", _TRANSPOSE % {"B": B}) for B in (16, 32)),
    *((f"cumsum {B}", "cumsum", _rows("x", _CUMSUM, B, 4)) for B in (128, 256)),
    *((f"argmax {B}", "argmax", _rows("x", _ARGMAX, B, 4, "-float('inf')", _INDICES)) for B in (128, 1024)),
    *((f"histogram {B}", "histogram", _HISTOGRAM % {"B": B}) for B in (128, 512)),
    *((f"max pool {B}", "max_pool", _MAX_POOL % B) for B in (32, 64)),
    *((f"attention {m} {n}", "attention", _ATTENTION % {"BM": m, "BN": n}) for m, n in ((16, 16), (32, 64), (64, 32))),
    *(
        (f"cross entropy {B}", "cross_entropy", _rows("x, t", _ENTROPY, B, 4, "-float('inf')", _ONE_A_ROW))
        for B in (128, 256)
    ),
    *((f"embedding {B}", "embedding", _EMBEDDING % B) for B in (128, 256)),
    ("quotient masked", "quotient", _elementwise("x, y", _QUOTIENT.format(other="1.0", by="b"), 256, 4)),
    ("quotient of ones", "quotient", _elementwise("x, y", _QUOTIENT.format(other="0.0", by="tl.where(b != 0, b, 1.0)"), 128, 4)),
    *(
        (f"quantised {B}", "quantised", _QUANTISED % {"B": B, "scale": "127 / x.abs().max().item()"})
        for B in (128, 512)
    ),
    *((f"in place {B}", "in_place", _IN_PLACE % {"B": B}) for B in (128, 1024)),
    *((f"two results {B}", "two", _TWO % B) for B in (128, 256)),
    *((f"linear and softmax {B}", "linear_softmax", _MODULE % {"B": B, "prepare": "pass"}) for B in (128, 256)),
    ("linear, warmed up", "linear_softmax", _MODULE % {"B": 128, "prepare": _WARM}),
    *((f"batch norm {w}", "batch_norm", _BATCH_NORM % w) for w in (2, 4)),
]  # fmt: skip
