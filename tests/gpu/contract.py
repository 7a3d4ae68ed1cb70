"""Which multiplications and additions ptxas contracts: random PTX on the GPU and on the SIMT engine.

    contract.py gpu OUT       runs the programs on the GPU (libcuda alone): OUT/contract.npz
    contract.py compare OUT   the engine against it, with and without contraction; what differs
    contract.py golden OUT    writes tests/golden/ptx-hw/contract.txt: digests of the hardware's answers
    contract.py check         the engine against those, with no GPU (this runs in CI)
    contract.py text N        program N

A program is a few dozen mul, add, sub, neg, fma and divisions of values that come from memory, in blocks that
guarded instructions, barriers and branches separate, of one type: f32, f32 with .ftz, f64, f16, bf16 and
pairs of these. What it computes is stored, so that each product has uses of every kind.
"""

import hashlib
import random
import sys
from pathlib import Path

import numpy as np
from libcuda import Cuda

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/ptx-hw/contract.txt"
LANES, INPUTS, OUTPUTS = 128, 8, 40
PROGRAMS = 600
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

# name: bytes, register, suffix of the type, whether it has div.full, programs of it in a hundred
KINDS = {
    "f32": (4, "%f", "f32", True, 60),
    "f32.ftz": (4, "%f", "ftz.f32", True, 12),
    "f64": (8, "%d", "f64", False, 8),
    "f16": (2, "%h", "f16", False, 5),
    "bf16": (2, "%h", "bf16", False, 5),
    "f16x2": (4, "%r", "f16x2", False, 5),
    "bf16x2": (4, "%r", "bf16x2", False, 5),
}
CONSTANTS = [3.0, 5.0, 0.1, 781.0, 4096.0, -7.0, 1e-5]


def kind_of(program: int) -> str:
    place = program % 100
    for name, (_, _, _, _, share) in KINDS.items():
        if place < share:
            return name
        place -= share
    raise AssertionError


