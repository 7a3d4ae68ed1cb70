// Implements Lowering: slots, types, emission, labels, and the dispatch from op to lower_x().
#include "lowering.h"

#include <algorithm>
#include <utility>

#include <triton_runner/ir/text.h>

#include "trace/location.h"

namespace triton_runner::tile {

// Every function that the table names must exist.
#define LOWER(f) void lower_##f(Lowering&, const ir::Op&);
#define ELEMENTWISE(f)
#define STRUCTURE
#define UNSUPPORTED
#define FOLD(f) std::optional<int64_t> fold_##f(Folder&, const ir::Op&);
#define SHADOW(f) void shadow_##f(ShadowRule&);
#define RACE(f) bool race_##f(RaceRule&);
#define HARDWARE(f) bool hardware_##f(Lowering&, const ir::Op&);
#define OP(kind, name, operands, exec, ...) exec
#include <triton_runner/ir/ops.def>
#undef OP

namespace {

const OpRow kRows[] = {
    {},  // kUnknown
#define LOWER(f) .lower = &lower_##f, .handler = #f,
#define ELEMENTWISE(f) .elementwise = &num::elementwise_##f,
#define STRUCTURE .structure = true,
#define UNSUPPORTED
#define FOLD(f) .fold = &fold_##f,
#define SHADOW(f) .shadow = &shadow_##f,
#define RACE(f) .race = &race_##f,
#define HARDWARE(f) .hardware = &hardware_##f,
#define EXACT(f) .exact = &machine::exact_##f,
#define OP(kind, name, operands, exec, ...) {exec},
#include <triton_runner/ir/ops.def>
#undef OP
};

// Returns nothing for an object.
std::optional<num::Type> scalar_type(const ir::Type& t) {
  if (t.kind == ir::TypeKind::kPointer) return num::Type::kPointer;
  return num::parse_type(t.number_name());
}

void set_shape(TileType& t, std::vector<int64_t> shape) {
  t.shape = std::move(shape);
  t.rank = static_cast<int>(t.shape.size());
  t.dense_strides.assign(t.rank, 1);
  t.n = 1;
  for (int d = t.rank - 1; d >= 0; --d) t.dense_strides[d] = t.n, t.n *= t.shape[d];
  t.bytes = t.n * t.size;
}

bool inside(const ir::Value* v, const ir::Region* region) {
  const ir::Block* b = v->defining_op ? v->defining_op->block : v->block;
  while (b) {
    if (b->region == region) return true;
    b = b->region->parent ? b->region->parent->block : nullptr;
  }
  return false;
}

}  // namespace

std::optional<int64_t> constant_integer(const ir::Value& v) {
  const ir::Op* op = v.defining_op;
  if (op && op->kind != ir::OpKind::kConstant && op->does(ir::Effect::kMoves) && op->num_operands() == 1)
    return constant_integer(*op->operand(0));
  const ir::Attr* value = op && op->kind == ir::OpKind::kConstant ? op->attr("value") : nullptr;
  if (!value) return {};
  if (value->kind == ir::AttrKind::kInteger) return value->integer;
  if (value->kind != ir::AttrKind::kDenseElements || value->raw.empty() ||
      !(value->splat || value->raw.size() == 1))
    return {};
  const auto type = scalar_type(*v.type->scalar());
  return type ? std::optional(num::sign_extend(value->raw[0], *type)) : std::nullopt;
}

const OpRow& row_of(ir::OpKind kind) { return kRows[static_cast<size_t>(kind)]; }

Lowering::Lowering(Code& code, base::Diagnostics& sink) : code_(code), sink_(sink) { scopes_.emplace_back(); }

const TileType* Lowering::type(const ir::Type* t) {
  bool tensor = t->kind == ir::TypeKind::kTensor;
  const TileType*& known = types_[{t, tensor ? 0 : lanes_}];
  if (known) return known;
  auto* made = make<TileType>();
  known = made;
  made->ir = t;
  const ir::Type* scalar = tensor ? t->element : t;
  std::optional<num::Type> element = scalar_type(*scalar);
  bool block_pointer = scalar->kind == ir::TypeKind::kPointer && scalar->element &&
                       scalar->element->kind == ir::TypeKind::kTensor;
  if (!element || block_pointer) return made;  // an object: its ops know what it is
  made->element = *element;
  made->size = static_cast<uint8_t>(num::size_of(*element));
  if (scalar->kind == ir::TypeKind::kPointer && scalar->element) {
    if (auto pointee = scalar_type(*scalar->element)) {
      made->pointee_type = *pointee;
      made->pointee = static_cast<uint32_t>(num::size_of(*pointee));
    }
  }
  made->is_tensor = tensor || lanes_ > 0;
  if (tensor)
    set_shape(*made, {t->shape.begin(), t->shape.end()});
  else if (lanes_ > 0)
    set_shape(*made, {lanes_});
  else
    set_shape(*made, {});
  return made;
}

const TileType* Lowering::tile_type(num::Type element, std::vector<int64_t> shape) {
  auto* made = make<TileType>();
  made->element = element;
  made->size = static_cast<uint8_t>(num::size_of(element));
  made->is_tensor = !shape.empty();
  set_shape(*made, std::move(shape));
  return made;
}

const TileType* Lowering::i64_type() {
  const TileType*& known = types_[{nullptr, 0}];
  if (!known) known = tile_type(num::Type::kI64, {});
  return known;
}

Slot Lowering::new_slot(const TileType* type) {
  code_.types.push_back(type);
  kept_.push_back(0);
  return static_cast<Slot>(code_.types.size() - 1);
}

Slot Lowering::slot(const ir::Value* value) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& s = scopes_[i];
    if (auto it = s.slots.find(value); it != s.slots.end()) {
      for (size_t j = i + 1; j < scopes_.size(); ++j)
        if (auto* captures = scopes_[j].captures;
            captures && std::find(captures->begin(), captures->end(), it->second) == captures->end())
          captures->push_back(it->second);
      return it->second;
    }
    if (!s.region || inside(value, s.region)) break;
  }
  Slot made = new_slot(type(value->type));
  scopes_.back().slots[value] = made;
  return made;
}

