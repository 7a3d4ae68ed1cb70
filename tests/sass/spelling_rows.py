"""The instructions that the rows of PTX's table allow, and each operand of an instruction in each kind.

A row of include/triton_runner/ptx/opcodes.def has forms: words that have to be there and words that may. of_rows()
gives each arithmetic row with each of the words that have to be there, and with each other one alone, as far as
the signature of the row's functions says what it is given; many are none of PTX, which ptxas says.
"""

# ruff: noqa: E501  (lines of PTX)
import itertools
import re
from pathlib import Path

from instruction_table import Instruction, width
from spelling_fused import one, own

TABLE = Path(__file__).resolve().parents[2] / "include/triton_runner/ptx/opcodes.def"
_ROW = re.compile(r'^OP\((\w+), "(\w+)",\s*((?:"[^"]*"\s*)+),\s*(\w+), (\w+),', re.MULTILINE)
_SET = re.compile(r'^SET\("(\w+)", "([^"]*)"\)', re.MULTILINE)
_TYPE = re.compile(r"[usbf]\d+(x\d)?|bf16(x2)?|tf32|pred|[es]\d\w+|ue\d\w+")


def rows() -> list[tuple[str, str, str, str]]:
    """(name, forms, handler, operands) of each row of the table."""
    text = TABLE.read_text()
    found = _ROW.findall(text)
    return [
        (name, "".join(re.findall(r'"([^"]*)"', forms)), handler, operands)
        for _, name, forms, handler, operands in found
    ]


def forms_of(text: str) -> list[tuple[list, list[int]]]:
    """(words, numbers of operands) of each form; a word is (its alternatives, whether it may be left out)."""
    sets = dict(_SET.findall(TABLE.read_text()))
    out = []
    for form in text.split(" / "):
        words, _, count = form.rpartition(":")
        low, _, high = count.strip().partition("-")
        slots = []
        for word in words.split():
            optional, word = word.endswith("?"), word.rstrip("?")
            choices = [
                c
                for name in word.split("|")
                for c in (sets[name[1:-1]].split("|") if name[0] == "<" else [name])
            ]
            slots.append((choices, optional))
        out.append((slots, list(range(int(low), int(high or low) + 1))))
    return out


def spellings(slots: list) -> list[tuple[str, ...]]:
    """The words that have to be there: types in each combination, other words each once; and all the first ones
    in each combination of types with each word that need not be there."""
    first = [[""] if optional else choices[:1] for choices, optional in slots]
    types = [
        choices if not optional and _TYPE.fullmatch(choices[0]) else one
        for (choices, optional), one in zip(slots, first, strict=True)
    ]
    out = list(itertools.product(*types))
    for k, (choices, _) in enumerate(slots):
        out += itertools.product(*(choices if i == k else n for i, n in enumerate(types)))
    return list(dict.fromkeys(out))


def signature(operands: str, mods: list[str], count: int) -> tuple[list[str], list[str], str] | None:
    """Kinds of results and of operands of an instruction with `count` operands in all, and the text of operands
    where these are not all in their order."""
    types = [word for word in mods if _TYPE.fullmatch(word)]
    if not types:
        return None
    first, last = types[0], types[-1]
    wide = "wide" in mods
    double = {"16": "b32", "32": "b64"}.get(last[1:], "b64") if wide else first
    simple = {
        "unary": ([last], [last]), "move": ([last], [last]), "count": (["b32"], [last]), "classify": (["pred"], [last]),
        "dot_product": (["b32"], ["b32"] * 3), "extract": ([last], [last, "count", "count"]), "insert": ([last], [last, last, "count", "count"]),
        "funnel_shift": (["b32"], ["b32", "b32", "count"]), "permute": (["b32"], ["b32", "b32", "sel"]), "shift": ([last], [last, "count"]),
        "select": ([last], [last, last, "pred"]), "select_by_sign": ([first], [first, first, last]), "find_nth_set": (["b32"], ["b32", "count", "s32"]),
        "set": ([first], [last, last] + ["pred"] * (count - 3)), "set_predicate": (["pred"], [last, last] + ["pred"] * (count - 3)),
        "extremum": ([last], [last] * (count - 1)),
    }  # fmt: skip
    if operands in ("sin", "cos", "log2", "exp2", "tanh"):
        return [last], [last], ""
    if operands.startswith("video"):
        return ["b32"], ["b32"] * (count - 1), ""
    if operands in simple:
        return (*simple[operands], "")
    if operands == "binary":
        if len(types) > 2:
            return [first], types[1:], ""
        return [double], [last, first if len(types) > 1 else last], ""
    if operands == "ternary":
        if len(types) > 2:
            return [first], types[1:], ""
        return [double], [last, last, double if wide or len(types) > 1 else last], ""
    return conversion(first, last, mods, count) if operands == "conversion" else None


def conversion(to: str, source: str, mods: list[str], count: int):
    if "pack" in mods:
        return ["b32"], ["b32"] * (count - 1), ""
    four = to.endswith("x4")
    pair = to.endswith("x2") and source == "f32"
    operands = ["f32"] * 4 if four else ["f32"] * 2 if pair else [source]
    text = "%0, {%1, %2, %3, %4}" if four else ", ".join(f"%{k}" for k in range(len(operands) + 1))
    for word in ("b32",) * ("rs" in mods) + ("b16",) * (mods[-1] == "ue8m0x2" or "scaled::n2::ue8m0" in mods):
        operands = [*operands, word]
        text += f", %{len(operands)}"
    return [to], operands, text


