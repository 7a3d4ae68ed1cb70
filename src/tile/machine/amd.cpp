// Lowers AMD's ops: buffer loads and stores are a base pointer and offsets; slices, concatenations and layout
// changes move whole tiles; hints for the scheduler do nothing here. The tensor data mover is in amd_tdm.cpp.
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "lowering.h"
#include "machine/shared_state.h"
#include "ops/atomics.h"
#include "ops/memory.h"

namespace triton_runner::tile {

// shared.cpp, shared_async.cpp
void lower_local_load(Lowering& l, const ir::Op& op);

namespace {

struct Part {
  std::vector<int64_t> at;  // where the part begins in the whole
  const TileType *part, *whole;
};

// Copies between a part and a whole, row by row.
void copy_part(const Part& p, std::byte* whole, std::byte* part, bool to_part) {
  const int rank = p.part->rank, last = rank - 1;
  const int64_t size = p.part->size, cols = p.part->shape[last], rows = p.part->n / cols;
  std::vector<int64_t> index(rank, 0);
  for (int64_t r = 0; r < rows; r++) {
    int64_t offset = 0;
    for (int d = 0; d < rank; d++) offset += (p.at[d] + index[d]) * p.whole->dense_strides[d];
    std::byte *a = whole + offset * size, *b = part + r * cols * size;
    std::memcpy(to_part ? b : a, to_part ? a : b, cols * size);
    for (int d = last - 1; d >= 0 && ++index[d] == p.part->shape[d]; d--) index[d] = 0;
  }
}

void run_extract_slice(Task& t, const Instr& in) {
  auto* whole = static_cast<std::byte*>(const_cast<void*>(t.dense(in.operand(0))));
  copy_part(in.as<Part>(), whole, t.new_dense<std::byte>(in.result()), true);
}

void run_concat(Task& t, const Instr& in) {
  const auto& parts = in.as<std::vector<Part>>();
  std::vector<const void*> from;
  for (size_t i = 0; i < parts.size(); i++) from.push_back(t.dense(in.operand(static_cast<uint32_t>(i))));
  auto* whole = t.new_dense<std::byte>(in.result());
  for (size_t i = 0; i < parts.size(); i++)
    copy_part(parts[i], whole, static_cast<std::byte*>(const_cast<void*>(from[i])), false);
}

struct Repack {
  const MemPlan* plan;
  int packed;  // the dimension along which pairs share a byte in memory; in the result it is the other one
  int64_t from_cols, rows, cols;
};

const Instr* run_load_repacked(Task& t, const Instr& in, const Repack& r) {
  std::vector<uint8_t> bytes(r.plan->bytes());
  SharedState::of(t);
  r.plan->read(bytes.data(), SharedState::of(t).arena(), mem_desc(t, in.operand(0)));
  auto* out = t.new_dense<uint8_t>(in.result());
  auto value = [&](int64_t row, int64_t col) {  // of the matrix of single values
    const int64_t half = r.packed == 0 ? row % 2 : col % 2;
    const uint8_t pair =
        r.packed == 0 ? bytes[row / 2 * r.from_cols + col] : bytes[row * r.from_cols + col / 2];
    return static_cast<uint8_t>(half ? pair >> 4 : pair & 0xf);
  };
  for (int64_t i = 0; i < r.rows; i++)
    for (int64_t j = 0; j < r.cols; j++) {
      const uint8_t low = r.packed == 0 ? value(i, 2 * j) : value(2 * i, j);
      const uint8_t high = r.packed == 0 ? value(i, 2 * j + 1) : value(2 * i + 1, j);
      out[i * r.cols + j] = static_cast<uint8_t>(low | high << 4);
    }
  return next(in);
}

}  // namespace

void lower_amd_buffer_load(Lowering& l, const ir::Op& op) {
  const Slot result = l.slot(op.result());
  const auto mask = optional_slot(l, op.operand_of("mask"));
  auto other = optional_slot(l, op.operand_of("other"));
  if (mask && !other) other = l.constant(0, l.type_of(result));  // compilers count on it
  emit_load(l, op, result, buffer_pointers(l, op), mask, other);
}

void lower_amd_buffer_store(Lowering& l, const ir::Op& op) {
  emit_store(l, op, buffer_pointers(l, op), l.slot(op.operand_of("value")),
             optional_slot(l, op.operand_of("mask")));
}

void lower_amd_buffer_atomic_rmw(Lowering& l, const ir::Op& op) {
  const auto kind = op.enum_attr<Rmw>("atomic_rmw_op");
  if (!is_known(kind)) return l.fail(op, "an atomic without a known operation");
  emit_atomic_rmw(l, op, l.slot(op.result()), buffer_pointers(l, op), l.slot(op.operand_of("value")),
                  optional_slot(l, op.operand_of("mask")), kind);
}

void lower_amd_buffer_atomic_cas(Lowering& l, const ir::Op& op) {
  emit_atomic_cas(l, op, l.slot(op.result()), buffer_pointers(l, op), l.slot(op.operand_of("cmp")),
                  l.slot(op.operand_of("val")));
}

void lower_amd_extract_slice(Lowering& l, const ir::Op& op) {
  const TileType *whole = l.type(op.operand(0)->type), *part = l.type(op.result()->type);
  auto* slice = l.make<Part>();
  slice->part = part;
  slice->whole = whole;
  if (const ir::Attr* offsets = op.attr("static_offsets")) {
    for (uint64_t bits : offsets->raw) slice->at.push_back(static_cast<int64_t>(bits));
  }
  bool fits =
      slice->at.size() == static_cast<size_t>(whole->rank) && part->rank == whole->rank && part->rank > 0;
  for (int d = 0; fits && d < part->rank; d++)
    fits = slice->at[d] >= 0 && slice->at[d] + part->shape[d] <= whole->shape[d];
  if (!fits) return l.fail(op, "a slice that is not inside of its source");
  l.emit<run_extract_slice>(op, slice);
}

void lower_amd_concat(Lowering& l, const ir::Op& op) {
  const TileType* whole = l.type(op.result()->type);
  auto* parts = l.make<std::vector<Part>>();
  std::vector<int64_t> at(whole->rank, 0);
  for (const ir::Use& u : op.operand_uses) {
    const TileType* part = l.type(u.value->type);
    if (part->rank != whole->rank || at[0] >= whole->shape[0])
      return l.fail(op, "sources that do not fill the result");
    parts->push_back({at, part, whole});
    // Row-major over the grid of sources.
    for (int d = whole->rank - 1; d >= 0; d--) {
      at[d] += part->shape[d];
      if (at[d] < whole->shape[d] || d == 0) break;
      at[d] = 0;
    }
  }
  if (at[0] != whole->shape[0]) return l.fail(op, "sources that do not fill the result");
  l.emit<run_concat>(op, parts);
}

// Another layout of the same elements.
void lower_same_elements(Lowering& l, const ir::Op& op) { l.alias(op.result(), l.slot(op.operand(0))); }

// Loads the elements of a transposed layout. Where the shapes differ, pairs of four-bit values change the
// dimension along which they share a byte.
void lower_amd_local_load_packed_transposed(Lowering& l, const ir::Op& op) {
  const auto& from = op.operand_of("src")->type->shape;
  const auto& to = op.result()->type->shape;
  if (std::equal(from.begin(), from.end(), to.begin(), to.end())) return lower_local_load(l, op);
  const MemView* view = mem_view(l, *op.operand_of("src"), op);
  if (!view) return;
  if (view->size != 1 || from.size() != 2 || to.size() != 2 || !view->leading.empty() ||
      l.type_of(op.result())->size != 1)
    return l.fail(op, "a packed transposed load of these shapes is not supported");
  const int packed = from[0] * 2 == to[0] && to[1] * 2 == from[1]   ? 0
                     : from[1] * 2 == to[1] && to[0] * 2 == from[0] ? 1
                                                                    : -1;
  if (packed < 0) return l.fail(op, "a packed transposed load of these shapes is not supported");
  l.emit<run_load_repacked>(op, {l.slot(op.result())}, {l.slot(op.operand_of("src"))},
                            l.make<Repack>(l.make<MemPlan>(*view), packed, from[1], to[0], to[1]));
}

}  // namespace triton_runner::tile
