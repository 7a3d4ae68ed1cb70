// Runs thirteen instructions of PTX, one of most families, on every instruction set, and compares each lane with a number
// that stands here. tests/python/ptx/test_ptx_arithmetic.py compares the others with NumPy.
#include <triton_runner/ptx/alu.h>

#include <bit>

#include "alu_test_support.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::ptx;

namespace {

uint64_t f32(float x) { return std::bit_cast<uint32_t>(x); }

// One result of one instruction on the same operands in every lane.
uint64_t once(const std::string& text, std::vector<Mod> types, std::vector<uint64_t> operands) {
  OneInstruction i(text, types);
  if (!i.ok) {
    unit::record_failure(__FILE__, __LINE__, text + ": " + i.error);
    return 0;
  }
  for (uint32_t lane = 0; lane < i.kLanes; ++lane)
    for (size_t k = 0; k < operands.size(); ++k) i.set(k + 1, lane, operands[k]);
  i.run();
  const uint64_t first = i.get(0, 0);
  for (uint32_t lane = 1; lane < i.kLanes; ++lane) CHECK_EQ(i.get(0, lane), first);
  return first;
}
constexpr Mod B8 = Mod::kB8, B16 = Mod::kB16, B32 = Mod::kB32, B64 = Mod::kB64, P = Mod::kPred;

}  // namespace

TEST(alu_smoke) {
  for (const char* isa : {"avx512", "avx2", "portable"}) {
    if (!num::force_isa(isa)) continue;
    CHECK_EQ(once("add.s32 %a0, %a1, %a2;", {B32, B32, B32}, {5, 7}), 12u);
    CHECK_EQ(once("add.s32 %a0, %a1, -3;", {B32, B32}, {5}), 2u);
    CHECK_EQ(once("fma.rn.f32 %a0, %a1, %a2, %a3;", {B32, B32, B32, B32}, {f32(2), f32(3), f32(1)}), f32(7));
    CHECK_EQ(once("setp.lt.s32 %a0, %a1, %a2;", {P, B32, B32}, {5, 7}), 0xffu);
    CHECK_EQ(once("cvt.rn.f16x2.f32 %a0, %a1, %a2;", {B32, B32, B32}, {f32(1), f32(2)}), 0x3c004000u);
    CHECK_EQ(once("cvt.u32.u8 %a0, %a1;", {B32, B16}, {0x1ff}), 0xffu);
    CHECK_EQ(once("cvt.f32.bf16 %a0, %a1;", {B32, B16}, {0x3f80}), f32(1));
    CHECK_EQ(once("cvt.rzi.s32.f32 %a0, %a1;", {B32, B32}, {f32(-1.5)}), 0xffffffffu);
    CHECK_EQ(once("lop3.b32 %a0, %a1, %a2, %a3, 0x96;", {B32, B32, B32, B32}, {1, 3, 7}), 5u);
    CHECK_EQ(once("ex2.approx.f32 %a0, %a1;", {B32, B32}, {f32(3)}), f32(8));
    CHECK_EQ(once("mov.b32 %a0, {%a1, %a2};", {B32, B16, B16}, {1, 2}), 0x20001u);
    CHECK_EQ(once("cvt.rn.f16x2.e2m1x2 %a0, %a1;", {B32, B8}, {0x21}), 0x3c003800u);
    CHECK_EQ(once("mul.wide.s32 %a0, %a1, %a2;", {B64, B32, B32}, {0xffffffff, 2}), ~uint64_t{1});
  }
  num::force_isa("");
}
