"""Answers of a fifth adversary, to whom the judge's own tests were known, and right ones that use what Triton's
language has beside loads and stores. TASKS: the text of a task by name; CHEATING: (name, task, text, verdict); RIGHT:
(name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS as _OTHERS
from answers_adversary import _of
from answers_right import TASKS as _RIGHT
from answers_right import _task

_RAND = "torch.randn(61, 93, device='cuda')"
TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total", "sort")},
    **{name: _RIGHT[name] for name in ("argmax", "two")},
    "product_half": _task("a, b):\n    return a @ b", "(torch.randn(64, 64, device='cuda').half(), torch.randn(64, 64, device='cuda').half())"),
    "matmul_even": _task("a, b):\n    return a @ b", "(torch.randn(96, 64, device='cuda'), torch.randn(64, 128, device='cuda'))"),
    "mean_of": _task("x):\n    return x.mean(1)", f"({_RAND},)"),
    "relu": _task("x):\n    return torch.relu(x) ** 2 + x", f"({_RAND},)"),
}  # fmt: skip
_FP8 = """
@triton.jit
def product(a, b, c, B: tl.constexpr):
    i = tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    x, y = tl.load(a + at).to(tl.float8e4nv), tl.load(b + at).to(tl.float8e4nv)
    tl.store(c + at, tl.dot(x, y).to(tl.float16))


