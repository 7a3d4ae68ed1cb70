"""The same hsaco in tinygrad's emulator of AMD's GPUs and in ours, as AMDGCN: kernels of every kind on random
inputs, byte by byte.

    python tests/amd/emulated.py TINYGRAD [--targets gfx1100,gfx1201] [--rounds 4] [--only softmax]

TINYGRAD is a checkout of its repository (test/mockgpu/amd/emu.py executes the machine code, MIT). It compiles
each instruction with clang, which has to be on the PATH; nothing of it is part of this project. Prints each
launch that differs, how far either lies from what the engine of tiles computes, and how many agreed.
"""

import argparse
import collections
import ctypes
import dataclasses
import importlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import types

import torch
import triton_runner
from triton_runner import _settings

os.environ["AMDGCN_USE_BUFFER_OPS"] = "0"  # which it does not decode on RDNA
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python" / "helpers"), str(HERE.parent)]
from amd.small_kernels import launches  # noqa: E402
from suite import results  # noqa: E402

ARCHITECTURES = {"gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}
TYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64",
         torch.int8: "i8", torch.int32: "i32"}  # fmt: skip


def emulator(checkout: str):
    """Their module, whose package is called as one of Python's own."""
    for name in [name for name in sys.modules if name == "test" or name.startswith("test.")]:
        del sys.modules[name]
    package = types.ModuleType("test")
    package.__path__ = [os.path.join(checkout, "test")]
    sys.modules["test"] = package
    sys.path.insert(0, checkout)
    emu = importlib.import_module("test.mockgpu.amd.emu")
    init_wave = emu._init_wave

    # RDNA 4 has a wave's number in bits 25 to 29 of ttmp8, which code reads and they leave 0.
    def init_wave_with_number(*given):
        state, start, architecture, width = init_wave(*given), given[1], given[9], given[-1]
        if architecture == "rdna4":
            state._write_sgpr(emu.ttmp[8].offset, start // width << 25)
        return state

    emu._init_wave = init_wave_with_number

    # They read lane 0 of a lane's own row for both forms of row_bcast. CDNA 3 ("DPP Fields", DPP_CTRL):
    # row_bcast15 gives each row the last lane of the row before, row_bcast31 gives rows 2 and 3 lane 31.
    dpp16_control = emu._dpp16_ctrl

    def dpp16_control_with_row_bcast(lane, control, *masks):
        source, enabled, valid = dpp16_control(lane, control, *masks)
        at = lane.cast(emu.dtypes.int)
        if control == 0x142:
            return (
                (at & emu._c(~15, emu.dtypes.int)) - emu._c(1, emu.dtypes.int),
                enabled,
                at >= emu._c(16, at.dtype),
            )
        if control == 0x143:
            return at * emu._c(0, at.dtype) + emu._c(31, at.dtype), enabled, at >= emu._c(32, at.dtype)
        return source, enabled, valid

    emu._dpp16_ctrl = dpp16_control_with_row_bcast
    return emu


def without_cache_control(code: bytes) -> bytes:
    """The code with s_nop in the place of instructions that it does not decode, and that change no value:
    buffer_gl0_inv and buffer_gl1_inv of RDNA 3, global_inv of RDNA 4."""
    words = list(struct.unpack(f"<{len(code) // 4}I", code))
    for i, word in enumerate(words):
        length = 2 if word in (0xE0AC0000, 0xE0B00000) else 3 if word & 0xFFFFC000 == 0xEE0AC000 else 0
        words[i : i + length] = [0xBF800000] * length
    return struct.pack(f"<{len(words)}I", *words)


class Binary:
    """A kernel of an hsaco: its code, and what its descriptor says."""

    def __init__(self, data: bytes, name: str):
        table, count, index = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HH", data, 60))
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]

        def text(section, at: int) -> str:
            start = section[4] + at
            return data[start : data.index(b"\0", start)].decode()

        named = {text(sections[index], s[0]): s for s in sections}
        symbols = {}
        for i in range(named[".dynsym"][5] // 24):
            at, _, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, named[".dynsym"][4] + 24 * i)
            symbols[text(sections[named[".dynsym"][6]], at)] = (value, section)
        place, section = symbols[f"{name}.kd"]
        holder, code = sections[section], named[".text"]
        descriptor = data[holder[4] + place - holder[3] :][:64]
        self.entry = place + struct.unpack_from("<q", descriptor, 16)[0] - code[3]
        self.code = without_cache_control(data[code[4] : code[4] + code[5]])
        self.private, self.rsrc2 = (
            struct.unpack_from("<I", descriptor, 4)[0],
            struct.unpack_from("<I", descriptor, 52)[0],
        )


