// Implements SassFinder: for each form of an instruction of PTX, the instructions of machine code of its line
// that may have left its results, and the reason where none has.
#include "sass/find.h"

#include <algorithm>
#include <set>

#include <triton_runner/base/text.h>
#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

namespace triton_runner::probe {

using ptx::Effect;
using ptx::Instruction;
using ptx::Mod;
using ptx::Opcode;

namespace {

constexpr FormRow kRows[] = {
#define SASS(opcode, types, form, sass, counted, also) \
  {ptx::Opcode::opcode, types, Form::form, sass, counted, also},
#include <triton_runner/ptx/opcodes.def>
};

template <typename See>
bool any_word(std::string_view words, See&& see) {
  while (!words.empty()) {
    const size_t space = words.find(' ');
    if (see(words.substr(0, space))) return true;
    if (space == std::string_view::npos) return false;
    words.remove_prefix(space + 1);
  }
  return false;
}

bool has_word(std::string_view words, std::string_view word) {
  return any_word(words, [&](std::string_view w) { return w == word; });
}

// Returns whether the opcode is one of a row's.
bool is_of(const sass::Instruction& in, std::string_view opcodes) {
  return any_word(opcodes, [&](std::string_view w) {
    return in.spelling.starts_with(w) && (in.spelling.size() == w.size() || in.spelling[w.size()] == '.');
  });
}

bool is_high(const sass::Instruction& in) {
  return in.is(sass::Opcode::kIMAD_HI) || in.is(sass::Opcode::kUIMAD_HI);
}

// Without a sign, and not negated.
bool is_plain(const sass::Operand& o) { return !o.minus && !o.inverted && !o.absolute && o.selector.empty(); }

bool gives_carry(const sass::Operand& o) {
  using enum sass::OperandKind;
  return (o.kind == kPredicate || o.kind == kUniformPredicate) && o.index != sass::kTrue && !o.inverted;
}

bool is_group_product(const sass::Instruction& in) { return sass::product_of(in).of_group; }

// Loops by their heads: of several jumps back to one head the last.
template <typename T>
void add_loop(std::vector<std::pair<T, T>>& loops, T head, T last) {
  for (auto& loop : loops)
    if (loop.first == head) {
      loop.second = std::max(loop.second, last);
      return;
    }
  loops.emplace_back(head, last);
}

template <typename T>
uint32_t depth_in(const std::vector<std::pair<T, T>>& loops, T at) {
  return static_cast<uint32_t>(std::count_if(loops.begin(), loops.end(),
                                             [&](const auto& l) { return l.first <= at && at <= l.second; }));
}

// Bytes of all results of a load, as the instruction's type says them.
uint32_t loaded_bytes(const ptx::Function& f, const Instruction& in) {
  const int bits = ptx::bits(in.type(0));
  return static_cast<uint32_t>(results_of(in).size()) *
         (bits >= 8 ? static_cast<uint32_t>(bits / 8) : width_of(f, results_of(in)[0]));
}

// ptxas does not compute these twice for one execution.
bool is_anchor(const Instruction& in) {
  return in.does(Effect::kOnce) && !(in.does(Effect::kReads) && (in.has(Mod::kParam) || in.has(Mod::kConst)));
}

SassFound lost(std::string why) { return {{}, std::move(why)}; }

}  // namespace

const FormRow* form_of(const ptx::Instruction& in) {
  const std::string_view type = ptx::text(in.type(0)), second = ptx::text(in.type(1));
  auto fits = [&](const FormRow& row) {
    if (row.opcode != in.opcode || (!row.types.empty() && !has_word(row.types, type))) return false;
    if (in.has(ptx::Mod::kWide) != (row.also == "wide")) return false;
    if (row.also == "special")
      return in.operands.size() == 2 && in.operands[1].kind == ptx::OperandKind::kSpecial;
    return row.also.empty() || row.also == "wide" || has_word(row.also, second);
  };
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), fits);
  return found == std::end(kRows) ? nullptr : &*found;
}

