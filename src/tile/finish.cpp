// Turns pending instructions into code: puts the prologue first, finds last uses, resolves jumps and slot
// lists.
//
// Liveness is the textbook backward dataflow over basic blocks, on the slots that can own a buffer. An
// operand whose slot is not live after an instruction gets its kill bit; a slot that is live at a block's end
// but not in a successor is released at the successor's start.
#include <algorithm>
#include <unordered_set>

#include "lowering.h"

namespace triton_runner::tile {

const Instr* run_release(Task& t, const Instr& in) {
  for (const Slot s : in.operands()) t.forget(s);
  return next(in);
}

namespace {

const Instr* run_jump(Task&, const Instr& in) { return in.target; }
const Instr* run_end_of_prologue(Task& t, const Instr&) { return t.finish(); }

}  // namespace

namespace liveness {

class Bits {
 public:
  explicit Bits(size_t n = 0) : words_((n + 63) / 64) {}
  void set(size_t i) { words_[i / 64] |= uint64_t{1} << i % 64; }
  void clear(size_t i) { words_[i / 64] &= ~(uint64_t{1} << i % 64); }
  bool test(size_t i) const { return words_[i / 64] >> i % 64 & 1; }
  void unite(const Bits& o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= o.words_[i];
  }
  void subtract(const Bits& o) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~o.words_[i];
  }
  bool operator==(const Bits&) const = default;
  template <class F>
  void each(F f) const {
    for (size_t i = 0; i < words_.size(); ++i)
      for (uint64_t w = words_[i]; w; w &= w - 1) f(i * 64 + std::countr_zero(w));
  }

 private:
  std::vector<uint64_t> words_;
};

struct BasicBlock {
  size_t begin = 0, end = 0;
  std::vector<size_t> successors, predecessors;
  Bits use, def, in, out;
};

}  // namespace liveness

class Finisher {
 public:
  explicit Finisher(Lowering& l) : l_(l), code_(l.code_) {}

  void run() {
    number_owning_slots();
    drop_idle_jumps();
    build_blocks();
    solve();
    assemble();
  }

 private:
  using Bits = liveness::Bits;
  using BasicBlock = liveness::BasicBlock;
  using Pending = Lowering::Pending;

  // Slots that take part: tensors and objects that the prologue does not keep.
  void number_owning_slots() {
    index_.assign(code_.types.size(), -1);
    for (Slot s = 0; s < code_.types.size(); ++s) {
      const TileType& ty = *code_.types[s];
      if (l_.kept_[s] || (!ty.is_tensor && ty.size != 0)) continue;
      index_[s] = static_cast<int32_t>(owning_.size());
      owning_.push_back(s);
    }
  }

  // Main instructions by position in order_; labels as positions there.
  void drop_idle_jumps() {
    std::vector<size_t> position(l_.pending_.size() + 1);
    auto place = [&] {
      order_.clear();
      for (size_t i = 0; i < l_.pending_.size(); ++i) {
        position[i] = order_.size();
        if (!l_.pending_[i].prologue && !dropped_.count(i)) order_.push_back(i);
      }
      position[l_.pending_.size()] = order_.size();
      label_.assign(l_.labels_.size(), -1);
      for (size_t i = 0; i < l_.labels_.size(); ++i)
        if (l_.labels_[i] >= 0) label_[i] = static_cast<int64_t>(position[l_.labels_[i]]);
    };
    place();
    for (size_t k = 0; k < order_.size(); ++k) {
      const Pending& p = l_.pending_[order_[k]];
      if (p.instr.run == run_jump && label_[p.target] == static_cast<int64_t>(k + 1))
        dropped_.insert(order_[k]);
    }
    if (!dropped_.empty()) place();
  }

  Pending& at(size_t k) { return l_.pending_[order_[k]]; }

  void build_blocks() {
    std::vector<uint8_t> leader(order_.size() + 1, 0);
    leader[0] = 1;
    for (int64_t at_label : label_)
      if (at_label >= 0) leader[at_label] = 1;
    for (size_t k = 0; k < order_.size(); ++k)
      if (at(k).target >= 0 || !at(k).falls_through) leader[k + 1] = 1;
    block_of_.assign(order_.size() + 1, 0);
    for (size_t k = 0; k < order_.size(); ++k) {
      if (leader[k]) {
        if (!blocks_.empty()) blocks_.back().end = k;
        blocks_.emplace_back();
        blocks_.back().begin = k;
        blocks_.back().end = order_.size();
      }
      block_of_[k] = blocks_.size() - 1;
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Pending& last = at(blocks_[b].end - 1);
      auto edge = [&](size_t to) {
        blocks_[b].successors.push_back(to);
        blocks_[to].predecessors.push_back(b);
      };
      if (last.target >= 0 && label_[last.target] < static_cast<int64_t>(order_.size()))
        edge(block_of_[label_[last.target]]);
      if (last.falls_through && b + 1 < blocks_.size()) edge(b + 1);
    }
  }

