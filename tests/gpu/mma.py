"""Tensor-core instructions on hardware and on the SIMT engine: are the bits the same?

  mma.py gpu OUT            runs every case on the GPU (libcuda alone: no Triton, no build): OUT/mma.npz
  mma.py cpu OUT            the same on the engine: OUT/mma_cpu.npz
  mma.py compare A.npz B.npz
  mma.py fit A.npz          tries models (block, fraction bits, ...) on hardware's answers, for cases with f32 sums
  mma.py golden A.npz       writes tests/golden/ptx-hw/mma.txt from hardware's answers
  mma.py check              the engine against that golden (no GPU)
  mma.py ptxas              which cases Triton's ptxas refuses

--only REGEX takes the cases whose name matches. A case is one instruction on 256 sets of operands from fixed seeds:
all bits random (infinities and NaNs among them), exponents near each other and far apart, sums that cancel, a few
large terms among zeros, subnormals, largest values, powers of two.
"""

# ruff: noqa: E501  (lines of PTX)
import argparse
import hashlib
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from libcuda import Cuda

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/ptx-hw/mma.txt"
HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"
SETS = 256

# --- operands -------------------------------------------------------------------------------------------------

BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
    "f64": 64, "f32": 32, "s32": 32,
}  # fmt: skip
FIELDS = {
    "f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "e4m3": (4, 3), "e5m2": (5, 2), "f32": (8, 23),
    "f64": (11, 52),
}  # fmt: skip


def elements(kind, style, rng, shape):
    """Codes of elements of a float type, in a style."""
    exponent_bits, mantissa_bits = FIELDS[kind]
    top = (1 << exponent_bits) - 1
    bias = top >> 1
    sign = rng.integers(0, 2, shape, dtype=np.uint64)
    mantissa = rng.integers(0, 1 << mantissa_bits, shape, dtype=np.uint64)
    largest = top if kind == "e4m3" else top - 1  # exponent field of the largest finite numbers
    span = min(3, bias - 1)
    near = rng.integers(bias - span, bias + span + 1, shape, dtype=np.uint64)
    far = rng.integers(0, largest + 1, shape, dtype=np.uint64)
    exponent = near
    if style == 0:
        exponent = rng.integers(0, top + 1, shape, dtype=np.uint64)
    elif style in (2, 4):
        exponent = far
    elif style == 5:
        mantissa = np.full(shape, (1 << mantissa_bits) - 1, np.uint64)
        exponent = np.where(rng.integers(0, 8, shape) == 0, np.uint64(bias - 1), np.uint64(bias))
    elif style == 6:
        exponent = np.where(
            rng.integers(0, 4, shape) > 0, np.uint64(0), rng.integers(0, 3, shape, dtype=np.uint64)
        )
    elif style == 7:
        mantissa = np.zeros(shape, np.uint64)
        exponent = far
    code = (
        (sign << np.uint64(exponent_bits + mantissa_bits)) | (exponent << np.uint64(mantissa_bits)) | mantissa
    )
    if style not in (0,) and kind == "e4m3":  # 0x7f is NaN
        code = np.where((code & np.uint64(0x7F)) == 0x7F, code ^ np.uint64(1), code)
    if style == 4:
        code = np.where(rng.integers(0, 4, shape) > 0, np.uint64(0), code)
    return code


