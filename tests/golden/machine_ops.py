"""Cases of ops close to a machine: warp groups and their rings (nvws), other blocks' memory."""
# ruff: noqa: E501 (lines of IR are as long as they are)

from __future__ import annotations

import functools
from fractions import Fraction

from .builder import Family, Kernel, plain
from .casefile import Array, Case, Cases
from .formats import F32, INF, NAN, larger, smaller, wrap

ONE = plain("one", "0")
TWO = ONE + plain("two", "1, 0")
BAR = "!ttg.memdesc<1xi64, #one, #smem, mutable>"
FAMILY = Family(functools.partial(Kernel, gpu=True, layouts=TWO))
case, several, cases = FAMILY.case, FAMILY.several, FAMILY.cases


def line(values, at: str, count: int = 8) -> str:
    """Stores a tensor<8xi32> to %out + 8 * at."""
    return f"""
%w{values[1:]} = arith.constant {count} : i32
%b{values[1:]} = arith.muli {at}, %w{values[1:]} : i32
%o{values[1:]} = tt.addptr %p0, %b{values[1:]} : !tt.ptr<i32>, i32
%s{values[1:]} = tt.splat %o{values[1:]} : !tt.ptr<i32> -> tensor<{count}x!tt.ptr<i32>, #line>
%q{values[1:]} = tt.addptr %s{values[1:]}, %range : tensor<{count}x!tt.ptr<i32>, #line>, tensor<{count}xi32, #line>
tt.store %q{values[1:]}, {values} : tensor<{count}x!tt.ptr<i32>, #line>"""


def indented(text: str, by: int) -> str:
    return "\n".join(" " * by + part if part else part for part in text.strip("\n").split("\n"))


# ---- arefs and tokens

RING = "!ttg.memdesc<2x8xi32, #one, #smem, mutable>"
SLOT = "!ttg.memdesc<8xi32, #one, #smem, mutable>"
HALF = "!ttg.memdesc<4xi32, #one, #smem, mutable, 8>"
AREF = f"!nvws.aref<[{RING}]>"