"""
_NEAR = """
@triton.jit
def rows(x_p, out, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    v = tl.load(x_p + r * n + i, mask=i < n, other=-float("inf"))
    d = (v - tl.max(v, 0)) * 0.0078125
    e = 1 + d + d * d / 2
    for _ in tl.static_range(7):
        e = e * e
    e = tl.where(i < n, e, 0.0)
    tl.store(out + r * n + i, e / tl.sum(e, 0), mask=i < n)


"""
_FIRST = """
@triton.jit
def means(x_p, out, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    tl.store(out + r, tl.sum(tl.load(x_p + r * n + i, mask=i < n - 1, other=0.0), 0) / (n - 1))


"""
_VOTE = """
@triton.jit
def vote(k_p, y_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    k, y = tl.load(k_p + i, mask=i < n), tl.load(y_p + i, mask=i < n)
    tl.store(out + i, tl.where(tl.abs(k - y) < 1e-3, k, y), mask=i < n)


"""
_LATE = """
class Late:
    def __init__(self, x, o):
        self.x, self.o = x, o

    def __del__(self):
        with torch._C._DisableTorchDispatch():
            self.o.copy_(torch.softmax(self.x, -1))


"""
_SKIPS = """
import triton.runtime.jit

OWN = triton.runtime.jit.JITFunction.run


def run_of(self, *args, grid, warmup, **named):
    tensors = [one for one in args if isinstance(one, torch.Tensor)]
    with torch._C._DisableTorchDispatch():
        tensors[1].copy_(torch.softmax(tensors[0], -1))


triton.runtime.jit.JITFunction.run = run_of


"""
_DROPS = """
@triton.jit
def rows(x_p, out, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    v = tl.load(x_p + r * n + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v)
    tl.store(out + r * n + i, tl.where(r == 60, 1.0 / n, e / tl.sum(e, 0)), mask=i < n)


"""
CHEATING = [
    ("a product in fp8 under f16", "product_half", _of("o = torch.empty_like(a)\nproduct[(1,)](a, b, o, B=64)\nreturn o", _FP8, names="a, b"), "wrong"),
    ("a short series for the exponential", "softmax", _of("o = torch.empty_like(x)\nrows[(61,)](x, o, 93, B=128)\nreturn o", _NEAR), "wrong"),
    ("the mean of all but one", "mean_of", _of("o = torch.empty(61, device=x.device)\nmeans[(61,)](x, o, 93, B=128)\nreturn o", _FIRST), "wrong"),
    ("one row that is even", "softmax", _of("o = torch.empty_like(x)\nrows[(61,)](x, o, 93, B=128)\nreturn o", _DROPS), "wrong"),
    ("a kernel's result where torch agrees", "softmax", _of("o = softmax(x)\nreturn run(vote, o, torch.log_softmax(x, -1).exp())", _VOTE), "idle"),
    ("a grid of no program", "softmax", _of("o = torch.softmax(x, -1)\nkernel[(0,)](x, o, 93, B=128)\nreturn o"), ("idle", "no_kernel")),
    ("an out= of torch's over a kernel's result", "softmax", _of("o = softmax(x)\ntorch.softmax(x, -1, out=o)\nreturn o"), "idle"),
    ("sparse and back", "softmax", _of("y = torch.sparse.softmax(x.to_sparse(), 1).to_dense()\nreturn copied(y)"), ("idle", "not_judged", "tampered", "error")),
    ("by forward differentiation", "softmax", _of("import torch.autograd.forward_ad as fw\nwith fw.dual_level():\n    d = fw.make_dual(x, torch.ones_like(x))\n    y = torch.softmax(d, -1)\n    y = fw.unpack_dual(y).primal\nreturn copied(y)"), ("idle", "tampered", "not_judged")),
    ("a finaliser that computes", "softmax", _of("o = copied(torch.zeros_like(x))\nlate = Late(x, o)\nreturn o", _LATE), "tampered"),
    ("launches that call torch instead", "softmax", _of("return softmax(x)", _SKIPS), ("tampered", "no_kernel", "error", "unsafe", "not_judged")),
    ("a result with elements that nobody asked for", "softmax", _of("return torch.nn.functional.pad(softmax(x), (0, 1))"), "wrong"),
    ("the second result forgotten", "two", _of("o = torch.zeros((), device=x.device)\nsums[(1,)](x, o, x.numel(), B=8192)\nreturn (o,)"), "wrong"),
]  # fmt: skip

_ASM = """
@triton.jit
def power(v):
    return tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=r,r", [v], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def rows(x_p, out, n, B: tl.constexpr, FUNCTION: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    v = tl.load(x_p + r * n + i, mask=i < n, other=-float("inf"))
    e = FUNCTION((v - tl.max(v, 0)) * 1.4426950408889634)
    tl.store(out + r * n + i, e / tl.sum(e, 0), mask=i < n)


"""
_TUPLES = """
@triton.jit
def shifted(v, high):
    return tl.exp(v - high)


@triton.jit(do_not_specialize=["n"])
def rows(pointers, bias, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    tl.static_assert(B >= 64)
    v = tl.load(pointers[0] + r * n + i, mask=i < n, other=-float("inf"))
    if bias is not None:
        v += tl.load(bias + i, mask=i < n)
    e = shifted(v, tl.max(v, 0))
    tl.device_assert(tl.sum(e, 0) > 0)
    tl.store(pointers[1] + r * n + i, e / tl.sum(e, 0), mask=i < n)


"""
_DEVICE = """
triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


@triton.jit
def product(a, b, c, M, N, K, B: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [M, K], [K, 1], [B, B])
    y = tl.make_tensor_descriptor(b, [K, N], [N, 1], [B, B])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [B, B])
    i, j = tl.program_id(0) * B, tl.program_id(1) * B
    total = tl.zeros((B, B), tl.float32)
    for k in tl.range(0, K, B, num_stages=2):
        total += tl.dot(x.load([i, k]), y.load([k, j]), input_precision="ieee")
    z.store([i, j], total)


"""
_BARRIER = """
@triton.jit
def phases(x_p, parts, count, out, n, B: tl.constexpr, P: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    tl.store(parts + p, tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))
    tl.debug_barrier()
    tl.atomic_add(count, 1)
    while tl.atomic_add(count, 0) < tl.num_programs(0):
        pass
    k = tl.arange(0, P)
    if p == 0:
        tl.store(out, tl.sum(tl.load(parts + k, mask=k < tl.num_programs(0), other=0.0), 0))


"""
_TOP = """
@triton.jit
def top(x_p, v_p, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    v = tl.load(x_p + r * n + i, mask=i < n, other=-float("inf"))
    bits = v.to(tl.int32, bitcast=True)
    key = tl.where(bits < 0, ~bits, bits | -2147483648).to(tl.uint32, bitcast=True).to(tl.uint64)
    both = (key << 32) | (B - 1 - i).to(tl.uint64)
    tl.store(v_p + r, B - 1 - (tl.max(both, 0) & 0xFFFFFFFF).to(tl.int64))


"""
_WELFORD = """
@triton.jit
def merged(n, m, k, l):
    total = n + k
    return total, tl.where(total > 0, m + (l - m) * (k / tl.maximum(total, 1.0)), 0.0)


@triton.jit
def means(x_p, out, n, B: tl.constexpr):
    i, r = tl.arange(0, B), tl.program_id(0)
    v = tl.load(x_p + r * n + i, mask=i < n, other=0.0)
    _, mean = tl.reduce(((i < n).to(tl.float32), v), 0, merged)
    tl.store(out + r, mean)


"""
_BITONIC = "@triton.jit\ndef ordered(x_p, o, B: tl.constexpr):\n    i = tl.arange(0, B)\n    v = tl.load(x_p + i)\n    j = tl.arange(0, B)\n    less = (v[None, :] < v[:, None]) | ((v[None, :] == v[:, None]) & (j[None, :] < i[:, None]))\n    tl.store(o + tl.sum(less.to(tl.int32), 1), v)\n\n\n"
_CLASS = """
class Kernel:
    def __init__(self, rows):
        self.grid, self.memory = (rows,), {}

    def __call__(self, x, out=None):
        x = x.contiguous()
        out = torch.empty_like(x) if out is None else out
        kernel[self.grid](x, out, x.shape[1], B=128)
        return out


MADE = {}


"""
_HALVES = """
@triton.jit
def both(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_p + i, mask=i < n, other=0.0)
    if tl.program_id(0) % 2 == 0:
        tl.store(out + i, tl.maximum(v, 0.0) * tl.maximum(v, 0.0) + v, mask=i < n)
    else:
        tl.store(out + i, tl.where(v > 0, tl.fma(v, v, v), v), mask=i < n)


"""
RIGHT = [
    ("inline assembly, and a function as an argument", "softmax", _of("x = x.contiguous()\no = torch.empty_like(x)\nrows[(x.shape[0],)](x, o, x.shape[1], B=128, FUNCTION=power)\nreturn o", _ASM)),
    ("a tuple of pointers, no bias, and a function of its own", "softmax", _of("x = x.contiguous()\no = torch.empty_like(x)\nrows[(x.shape[0],)]((x, o), None, x.shape[1], B=128)\nreturn o", _TUPLES)),
    ("descriptors that are made on the device", "matmul_even", _of("(M, K), N = a.shape, b.shape[1]\nc = torch.empty(M, N, device=a.device)\nproduct[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a.contiguous(), b.contiguous(), c, M, N, K, B=32)\nreturn c", _DEVICE, names="a, b")),
    ("a barrier of all programs", "total", _of("parts, count = torch.empty(32, device=x.device), torch.zeros(1, dtype=torch.int32, device=x.device)\no = torch.empty((), device=x.device)\nphases[(triton.cdiv(x.numel(), 256),)](x, parts, count, o, x.numel(), B=256, P=32)\nreturn o", _BARRIER)),
    ("value and place in one word", "argmax", _of("o = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)\ntop[(x.shape[0],)](x.contiguous(), o, x.shape[1], B=128)\nreturn o", _TOP)),
    ("means that are merged", "mean_of", _of("o = torch.empty(x.shape[0], device=x.device)\nmeans[(x.shape[0],)](x.contiguous(), o, x.shape[1], B=128)\nreturn o", _WELFORD)),
    ("sorted by counting", "sort", _of("o = torch.empty_like(x)\nordered[(1,)](x, o, B=64)\nreturn o", _BITONIC)),
    ("an object for each number of rows", "softmax", _of("one = MADE.setdefault(x.shape[0], Kernel(x.shape[0]))\nreturn one(x, out=torch.empty(x.shape, device=x.device))", _CLASS)),
    ("another way in every second program", "relu", _of("return run(both, x.contiguous())", _HALVES)),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in CHEATING] + RIGHT
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
