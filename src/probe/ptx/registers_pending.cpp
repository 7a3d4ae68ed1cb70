// Finds registers that are still being written: products of wgmma until a wait_group, loads of tcgen05.ld
// until their wait. A read at such a place gets a wait of its own. At TTGIR in_flight.h does so.
//
// PTX ISA 9.7.15.7 (wgmma.commit_group, wgmma.wait_group), 9.7.16.8 (tcgen05.wait::ld).
#include <algorithm>
#include <map>

#include <triton_runner/probe/registers.h>
#include <triton_runner/ptx/dataflow.h>

#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Mod;

constexpr int kLoad = -1;       // of tcgen05.ld
constexpr int kMostGroups = 8;  // that are told apart; PTX waits for as few

// The state of what may be under way: for each register the groups committed since its product was issued,
// the fewest of all ways.
using State = std::map<uint32_t, int>;

// Parts of wgmma and tcgen05: cp.async has groups of its own.
bool later_has(const Instruction& in, Mod mod) { return in.does(ptx::Effect::kLater) && in.has(mod); }

void step(State& state, const Instruction& in) {
  if (later_has(in, Mod::kMmaAsync)) {
    for (uint32_t r : results_of(in)) state[r] = 0;
  } else if (later_has(in, Mod::kLd)) {
    for (uint32_t r : results_of(in)) state[r] = kLoad;
  } else if (later_has(in, Mod::kCommitGroup)) {
    for (auto& [r, groups] : state)
      if (groups != kLoad) groups = std::min(groups + 1, kMostGroups);
  } else if (later_has(in, Mod::kWaitGroup)) {
    std::erase_if(state, [&](const auto& s) { return s.second > in.operands[0].integer; });
  } else if (later_has(in, Mod::kWaitLd)) {
    std::erase_if(state, [](const auto& s) { return s.second == kLoad; });
  } else {
    for (uint32_t r : results_of(in)) state.erase(r);  // another value
  }
}

// Returns whether `into` became more.
bool join(State& into, const State& from) {
  bool more = false;
  for (const auto& [r, groups] : from) {
    auto [at, fresh] = into.try_emplace(r, groups);
    if (!fresh && groups < at->second) at->second = groups, fresh = true;
    more = more || fresh;
  }
  return more;
}

// Returns what is under way before each instruction that `wanted` names.
std::map<uint32_t, State> states_at(const Function& f, const std::vector<bool>& wanted) {
  std::map<uint32_t, State> out;
  ptx::flow_forward<State>(
      f, join,
      [&](uint32_t i, const State& state) {
        if (wanted[i]) join(out[i], state);
      },
      [&](State& state, uint32_t i) { step(state, f.body[i]); });
  return out;
}

bool comes_later(const Instruction& in) { return later_has(in, Mod::kMmaAsync) || later_has(in, Mod::kLd); }

}  // namespace

std::optional<uint32_t> completed_by(const Function& f, uint32_t at, const std::vector<bool>& targets) {
  if (!comes_later(f.body[at])) return at;
  const bool product = f.body[at].has(Mod::kMmaAsync);
  int64_t committed = 0;  // groups, its own among them
  for (uint32_t i = at + 1; i < f.body.size() && !targets[i]; ++i) {
    const Instruction& in = f.body[i];
    if (is_control(in)) break;
    if (!product && later_has(in, Mod::kWaitLd)) return i;
    if (product && later_has(in, Mod::kCommitGroup)) ++committed;
    if (product && later_has(in, Mod::kWaitGroup) && committed > in.operands[0].integer) return i;
  }
  return {};
}

std::optional<uint32_t> committed_by(const Function& f, uint32_t at, const std::vector<bool>& targets) {
  if (!f.body[at].has(Mod::kMmaAsync)) return {};
  for (uint32_t i = at + 1; i < f.body.size() && !targets[i] && !is_control(f.body[i]); ++i)
    if (later_has(f.body[i], Mod::kCommitGroup)) return i;
  return {};
}

base::Result<CompletedReads> complete_reads(const ptx::Module& ptx, std::string_view kernel,
                                            const RegisterPlan& plan) {
  const Function* f = ptx.find_function(kernel);
  if (!f || f->is_declaration)
    return base::failure("there is no kernel '" + std::string(kernel) + "' in " + ptx.filename());
  std::vector<bool> wanted(f->body.size() + 1);
  for (const exec::RegisterProbe& p : plan.probes)
    if (p.function == f->name && !p.after) wanted[p.instruction] = true;
  const std::map<uint32_t, State> states = states_at(*f, wanted);

  std::map<uint32_t, std::pair<bool, bool>> waits;  // before an instruction: for products, for loads
  for (const exec::RegisterProbe& p : plan.probes) {
    const auto at = p.after ? states.end() : states.find(p.instruction);
    if (at == states.end()) continue;
    for (uint32_t r : p.registers)
      if (const auto s = at->second.find(r); s != at->second.end())
        (s->second == kLoad ? waits[p.instruction].second : waits[p.instruction].first) = true;
  }
  CompletedReads result{"", plan, waits.size()};
  size_t from = 0;
  std::vector<uint32_t> added(f->body.size() + 1);  // instructions before and at each
  for (const auto& [i, of] : waits) {
    const size_t to = f->body[i].offset;
    result.text += ptx.text().substr(from, to - from);
    // On the line of what follows: lines keep their numbers.
    if (of.first) result.text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ";
    if (of.second) result.text += "tcgen05.wait::ld.sync.aligned; ";
    from = to;
    added[i] = 2 * of.first + of.second;
  }
  result.text += ptx.text().substr(from);
  for (size_t i = 1; i < added.size(); ++i) added[i] += added[i - 1];
  for (exec::RegisterProbe& p : result.plan.probes)
    if (p.function == f->name) p.instruction += added[p.instruction];
  return result;
}

}  // namespace triton_runner::probe
