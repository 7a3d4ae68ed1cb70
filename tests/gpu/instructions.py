"""PTX's arithmetic, instruction by instruction, on hardware and on the SIMT engine: are the bits the same?

  instructions.py gpu OUT              runs every instruction on the GPU (libcuda alone: no Triton, no build):
                                       OUT/gpu.npz, and OUT/refused.txt, what the driver does not assemble
  instructions.py cpu OUT              the same on the engine: OUT/cpu.npz and OUT/not_executed.txt
  instructions.py compare A.npz B.npz  a line an instruction that differs, with its first operands
  instructions.py golden GPU.npz CPU.npz
                                       writes tests/golden/ptx-hw: hardware's answers, where ours differ
  instructions.py check                the engine against those goldens (no GPU; this runs in CI), on every
                                       instruction set, and under a guard
  instructions.py ptxas                which instructions Triton's ptxas refuses

--only REGEX takes the instructions whose name matches. Operands are 1,024 lanes of corner values (each with
each) and random ones, from fixed seeds; what is compared is every bit of every lane.
"""

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from instruction_table import instructions, width
from libcuda import Cuda

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/ptx-hw/alu.txt"
KNOWN = ROOT / "tests/golden/ptx-hw/alu_known.txt"
LANES = 1024
BLOCK = 128
PER_ENTRY = 48
HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"

# Operands

# fmt: off
F32_CORNERS = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000,
    0x00800001, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001, 0x40000000, 0x3F000000, 0xBF000000,
    0x3FC00000, 0x40200000, 0x4B000001, 0xCB000001, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0x4F800000,
    0x5F000000, 0xDF000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001,
    0x7F800001, 0x7E800000, 0x7F000000, 0x00400000,
]
F16_CORNERS = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00, 0xBC00, 0x3BFF, 0x3C01,
    0x4000, 0x3800, 0xB800, 0x3E00, 0x4100, 0x6401, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01,
    0x7C01, 0x1400, 0x0200, 0x5BF8, 0xD800, 0x6400, 0x3555, 0xB555,
]
F64_MORE = [
    1, 0x8000000000000001, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
    0x7FF0000000000001, 0xFFF8000000000005, 0x41E0000000000000, 0x43E0000000000000,
    0x3FEFFFFFFFFFFFFF, 0x47EFFFFFF0000000, 0x3690000000000000, 0x36A0000000000001,
    0x380FFFFFFFFFFFFF, 0x40EFFC0000000000, 0x40EFFE0000000000,
]
COUNTS = [
    0, 1, 2, 7, 8, 15, 16, 17, 24, 31, 32, 33, 40, 63, 64, 65, 127, 255, 256, 257, 288, 0x80000000,
    0xFFFFFFFF,
]
# fmt: on


def of_width(values, bits):
    return [v & ((1 << bits) - 1) for v in values]


def int_corners(bits):
    top = 1 << (bits - 1)
    small = [
        0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
    ]  # fmt: skip
    edges = [top - 1, top, top + 1]
    negative = [-1, -2, -3, -7, -128, -129, -32768, -32769]
    return of_width([*small, *edges, *negative, 0x5555555555555555, 0x7F80FF01, top >> 1], bits)


def f64_corners():
    wide = np.array(F32_CORNERS, np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        return [*(int(v) for v in wide.astype(np.float64).view(np.uint64)), *F64_MORE]


def corners(kind):
    if kind == "f32":
        return F32_CORNERS
    if kind in ("f16", "f16x2"):
        return F16_CORNERS
    if kind in ("bf16", "bf16x2"):
        return sorted({v >> 16 for v in F32_CORNERS} | {0x7F7F, 0xFF7F, 0x007F, 0x0001, 0x8001, 0x3F81})
    if kind == "f64":
        return f64_corners()
    if kind == "count":
        return COUNTS
    if kind == "pred":
        return [0, 1]
    if kind.endswith("x2"):
        return int_corners(16)
    return int_corners(width(kind))


def random_values(kind, rng, n):
    bits = width(kind)
    raw = rng.integers(0, 1 << 63, n, dtype=np.uint64) * np.uint64(2) + rng.integers(0, 2, n, dtype=np.uint64)
    if kind == "pred":
        return raw & np.uint64(1)
    if kind == "count":
        return raw % np.uint64(70)
    with np.errstate(all="ignore"):
        near = rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))
        if kind == "f32":
            close = near.astype(np.float32).view(np.uint32).astype(np.uint64)
        elif kind == "f64":
            close = near.view(np.uint64)
        elif kind in ("f16", "f16x2"):
            close = near.astype(np.float16).view(np.uint16).astype(np.uint64)
        elif kind in ("bf16", "bf16x2"):
            close = (near.astype(np.float32).view(np.uint32) >> 16).astype(np.uint64)
        else:  # integers: small ones as often as large ones
            close = raw >> (rng.integers(0, bits, n).astype(np.uint64))
    mixed = np.where(rng.integers(0, 3, n) > 0, close, raw)
    if kind in ("f16x2", "bf16x2"):
        mixed = (mixed & np.uint64(0xFFFF)) | (np.roll(mixed, 7) << np.uint64(16))
    return mixed & np.uint64((1 << bits) - 1)


