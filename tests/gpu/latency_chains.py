"""Chains of dependent instructions for latencies.py: each instruction of the table reads its own result, and
what is made of it, three times over; ptxas leaves as many cycles between two as the result takes, or more."""

import collections
import re

from instruction_table import instructions, width
from instructions import LANES, SUFFIX

WARP = 32
SCALARS = 4  # parameters, for chains in the uniform datapath
LIKE = 4  # instructions of one word and results that are chained
LONG = r"div|rem|fns|v\w+\.[us]32\.|(sqrt|rcp)\.r"  # what becomes dozens of instructions

# Chains that the table of instructions does not have: of values that all threads share, of guards, of votes.
MORE = {
    "uniform": """
        add.u32 u0, u0, u1; xor.b32 u1, u1, u0; mul.lo.u32 u0, u0, u2; xor.b32 u1, u1, u0; and.b32 u0, u0, u3;
        min.s32 u0, u0, u2; xor.b32 u1, u1, u0; shf.l.wrap.b32 u0, u0, u1, 7; or.b32 u0, u0, u2;
        add.u32 x0, x0, u0; xor.b32 x0, x0, u1;""",
    "uniform-select": """
        setp.lt.u32 p, u0, u1; selp.b32 u2, u0, u3, p; setp.gt.s32 p, u2, u3; selp.b32 u0, u1, u2, p;
        shl.b32 u0, u0, 3; shr.u32 u0, u0, 1; prmt.b32 u0, u0, u1, 0x3210; popc.b32 u1, u0;
        add.u32 x0, x0, u0; add.u32 x0, x0, u1;""",
    "uniform-wide": """
        mul.wide.u32 %w, u0, u1; mov.b64 {u0, u1}, %w; add.u64 %w, %w, 77; mov.b64 {u2, u3}, %w;
        add.u32 u0, u0, u2; add.u32 x0, x0, u0; xor.b32 x0, x0, u3;""",
    "guards": """
        setp.lt.s32 p, x0, x1; @p add.u32 x0, x0, x2; setp.gt.u32 p, x0, x2; @!p xor.b32 x1, x0, x2;
        setp.ne.b32 p, x0, x1; setp.lt.and.s32 q, x1, x2, p; @q add.u32 x0, x1, 5; @p sub.u32 x1, x0, x2;""",
    "guards-float": """
        setp.lt.f32 p, x0, x1; @p add.f32 x0, x0, x2; setp.gt.f32 p, x0, x2; @!p mul.f32 x1, x0, x2;
        setp.ne.f32 p, x0, x1; setp.lt.and.f32 q, x1, x2, p; @q add.f32 x0, x1, x2; xor.b32 x0, x0, x1;""",
    "votes": """
        setp.lt.s32 p, x0, x1; vote.sync.any.pred q, p, -1; selp.b32 x0, x1, x2, q;
        vote.sync.ballot.b32 x1, p, -1; add.u32 x0, x0, x1; xor.b32 x2, x2, x0;""",
}


def declared(kinds: list[str], name: str) -> str:
    return "".join(
        f".reg .{SUFFIX[max(8, width(k)) if width(k) > 1 else 1]} {name}{i}; " for i, k in enumerate(kinds)
    )


def folded(kind: str, name: str) -> str:
    """%m becomes 32 bits of a value."""
    return {
        1: f"selp.b32 %m, 0x5bd1e995, 7, {name};",
        16: f"cvt.u32.u16 %m, {name};",
        32: f"mov.b32 %m, {name};",
        64: f"mov.b64 {{%m, %n}}, {name}; xor.b32 %m, %m, %n;",
    }[width(kind)]


def mixed(kind: str, name: str) -> str:
    """An operand, changed by %m."""
    halves = f"mov.b64 {{%n, %k}}, {name}; xor.b32 %n, %n, %m; add.u32 %k, %k, %m;"
    return {
        1: f"and.b32 %n, %m, 1; setp.ne.b32 {name}, %n, 0;",
        16: f"cvt.u16.u32 %h, %m; xor.b16 {name}, {name}, %h;",
        32: f"xor.b32 {name}, {name}, %m;",
        64: f"{halves} mov.b64 {name}, {{%n, %k}};",
    }[width(kind)]


