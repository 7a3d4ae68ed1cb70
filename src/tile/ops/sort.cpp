// Finds tl.sort and tl.topk, and runs them as one instruction. Triton writes a sorting network out: each
// stage pairs elements along an axis of length 2, gets the partner's bits as the xor of the pair with the own
// ones, and selects by (mine > partner's) != turned, where `turned` is made of constants. Those selects are
// found here, from the last to the first of a chain, and num runs the whole chain on the tile in place.
#include "lowering.h"

#include <cstring>
#include <unordered_set>

#include <triton_runner/ir/enums.h>
#include <triton_runner/num/sort.h>

namespace triton_runner::tile {
namespace {

using enum ir::OpKind;

constexpr int64_t kMostConstants = 64;  // elements of the small tensors that say which pairs are turned

const ir::Op* made_by(const ir::Value* v, ir::OpKind kind) {
  return v->defining_op && v->defining_op->kind == kind ? v->defining_op : nullptr;
}

// A small integer tensor that the module computes from constants.
struct Small {
  std::vector<int64_t> shape, values;
};

class Evaluator {
 public:
  std::optional<Small> operator()(const ir::Value* v) {
    const ir::Op* op = v->defining_op;
    if (!op || op->results.size() != 1 || ++depth_ > 32) return std::nullopt;
    Small out;
    int64_t n = 1;
    out.shape.assign(v->type->shape.begin(), v->type->shape.end());
    for (int64_t extent : out.shape) n *= extent;
    if (n < 1 || n > kMostConstants) return std::nullopt;
    switch (op->kind) {
      case kConstant: {
        const ir::Attr* value = op->attr("value");
        if (!value || value->kind != ir::AttrKind::kDenseElements || value->raw.empty()) return std::nullopt;
        for (int64_t i = 0; i < n; ++i)
          out.values.push_back(static_cast<int64_t>(value->raw[value->raw.size() == 1 ? 0 : i]));
        return out;
      }
      case kMakeRange:
        for (int64_t i = 0; i < n; ++i) out.values.push_back(op->int_attr("start", 0) + i);
        return out;
      case kReshape:
      case kExpandDims:
      case kConvertLayout: {
        std::optional<Small> from = (*this)(op->operand(0));
        if (!from || static_cast<int64_t>(from->values.size()) != n) return std::nullopt;
        out.values = std::move(from->values);
        return out;
      }
      case kBroadcast: {
        std::optional<Small> from = (*this)(op->operand(0));
        if (!from || from->shape.size() != out.shape.size()) return std::nullopt;
        for (int64_t i = 0; i < n; ++i) {
          int64_t rest = i, at = 0, stride = 1;
          for (size_t d = out.shape.size(); d-- > 0;) {
            if (from->shape[d] != 1) at += rest % out.shape[d] * stride;
            rest /= out.shape[d];
            stride *= from->shape[d];
          }
          out.values.push_back(from->values[at]);
        }
        return out;
      }
      case kXOrI:
      case kCmpI: {
        std::optional<Small> a = (*this)(op->operand(0)), b = (*this)(op->operand(1));
        const auto predicate = op->enum_attr<ir::CmpI>("predicate");
        const bool differ = predicate == ir::CmpI::kNe;
        if (!a || !b || a->values.size() != b->values.size() ||
            (op->kind == kCmpI && !differ && predicate != ir::CmpI::kEq))
          return std::nullopt;
        for (int64_t i = 0; i < n; ++i)
          out.values.push_back(op->kind == kXOrI ? a->values[i] ^ b->values[i]
                                                 : (a->values[i] != b->values[i]) == differ);
        return out;
      }
      default:
        return std::nullopt;
    }
  }

 private:
  int depth_ = 0;
};

struct Stage {
  const ir::Value* x = nullptr;  // what it sorts
  num::SortStage stage{};
  bool is_signed = true;
  std::unordered_set<const ir::Op*> ops;  // between x and the select
};

class Matcher {
 public:
  explicit Matcher(const ir::Op& select) : select_(select) {}

