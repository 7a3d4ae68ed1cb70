"""check="hazard" on trial: control words that ptxas wrote, which are right, and those that are broken here.

    python tests/sass/control_words.py clean [--ptxas 12.9 13.4] [--opt 0 3] [--target sm_80 sm_90]
    python tests/sass/control_words.py plant [--write]

clean: every PTX text of the tree, assembled; counts kernels, instructions and hazards, of which there
should be none. plant: breaks words of the cubins of SOURCES by rules that look at the listing's text alone,
prints how many of them are reported, and with --write keeps PER_KIND of each kind in hazards.json, which
tests/python/ptx/test_hazards.py checks.
"""

import argparse
import collections
import functools
import json
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANTED = pathlib.Path(__file__).with_name("hazards.json")
PER_KIND = 9
PTXAS = "12.9"
CASES = "tests/cases/ptx"
SOURCES = (
    ("carry", "sm_90a"), ("cp-async", "sm_90a"), ("memory-wide-registers", "sm_90a"), ("contract", "sm_90a"),
    ("call", "sm_90a"), ("atom-global-b32", "sm_90a"), ("memory-shared-wide", "sm_90a"), ("spaces", "sm_90a"),
    ("set-half", "sm_90a"), ("stmatrix-trans", "sm_90a"), ("load-into-the-address", "sm_90a"),
    ("cp-async-groups", "sm_90a"), ("bar-red", "sm_90a"), ("atom-float", "sm_90a"), ("barrier-exchange",
    "sm_90a"), ("diverge-loop", "sm_90a"),
    ("mbarrier-state", "sm_90a"), ("diverge-loop", "sm_80"), ("carry", "sm_80"), ("atom-global-b32", "sm_80"),
)  # fmt: skip
FIELDS = {
    "stall": (0, 4),
    "yield": (4, 1),
    "write_barrier": (5, 3),
    "read_barrier": (8, 3),
    "wait_mask": (11, 6),
    "reuse": (17, 4),
}
_FIRST = 41  # of the control word, in the upper 64 bits of an instruction
_TIMED = ("FADD", "FFMA", "FMUL", "IADD3", "LOP3", "MOV", "SEL", "SHF", "VIADD", "LEA", "PRMT")
_LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x", re.MULTILINE)


