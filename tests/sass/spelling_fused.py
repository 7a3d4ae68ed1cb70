"""Pairs and triples of PTX's arithmetic that ptxas makes one instruction of, or other ones than the two: extrema of
three, sums and extrema, shifts and sums, carries, byte permutes, logic, comparisons and selections, halves of
registers, conversions and packs.

    one(name, results, operands, text)

is an instruction of tests/gpu/instruction_table.py: %0 and up are results, then operands. Registers of the text
itself need no declaration: r1 has 32 bits, d1 64, h1 16, y1 8, p1 is a predicate, q1 has 128.
"""

# ruff: noqa: E501  (lines of PTX)
import re

from instruction_table import Instruction, width

KINDS = {"r": "b32", "d": "b64", "h": "b16", "y": "b8", "p": "pred", "q": "b128"}
_OWN = re.compile(r"(?<![\w.%])([rdhypq])(\d)\b")
MINMAX = ("min", "max")
LOGIC = ("and", "or", "xor")
SIGNS = ("s32", "u32")
HALVES = ("f16", "bf16")
PAIRS = ("f16x2", "bf16x2")


def one(name: str, results: str, operands: str, text: str) -> Instruction:
    own = sorted({found[1] + found[2] for found in _OWN.finditer(text)})
    declared = "".join(f".reg .{KINDS[register[0]]} {register}; " for register in own)
    return Instruction(name, results.split(), operands.split(), declared + text)


def own(kind: str, number: int = 1) -> str:
    """A register of the text's own for a kind of value."""
    return {16: "h", 32: "r", 64: "d", 1: "p"}[width(kind)] + str(number)


def container(kind: str, is_result: bool = False) -> str:
    """Returns what holds a value of a kind: u8 has a register of 16 bits, or as a result of 32."""
    if kind in ("u8", "s8", "b8"):
        return "b32" if is_result else "b16"
    return kind


def extrema():
    for op in MINMAX:
        for t in ("s32", "u32", "s16x2", "u16x2", "f64", "s64", "u64", "s16", "u16"):
            v = own(t)
            for other in MINMAX if t in SIGNS else (op,):
                yield one(
                    f"{op}.{other}.{t}", t, f"{t} {t} {t}", f"{op}.{t} {v}, %1, %2; {other}.{t} %0, {v}, %3;"
                )
        for t in ("s32", "s16x2"):
            for a, b in ((".relu", ""), ("", ".relu"), (".relu", ".relu")):
                text = f"{op}{a}.{t} r1, %1, %2; {op}{b}.{t} %0, r1, %3;"
                yield one(f"{op}{a}.{op}{b}.{t}", t, f"{t} {t} {t}", text)
        for t in ("f32", *HALVES, *PAIRS):
            v, w = own(t), own(t, 2)
            for mods in ("", ".NaN", ".ftz", ".ftz.NaN"):
                if "ftz" not in mods or not t.startswith("bf"):
                    text = f"{op}{mods}.{t} {v}, %1, %2; {op}{mods}.{t} %0, {v}, %3;"
                    yield one(f"{op}3{mods}.{t}", t, f"{t} {t} {t}", text)
            for sign in ("neg", "abs"):
                for k in (1, 2, 3):
                    names = [w if i == k else f"%{i}" for i in (1, 2, 3)]
                    text = f"{sign}.{t} {w}, %{k}; {op}.{t} {v}, {names[0]}, {names[1]}; {op}.{t} %0, {v}, {names[2]};"
                    yield one(f"{op}3.{sign}{k}.{t}", t, f"{t} {t} {t}", text)
            number = {"f32": "0x3fc00000", "f16": "0x3e00", "bf16": "0x3fc0"}.get(t, "0x3e00b800")
            for k, (a, b) in enumerate(((w, "%2"), ("%2", w))):
                text = f"mov.b{width(t)} {w}, {number}; {op}.{t} {v}, %1, {a}; {op}.{t} %0, {v}, {b};"
                yield one(f"{op}3.number{k}.{t}", t, f"{t} {t}", text)
            yield one(
                f"{op}.xorsign.{t}",
                t,
                f"{t} {t} {t}",
                f"{op}.xorsign.abs.{t} {v}, %1, %2; {op}.{t} %0, {v}, %3;",
            )
        for t in SIGNS:
            yield one(f"{op}3.number.{t}", t, f"{t} {t}", f"{op}.{t} r1, %1, 77; {op}.{t} %0, r1, %2;")
        for t in (*SIGNS, "s16x2", "u16x2", "s16", "u16"):
            add, v = ("add.s32" if width(t) == 32 and "x" not in t else f"add.{t}"), own(t)
            for last in ("", ".relu") if t in ("s32", "s16x2") else ("",):
                yield one(
                    f"add.{op}{last}.{t}",
                    t,
                    f"{t} {t} {t}",
                    f"{add} {v}, %1, %2; {op}{last}.{t} %0, {v}, %3;",
                )
            if t in SIGNS:
                yield one(f"sub.{op}.{t}", t, f"{t} {t} {t}", f"sub.s32 r1, %1, %2; {op}.{t} %0, r1, %3;")
                yield one(f"add.number.{op}.{t}", t, f"{t} {t}", f"add.s32 r1, %1, -5; {op}.{t} %0, r1, %2;")
                yield one(
                    f"add.{op}.number.{t}", t, f"{t} {t}", f"add.s32 r1, %1, %2; {op}.{t} %0, r1, 1000;"
                )
        for t in ("s16", "u16"):
            says = (
                "mov.b32 {h1, h2}, %0; mov.b32 {h3, h4}, %3; setp.eq.TYPE p1, h1, h3; setp.eq.TYPE p2, h2, h4; "
                "selp.b32 %1, 1, 0, p1; selp.b32 %2, 1, 0, p2;"
            ).replace("TYPE", t)
            yield one(f"which.{op}.{t}", "b32 b32 b32", f"{t}x2 {t}x2", f"{op}.{t}x2 %0, %3, %4; {says}")
            unread = says.replace("%0", "r1").replace("%1", "%0").replace("%2", "%1").replace("%3", "%2")
            text = f"{op}.{t}x2 r1, %2, %3; {unread}"
            yield one(f"which.unread.{op}.{t}", "b32 b32", f"{t}x2 {t}x2", text)
            text = f"mov.b32 r1, 0x40004; {op}.{t}x2 %0, %3, r1; {says}"
            yield one(f"which.number.{op}.{t}", "b32 b32 b32", f"{t}x2", text)
        for t in (*SIGNS, "s64", "u64"):
            for test in ("eq", "le", "ge"):
                text = f"{op}.{t} %0, %2, %3; setp.{test}.{t} p1, {'%0' if test == 'eq' else '%3'}, %2; selp.b32 %1, 1, 0, p1;"
                yield one(f"which.{op}.{test}.{t}", f"{t} b32", f"{t} {t}", text)
    for t in (*SIGNS, "f32", "s64", "f16x2", "s16x2"):
        v = own(t)
        yield one(f"clamp.{t}", t, f"{t} {t} {t}", f"max.{t} {v}, %1, %2; min.{t} %0, {v}, %3;")
    yield one("relu.f32", "f32", "f32 f32", "add.rn.f32 r1, %1, %2; max.f32 %0, r1, 0f00000000;")
    yield one("relu.s16x2", "s16x2", "s16x2", "mov.b32 r1, 0; max.s16x2 %0, %1, r1;")
    yield one("relu.min.s32", "s32", "s32 s32", "min.s32 r1, %1, %2; max.s32 %0, r1, 0;")