  std::optional<Stage> match() {
    const ir::Value* x = through(select_.operand(2));
    const ir::Value* y = through(select_.operand(1));
    const ir::Op* turned = made_by(through(select_.operand(0)), kCmpI);
    if (!turned || turned->enum_attr<ir::CmpI>("predicate") != ir::CmpI::kNe) return std::nullopt;
    out_.ops.insert(turned);
    const ir::Op* compare = through(turned->operand(0))->defining_op;
    if (!compare || !is_greater(*compare)) return std::nullopt;
    if (through(compare->operand(0)) != x || through(compare->operand(1)) != y) return std::nullopt;
    out_.ops.insert(compare);
    std::optional<int64_t> axis = paired_axis(x, y);
    if (!axis || !directions(turned->operand(1), *axis)) return std::nullopt;
    out_.x = x;
    return std::move(out_);
  }

 private:
  // Looks through changes of layout, which leave the same elements.
  const ir::Value* through(const ir::Value* v) {
    while (const ir::Op* op = made_by(v, kConvertLayout)) out_.ops.insert(op), v = op->operand(0);
    return v;
  }
  const ir::Value* through_bitcast(const ir::Value* v) {
    v = through(v);
    for (ir::OpKind kind : {kBitcast, kTtBitcast})
      if (const ir::Op* op = made_by(v, kind)) return out_.ops.insert(op), through(op->operand(0));
    return v;
  }

  bool is_greater(const ir::Op& op) {
    if (op.kind == kCmpF) return op.enum_attr<ir::CmpF>("predicate") == ir::CmpF::kOgt;
    const auto predicate = op.enum_attr<ir::CmpI>("predicate");
    out_.is_signed = predicate == ir::CmpI::kSgt;
    return op.kind == kCmpI && (out_.is_signed || predicate == ir::CmpI::kUgt);
  }

  // y = x ^ (the xor of x along an axis of length 2): the partners.
  std::optional<int64_t> paired_axis(const ir::Value* x, const ir::Value* y) {
    const ir::Op* both = made_by(through_bitcast(y), kXOrI);
    if (!both) return std::nullopt;
    out_.ops.insert(both);
    const ir::Op* spread = made_by(through(both->operand(1)), kBroadcast);
    if (!spread || through_bitcast(both->operand(0)) != x) return std::nullopt;
    out_.ops.insert(spread);
    const ir::Op* kept = made_by(through(spread->operand(0)), kExpandDims);
    if (!kept) return std::nullopt;
    out_.ops.insert(kept);
    const ir::Op* reduce = made_by(through(kept->operand(0)), kReduce);
    if (!reduce || reduce->num_operands() != 1 || through_bitcast(reduce->operand(0)) != x)
      return std::nullopt;
    out_.ops.insert(reduce);
    int64_t axis = reduce->int_attr("axis", 0);
    const ir::Block& body = *reduce->region(0)->first;
    bool is_xor = !body.next && body.first && body.first->kind == kXOrI && body.first->next == body.last &&
                  body.args.size() == 2 && body.last && body.last->operand(0) == &body.first->results[0] &&
                  body.first->operand(0) != body.first->operand(1) && !body.first->operand(0)->defining_op &&
                  !body.first->operand(1)->defining_op;
    if (!is_xor || kept->int_attr("axis", -1) != axis || axis < 0 ||
        axis >= static_cast<int64_t>(x->type->shape.size()) || x->type->shape[axis] != 2)
      return std::nullopt;
    return axis;
  }

  // Returns which pairs are turned: the upper ones, all where the order descends, and half of them where
  // another dimension says so.
  bool directions(const ir::Value* mask, int64_t axis) {
    const ir::Op* spread = made_by(through(mask), kBroadcast);
    const ir::Value* small = spread ? spread->operand(0) : mask;
    std::optional<Small> turned = Evaluator()(small);
    const auto& shape = select_.result()->type->shape;
    if (!turned || turned->shape.size() != shape.size()) return false;
    int64_t own_stride = 1, stride = 1;
    bool right = false;
    std::vector<std::pair<int64_t, bool>> used;  // strides among the values of dimensions, whether they turn
    num::SortStage& s = out_.stage;
    s.descending = turned->values[0] != 0;
    for (size_t d = shape.size(); d-- > 0;) {
      if (static_cast<int64_t>(d) == axis) s.distance = static_cast<uint32_t>(stride);
      if (turned->shape[d] != 1) {
        if (turned->shape[d] != 2 || shape[d] != 2) return false;
        bool turns = (turned->values[own_stride] != 0) != s.descending;
        if (static_cast<int64_t>(d) == axis)
          right = turns;
        else if (turns && s.flip == 0)
          s.flip = static_cast<uint32_t>(stride);
        else if (turns)
          return false;
        used.emplace_back(own_stride, turns);
        own_stride *= 2;
      }
      stride *= shape[d];
    }
    for (size_t i = 0; i < turned->values.size(); ++i) {
      bool expected = s.descending;
      for (auto [place, turns] : used) expected ^= turns && (i & static_cast<size_t>(place));
      if ((turned->values[i] != 0) != expected) return false;
    }
    return right;
  }

