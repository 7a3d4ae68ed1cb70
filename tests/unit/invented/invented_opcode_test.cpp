// Adds an opcode of PTX: its row (opcodes.def beside this), its handler, its case. The files that expand the
// table are compiled again with one more row; every other one is the library's: parsing, printing, registers
// and checks go by the row.
#include <triton_runner/ptx/flow.h>
#include <triton_runner/simt/simt.h>

#include "front/ptx/lower.h"
#include "test.h"

namespace triton_runner::simt {
namespace {

void run_mean(lanes::Lanes& l, const lanes::Operands& in) {
  const auto *a = l.reg<float>(in.a), *b = l.reg<float>(in.b);
  auto* d = l.reg<float>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = (a[i] + b[i]) / 2;
}

}  // namespace

bool lower_test_mean(Lowering& l, const ptx::Instruction& in) {
  const uint32_t d = l.reg(in.operands[0]), a = l.place(in.operands[1], ptx::Mod::kF32),
                 b = l.place(in.operands[2], ptx::Mod::kF32);
  Instr& i = l.emit(run_mean);
  i.d = d, i.a = a, i.b = b;
  return true;
}

}  // namespace triton_runner::simt

using namespace triton_runner;

namespace {

const std::string kMean = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(
	.param .u64 .ptr .global .align 16 kernel_param_0
)
.reqntid 32
{
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.b64 %rd1, [kernel_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.b32 %r2, [%rd3];
	testmean.f32 %r3, %r2, 0f40000000;
	st.global.b32 [%rd3], %r3;
	ret;
}
)";

std::shared_ptr<const ptx::Module> parsed(const std::string& text) {
  auto module = ptx::parse(text, "test.ptx");
  if (!module) unit::record_failure(__FILE__, __LINE__, module.error().message);
  return module ? std::move(module).value() : nullptr;
}

std::optional<exec::LaunchError> run(const std::string& text, std::vector<float>& x, uint32_t checks) {
  auto kernel = simt::load(parsed(text));
  if (!kernel) return exec::LaunchError{{kernel.error()}, {}};
  const auto address = reinterpret_cast<uint64_t>(x.data());
  const exec::Argument argument{exec::ParamKind::kPointer, address, {}};
  const exec::Allocation allocation{address, x.size() * sizeof(float), "x", true};
  exec::LaunchOptions options;
  options.checks = checks;
  return (*kernel)->launch(options, {&argument, 1}, {&allocation, 1});
}

}  // namespace

TEST(invented_opcode_parses_and_prints) {
  const auto module = parsed(kMean);
  CHECK(module &&
        ptx::print_canonical(*module).find("testmean.f32 %r3, %r2, 0f40000000;") != std::string::npos);
  const ptx::Instruction& mean = module->functions()[0]->body[5];
  CHECK(ptx::text(mean.opcode) == "testmean" && mean.does(ptx::Effect::kComputes));
  CHECK(ptx::results_of(mean).size() == 1 && ptx::sources_of(mean).size() == 1 && ptx::is_pure(mean));
}

TEST(invented_opcode_is_held_to_its_forms) {
  std::string text = kMean;
  text.replace(text.find("testmean.f32"), 12, "testmean.f64");
  CHECK(!ptx::parse(text, "test.ptx").ok());
}

TEST(invented_opcode_runs) {
  std::vector<float> x(32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  CHECK(!run(kMean, x, exec::kCheckOutOfBounds));
  for (size_t i = 0; i < x.size(); ++i) CHECK_EQ(x[i], (static_cast<float>(i) + 2) / 2);
}

TEST(invented_opcode_is_followed_by_the_checks) {
  std::string sum = kMean;
  sum.replace(sum.find("0f40000000"), 10, "%r2");
  std::vector<float> x(32, 1.0f);
  CHECK(!run(sum, x, exec::kCheckInf));
  x[5] = 3e38f;
  const auto error = run(sum, x, exec::kCheckInf);
  CHECK(error && error->trap && error->trap->kind == exec::TrapKind::kNan);
}
