// Nanoseconds that PTX's .approx functions take for 128 threads of one core, the least of many:
//   ninja -C build/release ptx_bench && build/release/ptx_bench
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include <triton_runner/ptx/alu.h>

using namespace triton_runner;
using namespace triton_runner::ptx;

namespace {

constexpr uint32_t kLanes = 128;

double nanoseconds(const char* text, size_t registers) {
  const Register all[] = {{"%a0", Mod::kF32}, {"%a1", Mod::kF32}, {"%a2", Mod::kF32}};
  auto module = parse_body(text, {all, registers});
  if (!module) return -1;
  const Function& f = *(*module)->functions()[0];
  auto alu = find_alu(**module, f, f.body[0]);
  if (!alu) return -1;
  alignas(64) static std::byte file[4 * 4 * kLanes];
  for (uint32_t i = 0; i < 3 * kLanes; ++i) {
    const float value = 0.1f + 0.37f * static_cast<float>(i);
    std::memcpy(file + 4 * kLanes + 4 * i, &value, 4);
  }
  lanes::Operands o;
  o.d = 0, o.a = 4 * kLanes, o.b = 8 * kLanes;
  o.small = alu->small;
  o.imm = alu->imm;
  lanes::Lanes x;
  x.regs = file, x.count = kLanes;
  double least = 1e9;
  for (int sample = 0; sample < 50; ++sample) {
    constexpr int kTimes = 2000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) alu->run(x, o);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    least = std::min(least, took.count() / kTimes);
  }
  return least;
}

}  // namespace

int main() {
  for (const char* name : {"ex2.approx", "ex2.approx.ftz", "rcp.approx", "sqrt.approx", "rsqrt.approx",
                           "lg2.approx", "sin.approx", "cos.approx"}) {
    const std::string text = std::string(name) + ".f32 %a0, %a1;";
    std::printf("%-16s %6.1f\n", name, nanoseconds(text.c_str(), 2));
  }
  for (const char* name : {"div.approx", "div.full"}) {
    const std::string text = std::string(name) + ".f32 %a0, %a1, %a2;";
    std::printf("%-16s %6.1f\n", name, nanoseconds(text.c_str(), 3));
  }
}
