"""Which instructions of SASS kernels need: opcodes and spellings by assembler and target, over PTX at hand.

    python tests/sass/census.py [--target sm_90 ...] [--ptxas 13.4 ...] [--more FOLDER ...] [--write]

Every PTX file of examples/, tests/ and of the folders named with --more (Triton's cache of a run of
tests/libraries, a corpus) is assembled by each assembler of this machine for each target that its `.target`
allows, and the instructions are counted. Prints the opcodes that most kernels need, and the gaps of
src/sass/internal/opcodes.def; --write keeps the counts in results/sass.json.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "corpus"), str(ROOT / "tests" / "suite")]

import corpus  # noqa: E402
from triton_runner._base import tools  # noqa: E402
from triton_runner._base.errors import DiagnosticError  # noqa: E402
from triton_runner.verbs.assemble import assemblers  # noqa: E402

import results  # noqa: E402

TABLE = ROOT / "src" / "sass" / "internal" / "opcodes.def"
TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
AT_HAND = ("examples", "build/corpus", "tests/cases/ptx", "tests/cases/sass", "tests/cases/insert")
_LINE = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)(.*?);", re.MULTILINE)
_ROW = re.compile(r'^\s*OP\(\s*(\w+),\s*((?:"[^"]*"\s*)+)', re.MULTILINE)
_WORD = 16  # bytes of an instruction


def number(target: str) -> int:
    return int(re.search(r"\d+", target)[0])


def files(more: list) -> dict[str, str]:
    """The PTX texts of the tree and of more folders, each once, by the hash of the text."""
    texts = {}
    for folder in [*(ROOT / name for name in AT_HAND), *map(pathlib.Path, more)]:
        for path in sorted(folder.rglob("*.ptx")):
            text = path.read_text(errors="replace").partition("\n// ---- expected\n")[0]
            if not path.name.startswith("bad-") and ".entry" in text:
                texts.setdefault(hashlib.sha256(text.encode()).hexdigest()[:16], text)
    return texts


def goes_to(text: str, target: str) -> str:
    """The target to assemble a text for ("sm_90a"); "" where its own does not allow that."""
    own = assemblers.target_of(text)
    if not own or "debug" in own:
        return ""
    if own[-1].isalpha():
        return own if number(own) == number(target) else ""
    return target + "a" * (number(target) >= 90) if number(own) <= number(target) else ""


def code(cubin: bytes) -> list[bytes]:
    """The bytes of each section of code of a cubin."""
    (offset,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", cubin, offset + size * i) for i in range(count)]
    strings = rows[names][4]
    out = []
    for name, _, _, _, place, length in rows:
        at = strings + name
        if cubin[at : cubin.index(b"\0", at)].startswith(b".text."):
            out.append(cubin[place : place + length])
    return out


def instructions(pieces: list[bytes], target: str) -> list[list[tuple[str, str]]]:
    """(spelling, operands) of the instructions of each piece of code; nvdisasm takes them all at once."""
    program = tools.toolkit("nvdisasm")
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(b"".join(pieces))
        file.flush()
        asked = [program, "-ndf", "-b", target.upper().replace("_", ""), file.name]
        text = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    ends, total = [], 0
    for piece in pieces:
        total += len(piece)
        ends.append(total)
    out, which = [[] for _ in pieces], 0
    for address, spelling, operands in _LINE.findall(text):
        while int(address, 16) >= ends[which]:
            which += 1
        out[which].append((spelling, operands.strip()))
    return out


def form(operands: str) -> str:
    """The kinds of the operands: "R2.reuse, -R3.H0, c[0x0][R4]" gives "R, -R.H0, c[][R]"."""
    text = re.sub(r"\.reuse\b|\(\.L_x_\d+\)|`\([^)]*\)", "", operands)
    text = re.sub(r"\b(U?[RP]|B|SB)\d+\b", r"\1", text)
    text = re.sub(r"-?\b0x[0-9a-f]+\b|[-+]?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?\b", "N", text)
    return re.sub(r"\s+", " ", text)


class Count:
    """The counts of one assembler and one target: kernels and instructions by opcode, spelling and form."""

    def __init__(self):
        self.kernels = self.total = self.refused = 0
        self.needs: list[frozenset] = []  # the spellings of each kernel
        self.by = {
            what: collections.defaultdict(lambda: [0, 0]) for what in ("opcodes", "spellings", "forms")
        }

    def add(self, kernel: list) -> None:
        self.kernels += 1
        self.total += len(kernel)
        self.needs.append(frozenset(spelling for spelling, _ in kernel))
        for what, names in (
            ("opcodes", [spelling.split(".")[0] for spelling, _ in kernel]),
            ("spellings", [spelling for spelling, _ in kernel]),
            ("forms", [f"{spelling} {form(operands)}" for spelling, operands in kernel]),
        ):
            for name, n in collections.Counter(names).items():
                row = self.by[what][name]
                row[0] += 1
                row[1] += n

    def as_dict(self) -> dict:
        tables = {what: dict(sorted(self.by[what].items())) for what in ("opcodes", "spellings")}
        return {"kernels": self.kernels, "instructions": self.total, "refused": self.refused, **tables}


def count(texts: dict, assembler, target: str, jobs: int, kept: pathlib.Path) -> Count:
    """Assembles what goes to the target, and counts."""

    def made(item):
        key, text = item
        place = kept / f"{key}-{assembler.version}-{goes_to(text, target)}.cubin"
        if not place.exists():
            try:
                cubin = assemblers.assemble(text, assembler, goes_to(text, target))
            except DiagnosticError:
                cubin = b""
            place.write_bytes(cubin)
        return place.read_bytes()

    chosen = [item for item in texts.items() if goes_to(item[1], target)]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        cubins = list(pool.map(made, chosen))
    result, pieces = Count(), [piece for cubin in cubins if cubin for piece in code(cubin)]
    result.refused = sum(not cubin for cubin in cubins)
    for kernel in instructions(pieces, target) if pieces else []:
        result.add(kernel)
    return result


class Table:
    """The rows of opcodes.def: the modifiers that each knows. A row counts where its opcode is the
    spelling's and all of its suffixes (IMAD_WIDE: .WIDE) are there; of several the one with most suffixes."""

    def __init__(self):
        self.rows: dict[str, list] = collections.defaultdict(list)
        for name, modifiers in _ROW.findall(TABLE.read_text()) if TABLE.exists() else ():
            words = {word.lstrip("*") for word in re.sub(r'["\s]+', " ", modifiers).split()}
            self.rows[name.split("_")[0]].append((frozenset(name.split("_")[1:]), words))

    def gap(self, spelling: str) -> str:
        """Returns what the table lacks of a spelling: "" (nothing), an opcode, or an opcode and a
        modifier."""
        opcode, *modifiers = spelling.split(".")
        base, *more = opcode.split("_")
        given = {*more, *modifiers}
        rows = [row for row in self.rows[base] if row[0] <= given]
        if not rows:
            return opcode
        suffixes, known = max(rows, key=lambda row: len(row[0]))
        if "64xNxK" in known:
            given = {word for word in given if not word.startswith("64x")}
        unknown = sorted(given - suffixes - known)
        return f"{opcode}.{unknown[0]}" if unknown else ""