def arguments_in_memory(args: tuple, hidden: int) -> bytes:
    out = b""
    for value in [*args, *[0] * hidden]:
        if isinstance(value, torch.Tensor) or (isinstance(value, int) and not any(value is a for a in args)):
            pointer = value.data_ptr() if isinstance(value, torch.Tensor) else 0
            out += b"\0" * (-len(out) % 8) + struct.pack("<Q", pointer)
        else:
            out += struct.pack("<f" if isinstance(value, float) else "<i", value)
    return out


def theirs(emu, target: str, compiled, args: tuple, grid: tuple, warps: int) -> None:
    binary = Binary(compiled.asm["hsaco"], compiled.name)
    code = ctypes.create_string_buffer(binary.code + b"\0" * 512)
    memory = ctypes.create_string_buffer(arguments_in_memory(args, 2) + b"\0" * 256)
    # The LDS of a launch comes with it, in units of 512 bytes.
    units = -(-compiled.metadata["shared"] // 512)
    rsrc2 = binary.rsrc2 & ~(0x1FF << 15) | units << 15
    width = 64 if target.startswith("gfx9") else 32
    start = ctypes.addressof(code) + binary.entry
    size = len(binary.code) - binary.entry
    shape = (*(*grid, 1, 1)[:3], warps * width, 1, 1)
    failed = emu.run_asm(
        start, size, *shape, ctypes.addressof(memory), rsrc2, binary.private, ARCHITECTURES[target]
    )
    if failed:
        raise RuntimeError(f"status {failed}")


def apart(left: tuple, right: tuple) -> float:
    """How far two launches' tensors lie apart at most, of the largest value; 0: they have the same bytes."""
    most = 0.0
    for a, b in zip(left, right, strict=True):
        if isinstance(a, torch.Tensor) and not torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
            size = max(float(b.double().abs().max()), 1e-30)
            most = max(most, float((a.double() - b.double()).abs().max()) / size, 1e-30)
    return most


@dataclasses.dataclass
class Launch:
    target: str
    name: str
    says: str = ""  # why it was not run there
    apart: float = 0.0  # theirs from ours; relative to the largest value
    theirs: float = 0.0  # from what the engine of tiles computes
    ours: float = 0.0
    mnemonics: tuple = ()  # of the code


# Mnemonics whose results may differ, how far of the largest value, and the section of the instruction set's
# document that leaves it open (the entries have the same names in those of CDNA 3, RDNA 3 and RDNA 4).
ROUNDING = "'VOP1 Instructions' give {} as a function without its rounding"
REASONS = [
    *(
        (f"v_{name}", 3e-7, ROUNDING.format(f"V_{name.upper()}_F32"))
        for name in ("exp", "log", "rsq", "sqrt", "rcp", "sin", "cos")
    ),
    ("v_mfma_f32", 4e-6, "'Matrix Arithmetic Instructions' leave open how sums are rounded, and their order"),
    (
        "v_wmma_f32",
        4e-6,
        "'Wave Matrix Multiply Accumulate' leaves the order of sums and their rounding open",
    ),
]
MATRICES = "mfma", "wmma"


# DPP whose result is the register that it reads from other lanes.
IN_PLACE = re.compile(r"_dpp (v\d+), \1\b.* (?:row_|quad_perm|wave_)")
READS_FIRST = "'DPP' reads all lanes before one is written, theirs lanes that the instruction has written"


def explanation(found: Launch) -> str | None:
    # With a copy in front of such an instruction theirs gives our bytes.
    if "in place" in found.mnemonics and found.ours < 4e-7 < found.theirs:
        return READS_FIRST
    if not found.ours:
        return "ours are TTIR's bytes, theirs are not"
    if found.ours < 4e-7 and found.theirs > 1e-3:
        return "ours are TTIR's numbers but for rounding, theirs are not"
    for mnemonic, most, reason in REASONS:
        if found.apart <= most and any(m.startswith(mnemonic) for m in found.mnemonics):
            return reason
    return None


def run(emu, target: str, launch: tuple) -> Launch:
    name, kernel, args, constants, grid, warps = launch
    signature = {
        p: "*" + TYPES[a.dtype] if isinstance(a, torch.Tensor) else "fp32" if isinstance(a, float) else "i32"
        for p, a in zip(kernel.arg_names, args)  # noqa: B905  (constexprs follow)
    }
    compiled = triton_runner.compile(
        kernel, signature, constants, target=f"hip:{target}", options={"num_warps": warps}
    )
    copies = [tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in args) for _ in range(3)]
    emulated, ours, tiles = copies
    code = re.findall(r"^\t([a-z]\w+)", compiled.asm["amdgcn"], re.MULTILINE)
    if IN_PLACE.search(compiled.asm["amdgcn"]):
        code.append("in place")
    found = Launch(target, name, mnemonics=tuple(sorted(set(code))))
    try:
        theirs(emu, target, compiled, emulated, grid, warps)
    except Exception as error:
        found.says = str(error).splitlines()[0][:150]
        return found
    for level, copy in (("amdgcn", ours), ("ttir", tiles)):
        with _settings.using(device="cpu", level=level, target=f"hip:{target}"):
            compiled.load(level, "cpu")[grid](*copy)
    found.apart, found.theirs, found.ours = apart(emulated, ours), apart(emulated, tiles), apart(ours, tiles)
    return found


