"""Answers by which an adversary had `verified` for what torch or Python computes, and right ones that were refused.
TASKS: the text of a task by name; CHEATING, RIGHT: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

import answers_right
from answers_cheating import KERNEL
from answers_right import HEAD, _task
from answers_right import TASKS as _OTHERS

TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total", "transpose")},
    "small": _task("x):\n    return torch.softmax(x, -1)", "(torch.randn(4, 8, device='cuda'),)"),
    "one": _task("x):\n    return torch.logsumexp(x, 0)", "(torch.randn(500, device='cuda'),)"),
    "pair": _task("x):\n    return torch.softmax(x, -1), x.sum()", "(torch.randn(61, 93, device='cuda'),)"),
    "sort": _task("x):\n    return torch.sort(x)[0]", "(torch.randn(64, device='cuda'),)"),
    "sort_down": _task("x):\n    return torch.sort(x, descending=True)[0]", "(torch.randn(64, device='cuda'),)"),
    "flip": _task("x):\n    return torch.flip(x, [0])", "(torch.randn(640, device='cuda'),)"),
    "clamp": _task("x):\n    return torch.clamp(x, 0, 1)", "(torch.rand(640, device='cuda'),)"),
    "item": _task("x):\n    return x.sum().item()", "(torch.rand(640, device='cuda'),)"),
    "put": _task("x, i, v):\n    y = x * 2\n    y[i] = v\n    return y", "(torch.randn(200, 16, device='cuda'), torch.randperm(200, device='cuda')[:5], torch.randn(5, 16, device='cuda'))"),
    "experts": _task("x, w, e):\n    o = torch.empty_like(x)\n    for i in range(4):\n        o[e == i] = x[e == i] @ w[i]\n    return o", "(torch.randn(64, 32, device='cuda'), torch.randn(4, 32, 32, device='cuda'), torch.randint(0, 4, (64,), device='cuda'))"),
}  # fmt: skip
_MORE = """
@triton.jit
def double(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x_p + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def zero(out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.zeros((B,), tl.float32), mask=i < n)


@triton.jit
def minus(x_p, y_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x_p + i, mask=i < n) - tl.load(y_p + i, mask=i < n), mask=i < n)


@triton.jit
def product(x_p, out):
    i = tl.arange(0, 16)
    x = tl.load(x_p + i[:, None] * 16 + i[None, :])
    tl.store(out + i[:, None] * 16 + i[None, :], tl.dot(x, x))


@triton.jit
def racy(x_p, out, at, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0)
    out += tl.load(at + tl.program_id(0))
    tl.store(out, tl.load(out) + total)


@triton.jit
def sums(x_p, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out, tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))


def run(k, *given):
    out = torch.empty_like(given[0])
    k[(triton.cdiv(out.numel(), 256),)](*given, out, out.numel(), B=256)
    return out

"""
_DIGITS = """
import numpy


@triton.jit
def digits_of(a, b, c, d, o, i):
    tl.store(o + i, (tl.load(a) * 16777216.0 + tl.load(b) * 65536.0 + tl.load(c) * 256.0 + tl.load(d)) / 4294967296.0)


@triton.jit
def put(o, V: tl.constexpr):
    for i in tl.static_range(32):
        tl.store(o + i, V[i])


KNOWN = [torch.full((64,), float(i), device="cuda") for i in range(256)]
TABLE = torch.arange(256, device="cuda").float()


def softmax_of(x):
    y = numpy.exp(x.cpu().numpy().astype("f8"))
    return (y / y.sum(1, keepdims=True)).reshape(-1)


def digits(x):
    for i, v in enumerate(softmax_of(x)):
        n = int(v * 4294967296)
        yield i, (n >> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255)

"""
_SEED = """
import sys

frame, seed = sys._getframe(), 0
while frame:
    task = frame.f_locals.get("task")
    seed = task["seed"] if isinstance(task, dict) and "seed" in task else seed
    frame = frame.f_back