_OPERANDS = {}


def operand(kind, index):
    """The values of an operand, [LANES] of u64: the first two go through all pairs of corners."""
    key = kind, index
    if key not in _OPERANDS:
        # A name's bytes, not its hash: the same on every machine.
        rng = np.random.default_rng([index, *kind.encode()])
        values = random_values(kind, rng, LANES)
        special = np.array(corners(kind), np.uint64)
        if kind.endswith("x2"):
            other = np.roll(special, 5 + index)
            special = special | (other << np.uint64(16))
        k = len(special)
        side = min(k, 26)  # 26 * 26 pairs, the rest is random
        chosen = special if k <= side else rng.permutation(special)[:side]
        lanes = np.arange(side * side)
        which = (
            lanes // side
            if index == 0
            else lanes % side
            if index == 1
            else rng.integers(0, side, side * side)
        )
        if index == 0:  # one operand alone sees every corner
            values[: side * side] = chosen[which]
            values[-k:] = special
        else:
            values[: side * side] = chosen[which]
        _OPERANDS[key] = values
    return _OPERANDS[key]


# PTX

SUFFIX = {1: "pred", 16: "b16", 32: "b32", 64: "b64"}


def body(instruction, slots, first_slot, guarded):
    """Its part of an entry: %in, %out are the addresses of the thread's values; %g is its guard."""
    names, lines, after = [], [], []
    for i, kind in enumerate(instruction.results + instruction.operands):
        bits = 8 if kind == "b8" else width(kind)
        name = f"x{i}"
        lines.append(f".reg .{SUFFIX[bits]} {name};")
        names.append(name)
    for i, kind in enumerate(instruction.operands):
        name, bits = names[len(instruction.results) + i], width(kind)
        at = slots[kind, i] * LANES * 8
        if bits == 1:
            lines.append(f"ld.global.b32 %t, [%in+{at}]; setp.ne.b32 {name}, %t, 0;")
        else:
            lines.append(f"ld.global.b{bits} {name}, [%in+{at}];")
    for i, kind in enumerate(
        instruction.results
    ):  # a result that the instruction reads or leaves has a value
        bits = width(kind)
        lines.append(f"setp.ne.b32 {names[i]}, 0, 0;" if bits == 1 else f"mov.b{bits} {names[i]}, 0;")
        store = {1: f"selp.b64 %w, 1, 0, {names[i]};", 16: f"cvt.u64.u16 %w, {names[i]};",
                 32: f"cvt.u64.u32 %w, {names[i]};", 64: f"mov.b64 %w, {names[i]};"}[bits]  # fmt: skip
        after.append(f"{store} st.global.b64 [%out+{(first_slot + i) * LANES * 8}], %w;")
    text = re.sub(r"%(\d+)", lambda m: names[int(m[1])], instruction.text)
    if guarded:
        text = " ".join(f"@%g {part.strip()};" for part in text.split(";") if part.strip())
    return "{ " + " ".join(lines) + "\n  " + text + "\n  " + " ".join(after) + " }\n"


def plan(batch):
    """A batch's slots: {(kind, operand): input}, [each one's first output], how many outputs."""
    slots, firsts, outputs = {}, [], 0
    for instruction in batch:
        for i, kind in enumerate(instruction.operands):
            slots.setdefault((kind, i), len(slots))
        firsts.append(outputs)
        outputs += len(instruction.results)
    return slots, firsts, outputs


