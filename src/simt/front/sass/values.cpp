// Implements Values: walks over straight code, from one label or jump to the next, and asks what is live where it ends.
#include "front/sass/values.h"

#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/flow.h>

#include <algorithm>

#include "front/sass/order.h"

namespace triton_runner::simt {
namespace {

using enum sass::Trait;

// Families whose registers are all in the text.
bool is_known(const sass::Row& row) {
  using enum sass::Opcode;
  for (std::string_view family :
       {"moves", "integer", "floats", "convert", "halves", "matrices", "memory", "warp"})
    if (row.family == family) return row.opcode != kRPCMOV;
  return row.opcode == kLDGSTS || row.opcode == kLDGDEPBAR || row.opcode == kDEPBAR_LE;
}

bool has_plain_global_address(const sass::Instruction& in) {  // [R2], whose width the suffixes of others say
  for (const sass::Operand& o : in.operands)
    for (const sass::Operand& part : o.parts)
      if (&o == &in.operands.back() && part.selector.empty() && in.is(sass::Opcode::kLDGSTS)) return true;
  return false;
}

// Jumps that name all that they read, and lead nowhere but to labels.
bool is_plain_jump(const sass::Instruction& in) {
  using enum sass::Opcode;
  return in.is(kBRA) || in.is(kEXIT) || in.is(kBSSY) || in.is(kBSYNC) || in.is(kNOP) || in.is(kBREAK) ||
         in.is(kCALL) || in.is(kRET);
}

// CALL.REL.NOINC R6 `(kernel): the label is where the distance in R6 is counted from.
bool is_call_by_address(const sass::Function& f, const sass::Instruction& in) {
  return in.does(kCalls) &&
         (!sass::target_of(f, in) || std::ranges::any_of(in.operands, [](const sass::Operand& o) {
           return o.kind == sass::OperandKind::kRegister || o.kind == sass::OperandKind::kUniform;
         }));
}

bool is_uniform(uint32_t reg) {
  return sass::kind_of(reg) == sass::OperandKind::kUniform ||
         sass::kind_of(reg) == sass::OperandKind::kUniformPredicate;
}

}  // namespace

bool may_part(const sass::Row& row) {
  for (std::string_view family : {"moves", "integer", "floats", "convert", "halves", "memory"})
    if (row.family == family) return false;
  return true;
}

bool names_its_registers(const sass::Module& module, const sass::Instruction& in) {
  const auto matched = sass::match(module, in);
  return matched && sass::registers_of(module, in).known && is_known(*matched->row) &&
         !has_plain_global_address(in);
}

// Says what is known of each instruction, and of all.
struct Values::Known {
  // Else some instruction may read what nothing says: any register, or predicates.
  bool all = true, all_predicates = true;
  std::vector<bool> registers, predicates, parts;
  // Nobody reads the stack's register, though it counts as needed where threads end.
  bool no_frame = true;

