#include "front/ptx/emitter.h"

#include "front/ptx/special.h"

namespace triton_runner::simt {

uint32_t Emitter::temporary(uint32_t bytes) {
  const uint64_t at = code.register_bytes;
  code.register_bytes = (at + uint64_t{bytes} * code.threads + 63) / 64 * 64;
  return static_cast<uint32_t>(at);
}

uint32_t Emitter::constant(uint64_t bits, uint32_t bytes) {
  if (bytes < 8) bits &= (uint64_t{1} << bytes * 8) - 1;
  auto [it, is_new] = constants_.try_emplace({bits, bytes}, 0);
  if (is_new) {
    it->second = temporary(bytes);
    const uint64_t high = bytes == 16 && static_cast<int64_t>(bits) < 0 ? ~uint64_t{0} : 0;
    code.constants.push_back({it->second, bytes, bits, high, Constant::kBits});
  }
  return it->second;
}

uint32_t Emitter::thread_constant(ptx::Special special, uint32_t bytes) {
  auto [it, is_new] = thread_constants_.try_emplace({static_cast<uint64_t>(special), bytes}, 0);
  if (is_new) {
    it->second = temporary(bytes);
    code.constants.push_back({it->second, bytes, code.thread_values.size(), 0, Constant::kThread});
    std::vector<uint64_t>& values = code.thread_values.emplace_back();
    for (uint32_t t = 0; t < code.threads; ++t) values.push_back(thread_special(code, special, t));
  }
  return it->second;
}

bool Emitter::emit(Handler run, const Operands& operands) {
  static_cast<Operands&>(emit(run)) = operands;
  return true;
}

bool Emitter::emit(const ptx::Alu& alu, const std::array<uint32_t, 6>& places) {
  const auto [d, a, b, c, e, extra] = places;
  const int64_t imm = alu.extra == ptx::Alu::kNoOperand ? alu.imm : extra;
  return emit(alu.run, {.d = d, .a = a, .b = b, .c = c, .e = e, .small = alu.small, .imm = imm});
}

}  // namespace triton_runner::simt