def shifts_and_sums():
    for n in (1, 9, 31):
        for name, last in (
            ("add", "add.s32 %0, r1, %2;"), ("sub", "sub.s32 %0, %2, r1;"), ("back", "sub.s32 %0, r1, %2;"),
            ("not", "not.b32 r2, r1; add.s32 %0, %2, r2;"), ("not.sub", "not.b32 r2, %2; sub.s32 %0, r1, r2;"),
            ("number", "add.s32 %0, r1, -9;"), ("number.back", "sub.s32 %0, -9, r1;"), ("or", "or.b32 %0, r1, %2;"),
        ):  # fmt: skip
            yield one(f"shl.{n}.{name}", "b32", "b32 b32", f"shl.b32 r1, %1, {n}; {last}")
        carry = "add.cc.u32 r2, %2, %3;"
        for name, last in (
            ("", "addc.u32 %0, r1, %2;"), (".number", "addc.u32 %0, r1, -9;"), (".back", "subc.u32 %0, %2, r1;"),
        ):  # fmt: skip
            yield one(f"carry.shl.{n}{name}", "b32", "b32 b32 b32", f"{carry} shl.b32 r1, %1, {n}; {last}")
        text = f"add.cc.u32 r2, -1, 2; shl.b32 r1, %1, {n}; addc.u32 %0, r1, 0xfffffff7;"
        yield one(f"carry.known.shl.{n}", "b32", "b32", text)
        text = f"shl.b32 r1, %2, {n}; add.cc.u32 %0, r1, %3; addc.u32 %1, %4, 0;"
        yield one(f"shl.{n}.add.cc", "b32 b32", "b32 b32 b32", text)
        text = f"shl.b32 r1, %2, {n}; sub.cc.u32 %0, %3, r1; subc.u32 %1, %4, 0;"
        yield one(f"shl.{n}.sub.cc", "b32 b32", "b32 b32 b32", text)
    for n in (7, 23):
        shift = f"shf.l.wrap.b32 r1, %1, %2, {n};"
        for name, before, shifted, last in (
            ("add", "", "%1, %2", "add.s32 %0, r1, %3;"), ("sub", "", "%1, %2", "sub.s32 %0, %3, r1;"),
            ("back", "", "%1, %2", "sub.s32 %0, r1, %3;"), ("number", "", "%1, 0x1d5", "add.s32 %0, r1, %3;"),
            ("neg", "neg.s32 r2, %1;", "r2, %2", "add.s32 %0, r1, %3;"), ("not", "not.b32 r2, %1;", "r2, %2", "add.s32 %0, r1, %3;"),
            ("neg.number", "neg.s32 r2, %1;", "r2, 0x1d5", "add.s32 %0, r1, %3;"),
            ("number.sub", "", "%1, 0x1d5", "sub.s32 %0, %3, r1;"), ("add.number", "", "%1, %2", "add.s32 %0, r1, 99;"),
        ):  # fmt: skip
            text = f"{before} shf.l.wrap.b32 r1, {shifted}, {n}; {last}"
            yield one(f"shf.{n}.{name}", "b32", "b32 b32 b32", text)
        yield one(
            f"carry.shf.{n}", "b32", "b32 b32 b32", f"add.cc.u32 r2, %2, %3; {shift} addc.u32 %0, r1, %3;"
        )
        for t in SIGNS:
            for name, last in (("add", "add.s32 %0, r1, %2;"), ("sub", "sub.s32 %0, %2, r1;")):
                yield one(f"shr.{t}.{n}.{name}", "b32", "b32 b32", f"shr.{t} r1, %1, {n}; {last}")
                text = f"neg.s32 r2, %1; shr.{t} r1, r2, {n}; {last}"
                yield one(f"neg.shr.{t}.{n}.{name}", "b32", "b32 b32", text)
    for n in (3, 9, 31, 32, 41):
        for name, last in (
            ("add", "add.s64 %0, d1, %2;"), ("sub", "sub.s64 %0, %2, d1;"), ("back", "sub.s64 %0, d1, %2;"),
            ("number", "add.s64 %0, d1, 0xfffffff7ffffffff;"), ("or", "or.b64 %0, d1, %2;"),
            ("hi", "add.s64 d2, d1, %2; mov.b64 {r1, r2}, d2; cvt.u64.u32 %0, r2;"),
        ):  # fmt: skip
            yield one(f"shl64.{n}.{name}", "b64", "b64 b64", f"shl.b64 d1, %1, {n}; {last}")
    for t in SIGNS:
        wide = t.replace("32", "64")
        for n in (4, 16, 12):
            yield one(f"mad.wide.{t}.{n}", "b64", "b32 b64", f"mad.wide.{t} %0, %1, {n}, %2;")
        yield one(
            f"extend.shl.{t}",
            "b64",
            "b32 b64",
            f"cvt.{wide}.{t} d1, %1; shl.b64 d1, d1, 2; add.s64 %0, d1, %2;",
        )
        yield one(f"extend.add.{t}", "b64", "b32 b64", f"cvt.{wide}.{t} d1, %1; add.s64 %0, d1, %2;")
        yield one(f"mul.wide.add.{t}", "b64", "b32 b32 b64", f"mul.wide.{t} d1, %1, %2; add.s64 %0, d1, %3;")
        yield one(f"mul.wide.sub.{t}", "b64", "b32 b32 b64", f"mul.wide.{t} d1, %1, %2; sub.s64 %0, %3, d1;")
        yield one(f"mul.hi.add.{t}", "b32", "b32 b32 b32", f"mul.hi.{t} r1, %1, %2; add.s32 %0, r1, %3;")
    for t in ("s32", "s64", "s16"):
        v = own(t)
        for name, last in (
            ("add", f"add.{t} %0, {v}, %3;"),
            ("sub", f"sub.{t} %0, {v}, %3;"),
            ("back", f"sub.{t} %0, %3, {v};"),
        ):
            for first in ("add", "sub"):
                yield one(f"{first}.{name}.{t}", t, f"{t} {t} {t}", f"{first}.{t} {v}, %1, %2; {last}")
            yield one(f"mul.{name}.{t}", t, f"{t} {t} {t}", f"mul.lo.{t} {v}, %1, %2; {last}")
        yield one(f"neg.mul.{t}", t, f"{t} {t}", f"neg.{t} {v}, %1; mul.lo.{t} %0, {v}, %2;")
        yield one(f"abs.add.{t}", t, f"{t} {t}", f"abs.{t} {v}, %1; add.{t} %0, {v}, %2;")
        yield one(f"abs.max.{t}", t, t, f"neg.{t} {v}, %1; max.{t} %0, %1, {v};")
        w = own(t, 2)
        yield one(
            f"difference.{t}",
            t,
            f"{t} {t}",
            f"max.{t} {v}, %1, %2; min.{t} {w}, %1, %2; sub.{t} %0, {v}, {w};",
        )
    yield one("not.add", "b32", "b32 b32 b32", "not.b32 r1, %2; add.s32 r1, r1, %1; add.s32 %0, r1, %3;")
    for n in (3, 5, 7, 9, -1, -4, 65537, 0x55555555):
        yield one(f"mul.{n}", "b32", "b32", f"mul.lo.s32 %0, %1, {n};")
        yield one(f"mad.{n}", "b32", "b32 b32", f"mad.lo.s32 %0, %1, {n}, %2;")
    for t in ("s32", "u32", "s64", "u64", "s16", "u16"):
        for n in (8, 7, 641):
            yield one(f"div.{t}.{n}", t, t, f"div.{t} %0, %1, {n};")
            yield one(f"rem.{t}.{n}", t, t, f"rem.{t} %0, %1, {n};")


