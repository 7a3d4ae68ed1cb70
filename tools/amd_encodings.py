"""Writes src/amdgcn/internal/encodings.def: how AMD's instructions are encoded, a row an instruction.

    pip download --no-deps tinygrad==0.14.0 && unzip tinygrad-0.14.0-*.whl -d FOLDER
    python tools/amd_encodings.py FOLDER

The numbers of the opcodes and the sizes of the operands are facts of AMD's machine-readable ISA documents,
as the tables of tinygrad have them (runtime/autogen/amd). LLVM, in Triton's wheel, has the last word: a row
has a target's number only where LLVM assembles the instruction to the number that the documents say."""

from __future__ import annotations

import importlib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import amd_assembler
from amd_assembler import TARGETS, Row

DEF = pathlib.Path(__file__).parent.parent / "src/amdgcn/internal/encodings.def"
DOCUMENTS = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
# The documents' names of encodings, as the rows have them. Images, exports and typed buffers have no row.
FORMATS = {
    "SOP1Op": "SOP1", "SOP2Op": "SOP2", "SOPCOp": "SOPC", "SOPKOp": "SOPK", "SOPPOp": "SOPP",
    "SMEMOp": "SMEM", "VOP1Op": "VOP1", "VOP2Op": "VOP2", "VOPCOp": "VOPC", "VOP3Op": "VOP3",
    "VOP3SDOp": "VOP3SD", "VOP3POp": "VOP3P", "VOP3PX2Op": "VOP3PX", "DSOp": "DS", "FLATOp": "FLAT",
    "VFLATOp": "FLAT", "GLOBALOp": "GLOBAL", "VGLOBALOp": "GLOBAL", "SCRATCHOp": "SCRATCH",
    "VSCRATCHOp": "SCRATCH", "MUBUFOp": "MUBUF", "VBUFFEROp": "MUBUF", "VOPDOp": "VOPD",
    "VINTERPOp": "VINTERP",
}  # fmt: skip
_LETTERS = {
    "sdst": "d", "vdst": "d", "ssrc0": "a", "ssrc1": "b", "src0": "a", "vsrc0": "a", "src1": "b",
    "vsrc1": "b", "src2": "c", "sdata": "d", "sbase": "b", "addr": "v", "vaddr": "v", "data": "t",
    "data0": "t", "data1": "u", "vsrc": "t", "vdata": "t", "saddr": "w", "scale_src0": "y",
    "scale_src1": "z",
}  # fmt: skip
_ORDER = {
    "SOP1": "da", "SOP2": "dab", "SOPC": "ab", "SMEM": "db", "VOP1": "da", "VOP2": "dab", "VOPC": "ab",
    "VOP3": "dabc", "VOP3SD": "dsabc", "VOP3P": "dabc", "VOP3PX": "dabcyz", "DS": "dvtu", "VINTERP": "dabc",
    "VOPD": "dab", "FLAT": "dvtw", "GLOBAL": "dvtw", "SCRATCH": "dvtw", "MUBUF": "t",
}  # fmt: skip

# Instructions that the documents of CDNA 3 and 4 have no longer; LLVM says their numbers.
_DROPPED = {
    "gfx90a": """
        VOP3P v_mfma_f32_32x32x2bf16 d32 a1 b1 c32
        VOP3P v_mfma_f32_16x16x2bf16 d16 a1 b1 c16
        VOP3P v_mfma_f32_4x4x2bf16 d4 a1 b1 c4
        VOP3P v_mfma_f32_32x32x4bf16 d16 a1 b1 c16
        VOP3P v_mfma_f32_16x16x8bf16 d4 a1 b1 c4
        VOP3P v_mfma_i32_32x32x8i8 d16 a1 b1 c16
        VOP3P v_mfma_i32_16x16x16i8 d4 a1 b1 c4
        MUBUF buffer_wbinvl1
        MUBUF buffer_wbinvl1_vol
        MUBUF buffer_invl2
        VOP2 v_madmk_f32 d1 a1 l b1
        VOP2 v_madak_f32 d1 a1 b1 l
        VOP2 v_madmk_f16 d1 a1 l b1
        VOP2 v_madak_f16 d1 a1 b1 l
        VOP2 v_mac_f32_e32 d1 a1 b1
        VOP2 v_mac_f16_e32 d1 a1 b1
        VOP3 v_mac_f32_e64 d1 a1 b1
        VOP3 v_mac_f16_e64 d1 a1 b1
        VOP3 v_mad_f32 d1 a1 b1 c1
        VOP3 v_mad_legacy_f32 d1 a1 b1 c1
        VOP3 v_cvt_pkaccum_u8_f32 d1 a1 b1
        VOP3 v_trig_preop_f64 d2 a2 b1""",
    "gfx942": """
        VOP3P v_mfma_f32_16x16x8_xf32 d4 a2 b2 c4
        VOP3P v_mfma_f32_32x32x4_xf32 d16 a2 b2 c16""",
}


