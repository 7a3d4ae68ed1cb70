"""Texts of AMD's instructions that a row of encodings.def stands for, and what LLVM's assembler makes of
them."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import struct
import subprocess
import sys

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")

_CHILD = r"""
import json, sys
from triton._C.libtriton import amd, llvm

llvm.init_targets()
text = "\t.text\n" + "".join(f"I{i}:\n\t{line}\n" for i, line in json.load(sys.stdin)) + "Iend:\n\ts_endpgm\n"
sys.stdout.buffer.write(amd.assemble_amdgcn(text, "amdgcn-amd-amdhsa", sys.argv[1], ""))
"""


@dataclasses.dataclass(frozen=True)
class Row:
    """numbers: the opcode's number by target; words: its operands, as the head of encodings.def says."""

    format: str
    name: str
    numbers: dict[str, int]
    words: tuple[str, ...]


def read_rows(path: pathlib.Path) -> list[Row]:
    out = []
    for found in re.finditer(r'^CODE\((\w+), (\w+), ([^"]+), "([^"]*)"\)', path.read_text(), re.M):
        numbers = dict(zip(TARGETS, found[3].split(", "), strict=True))
        out.append(
            Row(
                found[1],
                found[2],
                {t: int(n) for t, n in numbers.items() if n != "_"},
                tuple(found[4].split()),
            )
        )
    return out


def _symbols(code: bytes) -> tuple[bytes, dict[str, int]]:
    """The bytes of .text, and the places of its labels."""
    table, count, names_at = struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<2H", code, 60)
    sections = [struct.unpack_from("<2I4Q2I2Q", code, table + 64 * k) for k in range(count)]
    names = sections[names_at]

    def name_of(section, offset):
        start = section[4] + offset
        return code[start : code.index(b"\0", start)].decode()

    text, places = b"", {}
    for s in sections:
        if name_of(names, s[0]) == ".text":
            text = code[s[4] : s[4] + s[5]]
        if s[1] == 2:
            for k in range(s[5] // 24):
                name, _, _, _, value, _ = struct.unpack_from("<IBBHQQ", code, s[4] + 24 * k)
                places[name_of(sections[s[6]], name)] = value
    return text, places


def assemble(target: str, lines: list[str]) -> list[bytes | None]:
    """The bytes of each line, or None where LLVM does not take it."""
    alive = dict(enumerate(lines))
    for _ in range(60):
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, target],
            input=json.dumps([*alive.items()]).encode(),
            capture_output=True,
        )
        if done.stdout:
            text, places = _symbols(done.stdout)
            order = [*alive]
            ends = [*[places[f"I{k}"] for k in order[1:]], places["Iend"]] if order else []
            out: list[bytes | None] = [None] * len(lines)
            for k, end in zip(order, ends, strict=True):
                out[k] = text[places[f"I{k}"] : end]
            return out
        if "error: " not in done.stderr.decode():  # LLVM itself ends: at one of the lines
            if len(alive) == 1:
                return [None] * len(lines)
            out, keys, half = [None] * len(lines), [*alive], len(alive) // 2
            for part in (keys[:half], keys[half:]):
                for key, code in zip(part, assemble(target, [alive[key] for key in part]), strict=True):
                    out[key] = code
            return out
        wrong = {line.strip() for line in re.findall(r"error: [^\n]*\n([^\n]*)\n", done.stderr.decode())}
        left = {k: line for k, line in alive.items() if line.strip() not in wrong}
        if len(left) == len(alive):
            raise RuntimeError(done.stderr.decode()[-2000:])
        alive = left
    raise RuntimeError("the assembler goes on refusing lines")


