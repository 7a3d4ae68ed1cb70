"""TMA copies in im2col mode on hardware and on the engines: are the bytes the same?

  im2col.py gpu OUT    runs every case on the GPU (libcuda alone: no Triton, no build): OUT/im2col.txt,
                       to be the golden file tests/golden/ptx-hw/im2col.txt
  im2col.py check      both engines against that golden (no GPU)
  im2col.py model      the rules of doc/internals/simt.md, written out below in Python, against it

A case is a tensor, a map and one copy. Elements say where they lie, so a line of the golden can be read: the
case, the hash of all bytes, and for each pixel of the column which pixel of the tensor it is (n*D*H*W + ...,
`.` for a pixel outside of it). Lists are outermost first, as Triton writes them.
"""

import argparse
import ctypes
import hashlib
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from libcuda import Cuda, CudaError

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/ptx-hw/im2col.txt"
# The driver's number of a type, the instruction's, and what NumPy calls its bits.
TYPES = {
    "u8": (0, 0, np.uint8), "u16": (1, 1, np.uint16), "s32": (3, 3, np.int32), "f16": (6, 6, np.uint16),
    "f32": (7, 7, np.uint32), "f64": (8, 9, np.uint64), "bf16": (9, 10, np.uint16),
    "tf32": (11, 11, np.uint32),
}  # fmt: skip
SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
REFUSED = "refused by cuTensorMapEncodeIm2col with 1"  # CUDA_ERROR_INVALID_VALUE
FAULT = "faults with 715"  # CUDA_ERROR_ILLEGAL_INSTRUCTION
CORNER_BITS = {3: 16, 4: 8, 5: 5}
NAN = {"f16": 0x7FF7, "bf16": 0x7FF7, "f32": 0x7FF77FF7, "tf32": 0x7FF77FF7, "f64": 0x7FF77FF77FF77FF7}
ROOM = 1 << 15  # bytes of shared memory that a case sees


@dataclass(frozen=True)
class Case:
    shape: tuple  # N, [D, [H,]] W, C
    lower: tuple  # [D, [H,]] W
    upper: tuple
    steps: tuple  # element strides, as many as the shape has
    pixels: int
    channels: int
    at: tuple  # coordinates, as many as the shape has
    offsets: tuple  # as many as corners
    type: str = "s32"
    swizzle: int = 0  # bytes
    nan: int = 0

    def __str__(self):
        say = lambda v: ",".join(map(str, v)) if isinstance(v, tuple) else str(v)  # noqa: E731
        return " ".join(f"{f.name}={say(getattr(self, f.name))}" for f in fields(self))

    @staticmethod
    def parse(text):
        read = {}
        for name, value in (word.split("=") for word in text.split()):
            many = name in ("shape", "lower", "upper", "steps", "at", "offsets")
            read[name] = (
                tuple(map(int, value.split(","))) if many else value if name == "type" else int(value)
            )
        return Case(**read)

    @property
    def dtype(self):
        return np.dtype(TYPES[self.type][2])

    @property
    def bytes(self):
        return self.pixels * self.channels * self.dtype.itemsize

    @property
    def fits(self):
        """Whether the hardware has columns of this size."""
        row = self.channels * self.dtype.itemsize
        return self.pixels <= 1024 and row % 16 == 0 and (not self.swizzle or row <= self.swizzle)

    def tensor(self):
        """Numbers from 1 on (in small types from 1 to 251), as floats where the type is one."""
        numbers = np.arange(1, int(np.prod(self.shape)) + 1)
        if self.dtype.itemsize < 4:
            numbers = numbers % 251 + 1
        if self.type in ("f16", "f32", "f64"):
            numbers = numbers.astype(f"float{8 * self.dtype.itemsize}").view(self.dtype)
        elif self.type in ("bf16", "tf32"):
            numbers = numbers.astype(np.float32).view(np.uint32) >> (16 if self.type == "bf16" else 0)
        return numbers.astype(self.dtype).reshape(self.shape)

    def numbers(self, bits):
        if self.type == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32)
        return bits.view(f"float{8 * self.dtype.itemsize}")

    def places(self):
        """Returns the places of the column's bytes in shared memory: the swizzle."""
        at = np.arange(self.bytes)
        return at ^ (at >> 3 & {0: 0, 32: 0x10, 64: 0x30, 128: 0x70}[self.swizzle])

    def rows(self, numbers):
        """Returns what a column of pixels of the tensor holds; None: one outside of it."""
        fill = NAN.get(self.type, 0) if self.nan else 0
        rows = np.full((len(numbers), self.channels), fill, self.dtype)
        tensor = self.tensor().reshape(-1, self.shape[-1])
        if self.type == "tf32":  # 10 bits of the fraction, to nearest even
            tensor = (tensor + 0xFFF + (tensor >> 13 & 1)) & 0xFFFFE000
        first = self.at[-1]
        low, high = max(0, first), min(self.shape[-1], first + self.channels)
        for row, number in zip(rows, numbers, strict=True):
            if number is not None and low < high:
                row[low - first : high - first] = tensor[number, low:high]
        return rows

    def answer(self, shared):
        """The golden's words on what the copy left in shared memory."""
        rows = shared[self.places()].view(self.dtype).reshape(self.pixels, self.channels)
        found = {self.rows([None]).tobytes(): "."}
        for number in range(int(np.prod(self.shape[:-1]))):
            found.setdefault(self.rows([number]).tobytes(), str(number))
        said = [found.get(row.tobytes(), "?") for row in rows]
        beyond = "" if (shared[self.bytes :] == 0xEE).all() else " and wrote behind it"
        return f"{hashlib.sha256(shared.tobytes()).hexdigest()[:16]} {','.join(said)}{beyond}"


