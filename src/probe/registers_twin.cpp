// The twin against the PTX of a launch: what taps added is taken away, and the rest has to be the same
// program.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>

#include <triton_runner/num/types.h>
#include <triton_runner/probe/registers.h>

#include "registers_ptx.h"

namespace triton_runner::probe {
namespace {

using base::failure;
using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint32_t kNone = ~uint32_t{0};

// A comment of a tap, and the instruction of its own that stands before it.
struct Comment {
  enum Kind : uint8_t { kTap, kEnter, kTurn } kind;
  uint32_t number;
  uint32_t instruction;
  std::string_view reg;
};

bool digits(std::string_view& text, uint32_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc();
}

// Those that stand in the body of a function, in the order of the text.
std::vector<Comment> comments_of(std::string_view text, const Function& f) {
  std::vector<Comment> out;
  if (f.body.empty()) return out;
  constexpr std::string_view kPrefix = "// triton_runner.";
  const size_t begin = f.body.front().offset;
  const size_t end = f.body.back().offset + f.body.back().length + 256;
  size_t i = 0;
  for (size_t at = text.find(kPrefix, begin); at != std::string_view::npos && at < end;
       at = text.find(kPrefix, at + 1)) {
    std::string_view rest = text.substr(at + kPrefix.size());
    rest = rest.substr(0, rest.find('\n'));
    while (i + 1 < f.body.size() && f.body[i + 1].offset < at) ++i;
    Comment c{Comment::kTap, 0, static_cast<uint32_t>(i), {}};
    const size_t space = rest.find(' ');
    const std::string_view what = rest.substr(0, space);
    if (space == std::string_view::npos) continue;
    c.kind = what == "enter" ? Comment::kEnter : what == "turn" ? Comment::kTurn : Comment::kTap;
    rest.remove_prefix(space + 1);
    if (!digits(rest, &c.number)) continue;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
    c.reg = rest;
    out.push_back(c);
  }
  return out;
}

// Where the bits of a tapped element are: in a register from a byte on, or in the text.
struct Source {
  uint32_t reg = kNone;
  uint32_t offset = 0;
};

// One function of the twin beside its counterpart.
class Pair {
 public:
  Pair(const ptx::Module& twin_module, const Function& twin, const ptx::Module& module, const Function& own,
       std::vector<Comment> comments)
      : twin_module_(twin_module),
        module_(module),
        twin_(twin),
        own_(own),
        comments_(std::move(comments)),
        same_(&twin == &own) {
    find_added();
  }

  // Whether the rest is the same program; else where it differs first.
  base::Status compare() {
    if (same_) return base::success();
    if (kept_.size() != own_.body.size()) return differs(first_difference());
    for (size_t k = 0; k < kept_.size(); ++k)
      if (!equal(twin_.body[kept_[k]], own_.body[k])) return differs(k);
    return base::success();
  }

  // The place of a comment in the counterpart; empty where it has none.
  std::optional<exec::RegisterProbe> place(const Comment& c) const {
    exec::RegisterProbe probe;
    probe.function = own_.name;
    if (same_) {
      probe.instruction = c.instruction;
      return probe;
    }
    const uint32_t k = kept_before_[c.instruction];
    const uint32_t next = k < kept_.size() ? kept_[k] : static_cast<uint32_t>(twin_.body.size());
    const uint32_t last = k > 0 ? kept_[k - 1] + 1 : 0;
    bool before = false, behind = false;  // jumps to here, and past this
    for (uint32_t i = last; i <= next; ++i)
      if (targets_[i]) (i <= c.instruction ? before : behind) = true;
    if (!behind) {
      probe.instruction = k;
      return probe;
    }
    if (before || k == 0) return {};
    const Instruction& in = own_.body[k - 1];
    if (in.guard >= 0 || is_control(in)) return {};
    probe.instruction = k - 1;
    probe.after = true;
    return probe;
  }

  // The register of the counterpart that holds at the comment what its register holds from a byte on.
  std::optional<Source> source(const Comment& c, uint32_t offset) const {
    const uint32_t reg = find_register(c.reg);
    if (reg == kNone) return {};
    if (same_) return Source{reg, offset};
    return trace(reg, c.instruction, offset, 0);
  }

 private:
  uint32_t find_register(std::string_view name) const {
    for (size_t i = 0; i < twin_.registers.size(); ++i)
      if (twin_.registers[i].name == name) return static_cast<uint32_t>(i);
    return kNone;
  }

