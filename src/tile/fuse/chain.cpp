// Makes a fused instruction's steps ready to run: those whose values may stay in registers become one, the
// others get lanes of scratch for their strips.
#include <algorithm>
#include <functional>

#include "fuse/fused.h"

namespace triton_runner::tile {
namespace {

void remove_register(Fused& f, uint16_t gone) {
  f.registers.erase(f.registers.begin() + gone);
  auto renumber = [gone](uint16_t& r) { r -= r > gone; };
  for (Fused::Step& s : f.steps) {
    if (s.defines()) renumber(s.out);
    for (uint16_t& r : s.in) renumber(r);
    for (Fused::Link& l : s.links) renumber(l.reg), renumber(l.condition);
  }
  for (Fused::Access& a : f.loads) renumber(a.reg);
  if (f.store) renumber(f.store->reg);
}

class Chainer {
 public:
  explicit Chainer(Fused& f) : f_(f) {}

  void run() {
    for (size_t i = 0; i < f_.steps.size();)
      if (!link_from(i)) ++i;
    for (size_t i = 0; i < f_.steps.size();)
      if (!join_exp(i)) ++i;
  }

 private:
  using Step = Fused::Step;

  size_t reads(const Step& s, uint16_t reg) const {
    size_t n = 0;
    s.each_input([&](uint16_t r) { n += r == reg; });
    return n;
  }
  // The step that is the only one to read what step i makes; none: the number of steps.
  size_t only_reader(size_t i) const {
    const uint16_t out = f_.steps[i].out;
    size_t reader = f_.steps.size();
    if (f_.registers[out].result >= 0 || (f_.store && f_.store->reg == out)) return reader;
    for (size_t k = i + 1; k < f_.steps.size(); ++k) {
      if (!reads(f_.steps[k], out)) continue;
      if (reader != f_.steps.size()) return f_.steps.size();
      reader = k;
    }
    return reader;
  }

  // Sets *link to what step s does to register `v`, if that is a link.
  bool link_of(const Step& s, uint16_t v, Fused::Link* link) const {
    if (s.selects && s.loop && f_.registers[s.out].size == 4) {
      if (s.in[1] == s.in[2]) return false;
      const bool first = s.in[1] == v;
      *link = {first ? num::LinkOp::kSelect : num::LinkOp::kSelectNot, s.in[first ? 2 : 1], s.in[0]};
      return true;
    }
    num::LinkOp op;
    if (!s.loop || !num::find_link(s.loop, &op)) return false;
    if (s.in[0] == s.in[1]) {
      *link = {num::LinkOp::kSquare, v, v};
      return op == num::LinkOp::kMul;
    }
    const bool first = s.in[0] == v;
    if (!first && op == num::LinkOp::kSub) op = num::LinkOp::kSubFrom;
    *link = {op, s.in[first ? 1 : 0], v};
    return true;
  }

  static bool is_sum(const Step& s) {
    return s.part && s.links.empty() && s.part == num::reduce_part_fn(num::ReduceOp::kAddF, num::Type::kF32);
  }

  // Links step i and those after it that read what the one before gives.
  bool link_from(size_t i) {
    const Step& first = f_.steps[i];
    if (!first.loop || first.arity != 2) return false;
    using From = Fused::Register::From;
    const bool swap =  // what is likely the same for all elements is better an operand
        f_.registers[first.in[0]].from == From::kOperand && f_.registers[first.in[1]].from != From::kOperand;
    const uint16_t x = first.in[swap ? 1 : 0];
    std::vector<Fused::Link> links(1);
    if (!link_of(first, x, &links[0])) return false;
    std::vector<size_t> members = {i};
    bool sums = false;
    while (links.size() < num::kMostLinks && !sums) {
      const size_t next = only_reader(members.back());
      Fused::Link link;
      if (next == f_.steps.size()) break;
      if (is_sum(f_.steps[next]))
        sums = true;
      else if (link_of(f_.steps[next], f_.steps[members.back()].out, &link))
        links.push_back(link);
      else
        break;
      members.push_back(next);
    }
    if (members.size() < 2) return false;
    // It stands where the last one stood. Registers of links that have no operand are in[0].
    Step& last = f_.steps[members.back()];
    last.loop = nullptr;
    last.selects = false;
    last.arity = 1;
    last.in[0] = last.in[1] = last.in[2] = x;
    for (Fused::Link& l : links) {
      if (l.op == num::LinkOp::kSquare) l.reg = x;
      if (l.op != num::LinkOp::kSelect && l.op != num::LinkOp::kSelectNot) l.condition = x;
    }
    last.links = std::move(links);
    members.pop_back();
    std::vector<uint16_t> gone;
    for (size_t m : members) gone.push_back(f_.steps[m].out);
    for (size_t k = members.size(); k-- > 0;)
      f_.steps.erase(f_.steps.begin() + static_cast<int64_t>(members[k]));
    std::sort(gone.begin(), gone.end(), std::greater<>());
    for (uint16_t r : gone) remove_register(f_, r);
    return true;
  }

