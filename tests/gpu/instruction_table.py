"""The instructions that instructions.py compares with hardware: one line a family, {a|b|} standing for each
alternative in turn. A line is MNEMONIC : result types : operand types [: text].

Types are PTX's; `count` is a shift amount or a field's place, `pred` a predicate, `sel` a selector of prmt.
The text is for what is no "op d, a, b, c;": %0 and up are results, then operands.
"""

import itertools
import re

SM90 = """
{add|sub}.{u16|s16|u32|s32|u64|s64} : T : T T
{add|sub}.sat.s32 : s32 : s32 s32
{add|min|max}.{u16x2|s16x2} : T : T T
{min|max}.relu.s16x2 : T : T T
{min|max}.relu.s32 : s32 : s32 s32
mul.{lo|hi}.{u16|s16|u32|s32|u64|s64} : T : T T
mul.wide.{u16|s16} : b32 : T T
mul.wide.{u32|s32} : b64 : T T
mad.{lo|hi}.{u16|s16|u32|s32|u64|s64} : T : T T T
mad.wide.{u16|s16} : b32 : T T b32
mad.wide.{u32|s32} : b64 : T T b64
mad.hi.sat.s32 : s32 : s32 s32 s32
mul24.{lo|hi}.{u32|s32} : T : T T
mad24.{lo|hi}.{u32|s32} : T : T T T
mad24.hi.sat.s32 : s32 : s32 s32 s32
sad.{u16|s16|u32|s32|u64|s64} : T : T T T
{div|rem}.{u16|s16|u32|s32|u64|s64} : T : T T
{abs|neg}.{s16|s32|s64} : T : T
{min|max}.{u16|s16|u32|s32|u64|s64} : T : T T
add.cc.{u32|s32|u64|s64} : T T : T T : add.cc.T %0, %2, %3; addc.T %1, 0, 0;
addc.cc.{u32|s32|u64|s64} : T T : T T T : add.cc.T %0, %4, %2; addc.cc.T %0, %2, %3; addc.T %1, 0, 0;
sub.cc.{u32|s32|u64|s64} : T T : T T : sub.cc.T %0, %2, %3; subc.T %1, 0, 0;
subc.cc.{u32|s32|u64|s64} : T T : T T T : sub.cc.T %0, %4, %2; subc.cc.T %0, %2, %3; subc.T %1, 0, 0;
mad.lo.cc.{u32|s32|u64|s64} : T T : T T T : mad.lo.cc.T %0, %2, %3, %4; addc.T %1, 0, 0;
mad.hi.cc.{u32|s32|u64|s64} : T T : T T T : mad.hi.cc.T %0, %2, %3, %4; addc.T %1, 0, 0;
madc.{lo|hi}.cc.{u32|s32|u64|s64} : T T : T T T : add.cc.T %0, %2, %4; OP %0, %2, %3, %4; addc.T %1, 0, 0;
dp4a.{u32|s32}.{u32|s32} : b32 : b32 b32 b32
dp2a.{lo|hi}.{u32|s32}.{u32|s32} : b32 : b32 b32 b32
{popc|clz}.{b32|b64} : b32 : T
bfind.{u32|s32|u64|s64} : b32 : T
bfind.shiftamt.{u32|s32|u64|s64} : b32 : T
brev.{b32|b64} : T : T
fns.b32 : b32 : b32 count s32
bfe.{u32|s32|u64|s64} : T : T count count
bfi.{b32|b64} : T : T T count count
szext.{clamp|wrap}.{u32|s32} : T : T count
bmsk.{clamp|wrap}.b32 : b32 : count count
{and|or|xor}.{b16|b32|b64|pred} : T : T T
{not|cnot}.{b16|b32|b64} : T : T
not.pred : pred : pred
shl.{b16|b32|b64} : T : T count
shr.{b16|b32|b64|u16|u32|u64|s16|s32|s64} : T : T count
shf.{l|r}.{clamp|wrap}.b32 : b32 : b32 b32 count
prmt.b32 : b32 : b32 b32 sel
prmt.b32.{f4e|b4e|rc8|ecl|ecr|rc16} : b32 : b32 b32 sel
lop3.b32 ~table {0x00|0x96|0xe8|0xca|0x1f|0xd8|0x01|0xfe} : b32 : b32 b32 b32 : lop3.b32 %0, %1, %2, %3, ALT;
lop3.{and|or}.b32 : b32 pred : b32 b32 b32 pred : OP %0|%1, %2, %3, %4, 0x96, %5;
{add|sub|mul}{.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f32 : f32 : f32 f32
fma{.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f32 : f32 : f32 f32 f32
{add|sub|mul}{.rn|.rz|.rm|.rp}.f64 : f64 : f64 f64
{fma|mad}{.rn|.rz|.rm|.rp}.f64 : f64 : f64 f64 f64
{add|sub}{.rn}{|.sat}.{f16|f16x2} : T : T T
mul{.rn}{|.sat}.{f16|f16x2} : T : T T
{add|sub|mul}{.rn}.ftz{|.sat}.{f16|f16x2} : T : T T
{add|sub|mul}.{bf16|bf16x2} : T : T T
fma.rn{|.ftz}{|.sat|.relu}.{f16|f16x2} : T : T T T
fma.rn{|.relu}.{bf16|bf16x2} : T : T T T
{min|max}{|.ftz}{|.NaN}{|.xorsign.abs}.f32 : f32 : f32 f32
{min|max}.f64 : f64 : f64 f64
{min|max}{|.ftz}{|.NaN}{|.xorsign.abs}.{f16|f16x2} : T : T T
{min|max}{|.NaN}{|.xorsign.abs}.{bf16|bf16x2} : T : T T
{abs|neg}{|.ftz}.f32 : f32 : f32
{abs|neg}.f64 : f64 : f64
{abs|neg}{|.ftz}.{f16|f16x2} : T : T
{abs|neg}.{bf16|bf16x2} : T : T
copysign.{f32|f64} : T : T T
testp.{finite|infinite|number|notanumber|normal|subnormal}.{f32|f64} : pred : T
div{.rn|.rz|.rm|.rp|.approx|.full}{|.ftz}.f32 : f32 : f32 f32
div{.rn|.rz|.rm|.rp}.f64 : f64 : f64 f64
{rcp|sqrt}{.rn|.rz|.rm|.rp|.approx}{|.ftz}.f32 : f32 : f32
{rcp|sqrt}{.rn|.rz|.rm|.rp}.f64 : f64 : f64
{rcp|rsqrt}.approx.ftz.f64 : f64 : f64
rsqrt.approx.f64 : f64 : f64
{rsqrt|sin|cos|lg2|ex2}.approx{|.ftz}.f32 : f32 : f32
tanh.approx.f32 : f32 : f32
ex2.approx.{f16|f16x2} : T : T
ex2.approx.ftz.{bf16|bf16x2} : T : T
tanh.approx.{f16|f16x2|bf16|bf16x2} : T : T
setp.{eq|ne}.{b16|b32|b64} : pred : T T
setp.{eq|ne|lt|le|gt|ge}.{u16|s16|u32|s32|u64|s64} : pred : T T
setp.{lo|ls|hi|hs}.{u16|u32|u64} : pred : T T
setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}{|.ftz}.f32 : pred : f32 f32
setp.{eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan}.{f64|f16|bf16} : pred : T T
setp.{lt|neu|num}.ftz.f16 : pred : f16 f16
setp.{lt|ge}.{and|or|xor}.{s32|u64|f32} : pred pred : T T pred : OP %0|%1, %2, %3, %4;
setp.{lt|gtu}.{and|or|xor}.{s16} : pred pred : T T pred : setp.lt.and.s16 %0|%1, %2, %3, %4;
setp.{eq|lt|neu|gtu|nan}{|.ftz}.f16x2 : pred pred : f16x2 f16x2 : OP %0|%1, %2, %3;
setp.{eq|lt|neu|gtu|nan}.bf16x2 : pred pred : bf16x2 bf16x2 : OP %0|%1, %2, %3;
set.{eq|lt|ge}.{u32|s32|f32}.{s32|u64|s16} : D : T T
set.{eq|ltu|num}{|.ftz}.{u32|s32|f32}.f32 : D : T T
set.{lt}.{and|or|xor}.{u32|f32}.f64 : D : T T pred
set.{eq|ltu|nan}.{f16|u32}.f16 : D : T T
set.{eq|ltu|nan}.{bf16|u32}.bf16 : D : T T
set.{eq|ltu|nan}.f16x2.f16x2 : b32 : T T
set.{eq|ltu|nan}.bf16x2.bf16x2 : b32 : T T
selp.{b16|b32|b64} : T : T T pred
slct.{b16|b32|b64}.s32 : D : D D s32
slct{|.ftz}.{b16|b32|b64}.f32 : D : D D f32
cvt.{u8|s8}.{u8|s8|u16|s16} : b32 : b16 : OP %0, %1;
cvt.{u8|s8}.{u32|s32} : b32 : b32
cvt.{u8|s8}.{u64|s64} : b32 : b64
cvt.{u16|s16|u32|s32|u64|s64}.{u8|s8} : D : b16
cvt.{u16|s16|u32|s32|u64|s64}.{u16|s16|u32|s32|u64|s64} : D : T
cvt.sat.{u8|s8|u16|s16|u32|s32}.{u32|s32|u64|s64} : b32 : T : OP %0, %1;
cvt.sat.{u32|s32|u64|s64}.{u16|s16|u32|s32|u64|s64} : D : T
cvt{.rn|.rz|.rm|.rp}.{f16|f32|f64}.{u16|s16|u32|s32|u64|s64} : D : T
cvt{.rn|.rz|.rm|.rp}.{f16|f32|f64}.{u8|s8} : D : b16
cvt{.rn|.rz|.rm|.rp}.bf16.{u16|s16|u32|s32|u64|s64} : D : T
cvt{.rni|.rzi|.rmi|.rpi}.{u16|s16|u32|s32|u64|s64}.{f16|bf16|f32|f64} : D : T
cvt{.rni|.rzi|.rmi|.rpi}.ftz.{u32|s32|s64}.f32 : D : T
cvt{.rni|.rzi}.{u8|s8}.{f16|f32|f64} : b32 : T
cvt{.rni|.rzi|.rmi|.rpi}{|.sat}.{f16|f32|f64}.{f16|f32|f64} ~same : D : T
cvt{.rni|.rzi|.rmi|.rpi}.ftz{|.sat}.f32.f32 : D : T
cvt.{ftz.sat|sat}.f32.f32 : f32 : f32
cvt.sat.{f16|f64}.{f16|f64} ~same : D : T
cvt{.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f32.f64 : f32 : f64
cvt{.rn|.rz|.rm|.rp}.f16.f64 : f16 : f64
cvt{.rn|.rz|.rm|.rp}.bf16.f64 : bf16 : f64
cvt{.rn|.rz|.rm|.rp}{|.ftz}{|.sat}.f16.f32 : f16 : f32
cvt{.rn|.rz}{|.relu}.{f16|bf16}.f32 : D : f32
cvt{.rm|.rp}.bf16.f32 : bf16 : f32
cvt{.rn|.rz}{|.relu}.{f16x2|bf16x2}.f32 : D : f32 f32
cvt{|.ftz}{|.sat}.f32.f16 : f32 : f16
cvt.f32.bf16 : f32 : bf16
cvt{|.ftz}{|.sat}.f64.f32 : f64 : f32
cvt{|.sat}.f64.f16 : f64 : f16
cvt.f64.bf16 : f64 : bf16
cvt{.rn|.rz|.rm|.rp}.bf16.f16 : bf16 : f16
cvt{.rn|.rz|.rm|.rp}.f16.bf16 : f16 : bf16
cvt.rna.tf32.f32 : b32 : f32
cvt{.rn|.rz}{|.relu}.tf32.f32 : b32 : f32
cvt.rn.satfinite{|.relu}.{e4m3x2|e5m2x2}.f32 : b16 : f32 f32
cvt.rn.satfinite{|.relu}.{e4m3x2|e5m2x2}.f16x2 : b16 : f16x2
cvt.rn{|.relu}.f16x2.{e4m3x2|e5m2x2} : b32 : b16
cvt.pack.sat.{u16|s16}.s32 : b32 : s32 s32
cvt.pack.sat.{u8|s8|u4|s4|u2|s2}.s32.b32 : b32 : s32 s32 b32
mov.b32 ~pack16 : b32 : b16 b16 : mov.b32 %0, {%1, %2};
mov.b64 ~pack32 : b64 : b32 b32 : mov.b64 %0, {%1, %2};
mov.b64 ~pack16 : b64 : b16 b16 b16 b16 : mov.b64 %0, {%1, %2, %3, %4};
mov.b32 ~unpack16 : b16 b16 : b32 : mov.b32 {%0, %1}, %2;
mov.b64 ~unpack32 : b32 b32 : b64 : mov.b64 {%0, %1}, %2;
v{add|sub|absdiff|min|max}.{u32|s32}.{u32|s32}.{u32|s32}{|.sat} : b32 : b32 b32
v{add|sub|absdiff|min|max}.s32.{u32.b1|s32.h1}.{s32.b3|u32.h0}{|.sat} : b32 : b32 b32 : VIDEO
v{shl|shr}.{u32|s32}.{u32|s32}.u32{|.sat}.{clamp|wrap} : b32 : b32 count
vset.{u32|s32}.{u32|s32}.{eq|lt|ge} : b32 : b32 b32
vadd.{u32|s32}.{u32|s32}.s32.{add|min|max} : b32 : b32 b32 b32
vmad.{u32|s32}.{u32|s32}.{u32|s32}{|.sat}{|.shr7|.shr15} : b32 : b32 b32 b32
v{add|sub|avrg|absdiff|min|max}{2|4}.{u32|s32}.{u32|s32}.{u32|s32}{|.sat} : b32 : b32 b32 b32
v{add|sub|avrg|absdiff|min|max}{2|4}.{u32|s32}.{u32|s32}.{u32|s32}.add : b32 : b32 b32 b32
vset{2|4}.{u32|s32}.{u32|s32}.{eq|lt|ge} : b32 : b32 b32 b32
vset{2|4}.{u32|s32}.{u32|s32}.{ne|gt}.add : b32 : b32 b32 b32
"""