def opcode_of(fmt: str, code: bytes, target: str) -> int:
    """The number of the opcode in an instruction's bytes."""
    low = struct.unpack_from("<I", code)[0]
    gfx9, gfx12 = not target.startswith("gfx1"), target == "gfx1201"
    first, last = {
        "SOP1": (8, 15), "SOP2": (23, 29), "SOPC": (16, 22), "SOPK": (23, 27), "SOPP": (16, 22),
        "SMEM": (18, 25) if not gfx12 else (13, 18), "VOP1": (9, 16), "VOP2": (25, 30), "VOPC": (17, 24),
        "VOP3": (16, 25), "VOP3SD": (16, 25), "VOP3P": (16, 22), "VOP3PX": (16, 22), "VINTERP": (16, 22),
        "VOPD": (22, 25), "DS": (17, 24) if gfx9 else (18, 25), "FLAT": (14, 21) if gfx12 else (18, 24),
        "MUBUF": (14, 21) if gfx12 else (18, 24) if gfx9 else (18, 25),
    }[{"GLOBAL": "FLAT", "SCRATCH": "FLAT"}.get(fmt, fmt)]  # fmt: skip
    number = (low >> first) & ((1 << (last - first + 1)) - 1)
    if fmt == "VOPD" and number == 8 and (low >> 17) & 31 != 8:  # a move, and what stands second
        return (low >> 17) & 31
    if fmt == "VOP3PX":
        low = struct.unpack_from("<I", code, 8)[0]
    return (low >> first) & ((1 << (last - first + 1)) - 1)


def _register(letter: str, first: int, count: int) -> str:
    if count == 1:
        return f"{letter}{first}"
    return f"{letter}[{first}:{first + count - 1}]"


_FIRST = {"d": 8, "a": 16, "b": 32, "c": 48, "t": 64, "u": 96, "v": 112, "y": 120, "z": 121}
# The kinds of texts of a row: they vary its operands, its modifiers, the encoding that follows it.
KINDS = (
    "plain", "constant", "literal", "scalar", "modifiers", "halves", "negative", "dpp", "dpp8", "sdwa",
    "sdwa scalar", "accumulators", "addressed", "policy",
)  # fmt: skip
_VECTOR = ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P", "VINTERP")
_SHORT = ("VOP1", "VOP2", "VOPC")


def _fixed(row: Row, word: str, target: str) -> str | None:
    """An operand that is spelled in one way, or None."""
    vcc, wave64 = ("vcc_lo", False) if target.startswith("gfx1") else ("vcc", True)
    letter = word[0]
    if word == "vm":
        return vcc
    if word.endswith("m") and len(word) > 1:
        return _register("s", {"d": 10, "s": 12, "c": 14}[letter], 2 if wave64 else 1)
    if row.name.startswith("s_waitcnt_") and word == "d1":
        return "null"
    if "writelane" in row.name and letter == "b":  # the bus of constants carries one register
        return "m0"
    if row.name.startswith("s_barrier_signal"):
        return "-1"
    message = "sendmsg(MSG_INTERRUPT)" if "rtn" not in row.name else "sendmsg(MSG_RTN_GET_DOORBELL)"
    return {
        "o": "0x40", "k": "0x1234", "l": "0x1234", "n": "1", "r": "hwreg(HW_REG_MODE, 2, 3)", "j": "Iend",
        "i": "vmcnt(1)", "f": "0x40, s3, 5", "p": "depctr_va_vdst(3)", "e": "instid0(VALU_DEP_1)",
        "q": message,
    }.get(word)  # fmt: skip


def _operand(row: Row, word: str, target: str, kind: str) -> str:
    if (fixed := _fixed(row, word, target)) is not None:
        return fixed
    letter, mark = word[0], word[1] if word[1:2] in ("x", "g") else ""
    size = word[1 + len(mark) :]
    half, scalar = size == "h", row.format.startswith("S") and row.format != "SCRATCH"
    count, first = 1 if half else int(size), _FIRST[letter]
    if letter == "a" and not mark and (scalar or row.format in _VECTOR or row.format == "VOPD"):
        if kind in ("constant", "negative"):
            return {"constant": "7", "negative": "-9"}[kind]
        if kind == "literal":
            return "0x12345" if not half else "0x1234"
        if kind == "scalar":
            return (
                _register("s", 20, count)
                if not scalar
                else {1: "m0", 2: "exec"}.get(count, _register("s", 20, count))
            )
    if letter == "c" and not mark and kind == "constant":
        return "1.0"
    file = "s" if scalar or mark == "g" else "a" if mark == "x" else "v"
    if kind == "accumulators" and file == "v" and letter in "dabctu":
        file = "a"
    end = ""
    if half:
        end = ".h" if kind == "halves" else ".l"
    return _register(file, first, count) + end