  bool join_exp(size_t i) {
    if (!f_.steps[i].loop) return false;
    const size_t next = only_reader(i);
    if (next == f_.steps.size() || !f_.steps[next].loop) return false;
    num::Loop loop = num::chain_loops(f_.steps[i].loop, f_.steps[next].loop);
    if (!loop) return false;
    Step& exp = f_.steps[next];
    const uint16_t gone = f_.steps[i].out;
    exp.loop = loop;
    exp.arity = 2;
    std::copy_n(f_.steps[i].in, 3, exp.in);
    f_.steps.erase(f_.steps.begin() + static_cast<int64_t>(i));
    remove_register(f_, gone);
    return true;
  }

  Fused& f_;
};

// Operands and splats that nobody but links reads, or steps as their second operand (columns: only these).
void find_single(Fused& f) {
  using From = Fused::Register::From;
  for (Fused::Register& reg : f.registers) reg.single = reg.column = reg.from == From::kOperand;
  for (Fused::Step& s : f.steps) {
    if (s.spreads) f.registers[s.out].single = f.registers[s.out].result < 0;
    if (s.loop && s.arity == 2 && s.in[0] != s.in[1]) s.by_one = num::loop_by_one(s.loop);
  }
  for (const Fused::Step& s : f.steps) {
    for (size_t k = 0; k < s.arity; ++k) f.registers[s.in[k]].single &= k == 1 && s.by_one;
    for (const Fused::Link& l : s.links) f.registers[l.reg].column = f.registers[l.condition].column = false;
  }
  if (f.store) f.registers[f.store->reg].single = false;
  for (Fused::Register& reg : f.registers) reg.column &= reg.single;
}

}  // namespace

void chain_steps(Fused& f) {
  f.ops = static_cast<int64_t>(f.steps.size());
  Chainer(f).run();
  find_single(f);
}

std::vector<Fused::Range> step_ranges(const Fused& f) {
  std::vector<Fused::Range> found(f.registers.size());
  for (size_t i = 0; i < f.steps.size(); ++i) {
    const Fused::Step& s = f.steps[i];
    s.each_input([&](uint16_t r) { found[r].read = static_cast<int64_t>(i); });
    if (s.defines()) found[s.out].made = static_cast<int64_t>(i);
  }
  if (f.store) found[f.store->reg].read = static_cast<int64_t>(f.steps.size());
  return found;
}

void assign_lanes(Fused& f) {
  const std::vector<Fused::Range> ranges = step_ranges(f);
  std::vector<int16_t> free;
  for (size_t i = 0; i < f.steps.size(); ++i) {
    const Fused::Step& s = f.steps[i];
    s.each_input([&](uint16_t r) {  // may be the step's own result: kernels work in place
      const int16_t lane = f.registers[r].lane;
      if (lane >= 0 && ranges[r].read == static_cast<int64_t>(i) &&
          std::find(free.begin(), free.end(), lane) == free.end())
        free.push_back(lane);
    });
    if (!s.defines() || f.registers[s.out].single) continue;
    Fused::Register& out = f.registers[s.out];
    if (out.result >= 0 || (f.store && f.store->reg == s.out)) continue;
    auto it = std::find_if(free.begin(), free.end(), [&](int16_t l) { return f.lanes[l] == out.size; });
    if (it != free.end()) {
      out.lane = *it;
      free.erase(it);
    } else {
      out.lane = static_cast<int16_t>(f.lanes.size());
      f.lanes.push_back(out.size);
    }
  }
}

void look_at_reductions(Fused& f) {
  std::vector<uint8_t> reduced(f.registers.size(), 0);
  f.pads = true;
  for (size_t i = f.steps.size(); i-- > 0;) {
    Fused::Step& s = f.steps[i];
    if (s.reduce) f.reduces = true, f.pads &= s.padded != nullptr;
    s.reduced = s.reduce || reduced[s.out];
    if (s.reduced) s.each_input([&](uint16_t r) { reduced[r] = 1; });
  }
  for (const Fused::Register& reg : f.registers) f.whole_tiles |= reg.result >= 0;
  if (!f.store) return;
  const bool linked = !f.steps.empty() && !f.steps.back().links.empty();
  f.streams = linked && f.steps.back().defines() && f.steps.back().out == f.store->reg;
}

}  // namespace triton_runner::tile