void Lowering::alias(const ir::Value* value, Slot slot) { scopes_.back().slots[value] = slot; }

Slot Lowering::constant(int64_t bits, const TileType* type) {
  auto [it, is_new] = constants_.try_emplace({bits, type}, 0);
  if (!is_new) return it->second;
  Slot s = it->second = new_slot(type);
  set_constant(s, bits);
  return s;
}

namespace {
void run_set_constant(Task& t, const Instr& in) { t.set_uniform(in.result(), in.as<int64_t>()); }
}  // namespace

void Lowering::set_constant(Slot slot, int64_t bits) {
  Pending p;
  p.instr.run = handler<run_set_constant>;
  p.instr.data = make<int64_t>(bits);
  p.instr.num_results = 1;
  p.slots = {slot};
  p.prologue = true;
  kept_[slot] = 1;
  pending_.push_back(std::move(p));
}

void Lowering::emit_pending(Pending p) {
  p.instr.loop = loop_;
  if (hoisting_) {
    p.prologue = true;
    for (uint32_t i = 0; i < p.instr.num_results; ++i) kept_[p.slots[i]] = 1;
  }
  pending_.push_back(std::move(p));
}

size_t Lowering::emit(Handler run, const ir::Op& op, std::vector<Slot> results, std::vector<Slot> operands,
                      const void* data) {
  Pending p;
  p.instr.run = run;
  p.instr.op = &op;
  p.instr.data = data;
  p.instr.num_results = static_cast<uint16_t>(results.size());
  p.instr.num_operands = static_cast<uint16_t>(operands.size());
  p.slots = std::move(results);
  p.slots.insert(p.slots.end(), operands.begin(), operands.end());
  emit_pending(std::move(p));
  return pending_.size() - 1;
}