MachineCode::MachineCode(const sass::Module& module, const sass::Function& f) : f_(f), flow_(f) {
  for (const sass::Instruction& in : f.body) {
    std::vector<uint32_t>& results = results_.emplace_back(sass::registers_of(module, in).writes);
    std::erase_if(results, sass::is_predicate);
  }
}

bool MachineCode::writes(size_t i, uint32_t reg) const {
  return std::find(results_[i].begin(), results_[i].end(), reg) != results_[i].end();
}

bool MachineCode::ends_straight(size_t i) const { return f_.body[i].does(sass::Trait::kControls); }

SassFinder::SassFinder(const ptx::Module& module, const ptx::Function& f, const MachineCode& code)
    : module_(module), f_(f), code_(code) {
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    lines_.push_back(static_cast<uint32_t>(module.location(f.body[i].offset).line));
    ++on_line_[lines_.back()];
    auto jump = [&](int64_t to) {
      if (to >= 0 && to <= i) add_loop(ptx_loops_, static_cast<uint32_t>(to), i);
    };
    for (const ptx::Operand& o : f.body[i].operands)
      if (o.kind == ptx::OperandKind::kLabel) jump(o.integer);
    for (uint32_t t : f.body[i].targets) jump(t);
  }
  for (size_t i = 0; i < code.size(); ++i) {
    by_line_[code[i].ptx_line].push_back(i);
    if (const auto to = sass::target_of(code.function(), code[i]); to && *to <= i) add_loop(loops_, *to, i);
  }
}

uint32_t SassFinder::ptx_depth(uint32_t i) const { return depth_in(ptx_loops_, i); }
uint32_t SassFinder::depth(size_t at) const { return depth_in(loops_, at); }

std::string SassFinder::said(size_t at) const {
  return std::string(code_[at].spelling) + " at " + base::hex(code_[at].address);
}

SassFound SassFinder::find(uint32_t i) const {
  const Instruction& in = f_.body[i];
  const FormRow* row = form_of(in);
  if (!row) return lost("is of a kind that is not looked for");
  if (on_line_.at(lines_[i]) != 1) return lost("shares its line with other instructions");
  auto at = by_line_.find(lines_[i]);
  if (at == by_line_.end()) return lost("has no instruction of its own");
  SassFound found = row->form == Form::kFunction || row->form == Form::kDivide ? function(*row, at->second)
                    : row->form == Form::kWide                                 ? pair(*row, i, at->second)
                                                                               : one(*row, i, at->second);
  if (found.copies.empty()) return found;
  // Moved out of its loop, or into one, it is not executed as often as the PTX says.
  if (found.copies.size() == 1)
    for (const SassPlace& place : found.copies[0])
      if (depth(place.at) != ptx_depth(i)) return lost("was moved out of its loop: " + said(place.at));
  // Which turn of an unrolled loop each of several copies belongs to has to be certain: by the jumps between
  // them, or as each takes what the one before it gave.
  const std::vector<uint32_t> results = results_of(in), sources = sources_of(in);
  const bool chained = std::find(sources.begin(), sources.end(), results[0]) != sources.end();
  for (size_t k = 1; k < found.copies.size() && !chained; ++k) {
    bool apart = false;
    for (size_t at = found.copies[k - 1][0].at + 1; at <= found.copies[k][0].at && !apart; ++at)
      apart = code_.is_target(at) || code_.ends_straight(at);
    if (!apart)
      return lost(
          "is computed several times in one turn of an unrolled loop, in an order that is not known: " +
          said(found.copies[k][0].at));
  }
  // Several are copies of a loop's body only if what ptxas does not compute twice is there as many times.
  if (found.copies.size() > 1 && !is_anchor(in)) {
    bool unrolled = false;
    for (uint32_t k = 0; k < f_.body.size() && !unrolled; ++k) {
      const FormRow* other = form_of(f_.body[k]);
      if (!is_anchor(f_.body[k]) || std::any_of(ptx_loops_.begin(), ptx_loops_.end(), [&](const auto& l) {
            return (l.first <= i && i <= l.second) != (l.first <= k && k <= l.second);
          }))
        continue;
      auto own = by_line_.find(lines_[k]);
      if (own == by_line_.end()) continue;
      const auto n = std::count_if(own->second.begin(), own->second.end(), [&](size_t s) {
        using enum sass::Opcode;
        const sass::Instruction& one = code_[s];
        return other ? is_of(one, other->sass) : one.is(kBAR) || one.is(kST) || one.is(kSTS) || one.is(kSTG);
      });
      unrolled = n == static_cast<ptrdiff_t>(found.copies.size());
    }
    if (!unrolled) return lost("is computed in " + std::to_string(found.copies.size()) + " places");
  }
  return found;
}

