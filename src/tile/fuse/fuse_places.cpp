// Makes one instruction of what a kernel computes evenly from a program's place in the grid: x * 1024, a row's
// address, a tile of pointers. From one program to the next such a value is a fixed distance further on, so it
// is computed by its ops for a few programs of a launch, and for all others as first + sum of step * place.
//
// The few programs are the grid's corners and the first one's neighbours. Where all values lie evenly there,
// each op between has computed what it would for any place: sums and products that do not wrap at the corners
// wrap nowhere. Elsewhere, and where a launch has few programs, the ops are executed one by one.
#include <algorithm>
#include <set>

#include "fuse/fused.h"
#include "lowering.h"
#include "ops/lazy.h"

namespace triton_runner::tile {
namespace {

constexpr size_t kMostPlaced = 16;     // results of an instruction
constexpr int64_t kLearningPays = 16;  // programs of a worker

// A value of any program.
struct PlacedValue {
  Value first;           // at the grid's begin, lazy
  int64_t step[3] = {};  // how far its base is from there a program further along each axis
};

// A worker has one for a launch.
struct Placed {
  bool evenly = false;  // else the ops are executed
  PlacedValue results[kMostPlaced];
};

struct PlacedOps {
  std::vector<Instr> ops;
  std::vector<std::vector<Slot>> slots;
  std::vector<Slot> inner;      // what only the ops read
  std::vector<uint32_t> maker;  // by result of the instruction: which op gives it
  Slot placed = 0;
};

void execute(Task& t, const PlacedOps& p) {
  for (const Instr& in : p.ops) in.run(t, in);
}

void forget_inner(Task& t, const PlacedOps& p) {
  for (const Slot s : p.inner) t.forget(s);
}

// All values as they are for the program at `place`; false: one has elements.
bool values_at(Task& t, const PlacedOps& p, const std::array<int64_t, 3>& place,
               std::vector<PlacedValue>* values) {
  t.program->id = place;
  execute(t, p);
  bool lazy = true;
  values->assign(p.ops.size(), {});
  for (size_t i = 0; i < p.ops.size(); ++i) {
    const Value& v = t.value(p.ops[i].result());
    Value& first = (*values)[i].first;
    first.form = v.form;
    first.base = v.base;
    std::fill_n(first.stride, kLazyRank, 0);
    if (v.form == Form::kAffine)
      std::copy_n(v.stride, t.type(p.ops[i].result()).rank, first.stride);
    else
      lazy &= v.form == Form::kUniform;
  }
  for (const Instr& in : p.ops) t.forget(in.result());
  return lazy;
}

bool lies_at(const PlacedValue& v, const std::array<int64_t, 3>& place, const Value& found) {
  __int128 base = v.first.base;
  for (size_t d = 0; d < 3; ++d) base += static_cast<__int128>(v.step[d]) * place[d];
  return base == found.base && v.first.form == found.form && std::ranges::equal(v.first.stride, found.stride);
}

bool learn(Task& t, const PlacedOps& p, std::vector<PlacedValue>* values) {
  const auto& grid = t.worker->launch->options->grid;
  if (!values_at(t, p, {}, values)) return false;
  std::vector<PlacedValue> there;
  for (size_t d = 0; d < 3; ++d) {
    if (grid[d] == 1) continue;
    std::array<int64_t, 3> place{};
    place[d] = 1;
    if (!values_at(t, p, place, &there)) return false;
    for (size_t i = 0; i < there.size(); ++i)
      if (__builtin_sub_overflow(there[i].first.base, (*values)[i].first.base, &(*values)[i].step[d]))
        return false;
  }
  for (size_t corner = 1; corner < 8; ++corner) {
    std::array<int64_t, 3> place{};
    bool is_new = true;
    for (size_t d = 0; d < 3; ++d)
      if (corner >> d & 1) place[d] = grid[d] - 1, is_new &= grid[d] > 1;
    if (!is_new) continue;
    if (!values_at(t, p, place, &there)) return false;
    for (size_t i = 0; i < there.size(); ++i)
      if (!lies_at((*values)[i], place, there[i].first)) return false;
  }
  return true;
}

// In the prologue.
void run_learn_places(Task& t, const Instr& in, const PlacedOps& p) {
  const Launch& launch = *t.worker->launch;
  std::vector<PlacedValue> values;
  bool evenly = false;
  try {
    evenly = launch.num_units >= kLearningPays * launch.workers && learn(t, p, &values);
  } catch (const std::bad_alloc&) {  // a program of its own may find no room either: it says where
    for (const Instr& op : p.ops) t.forget(op.result());
  }
  t.program->id = {};
  auto& placed = t.new_object<Placed>(in.result());
  placed.evenly = evenly;
  for (size_t i = 0; evenly && i < p.maker.size(); ++i) placed.results[i] = values[p.maker[i]];
}

void run_places(Task& t, const Instr& in, const PlacedOps& p) {
  const auto& placed = t.object<Placed>(p.placed);
  if (!placed.evenly) [[unlikely]] {
    execute(t, p);
    return forget_inner(t, p);
  }
  const auto [x, y, z] = t.program->id;
  for (uint32_t i = 0; i < in.num_results; ++i) {
    const PlacedValue& from = placed.results[i];
    Value& v = t.value(in.result(i));
    if (v.buffer) t.drop(v);
    v = from.first;
    v.base += from.step[0] * x + from.step[1] * y + from.step[2] * z;
  }
}

}  // namespace

class PlaceFuser {
 public:
  explicit PlaceFuser(Lowering& l) : l_(l) {}