size_t Lowering::emit(Handler run, const ir::Op& op, const void* data) {
  return emit(run, op, slots_of(*this, op.results), slots_of(*this, op.operand_uses), data);
}

int Lowering::operand_index(const ir::Op& op, ir::GroupName group) {
  auto g = op.group(group);
  return g.empty() ? -1 : static_cast<int>(g.data() - op.operand_uses.data());
}

Label Lowering::new_label() {
  labels_.push_back(-1);
  return {static_cast<uint32_t>(labels_.size() - 1)};
}

void Lowering::bind(Label label) { labels_[label.id] = static_cast<int64_t>(pending_.size()); }

size_t Lowering::emit_branch(Handler run, Label target, const ir::Op& op, std::vector<Slot> results,
                             std::vector<Slot> operands, const void* data) {
  size_t at = emit(run, op, std::move(results), std::move(operands), data);
  pending_[at].target = target.id;
  return at;
}

Label Lowering::block_label(const ir::Block* block) {
  auto [it, is_new] = scopes_.back().blocks.try_emplace(block, Label{0});
  if (is_new) it->second = new_label();
  return it->second;
}

Slot Lowering::begin_loop() {
  Slot counter = new_slot(i64_type());
  code_.loops.push_back({loop_, counter});
  loop_ = static_cast<uint32_t>(code_.loops.size());
  return counter;
}

const ir::Op* Lowering::lower_block(const ir::Block& block) {
  auto is_terminator = [](const ir::Op& op) { return !op.successors.empty() || row_of(op.kind).structure; };
  if (stopper_) show(block.args);
  for (const ir::Op* op = block.first; op; op = op->next) {
    if (stopper_) stop_before(*op);
    if (op == block.last && is_terminator(*op)) return op;
    lower_op(*op);
    observe(*op, op->results);
    if (stopper_) show(op->results);
  }
  // scf.yield without values may be left out of the text.
  return &made_op(*block.region->parent, ir::OpKind::kYield, "scf.yield");
}

const ir::Op& Lowering::made_op(const ir::Op& at, ir::OpKind kind, std::string_view name) {
  auto* op = make<ir::Op>();
  op->kind = kind;
  op->name = name;
  op->loc = at.loc;
  op->text = at.text;
  return *op;
}

void Lowering::lower_region(const ir::Region& region, const std::function<void(const ir::Op&)>& on_exit) {
  const Visible* outside = visible_;
  for (const ir::Block* b = region.first; b; b = b->next) {
    const Visible* before = visible_;
    bind(block_label(b));
    observe(*region.parent, b->args);
    const ir::Op* last = lower_block(*b);
    if (last->successors.empty()) {
      on_exit(*last);
      visible_ = before;  // nothing comes after it
    } else {
      lower_op(*last);
    }
  }
  visible_ = outside;
}

void Lowering::lower_region(const ir::Region& region, const std::vector<Slot>& results, Label end) {
  lower_region(region, [&](const ir::Op& last) {
    move(results, slots_of(*this, last.operand_uses), last);
    jump(end, last);
  });
}

Label Lowering::out_of_line(const ir::Op& op, const std::function<void()>& body) {
  const Label over = new_label(), entry = new_label();
  jump(over, op);
  bind(entry);
  const uint32_t outer_loop = loop_;
  loop_ = 0;
  body();
  loop_ = outer_loop;
  bind(over);
  out_of_line_.push_back({entry, {}});
  return entry;
}

namespace {
const Instr* run_finish(Task& t, const Instr&) { return t.finish(); }
}  // namespace

void Lowering::emit_finish(const ir::Op& op) {
  size_t at = emit(run_finish, op, {}, {});
  pending_[at].falls_through = false;
}

