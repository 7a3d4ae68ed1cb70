// Implements lowering_order(): moves instructions past products of matrices where none of both touches what
// the other does.
#include "front/sass/order.h"

#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include <algorithm>
#include <unordered_set>

namespace triton_runner::simt {
namespace {

using Set = std::unordered_set<uint32_t>;  // of values

// An instruction may not be moved past these.
struct Facts {
  std::vector<uint32_t> reads, writes;
  bool stays = false;    // nothing moves past it
  bool ordered = false;  // it keeps its order with others of that kind
  bool is_product = false;
};

bool is_product(const sass::Instruction& in) {
  using enum sass::Opcode;
  constexpr sass::Opcode kProducts[] = {kHMMA, kHMMA_SP, kIMMA,       kIMMA_SP,
                                        kQMMA, kQMMA_SF, kQMMA_SF_SP, kQMMA_SP};
  return !in.guard && std::any_of(std::begin(kProducts), std::end(kProducts),
                                  [&](sass::Opcode opcode) { return in.is(opcode); });
}

Facts facts_of(const sass::Module& module, const sass::Function& function, uint32_t index,
               const Values& values) {
  const sass::Instruction& in = function.body[index];
  Facts out;
  out.stays = !names_its_registers(module, in);
  if (out.stays) return out;
  const sass::Registers registers = sass::registers_of(module, in);
  for (uint32_t r : registers.reads) out.reads.push_back(values.before(index, r));
  if (const auto low = values.lower_half(index))
    for (const uint32_t r : sass::registers_of(module, function.body[*low]).reads)
      out.reads.push_back(values.before(*low, r));
  for (uint32_t r : registers.writes) out.writes.push_back(values.after(index, r));
  const sass::Row& row = *sass::match(module, in)->row;
  using enum sass::Opcode;
  const bool reads_clock = in.is(kS2R) || in.is(kCS2R) || in.is(kCS2R_32) || in.is(kS2UR);
  out.ordered = !row.does(ptx::Effect::kComputes) || reads_clock || row.family == "warp";
  out.is_product = is_product(in);
  return out;
}

class Group {
 public:
  // Returns whether the instruction found a place before the group, in it or after it.
  bool take(uint32_t index, const Facts& x) {
    const bool is_free_of_later = !meets(x, later_reads_, later_writes_);
    if (x.is_product && is_free_of_later) {
      add(index, x, products, reads_, writes_);
      return true;
    }
    if (x.is_product) return false;
    if (is_free_of_later && !(x.ordered && later_ordered_) && !meets(x, reads_, writes_)) {
      before.push_back(index);
      return true;
    }
    add(index, x, after, later_reads_, later_writes_);
    later_ordered_ |= x.ordered;
    return true;
  }

  std::vector<uint32_t> before, products, after;

 private:
  static bool meets(const Facts& x, const Set& reads, const Set& writes) {
    const auto in = [](const Set& set) { return [&set](uint32_t value) { return set.contains(value); }; };
    return std::ranges::any_of(x.reads, in(writes)) || std::ranges::any_of(x.writes, in(reads)) ||
           std::ranges::any_of(x.writes, in(writes));
  }
  static void add(uint32_t index, const Facts& x, std::vector<uint32_t>& to, Set& reads, Set& writes) {
    to.push_back(index);
    reads.insert(x.reads.begin(), x.reads.end());
    writes.insert(x.writes.begin(), x.writes.end());
  }
  Set reads_, writes_, later_reads_, later_writes_;
  bool later_ordered_ = false;
};

}  // namespace

std::set<uint64_t> jump_targets(const sass::Function& f) {
  std::set<uint64_t> heads;
  for (const sass::Instruction& in : f.body) {
    if (in.does(sass::Trait::kComputed) || in.is(sass::Opcode::kLEPC) || in.is(sass::Opcode::kCALL_ABS))
      for (const sass::Instruction& any : f.body) heads.insert(any.address);
    const bool may_be_address = in.is(sass::Opcode::kMOV) || in.has("MOV");  // that a function returns to
    for (const sass::Operand& o : in.operands)
      if (o.kind == sass::OperandKind::kLabel || (may_be_address && o.kind == sass::OperandKind::kInteger))
        heads.insert(static_cast<uint64_t>(o.integer));
  }
  return heads;
}

std::vector<std::vector<uint32_t>> lowering_order(const sass::Module& module, const sass::Function& f,
                                                  bool may_move, const std::vector<bool>& fixed,
                                                  const Values& values) {
  const auto size = static_cast<uint32_t>(f.body.size());
  may_move &= std::any_of(f.body.begin(), f.body.end(), [](const auto& in) { return is_product(in); });
  std::vector<Facts> facts(size, Facts{{}, {}, true});
  for (uint32_t i = 0; may_move && i < size; ++i)
    if (fixed.empty() || !fixed[i]) facts[i] = facts_of(module, f, i, values);
  const std::set<uint64_t> heads = may_move ? jump_targets(f) : std::set<uint64_t>{};
  std::vector<std::vector<uint32_t>> out;
  for (uint32_t i = 0; i < size;) {
    std::vector<uint32_t>& to = out.emplace_back();
    const uint32_t first = i;
    auto moves = [&] {
      return i < size && !facts[i].stays && (i == first || !heads.contains(f.body[i].address));
    };
    while (moves()) {
      Group group;
      while (moves() && group.take(i, facts[i])) ++i;
      for (const auto* part : {&group.before, &group.products, &group.after})
        to.insert(to.end(), part->begin(), part->end());
    }
    if (to.empty()) to.push_back(i++);
  }
  return out;
}

}  // namespace triton_runner::simt
