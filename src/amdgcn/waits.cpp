// Follows the state along a way: of each register that a load is to write, how many operations its counter
// was given since. A wait for at most n of them ends all that have n or more behind them.
#include <triton_runner/amdgcn/waits.h>

#include <algorithm>
#include <map>

#include <triton_runner/amdgcn/opcode.h>

#include "ways.h"

namespace triton_runner::amdgcn {
namespace {

constexpr std::string_view kWords[kCounters] = {"vmcnt", "vscnt", "lgkmcnt", "lgkmcnt"};
constexpr uint8_t kMost = 64;  // as many behind an operation as any wait counts

struct Pending {
  uint8_t counter, behind;
  uint32_t load;  // the number of the instruction
};
struct Register {
  OperandKind kind;
  uint32_t half;  // twice its number, and one more for the high half
  auto operator<=>(const Register&) const = default;
};
using State = std::map<Register, Pending>;
constexpr Register kStored = {OperandKind::kWord, 0};  // stands for LDS, which a store is to write

bool starts(std::string_view text, std::string_view with) { return text.starts_with(with); }
bool is_scalar(const Instruction& in) { return starts(in.row->name, "s_"); }

class Waits {
 public:
  Waits(const Module& module, const Kernel& kernel) : kernel_(kernel) {
    generation_ = generation_of(module.target());
  }

  std::vector<MissingWait> find() {
    follow_ways<State>(
        kernel_, [](State& there, const State& state) { return joined(there, state); },
        [&](uint32_t at, State& state, bool reports) { step(at, state, reports); });
    if (generation_ < 12) return std::move(found_);
    for (MissingWait& one : missing_scalar_waits(kernel_)) found_.push_back(std::move(one));
    std::stable_sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(found_);
  }

 private:
  static bool joined(State& there, const State& state) {
    bool changed = false;
    for (const auto& [reg, pending] : state) {
      const auto [it, is_new] = there.try_emplace(reg, pending);
      if (!is_new && pending.behind < it->second.behind) it->second = pending, changed = true;
      changed |= is_new;
    }
    return changed;
  }

  // At most n operations of a counter may be under way after it.
  void wait(State& state, Counter counter, uint32_t n) const {
    std::erase_if(state, [&](const auto& entry) {
      const Pending& p = entry.second;
      if (p.counter != counter) return false;
      return is_scalar(kernel_.body[p.load]) ? n == 0 : p.behind >= n;
    });
  }
  void waits_of(const Instruction& in, State& state) const {
    const auto left = left_by(in);
    for (uint32_t c = 0; c < kCounters; ++c)
      if (left[c]) wait(state, static_cast<Counter>(c), *left[c]);
  }

  void step(uint32_t at, State& state, bool reports) {
    const Instruction& in = kernel_.body[at];
    if (!in.row) return;
    if (starts(in.row->name, "s_wait")) return waits_of(in, state);
    const std::vector<Use> uses = uses_of(in);
    if (reports) look(in, uses, state);
    if (starts(in.row->name, "s_barrier") && in.row->name != "s_barrier_wait" && reports)
      look_at_stores(in, state);
    const bool memory = is_memory(in);
    for (const Use& use : uses)
      if (use.written)
        for (const Register reg : registers_of(in, use)) state.erase(reg);
    if (!memory) return;
    const Counter counter = counter_of(in, generation_);
    for (auto& [reg, pending] : state)
      if (pending.counter == counter && pending.behind < kMost) ++pending.behind;
    if (starts(in.row->name, "ds_write")) state[kStored] = {counter, 0, at};
    for (const Use& use : uses)
      if (use.written)
        for (const Register reg : registers_of(in, use)) state[reg] = {counter, 0, at};
  }

  // On gfx9 a load of a half writes the other one too.
  std::vector<Register> registers_of(const Instruction& in, const Use& use) const {
    std::vector<Register> out;
    if (!use.operand->is_register()) return out;
    const uint8_t halves = use.written && generation_ == 9 ? 3 : halves_of(in, use);
    for (uint32_t k = use.operand->index; k < use.operand->index + use.operand->count; ++k)
      for (uint32_t half = 0; half < 2; ++half)
        if (halves >> half & 1) out.push_back({use.operand->kind, 2 * k + half});
    return out;
  }

  // Behind a barrier other wavefronts read what was stored to LDS.
  void look_at_stores(const Instruction& in, const State& state) {
    if (const auto found = state.find(kStored); found != state.end())
      found_.push_back({&in, &kernel_.body[found->second.load],
                        "a store to LDS that nobody waited for may come after the barrier", "store"});
  }

  void look(const Instruction& in, const std::vector<Use>& uses, const State& state) {
    for (const Use& use : uses) {
      for (const Register reg : registers_of(in, use)) {
        const auto found = state.find(reg);
        if (found == state.end()) continue;
        // Loads of one counter come back in order: the later one's value stays.
        if (use.written && is_memory(in) && counter_of(in, generation_) == found->second.counter &&
            !is_scalar(in))
          continue;
        const std::string name = register_name(register_code(reg.kind, reg.half / 2));
        const std::string_view counter =
            generation_ >= 12 ? kNew[found->second.counter] : kWords[found->second.counter];
        found_.push_back({&in, &kernel_.body[found->second.load],
                          "it " + std::string(use.written ? "writes " : "reads ") + name +
                              ", which a load that nobody waited for is to write: " + std::string(counter) +
                              " may be " + std::to_string(found->second.behind + 1u) +
                              " there, and at most " + std::to_string(found->second.behind) + " is needed"});
        return;
      }
    }
  }

  static constexpr std::string_view kNew[kCounters] = {"loadcnt", "storecnt", "dscnt", "kmcnt"};
  const Kernel& kernel_;
  uint32_t generation_ = 9;
  std::vector<MissingWait> found_;
};

}  // namespace

std::vector<MissingWait> missing_waits(const Module& module, const Kernel& kernel) {
  return Waits(module, kernel).find();
}

}  // namespace triton_runner::amdgcn
