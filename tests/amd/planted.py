"""Faults planted one at a time in AMD's machine code: does something report them, with the line?

    python tests/amd/planted.py [--targets hip:gfx942,hip:gfx1201] [--only lanes] [--programs softmax]
                                [--most 9] [--seed 1] [--right 6] [--json FILE] [--write] [--sum FILE ...]

The faults are waits and barriers that are left out, stores to and loads from LDS that moved, lanes that are
swapped, and EXEC that is wrong. Each is made after LLVM's code generation, so that every compilation of the
kernel has it, and the launch goes through what a user would ask: the checks (hazard, race, oob, uninit),
then lockstep beside TTGIR. A change that is not reported and makes no difference is not counted: of a
wait, nothing in the text depends on it (waits.py); of a barrier, the launch leaves the same in each of
ORDERS orders of its wavefronts; of all others, it leaves the same. --most N: at most so many of a kind in a
program, evenly from its first to its last place, or with --seed as drawn. --right N: N rounds of the
launches of small_kernels.py a target and those of the kernels here, none of which may be reported. --json
keeps the counts in a file, --sum adds such files up; --write keeps the counts in results/amd.json.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import re
import sys

os.environ |= {"TRITON_RUNNER_PROD": "1", "TRITON_ALWAYS_COMPILE": "1"}
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python" / "helpers"), str(HERE.parent)]
import kernels_for_amdgcn as k  # noqa: E402
import torch  # noqa: E402
import triton_runner  # noqa: E402
from amd.small_kernels import launches  # noqa: E402
from amd.waits import is_idle  # noqa: E402
from suite import results  # noqa: E402
from triton.backends.amd.compiler import HIPBackend  # noqa: E402
from triton_runner import KernelTrap  # noqa: E402

CHECKS = "hazard,race,oob,uninit"
ORDERS = 24


def _moved(line: str) -> str | None:
    """A line of LDS, 16 bytes further on."""
    head = line.split(";")[0].rstrip()
    if " offset0" in head or " offset1" in head:
        return None
    by = int(re.search(r" offset:(\d+)|$", head)[1] or 0)
    return f"{re.sub(r' offset:.*', '', head)} offset:{by + 16}"


# For each kind: what a line starts with, and the line in its place (None: as it was).
_LANES = [
    (r"row_shr:(\d+)", r"row_shl:\1"), (r"row_ror:(\d+)", "row_ror:1"), (r"row_bcast:15", "row_bcast:31"),
    (r"row_share:(\d+)", r"row_xmask:1"), (r"row_xmask:(\d+)", "row_share:0"),
    (r"quad_perm:\[[\d,]+\]", "quad_perm:[0,0,2,2]"), (r"(v_readlane_b32 .*), 63$", r"\1, 31"),
    (r"(v_readlane_b32 .*), 31$", r"\1, 15"), (r"swizzle\(SWAP,(\d+)\)", "swizzle(SWAP,1)"),
    (r"(v_permlanex?16_b32 .*), -1, -1", r"\1, 0, 0"), (r"v_permlane32_swap", "v_permlane16_swap"),
]  # fmt: skip
KINDS = {
    "waits": (r"s_wait", lambda line: "\ts_nop 0"),
    "barriers": (r"s_barrier(?:_wait.*)?$", lambda line: "\ts_nop 0"),
    "LDS stores": (r"ds_(?:write|store)_b", _moved),
    "LDS loads": (r"ds_(?:read|load)_[bu]", _moved),
    "lanes": (
        r"(?:v|ds)_",
        lambda line: next((re.sub(a, b, line, count=1) for a, b in _LANES if re.search(a, line)), None),
    ),
    "EXEC": (
        r"s_(?:and|mov|or|xor|and_not1)_\w+(?: exec|_b)|s_and_saveexec|s_(?:or|and|xor)_b(?:32|64) exec",
        lambda line: (
            line.replace("s_and_saveexec", "s_or_saveexec")
            if "s_and_saveexec" in line
            else re.sub(r"s_or_b(32|64) (exec\w*), exec\w*, (.*)", r"s_and_b\1 \2, \2, \3", line)
        ),
    ),
}


def sites(text: str, kind: str) -> list[int]:
    """The numbers of lines in which a fault of a kind can be planted."""
    begins, edit = KINDS[kind]
    return [
        i for i, line in enumerate(text.split("\n"))
        if re.match(rf"\s+(?:{begins})", line) and edit(line.rstrip()) not in (None, line.rstrip())
    ]  # fmt: skip


def alike(text: str, kind: str) -> dict[tuple, list[int]]:
    """The lines for a kind by what they do, with which lanes, and for which lines of Python: another
    compilation of the program has them in other numbers, and the fault of a lowering is in it too."""
    found, lines = collections.defaultdict(list), text.split("\n")
    for at in sites(text, kind):
        lanes = tuple(re.findall(r"(?:row_|quad_perm|swizzle)\S+", lines[at]))
        found[lines[at].split()[0], lanes, tuple(lines_of(text, at))].append(at)
    return found


def edited(text: str, kind: str, key: tuple, nth: int) -> str:
    lines, at = text.split("\n"), alike(text, kind).get(key)
    if at:
        place = at[min(nth, len(at) - 1)]
        lines[place] = KINDS[kind][1](lines[place].rstrip())
    return "\n".join(lines)


def lines_of(text: str, at: int) -> list[int]:
    """The lines of Python of a line of the code, from the innermost function out, as .loc has them."""
    places = re.findall(r"^\s+\.loc\s.*", "\n".join(text.split("\n")[:at]), re.MULTILINE)
    return [int(line) for line in re.findall(r":(\d+):\d+", places[-1])] if places else []


class Planted:
    """Code generation with a fault, or without."""

    def __init__(self):
        self.fault = None  # (kind, key, nth)
        self.made = ""
        made = HIPBackend.make_amdgcn

        def faulty(*args, **kwargs):
            self.made = text = made(*args, **kwargs)
            return edited(text, *self.fault) if self.fault else text

        HIPBackend.make_amdgcn = staticmethod(faulty)


def programs():
    """(name, kernel, constexprs, grid, makes the arguments, options) of what faults are planted in."""
    some = lambda *shape: torch.randn(*shape)  # noqa: E731
    half = lambda *shape: torch.randn(*shape).half()  # noqa: E731
    none = lambda *shape: torch.zeros(*shape, dtype=torch.int32)  # noqa: E731
    whole = lambda *shape: torch.randint(-99, 99, shape, dtype=torch.int32)  # noqa: E731
    yield "softmax", k.softmax, {"B": 1024}, (2,), lambda: [some(2, 1000), torch.zeros(2, 1000), 1000], {}
    yield "layer_norm", k.layer_norm, {"B": 1024}, (2,), lambda: [
        some(2, 700), some(700), some(700), torch.zeros(2, 700), 700, 1e-5], {}  # fmt: skip
    yield "matmul", k.matmul, {"M": 64, "N": 64, "K": 32}, (1, 1), lambda: [
        half(64, 96), half(96, 64), torch.zeros(64, 64), 64, 64, 96], {}  # fmt: skip
    yield "matmul at the edge", k.matmul, {"M": 32, "N": 32, "K": 32}, (2, 2), lambda: [
        half(64, 70), half(70, 64), torch.zeros(64, 64), 64, 64, 70], {"num_warps": 2}  # fmt: skip
    yield "attention", k.attention, {"L": 32, "D": 32}, (2,), lambda: [
        half(64, 32), half(64, 32), half(64, 32), torch.zeros(64, 32), 64, 0.2], {}  # fmt: skip
    yield "scan", k.scan, {"B": 512}, (1,), lambda: [whole(512), none(512)], {}
    yield "sorts", k.sorts, {"B": 256}, (1,), lambda: [whole(256), none(256)], {}
    yield "histogram", k.histogram, {"B": 128}, (2,), lambda: [
        torch.randint(0, 8, (200,), dtype=torch.int32), none(8), 200], {}  # fmt: skip


def run(planted, fault, program, target: str, check="", shuffle=None) -> tuple[list, KernelTrap | None]:
    """Returns what a launch leaves in its tensors, and its trap."""
    _, kernel, constants, grid, arguments, options = program
    torch.manual_seed(0)
    args, planted.fault = arguments(), fault
    with triton_runner.using(device="cpu", level="amdgcn", target=target, check=check, shuffle=shuffle):
        try:
            triton_runner.jit(kernel.fn)[grid](*args, **constants, **options)
        except KernelTrap as trap:
            return args, trap
    return args, None


def same(a: list, b: list) -> bool:
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if isinstance(x, torch.Tensor)]
    return all(x.contiguous().view(torch.uint8).equal(y.contiguous().view(torch.uint8)) for x, y in pairs)


def beside_ttgir(planted, fault, program, target: str):
    """The report of lockstep."""
    _, kernel, constants, grid, arguments, options = program
    torch.manual_seed(0)
    args, planted.fault = arguments(), fault
    with triton_runner.using(device="cpu", target=target):
        return triton_runner.lockstep(
            triton_runner.jit(kernel.fn),
            args,
            {**constants, **options},
            grid=grid,
            levels=("ttgir", "amdgcn"),
        )


def judged(planted, fault, program, target: str, right: list, code: str, at: int) -> tuple[str, int]:
    """(how a fault is reported, the line that the report names); at: its line in the code."""
    _, trap = run(planted, fault, program, target, CHECKS)
    if trap is not None:
        return trap.kind, trap.line or 0
    if fault[0] not in ("waits", "barriers") and same(run(planted, fault, program, target)[0], right):
        return "changes nothing", 0
    report = beside_ttgir(planted, fault, program, target)
    if report.diverged is not None:
        return "lockstep, a value", report.diverged.line or 0
    outputs = [*report.outputs, *report.unobserved]
    if not outputs:
        idle = changes_nothing(planted, fault, program, target, right, code, at)
        return "changes nothing" if idle else "not reported", 0
    return "lockstep, memory", (report.missing or outputs[0]).get("line", 0)


def changes_nothing(planted, fault, program, target: str, right: list, code: str, at: int) -> bool:
    """Returns whether a wait or barrier that is left out makes no difference."""
    if fault[0] == "waits":
        return is_idle(code, at, 9 if "gfx9" in target else int(target[-4:-2]))
    orders = (run(planted, fault, program, target, shuffle=seed)[0] for seed in range(ORDERS))
    return fault[0] == "barriers" and all(same(left, right) for left in orders)


def faults(options, planted, target: str, counts: collections.Counter) -> None:
    for program in programs():
        for kind in KINDS:
            if options.only not in kind or options.programs not in program[0]:
                continue
            # Memory is guarded by EXEC where it is not accessed through buffers.
            os.environ["AMDGCN_USE_BUFFER_OPS"] = "0" if kind == "EXEC" else "1"
            right, trap = run(planted, None, program, target, CHECKS)
            assert trap is None, trap
            code = planted.made
            right, _ = run(planted, None, program, target)
            if kind == "barriers" and not re.search(r"^\s+ds_", code, re.MULTILINE):
                continue  # they order nothing
            there = [(key, nth, at) for key, all_ in alike(code, kind).items() for nth, at in enumerate(all_)]
            step = max(1, -(-len(there) // options.most)) if options.most else 1
            if options.seed is not None and 0 < options.most < len(there):
                there = random.Random(f"{options.seed} {target} {program[0]} {kind}").sample(
                    there, options.most
                )
                step = 1
            for key, nth, at in there[::step]:
                how, line = judged(planted, (kind, key, nth), program, target, right, code, at)
                counts[kind, how] += 1
                counts[kind, "line"] += line > 0
                counts[kind, "its own line"] += line > 0 and line in lines_of(code, at)
                said = f"line {line}, planted at {lines_of(code, at)}"
                print(f"{target} {program[0]}, {kind}, {code.split(chr(10))[at].strip()[:60]}: {how}; {said}",
                      flush=True)  # fmt: skip


def no_report(planted, target: str, rounds: int) -> collections.Counter:
    """Right launches under the same: how many, and how many of them are reported."""
    counts: collections.Counter = collections.Counter()
    told = [*programs()]
    told += [
        (
            name,
            triton_runner.jit(kernel.fn),
            constants,
            grid,
            lambda args=args: list(args),
            {"num_warps": warps},
        )
        for name, kernel, args, constants, grid, warps in launches(rounds, 0)
    ]
    for program in told:
        counts["launches"] += 1
        _, trap = run(planted, None, program, target, CHECKS)
        report = trap or beside_ttgir(planted, None, program, target)
        if trap is not None or (report and (report.diverged is not None or report.outputs)):
            counts["reported"] += 1
            print(f"{target} {program[0]}, right: {report}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", default="hip:gfx942,hip:gfx1201")
    parser.add_argument("--only", default="", help="kinds of faults with this in their names")
    parser.add_argument("--programs", default="", help="programs with this in their names")
    parser.add_argument("--most", type=int, default=0, help="faults of a kind in a program; 0: all")
    parser.add_argument("--seed", type=int, help="draw the places of --most")
    parser.add_argument("--json", type=pathlib.Path, help="a file for the counts")
    parser.add_argument(
        "--sum", nargs="+", type=pathlib.Path, help="files of earlier runs, which are added up"
    )
    parser.add_argument(
        "--right", type=int, default=0, help="rounds of right launches, in the place of faults"
    )
    parser.add_argument("--write", action="store_true", help="keep the counts in results/amd.json")
    options = parser.parse_args()
    planted, counts = Planted(), collections.Counter()
    for file in options.sum or ():
        for key, n in json.loads(file.read_text()):
            counts[tuple(key) if isinstance(key, list) else key] += n
    for target in options.targets.split(",") if not options.sum else ():
        if options.right:
            counts += no_report(planted, target, options.right)
        else:
            faults(options, planted, target, counts)
    if options.json:
        options.json.write_text(json.dumps([*counts.items()]))
    command = f"python tests/amd/planted.py --targets {options.targets}"
    command += f" --most {options.most}" if options.most else ""
    command += f" --seed {options.seed}" if options.seed is not None else ""
    if options.right:
        said = f"{counts['launches']} launches, {counts['reported']} reported"
        key, what, command = "right", "right launches under the same", f"{command} --right {options.right}"
    else:
        rows = {
            kind: collections.Counter({how: n for (of, how), n in counts.items() if of == kind})
            for kind in KINDS
        }
        parts, total = [], collections.Counter()
        for kind, row in rows.items():
            lines, own = row.pop("line", 0), row.pop("its own line", 0)
            nothing, missed = row.pop("changes nothing", 0), row.get("not reported", 0)
            tried = sum(row.values())
            total.update(tried=tried, reported=tried - missed, lines=lines, own=own, nothing=nothing)
            parts.append(f"{kind} {tried - missed} of {tried}")
            print(
                f"{kind}: {tried - missed} of {tried} reported, {lines} with a line, {own} with its own;",
                dict(row),
            )
        said = (
            f"{total['reported']} of {total['tried']} reported, {total['lines']} with a line, "
            f"{total['own']} of them the instruction's own ({', '.join(parts)}); "
            f"{total['nothing']} others change nothing"
        )
        key, what = (
            "planted",
            "faults planted in AMD's machine code, under four checks and lockstep beside TTGIR",
        )
        if options.seed is not None:
            key, what = f"{key} drawn", f"{what}, at places that were drawn"
    print(said)
    if options.write:
        results.record("amd", key, what, command, {"result": said})
    return 0


if __name__ == "__main__":
    sys.exit(main())
