// Follows undefined elements through shared and tensor memory, products with operands there, and blocks of
// tensor descriptors.
#include <algorithm>

#include "check/uninit.h"
#include "lowering.h"
#include "machine/cluster.h"

namespace triton_runner::tile {

// Memory that nothing was stored to is found by the pattern that new shared memory has.
void UninitCheck::shared_moves(Task& t, const Instr& in) {
  Shadows& p = of(t);
  p.shared_moves(t, in);
  for (const Slot s : in.results()) {
    const TileType& type = t.type(s);
    if (type.size == 0) {
      p.set_clean(s);
      continue;
    }
    p.origin[s] = p.stored;
    if (int64_t first = p.replace_unwritten(t, s); first >= 0)
      p.origin[s] = p.new_origin(t, in, type.index_of(first), kNothingStored);
    p.recognise_clean(t, s);
  }
}

// A product in memory: rows of a and columns of b, as for a dot, each from its tile or its buffer.
void UninitCheck::matrix(Task& t, const Instr& in) {
  Shadows& p = of(t);
  // Undefined elements of an operand; none where a register tile is defined.
  auto undefined = [&](ir::GroupName group, int64_t n) {
    std::vector<uint8_t> bad(n);
    const auto operand = static_cast<uint32_t>(Lowering::operand_index(*in.op, group));
    if (const MemoryOperand* b = code_.buffer_of(in, group)) return p.read(t, in, *b, n);
    if (p.clean(in.operand(operand))) return bad;
    const Lanes lanes = p.lanes(t, in.operand(operand));
    for (int64_t i = 0; i < n; ++i) bad[i] = lanes.marked(i);
    return bad;
  };
  if (in.op->does(ir::Effect::kBufferReads)) {  // a copy
    const MemoryOperand *from = code_.buffer_of(in, "src"), *to = code_.buffer_of(in, "dst");
    if (from && to)
      for (const Program* block : tensor_blocks(t))
        of(*block).write(t, in, *to, undefined("src", in.op->operand_of("src")->type->num_elements()));
    return;
  }
  const auto &a = in.op->operand_of("a")->type->shape, &b = in.op->operand_of("b")->type->shape;
  // A pair of blocks has half of the columns of b each; the other one's operands are taken to be as defined as these.
  const std::vector<Program*> blocks = tensor_blocks(t);
  if (blocks.empty()) return;
  const int64_t m = a[a.size() - 2], k = a.back(), part = b.back(), b_rows = b[b.size() - 2],
                n = part * static_cast<int64_t>(blocks.size());
  const bool in_memory = Lowering::operand_index(*in.op, "d") >= 0;
  if (!is_on(t, in, "pred")) return;
  const bool keep = in_memory ? is_on(t, in, "use_d") : is_on(t, in, "use_c");
  const std::vector<uint8_t> la = undefined("a", m * k), lb = undefined("b", b_rows * part);
  std::vector<uint8_t> c(m * n);
  if (keep) c = in_memory ? undefined("d", m * n) : undefined("c", m * n);
  if (any_set(la) || any_set(lb)) {
    std::vector<uint8_t> rows(m), columns(part);
    for (int64_t i = 0; i < m * k; ++i) rows[i / k] |= la[i];
    for (int64_t i = 0; i < b_rows * part; ++i) columns[i % part] |= lb[i];
    for (int64_t e = 0; e < m * n; ++e) c[e] |= rows[e / n] | columns[e % n % part];
  }
  if (in_memory) {
    if (const MemoryOperand* d = code_.buffer_of(in, "d"))
      for (const Program* block : blocks) of(*block).write(t, in, *d, c);
    return;
  }
  uint32_t origin = p.stored;
  for (const Slot o : in.operands())
    if (t.type(o).size && !p.clean(o)) origin = p.origin[o];
  if (any_set(c)) {
    if (!origin) origin = p.new_origin(t, in, {}, kNothingStored);
    p.mark_where(t, in, [&](int64_t e) { return c[e] != 0; });
  } else {
    p.set_clean(in.results());
  }
  p.origin[in.result()] = origin;
}

// Elements of a tile or a buffer, to a buffer of this block or another, on their way if a barrier counts them.
void UninitCheck::send(Task& t, const Instr& in) {
  const MemoryOperand *from = code_.buffer_of(in, "src"), *to = code_.buffer_of(in, "dst");
  if (!to) return;
  std::vector<uint8_t> undefined(in.op->operand_of("dst")->type->num_elements());
  if (from) {
    undefined = of(t).read(t, in, *from, static_cast<int64_t>(undefined.size()));
  } else {
    const Lanes lanes = of(t).lanes(t, in.operand(0));
    for (size_t e = 0; e < undefined.size(); ++e) undefined[e] = lanes.marked(static_cast<int64_t>(e));
  }
  reach(t, in, *to, code_.buffer_of(in, "barrier"), undefined);
}

void UninitCheck::block_loaded(uint64_t address, uint64_t bytes, int64_t element, int64_t size) {
  for (uint64_t at = 0; at < bytes; at += size)
    if (memory_.first(address + at, size)) block_.push_back(element + static_cast<int64_t>(at) / size);
}

void UninitCheck::block_loaded_into(Task& t, const Instr& in) {
  std::vector<int64_t> bad = std::exchange(block_, {});
  if (bad.empty() || in.num_results == 0) return;
  Shadows& p = of(t);
  const TileType& type = t.type(in.result());
  std::byte* out = p.new_lanes(t, in.result(), p.new_origin(t, in, type.index_of(bad[0]), kNeverWritten));
  for (int64_t e : bad)
    if (e < type.n) out[e * type.size] = kUndefined;
}

bool UninitCheck::block_stored(Task& t, const Instr& in, uint64_t address, uint64_t bytes, int64_t element,
                               int64_t size) {
  memory_.write(address, bytes);
  // A scatter's values have been looked at before it ran (before()), as for its rows.
  if (in.op->operand_of("x_offsets")) return true;
  if (in.op->does(ir::Effect::kAsync)) {
    Shadows& p = of(t);
    for (int64_t e = element; e < element + static_cast<int64_t>(bytes) / size; ++e) {
      if (e >= static_cast<int64_t>(stored_.size()) || !stored_[e]) continue;
      if (!p.stored) p.stored = p.new_origin(t, in, {e}, kNothingStored);
      p.origin[in.operand(0)] = p.stored;
      return report(t, in, in.operand(0), {e}, "what is stored");
    }
    return true;
  }
  if (!in.op->does(ir::Effect::kBlock)) return true;
  const Slot value = in.operand(1);
  Shadows& p = of(t);
  if (p.clean(value)) return true;
  const Lanes lanes = p.lanes(t, value);
  for (int64_t e = element; e < element + static_cast<int64_t>(bytes) / size; ++e)
    if (lanes.marked(e)) return report(t, in, value, t.type(value).index_of(e), "what is stored");
  return true;
}

}  // namespace triton_runner::tile