def show(counts: dict, table: Table) -> None:
    """Counts by assembler and target, the table's gaps, then all opcodes."""
    opcodes, spellings = collections.Counter(), collections.defaultdict(collections.Counter)
    where, gaps, last = collections.defaultdict(set), collections.Counter(), collections.Counter()
    whole = total = 0
    for (version, target), one in counts.items():
        print(
            f"ptxas {version:<9} {target:<7} {one.kernels:5} kernels {one.total:9,} instructions "
            f"{len(one.by['opcodes']):4} opcodes {len(one.by['spellings']):5} spellings "
            f"{len(one.by['forms']):5} forms {one.refused:4} refused"
        )
        for name, (kernels, _) in one.by["opcodes"].items():
            opcodes[name] += kernels
            where[name].add(target.removeprefix("sm_"))
        for name, (kernels, _) in one.by["spellings"].items():
            spellings[name.split(".")[0]][name] += kernels
        for needs in one.needs:
            missing = {gap for spelling in needs if (gap := table.gap(spelling))}
            gaps.update(missing)
            last.update(missing if len(missing) == 1 else ())
            whole, total = whole + (not missing), total + 1
    print(f"\n{whole} of {total} kernels have all their opcodes and modifiers in {TABLE.relative_to(ROOT)}")
    print("gaps: kernels that need it, kernels that lack nothing else")
    for name, kernels in gaps.most_common():
        print(f"{kernels:7} {last[name]:6} {name}")
    print(f"\n{len(opcodes)} opcodes: kernels, targets, spellings with their kernels")
    for name, kernels in opcodes.most_common():
        named = ", ".join(f"{text} {n}" for text, n in spellings[name].most_common(24))
        print(f"{kernels:7} {name} [{','.join(sorted(where[name], key=int))}]: {named}")


def keep(version: str, target: str, said: dict, command: str) -> None:
    """Keeps the counts of an assembler and a target."""
    tables = {name: said.pop(name) for name in ("opcodes", "spellings")}
    figures = {**said, **{name: len(table) for name, table in tables.items()}}
    results.record("sass", f"{version} {target}", f"ptxas {version}, {target}", command, figures, data=tables)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", action="append", choices=TARGETS)
    parser.add_argument("--ptxas", action="append", help="versions (default: all of this machine)")
    parser.add_argument("--more", action="append", default=[], help="a folder with more PTX")
    parser.add_argument("--bin", action="append", default=[], help="a folder with more assemblers")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--forms", action="store_true", help="print the forms of operands too")
    parser.add_argument("--write", action="store_true", help="keep the counts in results/sass.json")
    options = parser.parse_args()
    known_ones = assemblers.assemblers(tuple((place, place) for place in options.bin))
    chosen = [
        one
        for one in known_ones
        if not options.ptxas or any(one.version.startswith(text) for text in options.ptxas)
    ]
    kept = ROOT / "build" / "sass-census"
    kept.mkdir(parents=True, exist_ok=True)
    for version in corpus.releases():
        corpus.folder(version)
    texts, counts = files(options.more), {}
    print(f"{len(texts)} PTX files; assemblers: {', '.join(one.version for one in chosen)}", flush=True)
    for target in options.target or TARGETS:
        for assembler in chosen:
            one = count(texts, assembler, target, options.jobs, kept)
            if one.kernels:
                counts[assembler.version, target] = one
    show(counts, Table())
    if options.forms:
        forms = collections.Counter()
        for one in counts.values():
            forms.update({name: kernels for name, (kernels, _) in one.by["forms"].items()})
        print("\nforms of operands")
        for name, kernels in sorted(forms.items()):
            print(f"{kernels:7} {name}")
    if options.write:
        words = "".join(f" --more {pathlib.Path(folder).name}" for folder in options.more)
        for (version, target), one in counts.items():
            keep(version, target, one.as_dict(), f"python tests/sass/census.py{words} --write")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
