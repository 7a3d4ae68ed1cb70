// Implements Pair: matches the instructions of both functions in order, binds their registers to each other,
// and traces what a tap reads back to the program.
#include "ptx/registers_pair.h"

#include <algorithm>
#include <charconv>

namespace triton_runner::probe {

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::OperandKind;

namespace {

bool digits(std::string_view& text, uint32_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc();
}

}  // namespace

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
    c.kind = what == "enter"  ? Comment::kEnter
             : what == "turn" ? Comment::kTurn
             : what == "mark" ? Comment::kMark
                              : Comment::kTap;
    rest.remove_prefix(space + 1);
    if (!digits(rest, &c.number)) continue;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
    c.reg = rest;
    out.push_back(c);
  }
  return out;
}

base::Status Pair::compare() {
  if (same_) return base::success();
  if (kept_.size() != own_.body.size()) return differs(first_difference());
  find_blocks();
  for (const Block& b : blocks_)
    if (b.differs) return differs(b.begin);
  for (Block& b : blocks_)
    if (auto at = compare(b); at != kNone) return differs(at);
  return base::success();
}

std::optional<exec::RegisterProbe> Pair::place(const Comment& c, const Source* source) const {
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
  if (behind && (before || k == 0)) return {};
  const Block& block = *std::prev(std::upper_bound(blocks_.begin(), blocks_.end(), behind ? k - 1 : k,
                                                   [](uint32_t at, const Block& b) { return at < b.begin; }));
  if (block.permuted) return place_in(block, k, source);
  if (!behind) {
    probe.instruction = k;
    return probe;
  }
  const Instruction& in = own_.body[k - 1];
  if (in.guard >= 0 || is_control(in)) return {};
  probe.instruction = k - 1;
  probe.after = true;
  return probe;
}

std::optional<std::pair<exec::RegisterProbe, exec::RegisterProbe>> Pair::around(const Comment& c) const {
  const uint32_t k = same_ ? 0 : std::min<uint32_t>(kept_before_[c.instruction], kept_.size() - 1);
  const auto block =
      same_ ? blocks_.end()
            : std::prev(std::upper_bound(blocks_.begin(), blocks_.end(), k,
                                         [](uint32_t at, const Block& b) { return at < b.begin; }));
  if (same_ || !block->permuted) {
    const auto at = place(c, nullptr);
    return at ? std::optional(std::pair(*at, *at)) : std::nullopt;
  }
  const uint32_t last = block->end - 1;
  return std::pair(exec::RegisterProbe{std::string(own_.name), block->begin, false, {}},
                   exec::RegisterProbe{std::string(own_.name), last, !is_control(own_.body[last]), {}});
}

std::optional<Source> Pair::source(const Comment& c, uint32_t offset) const {
  const uint32_t reg = find_register(c.reg);
  if (reg == kNone) return {};
  if (same_) return Source{reg, offset};
  return trace(reg, c.instruction, offset, 0);
}

uint32_t Pair::find_register(std::string_view name) const {
  for (size_t i = 0; i < twin_.registers.size(); ++i)
    if (twin_.registers[i].name == name) return static_cast<uint32_t>(i);
  return kNone;
}

