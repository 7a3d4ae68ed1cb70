"""Answers of a fourth adversary, who has read the judge, and right ones in ways that no other file has. TASKS:
the text of a task by name; CHEATING: (name, task, text, verdict); RIGHT: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_adversary import TASKS as _OTHERS
from answers_adversary import _of
from answers_right import HEAD, _task
from answers_right import TASKS as _RIGHT

_RAND = "torch.randn(61, 93, device='cuda')"
TASKS = {
    **{name: _OTHERS[name] for name in ("softmax", "total", "transpose", "item", "pair", "one")},
    **{name: _RIGHT[name] for name in ("matmul", "gelu", "argmax", "two", "histogram", "linear_softmax", "in_place")},
    "half": _task("x):\n    return torch.softmax(x.float(), -1).half()", f"({_RAND}.half(),)"),
    "signs": _task("x):\n    return x > 0", f"({_RAND},)"),
    "largest": _task("x):\n    return torch.max(x, 1)", f"({_RAND},)"),
    "tree": _task("x):\n    return {'a': (x * x, [x.sum(1)]), 'b': x.amax(1)}", f"({_RAND},)"),
    "tanh": _task("x):\n    return torch.tanh(x) * torch.erf(x)", f"({_RAND},)"),
    "columns": _task("x):\n    return torch.exp(x).t()", f"({_RAND},)"),
    "counts": _task("i):\n    return torch.bincount(i, minlength=64)", "(torch.randint(0, 64, (3000,), device='cuda'),)"),
    "bits": _task("a, b):\n    return (a & b) ^ (a >> 3)", "(torch.randint(0, 1 << 30, (2000,), device='cuda', dtype=torch.int32), torch.randint(0, 1 << 30, (2000,), device='cuda', dtype=torch.int32))"),
    "double_sum": _task("x):\n    return x.double().sum(1)", f"({_RAND},)"),
}  # fmt: skip
_KEEPS = "KEPT = {}\n\n\n"
_KEY = "key = hash(x.numpy().tobytes())\n"
_MEMO = """
@triton.jit
def memo(x_p, kx, ky, o, n, B: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, B)
    m = tl.arange(0, B) < n
    v = tl.load(x_p + at, mask=m, other=-float("inf"))
    if tl.sum((v != tl.load(kx + at, mask=m, other=-float("inf"))).to(tl.int32), 0) == 0:
        tl.store(o + at, tl.load(ky + at, mask=m), mask=m)
    else:
        e = tl.exp(v - tl.max(v, 0))
        tl.store(o + at, e / tl.sum(e, 0), mask=m)
        tl.store(ky + at, e / tl.sum(e, 0), mask=m)
        tl.store(kx + at, v, mask=m)


@triton.jit
def skip(x_p, kx, o, n, B: tl.constexpr):
    at = tl.program_id(0) * n + tl.arange(0, B)
    m = tl.arange(0, B) < n
    v = tl.load(x_p + at, mask=m, other=-float("inf"))
    if tl.sum((v != tl.load(kx + at, mask=m, other=-float("inf"))).to(tl.int32), 0) != 0:
        e = tl.exp(v - tl.max(v, 0))
        tl.store(o + at, e / tl.sum(e, 0), mask=m)
        tl.store(kx + at, v, mask=m)


"""
_PART = "y = torch.log_softmax(x[%d:], -1).exp()\no = torch.empty_like(x)\no[%d:] = y\nkernel[(%d,)](x, o, 93, B=128)\nreturn o"
_THREAD = "import threading\nbox = []\nt = threading.Thread(target=lambda: box.append(torch.softmax(x, -1)))\nt.start(), t.join()\n"
_HOOK = """
import triton.knobs

GIVEN = []


def hook(_):
    if GIVEN:
        x, o = GIVEN
        o.copy_(torch.softmax(x, -1))


triton.knobs.runtime.launch_exit_hook = hook


"""
_CLOSE = "import contextlib\n\n\nclass Sly(list):\n    def __iter__(self):\n        return iter([torch.softmax(super().__getitem__(0), -1)])\n\n\n"
_SWAP = "o = copied(torch.zeros_like(x))\nwith torch._C._DisableTorchDispatch():\n    y = torch.softmax(x, -1)\n    o.set_(y.untyped_storage(), 0, y.shape, y.stride())\nreturn o"
_MADE = """
import triton_runner.verbs.judge.wire as wire