def chained(instruction) -> str:
    """An instruction that reads its own result, and what is made of it; three times."""
    results, operands = instruction.results, instruction.operands
    names = [f"r{i}" for i in range(len(results))] + [f"x{i}" for i in range(len(operands))]
    text = re.sub(r"%(\d+)", lambda m: names[int(m[1])], instruction.text)
    again = ""
    if operands and width(results[0]) == width(operands[0]):
        again = re.sub(r"\bx0\b", "s0", text)
        bits = width(results[0])
        again = ("mov.pred s0, r0;" if bits == 1 else f"mov.b{bits} s0, r0;") + again
    mixing = "".join(
        folded(kind, f"r{i}")
        + " ".join(mixed(k, f"x{j}") for j, k in enumerate(operands) if k not in ("count", "sel"))
        for i, kind in enumerate(results)
    )
    chain = f"{text} {again} {mixing}\n" * 3
    return declared(results, "r") + declared(operands, "x") + declared(operands[:1], "s"), chain


def kernel(declarations: str, chain: str, operands: list[str], stored: list[tuple[str, str]]) -> str:
    """in_: an array of LANES u64 for each operand; out_: one for each value that is stored."""
    text = ".visible .entry NAME(.param .u64 .ptr .global in_, .param .u64 .ptr .global out_"
    text += "".join(f", .param .u32 c{i}" for i in range(SCALARS)) + f")\n.reqntid {WARP}\n{{\n"
    text += (
        ".reg .b64 %in, %out, %w; .reg .b32 %t, %i, %j, %m, %n, %k; .reg .b16 %h; .reg .pred p, q;\n"
        + declarations
    )
    text += (
        "\nld.param.u64 %in, [in_]; ld.param.u64 %out, [out_]; mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x;\n"
    )
    text += f"mad.lo.u32 %i, %i, {WARP}, %j; mul.wide.u32 %w, %i, 8;\n"
    text += "add.u64 %in, %in, %w; add.u64 %out, %out, %w;\n"
    for i, kind in enumerate(operands):
        at, bits = i * LANES * 8, width(kind)
        text += f"ld.global.b32 %t, [%in+{at}]; setp.ne.b32 x{i}, %t, 0;\n" if bits == 1 else (
            f"ld.global.b{bits} x{i}, [%in+{at}];\n")  # fmt: skip
    text += chain
    for i, (kind, name) in enumerate(stored):
        text += f"{folded(kind, name)} st.global.b32 [%out+{i * LANES * 8}], %m;\n"
    return text + "ret;\n}\n"


def chains():
    """(name, PTX, kinds of operands, how many values are stored)"""
    taken = collections.Counter()
    for instruction in instructions():
        word = instruction.name.partition(".")[0]
        kind = word, *instruction.results
        taken[kind] += 1
        if taken[kind] > LIKE or re.match(LONG, instruction.name):
            continue
        operands = ["b32" if kind == "b8" else kind for kind in instruction.operands]
        declarations, chain = chained(instruction)
        stored = [(kind, f"x{i}") for i, kind in enumerate(operands)]
        stored += [(kind, f"r{i}") for i, kind in enumerate(instruction.results)]
        yield instruction.name, kernel(declarations, chain, operands, stored), operands, len(stored)
    for name, chain in MORE.items():
        operands = ["f32"] * 3 if "float" in name else ["b32"] * 3
        declarations = declared(operands, "x") + ".reg .b32 y<4>, u<4>; "
        head = "".join(f"ld.param.u32 u{i}, [c{i}]; mov.b32 y{i}, {i};" for i in range(SCALARS))
        yield (
            name,
            kernel(declarations, head + chain * 3, operands, [("b32", f"x{i}") for i in range(3)]),
            operands,
            3,
        )
