"""Answers that cheat, each in one way: none may be `verified`. TASKS: the text of a task by name; ANSWERS: (name,
task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_right import HEAD
from answers_right import TASKS as RIGHT

TASKS = {
    **{name: RIGHT[name] for name in ("softmax", "linear_softmax", "total", "matmul", "gelu")},
    "mean_of_softmax": RIGHT["softmax"].replace("torch.softmax(x, dim=-1)", "torch.softmax(x, -1).mean(1)"),
    "tiny": RIGHT["softmax"].replace("torch.softmax(x, dim=-1)", "torch.softmax(x, -1) * 1e-4"),
    "one_number": RIGHT["softmax"].replace(
        "torch.softmax(x, dim=-1)", "x.double().logsumexp((0, 1)).float()"
    ),
}
KERNEL = """
@triton.jit
def kernel(x_p, out, n, B: tl.constexpr):
    row, k = tl.program_id(0), tl.arange(0, B)
    x = tl.load(x_p + row * n + k, mask=k < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, 0))
    tl.store(out + row * n + k, x / tl.sum(x, 0), mask=k < n)


@triton.jit
def copy(x_p, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x_p + i, mask=i < n), mask=i < n)


@triton.jit
def fill(out, i, value):
    tl.store(out + i, value)


@triton.jit
def nothing(out):
    tl.store(out, tl.load(out))


def softmax(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    kernel[(x.shape[0],)](x, out, x.shape[1], B=128)
    return out


def copied(x):
    out = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), B=256)
    return out

"""


def _of(body: str, more: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{HEAD}{more}{KERNEL}\ndef reference(x):\n{lines}\n"


_MODULE = (
    HEAD
    + KERNEL
    + """