def carries():
    for op in ("add", "sub"):
        for t in ("u32", "s32", "u64", "s64"):
            text = f"{op}.cc.{t} %0, %2, %3; {op}c.{t} %1, %4, %5;"
            yield one(f"{op}c.two.{t}", f"{t} {t}", f"{t} {t} {t} {t}", text)
        text = f"{op}.cc.u32 %0, %3, %4; {op}c.cc.u32 %1, %4, %5; {op}c.u32 %2, %5, %3;"
        yield one(f"{op}c.three", "b32 b32 b32", "b32 b32 b32", text)
        yield one(f"{op}c.number", "b32 b32", "b32 b32", f"{op}.cc.u32 %0, %2, 77; {op}c.u32 %1, %3, -3;")
        yield one(f"{op}c.zero", "b32 b32", "b32 b32", f"{op}.cc.u32 %0, %2, %3; {op}c.u32 %1, 0, 0;")
        text = f"not.b32 r1, %3; {op}.cc.u32 %0, %2, r1; {op}c.u32 %1, r1, %2;"
        yield one(f"{op}c.not", "b32 b32", "b32 b32", text)
        text = f"{op}.cc.u32 r1, %2, %3; mul.lo.u32 r2, %2, %3; {op}c.u32 %0, r2, %4; xor.b32 %1, r1, %4;"
        yield one(f"{op}c.mul", "b32 b32", "b32 b32 b32", text)
    for part in ("lo", "hi"):
        for t in SIGNS:
            text = f"mad.{part}.cc.{t} %0, %2, %3, %4; madc.hi.{t} %1, %2, %3, %5;"
            yield one(f"madc.{part}.{t}", "b32 b32", "b32 b32 b32 b32", text)
        text = f"mad.lo.cc.u64 %0, %2, %3, %4; madc.{part}.u64 %1, %2, %3, %5;"
        yield one(f"madc.{part}.u64", "b64 b64", "b64 b64 b64 b64", text)


