// Tests twins and edited texts that no compiler makes: what has to be taken for the same program, and what
// must not.
#include <triton_runner/probe/registers.h>

#include <triton_runner/ir/module.h>

#include "test.h"

namespace triton_runner::probe {
namespace {

std::shared_ptr<const ptx::Module> parsed(const std::string& body) {
  auto module = ptx::parse(
      ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_0) .reqntid 32\n{\n"
      ".reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<9>;\n" +
          body + "ret;\n}\n",
      "k.ptx");
  if (!module) std::abort();
  return *module;
}

Tap tap(uint32_t registers) {
  Tap t;
  t.site.value = "%v";
  t.site.type = num::Type::kI32;
  t.site.shape = {32 * registers};
  t.registers = registers;
  t.threads = 32;
  for (uint32_t i = 0; i < 32 * registers; ++i) t.elements.push_back(static_cast<int32_t>(i));
  return t;
}

const std::string kLoad =
    "ld.param.b64 %rd1, [k_0];\nld.global.b32 %r1, [%rd1];\nld.global.b32 %r2, [%rd1+4];\n";
const std::string kUse = "st.global.b32 [%rd1], %r3;\nst.global.b32 [%rd1+4], %r4;\n";

base::Result<RegisterPlan> plan(const std::string& twin, const std::string& own, uint32_t registers = 2,
                                bool partial = false) {
  const Tap taps[] = {tap(registers)};
  return plan_registers(taps, *parsed(twin), *parsed(own), partial);
}

std::string name(const std::string& own, const RegisterPlan& p, size_t probe, size_t k) {
  return std::string(parsed(own)->find_function("k")->registers[p.probes[probe].registers[k]].name);
}

// Two registers of a thread hold the same element, of two loads.
TEST(copies_that_are_no_single_register) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin = kLoad +
                           "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %r3\n"
                           "mov.b32 %r51, 0; // triton_runner.tap 0 %r4\n" +
                           kUse;
  Tap both = tap(2);
  both.copies = 1;
  for (int32_t i = 0; i < 64; ++i) both.elements[static_cast<size_t>(i)] = i % 32;
  const auto kept = plan_registers(std::span(&both, 1), *parsed(twin), *parsed(own), false, true);
  CHECK(kept.ok());
  CHECK_EQ(kept->taps[0].registers, 2u);
  CHECK_EQ(kept->probes[0].registers.size(), 2u);
  // In a release that leaves copies out these are two executions.
  const auto left_out = plan_registers(std::span(&both, 1), *parsed(twin), *parsed(own));
  CHECK(left_out.ok());
  CHECK_EQ(left_out->taps[0].registers, 1u);
}

// A product that goes on, as 3.0 writes it, is read where its wait has passed.
TEST(a_product_of_an_old_release_is_tapped_behind_its_wait) {
  auto text = [](const std::string& wait) {
    return "#nv = #triton_gpu.shared<{vec = 8, perPhase = 4, maxPhase = 2, order = [1, 0], hasLeadingOffset "
           "= "
           "true}>\n"
           "#mma = #triton_gpu.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], "
           "instrShape = [16, 16, 16]}>\n"
           "module attributes {\"triton_gpu.num-ctas\" = 1 : i32, \"triton_gpu.num-warps\" = 4 : i32, "
           "triton_gpu.target = \"cuda:90\", \"triton_gpu.threads-per-warp\" = 32 : i32} {\n"
           "  tt.func public @k(%a: !tt.memdesc<64x16xf16, #nv>, %b: !tt.memdesc<16x16xf16, #nv>) {\n"
           "    %z = arith.constant dense<0.000000e+00> : tensor<64x16xf32, #mma>\n"
           "    %r = triton_nvidia_gpu.dot_async %a, %b, %z {inputPrecision = 0 : i32, maxNumImpreciseAcc = "
           "0 : "
           "i32} : !tt.memdesc<64x16xf16, #nv> * !tt.memdesc<16x16xf16, #nv> -> tensor<64x16xf32, #mma>\n" +
           wait + "    tt.return\n  }\n}\n";
  };
  auto tapped = [&](const std::string& wait) {
    auto module = ir::parse(text(wait), "k.ttgir");
    CHECK(module.ok());
    Selector r;
    r.text = "%r";
    return tap_values(*module, "k", std::span(&r, 1), "ttgir");
  };
  CHECK(
      tapped("    %w = triton_nvidia_gpu.dot_wait %r {pendings = 0 : i32} : tensor<64x16xf32, #mma>\n").ok());
  const auto lost = tapped("");
  CHECK(!lost.ok() && lost.error().message.find("still being computed") != std::string::npos);
}

TEST(a_twin_with_other_register_numbers) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin =
      "ld.param.b64 %rd1, [k_0];\nld.global.b32 %r11, [%rd1];\nld.global.b32 %r12, [%rd1+4];\n"
      "add.s32 %r13, %r11, 1;\nadd.s32 %r14, %r12, 1;\n"
      "mov.b32 %r50, 0; // triton_runner.tap 0 %r13\nmov.b32 %r51, 0; // triton_runner.tap 0 %r14\n"
      "st.global.b32 [%rd1], %r13;\nst.global.b32 [%rd1+4], %r14;\n";
  auto p = plan(twin, own);
  CHECK(p.ok());
  CHECK_EQ(p->probes.size(), 1u);
  CHECK_EQ(p->probes[0].instruction, 5u);
  CHECK(!p->probes[0].after);
  CHECK_EQ(name(own, *p, 0, 0), "%r3");
  CHECK_EQ(name(own, *p, 0, 1), "%r4");
}