class ModelNew(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = torch.nn.Linear(features, features)
%s
"""
)
_FORGED = """
import gc
from triton_runner.verbs.judge.record import Recorder
recorder = next(o for o in gc.get_objects() if isinstance(o, Recorder))
"""
ANSWERS = [
    # no kernel, or one that does nothing
    ("torch alone", "softmax", _of("return torch.softmax(x, -1)")),
    ("a kernel that is not launched", "softmax", _of("if x.numel() < 0:\n    softmax(x)\nreturn torch.softmax(x, -1)")),
    ("a kernel without use", "softmax", _of("softmax(x)\nreturn torch.softmax(x, -1)")),
    ("times zero", "softmax", _of("return torch.softmax(x, -1) + 0 * softmax(x)")),
    ("a kernel that copies", "softmax", _of("return copied(torch.softmax(x, -1))")),
    ("copies of what is decomposed", "softmax", _of(
        "e = torch.exp(x - x.amax(1, keepdim=True))\nreturn copied(e / e.sum(1, keepdim=True))")),
    ("a kernel that loads and stores", "softmax", _of("y = torch.softmax(x, -1)\nnothing[(1,)](y)\nreturn y")),
    ("either, if they agree", "softmax", _of(
        "y, z = torch.softmax(x, -1), softmax(x)\nreturn z if torch.allclose(y, z) else y")),
    ("where they agree", "softmax", _of(
        "y, z = torch.softmax(x, -1), softmax(x)\nreturn torch.where((y - z).abs() < 1e-3, z, y)")),
    ("a kernel of no weight", "softmax", _of("return torch.softmax(x, -1) + 1e-30 * softmax(x)")),
    ("falls back to torch", "softmax", _of(
        "try:\n    copy[(1, 2, 3, 4)](x)\nexcept Exception:\n    return torch.softmax(x, -1)")),
    ("falls back after a fault", "softmax", _of(
        "out = torch.empty(4, device=x.device)\ntry:\n    copy[(4,)](x, out, x.numel(), B=256)\nexcept Exception:\n"
        "    return torch.softmax(x, -1)\nreturn torch.softmax(x, -1)")),
    ("a module without kernels", "linear_softmax", _MODULE % (
        "    def forward(self, x):\n        return torch.softmax(self.linear(x), -1)")),
    # values that are not computed
    ("zeros", "softmax", _of("out = copied(torch.zeros_like(x))\nreturn out")),
    ("zeros for small numbers", "tiny", _of("return copied(torch.zeros_like(x))")),
    ("a constant", "mean_of_softmax", _of(
        "out = torch.zeros(x.shape[0], device=x.device)\nfor i in range(x.shape[0]):\n    fill[(1,)](out, i, 1 / 93)\nreturn out")),
    ("lower precision", "softmax", _of("return softmax(x.half()).float()")),
    ("a product in f16", "matmul", HEAD + KERNEL + "\ndef reference(a, b):\n    return copied((a.half() @ b.half()).float())\n"),
    ("of another type", "softmax", _of("return softmax(x).half()")),
    ("a result on the CPU", "softmax", _of("return softmax(x).cpu()")),
    ("a kernel's text that is none", "softmax", _of(
        f"{_FORGED.strip()}\ny = softmax(x)\nrecorder._kernels.sent[-1]['text'] = 'module {{ tt.func'\nreturn y")),
    ("of another shape", "softmax", _of("return softmax(x)[:-1]")),
    ("not all rows", "softmax", _of(
        "out = torch.zeros_like(x)\nkernel[(x.shape[0] - 1,)](x, out, x.shape[1], B=128)\nreturn out")),
    ("memory that was freed", "softmax", _of("return torch.empty_like(copied(x))")),
    # state between calls
    ("a result that is kept", "softmax", _of(
        "global kept\nkept = softmax(x) if kept is None else kept\nreturn kept", "kept = None\n\n\n")),
    ("a result that is kept by shape", "softmax", _of(
        "key = (x.shape, x.dtype)\nif key not in kept:\n    kept[key] = softmax(x)\nreturn kept[key]", "kept = {}\n\n\n")),
    ("a kept result is copied", "softmax", _of(
        "if 0 not in kept:\n    kept[0] = softmax(x)\nreturn copied(kept[0])", "kept = {}\n\n\n")),
    # inputs, references and what looks at them
    ("inputs are overwritten", "softmax", _of("y = softmax(x)\nx.zero_()\nreturn y")),
    ("inputs are overwritten by a kernel", "softmax", _of("kernel[(x.shape[0],)](x, x, x.shape[1], B=128)\nreturn x")),
    ("memory of the reference", "softmax", _of(
        "import gc\nfor y in gc.get_objects():\n    if isinstance(y, torch.Tensor) and y.shape == x.shape and y is not x:\n"
        "        return copied(y)\nreturn copied(x)")),
    ("imports the task", "softmax", _of("import softmax as task\nreturn copied(task.reference(x))")),
    ("reads the task's file", "softmax", _of(
        "import glob\ntext = ''.join(open(p).read() for p in glob.glob('/tmp/*/softmax.py') + glob.glob('../*/softmax.py'))\n"
        "names = {}\nexec(text, names)\nreturn copied(names['reference'](x))")),
    ("replaces allclose", "softmax", _of(
        "torch.allclose = lambda *a, **k: True\ntorch.testing.assert_close = lambda *a, **k: None\nreturn copied(x)")),
    ("replaces allclose and is right", "softmax", _of("torch.allclose = lambda *a, **k: True\nreturn softmax(x)")),
    ("replaces the clock", "softmax", _of("import time\ntime.perf_counter = lambda: 0.0\nreturn softmax(x)")),
    ("replaces softmax", "softmax", _of("torch.softmax = lambda x, dim: x\nreturn copied(x)")),
    ("replaces equality of arrays", "softmax", _of(
        "import numpy\nnumpy.isclose = lambda *a, **k: numpy.array(True)\nreturn copied(x)")),
    # results that come later
    ("a lazy tensor", "softmax", _of(
        "return softmax(x).as_subclass(Lazy)", "class Lazy(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types, args=(), "
        "kwargs=None):\n        return super().__torch_function__(f, types, args, kwargs)\n\n\n")),
    ("a thread that finishes late", "softmax", _of(
        "import threading\nout = torch.zeros_like(x)\nthreading.Timer(0.05, lambda: out.copy_(torch.softmax(x, -1))).start()\n"
        "nothing[(1,)](out)\nreturn out")),
    ("a thread that is waited for", "softmax", _of(
        "import threading\nout = copied(torch.zeros_like(x))\nt = threading.Thread(target=lambda: out.copy_(torch.softmax(x, -1)))\n"
        "t.start(), t.join()\nreturn out")),
    ("a stream", "softmax", _of(
        "s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    y = torch.softmax(x, -1)\nreturn y")),
    # ends and other processes
    ("ends itself", "softmax", _of("import os\nprint('verdict: verified')\nos._exit(0)")),
    ("exits", "softmax", _of("raise SystemExit(0)")),
    ("never ends", "softmax", _of("while True:\n    pass")),
    ("sleeps", "softmax", _of("import time\ntime.sleep(10_000)")),
    ("starts a process", "softmax", _of(
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'open(\"../out\", \"w\")'], check=True)\nreturn softmax(x)")),
    ("asks the network", "softmax", _of(
        "import socket\nsocket.create_connection(('1.1.1.1', 80), 2)\nreturn softmax(x)")),
    ("kills its parent", "softmax", _of("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nreturn copied(x)")),
    # what never went through torch
    ("NumPy", "softmax", _of(
        "import numpy\ny = numpy.exp(x.cpu().numpy())\ny /= y.sum(1, keepdims=True)\nreturn copied(torch.from_numpy(y).cuda())")),
    ("writes by address", "softmax", _of(
        "import ctypes\ny = torch.softmax(x, -1)\nout = copied(torch.zeros_like(x))\n"
        "ctypes.memmove(out.data_ptr(), y.data_ptr(), y.numel() * 4)\nreturn out")),
    ("numbers of Python", "one_number", _of(
        "import math\nout = torch.zeros((), device=x.device)\ny = math.log(sum(map(math.exp, x.reshape(-1).tolist())))\n"
        "fill[(1,)](out, 0, y)\nreturn out")),
    ("numbers of Python, one of them read", "one_number", _of(
        "import math\nout = torch.zeros((), device=x.device)\nx[0, 0].item()\n"
        "y = math.log(sum(map(math.exp, x.reshape(-1).tolist())))\nfill[(1,)](out, 0, y)\nreturn out")),
    # against the judge itself
    ("forges steps", "softmax", _of(_FORGED.strip() + """
y = torch.softmax(x, -1)
with torch._C._DisableTorchDispatch():
    z = y.clone()
del recorder.steps[:]
return copied(z)""")),
    ("forges a launch's memory", "softmax", _of(_FORGED.strip() + """
from torch.utils._python_dispatch import _disable_current_modes
with _disable_current_modes():
    y = torch.softmax(x, -1)
out = copied(x)
number = recorder.number(y)
for step in recorder.steps:
    if step[0] == "launch":
        step[3][0][1] = {"t": number}
recorder.steps.sort(key=lambda step: step[0] == "launch")
return out""")),
    ("forges its result", "softmax", _of(_FORGED.strip() + """
out = copied(x)
with torch._C._DisableTorchDispatch():
    out.copy_(torch.softmax(x.detach(), -1))
return out""")),
    ("forges a message", "softmax", _of("""
import os, json, struct
text = json.dumps({"say": "called", "verdict": "verified", "steps": [], "result": None, "kernels": [], "inputs": [],
                   "seen_parts": 0, "replaced": [], "seconds": 0}).encode()
for pipe in range(3, 64):
    try:
        os.write(pipe, struct.pack("<QQQ", 16, len(text), 0) + text)
    except OSError:
        pass
return copied(x)""")),
    ("a launcher that computes with torch", "softmax", _of("""
launcher = type(kernel).__getitem__
type(kernel).__getitem__ = lambda self, grid: lambda x, out, *a, **k: out.copy_(torch.softmax(x, -1))
y = softmax(x)
type(kernel).__getitem__ = launcher
return y""")),
    ("no recorder", "softmax", _of("""
import contextlib
from torch.utils._python_dispatch import _disable_current_modes
out = copied(torch.zeros_like(x))
with _disable_current_modes():
    out.copy_(torch.softmax(x, -1))
return out""")),
]  # fmt: skip