def _modify_vector(row: Row, kind: str, target: str, operands: list[str], modifiers: list[str]) -> None:
    """Gives a vector instruction the modifiers of a kind, in its operands and after them."""
    fmt, name, is_new = row.format, row.name, target in ("gfx942", "gfx950")
    cdna = not target.startswith("gfx1")
    sources = [k for k, word in enumerate(row.words) if word[0] in "abc"]
    packed = fmt == "VOP3P" and not name.startswith(("v_mfma", "v_smfmac", "v_accvgpr", "v_swmmac"))
    if packed and kind == "modifiers" and sources:
        some = ",".join("10"[k % 2] for k in range(len(sources)))
        if "fma_mix" not in name:
            modifiers += [f"neg_lo:[{some}]", f"neg_hi:[{some}]"]
        else:
            operands[sources[0]], operands[sources[1]] = (
                "-" + operands[sources[0]],
                f"|{operands[sources[1]]}|",
            )
            modifiers += [f"op_sel_hi:[{some}]"]
    elif packed and kind == "halves" and sources:
        some, other = (",".join("10"[(k + n) % 2] for k in range(len(sources))) for n in (0, 1))
        modifiers += [f"op_sel:[{some}]", f"op_sel_hi:[{other}]"]
    elif name.startswith(("v_mfma", "v_smfmac")) and kind == "modifiers":
        if "_f64_" in name and is_new:
            modifiers.append("neg:[1,0,1]")
        elif "f8f6f4" in name:
            operands[1], operands[2] = "v[16:19]", "v[32:37]"
            modifiers += ["cbsz:4", "blgp:2"]
        else:
            modifiers += (
                ["cbsz:1", "abid:1"] if name.startswith("v_smfmac") else ["cbsz:1", "abid:1", "blgp:2"]
            )
    elif fmt in ("VOP3", "VOP3SD", "VINTERP") and sources:
        if kind == "modifiers":
            operands[sources[0]] = "-" + operands[sources[0]]
            if len(sources) > 1 and fmt == "VOP3":
                operands[sources[1]] = f"-|{operands[sources[1]]}|"
            modifiers += [] if "cmp" in name else ["clamp"]
        elif kind == "halves" and cdna and fmt == "VOP3":
            some = ",".join("10"[k % 2] for k in range(len(sources) + 1))
            modifiers.append(f"op_sel:[{some}]")
        elif kind == "negative" and fmt == "VOP3":
            operands[sources[0]] = "neg(2)"
            modifiers += [] if "cmp" in name else ["mul:4"]


