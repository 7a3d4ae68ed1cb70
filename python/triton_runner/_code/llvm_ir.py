"""Reads LLVM IR in text: the values of a function with their types; and rewrites it for the LLVM of an older
release.

LLVM reads what earlier versions printed, so only the way back needs work: attributes, flags and debug records
that came later go, constants are spelled as before, an intrinsic that the older LLVM lacks becomes the
instruction it stands for, and launch bounds move to the module's metadata. Each row of a table holds for the
releases before `until`, whose LLVM does not read it (asked of each release)."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Callable

from triton_runner._base.errors import fail

Release = tuple[int, int]


def _float_before(text: str, at: int) -> str:
    """The type of a constant: the nearest one to its left."""
    types = re.findall(r"\b(half|bfloat|float|double)\b", text[:at])
    return types[-1] if types else ""


def _hex(text: str, digits: str, at: int) -> str:
    """The bits of a constant as LLVM wrote them before: a float as the double of its value, the types of 16
    bits with a letter."""
    bits = int(digits, 16)
    if len(digits) == 4:
        return ("0xR" if _float_before(text, at) == "bfloat" else "0xH") + digits
    if len(digits) == 8:
        if bits & 0x7F800000 == 0x7F800000:  # infinities and NaNs keep their bits, which a conversion may not
            bits = (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
        else:
            value = struct.unpack("<f", struct.pack("<I", bits))[0]
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"0x{bits:016X}"


def _constant(match: re.Match) -> str:
    return _hex(match.string, match[1], match.start())


def _special(match: re.Match) -> str:
    """+inf, -qnan, +nan(0x1), +snan(0x1) of the type in front of it."""
    kind = _float_before(match.string, match.start())
    width, fraction = {"half": (16, 10), "bfloat": (16, 7), "float": (32, 23), "double": (64, 52)}[kind]
    payload = int(match[3], 16) if match[3] else 0
    if match[2] == "qnan" or match[2] == "nan":
        payload |= 1 << (fraction - 1)
    ones = (1 << (width - 1 - fraction)) - 1
    bits = (match[1] == "-") << (width - 1) | ones << fraction | payload
    return _hex(match.string, f"{bits:0{width // 4}X}", match.start())


# Within a line: until, what it is, pattern, replacement.
_SPELLINGS: tuple[tuple[Release, str, str, str | Callable[[re.Match], str]], ...] = (
    ((3, 8), "constants as f0x", r"\bf0x([0-9A-Fa-f]+)\b", _constant),
    ((3, 8), "inf and nan by name", r"(?<=[ (])([+-])(q?nan|inf|snan)\b(?:\(0x([0-9A-Fa-f]+)\))?", _special),
    ((3, 7), "nocreateundeforpoison", r" nocreateundeforpoison\b", ""),
    ((3, 5), "key instructions", r", (?:atomGroup|atomRank): \d+|, keyInstructions: true", ""),
    ((3, 3), "captures(none)", r"\bcaptures\(none\)", "nocapture"),
    ((3, 3), "captures", r" captures\([^()]*\)", ""),
    (
        (3, 3),
        "fast-math flags of casts",
        r"= (fptrunc|fpext)(?: (?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc))+ ",
        r"= \1 ",
    ),
    ((3, 2), "icmp samesign", r"\bicmp samesign ", "icmp "),
    (
        (3, 2),
        "flags of getelementptr",
        r"\bgetelementptr( inbounds)?(?: nusw)?(?: nuw)?(?<! inbounds)(?<!ptr) ",
        r"getelementptr\1 ",
    ),
    ((3, 2), "initializes", r" initializes\((?:\(\d+, \d+\)(?:, )?)+\)", ""),
)

# Intrinsics that became instructions, of llvm.nvvm: until, name, PTX, constraints of inline assembly.
_ASM: tuple[tuple[Release, str, str, str], ...] = (
    ((3, 7), "fence.proxy.async.shared_cta", "fence.proxy.async.shared::cta;", ""),
    ((3, 7), "ex2.approx.ftz.f32", "ex2.approx.ftz.f32 $0, $1;", "=f,f"),
    ((3, 7), "ex2.approx.f32", "ex2.approx.f32 $0, $1;", "=f,f"),
    *(
        ((3, 5), f"stmatrix.sync.aligned.m8n8.x{n}{trans}.b16.p3", text, ",".join("r" * (n + 1)))
        for n in (1, 2, 4)
        for trans in ("", ".trans")
        for text in [
            f"stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [$0], "
            f"{{{', '.join(f'${i + 1}' for i in range(n))}}};"
        ]
    ),
    ((3, 4), "barrier.cta.sync.aligned.all", "bar.sync $0;", "r"),
    ((3, 4), "barrier.cta.sync.aligned.count", "bar.sync $0, $1;", "r,r"),
    ((3, 4), "barrier.cta.sync.all", "barrier.sync $0;", "r"),
    ((3, 4), "barrier.cta.sync.count", "barrier.sync $0, $1;", "r,r"),
    ((3, 4), "barrier.cta.arrive.aligned.count", "bar.arrive $0, $1;", "r,r"),
    ((3, 4), "barrier.cta.arrive.count", "barrier.arrive $0, $1;", "r,r"),
    ((3, 3), "wgmma.fence.sync.aligned", "wgmma.fence.sync.aligned;", ""),
    ((3, 3), "wgmma.commit_group.sync.aligned", "wgmma.commit_group.sync.aligned;", ""),
    ((3, 3), "wgmma.wait_group.sync.aligned", "wgmma.wait_group.sync.aligned $0;", "n"),
    ((3, 3), "div.full", "div.full.f32 $0, $1, $2;", "=f,f,f"),
    ((3, 3), "div.full.ftz", "div.full.ftz.f32 $0, $1, $2;", "=f,f,f"),
    ((3, 2), "elect.sync", "elect.sync $0|$1, $2;", "=r,=b,r"),
)

# Launch bounds in a function's attributes: until, attribute, a name in !nvvm.annotations for each dimension.
_BOUNDS: tuple[tuple[Release, str, tuple[str, ...]], ...] = (
    ((3, 4), "nvvm.reqntid", ("reqntidx", "reqntidy", "reqntidz")),
    ((3, 4), "nvvm.maxntid", ("maxntidx", "maxntidy", "maxntidz")),
    ((3, 4), "nvvm.cluster_dim", ("cluster_dim_x", "cluster_dim_y", "cluster_dim_z")),
    ((3, 3), "nvvm.minctasm", ("minctasm",)),
    ((3, 3), "nvvm.maxnreg", ("maxnreg",)),
)
_GRID_CONSTANT_UNTIL = (3, 5)
_GRID_CONSTANT_SINCE = (3, 2)

_KERNEL = re.compile(r"^define (?:[a-z_]+ )*ptx_kernel .*?@([\w.$-]+)\((.*)\)([^()]*)\{$", re.M)


def _annotations(text: str, release: Release) -> tuple[list[str], list[str]]:
    """Returns what metadata must say of each kernel, as LLVM text after `ptr @kernel, `, and what it was."""
    rows, changes = [], []
    for kernel in _KERNEL.finditer(text):
        name, parameters, behind = kernel.groups()
        group = re.search(r"#\d+", behind)
        constant = [
            i + 1
            for i, parameter in enumerate(re.split(r",(?![^()]*\))", parameters))
            if '"nvvm.grid_constant"' in parameter
        ]
        if constant and release < _GRID_CONSTANT_UNTIL:
            rows.append(f'{{ptr @{name}, !"grid_constant", !{{{", ".join(f"i32 {i}" for i in constant)}}}}}')
            changes.append("nvvm.grid_constant: metadata")
        attributes = re.search(rf"^attributes {group[0]} = {{(.*)}}$", text, re.M) if group else None
        for until, attribute, keys in _BOUNDS:
            bound = attributes and re.search(rf'"{re.escape(attribute)}"="([\d,]+)"', attributes[1])
            if not bound or release >= until:
                continue
            for key, value in zip(keys, bound[1].split(","), strict=False):
                rows.append(f'{{ptr @{name}, !"{key}", i32 {value}}}')
            changes.append(f"{attribute}: metadata")
    return rows, changes


def translate(text: str, release: Release) -> tuple[str, list[str]]:
    """The text as the LLVM of release `(major, minor)` reads it, and what was changed: "this: that". Raises
    DiagnosticError: what that LLVM has no word for."""
    if release < _GRID_CONSTANT_SINCE and "grid_constant" in text:
        raise fail(
            f"the LLVM of Triton {release[0]}.{release[1]} has no kernel parameters that are grid constants, "
            "in which tensor maps are passed",
            "enter at ptx, or take a release from 3.2 on",
        )
    changes: list[str] = []
    for until, what, pattern, replacement in _SPELLINGS:
        if release >= until:
            continue
        lines, total = [], 0
        for line in text.split("\n"):  # a line: constants look for their type to the left
            line, count = re.subn(pattern, replacement, line)
            total += count
            lines.append(line)
        if total:
            shown = replacement if isinstance(replacement, str) and "\\" not in replacement else "as before"
            text = "\n".join(lines)
            changes.append(f"{what}: {shown.strip() or 'removed'}")
    for until, name, ptx, constraints in _ASM:
        if release >= until or f"@llvm.nvvm.{name}(" not in text:
            continue
        intrinsic = f"@llvm.nvvm.{name}("
        asm = f'asm sideeffect "{ptx}", "{constraints + "," if constraints else ""}~{{memory}}"('
        # The line of a declaration stays: LLVM's errors count lines.
        lines = ["" if x.startswith("declare ") and intrinsic in x else x for x in text.split("\n")]
        text = "\n".join(x.replace(intrinsic, asm) for x in lines)
        changes.append(f"llvm.nvvm.{name}: inline assembly")
    rows, bound_changes = _annotations(text, release)
    if rows:
        first = max((int(n) for n in re.findall(r"^!(\d+) = ", text, re.M)), default=-1) + 1
        numbers = ", ".join(f"!{first + i}" for i in range(len(rows)))
        there = re.search(r"^!nvvm\.annotations = !\{(.*)\}\n", text, re.M)
        if there:
            text = text[: there.start()] + text[there.end() :]
            numbers = f"{there[1]}, {numbers}"
        text = text.rstrip("\n") + f"\n!nvvm.annotations = !{{{numbers}}}\n"
        text += "".join(f"!{first + i} = !{row}\n" for i, row in enumerate(rows))
        changes += bound_changes
    return text, changes


_TYPE = r"(?:<[^>]*>|\{[^}]*\}|\[[^\]]*\]|ptr addrspace\(\d+\)|ptr|i\d+|half|bfloat|float|double)"
# How the type of an instruction's result is written, by its opcode; of any other: flags, then the type.
_RESULTS = {
    **dict.fromkeys(
        ("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp", "ptrtoint",
         "inttoptr", "bitcast", "addrspacecast"), rf".* to ({_TYPE})(?:,|$)",
    ),
    **dict.fromkeys(("select", "atomicrmw"), rf"[^,]*, ({_TYPE}) "),
    "call": rf"\w+\b[a-z_() 0-9]*? ({_TYPE}) (?:@|asm|\()",
    "extractelement": rf"extractelement <\d+ x ({_TYPE})> ",
}  # fmt: skip
_TYPED = """add sub mul fadd fsub fmul udiv sdiv fdiv urem srem frem shl lshr ashr and or xor fneg freeze
    phi load insertelement shufflevector"""
_RESULTS |= dict.fromkeys(_TYPED.split(), rf"\w+\b[a-z ]*? ({_TYPE})[ ,]")


@dataclasses.dataclass(frozen=True)
class Value:
    """The definition of a value in a function: the line in the text (from 0), and the instruction."""

    line: int
    op: str
    text: str  # after the equals sign

    @property
    def type(self) -> str | None:
        """LLVM's type of it, by how the instruction is written (LLVM Language Reference, "Instruction
        Reference"); None where that does not tell."""
        if self.op in ("icmp", "fcmp"):
            return "i1"
        if self.op in ("getelementptr", "alloca"):
            return "ptr"
        if self.op == "extractvalue":
            parts = re.match(r"extractvalue \{([^{}]*)\} \S+, (\d+)(?:, !|$)", self.text)
            inner = [part.strip() for part in parts[1].split(",")] if parts else []
            return inner[int(parts[2])] if parts and int(parts[2]) < len(inner) else None
        match = re.match(_RESULTS[self.op], self.text) if self.op in _RESULTS else None
        return match and match[1]

    @property
    def debug(self) -> str:
        """The number of its debug location; "" where it has none."""
        return self.text.rpartition(", !dbg !")[2].split(",")[0] if ", !dbg !" in self.text else ""


def values(text: str, kernel: str) -> dict[str, Value]:
    """The values of a kernel's function by name."""
    result, inside = {}, False
    for i, line in enumerate(text.split("\n")):
        if line.startswith("define "):
            inside = f"@{kernel}(" in line or f'@"{kernel}"(' in line
        elif line.startswith("}"):
            inside = False
        elif inside and line.startswith("  %") and " = " in line:
            name, _, instruction = line.strip().partition(" = ")
            words = instruction.split()
            op = words[1] if words[0] in ("tail", "musttail", "notail") else words[0]
            result[name] = Value(i, op, instruction)
    return result


def places(text: str) -> tuple[str, dict]:
    """The source file, and (line, column) of each debug location by its number."""
    file = re.search(r'!DIFile\(filename: "([^"]*)"', text)
    locations = re.findall(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+), column: (\d+)", text)
    return file[1] if file else "", {number: (int(line), int(column)) for number, line, column in locations}
