"""Cases of clusters whose blocks are programs of the grid (ttg.cluster-dim-x): they meet, and reach each other's memory."""
# ruff: noqa: E501 (lines of IR are as long as they are)

from __future__ import annotations

from .builder import Family, Kernel, plain
from .casefile import Array, Case, Cases

LAYOUTS = f"""\
{plain("one", "0")}\
#nv32 = #ttg.nvmma_shared<{{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 32}}>
"""
BAR = "!ttg.memdesc<1xi64, #one, #smem, mutable>"
FAR = "!ttg.memdesc<1xi64, #one, #ttng.shared_cluster_memory, mutable>"
LINE = "!ttg.memdesc<8xi32, #one, #smem, mutable>"
RING = "!ttg.memdesc<4x8xi32, #one, #smem, mutable>"
SLOT = "!ttg.memdesc<8xi32, #one, #smem, mutable, 4x8>"
T = "tensor<8xi32, #line>"
MEET = "ttng.cluster_arrive {relaxed = false}\nttng.cluster_wait"
DEADLOCK = "every task of the cluster's programs waits, and none can wake another"


def kernel_of(cluster=(2,)) -> Kernel:
    """%mine: 100 * the program's number + 0 .. 7; %rank, and %peer, the rank of the other of two."""
    k = Kernel(gpu=True, layouts=LAYOUTS, cluster=cluster)
    k.do(f"""
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%c8 = arith.constant 8 : i32
%hundred = arith.constant 100 : i32
%true = arith.constant true
%x = tt.get_program_id x : i32
%y = tt.get_program_id y : i32
%columns = tt.get_num_programs x : i32
%row = arith.muli %y, %columns : i32
%pid = arith.addi %row, %x : i32
%rank = nvg.cluster_id
%peer = arith.xori %rank, %c1 : i32
%range = tt.make_range {{end = 8 : i32, start = 0 : i32}} : {T}
%first = arith.muli %pid, %hundred : i32
%firsts = tt.splat %first : i32 -> {T}
%mine = arith.addi %range, %firsts : {T}""")
    return k


FAMILY = Family(kernel_of)
case, several, cases = FAMILY.case, FAMILY.several, FAMILY.cases


def store(k: Kernel, value: str, programs: int, expected) -> None:
    """Eight elements of each program."""
    after = None if expected is None else [v for p in range(programs) for v in expected(p)]
    k.array("i32", (programs, 8), None, after)
    k.do(f"""
%at = arith.muli %pid, %c8 : i32
%out = tt.addptr %p0, %at : !tt.ptr<i32>, i32
%outs = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>, #line>
%places = tt.addptr %outs, %range : tensor<8x!tt.ptr<i32>, #line>, {T}
tt.store %places, {value} : tensor<8x!tt.ptr<i32>, #line>""")


def fails(k: Kernel, path: str, about: str, grid: str, op: str, kind: str, message: str, notes=()) -> Case:
    """The first `op` of the module traps in the first program; notes are (text, op)."""
    k.array("i32", (2, 8))
    header = [f"grid: {grid}", *(["checks: oob,race"] if kind == "data race" else [])]

    def place(op: str) -> str:
        name, _, nth = op.partition("#")
        return f"{path.split('/')[-1]}:{k.line_with(name, header, int(nth or 1))[0]}:5"

    name = op.partition("#")[0]
    output = f"kernel 'kernel': {kind} in {name} at {place(op)}, {message}"
    output += "".join(f"\n  note: {text} {place(other)}" for text, other in notes)
    return k.case(path, about, header, output)


def exchange(k: Kernel, first: str = MEET, last: str = MEET) -> None:
    """Each of two blocks stores its line to the other, which reads it."""
    k.do(f"%a = ttg.local_alloc : () -> {LINE}")
    k.do(first)
    k.do(f"ttg.remote_shmem_store %mine, rank %peer, %a : {T} -> {LINE}")
    k.do(last)
    k.do(f"%theirs = ttg.local_load %a : {LINE} -> {T}")


@case(
    "op/nvg.cluster_id.ttgir",
    "Each block of two stores to the other, which reads it behind a barrier of the cluster.",
    ["grid: 4"],
)
def exchanged(k: Kernel) -> None:
    exchange(k)
    store(k, "%theirs", 4, lambda p: [100 * (p ^ 1) + e for e in range(8)])