def text(row: Row, target: str, number: int) -> str | None:
    """An instruction of the row as LLVM prints it, of the kind KINDS[number]; None: the row has none."""
    kind, fmt, name = KINDS[number], row.format, row.name
    cdna, gfx12 = not target.startswith("gfx1"), target == "gfx1201"
    is_new = target in ("gfx942", "gfx950")
    operands, modifiers = [_operand(row, word, target, kind) for word in row.words], []
    returns = "atomic" in name and row.words[:1] and row.words[0][0] == "d"
    sources = [k for k, word in enumerate(row.words) if word[0] in "abc"]
    if fmt in ("GLOBAL", "SCRATCH") and row.words:
        v = next((k for k, word in enumerate(row.words) if word[0] == "v"), None)
        if fmt == "SCRATCH" and v is not None:
            operands[v] = "off" if kind == "addressed" else "v112"
        elif v is not None and kind == "addressed":
            operands[v] = "v112"
        operands.append("off" if kind != "addressed" else "s20" if fmt == "SCRATCH" else "s[20:21]")
    if fmt in ("GLOBAL", "FLAT", "SCRATCH") and row.words and kind in ("addressed", "modifiers"):
        modifiers.append("offset:24" if kind == "modifiers" or fmt == "FLAT" else "offset:-24")
    if fmt == "MUBUF" and row.words:
        operands += ["off", "s[4:7]", "s20"]
        if kind == "addressed":
            operands[-3:] = ["v112", "s[8:11]", "null" if gfx12 else "0"]
            modifiers.append("offen")
        if kind == "scalar":
            operands[-3:] = ["v[112:113]", "s[8:11]", "s3"]
            modifiers += ["idxen", "offen"]
        if kind in ("modifiers", "addressed"):
            modifiers.append("offset:24")
    if fmt == "DS" and kind == "modifiers":
        two = any(part in name for part in ("read2", "write2", "2addr", "xchg2"))
        modifiers += (
            ["offset0:3", "offset1:9"]
            if two
            else ["offset:swizzle(SWAP,4)"]
            if "swizzle" in name
            else ["offset:24"]
        )
    if returns and fmt in ("GLOBAL", "FLAT"):
        modifiers.append("sc0" if is_new else "glc" if not gfx12 else "th:TH_ATOMIC_RETURN")
    if kind == "policy":
        if fmt == "SMEM" and row.words:
            operands[-1] = "-0x40" if row.words[-1] == "o" else operands[-1]
            modifiers.append("glc" if not gfx12 else "scope:SCOPE_SE")
        elif fmt in ("GLOBAL", "FLAT", "SCRATCH", "MUBUF"):
            modifiers += (
                ["scope:SCOPE_SYS"]
                if gfx12
                else ["nt", "sc1"]
                if is_new
                else ["slc"]
                if cdna
                else ["slc", "dlc"]
            )
    if kind == "scalar" and fmt == "SMEM" and row.words and row.words[-1] == "o":
        operands[-1] = "s3"
        modifiers.append("offset:0x40")
    if fmt in _VECTOR and kind in ("modifiers", "halves", "negative"):
        _modify_vector(row, kind, target, operands, modifiers)
    if "f8f6f4" in name and fmt == "VOP3PX":
        modifiers.append("op_sel_hi:[0,0,0]")
        if kind == "modifiers":
            operands[1], operands[2] = "v[16:21]", "v[32:35]"
            modifiers = ["op_sel:[1,0,0]", "op_sel_hi:[0,1,0]", "cbsz:3", "blgp:4"]
    if "interp_" in name:
        modifiers.append("wait_exp:" + str(3 if kind == "modifiers" else 0))
    if kind in ("dpp", "dpp8"):
        if fmt in _SHORT:
            name = name.removesuffix("_e32") + "_dpp"
        elif fmt in ("VOP3", "VOP3SD", "VOP3P") and not cdna:
            name = name.removesuffix("_e64") + "_e64_dpp"
        else:
            return None
        modifiers.append("quad_perm:[3,1,0,2] row_mask:0xe bank_mask:0x7 bound_ctrl:1" if kind == "dpp"
                         else "dpp8:[7,6,5,4,3,2,1,0]")  # fmt: skip
    if kind.startswith("sdwa"):
        if fmt not in _SHORT or not cdna:
            return None
        name = name.removesuffix("_e32") + "_sdwa"
        if kind == "sdwa scalar" and sources:
            operands[sources[-1]] = "s20"
        result = next((word for word in row.words if word[0] == "d"), "")
        if fmt != "VOPC" and result in ("d1", "dg1"):
            modifiers.append("dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE")
        if kind == "sdwa" and sources:
            operands[sources[0]] = f"sext({operands[sources[0]]})"
        parts = ["BYTE_3", "WORD_0"]
        modifiers += [f"src{k}_sel:{parts[k]}" for k in range(len(sources))]
    if (
        kind != "plain"
        and not modifiers
        and operands == [_operand(row, w, target, "plain") for w in row.words]
    ):
        return None
    line = name + (" " + ", ".join(operands) if operands else "") + "".join(" " + m for m in modifiers)
    if fmt == "VOPD":  # the second of two may be what the first may not
        other = "v_dual_mov_b32 v9, v17"
        is_second = name.endswith(("add_nc_u32", "lshlrev_b32", "and_b32"))
        return f"{other} :: {line}" if is_second else f"{line} :: {other}"
    return line