def held(kind: str) -> str:
    """The kind of a register that holds a value of a kind; "" where none of ours does."""
    if re.fullmatch(r"[usf]\d+|bf16(x2)?|f16x2|[us]16x2|b(16|32|64)|pred|count|sel", kind) and kind not in (
        "u8",
        "s8",
    ):
        return kind
    if kind in ("u8", "s8", "b8", "s2f6x2") or re.fullmatch(r"(ue8m0|e\dm\d|ue4m3)x2|e2m1x4", kind):
        return "b16" if kind != "e2m1x2" else ""
    if kind == "tf32" or re.fullmatch(r"e\dm\dx4", kind):
        return "b32"
    return "b64" if kind == "f32x2" else ""


def of_rows() -> list[Instruction]:
    """The arithmetic that the table's rows allow, by its text."""
    out: dict[str, Instruction] = {}
    for name, forms, handler, operands in rows():
        # The result of reading a carry that nothing set is not defined: spelling_fused.py has whole sums.
        if handler not in ("alu", "move") or operands == "none" or name in ("addc", "subc", "madc"):
            continue
        for slots, counts in forms_of(forms):
            for words, count in itertools.product(spellings(slots), counts):
                mods = [word for word in words if word]
                if "cc" in mods:
                    continue
                mnemonic = ".".join([name, *mods])
                given = signature(operands, mods, count)
                if given is None:
                    continue
                kinds = [[held(kind) for kind in part] for part in given[:2]]
                if not all(kinds[0]) or not all(kinds[1]):
                    continue
                wide = [
                    k if k not in ("b16",) or r not in ("u8", "s8") else "b32"
                    for k, r in zip(kinds[0], given[0], strict=True)
                ]
                text = given[2] or ", ".join(f"%{k}" for k in range(len(wide) + len(kinds[1])))
                text = f"{mnemonic} {text};"
                out.setdefault(text, Instruction(text.rstrip(";"), wide, kinds[1], text))
    return list(out.values())


def varied(plain: list[Instruction]) -> list[Instruction]:
    """Each operand in each kind, of one instruction of each opcode and type."""
    seen, out = set(), []
    for i in plain:
        types = [word for word in i.text.split(" ")[0].split(".") if _TYPE.fullmatch(word)]
        key = i.text.split(".")[0], types[-1:] and types[-1], len(i.operands)
        if key in seen or not re.fullmatch(r"[\w.:]+ [%\d, ]+;", i.text):
            continue
        seen.add(key)
        for k, kind in enumerate(i.operands):
            out += list(of_kinds(i, k, kind))
        out.append(
            one(
                f"{i.name} @p",
                " ".join(i.results),
                f"{' '.join(i.operands)} pred",
                f"@%{len(i.results) + len(i.operands)} {i.text}",
            )
        )
    return out


def of_kinds(i: Instruction, k: int, kind: str):
    """An instruction with its k-th operand in other kinds than a register with any value."""
    at, n = len(i.results) + k, width(kind)
    v = own(kind, 8)
    text = re.sub(rf"%{at}\b", v, i.text)
    number = {
        "f32": "0x3fc00000",
        "f64": "0x3ff8000000000000",
        "f16": "0x3e00",
        "bf16": "0x3fc0",
        "count": "5",
        "sel": "0x6420",
    }
    number |= {"f16x2": "0x3e00b800", "bf16x2": "0x3fc0bf00"}
    if kind == "pred":
        ways = {"not": f"not.pred {v}, %{at};", "true": f"setp.eq.s32 {v}, 0, 0;"}
    else:
        ways = {
            "number": f"mov.b{n} {v}, {number.get(kind, '77')};", "minus": f"mov.b{n} {v}, {'-3' if n < 64 else '-77'};",
            "zero": f"mov.b{n} {v}, 0;", "high": "",
            "constant": {16: f"ld.param.b16 {v}, [c_];", 32: f"mov.b32 {v}, %c;", 64: f"ld.param.b64 {v}, [s_]; and.b64 {v}, {v}, 7;"}[n],
            "uniform": {16: f"cvt.u16.u32 {v}, %u;", 32: f"mov.b32 {v}, %u;", 64: f"mov.b64 {v}, {{%u, %c}};"}[n],
        }  # fmt: skip
        if n == 16:
            ways["high"] = f"mov.b32 {{h9, {v}}}, %{at};"
        is_float = re.fullmatch(r"b?f\d+(x2)?", kind)
        if is_float:
            ways |= {"neg": f"neg.{kind} {v}, %{at};", "abs": f"abs.{kind} {v}, %{at};"}
            ways["neg abs"] = f"abs.{kind} {v}, %{at}; neg.{kind} {v}, {v};"
        else:
            ways |= {
                "neg": f"neg.s{n} {v}, %{at};",
                "not": f"not.b{n} {v}, %{at};",
                "abs": f"abs.s{n} {v}, %{at};",
            }
    for way, before in ways.items():
        if before:
            operands = list(i.operands)
            if way == "high":
                operands[k] = kind + "x2" if kind in ("f16", "bf16", "s16", "u16") else "b32"
            yield one(f"{i.name} {way} {k}", " ".join(i.results), " ".join(operands), f"{before} {text}")