def bits():
    for how in (0x3210, 0x7531, 0x0022, 0x8A9B, 0x5410):
        yield one(f"prmt.{how:x}", "b32", "b32 b32", f"prmt.b32 %0, %1, %2, {how};")
        yield one(
            f"prmt.{how:x}.prmt",
            "b32",
            "b32 b32 b32",
            f"prmt.b32 r1, %1, %2, {how}; prmt.b32 %0, r1, %3, 0x6420;",
        )
    for n in (0, 8, 16, 24):
        text = f"shr.u32 r1, %1, {n}; and.b32 r1, r1, 255; shl.b32 r1, r1, 8; and.b32 r2, %2, 0xffff00ff; or.b32 %0, r1, r2;"
        yield one(f"byte.{n}", "b32", "b32 b32", text)
        for t in SIGNS:
            yield one(f"bfe.{t}.{n}", "b32", "b32", f"bfe.{t} %0, %1, {n}, 8;")
            yield one(f"bfe.{t}.{n}.add", "b32", "b32 b32", f"bfe.{t} r1, %1, {n}, 8; add.s32 %0, r1, %2;")
        yield one(f"bfi.{n}", "b32", "b32 b32", f"bfi.b32 %0, %1, %2, {n}, 9;")
    for n in (7, 16, 24):
        yield one(f"extend.{n}", "b32", "b32", f"shl.b32 r1, %1, {n}; shr.s32 %0, r1, {n};")
        yield one(
            f"funnel.{n}",
            "b32",
            "b32 b32",
            f"shl.b32 r1, %1, {n}; shr.u32 r2, %2, {32 - n}; or.b32 %0, r1, r2;",
        )
        yield one(
            f"rotate.{n}", "b32", "b32", f"shl.b32 r1, %1, {n}; shr.u32 r2, %1, {32 - n}; or.b32 %0, r1, r2;"
        )
    yield one(
        "pack.halves", "b32", "b32 b32", "mov.b32 {h1, h2}, %1; mov.b32 {h3, h4}, %2; mov.b32 %0, {h2, h3};"
    )
    text = "mov.b32 {y1, y2, y3, y4}, %1; mov.b32 {y5, y6, y7, y8}, %2; mov.b32 %0, {y4, y5, y2, y8};"
    yield one("pack.bytes", "b32", "b32 b32", text)
    for op in ("shl.b64", "shr.u64", "shr.s64"):
        for n in (5, 32, 40):
            yield one(f"{op}.{n}", "b64", "b64", f"{op} %0, %1, {n};")
        yield one(f"{op}.upper", "b32", "b64 count", f"{op} d1, %1, %2; mov.b64 {{r1, %0}}, d1;")
        yield one(f"{op}.lower", "b32", "b64 count", f"{op} d1, %1, %2; mov.b64 {{%0, r1}}, d1;")
    for op in ("shl.b32", "shr.u32", "shr.s32"):
        for n in (31, 63, 7):
            yield one(f"{op}.and.{n}", "b32", "b32 count", f"and.b32 r1, %2, {n}; {op} %0, %1, r1;")
        yield one(f"{op}.sub", "b32", "b32 count", f"sub.s32 r1, 32, %2; {op} %0, %1, r1;")
    yield one("bmsk.not", "b32", "count count", "bmsk.clamp.b32 r1, %1, %2; not.b32 %0, r1;")
    yield one("mask", "b32", "count", "shl.b32 r1, 1, %1; add.s32 %0, r1, -1;")
    yield one("mask.and", "b32", "count b32", "shl.b32 r1, -1, %1; not.b32 r1, r1; and.b32 %0, r1, %2;")
    yield one("popc.and", "b32", "b32 b32", "and.b32 r1, %1, %2; popc.b32 %0, r1;")
    for op in ("popc.b32", "bfind.u32", "clz.b32", "brev.b32", "bfind.s32", "bfind.shiftamt.u32"):
        yield one(f"not.{op}", "b32", "b32", f"not.b32 r1, %1; {op} %0, r1;")
        yield one(f"neg.{op}", "b32", "b32", f"neg.s32 r1, %1; {op} %0, r1;")
    yield one("ffs", "b32", "b32", "brev.b32 r1, %1; bfind.shiftamt.u32 %0, r1;")
    yield one("clz.sub", "b32", "b32", "clz.b32 r1, %1; sub.s32 %0, 31, r1;")
    for a in LOGIC:
        for b in LOGIC:
            for t in ("b32", "b64", "b16", "pred"):
                v = own(t)
                yield one(f"{a}.{b}.{t}", t, f"{t} {t} {t}", f"{a}.{t} {v}, %1, %2; {b}.{t} %0, {v}, %3;")
        for t in ("b32", "b64", "b16", "pred"):
            v = own(t)
            yield one(f"not.{a}.{t}", t, f"{t} {t}", f"not.{t} {v}, %1; {a}.{t} %0, {v}, %2;")
        for test in ("eq", "ne", "lt", "gt"):
            for t, n in (("s32", 32), ("s64", 64)):
                text = f"{a}.b{n} {own(t)}, %1, %2; setp.{test}.{t} %0, {own(t)}, 0;"
                yield one(f"{a}.{test}.{t}", "pred", f"{t} {t}", text)
            text = f"{a}.b32 %0, %2, %3; setp.{test}.and.s32 %1, %0, 0, %4;"
            yield one(f"{a}.{test}.both", "b32 pred", "b32 b32 pred", text)
        yield one(f"{a}.64.number", "b64", "b64", f"{a}.b64 %0, %1, 0x00ff00ff00ff00ff;")
    yield one("pred.two", "pred pred", "pred pred pred", "and.pred %0, %2, %3; xor.pred %1, %2, %4;")
    bits = "".join(f"selp.b32 r{k}, {1 << k}, 0, %{k}; " for k in range(1, 6))
    joined = "or.b32 r1, r1, r2; or.b32 r3, r3, r4; or.b32 r1, r1, r3; or.b32 %0, r1, r5;"
    yield one("predicates.to.bits", "b32", "pred pred pred pred pred", bits + joined)
    tests = "".join(f"and.b32 r1, %3, {1 << k}; setp.ne.s32 %{k}, r1, 0; " for k in range(3))
    yield one("bits.to.predicates", "pred pred pred", "b32", tests)


