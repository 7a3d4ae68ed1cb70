// Finds what warps do, once for a launch: who holds what from layouts, whose copies matter backwards through the code.
#include "check/warps.h"

#include <algorithm>
#include <bit>

#include <triton_runner/ir/enums.h>

#include "lowering.h"
#include "machine/threads.h"

namespace triton_runner::tile {

using enum ir::Effect;

namespace {

// Each input bit's image as the number of an element, row-major: as sizes are powers of two, they add up by XOR.
std::vector<uint64_t> flat_bases(const layout::LinearLayout& layout, std::string_view name) {
  std::vector<uint64_t> flat;
  for (const layout::Basis& basis : bases_of(layout, name)) {
    uint64_t element = 0;
    for (size_t d = 0; d < basis.size(); ++d)
      element = element * static_cast<uint64_t>(layout.outs()[d].size) + static_cast<uint64_t>(basis[d]);
    flat.push_back(element);
  }
  return flat;
}

// The limit of elements that are held, all copies counted: no launch of some minutes would be worth more.
constexpr int kMostHeldBits = 26;

const ir::Type* tensor_type(const ir::Value& v) {
  return v.type && v.type->kind == ir::TypeKind::kTensor && v.type->encoding ? v.type : nullptr;
}

// Along which dimension an op combines or picks elements; -1: along none.
int64_t axis_of(const ir::Op& op) { return op.int_attr("axis", -1); }

bool is_pure_inline_code(const ir::Op& op) {
  const ir::Attr* pure = op.attr("pure");
  return !pure || pure->integer != 0;
}

}  // namespace

Warps::Warps(const CheckedCode& code) : code_(code) {
  const Code& c = code.code;
  known_ = c.is_ttgir && c.num_ctas == 1 && c.cluster_size() == 1 && std::max(c.num_warps, c.all_warps) > 1;
  if (!known_) return;
  crosses_.resize(c.instrs.size());
  for (const Instr& in : c.instrs) crosses_[number_of(in)] = crosses(in);
  find_wanted();
  find_meetings();
}

const Warps::Holders& Warps::holders(const ir::Type* type) const {
  const auto [it, fresh] = holders_.try_emplace(type);
  const auto layout = fresh && type ? layout_of(*type) : std::nullopt;
  if (!layout || layout->total_in_bits() > kMostHeldBits || layout->in_bits("warp") > 6) return it->second;
  std::vector<uint64_t> others = flat_bases(*layout, "register");
  for (const uint64_t basis : flat_bases(*layout, "lane")) others.push_back(basis);
  std::erase(others, 0);  // copies in the same warp
  const std::vector<uint64_t> warps = flat_bases(*layout, "warp");
  Holders found(static_cast<size_t>(type->num_elements()));
  for (uint32_t w = 0; w < 1u << warps.size(); ++w) {
    uint64_t element = 0;
    for (size_t b = 0; b < warps.size(); ++b)
      if (w >> b & 1) element ^= warps[b];
    for (uint64_t i = 1;; ++i) {
      if (element < found.size()) found[element] |= WarpMask{1} << w;
      if (i >> others.size()) break;
      element ^= others[static_cast<size_t>(std::countr_zero(i))];
    }
  }
  if (std::all_of(found.begin(), found.end(), [&](WarpMask m) { return m == found[0]; })) found.resize(1);
  return it->second = std::move(found);
}

WarpMask Warps::writers(const ir::Type* type) const {
  if (!type) return 1;
  WarpMask all = 0;
  for (const WarpMask m : holders(type)) all |= m & -m;
  return all ? all : kAll;
}

// The tensor that says who makes the access; null: a scalar, or nobody knows.
const ir::Type* Warps::accessed_type(const Instr& in) const {
  for (const ir::Value& v : in.op->results)
    if (const ir::Type* type = tensor_type(v)) return type;
  for (uint32_t i = 0; i < in.op->num_operands(); ++i)
    if (const ir::Type* type = tensor_type(*in.op->operand(i))) return type;
  return nullptr;
}

std::vector<WarpMask> Warps::of(const Instr& in) const {
  const Access a = any_access_of(in);
  const ir::Type* type = accessed_type(in);
  std::vector<WarpMask> out = type ? holders(type) : Holders{};
  const bool loads = a.kind == AccessKind::kLoad && in.op->does(kLoads) && !in.op->does(kAsync);
  if (!type) {
    const int64_t warps = std::min<int64_t>(64, warps_around(code_.code, *in.op));
    out = {loads ? kAll >> (64 - warps) : 1};
  }
  if (out.empty()) return {0};  // as the program: a layout that is not known
  WarpMask any = 0;
  for (WarpMask& m : out) {
    m = loads ? m & wanted(in.result()) : m & -m;
    any |= m;
  }
  if (any == 0) out.clear();
  return out;
}

// Returns whether a warp gets what another one has.
bool Warps::crosses(const Instr& in) const {
  if (!in.op || in.run == run_release || in.op->num_operands() == 0) return false;
  const ir::Op& op = *in.op;
  const ir::Type* from = tensor_type(*op.operand(0));
  if (!from) return false;
  if (op.kind == ir::OpKind::kHistogram) return true;
  if (op.kind == ir::OpKind::kConvertLayout) {
    const Holders &had = holders(from), &has = holders(tensor_type(op.results[0]));
    if (had.empty() || has.empty()) return true;
    const size_t n = std::max(had.size(), has.size());
    for (size_t e = 0; e < n; ++e)
      if (has[has.size() == 1 ? 0 : e] & ~had[had.size() == 1 ? 0 : e]) return true;
    return false;
  }
  const int64_t axis = axis_of(op);
  if (axis < 0 || !(op.does(kApplies) || op.does(kComputes))) return false;
  const auto layout = layout_of(*from);
  if (!layout) return true;
  const auto warps = bases_of(*layout, "warp");
  return std::any_of(warps.begin(), warps.end(),
                     [&](const layout::Basis& basis) { return basis[static_cast<size_t>(axis)] != 0; });
}

// The warps whose copies of the operands go anywhere, by what becomes of the results.
WarpMask Warps::wanted_of_operands(const Instr& in) const {
  WarpMask results = 0;
  for (const Slot s : in.results()) results |= wanted(s);
  if (!in.op) return results;
  const ir::Effects does = in.op->effects();
  const Access a = any_access_of(in);
  if (a.kind == AccessKind::kLoad && does.any(kLoads) && !does.any(kAsync)) return results;
  if (a.kind != AccessKind::kNone) return writers(accessed_type(in));
  if (crosses_[number_of(in)]) return kAll;
  const bool goes_on = does.any(kBufferWrites | kBufferReads | kBlock | kMover | kAllocates | kViews |
                                kReports | kBranches | kBarrier | kNamed | kToken | kCluster | kForks);
  if (does.empty()) return 0;  // who observes a value is no op of the program
  if (in.target || goes_on || in.num_results == 0 || !is_pure_inline_code(*in.op)) return kAll;
  return results;
}

void Warps::find_wanted() {
  const Code& c = code_.code;
  wanted_.resize(c.types.size());
  for (bool more = true; more;) {
    more = false;
    for (size_t k = c.instrs.size(); k-- > 0;) {
      const Instr& in = c.instrs[k];
      if (in.run == run_release || in.num_operands == 0) continue;
      const bool hands_on = in.op && in.op->does(kPasses) && in.num_results == in.num_operands && !in.target;
      const WarpMask all = hands_on ? 0 : wanted_of_operands(in);
      for (uint32_t i = 0; i < in.num_operands; ++i) {
        WarpMask& m = wanted_[in.operand(i)];
        const WarpMask with = m | (hands_on ? wanted(in.result(i)) : all);
        more |= with != m;
        m = with;
      }
    }
  }
}

void Warps::find_meetings() {
  before_.resize(code_.code.instrs.size());
  after_.resize(code_.code.instrs.size());
  for (const Instr& in : code_.code.instrs) {
    if (!in.op || in.run == run_release) continue;
    const ir::Effects does = in.op->effects();
    const bool at_once =
        does.any(kBlock) && !does.any(kAsync | kWaits);  // lowered to a copy that all wait for
    using K = ir::OpKind;
    const bool meets = in.op->kind == K::kGpuBarrier || in.op->kind == K::kBarrier ||
                       in.op->kind == K::kAmdCondBarrier || in.op->kind == K::kRocdlSBarrier ||
                       in.op->kind == K::kRocdlBarrier;
    const bool both = meets || does.any(kForks) || at_once || !is_pure_inline_code(*in.op);
    bool before = both,
         after = both || crosses_[number_of(in)] || (does.any(kWaits) && !does.any(kTensorCore));
    if (does.any(kAtomics) || (does.any(kStores) && in.op->attr("sem"))) {
      const auto sem =
          in.op->attr("sem") ? in.op->enum_attr<ir::MemSemantic>("sem") : ir::MemSemantic::kAcqRel;
      before |= sem == ir::MemSemantic::kRelease || sem == ir::MemSemantic::kAcqRel;
      after |= sem == ir::MemSemantic::kAcquire || sem == ir::MemSemantic::kAcqRel;
      // The value that one warp got goes to all that want it.
      for (const Slot s : in.results()) after |= (wanted(s) & ~writers(accessed_type(in))) != 0;
    }
    before_[number_of(in)] = before;
    after_[number_of(in)] = after;
  }
}

}  // namespace triton_runner::tile