def cases():
    """A fixed list: what convolutions do, what descriptors may say, and what lies at and beyond the edges."""
    rng = np.random.default_rng(7)
    draw = lambda low, high: int(rng.integers(low, high + 1))  # noqa: E731
    out = []
    for number in range(420):
        kind = number % 7
        rank = 3 + number // 7 % 3
        space = rank - 2
        limit = {3: 9, 4: 6, 5: 4}[rank]
        shape = (draw(1, 4), *(draw(2, limit) for _ in range(space)), 96 if kind == 3 else 16)
        lower = tuple(draw(-2, 1) for _ in range(space))
        upper = tuple(draw(-2, 1) for _ in range(space))
        steps, wide = (1,) * rank, shape[1:-1]
        if kind in (1, 5):  # strides of the convolution
            steps = (1, *(draw(1, 3) for _ in range(space)), 1)
        if any(w + u - lo <= 0 for w, u, lo in zip(wide, upper, lower, strict=True)):
            lower = upper = (0,) * space
        spot = tuple(lo + draw(0, w + u - lo - 1) for w, u, lo in zip(wide, upper, lower, strict=True))
        at = (draw(0, (shape[0] - 1) // 2), *spot, 0)
        offsets = tuple(draw(0, 5 - rank + 1) for _ in lower)
        pixels, channels, kind_of, swizzle, nan = 24, 4, "s32", 0, 0
        if kind == 2:  # starts anywhere, outside of the box too
            at = (draw(-1, shape[0]), *(draw(-4, w + 4) for w in wide), 0)
        if kind == 3:  # channels at the tensor's edges, swizzles
            kind_of = list(TYPES)[number // 21 % 8]
            swizzle = (0, 32, 64, 128)[number // 7 % 4]
            channels = (swizzle or 16) // np.dtype(TYPES[kind_of][2]).itemsize
            nan = int(kind_of in NAN) * draw(0, 1)
            at = (*at[:-1], draw(-2, 6) * 16 // np.dtype(TYPES[kind_of][2]).itemsize)
        if kind == 4:  # large offsets
            top = 2 ** CORNER_BITS[rank]
            offsets = tuple((0, 1, 2, 5, top // 2 - 1, top // 2, top - 2, top - 1)[draw(0, 7)] for _ in lower)
        if kind == 5:  # strides of every dimension, and starts that they do not meet
            steps = (draw(1, 2), *(draw(1, (3, 8)[number % 2]) for _ in lower), 1)
            at = (at[0], *(lo + draw(0, 5) for lo in lower), 0)
        if kind == 6:  # columns of any length
            pixels = (1, 2, 3, 7, 16, 33, 100, 256, 300, 512)[number // 7 % 10]
        out.append(Case(shape, lower, upper, steps, pixels, channels, at, offsets, kind_of, swizzle, nan))
    far = Case((2, 4, 4, 16), (-1, -1), (1, 1), (1, 1, 1, 1), 24, 4, (0, -1, -1, 0), (0, 0))
    change = lambda **what: out.append(Case(**{**far.__dict__, **what}))  # noqa: E731
    for offsets in ((127, 0), (128, 0), (255, 255), (256, 1), (65535, 65535), (0, 32768)):
        change(offsets=offsets)
    for corners in ((0, -4), (0, -3), (1, -3), (2, -2), (3, 0), (4, 0), (4, 1), (127, 127), (-128, -128)):
        change(lower=(corners[0],) * 2, upper=(corners[1],) * 2)
    for steps in ((1, 1, 1, 2), (8, 8, 8, 1), (1, 9, 1, 1), (1, 0, 1, 1)):
        change(steps=steps)
    for at in (
        (2, 0, 0, 0),
        (-1, 0, 0, 0),
        (-2147483648, 0, 0, 0),
        (0, 2147483647, 0, 0),
        (0, 0, -2147483648, 0),
    ):
        change(at=at)
    change(pixels=1024), change(pixels=1025), change(channels=256, pixels=8), change(channels=3)
    change(at=(0, 0, 0, 1)), change(at=(0, 0, 0, 14)), change(at=(0, 0, 0, -3))
    change(channels=2), change(channels=64, swizzle=128), change(channels=32, swizzle=128, pixels=96)
    return out


def numbered(case):
    """Numbers of the column's pixels by the rules that the engines follow, None where one is outside."""
    spatial = case.shape[1:-1]
    batch, *spot = case.at[:-1]
    offsets = [o % 2 ** CORNER_BITS[len(case.shape)] for o in case.offsets]
    out = []
    for _ in range(case.pixels):
        place = [s + o for s, o in zip(spot, offsets, strict=True)]
        inside = 0 <= batch < case.shape[0] and all(0 <= p < s for p, s in zip(place, spatial, strict=True))
        number = batch
        for p, s in zip(place, spatial, strict=True):
            number = number * s + p
        out.append(number if inside else None)
        for d in reversed(range(len(spot))):
            spot[d] += case.steps[1 + d]
            if spot[d] < spatial[d] + case.upper[d]:
                break
            spot[d] = case.lower[d]
        else:
            batch += case.steps[0]
    return out


def by_model(case):
    """The rules as they stand in doc/internals/simt.md."""
    sizes, space = case.shape[1:-1], range(len(case.lower))
    edges = [size + upper for size, upper in zip(sizes, case.upper, strict=True)]
    if (
        any(edges[d] <= case.lower[d] for d in space)
        or not all(1 <= step <= 8 for step in case.steps)
        or not case.fits
    ):
        return REFUSED
    if any(not case.lower[d] <= case.at[1 + d] < edges[d] for d in space):
        return FAULT
    if case.at[-1] * case.dtype.itemsize % 16:
        return FAULT
    shared = np.full(ROOM, 0xEE, np.uint8)
    shared[case.places()] = case.rows(numbered(case)).reshape(-1).view(np.uint8)
    return case.answer(shared)


# Running


def module(rank):
    """One thread copies a column to shared memory and all of that to `out`, where it says first whether the
    bytes came."""
    count = rank - 2
    loads = "".join(f"  ld.param.u32 %r{10 + i}, [at{i}];\n" for i in range(rank))
    loads += "".join(f"  ld.param.u16 %h{i}, [offset{i}];\n" for i in range(count))
    params = "".join(f", .param .u32 at{i}" for i in range(rank))
    params += "".join(f", .param .u16 offset{i}" for i in range(count))
    at = ", ".join(f"%r{10 + i}" for i in range(rank))
    offsets = ", ".join(f"%h{i}" for i in range(count))
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 bytes{params})
.reqntid 1
{{
  .reg .pred %p<4>;
  .reg .b16 %h<4>;
  .reg .b32 %r<40>;
  .reg .b64 %rd<8>;
  .shared .align 1024 .b8 room[{ROOM}];
  .shared .align 8 .b8 bar[8];
  ld.param.u64 %rd0, [out];
  ld.param.u32 %r0, [bytes];
{loads}  mov.u64 %rd1, map;
  cvta.param.u64 %rd2, %rd1;
  mov.u32 %r1, room;
  mov.u32 %r2, bar;
  mov.u32 %r3, 0;
clear:
  add.u32 %r4, %r1, %r3;
  st.shared.b32 [%r4], 0xEEEEEEEE;
  add.u32 %r3, %r3, 4;
  setp.lt.u32 %p0, %r3, {ROOM};
  @%p0 bra clear;
  mbarrier.init.shared.b64 [%r2], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r2], %r0;
  {copy} [%r1], [%rd2, {{{at}}}], [%r2], {{{offsets}}};
  mov.u32 %r3, 0;
wait:
  mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p0, %r3, 1000;
  not.pred %p2, %p1;
  and.pred %p0, %p0, %p2;
  @%p0 bra wait;
  selp.u32 %r5, 1, 0, %p1;
  st.global.u32 [%rd0], %r5;
  mov.u32 %r3, 0;
copy:
  add.u32 %r4, %r1, %r3;
  ld.shared.b32 %r5, [%r4];
  cvt.u64.u32 %rd3, %r3;
  add.s64 %rd4, %rd0, %rd3;
  st.global.b32 [%rd4+16], %r5;
  add.u32 %r3, %r3, 4;
  setp.lt.u32 %p0, %r3, {ROOM};
  @%p0 bra copy;
  ret;
}}
"""


class Gpu:
    def __init__(self):
        self.cuda = Cuda()

    def encode(self, case, address):
        """The CUtensorMap, or the driver's error."""
        width, rank = case.dtype.itemsize, len(case.shape)
        inner = tuple(reversed(case.shape))
        strides = [width * int(np.prod(inner[: i + 1])) for i in range(rank - 1)]
        block = (ctypes.c_byte * 192)()
        at = (ctypes.addressof(block) + 63) // 64 * 64
        ints = lambda kind, values: (kind * 5)(*values)  # noqa: E731
        status = self.cuda.lib.cuTensorMapEncodeIm2col(
            ctypes.c_void_p(at), TYPES[case.type][0], rank, address, ints(ctypes.c_uint64, inner),
            ints(ctypes.c_uint64, strides), ints(ctypes.c_int, reversed(case.lower)),
            ints(ctypes.c_int, reversed(case.upper)), case.channels, case.pixels,
            ints(ctypes.c_uint32, reversed(case.steps)), 0, SWIZZLES[case.swizzle], 0, case.nan,
        )  # fmt: skip
        return status, (ctypes.c_byte * 128).from_address(at), block

    def run(self, case):
        out, in_ = np.zeros(16 + ROOM, np.uint8), self.cuda.put(case.tensor())
        status, map_, _held = self.encode(case, in_)
        if status:
            return f"refused by cuTensorMapEncodeIm2col with {status}"
        coordinates = [ctypes.c_int32(v) for v in reversed(case.at)]
        offsets = [ctypes.c_uint16(v) for v in reversed(case.offsets)]
        try:
            self.cuda.run(module(len(case.shape)), 1, 1, map_, out, case.bytes, *coordinates, *offsets)
        except CudaError as error:
            if error.name != "cuCtxSynchronize":
                raise
            return f"faults with {error.status}"
        self.cuda.call("cuMemFree_v2", in_)
        return case.answer(out[16:]) if out[0] else "not all bytes came"


@dataclass
class Tiled:
    base: np.ndarray
    block_shape: tuple
    shape: tuple
    strides: tuple
    padding: str = "zero"


@dataclass
class Im2col(Tiled):
    element_strides: tuple = ()
    pixel_box_lower_corner: tuple = ()
    pixel_box_upper_corner: tuple = ()
    round_f32_to_tf32: bool = False


def descriptor_of(case, data):
    strides = tuple(s // data.itemsize for s in data.strides)
    padding = "nan" if case.nan else "zero"
    block = (case.pixels, case.channels)
    return Im2col(
        data, block, case.shape, strides, padding, case.steps, case.lower, case.upper, case.type == "tf32"
    )


def named(error):
    """The hardware's word for an error of an engine."""
    if "the column begins" in str(error):
        return FAULT
    refusals = ("box is empty", "element stride", "1 to 1024", "not a multiple of 16", "swizzle's")
    return REFUSED if any(words in str(error) for words in refusals) else str(error)


class Simt:
    def run(self, case):
        from triton_runner import _core
        from triton_runner._base.errors import DiagnosticError, KernelTrap

        rank, out = len(case.shape), np.zeros(16 + ROOM, np.uint8)
        params = [("map", "tensordesc", "tensordesc_im2col", 0), ("out", "pointer", "*u8", 64)]
        params += [(f"p{i}", "integer", "i32", 32) for i in range(1 + rank)]
        params += [(f"offset{i}", "integer", "u16", 16) for i in range(rank - 2)]
        meta = {
            "is_im2col": True,
            "swizzle": SWIZZLES[case.swizzle],
            "elem_size": case.dtype.itemsize,
            "elem_type": TYPES[case.type][1],
            "block_size": [case.pixels, case.channels],
        }
        kernel = _core.load_simt(module(rank), "im2col.ptx", "k", params, {"tensordesc_meta": [meta]})
        values = [
            descriptor_of(case, case.tensor()),
            out,
            case.bytes,
            *reversed(case.at),
            *reversed(case.offsets),
        ]
        try:
            kernel.launch((1,), [(name, value) for (name, *_), value in zip(params, values, strict=True)])
        except (DiagnosticError, KernelTrap) as error:
            return named(error)
        return case.answer(out[16:]) if out[0] else "not all bytes came"


class Tile:
    """Its columns have powers of two of pixels, and no limits. How rows lie in memory is not seen."""

    @staticmethod
    def sizes(name, rank):
        """The parameters behind a descriptor."""
        shape = "".join(f", %{name}{i}: i32" for i in range(rank))
        return shape + "".join(f", %{name}s{i}: i64" for i in range(rank))

    def text(self, case, pixels):
        rank, element = (
            len(case.shape),
            {"u8": "i8", "u16": "i16", "s32": "i32", "tf32": "f32"}.get(case.type, case.type),
        )
        block = f"{pixels}x{case.channels}x{element}, #flat"
        memory, bar = f"!ttg.memdesc<{block}, #smem, mutable>", "!ttg.memdesc<1xi64, #one, #smem, mutable>"
        map_, out = f"!ttng.tensordesc_im2col<{block}>", f"!tt.tensordesc<{block}>"
        places = "".join(f", %at{i}: i32" for i in range(rank))
        places += "".join(f", %o{i}: i16" for i in range(rank - 2))
        at = ", ".join(f"%at{i}" for i in range(rank))
        offsets = ", ".join(f"%o{i}" for i in range(rank - 2))
        return f"""
#flat = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#one = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @k(%map: {map_}{self.sizes("a", rank)}, %out: {out}{self.sizes("b", 2)}{places}) {{
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %b = ttg.local_alloc : () -> {bar}
    ttng.init_barrier %b, 1 : {bar}
    %m = ttg.local_alloc : () -> {memory}
    ttng.barrier_expect %b, {pixels * case.channels * case.dtype.itemsize}, %true : {bar}
    ttng.async_tma_copy_global_to_local %map[{at}] offsets = [{offsets}] %m, %b, %true
        : {map_}, {bar} -> {memory}
    ttng.wait_barrier %b, %zero : {bar}
    ttng.async_tma_copy_local_to_global %out[%zero, %zero] %m : {out}, {memory}
    tt.return
  }}
}}
"""

    def run(self, case):
        import triton_runner
        from triton_runner._base.errors import DiagnosticError, KernelTrap

        if not case.fits:
            return None
        pixels = 1 << (case.pixels - 1).bit_length()
        out = np.zeros((pixels, case.channels), case.dtype)
        try:
            kernel = triton_runner.load(self.text(case, pixels), device="cpu")
            to = Tiled(out, out.shape, out.shape, (case.channels, 1))
            kernel[(1,)](descriptor_of(case, case.tensor()), to, *case.at, *case.offsets)
        except (DiagnosticError, KernelTrap) as error:
            return named(error)
        if case.nan:  # any NaN
            out[np.isnan(case.numbers(out))] = NAN[case.type]
        shared = np.full(ROOM, 0xEE, np.uint8)
        shared[case.places()] = out[: case.pixels].reshape(-1).view(np.uint8)
        return case.answer(shared)


def on_gpu(folder):
    """A fault ends a process's context: the cases behind it run in a process of their own."""
    lines, todo = [], len(cases())
    while len(lines) < todo:
        command = [sys.executable, __file__, "part", str(len(lines))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        new = done.stdout.splitlines()
        if not new:
            raise SystemExit(done.stderr)
        lines += new
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / GOLDEN.name).write_text("\n".join(lines) + "\n")


def compare(who, run):
    """Prints where `run` does not give hardware's answer; it gives None for what it does not take."""
    wrong = same = 0
    for line in GOLDEN.read_text().splitlines():
        text, wanted = line.split(" -> ")
        got = run(Case.parse(text))
        same += got == wanted
        if got not in (wanted, None):
            wrong += 1
            print(f"{text}\n  hardware: {wanted}\n  {who}: {got}")
    print(f"{who}: {same} cases give hardware's answers, {wrong} do not")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["gpu", "part", "check", "model"])
    parser.add_argument("argument", nargs="?")
    args = parser.parse_args()
    if args.what == "gpu":
        return on_gpu(args.argument)
    if args.what == "part":
        gpu = Gpu()
        for case in cases()[int(args.argument) :]:
            answer = gpu.run(case)
            print(f"{case} -> {answer}", flush=True)
            if answer.startswith("faults"):
                break
        return 0
    if args.what == "model":
        return compare("the model", by_model)
    return compare("SIMT engine", Simt().run) | compare("tile engine", Tile().run)


if __name__ == "__main__":
    sys.exit(main())