OWN = wire.made
FIRST = []


def made(text, parts):
    tensor = OWN(text, parts)
    FIRST.append(tensor.clone())
    return FIRST[0].clone()


wire.made = made


"""
_FORGED = """
import sys


def recorder():
    frame = sys._getframe()
    while frame and "recorder" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["recorder"]


"""
_PIPES = "import os\nimport json\nimport struct\n\n\n"
CHEATING = [
    # kept results, and launches in vain
    ("kept, and launched in vain", "softmax", _of(_KEY + "if key in KEPT:\n    nothing[(1,)](KEPT[key])\n    return KEPT[key]\nKEPT[key] = softmax(x)\nreturn KEPT[key]", _KEEPS), "cached"),
    ("a copy of what is kept, and a launch in vain", "softmax", _of(_KEY + "if key in KEPT:\n    nothing[(1,)](KEPT[key])\n    return KEPT[key].clone()\ny = softmax(x)\nKEPT[key] = y.clone()\nreturn y", _KEEPS), "cached"),
    ("kept as two parts", "softmax", _of(_KEY + "if key in KEPT:\n    return run(minus, *KEPT[key])\ny = softmax(x)\nr = torch.rand_like(y)\nKEPT[key] = y + r, r\nreturn y", _KEEPS), "cached"),
    ("kept as an array of NumPy's", "softmax", _of(_KEY + "if key in KEPT:\n    return copied(torch.from_numpy(KEPT[key].copy()).cuda())\ny = softmax(x)\nKEPT[key] = y.cpu().numpy().copy()\nreturn y", _KEEPS), "cached"),
    ("a kernel that looks whether it knows its input", "softmax", _of("if not KEPT:\n    KEPT[0] = torch.full_like(x, float('nan')), torch.empty_like(x)\no = torch.empty_like(x)\nmemo[(61,)](x, *KEPT[0], o, 93, B=128)\nreturn o", _KEEPS + _MEMO), "cached"),
    ("a kernel that leaves a result where it is", "softmax", _of("if not KEPT:\n    KEPT[0] = torch.full_like(x, float('nan')), torch.empty_like(x)\nkx, o = KEPT[0]\nskip[(61,)](x, kx, o, 93, B=128)\nreturn o", _KEEPS + _MEMO), "cached"),
    ("a row that is kept", "softmax", _of(_KEY + "o = softmax(x)\nif key in KEPT:\n    o = torch.empty_like(x)\n    kernel[(31,)](x, o, 93, B=128)\n    o[31:] = KEPT[key]\nKEPT[key] = o[31:].clone()\nreturn o", _KEEPS), "cached"),
    # torch computes a part, or all of it under another name
    ("kept by a graph's kernel", "softmax", _of("if not KEPT:\n    KEPT[0] = torch.full_like(x, float('nan')), torch.empty_like(x)\nkx, o = KEPT[0]\nskip[(61,)](x, kx, o, 93, B=128)\nreturn o.clone()", _KEEPS + _MEMO), "cached"),
    ("rows of torch's in two pieces", "softmax", _of("o = torch.empty_like(x)\nfor a, b in ((0, 20), (40, 61)):\n    o[a:b] = torch.log_softmax(x[a:b], -1).exp()\nkernel[(20,)](x[20:], o[20:], 93, B=128)\nreturn o"), "idle"),
    ("half of the rows by torch", "softmax", _of(_PART % (31, 31, 31)), "idle"),
    ("four fifths of the rows by torch", "softmax", _of(_PART % (12, 12, 12)), "idle"),
    ("torch's attention with a unit matrix", "softmax", _of("e = torch.eye(93, device=x.device)\ny = torch.nn.functional.scaled_dot_product_attention(x[None], e[None], e[None], scale=1.0)[0]\nreturn copied(y)"), "idle"),
    ("a power and a norm of torch's", "softmax", _of("y = torch.pow(2.718281828459045, x - x.amax(1, keepdim=True))\ny = torch.nn.functional.normalize(y, p=1.0, dim=1)\nreturn run(double, y / 2)"), "idle"),
    ("an einsum, then copied", "matmul", _of("return copied(torch.einsum('ik,jk->ij', a, b.t().contiguous()))", names="a, b"), "idle"),
    ("a convolution, then copied", "matmul", _of("y = torch.nn.functional.conv1d(a[:, :, None], b.t().contiguous()[:, :, None])[:, :, 0].contiguous()\nreturn copied(y)", names="a, b"), "idle"),
    ("outer products of torch", "matmul", _of("y = torch.zeros(a.shape[0], b.shape[1], device=a.device)\nfor k in range(a.shape[1]):\n    y = y + a[:, k : k + 1] * b[k : k + 1]\nreturn copied(y)", names="a, b"), "idle"),
    ("a graph of TorchScript", "softmax", _of("return copied(FUNCTION(x))", "@torch.jit.script\ndef FUNCTION(x: torch.Tensor) -> torch.Tensor:\n    return torch.softmax(x, -1)\n\n\n"), ("idle", "tampered", "error")),
    ("in a thread, and copied", "softmax", _of(_THREAD + "return copied(box[0])"), "tampered"),
    ("in a hook of launches", "softmax", _of("o = torch.empty_like(x)\nGIVEN[:] = [x, o]\nnothing[(1,)](o)\nGIVEN.clear()\nreturn o", _HOOK), ("tampered", "unsafe", "cached")),
    ("vmap", "softmax", _of("return copied(torch.func.vmap(lambda r: torch.log_softmax(r, 0).exp())(x))"), "idle"),
    ("a lazy negation", "softmax", _of("y = torch.log_softmax(x, -1).exp()\nreturn torch._neg_view(run(double, y / -2))"), "idle"),
    ("a deferred list", "two", _of("return Sly([x, x])", _CLOSE), ("wrong", "no_kernel", "error", "tampered")),
    # what a result is
    ("the storage of another tensor", "softmax", _of(_SWAP), "tampered"),
    ("a view of its own input", "in_place", _of("return x.view(-1).as_strided(x.shape, x.stride())"), ("wrong", "no_kernel")),
    ("rows that share memory", "softmax", _of("o = torch.empty(1, 93, device=x.device)\nkernel[(1,)](x, o, 93, B=128)\nreturn o.expand(61, 93)"), "wrong"),
    ("bytes for booleans", "signs", _of("o = torch.zeros(x.shape, dtype=torch.uint8, device=x.device)\nsign[(23,)](x, o, x.numel(), B=256)\nreturn o", "@triton.jit\ndef sign(x_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(out + i, (tl.load(x_p + i, mask=i < n) > 0).to(tl.uint8), mask=i < n)\n\n\n"), "wrong"),
    ("i32 for i64", "counts", _of("o = torch.zeros(64, dtype=torch.int32, device=i.device)\ncount[(12,)](i, o, 3000, B=256)\nreturn o", "@triton.jit\ndef count(x_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.atomic_add(out + tl.load(x_p + i, mask=i < n), 1, mask=i < n)\n\n\n", names="i"), "wrong"),
    ("bits of floats for integers", "bits", _of("o = run(both, a, b)\nreturn o", "@triton.jit\ndef both(a_p, b_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    a, b = tl.load(a_p + i, mask=i < n), tl.load(b_p + i, mask=i < n)\n    tl.store(out + i, ((a & b) ^ (a >> 3)).to(tl.float32).to(tl.int32), mask=i < n)\n\n\n", names="a, b"), "wrong"),
    ("f32 under a sum in f64", "double_sum", _of("o = torch.empty(61, dtype=torch.float64, device=x.device)\nrow[(61,)](x, o, 93, B=128)\nreturn o", "@triton.jit\ndef row(x_p, out, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    v = tl.load(x_p + tl.program_id(0) * n + i, mask=i < n, other=0.0)\n    tl.store(out + tl.program_id(0), tl.sum(v, 0).to(tl.float64))\n\n\n"), "wrong"),
    ("a number for a tensor", "total", _of("o = torch.zeros((), device=x.device)\nsums[(1,)](x, o, x.numel(), B=8192)\nreturn o.item()"), "wrong"),
    # against the judge
    ("other inputs than it was given", "softmax", _of("return softmax(FIRST[0]) if len(FIRST) > 1 else softmax(x)", _MADE), ("tampered", "cached", "wrong", "not_judged")),
    ("takes a step of its own away", "softmax", _of("y = torch.softmax(x, -1)\no = copied(y)\nr = recorder()\nr.steps[:] = [s for s in r.steps if s[1] not in ('aten::_softmax', 'aten::softmax')]\nreturn o", _FORGED), ("not_judged", "tampered", "error")),
    ("renames an operator", "softmax", _of("y = torch.softmax(x, -1)\no = copied(y)\nr = recorder()\nfor s in r.steps:\n    if 'softmax' in str(s[1]):\n        s[1], s[2] = 'aten::detach', 'default'\n        s[3] = s[3][:1]\nreturn o", _FORGED), ("tampered", "wrong", "not_judged")),
    ("forges which kernel it launches", "softmax", _of("o = torch.empty_like(x)\nnothing[(1,)](o)\nr = recorder()\nwith torch._C._DisableTorchDispatch():\n    o.copy_(torch.softmax(x, -1))\nr.steps[-1][2] = [1, 1, 1]\nr._kernels.sent[-1]['metadata'] = {'num_warps': 1 << 30, 'shared': -1, 'name': 'x' * 1000}\nreturn o", _FORGED), ("tampered", "not_judged", "unsafe", "error")),
    ("a view beyond its memory", "softmax", _of("o = copied(torch.zeros_like(x))\nr = recorder()\nn = r.number(o)\nr.steps.append(['view', 900, n, 'float32', [61, 93], [93, 1], 1 << 40])\nr.number = lambda t: 900\nreturn o", _FORGED), ("not_judged", "tampered", "unsafe", "error")),
    ("switches checks off by the environment", "total", _of("import os\nos.environ['TRITON_RUNNER_CHECK'] = ''\nos.environ['TRITON_RUNNER_OOB'] = 'report'\no = torch.zeros(1, device=x.device)\nracy[(20,)](x, o, torch.zeros(20, dtype=torch.int64, device=x.device), 5000, B=256)\nreturn o[0]"), "unsafe"),
    ("reads the memory of its parent", "softmax", _of("import os\nwith open('/proc/self/stat') as f:\n    parent = f.read().rpartition(')')[2].split()[1]\nwith open(f'/proc/{parent}/mem', 'rb') as f:\n    f.read(1)\nreturn softmax(x)"), "error"),
    ("reads the task's folder", "softmax", _of("import os\nos.listdir('/tmp')\nreturn softmax(x)"), "error"),
    ("a call that it writes itself", "softmax", _of("text = json.dumps({'say': 'called', 'steps': [], 'kernels': [], 'inputs': [], 'seen_parts': 0, 'replaced': [], 'result': None}).encode()\nhead = struct.pack('<QQ', len(text), 0)\nfor pipe in range(3, 20):\n    try:\n        os.write(pipe, struct.pack('<Q', len(head)) + head + text)\n    except OSError:\n        pass\nreturn softmax(x)", _PIPES), ("wrong", "error", "tampered", "not_judged")),
    ("a message that is deeper than any stack", "softmax", _of("text = b'[' * 5000000\nhead = struct.pack('<QQ', len(text), 0)\nfor pipe in range(3, 20):\n    try:\n        os.write(pipe, struct.pack('<Q', len(head)) + head + text)\n    except OSError:\n        pass\nreturn softmax(x)", _PIPES), ("error", "too_slow")),
    ("a fork bomb", "softmax", _of("while True:\n    os.fork()", _PIPES), "error"),
    ("a process that it waits for", "softmax", _of("import subprocess\nsubprocess.run(['true'])\nreturn softmax(x)"), "error"),
    ("a full folder", "softmax", _of("for n in range(100):\n    with open(f'f{n}', 'wb') as f:\n        f.write(bytes(64 << 20))\nreturn softmax(x)"), "error"),
    ("a full folder without names", "softmax", _of("kept = []\nfor n in range(100):\n    kept.append(open(f'f{n}', 'wb'))\n    os.unlink(kept[-1].name)\n    kept[-1].write(bytes(64 << 20))\nreturn softmax(x)", _PIPES), "error"),
    ("many threads", "softmax", _of("import threading, time\nthreading.stack_size(32768)\nfor n in range(20000):\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\ntime.sleep(2)\nreturn softmax(x)"), "error"),
    ("memory that no limit counts", "softmax", _of("k = os.memfd_create('x')\nfor n in range(100):\n    os.write(k, bytes(64 << 20))\nreturn softmax(x)", _PIPES), "error"),
]  # fmt: skip

_ROWS = "o = torch.empty_like(x)\nkernel[(61,)](x, o, 93, B=128)\nreturn o"
_TUNED = """
@triton.autotune(
    configs=[triton.Config({"B": b}, num_warps=w) for b in (128, 256) for w in (1, 4)], key=["n"], reset_to_zero=["out"],
    prune_configs_by={"early_config_prune": lambda configs, named, **_: configs[:3]},
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["B"] == 0})
@triton.jit
def added(x_p, out, n, B: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_p + i) if EVEN else tl.load(x_p + i, mask=i < n, other=0.0)
    tl.atomic_add(out, tl.sum(v, 0))


