"""Right answers with one fault each, made by changing a text: mask dropped, stride wrong, off by one, a race, a
missing barrier, f16 sums, an idle kernel. ANSWERS: (name, task, text)."""
# ruff: noqa: E501  (programs as strings)

from answers_right import ANSWERS as RIGHT
from answers_right import TASKS  # noqa: F401

# (kind, what becomes what, tasks or () for all)
_EDITS = (
    ("mask dropped", ", mask=m)", ")", ()),
    ("mask dropped", ", mask=i < n)", ")", ()),
    ("mask dropped", ", mask=k < n)", ")", ()),
    ("one element less", "m = k < n\n", "m = k < n - 1\n", ()),
    ("one element less", "m = i < n\n", "m = i < n - 1\n", ()),
    ("one block less", "triton.cdiv(x.numel(), ", "triton.cdiv(x.numel() - 1500, ", ()),
    ("one row less", "[(x.shape[0],)]", "[(x.shape[0] - 1,)]", ()),
    (
        "stride of two",
        "tl.program_id(0) * B + tl.arange(0, B)",
        "tl.program_id(0) * B + 2 * tl.arange(0, B)",
        (),
    ),
    ("off by one", "tl.store(out + row * n + k,", "tl.store(out + row * n + k + 1,", ()),
    ("other stride", "x_p + row * n", "x_p + row * (n - 1)", ()),
    ("no atomic update", "tl.atomic_add(out, ", "tl.store(out, tl.load(out) + ", ("total", "total_int")),
    (
        "no atomic update",
        "tl.atomic_add(out + v, 1,",
        "tl.store(out + v, tl.load(out + v) + 1,",
        ("histogram",),
    ),
    ("no lock", "    while tl.atomic_cas(lock, 0, 1) == 1:\n        pass\n", "", ("total",)),
    ("no ticket", "done = tl.atomic_add(count, 1)", "done = tl.program_id(0)", ("total",)),
    ("sums in f16", "total = tl.zeros((BM, BN), tl.float32)", "total = tl.zeros((BM, BN), tl.float16)", ()),
    (
        "sums in f16",
        "other=-float('inf')).to(tl.float32)",
        "other=-float('inf')).to(tl.float16).to(tl.float32)",
        ("softmax", "cross_entropy"),
    ),
    ("another constant", "0.70710678118654752", "0.7", ()),
    ("another constant", "1e-6", "1e-2", ()),
    ("another constant", "* 0.125", "* 0.12", ()),
    ("another constant", "* 2.5", "* 2.4", ()),
    ("no maximum", "tl.exp(x - tl.max(x, 0))", "tl.exp(x - tl.min(x, 0))", ()),
    ("no scale", "total = total * tl.exp(high - now) +", "total = total +", ()),
    ("no scale", "sums = sums * scale[:, None] +", "sums = sums +", ()),
    ("last step left out", "range(0, K, BK)", "range(0, K - BK, BK)", ()),
    ("other axis", "tl.arange(0, B)\n    tl.store(high", "tl.arange(0, B) + 1\n    tl.store(high", ()),
    ("low for high", "tl.max(tl.load", "tl.min(tl.load", ()),
    ("wrong neutral element", "-float('inf')).to", "0.0).to", ("argmax", "cross_entropy")),
    ("not written", "tl.store(low + row,", "tl.store(high + row,", ()),
    ("not doubled", "d * d", "d", ("mse", "layer_norm")),
    ("idle", "    return out\n", "    return torch.zeros_like(out)\n", ()),
    ("not transposed", "tl.trans(t)", "t", ("transpose",)),
    ("running mean forgotten", "momentum * a)", "momentum)", ()),
    ("index of the next", "at = tl.load(i + row)", "at = tl.load(i + row) + 1", ()),
    ("taps", "3 * k + 2", "3 * k + 1", ()),
    ("unmasked division", "tl.where(b != 0, a / b, 0.0)", "a / b", ()),
    ("floor for rounding", "y = tl.where((d > 0.5) | ((d == 0.5) & odd), low + 1, low)", "y = low", ()),
    ("minus", ") + tl.load(y_p", ") - tl.load(y_p", ()),
)
# These changes make no fault in an answer to such a task.
_HARMLESS = {"idle": ("in_place",)}
# These are `verified`, and why: the task's own inputs do not show the fault, and the second verdict or a note does.
_ONE_BLOCK = "64 rows in blocks of 64: the loop runs once, and there is nothing to scale; right for this task"
_POSITIVE = "rows of normal numbers have a positive one: wrong for generated inputs, which are negative"
_ENDS = "one of 93 numbers in a row is seldom the largest: wrong for generated inputs with large ends"
_ROUNDED = "five sums are rounded to the task's own f16 on the way: a note says by how much"
VERIFIED = {
    "attention 32 64: no scale": _ONE_BLOCK,
    "argmax: wrong neutral element": _POSITIVE, "argmax 1024: wrong neutral element": _POSITIVE,
    "argmax: one element less": _ENDS, "argmax 1024: one element less": _ENDS,
    "two results 128: other axis": _ENDS, "two results 256: other axis": _ENDS,
    **{f"matmul{name}: sums in f16": _ROUNDED for name in ("_half", " half 32", " half 64")},
}  # fmt: skip


def _made():
    known = set()
    for name, task, text in RIGHT:
        for number, (kind, old, new, tasks) in enumerate(_EDITS):
            if old not in text or (tasks and task not in tasks) or task in _HARMLESS.get(kind, ()):
                continue
            other = text.replace(old, new) if kind != "mask dropped" else new.join(text.rsplit(old, 1))
            first = name if any(key == (task, number) for key in known) else task
            known.add((task, number))
            yield f"{first}: {kind}", task, other


ANSWERS = list(_made())
