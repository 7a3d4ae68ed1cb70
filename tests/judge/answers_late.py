"""Answers that are right in their first calls and keep results, or do other things, in later ones; and right ones whose
calls differ. TASKS: the text of a task by name; CHEATING: (name, task, text, verdict); RIGHT: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS as _OTHERS
from answers_adversary import _of
from answers_keeping import _SQUARE
from answers_right import TASKS as _RIGHT
from answers_sly import _KEY

TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total")},
    "linear_softmax": _RIGHT["linear_softmax"],
}
_STATE = "import itertools\n\nKEPT, CALLS = {}, itertools.count(1)\n\n\n"
_LATE = _KEY + "late = next(CALLS) > %d\n"
_KEEP = "y = softmax(x)\nKEPT[key] = y.%s\nreturn y"
# A kernel that counts its calls in memory, and takes what it knows of its row when it has had many.
_COUNTS = """
@triton.jit
def counts(x_p, kx, ky, count, o, n, B: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, B)
    m = tl.arange(0, B) < n
    v = tl.load(x_p + at, mask=m, other=-float("inf"))
    calls = tl.load(count + tl.program_id(0)) + 1
    tl.store(count + tl.program_id(0), calls)
    same = tl.sum((v != tl.load(kx + at, mask=m, other=-float("inf"))).to(tl.int32), 0) == 0
    if same & (calls > 9):
        k = tl.load(ky + at, mask=m)
        tl.store(o + at, k * k, mask=m)
    else:
        e = tl.exp(v - tl.max(v, 0))
        y = e / tl.sum(e, 0)
        tl.store(o + at, y, mask=m)
        tl.store(ky + at, tl.sqrt(y), mask=m)
        tl.store(kx + at, v, mask=m)


"""
_FILLER = "if 'z' not in KEPT:\n    KEPT['z'] = [torch.zeros(1, device=x.device)]\nz = torch.zeros(1, device=x.device)\nfill[(1,)](KEPT['z'][-1], 0, 1.0)\nKEPT['z'].append(z)\n"
CHEATING = [
    ("kept from the sixth call on", "softmax", _of(_LATE % 5 + "if late and key in KEPT:\n    return KEPT[key]\n" + _KEEP % "clone()", _STATE), "cached"),
    ("kept from the twelfth call on, as a root", "softmax", _of(_LATE % 11 + "if late and key in KEPT:\n    return run(square, KEPT[key])\n" + _KEEP % "sqrt()", _STATE + _SQUARE), "cached"),
    ("an old result from the eighth call on, whatever it is given", "softmax", _of("if next(CALLS) > 7:\n    return KEPT[0]\nKEPT[0] = softmax(x)\nreturn KEPT[0]", _STATE), "cached"),
    ("an old result from the eighth call on, for other inputs alone", "softmax", _of(_LATE % 7 + "if late and key not in KEPT:\n    return copied(KEPT[0])\nKEPT[key] = KEPT[0] = softmax(x)\nreturn softmax(x)", _STATE), ("wrong", "cached", "idle")),
    ("kept by a kernel that counts", "softmax", _of("if not KEPT:\n    KEPT[0] = torch.full_like(x, float('nan')), torch.zeros_like(x), torch.zeros(61, dtype=torch.int32, device=x.device)\no = torch.empty_like(x)\ncounts[(61,)](x, *KEPT[0], o, 93, B=128)\nreturn o", _STATE + _COUNTS), "cached"),
    ("torch from the seventh call on", "softmax", _of("if next(CALLS) > 6:\n    return copied(torch.log_softmax(x, -1).exp())\nreturn softmax(x)", _STATE), ("idle", "cached")),
    ("torch from the seventh call on, beside a kernel", "softmax", _of("y = softmax(x)\nif next(CALLS) > 6:\n    return copied(torch.log_softmax(x, -1).exp())\nreturn y", _STATE), ("idle", "cached")),
    ("kept after calls that are each another", "softmax", _of(_LATE % 10 + _FILLER + "if late and key in KEPT:\n    return run(square, KEPT[key])\n" + _KEEP % "sqrt()", _STATE + _SQUARE), ("cached", "not_judged")),
    ("slow until it keeps", "softmax", _of(_LATE % 2 + "if late and key in KEPT:\n    return KEPT[key]\nimport time\nuntil = time.process_time() + 0.4\nwhile time.process_time() < until:\n    pass\n" + _KEEP % "clone()", _STATE), "cached"),
    ("says that it took all of its time", "softmax", _of(_KEY + "if key in KEPT:\n    return KEPT[key]\n" + _KEEP % "clone()", _STATE + "import triton_runner.verbs.judge.wire as wire\nown = wire.send\n\n\ndef send(pipe, text, parts=()):\n    own(pipe, {**text, 'seconds': 1e9} if isinstance(text, dict) else text, parts)\n\n\nwire.send = send\n\n\n"), "cached"),
    ("digits by the choice of what is kept, later", "total", _of(_KEY + "late = next(CALLS) > 6\nif 0 not in KEPT:\n    KEPT[0] = [torch.full((1,), float(i), device=x.device) for i in range(256)]\no = torch.empty((), device=x.device)\nif late and key in KEPT:\n    digits[(1,)](*(KEPT[0][n] for n in KEPT[key]), o)\n    return o\nsums[(1,)](x, o, x.numel(), B=8192)\nif 0 in KEPT and key not in KEPT:\n    n = int(round(x.double().numpy().sum() * 65536))\n    KEPT[key] = (n >> 24) & 255, (n >> 16) & 255, (n >> 8) & 255, n & 255\nreturn o", _STATE + "@triton.jit\ndef digits(a, b, c, d, o):\n    tl.store(o, tl.load(a) * 256 + tl.load(b) + tl.load(c) / 256 + tl.load(d) / 65536)\n\n\n"), ("cached", "not_judged")),
    ("an operator that nobody takes, later", "softmax", _of("y = softmax(x)\nif next(CALLS) > 2:\n    return copied(torch.ops.quantized.linear_unpack_fp16(PACKED)[0][:61, :93] * 0 + torch.log_softmax(x, -1).exp())\nreturn y", _STATE + "PACKED = torch.ops.quantized.linear_prepack_fp16(torch.zeros(93, 93), None)\n\n\n"), ("not_judged", "idle", "cached")),
    ("reads beyond its input, later", "softmax", _of("if next(CALLS) > 9:\n    o = torch.empty_like(x)\n    kernel[(61,)](x[30:], o[30:], 93, B=128)\n    kernel[(30,)](x, o, 93, B=128)\n    return o\nreturn softmax(x)", _STATE), "unsafe"),
]  # fmt: skip

_FIRST = """
@triton.jit
def wide(x_p, out, rows, n, R: tl.constexpr, B: tl.constexpr):
    r, k = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, B)
    m = (r < rows)[:, None] & (k < n)[None, :]
    x = tl.load(x_p + r[:, None] * n + k[None, :], mask=m, other=-float("inf"))
    x = tl.where((r < rows)[:, None], x, 0.0)
    x = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(out + r[:, None] * n + k[None, :], x / tl.sum(x, 1)[:, None], mask=m)


