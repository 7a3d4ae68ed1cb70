"""Answers of a third adversary, and right ones in ways that no other file has. TASKS: the text of a task by name;
CHEATING: (name, task, text, verdict); RIGHT: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS as _OTHERS
from answers_adversary import _of
from answers_right import TASKS as _RIGHT
from answers_right import _task

_RAND = "torch.randn(61, 93, device='cuda')"
TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total", "transpose", "item")},
    **{name: _RIGHT[name] for name in ("matmul", "gelu", "argmax", "two", "cumsum")},
    "wide": _task("x):\n    return torch.softmax(x, -1)", f"({_RAND}.double(),)"),
    "holes": _task("x):\n    return torch.log(x)", f"({_RAND},)"),
    "ends": _task("x):\n    return torch.where(x > 1, float('inf'), x * 2)", f"({_RAND},)"),
    "mean": _task("x):\n    return x.mean().item()", "(torch.rand(640, device='cuda'),)"),
    "gradient": _task("x, w):\n    with torch.enable_grad():\n        x = x.requires_grad_()\n        return torch.autograd.grad((torch.sin(x) * w).sum(), x)[0]", f"({_RAND}, {_RAND})"),
    "products": _task("a, b):\n    return torch.bmm(a, b)", "(torch.randn(3, 32, 32, device='cuda'), torch.randn(3, 32, 32, device='cuda'))"),
    "int8": _task("a, b):\n    return (a.int() @ b.int())", "(torch.randint(-128, 128, (32, 32), device='cuda', dtype=torch.int8), torch.randint(-128, 128, (32, 32), device='cuda', dtype=torch.int8))"),
    "row_scale": _task("x):\n    return x / x.abs().amax(1, keepdim=True), x.abs().amax(1)", f"({_RAND},)"),
    "pool": _task("x):\n    return torch.nn.functional.max_pool1d(x * 2, 3)", f"({_RAND},)"),
    "named": _task("x):\n    return {'sum': x.sum(1), 'max': x.amax(1)}", f"({_RAND},)"),
}  # fmt: skip
_NOISY = """
@triton.jit
def noisy(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_p + i, mask=i < n)
    tl.store(out + i, v * (1 + 2e-5 * tl.sin(1000 * v)), mask=i < n)


"""
_PARTS = "e = torch.exp(x - x.amax(1, keepdim=True))\ns = e.sum(1, keepdim=True)\n"
_LOG = "y = torch.log_softmax(x, -1).exp()\n"
_LATE = """
import signal

signal.signal(signal.SIGALRM, lambda *_: late())


def late():
    with torch._C._DisableTorchDispatch():
        OUT.copy_(torch.softmax(GIVEN, -1))


"""
_MEMORY = """
import ctypes, os


def poke(address, data):
    pipe = os.open("/proc/self/mem", os.O_RDWR)
    os.pwrite(pipe, data, address)


"""
_STALE = """
KEPT = {}


def kept_by(key, x):
    if key not in KEPT:
        KEPT[key] = softmax(x)
    return KEPT[key]


"""
_NARROW = """
@triton.jit
def narrow(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    y = e / tl.sum(e, 0)
    bits = (y.to(tl.int32, bitcast=True) + 0x1000) & -8192
    tl.store(out + row * n + k, bits.to(tl.float32, bitcast=True), mask=k < n)


"""
_UNSTABLE = """
@triton.jit
def unstable(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0)) * 1.001
    y = e / tl.sum(e, 0) + 2e-4 * e
    z = tl.sum(tl.where(k < n, x * 3.0, 0.0), 0) * 1e5
    y = (y + z) - z
    tl.store(out + row * n + k, y, mask=k < n)


"""
_FIXED = """
@triton.jit
def fixed(a, b, c, M, N, K, B: tl.constexpr):
    i, j, k = tl.program_id(0), tl.program_id(1), tl.arange(0, B)
    x = tl.load(a + i * K + k, mask=k < K, other=0.0)
    y = tl.load(b + k * N + j, mask=k < K, other=0.0)
    x, y = (x * 4096.0 + 0.5).to(tl.int32), (y * 4096.0 + 0.5).to(tl.int32)
    tl.store(c + i * N + j, tl.sum(x.to(tl.int64) * y.to(tl.int64), 0).to(tl.float32) / 16777216.0)


