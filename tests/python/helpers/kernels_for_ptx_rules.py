"""Has PTX of two rules of Hopper GPUs, and models of what it leaves in memory: products of wgmma that are
used before a wait covers them, and what TMA writes past a tensor. tests/gpu/ptx_rules.py runs it on a
GPU."""

import random

import numpy as np

HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"

# --- Products. A and B are ones, so that D is 16 times the number of products that are in it.

PRODUCT, COMMIT, WAIT, STORE, ZERO = range(5)


def random_chain(seed: int) -> list:
    """A straight program on one accumulator: pairs of a step and, of a wait, the groups that it leaves."""
    chance = random.Random(seed)
    steps = []
    for _ in range(chance.randrange(3, 9)):
        kind = chance.choice([PRODUCT, PRODUCT, PRODUCT, PRODUCT, PRODUCT, WAIT, STORE, STORE])
        steps.append((kind, chance.randrange(3) if kind == WAIT else 0))
        if kind == PRODUCT and chance.random() < 0.9:
            steps.append((COMMIT, 0))
        if kind == STORE and chance.random() < 0.8:
            steps.insert(-1, (WAIT, chance.randrange(3)))
        if kind == STORE and chance.random() < 0.2:
            steps.append((ZERO, 0))
    return [*steps, (COMMIT, 0), (WAIT, 0), (STORE, 0)]


def chain_facts(steps: list) -> tuple:
    """(what each store holds, in products; whether ptxas repairs it; whether a product is used too early).

    Products are [groups committed since, hidden by a wait that covers an older one]."""
    serialized = repaired = early = False
    pending: list = []
    for kind, n in steps:
        if kind == PRODUCT:
            pending.append([0, False])
        elif kind == COMMIT:
            pending = [[groups + 1, hidden] for groups, hidden in pending]
        elif kind == WAIT:
            some = any(groups > n for groups, _ in pending)
            pending = [[groups, hidden or some] for groups, hidden in pending if groups <= n]
        else:
            early |= bool(pending)
            repaired |= any(not hidden for _, hidden in pending)
            serialized |= repaired or (kind == ZERO and bool(pending))
    stored, d, groups = [], 0, []  # groups: of each pending product
    for kind, n in steps:
        if kind == PRODUCT:
            if serialized:
                d += 1
            else:
                groups.append(0)
        elif kind == COMMIT:
            groups = [g + 1 for g in groups]
        elif kind == WAIT:
            d += sum(g > n for g in groups)
            groups = [g for g in groups if g <= n]
        elif kind == STORE:
            stored.append(d)
        else:
            d = 0
    return stored, repaired, early


def wgmma(body: str, n: int = 8, store_bytes: int = 0) -> str:
    """A kernel of one warp group whose D, of n / 2 registers %d0, ..., is zero before `body`. %o: where the
    thread stores, `store_bytes` apart (0: D once)."""
    registers = n // 2
    return (
        HEAD
        + f""".visible .entry k(.param .u64 po, .param .u32 pn)
.reqntid 128
{{
  .reg .b64 %o, %da, %db; .reg .b32 %t, %n, %i, %j, %c; .reg .b32 %d<{registers}>; .reg .pred %p, %q;
  .shared .align 128 .b8 tile[16384];
  ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
FILL:
  mad.lo.u32 %j, %t, 4, %i; mov.u32 %c, tile; add.u32 %j, %j, %c; st.shared.b32 [%j], 0x3c003c00;
  add.u32 %i, %i, 512; setp.lt.u32 %p, %i, 16384; @%p bra FILL;
  fence.proxy.async.shared::cta; bar.sync 0;
  mov.u32 %j, tile; shr.u32 %j, %j, 4; cvt.u64.u32 %da, %j; or.b64 %da, %da, {8 << 16 | 16 << 32};
  add.u64 %db, %da, 128;
  mad.wide.u32 %o, %t, {store_bytes or 4 * registers}, %o;
  setp.ne.u32 %q, %n, 0; mov.u32 %i, 0; mov.u32 %c, 0;
{zero(n)}{body}  ret;
}}
"""
    )


