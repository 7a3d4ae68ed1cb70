// Implements Shadows. A shadow is a Value in an array that Shadows owns; World swaps that array in for the
// program's while an instruction runs on it.
#include "check/shadow.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/exec/numbers.h>

#include "lowering.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {

// Puts the shadows in the place of the program's values and shared memory, as long as it exists.
class Shadows::World {
 public:
  World(Task& t, Shadows& s) : t_(t), s_(s), real_(t.values), outcome_(t.outcome), pc_(t.pc) {
    swap();
    t.values = s.values_.data();
  }
  ~World() {
    for (auto& [slot, shadow] : kept_) {
      s_.drop(s_.values_[slot]);
      s_.values_[slot] = shadow;
    }
    t_.values = real_;
    swap();
    t_.outcome = outcome_;
    t_.pc = pc_;
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Gives the instruction the slot's own value, not its shadow.
  void keep(Slot slot) {
    for (auto& [known, shadow] : kept_)
      if (known == slot) return;
    kept_.emplace_back(slot, s_.values_[slot]);
    Value& v = s_.values_[slot] = real_[slot];
    if (v.buffer) ++v.buffer->refs;
  }

 private:
  void swap() {
    if (!s_.shared_) return;
    std::swap(t_.program->shared, s_.shared_);
    std::swap(t_.program->state, s_.state_);
  }

  Task& t_;
  Shadows& s_;
  Value* real_;
  Outcome outcome_;
  const Instr* pc_;
  std::vector<std::pair<Slot, Value>> kept_;
};

std::string Origin::text(const Code& code) const {
  std::string out = place_text(*in->op, code);
  if (!element.empty()) out += ", element [" + exec::numbers_text(element) + "]";
  return iteration.empty() ? out : out + ", " + iteration;
}

Shadows::Shadows(const Code& code, BufferPool& pool) : code_(code), pool_(pool) {
  values_.resize(code.types.size());
  origin.resize(code.types.size());
  for (Value& v : values_) v.form = Form::kUniform, v.bits = 0;
  if (code.shared_bytes > 0) shared_ = pool.allocate(code.shared_bytes);
}

Shadows::~Shadows() {
  for (Value& v : values_) drop(v);
  state_.reset();
  if (shared_) pool_.release(shared_);
}

void Shadows::begin(Program& program, std::byte memory) {
  for (Slot s = 0; s < values_.size(); ++s) set_clean(s);
  origins.clear();
  stored = 0;
  if (!shared_) return;
  std::swap(program.shared, shared_);
  auto state = std::make_unique<SharedState>();
  state->begin(program);
  std::memset(program.shared_memory(), static_cast<int>(memory), code_.shared_bytes);
  state_ = std::move(state);
  std::swap(program.shared, shared_);
}

void Shadows::drop(Value& v) {
  if (v.buffer) pool_.release(v.buffer);
  v.buffer = nullptr;
}

void Shadows::set_clean(Slot s) {
  drop(values_[s]);
  values_[s].form = Form::kUniform;
  values_[s].bits = 0;
  origin[s] = 0;
}

void Shadows::set_all(Slot s, uint32_t from, int64_t bits) {
  drop(values_[s]);
  values_[s].form = Form::kUniform;
  values_[s].bits = bits;
  origin[s] = from;
}

Lanes Shadows::lanes(Task& t, Slot s) {
  const Value& v = values_[s];
  const TileType& type = *code_.types[s];
  if (v.form == Form::kUniform) return {nullptr, type.size, type.n, v.bits != 0};
  World world(t, *this);
  return {t.dense<std::byte>(s), type.size, type.n, false};
}

std::byte* Shadows::new_lanes(Task& t, Slot s, uint32_t from) {
  World world(t, *this);
  auto* out = t.new_dense<std::byte>(s);
  std::memset(out, 0, code_.types[s]->bytes);
  origin[s] = from;
  return out;
}

void Shadows::copy(Slot to, Slot from) {
  if (to == from) return;
  if (values_[from].buffer) ++values_[from].buffer->refs;
  drop(values_[to]);
  values_[to] = values_[from];
  origin[to] = origin[from];
}

void Shadows::copy_operands(const Instr& in) {
  std::vector<std::pair<Value, uint32_t>> saved;
  for (const Slot o : in.operands()) {
    if (values_[o].buffer) ++values_[o].buffer->refs;
    saved.emplace_back(values_[o], origin[o]);
  }
  for (uint32_t i = 0; i < in.num_results; ++i) {
    drop(values_[in.result(i)]);
    std::tie(values_[in.result(i)], origin[in.result(i)]) = saved[i];
  }
}

bool Shadows::move(Task& t, const Instr& in, Family family) {
  if (family == Family::kMoves)
    run(t, in, {});
  else if (family == Family::kCopies)
    copy_operands(in);
  else if (family == Family::kFork)
    for (uint32_t r = 0; r < in.num_results; ++r) copy(in.result(r), in.operand(r % in.num_operands));
  else
    return false;
  return true;
}

void Shadows::mark_where(Task& t, const Instr& in, const std::function<bool(int64_t)>& f) {
  // f is asked of all elements before any result is set: a result may be one of its operands.
  std::vector<std::vector<int64_t>> marked(in.num_results);
  for (uint32_t r = 0; r < in.num_results; ++r)
    for (int64_t e = 0; e < code_.types[in.result(r)]->n; ++e)
      if (f(e)) marked[r].push_back(e);
  for (uint32_t r = 0; r < in.num_results; ++r) {
    const Slot s = in.result(r);
    const TileType& type = *code_.types[s];
    if (marked[r].empty()) {
      set_clean(s);
    } else if (static_cast<int64_t>(marked[r].size()) == type.n) {
      set_all(s, 0);
    } else {
      std::byte* out = new_lanes(t, s, 0);
      for (int64_t e : marked[r]) out[e * type.size] = std::byte{1};
    }
  }
}

void Shadows::unite(Task& t, Slot to, Slot with) {
  const TileType& type = *code_.types[to];
  const Lanes a = lanes(t, to), b = lanes(t, with);
  std::vector<int64_t> marked;
  for (int64_t e = 0; e < type.n; ++e)
    if (a.marked(e) || b.marked(e)) marked.push_back(e);
  std::byte* out = new_lanes(t, to, origin[to]);
  for (int64_t e : marked) out[e * type.size] = std::byte{1};
}

void Shadows::recognise_clean(Task& t, Slot s) {
  if (values_[s].form == Form::kUniform) return;
  const TileType& type = *code_.types[s];
  const auto* p = lanes(t, s).data;
  if (std::all_of(p, p + type.bytes, [](std::byte b) { return b == std::byte{0}; })) set_clean(s);
}

int64_t Shadows::first(Task& t, Slot s) {
  const Lanes l = lanes(t, s);
  for (int64_t e = 0; e < l.n; ++e)
    if (l.marked(e)) return e;
  return -1;
}

int64_t Shadows::first_on(Task& t, Slot s, int64_t mask) {
  if (clean(s)) return -1;
  const uint8_t* on = nullptr;
  if (mask != kNoSlot) {
    const Slot m = static_cast<Slot>(mask);
    if (!t.is_uniform(m))
      on = t.dense<uint8_t>(m);
    else if (!t.bits(m))
      return -1;
  }
  const Lanes marks = lanes(t, s);
  for (int64_t i = 0; i < code_.types[s]->n; ++i)
    if ((!on || on[i]) && marks.marked(i)) return i;
  return -1;
}

int64_t Shadows::replace_unwritten(Task& t, Slot s) {
  const TileType& type = *code_.types[s];
  if (values_[s].form == Form::kUniform) return -1;
  // The marks are copied, as other slots may share the buffer.
  const Lanes from = lanes(t, s);
  std::vector<std::byte> bytes(from.data, from.data + type.bytes);
  int64_t first = -1;
  for (int64_t i = 0; i < type.bytes; ++i) {
    if (bytes[i] != std::byte{0xff}) continue;
    if (first < 0) first = i / type.size;
    bytes[i] = std::byte{1};
  }
  if (first >= 0) std::memcpy(new_lanes(t, s, 0), bytes.data(), bytes.size());
  return first;
}

void Shadows::run(Task& t, const Instr& in, std::vector<Slot> real) {
  World world(t, *this);
  for (Slot s : real) world.keep(s);
  for (const Slot o : in.operands())
    if (code_.types[o]->size == 0) world.keep(o);
  in.run(t, in);
}

void Shadows::shared_moves(Task& t, const Instr& in) {
  std::vector<Slot> real;
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    const bool index = static_cast<int>(i) == Lowering::operand_index(*in.op, "indices");
    if (!t.type(in.operand(i)).is_tensor || index)
      real.push_back(in.operand(i));
    else if (!clean(in.operand(i)))
      stored = origin[in.operand(i)];
  }
  run(t, in, std::move(real));
}

