// Checks the promises that the IR makes. They are Triton's axis information, along each dimension d of a
// tile:
//   contiguity  every so many elements, from index 0 on, each is its predecessor plus 1 (a pointer: plus the
//               bytes of what it points to)
//   constancy   every so many elements are the same
//   divisibility  the first of each contiguous run is a multiple (a pointer: its address in bytes)
// How long the runs are that a compiler counts from is its analysis' choice. Here they are the longest that
// the values have, so that no promise is reported which holds for one choice.
#include "check/hints.h"

#include <array>

#include "check/uninit.h"
#include "lowering.h"

namespace triton_runner::tile {
namespace {

constexpr std::array kNames = {"tt.divisibility", "tt.contiguity", "tt.constancy"};

std::vector<int64_t> numbers_of(const ir::Attr& value, int rank) {
  const size_t dims = static_cast<size_t>(std::max(rank, 1));
  if (value.kind == ir::AttrKind::kInteger) return std::vector<int64_t>(dims, value.integer);
  if (value.kind != ir::AttrKind::kDenseElements || value.raw.empty()) return {};
  if (value.splat || value.raw.size() == 1)
    return std::vector<int64_t>(dims, static_cast<int32_t>(value.raw[0]));
  if (value.raw.size() != dims) return {};
  std::vector<int64_t> out;
  for (uint64_t bits : value.raw) out.push_back(static_cast<int32_t>(bits));
  return out;
}

std::string text_of(int64_t bits, num::Type type) { return element_text(&bits, type); }

}  // namespace

HintCheck::HintCheck(const Code& code) {
  const ir::Op* func = code.module->find_function(code.kernel);
  function_.op = func;
  const ir::Attr* all = func ? func->attr("arg_attrs") : nullptr;
  for (size_t i = 0; all && i < code.params.size() && i < all->elements.size(); ++i)
    for (size_t k = 0; k < kNames.size(); ++k) {
      const std::string subject = "argument '%" + std::string(func->region(0)->first->args[i].name) + "'";
      collect(code, arguments_, all->elements[i]->get(kNames[k]), static_cast<Kind>(k), code.params[i],
              subject);
    }
  for (const Instr& in : code.instrs) {
    if (!in.op || in.run == run_release || in.num_results != in.op->results.size()) continue;
    std::vector<Hint> hints;
    for (size_t k = 0; k < kNames.size(); ++k) {
      const ir::Attr* value = in.op->attr(kNames[k]);
      for (uint32_t r = 0; value && r < in.num_results; ++r)
        // Not of the intermediate results of an op that is several instructions.
        if (code.types[in.result(r)]->ir == in.op->results[r].type)
          collect(code, hints, value, static_cast<Kind>(k), in.result(r),
                  "%" + std::string(in.op->results[r].name));
    }
    if (hints.empty()) continue;
    if (&in < code.entry) once_.push_back(&in);
    results_.emplace(&in, std::move(hints));
  }
}

void HintCheck::collect(const Code& code, std::vector<Hint>& to, const ir::Attr* value, Kind kind, Slot slot,
                        const std::string& subject) const {
  const TileType& type = *code.types[slot];
  if (!value || (!num::is_integer(type.element) && type.element != num::Type::kPointer) || type.size == 0)
    return;
  Hint hint{kind, slot, numbers_of(*value, type.rank), subject};
  for (int64_t by : hint.by)
    if (by > 1) return to.push_back(std::move(hint));
}

bool HintCheck::begin(Task& t, const Instr& first) const {
  Instr at = first;
  at.op = function_.op;
  at.loop = 0;
  for (const Hint& hint : arguments_)
    if (!holds(t, at, hint, nullptr)) return false;
  for (const Instr* in : once_)
    for (const Hint& hint : results_.at(in))
      if (!holds(t, *in, hint, nullptr)) return false;
  return true;
}

bool HintCheck::after(Task& t, const Instr& in, const UninitCheck& undefined) const {
  if (in.op->does(ir::Effect::kHint) && in.num_operands > 0) {  // what is assumed: no other hint keeps one
    if (t.bits(in.operand(0)) & 1 || undefined.lanes(t, in.operand(0)).marked(0)) return true;
    return t.trap(in, exec::TrapKind::kHint, "what is assumed is false: " + operand_text(t, in, 0, 0));
  }
  const auto found = results_.find(&in);
  if (found == results_.end()) return true;
  for (const Hint& hint : found->second)
    if (!holds(t, in, hint, &undefined)) return false;
  return true;
}

bool HintCheck::holds(Task& t, const Instr& at, const Hint& hint, const UninitCheck* undefined) const {
  const TileType& type = t.type(hint.slot);
  if (!t.has_elements(hint.slot)) return true;
  const Look look(t, hint.slot);
  const bool pointer = type.element == num::Type::kPointer;
  auto value = [&](int64_t i) {
    const uint64_t bits = num::load_bits(look.data() + i * type.size, type.element);
    return pointer ? static_cast<int64_t>(bits) : num::sign_extend(bits, type.element);
  };
  std::optional<Lanes> lanes;
  if (undefined) lanes.emplace(undefined->lanes(t, hint.slot));
  auto unknown = [&](int64_t i) { return lanes && lanes->marked(i); };
  const int64_t step = pointer ? type.pointee : 1;
  const char* name = kNames[static_cast<size_t>(hint.kind)];
  for (int d = 0; d < std::max(type.rank, 1); ++d) {
    const int64_t by = hint.by[static_cast<size_t>(d)];
    if (by <= 1) continue;
    const int64_t stride = type.rank ? type.dense_strides[d] : 1, length = type.rank ? type.shape[d] : 1;
    for (int64_t i = 0; i < type.n; ++i) {
      const int64_t index = i / stride % length;
      const bool has_before = index > 0 && !unknown(i - stride);
      if (unknown(i)) continue;
      const int64_t got = value(i);
      std::string wrong;
      if (hint.kind == Kind::kDivisibility) {
        const bool goes_on = index > 0 && (unknown(i - stride) || got == value(i - stride) + step);
        if (goes_on || got % by == 0) continue;
        wrong = "is " + text_of(got, type.element) + ", no multiple of " + std::to_string(by);
      } else {
        if (index % by == 0 || !has_before) continue;
        const int64_t want = value(i - stride) + (hint.kind == Kind::kContiguity ? step : 0);
        if (got == want) continue;
        wrong = "is " + text_of(got, type.element) + " where " + text_of(want, type.element) +
                " should be in its group of " + std::to_string(by);
      }
      std::string where = type.rank > 1 ? " along dimension " + std::to_string(d) : "";
      return t.trap(
          at, exec::TrapKind::kHint,
          hint.subject + " " + wrong + ", as " + name + " = " + std::to_string(by) + where + " promises",
          type.index_of(i));
    }
  }
  return true;
}

}  // namespace triton_runner::tile