@case(
    "op/nvws.aref.ttgir",
    "A partition puts six rows into a ring of two buffers, the default region gets them.",
)
def aref_partitions(kernel: Kernel) -> None:
    kernel.array("i32", (6, 8), None, [wrap(i * j + 1, 32) for i in range(6) for j in range(8)])
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c6 = arith.constant 6 : i32
%ring = ttg.local_alloc : () -> {RING}
ttng.tcgen5_global_alloc {{tensor_memory_size = 128 : i32, two_ctas = false}}
%aref = nvws.aref.create %ring : {AREF}
ttg.warp_specialize(%aref)
default {{
  %range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
  scf.for %i = %c0 to %c6 step %c1 : i32 {{
    %buffer, %token = nvws.aref.get.enter %aref[%c0, %c0] : {AREF} -> {SLOT}, !ttg.async.token
    %v = ttg.local_load %buffer : {SLOT} -> tensor<8xi32, #line>
    nvws.aref.get.exit %aref[%c0], %token [#nvws.async_op<none>] : {AREF}, !ttg.async.token
{indented(line("%v", "%i"), 4)}
  }}
  ttg.warp_yield
}}
partition0(%ring_of: {AREF}) num_warps(4) {{
  %d0 = arith.constant 0 : i32
  %d1 = arith.constant 1 : i32
  %d6 = arith.constant 6 : i32
  %one = arith.constant dense<1> : tensor<8xi32, #line>
  %range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
  scf.for %i = %d0 to %d6 step %d1 : i32 {{
    %s = tt.splat %i : i32 -> tensor<8xi32, #line>
    %m = arith.muli %range, %s : tensor<8xi32, #line>
    %v = arith.addi %m, %one : tensor<8xi32, #line>
    %buffer, %token = nvws.aref.put.enter %ring_of[%d0, %d0] : {AREF} -> {SLOT}, !ttg.async.token
    ttg.local_store %v, %buffer : tensor<8xi32, #line> -> {SLOT}
    nvws.aref.put.exit %ring_of[%d0], %token [#nvws.async_op<none>] : {AREF}, !ttg.async.token
  }}
  ttg.warp_return
}} : ({AREF}) -> ()""")


@case(
    "op/nvws.aref.buffer.ttgir",
    "Before partitions are split: one loop puts, and two consumers get, each in its turn.",
)
def aref_in_a_loop(kernel: Kernel) -> None:
    kernel.array(
        "i32",
        (4, 8),
        None,
        [wrap(10 * i + j if k else i + j, 32) for i in range(2) for k in (0, 1) for j in range(8)],
    )
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c2 = arith.constant 2 : i32
%nine = arith.constant 9 : i32
%range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
%ring = ttg.local_alloc : () -> {RING}
%aref = nvws.aref.create %ring : {AREF}
scf.for %i = %c0 to %c2 step %c1 : i32 {{
  %s = tt.splat %i : i32 -> tensor<8xi32, #line>
  %x = arith.addi %range, %s : tensor<8xi32, #line>
  %into, %put = nvws.aref.put.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 0>}} : {AREF} -> {SLOT}, !ttg.async.token
  ttg.local_store %x, %into : tensor<8xi32, #line> -> {SLOT}
  nvws.aref.put.exit %aref[%c0], %put [#nvws.async_op<none>] {{ttg.partition = array<i32: 0>}} : {AREF}, !ttg.async.token
  %from, %get = nvws.aref.get.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 1>}} : {AREF} -> {SLOT}, !ttg.async.token
  %v = ttg.local_load %from : {SLOT} -> tensor<8xi32, #line>
  nvws.aref.get.exit %aref[%c0], %get [#nvws.async_op<none>] {{ttg.partition = array<i32: 1>}} : {AREF}, !ttg.async.token
  %other, %again = nvws.aref.get.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 2>}} : {AREF} -> {SLOT}, !ttg.async.token
  %same = nvws.aref.buffer %aref[%c0], %again {{ttg.partition = array<i32: 2>}} : {AREF}, !ttg.async.token -> {SLOT}
  %u = ttg.local_load %same : {SLOT} -> tensor<8xi32, #line>
  nvws.aref.get.exit %aref[%c0], %again [#nvws.async_op<none>] {{ttg.partition = array<i32: 2>}} : {AREF}, !ttg.async.token
  %k = arith.muli %i, %c2 : i32
  %k1 = arith.addi %k, %c1 : i32
  %n = arith.muli %i, %nine : i32
  %ns = tt.splat %n : i32 -> tensor<8xi32, #line>
  %un = arith.addi %u, %ns : tensor<8xi32, #line>
{indented(line("%v", "%k"), 2)}
{indented(line("%un", "%k1"), 2)}
}}""")


@case(
    "op/nvws.aref.phi.ttgir",
    "The value that one partition made and another got: one value, whoever reads it.",
)
def aref_phi(kernel: Kernel) -> None:
    kernel.array("i32", (8,), None, [wrap(2 * j, 32) for j in range(8)])
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
%ring = ttg.local_alloc : () -> {RING}
%aref = nvws.aref.create %ring : {AREF}
%x = arith.addi %range, %range {{ttg.partition = array<i32: 0>}} : tensor<8xi32, #line>
%into, %put = nvws.aref.put.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 0>}} : {AREF} -> {SLOT}, !ttg.async.token
ttg.local_store %x, %into : tensor<8xi32, #line> -> {SLOT}
nvws.aref.put.exit %aref[%c0], %put [#nvws.async_op<none>] {{ttg.partition = array<i32: 0>}} : {AREF}, !ttg.async.token
%from, %get = nvws.aref.get.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 1>}} : {AREF} -> {SLOT}, !ttg.async.token
%v = ttg.local_load %from {{ttg.partition = array<i32: 1>}} : {SLOT} -> tensor<8xi32, #line>
nvws.aref.get.exit %aref[%c0], %get [#nvws.async_op<none>] {{ttg.partition = array<i32: 1>}} : {AREF}, !ttg.async.token
%either = nvws.aref.phi %x, %v {{ttg.partition = array<i32: 0, 1>}} : tensor<8xi32, #line>
{line("%either", "%c0")}""")


@case(
    "tile-gpu/bad-aref-full.ttgir",
    "A third put into a ring of two that nobody gets from.",
    output="kernel 'kernel': deadlock in nvws.aref.put.enter at bad-aref-full.ttgir:18:5, program (0, 0, 0): "
    "every task of the program waits, and none can wake another\n"
    "  note: nvws.aref.put.enter waits at bad-aref-full.ttgir:18:5",
)
def aref_full(kernel: Kernel) -> None:
    kernel.array("i32", (8,))
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%ring = ttg.local_alloc : () -> {RING}
%aref = nvws.aref.create %ring : {AREF}
%a, %t0 = nvws.aref.put.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 0>}} : {AREF} -> {SLOT}, !ttg.async.token
%b, %t1 = nvws.aref.put.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 0>}} : {AREF} -> {SLOT}, !ttg.async.token
%c, %t2 = nvws.aref.put.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 0>}} : {AREF} -> {SLOT}, !ttg.async.token
%d, %t3 = nvws.aref.get.enter %aref[%c0, %c0] {{ttg.partition = array<i32: 1>}} : {AREF} -> {SLOT}, !ttg.async.token""")