  const ir::Op& select_;
  Stage out_;
};

struct Network {
  const ir::Value* input;
  num::SortFn run;
  bool is_signed;
  std::vector<num::SortStage> stages;
};

void run_sort(Task& t, const Instr& in) {
  const Network& network = in.as<Network>();
  Slot s = in.operand(0);
  if (t.is_uniform(s)) {  // equal elements stay where they are
    t.set_uniform(in.result(), t.bits(s));
    return;
  }
  const void* from = t.dense(s);
  void* out = t.output(in);
  const TileType& ty = t.type(in.result());
  if (out != from) std::memcpy(out, from, ty.bytes);
  network.run(out, ty.n, network.stages.data(), network.stages.size());
}

// Tells what may be left out where nothing uses its results.
bool is_pure(const ir::Op& op) {
  using enum ir::Effect;
  return op.effects().any(kElementwise | kMoves | kGenerates) || op.kind == kReduce;
}

class SortedBlock {
 public:
  SortedBlock(Lowering& lowering, const ir::Block& block) : l_(lowering), block_(block) {}

  void find() {
    for (const ir::Op* op = block_.first; op; op = op->next) {
      for (const ir::Region* region : op->regions)
        for (const ir::Block* b = region->first; b; b = b->next) SortedBlock(l_, *b).find();
      if (op->kind == kSelect && op->results.size() == 1 && op->operand(0)->type->shape.size() > 0) add(*op);
    }
    if (networks_.empty()) return;
    leave_out();
    for (auto& [op, network] : networks_) {
      const Network* made = l_.make<Network>(network);
      l_.replace(*op, [this_l = &l_, made](const ir::Op& last) {
        this_l->emit<run_sort>(last, {this_l->slot(last.result())}, {this_l->slot(made->input)}, made);
      });
    }
  }

 private:
  void add(const ir::Op& op) {
    std::optional<Stage> stage = Matcher(op).match();
    if (!stage) return;
    num::SortFn run = num::sort_fn(l_.type(stage->x->type)->element, stage->is_signed);
    if (!run) return;
    Network network{stage->x, run, stage->is_signed, {}};
    // The chain goes on where nobody else wants what the stage before gave.
    if (auto before = networks_.find(stage->x->defining_op);
        before != networks_.end() && before->second.is_signed == stage->is_signed) {
      bool only_here = true;
      for (const ir::Use* u = stage->x->first_use; u; u = u->next)
        only_here &= u->user == &op || stage->ops.contains(u->user);
      if (only_here) {
        network = std::move(before->second);
        networks_.erase(before);
      }
    }
    network.stages.push_back(stage->stage);
    networks_.emplace(&op, std::move(network));
  }

  // Leaves out what only the selects of the networks used, from the last op to the first.
  void leave_out() {
    std::unordered_set<const ir::Value*> inputs;
    for (const auto& [op, network] : networks_) inputs.insert(network.input);
    std::unordered_set<const ir::Op*> dead;
    for (const ir::Op* op = block_.last; op; op = op->prev) {
      if (!is_pure(*op) || op->results.empty() || networks_.contains(op)) continue;
      bool used = false, any = false;
      for (const ir::Value& v : op->results)
        for (const ir::Use* u = v.first_use; u; u = u->next) {
          any = true;
          used |= inputs.contains(&v) || (!networks_.contains(u->user) && !dead.contains(u->user));
        }
      if (used || !any) continue;
      dead.insert(op);
      l_.replace(*op, {});
    }
  }

  Lowering& l_;
  const ir::Block& block_;
  std::unordered_map<const ir::Op*, Network> networks_;  // by their last selects
};

}  // namespace

void find_sorts(Lowering& lowering, const ir::Region& region) {
  for (const ir::Block* b = region.first; b; b = b->next) SortedBlock(lowering, *b).find();
}

}  // namespace triton_runner::tile
