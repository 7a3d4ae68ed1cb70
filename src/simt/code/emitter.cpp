// Implements Emitter: gives out places in the register file, and appends instructions to the code.
#include "code/emitter.h"

namespace triton_runner::simt {

uint32_t Emitter::temporary(uint32_t bytes) {
  const uint32_t at = code.new_place(bytes);
  if (given) given->push_back({at, bytes});
  return at;
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

uint32_t Emitter::constant_by_thread(std::vector<uint64_t> values, uint32_t bytes) {
  const uint32_t place = temporary(bytes);
  code.constants.push_back({place, bytes, code.thread_values.size(), 0, Constant::kThread});
  code.thread_values.push_back(std::move(values));
  return place;
}

bool Emitter::emit(Handler run, const Operands& operands) {
  static_cast<Operands&>(emit(run)) = operands;
  return true;
}

bool Emitter::emit(const lanes::LaneFunction& alu, const std::array<uint32_t, 6>& places) {
  const auto [d, a, b, c, e, extra] = places;
  const int64_t imm = alu.extra == lanes::LaneFunction::kNoOperand ? alu.imm : extra;
  return emit(alu.run, {.d = d, .a = a, .b = b, .c = c, .e = e, .small = alu.small, .imm = imm});
}

}  // namespace triton_runner::simt
