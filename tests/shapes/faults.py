"""The faults that are planted in the subjects: an edit of a program that is right, after which the call that
the program makes is right still. The first ten are of the kind of arXiv 2606.20128; the texts are ours."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Fault:
    """kinds: what `verify --shapes` may call it; edits: (old, new) of the subject's text; without: also found
    without a reference."""

    name: str
    subject: str
    edits: tuple
    kinds: tuple
    without: bool = False


def fault(name: str, subject: str, *edits, kinds: str, without: bool = False) -> Fault:
    return Fault(
        name, subject, tuple(zip(edits[::2], edits[1::2], strict=True)), tuple(kinds.split()), without
    )


FAULTS = (
    fault("mask right for multiples of the block", "add",
          "inside = at < n", "inside = at < tl.cdiv(n, BLOCK) * BLOCK", kinds="oob", without=True),
    fault("no mask on the axis of the sum", "softmax",
          "row + at * column, inside, other=-float(\"inf\"))", "row + at * column)",
          kinds="oob result", without=True),
    fault("strides of a contiguous tensor", "matmul",
          "*a.stride(), *b.stride()", "K, 1, N, 1", kinds="result oob"),
    fault("offsets of 32 bits", "add", ".to(tl.int64)", "", kinds="overflow oob", without=True),
    fault("sums in 16 bits", "row_sum",
          "total = tl.zeros((BLOCK,), tl.float32)",
          "total = tl.sum(tl.zeros((BLOCK,), x.dtype.element_ty), 0)",
          "total += tl.load(", "total += tl.sum(tl.load(",
          "at < columns, other=0.0)\n", "at < columns, other=0.0), 0)\n        "
          "total = total.to(x.dtype.element_ty)\n",
          "tl.sum(total, 0)", "total", "BLOCK=128", "BLOCK=16", kinds="result"),
    fault("a race of several programs", "total",
          "tl.store(parts + tl.program_id(0), tl.sum(value, 0))",
          "tl.store(parts, tl.load(parts) + tl.sum(value, 0))",
          "parts = torch.empty(programs,", "parts = torch.zeros(max(programs, 1),",
          kinds="race", without=True),
    fault("a tail that nobody writes", "add",
          "add_kernel[(triton.cdiv(n, 256),)]", "add_kernel[(n // 256,)]",
          kinds="unwritten result", without=True),
    fault("a dimension of 1 goes away", "clamp",
          "    rows, columns = x.shape\n",
          "    x = x.squeeze()\n    rows, columns = x.reshape(-1, x.shape[-1]).shape\n",
          "out = torch.empty((rows, columns),", "out = torch.empty(x.shape,",
          "*x.stride(), BLOCK", "*x.reshape(rows, columns).stride(), BLOCK", kinds="result error"),
    fault("NaN is lost", "clamp", "tl.where(value < 0, 0.0, value)", "tl.maximum(value, 0.0)",
          kinds="result"),
    fault("a size that is written out", "layer_norm",
          "tl.sum(value, 0) / columns", "tl.sum(value, 0) / 128", kinds="result"),
    # more of these kinds
    fault("mask on one axis only", "transpose",
          "inside = (r[:, None] < rows) & (c[None, :] < columns)", "inside = (r[:, None] < rows)",
          kinds="oob", without=True),
    fault("mask with <=", "row_sum", "at < columns, other", "at <= columns, other",
          kinds="result oob", without=True),
    fault("mask with < n - 1", "add", "inside = at < n", "inside = (at < n - 1) | (n == 4096)",
          kinds="unwritten result", without=True),
    fault("no mask at the store", "cumulative",
          "columns + at, sums, at < columns)", "columns + at, sums)", kinds="oob race result", without=True),
    fault("0 in the place of -inf", "softmax", "inside, other=-float(\"inf\")", "inside, other=0.0",
          kinds="result"),
    fault("0 in the place of -inf, maximum", "row_max", "other=-float(\"inf\")", "other=0.0", kinds="result"),
    fault("padding counts in the variance", "layer_norm",
          "tl.where(inside, value - mean, 0.0)", "value - mean", kinds="result"),
    fault("a grid that is rounded down", "row_sum",
          "row_sum_kernel[(x.shape[0],)]", "row_sum_kernel[(x.shape[0] // 8 * 8,)]",
          kinds="unwritten result", without=True),
    fault("a grid with the block of another axis", "transpose",
          "triton.cdiv(columns, 32))", "triton.cdiv(columns, 64) + (columns == 64))",
          kinds="unwritten result", without=True),
    fault("a loop that leaves out the rest", "row_sum",
          "range(0, columns, BLOCK)", "range(0, columns // BLOCK * BLOCK, BLOCK)", kinds="result"),
    fault("a fixed number of programs", "total",
          "programs = triton.cdiv(x.numel(), 1024)", "programs = min(triton.cdiv(x.numel(), 1024), 4)",
          kinds="result"),
    fault("a loop over one block", "total", "for start in range(0, n, BLOCK):", "for start in range(0, 1):",
          kinds="result"),
    # Without a reference nothing shows it: what is read lies between the elements.
    fault("the inner stride is 1", "softmax", "row + at * column, inside", "row + at, inside",
          kinds="result oob"),
    fault("the row is as long as the columns", "layer_norm",
          "x.stride(0), columns, eps", "columns, columns, eps", kinds="result"),
    fault("view instead of contiguous", "embedding",
          "table, index = table.contiguous(), index.contiguous()", "pass", kinds="result oob"),
    fault("offsets of 32 bits, a matrix", "clamp",
          "def clamp(x):", "@dims(M=(1, 1 << 20), N=(1, 1 << 14), x='float[M, N]')\ndef clamp(x):",
          "import triton.language as tl\n",
          "import triton.language as tl\nfrom triton_runner.testing import dims\n",
          kinds="overflow oob", without=True),
    fault("the result in f16", "row_sum",
          "tl.sum(total, 0))", "tl.sum(total, 0).to(tl.float16))", kinds="result"),
    fault("halves on the way", "cumulative", "other=0.0).to(tl.float32)",
          "other=0.0).to(tl.float16).to(tl.float32)",
          "x = torch.randn(8, 128", "x = torch.ones(8, 128", kinds="result"),
    fault("products in f16 are added in f16", "matmul",
          "total += tl.dot(x, y)", "total = (total + tl.dot(x, y)).to(c.dtype.element_ty).to(tl.float32)",
          "total = tl.zeros((BM, BN), tl.float32)", "total = tl.zeros((BM, BN), tl.float32)", kinds="result"),
    fault("counts without atomics", "histogram",
          "tl.atomic_add(out + tl.load(x + at, inside, other=0), 1, inside)",
          "number = tl.load(x + at, inside, other=0)\n"
          "    for bin in range(16):\n"
          "        count = tl.sum(((number == bin) & inside).to(tl.int32), 0)\n"
          "        tl.store(out + bin, tl.load(out + bin) + count)", kinds="race", without=True),
    fault("counts of which nobody makes a zero", "histogram",
          "out = torch.zeros(16,", "out = (torch.zeros if x.numel() % 512 == 0 else torch.empty)(16,",
          kinds="uninit result unwritten", without=True),
    fault("counts that stay from the last call", "histogram",
          "out = torch.zeros(16, dtype=torch.int32, device=x.device)",
          "global OUT\n    OUT = out = globals().get('OUT') if globals().get('OUT') is not None "
          "else torch.zeros(16, dtype=torch.int32, device=x.device)", kinds="result repeat"),
    fault("a result that is kept", "row_sum",
          "def row_sum(x):\n", "KEPT = {}\n\n\ndef row_sum(x):\n    if x.data_ptr() in KEPT:\n"
          "        return KEPT[x.data_ptr()]\n",
          "    return out\n", "    KEPT[x.data_ptr()] = out\n    return out\n", kinds="repeat result"),
    fault("rows that are counted in 8 bits", "embedding",
          "number = tl.load(index + tl.program_id(0))",
          "number = tl.load(index + tl.program_id(0).to(tl.int8))",
          kinds="result oob", without=True),
    fault("infinity becomes NaN", "row_max", "value = tl.load(", "value = 0.0 + 1.0 * tl.load(",
          "has_nan = tl.max((value != value)",
          "value = value - value * 0\n    has_nan = tl.max((value != value)",
          "tl.max(value, 0)", "tl.max(value * 1.0, 0)", kinds="result"),
    fault("a softmax without its maximum", "softmax", "value - tl.max(value, 0)", "value", kinds="result"),
    fault("an index beyond one block", "embedding",
          "for start in range(0, columns, BLOCK):\n        at = start + tl.arange(0, BLOCK)",
          "for start in range(0, 2 * BLOCK, BLOCK):\n        at = start + tl.arange(0, BLOCK)",
          kinds="unwritten result", without=True),
    fault("rows and columns change places", "transpose",
          "def transpose(x):", "@dims(M=(1, 300), N=(1, 300), x='float[M, N]')\ndef transpose(x):",
          "import triton.language as tl\n",
          "import triton.language as tl\nfrom triton_runner.testing import dims\n",
          "c[None, :] * outr + r[:, None] * outc", "c[None, :] * rows + r[:, None]",
          "*out.stride(), BLOCK", "columns, 1, BLOCK",
          "tl.store(out + c[None, :] * rows", "tl.store(out + c[None, :] * columns", kinds="result oob"),
    fault("it writes into its argument", "cumulative",
          "tl.store(out + tl.program_id(0) * columns + at, sums, at < columns)",
          "tl.store(out + tl.program_id(0) * columns + at, sums, at < columns)\n"
          "        tl.store(x + tl.program_id(0) * row + at * column, sums, (at < columns) & (start > 0))",
          kinds="writes", without=False),
)  # fmt: skip
ILLUSION = FAULTS[:10]
