"""Plants faults in the kernels of liger-kernel, by a seed each, and counts how many of those that `verify`
calls wrong it names with their line.

    pip download liger-kernel --no-deps && unzip liger_kernel*.whl -d build/liger
    python tests/planted/lines.py --liger build/liger --seeds 61 117

A fault is one token of a kernel's Python that is another: an operator, an operand less, a comparison, a
number, other=, a function. Faults that change no result are not counted.
"""

import argparse
import ast
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# By file of liger_kernel/ops: the call, the same in torch, and what gradients are taken of.
CASES = {
    "rms_norm": ("LigerRMSNormFunction.apply(x, w, 1e-6)", "rms(x) * w", "x, w"),
    "fused_add_rms_norm": (
        "LigerFusedAddRMSNormFunction.apply(x, y, w, 1e-6)[0]", "rms(x + y) * w", "x, y, w",
    ),
    "layer_norm": (
        "LigerLayerNormFunction.apply(x, w, b, 1e-5)", "F.layer_norm(x, (130,), w, b, 1e-5)", "x, w, b",
    ),
    "group_norm": (
        "LigerGroupNormFunction.apply(images, gamma, beta, 8, 4, 1e-5)",
        "F.group_norm(images, 4, gamma, beta, 1e-5)", "images, gamma, beta",
    ),
    "softmax": ("LigerSoftmaxFunction.apply(x)", "F.softmax(x, -1)", "x"),
    "sparsemax": ("LigerSparsemaxFunction.apply(x, -1)", "sparsemax(x)", "x"),
    "swiglu": ("LigerSiLUMulFunction.apply(x, y)", "F.silu(x) * y", "x, y"),
    "geglu": ("LigerGELUMulFunction.apply(x, y)", "F.gelu(x, approximate='tanh') * y", "x, y"),
    "relu_squared": ("LigerReLUSquaredFunction.apply(x)", "F.relu(x).square()", "x"),
    "cross_entropy": (
        "LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.1)[0]",
        "F.cross_entropy(x, target, label_smoothing=0.1)", "x",
    ),
    "kl_div": (
        "LigerKLDivLossFunction.apply(log_q, log_p, 'batchmean', True)",
        "F.kl_div(log_q, log_p, reduction='batchmean', log_target=True)", "log_q",
    ),
}  # fmt: skip
PROGRAM = """
import sys

sys.path[:0] = [{liger!r}, {folder!r}]
import torch
import torch.nn.functional as F
from planted_{name} import *


def rms(x):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


def sparsemax(x):
    ordered = x.sort(-1, descending=True).values
    total, numbers = ordered.cumsum(-1) - 1, torch.arange(1, x.shape[-1] + 1)
    support = (numbers * ordered > total).sum(-1, keepdim=True)
    return (x - total.gather(-1, support - 1) / support).clamp(min=0)


torch.manual_seed({seed})
x, y, w, b = torch.randn(24, 130), torch.randn(24, 130), torch.randn(130), torch.randn(130)
target = torch.randint(0, 130, (24,))
log_q, log_p = F.log_softmax(x, -1), F.log_softmax(y, -1)
images, gamma, beta = torch.randn(3, 8, 4, 5), torch.randn(8), torch.randn(8)
values = [one.detach().clone().requires_grad_() for one in ({of},)]
{of}, = values
want = {want}
weights = torch.randn(want.shape)
wanted = torch.autograd.grad((want * weights).sum(), values)
{of}, = [one.detach().clone().requires_grad_() for one in values]
got = {got}
torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
given = torch.autograd.grad((got * weights).sum(), [{of}])
for one, other in zip(given, wanted):
    torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
"""
SIGNS = {ast.Add: "-*", ast.Sub: "+", ast.Mult: "/+", ast.Div: "*"}
COMPARED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
FUNCTIONS = {
    "tl.exp": "tl.exp2", "tl.log": "tl.log2", "rsqrt": "tl.sqrt", "tl.sum": "tl.max", "tl.max": "tl.min",
    "tl.maximum": "tl.minimum", "tl.minimum": "tl.maximum",
}  # fmt: skip