@case(
    "tile-gpu/cluster-barriers.ttgir",
    "A store and a copy that the other block's barrier counts, and an arrival there.",
    ["grid: 4"],
)
def through_barriers(k: Kernel) -> None:
    k.do(f"""
%a = ttg.local_alloc : () -> {LINE}
%b = ttg.local_alloc : () -> {LINE}
%own = ttg.local_alloc %mine : ({T}) -> {LINE}
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
%told = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %told, 1 : {BAR}
ttng.fence_mbarrier_init_release_cluster
ttng.cluster_barrier {{relaxed = false}}
ttng.barrier_expect %bar, 64, %true : {BAR}
ttg.async_remote_shmem_store %mine, rank %peer, %a barrier %bar : {T} -> {LINE} barrier_ty {BAR}
ttg.async_remote_shmem_copy %own, rank %peer, %b barrier %bar : {LINE} -> {LINE} barrier_ty {BAR}
ttng.wait_barrier %bar, %c0 : {BAR}
%far = ttng.map_to_remote_buffer %told, %peer : {BAR} -> {FAR}
%u = ttg.local_load %a : {LINE} -> {T}
%v = ttg.local_load %b : {LINE} -> {T}
ttng.arrive_barrier %far, 1 : {FAR}
ttng.wait_barrier %told, %c0 : {BAR}
%sum = arith.addi %u, %v : {T}""")
    store(k, "%sum", 4, lambda p: [200 * (p ^ 1) + 2 * e for e in range(8)])
    k.do(MEET)


@case(
    "tile-gpu/cluster-reduction.ttgir",
    "The sum of four blocks' lines, in the first of 2 x 2.",
    ["grid: 4 2"],
    cluster=(2, 2),
)
def reduction(k: Kernel) -> None:
    """Each of 2 x 2 blocks sends its line to block 0, which adds them."""
    k.do(f"""
%c128 = arith.constant 128 : i32
%c2 = arith.constant 2 : i32
%c3 = arith.constant 3 : i32
%ring = ttg.local_alloc : () -> {RING}
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
{MEET}
%leads = arith.cmpi eq, %rank, %c0 : i32
ttng.barrier_expect %bar, 128, %leads : {BAR}
%slot = ttg.memdesc_index %ring[%rank] : {RING} -> {SLOT}
ttg.async_remote_shmem_store %mine, rank %c0, %slot barrier %bar : {T} -> {SLOT} barrier_ty {BAR}
%sum = scf.if %leads -> ({T}) {{
  ttng.wait_barrier %bar, %c0 : {BAR}""")
    for i in range(4):
        k.do(f"""
  %s{i} = ttg.memdesc_index %ring[%c{i}] : {RING} -> {SLOT}
  %v{i} = ttg.local_load %s{i} : {SLOT} -> {T}""")
    k.do(f"""
  %a = arith.addi %v0, %v1 : {T}
  %b = arith.addi %v2, %v3 : {T}
  %all = arith.addi %a, %b : {T}
  scf.yield %all : {T}
}} else {{
  scf.yield %mine : {T}
}}""")

    def expected(p):
        x, y = p % 4, p // 4
        if x % 2 or y % 2:
            return [100 * p + e for e in range(8)]
        return [100 * (p + p + 1 + p + 4 + p + 5) + 4 * e for e in range(8)]

    store(k, "%sum", 8, expected)
    k.do(MEET)


@case("tile-gpu/cluster-multicast.ttgir", "One TMA load for both blocks of a cluster.", ["grid: 4"])
def multicast(k: Kernel) -> None:
    """Block 0 loads a tile for both blocks; each waits at its own barrier."""
    tile, buffer = "tensor<8x8xf32, #blocked>", "!ttg.memdesc<8x8xf32, #nv32, #smem, mutable>"
    k.array("i32", (4, 8), None, None)
    data = [x << 23 for x in range(120, 184)]
    desc = k.param("!tt.tensordesc<8x8xf32, #nv32>", Array("f32", (8, 8), data, descriptor=True))
    out, _ = k.array("f32", (4, 8, 8), None, data * 4)
    k.do(f"""
%m = ttg.local_alloc : () -> {buffer}
%bar = ttg.local_alloc : () -> {BAR}
%both = arith.constant 3 : i16
ttng.init_barrier %bar, 1 : {BAR}
ttng.barrier_expect %bar, 256, %true : {BAR}
{MEET}
%leads = arith.cmpi eq, %rank, %c0 : i32
ttng.async_tma_copy_global_to_local {desc}[%c0, %c0] %m, %bar, %leads, multicast_mask = %both : !tt.tensordesc<8x8xf32, #nv32>, {BAR} -> {buffer}
ttng.wait_barrier %bar, %c0 : {BAR}
%v = ttg.local_load %m : {buffer} -> {tile}
%c64 = arith.constant 64 : i32
%at = arith.muli %pid, %c64 : i32
%out = tt.addptr {out}, %at : !tt.ptr<f32>, i32""")
    k.do(f"tt.store {k.pointers('%out', 'f32', (8, 8))}, %v : tensor<8x8x!tt.ptr<f32>, #blocked>")
    k.do(MEET)