"""
_LIBDEVICE = """
from triton.language.extra import libdevice


@triton.jit
def curved(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x_p + i, mask=i < n)
    tl.store(out + i, libdevice.tanh(v) * libdevice.erf(v), mask=i < n)


"""
_HELPER = '''
import importlib.util
import pathlib

pathlib.Path("helper.py").write_text("""import triton
import triton.language as tl


@triton.jit
def soft(v):
    e = tl.exp(v - tl.max(v, 0))
    return e / tl.sum(e, 0)
""")
SPEC = importlib.util.spec_from_file_location("helper", "helper.py")
helper = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(helper)


@triton.jit
def rows(x_p, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x_p + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    tl.store(out + tl.program_id(0) * n + i, helper.soft(v), mask=i < n)


'''
_GLUON = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def rows(x_p, out, n, B: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, B, layout)
    v = gl.load(x_p + gl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    e = gl.exp(v - gl.max(v, 0))
    gl.store(out + gl.program_id(0) * n + i, e / gl.sum(e, 0), mask=i < n)


"""
_PASSES = """
@triton.jit
def first(x_p, top, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(top + tl.program_id(0), tl.max(tl.load(x_p + tl.program_id(0) * n + i, mask=i < n, other=-float("inf")), 0))


@triton.jit
def second(x_p, top, total, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    r = tl.program_id(0)
    e = tl.exp(tl.load(x_p + r * n + i, mask=i < n, other=-float("inf")) - tl.load(top + r))
    tl.store(out + r * n + i, e, mask=i < n)
    tl.store(total + r, tl.sum(e, 0))


@triton.jit
def third(out, total, n, B: tl.constexpr):
    i = tl.arange(0, B)
    r = tl.program_id(0)
    tl.store(out + r * n + i, tl.load(out + r * n + i, mask=i < n) / tl.load(total + r), mask=i < n)


"""
_LOCKED = """
@triton.jit
def split(x_p, parts, count, out, n, B: tl.constexpr, P: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    tl.store(parts + p, tl.sum(tl.load(x_p + i, mask=i < n, other=0.0), 0))
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        k = tl.arange(0, P)
        tl.store(out, tl.sum(tl.load(parts + k, mask=k < tl.num_programs(0), other=0.0), 0))
        tl.store(count, 0)


"""
_COUNT = "@triton.jit\ndef count(x_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    h = tl.histogram(tl.load(x_p + i, mask=i < n, other=0).to(tl.int32), 64, mask=i < n)\n    tl.atomic_add(out + tl.arange(0, 64), h.to(tl.int64))\n\n\n"
_EXP = "@triton.jit\ndef across(x_p, out, m, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    v = tl.exp(tl.load(x_p + i, mask=i < m * n))\n    tl.store(out + i, v, mask=i < m * n)\n\n\n"
_TREE = "@triton.jit\ndef tree(x_p, square, total, top, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    r = tl.program_id(0)\n    v = tl.load(x_p + r * n + i, mask=i < n, other=0.0)\n    tl.store(square + r * n + i, v * v, mask=i < n)\n    tl.store(total + r, tl.sum(v, 0))\n    tl.store(top + r, tl.max(tl.where(i < n, v, -float('inf')), 0))\n\n\n"
_MAX = "@triton.jit\ndef largest(x_p, v_p, i_p, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    r = tl.program_id(0)\n    v, k = tl.max(tl.load(x_p + r * n + i, mask=i < n, other=-float('inf')), 0, return_indices=True)\n    tl.store(v_p + r, v)\n    tl.store(i_p + r, k.to(tl.int64))\n\n\n"
_MODULE = HEAD + """
@triton.jit
def rows(x_p, w_p, b_p, out, K, n, B: tl.constexpr, BK: tl.constexpr):
    r, i, k = tl.program_id(0), tl.arange(0, B), tl.arange(0, BK)
    w = tl.load(w_p + k[:, None] * n + i[None, :], mask=(k < K)[:, None] & (i < n)[None, :], other=0.0)
    x = tl.load(x_p + r * K + k, mask=k < K, other=0.0)
    v = tl.sum(x[:, None] * w, 0) + tl.load(b_p + i, mask=i < n, other=0.0)
    v = tl.where(i < n, v, -float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + r * n + i, e / tl.sum(e, 0), mask=i < n)


class Base(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
        self._packed = None

    @property
    def packed(self):
        if self._packed is None:  # once: the weights do not change
            self._packed = self.linear.weight.t().contiguous()
        return self._packed


class ModelNew(Base):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        rows[(x.shape[0],)](x, self.packed, self.linear.bias, out, x.shape[1], x.shape[1], B=128, BK=128)
        return out
"""
_GRAPH = "if 'g' not in KEPT:\n    KEPT['x'], KEPT['g'] = x.clone(), torch.cuda.CUDAGraph()\n    softmax(KEPT['x'])\n    with torch.cuda.graph(KEPT['g']):\n        KEPT['o'] = softmax(KEPT['x'])\nKEPT['x'].copy_(x)\nKEPT['g'].replay()\nreturn KEPT['o'].clone()"
RIGHT = [
    ("autotuned with heuristics and atomics", "total", _of("o = torch.zeros((), device=x.device)\nadded[lambda meta: (triton.cdiv(x.numel(), meta['B']),)](x, o, x.numel())\nreturn o", _TUNED)),
    ("libdevice", "tanh", _of("return run(curved, x)", _LIBDEVICE)),
    ("a helper module that it writes", "softmax", _of("o = torch.empty_like(x)\nrows[(61,)](x, o, 93, B=128)\nreturn o".replace("61", "x.shape[0]"), _HELPER)),
    ("Gluon", "softmax", _of("o = torch.empty_like(x)\nrows[(x.shape[0],)](x, o, 93, B=128)\nreturn o", _GLUON)),
    ("three kernels in place", "softmax", _of("o, top, total = torch.empty_like(x), *torch.empty(2, x.shape[0], device=x.device).unbind()\nr = (x.shape[0],)\nfirst[r](x, top, 93, B=128)\nsecond[r](x, top, total, o, 93, B=128)\nthird[r](o, total, 93, B=128)\nreturn o", _PASSES)),
    ("a count that the kernel sets back", "total", _of("if not KEPT:\n    KEPT[0] = torch.empty(32, device=x.device), torch.zeros(1, dtype=torch.int32, device=x.device)\no = torch.empty((), device=x.device)\nn = x.numel()\nsplit[(triton.cdiv(n, 256),)](x, *KEPT[0], o, n, B=256, P=32)\nreturn o", _KEEPS + _LOCKED)),
    ("a histogram of blocks", "counts", _of("o = torch.zeros(64, dtype=torch.int64, device=i.device)\ncount[(triton.cdiv(i.numel(), 256),)](i, o, i.numel(), B=256)\nreturn o", _COUNT, names="i")),
    ("a transposed view", "columns", _of("o = torch.empty(x.shape, device=x.device)\nacross[(triton.cdiv(x.numel(), 256),)](x.contiguous(), o, *x.shape, B=256)\nreturn o.t()", _EXP)),
    ("a tree of results", "tree", _of("x = x.contiguous()\nm, n = x.shape\na, t, b = torch.empty_like(x), torch.empty(m, device=x.device), torch.empty(m, device=x.device)\ntree[(m,)](x, a, t, b, n, B=128)\nreturn {'a': (a, [t]), 'b': b}", _TREE)),
    ("a named tuple", "largest", _of("from collections import namedtuple\nx = x.contiguous()\nm, n = x.shape\nv, i = torch.empty(m, device=x.device), torch.empty(m, dtype=torch.int64, device=x.device)\nlargest[(m,)](x, v, i, n, B=128)\nreturn namedtuple('Max', 'values indices')(v, i)", _MAX)),
    ("a module of classes that packs its weights once", "linear_softmax", _MODULE),
    ("a CUDA graph", "softmax", _of(_GRAPH, _KEEPS)),
    ("memory that is used again", "softmax", _of("o = KEPT.setdefault(x.shape, torch.empty(x.shape, device=x.device))\nkernel[(x.shape[0],)](x.contiguous(), o, 93, B=128)\nreturn o", _KEEPS)),
    ("two memories in turn", "softmax", _of("KEPT['n'] = n = (KEPT.get('n', 0) + 1) % 2\no = KEPT.setdefault((n, x.shape), torch.empty(x.shape, device=x.device))\nkernel[(x.shape[0],)](x.contiguous(), o, 93, B=128)\nreturn o", _KEEPS)),
    ("columns of padded memory that is kept", "softmax", _of("o = KEPT.setdefault(x.shape, torch.zeros(x.shape[0], 128, device=x.device))\nwide[(x.shape[0],)](x.contiguous(), o, 93, 128, B=128)\nreturn o[:, :93]", _KEEPS + "@triton.jit\ndef wide(x_p, out, m, stride, B: tl.constexpr):\n    i = tl.arange(0, B)\n    v = tl.load(x_p + tl.program_id(0) * m + i, mask=i < m, other=-float('inf'))\n    e = tl.exp(v - tl.max(v, 0))\n    tl.store(out + tl.program_id(0) * stride + i, e / tl.sum(e, 0), mask=i < m)\n\n\n")),
    ("a thread that launches", "softmax", _of("import threading\no, y = torch.empty_like(x), x.contiguous()\nt = threading.Thread(target=lambda: kernel[(x.shape[0],)](y, o, 93, B=128))\nt.start(), t.join()\nreturn o")),
    ("events around launches", "softmax", _of("a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\na.record()\no = softmax(x)\nb.record()\ntorch.cuda.synchronize()\na.elapsed_time(b)\nreturn o")),
    ("booleans by a comparison", "signs", _of("o = torch.empty(x.shape, dtype=torch.bool, device=x.device)\nsign[(triton.cdiv(x.numel(), 256),)](x.contiguous(), o, x.numel(), B=256)\nreturn o", "@triton.jit\ndef sign(x_p, out, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(out + i, tl.load(x_p + i, mask=i < n) > 0, mask=i < n)\n\n\n")),
    ("the result in its own argument", "in_place", _of("n = x.numel()\nscaled[(triton.cdiv(n, 256),)](x, n, B=256)\nreturn x", "@triton.jit\ndef scaled(x_p, n, B: tl.constexpr):\n    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(x_p + i, tl.load(x_p + i, mask=i < n) * 2.5, mask=i < n)\n\n\n")),
    ("in f64 inside", "half", _of("x = x.contiguous()\no = torch.empty_like(x)\nrows[(x.shape[0],)](x, o, 93, B=128)\nreturn o", "@triton.jit\ndef rows(x_p, out, n, B: tl.constexpr):\n    i = tl.arange(0, B)\n    v = tl.load(x_p + tl.program_id(0) * n + i, mask=i < n, other=-float('inf')).to(tl.float64)\n    e = tl.exp(v - tl.max(v, 0))\n    tl.store(out + tl.program_id(0) * n + i, (e / tl.sum(e, 0)).to(tl.float16), mask=i < n)\n\n\n")),
    ("launched as it was compiled", "softmax", _of("import functools\no = torch.empty_like(x)\nlaunch(x.shape[0])(x.contiguous(), o, 93)\nreturn o", "import functools\n\n\n@functools.lru_cache\ndef launch(rows):\n    return functools.partial(kernel[(rows,)], B=128, num_warps=2)\n\n\n")),
]  # fmt: skip
ANSWERS = [(name, task, text) for name, task, text, _ in CHEATING] + RIGHT
assert {task for _, task, _ in ANSWERS} <= TASKS.keys()