def words(kind, style, rng, count, cancel=None):
    """`count` registers of a warp, [count][32] of u64 (f64) or u32; `cancel`: the same words again, every other
    element negated and moved by one unit in the last place, so that products of neighbours nearly cancel."""
    bits = BITS[kind]
    if kind not in FIELDS:
        return rng.integers(0, 1 << 32, (count, 32), dtype=np.uint64)
    per = max(1, 32 // bits)
    if style == 3 and per > 1:
        half = elements(kind, 1, rng, (count, 32, per // 2))
        if cancel:
            other = half ^ np.uint64(1 << (bits - 1)) ^ rng.integers(0, 2, half.shape, dtype=np.uint64)
            if kind == "e4m3":
                other = np.where((other & np.uint64(0x7F)) == 0x7F, other ^ np.uint64(1), other)
        else:
            other = half
        codes = np.stack([half, other], -1).reshape(count, 32, per)
    else:
        codes = elements(kind, 1 if style == 3 else style, rng, (count, 32, per))
    out = np.zeros((count, 32), np.uint64)
    for i in range(per):
        out |= codes[:, :, i] << np.uint64(i * bits if per > 1 else 0)
    return out


def sums(kind, style, rng, count):
    if kind == "f16":
        low = elements("f16", style, rng, (count, 32))
        return low | (elements("f16", style, rng, (count, 32)) << np.uint64(16))
    if kind == "s32":
        return rng.integers(0, 1 << 32, (count, 32), dtype=np.uint64)
    code = elements(kind, style, rng, (count, 32))
    if style in (3, 4) and kind == "f32":
        code = np.where(rng.integers(0, 2, code.shape) > 0, np.uint64(0), code)
    return code


def metadata(kind, rng, count):
    """Registers of metadata: each four bits name two places of four, ascending (tf32: one of two)."""
    pairs = [0x4, 0xE] if kind == "tf32" else [a | b << 2 for a in range(4) for b in range(a + 1, 4)]
    chosen = np.array(pairs, np.uint64)[rng.integers(0, len(pairs), (count, 32, 8))]
    return sum(chosen[:, :, i] << np.uint64(4 * i) for i in range(8))


# --- cases ----------------------------------------------------------------------------------------------------


@dataclass
class Case:
    name: str
    text: str  # with %d, %a, %b, %c, %e for the operands
    d: str
    a: str
    b: str
    counts: dict = field(default_factory=dict)  # registers of d, a, b, c, e
    k: int = 0
    wide: bool = False  # registers of 64 bits
    wgmma: bool = False

    @property
    def threads(self):
        return 128 if self.wgmma else 32

    def inputs(self):
        """[SETS][registers][threads], u32 or u64."""
        rng = np.random.default_rng([*self.name.encode()])
        sets = []
        for s in range(SETS):
            style = s % 8
            warps = []
            shared_b = words(self.b, style, rng, self.counts["b"], cancel=True)
            for _ in range(self.threads // 32):
                parts = [
                    words(self.a, style, rng, self.counts["a"]),
                    shared_b,
                    sums(self.d, style, rng, self.counts["d"]),
                ]
                if "e" in self.counts:
                    parts.append(metadata(self.a, rng, 1))
                warps.append(np.concatenate(parts))
            sets.append(np.concatenate(warps, 1))
        return np.array(sets).astype(np.uint64 if self.wide else np.uint32)

    def module(self):
        bits = 64 if self.wide else 32
        size = bits // 8
        n = {key: self.counts.get(key, 0) for key in "abcde"}
        names = {key: [f"%{key}{i}" for i in range(n[key])] for key in "abe"}
        names["d"] = [f"%d{i}" for i in range(n["d"])]
        rows = names["a"] + names["b"] + names["d"] + names["e"]
        t = HEAD + ".visible .entry k(.param .u64 .ptr .global in_, .param .u64 .ptr .global out_)\n"
        t += f".reqntid {self.threads}\n{{\n.reg .b64 %in, %out, %w, %desc; .reg .b32 %i, %j, %s; .reg .pred %p;\n"
        t += ".shared .align 1024 .b8 buffer[1024];\n"
        t += f".reg .b{bits} " + ", ".join(rows) + ";\n"
        t += "ld.param.u64 %in, [in_]; ld.param.u64 %out, [out_]; mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x;\n"
        line = self.threads * size
        t += f"mul.wide.u32 %w, %i, {len(rows) * line}; add.u64 %in, %in, %w; mul.wide.u32 %w, %j, {size}; add.u64 %in, %in, %w;\n"
        t += f"mul.wide.u32 %w, %i, {n['d'] * line}; add.u64 %out, %out, %w; mul.wide.u32 %w, %j, {size}; add.u64 %out, %out, %w;\n"
        for i, name in enumerate(rows):
            t += f"ld.global.b{bits} {name}, [%in+{i * line}];\n"
        vector = {key: "{" + ", ".join(v) + "}" for key, v in names.items()}
        text = self.text
        if self.wgmma:  # B is in shared memory: two matrices of 8 rows of 16 bytes
            t += "mov.u32 %s, buffer; shl.b32 %i, %j, 2; add.u32 %s, %s, %i;\nsetp.lt.u32 %p, %j, 32;\n"
            for i, name in enumerate(names["b"]):
                t += f"@%p st.shared.b32 [%s+{128 * i}], {name};\n"
            t += "fence.proxy.async.shared::cta; bar.sync 0;\n"
            t += "mov.u32 %s, buffer; shr.u32 %s, %s, 4; and.b32 %s, %s, 16383; cvt.u64.u32 %desc, %s;\n"
            t += f"or.b64 %desc, %desc, {(8 << 16) | (16 << 32)};\n"
            t += "wgmma.fence.sync.aligned;\n"
            text = text.replace("%b", "%desc")
        for key in "dab":
            text = re.sub(f"%{key}(?![a-z])", vector[key], text)
        if n["e"]:
            text = text.replace("%e", "%e0")
        t += text + "\n"
        if self.wgmma:
            t += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
        for i, name in enumerate(names["d"]):
            t += f"st.global.b{bits} [%out+{i * line}], {name};\n"
        return t + "ret;\n}\n"


def cases():
    out = []

    def mma(shape, d, a, b, extra="", satfinite=False, sparse=0, selector=0, kind=""):
        m, k = int(re.match(r"m(\d+)", shape)[1]), int(re.search(r"k(\d+)", shape)[1])
        bits = BITS[a]
        wide = a == "f64"
        register = 256 if wide else 128  # bits of a row in a register
        counts = {"a": m // 8 * k * bits // register // (2 if sparse else 1), "b": k * bits // register}
        counts["d"] = m // 8 if d == "f16" else m // 4
        if sparse:
            counts["e"] = 1
        head = "mma.sp::ordered_metadata" if sparse else "mma"
        name = f"{head}.sync.aligned.{shape}.row.col{'.satfinite' if satfinite else ''}{kind}.{d}.{a}.{b}.{d}{extra}"
        text = f"{name} %d, %a, %b, %d" + (f", %e, {selector}" if sparse else "") + ";"
        out.append(Case(name + (f" selector {selector}" if sparse else ""), text, d, a, b, counts, k, wide))

    for d in ("f32", "f16"):
        for shape in ("m16n8k8", "m16n8k16"):
            mma(shape, d, "f16", "f16")
    for shape in ("m16n8k8", "m16n8k16"):
        mma(shape, "f32", "bf16", "bf16")
    for shape in ("m16n8k4", "m16n8k8"):
        mma(shape, "f32", "tf32", "tf32")
    for d in ("f32", "f16"):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                for shape in ("m16n8k16", "m16n8k32"):
                    mma(shape, d, a, b)
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for shape in ("m8n8k16", "m16n8k16", "m16n8k32"):
                mma(shape, "s32", a, b, satfinite=a != b)
            for shape in ("m8n8k32", "m16n8k32", "m16n8k64"):
                mma(shape, "s32", a[0] + "4", b[0] + "4", satfinite=a != b)
    for op in (".and.popc", ".xor.popc"):
        for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
            mma(shape, "s32", "b1", "b1", extra=op)
    for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"):
        mma(shape, "f64", "f64", "f64")
    for selector in range(4):
        mma("m16n8k16", "f32", "f16", "f16", sparse=1, selector=selector)
    for selector in range(2):
        mma("m16n8k32", "f32", "f16", "f16", sparse=1, selector=selector)
        mma("m16n8k8", "f32", "tf32", "tf32", sparse=1, selector=selector)
        mma("m16n8k16", "f32", "tf32", "tf32", sparse=1, selector=selector)
        mma("m16n8k32", "s32", "s8", "s8", sparse=1, selector=selector)
        mma("m16n8k64", "s32", "s4", "s4", sparse=1, selector=selector)
    mma("m16n8k64", "s32", "s8", "u8", sparse=1)
    mma("m16n8k128", "s32", "u4", "s4", sparse=1)
    mma("m16n8k64", "f32", "e4m3", "e4m3", sparse=1)

    def wgmma(k, d, a, b, tail):
        counts = {"a": 4, "b": 2, "d": 2 if d == "f16" else 4}
        name = (
            f"wgmma.mma_async.sync.aligned.m64n8k{k}.{d}.{a}.{b}"
            if a != "b1"
            else f"wgmma.mma_async.sync.aligned.m64n8k{k}.and.popc.{d}.{a}.{b}"
        )
        if a == "b1":
            name = f"wgmma.mma_async.sync.aligned.m64n8k{k}.{d}.{a}.{b}.and.popc"
        out.append(
            Case(
                name + (" " + tail if tail != "1, 1" else ""),
                f"{name} %d, %a, %b, {tail};",
                d,
                a,
                b,
                counts,
                k,
                wgmma=True,
            )
        )

    for d in ("f32", "f16"):
        wgmma(16, d, "f16", "f16", "1, 1, 1, 0")
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                wgmma(32, d, a, b, "1, 1, 1")
    wgmma(16, "f32", "f16", "f16", "1, -1, 1, 0")
    wgmma(16, "f32", "bf16", "bf16", "1, 1, 1, 0")
    wgmma(16, "f32", "bf16", "bf16", "0, 1, -1, 0")
    wgmma(8, "f32", "tf32", "tf32", "1, 1, 1")
    for a in ("s8", "u8"):
        wgmma(32, "s32", a, a, "1")
    wgmma(256, "s32", "b1", "b1", "1")
    return out


# --- running --------------------------------------------------------------------------------------------------


class Gpu:
    def __init__(self):
        self.cuda = Cuda()

    def run(self, case):
        data = case.inputs()
        out = np.zeros((SETS, case.counts["d"], case.threads), data.dtype)
        self.cuda.run(case.module(), SETS, case.threads, data, out)
        return out


class Engine:
    def run(self, case):
        import triton_runner

        data = case.inputs()
        out = np.zeros((SETS, case.counts["d"], case.threads), data.dtype)
        triton_runner.load(case.module(), device="cpu")[(SETS,)](data, out)
        return out


class Assembler:
    def __init__(self):
        from instructions import Ptxas

        self.ptxas = Ptxas()

    def run(self, case):
        import subprocess
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "k.ptx"
            file.write_text(case.module())
            command = [self.ptxas.path, "-arch=sm_90a", "-O0", file, "-o", Path(folder) / "k.cubin"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr.strip())
        return None


def run_all(machine, chosen):
    results, refused = {}, {}
    for case in chosen:
        try:
            results[case.name] = machine.run(case)
        except Exception as error:  # the driver, ptxas and the engine each have their own
            refused[case.name] = str(error).strip()[:400]
    for name, why in refused.items():
        print(f"{name}: {why}")
    print(f"{len(results)} cases ran, {len(refused)} did not")
    return results, refused


def report(expected, actual, limit=3):
    """Prints the cases that differ; returns how many do or are missing."""
    bad = same = 0
    for case in cases():
        if case.name not in expected:
            continue
        if case.name not in actual:
            bad += 1
            print(f"{case.name}: not executed")
            continue
        e, a = expected[case.name], actual[case.name]
        wrong = np.argwhere(e != a)
        if len(wrong) == 0:
            same += 1
            continue
        bad += 1
        styles = np.bincount(wrong[:, 0] % 8, minlength=8)
        print(f"{case.name}: {len(wrong)} of {e.size} registers differ; by style {styles.tolist()}")
        for s, r, lane in wrong[:limit]:
            print(
                f"    set {s} register {r} lane {lane}: expected {int(e[s, r, lane]):#x} has {int(a[s, r, lane]):#x}"
            )
    print(f"{same} cases are the same, {bad} are not")
    return bad


def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


# --- models ---------------------------------------------------------------------------------------------------


def decode(kind, code):
    """(negative, significand, exponent of its last bit, exponent that alignment looks at) or "nan", "inf", "-inf"."""
    exponent_bits, mantissa_bits = FIELDS[kind]
    if kind == "tf32":
        code, mantissa_bits = code >> 13, 10
    top, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 1
    mantissa, exponent = code & ((1 << mantissa_bits) - 1), code >> mantissa_bits & top
    negative = code >> (exponent_bits + mantissa_bits) & 1
    if kind == "e4m3":
        if exponent == top and mantissa == 7:
            return "nan"
    elif exponent == top:
        return "nan" if mantissa else ("-inf" if negative else "inf")
    e = max(exponent, 1) - bias
    return negative, mantissa | ((exponent != 0) << mantissa_bits), e - mantissa_bits, e


def step(products, c, fraction, result, lowest):
    """One block of the model: products and c are (negative, significand, last, lead)."""
    terms = [p for p in [*products, c] if p[1]]
    largest = max([lowest, *(p[3] for p in terms)])
    unit = largest - fraction
    total = 0
    for negative, significand, last, _ in terms:
        shift = last - unit
        value = significand << shift if shift >= 0 else significand >> -shift
        total += -value if negative else value
    negative, total = total < 0, abs(total)
    if total == 0:
        return 0, 0, -149, -126
    lead = max(total.bit_length() - 1 + unit, -126)
    drop = lead - result - unit
    kept = total >> drop if drop > 0 else total << -drop
    if lead > 127:
        return "-inf" if negative else "inf"
    return negative, kept, lead - result, lead


def encode_f32(value):
    if isinstance(value, str):
        return {"inf": 0x7F800000, "-inf": 0xFF800000, "nan": 0x7FFFFFFF}[value]
    negative, significand, last, _ = value
    if significand == 0:
        return 0
    x = np.float32(np.ldexp(float(significand), last))
    return int(x.view(np.uint32)) | (int(negative) << 31)


def fit(hardware, chosen, outputs=400):
    for case in chosen:
        if case.name not in hardware or case.d != "f32" or "e" in case.counts or case.a not in FIELDS:
            continue
        data, answer = case.inputs(), hardware[case.name]
        bits, n = BITS[case.a], case.counts
        per = max(1, 32 // bits)
        rng = np.random.default_rng(1)
        samples = []
        while len(samples) < outputs:
            s, q, lane = int(rng.integers(SETS)), int(rng.integers(n["d"])), int(rng.integers(32))
            if s % 8 in (0, 5):
                continue
            row, column, half = lane // 4, 2 * (lane % 4) + q % 2, q // 2
            a, b = [], []
            for x in range(case.k):
                tile, at = x // (4 * per), x % (4 * per)
                for out, base, register, line in ((a, 0, tile * 2 + half, row), (b, n["a"], tile, column)):
                    word = int(data[s, base + register, 4 * line + at // per])
                    out.append(
                        decode(case.a if out is a else case.b, word >> (at % per * bits) & ((1 << bits) - 1))
                    )
            c = decode("f32", int(data[s, n["a"] + n["b"] + q, lane]))
            if any(isinstance(v, str) for v in [*a, *b, c]):
                continue
            products = [
                (x[0] ^ y[0], x[1] * y[1], x[2] + y[2], x[3] + y[3]) for x, y in zip(a, b, strict=True)
            ]
            samples.append((products, c, int(answer[s, q, lane])))
        found = []
        for block in sorted({4, 8, 16, 32} & set(range(1, case.k + 1))):
            orders = {"ascending": list(range(case.k))}
            if block < case.k:
                orders["interleaved"] = [
                    j * (case.k // block) + i for i in range(case.k // block) for j in range(block)
                ]
            if block < case.k and per == 4:  # halves of each register
                orders["halves"] = [i for h in range(2) for i in range(case.k) if i // 2 % 2 == h]
            for order_name, order in orders.items():
                for fraction in (12, 13, 14, 22, 23, 24, 25, 26, 27):
                    for result in (13, 23):
                        for lowest in (-1000, -133, -126):
                            good = 0
                            for products, c, expected in samples:
                                value = c
                                for at in range(0, case.k, block):
                                    value = step(
                                        [products[i] for i in order[at : at + block]],
                                        value,
                                        fraction,
                                        result,
                                        lowest,
                                    )
                                    if isinstance(value, str):
                                        break
                                good += encode_f32(value) == expected
                            found.append(
                                (
                                    good,
                                    f"block {block} {order_name} fraction {fraction} result {result} lowest {lowest}",
                                )
                            )
        found.sort(reverse=True)
        print(case.name)
        for good, what in found[:4]:
            print(f"    {good} of {len(samples)}: {what}")
    return 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["gpu", "cpu", "compare", "fit", "golden", "check", "ptxas"])
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    chosen = [c for c in cases() if re.search(args.only, c.name)]
    if args.what in ("gpu", "cpu"):
        out = Path(args.paths[0])
        out.mkdir(parents=True, exist_ok=True)
        results, refused = run_all(Gpu() if args.what == "gpu" else Engine(), chosen)
        np.savez_compressed(out / ("mma.npz" if args.what == "gpu" else "mma_cpu.npz"), **results)
        (out / f"mma_{args.what}_refused.txt").write_text("".join(f"{k}: {v}\n" for k, v in refused.items()))
        return 0
    if args.what == "compare":
        return min(1, report(np.load(args.paths[0]), np.load(args.paths[1])))
    if args.what == "fit":
        return fit(np.load(args.paths[0]), chosen)
    if args.what == "golden":
        hardware = np.load(args.paths[0])
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(
            "".join(f"{digest(hardware[c.name])} {c.name}\n" for c in chosen if c.name in hardware)
        )
        return 0
    if args.what == "check":
        wanted = dict(reversed(line.split(" ", 1)) for line in GOLDEN.read_text().splitlines())
        results, refused = run_all(Engine(), [c for c in chosen if c.name in wanted])
        wrong = [name for name, value in results.items() if digest(value) != wanted[name]] + list(refused)
        print(
            "\n".join(f"{name}: not hardware's answer" for name in wrong)
            or f"{len(results)} cases give hardware's answers"
        )
        return 1 if wrong else 0
    _, refused = run_all(Assembler(), chosen)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
