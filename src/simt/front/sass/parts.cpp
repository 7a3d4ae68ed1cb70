// Answers what the checks ask of machine code: which registers an instruction reads and writes, which of what it emitted
// computes floats, and of which instruction of the PTX it is a part.
#include <algorithm>

#include "front/sass/listing.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {

// An I2F of whose result the same instruction of the PTX takes the reciprocal, scaled or not: an integer division begins so.
bool SassLowering::takes_divisor() const {
  constexpr ptrdiff_t kWindow = 64;
  if (opcode() != sass::Opcode::kI2F && opcode() != sass::Opcode::kI2FP) return false;
  std::vector<uint32_t> derived{in_->operands.front().index};
  const auto is_derived = [&](const sass::Operand& o) {
    return o.kind == sass::OperandKind::kRegister &&
           std::find(derived.begin(), derived.end(), o.index) != derived.end();
  };
  const auto end = function_.body.data() + function_.body.size();
  for (const sass::Instruction* next = in_ + 1; next < end && next - in_ < kWindow && !derived.empty();
       ++next) {
    if (next->operands.size() < 2) continue;
    const bool reads = std::any_of(next->operands.begin() + 1, next->operands.end(), is_derived);
    if (reads && next->ptx_line == in_->ptx_line && next->is(sass::Opcode::kMUFU) && next->has("RCP"))
      return true;
    if (is_derived(next->operands[0])) std::erase(derived, next->operands[0].index);
    if (reads && next->ptx_line == in_->ptx_line && next->is(sass::Opcode::kFMUL))
      derived.push_back(next->operands[0].index);
  }
  return false;
}

Part SassLowering::part() {
  Part out;
  out.of = in_->ptx_line;
  out.calls = in_->does(sass::Trait::kCalls);
  out.takes_divisor = takes_divisor();
  using enum sass::Opcode;
  out.moves = in_->has("MOV") || in_->is(kMOV) || in_->is(kMOV_64) || in_->is(kSEL) || in_->is(kSEL_64) ||
              in_->is(kFSEL);
  for (size_t k = 0; k < sass::kMaxSlots; ++k) {
    if (!slot(k)) continue;
    const sass::Operand& o = *slot(k);
    std::vector<uint32_t> places;
    auto add = [&](const sass::Operand& r, uint32_t count) {
      const bool uniform = r.kind == sass::OperandKind::kUniform;
      if (r.index == sass::kZero || (!uniform && r.kind != sass::OperandKind::kRegister)) return;
      for (uint32_t i = 0; i < count; ++i) places.push_back(reg(r.index + i, uniform, matched_.written[k]));
    };
    // Sums of a warp group are under way until the wait for them, which looks after them.
    const uint32_t count = in_->does(ptx::Effect::kLater) ? 1 : std::max<uint32_t>(1, matched_.registers[k]);
    add(o, count);
    for (const sass::Operand& p : o.parts) add(p, p.selector == "64" ? 2 : 1);
    auto& uniform = matched_.written[k] ? out.uniform_writes : out.uniform_reads;
    auto add_uniform = [&](const sass::Operand& r, uint32_t count) {
      if (r.kind == sass::OperandKind::kUniformPredicate && r.index != sass::kTrue)
        uniform.emplace_back(pred(r.index, true, matched_.written[k]), 1);
      for (uint32_t i = 0; r.kind == sass::OperandKind::kUniform && r.index != sass::kZero && i < count; ++i)
        uniform.emplace_back(reg(r.index + i, true, matched_.written[k]), 4);
    };
    add_uniform(o, count);
    for (const sass::Operand& p : o.parts) add_uniform(p, p.selector == "64" ? 2 : 1);
    // A divisor that is a parameter.
    if (o.kind == sass::OperandKind::kConstant && out.takes_divisor) places.push_back(bank(o, 4));
    if (places.empty()) continue;
    if (matched_.written[k])
      out.writes.insert(out.writes.end(), places.begin(), places.end());
    else
      out.reads.push_back(std::move(places));
  }
  if (in_->guard && in_->guard->kind == sass::OperandKind::kUniformPredicate)
    out.uniform_reads.emplace_back(pred(in_->guard->index, true), 1);
  return out;
}

void SassLowering::give_sources(size_t first) {
  if (code.instrs.size() == first) return;
  size_t made = code.sources.size();
  while (made > 0 && code.sources[made - 1].at == in_)
    --made;  // those of lines of PTX that are no arithmetic
  // The last of several is what the instruction does; those before it give it its operands.
  if (made == code.sources.size() || (numbers_ && !code.instrs.back().source)) name_last();
  if (numbers_) {
    Source source = *code.instrs.back().source;
    source.numbers = numbers_->numbers;
    source.type = numbers_->type;
    source.elements = numbers_->elements;
    code.instrs[numbers_at_].source = &code.sources.emplace_back(source);
  }
  const Part* whole = code.keep(part());
  for (; made < code.sources.size(); ++made) {
    code.sources[made].part = whole;
    code.sources[made].index = static_cast<uint32_t>(in_ - function_.body.data());
  }
}

}  // namespace triton_runner::simt
