// Implements early_uses(): follows the products that may be pending before each instruction, to the
// instructions that touch their D.
#include <triton_runner/ptx/products.h>

#include <algorithm>
#include <map>

#include <triton_runner/ptx/dataflow.h>

namespace triton_runner::ptx {
namespace {

struct Pending {
  int64_t groups = 0;   // committed since it was issued: the fewest of all ways
  bool hidden = false;  // on all ways
};
using State = std::map<uint32_t, Pending>;  // by product

bool later_has(const Instruction& in, Mod mod) { return in.does(Effect::kLater) && in.has(mod); }

bool join(State& into, const State& from) {
  bool more = false;
  for (const auto& [product, theirs] : from) {
    const auto [at, fresh] = into.try_emplace(product, theirs);
    if (fresh) {
      more = true;
      continue;
    }
    Pending& ours = at->second;
    const Pending both{std::min(ours.groups, theirs.groups), ours.hidden && theirs.hidden};
    more |= both.groups != ours.groups || both.hidden != ours.hidden;
    ours = both;
  }
  return more;
}

// Returns whether what an instruction writes comes to where ways meet or part before a product takes it: else
// ptxas may hold it in other registers.
bool meets_others(const Function& f, const std::vector<bool>& targets, uint32_t at) {
  for (++at; at < f.body.size(); ++at) {
    const Instruction& in = f.body[at];
    if (targets[at]) return true;
    if (is_product(in)) return false;
    if (is_control(in) && !comes_back(in)) return !targets_of(in).empty();
  }
  return false;
}

// The function's products and the registers of their D.
class Products {
 public:
  explicit Products(const Function& f) : f_(f), of_register_(f.registers.size()) {
    std::map<std::vector<uint32_t>, uint32_t> chains;
    for (uint32_t i = 0; i < f.body.size(); ++i) {
      const Instruction& in = f.body[i];
      if (waits_for_products(in)) most_groups_ = std::max(most_groups_, groups_left(in) + 1);
      if (!is_product(in)) continue;
      const std::vector<uint32_t> d = results_of(in);
      for (uint32_t r : d) of_register_[r].push_back(i);
      chain_[i] = chains.try_emplace(d, static_cast<uint32_t>(chains.size())).first->second;
    }
  }
  bool any() const { return !chain_.empty(); }

  void step(State& state, uint32_t at) const {
    const Instruction& in = f_.body[at];
    if (is_product(in)) {
      state.insert_or_assign(at, Pending{});
    } else if (in.guard >= 0) {
      return;  // it may not happen
    } else if (commits_products(in)) {
      for (auto& [product, p] : state) p.groups = std::min(p.groups + 1, most_groups_);
    } else if (waits_for_products(in)) {
      wait(state, groups_left(in));
    }
  }

  // Calls f(product, whether it is more than a read) for each pending product whose D the instruction touches.
  template <class F>
  void each_use(const State& state, uint32_t at, F f) const {
    const Instruction& in = f_.body[at];
    if (state.empty()) return;
    const bool product = is_product(in);
    auto touch = [&](uint32_t r, bool writes) {
      for (uint32_t p : of_register_[r])
        if (state.contains(p)) f(p, writes);
    };
    for (uint32_t r : sources_of(in)) touch(r, product);
    for (uint32_t r : results_of(in))
      for (uint32_t p : of_register_[r])
        // Products of one D come one after the other.
        if (state.contains(p) && !(product && same_d(p, at))) f(p, true);
  }

 private:
  int64_t groups_left(const Instruction& in) const {
    constexpr int64_t kMost = int64_t{1} << 31;  // no kernel has so many
    return in.operands.empty() ? 0 : std::clamp<int64_t>(in.operands[0].integer, 0, kMost);
  }
  bool same_d(uint32_t a, uint32_t b) const { return chain_.at(a) == chain_.at(b); }

  void wait(State& state, int64_t left) const {
    std::vector<uint32_t> covered;
    for (const auto& [product, p] : state)
      if (p.groups > left) covered.push_back(product);
    for (uint32_t c : covered) state.erase(c);
    for (auto& [product, p] : state)
      p.hidden |= std::any_of(covered.begin(), covered.end(), [&](uint32_t c) { return same_d(c, product); });
  }

  const Function& f_;
  std::vector<std::vector<uint32_t>> of_register_;  // products
  int64_t most_groups_ = 1;                         // that a wait tells apart
  std::map<uint32_t, uint32_t> chain_;              // of a product: products of one D share it
};

}  // namespace

bool is_product(const Instruction& in) { return later_has(in, Mod::kMmaAsync); }
bool commits_products(const Instruction& in) { return later_has(in, Mod::kCommitGroup); }
bool waits_for_products(const Instruction& in) { return later_has(in, Mod::kWaitGroup); }

EarlyUses early_uses(const Function& f) {
  EarlyUses out;
  const Products products(f);
  if (!products.any()) return out;
  std::map<std::pair<uint32_t, uint32_t>, EarlyUse> uses;
  flow_forward<State>(
      f, join,
      [&](uint32_t at, const State& state) {
        products.each_use(state, at, [&](uint32_t product, bool writes) {
          const Pending& p = state.at(product);
          EarlyUse& use = uses.try_emplace({at, product}, EarlyUse{at, product, false, true}).first->second;
          use.writes |= writes;
          use.hidden &= p.hidden;
        });
      },
      [&](State& state, uint32_t at) { products.step(state, at); });
  const std::vector<bool> targets = jump_targets(f);
  for (const auto& [key, use] : uses) {
    out.uses.push_back(use);
    out.serialized |= use.writes || !use.hidden;
    out.surely |= !use.hidden || (use.writes && meets_others(f, targets, use.use));
  }
  return out;
}

}  // namespace triton_runner::ptx