bool SassFinder::merges(size_t at, uint32_t i) const {
  // The result keeps what the register held where the guard does not: what was put there before is a move.
  bool defined = false;
  const std::vector<uint32_t> results = results_of(f_.body[i]);
  for (uint32_t k = i; k-- > 0 && !defined;)
    for (uint32_t r : results_of(f_.body[k]))
      defined = defined || std::find(results.begin(), results.end(), r) != results.end();
  if (!defined) return true;
  for (const uint32_t reg : code_.results(at)) {
    bool found = false;
    for (size_t k = at; k-- > 0 && !found;) {
      if (code_.is_target(k + 1) || code_.ends_straight(k)) return false;
      if (!code_.writes(k, reg)) continue;
      if (!sass::is_move(code_[k]) || code_[k].guard) return false;
      found = true;
    }
    if (!found) return false;
  }
  return true;
}

int SassFinder::leaves(uint32_t i, int depth) const {
  const Instruction& in = f_.body[i];
  int count = 0;
  const size_t first = 1;  // after the result
  for (size_t k = first; k < in.operands.size(); ++k) {
    const ptx::Operand& o = in.operands[k];
    if (o.kind == ptx::OperandKind::kRegister && ptx::bits(f_.registers[o.reg].type) == 1) continue;
    if (o.kind == ptx::OperandKind::kInteger && o.integer == 0) continue;
    int own = 1;
    for (uint32_t d = i; o.kind == ptx::OperandKind::kRegister && depth < 8 && d-- > 0;) {
      if (!writes(f_.body[d], o.reg)) continue;
      if (f_.body[d].does(Effect::kMerges) && !by_line_.contains(lines_[d])) own = leaves(d, depth + 1);
      break;
    }
    count += own;
  }
  return count;
}

