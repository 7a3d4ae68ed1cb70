// Looks for NaNs in the float results of ops that compute. An op that goes element by element is compared
// with its operands at the same element; any other (dot, reduction, shapes) with all of its operands'
// elements.
#include "check/nan.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "check/substitute.h"
#include "check/uninit.h"

namespace triton_runner::tile {
using machine::Badness;

namespace {

enum class Role : uint8_t { kCompute, kElementwise, kLoad, kSkip };

Role role_of(const ir::Op& op) {
  using enum ir::Effect;
  const ir::Effects does = op.effects();
  // These hand values on, and bits that are taken as they are: what they mean was decided elsewhere.
  if (does.any(kPasses | kEnds | kForks | kGenerates) || does.all(kMoves | kElementwise)) return Role::kSkip;
  if (does.any(kBufferReads) && !does.any(kAsync)) return Role::kSkip;
  if (does.any(kLoads | kAtomics)) return Role::kLoad;
  return does.any(kElementwise) ? Role::kElementwise : Role::kCompute;
}

}  // namespace

Badness NanCheck::badness(const void* element, num::Type type) const {
  return machine::badness(num::to_double(num::load_bits(element, type), type), infinities_);
}

int64_t NanCheck::first_bad(const void* data, int64_t n, num::Type type) const {
  // Finds a number as large as an infinity, or larger, as an unsigned number without its sign.
  auto scan = [&](auto zero, uint64_t infinity) -> int64_t {
    using T = decltype(zero);
    const T* p = static_cast<const T*>(data);
    const T limit = static_cast<T>(infinity + (infinities_ ? 0 : 1)), mask = static_cast<T>(T(~T{0}) >> 1);
    bool any = false;
    for (int64_t i = 0; i < n; ++i) any |= static_cast<T>(p[i] & mask) >= limit;
    if (!any) return -1;
    for (int64_t i = 0;; ++i)
      if (static_cast<T>(p[i] & mask) >= limit) return i;
  };
  switch (type) {
    case num::Type::kF16:
      return scan(uint16_t{}, 0x7c00);
    case num::Type::kBF16:
      return scan(uint16_t{}, 0x7f80);
    case num::Type::kF32:
    case num::Type::kTF32:
      return scan(uint32_t{}, 0x7f800000);
    case num::Type::kF64:
      return scan(uint64_t{}, 0x7ff0000000000000);
    default:
      for (int64_t i = 0; i < n; ++i)
        if (badness(static_cast<const std::byte*>(data) + i * num::size_of(type), type) != Badness::kFine)
          return i;
      return -1;
  }
}

Badness NanCheck::worst(Task& t, Slot s) const {
  const TileType& type = t.type(s);
  if (!t.has_elements(s) || !num::is_float(type.element)) return Badness::kFine;
  if (t.is_uniform(s)) return badness(&t.value(s).bits, type.element);
  const Look look(t, s);
  Badness worst = Badness::kFine;
  const int64_t first = first_bad(look.data(), type.n, type.element);
  for (int64_t e = first; first >= 0 && e < type.n && worst != Badness::kNotANumber; ++e)
    worst = std::max(worst, badness(look.data() + e * type.size, type.element));
  return worst;
}

std::vector<int64_t> NanCheck::made(Task& t, const Instr& in, Slot result, bool same_index, Badness least,
                                    const UninitCheck& undefined) const {
  const TileType& type = t.type(result);
  const Lanes unknown = undefined.lanes(t, result);
  const Look look(t, result);
  Badness of_all = Badness::kFine;
  std::deque<Look> looks;
  std::vector<std::pair<const std::byte*, num::Type>> operands;
  for (const Slot o : in.operands()) {
    const num::Type element = t.type(o).element;
    if (!same_index)
      of_all = std::max(of_all, worst(t, o));
    else if (num::is_float(element))
      operands.emplace_back(looks.emplace_back(t, o).data(), element);
  }
  std::vector<int64_t> made;
  for (int64_t e = 0; e < type.n; ++e) {
    const Badness own = badness(look.data() + e * type.size, type.element);
    if (own < least || unknown.marked(e)) continue;
    Badness before = of_all;
    for (const auto& [data, element] : operands)
      before = std::max(before, badness(data + e * num::size_of(element), element));
    if (own > before) made.push_back(e);
  }
  return made;
}

bool NanCheck::after(Task& t, const Instr& in, const UninitCheck& undefined) {
  const Role role = role_of(*in.op);
  if (role == Role::kSkip || (role == Role::kLoad && !loads_)) return true;
  for (const Slot s : in.results()) {
    const TileType& type = t.type(s);
    // Infinities among what loads bring in are not reported.
    const Badness least = role == Role::kLoad ? Badness::kNotANumber : Badness::kInfinite;
    if (worst(t, s) < least) continue;
    const bool by_element = role == Role::kElementwise &&
                            std::ranges::all_of(in.operands(), [&](Slot o) { return t.type(o).n == type.n; });
    const std::vector<int64_t> elements = made(t, in, s, by_element, least, undefined);
    if (!elements.empty() && !report(t, in, s, elements, by_element)) return false;
  }
  return true;
}

bool NanCheck::report(Task& t, const Instr& in, Slot result, std::span<const int64_t> elements,
                      bool same_index) const {
  const exec::Trap trap = described(t, in, result, elements[0], same_index);
  if (substituted(t, in, result, elements, [&] { return trap; })) return true;
  return t.record(in, trap);
}

exec::Trap NanCheck::described(Task& t, const Instr& in, Slot result, int64_t element,
                               bool same_index) const {
  const TileType& type = t.type(result);
  const Look look(t, result);
  const std::byte* bad = look.data() + element * type.size;
  const std::string what = element_text(bad, type.element);
  const bool is_nan = badness(bad, type.element) == Badness::kNotANumber;
  std::string message = "the result is " + (is_nan ? "NaN" : what);
  if (role_of(*in.op) == Role::kLoad) {
    message += ", as it is in memory";
  } else {
    message += is_nan ? ", and no operand is" : ", and its operands are finite";
    std::string values;
    for (uint32_t i = 0; i < in.num_operands; ++i) {
      if (!same_index || !t.has_elements(in.operand(i))) continue;
      values += (values.empty() ? ": " : ", ") + operand_text(t, in, i, element);
    }
    message += values;
  }
  return t.made_trap(in, exec::TrapKind::kNan, std::move(message), type.index_of(element));
}

}  // namespace triton_runner::tile