WIDTH = {"pred": 1, "count": 32, "sel": 32, "tf32": 32, "b16": 16, "b32": 32, "b64": 64}


def width(kind: str) -> int:
    if kind in WIDTH:
        return WIDTH[kind]
    match = re.fullmatch(r"(?:bf|[usbf])(\d+)(x\d)?", kind)
    return int(match[1]) * (int(match[2][1:]) if match[2] else 1)


class Instruction:
    """name: what it is called in goldens; text: with %0 ... for registers; kinds of results and operands."""

    def __init__(self, name, results, operands, text):
        self.name, self.results, self.operands, self.text = name, results, operands, text


def expand(line: str):
    head, results, operands, *text = (part.strip() for part in line.split(" : "))
    # Braces of the text are PTX's own; alternatives are in the head.
    parts = re.split(r"\{([^}]*)\}", head)
    for choice in itertools.product(*(part.split("|") for part in parts[1::2])):
        name = "".join(itertools.chain(*itertools.zip_longest(parts[0::2], choice, fillvalue="")))
        op = name.split(" ~")[0].strip()
        kinds = [k for k in op.split(".")[1:] if re.fullmatch(r"(bf|[usbf])\d+(x\d)?|tf32|pred", k)]
        if name.endswith("~same"):
            if kinds[0] != kinds[1]:
                continue
            name = op
        said = {
            "T": kinds[-1] if kinds else "",
            "D": kinds[0] if kinds else "",
            "OP": op,
            "ALT": choice[-1] if choice else "",
        }
        if op.startswith("slct"):
            said["D"] = kinds[0]
        r = [said.get(k, k) for k in results.split()]
        o = [said.get(k, k) for k in operands.split()]
        if text and text[0] == "VIDEO":  # vadd.s32.u32.b1.s32.b3: the selectors belong to the operands
            selectors = re.findall(r"\.([bh]\d)(?=\.|$)", op)
            plain = re.sub(r"\.[bh]\d(?=\.|$)", "", op)
            body = f"{plain} %0, %1.{selectors[0]}, %2.{selectors[1]};"
        elif text:
            body = re.sub(r"\b(T|D|OP|ALT)\b", lambda m, said=said: said[m[1]], text[0])
        else:
            body = f"{op} " + ", ".join(f"%{i}" for i in range(len(r) + len(o))) + ";"
        yield Instruction(name, r, o, body)


def instructions():
    seen = set()
    out = []
    for line in SM90.strip().splitlines():
        for i in expand(line):
            if i.name not in seen:
                seen.add(i.name)
                out.append(i)
    return out


def instructions_named(names):
    wanted = set(names)
    return [i for i in instructions() if i.name in wanted]