@case("op/nvws.token.ttgir", "Two warp groups hand six rows over through a ring of two tokens.")
def tokens(kernel: Kernel) -> None:
    kernel.array("i32", (6, 8), None, [wrap(i * j + 5, 32) for i in range(6) for j in range(8)])
    index = (
        """
%one{0} = arith.constant 1 : i32
%slot{0} = arith.andi %i, %one{0} : i32
%round{0} = arith.shrui %i, %one{0} : i32
%parity{0} = arith.andi %round{0}, %one{0} : i32
%phase{0} = arith.trunci %parity{0} : i32 to i1
%buffer{0} = ttg.memdesc_index %ring[%slot{0}] : """
        + f"{RING} -> {SLOT}"
    )
    token = "tensor<2x!nvws.token>"
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c6 = arith.constant 6 : i32
%range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
%five = arith.constant dense<5> : tensor<8xi32, #line>
%ring = ttg.local_alloc : () -> {RING}
%tok = nvws.create_token {{loadType = 1 : i32, numBuffers = 2 : i32}} : {token}
nvws.warp_group
partition0 num_warps(4) {{
  scf.for %i = %c0 to %c6 step %c1 : i32 {{
{indented(index.format("a"), 4)}
    %s = tt.splat %i : i32 -> tensor<8xi32, #line>
    %m = arith.muli %range, %s : tensor<8xi32, #line>
    %x = arith.addi %m, %five : tensor<8xi32, #line>
    nvws.producer_acquire %tok, %slota, %phasea : {token}, i32, i1
    ttg.local_store %x, %buffera : tensor<8xi32, #line> -> {SLOT}
    nvws.producer_commit %tok, %slota : {token}, i32
  }}
  nvws.warp_group.return
}}
partition1 num_warps(4) {{
  scf.for %i = %c0 to %c6 step %c1 : i32 {{
{indented(index.format("b"), 4)}
    nvws.consumer_wait %tok, %slotb, %phaseb : {token}, i32, i1
    %v = ttg.local_load %bufferb : {SLOT} -> tensor<8xi32, #line>
    nvws.consumer_release %tok, %slotb : {token}, i32
{indented(line("%v", "%i"), 4)}
  }}
  nvws.warp_group.return
}}""")


@case("op/nvws.warp_group.yield.ttgir", "The first warp group's values are the op's results.")
def warp_group_results(kernel: Kernel) -> None:
    x = kernel.load("i32", (8,), list(range(8)))
    t = "tensor<8xi32, #line>"
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%m = ttg.local_alloc : () -> {SLOT}
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
%r = nvws.warp_group
partition0 num_warps(4) {{
  ttng.wait_barrier %bar, %c0 : {BAR}
  %v = ttg.local_load %m : {SLOT} -> {t}
  %y = arith.addi %v, {x} : {t}
  nvws.warp_group.yield %y : {t}
}}
partition1 num_warps(4) {{
  ttg.local_store {x}, %m : {t} -> {SLOT}
  ttng.arrive_barrier %bar, 1 : {BAR}
  nvws.warp_group.return
}} : {t}""")
    kernel.store("%r", "i32", (8,), [2 * i for i in range(8)])