class Writer:
    """One program, as the lines of a kernel."""

    def __init__(self, program: int):
        self.rng = random.Random(program)
        self.kind = kind_of(program)
        self.bytes, self.letter, self.suffix, self.divides, _ = KINDS[self.kind]
        self.memory = f"b{8 * self.bytes}"
        self.lines: list[str] = []
        self.values: list[str] = []
        self.read: set[str] = set()
        self.made: set[tuple] = set()
        self.count = 0
        self.labels = 0
        self.products = self.rng.choice([0.25, 0.4, 0.5])

    def new(self) -> str:
        self.count += 1
        return f"{self.letter}{self.count}"

    def pick(self) -> str:
        value = self.rng.choice(self.values[-6:] if self.rng.random() < 0.7 else self.values)
        self.read.add(value)
        return value

    def literal(self, value: float) -> str:
        return "0f" + np.float32(value).tobytes()[::-1].hex() if self.bytes == 4 else repr(value)

    def statement(self, result: str | None = None, guard: str = "") -> bool:
        """An operation on values so far; False where it would repeat one."""
        rng = self.rng
        weights = [self.products, 0.35, 0.2, 0.03, 0.04, 0.08 if self.divides else 0]
        op = rng.choices(["mul", "add", "sub", "neg", "fma", "div"], weights)[0]
        operands = [self.pick() for _ in range({"neg": 1, "fma": 3}.get(op, 2))]
        if op in ("mul", "add") and self.divides and rng.random() < 0.1:
            operands[1] = self.literal(rng.choice(CONSTANTS))
        if op == "div" and rng.random() < 0.6:
            operands[1] = self.literal(rng.choice(CONSTANTS))
            if rng.random() < 0.5:  # as LLVM writes it
                self.lines.append(f"mov.b32 %r{90 + self.labels % 9}, {operands[1]};")
                self.lines.append(f"mov.b32 {(divisor := self.new())}, %r{90 + self.labels % 9};")
                self.labels += 1
                operands[1] = divisor
        key = (op, *sorted(operands)) if op in ("mul", "add") else (op, *operands)
        if key in self.made:
            return False
        if not guard:
            self.made.add(key)
        spelled = {"fma": "fma.rn", "div": rng.choice(["div.full", "div.full", "div.approx"])}.get(op, op)
        if op in ("mul", "add", "sub") and rng.random() < 0.05:
            spelled += ".rn"
        suffix = self.suffix
        if self.kind == "f32" and op in ("mul", "add") and rng.random() < 0.03:
            suffix = "ftz.f32"
        result = result or self.new()
        self.lines.append(f"{guard}{spelled}.{suffix} {result}, {', '.join(operands)};")
        if result not in self.values:
            self.values.append(result)
        return True

    def separator(self) -> None:
        """Writes what stands between blocks, or only seems to."""
        rng, register = self.rng, self.letter
        label = f"L{self.labels}"
        self.labels += 1
        what = rng.randrange(8)
        guard = f"@%p{rng.randrange(1, 4)} "
        if what == 0:
            self.lines.append("bar.sync 0;")
        elif what == 1:
            self.lines.append(f"{guard}st.global.{self.memory} [%rd4], {self.pick()};")
        elif what == 2:
            loaded = self.new()
            self.lines.append(f"mov.{self.memory} {loaded}, {self.pick()};")
            self.lines.append(f"{guard}ld.global.{self.memory} {loaded}, [%rd3+{self.bytes * LANES}];")
            self.values.append(loaded)
        elif what == 3:
            self.statement(guard=guard, result=self.settled())
        elif what == 4:
            changed = [self.settled() for _ in range(2)]
            self.lines.append(f"{guard}bra {label};")
            for result in changed:
                self.statement(result=result)
            self.lines.append(f"{label}:")
        elif what == 5:
            self.lines.append("shfl.sync.bfly.b32 %r1, %r1, 16, 31, -1;")
        elif what == 6:
            always = f"%p{10 + self.labels}"
            self.lines.append(
                f"mov.pred {always}, -1;\n@{always} st.global.{self.memory} [%rd4], {self.pick()};"
            )
        else:
            self.lines.append(f"{label}: mov.{self.memory} {register}0, {self.pick()};")

    def settled(self) -> str:
        """A register that holds a value already and may be written again."""
        register = self.new()
        self.lines.append(f"mov.{self.memory} {register}, {self.pick()};")
        self.values.append(register)
        return register

    def kernel(self, name: str) -> str:
        rng = self.rng
        for k in range(INPUTS):
            register = self.new()
            self.lines.append(f"ld.global.{self.memory} {register}, [%rd3+{k * LANES * self.bytes}];")
            self.values.append(register)
        for _ in range(rng.randrange(4, 26)):
            self.statement()
            if rng.random() < 0.12:
                self.separator()
        stored = [v for v in self.values[INPUTS:] if v not in self.read or rng.random() < 0.08]
        for k, value in enumerate(stored):
            self.lines.append(f"st.global.{self.memory} [%rd2+{k * LANES * self.bytes}], {value};")
        return f""".visible .entry {name}(.param .u64 in, .param .u64 out, .param .u64 spare)
.reqntid {LANES}
{{
.reg .f32 %f<200>; .reg .f64 %d<200>; .reg .b16 %h<200>; .reg .b32 %r<200>;
.reg .b64 %rd<9>; .reg .pred %p<99>;
ld.param.u64 %rd3, [in];
ld.param.u64 %rd2, [out];
ld.param.u64 %rd4, [spare];
mov.u32 %r199, %tid.x;
mov.u32 %r1, %r199;
mul.wide.u32 %rd5, %r199, {self.bytes};
add.u64 %rd3, %rd3, %rd5;
add.u64 %rd2, %rd2, %rd5;
add.u64 %rd4, %rd4, %rd5;
setp.lt.u32 %p1, %r199, 64;
setp.lt.u32 %p2, %r199, 77;
setp.ge.u32 %p3, %r199, 5;
{chr(10).join(self.lines)}
ret;
}}
"""


def programs(count: int = PROGRAMS) -> list[str]:
    """The entries p0, p1, ... as texts."""
    return [Writer(k).kernel(f"p{k}") for k in range(count)]