Lowering::VectorRegion Lowering::vector_region(const ir::Region& region, int64_t n, const Places* places) {
  VectorRegion out;
  // Emitted apart and moved to the end of the code: nothing falls into it.
  int64_t outer_lanes = lanes_;
  bool outer_hoisting = hoisting_;
  const Places* outer_places = places_;
  lanes_ = n;
  hoisting_ = false;
  places_ = places;
  Scope& scope = scopes_.emplace_back();
  scope.region = &region;
  scope.captures = &out.captures;
  Label over = new_label();
  const ir::Op& op = *region.parent;
  jump(over, op);
  out.entry = new_label();
  bind(out.entry);
  out.args = slots_of(*this, region.first->args);
  lower_region(region, [&](const ir::Op& last) {
    std::vector<Slot> values;
    const bool first = out.results.empty();
    for (const ir::Use& u : last.operand_uses) {
      values.push_back(slot(u.value));
      if (first)
        out.results.push_back(new_slot(type(u.value->type)));  // of all lanes, even of an outer scalar
    }
    move(out.results, values, last);
    size_t at = emit(run_finish, last, {}, out.results);
    pending_[at].falls_through = false;
  });
  bind(over);
  scopes_.pop_back();
  lanes_ = outer_lanes;
  hoisting_ = outer_hoisting;
  places_ = outer_places;
  out_of_line_.push_back({out.entry, out.args});
  return out;
}

void Lowering::remove(const std::vector<uint8_t>& taken) {
  size_t kept = 0;
  std::vector<int64_t> moved(pending_.size() + 1);
  for (size_t i = 0; i < pending_.size(); ++i) {
    moved[i] = static_cast<int64_t>(kept);
    if (taken[i]) continue;
    if (kept != i) pending_[kept] = std::move(pending_[i]);
    ++kept;
  }
  moved[pending_.size()] = static_cast<int64_t>(kept);
  pending_.resize(kept);
  for (int64_t& at : labels_)
    if (at >= 0) at = moved[static_cast<size_t>(at)];
}

const Instr* const* Lowering::instruction_at(Label label) {
  auto* address = make<const Instr*>(nullptr);  // lives as long as the code, which the lowering does not
  label_addresses_.emplace_back(label, address);
  return address;
}

int64_t Lowering::reserve_shared(int64_t bytes, int64_t alignment) {
  int64_t at = (code_.shared_bytes + alignment - 1) / alignment * alignment;
  code_.shared_bytes = at + bytes;
  return at;
}

void Lowering::fail(const ir::Op& op, std::string message, std::vector<std::string> notes) {
  failed_ = true;
  base::Diagnostic d = diagnostic_at(op, *code_.module, std::move(message));
  d.notes = std::move(notes);
  sink_.add(std::move(d));
}

bool Lowering::can_hoist(const ir::Op& op) {
  if (!op.does(ir::Effect::kLazy) || lanes_ > 0 || !op.regions.empty() || is_dense()) return false;
  for (const ir::Use& u : op.operand_uses)
    if (!kept_[slot(u.value)]) return false;
  return true;
}

void Lowering::scoped(const ir::Region& region, const std::function<void()>& body) {
  scopes_.emplace_back().region = &region;
  body();
  scopes_.pop_back();
}

namespace {

// Tells whether it is what ttng.map_to_remote_buffer gives.
bool is_of_another_block(const ir::Type& type) {
  return type.kind == ir::TypeKind::kMemDesc && type.memory_space &&
         ir::text_of(type.memory_space).ends_with("shared_cluster_memory");
}

// A barrier of another block can be arrived at, count the bytes of a copy from global memory, and be handed on.
bool may_reach(const ir::Op& op, const ir::Value& value) {
  using enum ir::Effect;
  const ir::Effects does = op.effects();
  return (does.all(kBarrier | kSignals) && !does.any(kGroup | kTensorCore)) ||
         (does.all(kAsync | kBlock | kLoads) && op.operand_of("barrier") == &value) ||
         !does.any(kBarrier | kCluster | kAsync | kBufferReads | kBufferWrites | kViews | kTensorCore);
}

}  // namespace