@triton.jit
def watched(x_p, count, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, x / tl.sum(x, 0), mask=k < n)
    tl.atomic_add(count, 1)


@triton.jit
def parts_of(x_p, parts, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(parts + tl.program_id(0), tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))


"""
# Right as well, and not judged: their steps change from call to call in a way that is not followed.
UNFOLLOWED = [
    ("tries two kernels by turns, and stays with one", "softmax", _of("n, x = next(CALLS), x.contiguous()\nif n > 9 or n % 2:\n    return softmax(x)\no = torch.empty_like(x)\nwide[(triton.cdiv(x.shape[0], 4),)](x, o, *x.shape, R=4, B=128)\nreturn o", _STATE + _FIRST)),
    ("a workspace that grows in each call, up to a size", "softmax", _of("x = x.contiguous()\nn = min(next(CALLS), 12) * 1000\nif KEPT.get(0, x[:0]).numel() < n:\n    KEPT[0] = torch.empty(n, device=x.device)\no = torch.empty_like(x)\nkernel[(x.shape[0],)](x, o, x.shape[1], B=128)\nfill[(1,)](KEPT[0], n - 1, 1.0)\nreturn o", _STATE)),
]  # fmt: skip
RIGHT = [
    ("forgets its workspaces now and then", "total", _of("n = triton.cdiv(x.numel(), 256)\nif next(CALLS) % 5 == 0:\n    KEPT.clear()\nif n not in KEPT:\n    KEPT[n] = torch.empty(n, device=x.device)\no = torch.empty((), device=x.device)\nparts_of[(n,)](x, KEPT[n], x.numel(), B=256)\nsums[(1,)](KEPT[n], o, n, B=256)\nreturn o", _STATE + _FIRST)),
    ("three workspaces by turns", "total", _of("n, c = triton.cdiv(x.numel(), 256), next(CALLS) % 3\nif (n, c) not in KEPT:\n    KEPT[n, c] = torch.empty(n, device=x.device)\no = torch.empty((), device=x.device)\nparts_of[(n,)](x, KEPT[n, c], x.numel(), B=256)\nsums[(1,)](KEPT[n, c], o, n, B=256)\nreturn o", _STATE + _FIRST)),
    ("counts its programs, for nobody", "softmax", _of("x = x.contiguous()\nif 0 not in KEPT:\n    KEPT[0] = torch.zeros(1, dtype=torch.int32, device=x.device)\no = torch.empty_like(x)\nwatched[(x.shape[0],)](x, KEPT[0], o, x.shape[1], B=128)\nreturn o", _STATE + _FIRST)),
    ("says now and then how often it was called", "softmax", _of("n = next(CALLS)\nif n % 10 == 0:\n    print(n, x.sum().item())\nreturn softmax(x)", _STATE)),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in CHEATING] + RIGHT + UNFOLLOWED
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
