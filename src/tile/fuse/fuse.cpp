// Decides which instructions become one: within a basic block, ops on tiles of one shape of which one uses
// the result of another, as long as no other instruction has to run between them.
//
// Instructions that touch memory, wait or may trap keep their order among each other, so a kernel traps where
// it would otherwise and sees the same memory. All others may move, as far as what they read and write
// allows. The dependences form a graph without cycles; two groups are merged only if it stays without.
#include <algorithm>
#include <map>
#include <queue>

#include "fuse/fused.h"
#include "ops/dot.h"
#include "ops/elementwise.h"
#include "ops/memory.h"
#include "ops/reduce.h"

namespace triton_runner::tile {

class Fuser {
 public:
  explicit Fuser(Lowering& l) : l_(l) {}

  void run() {
    fuse_dots(l_);
    count_reads();
    find_data();
    take_loads();
    std::vector<uint8_t> leader(l_.pending_.size() + 1, 0);
    for (int64_t at : l_.labels_)
      if (at >= 0) leader[static_cast<size_t>(at)] = 1;
    std::vector<int64_t> moved(l_.pending_.size() + 1);
    for (size_t i = 0; i < l_.pending_.size(); ++i) {
      if (leader[i]) flush();
      moved[i] = static_cast<int64_t>(out_.size());
      Pending& p = l_.pending_[i];
      bool ends = p.target >= 0 || !p.falls_through;
      if (p.prologue)
        out_.push_back(std::move(p));
      else
        window_.push_back(&p);
      if (ends || window_.size() >= kWindow) flush();
    }
    flush();
    moved[l_.pending_.size()] = static_cast<int64_t>(out_.size());
    for (int64_t& at : l_.labels_)
      if (at >= 0) at = moved[static_cast<size_t>(at)];
    l_.pending_ = std::move(out_);
    fuse_places(l_);
  }

 private:
  using Pending = Lowering::Pending;
  static constexpr size_t kWindow = 512;  // instructions that are looked at together

  struct Group {
    std::vector<uint32_t> members;   // of window_, ascending
    const TileType* tile = nullptr;  // null: nothing joins it
    bool stores = false;
  };

  const TileType& type(Slot s) const { return *l_.code_.types[s]; }
  static Slot result(const Pending& p) { return p.slots[0]; }
  static Slot operand(const Pending& p, size_t i) { return p.slots[p.instr.num_results + i]; }
  static size_t num_operands(const Pending& p) { return p.slots.size() - p.instr.num_results; }

  // ---- what is known of the whole code

  void count_reads() {
    reads_.assign(l_.code_.types.size(), 0);
    for (const Pending& p : l_.pending_)
      for (size_t i = p.instr.num_results; i < p.slots.size(); ++i) ++reads_[p.slots[i]];
  }

  // Slots whose elements come from memory or floats: no lazy form describes those, so that ops on them lose
  // nothing by being fused.
  void find_data() {
    data_.assign(l_.code_.types.size(), 0);
    for (const Pending& p : l_.pending_) {
      if (p.instr.num_results == 0 || type(result(p)).rank == 0) continue;
      bool data = p.fusion == Fusion::kLoad || p.fusion == Fusion::kMap || p.fusion == Fusion::kReduce;
      if (p.fusion == Fusion::kLazyMap) {
        data = num::is_float(type(result(p)).element);
        for (size_t i = 0; i < num_operands(p); ++i) data |= data_[operand(p, i)];
      }
      data_[result(p)] = data;
    }
  }