def _size(bits: int, kind: str, form: str, rdna: bool) -> str:
    if form == "FMT_NUM_M64":
        return "m"
    return "h" if bits == 16 and rdna else str(max(1, bits // 32))


def _words(fmt: str, operands: dict, rdna: bool) -> list[str]:
    """An operand's letter and size each, in the order in which LLVM prints them."""
    words = {}
    for field, (form, bits, kind) in operands.items():
        letter = "s" if field == "sdst" and fmt == "VOP3SD" else _LETTERS.get(field)
        if letter is None:
            continue
        mark = "x" if kind.name in ("OPR_ACCVGPR", "OPR_SRC_ACCVGPR") else ""
        mark = (
            "g"
            if letter == "d" and fmt.startswith("V") and kind.name.startswith(("OPR_SREG", "OPR_SDST"))
            else mark
        )
        words[letter] = letter + mark + _size(bits, kind.name, form.name, rdna)
    return [words[letter] for letter in _ORDER.get(fmt, "") if letter in words]


def _dual(name: str) -> list[str]:
    """The operands of one of two instructions at once."""
    if "mov" in name:
        return ["d1", "a1"]
    if "fmamk" in name:
        return ["d1", "a1", "l", "b1"]
    return ["d1", "a1", "b1", *(["l"] if "fmaak" in name else [])]


def _halved(words: list[str]) -> list[str]:
    """The words with whole registers instead of halves."""
    return [word.replace("h", "1") for word in words]


def _candidates(fmt: str, name: str, words: list[str], target: str) -> list[list[str]]:
    """Returns what the operands may be: the documents leave out what is implied, and LLVM decides."""
    rdna = target.startswith("gfx1")
    out = [words]
    if fmt == "SOPK":
        out = [["d1", "k"]]
        if "setreg_imm" in name:
            out = [["r", "l"]]
        elif "setreg" in name:
            out = [["r", "d1"]]
        elif "getreg" in name:
            out = [["d1", "r"]]
        elif "call" in name:
            out = [["d2", "j"]]
        elif "version" in name:
            out = [["k"]]
    elif fmt == "SOPP":
        out = [["j"]] if "branch" in name else []
        if name == "s_waitcnt":
            out = [["i"]]
        elif name in ("s_waitcnt_depctr", "s_wait_alu"):
            out = [["p"]]
        elif name == "s_delay_alu":
            out = [["e"]]
        elif "sendmsg" in name:
            out = [["q"]]
        out += [[], ["n"], ["k"]]
        if name in ("s_nop", "s_sleep", "s_trap", "s_setprio", "s_sethalt"):
            out = [["n"]]
        elif name.startswith(
            ("s_wait_", "s_clause", "s_set_inst", "s_icache_inv_", "s_round", "s_denorm", "s_code")
        ):
            out = [o for o in out if o != ["n"]]
    elif fmt == "SOP1" and name in (
        "s_barrier_signal",
        "s_barrier_signal_isfirst",
        "s_barrier_init",
        "s_barrier_join",
    ):
        out = [["a1"]]
    elif fmt == "SOP1" and "sendmsg_rtn" in name:
        out = [[words[0], "q"]]
    elif fmt == "SMEM":
        both = [*words, "o"]
        out = [both, [w for w in words if w[0] == "d"], [w for w in words if w[0] == "b"] + ["o"], []]
        if "prefetch" in name:  # an offset, a register beside it, a length
            out = [[*[w for w in words if w[0] == "b"], "f"]]
        if name.startswith("s_dcache") or name in ("s_gl1_inv",):
            out = [[]]
    elif fmt == "VOPC":
        out = [["vm", *words]] if not rdna else [words, ["vm", *words]]
        if rdna and "cmpx" not in name:
            out = [["vm", *words]]
    elif fmt == "VOP2":
        d, rest = words[:1], words[1:]
        if re.search(r"cndmask", name):
            out = [[*words, "vm"]]
        elif re.search(r"(addc|subb|subbrev|co_ci)_", name):
            out = [[*d, "vm", *rest, "vm"]]
        elif re.search(r"_co_", name):
            out = [[*d, "vm", *rest]]
        elif re.search(r"(madmk|fmamk)", name):
            out = [[*d, rest[0], "l", *rest[1:]]]
        elif re.search(r"(madak|fmaak)", name):
            out = [[*words[:3], "l"]]
    elif fmt == "SOP2" and "fmamk" in name:
        out = [[*words[:2], "l", words[2]]]
    elif fmt == "SOP2" and "fmaak" in name:
        out = [[*words[:3], "l"]]
    elif fmt == "VOP3":
        scalar = "abc" if "writelane" in name else "bc" if "lane" in name else ""
        out = [words, [w[0] + "g" + w[1:] if w[0] in scalar else w for w in words]]
        if "cmp" in name:
            out = [["dgm", *[w for w in words if w[0] != "d"]]]
            if rdna and "cmpx" in name:
                out = [out[0][1:]]
            # A class is a word of bits, which is never half a register.
    elif fmt in ("FLAT", "GLOBAL", "SCRATCH"):
        plain = [w for w in words if w[0] != "w"]
        has_data = any(w[0] == "t" for w in plain)
        out = [plain]
        if "cmpswap" in name and has_data:  # the documents' result is as wide as both operands
            out = [[f"d{int(w[1:]) // 2}" if w[0] == "d" and w[1:] != "1" else w for w in plain], plain]
        if "_lds_" in name or name.endswith("_lds"):
            out = [[w for w in plain if w[0] not in "dt"]]
        if re.search(r"wb$|inv$|wbinv$", name):
            out = [[]]
    elif fmt == "MUBUF":
        out = [words]
        if re.search(r"wb$|inv$|inv_l1$|wbl2$|gl0_inv|gl1_inv", name):
            out = [[]]
    elif fmt == "DS":
        out = [words]
        if name in ("ds_nop",):
            out = [[]]
    elif fmt == "VOPD":
        out = [_dual(name)]
    return _with_halves(fmt, out) if any("h" in word for word in words) else out


def _with_halves(fmt: str, out: list[list[str]]) -> list[list[str]]:
    """The candidates, and those with whole registers in the place of some halves."""
    first, out = out[0], [*out, *map(_halved, out)]
    if fmt in ("VOP2", "VOP3", "VOPC", "VOP3P") and len(first) > 1:  # a word of bits beside halves
        out.append([w if w[0] not in "bc" else w.replace("h", "1") for w in first])
        out.append([w if w[0] != "d" else w.replace("h", "1") for w in first])
        out.append([w if w[0] == "d" else w.replace("h", "1") for w in first])
    return out


def _mfma_of_gfx90a(name: str) -> str:
    """gfx90a's spelling of a product: v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x8bf16_1k."""
    found = re.fullmatch(r"(v_mfma_[a-z]\d+_\d+x\d+x\d+)(?:_\d+b)?_(\w+)", name)
    return f"{found[1]}{found[2]}" if found else name


def _names(fmt: str, name: str, target: str, shorter: set[str]) -> list[str]:
    """LLVM's spelling, with its suffix where an instruction has two encodings."""
    base = re.sub(r"_e(32|64)$", "", name.lower())
    if fmt in ("VOP1", "VOP2", "VOPC"):
        return [base + "_e32" if base in shorter else base]
    if fmt in ("VOP3", "VOP3SD"):
        return [base + "_e64" if base in shorter else base]
    if fmt == "VOP3P" and base.startswith(("v_mfma", "v_smfmac", "v_accvgpr")):
        out = [base]
        if base.startswith("v_accvgpr"):
            out = [base + "_b32"]
        if target == "gfx90a" and base.startswith("v_mfma"):
            old = _mfma_of_gfx90a(base)
            out = [old + "_1k", old, base]
        return out
    if base.startswith("v_mad_mix"):
        return [base, base.replace("mad", "fma")]
    return [base]


def rows(folder: str) -> list[Row]:
    sys.path.insert(0, folder)
    table: dict[tuple, dict[str, int]] = {}
    for target in TARGETS:
        package = f"tinygrad.runtime.autogen.amd.{DOCUMENTS[target]}"
        known = importlib.import_module(package + ".operands").OPERANDS
        enums = vars(importlib.import_module(package + ".enum")).values()
        listed = [op for enum in enums if getattr(enum, "__name__", "") in FORMATS for op in enum]
        operands = {
            op: known.get(op, {}) for op in [*known, *listed]
        }  # those without operands are in the enums alone
        rdna = target.startswith("gfx1")
        by_format: dict[str, list] = {}
        for op, fields in operands.items():
            fmt = FORMATS.get(type(op).__name__)
            if fmt and not op.name.startswith(("IMAGE_", "TBUFFER_", "EXP")):
                by_format.setdefault(fmt, []).append((op.name.lower(), op.value, fields))
        base = {
            fmt: {re.sub(r"_e(32|64)$", "", name) for name, _, _ in by_format.get(fmt, ())}
            for fmt in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD")
        }
        shorter = (base["VOP1"] | base["VOP2"] | base["VOPC"]) & (base["VOP3"] | base["VOP3SD"])
        shorter -= {
            "v_readfirstlane_b32",
            "v_accvgpr_mov_b32",
            "v_swap_b32",
            "v_nop",
            "v_pipeflush",
            "v_clrexcp",
        }
        tries: list[tuple[int, int, Row]] = []  # an opcode, the rank of a trial, the trial
        opcodes = []
        for fmt, ops in by_format.items():
            for name, value, fields in ops:
                words = _words(fmt, fields, rdna)
                n = len(opcodes)
                opcodes.append((fmt, name, value))
                rank = 0
                for spelling in _names(fmt, name, target, shorter):
                    for candidate in _candidates(fmt, spelling, words, target):
                        tries.append((n, rank, Row(fmt, spelling, {target: value}, tuple(candidate))))
                        rank += 1
        for line in _DROPPED.get(target, "").strip().splitlines():
            fmt, name, *words = line.split()
            opcodes.append((fmt, name, -1))
            tries.append((len(opcodes) - 1, 0, Row(fmt, name, {target: -1}, tuple(words))))
        made = amd_assembler.assemble(target, [amd_assembler.text(row, target, 0) for _, _, row in tries])
        done = set()
        for (n, _, row), code in sorted(zip(tries, made, strict=True), key=lambda pair: pair[0][:2]):
            if code is None or n in done:
                continue
            number = amd_assembler.opcode_of(row.format, code, target)
            if row.numbers[target] < 0 or (target == "gfx90a" and row.name.startswith("v_mfma")):
                row.numbers[target] = number  # no document at hand has it: CDNA 3 renumbered the products
            if number != row.numbers[target]:
                print(
                    f"{target}: {row.format} {row.name}: LLVM {number}, documents {row.numbers[target]}",
                    file=sys.stderr,
                )
                continue
            done.add(n)
            table.setdefault((row.format, row.name, row.words), {})[target] = number
        for n, (fmt, name, value) in enumerate(opcodes):
            if n not in done:
                print(
                    f"{target}: {fmt} {name} {value}: LLVM takes none of "
                    f"{[amd_assembler.text(row, target, 0) for k, _, row in tries if k == n]}",
                    file=sys.stderr,
                )
    return [Row(fmt, name, numbers, words) for (fmt, name, words), numbers in table.items()]


def main():
    found = rows(sys.argv[1])
    formats = [*dict.fromkeys(FORMATS.values())]
    found.sort(
        key=lambda row: (formats.index(row.format), *(row.numbers.get(t, 1 << 20) for t in TARGETS), row.name)
    )
    head = DEF.read_text().split("\n// Rows")[0] if DEF.exists() else "// head"
    body = [
        f"CODE({row.format}, {row.name}, "
        + ", ".join(str(row.numbers.get(target, "_")) for target in TARGETS)
        + f', "{" ".join(row.words)}")'
        for row in found
    ]
    DEF.write_text(head + "\n// Rows\n" + "\n".join(body) + "\n")
    print(len(body), "rows")


if __name__ == "__main__":
    main()