  void run() {
    if (l_.stopper_ || l_.observer_) return;
    count();
    find();
    const auto results =
        static_cast<size_t>(std::ranges::count_if(found_, [&](size_t i) { return is_result(i); }));
    if (results < found_.size() && results <= kMostPlaced) replace();
  }

 private:
  using Pending = Lowering::Pending;

  void count() {
    reads_.assign(l_.code_.types.size(), 0);
    inner_reads_ = writes_ = reads_;
    for (const Pending& p : l_.pending_) {
      const uint32_t results = p.instr.num_results;
      for (uint32_t i = 0; i < p.slots.size(); ++i) ++(i < results ? writes_ : reads_)[p.slots[i]];
    }
  }

  // Instructions of the first basic block, which each program executes once.
  void find() {
    std::set<size_t> entered;
    for (const Pending& p : l_.pending_)
      if (p.target >= 0) entered.insert(static_cast<size_t>(l_.labels_[static_cast<size_t>(p.target)]));
    for (size_t i = 0; i < l_.pending_.size(); ++i) {
      const Pending& p = l_.pending_[i];
      if (entered.count(i)) return;
      if (p.prologue) continue;
      if (p.target >= 0 || !p.falls_through) return;
      if (!goes_evenly(p)) continue;
      found_.push_back(i);
      placed_.insert(p.slots[0]);
      for (uint32_t k = 1; k < p.slots.size(); ++k) ++inner_reads_[p.slots[k]];
    }
  }

  bool goes_evenly(const Pending& p) const {
    if (!p.instr.op || p.instr.num_results != 1 || writes_[p.slots[0]] != 1) return false;
    size_t placed = 0;
    for (size_t k = 1; k < p.slots.size(); ++k) {
      if (!placed_.count(p.slots[k]) && !l_.kept_[p.slots[k]]) return false;
      placed += placed_.count(p.slots[k]);
    }
    using enum ir::OpKind;
    switch (p.instr.op->kind) {
      case kGetProgramId:
        return p.slots.size() == 1;
      case kMulI:
        return placed == 1;
      case kAddI:
      case kSubI:
      case kExtSI:
      case kTruncI:
      case kIndexCast:
      case kAddPtr:
      case kSplat:
      case kExpandDims:
      case kBroadcast:
      case kConvertLayout:
        return placed > 0;
      default:
        return false;
    }
  }

  bool is_result(size_t i) const {
    const Slot s = l_.pending_[i].slots[0];
    return reads_[s] > inner_reads_[s];
  }

  void replace() {
    auto& p = *l_.make<PlacedOps>();
    std::vector<Slot> results;
    std::vector<uint8_t> taken(l_.pending_.size(), 0);
    for (size_t i : found_) {
      Pending& from = l_.pending_[i];
      taken[i] = 1;
      if (is_result(i)) {
        p.maker.push_back(static_cast<uint32_t>(p.ops.size()));
        results.push_back(from.slots[0]);
      } else {
        p.inner.push_back(from.slots[0]);
      }
      p.slots.push_back(std::move(from.slots));
      p.ops.push_back(from.instr);
      p.ops.back().slots = p.slots.back().data();
      p.ops.back().kills = 0;
    }
    p.placed = l_.new_slot(l_.tile_type(num::Type::kI64, {}));
    l_.kept_[p.placed] = 1;
    Pending learn, place;
    learn.prologue = true;
    learn.instr = place.instr = p.ops[0];
    learn.instr.data = place.instr.data = &p;
    learn.instr.run = handler<run_learn_places>;
    learn.instr.num_results = 1;
    learn.instr.num_operands = place.instr.num_operands = 0;
    learn.slots = {p.placed};
    place.instr.run = handler<run_places>;
    place.instr.num_results = static_cast<uint16_t>(results.size());
    place.slots = std::move(results);
    taken[found_[0]] = 0;
    l_.pending_[found_[0]] = std::move(place);
    l_.remove(taken);
    l_.pending_.push_back(std::move(learn));
  }

  Lowering& l_;
  std::vector<uint32_t> reads_, writes_, inner_reads_;  // by slot; the last: by what was found
  std::vector<size_t> found_;                           // in pending_
  std::set<Slot> placed_;                               // what those give
};

void fuse_places(Lowering& lowering) { PlaceFuser(lowering).run(); }

}  // namespace triton_runner::tile
