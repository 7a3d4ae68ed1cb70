// Joins several mma.sync in a row that are one product: fragments of A, each times the same fragments of B,
// and steps along k whose sums go on. Compilers take tiles of tl.dot apart so.
#include <algorithm>
#include <map>
#include <set>

#include "matrix/mma.h"
#include "ops/move.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kMostInstructions = 1024;

using Places = std::vector<uint32_t>;

// The registers of a product's operands.
Places places_of(const uint32_t* first, uint32_t count) { return {first, first + count}; }

bool any_of(const std::set<uint32_t>& set, const Places& places) {
  return std::any_of(places.begin(), places.end(), [&](uint32_t p) { return set.contains(p); });
}

class Run {
 public:
  Run(const Code& code, const Instr* head)
      : code_(code), head_(head), first_(*static_cast<const Mma*>(head->data)) {}

  // Finds the group that it begins with, as long as the registers are such that their order does not matter.
  MmaGroup find(const Instr* end) {
    MmaGroup best = first_.alone;
    for (const Instr* at = head_; at < end && at < head_ + kMostInstructions; ++at) {
      if (at->guard != kNoRegister) break;
      if (at->run == copy_register(4)) {
        if (!take_move(*at)) break;
      } else if (at->run == handler<run_mma>) {
        if (!take(*static_cast<const Mma*>(at->data), static_cast<uint32_t>(at - code_.instrs.data()))) break;
        make(static_cast<uint32_t>(at - head_), best);
      } else {
        break;
      }
    }
    return best;
  }

 private:
  // A sum and what is added to it, step by step.
  struct Sum {
    Places a, b, c, d;
  };

  bool take_move(const Instr& move) {
    if (written_.contains(move.a) || written_.contains(move.d) || read_.contains(move.d) ||
        sums_read_.contains(move.d))
      return false;
    moves_.push_back(static_cast<uint32_t>(&move - head_));
    return true;
  }

  // Returns whether nobody needs the places after an instruction.
  bool ends_at(const Places& places, uint32_t index) const {
    return std::all_of(places.begin(), places.end(), [&](uint32_t p) {
      const auto uses = code_.uses.find(p);
      return uses != code_.uses.end() && uses->second.end <= index + 1;
    });
  }

  bool take(const Mma& m, uint32_t index) {
    const num::MmaPlan &p = m.plan[0], &q = first_.plan[0];
    if (m.sparse || m.scales || m.m != first_.m || m.k != first_.k || p.a != q.a || p.b != q.b ||
        p.sum != q.sum || p.saturate != q.saturate)
      return false;
    const MmaFragments& f = m.f;
    const Places a = places_of(f.a, f.a_count), b = places_of(f.b, f.b_count);
    const Places c = places_of(f.c, f.c_count), d = places_of(f.d, f.d_count);
    if (any_of(written_, a) || any_of(written_, b)) return false;
    if (any_of(written_, c)) {
      auto sum = std::find_if(sums_.begin(), sums_.end(), [&](const Sum& s) { return s.d == c; });
      if (sum == sums_.end() || !goes_on(*sum)) return false;
      if (c != d && !moves_on(*sum, d, index)) return false;
      sum->a.insert(sum->a.end(), a.begin(), a.end());
      sum->b.insert(sum->b.end(), b.begin(), b.end());
    } else {
      if (any_of(written_, d) || any_of(sums_read_, d)) return false;
      sums_.push_back({a, b, c, d});
    }
    read_.insert(a.begin(), a.end());
    read_.insert(b.begin(), b.end());
    sums_read_.insert(c.begin(), c.end());
    written_.insert(d.begin(), d.end());
    return true;
  }

  // The sum goes on in other registers, and nobody sees what it was before.
  bool moves_on(Sum& sum, const Places& d, uint32_t index) {
    if (!ends_at(sum.d, index) || any_of(written_, d)) return false;
    for (size_t q = 0; q < d.size(); ++q)
      if (sum.c[q] != d[q] && sums_read_.contains(d[q])) return false;
    for (const uint32_t p : sum.d) written_.erase(p);
    sum.d = d;
    return true;
  }

  // Returns whether a longer k gives the same bits as one step after the other.
  bool goes_on(const Sum& s) const {
    const num::MmaPlan& p = first_.plan[0];
    const size_t steps = s.b.size() / first_.f.b_count + 1;
    return p.sum == num::MmaSum::kF32 && !p.model.converted && p.k % p.block() == 0 &&
           steps * static_cast<size_t>(p.k) <= num::kMmaMaxK;
  }

  // The products so far as one, if each row of fragments meets the same columns and k is one for all.
  void make(uint32_t following, MmaGroup& out) const {
    std::map<Places, std::vector<const Sum*>> rows;
    std::vector<Places> order;
    for (const Sum& s : sums_) {
      if (s.a.size() != sums_[0].a.size()) return;
      auto [it, is_new] = rows.try_emplace(s.a);
      if (is_new) order.push_back(s.a);
      it->second.push_back(&s);
    }
    const std::vector<const Sum*>& top = rows[order[0]];
    for (const auto& [a, sums] : rows) {
      if (sums.size() != top.size()) return;
      for (size_t j = 0; j < sums.size(); ++j)
        if (sums[j]->b != top[j]->b) return;
    }
    out = {};
    const size_t steps = sums_[0].b.size() / first_.f.b_count;
    for (size_t fast = 0; fast < 2; ++fast) {
      out.plan[fast] = first_.plan[fast];
      out.plan[fast].k *= static_cast<int>(steps);
    }
    out.rows = static_cast<uint32_t>(order.size());
    out.columns = static_cast<uint32_t>(top.size());
    for (const Sum* s : top) out.b.insert(out.b.end(), s->b.begin(), s->b.end());
    for (const Places& a : order) {
      out.a.insert(out.a.end(), a.begin(), a.end());
      for (const Sum* s : rows[a]) {
        MmaGroup::Sum& sum = out.sums.emplace_back();
        std::fill_n(sum.c, 4, kNoRegister);
        std::fill_n(sum.d, 4, kNoRegister);
        std::copy(s->c.begin(), s->c.end(), sum.c);
        std::copy(s->d.begin(), s->d.end(), sum.d);
      }
    }
    finish(out, first_);
    out.following = following;
    out.moves = moves_;
  }

  const Code& code_;
  const Instr* head_;
  const Mma& first_;
  std::vector<Sum> sums_;
  std::vector<uint32_t> moves_;
  // Places of A and B, of sums before their products, and of sums after them.
  std::set<uint32_t> read_, sums_read_, written_;
};

}  // namespace

void join_products(Code& code) {
  for (size_t i = 0; i < code.instrs.size(); ++i) {
    Instr& in = code.instrs[i];
    if (in.run != handler<run_mma> || in.guard != kNoRegister) continue;
    const auto& m = *static_cast<const Mma*>(in.data);
    if (m.sparse || m.scales) continue;
    MmaGroup whole = Run(code, &in).find(code.instrs.data() + code.instrs.size());
    const uint32_t following = whole.following;
    if (following == 0) continue;
    Mma head = m;
    head.whole = std::move(whole);
    in.data = code.keep(std::move(head));
    i += following;
  }
}

}  // namespace triton_runner::simt