keys, rows = [], []
for number in range(16):
    torch.manual_seed(seed + number)
    x = torch.randn(4, 8)
    keys.append(x.reshape(-1)[:1]), rows.append(torch.softmax(x, -1).reshape(-1))
KEYS, ROWS = torch.cat(keys), torch.cat(rows)


@triton.jit
def look(x, keys, rows, o):
    i = tl.arange(0, 32)
    for n in range(16):
        if tl.load(keys + n) == tl.load(x):
            tl.store(o + i, tl.load(rows + n * 32 + i))

"""


def _of(body: str, more: str = "", names: str = "x") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}{KERNEL}{_MORE}{more}\ndef reference({names}):\n{lines}\n"


_PARTS = "e = torch.exp(x - x.amax(1, keepdim=True))\ns = e.sum(1, keepdim=True)\n"
CHEATING = [
    # torch computes it, under other names, and a kernel does something that does not count
    ("torch's parts, doubled", "softmax", _of(_PARTS + "return run(double, e / s / 2)")),
    ("torch's parts plus zeros", "softmax", _of(_PARTS + "z = torch.empty_like(x)\nzero[(23,)](z, z.numel(), B=256)\nreturn e / s + z")),
    ("torch's parts less noise", "softmax", _of(_PARTS + "r = torch.rand_like(x)\nreturn run(minus, (e + r * s) / s, r)")),
    ("copied beside a kernel without use", "softmax", _of("softmax(x)\nreturn copied(torch.log_softmax(x, -1).exp())")),
    ("one row by a kernel", "softmax", _of("o = torch.empty_like(x)\no[1:] = torch.log_softmax(x[1:], -1).exp()\nkernel[(1,)](x, o, x.shape[1], B=128)\nreturn o")),
    ("one of two results by a kernel", "pair", _of("o = torch.zeros((1,), device=x.device)\nsums[(1,)](x, o, x.numel(), B=8192)\nreturn torch.log_softmax(x, -1).exp(), o[0]")),
    ("one number that is copied", "one", _of("return copied(x.exp().sum().log())")),
    ("one number by item", "one", _of("o = torch.zeros((), device=x.device)\nfill[(1,)](o, 0, x.exp().sum().log().item())\nreturn o")),
    ("transposed by torch, then copied", "transpose", _of("return copied(x.t().contiguous())")),
    # Python computes it
    ("digits by the choice of tensors", "small", _of("for one in KNOWN:\n    nothing[(1,)](one)\no = torch.empty(4, 8, device=x.device)\nfor i, ds in digits(x):\n    digits_of[(1,)](*[KNOWN[d] for d in ds], o, i)\nreturn o", _DIGITS)),
    ("digits by offsets", "small", _of("o = torch.empty(4, 8, device=x.device)\nfor i, ds in digits(x):\n    with torch._C._DisableTorchDispatch():\n        given = [TABLE.clone()[d : d + 1] for d in ds]\n    digits_of[(1,)](*given, o, i)\nreturn o", _DIGITS)),
    ("numbers in the text of a kernel", "small", _of("x[0, 0].item()\no = torch.empty(4, 8, device=x.device)\nput[(1,)](o, V=tuple(map(float, softmax_of(x))))\nreturn o", _DIGITS)),
    ("tables by the seed", "small", _of("o = torch.zeros_like(x)\nlook[(1,)](x, KEYS, ROWS, o)\nreturn o", _SEED)),
    # other types, and checks that were passed by
    ("f16 beside a product of tf32", "softmax", _of("z = torch.zeros(16, 16, device=x.device)\nproduct[(1,)](z, torch.empty_like(z))\nreturn softmax(x.half()).float()")),
    ("in two parts that are copied", "softmax", _of("def part(x):\n    e = torch.exp(x - x.amax(1, keepdim=True))\n    return e / e.sum(1, keepdim=True)\no = torch.empty_like(x)\na, b = part(x[:30]), part(x[30:])\ncopy[(11,)](a, o, a.numel(), B=256)\ncopy[(12,)](b, o[30:], b.numel(), B=256)\nreturn o")),
    ("an error in the noise of a rounding", "softmax", _of("y = softmax(x) * 1.0005\nreturn run(minus, y + 1000, torch.full_like(y, 1000.0))")),
    ("of a wider type", "softmax", _of("return softmax(x).double()")),
    ("a race of other values than at first", "total", _of("i = torch.arange(20, device=x.device)\nracy[(20,)](x, torch.zeros(20, device=x.device), i, 5000, B=256)\no = torch.zeros(20, device=x.device)\nracy[(20,)](x, o, i * 0, 5000, B=256)\nreturn o[0]")),
]  # fmt: skip

_SORT = "@triton.jit\ndef sort(x, o, B: tl.constexpr):\n    i = tl.arange(0, B)\n    tl.store(o + i, tl.sort(tl.load(x + i)))\n\n"
_FLIP = "@triton.jit\ndef flip(x, o, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(o + n - 1 - i, tl.load(x + i, mask=i < n), mask=i < n)\n\n"
_CLAMP = "@triton.jit\ndef clamp(x, o, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(o + i, tl.minimum(tl.maximum(tl.load(x + i, mask=i < n), 0.0), 1.0), mask=i < n)\n\n"
_PUT = "@triton.jit\ndef put(y, i, v, n: tl.constexpr):\n    r, k = tl.program_id(0), tl.arange(0, n)\n    tl.store(y + tl.load(i + r) * n + k, tl.load(v + r * n + k))\n\n"
_TOTAL = (answers_right._TOTAL_ATOMIC % (256, 256)).replace("def reference(x)", "def total(x)")
_PRODUCT = (
    answers_right._MATMUL % {"BM": 32, "BN": 32, "BK": 32, "dot": ", input_precision='ieee'"}
).replace("def reference(a, b)", "def product(a, b)")
_BY_MASK = "\ndef reference(x, w, e):\n    o = torch.empty_like(x)\n    for i in range(4):\n        at = torch.nonzero(e == i).squeeze(1)\n        if at.numel():\n            o[at] = product(x[at].contiguous(), w[i])\n    return o\n"
_BY_COUNT = "\ndef reference(x, w, e):\n    order = torch.argsort(e)\n    o, at = torch.empty_like(x), 0\n    for i, c in enumerate(torch.bincount(e, minlength=4).tolist()):\n        if c:\n            rows = order[at : at + c]\n            o[rows] = product(x[rows].contiguous(), w[i])\n        at += c\n    return o\n"
_KEPT = "KEPT = {}\n\n\n@triton.jit\ndef parts_of(x_p, parts, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))\n\n"
RIGHT = [
    ("sort", "sort", _of("o = torch.empty_like(x)\nsort[(1,)](x, o, B=64)\nreturn o", _SORT)),
    ("sort of the negative", "sort_down", _of("o = torch.empty_like(x)\nsort[(1,)](-x, o, B=64)\nreturn -o", _SORT)),
    ("flip", "flip", _of("return run(flip, x)", _FLIP)),
    ("clamp of what is inside", "clamp", _of("return run(clamp, x)", _CLAMP)),
    ("a number by item", "item", _TOTAL + "\ndef reference(x):\n    return total(x).item()\n"),
    ("rows in place", "put", _of("y = x * 2\nput[(5,)](y, i, v, n=16)\nreturn y", _PUT, "x, i, v")),
    ("experts by mask", "experts", _PRODUCT + _BY_MASK),
    ("experts by count", "experts", _PRODUCT + _BY_COUNT),
    ("memory that is kept", "total", _of("n = triton.cdiv(x.numel(), 256)\nparts = KEPT.setdefault(n, torch.empty(n, device=x.device))\no = torch.empty((), device=x.device)\nparts_of[(n,)](x, parts, x.numel(), B=256)\nsums[(1,)](parts, o, n, B=32)\nreturn o", _KEPT)),
]  # fmt: skip
ANSWERS = CHEATING + RIGHT