@case("op/nvws.descriptor_load.ttgir", "A block and rows of a descriptor into shared memory; outside is 0.")
def nvws_loads(kernel: Kernel) -> None:
    data = [wrap(3 * i - 7, 32) for i in range(64)]
    kernel.param("!tt.tensordesc<4x4xi32, #two>", Array("i32", (8, 8), data, None, descriptor=True))
    kernel.param("!tt.tensordesc<1x4xi32, #two>", Array("i32", (8, 8), data, None, descriptor=True))
    memory = "!ttg.memdesc<4x4xi32, #two, #smem, mutable>"
    kernel.do(f"""
%c4 = arith.constant 4 : i32
%c6 = arith.constant 6 : i32
%m = ttg.local_alloc : () -> {memory}
%g = ttg.local_alloc : () -> {memory}
nvws.descriptor_load %p0[%c6, %c4] 64 %m : !tt.tensordesc<4x4xi32, #two>, i32, i32, {memory}
%rows = arith.constant dense<[7, 0, 9, 3]> : tensor<4xi32, #line>
nvws.descriptor_gather %p1[%rows, %c4] 64 %g : !tt.tensordesc<1x4xi32, #two>, tensor<4xi32, #line>, i32, {memory}
%v = ttg.local_load %m : {memory} -> tensor<4x4xi32, #blocked>
%w = ttg.local_load %g : {memory} -> tensor<4x4xi32, #blocked>""")

    def at(r: int, c: int) -> int:
        return data[8 * r + c] if r < 8 and c < 8 else 0

    kernel.store("%v", "i32", (4, 4), [at(6 + r, 4 + c) for r in range(4) for c in range(4)])
    kernel.store("%w", "i32", (4, 4), [at(r, 4 + c) for r in (7, 0, 9, 3) for c in range(4)])


@case("tile-gpu/warp-specialize-in-function.ttgir", "Warp specialisation in a function that is called twice.")
def specialize_in_function(kernel: Kernel) -> None:
    kernel.array("i32", (2, 8), None, [wrap(v, 32) for v in [*range(8), *range(100, 108)]])
    kernel.functions.append(f"""  tt.func private @hand_over(%out: !tt.ptr<i32>, %first: i32) attributes {{noinline = true}} {{
    %c0 = arith.constant 0 : i32
    %m = ttg.local_alloc : () -> {SLOT}
    %full = ttg.local_alloc : () -> {BAR}
    ttng.init_barrier %full, 1 : {BAR}
    ttg.warp_specialize(%m, %full, %first)
    default {{
      ttng.wait_barrier %full, %c0 : {BAR}
      %v = ttg.local_load %m : {SLOT} -> tensor<8xi32, #line>
      %r = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
      %p = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>, #line>
      %q = tt.addptr %p, %r : tensor<8x!tt.ptr<i32>, #line>, tensor<8xi32, #line>
      tt.store %q, %v : tensor<8x!tt.ptr<i32>, #line>
      ttg.warp_yield
    }}
    partition0(%a: {SLOT}, %f: {BAR}, %n: i32) num_warps(4) {{
      %r = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32, #line>
      %s = tt.splat %n : i32 -> tensor<8xi32, #line>
      %v = arith.addi %r, %s : tensor<8xi32, #line>
      ttg.local_store %v, %a : tensor<8xi32, #line> -> {SLOT}
      ttng.arrive_barrier %f, 1 : {BAR}
      ttg.warp_return
    }} : ({SLOT}, {BAR}, i32) -> ()
    tt.return
  }}""")
    kernel.do("""
%c0 = arith.constant 0 : i32
%c8 = arith.constant 8 : i32
%c100 = arith.constant 100 : i32
tt.call @hand_over(%p0, %c0) : (!tt.ptr<i32>, i32) -> ()
%second = tt.addptr %p0, %c8 : !tt.ptr<i32>, i32
tt.call @hand_over(%second, %c100) : (!tt.ptr<i32>, i32) -> ()""")


