"""Tests tensor-core products that no release of Triton writes: sparse wgmma and tcgen05.mma,
tcgen05.mma.ws, .ashift, tcgen05.shift. Hand-written PTX on whole numbers, whose sums are exact in any
order, against NumPy.

Operands come from memory as they are to lie: rows of 32 bytes of A in four (K-major, no swizzle), metadata by
lane. See PTX ISA 9.7.15.6 and 9.7.16.10.
"""

import itertools

import numpy as np
import pytest

triton_runner = pytest.importorskip("triton_runner")
ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
}
HEAD = ".version 8.7\n.target {target}\n.address_size 64\n"


def bits_of(kind):
    return 8 * np.dtype(TYPES[kind]).itemsize


def whole(rng, kind, *shape):
    """Small whole numbers, and as they are stored."""
    values = rng.integers(0 if kind == "u8" else -3, 4, shape)
    return values.astype(np.float64), values.astype(TYPES[kind])


def raw(array):
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


def core_matrices(array):
    """The bytes of a K-major matrix without a swizzle: 8 rows of 16 bytes, those beside, then those below."""
    rows = raw(array).reshape(array.shape[0], -1)
    tiles = rows.reshape(rows.shape[0] // 8, 8, rows.shape[1] // 16, 16)
    return tiles.transpose(0, 2, 1, 3).reshape(-1)


def descriptor(columns, version=0):
    """Returns such a matrix's descriptor: 16 bytes of k more are 128 bytes on, the next 8 rows come after all
    k."""
    stride = 8 * columns
    return 128 >> 4 << 16 | stride >> 4 << 32 | version << 46


def sparse(rng, kind, rows, k):
    """A with half of its elements left out: all values, those that are there, two bits a unit of each row."""
    values, stored = whole(rng, kind, rows, k // 2)
    values = np.where(values == 0, 1, values)
    stored = values.astype(TYPES[kind])
    dense = np.zeros((rows, k))
    group = 2 if kind == "tf32" else 4
    pairs = [(0, 1), (2, 3)] if kind == "tf32" else list(itertools.combinations(range(4), 2))
    codes = np.zeros((rows, k // group), np.uint64)
    for row, g in itertools.product(range(rows), range(k // group)):
        first, second = pairs[rng.integers(len(pairs))]
        codes[row, g] = first | second << 2
        if kind == "tf32":
            dense[row, 2 * g + first // 2] = values[row, g]
        else:
            dense[row, 4 * g + first], dense[row, 4 * g + second] = values[row, 2 * g], values[row, 2 * g + 1]
    return dense, stored, codes


def joined(codes):
    """Four bits each, the first lowest."""
    return sum(int(code) << (4 * i) for i, code in enumerate(codes))


# ---- wgmma.mma_async.sp


def wgmma_metadata(kind, codes, selector):
    """A register of each of the 128 threads."""
    words = np.zeros(128, np.uint32)
    for row in range(64):
        warp, half, quad = row // 16, row % 16 // 8, row % 8
        bits = joined(codes[row])
        for i in range(2):
            thread = 32 * warp + 4 * quad
            if bits_of(kind) == 8:
                words[thread + 2 * i + half] = bits >> (32 * i) & 0xFFFFFFFF
            else:
                words[thread + 2 * selector + i] |= (bits >> (16 * i) & 0xFFFF) << (16 * half)
    return words


def fragments(stored):
    """Registers of A of each thread, in order of the register."""
    rows = raw(stored).view(np.uint32).reshape(64, 8)
    out = np.zeros((4, 128), np.uint32)
    for register, thread in itertools.product(range(4), range(128)):
        row = thread // 32 * 16 + register % 2 * 8 + thread % 32 // 4
        out[register, thread] = rows[row, register // 2 * 4 + thread % 4]
    return out


WGMMA = (
    HEAD.format(target="sm_90a")
    + """.visible .entry kernel(
  .param .u64 pa, .param .u64 pb, .param .u64 pe, .param .u64 pd, .param .u64 pf
)
.reqntid 128
{{
  .reg .b64 %a, %b, %e, %d, %f, %at, %da, %db;
  .reg .b32 %t, %i, %m, %x0, %x1, %x2, %x3, %a0, %a1, %a2, %a3;
  .reg .b32 %c<8>;
  .reg .pred %p;
  .shared .align 128 .b8 tile[4096];
  ld.param.u64 %a, [pa];
  ld.param.u64 %b, [pb];
  ld.param.u64 %e, [pe];
  ld.param.u64 %d, [pd];
  ld.param.u64 %f, [pf];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 16;
  add.s64 %a, %a, %at;
  add.s64 %b, %b, %at;
  ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%a];
  mov.u32 %i, tile;
  mad.lo.u32 %i, %t, 16, %i;
  st.shared.v4.b32 [%i], {{%x0, %x1, %x2, %x3}};
  setp.lt.u32 %p, %t, 32;
  @%p ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%b];
  @%p st.shared.v4.b32 [%i+2048], {{%x0, %x1, %x2, %x3}};
  mul.wide.u32 %at, %t, 4;
  add.s64 %e, %e, %at;
  add.s64 %d, %d, %at;
  add.s64 %f, %f, %at;
  ld.global.b32 %m, [%e];
  ld.global.b32 %a0, [%f];
  ld.global.b32 %a1, [%f+512];
  ld.global.b32 %a2, [%f+1024];
  ld.global.b32 %a3, [%f+1536];
  fence.proxy.async.shared::cta;
  bar.sync 0;
  mov.u32 %i, tile;
  shr.u32 %i, %i, 4;
  cvt.u64.u32 %db, %i;
  or.b64 %da, %db, {da};
  add.s64 %db, %db, 128;
  or.b64 %db, %db, {db};
  mov.b32 %c0, 0;
  mov.b32 %c1, 0;
  mov.b32 %c2, 0;
  mov.b32 %c3, 0;
  wgmma.fence.sync.aligned;
  {product}
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.b32 [%d], %c0;
  st.global.b32 [%d+512], %c1;
  st.global.b32 [%d+1024], %c2;
  st.global.b32 [%d+1536], %c3;
  ret;
}}
"""
)


WGMMA_KINDS = [(kind, selector) for kind in ("f16", "bf16", "tf32") for selector in (0, 1)]
WGMMA_KINDS += [(kind, 0) for kind in ("e4m3", "e5m2", "s8", "u8")]


def sparse_wgmma(kind, selector, in_registers):
    """The PTX of one product, its arguments, and what is to be in the last but one of them."""
    rng = np.random.default_rng(7)
    bits = bits_of(kind)
    k = 512 // bits
    dense, stored, codes = sparse(rng, kind, 64, k)
    b, b_stored = whole(rng, kind, 8, k)
    integers = kind in ("s8", "u8")
    a_text = "{%a0, %a1, %a2, %a3}" if in_registers else "%da"
    rest = "" if integers else ", 1, 1" if bits != 16 else ", 1, 1, 0" if in_registers else ", 1, 1, 0, 0"
    product = (
        f"wgmma.mma_async.sp.sync.aligned.m64n8k{k}.{'s32' if integers else 'f32'}.{kind}.{kind} "
        f"{{%c0, %c1, %c2, %c3}}, {a_text}, %db, %m, {selector}, 1{rest};"
    )
    text = WGMMA.format(da=descriptor(32), db=descriptor(64), product=product)
    sums = dense @ b.T
    wanted = np.zeros((4, 128), np.int32 if integers else np.float32)
    for register, thread in itertools.product(range(4), range(128)):
        row = thread // 32 * 16 + register // 2 * 8 + thread % 32 // 4
        wanted[register, thread] = sums[row, thread % 4 * 2 + register % 2]
    metadata = wgmma_metadata(kind, codes, selector)
    shared = core_matrices(stored), core_matrices(b_stored)
    return text, [*shared, metadata, np.zeros_like(wanted), fragments(stored)], wanted


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize("kind, selector", WGMMA_KINDS)
def test_sparse_products_of_a_warp_group(kind, selector, in_registers):
    text, arguments, wanted = sparse_wgmma(kind, selector, in_registers)
    for how in ({}, {"check": "race,uninit"}):
        arguments[3][:] = 0
        with triton_runner.using(device="cpu", **how):
            triton_runner.load(text)[(1,)](*arguments)
        assert (arguments[3] == wanted).all()


# ---- tcgen05.mma


TCGEN05 = (
    HEAD.format(target="sm_100a")
    + """.visible .entry kernel(
  .param .u64 pa, .param .u64 pb, .param .u64 pe, .param .u64 pd, .param .u64 pf
)
.reqntid 128
.reqnctapercluster {blocks}
{{
  .reg .b64 %a, %b, %e, %d, %f, %at, %da, %db, %zeros;
  .reg .b32 %t, %i, %base, %lane, %rank, %idesc, %n, %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7;
  .reg .pred %p, %q, %first, %true, %false;
  .shared .align 128 .b8 tile[{tile_bytes}];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %true, %t, %t;
  setp.ne.u32 %false, %t, %t;
  setp.lt.u32 %p, %t, 32;
  mov.u32 %i, slot;
  @%p tcgen05.alloc.cta_group::{blocks}.sync.aligned.shared::cta.b32 [%i], 512;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [bar], 1;
  ld.param.u64 %a, [pa];
  ld.param.u64 %b, [pb];
  ld.param.u64 %e, [pe];
  ld.param.u64 %d, [pd];
  ld.param.u64 %f, [pf];
  // Rows of A (4096 bytes) and of B, each block its own.
  mov.u32 %i, 0;
COPY:
  mad.lo.u32 %n, %rank, {tile_bytes}, %i;
  mad.lo.u32 %n, %t, 16, %n;
  cvt.u64.u32 %at, %n;
  add.s64 %at, %at, %a;
  ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%at];
  mov.u32 %n, tile;
  add.u32 %n, %n, %i;
  mad.lo.u32 %n, %t, 16, %n;
  st.shared.v4.b32 [%n], {{%x0, %x1, %x2, %x3}};
  add.u32 %i, %i, 2048;
  setp.lt.u32 %p, %i, {tile_bytes};
  @%p bra COPY;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  ld.shared.b32 %base, [slot];
  shr.u32 %i, %t, 5;
  shl.b32 %i, %i, 21;
  add.u32 %lane, %base, %i;
  // Tensor memory, from 16 words a lane: A (8 columns, from 256 on), two of metadata (264).
  mad.lo.u32 %i, %rank, 128, %t;
  mul.wide.u32 %at, %i, 64;
  add.s64 %f, %f, %at;
  ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%f];
  ld.global.v4.b32 {{%x4, %x5, %x6, %x7}}, [%f+16];
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%lane+256], {{%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7}};
  ld.global.v2.b32 {{%x0, %x1}}, [%f+32];
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%lane+264], {{%x0, %x1}};
  mov.b32 %x0, {empty};
  mov.u32 %i, 0;
EMPTY:
  add.u32 %n, %lane, %i;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%n], {{%x0}};
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, {columns};
  @%p bra EMPTY;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  tcgen05.fence::after_thread_sync;
  mov.u32 %i, tile;
  shr.u32 %i, %i, 4;
  cvt.u64.u32 %db, %i;
  or.b64 %da, %db, {da};
  add.s64 %db, %db, 256;
  or.b64 %db, %db, {db};
  ld.global.b64 %zeros, [%e];
  ld.global.b32 %idesc, [%e+8];
  setp.eq.u32 %q, %rank, 0;
  and.pred %q, %q, %first;
  @!%q bra ISSUED;
  {products}
  tcgen05.commit.cta_group::{blocks}.mbarrier::arrive::one.shared::cluster{multicast}.b64 [bar]{mask};
ISSUED:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0;
  @!%p bra WAIT;
  tcgen05.fence::after_thread_sync;
  mov.u32 %i, 0;
  mad.lo.u32 %n, %rank, 128, %t;
  mul.wide.u32 %at, %n, {row_bytes};
  add.s64 %d, %d, %at;
READ:
  add.u32 %n, %lane, %i;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%x0}}, [%n];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%d], %x0;
  add.s64 %d, %d, 4;
  add.u32 %i, %i, 1;
  setp.eq.u32 %q, %i, {columns};
  @%q mov.u32 %i, 256;
  setp.lt.u32 %p, %i, 264;
  @%p bra READ;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  setp.lt.u32 %p, %t, 32;
  @%p tcgen05.dealloc.cta_group::{blocks}.sync.aligned.b32 %base, 512;
  ret;
}}
"""
)
EMPTY = 77


def run_tcgen05(products, blocks, idesc, a, b, tensor, columns, zeros=0, b_bytes=32, dtype=np.float32):
    """`a`, `b`: bytes of shared memory of each block; `tensor`: [blocks, 128, 16] words. What is in tensor
    memory afterwards: `columns` columns of D, and the eight of A."""
    tile = [np.concatenate([a[r], np.zeros(4096 - len(a[r]), np.uint8), b[r]]) for r in range(blocks)]
    size = (len(tile[0]) + 2047) // 2048 * 2048
    shared = np.zeros((blocks, size), np.uint8)
    for r in range(blocks):
        shared[r, : len(tile[r])] = tile[r]
    empty = np.array([EMPTY], dtype).view(np.uint32)[0]
    text = TCGEN05.format(
        blocks=blocks, tile_bytes=size, columns=columns, row_bytes=4 * (columns + 8), da=descriptor(32, 1),
        db=descriptor(b_bytes, 1), products="\n  ".join(products),
        multicast=".multicast::cluster" if blocks == 2 else "", mask=", 3" if blocks == 2 else "",
        empty=hex(empty),
    )  # fmt: skip
    words = np.array([zeros & 0xFFFFFFFF, zeros >> 32, idesc, 0], np.uint32)
    kernel = triton_runner.load(text)
    first = None
    for how in ({}, {"check": "race,uninit"}, {"timing": 3}):
        out = np.zeros((blocks, 128, columns + 8), np.uint32)
        with triton_runner.using(device="cpu", **how):
            kernel[(1,)](shared, shared, words, out, tensor)
        assert first is None or (out == first).all()
        first = out
    return first[..., :columns].view(dtype), first[..., columns:]


KINDS = {
    "f16": ("f16", 0),
    "bf16": ("f16", 1),
    "tf32": ("tf32", 2),
    "e4m3": ("f8f6f4", 0),
    "e5m2": ("f8f6f4", 1),
}
KINDS |= {"s8": ("i8", 1), "u8": ("i8", 0)}


def instruction_descriptor(kind, m, n, is_sparse=False, selector=0, max_shift=0):
    code = KINDS[kind][1]
    d = 2 if KINDS[kind][0] == "i8" else 1
    return (
        selector
        | is_sparse << 2
        | d << 4
        | code << 7
        | code << 10
        | (n >> 3) << 17
        | (m >> 4) << 24
        | max_shift << 30
    )


class Places:
    """The places of rows and columns of D: block, lane and column."""

    def __init__(self, blocks, m, is_sparse=False, stationary=False):
        self.rows = m // blocks
        self.half = self.rows == 64 and not stationary and (blocks == 1 or is_sparse)
        self.parts = 1 if self.half else 128 // self.rows

    def lane(self, row, part=0):
        return row // 16 * 32 + row % 16 if self.half else row + part * self.rows


def lanes_of_metadata(kind, codes, places, part, words):
    """Writes the two words of metadata of each of the rows of a block into their lanes."""
    for row in range(places.rows):
        lane, bits = places.lane(row, part), joined(codes[row])
        if bits_of(kind) == 8:
            words[lane] = bits & 0xFFFFFFFF, bits >> 32
            continue
        base = lane // 16 * 16
        for i in range(2):
            words[base + lane % 8 + 8 * i] |= np.uint32((bits >> (16 * i) & 0xFFFF) << (lane % 16 // 8 * 16))


@pytest.mark.parametrize("in_tensor", [False, True])
@pytest.mark.parametrize(
    "kind, m, blocks, stationary, is_sparse",
    [
        ("f16", 128, 1, False, True),
        ("bf16", 64, 1, False, True),
        ("tf32", 128, 1, False, True),
        ("e4m3", 128, 1, False, True),
        ("s8", 64, 1, False, True),
        ("f16", 256, 2, False, True),
        ("e5m2", 128, 2, False, True),
        ("tf32", 128, 2, False, True),
        ("f16", 128, 2, False, False),
        ("f16", 32, 1, True, False),
        ("tf32", 64, 1, True, False),
        ("u8", 128, 1, True, False),
        ("f16", 32, 1, True, True),
        ("e4m3", 64, 1, True, True),
    ],
)
def test_products_of_tcgen05(kind, m, blocks, stationary, is_sparse, in_tensor):
    rng = np.random.default_rng(m + blocks)
    n = 64 if stationary else 32
    bits = bits_of(kind)
    k = (512 if is_sparse else 256) // bits
    places = Places(blocks, m, is_sparse, stationary)
    rows, parts = places.rows, places.parts
    # Every part of the columns has an A of its own where it comes from tensor memory.
    copies = parts if in_tensor else 1
    a, tensor = np.zeros((copies, m, k)), np.zeros((blocks, 128, 16), np.uint32)
    shared_a = [np.zeros(0, np.uint8)] * blocks
    for part in range(parts):
        copy = part % copies
        if is_sparse:
            if part < copies:
                a[copy], stored, codes = sparse(rng, kind, m, k)
        elif part < copies:
            a[copy], stored = whole(rng, kind, m, k)
        for r in range(blocks):
            own = stored[r * rows : (r + 1) * rows]
            if not in_tensor:
                shared_a[r] = core_matrices(own)
            for row in range(rows if in_tensor else 0):
                tensor[r, places.lane(row, part), :8] = raw(own[row]).view(np.uint32)
            if is_sparse:
                # One column of metadata is the second, where the selector is 1.
                words = tensor[r, :, 8:10] if bits == 8 else tensor[r, :, 9]
                lanes_of_metadata(kind, codes[r * rows :], places, part, words)
    b, b_stored = whole(rng, kind, n, k)
    shared_b = [core_matrices(b_stored[r * n // blocks : (r + 1) * n // blocks]) for r in range(blocks)]
    selector = 1 if is_sparse and bits != 8 else 0
    idesc = instruction_descriptor(kind, m, n, is_sparse, selector)
    name = ".ws" * stationary + ".sp" * is_sparse + f".cta_group::{blocks}.kind::{KINDS[kind][0]}"
    operands = f"[%base], {'[%base+256]' if in_tensor else '%da'}, %db, {'[%base+264], ' * is_sparse}%idesc"
    products = [f"tcgen05.mma{name} {operands}, %{p};" for p in ("false", "true")]
    dtype = np.int32 if KINDS[kind][0] == "i8" else np.float32
    b_bytes = 64 if is_sparse else 32
    columns = n // parts
    d, _ = run_tcgen05(products, blocks, idesc, shared_a, shared_b, tensor, columns, 0, b_bytes, dtype)
    seen = np.zeros((blocks, 128), bool)
    for part, r, row in itertools.product(range(parts), range(blocks), range(rows)):
        wanted = 2 * a[part % copies, r * rows + row] @ b[part * columns : (part + 1) * columns].T
        lane = places.lane(row, part)
        assert (d[r, lane] == wanted).all(), (part, r, row)
        seen[r, lane] = True
    assert (d[~seen] == EMPTY).all()


def zero_columns(starts, firsts, skip, use, shift):
    return (
        sum(start << (8 * i) for i, start in enumerate(starts))
        | sum(first << (32 + i) for i, first in enumerate(firsts))
        | 1 << 39
        | skip << 40
        | use << 48
        | shift << 56
    )


@pytest.mark.parametrize(
    "m, starts, firsts, shift, masks",
    [  # the examples of PTX ISA 9.7.16.4.3, the first columns of each part first
        (128, (0,), (0,), 0, ["0000111"]),
        (64, (0, 0), (1, 0), 0, ["1110000", "0000111"]),
        (32, (0, 1, 2, 1), (1, 1, 0, 0), 2, ["1110000", "1100001", "0011100", "0001110"]),
    ],
)
def test_columns_that_count_as_zeros(m, starts, firsts, shift, masks):
    rng = np.random.default_rng(m)
    n, parts = 64, 128 // m
    a, a_stored = whole(rng, "f16", m, 16)
    b, b_stored = whole(rng, "f16", n + 8, 16)
    zeros = zero_columns(starts, firsts, 2, 3, shift)
    idesc = instruction_descriptor("f16", m, n, max_shift=1 if shift else 0)
    product = (
        "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b1::fill [%base], %da, %db, %idesc, %false, %zeros;"
    )
    args = ([product], 1, idesc, [core_matrices(a_stored)], [core_matrices(b_stored)])
    d, _ = run_tcgen05(*args, np.zeros((1, 128, 16), np.uint32), n // parts, zeros)
    used = b[shift : shift + n].copy()
    for part, mask in enumerate(masks):
        # The mask goes on with its period of 7.
        size = n // parts
        bits = [mask[i % 7] == "1" for i in range(size)]
        used[part * size : (part + 1) * size][bits] = 0
    wanted = (a @ used.T).reshape(m, parts, n // parts).transpose(1, 0, 2).reshape(128, n // parts)
    assert (d[0] == wanted).all()
    if shift:
        with pytest.raises(triton_runner.KernelTrap, match="shifts B by 2 columns"):
            run_tcgen05(
                [product], 1, idesc & 0x3FFFFFFF, *args[3:], np.zeros((1, 128, 16), np.uint32), 16, zeros
            )


@pytest.mark.parametrize("shift", ["ashift", "shift"])
def test_rows_of_a_go_down(shift):
    rng = np.random.default_rng(5)
    a, a_stored = whole(rng, "f16", 128, 16)
    b, b_stored = whole(rng, "f16", 8, 16)
    tensor = np.zeros((1, 128, 16), np.uint32)
    tensor[0, :, :8] = raw(a_stored).view(np.uint32).reshape(128, 8)
    mma = "tcgen05.mma.cta_group::1.kind::f16{} [%base{}], [%base+256], %db, %idesc, %false;"
    if shift == "ashift":
        products = [mma.format(".ashift.collector::a::discard", ""), mma.format("", "+8")]
    else:
        moves = [
            f"add.u32 %i, %base, {quarter << 21};\n  tcgen05.shift.cta_group::1.down [%i+256];"
            for quarter in range(4)
        ]
        products = [mma.format("", ""), *moves, mma.format("", "+8")]
    idesc = instruction_descriptor("f16", 128, 8)
    d, left = run_tcgen05(products, 1, idesc, [np.zeros(0, np.uint8)], [core_matrices(b_stored)], tensor, 16)
    moved = a.copy()
    for start in range(0, 128, 32):
        moved[start : start + 31] = a[start + 1 : start + 32]
    assert (d[0, :, :8] == a @ b.T).all()
    assert (d[0, :, 8:] == moved @ b.T).all()
    assert (left.view(np.float16).reshape(128, 16) == moved).all()
