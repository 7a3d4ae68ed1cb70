"""Faults planted in machine code, and which instruction `assemble --check` names.

    python tests/sass/faults.py [--faults 60] [--seed 0] [--kernels NAME ...] [--target sm_90a] [--write]

A bit of an instruction of a real kernel's machine code is turned around, so that it is another instruction,
or has another operand; where the kernel then leaves other bits than its PTX, the trial names an instruction.
Counted is whether it is the planted one. "first" is only what is shown to be: of these none may be another.
--write records the counts (tests/suite/results.py).
"""

import argparse
import collections
import json
import os
import pathlib
import random
import struct
import sys
import time

os.environ.setdefault("TRITON_RUNNER_PROD", "1")
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "sass"), str(ROOT / "tests" / "suite")]

import control_words  # noqa: E402
import kernels_planted  # noqa: E402
from triton_runner import _core, _settings  # noqa: E402
from triton_runner._artifact.relaunch import of_call  # noqa: E402
from triton_runner._base import tools  # noqa: E402
from triton_runner._base.errors import DiagnosticError  # noqa: E402
from triton_runner._launch.launchers import observing  # noqa: E402
from triton_runner.verbs.assemble import assemblers, trial  # noqa: E402

_CONTROL = 105  # bits of an instruction before its control word
PER_INSTRUCTION = 6  # bits that are tried
SKIPPED = ("BRA", "EXIT", "NOP", "RET", "BSYNC", "BSSY", "LEPC", "BAR")


def launches(target: str, chosen) -> dict:
    """The launches of kernels_planted by name: [(launch, trial, its machine code, listing)]."""
    found = {}

    def see(call, go) -> None:
        launch = of_call(call)
        if not chosen or launch.name in chosen:
            found.setdefault(launch.name, launch)
        go()

    number = "".join(filter(str.isdigit, target))
    with _settings.using(device="cpu", target=f"cuda:{number}", threads=1), observing(see):
        kernels_planted.main()
    return found


class Planted(trial.Trial):
    """A trial of machine code that is right without the fault: PTX leaves no difference open."""

    def freedom(self, *_) -> str:
        return "different"


def subject(launch, target: str) -> Planted:
    work = trial.work_of(
        launch.texts["ptx"], launch.name, assemblers.default(), target, None, 1, launch.arguments.named,
        grid=list(launch.grid), block=launch.block, metadata=json.dumps(launch.metadata),
    )  # fmt: skip
    return Planted(work)


def turned(cubin: bytes, kernel: str, address: int, bit: int) -> bytes:
    place = control_words.sections(cubin)[kernel][0] + address + 8 * (bit // 64)
    (word,) = struct.unpack_from("<Q", cubin, place)
    return cubin[:place] + struct.pack("<Q", word ^ 1 << bit % 64) + cubin[place + 8 :]


def planted(draw, one, cubin: bytes, kernel: str, code: list):
    """(instruction, its text now, the machine code) with a fault that can still be read."""
    while True:
        instruction = draw.choice(code)
        if instruction.name in SKIPPED:
            continue
        changed = turned(cubin, kernel, instruction.address, draw.randrange(_CONTROL))
        try:
            after = _core.sass.parse_kernel(tools.listing(changed), kernel).instructions
        except DiagnosticError:
            continue
        others = [str(a) for a, b in zip(after, code, strict=False) if str(a) != str(b)]
        if (
            len(after) == len(code)
            and len(others) == 1
            and "?" not in others[0]
            and "INVALID" not in others[0]
        ):
            return instruction, others[0], changed


def judge(one, cubin: bytes, planted_text: str):
    """How a trial of machine code with a fault ends, and what it names."""
    try:
        result = one.judged(cubin)
    except DiagnosticError as error:  # the engine does not have it
        return "unjudged", trial.Result("unjudged", str(error))
    if result.state != "different":
        return result.state, result
    if result.place is None:
        return "no instruction", result
    if result.place.is_first:
        return ("first, right" if result.place.maker == planted_text else "first, WRONG"), result
    if planted_text in (result.place.maker, result.place.sass):
        return "near, it is that", result
    return ("near, told beside it" if planted_text in result.place.said else "near, another"), result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kernels", nargs="*", default=())
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--limit", type=float, default=900, help="seconds")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--verbose", "-v", action="store_true")
    options = parser.parse_args()
    subjects = []
    for name, launch in launches(options.target, options.kernels).items():
        one = subject(launch, options.target)
        cubin = one.assembled()
        code = _core.sass.parse_kernel(tools.listing(cubin), name).instructions
        state = one.judged(cubin).state
        print(f"{name}: {len(code)} instructions, {state}", flush=True)
        if state == "equal":
            subjects.append((name, one, cubin, code))
    draw, counts, opcodes = random.Random(options.seed), collections.Counter(), set()
    until, number = time.monotonic() + options.limit, 0
    while number < options.faults and time.monotonic() < until:
        name, one, cubin, code = subjects[draw.randrange(len(subjects))]
        instruction, text, changed = planted(draw, one, cubin, name, code)
        started = time.monotonic()
        ended, result = judge(one, changed, text)
        if result.state == "different":
            number += 1
            counts[ended] += 1
            opcodes.add(instruction.name)
            if options.verbose or "WRONG" in ended or ended == "near, another":
                print(f"{name} {instruction.address:#06x}: {instruction}  ->  {text}")
                print(f"    {ended} ({time.monotonic() - started:.1f} s): {result.place}", flush=True)
        else:
            counts[f"({result.state})"] += 1
    for ended, count in counts.most_common():
        print(f"  {count} {ended}")
    print(f"{number} faults in {len(opcodes)} opcodes of {len(subjects)} kernels")
    if options.write:
        write(number, counts, opcodes, subjects)
    return int(counts["first, WRONG"] > 0)


def write(number: int, counts, opcodes, subjects) -> None:
    import results

    figures = {"faults": number, "opcodes": len(opcodes), "kernels": len(subjects)}
    figures |= {ended: count for ended, count in sorted(counts.items()) if ended[0] != "("}
    command = "python tests/sass/faults.py " + " ".join(sys.argv[1:])
    what = "bits of machine code turned around: which instruction `assemble --check` names"
    results.record("planted", "machine-code", what, command, figures)


if __name__ == "__main__":
    sys.exit(main())