void Lowering::lower_op(const ir::Op& op) {
  if (skipped_.erase(&op)) return;
  if (!replaced_.empty())
    if (auto found = replaced_.find(&op); found != replaced_.end()) {
      if (found->second) found->second(op);
      return;
    }
  lower_row(op);
}

void Lowering::lower_row(const ir::Op& op) {
  const OpRow& row = row_of(op.kind);
  if (op.kind == ir::OpKind::kUnknown)
    return fail(op, "unknown op '" + std::string(op.name) + "': the tile engine cannot run it",
                {"`triton-runner ops` lists what it runs"});
  // Tensors, and buffers of memory.
  auto too_large = [&](const ir::Type* t) {
    if (t->num_elements() <= kMostElements) return false;
    fail(op, "a tile of " + std::to_string(t->num_elements()) + " elements: the engine's largest has " +
                 std::to_string(kMostElements) + " (Triton's own has 1048576)");
    return true;
  };
  for (const ir::Value& v : op.results)
    if (too_large(v.type)) return;
  for (const ir::Use& u : op.operand_uses)
    if (too_large(u.value->type)) return;
  for (const ir::Use& u : op.operand_uses)
    if (is_of_another_block(*u.value->type) && !may_reach(op, *u.value))
      return fail(op, std::string(op.name) +
                          " of another block's memory is not supported: its barriers can be arrived at");
  hoisting_ = can_hoist(op);
  if (hardware_.on && row.hardware && row.hardware(*this, op)) {
  } else if (row.lower)
    row.lower(*this, op);
  else if (row.elementwise)
    lower_elementwise(*this, op, *row.elementwise);
  else if (!row.structure)
    fail(op, "'" + std::string(op.name) + "' is not supported by the tile engine",
         {"`triton-runner ops` lists what it runs"});
  else
    fail(op, "'" + std::string(op.name) + "' cannot stand here");
  hoisting_ = false;
}

bool Lowering::lower_kernel(const ir::Op& func, bool fuse) {
  const ir::Region& body = *func.region(0);
  fuses_ = fuse;
  for (ir::Value& v : body.first->args) {
    Slot s = slot(&v);
    kept_[s] = 1;
    code_.params.push_back(s);
  }
  if (fuse) find_sorts(*this, body);
  if (hardware_.contract) find_contractions(*this, body);
  find_threads_apart(*this, body);
  if (failed_) return false;
  lower_region(body, [&](const ir::Op& last) { emit_finish(last); });
  if (failed_) return false;
  if (fuse) fuse_code(*this);
  finish_code(*this);
  return true;
}

void Lowering::inline_call(const ir::Op& call, const ir::Op& func) {
  if (std::find(calls_.begin(), calls_.end(), &func) != calls_.end())
    return fail(call, "the call is recursive, which Triton does not have");
  if (pending_.size() > 4'000'000)
    return fail(call, "the calls of this kernel expand to more than 4 million instructions");
  const ir::Region& body = *func.region(0);
  const std::vector<Slot> args = slots_of(*this, call.operand_uses), results = slots_of(*this, call.results);
  if (args.size() != body.first->args.size())
    return fail(call, "the call's operands do not match the function's arguments");
  calls_.push_back(&func);
  call_ops_.push_back(&call);
  const Visible* outside = std::exchange(visible_, nullptr);
  Scope& scope = scopes_.emplace_back();
  scope.region = &body;
  move(slots_of(*this, body.first->args), args, call);
  Label end = new_label();
  lower_region(body, results, end);
  bind(end);
  scopes_.pop_back();
  visible_ = outside;
  call_ops_.pop_back();
  calls_.pop_back();
}

}  // namespace triton_runner::tile