def comparisons():
    tests = {
        "s32": "eq ne lt le gt ge", "u32": "lo hs gt", "s64": "eq ne lt le gt ge", "u64": "lt gt", "s16": "eq lt ge", "u16": "ne lt gt",
        "f32": "eq ne lt le gt ge equ neu ltu leu gtu geu num nan", "f64": "eq lt ge neu ltu num nan",
        "f16": "eq lt ge neu gtu num nan", "bf16": "eq lt ge neu gtu num nan",
    }  # fmt: skip
    for t, words in tests.items():
        for test in words.split():
            text = f"setp.{test}.{t} p1, %1, %2; selp.b32 %0, %3, %4, p1;"
            yield one(f"select.{test}.{t}", "b32", f"{t} {t} b32 b32", text)
        if t in ("f32", "f64", "s32"):
            yield one(
                f"select.self.{t}", t, f"{t} {t}", f"setp.lt.{t} p1, %1, %2; selp.b{width(t)} %0, %1, %2, p1;"
            )
        yield one(
            f"select.64.{t}", "b64", f"{t} {t} b64 b64", f"setp.lt.{t} p1, %1, %2; selp.b64 %0, %3, %4, p1;"
        )
        for combine in LOGIC:
            text = f"setp.lt.{t} p1, %1, %2; setp.ge.{combine}.{t} %0, %3, %4, p1;"
            yield one(f"setp.{combine}.{t}", "pred", f"{t} {t} {t} {t}", text)
            text = f"not.pred p1, %3; setp.ge.{combine}.{t} %0, %1, %2, p1;"
            yield one(f"setp.not.{combine}.{t}", "pred", f"{t} {t} pred", text)
            text = f"setp.lt.{combine}.{t} %0|%1, %2, %3, %4;"
            yield one(f"setp.two.{combine}.{t}", "pred pred", f"{t} {t} pred", text)
        for sign in ("neg", "abs"):
            if t not in ("u32", "u64", "u16"):
                yield one(
                    f"setp.{sign}.{t}",
                    "pred",
                    f"{t} {t}",
                    f"{sign}.{t} {own(t)}, %1; setp.lt.{t} %0, {own(t)}, %2;",
                )
        text = f"setp.lt.{t} p1, %1, %2; selp.b32 r1, 1, 0, p1; add.s32 %0, r1, %3;"
        yield one(f"count.{t}", "b32", f"{t} {t} b32", text)
        yield one(f"mask.{t}", "b32", f"{t} {t}", f"setp.lt.{t} p1, %1, %2; selp.b32 %0, -1, 0, p1;")
        yield one(
            f"step.{t}",
            "f32",
            f"{t} {t}",
            f"setp.lt.{t} p1, %1, %2; selp.f32 %0, 0f3f800000, 0f00000000, p1;",
        )
    for t, n in (
        ("s32", "-7"), ("u32", "300"), ("s64", "-5"), ("u64", "0x100000000"), ("f32", "0f3fc00000"), ("f64", "0d3ff8000000000000"),
        ("s32", "0"), ("s16", "5"),
    ):  # fmt: skip
        yield one(f"setp.number.{t}.{n}", "pred", t, f"setp.lt.{t} %0, %1, {n};")
    yield one("select.numbers", "b32", "b32 b32", "setp.lt.s32 p1, %1, %2; selp.b32 %0, 0x3f800000, 7, p1;")
    for t in ("f16", "bf16"):
        for test in ("lt", "neu", "num"):
            text = f"mov.b32 {{h1, h2}}, %1; mov.b32 {{h3, h4}}, %2; setp.{test}.{t} %0, h2, h3;"
            yield one(f"setp.high.{test}.{t}", "pred", f"{t}x2 {t}x2", text)
            text = f"set.{test}.{t}x2.{t}x2 r1, %1, %2; fma.rn.{t}x2 %0, r1, %1, %2;"
            yield one(f"set.fma.{test}.{t}", f"{t}x2", f"{t}x2 {t}x2", text)
            yield one(
                f"setp.pair.{test}.{t}",
                "pred pred",
                f"{t}x2 {t}x2 pred",
                f"setp.{test}.and.{t}x2 %0|%1, %2, %3, %4;",
            )
    for op in ("add", "mul", "min", "max"):
        yield one(f"quiet.{op}", "pred", "f32 f32", f"{op}.f32 r1, %1, %2; testp.notanumber.f32 %0, r1;")