  bool take(const sass::Module& module, const sass::Function& f, const sass::Instruction& in) {
    if (in.does(kComputed) || is_call_by_address(f, in) || in.is(sass::Opcode::kLEPC)) return false;
    predicates.push_back(names_its_registers(module, in) || is_plain_jump(in));
    registers.push_back(predicates.back() || in.is(sass::Opcode::kP2R) || in.is(sass::Opcode::kR2P));
    all = all && registers.back();
    all_predicates = all_predicates && predicates.back();
    const auto matched = sass::match(module, in);
    parts.push_back(!matched || may_part(*matched->row));
    const std::vector<uint32_t> reads = sass::registers_of(module, in).reads;
    no_frame = no_frame && std::find(reads.begin(), reads.end(), sass::kFrame) == reads.end();
    return true;
  }
  bool of(uint32_t i, uint32_t reg) const { return (sass::is_predicate(reg) ? predicates : registers)[i]; }
  bool of_all(uint32_t reg) const { return sass::is_predicate(reg) ? all_predicates : all; }
  bool is_read(uint32_t reg) const { return reg != sass::kFrame || !no_frame || !all; }
};

// The values of the straight code so far that nobody has overwritten.
struct Values::Open {
  size_t span;  // of spans_
  bool is_read = false, is_own = true;
  bool is_shared = false;  // by now others may have written it: those of the warp have uniform registers once
  void read() {
    is_read = true;
    is_own = is_own && !is_shared;
  }
};

void Values::close(uint32_t reg, const Open& o, uint32_t last, std::vector<uint32_t>& unread) {
  Span& span = spans_[reg][o.span];
  span.last = last;
  if (!o.is_own) return;
  span.value = end_++;
  if (!o.is_read) ++unread[span.first];
}

Values::Values(const sass::Module& module, const sass::Function& f) {
  const auto size = static_cast<uint32_t>(f.body.size());
  Known known;
  for (const sass::Instruction& in : f.body)
    if (!known.take(module, f, in)) return;
  const std::set<uint64_t> heads = jump_targets(f);
  const sass::Flow flow(f);
  const sass::Live live(module, f, flow);
  std::vector<bool> last(size);  // of straight code
  for (uint32_t i = 0; i < size; ++i) {
    const sass::Instruction& in = f.body[i];
    last[i] = i + 1 == size || (in.does(sass::kLeads) && !in.does(kEnds)) || flow.is_target(i + 1) ||
              heads.contains(f.body[i + 1].address) || (in.does(kEnds) && sass::is_always(in));
  }
  std::map<uint32_t, Open> open;          // by register
  std::vector<uint32_t> unread(size, 0);  // by instruction, how many of its values
  for (uint32_t i = 0; i < size; ++i) {
    for (const uint32_t reg : live.reads(i))
      if (auto o = open.find(reg); o != open.end() && known.is_read(reg)) o->second.read();
    for (auto& [reg, o] : open) {
      o.is_own &= known.of(i, reg);
      o.is_shared |= known.parts[i] && is_uniform(reg);
    }
    for (const uint32_t reg : live.writes(i)) {
      if (reg >= sass::kMaxRegisters) continue;  // of the stack
      const auto o = open.find(reg);
      if (!sass::is_always(f.body[i])) {  // the other threads keep what they have
        if (o != open.end()) o->second.read();
        continue;
      }
      if (o != open.end()) close(reg, o->second, i, unread);
      spans_[reg].push_back({i, i, reg});
      open[reg] = {spans_[reg].size() - 1, false, known.of(i, reg) && !(known.parts[i] && is_uniform(reg))};
    }
    if (!last[i]) continue;
    std::set<uint32_t> needed;
    bool anywhere = false;
    for (const sass::Edge& edge : flow.after(i)) {
      anywhere |= edge.kind == sass::Edge::kAnywhere;
      const std::vector<uint32_t> there = live.needed(edge.to);
      needed.insert(there.begin(), there.end());
    }
    for (auto& [reg, o] : open) {
      o.is_own &= !anywhere && known.of_all(reg) && !(needed.contains(reg) && known.is_read(reg));
      close(reg, o, i, unread);
    }
    open.clear();
  }
  unread_.resize(size);
  for (uint32_t i = 0; i < size; ++i) {
    const auto registers = std::count_if(live.writes(i).begin(), live.writes(i).end(),
                                         [](uint32_t reg) { return reg < sass::kMaxRegisters; });
    unread_[i] = registers > 0 && unread[i] == static_cast<uint32_t>(registers);
  }
  find_halves(module, f);
  find_fills(module, f, last);
}

const Values::Span* Values::span_of(uint32_t i, uint32_t reg) const {
  const std::vector<Span>& spans = spans_[reg];
  auto after = std::upper_bound(spans.begin(), spans.end(), i,
                                [](uint32_t at, const Span& span) { return at < span.first; });
  return after == spans.begin() ? nullptr : &*std::prev(after);
}

uint32_t Values::before(uint32_t i, uint32_t reg) const {
  const Span* span = i == 0 ? nullptr : span_of(i - 1, reg);
  return span && i <= span->last ? span->value : reg;
}

uint32_t Values::after(uint32_t i, uint32_t reg) const {
  const Span* span = span_of(i, reg);
  return span && i <= span->last ? span->value : reg;
}

}  // namespace triton_runner::simt