def sites(tree) -> list[tuple]:
    """(node, kind) of the tokens that can be others: no addresses, which other tests have faults in."""
    found = []
    for function in tree.body:
        decorators = getattr(function, "decorator_list", ())
        is_kernel = any("triton.jit" in ast.unparse(one) for one in decorators)
        for statement in ast.walk(function) if is_kernel else ():
            if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return)) and statement.value is not None:
                text = ast.unparse(statement).lower()
                if not re.search(r"ptr\w* \+?=|^\w*offset\w* =|program_id|stride|arange", text):
                    found += [site for node in ast.walk(statement.value) for site in kinds_of(node)]
    return found


def kinds_of(node) -> list[tuple]:
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        return [(node, kind) for kind in ("sign", "left", "right")]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        return [(node, "comparison")]
    if isinstance(node, ast.Constant) and type(node.value) is float and node.value:
        return [(node, "number")]
    if isinstance(node, ast.keyword) and node.arg == "other":
        return [(node.value, "other")]
    return [(node, "function")] if isinstance(node, ast.Call) and ast.unparse(node.func) in FUNCTIONS else []


def other(chance: random.Random, node, kind: str) -> str:
    """The text that stands there then."""
    if kind in ("left", "right"):
        return ast.unparse(getattr(node, kind))
    if kind == "sign":
        return f"({ast.unparse(node.left)}) {chance.choice(SIGNS[type(node.op)])} ({ast.unparse(node.right)})"
    if kind == "comparison":
        sign = COMPARED[type(node.ops[0])]
        return f"{ast.unparse(node.left)} {sign} {ast.unparse(node.comparators[0])}"
    if kind == "number":
        return str(chance.choice([node.value * 2, node.value / 2, node.value + 1, node.value * 1.1]))
    if kind == "other":
        return "0.0" if "inf" in ast.unparse(node) else chance.choice(["1.0", "0.5", "-1.0"])
    return FUNCTIONS[ast.unparse(node.func)] + ast.unparse(node)[len(ast.unparse(node.func)) :]


def plant(seed: int, liger: pathlib.Path, folder: pathlib.Path) -> tuple[pathlib.Path, str, int, str]:
    """(the program, the file with the fault, its line, what was changed)."""
    chance = random.Random(seed)
    name = chance.choice([*CASES])
    source = (liger / "liger_kernel" / "ops" / f"{name}.py").read_text()
    node, kind = chance.choice(sites(ast.parse(source)))
    old, new = ast.get_source_segment(source, node), other(chance, node, kind)
    lines = source.split("\n")
    start = sum(len(line) + 1 for line in lines[: node.lineno - 1]) + node.col_offset
    here = folder / str(seed)
    here.mkdir(parents=True, exist_ok=True)
    (here / f"planted_{name}.py").write_text(f"{source[:start]}({new}){source[start + len(old) :]}")
    got, want, of = CASES[name]
    fields = {"liger": str(liger), "folder": str(here), "name": name, "seed": seed}
    (here / "program.py").write_text(PROGRAM.format(got=got, want=want, of=of, **fields))
    return here / "program.py", f"planted_{name}.py", node.lineno, f"{old} -> {new}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--liger", type=pathlib.Path, required=True, help="folder with liger_kernel")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 30))
    given = parser.parse_args()
    folder, wrong, named = ROOT / "build" / "planted-lines", 0, 0
    for seed in range(*given.seeds):
        program, file, line, what = plant(seed, given.liger.resolve(), folder)
        command = [sys.executable, "-m", "triton_runner", "verify", str(program)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout.rstrip().endswith("verdict: wrong"):
            continue
        places = re.findall(rf"{file}:(\d+)(?: or (\d+))?", done.stdout)
        is_named = str(line) in {number for place in places for number in place}
        wrong, named = wrong + 1, named + is_named
        print(f"{seed:4} {'named' if is_named else 'not named':9}  {file}:{line}: {what}", flush=True)
    print(f"{named} of {wrong} are named with their line")
    return 0


if __name__ == "__main__":
    sys.exit(main())
