"""The same hsaco in tinygrad's emulator of AMD's GPUs and in ours, as AMDGCN: kernels of every kind on random
inputs, byte by byte.

    python tests/amd/emulated.py TINYGRAD [--targets gfx1100,gfx1201] [--rounds 4] [--only softmax]

TINYGRAD is a checkout of its repository (test/mockgpu/amd/emu.py executes the machine code, MIT). It compiles
each instruction with clang, which has to be on the PATH; nothing of it is part of this project. Prints each
launch that differs, how far either lies from what the engine of tiles computes, and how many agreed.
"""

import argparse
import ctypes
import importlib
import os
import pathlib
import struct
import sys
import types

import numpy as np
import torch
import triton_runner
from triton_runner import _settings

os.environ["AMDGCN_USE_BUFFER_OPS"] = "0"  # which it does not decode on RDNA
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "python" / "helpers"), str(HERE.parent)]
import kernels_for_amdgcn as kernels  # noqa: E402
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
    return importlib.import_module("test.mockgpu.amd.emu")


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


def launches(rounds: int, seed: int):
    """(kernel, arguments, constexprs, grid, warps) of small launches."""
    random = np.random.default_rng(seed)
    some = lambda *shape: torch.from_numpy(random.standard_normal(shape).astype("f"))  # noqa: E731
    zeros = torch.zeros
    for _ in range(rounds):
        n, rows = int(random.integers(1, 400)), int(random.integers(1, 4))
        for dtype in (torch.float32, torch.float16, torch.int32):
            x, y = ((9 * some(n)).to(dtype) for _ in range(2))
            yield kernels.add, (x, y, zeros(n, dtype=dtype), n), {"B": 256}, (2,), int(random.choice([1, 4]))
        yield kernels.softmax, (some(rows, n), zeros(rows, n), n), {"B": 512}, (rows,), 4
        yield (
            kernels.layer_norm,
            (some(rows, n), some(n), some(n), zeros(rows, n), n, 1e-5),
            {"B": 512},
            (rows,),
            2,
        )
        for dtype in (torch.float16, torch.bfloat16):
            k = 32 * int(random.integers(1, 3))
            a, b = some(32, k).to(dtype), some(k, 32).to(dtype)
            yield kernels.matmul, (a, b, zeros(32, 32), 32, 32, k), {"M": 32, "N": 32, "K": 32}, (1, 1), 1
        q, k, v = (some(32, 32).half() for _ in range(3))
        yield kernels.attention, (q, k, v, zeros(32, 32), 32, 0.2), {"L": 32, "D": 32}, (1,), 1
        x = torch.from_numpy(random.integers(0, 9, n).astype("i4"))
        yield kernels.histogram, (x, zeros(9, dtype=torch.int32), n), {"B": 256}, (2,), 4
        x = torch.from_numpy(random.integers(-99, 99, 256).astype("i4"))
        yield kernels.scan, (x, zeros(256, dtype=torch.int32)), {"B": 256}, (1,), 4
        x = torch.from_numpy(random.integers(-128, 128, 256).astype("i1"))
        yield kernels.bytes_of, (x, zeros(256, dtype=torch.int8)), {"B": 256}, (1,), 2
        yield kernels.doubles, (some(64).double(), zeros(64, dtype=torch.float64)), {"B": 64}, (1,), 1


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
    """How far two launches' tensors lie apart at most; 0 where they have the same bytes."""
    most = 0.0
    for a, b in zip(left, right, strict=True):
        if isinstance(a, torch.Tensor) and not torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
            most = max(most, float((a.double() - b.double()).abs().max()))
    return most


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
    options = parser.parse_args()
    emu = emulator(options.tinygrad)
    equal = differ = right = refused = 0
    for target in options.targets.split(","):
        for kernel, args, constants, grid, warps in launches(options.rounds, options.seed):
            name = kernel.fn.__name__
            if options.only not in name:
                continue
            signature = {
                p: "*" + TYPES[a.dtype]
                if isinstance(a, torch.Tensor)
                else "fp32"
                if isinstance(a, float)
                else "i32"
                for p, a in zip(kernel.arg_names, args)  # noqa: B905  (constexprs follow)
            }
            compiled = triton_runner.compile(
                kernel, signature, constants, target=f"hip:{target}", options={"num_warps": warps}
            )
            emulated, ours, tiles = (
                tuple(a.clone() if isinstance(a, torch.Tensor) else a for a in args) for _ in range(3)
            )
            try:
                theirs(emu, target, compiled, emulated, grid, warps)
            except Exception as error:
                print(f"{target} {name}: not run there: {str(error).splitlines()[0][:150]}", flush=True)
                refused += 1
                continue
            for level, copy in (("amdgcn", ours), ("ttir", tiles)):
                with _settings.using(device="cpu", level=level, target=f"hip:{target}"):
                    compiled.load(level, "cpu")[grid](*copy)
            if not apart(emulated, ours):
                equal += 1
                continue
            differ += 1
            far, near = apart(emulated, tiles), apart(ours, tiles)
            right += near <= min(far, 1e-4)
            print(
                f"{target} {name}: {apart(emulated, ours):.3g} apart; from TTIR's result: "
                f"theirs {far:.3g}, ours {near:.3g}",
                flush=True,
            )
    said = (
        f"{equal} launches leave the same bytes; of {differ} that differ {right} are as near to TTIR's "
        f"result here (within 1e-4) as there or nearer; {refused} are not run there"
    )
    print(said)
    if options.write:
        what = f"launches for {options.targets.replace(',', ', ')} beside tinygrad's emulator"
        command = (
            f"python tests/amd/emulated.py TINYGRAD --targets {options.targets} --rounds {options.rounds}"
        )
        results.record("amd", f"emulated {options.targets}", what, command, {"result": said})
    return 0


if __name__ == "__main__":
    sys.exit(main())