  // Loads that only a dot uses become part of it, where nothing but what is pure, and loads that it takes
  // too, stands between them.
  void take_loads() {
    std::vector<uint8_t> leader(l_.pending_.size() + 1, 0), taken(l_.pending_.size(), 0);
    for (int64_t at : l_.labels_)
      if (at >= 0) leader[static_cast<size_t>(at)] = 1;
    std::vector<size_t> loads;  // before the instruction, with nothing in their way
    for (size_t i = 0; i < l_.pending_.size(); ++i) {
      Pending& p = l_.pending_[i];
      if (leader[i]) loads.clear();
      if (p.prologue) continue;
      auto writes = [&](const Pending& load) {
        for (size_t k = 0; k < p.instr.num_results; ++k)
          if (std::count(load.slots.begin(), load.slots.end(), p.slots[k])) return true;
        return false;
      };
      if (p.fusion == Fusion::kLoad) {
        loads.push_back(i);
      } else if (is_pure(p)) {
        std::erase_if(loads, [&](size_t load) { return writes(l_.pending_[load]); });
      } else {
        if (can_load_operands(p.instr)) take_loads_of(p, loads, taken);
        loads.clear();
      }
    }
    l_.remove(taken);
  }

  // `loads` in order: the last ones that nobody else stands after.
  void take_loads_of(Pending& dot, const std::vector<size_t>& loads, std::vector<uint8_t>& taken) {
    auto side_of = [&](const Pending& load) {
      for (uint32_t side = 0; side < 2; ++side)
        if (operand(dot, side) == result(load) && reads_[result(load)] == 1) return static_cast<int>(side);
      return -1;
    };
    size_t first = loads.size();
    while (first > 0 && side_of(l_.pending_[loads[first - 1]]) >= 0) --first;
    for (; first < loads.size(); ++first) {
      const Pending& load = l_.pending_[loads[first]];
      load_operand(l_, dot.instr, dot.slots, static_cast<uint32_t>(side_of(load)), load.instr, load.slots);
      taken[loads[first]] = 1;
    }
  }

  // ---- one window

  // The shape that an instruction may be fused in; null if it may not.
  const TileType* tile_of(const Pending& p) const {
    const TileType* tile = nullptr;
    size_t operands = 0;
    switch (p.fusion) {
      case Fusion::kNone:
      case Fusion::kSplat:
        return nullptr;
      case Fusion::kLoad:
        tile = &type(result(p));
        break;
      case Fusion::kStore:
        tile = &type(operand(p, 1));
        break;
      case Fusion::kReduce: {
        RowReduce r = row_reduce(p.instr);
        tile = &type(operand(p, 0));
        if (!r.reduce || (r.length > Fused::kMaxRow && !in_parts(r, *tile))) return nullptr;
        break;
      }
      case Fusion::kLazyMap:
        if (!data_[result(p)]) return nullptr;
        [[fallthrough]];
      case Fusion::kMap:
        tile = &type(result(p));
        operands = static_cast<const ElementwiseData*>(p.instr.data)->kernel.arity;
        break;
    }
    for (size_t i = 0; i < operands; ++i) {
      const TileType& from = type(operand(p, i));
      if (from.rank != 0 && from.shape != tile->shape) return nullptr;
    }
    return tile->rank > 0 && tile->size > 0 ? tile : nullptr;
  }

  static bool in_parts(const RowReduce& r, const TileType& tile) {
    return r.part && r.length > Fused::kMaxRow && tile.rank == 1;
  }

  // Neither touches memory nor waits nor traps.
  static bool is_pure(const Pending& p) {
    if (p.fusion != Fusion::kNone) return p.fusion != Fusion::kLoad && p.fusion != Fusion::kStore;
    if (!p.instr.op || p.target >= 0 || !p.falls_through) return false;
    using enum ir::Effect;
    return p.instr.op->effects().any(kLazy | kMoves | kGenerates);
  }

  void flush() {
    bool any = false;
    for (const Pending* p : window_) any |= p->fusion != Fusion::kNone && p->fusion != Fusion::kSplat;
    if (any && window_.size() > 1) {
      link();
      merge_all();
      place();
    } else {
      for (Pending* p : window_) out_.push_back(std::move(*p));
    }
    window_.clear();
  }

