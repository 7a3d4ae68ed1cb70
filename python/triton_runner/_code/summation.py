"""Reads what the code of a kernel says about rounding: in which order a reduction of its TTGIR adds, how a
product is computed, and which instructions of the PTX compute on a line."""

from __future__ import annotations

import collections
import functools

from triton_runner import ptx
from triton_runner._code.chain import DOTS, INEXACT
from triton_runner._core import layout

_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_FLOATS = ("f16", "f32", "f64", "bf16", "f16x2", "bf16x2", "f32x2", "tf32", "ftz")
_EXACT = ("mov", "ld", "st", "cvta", "selp", "setp", "max", "min", "neg", "abs", "shfl", "bar", "red")


def is_inexact(op) -> bool:
    """Returns whether the function that a reduction or scan applies rounds, so that its order matters."""
    return any(inner.name in (*INEXACT, "tt.call") for inner in op.walk() if inner != op)


def order_of(op, text: str) -> tuple:
    """Returns where the elements along the axis of a reduction or scan are: the steps of registers, lanes and
    warps, each in its order. Equal for two layouts that combine in the same order."""
    value, axis = op.operands[0], op.attr("axis").value
    if value.type.encoding is None:
        return (("elements", value.type.shape[axis]),)
    order = tuple(
        (name, tuple(base[axis] for base in steps if base[axis])) for name, steps in _bases(value.type, text)
    )
    if value.op is not None and value.op.attr("allow_reorder") is not None:  # in an order that layouts decide
        order = (*order, ("source", tuple(map(str, _bases(value.op.operands[0].type, text)))))
    return order


def _bases(type_, text: str) -> list:
    """(place, steps) of a tensor's layout."""
    bases = layout.read(str(type_.encoding), list(type_.shape), str(type_.element), text).bases
    return [(name, bases[name]) for name in ("register", "lane", "warp", "block")]


def order_words(order: tuple) -> str:
    """ "4 in a thread, 32 lanes, 4 warps" """
    sizes = {name: 2 ** len(steps) if isinstance(steps, tuple) else steps for name, steps in order}
    words = {"register": "{} in a thread", "lane": "{} lanes", "warp": "{} warps", "block": "{} blocks"}
    named = [words[name].format(n) for name, n in sizes.items() if name in words and n > 1]
    return ", ".join(named) or "1 element"


def product_of(op) -> dict:
    """Returns what decides how a product rounds: its instruction, how far each adds up, the precision of f32
    operands, the type of the sum."""
    result = op.results[0].type
    encoding, a = result.encoding, op.operands[0].type
    found = {"k": list(a.shape)[-1], "operands": str(a.element), "sum": str(result.element)}
    if encoding is not None and encoding.name.endswith("nvidia_mma"):
        found["instruction"] = "mma" if str(encoding.get("versionMajor")) == "2" else "wgmma"
    elif encoding is not None and "mfma" in str(encoding):
        found["instruction"] = "mfma"
    elif encoding is not None:
        found["instruction"] = "fma"
    if str(a.element) == "f32":
        found["precision"] = _precision(op)
    for name in ("maxNumImpreciseAcc",):
        if (attribute := op.attr(name)) is not None:
            found[name] = str(attribute)
    return found


def _precision(op) -> str:
    attribute = op.attr("inputPrecision")
    if attribute is None:
        return "tf32" if op.name != "tt.dot" else "ieee"
    text = str(attribute).split(" ")[0]
    return _PRECISIONS[int(text)] if text.isdigit() and int(text) < len(_PRECISIONS) else text


def product_words(product: dict) -> str:
    """ "tf32 operands by wgmma, 32 of k at a time" """
    precision = product.get("precision", product["operands"])
    by = f" by {product['instruction']}" if "instruction" in product else ""
    return f"{precision} operands{by}, {product['k']} of k a turn, summed in {product['sum']}"


def is_product(op) -> bool:
    return op is not None and op.name in DOTS


@functools.lru_cache(32)
def _lines(text: str, kernel: str) -> dict:
    """{(file, line): how often each opcode that rounds stands there}; a line has what it calls, too."""
    function = ptx.parse(text).function(kernel)
    found: dict = collections.defaultdict(collections.Counter)
    for instruction in function.instructions if function is not None else ():
        if not _rounds(instruction):
            continue
        for file, line in {(file, line) for file, line, *_ in instruction.source}:
            found[file.rpartition("/")[2], line][instruction.opcode] += 1
    return found


def _rounds(instruction) -> bool:
    parts = instruction.opcode.split(".")
    return parts[0] not in _EXACT and any(part in _FLOATS for part in parts[1:])


def opcodes_at(text: str, kernel: str, file: str, line: int) -> dict:
    """Returns how often each opcode that rounds stands on a line of the kernel's source."""
    return dict(_lines(text, kernel).get((file.rpartition("/")[2], line), {}))


def opcode_words(opcodes: dict) -> str:
    return ", ".join(f"{n} {opcode}" for opcode, n in sorted(opcodes.items())) or "none that rounds"


def contraction_of(opcodes: dict) -> tuple:
    """How the products and sums of a line are contracted: whether there is an fma, and whether others are
    left to ptxas, which may make one of them; ".rn" forbids it."""
    left_open = {
        opcode.split(".")[1] != "rn" for opcode in opcodes if opcode.startswith(("mul.", "add.", "sub."))
    }
    return any(opcode.startswith("fma.") for opcode in opcodes), tuple(sorted(left_open))