def run_from(options, target: str, first: int) -> None:
    """Prints a line of JSON for each launch from the one called `first` on."""
    emu = emulator(options.tinygrad)
    for number, launch in enumerate(launches(options.rounds, options.seed)):
        if number >= first and options.only in launch[0]:
            print(json.dumps([number, dataclasses.asdict(run(emu, target, launch))]), flush=True)


def run_all(options, target: str):
    """Every launch of a target, in processes of their own: what ends one does not end the others."""
    names = [launch[0] for launch in launches(options.rounds, options.seed)]
    next_one = 0
    while next_one < len(names):
        command = [sys.executable, __file__, *sys.argv[1:], "--targets", target, "--from", str(next_one)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            if line.startswith("["):
                number, found = json.loads(line)
                next_one = number + 1
                yield Launch(**found)
        if process.wait() == 0:
            return
        while next_one < len(names) and options.only not in names[next_one]:
            next_one += 1
        if next_one < len(names):
            yield Launch(target, names[next_one], says=f"their process ended with {process.returncode}")
        next_one += 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tinygrad")
    parser.add_argument("--targets", default=",".join(ARCHITECTURES))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true", help="keep the counts in results/amd.json")
    parser.add_argument("--from", type=int, dest="first", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first is not None:
        run_from(options, options.targets, options.first)
        return 0
    unexplained = 0
    for target in options.targets.split(","):
        counts = collections.Counter()
        kernels, reasons = set(), collections.Counter()
        for found in run_all(options, target):
            counts["products"] += not found.says and any(
                MATRIX in m for m in found.mnemonics for MATRIX in MATRICES
            )
            if found.says:
                counts["refused"] += 1
                print(f"{target} {found.name}: not run there: {found.says}", flush=True)
                continue
            kernels.add(found.name)
            counts["run"] += 1
            if not found.apart:
                counts["equal"] += 1
                continue
            reason = explanation(found)
            reasons[reason or "not explained"] += 1
            unexplained += reason is None
            print(
                f"{target} {found.name}: {found.apart:.3g} apart; from TTIR's result: "
                f"theirs {found.theirs:.3g}, ours {found.ours:.3g}: {reason or 'not explained'}",
                flush=True,
            )
        said = (
            f"{counts['run']} launches of {len(kernels)} kernels, {counts['products']} of them with "
            "matrix products: "
            f"{counts['equal']} leave the same bytes; "
            + "".join(f"{n} differ ({reason}); " for reason, n in reasons.items())
            + f"{counts['refused']} are not run there"
        )
        print(f"{target}: {said}")
        if options.write:
            command = f"python tests/amd/emulated.py TINYGRAD --targets {target} --rounds {options.rounds}"
            what = f"launches for {target} beside tinygrad's emulator"
            results.record("amd", f"emulated {target}", what, command, {"result": said})
    return unexplained != 0


if __name__ == "__main__":
    sys.exit(main())