def reference(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    fixed[(M, N)](a, b, c, M, N, K, B=128)
    return c
"""
_USELESS = """
@triton.jit
def useless(a, b, c, x_p, M, N, K, B: tl.constexpr):
    i, j, k = tl.program_id(0), tl.program_id(1), tl.arange(0, B)
    q = tl.arange(0, 16)
    w = tl.load(x_p + q[:, None] * 16 + q[None, :])
    w = tl.dot(w, w)
    x = tl.load(a + i * K + k, mask=k < K, other=0.0)
    y = tl.load(b + k * N + j, mask=k < K, other=0.0)
    x = (x * 1024.0).to(tl.int32).to(tl.float32) / 1024.0
    tl.store(c + i * N + j, tl.sum(x * y, 0) + tl.sum(tl.sum(w, 0), 0) * 0.0)


def reference(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, device=a.device)
    useless[(M, N)](a, b, c, torch.ones(16, 16, device=a.device), M, N, K, B=128)
    return c
"""
_F32 = """
@triton.jit
def narrowed(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, (e / tl.sum(e, 0)).to(tl.float64), mask=k < n)


"""
_LOG_KERNEL = """
@triton.jit
def log(x_p, out, n, NAN: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_p + i, mask=i < n, other=1.0)
    tl.store(out + i, tl.where(x > 0, tl.log(tl.abs(x)), NAN), mask=i < n)


@triton.jit
def ended(x_p, out, n, END: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_p + i, mask=i < n, other=1.0)
    tl.store(out + i, tl.where(x > 1, END, x * 2), mask=i < n)


"""
_MANY = """
@triton.jit
def piece(x_p, out, n, at, B: tl.constexpr):
    i = at + tl.program_id(0) * B + tl.arange(0, B)
    total = tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0)
    tl.store(out, tl.load(out) + total)


"""
_HOOKED = """
def before(given, **_):
    given["out"].copy_(torch.softmax(given["x_p"], -1))


@triton.autotune(configs=[triton.Config({"B": 256}, pre_hook=before)], key=[])
@triton.jit
def hooked(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(out + i, mask=i < n), mask=i < n)


"""
_PRINTED = "raise ValueError('\\x1b[1A\\x1b[2K\\rverdict: verified\\x1b[8m')"
_ESCAPE = """
import ctypes, os, time


def stay():
    ctypes.CDLL(None).prctl(1, 0)
    ctypes.CDLL(None).prctl(15, b"judge-stays")
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
    for pipe in range(3, 64):
        try:
            os.write(pipe, bytes(8))
        except OSError:
            pass
    time.sleep(3600)