TEST(straight_code_in_another_order_is_read_behind_each_instruction) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin = kLoad +
                           "add.s32 %r4, %r2, 1;\nadd.s32 %r3, %r1, 1;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %r3\n"
                           "mov.b32 %r51, 0; // triton_runner.tap 0 %r4\n" +
                           kUse;
  auto p = plan(twin, own);
  CHECK(p.ok());
  CHECK_EQ(p->probes.size(), 2u);
  CHECK(p->probes[0].after && p->probes[1].after);
  CHECK_EQ(p->probes[0].instruction, 3u);
  CHECK_EQ(p->probes[1].instruction, 4u);
}

TEST(another_flow_of_values_is_another_program) {
  const std::string tapped = "mov.b32 %r50, 0; // triton_runner.tap 0 %r3\n";
  const std::string own =
      kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r3, %r3, %r2;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  // The second sum is of what the first one left, or of what was there before.
  const std::string swapped =
      kLoad + "add.s32 %r3, %r3, %r2;\nadd.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + tapped + kUse;
  CHECK(!plan(swapped, own, 1).ok());
  const std::string constant =
      kLoad + "add.s32 %r3, %r1, 2;\nadd.s32 %r3, %r3, %r2;\nadd.s32 %r4, %r2, 1;\n" + tapped + kUse;
  CHECK(!plan(constant, own, 1).ok());
  const std::string stores = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r3, %r3, %r2;\nadd.s32 %r4, %r2, 1;\n" +
                             tapped + "st.global.b32 [%rd1+4], %r4;\nst.global.b32 [%rd1], %r3;\n";
  CHECK(!plan(stores, own, 1).ok());
}

TEST(a_value_that_only_the_taps_compute_is_in_no_register) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin = kLoad +
                           "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\nshl.b32 %r60, %r1, 3;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %r60\n" +
                           kUse;
  auto p = plan(twin, own, 1);
  CHECK(!p.ok());
  CHECK_EQ(p.error().message, "no register of the program holds %v as it is");
  auto partial = plan(twin, own, 1, true);
  CHECK(partial.ok());
  CHECK_EQ(partial->taps.size(), 0u);
  CHECK_EQ(partial->notes.size(), 1u);
}

TEST(halves_are_found_where_they_were_unpacked_from) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin = ".reg .b16 %rs<9>;\n" + kLoad +
                           "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\nmov.b32 {%rs1, %rs2}, %r3;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %rs2\n" +
                           kUse;
  auto p = plan(twin, own, 1);
  CHECK(p.ok());
  CHECK_EQ(name(own, *p, 0, 0), "%r3");
  CHECK_EQ(p->parts[0].offsets[0], 2u);
}

TEST(a_place_between_a_jump_and_a_label) {
  // The tap is for those that did not jump; the place of the text is for all: after the instruction then.
  const std::string own = kLoad +
                          "setp.eq.b32 %p1, %r1, 0;\n@%p1 bra $L1;\nadd.s32 %r2, %r2, 1;\n$L1:\n"
                          "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" +
                          kUse;
  const std::string twin = kLoad +
                           "setp.eq.b32 %p1, %r1, 0;\n@%p1 bra $L1;\nadd.s32 %r2, %r2, 1;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %r2\n$L1:\n"
                           "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" +
                           kUse;
  auto p = plan(twin, own, 1);
  CHECK(p.ok());
  CHECK(p->probes[0].after);
  CHECK_EQ(p->probes[0].instruction, 5u);
  // If nothing stands between the jump and the label, there is no such place.
  const std::string nothing = kLoad + "setp.eq.b32 %p1, %r1, 0;\n@%p1 bra $L1;\n$L1:\n";
  const std::string tapped = kLoad +
                             "setp.eq.b32 %p1, %r1, 0;\n@%p1 bra $L1;\n"
                             "mov.b32 %r50, 0; // triton_runner.tap 0 %r2\n$L1:\n";
  CHECK(!plan(tapped, nothing, 1).ok());
}