@several
def refused() -> Cases:
    k = kernel_of()
    k.do(f"""
%c2 = arith.constant 2 : i32
%a = ttg.local_alloc : () -> {LINE}
ttg.remote_shmem_store %mine, rank %c2, %a : {T} -> {LINE}""")
    about = "A rank that the cluster does not have."
    message = "program (0, 0, 0): shared memory of block 2: the cluster has 2"
    yield fails(
        k, "tile-gpu/bad-cluster-rank.ttgir", about, "2", "ttg.remote_shmem_store", "out of bounds", message
    )

    k = kernel_of()
    k.do(f"""
%a = ttg.local_alloc : () -> {LINE}
ttg.remote_shmem_store %mine, rank %peer, %a : {T} -> {LINE}""")
    about = "A block stores to another that may have ended."
    message = (
        "program (1, 0, 0): shared memory of block 0 of the cluster, which has ended: it has to wait for this one "
        "(a barrier of the cluster)"
    )
    yield fails(
        k,
        "tile-gpu/bad-cluster-ended.ttgir",
        about,
        "2",
        "ttg.remote_shmem_store",
        "invalid operation",
        message,
    )

    k = kernel_of()
    k.do(f"""
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
{MEET}
%far = ttng.map_to_remote_buffer %bar, %rank : {BAR} -> {FAR}
%leads = arith.cmpi eq, %rank, %c0 : i32
ttng.arrive_barrier %far, 1, %leads : {FAR}
ttng.wait_barrier %bar, %c0 : {BAR}
ttng.cluster_barrier {{relaxed = false}}""")
    about = "Block 0 arrives at its own barrier, for which block 1 waits in vain."
    waits = "waits at"
    notes = [
        (f"block 0 of the cluster: ttng.cluster_barrier {waits}", "ttng.cluster_barrier"),
        (f"block 1 of the cluster: ttng.wait_barrier {waits}", "ttng.wait_barrier"),
    ]
    message = f"program (0, 0, 0): {DEADLOCK}"
    path = "tile-gpu/bad-cluster-deadlock.ttgir"
    yield fails(k, path, about, "2", "ttng.cluster_barrier", "deadlock", message, notes)


@several
def not_loaded() -> Cases:
    """Makes the cases that are refused before anything runs."""
    far = f"""
%bar = ttg.local_alloc : () -> {BAR}
ttng.init_barrier %bar, 1 : {BAR}
%far = ttng.map_to_remote_buffer %bar, %peer : {BAR} -> {FAR}"""
    for name, about, body, op, why in (
        (
            "wait",
            "A wait for another block's barrier.",
            f"{far}\nttng.wait_barrier %far, %c0 : {FAR}",
            "ttng.wait_barrier",
            "ttng.wait_barrier of another block's memory is not supported: its barriers can be arrived at",
        ),
    ):
        k = kernel_of()
        k.do(body)
        k.array("i32", (2, 8))
        yield k.refused(f"tile-gpu/bad-cluster-{name}.ttgir", about, op, why, ["grid: 2"])

    k = kernel_of()
    k.array("i32", (2, 8))
    output = (
        "error: a grid of 3 programs along x, which clusters of 2 do not divide\n"
        "note: the module's ttg.cluster-dim-x, -y and -z say how many programs are a cluster"
    )
    yield k.case("tile-gpu/bad-cluster-grid.ttgir", "Half a cluster.", ["grid: 3"], output)


@several
def raced() -> Cases:
    k = kernel_of()
    exchange(k, last="")
    k.do(MEET)
    about = "A block reads what another stores, and no barrier of the cluster stands between."
    message = (
        "program (0, 0, 0), element [0]: it writes element [0] of %a in shared memory of block 1 of the cluster, which "
        "program (1, 0, 0) read: nothing orders the two, so that the result depends on which is first"
    )
    notes = [("the other access is ttg.local_load at", "ttg.local_load")]
    yield fails(
        k, "check/bad-race-cluster.ttgir", about, "2", "ttg.remote_shmem_store", "data race", message, notes
    )
