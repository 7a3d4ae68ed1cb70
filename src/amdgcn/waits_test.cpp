// Waits that are missing, counter by counter, and none in code that has them all.
#include <triton_runner/amdgcn/waits.h>

#include "test.h"

using namespace triton_runner;

namespace {

std::string said(const std::string& body, const std::string& target = "gfx942") {
  const std::string text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--" + target + "\"\nk:\n" + body +
                           "\ts_endpgm\n.Lfunc_end0:\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n";
  const auto module = amdgcn::parse(text, "k.amdgcn");
  if (!module) return module.error().str();
  std::string out;
  for (const amdgcn::MissingWait& w : amdgcn::missing_waits(**module, (*module)->kernels()[0]))
    out += std::to_string((*module)->location(w.at->offset).line) + ": " + w.message + "\n";
  return out;
}

// The lines of the reads that go on over a barrier, each with those of the waits that end it.
std::string late(const std::string& body, const std::string& target = "gfx942") {
  const std::string text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--" + target + "\"\nk:\n" + body +
                           "\ts_endpgm\n.Lfunc_end0:\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n";
  const auto module = amdgcn::parse(text, "k.amdgcn");
  if (!module) return module.error().str();
  const amdgcn::Kernel& kernel = (*module)->kernels()[0];
  const auto line = [&](uint32_t at) {
    return std::to_string((*module)->location(kernel.body[at].offset).line);
  };
  std::string out;
  for (const auto& [read, waits] : amdgcn::late_reads(**module, kernel)) {
    out += line(read) + ":";
    for (const uint32_t wait : waits) out += " " + line(wait);
    out += "\n";
  }
  return out;
}

const std::string kLoad = "\tglobal_load_dword v1, v[2:3], off\n", kUse = "\tv_add_u32_e32 v4, 1, v1\n";

}  // namespace

TEST(waits_of_vector_loads) {
  CHECK_EQ(said(kLoad + "\ts_waitcnt vmcnt(0)\n" + kUse), "");
  CHECK_EQ(said(kLoad + kUse),
           "4: it reads v1, which a load that nobody waited for is to write: vmcnt may be 1 there, and at "
           "most 0 is needed\n");
  // Another load behind it may be under way still.
  const std::string other = "\tglobal_load_dword v7, v[2:3], off\n";
  CHECK_EQ(said(kLoad + other + "\ts_waitcnt vmcnt(1)\n" + kUse), "");
  CHECK(!said(kLoad + other + "\ts_waitcnt vmcnt(2)\n" + kUse).empty());
  CHECK(!said(kLoad + "\tv_mov_b32_e32 v1, 0\n").empty());
  CHECK_EQ(said(kLoad + other + "\ts_nop 0\n"), "");
}

TEST(waits_of_scalar_loads_are_for_all) {
  const std::string two = "\ts_load_dword s4, s[0:1], 0x0\n\ts_load_dword s5, s[0:1], 0x4\n";
  CHECK_EQ(said(two + "\ts_waitcnt lgkmcnt(0)\n\ts_add_i32 s6, s4, s5\n"), "");
  CHECK(!said(two + "\ts_waitcnt lgkmcnt(1)\n\ts_add_i32 s6, s4, s4\n").empty());
}

TEST(waits_on_one_way_only) {
  const std::string body = kLoad + "\ts_cbranch_scc0 .LBB0_1\n\ts_waitcnt vmcnt(0)\n.LBB0_1:\n" + kUse;
  CHECK(!said(body).empty());
  const std::string loop = "\tv_mov_b32_e32 v1, 0\n.LBB0_1:\n" + kUse + kLoad + "\ts_cbranch_scc1 .LBB0_1\n";
  CHECK(!said(loop).empty());
}

TEST(waits_of_gfx12_have_names_of_their_own) {
  const std::string load = "\tds_load_b32 v1, v2\n", use = "\tv_add_nc_u32_e32 v4, 1, v1\n";
  CHECK_EQ(said(load + "\ts_wait_dscnt 0x0\n" + use, "gfx1201"), "");
  CHECK(!said(load + "\ts_wait_loadcnt 0x0\n" + use, "gfx1201").empty());
}

TEST(waits_for_stores_before_a_barrier) {
  const std::string store = "\tds_write_b32 v1, v2\n";
  CHECK_EQ(said(store + "\ts_barrier\n"),
           "4: a store to LDS that nobody waited for may come after the barrier\n");
  CHECK_EQ(said(store + "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"), "");
}

TEST(waits_of_scalar_registers_that_vectors_have_read) {
  const std::string reads = "\tv_add_nc_u32_e32 v1, s2, v1\n", writes = "\ts_add_co_i32 s2, s2, 4\n",
                    missing =
                        ", which a vector instruction has read before and whose new value nobody waited for: "
                        "s_wait_alu depctr_";
  CHECK_EQ(said(reads + writes + "\ts_wait_alu depctr_sa_sdst(0)\n" + reads, "gfx1201"), "");
  CHECK_EQ(said(reads + writes + "\ts_wait_alu 0xfffe\n" + reads, "gfx1201"), "");
  CHECK_EQ(said(reads + writes + reads, "gfx1201"), "5: it reads s2" + missing + "sa_sdst(0) is needed\n");
  CHECK_EQ(said(reads + writes + "\ts_wait_alu depctr_va_sdst(0)\n" + reads, "gfx1201"),
           "6: it reads s2" + missing + "sa_sdst(0) is needed\n");
  // The register beside it shares the copy; one that no vector has read has none.
  CHECK(!said(reads + "\ts_mov_b32 s3, 4\n\tv_mov_b32_e32 v3, s3\n", "gfx1201").empty());
  CHECK_EQ(said(reads + "\ts_mov_b32 s4, 4\n\tv_mov_b32_e32 v3, s4\n", "gfx1201"), "");
  CHECK_EQ(said(writes + reads, "gfx1201"), "");
  // The scalar unit's loads wait, and accesses through buffers; other targets have no such copies.
  CHECK_EQ(said(reads + writes + "\ts_load_b32 s8, s[0:1], 0x0\n" + reads, "gfx1201"), "");
  CHECK_EQ(said(reads + writes + "\tbuffer_store_b32 v4, v5, s[4:7], null offen\n" + reads, "gfx1201"), "");
  CHECK(!said(reads + writes + "\tglobal_store_b32 v[4:5], v6, off\n" + reads, "gfx1201").empty());
  CHECK_EQ(said(reads + "\ts_add_i32 s2, s2, 4\n" + reads, "gfx1100"), "");
}

