"""After how many cycles may a result be read? Stall counts are shortened until a GPU's answer changes.

    python tests/gpu/latencies.py make FOLDER     chains of dependent instructions, assembled; without a GPU
    python tests/gpu/latencies.py run FOLDER      on a GPU of sm_90, with libcuda alone: FOLDER/answers.json
    python tests/gpu/latencies.py show FOLDER     a row a producer, a kind of result and a reader (--write)

make looks for pairs of neighbours, the second of which reads what the first writes without a scoreboard.
run gives the first every smaller stall count, with one warp a block and no other on its scheduler, and
compares what 1,024 threads leave, ROUNDS times. The least count from which on all answers are right is the
time that the result takes. Where another instruction needed the pause it is longer, and where the old value
does as well it is 1: show tells how many pairs of one kind agree.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "sass"), str(ROOT / "tests" / "suite")]

import control_words as words  # noqa: E402
from instructions import HEAD, LANES, operand  # noqa: E402
from latency_chains import WARP, chains  # noqa: E402
from libcuda import Cuda  # noqa: E402

PTXAS = "12.9"
TARGET = "sm_90a"
ROUNDS = 4
PAIRS = 6  # of one kind that are kept
BATCH = 48  # chains of a cubin
SECONDS = 60  # of one process on the GPU: a chain that does not end


# Pairs


_REGISTER = r"U?R\d+|U?P\d"
_WIDE = re.compile(r"\.WIDE|\.64\b|^D(ADD|MUL|FMA|MNMX)|\.F64$|^F2F\.F64|^I2F\.F64|\.CARRY")


def parsed(text: str) -> tuple[str, str, list[str], list[str]]:
    """(guard, spelling, registers it writes, registers it reads), by the text of a listing."""
    match = re.match(r"(?:@(!?U?P\w+)\s+)?(\S+)\s*(.*)", text)
    guard, spelling, rest = match[1] or "", match[2], match[3]
    operands = [part.strip() for part in rest.split(",")]
    writes, k = [], 0
    while k < len(operands) and re.fullmatch(rf"({_REGISTER}|PT|UPT|RZ|URZ)", operands[k]) and k < 2:
        if k == 1 and not re.match(r"U?P", operands[k]):
            break
        writes.append(operands[k])
        k += 1
    reads = re.findall(rf"\b({_REGISTER})\b", " ".join(operands[k:]) + " " + guard)
    wide = [r for r in writes if _WIDE.search(spelling) and re.match(r"U?R\d", r)]
    writes += [re.sub(r"\d+", lambda m: str(int(m[0]) + 1), r) for r in wide]
    return guard, spelling, [r for r in writes if re.fullmatch(_REGISTER, r)], reads


def kind_of(register: str) -> str:
    return re.match(r"[A-Z]+", register)[0]


def pairs(listing: str, get) -> list[dict]:
    code, result = words.instructions(listing), []
    for (address, text), (_, later) in itertools.pairwise(code):
        _, producer, writes, _ = parsed(text)
        guard, consumer, _, reads = parsed(later)
        common = [r for r in writes if r in reads]
        stall = get(address, "stall")
        if not common or get(address, "write_barrier") != 7 or not 2 <= stall <= 15:
            continue
        way = "guard" if guard.lstrip("!") in common else consumer
        result.append({"address": address, "stall": stall, "producer": producer, "kind": kind_of(common[0]),
                       "half": int(common[0] != writes[0]), "consumer": way})  # fmt: skip
    return result


def assembled(batch: list[tuple]) -> list[tuple[bytes, str, list[tuple]]]:
    """(cubin, its listing, the chains k0, k1, ... in it); a batch that ptxas refuses is halved."""
    from triton_runner._base import tools
    from triton_runner._base.errors import DiagnosticError
    from triton_runner.verbs.assemble import assemblers

    text = HEAD + "".join(text.replace("NAME", f"k{i}", 1) for i, (_, text, _, _) in enumerate(batch))
    try:
        cubin = assemblers.assemble(text, assemblers.find(PTXAS), TARGET, 3)
    except DiagnosticError:
        half = len(batch) // 2
        return assembled(batch[:half]) + assembled(batch[half:]) if half else []
    return [(cubin, tools.listing(cubin), batch)]


def own_listing(listing: str, i: int) -> str:
    return listing[listing.index(f".text.k{i}:") :].partition("\n\t.section")[0]


def make(folder: Path, limit: int) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    everything, seen, kept = list(chains()), collections.Counter(), []
    parts = [p for i in range(0, len(everything), BATCH) for p in assembled(everything[i : i + BATCH])]
    for number, (cubin, listing, batch) in enumerate(parts):
        (folder / f"{number}.cubin").write_bytes(cubin)
        for i, (name, _, operands, outputs) in enumerate(batch):
            mine = []
            for pair in pairs(
                own_listing(listing, i), lambda a, f, cubin=cubin, i=i: words.word(cubin, f"k{i}", a, f)
            ):
                which = pair["producer"], pair["kind"], pair["half"], pair["consumer"]
                seen[which] += 1
                if seen[which] <= limit:
                    mine.append(pair)
            if mine:
                kept.append({"name": name, "cubin": number, "kernel": f"k{i}", "operands": operands,
                             "outputs": outputs, "pairs": mine})  # fmt: skip
    (folder / "chains.json").write_text(json.dumps(kept))
    print(f"{len(kept)} chains, {sum(len(chain['pairs']) for chain in kept)} pairs of {len(seen)} kinds")
    return 0


# On the GPU


class Chain(Cuda):
    """Launches a cubin with one warp a block."""

    def answer(self, cubin: bytes, kernel: str, data: np.ndarray, outputs: int) -> bytes:
        image, _ = self.load(cubin)
        out, numbers = np.zeros(outputs * LANES, np.uint64), (0x9E3779B9, 0x85EBCA6B, 0x27D4EB2F, 0x165667B1)
        self.launch(self.function(image, kernel), LANES // WARP, WARP, data, out, *numbers)
        self.call("cuModuleUnload", image)
        return out.tobytes()


def tried(folder: Path, number: int) -> list[dict] | None:
    """The pairs of a chain with `right`: {stall: rounds with the right answer}; None: it varies by itself."""
    chain = json.loads((folder / "chains.json").read_text())[number]
    cubin, kernel = (folder / f"{chain['cubin']}.cubin").read_bytes(), chain["kernel"]
    data = np.concatenate([operand(kind, i) for i, kind in enumerate(chain["operands"])])
    gpu = Chain()
    answers = {gpu.answer(cubin, kernel, data, chain["outputs"]) for _ in range(ROUNDS)}
    if len(answers) != 1:
        return None
    right = answers.pop()
    for pair in chain["pairs"]:
        pair["right"] = {}
        for stall in range(pair["stall"] - 1, 0, -1):
            broken = words.edited(cubin, kernel, pair["address"], "stall", stall)
            same = [gpu.answer(broken, kernel, data, chain["outputs"]) == right for _ in range(ROUNDS)]
            pair["right"][stall] = sum(same)
    return chain["pairs"]


def run(folder: Path, jobs: int) -> int:
    """Each chain in a process of its own: a wrong address ends the device's context."""
    chains_of = json.loads((folder / "chains.json").read_text())

    def one(number: int) -> list[dict] | str | None:
        command = [sys.executable, __file__, "one", str(folder), "--number", str(number)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "no end"
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()[-200:]

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        answers = list(pool.map(one, range(len(chains_of))))
    (folder / "answers.json").write_text(json.dumps(answers))
    print(f"{sum(isinstance(a, list) for a in answers)} of {len(answers)} chains answered")
    print(*{a for a in answers if isinstance(a, str)}, sep="\n")
    return 0


# These functions judge the answers.


def least_right(pair: dict) -> int:
    """The least stall from which on every answer was right."""
    least = pair["stall"]
    for stall in range(pair["stall"] - 1, 0, -1):
        if pair["right"][str(stall)] != ROUNDS:
            break
        least = stall
    return least


def pipes() -> dict[str, str]:
    """HOPPER's rows of timing.def: the pipe of an opcode, or of one with a suffix."""
    text = (ROOT / "src/sass/internal/timing.def").read_text()
    return dict(re.findall(r"^HOPPER\(([\w.]+), (\w+), \d+\)", text, re.MULTILINE))


def row_of(spelling: str, known: dict[str, str]) -> str:
    """The name of its row in timing.def; else its first word."""
    first, *suffixes = spelling.split(".")
    return next((f"{first}.{s}" for s in suffixes if f"{first}.{s}" in known), first)


def rows(folder: Path) -> list[list]:
    """[producer, kind of result, pipe of the reader (or its name, or guard), pairs, those with another answer
    when shortened, the least right count, pairs that agree with it, the least count of ptxas]"""
    found, known = collections.defaultdict(list), pipes()
    for answer in json.loads((folder / "answers.json").read_text()):
        for pair in answer if isinstance(answer, list) else []:
            reader = row_of(pair["consumer"], known)
            key = row_of(pair["producer"], known), pair["kind"], known.get(reader, reader)
            found[key].append((least_right(pair), pair["stall"]))
    table = []
    for key, values in sorted(found.items()):
        seen = collections.Counter(least for least, _ in values if least > 1)
        if seen:
            least, agree = seen.most_common(1)[0]
            ptxas = min(stall for _, stall in values)
            table.append([*key, len(values), seen.total(), least, agree, ptxas])
    return table


def show(folder: Path, write: bool) -> int:
    table = rows(folder)
    columns = ["written by", "result", "read by", "pairs", "seen", "cycles", "of these", "ptxas keeps"]
    for row in [columns, *table]:
        print("{:14} {:8} {:10} {:>6} {:>6} {:>7} {:>9} {:>12}".format(*row))
    if write:
        import results  # tests/suite: it writes pages

        known = {row[0] for row in table} & set(pipes())
        figures = (
            f"{len(known)} opcodes, {sum(r[4] for r in table):,} pairs: ALU and FMA 4 cycles within a pipe, "
        )
        figures += "5 to the other, 13 to a guard; f64 and halves of the tensor pipe 8; uniform ones 4"
        results.record(
            "sass", "latencies-on-gpu",
            "after how many cycles a result may be read: stall counts shortened until the answer changes",
            "python tests/gpu/latencies.py run FOLDER", {"result": figures},
            machine="an H200, driver 580.159.04, ptxas 12.9", table={"columns": columns, "rows": table},
        )  # fmt: skip
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["make", "run", "one", "show"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=12, help="processes at a time")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="pairs of one kind that are kept")
    parser.add_argument("--number", type=int)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.what == "one":
        print(json.dumps(tried(options.folder, options.number)))
        return 0
    return {
        "make": lambda: make(options.folder, options.pairs),
        "run": lambda: run(options.folder, options.jobs),
        "show": lambda: show(options.folder, options.write),
    }[options.what]()


if __name__ == "__main__":
    sys.exit(main())
