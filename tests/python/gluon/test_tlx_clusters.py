"""Tests clusters whose blocks are programs of the grid, as TLX has them: one kernel as TTGIR with the ops
that Meta's fork of Triton has for it (ttg.cluster-dim-x; the package triton-utlx compiles no access to
another block) and as PTX written here, on both engines against NumPy; and the same broken, one edit at a
time."""
# ruff: noqa: E501 (lines of IR are as long as they are)

import json

import numpy as np
import pytest
import triton_runner

T, LINE = "tensor<128xi32, #line>", "!ttg.memdesc<128xi32, #one, #smem, mutable>"
BAR = "!ttg.memdesc<1xi64, #one, #smem, mutable>"

# Each block sends its 128 elements to a slot of every block of its cluster, and adds what it was sent.
TTGIR = f"""
#line = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
#one = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.cluster-dim-x" = SIZE : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @all_reduce(%in: !tt.ptr<i32>, %out: !tt.ptr<i32>) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %size = arith.constant SIZE : i32
    %c128 = arith.constant 128 : i32
    %true = arith.constant true
    %pid = tt.get_program_id x : i32
    %rank = nvg.cluster_id
    %range = tt.make_range {{end = 128 : i32, start = 0 : i32}} : {T}
    %at = arith.muli %pid, %c128 : i32
    %ats = tt.splat %at : i32 -> {T}
    %index = arith.addi %range, %ats : {T}
    %ins = tt.splat %in : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #line>
    %from = tt.addptr %ins, %index : tensor<128x!tt.ptr<i32>, #line>, {T}
    %mine = tt.load %from : tensor<128x!tt.ptr<i32>, #line>
    %slots = ttg.local_alloc : () -> !ttg.memdesc<SIZEx128xi32, #one, #smem, mutable>
    %bar = ttg.local_alloc : () -> {BAR}
    ttng.init_barrier %bar, 1 : {BAR}
    ttng.fence_mbarrier_init_release_cluster
    ttng.cluster_arrive {{relaxed = false}}
    ttng.cluster_wait
    ttng.barrier_expect %bar, BYTES, %true : {BAR}
    %slot = ttg.memdesc_index %slots[%rank] : !ttg.memdesc<SIZEx128xi32, #one, #smem, mutable> -> {LINE}
    scf.for %r = %c0 to %size step %c1 : i32 {{
      ttg.async_remote_shmem_store %mine, rank %r, %slot barrier %bar : {T} -> {LINE} barrier_ty {BAR}
    }}
    ttng.wait_barrier %bar, %c0 : {BAR}
    %zero = arith.constant dense<0> : {T}
    %sum = scf.for %r = %c0 to %size step %c1 iter_args(%s = %zero) -> ({T}) : i32 {{
      %part = ttg.memdesc_index %slots[%r] : !ttg.memdesc<SIZEx128xi32, #one, #smem, mutable> -> {LINE}
      %v = ttg.local_load %part : {LINE} -> {T}
      %n = arith.addi %s, %v : {T}
      scf.yield %n : {T}
    }}
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #line>
    %to = tt.addptr %outs, %index : tensor<128x!tt.ptr<i32>, #line>, {T}
    tt.store %to, %sum : tensor<128x!tt.ptr<i32>, #line>
    ttng.cluster_barrier {{relaxed = false}}
    tt.return
  }}
}}
"""