  // next_[i]: what has to come after i.
  void link() {
    size_t n = window_.size();
    next_.assign(n, {});
    maker_.clear();
    std::map<Slot, std::vector<uint32_t>> readers;
    int64_t last_effect = -1;
    for (uint32_t i = 0; i < n; ++i) {
      const Pending& p = *window_[i];
      for (size_t k = p.instr.num_results; k < p.slots.size(); ++k) {
        if (auto it = maker_.find(p.slots[k]); it != maker_.end()) next_[it->second].push_back(i);
        readers[p.slots[k]].push_back(i);
      }
      for (size_t k = 0; k < p.instr.num_results; ++k) {
        for (uint32_t r : readers[p.slots[k]])
          if (r != i) next_[r].push_back(i);
        if (auto it = maker_.find(p.slots[k]); it != maker_.end()) next_[it->second].push_back(i);
        readers[p.slots[k]].clear();
        maker_[p.slots[k]] = i;
      }
      bool ends = i + 1 == n && (p.target >= 0 || !p.falls_through);
      if (ends)  // nothing comes after it
        for (uint32_t k = 0; k < i; ++k) next_[k].push_back(i);
      if (is_pure(p)) continue;
      if (last_effect >= 0) next_[static_cast<size_t>(last_effect)].push_back(i);
      last_effect = i;
    }
  }