TEST(a_plan_moves_to_an_edited_text) {
  const std::string own = kLoad + "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n" + kUse;
  const std::string twin = kLoad +
                           "add.s32 %r3, %r1, 1;\nadd.s32 %r4, %r2, 1;\n"
                           "mov.b32 %r50, 0; // triton_runner.tap 0 %r3\n"
                           "mov.b32 %r51, 0; // triton_runner.tap 0 %r4\n" +
                           kUse;
  auto p = plan(twin, own);
  CHECK(p.ok());
  const std::string edited =
      kLoad + "bar.sync 0;\nadd.s32 %r3, %r1, 7;\nadd.s32 %r4, %r2, 1;\n" + "st.global.b32 [%rd1], %r3;\n";
  auto moved = move_plan(*p, *parsed(own), *parsed(edited));
  CHECK(moved.ok());
  CHECK_EQ(moved->probes[0].instruction, 6u);
  CHECK_EQ(moved->taps.size(), 1u);
  CHECK_EQ(moved->notes.size() >= 2, true);
  const std::string without =
      kLoad + "add.s32 %r5, %r1, 1;\nadd.s32 %r4, %r2, 1;\nst.global.b32 [%rd1], %r5;\n";
  auto gone = move_plan(*p, *parsed(own), *parsed(without));
  CHECK(gone.ok());
  CHECK_EQ(gone->taps.size(), 0u);
}

const std::string kProduct =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2, %r3, %r4}, %rd1, %rd1, 1, 1, 1, 0, 0;\n";
const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";

std::string wait(int left) { return "wgmma.wait_group.sync.aligned " + std::to_string(left) + ";\n"; }

// The waits that reading %r1 before the instruction "mov.u32 %r9, ..." needs.
size_t waits(const std::string& body, std::string* text = nullptr) {
  const auto module = parsed(body);
  const ptx::Function& f = *module->find_function("k");
  RegisterPlan p;
  p.taps.push_back(tap(1));
  uint32_t r = 0, place = 0;
  while (f.registers[r].name != "%r1") ++r;
  while (f.body[place].spelling != "mov.u32") ++place;
  p.probes.push_back({"k", place, false, {r}});
  p.parts.push_back({RegisterPlan::Part::kRead, 0, {0}, {0}, {4}});
  auto done = complete_reads(*module, "k", p);
  CHECK(done.ok());
  if (text) *text = done->text;
  const auto again = ptx::parse(done->text, "again");
  CHECK(again.ok());
  const ptx::Function& g = *(*again)->find_function("k");
  CHECK_EQ(g.body[done->plan.probes[0].instruction].spelling, "mov.u32");
  return done->waits;
}

TEST(products_that_are_under_way_get_a_wait) {
  const std::string read = "mov.u32 %r9, 0;\n";
  CHECK_EQ(waits(kProduct + kCommit + wait(0) + read), 0u);
  CHECK_EQ(waits(kProduct + kCommit + wait(1) + read), 1u);
  CHECK_EQ(waits(kProduct + kCommit + kCommit + wait(1) + read), 0u);
  CHECK_EQ(waits(kProduct + wait(0) + read), 1u);  // not committed
  CHECK_EQ(waits(kProduct + kCommit + "mov.b32 %r1, 0;\n" + read), 0u);
  std::string text;
  CHECK_EQ(waits(kProduct + read + kCommit + wait(0), &text), 1u);
  CHECK(text.find("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; mov.u32 %r9") !=
        std::string::npos);
}

TEST(products_of_the_turn_before) {
  const std::string loop = "again:\nmov.u32 %r9, 0;\n" + kProduct + kCommit, back = "@%p1 bra again;\n";
  CHECK_EQ(waits("mov.b32 %r1, 0;\n" + loop + wait(1) + back + wait(0)), 1u);
  CHECK_EQ(waits("mov.b32 %r1, 0;\n" + loop + wait(0) + back), 0u);
}

}  // namespace
}  // namespace triton_runner::probe