PTX = """
.version 8.7
.target sm_90a
.address_size 64
.shared .align 8 .b8 bar[8];
.shared .align 16 .b8 slots[4096];
.visible .entry all_reduce(.param .u64 in, .param .u64 out)
.reqntid 128
.explicitcluster
.reqnctapercluster SIZE
{
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %cluster_ctarank;
  mad.lo.u32 %r4, %r2, 128, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd1, %rd1, %rd3;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r6, bar;
  mov.u32 %r7, slots;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r6], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], BYTES;
  shl.b32 %r8, %r1, 2;
  mad.lo.u32 %r9, %r3, 512, %r8;
  add.u32 %r9, %r9, %r7;
  mov.u32 %r10, 0;
$send:
  mapa.shared::cluster.u32 %r11, %r9, %r10;
  mapa.shared::cluster.u32 %r12, %r6, %r10;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r11], %r5, [%r12];
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p2, %r10, SIZE;
  @%p2 bra $send;
$wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], 0;
  @!%p3 bra $wait;
  add.u32 %r13, %r7, %r8;
  mov.u32 %r14, 0;
  mov.u32 %r10, 0;
$add:
  ld.shared.u32 %r15, [%r13];
  add.u32 %r14, %r14, %r15;
  add.u32 %r13, %r13, 512;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p2, %r10, SIZE;
  @%p2 bra $add;
  st.global.u32 [%rd2], %r14;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
"""
TEXTS = {"ttgir": TTGIR, "ptx": PTX}


def launch(level: str, size: int, blocks: int, edit=None, **how) -> tuple[np.ndarray, np.ndarray]:
    text = TEXTS[level]
    if edit:
        assert edit[0] in text
        text = text.replace(*edit)
    text = text.replace("SIZE", str(size)).replace("BYTES", str(512 * size))
    x = np.random.default_rng(size).integers(-1000, 1000, (blocks, 128), dtype=np.int32)
    out = np.zeros_like(x)
    with triton_runner.using(device="cpu", **how):
        grid = blocks if level == "ttgir" else blocks // size  # PTX is launched by clusters, as Triton does
        triton_runner.load(text)[(grid,)](x, out)
    wanted = x.reshape(-1, size, 128).sum(1, dtype=np.int32).repeat(size, axis=0)
    return out, wanted


@pytest.mark.parametrize("level", TEXTS)
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_sums_over_clusters(level, size):
    ways = [{}, {"check": "race,uninit"}, {"timing": "eager"}, {"timing": "late"}]
    for how in ways + [{"shuffle": 3}] * (level == "ttgir"):
        out, wanted = launch(level, size, 16, **how)
        assert (out == wanted).all(), how


def test_a_grid_of_blocks_is_not_multiplied():
    """With ctas_per_cga, as Meta's fork has it, a grid counts blocks, at PTX as at TTGIR."""
    regrouped = {
        "num_warps": 4,
        "num_ctas": 1,
        "cluster_dims": [4, 1, 1],
        "ctas_per_cga": [4, 1, 1],
        "shared": 0,
    }
    text = PTX.replace("SIZE", "4").replace("BYTES", "2048")
    x = np.random.default_rng(4).integers(-1000, 1000, (16, 128), dtype=np.int32)
    out = np.zeros_like(x)
    with triton_runner.using(device="cpu", check="race"):
        kernel = triton_runner.load(text, metadata=json.dumps(regrouped))
        kernel[(16,)](x, out)
        assert (out == x.reshape(4, 4, 128).sum(1, dtype=np.int32).repeat(4, axis=0)).all()
        with pytest.raises(
            triton_runner.DiagnosticError, match="6 blocks along x, which are not whole clusters of 4"
        ):
            kernel[(6,)](x, out)
        with pytest.raises(
            triton_runner.KernelTrap, match="out of bounds"
        ):  # multiplied, 64 blocks would run
            triton_runner.load(text)[(16,)](x, out)