  void merge_all() {
    size_t n = window_.size();
    groups_.assign(n, {});
    group_of_.resize(n);
    for (uint32_t i = 0; i < n; ++i) {
      group_of_[i] = i;
      groups_[i] = {{i}, tile_of(*window_[i]), window_[i]->fusion == Fusion::kStore};
    }
    // A merge may make another one possible: of two loads, the first is next to the user of both only when
    // the second one is part of it.
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = 0; i < n; ++i) {
        const Pending& p = *window_[i];
        if (is_spread(p) && group_of_[i] == i) changed |= join_reduction(i);
        if (!groups_[group_of_[i]].tile || p.fusion == Fusion::kLoad || is_spread(p)) continue;
        size_t first = p.fusion == Fusion::kStore ? 1 : 0;
        size_t end = p.fusion == Fusion::kStore ? 2 : num_operands(p);
        for (size_t k = end; k-- > first;)
          if (auto it = maker_.find(operand(p, k)); it != maker_.end() && it->second < i)
            changed |= merge(group_of_[it->second], group_of_[i]);
      }
    }
  }

  // A splat of what a reduction of a whole row gives. A strip is the whole row there: it can go on with it.
  bool is_spread(const Pending& p) const {
    if (p.fusion != Fusion::kSplat) return false;
    auto it = maker_.find(operand(p, 0));
    if (it == maker_.end() || window_[it->second]->fusion != Fusion::kReduce) return false;
    const TileType& row = type(operand(*window_[it->second], 0));
    return row.rank == 1 && row.n <= Fused::kMaxRow && row.shape == type(result(p)).shape;
  }

  // A splat is only worth it beside its reduction.
  bool join_reduction(uint32_t splat) {
    groups_[splat].tile = &type(result(*window_[splat]));
    if (merge(group_of_[maker_[operand(*window_[splat], 0)]], splat)) return true;
    groups_[splat].tile = nullptr;
    return false;
  }

  // Joins group b, which uses a value of group a, to a.
  bool merge(uint32_t a, uint32_t b) {
    Group &from = groups_[a], &to = groups_[b];
    if (a == b || !from.tile || !to.tile || from.tile->shape != to.tile->shape) return false;
    if (from.stores || (to.stores && !only_stores_last(from, to))) return false;
    std::vector<uint32_t> members;
    std::merge(from.members.begin(), from.members.end(), to.members.begin(), to.members.end(),
               std::back_inserter(members));
    if (!fits(members) || reaches_around(a, b)) return false;
    for (uint32_t m : to.members) group_of_[m] = a;
    from.members = std::move(members);
    from.stores |= to.stores;
    to = {};
    return true;
  }

  // No load of either comes after the store of `b`.
  bool only_stores_last(const Group& a, const Group& b) const {
    uint32_t store = 0;
    for (uint32_t m : b.members)
      if (window_[m]->fusion == Fusion::kStore) store = m;
    for (const Group* g : {&a, &b})
      for (uint32_t m : g->members)
        if (window_[m]->fusion == Fusion::kLoad && m > store) return false;
    return true;
  }

  // Not too many values, and pointers and masks of loads and stores are made elsewhere.
  bool fits(const std::vector<uint32_t>& members) const {
    std::vector<Slot> slots, made, needed;
    for (uint32_t m : members) {
      const Pending& p = *window_[m];
      slots.insert(slots.end(), p.slots.begin(), p.slots.end());
      if (p.instr.num_results) made.push_back(result(p));
      for (size_t k = 0; k < num_operands(p); ++k)
        if (p.fusion == Fusion::kLoad || (p.fusion == Fusion::kStore && k != 1))
          needed.push_back(operand(p, k));
    }
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
    if (slots.size() > Fused::kMaxRegisters) return false;
    for (Slot s : needed)
      if (std::find(made.begin(), made.end(), s) != made.end()) return false;
    return true;
  }

  // Returns whether anything outside of both groups has to run after something of a and before something of
  // b.
  bool reaches_around(uint32_t a, uint32_t b) const {
    std::vector<uint8_t> seen(groups_.size(), 0);
    std::vector<uint32_t> open;
    auto visit = [&](uint32_t g, bool direct) {
      bool found = false;
      for (uint32_t m : groups_[g].members)
        for (uint32_t s : next_[m]) {
          uint32_t h = group_of_[s];
          found |= h == b && !direct;
          if (h == a || h == b || seen[h]) continue;
          seen[h] = 1;
          open.push_back(h);
        }
      return found;
    };
    visit(a, true);
    while (!open.empty()) {
      uint32_t g = open.back();
      open.pop_back();
      if (visit(g, false)) return true;
    }
    return false;
  }

  // The groups in an order that the dependences allow, each as late as its last member stood.
  void place() {
    std::vector<uint32_t> waits(groups_.size(), 0);
    auto each_edge = [&](uint32_t g, auto f) {
      for (uint32_t m : groups_[g].members)
        for (uint32_t s : next_[m])
          if (group_of_[s] != g) f(group_of_[s]);
    };
    for (uint32_t g = 0; g < groups_.size(); ++g) each_edge(g, [&](uint32_t h) { ++waits[h]; });
    using Ready = std::pair<uint32_t, uint32_t>;  // last member, group
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (uint32_t g = 0; g < groups_.size(); ++g)
      if (!groups_[g].members.empty() && waits[g] == 0) ready.push({groups_[g].members.back(), g});
    while (!ready.empty()) {
      uint32_t g = ready.top().second;
      ready.pop();
      const std::vector<uint32_t>& members = groups_[g].members;
      const bool alone = members.size() == 1 && !repeats_rows(*window_[members[0]]);
      out_.push_back(alone ? std::move(*window_[members[0]]) : fused(members));
      for (uint32_t m : again_) out_.push_back(std::move(*window_[m]));
      again_.clear();
      each_edge(g, [&](uint32_t h) {
        if (--waits[h] == 0) ready.push({groups_[h].members.back(), h});
      });
    }
  }

  // One op on a matrix and a column that is repeated along its
  // rows: strip by strip, the column is spread out in scratch.
  bool repeats_rows(const Pending& p) const {
    if (p.fusion != Fusion::kMap || !tile_of(p) || type(result(p)).rank != 2) return false;
    size_t repeated = 0, whole = 0;
    for (size_t k = 0; k < num_operands(p); ++k) {
      auto it = maker_.find(operand(p, k));
      const ir::Op* op = it == maker_.end() ? nullptr : window_[it->second]->instr.op;
      (op && op->kind == ir::OpKind::kBroadcast ? repeated : whole) += type(operand(p, k)).rank == 2;
    }
    return repeated == 1 && whole > 0;
  }

  // ---- one instruction of several

  Pending fused(const std::vector<uint32_t>& members) {
    auto* f = l_.make<Fused>();
    f->tile = groups_[group_of_[members[0]]].tile;
    registers_.clear();
    operands_.clear();
    accessed_.clear();
    std::vector<Slot> results;
    for (uint32_t m : members) add(*f, *window_[m], results);
    std::map<Slot, uint32_t> reads;
    for (uint32_t m : members)
      for (size_t k = 0; k < num_operands(*window_[m]); ++k) ++reads[operand(*window_[m], k)];
    for (uint32_t m : members)  // a splat that others need stays lazy for them
      if (is_spread(*window_[m]) && reads_[result(*window_[m])] != reads[result(*window_[m])])
        again_.push_back(m), reads[result(*window_[m])] = reads_[result(*window_[m])];
    for (auto& [slot, reg] : registers_) {
      if (f->registers[reg].from == Fused::Register::From::kOperand) continue;
      if (reads_[slot] > 0 && reads_[slot] == reads[slot]) continue;
      f->registers[reg].result = static_cast<int16_t>(results.size());
      results.push_back(slot);
    }
    chain_steps(*f);
    take_over(*f);
    assign_lanes(*f);
    Pending p;
    const Pending& last = *window_[members.back()];
    p.instr.run = run_fused;
    if (f->tile->rank == 1) {
      look_at_reductions(*f);
      p.instr.run = fits_whole(*f) ? run_fused_whole : only_reduces(*f) ? run_fused_row : run_fused_line;
    }
    p.instr.data = f;
    p.instr.op = last.instr.op;
    p.instr.loop = last.instr.loop;
    p.instr.num_results = static_cast<uint16_t>(results.size());
    p.instr.num_operands = static_cast<uint16_t>(operands_.size());
    p.slots = std::move(results);
    p.slots.insert(p.slots.end(), operands_.begin(), operands_.end());
    return p;
  }

  void add(Fused& f, const Pending& p, std::vector<Slot>& results) {
    using From = Fused::Register::From;
    Fused::Step step;
    switch (p.fusion) {
      case Fusion::kLoad: {
        const auto& d = *static_cast<const LoadData*>(p.instr.data);
        int64_t mask = d.mask < 0 ? kNoSlot : operand(p, static_cast<size_t>(d.mask));
        int64_t other = d.other < 0 ? kNoSlot : operand(p, static_cast<size_t>(d.other));
        uint16_t reg = define(f, result(p), From::kLoad, f.loads.size());
        f.loads.push_back(access(p, result(p), mask, other, reg));
        return;
      }
      case Fusion::kStore:
        f.store = access(p, operand(p, 1), num_operands(p) > 2 ? int64_t{operand(p, 2)} : kNoSlot, kNoSlot,
                         read(f, operand(p, 1)));
        f.only_maps = false;
        return;
      case Fusion::kReduce: {
        RowReduce r = row_reduce(p.instr);
        step.reduce = r.reduce;
        step.in[0] = step.in[1] = step.in[2] = read(f, operand(p, 0));
        step.out = static_cast<uint16_t>(results.size());
        results.push_back(result(p));
        if (in_parts(r, type(operand(p, 0))))
          step.part = r.part;
        else
          f.row = r.length, step.padded = num::reduce_padded_fn(r.reduce);
        f.only_maps = false;
        break;
      }
      case Fusion::kNone:
      case Fusion::kSplat:
        step.spreads = true;
        step.arity = 0;
        step.from =
            static_cast<uint16_t>(std::find(results.begin(), results.end(), operand(p, 0)) - results.begin());
        step.out = define(f, result(p), From::kStep, 0);
        step.in[0] = step.in[1] = step.in[2] = step.out;
        break;
      default: {
        const num::Kernel& kernel = static_cast<const ElementwiseData*>(p.instr.data)->kernel;
        step.loop = kernel.loop;
        step.arity = kernel.arity;
        step.selects = is_functor(p.instr, num::elementwise_select, type(result(p)).element);
        for (size_t k = 0; k < 3; ++k) step.in[k] = read(f, operand(p, k < kernel.arity ? k : 0));
        step.out = define(f, result(p), From::kStep, 0);
        break;
      }
    }
    f.steps.push_back(step);
  }

  Fused::Access access(const Pending& p, Slot value, int64_t mask, int64_t other, uint16_t reg) {
    Fused::Access a{p.instr, operand(p, 0), value, mask, other, reg, num_accesses_++};
    a.instr.slots = nullptr;
    a.instr.num_results = a.instr.num_operands = 0;
    a.instr.kills = 0;
    for (int64_t s : {int64_t{a.pointers}, mask, other}) {
      if (s == kNoSlot) continue;
      accessed_.push_back(static_cast<Slot>(s));
      operand_number(static_cast<Slot>(s));
    }
    return a;
  }

  size_t operand_number(Slot s) {
    auto it = std::find(operands_.begin(), operands_.end(), s);
    if (it != operands_.end()) return static_cast<size_t>(it - operands_.begin());
    operands_.push_back(s);
    return operands_.size() - 1;
  }

  uint16_t define(Fused& f, Slot s, Fused::Register::From from, size_t index) {
    Fused::Register reg{from, type(s).size};
    reg.index = static_cast<uint16_t>(index);
    f.registers.push_back(reg);
    return registers_[s] = static_cast<uint16_t>(f.registers.size() - 1);
  }

  uint16_t read(Fused& f, Slot s) {
    if (auto it = registers_.find(s); it != registers_.end()) return it->second;
    return define(f, s, Fused::Register::From::kOperand, operand_number(s));
  }

  // A result whose first step comes when an operand of its size was read for the last time may lie in that
  // operand's memory.
  void take_over(Fused& f) {
    const std::vector<Fused::Range> ranges = step_ranges(f);
    std::vector<uint8_t> taken(f.registers.size(), 0);
    for (size_t r = 0; r < f.registers.size(); ++r) {
      Fused::Register& reg = f.registers[r];
      if (reg.result < 0 || ranges[r].made < 0) continue;
      for (size_t o = 0; o < f.registers.size() && reg.reuse < 0; ++o) {
        const Fused::Register& from = f.registers[o];
        if (from.from != Fused::Register::From::kOperand || from.size != reg.size || taken[o]) continue;
        Slot slot = operands_[from.index];
        if (ranges[o].read > ranges[r].made || type(slot).rank == 0) continue;
        if (std::find(accessed_.begin(), accessed_.end(), slot) != accessed_.end()) continue;
        reg.reuse = static_cast<int16_t>(from.index);
        taken[o] = 1;
      }
    }
  }

  Lowering& l_;
  std::vector<Pending> out_;
  std::vector<uint32_t> reads_;  // by slot, in the whole code
  std::vector<uint8_t> data_;    // by slot
  std::vector<Pending*> window_;
  std::vector<std::vector<uint32_t>> next_;
  std::map<Slot, uint32_t> maker_;  // the last instruction of the window that wrote a slot
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;
  std::map<Slot, uint16_t> registers_;  // of the instruction that is being made
  std::vector<Slot> operands_, accessed_;
  std::vector<uint32_t> again_;  // members that are also executed after the instruction
  uint32_t num_accesses_ = 0;    // of the whole code
};

void fuse_code(Lowering& lowering) { Fuser(lowering).run(); }

}  // namespace triton_runner::tile