def module(batch, guarded=False, note="", head=HEAD, more="", start=""):
    """A kernel of a batch. more: further parameters; start: what comes before the instructions."""
    slots, firsts, _ = plan(batch)
    text = f"{head}.visible .entry k(.param .u64 .ptr .global in_,\n"
    text += f"  .param .u64 .ptr .global out_{more})\n.reqntid {BLOCK}\n{{\n"
    text += ".reg .b64 %in, %out, %w; .reg .b32 %t, %i, %j;\n"
    text += "ld.param.u64 %in, [in_]; ld.param.u64 %out, [out_]; mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x;\n"
    text += f"mad.lo.u32 %i, %i, {BLOCK}, %j; mul.wide.u32 %w, %i, 8;\n"
    text += "add.u64 %in, %in, %w; add.u64 %out, %out, %w;\n"
    if guarded:
        text += ".reg .pred %g; rem.u32 %j, %i, 3; setp.ne.u32 %g, %j, 0;\n"
    text += start
    for instruction, first in zip(batch, firsts, strict=True):
        text += body(instruction, slots, first, guarded)
    return note + text + "ret;\n}\n"


def inputs(batch):
    slots, _, _ = plan(batch)
    return np.concatenate([operand(kind, i) for kind, i in slots] or [np.zeros(LANES, np.uint64)])


# Running