  // The instructions of the comments, and those whose results nothing else uses.
  void find_added() {
    const size_t n = twin_.body.size(), registers = twin_.registers.size();
    targets_ = jump_targets(twin_);
    definitions_.resize(registers);
    added_.assign(n, false);
    std::vector<std::vector<uint32_t>> readers(registers);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t r : results_of(twin_.body[i])) definitions_[r].push_back(i);
      for (uint32_t r : sources_of(twin_.body[i])) readers[r].push_back(i);
    }
    if (!same_) {
      std::vector<uint32_t> work;  // registers that something which goes used
      auto remove = [&](uint32_t i) {
        if (added_[i]) return;
        added_[i] = true;
        for (uint32_t r : sources_of(twin_.body[i])) work.push_back(r);
      };
      for (const Comment& c : comments_) {
        remove(c.instruction);
        if (const uint32_t r = find_register(c.reg); c.kind == Comment::kTap && r != kNone) work.push_back(r);
      }
      while (!work.empty()) {
        const uint32_t r = work.back();
        work.pop_back();
        if (std::any_of(readers[r].begin(), readers[r].end(), [&](uint32_t i) { return !added_[i]; }))
          continue;
        for (uint32_t i : definitions_[r])
          if (!added_[i] && is_pure(twin_.body[i]) && is_dead(i, readers)) remove(i);
      }
    }
    kept_before_.resize(n + 1);
    for (uint32_t i = 0; i < n; ++i) {
      kept_before_[i] = static_cast<uint32_t>(kept_.size());
      if (!added_[i]) kept_.push_back(i);
    }
    kept_before_[n] = static_cast<uint32_t>(kept_.size());
  }

  static bool is_pure(const Instruction& in) {
    switch (in.opcode) {
      case Opcode::kMov:
      case Opcode::kCvt:
      case Opcode::kAdd:
      case Opcode::kSub:
      case Opcode::kMul:
      case Opcode::kMad:
      case Opcode::kFma:
      case Opcode::kNeg:
      case Opcode::kAnd:
      case Opcode::kOr:
      case Opcode::kXor:
      case Opcode::kNot:
      case Opcode::kShl:
      case Opcode::kShr:
      case Opcode::kSelp:
      case Opcode::kSetp:
      case Opcode::kMin:
      case Opcode::kMax:
      case Opcode::kPrmt:
      case Opcode::kBfe:
      case Opcode::kBfi:
      case Opcode::kLop3:
        return true;
      default:
        return in.opcode == Opcode::kLd && in.has(ptx::Mod::kParam);
    }
  }

  bool is_dead(uint32_t i, const std::vector<std::vector<uint32_t>>& readers) const {
    for (uint32_t r : results_of(twin_.body[i]))
      for (uint32_t reader : readers[r])
        if (!added_[reader]) return false;
    return true;
  }

  bool equal_register(uint32_t a, uint32_t b) {
    if (twin_.registers[a].type != own_.registers[b].type) return false;
    auto [to, fresh] = to_own_.try_emplace(a, b);
    auto [from, fresh_too] = to_twin_.try_emplace(b, a);
    return to->second == b && from->second == a && fresh == fresh_too;
  }

  bool equal(const Operand& a, const Operand& b) {
    if (a.kind != b.kind || a.negated != b.negated || a.parts.size() != b.parts.size()) return false;
    for (size_t i = 0; i < a.parts.size(); ++i)
      if (!equal(a.parts[i], b.parts[i])) return false;
    switch (a.kind) {
      case OperandKind::kRegister:
        return a.selector.unit == b.selector.unit && a.selector.lanes == b.selector.lanes &&
               equal_register(a.reg, b.reg);
      case OperandKind::kSpecial:
        return a.special == b.special;
      case OperandKind::kVariable:
        return a.integer == b.integer && a.variable->name == b.variable->name &&
               a.variable->bytes == b.variable->bytes;
      case OperandKind::kFunction:
        return a.function->name == b.function->name;
      case OperandKind::kLabel:
        return a.integer >= 0 && static_cast<size_t>(a.integer) < kept_before_.size() &&
               kept_before_[static_cast<size_t>(a.integer)] == b.integer;
      default:
        return a.integer == b.integer && a.is_wide == b.is_wide;
    }
  }

  bool equal(const Instruction& a, const Instruction& b) {
    if (a.spelling != b.spelling || a.guard_negated != b.guard_negated || (a.guard < 0) != (b.guard < 0) ||
        a.operands.size() != b.operands.size() || a.targets.size() != b.targets.size())
      return false;
    if (a.guard >= 0 && !equal_register(static_cast<uint32_t>(a.guard), static_cast<uint32_t>(b.guard)))
      return false;
    for (size_t i = 0; i < a.targets.size(); ++i)
      if (kept_before_[std::min<size_t>(a.targets[i], twin_.body.size())] != b.targets[i]) return false;
    for (size_t i = 0; i < a.operands.size(); ++i)
      if (!equal(a.operands[i], b.operands[i])) return false;
    return true;
  }