SassFound SassFinder::one(const FormRow& row, uint32_t i, const std::vector<size_t>& of_line) const {
  const Instruction& in = f_.body[i];
  const std::vector<uint32_t> results = results_of(in);
  if (results.empty()) return lost("writes no register");
  uint32_t words = static_cast<uint32_t>(results.size());
  if (row.form == Form::kLoad) words = (loaded_bytes(f_, in) + 3) / 4;
  if ((row.form == Form::kAlu || row.form == Form::kShuffle)) {
    if (ptx::bits(f_.registers[results[0]].type) == 1) return lost("gives a predicate");
    if (ptx::bits(f_.registers[results[0]].type) > 32) return lost("gives more than 32 bits");
    words = 1;
  }
  SassFound found;
  for (size_t at : of_line) {
    const sass::Instruction& s = code_[at];
    const std::vector<uint32_t>& gives = code_.results(at);
    if (!is_of(s, row.sass) || (row.counted && sass::is_move(s))) {
      const bool matters = row.form == Form::kAlu && !gives.empty() && !sass::is_move(s);
      if (matters) return lost("became " + said(at));
      continue;
    }
    if (is_high(s) != in.has(Mod::kHi)) return lost("became " + said(at));
    if (gives.empty()) {
      if (row.form == Form::kLoad) continue;  // LDS RZ, which loads nothing
      return lost("leaves no register: " + said(at));
    }
    if (gives.size() != words) return lost("became " + said(at) + ", of another width");
    if (row.counted && static_cast<int>(sass::real_sources(s)) != leaves(i))
      return lost("became a part of " + said(at));
    if (s.guard.has_value() != (in.guard >= 0))
      return lost("is executed under another condition: " + said(at));
    if (in.guard >= 0 && !merges(at, i)) return lost("goes together with what was there before: " + said(at));
    if (row.form == Form::kLoad && loaded_bytes(f_, in) < 4 &&
        s.spelling.find(loaded_bytes(f_, in) == 2 ? "16" : "8") == std::string::npos)
      return lost("became " + said(at) + ", of another width");
    std::vector<SassPlace> copy;
    for (const uint32_t reg : gives) copy.push_back({at, reg});
    found.copies.push_back(std::move(copy));
  }
  if (found.copies.empty()) return lost("became " + said(of_line.back()));
  return found;
}

SassFound SassFinder::function(const FormRow& row, const std::vector<size_t>& of_line) const {
  if (row.form == Form::kDivide) {
    size_t last = of_line.size();
    while (last > 0 && code_.results(of_line[last - 1]).empty()) --last;
    if (last == 0 || !is_of(code_[of_line[last - 1]], row.sass) || code_[of_line[last - 1]].guard)
      return lost("does not end in a product");
    const auto products = std::count_if(of_line.begin(), of_line.end(), [&](size_t at) {
      return is_of(code_[at], row.sass) && !code_[at].guard;
    });
    if (products != 1) return lost("is computed in several products");
    const size_t at = of_line[last - 1];
    return {{{{at, code_.results(at)[0]}}}, {}};
  }
  size_t at = code_.size();
  for (size_t k : of_line) {
    const sass::Instruction& s = code_[k];
    if (is_of(s, row.sass)) {
      if (at != code_.size()) return lost("is computed in several places");
      if (s.guard) return lost("is executed under another condition: " + said(k));
      at = k;
    } else if (at != code_.size() && !code_.results(k).empty()) {
      // Only what scales the result in its own register may follow.
      const bool scales = code_.results(k)[0] == code_.results(at)[0] && s.operands.size() > 1 &&
                          s.operands[1].kind <= sass::OperandKind::kUniform && is_plain(s.operands[1]) &&
                          sass::register_code(s.operands[1].kind, s.operands[1].index) == code_.results(k)[0];
      if (!scales) return lost("became " + said(k));
      at = k;
    }
  }
  if (at == code_.size()) return lost("became " + said(of_line.back()));
  return {{{{at, code_.results(at)[0]}}}, {}};
}

SassFound SassFinder::pair(const FormRow& row, uint32_t i, const std::vector<size_t>& of_line) const {
  std::vector<size_t> writers;
  for (size_t at : of_line)
    if (!code_.results(at).empty() && !sass::is_move(code_[at])) writers.push_back(at);
  for (size_t at : writers)
    if (code_[at].guard) return lost("is executed under another condition: " + said(at));
  auto fits = [&](size_t at) {
    return is_of(code_[at], row.sass) &&
           (!row.counted || static_cast<int>(sass::real_sources(code_[at])) == leaves(i));
  };
  if (writers.size() == 1 && fits(writers[0]) && code_.results(writers[0]).size() == 2)
    return {{{{writers[0], code_.results(writers[0])[0]}, {writers[0], code_.results(writers[0])[1]}}}, {}};
  // A half each: the carry of the first goes into the second.
  if (writers.size() == 2 && fits(writers[0])) {
    const sass::Instruction &low = code_[writers[0]], &high = code_[writers[1]];
    const bool carries =
        low.operands.size() > 1 && gives_carry(low.operands[1]) &&
        std::any_of(high.operands.begin() + 1, high.operands.end(), [&](const sass::Operand& o) {
          return o.kind == low.operands[1].kind && o.index == low.operands[1].index && !o.inverted;
        });
    if (carries && high.has("X") && code_.results(writers[0]).size() == 1)
      return {{{{writers[0], code_.results(writers[0])[0]}, {writers[1], code_.results(writers[1])[0]}}}, {}};
  }
  return lost("became " + said(of_line.back()));
}