class Gpu:
    def __init__(self):
        self.cuda = Cuda()

    def run(self, text, data, n_out):
        out = np.zeros(n_out, np.uint64)
        self.cuda.run(text, LANES // BLOCK, BLOCK, data, out)
        return out


class Engine:
    def run(self, text, data, n_out):
        import triton_runner

        out = np.zeros(n_out, np.uint64)
        triton_runner.load(text, device="cpu")[(LANES // BLOCK,)](data, out)
        return out


class Ptxas:
    def __init__(self):
        import triton

        self.path = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"

    def run(self, text, data, n_out):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "k.ptx"
            file.write_text(text)
            command = [self.path, "-arch=sm_90", "-O0", file, "-o", Path(folder) / "k.cubin"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[0])
        return np.zeros(n_out, np.uint64)


def run_all(machine, chosen, results, refused, guarded=False, note=""):
    """Fills {name: [results, LANES]}; a batch that is refused is halved until the culprit is alone."""
    for at in range(0, len(chosen), PER_ENTRY):
        pending = [chosen[at : at + PER_ENTRY]]
        while pending:
            batch = pending.pop()
            _, firsts, outputs = plan(batch)
            try:
                out = machine.run(module(batch, guarded, note), inputs(batch), outputs * LANES).reshape(
                    outputs, LANES
                )
            except Exception as error:  # the driver, ptxas and the engine each have their own kinds
                if len(batch) == 1:
                    refused[batch[0].name] = str(error).strip().splitlines()[0][:300]
                else:
                    half = len(batch) // 2
                    pending += [batch[half:], batch[:half]]
                continue
            for instruction, first in zip(batch, firsts, strict=True):
                results[instruction.name] = out[first : first + len(instruction.results)]


def save(path, results):
    arrays = {}
    for i in instructions():
        if i.name in results:
            bits = max(width(k) for k in i.results)
            dtype = {1: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
            arrays[i.name] = results[i.name].astype(dtype)
    np.savez_compressed(path, **arrays)


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values.astype("<u8")).tobytes()).hexdigest()[:16]


def report(expected, actual, limit=4):
    """Prints the instructions that differ; returns how many are the same, differ and are missing."""
    same = differ = missing = 0
    for i in instructions():
        if i.name not in expected:
            continue
        if i.name not in actual:
            missing += 1
            print(f"{i.name}: not executed")
            continue
        wrong = np.nonzero(
            (expected[i.name].astype(np.uint64) != actual[i.name].astype(np.uint64)).any(axis=0)
        )[0]
        if len(wrong) == 0:
            same += 1
            continue
        differ += 1
        print(f"{i.name}: {len(wrong)} of {LANES} lanes differ")
        for lane in wrong[:limit]:
            given = ", ".join(f"{int(operand(k, n)[lane]):#x}" for n, k in enumerate(i.operands))
            left = ", ".join(f"{int(v):#x}" for v in expected[i.name][:, lane])
            right = ", ".join(f"{int(v):#x}" for v in actual[i.name][:, lane])
            print(f"    ({given}) expected {left} has {right}")
    print(f"{same} the same, {differ} differ, {missing} not executed")
    return same, differ, missing


def distance(kind, expected, actual):
    """Units in the last place between two results of a float type; -1 where one of them only is a NaN."""
    bits = 16 if kind.endswith("x2") else width(kind)
    places = (expected.astype(np.uint64), actual.astype(np.uint64))
    if kind.endswith("x2"):
        places = tuple(np.concatenate([p & np.uint64(0xFFFF), p >> np.uint64(16)]) for p in places)
    infinity = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}[
        kind.removesuffix("x2")
    ]
    top = 1 << (bits - 1)
    signed = [
        np.where(p & np.uint64(top), -(p & np.uint64(top - 1)).astype(np.int64), p.astype(np.int64))
        for p in places
    ]
    nan = [np.abs(p) > infinity for p in signed]
    if (nan[0] != nan[1]).any():
        return -1
    return int(np.where(nan[0], 0, np.abs(signed[0] - signed[1])).max())


def write_golden(hardware, engine):
    GOLDEN.parent.mkdir(parents=True, exist_ok=True)
    lines = ["# instructions.py golden: sha256 of what an H100 gives for each instruction's operands\n"]
    known = [
        "# Where the engine differs from an H100: lanes of 1,024, units in the last place (-: no float)\n"
    ]
    by_name = {i.name: i for i in instructions()}
    for name in hardware.files:
        lines.append(f"{name} {digest(hardware[name])}\n")
        expected, actual = hardware[name].astype(np.uint64), engine[name].astype(np.uint64)
        wrong = int((expected != actual).any(axis=0).sum())
        if wrong:
            kind = by_name[name].results[0]
            ulp = distance(kind, expected[0], actual[0]) if re.match(r"b?f\d", kind) else "-"
            known.append(f"{name} {wrong} {ulp}\n")
    GOLDEN.write_text("".join(lines))
    KNOWN.write_text("".join(known))


def entries(path, fields):
    """The lines of a golden: a name, which may have blanks, and its fields."""
    lines = path.read_text().splitlines()
    return [line.rsplit(" ", fields) for line in lines if not line.startswith("#")]


def check(chosen):
    """Every instruction set against the golden, and under a guard against itself without."""
    from triton_runner import _core

    golden = dict(entries(GOLDEN, 1))
    known = {name for name, *_ in entries(KNOWN, 2)}
    chosen = [i for i in chosen if i.name in golden]
    failed = 0
    first = None
    for isa in ("", "avx2", "portable"):
        if not _core.force_isa(isa):
            print(f"{isa}: this machine does not have it")
            continue
        results, refused, guarded = {}, {}, {}
        run_all(Engine(), chosen, results, refused, note=f"// {isa}\n")
        run_all(Engine(), chosen, guarded, refused, guarded=True, note=f"// {isa}\n")
        first = first or results
        on = np.arange(LANES) % 3 != 0
        for i in chosen:
            if i.name not in results or i.name not in guarded:
                why = f"not executed: {refused.get(i.name)}"
            elif (digest(results[i.name]) != golden[i.name]) != (i.name in known):
                why = (
                    "gives hardware's bits and is listed as known"
                    if i.name in known
                    else "differs from hardware"
                )
            elif not np.array_equal(results[i.name], first[i.name]):
                why = "differs from the best instruction set"
            elif ".cc" not in i.name and not np.array_equal(
                guarded[i.name], np.where(on, results[i.name], 0)
            ):
                why = "differs under a guard"
            else:
                continue
            failed += 1
            print(f"{i.name} ({isa or 'best'}): {why}")
    _core.force_isa("")
    exact = len(chosen) - sum(i.name in known for i in chosen)
    print(f"{len(chosen)} instructions, {exact} with hardware's bits; {failed} failures")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["gpu", "cpu", "compare", "golden", "check", "ptxas"])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    chosen = [i for i in instructions() if re.search(args.only, i.name)]
    results, refused = {}, {}
    if args.what in ("gpu", "cpu"):
        out = Path(args.paths[0])
        out.mkdir(parents=True, exist_ok=True)
        run_all(Gpu() if args.what == "gpu" else Engine(), chosen, results, refused)
        save(out / f"{args.what}.npz", results)
        name = "refused.txt" if args.what == "gpu" else "not_executed.txt"
        (out / name).write_text("".join(f"{k}: {v}\n" for k, v in refused.items()))
        print(f"{len(results)} instructions ran, {len(refused)} did not (see {out / name})")
    elif args.what == "ptxas":
        run_all(Ptxas(), chosen, results, refused)
        for name, why in refused.items():
            print(f"{name}: {why}")
        print(f"{len(results)} assemble, {len(refused)} do not")
    elif args.what == "compare":
        expected, actual = np.load(args.paths[0]), np.load(args.paths[1])
        return 0 if report(expected, actual)[1] == 0 else 1
    elif args.what == "golden":
        write_golden(np.load(args.paths[0]), np.load(args.paths[1]))
    else:
        return check(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