def spelled(target: str) -> list[str]:
    """Texts of what rows do not vary: counters, messages, hardware registers, delays, permutations, swizzles,
    caches' policies."""
    cdna, gfx12 = not target.startswith("gfx1"), target == "gfx1201"
    out = [f"s_getreg_b32 s3, hwreg({k})" for k in range(40)]
    out += [f"s_getreg_b32 s3, hwreg({name})" for name in _HARDWARE] + [
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s9"
    ]
    out += [f"s_sendmsg sendmsg({name})" for name in _MESSAGES]
    out += [f"s_sendmsg sendmsg({k}, 0, 0)" for k in range(16)]
    out += [f"s_sendmsg_rtn_b32 s3, sendmsg({name})" for name in _MESSAGES]
    for counts in ("vmcnt(0)", "vmcnt(7) lgkmcnt(3)", "expcnt(0)", "vmcnt(0) expcnt(0) lgkmcnt(0)",
                   "vmcnt(21) expcnt(3)", "vmcnt(63) expcnt(7) lgkmcnt(15)", "lgkmcnt(40)"):  # fmt: skip
        out.append(f"s_waitcnt {counts}")
    for name in ("s_waitcnt_depctr", "s_wait_alu"):
        out += [f"{name} {one}" for one in (*_COUNTERS, " ".join(_COUNTERS[:3]), " ".join(_COUNTERS[2:]))]
    delays = (
        ("VALU_DEP_4", "NEXT", "TRANS32_DEP_2"), ("SALU_CYCLE_1", "SKIP_4", "VALU_DEP_1"),
        ("FMA_ACCUM_CYCLE_1", "SKIP_1", "SALU_CYCLE_3"),
    )  # fmt: skip
    for first, skip, second in delays:
        out.append(f"s_delay_alu instid0({first}) | instskip({skip}) | instid1({second})")
    out += ["s_delay_alu instid0(TRANS32_DEP_3)", "s_delay_alu instid0(VALU_DEP_1) | instid1(VALU_DEP_2)"]
    shifts = ("row_shl", "row_shr", "row_ror", "row_share", "row_newbcast", "row_xmask")
    ways = [f"{name}:{k}" for name in shifts for k in (0, 1, 8, 15)]
    ways += ["wave_shl:1", "wave_shr:1", "wave_rol:1", "wave_ror:1", "row_mirror", "row_half_mirror",
             "row_bcast:15", "row_bcast:31", "quad_perm:[0,0,0,0]", "quad_perm:[3,3,3,3]"]  # fmt: skip
    for way in ways:
        for more in ("", " bound_ctrl:1") + (() if cdna else (" fi:1", " bound_ctrl:1 fi:1")):
            out.append(f"v_mov_b32_dpp v1, v2 {way} row_mask:0xf bank_mask:0x5{more}")
            out.append(f"v_add_f32_dpp v1, -v2, |v3| {way} row_mask:0xa bank_mask:0xf{more}")
    out.append("v_mov_b32_dpp v1, v2 dpp8:[0,1,2,3,4,5,6,7] fi:1")
    for k in range(1, 31):
        out.append(f"ds_swizzle_b32 v1, v2 offset:swizzle(BROADCAST,32,{k})")
    for k in (1, 2, 4, 8, 16):
        out.append(f"ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,{k})")
        out.append(f"ds_swizzle_b32 v1, v2 offset:swizzle(REVERSE,{2 * k})")
        out.append(f"ds_swizzle_b32 v1, v2 offset:swizzle(BROADCAST,{2 * k},{k})")
    out += [
        f'ds_swizzle_b32 v1, v2 offset:swizzle(BITMASK_PERM,"{mask}")' for mask in ("00p11", "ipi01", "p0p0i")
    ]
    out += [
        "ds_swizzle_b32 v1, v2 offset:swizzle(QUAD_PERM,3,1,0,2)",
        "s_barrier_wait -1",
        "s_barrier_signal -2",
    ]
    for part in range(4):
        for name in ("v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_f32_fp8_e64", "v_cvt_f32_bf8_e64"):
            out.append(f"{name} v1, v2 byte_sel:{part}")
        for name in ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32"):
            out.append(f"{name} v1, v2, v3 byte_sel:{part}")
    for name in ("v_cvt_sr_fp8_f32", "v_cvt_sr_bf8_f32", "v_cvt_scalef32_pk_fp4_f16"):
        out += [f"{name} v1, v2, v3 op_sel:[0,0,{a},{b}]" for a, b in ((0, 1), (1, 0), (1, 1))]
    out += [f"v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4 op_sel:[0,0,{a},1]" for a in (0, 1)]
    out += ["v_bitop3_b32 v1, v2, v3, v4 bitop3:0x9", "v_bitop3_b32 v1, s2, v3, 7 bitop3:0xca"]
    if cdna:
        for name in ("buffer_load_dword", "buffer_load_ubyte", "buffer_load_dwordx4", "buffer_load_dwordx3"):
            out.append(f"{name} v1, s[8:11], 0 offen offset:16 lds")
        out += ["global_load_lds_dword v[2:3], off offset:16", "global_load_lds_dwordx4 v1, s[2:3]"]
        out += [
            "v_mfma_f64_16x16x4_f64 a[0:7], v[10:11], a[12:13], a[0:7]",
            "scratch_load_dword v1, v2, s3 offset:8",
        ]
        out += [
            "ds_write_b32 v1, a2 offset:4 gds",
            "s_load_dword s5, s[2:3], s7",
            "s_store_dword s5, s[2:3], 0x10",
        ]
    else:
        out += ["scratch_load_b32 v1, v2, s3 offset:8", "s_load_b32 s5, s[2:3], s7 offset:0x0"]
        out += ["v_swmmac_f32_16x16x32_f16 v[1:8], v[10:13], v[14:21], v22 index_key:1"]
    if gfx12:
        for hint in ("NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT"):
            for scope in ("", " scope:SCOPE_SE", " scope:SCOPE_DEV"):
                out.append(f"global_load_b32 v1, v[2:3], off th:TH_LOAD_{hint}{scope}")
        out += [f"global_store_b32 v[2:3], v1, off th:TH_STORE_{hint}" for hint in ("NT", "RT_WB", "NT_WB")]
        out += ["global_load_b32 v1, v[2:3], off th:TH_LOAD_BYPASS scope:SCOPE_SYS"]
        for hint in ("NT", "NT_RETURN", "CASCADE_RT scope:SCOPE_DEV", "CASCADE_NT scope:SCOPE_SYS"):
            value = "v0, " * ("RETURN" in hint)
            out.append(f"global_atomic_add_u32 {value}v[2:3], v1, off th:TH_ATOMIC_{hint}")
    return out