def product(n: int = 8) -> str:
    d = ", ".join(f"%d{i}" for i in range(n // 2))
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
    return f"  wgmma.fence.sync.aligned;\n  {name} {{{d}}}, %da, %db, 1, 1, 1, 0, 0;\n"


def zero(n: int = 8) -> str:
    return "".join(f"  mov.b32 %d{i}, 0;\n" for i in range(n // 2))


def store(at: int = 0, n: int = 8) -> str:
    four = lambda i: ", ".join(f"%d{i + k}" for k in range(4))  # noqa: E731
    return "".join(f"  st.global.v4.b32 [%o+{at + 4 * i}], {{{four(i)}}};\n" for i in range(0, n // 2, 4))


def wait(n: int) -> str:
    return f"  wgmma.wait_group.sync.aligned {n};\n"


COMMITTED = "  wgmma.commit_group.sync.aligned;\n"


def chain_text(steps: list) -> str:
    body, stores = "", 0
    for kind, n in steps:
        if kind == STORE:
            body += store(16 * stores)
            stores += 1
        else:
            body += {PRODUCT: product(), COMMIT: COMMITTED, WAIT: wait(n), ZERO: zero()}[kind]
    return wgmma(body, store_bytes=16 * stores)


def chain_output(steps: list) -> np.ndarray:
    return np.zeros((128, sum(kind == STORE for kind, _ in steps), 4), np.float32)


# --- TMA. A box is stored to, or combined with, a tensor whose map the kernel makes, as Triton does.

# The element type's number (PTX ISA 9.7.9.27) and bytes.
TYPES = {
    "u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "s32": (3, 4), "u64": (4, 8), "s64": (5, 8), "f16": (6, 2),
}  # fmt: skip
TYPES |= {
    "f32": (7, 4), "f32ftz": (8, 4), "f64": (9, 8), "bf16": (10, 2), "tf32": (11, 4), "tf32ftz": (12, 4),
}  # fmt: skip
# The byte that memory holds before, so that each operation leaves the bytes of shared memory.
OPERATIONS = {"store": 0x2A, "add": 0, "min": 0x70, "xor": 0}
HAVE = {
    "store": tuple(TYPES),
    "add": ("u32", "s32", "u64", "f16", "f32", "bf16", "f64"),
    "min": ("u32", "s32", "u64", "f16", "bf16"),
    "xor": ("u32", "u64"),
}
PITCH = 256  # bytes from row to row; three rows to a plane


def box_text(rank: int, type: str, swizzle: int, operation: str) -> str:
    set_field = lambda field, *value: (  # noqa: E731
        f"  @%first tensormap.replace.tile.{field} [%sm], {', '.join(map(str, value))};\n"
    )
    b32 = "shared::cta.b1024.b32"
    fields = set_field("global_address.shared::cta.b1024.b64", "%out") + set_field(f"rank.{b32}", rank - 1)
    for d in range(rank):
        fields += set_field(f"box_dim.{b32}", d, f"%b{d}") + set_field(f"global_dim.{b32}", d, f"%n{d}")
        fields += set_field(f"element_stride.{b32}", d, 1)
        if d > 0:
            fields += set_field("global_stride.shared::cta.b1024.b64", d - 1, f"%s{d}")
    fields += set_field(f"elemtype.{b32}", TYPES[type][0]) + set_field(f"interleave_layout.{b32}", 0)
    fields += set_field(f"swizzle_mode.{b32}", swizzle) + set_field(f"fill_mode.{b32}", 0)
    at = "{" + ", ".join(["%c0", "0", "0"][:rank]) + "}"
    if operation == "store":
        go = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group"
    else:
        go = f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
    copy = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
    words = ["n0", "n1", "n2", "b0", "b1", "b2", "c0"]
    return (
        HEAD
        + f""".visible .entry k(.param .u64 out, .param .u64 scratch, .param .u64 src,
  .param .u64 s1, .param .u64 s2, {", ".join(f".param .u32 {n}" for n in words)})
.reqntid 128
{{
  .reg .b64 %out, %map, %src, %s1, %s2, %sm, %w; .reg .b32 {", ".join("%" + n for n in words)};
  .reg .b32 %t, %i, %j, %x, %r; .reg .pred %p, %first, %warp;
  .shared .align 1024 .b8 room[4096];
  .shared .align 128 .b8 draft[128];
  ld.param.u64 %out, [out]; ld.param.u64 %map, [scratch]; ld.param.u64 %src, [src];
  ld.param.u64 %s1, [s1]; ld.param.u64 %s2, [s2];
{"".join(f"  ld.param.u32 %{n}, [{n}];" + chr(10) for n in words)}  mov.u32 %t, %tid.x;
  setp.eq.u32 %first, %t, 0; setp.lt.u32 %warp, %t, 32;
  mov.u32 %r, draft; cvt.u64.u32 %sm, %r; mad.lo.u32 %r, %t, 4, %r;
  @%warp st.shared.b32 [%r], 0;
  bar.warp.sync -1;
{fields}  bar.warp.sync -1;
  @%warp {copy} [%map], [%sm], 128;
  @%warp fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
  bar.sync 0;
  mov.u32 %r, room; mov.u32 %i, 0;
FILL:
  mad.lo.u32 %j, %t, 4, %i; cvt.u64.u32 %w, %j; add.u64 %w, %w, %src; ld.global.b32 %x, [%w];
  add.u32 %j, %j, %r; st.shared.b32 [%j], %x;
  add.u32 %i, %i, 512; setp.lt.u32 %p, %i, 4096; @%p bra FILL;
  fence.proxy.async.shared::cta; bar.sync 0;
  @%first {go} [%map, {at}], [%r];
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group 0;
  ret;
}}
"""
    )


class Box:
    """One copy: `bytes` of a row of the tensor, `begin` of them before the box. A box of rank 3 has 4 planes
    of 4 rows, of which the tensor has 3 of 3; at rank 2 it has 8 rows, of which the tensor has 5."""

    def __init__(self, rank: int, type: str, swizzle: int, operation: str, bytes: int, begin: int = 0):
        self.rank, self.type, self.swizzle, self.operation = rank, type, swizzle, operation
        self.bytes, self.begin, self.size = bytes, begin, TYPES[type][1]
        self.row_bytes = {0: 64, 1: 32, 2: 64, 3: 128}[swizzle]

    def __repr__(self):
        return " ".join(
            map(str, (self.rank, self.type, self.swizzle, self.operation, self.bytes, self.begin))
        )

    def text(self) -> str:
        return box_text(self.rank, self.type, self.swizzle, self.operation)

    @property
    def rows(self) -> tuple:
        """(of a plane of the box, of the tensor, planes of the box, of the tensor)"""
        return {1: (1, 1, 1, 1), 2: (8, 5, 1, 1), 3: (4, 3, 4, 3)}[self.rank]

    def memory(self) -> np.ndarray:
        return np.full(4096, OPERATIONS[self.operation], np.uint8)

    def arguments(self) -> list:
        """Behind the tensor, the scratch memory and the bytes of shared memory."""
        b1, n1, b2, n2 = self.rows
        of = lambda n: n // self.size  # noqa: E731
        return [PITCH, 3 * PITCH, of(self.bytes), n1, n2, of(self.row_bytes), b1, b2, of(self.begin)]

    def wanted(self, shared: np.ndarray) -> np.ndarray:
        """Returns what memory holds afterwards: whole chunks of 16 bytes of the rows inside of the tensor."""
        out = self.memory()
        b1, n1, b2, n2 = self.rows
        place = np.arange(4096)
        place ^= place >> 3 & {0: 0, 1: 0x10, 2: 0x30, 3: 0x70}[self.swizzle]
        end = min((self.bytes + 15) // 16 * 16, self.begin + self.row_bytes)
        for plane in range(min(b2, n2)):
            for row in range(min(b1, n1)):
                to, at = plane * 3 * PITCH + row * PITCH, (plane * b1 + row) * self.row_bytes
                if self.bytes > self.begin:
                    out[to + self.begin : to + end] = shared[place[at : at + end - self.begin]]
        return out


def boxes():
    """Yields boxes of every type, operation, rank, and at rank 2 of every swizzle: tensors ending in each
    chunk."""
    for operation, types in HAVE.items():
        for type in types:
            size = TYPES[type][1]
            for rank, swizzle in [(1, 0), (3, 0), (2, 0), (2, 1), (2, 2), (2, 3)]:
                row = {0: 64, 1: 32, 2: 64, 3: 128}[swizzle]
                for bytes in {size, 16 - size or 16, 24, row - size, row}:
                    yield Box(rank, type, swizzle, operation, bytes)
                yield Box(rank, type, swizzle, operation, 32 + size, 32)
                yield Box(rank, type, swizzle, operation, 32, 32)


SHARED = np.random.default_rng(1).integers(0x30, 0x3C, 4096).astype(np.uint8)