void Shadows::clear_buffers(Task& t, const Instr& in, std::span<const MemoryOperand> buffers) {
  for (const ir::Value& v : in.op->results)
    if (v.type->kind == ir::TypeKind::kMemDesc) return;  // the result is a view: nothing was written
  using enum ir::Effect;
  if (in.op->effects().any(kHint | kStores | kReports)) return;
  for (const MemoryOperand& b : buffers)
    write(t, in, b, std::vector<uint8_t>(in.op->operand(b.operand)->type->num_elements()));
}

void Shadows::issue_copy(Task& t, const Instr& in, const MemoryOperand& to) {
  World world(t, *this);
  const Slot tile = in.result(), memory = in.operand(to.operand);
  world.keep(memory);
  SharedState::of(t).issue(t, {t.elements(tile), to.plan, mem_desc(t, memory)});
}

void Shadows::issue_block(Task& t, const Instr& in, const MemoryOperand& barrier, const MemoryOperand& to,
                          const std::vector<uint8_t>& undefined) {
  World world(t, *this);
  const Slot counter = in.operand(barrier.operand), memory = in.operand(to.operand);
  world.keep(counter);
  world.keep(memory);
  const MemPlan* plan = to.plan;
  Buffer* data = pool_.allocate(plan->bytes());
  std::memset(data->data(), 0, plan->bytes());
  for (size_t e = 0, size = undefined.empty() ? 0 : plan->bytes() / undefined.size(); e < undefined.size();
       ++e)
    if (undefined[e]) std::memset(data->data() + e * size, 1, size);
  SharedState::of(t).copy_through_barrier(address_of(mem_desc(t, counter)), {data, plan, mem_desc(t, memory)},
                                          0);
}

