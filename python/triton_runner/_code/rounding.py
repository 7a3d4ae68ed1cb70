"""Recognises results that are far from exact because the target rounds so: its tensor cores sum products of
fp8 in fewer bits than f32 has (14 on sm_89 and sm_90), and TTGIR as the hardware rounds gives the same bits
as the PTX.

No pass of the compiler is at fault then. What helps is to sum in f32 more often: max_num_imprecise_acc of
tl.dot."""

from __future__ import annotations

from triton_runner import ir
from triton_runner._base.errors import DiagnosticError

ADVICE = (
    "tl.dot(..., max_num_imprecise_acc=32) adds them in f32 after every 32 products on sm_90; elsewhere "
    "shorter products do, each added to an f32 accumulator"
)


def product_of_fp8(text: str):
    """The first op of an IR that multiplies matrices of fp8; None without one, or if the text cannot be
    read."""
    try:
        ops = ir.parse(text).walk()
    except DiagnosticError:
        return None
    return next(
        (op for op in ops if "dot" in op.name and op.operands and "f8" in str(op.operands[0].type)), None
    )


def cause(product) -> str:
    """Why results are far from exact, in a clause. product: the product of fp8, if the kernel has one."""
    if product is not None:
        return "the target's tensor cores sum fp8 in fewer bits"
    return "the target rounds more coarsely than each op by itself"