  void solve() {
    size_t n = owning_.size();
    for (BasicBlock& b : blocks_) {
      b.use = b.def = b.in = b.out = Bits(n);
      for (size_t k = b.end; k-- > b.begin;) {
        Pending& p = at(k);
        for (uint32_t i = 0; i < p.instr.num_results; ++i)
          if (int32_t s = index_[p.slots[i]]; s >= 0) b.def.set(s), b.use.clear(s);
        for (size_t i = p.instr.num_results; i < p.slots.size(); ++i)
          if (int32_t s = index_[p.slots[i]]; s >= 0) b.use.set(s);
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = blocks_.size(); i-- > 0;) {
        BasicBlock& b = blocks_[i];
        for (size_t s : b.successors) b.out.unite(blocks_[s].in);
        Bits in = b.out;
        in.subtract(b.def);
        in.unite(b.use);
        if (!(in == b.in)) b.in = std::move(in), changed = true;
      }
    }
    // The slots that code after a call reads from outside are never released by either side; nor is anything under
    // a debugger, which shows and sets what the program is done with.
    Bits shared(n);
    for (size_t s = 0; l_.is_dense() && s < n; ++s) shared.set(s);
    for (const auto& o : l_.out_of_line_) {
      if (label_[o.entry.id] >= static_cast<int64_t>(order_.size())) continue;
      Bits captured = blocks_[block_of_[label_[o.entry.id]]].in;
      for (Slot a : o.args)
        if (index_[a] >= 0) captured.clear(index_[a]);
      shared.unite(captured);
    }
    shared_ = std::move(shared);
  }

  std::vector<Slot> released_at_start(const BasicBlock& b) {
    Bits dead(owning_.size());
    for (size_t p : b.predecessors) dead.unite(blocks_[p].out);
    dead.subtract(b.in);
    dead.subtract(shared_);
    std::vector<Slot> out;
    dead.each([&](size_t i) { out.push_back(owning_[i]); });
    return out;
  }

  void set_kills(const BasicBlock& b) {
    Bits live = b.out;
    for (size_t k = b.end; k-- > b.begin;) {
      Pending& p = at(k);
      uint32_t results = p.instr.num_results;
      for (uint32_t i = 0; i < results; ++i)
        if (int32_t s = index_[p.slots[i]]; s >= 0) {
          if (!live.test(s)) left_over_.set(s);
          live.clear(s);
        }
      p.instr.kills = 0;
      auto is_result = [&](Slot s) {
        return std::find(p.slots.begin(), p.slots.begin() + results, s) != p.slots.begin() + results;
      };
      for (size_t i = p.slots.size(); i-- > results;) {
        int32_t s = index_[p.slots[i]];
        if (s < 0 || live.test(s) || shared_.test(s)) continue;
        live.set(s);
        if (is_result(p.slots[i])) continue;
        if (i - results < 64)
          p.instr.kills |= uint64_t{1} << (i - results);
        else
          left_over_.set(s);
      }
    }
  }

  void assemble() {
    size_t num_prologue = 0, num_slots = 0;
    for (const Pending& p : l_.pending_) num_prologue += p.prologue, num_slots += p.slots.size();
    left_over_ = shared_;
    std::vector<std::vector<Slot>> releases(blocks_.size());
    size_t num_releases = 0;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      set_kills(blocks_[b]);
      releases[b] = released_at_start(blocks_[b]);
      num_releases += !releases[b].empty();
      num_slots += releases[b].size();
    }
    code_.instrs.clear();
    code_.instrs.reserve(num_prologue + order_.size() + num_releases + 2);
    auto* slots = l_.make<std::vector<Slot>>();
    slots->reserve(num_slots);
    auto put = [&](Instr instr, const std::vector<Slot>& list) {
      instr.slots = slots->data() + slots->size();
      slots->insert(slots->end(), list.begin(), list.end());
      code_.instrs.push_back(instr);
    };
    for (const Pending& p : l_.pending_)
      if (p.prologue) put(p.instr, p.slots);
    Instr end{};
    end.run = run_end_of_prologue;
    put(end, {});
    std::vector<size_t> final_index(order_.size() + 1);
    for (size_t b = 0; b < blocks_.size(); ++b) {
      size_t start = code_.instrs.size();
      if (!releases[b].empty()) {
        Instr release{};
        release.run = run_release;
        release.op = at(blocks_[b].begin).instr.op;
        release.num_operands = static_cast<uint16_t>(releases[b].size());
        put(release, releases[b]);
      }
      for (size_t k = blocks_[b].begin; k < blocks_[b].end; ++k) {
        final_index[k] = k == blocks_[b].begin ? start : code_.instrs.size();
        put(at(k).instr, at(k).slots);
      }
    }
    final_index[order_.size()] = code_.instrs.size();
    put(end, {});  // nothing falls off the end
    // Targets: the instructions do not move any more.
    size_t i = num_prologue + 1;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      if (!releases[b].empty()) ++i;
      for (size_t k = blocks_[b].begin; k < blocks_[b].end; ++k, ++i)
        if (at(k).target >= 0) code_.instrs[i].target = &code_.instrs[final_index[label_[at(k).target]]];
    }
    for (auto& [label, address] : l_.label_addresses_)
      *address = &code_.instrs[final_index[label_[label.id]]];
    code_.prologue = code_.instrs.data();
    code_.entry = &code_.instrs[num_prologue + 1];
    left_over_.each([&](size_t s) { code_.left_over.push_back(owning_[s]); });
  }

  Lowering& l_;
  Code& code_;
  std::vector<int32_t> index_;  // slot -> number among owning_, -1
  std::vector<Slot> owning_;
  std::unordered_set<size_t> dropped_;
  std::vector<size_t> order_;
  std::vector<int64_t> label_;  // label -> position in order_
  std::vector<BasicBlock> blocks_;
  std::vector<size_t> block_of_;
  Bits shared_;     // captured by code out of line: released by neither side
  Bits left_over_;  // those, results that nobody reads, and last uses beyond the kill bits
};

void finish_code(Lowering& lowering) { Finisher(lowering).run(); }

void Lowering::jump(Label label, const ir::Op& op) {
  size_t at = emit_branch(run_jump, label, op, {}, {});
  pending_[at].falls_through = false;
}

}  // namespace triton_runner::tile