_HARDWARE = (
    "HW_REG_WAVE_MODE", "HW_REG_WAVE_STATE_PRIV", "HW_REG_MODE", "HW_REG_STATUS", "HW_REG_TRAPSTS",
    "HW_REG_HW_ID", "HW_REG_HW_ID1", "HW_REG_HW_ID2", "HW_REG_GPR_ALLOC", "HW_REG_LDS_ALLOC",
    "HW_REG_IB_STS", "HW_REG_SH_MEM_BASES", "HW_REG_XCC_ID", "HW_REG_STATE_PRIV", "HW_REG_FLAT_SCR_LO",
    "HW_REG_SHADER_CYCLES", "HW_REG_EXCP_FLAG_USER",
)  # fmt: skip
_MESSAGES = (
    "MSG_INTERRUPT", "MSG_DEALLOC_VGPRS", "MSG_SAVEWAVE", "MSG_GET_DOORBELL", "MSG_HS_TESSFACTOR",
    "MSG_RTN_GET_DOORBELL", "MSG_RTN_GET_REALTIME", "MSG_RTN_SAVE_WAVE",
)  # fmt: skip
_COUNTERS = (
    "depctr_hold_cnt(0)", "depctr_sa_sdst(0)", "depctr_va_vdst(3)", "depctr_va_sdst(5)", "depctr_va_ssrc(0)",
    "depctr_va_vcc(0)", "depctr_vm_vsrc(2)",
)  # fmt: skip