def floats():
    kinds = ("f32", "f64", *HALVES, *PAIRS)
    for t in kinds:
        v, w = own(t), own(t, 2)
        for op in ("add.rn", "sub.rn", "mul.rn", "min", "max"):
            if t in ("bf16", "bf16x2") and op == "sub.rn":
                continue
            for sign in ("neg", "abs"):
                for k in (1, 2):
                    names = ", ".join(v if i == k else f"%{i}" for i in (1, 2))
                    yield one(
                        f"{sign}{k}.{op}.{t}", t, f"{t} {t}", f"{sign}.{t} {v}, %{k}; {op}.{t} %0, {names};"
                    )
            text = f"abs.{t} {v}, %1; neg.{t} {v}, {v}; {op}.{t} %0, {v}, %2;"
            yield one(f"abs.neg.{op}.{t}", t, f"{t} {t}", text)
            yield one(f"{op}.neg.{t}", t, f"{t} {t}", f"{op}.{t} {v}, %1, %2; neg.{t} %0, {v};")
        for sign in ("neg", "abs"):
            for k in (1, 2, 3):
                names = ", ".join(v if i == k else f"%{i}" for i in (1, 2, 3))
                yield one(
                    f"{sign}{k}.fma.{t}", t, f"{t} {t} {t}", f"{sign}.{t} {v}, %{k}; fma.rn.{t} %0, {names};"
                )
        number = {"f32": "0x3fc00000", "f64": "0x3ff8000000000000", "f16": "0x3e00", "bf16": "0x3fc0"}.get(
            t, "0x3e00b800"
        )
        for op in ("add.rn", "mul.rn", "min", "max"):
            yield one(f"number.{op}.{t}", t, t, f"mov.b{width(t)} {w}, {number}; {op}.{t} %0, %1, {w};")
        for k, names in enumerate((f"%1, {w}, %2", f"%1, %2, {w}")):
            yield one(
                f"number{k}.fma.{t}", t, f"{t} {t}", f"mov.b{width(t)} {w}, {number}; fma.rn.{t} %0, {names};"
            )
    for n in ("0f40000000", "0f3f000000", "0f41000000", "0f3e000000", "0f40800000", "0f00800000"):
        yield one(f"scale.{n}", "f32", "f32 f32", f"mul.rn.f32 r1, %1, {n}; mul.rn.f32 %0, r1, %2;")
        yield one(f"scaled.{n}", "f32", "f32 f32", f"mul.rn.f32 r1, %1, %2; mul.rn.f32 %0, r1, {n};")
    for t in HALVES:
        both = "mov.b32 {h1, h2}, %1; mov.b32 {h3, h4}, %2;"
        for op in ("add.rn", "mul.rn", "min", "max"):
            for a, b in (("h2", "h4"), ("h1", "h4"), ("h2", "h3")):
                yield one(f"{a}{b}.{op}.{t}", t, f"{t}x2 {t}x2", f"{both} {op}.{t} %0, {a}, {b};")
            for name, how in (("swap", "h2, h1"), ("high", "h2, h2"), ("low", "h1, h1"), ("cross", "h2, h4")):
                text = f"{both} mov.b32 r1, {{{how}}}; {op}.{t}x2 %0, r1, %2;"
                yield one(f"{name}.{op}.{t}x2", f"{t}x2", f"{t}x2 {t}x2", text)
        text = f"{both} mov.b32 {{h5, h6}}, %3; fma.rn.{t} %0, h2, h3, h6;"
        yield one(f"halves.fma.{t}", t, f"{t}x2 {t}x2 {t}x2", text)
        text = f"{both} mov.b32 r1, {{h2, h2}}; mov.b32 r2, {{h3, h3}}; fma.rn.{t}x2 %0, r1, r2, %3;"
        yield one(f"halves.fma.{t}x2", f"{t}x2", f"{t}x2 {t}x2 {t}x2", text)
        yield one(
            f"halves.{t}.f32",
            "f32 f32",
            f"{t}x2",
            f"mov.b32 {{h1, h2}}, %2; cvt.f32.{t} %0, h1; cvt.f32.{t} %1, h2;",
        )
        for sign in ("neg", "abs"):
            yield one(f"{sign}.{t}.f32", "f32", t, f"{sign}.{t} h1, %1; cvt.f32.{t} %0, h1;")
            yield one(f"{sign}.f32.{t}", t, "f32", f"{sign}.f32 r1, %1; cvt.rn.{t}.f32 %0, r1;")
        for op in ("add.rn", "mul.rn"):
            yield one(
                f"widened.{op}.{t}",
                "f32",
                f"{t} {t}",
                f"cvt.f32.{t} r1, %1; cvt.f32.{t} r2, %2; {op}.f32 %0, r1, r2;",
            )
            yield one(f"widened.one.{op}.{t}", "f32", f"{t} f32", f"cvt.f32.{t} r1, %1; {op}.f32 %0, r1, %2;")
        text = f"cvt.f32.{t} r1, %1; cvt.f32.{t} r2, %2; fma.rn.f32 %0, r1, r2, %3;"
        yield one(f"widened.fma.{t}", "f32", f"{t} {t} f32", text)
        yield one(f"widened.f64.{t}", "f64", f"{t} f64", f"cvt.f64.{t} d1, %1; add.rn.f64 %0, d1, %2;")
        yield one(
            f"narrowed.mul.{t}", f"{t}x2", "f32 f32", f"mul.rn.f32 r1, %1, %2; cvt.rn.{t}x2.f32 %0, r1, %2;"
        )
        for how in ("rn", "rz", "rn.relu"):
            text = f"cvt.{how}.{t}.f32 h1, %1; cvt.{how}.{t}.f32 h2, %2; mov.b32 %0, {{h1, h2}};"
            yield one(f"narrowed.{how}.{t}", "b32", "f32 f32", text)
    for op in ("rcp", "sqrt", "rsqrt", "lg2", "ex2", "sin", "cos"):
        for sign in ("neg", "abs"):
            yield one(f"{sign}.{op}", "f32", "f32", f"{sign}.f32 r1, %1; {op}.approx.ftz.f32 %0, r1;")
        yield one(f"{op}.mul", "f32", "f32 f32", f"{op}.approx.f32 r1, %1; mul.rn.f32 %0, r1, %2;")
    yield one("mul.ex2", "f32", "f32", "mul.rn.f32 r1, %1, 0f3fb8aa3b; ex2.approx.f32 %0, r1;")
    for t in HALVES:
        for op in ("ex2.approx" + (".ftz" if t == "bf16" else ""), "tanh.approx"):
            yield one(f"high.{op}.{t}", t, f"{t}x2", f"mov.b32 {{h1, h2}}, %1; {op}.{t} %0, h2;")
    yield one("f32.f64", "f64", "f32 f64", "cvt.f64.f32 d1, %1; fma.rn.f64 %0, d1, %2, %2;")


