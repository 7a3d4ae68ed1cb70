"""A random kernel that composes what the other generators keep apart, from a seed: loops inside of loops,
some of which end early by what they computed, and in them products (scaled ones too), descriptors that are
loaded, stored and added to, scans whose sums are the places of masked atomics, reductions and scans of
tuples (fp8 among them), sorts, gathers, histograms.

Loops carry integers of at most 512, so that no product or sum rounds.
"""

import random

from generate import Kernel

FLOATS = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float32")
SPREAD = 16  # places at which tiles of an input begin, 16 elements apart
MOST_TRIPS = 4
FUNCTIONS = """
@triton.jit
def larger(a, i, b, j):
    is_first = (a.to(tl.float32) > b.to(tl.float32)) | ((a.to(tl.float32) == b.to(tl.float32)) & (i < j))
    return tl.where(is_first, a, b), tl.where(is_first, i, j)


@triton.jit
def both(a, b, c, d):
    return a + c, tl.maximum(b, d)


@triton.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def first_set(a, b, c, d):
    return tl.where(c != 0, c, a), b ^ d
"""


class Composed:
    def __init__(self, seed: int):
        self.random = pick = random.Random(seed)
        self.m, self.n = pick.choice((16, 32, 64)), pick.choice((16, 32, 64))
        self.programs = pick.choice((1, 2))
        self.lines: list[str] = []
        self.before: list[str] = []  # what stands before all loops
        self.inputs: list[str] = []
        self.outputs: list[tuple[str, int]] = []
        self.names = 0
        self.specialised = False

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def input(self, dtype: str) -> str:
        self.inputs.append(dtype)
        return f"x{len(self.inputs) - 1}"

    def output(self, dtype: str, size: int) -> str:
        self.outputs.append((dtype, size))
        return f"out{len(self.outputs) - 1}"

    def tile(self, rows: int, cols: int) -> str:
        return f"tl.arange(0, {rows})[:, None] * {cols} + tl.arange(0, {cols})[None, :]"

    def load(self, dtype: str, rows: int, cols: int, turn: str) -> tuple[list[str], str]:
        """Lines that load a tile, and its name: by pointers or by a descriptor, over the edge too."""
        pick, name, x = self.random, self.name(), self.input(dtype)
        width = {"float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}.get(dtype, 1)
        if pick.random() < 0.4 and cols * width >= 16:
            high, wide = pick.choice((rows, 2 * rows - 3)), 16 // width * pick.choice((1, 3, 8))
            desc = f"desc_{name}"
            made = f"{desc} = tl.make_tensor_descriptor({x}, [{high}, {wide}], [{wide}, 1], [{rows}, {cols}])"
            at = f"[({turn}) * {pick.choice((1, 2, 8))} - {pick.choice((0, 0, 1))}, ({turn}) * 16]"
            inside = pick.random() < 0.3
            if not inside:
                self.before.append(made)
            return [*([made] if inside else []), f"{name} = {desc}.load({at})"], name
        other = "0" if dtype.startswith("int") else "0.0"
        at = f"{self.tile(rows, cols)}"
        mask = pick.choice(("", "", f", mask=({at}) % 7 < ({turn}) + 3, other={other}"))
        begin = f"(pid * 3 + ({turn}) * {pick.choice((1, 5))}) % {SPREAD} * 16"
        return [f"{name} = tl.load({x} + {begin} + {at}{mask})"], name

    # ---- steps: each reads `turn`, an int32, and changes acc (f32 [m, n]), cnt (int32 [n]) or stop (int32)

    def product(self, turn: str) -> list[str]:
        pick, k = self.random, self.random.choice((32, 64))
        kind = pick.choice((*FLOATS, "int8"))
        turned = pick.random() < 0.5 and kind != "float32"
        lines, a = self.load(kind, self.m, k, turn)
        more, b = self.load(kind, *((self.n, k) if turned else (k, self.n)), turn)
        b = f"tl.trans({b})" if turned else b
        precision = ', input_precision="tf32"' if kind == "float32" else ""
        acc = "tl.int32" if kind == "int8" else "tl.float32"
        made = f"tl.dot({a}, {b}, out_dtype={acc}{precision})"
        if acc == "tl.float32" and pick.random() < 0.5:
            return [*lines, *more, f"acc = tl.dot({a}, {b}, acc{precision})", *self.clamp()]
        return [*lines, *more, f"acc += {made}.to(tl.float32)", *self.clamp()]

    def scaled_product(self, turn: str) -> list[str]:
        pick, k = self.random, self.random.choice((64, 128))
        lines, sides = [], []
        for rows, is_left in ((self.m, True), (self.n, False)):
            form = pick.choice(("e2m1", "e4m3", "e5m2", *(("bf16",) if not sides else ())))
            kind = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "bf16": "bfloat16"}.get(form, "int8")
            more, name = self.load(kind, rows, k // 2 if form == "e2m1" else k, turn)
            lines += more
            if form == "e2m1":
                lines.append(f"{name} = {name}.to(tl.uint8, bitcast=True)")
            scale = "None"
            if form != "bf16" and (pick.random() < 0.8 or form == "e2m1"):
                more, scale = self.load("int8", rows, k // 32, turn)
                lines += [*more, f"{scale} = (({scale} & 1) + 127).to(tl.uint8)"]
            sides.append(f"{name if is_left else f'tl.trans({name})'}, {scale}, '{form}'")
        made = f"tl.dot_scaled({sides[0]}, {sides[1]}"
        if pick.random() < 0.5:
            return [*lines, f"acc = {made}, acc=acc)", *self.clamp()]
        return [*lines, f"acc += {made})", *self.clamp()]

    def clamp(self) -> list[str]:
        return ["acc = tl.floor(tl.minimum(tl.maximum(acc, -512.0), 512.0))"]

    def scan_and_atomics(self, turn: str) -> list[str]:
        pick = self.random
        kind = pick.choice(("int8", "int32"))
        lines, x = self.load(kind, self.m, self.n, turn)
        size = pick.choice((16, 64))
        total, op = self.output("int32", size), pick.choice(("add", "max", "min", "and", "or", "xor"))
        axis, reverse = pick.randint(0, 1), pick.choice((True, False))
        s = self.name()
        lines.append(f"{s} = tl.cumsum({x}.to(tl.int32), {axis}, reverse={reverse})")
        value = pick.choice((f"{s}", f"{x}.to(tl.int32) + ({turn})", "acc.to(tl.int32)"))
        mask = pick.choice((f"{x} > 0", f"{s} % 3 != 1", "acc > 0"))
        lines.append(f"tl.atomic_{op}({total} + pid * {size} + ({s} & {size - 1}), {value}, mask={mask})")
        if pick.random() < 0.5:  # each element a place of its own: what was there before is one number
            each = self.output("int32", self.m * self.n)
            old = self.name()
            at = f"{each} + pid * {self.m * self.n} + {self.tile(self.m, self.n)}"
            lines += [
                f"{old} = tl.atomic_add({at}, {s}, mask={mask})",
                f"cnt += tl.sum(tl.where({mask}, {old} & 7, 1), 0)",
            ]
        return lines

    def float_atomics(self, turn: str) -> list[str]:
        kind = self.random.choice(("float32", "float16", "bfloat16"))
        lines, x = self.load(kind, self.m, self.n, turn)
        out = self.output(kind, self.n)
        at = f"{out} + pid * {self.n} + ({self.tile(self.m, self.n)}) % {self.n}"
        return [*lines, f"tl.atomic_add({at}, {x}, mask={x} != ({turn}) - 1)"]

    def tuple_reduction(self, turn: str) -> list[str]:
        pick, kind = self.random, self.random.choice((*FLOATS, "int8"))
        axis = pick.randint(0, 1)
        lines, x = self.load(kind, self.m, self.n, turn)
        v, i = self.name(), self.name()
        extent = (self.m, self.n)[axis]
        index = f"tl.arange(0, {extent})[{':, None' if axis == 0 else 'None, :'}]"
        lines.append(f"{i} = {index} + tl.zeros(({self.m}, {self.n}), tl.int32)")
        how = pick.choice(("larger", "both", "scan"))
        if how == "larger" and kind.startswith("float8"):  # as such Triton 3.9 aborts on it
            lines.append(f"{v}, {i} = tl.reduce(({x}.to(tl.float16), {i}), {axis}, larger)")
        elif how == "larger":
            lines.append(f"{v}, {i} = tl.reduce(({x}, {i}), {axis}, larger)")
        elif how == "both":
            lines.append(f"{v}, {i} = tl.reduce(({x}.to(tl.float32), {i}), {axis}, both)")
        else:
            f = pick.choice(("affine", "first_set"))
            turned = pick.random() < 0.5
            whole = f"{x}.to(tl.float32).to(tl.int32)"
            lines += [
                f"{v}, {i} = tl.associative_scan(({whole}, {i}), {axis}, {f}, reverse={turned})",
                f"{v}, {i} = tl.sum({v} & 15, {axis}), tl.max({i}, {axis})",
            ]
        lines += [f"{v} = {v}.to(tl.float32).to(tl.int32)"]
        if axis == 0:
            return [*lines, f"cnt += {v} * 3 + {i}"]
        lines += [f"stop += tl.sum({v} + {i}, 0) & 3", f"acc += ({i} & 3)[:, None].to(tl.float32)"]
        return [*lines, *self.clamp()]

    def rearranged(self, turn: str) -> list[str]:
        pick = self.random
        lines, x = self.load("int32", self.m, self.n, turn)
        y = self.name()
        step = pick.choice(
            (
                f"{y} = tl.sort({x} + cnt[None, :], descending={pick.choice((True, False))})",
                f"{y} = tl.gather({x}, (cnt[None, :] + {x} + tl.zeros_like({x})) & {self.n - 1}, 1)",
                f"{y} = tl.gather({x}, ({x} + cnt[None, :]) & {self.m - 1}, 0)",
                f"{y} = tl.flip({x}, 1) - {x}",
                f"{y} = tl.trans(tl.join({x}, acc.to(tl.int32)), 2, 0, 1).reshape({2 * self.m}, {self.n})",
                f"{y} = tl.interleave({x}, {x} * 2 + cnt[None, :])",
            )
        )
        lines.append(step)
        if "interleave" in step:
            return [*lines, f"cnt ^= tl.max(tl.reshape({y}, ({2 * self.m}, {self.n})), 0)"]
        if pick.random() < 0.3 and "join" not in step:
            flat = f"tl.reshape({y}, ({self.m * self.n},))"
            return [*lines, f"cnt += tl.histogram({flat} & {self.n - 1}, {self.n})"]
        return [*lines, f"cnt += tl.sum({y}, 0)"]

    def stored(self, turn: str) -> list[str]:
        """A tile of each turn in a place of its own, or added to one, by a descriptor."""
        pick, kind = self.random, self.random.choice(("float32", "float16", "int32"))
        value = f"acc.to(tl.{kind})"
        adds = kind != "float16" and pick.random() < 0.5
        rows = self.m * (1 if adds else MOST_TRIPS * MOST_TRIPS)
        out, desc = self.output(kind, rows * self.n), f"desc_{self.name()}"
        shape = f"[{rows}, {self.n}], [{self.n}, 1], [{self.m}, {self.n}]"
        self.before.append(f"{desc} = tl.make_tensor_descriptor({out} + pid * {rows * self.n}, {shape})")
        if adds:
            how = pick.choice(("add", "max", "min")) if kind == "int32" else "add"
            return [f"{desc}.atomic_{how}([0, 0], {value})"]
        return [f"{desc}.store([({turn}) * {self.m}, 0], {value})"]

    def exits(self, turn: str) -> list[str]:
        return [
            self.random.choice(("stop += tl.sum(cnt, 0) & 1", "stop += (tl.max(cnt, 0) > 20).to(tl.int32)"))
        ]

    STEPS = (
        product, product, scaled_product, scan_and_atomics, float_atomics, tuple_reduction, tuple_reduction,
        rearranged, stored, exits,
    )  # fmt: skip

    def loop(self, depth: int, outer: str) -> list[str]:
        """A loop of some steps; in it, perhaps, another one, or a branch."""
        pick = self.random
        counter = f"i{depth}"
        turn = counter if outer == "0" else f"({outer} * {MOST_TRIPS} + {counter})"
        limit = pick.choice(("trips", str(pick.randint(1, MOST_TRIPS)), str(pick.randint(1, MOST_TRIPS))))
        body: list[str] = []
        for _ in range(pick.choice((1, 2, 3))):
            steps = pick.choice(self.STEPS)(self, turn)
            if pick.random() < 0.2:
                steps = [
                    f"if {pick.choice((f'{turn} % 2 == 0', 'stop < 2', 'delta > 0'))}:",
                    *self.deeper(steps),
                ]
            body += steps
        if depth < 1 and pick.random() < 0.5:
            place = pick.choice((0, len(body)))
            inner = self.loop(depth + 1, counter)
            body = inner + body if place == 0 else body + inner
        if pick.random() < 0.4:
            ends = pick.choice(("stop < 3", "(stop < 2) | (delta < 0)"))
            body.append(f"{counter} += 1")
            return [f"{counter} = 0", f"while ({counter} < {limit}) & ({ends}):", *self.deeper(body)]
        words = [f"num_stages={pick.choice((1, 2, 3))}"] if pick.random() < 0.4 else []
        words += ["flatten=True"] if depth == 0 and pick.random() < 0.2 else []
        words += ["loop_unroll_factor=2"] if pick.random() < 0.1 else []
        if words:
            return [f"for {counter} in tl.range({', '.join(['0', limit, *words])}):", *self.deeper(body)]
        return [f"for {counter} in range({limit}):", *self.deeper(body)]

    @staticmethod
    def deeper(lines: list[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def generate(self) -> Kernel:
        pick, m, n = self.random, self.m, self.n
        body = self.loop(0, "0")
        if pick.random() < 0.3:
            body += self.loop(0, "0")
        acc, cnt, stop = self.output("float32", m * n), self.output("int32", n), self.output("int32", 1)
        lines = [
            "pid = tl.program_id(0)", f"acc = tl.full(({m}, {n}), 0.0, tl.float32)",
            f"cnt = tl.arange(0, {n})", "stop = delta * 0", *self.before, *body,
            f"tl.store({acc} + pid * {m * n} + {self.tile(m, n)}, acc)",
            f"tl.store({cnt} + pid * {n} + tl.arange(0, {n}), cnt)", f"tl.store({stop} + pid, stop)",
        ]  # fmt: skip
        arguments = [
            *(f"x{i}" for i in range(len(self.inputs))), *(f"out{i}" for i in range(len(self.outputs))),
            "trips", "delta", "limit",
        ]  # fmt: skip
        head = f"@triton.jit\ndef kernel({', '.join(arguments)}):"
        imports = "import triton\nimport triton.language as tl"
        source = "\n".join((imports, FUNCTIONS, head, *self.deeper(lines), ""))
        elements = 16 * (SPREAD + 1) + 128 * 128
        scalars = [pick.randint(0, MOST_TRIPS), pick.randint(-3, 3), pick.randint(1, 64)]
        options = {"num_warps": pick.choice((1, 2, 4, 8)), "num_stages": pick.choice((1, 2, 3, 4))}
        return Kernel(
            source, self.inputs, elements, self.outputs, scalars, self.programs, options, small=True
        )


def generate_composed(seed: int) -> Kernel:
    return Composed(seed).generate()