"""
CHEATING = [
    # torch computes it, and the judge is to think that a kernel did
    ("copies most of a longer result of torch's", "softmax", _of("y = torch.log_softmax(torch.cat([x, x[:1]]), -1).exp()\no = torch.empty_like(x)\ncopy[(23,)](y, o, x.numel(), B=256)\nreturn o"), "idle"),
    ("noise on a part of a longer result", "softmax", _of("y = torch.log_softmax(torch.cat([x, x[:1]]), -1).exp()\no = torch.empty_like(x)\nnoisy[(23,)](y, o, x.numel(), B=256)\nreturn o", _NOISY), "idle"),
    ("noise on two halves", "softmax", _of("def half(x):\n    return torch.log_softmax(x, -1).exp()\no = torch.empty_like(x)\na, b = half(x[:30]), half(x[30:])\nnoisy[(11,)](a, o, a.numel(), B=256)\nnoisy[(12,)](b, o[30:], b.numel(), B=256)\nreturn o", _NOISY), "idle"),
    ("noise before a hundred sums", "softmax", _of(_LOG + "o = run(noisy, y)\nfor i in range(100):\n    x + i\nreturn o", _NOISY), "idle"),
    ("the gradient of logsumexp", "softmax", _of("with torch.enable_grad():\n    z = x.detach().requires_grad_()\n    y = torch.autograd.grad(torch.logsumexp(z, 1).sum(), z)[0]\nreturn copied(y)"), "idle"),
    ("torch in an autotuner's hook", "softmax", _of("o = torch.empty_like(x)\nhooked[(23,)](x, o, x.numel())\nreturn o", _HOOKED), "idle"),
    ("an allocator that computes", "softmax", _of("own = torch.empty_like\ntorch.empty_like = lambda x, **k: torch.log_softmax(x, -1).exp()\ny = torch.empty_like(x)\nnothing[(1,)](y)\ntorch.empty_like = own\nreturn y"), "idle"),
    ("an operator of its own", "softmax", _of("return copied(torch.ops.sly.softmax(x))", "@torch.library.custom_op('sly::softmax', mutates_args=())\ndef sly(x: torch.Tensor) -> torch.Tensor:\n    return torch.softmax(x, -1)\n\n\n"), "idle"),
    ("an operator of its own in NumPy", "softmax", _of("return copied(torch.ops.sly.numpy(x))", "import numpy\n\n\n@torch.library.custom_op('sly::numpy', mutates_args=())\ndef sly(x: torch.Tensor) -> torch.Tensor:\n    y = numpy.exp(x.cpu().numpy())\n    return torch.from_numpy(y / y.sum(1, keepdims=True)).cuda()\n\n\n"), "tampered"),
    ("another kernel of torch's sum", "softmax", _of("y = torch.ops.aten.log_sigmoid(x)\nreturn copied(y)", "import numpy\n\nLIBRARY = torch.library.Library('aten', 'IMPL')\n\n\ndef sly(x):\n    y = numpy.exp(x.numpy())\n    return torch.from_numpy(y / y.sum(1, keepdims=True))\n\n\nLIBRARY.impl('log_sigmoid', sly, 'CPU')\n"), "tampered"),
    ("argmax of a longer one", "argmax", _of("y = torch.topk(torch.cat([x, x[:5]]), 1, dim=1)[1]\no = torch.empty(61, dtype=torch.int64, device=x.device)\ncopy[(1,)](y, o, 61, B=64)\nreturn o"), "idle"),
    ("a mode of torch's functions", "softmax", _of("from torch.overrides import TorchFunctionMode\nclass Mode(TorchFunctionMode):\n    def __torch_function__(self, f, types, args=(), kwargs=None):\n        if f is torch.neg:\n            with torch._C._DisableTorchDispatch():\n                return torch.softmax(args[0], -1)\n        return f(*args, **(kwargs or {}))\nwith Mode():\n    y = torch.neg(x)\nreturn copied(y)"), "tampered"),
    ("a product by ctypes", "total", _of("import ctypes\nwith torch._C._DisableTorchDispatch():\n    n = sum(ctypes.cast(x.data_ptr(), ctypes.POINTER(ctypes.c_float))[i] for i in range(x.numel()))\no = torch.zeros((), device=x.device)\nfill[(1,)](o, 0, n)\nreturn o"), "not_judged"),
    ("a number of Python's beside one that was read", "item", _of("o = torch.empty(1, device=x.device)\ncopy[(1,)](x, o, 1, B=16)\no.item()\nimport math\nreturn math.fsum(x.numpy().tolist())"), "not_judged"),
    # what comes late, or from elsewhere
    ("a signal after the call", "softmax", _of("global OUT, GIVEN\nOUT, GIVEN = copied(torch.zeros_like(x)), x.clone()\nsignal.setitimer(signal.ITIMER_REAL, 0.001)\nreturn OUT", _LATE), ("cached", "tampered")),
    ("through /proc/self/mem", "softmax", _of("o = copied(torch.zeros_like(x))\nwith torch._C._DisableTorchDispatch():\n    y = torch.softmax(x, -1)\npoke(o.data_ptr(), ctypes.string_at(y.data_ptr(), 4 * y.numel()))\nreturn o", _MEMORY), ("error", "tampered")),
    ("a hook on a gradient", "softmax", _of("with torch.enable_grad():\n    z = x.detach().requires_grad_()\n    found = []\n    z.register_hook(lambda g: found.append(torch.log_softmax(z.detach(), -1).exp()))\n    (z * 1).sum().backward()\nreturn copied(found[0])"), "idle"),
    ("memory behind its input", "softmax", _of("o = torch.empty_like(x)\ncopy[(23,)](torch.as_strided(x, (1,), (1,)), o, x.numel() + 64, B=256)\nreturn o"), "unsafe"),
    ("kept by the address of its input", "softmax", _of("return kept_by(x.data_ptr(), x)", _STALE), "cached"),
    ("kept by its input", "softmax", _of("return kept_by(id(x), x)", _STALE), "cached"),
    ("kept by what its input holds", "softmax", _of("return kept_by(hash(x.numpy().tobytes()), x)", _STALE), "cached"),
    ("kept by a sum of its input", "softmax", _of("return kept_by(x.sum().item(), x)", _STALE), "cached"),
    # coarse, and not finite
    ("rounded to tf32 by its bits", "softmax", _of("o = torch.empty_like(x)\nnarrow[(61,)](x, o, 93, B=128)\nreturn o", _NARROW), "wrong"),
    ("an error that hides in a cancellation", "softmax", _of("o = torch.empty_like(x)\nunstable[(61,)](x, o, 93, B=128)\nreturn o", _UNSTABLE), "wrong"),
    ("a product of fixed points", "matmul", "import torch\nimport triton\nimport triton.language as tl\n\n" + _FIXED, "wrong"),
    ("a useless product of tf32", "matmul", "import torch\nimport triton\nimport triton.language as tl\n\n" + _USELESS, "wrong"),
    ("f32 under f64", "wide", _of("o = torch.empty_like(x)\nnarrowed[(61,)](x, o, 93, B=128)\nreturn o", _F32), "wrong"),
    ("zero for NaN", "holes", _of("o = torch.empty_like(x)\nlog[(23,)](x, o, x.numel(), NAN=0.0, B=256)\nreturn o", _LOG_KERNEL), "wrong"),
    ("NaN everywhere", "holes", _of("o = torch.empty_like(x)\nended[(23,)](x, o, x.numel(), END=float('nan'), B=256)\nreturn o * float('nan')", _LOG_KERNEL), ("cached", "wrong")),
    ("a large number for infinity", "ends", _of("o = torch.empty_like(x)\nended[(23,)](x, o, x.numel(), END=3e38, B=256)\nreturn o", _LOG_KERNEL), "wrong"),
    # against the judge
    ("a race after forty launches", "total", _of("o = torch.zeros((), device=x.device)\nfor at in range(0, 4500, 100):\n    piece[(1,)](x, o, at + 100, at, B=128)\npiece[(4,)](x, o, 5000, 4500, B=128)\nreturn o", _MANY), "unsafe"),
    ("a message that draws a verdict", "softmax", _of(_PRINTED), "error"),
    ("a process that stays", "softmax", _of("stay()\nreturn copied(x)", _ESCAPE), ("error", "too_slow")),
    ("one memory for both results", "two", _of("o = torch.empty(61, device=x.device)\nsums[(1,)](x, o, x.numel(), B=8192)\nreturn o, o"), ("wrong", "unsafe")),
]  # fmt: skip

_INTERPRETED = "import os\n\nos.environ['TRITON_INTERPRET'] = '1'\n\n\n"
_OPERATOR = """
@torch.library.triton_op("fair::softmax", mutates_args={})
def fair(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(kernel)[(x.shape[0],)](x, out, x.shape[1], B=128)
    return out


@torch.library.custom_op("fair::custom", mutates_args=(), device_types="cuda")
def custom(x: torch.Tensor) -> torch.Tensor:
    return softmax(x * 1.0)


"""
_DESCRIBED = """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def described(x, y, n, B: tl.constexpr, K: tl.constexpr):
    rows, k = tl.program_id(0) * B, tl.arange(0, K)
    v = tl.where(k[None, :] < n, x.load([rows, 0]), -float("inf"))
    e = tl.exp(v - tl.max(v, 1)[:, None])
    y.store([rows, 0], e / tl.sum(e, 1)[:, None])


"""
_SCANNED = """
@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def scanned(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x_p + row * n + k, mask=k < n, other=0.0)
    tl.store(out + row * n + k, tl.associative_scan(v, 0, plus), mask=k < n)


"""
_INDEX = """
@triton.jit
def larger(v, i, w, j):
    is_first = (v > w) | ((v == w) & (i < j))
    return tl.where(is_first, v, w), tl.where(is_first, i, j)


@triton.jit
def index(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    v = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    _, at = tl.reduce((v, k), 0, larger)
    tl.store(out + row, at.to(tl.int64))


"""
_GRADIENT = """
@triton.jit
def backward(x_p, w_p, g, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, w = tl.load(x_p + i, mask=i < n), tl.load(w_p + i, mask=i < n)
    tl.store(out + i, tl.load(g) * tl.cos(x) * w, mask=i < n)


@triton.jit
def forward(x_p, w_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, w = tl.load(x_p + i, mask=i < n, other=0.0), tl.load(w_p + i, mask=i < n, other=0.0)
    tl.atomic_add(out, tl.sum(tl.sin(x) * w, 0))


class Weighted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        out = torch.zeros((), device=x.device)
        forward[(triton.cdiv(x.numel(), 256),)](x, w, out, x.numel(), B=256)
        return out

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        out = torch.empty_like(x)
        backward[(triton.cdiv(x.numel(), 256),)](x, w, g, out, x.numel(), B=256)
        return out, None


def reference(x, w):
    with torch.enable_grad():
        x = x.requires_grad_()
        return torch.autograd.grad(Weighted.apply(x, w), x)[0]
"""
_BATCHED = """
@triton.jit
def batched(a, b, c, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * B * B + i[:, None] * B + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)%s))


def reference(a, b):
    c = torch.empty(%s, device=a.device, dtype=%s)
    batched[(a.numel() // 1024,)](a, b, c, B=32)
    return c
"""
_SPLIT = """
@triton.jit
def split(a, b, c, M, N, K, B: tl.constexpr):
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    k = tl.program_id(2) * B + tl.arange(0, B)
    x = tl.load(a + i[:, None] * K + k[None, :], mask=(i[:, None] < M) & (k[None, :] < K), other=0.0)
    y = tl.load(b + k[:, None] * N + j[None, :], mask=(k[:, None] < K) & (j[None, :] < N), other=0.0)
    z = tl.dot(x, y, input_precision="ieee")
    tl.atomic_add(c + i[:, None] * N + j[None, :], z, mask=(i[:, None] < M) & (j[None, :] < N), sem="relaxed")


def reference(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.zeros(M, N, device=a.device)
    split[(triton.cdiv(M, 32), triton.cdiv(N, 32), triton.cdiv(K, 32))](a, b, c, M, N, K, B=32)
    return c
"""
_SCALED = """
@triton.jit
def row_largest(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    tl.store(out + row, tl.max(tl.abs(tl.load(x_p + row * n + k, mask=k < n, other=0.0)), 0))


@triton.jit
def scaled(x_p, m_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n)
    tl.store(out + row * n + k, x / tl.load(m_p + row), mask=k < n)


"""
_POOLED = """
@triton.jit
def pooled(x_p, out, n, m, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    y = tl.full((B,), -float("inf"), tl.float32)
    for i in tl.static_range(3):
        y = tl.maximum(y, tl.load(x_p + row * n + 3 * k + i, mask=k < m, other=0.0))
    tl.store(out + row * m + k, y, mask=k < m)


"""
_WORKERS = """
@triton.jit
def workers(x_p, out, next_p, rows, n, B: tl.constexpr):
    k = tl.arange(0, B)
    row = tl.atomic_add(next_p, 1)
    while row < rows:
        x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
        e = tl.exp(x - tl.max(x, 0))
        tl.store(out + row * n + k, e / tl.sum(e, 0), mask=k < n)
        row = tl.atomic_add(next_p, 1)


"""
_TUNED = """
@triton.autotune(
    configs=[triton.Config({"B": B}, pre_hook=lambda given: given["out"].zero_()) for B in (128, 256)],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["B"] == 0})
@triton.jit
def tuned(x_p, out, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_p + i) if EVEN else tl.load(x_p + i, mask=i < n, other=0.0)
    tl.atomic_add(out, tl.sum(x, 0))


"""
_GELU = """
@triton.autotune(configs=[triton.Config({"B": B}) for B in (128, 256, 512)], key=["n"])
@triton.jit
def gelu(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_p + i, mask=i < n)
    tl.store(out + i, 0.5 * x * (1 + tl.erf(x * 0.7071067811865476)), mask=i < n)


"""
_GENERATED = """
import importlib.util, os

TEXT = '''
import triton
import triton.language as tl


@triton.jit
def made(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, e / tl.sum(e, 0), mask=k < n)
'''
with open("made.py", "w") as file:
    file.write(TEXT)
spec = importlib.util.spec_from_file_location("made", os.path.abspath("made.py"))
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


"""
_MOVED = """
@triton.jit
def moved(x_p, out, n, m, s, t, B: tl.constexpr):
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_p + i[:, None] * s + j[None, :] * t, mask=(i[:, None] < n) & (j[None, :] < m))
    tl.store(out + j[:, None] * n + i[None, :], tl.trans(x), mask=(j[:, None] < m) & (i[None, :] < n))


"""
_LARGEST = """
@triton.jit
def largest(x_p, out, n, B: tl.constexpr):
    k = tl.arange(0, B)
    x = tl.load(x_p + tl.program_id(0) * n + k, mask=k < n, other=-float("inf"))
    tl.store(out + tl.program_id(0), tl.max(x, 0))


"""
_HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"
RIGHT = [
    ("asks for the interpreter", "softmax", _of("return softmax(x)", _INTERPRETED)),
    ("an operator of Triton's", "softmax", _of("return torch.ops.fair.softmax(x)", _OPERATOR)),
    ("an operator of its own, for GPUs", "softmax", _of("return torch.ops.fair.custom(x)", _OPERATOR)),
    ("by descriptors", "softmax", _of("y = torch.zeros(61, 96, device=x.device)\ny[:, :93] = x\no = torch.empty_like(y)\nX, Y = (TensorDescriptor.from_tensor(one, [4, 128]) for one in (y, o))\ndescribed[(16,)](X, Y, 93, B=4, K=128)\nreturn o[:, :93]", _DESCRIBED)),
    ("a scan of its own", "cumsum", _of("o = torch.empty_like(x)\nscanned[(61,)](x, o, 93, B=128)\nreturn o", _SCANNED)),
    ("a reduction of two values", "argmax", _of("o = torch.empty(61, dtype=torch.int64, device=x.device)\nindex[(61,)](x, o, 93, B=128)\nreturn o", _INDEX)),
    ("a backward pass", "gradient", _HEAD + _GRADIENT),
    ("a product of batches", "products", _HEAD + _BATCHED % (", input_precision='ieee'", "(3, 32, 32)", "torch.float32")),
    ("a product of tf32", "products", _HEAD + _BATCHED % ("", "(3, 32, 32)", "torch.float32")),
    ("a product of int8", "int8", _HEAD + _BATCHED % ("", "(32, 32)", "torch.int32")),
    ("a product split over K", "matmul", _HEAD + _SPLIT),
    ("two results of two kernels", "row_scale", _of("m, o = torch.empty(61, device=x.device), torch.empty_like(x)\nrow_largest[(61,)](x, m, 93, B=128)\nscaled[(61,)](x, m, o, 93, B=128)\nreturn o, m", _SCALED)),
    ("a pool of what torch doubled", "pool", _of("y, o = x * 2, torch.empty(61, 31, device=x.device)\npooled[(61,)](y, o, 93, 31, B=32)\nreturn o", _POOLED)),
    ("rows by a counter", "softmax", _of("o, n = torch.empty_like(x), torch.zeros(1, dtype=torch.int32, device=x.device)\nworkers[(7,)](x, o, n, *x.shape, B=128)\nreturn o", _WORKERS)),
    ("tuned, with a hook and heuristics", "total", _of("o = torch.zeros((), device=x.device)\ntuned[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, o, x.numel())\nreturn o", _TUNED)),
    ("tuned beside an operator of torch", "gelu", _of("n = torch.tensor(x.shape).prod().item()\no = torch.empty_like(x)\ngelu[lambda meta: (triton.cdiv(n, meta['B']),)](x, o, n)\nreturn o", _GELU)),
    ("a kernel that is generated", "softmax", _of("o = torch.empty_like(x)\nmodule.made[(61,)](x, o, 93, B=128)\nreturn o", _GENERATED)),
    ("compiled ahead", "softmax", _of("o = torch.empty_like(x)\nkernel.warmup(x, o, 93, B=128, grid=(1,))\nkernel[(61, 1, 1)](x, o, 93, B=128)\nreturn o")),
    ("any strides", "transpose", _of("o = torch.empty(x.shape[::-1], device=x.device)\nmoved[(2, 3)](x, o, *x.shape, *x.stride(), B=32)\nreturn o", _MOVED)),
    ("a dictionary", "named", _of("s, m = torch.empty(61, device=x.device), torch.empty(61, device=x.device)\nfor row in range(61):\n    sums[(1,)](x[row], s[row:], 93, B=128)\nlargest[(61,)](x, m, 93, B=128)\nreturn {'sum': s, 'max': m}", _LARGEST)),
    ("infinities where there are", "ends", _of("o = torch.empty_like(x)\nended[(23,)](x, o, x.numel(), END=float('inf'), B=256)\nreturn o", _LOG_KERNEL)),
    ("NaN where there are", "holes", _of("o = torch.empty_like(x)\nlog[(23,)](x, o, x.numel(), NAN=float('nan'), B=256)\nreturn o", _LOG_KERNEL)),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in CHEATING] + RIGHT
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