# ---- blocks of a cluster


@case(
    "op/ttg.remote_shmem_store.ttgir", "The only block of a cluster reaches its own memory as a remote one's."
)
def remote(kernel: Kernel) -> None:
    data = [5, 6, 7, 8, 9, 10, 11, 12]
    x = kernel.load("i32", (8,), data)
    remote_bar = "!ttg.memdesc<1xi64, #one, #ttng.shared_cluster_memory, mutable>"
    t = "tensor<8xi32, #line>"
    kernel.do(f"""
%rank = arith.constant 0 : i32
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%true = arith.constant true
%a = ttg.local_alloc : () -> {SLOT}
%b = ttg.local_alloc : () -> {SLOT}
%c = ttg.local_alloc : () -> {SLOT}
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
ttg.remote_shmem_store {x}, rank %rank, %a : {t} -> {SLOT}
ttng.barrier_expect %bar, 64, %true : {BAR}
ttg.async_remote_shmem_store {x}, rank %rank, %b barrier %bar : {t} -> {SLOT} barrier_ty {BAR}
ttg.async_remote_shmem_copy %a, rank %rank, %c barrier %bar : {SLOT} -> {SLOT} barrier_ty {BAR}
%early = ttg.local_load %c : {SLOT} -> {t}
ttng.wait_barrier %bar, %c0 : {BAR}
%far = ttng.map_to_remote_buffer %bar, %rank : {BAR} -> {remote_bar}
ttng.arrive_barrier %far, 1 : {remote_bar}
ttng.wait_barrier %bar, %c1 : {BAR}
%va = ttg.local_load %a : {SLOT} -> {t}
%vb = ttg.local_load %b : {SLOT} -> {t}
%vc = ttg.local_load %c : {SLOT} -> {t}""")
    for name in ("%va", "%vb", "%vc"):
        kernel.store(name, "i32", (8,), data)
    kernel.store("%early", "i32", (8,), [wrap(-1, 32)] * 8)


@case(
    "op/ttng.async_shared_store.ttgir",
    "A store that arrives at a barrier, and 16 bytes of the buffer to global memory.",
)
def shared_stores(kernel: Kernel) -> None:
    data = [5, 6, 7, 8, 9, 10, 11, 12]
    x = kernel.load("i32", (8,), data)
    pointer, _ = kernel.array("i32", (8,), None, [5, 6, 7, 8, 0, 0, 0, 0])
    t = "tensor<8xi32, #line>"
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%bytes = arith.constant 16 : i32
%true = arith.constant true
%a = ttg.local_alloc : () -> {SLOT}
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
ttng.barrier_expect %bar, 32, %true : {BAR}
ttng.async_shared_store {x}, %a, %bar : {t} -> {SLOT}, {BAR}
%early = ttg.local_load %a : {SLOT} -> {t}
ttng.wait_barrier %bar, %c0 : {BAR}
%v = ttg.local_load %a : {SLOT} -> {t}
ttng.async_store %a, {pointer}, %bytes : {SLOT}, !tt.ptr<i32>""")
    kernel.store("%early", "i32", (8,), [wrap(-1, 32)] * 8)
    kernel.store("%v", "i32", (8,), data)


PARTS = """\
#parts = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>
#halves = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[1]]}>
"""


@case(
    "tile-gpu/shared-store-cluster.ttgir",
    "A store that arrives at the barriers of two blocks: each expects the bytes of its own half.",
    layouts=PARTS,
    ctas=2,
)
def shared_store_of_a_cluster(kernel: Kernel) -> None:
    """Each of two blocks stores half of the tile, and its barrier counts the bytes of that."""
    data = [5, 6, 7, 8, 9, 10, 11, 12]
    x = kernel.load("i32", (8,), data, encoding="#parts")
    t, slot, bar = (
        "tensor<8xi32, #parts>",
        "!ttg.memdesc<8xi32, #halves, #smem, mutable>",
        "!ttg.memdesc<2xi64, #halves, #smem, mutable>",
    )
    kernel.do(f"""