void Shadows::hand_over(Task& t, Slot barrier) {
  World world(t, *this);
  world.keep(barrier);
  SharedState::of(t).hand_over(t, address_of(mem_desc(t, barrier)), 0);
}

std::vector<uint8_t> Shadows::read(Task& t, const Instr& in, const MemoryOperand& from, int64_t n) {
  const MemDesc d = mem_desc(t, in.operand(from.operand));
  std::vector<std::byte> bytes(from.plan->bytes());
  from.plan->read(bytes.data(), shared_->data(), d);
  const size_t size = bytes.size() / n;
  std::vector<uint8_t> out(n);
  if (!any_set(bytes)) return out;
  for (size_t i = 0; i < bytes.size(); ++i) out[i / size] |= bytes[i] != std::byte{0};
  return out;
}

void Shadows::write(Task& t, const Instr& in, const MemoryOperand& to,
                    const std::vector<uint8_t>& undefined) {
  const MemDesc d = mem_desc(t, in.operand(to.operand));
  std::vector<std::byte> bytes(to.plan->bytes());
  const size_t size = bytes.size() / undefined.size();
  if (any_set(undefined))
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{undefined[i / size]};
  to.plan->write(shared_->data(), d, bytes.data());
}

void Shadows::complete_copies(Task& t, Slot barrier) {
  if (!shared_) return;
  World world(t, *this);
  world.keep(barrier);
  SharedState::of(t).complete_copies(address_of(mem_desc(t, barrier)));
}

uint32_t Shadows::new_origin(Task& t, const Instr& in, std::vector<int64_t> element, std::string what,
                             uint32_t from) {
  origins.push_back({&in, std::move(element), std::move(what), iteration_text(t, in), from});
  return static_cast<uint32_t>(origins.size());
}

}  // namespace triton_runner::tile