void Pair::find_added() {
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
      if (std::any_of(readers[r].begin(), readers[r].end(), [&](uint32_t i) { return !added_[i]; })) continue;
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

bool Pair::is_dead(uint32_t i, const std::vector<std::vector<uint32_t>>& readers) const {
  for (uint32_t r : results_of(twin_.body[i]))
    for (uint32_t reader : readers[r])
      if (!added_[reader]) return false;
  return true;
}

bool Pair::equal_register(uint32_t a, uint32_t b) {
  if (twin_.registers[a].type != own_.registers[b].type) return false;
  auto [to, fresh] = to_own_.try_emplace(a, b);
  auto [from, fresh_too] = to_twin_.try_emplace(b, a);
  if (fresh && !fresh_too) to_own_.erase(a);
  if (!fresh && fresh_too) to_twin_.erase(b);
  if (fresh != fresh_too) return false;
  if (fresh) bound_.emplace_back(a, b);
  return to->second == b && from->second == a;
}

bool Pair::equal(const Operand& a, const Operand& b) {
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

bool Pair::equal(const Instruction& a, const Instruction& b) {
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

void Pair::find_blocks() {
  const std::vector<bool> own = jump_targets(own_);
  std::vector<bool> twin(kept_.size() + 1);
  for (size_t i = 0; i < targets_.size(); ++i)
    if (targets_[i]) twin[kept_before_[i]] = true;
  const auto n = static_cast<uint32_t>(own_.body.size());
  match_.resize(n);
  for (uint32_t k = 0; k < n; ++k) {
    match_[k] = k;
    const bool begins = k == 0 || own[k] || is_control(own_.body[k - 1]);
    const bool twin_begins = k == 0 || twin[k] || is_control(twin_.body[kept_[k - 1]]);
    if (begins || twin_begins) blocks_.push_back({k, n, false, begins != twin_begins});
    if (begins && blocks_.size() > 1) blocks_[blocks_.size() - 2].end = k;
  }
}

uint32_t Pair::compare(Block& b) {
  bound_.clear();
  uint32_t k = b.begin;
  while (k < b.end && equal(twin_.body[kept_[k]], own_.body[k])) ++k;
  if (k == b.end) return kNone;
  unbind(0);
  if (!match(b) || !same_flow(b)) return k;
  b.permuted = true;
  return kNone;
}

void Pair::unbind(size_t to) {
  while (bound_.size() > to) {
    to_twin_.erase(bound_.back().second);
    to_own_.erase(bound_.back().first);
    bound_.pop_back();
  }
}

bool Pair::match(const Block& b) {
  std::vector<bool> taken(b.end - b.begin), done(b.end - b.begin);
  uint32_t left = b.end - b.begin;
  auto attempt = [&](uint32_t k, bool known) {
    const Instruction& own = own_.body[k];
    for (uint32_t t = b.begin; t < b.end; ++t) {
      const Instruction& in = twin_.body[kept_[t]];
      if (taken[t - b.begin] || in.spelling != own.spelling) continue;
      if (known) {
        const std::vector<uint32_t> sources = sources_of(in);
        if (!std::all_of(sources.begin(), sources.end(), [&](uint32_t r) { return to_own_.contains(r); }))
          continue;
      }
      const size_t mark = bound_.size();
      if (!equal(in, own)) {
        unbind(mark);
        continue;
      }
      taken[t - b.begin] = done[k - b.begin] = true;
      match_[t] = k;
      --left;
      return true;
    }
    return false;
  };
  while (left > 0) {
    const uint32_t before = left;
    for (uint32_t k = b.begin; k < b.end; ++k)
      if (!done[k - b.begin]) attempt(k, true);
    if (left != before) continue;
    for (uint32_t k = b.begin; k < b.end && left == before; ++k)
      if (!done[k - b.begin]) attempt(k, false);
    if (left == before) return false;
  }
  return true;
}

bool Pair::same_flow(const Block& b) const {
  std::unordered_map<uint32_t, uint32_t> made;  // register of the counterpart: by which of its instructions
  std::vector<std::vector<uint32_t>> makers(b.end - b.begin);
  auto walk = [&](auto&& instruction, auto&& number, auto&& own_register, auto&& see) {
    made.clear();
    for (uint32_t i = b.begin; i < b.end; ++i) {
      const Instruction& in = instruction(i);
      std::vector<uint32_t> reads = sources_of(in), results = results_of(in);
      if (in.guard >= 0) reads.insert(reads.end(), results.begin(), results.end());
      std::vector<uint32_t> found;
      for (uint32_t r : reads) {
        auto at = made.find(own_register(r));
        found.push_back(at == made.end() ? kNone : at->second);
      }
      if (!see(number(i), std::move(found))) return false;
      for (uint32_t r : results) made[own_register(r)] = number(i);
    }
    return true;
  };
  walk([&](uint32_t i) -> const Instruction& { return own_.body[i]; }, [](uint32_t i) { return i; },
       [](uint32_t r) { return r; },
       [&](uint32_t n, std::vector<uint32_t> found) {
         makers[n - b.begin] = std::move(found);
         return true;
       });
  const std::unordered_map<uint32_t, uint32_t> left = made;
  uint32_t last = 0;
  const bool same = walk([&](uint32_t i) -> const Instruction& { return twin_.body[kept_[i]]; },
                         [&](uint32_t i) { return match_[i]; }, [&](uint32_t r) { return to_own_.at(r); },
                         [&](uint32_t n, std::vector<uint32_t> found) {
                           if (found != makers[n - b.begin]) return false;
                           if (is_pure(own_.body[n])) return true;
                           if (n < last) return false;
                           last = n;
                           return true;
                         });
  return same && left == made;
}

std::optional<exec::RegisterProbe> Pair::place_in(const Block& b, uint32_t k, const Source* source) const {
  exec::RegisterProbe probe;
  probe.function = own_.name;
  probe.instruction = b.begin;
  if (!source) return k == b.begin ? std::optional(probe) : std::nullopt;
  const uint32_t reg = to_twin_.at(source->reg);
  for (uint32_t t = k; t-- > b.begin;) {
    if (!writes(twin_.body[kept_[t]], reg)) continue;
    const Instruction& in = own_.body[match_[t]];
    if (in.guard >= 0 || is_control(in)) return {};
    probe.instruction = match_[t];
    probe.after = true;
    return probe;
  }
  return probe;
}

size_t Pair::first_difference() {
  size_t k = 0;
  while (k < kept_.size() && k < own_.body.size() && equal(twin_.body[kept_[k]], own_.body[k])) ++k;
  return k;
}

base::Status Pair::differs(size_t k) const {
  if (k >= own_.body.size())
    return module_.diagnostic(own_.offset, "the program with taps is longer than the one without");
  const Instruction& in = own_.body[k];
  std::vector<std::string> notes;
  if (k < kept_.size()) {
    const Instruction& other = twin_.body[kept_[k]];
    notes.push_back("with taps it is " + std::string(twin_module_.text().substr(other.offset, other.length)));
  }
  return module_.diagnostic(
      in.offset, "the compiler made something else of the program with taps, from here on", std::move(notes));
}

bool Pair::defined_between(uint32_t reg, uint32_t from, uint32_t to) const {
  if (definitions_[reg].size() <= 1) return false;
  for (uint32_t i = from + 1; i <= to; ++i)
    if (targets_[i] || is_control(twin_.body[i])) return true;  // another way may come in here
  return std::any_of(definitions_[reg].begin(), definitions_[reg].end(),
                     [&](uint32_t d) { return d > from && d <= to; });
}

std::optional<Source> Pair::trace(uint32_t reg, uint32_t at, uint32_t offset, int depth) const {
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

}  // namespace triton_runner::probe