  size_t first_difference() {
    size_t k = 0;
    while (k < kept_.size() && k < own_.body.size() && equal(twin_.body[kept_[k]], own_.body[k])) ++k;
    return k;
  }

  base::Status differs(size_t k) const {
    if (k >= own_.body.size())
      return module_.diagnostic(own_.offset, "the program with taps is longer than the one without");
    const Instruction& in = own_.body[k];
    std::vector<std::string> notes;
    if (k < kept_.size()) {
      const Instruction& other = twin_.body[kept_[k]];
      notes.push_back("with taps it is " +
                      std::string(twin_module_.text().substr(other.offset, other.length)));
    }
    return module_.diagnostic(in.offset,
                              "the compiler made something else of the program with taps, from here on",
                              std::move(notes));
  }

  bool defined_between(uint32_t reg, uint32_t from, uint32_t to) const {
    if (definitions_[reg].size() <= 1) return false;
    for (uint32_t i = from + 1; i <= to; ++i)
      if (targets_[i] || is_control(twin_.body[i])) return true;  // another way may come in here
    return std::any_of(definitions_[reg].begin(), definitions_[reg].end(),
                       [&](uint32_t d) { return d > from && d <= to; });
  }

  // Back through what taps added: copies and halves.
  std::optional<Source> trace(uint32_t reg, uint32_t at, uint32_t offset, int depth) const {
    if (auto own = to_own_.find(reg); own != to_own_.end()) return Source{own->second, offset};
    if (depth > 8 || definitions_[reg].size() != 1) return {};
    const uint32_t d = definitions_[reg][0];
    const Instruction& in = twin_.body[d];
    if (!added_[d] || d >= at || in.guard >= 0 || in.operands.size() != 2) return {};
    const Operand &to = in.operands[0], &from = in.operands[1];
    if (in.opcode == Opcode::kMov && from.kind == OperandKind::kVector && !from.parts.empty()) {
      const auto bytes =
          static_cast<uint32_t>(ptx::bits(type_of(reg))) / 8 / static_cast<uint32_t>(from.parts.size());
      const uint32_t i = offset / bytes;
      if (i >= from.parts.size() || from.parts[i].kind != OperandKind::kRegister ||
          defined_between(from.parts[i].reg, d, at))
        return {};
      return trace(from.parts[i].reg, d, offset % bytes, depth + 1);
    }
    if (from.kind != OperandKind::kRegister || defined_between(from.reg, d, at)) return {};
    if (in.opcode == Opcode::kMov && to.kind == OperandKind::kRegister)
      return trace(from.reg, d, offset, depth + 1);
    if (in.opcode == Opcode::kMov && to.kind == OperandKind::kVector) {
      const uint32_t bytes =
          static_cast<uint32_t>(ptx::bits(type_of(from.reg)) / 8 / static_cast<int>(to.parts.size()));
      for (size_t i = 0; i < to.parts.size(); ++i)
        if (to.parts[i].kind == OperandKind::kRegister && to.parts[i].reg == reg)
          return trace(from.reg, d, offset + bytes * static_cast<uint32_t>(i), depth + 1);
      return {};
    }
    // Integers cut to fewer bits.
    const bool cuts = in.opcode == Opcode::kCvt && !ptx::is_float(in.type(0)) && !ptx::is_float(in.type(1)) &&
                      ptx::bits(in.type(0)) <= ptx::bits(in.type(1)) && !in.has(ptx::Mod::kSat);
    return cuts ? trace(from.reg, d, offset, depth + 1) : std::nullopt;
  }
  ptx::Mod type_of(uint32_t reg) const { return twin_.registers[reg].type; }

  const ptx::Module &twin_module_, &module_;
  const Function &twin_, &own_;
  std::vector<Comment> comments_;
  bool same_;
  std::vector<bool> added_, targets_;
  std::vector<uint32_t> kept_, kept_before_;
  std::vector<std::vector<uint32_t>> definitions_;  // of each register
  std::unordered_map<uint32_t, uint32_t> to_own_, to_twin_;
};

// A run of comments at one place becomes one probe.
void append(RegisterPlan& plan, const Function& f, const exec::RegisterProbe& place,
            RegisterPlan::Part::Kind kind, uint32_t number, uint32_t which, const Source& source) {
  auto add = [&](exec::RegisterProbe& probe, RegisterPlan::Part& part) {
    probe.registers.push_back(source.reg);
    part.registers.push_back(which);
    part.offsets.push_back(source.offset);
    part.widths.push_back(static_cast<uint32_t>(std::max(1, ptx::bits(f.registers[source.reg].type) / 8)));
  };
  if (kind == RegisterPlan::Part::kRead && !plan.probes.empty()) {
    exec::RegisterProbe& last = plan.probes.back();
    RegisterPlan::Part& part = plan.parts.back();
    if (part.kind == kind && part.tap == number && last.function == place.function &&
        last.instruction == place.instruction && last.after == place.after && part.registers.back() < which)
      return add(last, part);
  }
  plan.probes.push_back(place);
  plan.parts.push_back({kind, number, {}, {}, {}});
  if (kind == RegisterPlan::Part::kRead) add(plan.probes.back(), plan.parts.back());
}

}  // namespace

