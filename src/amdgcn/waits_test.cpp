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