%c0 = arith.constant 0 : i32
%true = arith.constant true
%a = ttg.local_alloc : () -> {slot}
%bar = ttg.local_alloc : () -> {bar}
ttng.init_barrier %bar, 1 : {bar}
ttng.barrier_expect %bar, 16, %true : {bar}
ttng.async_shared_store {x}, %a, %bar : {t} -> {slot}, {bar}
ttng.wait_barrier %bar, %c0 : {bar}
%v = ttg.local_load %a : {slot} -> {t}""")
    kernel.store("%v", "i32", (8,), data, encoding="#parts")


def borrowed_buffer(name: str, about: str, first: int, half: bool = False, trap: str = "") -> Case:
    """Up to Triton 3.8 a view may go on into the buffer behind its own: a persistent product's result takes two."""
    kernel = Kernel(gpu=True, layouts=ONE)
    data = [3 * i + 1 for i in range(16)]
    x = kernel.load("i32", (16,), data)
    ring, both = "!ttg.memdesc<3x8xi32, #one, #smem, mutable>", "!ttg.memdesc<16xi32, #one, #smem, mutable>"
    kernel.do(f"""
%first = arith.constant {first} : i32
%last = arith.constant 2 : i32
%ring = ttg.local_alloc : () -> {ring}
%own = ttg.memdesc_index %ring[%first] : {ring} -> {SLOT}
%half = ttg.memdesc_subslice %own[4] : {SLOT} -> {HALF}
%both = ttg.memdesc_reinterpret {f"%half : {HALF}" if half else f"%own : {SLOT}"} -> {both}
ttg.local_store {x}, %both : tensor<16xi32, #line> -> {both}
%next = ttg.memdesc_index %ring[%last] : {ring} -> {SLOT}
%a = ttg.local_load %own : {SLOT} -> tensor<8xi32, #line>
%b = ttg.local_load %next : {SLOT} -> tensor<8xi32, #line>""")
    kernel.store("%a", "i32", (8,), data[:8] if first == 1 else None)
    kernel.store("%b", "i32", (8,), data[8:] if first == 1 else None)
    file = f"{name}.ttgir"
    output = f"kernel 'kernel': {trap.format(f'ttg.memdesc_reinterpret at {file}:23:5, program (0, 0, 0)')}"
    return kernel.case(f"tile-gpu/{file}", about, output=output if trap else None)


@several
def borrowed_buffers() -> Cases:
    about = "A view of two buffers of a ring, which begins at the second of three."
    yield borrowed_buffer("reinterpret-beyond", about, 1)
    trap = "out of bounds in {}: a view of 64 bytes from byte 64 of an allocation of 96"
    yield borrowed_buffer(
        "bad-reinterpret-beyond", "A view of two buffers that begins at the last.", 2, trap=trap
    )
    about = "A view of two buffers that begins in the middle of one."
    trap = "unsupported in {}: a slice of a buffer as a larger buffer"
    yield borrowed_buffer("bad-reinterpret-slice", about, 0, half=True, trap=trap)


TMEM = "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 8, colStride = 1>\n"