def inputs(program: int) -> np.ndarray:
    """Numbers around 1 of both signs, a few of other sizes, as bytes."""
    rng = np.random.default_rng(program)
    size = KINDS[kind_of(program)][0]
    name = kind_of(program)
    lanes = INPUTS * LANES * (2 if name.endswith("x2") else 1)
    values = rng.standard_normal(lanes) * np.exp2(rng.integers(-2, 3, lanes))
    values = np.where(rng.random(lanes) < 0.02, values * 1e-3, values)
    if name.startswith("bf16"):
        raw = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        raw = values.astype({"f16": np.float16, "f64": np.float64}.get(name[:3], np.float32))
    assert raw.nbytes == INPUTS * LANES * size
    return np.frombuffer(raw.tobytes(), np.uint8)


def run_gpu(folder: Path) -> None:
    cuda, results = Cuda(), {}
    for first in range(0, PROGRAMS, 50):
        chosen = range(first, min(first + 50, PROGRAMS))
        text = HEAD + "".join(Writer(k).kernel(f"p{k}") for k in chosen)
        image, _ = cuda.load(text)
        for k in chosen:
            out = np.zeros(OUTPUTS * LANES * KINDS[kind_of(k)][0], np.uint8)
            spare = np.zeros(LANES * 8, np.uint8)
            cuda.launch(cuda.function(image, f"p{k}"), 1, LANES, inputs(k).copy(), out, spare)
            results[f"p{k}"] = out
        cuda.call("cuModuleUnload", image)
    np.savez_compressed(folder / "contract.npz", **results)
    print(f"{len(results)} programs ran")


def run_engine(program: int, contract: bool = True) -> np.ndarray:
    import triton_runner

    with triton_runner.using(device="cpu", fmad="on" if contract else "off"):
        kernel = triton_runner.load(HEAD + Writer(program).kernel(f"p{program}"))
        out = np.zeros(OUTPUTS * LANES * KINDS[kind_of(program)][0], np.uint8)
        kernel[(1,)](inputs(program).copy(), out, np.zeros(LANES * 8, np.uint8))
    return out


def compare(folder: Path) -> int:
    hardware = np.load(folder / "contract.npz")
    kinds = {name: [0, 0, 0] for name in KINDS}
    for k in range(PROGRAMS):
        expected = hardware[f"p{k}"]
        row = kinds[kind_of(k)]
        row[0] += 1
        row[2] += not np.array_equal(run_engine(k, contract=False), expected)
        actual = run_engine(k)
        if np.array_equal(actual, expected):
            continue
        row[1] += 1
        width = KINDS[kind_of(k)][0] * LANES
        wrong = [n for n in range(OUTPUTS) if (actual != expected)[n * width : (n + 1) * width].any()]
        print(f"p{k} ({kind_of(k)}): outputs {wrong} differ")
    print("kind: programs, that differ, that differ without contraction")
    for name, row in kinds.items():
        print(f"{name:8} {row}")
    return sum(row[1] for row in kinds.values())


def digest(data: np.ndarray) -> str:
    return hashlib.sha256(data.tobytes()).hexdigest()[:16]


def main() -> int:
    verb, *rest = sys.argv[1:]
    if verb == "gpu":
        run_gpu(Path(rest[0]))
        return 0
    if verb == "compare":
        return 1 if compare(Path(rest[0])) else 0
    if verb == "text":
        print(HEAD + Writer(int(rest[0])).kernel(f"p{rest[0]}"))
        return 0
    if verb == "golden":
        hardware = np.load(Path(rest[0]) / "contract.npz")
        lines = ["# tests/gpu/contract.py: programs and the digests of an H200's answers\n"]
        for k in range(PROGRAMS):
            expected = digest(hardware[f"p{k}"])
            known = "" if digest(run_engine(k)) == expected else " differs"
            lines.append(f"p{k} {expected}{known}\n")
        GOLDEN.write_text("".join(lines))
        return 0
    wrong = 0
    for line in GOLDEN.read_text().splitlines()[1:]:
        name, expected, *known = line.split()
        if (digest(run_engine(int(name[1:]))) != expected) != bool(known):
            print(f"{name} {'differs no longer' if known else 'differs'}")
            wrong += 1
    print(f"{PROGRAMS} programs of products and sums, {wrong} not as on the hardware")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
