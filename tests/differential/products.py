"""A random kernel with a loop of dots, from a seed: pointers or descriptors, every operand type, pipelined,
specialised by warps or neither, so that cp.async, TMA, mma, wgmma and tcgen05 all come up. Operands are small
integers and no sum reaches the first integer that its type lacks: any order of additions gives the same bits.
"""

import random

from generate import Kernel

OPERANDS = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float32", "int8")
MOST_TRIPS = 5


class Product:
    def __init__(self, seed: int):
        self.random = pick = random.Random(seed)
        self.m, self.n = pick.choice((16, 32, 64, 128)), pick.choice((16, 32, 64, 128))
        self.k = pick.choice((32, 64))
        self.type = pick.choice(OPERANDS)
        self.programs = pick.choice((1, 2, 3))
        self.depth = self.k * MOST_TRIPS  # columns of a, rows of b
        self.descriptors = pick.random() < 0.4
        self.transposed = pick.random() < 0.5  # b is stored as [n, k]

    @staticmethod
    def tile(rows: int, cols: int) -> str:
        """Returns where the program's tile lies in an output."""
        return f"pid * {rows * cols} + tl.arange(0, {rows})[:, None] * {cols} + tl.arange(0, {cols})[None, :]"

    def loads(self) -> tuple[list[str], list[str]]:
        """Lines before the loop, and in it."""
        m, n, k, depth = self.m, self.n, self.k, self.depth
        a_shape = [m * self.programs, depth]
        b_shape, b_block = ([depth, n], [k, n]) if not self.transposed else ([n, depth], [n, k])
        turn = "tl.trans(b)" if self.transposed else "b"
        if self.descriptors:
            before = [
                f"a_desc = tl.make_tensor_descriptor(x0, {a_shape}, [{depth}, 1], [{m}, {k}])",
                f"b_desc = tl.make_tensor_descriptor(x1, {b_shape}, [{b_shape[1]}, 1], {b_block})",
            ]
            at = f"[i * {k}, 0]" if not self.transposed else f"[0, i * {k}]"
            return before, [f"a = a_desc.load([pid * {m}, i * {k}])", f"b = b_desc.load({at})", f"b = {turn}"]
        b_offsets = f"cols[:, None] * {depth} + ks[None, :]"
        if not self.transposed:
            b_offsets = f"ks[:, None] * {n} + cols[None, :]"
        before = [
            f"rows, cols, ks = pid * {m} + tl.arange(0, {m}), tl.arange(0, {n}), tl.arange(0, {k})",
            f"a_at = x0 + rows[:, None] * {depth} + ks[None, :]",
            f"b_at = x1 + {b_offsets}",
        ]
        masked = self.random.random() < 0.5
        b_ks = "ks[None, :]" if self.transposed else "ks[:, None]"
        other = "0" if self.type == "int8" else "0.0"
        a_mask, b_mask = (
            f", mask={at} + i * {k} < limit, other={other}" if masked else "" for at in ("ks[None, :]", b_ks)
        )
        step = k if self.transposed else k * n
        return before, [
            f"a = tl.load(a_at + i * {k}{a_mask})",
            f"b = tl.load(b_at + i * {step}{b_mask})",
            f"b = {turn}",
        ]

    def generate(self) -> Kernel:
        pick = self.random
        acc = "int32" if self.type == "int8" else "float32"
        before, inside = self.loads()
        stages, warps = pick.choice((1, 2, 3, 4)), pick.choice((4, 8))
        # Triton 3.9 aborts where it specialises loads of pointers.
        keyword = ", warp_specialize=True" if self.descriptors and pick.random() < 0.4 else ""
        counter = pick.choice((f"tl.range(0, trips{keyword})", f"range(0, {pick.randint(1, MOST_TRIPS)})"))
        change = pick.choice(("", "", "a = (a.to(tl.float32) * 2).to(a.dtype)", "acc = acc * (i % 2 + 1)"))
        if self.type == "int8" and "float" in change:
            change = ""
        precision = ', input_precision="tf32"' if self.type == "float32" else ""
        dot = pick.choice((f"acc = tl.dot(a, b, acc{precision})", f"acc += tl.dot(a, b{precision})"))
        lines = ["pid = tl.program_id(0)", *before, f"acc = tl.zeros(({self.m}, {self.n}), tl.{acc})"]
        lines.append(f"for i in {counter}:")
        lines += [f"    {line}" for line in (*inside, change, dot) if line]
        epilogue = pick.choice(("acc", "tl.maximum(acc, 0)", "acc + delta", "tl.trans(tl.trans(acc) * 2)"))
        lines.append(f"result = ({epilogue}).to(tl.{acc})")
        outputs = [(acc, self.m * self.n)]
        lines.append(f"tl.store(out0 + {self.tile(self.m, self.n)}, result)")
        if acc == "float32" and pick.random() < 0.5:  # a product of the product
            outputs.append((acc, self.n * self.n))
            lines.append("p = tl.minimum(tl.maximum(acc, -2.0), 2.0).to(tl.float16)")
            lines.append(f"tl.store(out1 + {self.tile(self.n, self.n)}, tl.dot(tl.trans(p), p))")
        arguments = ["x0", "x1", *(f"out{i}" for i in range(len(outputs))), "trips", "delta", "limit"]
        head = f"@triton.jit\ndef kernel({', '.join(arguments)}):"
        source = "\n".join(
            ("import triton\nimport triton.language as tl\n", head, *(f"    {x}" for x in lines), "")
        )
        elements = self.depth * max(self.m * self.programs, self.n)
        scalars = [pick.randint(0, MOST_TRIPS), pick.randint(-3, 3), pick.randint(1, self.depth)]
        options = {"num_warps": warps, "num_stages": stages}
        return Kernel(source, [self.type] * 2, elements, outputs, scalars, self.programs, options, small=True)


def generate_product(seed: int) -> Kernel:
    return Product(seed).generate()
