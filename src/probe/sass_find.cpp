#include "sass_find.h"

#include <algorithm>
#include <set>

#include <triton_runner/base/text.h>

namespace triton_runner::probe {

using ptx::Effect;
using ptx::Instruction;
using ptx::Mod;
using ptx::Opcode;

namespace {

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

SassFinder::SassFinder(const ptx::Module& module, const ptx::Function& f,
                       const std::vector<SassInstruction>& code)
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
    by_line_[code[i].line].push_back(i);
    if (code[i].target >= 0 && static_cast<uint64_t>(code[i].target) <= code[i].address)
      add_loop(loops_, static_cast<uint64_t>(code[i].target), code[i].address);
  }
}

uint32_t SassFinder::ptx_depth(uint32_t i) const { return depth_in(ptx_loops_, i); }
uint32_t SassFinder::depth(size_t at) const { return depth_in(loops_, code_[at].address); }

std::string SassFinder::said(size_t at) const {
  return code_[at].opcode + " at " + base::hex(code_[at].address);
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
      apart = code_[at].is_target || is_control(code_[at]);
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
        return is_of(code_[s], other ? other->sass : "BAR ST STS STG");
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
  const std::string first(result_of(code_[at]));
  for (uint32_t n = 0; n < results_count(code_[at]); ++n) {
    const std::string reg = numbered(first, n);
    bool found = false;
    for (size_t k = at; k-- > 0 && !found;) {
      if (code_[k + 1].is_target || is_control(code_[k])) return false;
      if (!may_write(code_[k], reg)) continue;
      if (!is_move(code_[k]) || code_[k].guarded) return false;
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
    const SassInstruction& s = code_[at];
    if (!is_of(s, row.sass) || (row.counted && is_move(s))) {
      const bool matters = row.form == Form::kAlu && !result_of(s).empty() && !is_move(s);
      if (matters) return lost("became " + said(at));
      continue;
    }
    if ((is_of(s, "IMAD.HI UIMAD.HI") || in.has(Mod::kHi)) &&
        is_of(s, "IMAD.HI UIMAD.HI") != in.has(Mod::kHi))
      return lost("became " + said(at));
    const std::string_view first = result_of(s);
    if (first.empty()) {
      if (row.form == Form::kLoad) continue;  // LDS RZ, which loads nothing
      return lost("leaves no register: " + said(at));
    }
    if (results_count(s) != words) return lost("became " + said(at) + ", of another width");
    if (row.counted && real_sources(s) != leaves(i)) return lost("became a part of " + said(at));
    if (s.guarded != (in.guard >= 0)) return lost("is executed under another condition: " + said(at));
    if (in.guard >= 0 && !merges(at, i)) return lost("goes together with what was there before: " + said(at));
    if (row.form == Form::kLoad && loaded_bytes(f_, in) < 4 &&
        s.opcode.find(loaded_bytes(f_, in) == 2 ? "16" : "8") == std::string::npos)
      return lost("became " + said(at) + ", of another width");
    std::vector<SassPlace> copy;
    for (uint32_t n = 0; n < words; ++n) copy.push_back({at, numbered(first, n)});
    found.copies.push_back(std::move(copy));
  }
  if (found.copies.empty()) return lost("became " + said(of_line.back()));
  return found;
}

SassFound SassFinder::function(const FormRow& row, const std::vector<size_t>& of_line) const {
  if (row.form == Form::kDivide) {
    size_t last = of_line.size();
    while (last > 0 && result_of(code_[of_line[last - 1]]).empty()) --last;
    if (last == 0 || !is_of(code_[of_line[last - 1]], row.sass) || code_[of_line[last - 1]].guarded)
      return lost("does not end in a product");
    const auto products = std::count_if(of_line.begin(), of_line.end(), [&](size_t at) {
      return is_of(code_[at], row.sass) && !code_[at].guarded;
    });
    if (products != 1) return lost("is computed in several products");
    const size_t at = of_line[last - 1];
    return {{{{at, std::string(result_of(code_[at]))}}}, {}};
  }
  size_t at = code_.size();
  for (size_t k : of_line) {
    const SassInstruction& s = code_[k];
    if (is_of(s, row.sass)) {
      if (at != code_.size()) return lost("is computed in several places");
      if (s.guarded) return lost("is executed under another condition: " + said(k));
      at = k;
    } else if (at != code_.size() && !result_of(s).empty()) {
      // Only what scales the result in its own register may follow.
      if (result_of(s) != result_of(code_[at]) || s.operands.size() < 2 ||
          s.operands[1] != std::string(result_of(s)))
        return lost("became " + said(k));
      at = k;
    }
  }
  if (at == code_.size()) return lost("became " + said(of_line.back()));
  return {{{{at, std::string(result_of(code_[at]))}}}, {}};
}

SassFound SassFinder::pair(const FormRow& row, uint32_t i, const std::vector<size_t>& of_line) const {
  std::vector<size_t> writers;
  for (size_t at : of_line)
    if (!result_of(code_[at]).empty() && !is_move(code_[at])) writers.push_back(at);
  for (size_t at : writers)
    if (code_[at].guarded) return lost("is executed under another condition: " + said(at));
  auto fits = [&](size_t at) {
    return is_of(code_[at], row.sass) && (!row.counted || real_sources(code_[at]) == leaves(i));
  };
  if (writers.size() == 1 && fits(writers[0]) && results_count(code_[writers[0]]) == 2) {
    const std::string_view first = result_of(code_[writers[0]]);
    return {{{{writers[0], numbered(first, 0)}, {writers[0], numbered(first, 1)}}}, {}};
  }
  // A half each: the carry of the first goes into the second.
  if (writers.size() == 2 && fits(writers[0])) {
    const SassInstruction &low = code_[writers[0]], &high = code_[writers[1]];
    const std::string carry = low.operands.size() > 1 ? low.operands[1] : std::string();
    const bool carries =
        carry.size() >= 2 && carry.find('P') != std::string::npos && carry != "PT" &&
        std::find(high.operands.begin() + 1, high.operands.end(), carry) != high.operands.end();
    if (carries && high.opcode.find(".X") != std::string::npos && results_count(low) == 1)
      return {{{{writers[0], std::string(result_of(low))}, {writers[1], std::string(result_of(high))}}}, {}};
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
  std::string base;
  for (size_t k = 0; k < code_.size(); ++k) {
    if (code_[k].base().ends_with("GMMA")) {
      const std::string own(result_of(code_[k]));
      if (own.empty() || results_count(code_[k]) != set.size() || (!base.empty() && base != own))
        return lost("is spread over several sets of registers: " + said(k));
      base = own;
      if (first == code_.size()) first = k;
    }
    if (code_[k].opcode.starts_with("WARPGROUP.DEPBAR") && code_[k].line == lines_[wait]) {
      if (done != code_.size()) return lost("is waited for in several places");
      done = k;
    }
  }
  if (base.empty() || done == code_.size() || done < first)
    return lost("is not waited for where its line is");
  const std::string& last = code_[done].operands.empty() ? std::string() : code_[done].operands.back();
  if (last != "0x0") return lost("is still under way at " + said(done));
  SassFound out;
  out.copies.emplace_back();
  for (uint32_t n = 0; n < set.size(); ++n) {
    const std::string own = numbered(base, n);
    for (size_t k = first; k < done; ++k)
      if (!code_[k].base().ends_with("GMMA") && may_write(code_[k], own))
        return lost("is written by " + said(k) + " too");
    out.copies[0].push_back({done, own});
  }
  return out;
}

std::vector<size_t> SassFinder::window(size_t at, std::string_view reg) const {
  std::vector<size_t> out;
  if (is_control(code_[at]) && !code_[at].opcode.starts_with("WARPGROUP.DEPBAR")) return out;
  for (size_t k = at + 1; k < code_.size(); ++k) {
    if (code_[k].is_target) break;
    const bool waits = code_[k].opcode.starts_with("WARPGROUP");
    // Before an EXIT all threads are there; after one, registers of those that ended read as anything.
    if (!is_control(code_[k]) || code_[k].base() == "EXIT") out.push_back(k);
    if (is_control(code_[k]) && !waits) break;
    if (may_write(code_[k], reg)) break;
  }
  return out;
}

std::optional<size_t> SassFinder::neighbor(size_t at) const {
  for (size_t k = at; k > 0 && !code_[k].is_target && !is_control(code_[k - 1]); --k) return k - 1;
  for (size_t k = at + 1; k < code_.size() && !code_[k].is_target && !is_control(code_[k]); ++k) return k;
  return {};
}

}  // namespace triton_runner::probe