def packs():
    for t in ("e4m3", "e5m2"):
        yield one(f"{t}.high", "f16x2", "b32", f"mov.b32 {{h1, h2}}, %1; cvt.rn.f16x2.{t}x2 %0, h2;")
        text = f"cvt.rn.satfinite.{t}x2.f32 h1, %1, %2; cvt.rn.satfinite.{t}x2.f32 h2, %3, %4; mov.b32 %0, {{h1, h2}};"
        yield one(f"{t}.four", "b32", "f32 f32 f32 f32", text)
        text = f"cvt.rn.satfinite.{t}x2.f16x2 h1, %1; cvt.rn.satfinite.{t}x2.f16x2 h2, %2; mov.b32 %0, {{h1, h2}};"
        yield one(f"{t}.pairs", "b32", "f16x2 f16x2", text)
        text = f"cvt.rn.f16x2.{t}x2 r1, %2; mov.b32 {{h1, h2}}, r1; cvt.f32.f16 %0, h1; cvt.f32.f16 %1, h2;"
        yield one(f"{t}.up", "f32 f32", "b16", text)
    for to in ("u8", "s8", "u16", "s16"):
        more, last = (".b32", ", %3") if "8" in to else ("", "")
        for how in ("rni", "rzi", "rmi", "rpi"):
            text = f"cvt.{how}.s32.f32 r1, %1; cvt.{how}.s32.f32 r2, %2; cvt.pack.sat.{to}.s32{more} %0, r1, r2{last};"
            yield one(f"round.{how}.{to}", "b32", "f32 f32 b32", text)
        text = f"cvt.pack.sat.{to}.s32{more} %0, %1, %2{', 0' if more else ''};"
        yield one(f"pack.{to}.zero", "b32", "s32 s32", text)
    for to in ("u4", "s4", "u2", "s2"):
        yield one(f"pack.{to}.zero", "b32", "s32 s32", f"cvt.pack.sat.{to}.s32.b32 %0, %1, %2, 0;")
    for t, sign in (("u32", "u"), ("s32", "s")):
        for n in (0, 8, 16, 24):
            for to in ("f32", "f64", "f16"):
                yield one(
                    f"byte.{sign}{n}.{to}", to, "b32", f"bfe.{t} r1, %1, {n}, 8; cvt.rn.{to}.{t} %0, r1;"
                )
        for half in ("h1", "h2"):
            for to in ("f32", "f64", "f16", "s64"):
                how = "" if to == "s64" else ".rn"
                text = f"mov.b32 {{h1, h2}}, %1; cvt{how}.{to}.{sign}16 %0, {half};"
                yield one(f"half.{sign}.{half}.{to}", to, "b32", text)
    for t in ("f32", "f64", "f16", "bf16"):
        for how in ("rni", "rzi", "rmi", "rpi"):
            if t != "bf16":
                yield one(
                    f"round.twice.{how}.{t}",
                    "b32",
                    t,
                    f"cvt.{how}.{t}.{t} {own(t)}, %1; cvt.rzi.s32.{t} %0, {own(t)};",
                )
        for sign in ("neg", "abs"):
            yield one(
                f"{sign}.whole.{t}", "b32", t, f"{sign}.{t} {own(t)}, %1; cvt.rni.s32.{t} %0, {own(t)};"
            )
        for to in ("s8", "u8", "s16", "u16"):
            text = f"cvt.rzi.{to}.{t} h1, %1; cvt.{'s32' if to[0] == 's' else 'u32'}.{to} %0, h1;"
            yield one(f"narrow.{to}.{t}", "b32", t, text)
    for t in ("s8", "u8", "s16", "u16"):
        for to in ("s32", "u32", "s64", "u64"):
            yield one(f"saturate.{t}.{to}", "b32", to, f"cvt.sat.{t}.{to} %0, %1;")
            yield one(f"extend.{t}.{to}", to, "b32", f"cvt.u16.u32 h1, %1; cvt.{to}.{t} %0, h1;")
            text = f"cvt.{t}.u32 r1, %1; cvt.{t}.u32 r2, %2; add.s32 %0, r1, r2;"
        yield one(f"sum.{t}", "b32", "b32 b32", text)
    for t in SIGNS:
        yield one(f"dp4a.neg.{t}", "b32", "b32 b32 b32", f"neg.s32 r1, %3; dp4a.{t}.{t} %0, %1, %2, r1;")
        yield one(f"dp4a.zero.{t}", "b32", "b32 b32", f"dp4a.{t}.{t} %0, %1, %2, 0;")


def fused():
    for family in (extrema, shifts_and_sums, carries, bits, comparisons, floats, packs):
        yield from family()
