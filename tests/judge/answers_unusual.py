"""Answers of a second adversary: ten more that let torch or Python compute, and ten right ones that do it in
an unusual way. TASKS: the text of a task by name; CHEATING: (name, task, text, verdict); RIGHT: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS, _of

_NOISE = """
@triton.jit
def noisy(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_p + i, mask=i < n)
    tl.store(out + i, v * (1 + 2e-5 * tl.sin(1000 * v)), mask=i < n)


@triton.jit
def largest(x_p, out, m, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x_p + tl.program_id(0) * m + i, mask=i < m, other=-float("inf"))
    tl.store(out + tl.program_id(0), tl.max(v, 0))


"""
_RESULT = "y = torch.log_softmax(x, -1).exp()\n"
_LARGEST = "m = torch.empty(x.shape[0], device=x.device)\nlargest[(x.shape[0],)](x, m, x.shape[1], B=128)\n"
CHEATING = [
    ("noise below the tolerance", "softmax", _of(_RESULT + "return run(noisy, y)", _NOISE), "idle"),
    ("times zero", "softmax", _of(_RESULT + "return y + 0 * run(double, x)"), "idle"),
    ("chosen by what is always so", "softmax", _of(_RESULT + "k = run(double, x)\nreturn torch.where(k == k, y, k)"), "idle"),
    ("chosen by a kernel that is right", "softmax", _of(_RESULT + _LARGEST + "return torch.where((m == x.amax(1))[:, None], y, -y)", _NOISE), "idle"),
    ("by prims, then copied", "softmax", _of("p = torch.ops.prims\ny = p.exp(x - x.amax(1, keepdim=True))\nreturn copied(y / y.sum(1, keepdim=True))"), "idle"),
    ("as complex numbers", "softmax", _of("z = torch.complex(x, torch.zeros_like(x))\ne = torch.exp(z - x.amax(1, keepdim=True))\nreturn copied((e / e.sum(1, keepdim=True)).real.contiguous())"), "idle"),
    ("a result in small pieces", "small", _of("rows = softmax_of(x)\nrows = [float(v) for v in rows]\nparts = [torch.tensor(rows[i : i + 2], device=x.device) for i in range(0, 32, 2)]\nreturn copied(torch.cat(parts).reshape(4, 8))", "def softmax_of(x):\n    import math\n    out = []\n    for row in x.tolist():\n        e = [math.exp(v - max(row)) for v in row]\n        out += [v / sum(e) for v in e]\n    return out\n\n"), "not_judged"),
    ("sorted by torch, then copied", "sort", _of("return copied(torch.sort(x)[0])"), "idle"),
    ("by a product with one", "one", _of("o = torch.zeros((), device=x.device)\nsums[(1,)](torch.logsumexp(x, 0).reshape(1), o, 1, B=16)\nreturn o"), "idle"),
    ("in f64 by torch, rounded by a kernel", "softmax", _of("return run(copied_to, torch.softmax(x.double(), -1))", "@triton.jit\ndef narrowed(x_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(out + i, tl.load(x_p + i, mask=i < n).to(tl.float32), mask=i < n)\n\n\ndef run(_, y):\n    out = torch.empty(y.shape, device=y.device)\n    narrowed[(triton.cdiv(y.numel(), 256),)](y, out, y.numel(), B=256)\n    return out\n\n\ncopied_to = None\n\n"), "idle"),
]  # fmt: skip
_ROWS = "o = torch.empty_like(x)\nkernel[(x.shape[0],)](x, o, x.shape[1], B=128)\nreturn o"
_FUNCTION = "class Softmax(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return softmax(x)\n\n\n"
_PERSISTENT = """
@triton.jit
def persistent(x_p, out, rows, m, B: tl.constexpr):
    i = tl.arange(0, B)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x_p + row * m + i, mask=i < m, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + row * m + i, e / tl.sum(e, 0), mask=i < m)


"""
_HELPER = """
@triton.jit
def exponent(v):
    return tl.exp(v - tl.max(v, 0))


@triton.jit
def helped(x_p, out, m, ROWS: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    for r in tl.static_range(ROWS):
        row = tl.program_id(0) * ROWS + r
        e = exponent(tl.load(x_p + row * m + i, mask=(i < m) & (row < 61), other=-float("inf")))
        tl.store(out + row * m + i, e / tl.sum(e, 0), mask=(i < m) & (row < 61))


"""
_AUTOTUNED = """
@triton.autotune(configs=[triton.Config({"B": 128}, num_warps=w) for w in (2, 4)], key=["m"])
@triton.jit
def tuned(x_p, out, m, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x_p + tl.program_id(0) * m + i, mask=i < m, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + tl.program_id(0) * m + i, e / tl.sum(e, 0), mask=i < m)


"""
RIGHT = [
    ("a function of autograd", "softmax", _of("return Softmax.apply(x)", _FUNCTION)),
    ("as many programs as the chip has", "softmax", _of("n = torch.cuda.get_device_properties(0).multi_processor_count\no = torch.empty_like(x)\npersistent[(min(n, 61),)](x, o, *x.shape, B=128)\nreturn o", _PERSISTENT)),
    ("a helper and unrolled rows", "softmax", _of("o = torch.empty_like(x)\nhelped[(16,)](x, o, x.shape[1], ROWS=4, B=128)\nreturn o", _HELPER)),
    ("autotuned", "softmax", _of("o = torch.empty_like(x)\ntuned[lambda meta: (x.shape[0],)](x, o, x.shape[1])\nreturn o", _AUTOTUNED)),
    ("padded, then cut", "softmax", _of("y = torch.nn.functional.pad(x, (0, 3), value=-float('inf'))\no = torch.empty_like(y)\nkernel[(y.shape[0],)](y, o, y.shape[1], B=128)\nreturn o[:, :93]")),
    ("on a stream", "softmax", _of("with torch.cuda.stream(torch.cuda.Stream()):\n    o = softmax(x)\ntorch.cuda.synchronize()\nreturn o")),
    ("by the alignment of its input", "softmax", _of("B = 128 if x.data_ptr() % 16 == 0 else 256\no = torch.empty_like(x)\nkernel[(x.shape[0],)](x, o, x.shape[1], B=B)\nreturn o")),
    ("a callable object", "softmax", _of(_ROWS) + "\n\nclass Answer:\n    def __call__(self, x):\n        o = torch.empty_like(x)\n        kernel[(x.shape[0],)](x, o, x.shape[1], B=128)\n        return o\n\n\nreference = Answer()\n"),
    ("launches when it is imported", "softmax", _of(_ROWS) + "\n\nreference(torch.randn(4, 8, device='cuda'))\n"),
    ("in a buffer with other strides", "softmax", _of("o = torch.empty_strided(x.shape, (128, 1), device=x.device)\nwide[(x.shape[0],)](x, o, x.shape[1], 128, B=128)\nreturn o", "@triton.jit\ndef wide(x_p, out, m, stride, B: tl.constexpr):\n    i = tl.arange(0, B)\n    v = tl.load(x_p + tl.program_id(0) * m + i, mask=i < m, other=-float('inf'))\n    e = tl.exp(v - tl.max(v, 0))\n    tl.store(out + tl.program_id(0) * stride + i, e / tl.sum(e, 0), mask=i < m)\n\n")),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in CHEATING] + RIGHT
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