TEST(waits_of_masks_that_vectors_have_read) {
  const std::string reads = "\tv_cndmask_b32_e32 v1, v2, v3, vcc_lo\n",
                    writes = "\tv_cmp_eq_u32_e32 vcc_lo, 1, v4\n",
                    asks = "\tv_cndmask_b32_e64 v1, v2, v3, s2\n", sets = "\tv_cmp_eq_u32_e64 s2, 1, v4\n";
  CHECK_EQ(said(reads + writes + "\ts_wait_alu depctr_va_vcc(0)\n" + reads, "gfx1201"), "");
  CHECK(!said(reads + writes + "\ts_wait_alu depctr_va_sdst(0)\n" + reads, "gfx1201").empty());
  CHECK_EQ(said(asks + sets + "\ts_wait_alu depctr_va_sdst(0)\n" + asks, "gfx1201"), "");
  CHECK(!said(asks + sets + asks, "gfx1201").empty());
  const std::string dual = "\tv_dual_cndmask_b32 v1, v2, v3 :: v_dual_mov_b32 v4, v5\n";
  CHECK(!said(reads + writes + dual, "gfx1201").empty());
  // A scalar instruction waits for vectors by itself, and then they may read it too.
  CHECK_EQ(said(asks + sets + "\ts_and_b32 s4, s2, 1\n" + asks, "gfx1201"), "");
  CHECK_EQ(said(reads + writes + "\ts_cbranch_vccz .LBB0_1\n.LBB0_1:\n" + reads, "gfx1201"), "");
  // On one way only: behind the loop's end the mask is new.
  CHECK(!said(".LBB0_1:\n" + asks + sets + "\ts_cbranch_scc1 .LBB0_1\n", "gfx1201").empty());
}

TEST(waits_for_the_half_of_a_register_that_is_read) {
  const std::string low = "\tglobal_load_d16_b16 v1, v[2:3], off\n",
                    high = "\tglobal_load_d16_hi_b16 v1, v[4:5], off\n", one = "\ts_wait_loadcnt 0x1\n";
  CHECK_EQ(said(low + high + one + "\tds_store_b16 v6, v1\n", "gfx1201"), "");
  CHECK(!said(low + high + one + "\tds_store_b16_d16_hi v6, v1\n", "gfx1201").empty());
  CHECK(!said(low + high + one + "\tds_store_b32 v6, v1\n", "gfx1201").empty());
  CHECK(!said(low + high + "\tds_store_b16 v6, v1\n", "gfx1201").empty());
  CHECK_EQ(said(low + high + one + "\tv_add_f16_e32 v6.l, v1.l, v1.l\n", "gfx1201"), "");
  CHECK(!said(low + high + one + "\tv_add_f16_e32 v6.l, v1.h, v1.l\n", "gfx1201").empty());
  CHECK(!said(high + "\tds_store_b16 v1, v7\n", "gfx1201").empty());  // its address
  // CDNA's loads of a half write all of the register.
  CHECK(!said("\tglobal_load_short_d16_hi v1, v[4:5], off\n\tds_write_b16 v6, v1\n").empty());
}

TEST(waits_of_reads_that_go_on_over_a_barrier) {
  const std::string read = "\tds_read_b32 v1, v2\n", other = "\tds_read_b32 v3, v2\n",
                    barrier = "\ts_barrier\n", one = "\ts_waitcnt lgkmcnt(1)\n",
                    all = "\ts_waitcnt lgkmcnt(0)\n";
  CHECK_EQ(late(read + all + barrier + all), "");
  CHECK_EQ(late(read + barrier + all), "3: 5\n");
  CHECK_EQ(late(read + other + one + barrier + all), "4: 7\n");
  CHECK_EQ(late(read + other + barrier + one + all), "3: 6\n4: 7\n");
  CHECK_EQ(late(read + barrier), "");  // nothing asks for what was read
  CHECK_EQ(late(barrier + read + all), "");
  CHECK_EQ(late("\tds_write_b32 v1, v2\n" + barrier + all), "");
  // Around a loop; and where it has ended on one of two ways it has ended.
  CHECK_EQ(late(".LBB0_1:\n" + all + read + barrier + "\ts_cbranch_scc1 .LBB0_1\n"), "5: 4\n");
  CHECK_EQ(late(read + barrier + "\ts_cbranch_scc1 .LBB0_1\n" + other + ".LBB0_1:\n" + one + all), "3: 8\n");
  CHECK_EQ(late("\tds_load_b32 v1, v2\n\ts_barrier_signal -1\n\ts_barrier_wait -1\n\ts_wait_dscnt 0x0\n",
                "gfx1201"),
           "3: 6\n");
}