SassFound SassFinder::find_accumulators(uint32_t wait, uint32_t reg, uint32_t* word) const {
  // The sets of registers that the function's wgmma add to, in PTX and in SASS: there has to be one.
  std::set<std::vector<uint32_t>> sets;
  for (const Instruction& in : f_.body)
    if (in.opcode == Opcode::kWgmma && in.has(Mod::kMmaAsync)) sets.insert(results_of(in));
  if (sets.size() != 1) return lost("is one of several products of wgmma");
  const std::vector<uint32_t>& set = *sets.begin();
  const auto found = std::find(set.begin(), set.end(), reg);
  if (found == set.end()) return lost("is not a product of wgmma");
  *word = static_cast<uint32_t>(found - set.begin());
  size_t first = code_.size(), done = code_.size();
  std::vector<uint32_t> sums;
  for (size_t k = 0; k < code_.size(); ++k) {
    if (is_group_product(code_[k])) {
      const std::vector<uint32_t>& own = code_.results(k);
      if (own.size() != set.size() || (!sums.empty() && sums != own))
        return lost("is spread over several sets of registers: " + said(k));
      sums = own;
      if (first == code_.size()) first = k;
    }
    if (code_[k].is(sass::Opcode::kWARPGROUP_DEPBAR) && code_[k].ptx_line == lines_[wait]) {
      if (done != code_.size()) return lost("is waited for in several places");
      done = k;
    }
  }
  if (sums.empty() || done == code_.size() || done < first)
    return lost("is not waited for where its line is");
  const auto& waits = code_[done].operands;
  if (waits.empty() || waits.back().kind != sass::OperandKind::kInteger || waits.back().integer)
    return lost("is still under way at " + said(done));
  SassFound out;
  out.copies.emplace_back();
  for (const uint32_t own : sums) {
    for (size_t k = first; k < done; ++k)
      if (!is_group_product(code_[k]) && code_.writes(k, own))
        return lost("is written by " + said(k) + " too");
    out.copies[0].push_back({done, own});
  }
  return out;
}

std::vector<size_t> SassFinder::window(size_t at, uint32_t reg) const {
  std::vector<size_t> out;
  if (code_.ends_straight(at) && !code_[at].is(sass::Opcode::kWARPGROUP_DEPBAR)) return out;
  for (size_t k = at + 1; k < code_.size(); ++k) {
    if (code_.is_target(k)) break;
    using enum sass::Opcode;
    const bool waits =
        code_[k].is(kWARPGROUP_ARRIVE) || code_[k].is(kWARPGROUP_DEPBAR) || code_[k].is(kWARPGROUPSET);
    // Before an EXIT all threads are there; after one, registers of those that ended read as anything.
    if (!code_.ends_straight(k) || code_[k].does(sass::Trait::kEnds)) out.push_back(k);
    if (code_.ends_straight(k) && !waits) break;
    if (code_.writes(k, reg)) break;
  }
  return out;
}

std::optional<size_t> SassFinder::neighbor(size_t at) const {
  if (at > 0 && !code_.is_target(at) && !code_.ends_straight(at - 1)) return at - 1;
  if (at + 1 < code_.size() && !code_.is_target(at + 1) && !code_.ends_straight(at + 1)) return at + 1;
  return {};
}

}  // namespace triton_runner::probe