# The fault, the edit at TTGIR and at PTX, and what is reported.
ARRIVED = "ttng.cluster_arrive {relaxed = false}\n    ttng.cluster_wait"
MET = "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;"
BROKEN = {
    "nobody waits until the barriers are there": (
        (f"    {ARRIVED}\n", ""),
        (f"  fence.mbarrier_init.release.cluster;\n  {MET}\n", ""),
        r"mbarrier",
    ),
    "the barrier expects one block too few": (
        ("%bar, BYTES", "%bar, 512"),
        ("[%r6], BYTES", "[%r6], 512"),
        r"race|uninit",
    ),
    "the barrier expects one block too many": (
        ("%bar, BYTES", "%bar, 2048"),
        ("[%r6], BYTES", "[%r6], 2048"),
        r"deadlock",
    ),
    "everything goes to block 0": (
        ("rank %r, %slot", "rank %c0, %slot"),
        ("%r12, %r6, %r10", "%r12, %r6, 0"),
        r"race|another block",
    ),
    "does not wait": (
        ("    ttng.wait_barrier %bar, %c0 : " + BAR + "\n", ""),
        ("  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], 0;\n  @!%p3 bra $wait;\n", ""),
        r"race|uninit",
    ),
}


@pytest.mark.parametrize("level", TEXTS)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_clusters(name, level):
    at_ttgir, at_ptx, reported = BROKEN[name]
    with pytest.raises(triton_runner.KernelTrap, match=reported):
        launch(level, 2, 4, at_ttgir if level == "ttgir" else at_ptx, check="race,uninit")


# Each of two blocks stores its line to the other and reads what it was sent; MEET is a barrier of the cluster.
EXCHANGE = {
    "ttgir": f"""
#line = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
#one = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.cluster-dim-x" = 2 : i32, "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @exchange(%out: !tt.ptr<i32>) {{
    %c1 = arith.constant 1 : i32
    %c128 = arith.constant 128 : i32
    %pid = tt.get_program_id x : i32
    %rank = nvg.cluster_id
    %peer = arith.xori %rank, %c1 : i32
    %range = tt.make_range {{end = 128 : i32, start = 0 : i32}} : {T}
    %at = arith.muli %pid, %c128 : i32
    %ats = tt.splat %at : i32 -> {T}
    %index = arith.addi %range, %ats : {T}
    %buffer = ttg.local_alloc : () -> {LINE}
    MEET
    ttg.remote_shmem_store %index, rank %peer, %buffer : {T} -> {LINE}
    MEET
    %theirs = ttg.local_load %buffer : {LINE} -> {T}
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #line>
    %to = tt.addptr %outs, %index : tensor<128x!tt.ptr<i32>, #line>, {T}
    tt.store %to, %theirs : tensor<128x!tt.ptr<i32>, #line>
    MEET
    tt.return
  }}
}}
""".replace("MEET", ARRIVED),
    "ptx": """
.version 8.7
.target sm_90a
.address_size 64
.shared .align 16 .b8 buffer[512];
.visible .entry exchange(.param .u64 out)
.reqntid 128
.explicitcluster
.reqnctapercluster 2
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %cluster_ctarank;
  xor.b32 %r3, %r3, 1;
  mad.lo.u32 %r4, %r2, 128, %r1;
  shl.b32 %r5, %r1, 2;
  mov.u32 %r6, buffer;
  add.u32 %r5, %r5, %r6;
  mapa.shared::cluster.u32 %r7, %r5, %r3;
  MEET
  st.shared::cluster.u32 [%r7], %r4;
  MEET
  ld.shared.u32 %r8, [%r5];
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r8;
  MEET
  ret;
}
""".replace("MEET", MET),
}


@pytest.mark.parametrize("level", EXCHANGE)
def test_what_lies_between_a_store_to_another_block_and_its_load(level):
    text, barrier = EXCHANGE[level], ARRIVED if level == "ttgir" else MET
    begin, store, load, end = text.split(barrier)
    out = np.zeros((4, 128), np.int32)
    grid = 4 if level == "ttgir" else 2
    with triton_runner.using(device="cpu", check="race,uninit"):
        triton_runner.load(text)[(grid,)](out)
    assert (out == np.arange(512).reshape(4, 128)[[1, 0, 3, 2]]).all()
    missing = barrier.join((begin, store + load, end))
    with (
        triton_runner.using(device="cpu", check="race"),
        pytest.raises(triton_runner.KernelTrap, match="race"),
    ):
        triton_runner.load(missing)[(grid,)](out)