@case(
    "op/ttng.tmem_load-reduced.ttgir",
    "A load that gives each row's smallest or largest value as well.",
    target="cuda:103",
    layouts=TMEM,
)
def tmem_load_reduced(kernel: Kernel) -> None:
    """Rows of 128 x 8 floats; a few hold NaN, signed zeros, infinities."""
    rows, cols = 128, 8
    numbers = [F32.decode(F32.encode((i % 3 == 1, Fraction((29 * i) % 97, 4)))) for i in range(rows * cols)]
    numbers[0:8] = [(0, NAN), (0, Fraction(1)), (1, Fraction(2)), (0, Fraction(0))] * 2
    numbers[8:16] = [(1, Fraction(0)), (0, Fraction(0))] * 4
    numbers[16:24] = [(0, NAN)] * 8
    numbers[24:32] = [(1, INF), (0, INF)] * 4
    x = kernel.load("f32", (rows, cols), [F32.encode(n) for n in numbers])
    tile, line = kernel.type((rows, cols), "f32"), f"tensor<{rows}xf32, #row>"
    desc = "!ttg.memdesc<128x8xf32, #tmem, #ttng.tensor_memory, mutable>"
    m = kernel.emit(f"ttng.tmem_alloc {x} : ({tile}) -> {desc}")
    for index, (kind, magnitudes, nan) in enumerate(
        (("min", False, False), ("max", False, True), ("min", True, True), ("max", True, False))
    ):
        attributes = f"redOp = #ttng.redOp<{kind}>"
        attributes += ", abs = true" if magnitudes else ""
        attributes += ", NaN = true" if nan else ""
        kernel.do(f"%v{index}, %r{index} = ttng.tmem_load {m} {{{attributes}}} : {desc} -> {tile}, {line}")
        expected = []
        for r in range(rows):
            row = [(0, n[1]) if magnitudes else n for n in numbers[r * cols : (r + 1) * cols]]
            best = row[0]
            for n in row[1:]:
                best = (smaller if kind == "min" else larger)(best, n, nan)
            expected.append(F32.encode(best))
        kernel.store(f"%r{index}", "f32", (rows,), expected, encoding="#row")


def refused(name: str, about: str, text: str, at: str, message: str, notes: str = "", gpu=True) -> Case:
    """Makes a case that is not run, which says so where it stands."""
    kernel = Kernel(gpu=gpu, layouts=ONE if gpu else "")
    kernel.array("i32", (8,))
    kernel.do(text)
    path = f"tile-gpu/bad-{name}.ttgir" if gpu else f"tile/bad-{name}.ttir"
    return kernel.refused(path, about, at, message, notes=notes)


@several
def all_refused() -> Cases:
    yield refused(
        "stochastic-rounding",
        "A rounding that needs random bits.",
        "%x = arith.constant dense<1.0> : tensor<8xf32, #line>\n"
        "%y = tt.fp_to_fp %x, rounding = rs : tensor<8xf32, #line> -> tensor<8xf16, #line>",
        "%y = tt.fp_to_fp",
        "rounding 'rs' is not supported: rtne and rtz are",
    )
    yield refused(
        "reinterpret-larger",
        "A buffer read as a larger one.",
        f"%m = ttg.local_alloc : () -> {SLOT}\n"
        f"%n = ttg.memdesc_reinterpret %m : {SLOT} -> !ttg.memdesc<16xi32, #one, #smem, mutable>",
        "%n = ttg.memdesc_reinterpret",
        "a buffer of 32 bytes as one of 64",
    )
    yield refused(
        "extern-unknown",
        "A function that no libdevice has.",
        "%x = arith.constant 1.0 : f32\n"
        '%y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_sinff"} : (f32) -> f32',
        "%y = tt.extern_elementwise",
        "the external function '__nv_sinff' is not known to the tile engine",
        "\nnote: the engine has '__nv_sinf'\nnote: the engine has '__nv_sinhf'\nnote: the engine has '__nv_isinff'"
        "\nnote: run the kernel from its ptx or cubin on a GPU, or write the function with tl and math ops",
        gpu=False,
    )