base::Result<RegisterPlan> plan_registers(std::span<const Tap> taps, const ptx::Module& twin,
                                          const ptx::Module& ptx, bool partial) {
  RegisterPlan plan;
  plan.taps.assign(taps.begin(), taps.end());
  std::vector<uint32_t> seen(taps.size());
  std::vector<bool> lost(taps.size());
  for (const Function* f : twin.functions()) {
    if (f->is_declaration) continue;
    const Function* own = ptx.find_function(f->name);
    if (!own || own->is_declaration)
      return failure("the program has no function '" + std::string(f->name) + "', which it has with taps");
    const std::vector<Comment> comments = comments_of(twin.text(), *f);
    Pair pair(twin, *f, ptx, *own, comments);
    if (auto ok = pair.compare(); !ok) return ok.error();
    for (const Comment& c : comments) {
      if (c.kind == Comment::kTap && c.number >= taps.size()) continue;
      const auto place = pair.place(c);
      if (c.kind != Comment::kTap) {
        if (!place)
          return failure("the beginning of a loop is at no place of its own in the program without taps");
        append(plan, *own, *place,
               c.kind == Comment::kEnter ? RegisterPlan::Part::kLoopEnters : RegisterPlan::Part::kLoopTurns,
               c.number, 0, {});
        continue;
      }
      const Tap& tap = taps[c.number];
      const uint32_t first = seen[c.number] % tap.registers;
      seen[c.number] += tap.pack;
      for (uint32_t k = 0; k < tap.pack; ++k) {
        const auto source = pair.source(c, k * static_cast<uint32_t>(num::size_of(tap.site.type)));
        if (place && source)
          append(plan, *own, *place, RegisterPlan::Part::kRead, c.number, first + k, *source);
        else
          lost[c.number] = true;
      }
    }
  }
  std::string names;
  for (size_t t = 0; t < taps.size(); ++t) {
    if (seen[t] == 0 || seen[t] % taps[t].registers != 0) lost[t] = true;
    if (lost[t]) names += (names.empty() ? "" : ", ") + taps[t].site.value;
  }
  if (names.empty()) return plan;
  if (!partial) return failure("no register of the program holds " + names + " as it is");
  plan.notes.push_back("no register of the program holds " + names + " as it is");
  return without_taps(std::move(plan), lost);
}

RegisterPlan without_taps(RegisterPlan plan, const std::vector<bool>& lost) {
  RegisterPlan kept;
  kept.notes = std::move(plan.notes);
  std::vector<uint32_t> number(plan.taps.size());
  for (size_t t = 0; t < plan.taps.size(); ++t) {
    number[t] = static_cast<uint32_t>(kept.taps.size());
    if (!lost[t]) kept.taps.push_back(std::move(plan.taps[t]));
  }
  for (size_t i = 0; i < plan.probes.size(); ++i) {
    RegisterPlan::Part& part = plan.parts[i];
    if (part.kind == RegisterPlan::Part::kRead) {
      if (lost[part.tap]) continue;
      part.tap = number[part.tap];
    }
    kept.probes.push_back(std::move(plan.probes[i]));
    kept.parts.push_back(std::move(part));
  }
  return kept;
}

RegisterPlan merge_plans(std::span<const RegisterPlan> plans) {
  RegisterPlan all;
  uint32_t loops = 0;
  for (const RegisterPlan& plan : plans) {
    const auto first = static_cast<uint32_t>(all.taps.size());
    uint32_t most = 0;
    for (Tap tap : plan.taps) {
      for (uint32_t& loop : tap.loops) most = std::max(most, (loop += loops) + 1 - loops);
      all.taps.push_back(std::move(tap));
    }
    for (size_t i = 0; i < plan.probes.size(); ++i) {
      all.probes.push_back(plan.probes[i]);
      all.parts.push_back(plan.parts[i]);
      RegisterPlan::Part& part = all.parts.back();
      if (part.kind != RegisterPlan::Part::kRead) most = std::max(most, part.tap + 1);
      part.tap += part.kind == RegisterPlan::Part::kRead ? first : loops;
    }
    loops += most;
    all.notes.insert(all.notes.end(), plan.notes.begin(), plan.notes.end());
  }
  return all;
}

}  // namespace triton_runner::probe