def sections(cubin: bytes) -> dict[str, tuple[int, int]]:
    """(offset, length) of the code of each kernel in a cubin."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", cubin, table + size * i) for i in range(count)]
    result = {}
    for name, _, _, _, place, length in rows:
        at = rows[names][4] + name
        text = cubin[at : cubin.index(b"\0", at)].decode()
        if text.startswith(".text."):
            result[text.removeprefix(".text.")] = (place, length)
    return result


def word(cubin: bytes, kernel: str, address: int, field: str) -> int:
    """A field of the control word of the instruction at an address."""
    (upper,) = struct.unpack_from("<Q", cubin, sections(cubin)[kernel][0] + address + 8)
    at, bits = FIELDS[field]
    return upper >> (_FIRST + at) & (1 << bits) - 1


def edited(cubin: bytes, kernel: str, address: int, field: str, value: int) -> bytes:
    """The cubin with another value in a field of a control word."""
    place = sections(cubin)[kernel][0] + address + 8
    (upper,) = struct.unpack_from("<Q", cubin, place)
    at, bits = FIELDS[field]
    mask = (1 << bits) - 1 << (_FIRST + at)
    upper = upper & ~mask | value << (_FIRST + at)
    return cubin[:place] + struct.pack("<Q", upper) + cubin[place + 8 :]


def relisted(listing: str, kernel: str, address: int, field: str, value: int) -> str:
    """The listing of what `edited` makes, without nvdisasm."""
    start = listing.index(f"/*{address:04x}*/", listing.index(f".text.{kernel}:"))
    first = listing.index("/* 0x", start) + 5
    at = listing.index("/* 0x", first) + 5
    upper = int(listing[at : at + 16], 16)
    shift, bits = FIELDS[field]
    mask = (1 << bits) - 1 << (_FIRST + shift)
    return f"{listing[:at]}{upper & ~mask | value << (_FIRST + shift):016x}{listing[at + 16 :]}"


def source(name: str) -> str:
    return (ROOT / CASES / f"{name}.ptx").read_text().partition("\n// ---- expected\n")[0]


def assembled(name: str, ptxas: str, target: str) -> bytes:
    from triton_runner.verbs.assemble import assemblers

    return assemblers.assemble(source(name), assemblers.find(ptxas), target, 3)


# --- planting: by the text of the listing alone


def instructions(listing: str) -> list[tuple[int, str]]:
    return [(int(m[1], 16), m[2]) for m in _LINE.finditer(listing)]


def registers(text: str) -> tuple[str, list[str]]:
    """The first operand, if it is a register, and the registers that the others name."""
    operands = re.sub(r"^(@!?U?P\w+\s+)?\S+\s*", "", text).split(", ")
    first = re.fullmatch(r"R\d+", operands[0])
    return first[0] if first else "", re.findall(r"\bR\d+\b", " ".join(operands[1:] if first else operands))


def first_source(text: str) -> str:
    """The register that is the second operand, which the operand cache has in its first slot."""
    operands = re.sub(r"^(@!?U?P\w+\s+)?\S+\s*", "", text).split(", ")
    match = re.fullmatch(r"[-~|]*(R\d+)\|?(?:\.reuse)?", operands[1]) if len(operands) > 2 else None
    return match[1] if match else ""


def candidates(code: list[tuple[int, str]], get) -> list[dict]:
    """Words to break: {"kind", "address", "field", "value", "at": where that shows}. get(address, field)."""
    found = []
    for i, (address, text) in enumerate(code):
        name = re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")
        target, sources = registers(text)
        after = code[i + 1 : i + 40]
        stop = next(
            (k for k, (_, t) in enumerate(after) if re.search(r"\b(BRA|EXIT|RET|CALL|BSYNC)\b", t)),
            len(after),
        )
        after = after[:stop]
        write, read = get(address, "write_barrier"), get(address, "read_barrier")
        user = next((a for a, t in after if target and target in registers(t)[1]), None)
        if write < 6 and user is not None and get(user, "wait_mask") >> write & 1:
            mask = get(user, "wait_mask") & ~(1 << write)
            found.append(
                {"kind": "wait cleared", "address": user, "field": "wait_mask", "value": mask, "at": user}
            )
            found.append(
                {
                    "kind": "scoreboard dropped",
                    "address": address,
                    "field": "write_barrier",
                    "value": 7,
                    "at": user,
                }
            )
            waits = [get(a, "wait_mask") for a, _ in after if a <= user]
            for other in [k for k in range(6) if not any(mask >> k & 1 for mask in waits)][:1]:
                found.append(
                    {
                        "kind": "another scoreboard",
                        "address": address,
                        "field": "write_barrier",
                        "value": other,
                        "at": user,
                    }
                )
        if read < 6:
            for later, t in after:
                if get(later, "wait_mask") >> read & 1:
                    if registers(t)[0] in sources and not t.startswith("LD"):
                        mask = get(later, "wait_mask") & ~(1 << read)
                        found.append(
                            {
                                "kind": "read not waited for",
                                "address": later,
                                "field": "wait_mask",
                                "value": mask,
                                "at": later,
                            }
                        )
                    break
        if not after or not target:
            continue
        next_address, next_text = after[0]
        if name[0] in _TIMED and target in registers(next_text)[1] and 4 <= get(address, "stall") < 12:
            found.append(
                {
                    "kind": "stall shortened",
                    "address": address,
                    "field": "stall",
                    "value": 1 + i % 3,
                    "at": next_address,
                }
            )
        if name[0] in _TIMED and first_source(text) == target and not get(address, "reuse") & 1:
            later = next(((a, first_source(t)) for a, t in after if first_source(t)), (0, ""))
            if later[1] == target:
                value = get(address, "reuse") | 1
                found.append(
                    {
                        "kind": "reuse of a changed register",
                        "address": address,
                        "field": "reuse",
                        "value": value,
                        "at": later[0],
                    }
                )
    return found


def plant(keep: bool) -> int:
    from triton_runner._base import tools
    from triton_runner.verbs.assemble import hazards

    kept, seen, reported = [], collections.Counter(), collections.Counter()
    for name, target in SOURCES:
        cubin = assembled(name, PTXAS, target)
        for kernel in sections(cubin):
            listing = tools.listing(cubin)
            code = instructions(listing[listing.index(f".text.{kernel}:") :])
            for one in candidates(code, functools.partial(word, cubin, kernel)):
                kind = one.pop("kind")
                seen[kind] += 1
                broken = relisted(listing, kernel, one["address"], one["field"], one["value"])
                found = [h for k in hazards.of_listing(broken) if k.kernel == kernel for h in k.hazards]
                row = next((h for h in found if h.at.address == one["at"]), None)
                if row is None:
                    print(f"not reported: {name} {kernel} {kind} {one} {dict(code)[one['address']]}")
                    continue
                reported[kind] += 1
                if (
                    sum(r["kind"] == kind for r in kept) < PER_KIND
                    and sum(r["kind"] == kind and r["ptx"] == name for r in kept) < 3
                ):
                    kept.append({"ptx": name, "ptxas": PTXAS, "target": target, "kernel": kernel,
                        "kind": kind,
                                 "text": dict(code)[one["address"]], **one,
                                 "register": row.register})  # fmt: skip
    for kind in seen:
        print(f"{kind}: {reported[kind]} of {seen[kind]} reported")
    if keep:
        PLANTED.write_text("[\n" + ",\n".join(json.dumps(row) for row in kept) + "\n]\n")
    print(f"{len(kept)} kept")
    return int(reported != seen)


def clean(options) -> int:
    sys.path[:0] = [str(ROOT / "tests" / "corpus"), str(ROOT / "tests" / "suite")]
    import census
    from triton_runner._base import tools
    from triton_runner._base.errors import DiagnosticError
    from triton_runner.verbs.assemble import assemblers, hazards

    texts, wrong = census.files(options.more), 0
    for assembler in [assemblers.find(text) for text in options.ptxas]:
        for opt in options.opt:
            for asked in options.target:
                kernels = instructions = unjudged = found = 0
                for text in texts.values():
                    target = census.goes_to(text, asked)
                    try:
                        cubin = assemblers.assemble(text, assembler, target, opt) if target else b""
                        listing = tools.listing(cubin) if target else ""
                    except DiagnosticError:
                        continue
                    for one in hazards.of_listing(listing) if listing else []:
                        kernels += 1
                        instructions += one.instructions
                        unjudged += one.unjudged
                        found += len(one.hazards)
                        for hazard in one.hazards:
                            print(one.kernel, *hazards.lines(hazard), sep="\n  ")
                counts = f"{kernels} kernels, {instructions} instructions, {unjudged} of them not judged"
                print(f"ptxas {assembler.version} -O{opt} {asked}: {counts}, {found} hazards", flush=True)
                wrong += found
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("clean")
    one.add_argument("--ptxas", nargs="*", default=["12.9", "13.4"])
    one.add_argument("--opt", nargs="*", type=int, default=[0, 3])
    one.add_argument("--target", nargs="*", default=["sm_80", "sm_89", "sm_90"])
    one.add_argument("--more", nargs="*", default=[])
    verbs.add_parser("plant").add_argument("--write", action="store_true")
    options = parser.parse_args()
    return clean(options) if options.verb == "clean" else plant(options.write)


if __name__ == "__main__":
    sys.exit(main())
