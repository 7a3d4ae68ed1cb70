// Moves blocks of tensor descriptors to and from memory, and lowers the TTIR ops on descriptors. TTGIR's are
// in nvidia_tma.cpp.
#include "machine/tensor_desc.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <triton_runner/base/look_up.h>
#include <triton_runner/exec/tensor_map.h>
#include <triton_runner/ir/enums.h>
#include <triton_runner/machine/box.h>

#include "machine/shared_state.h"
#include "ops/access.h"

namespace triton_runner::tile {
namespace {

// The column's pixels, counted as the hardware counts dimensions.
exec::PixelColumn column_of(const TensorDescriptor& desc, const Box& box) {
  exec::PixelColumn out;
  out.axes = box.rank - 1;
  for (int d = 0; d < out.axes; d++) {
    const int from = box.rank - 2 - d;
    out.first[d] = box.at[from];
    out.step[d] = std::max(1, desc.steps[from]);
    if (from == 0) break;
    out.offset[d] = box.offsets[from - 1];
    out.lower[d] = desc.lower[from - 1];
    out.end[d] = desc.shape[from] + desc.upper[from - 1];
  }
  return out;
}

// As TMA counts: dimensions from the innermost, strides in bytes.
machine::Box rows_of(const TensorDescriptor& desc, const Box& box, size_t size) {
  machine::Box out;
  out.rank = box.rank;
  out.base = desc.base;
  out.width = box.shape[box.rank - 1];
  for (int d = 0; d < box.rank; d++) {
    const int from = box.rank - 1 - d;
    out.shape[d] = desc.shape[from];
    out.strides[d] = desc.strides[from] * static_cast<int64_t>(size);
    out.at[d] = box.at[from];
    if (d > 0) out.rows *= out.counts[d] = box.shape[from];
  }
  if (box.pixels) out.column = column_of(desc, box), out.rows = box.pixels;
  return out;
}

// Calls visit(offset of the row in the block, address, first element of the row that is inside, how many are)
// for every row of the block; `inside` of rows beyond an edge is 0.
template <class Visit>
bool for_each_row(const TensorDescriptor& desc, const Box& box, size_t size, Visit visit) {
  const machine::Box place = rows_of(desc, box, size);
  machine::BoxRows rows(place);
  for (int64_t r = 0; r < place.rows; r++) {
    const machine::BoxRow row = rows.next();
    if (!visit(r * place.width, row.address, row.begin, row.inside())) return false;
  }
  return true;
}

// Returns whether one look shows that all of the block's rows may be accessed, each of them in one piece.
bool may_access(Task& t, const TensorDescriptor& desc, const Box& box, size_t size, bool write) {
  if (desc.strides[box.rank - 1] != 1 || t.worker->launch->checks) return false;
  uint64_t low = ~uint64_t{0}, high = 0;
  for_each_row(desc, box, size, [&](int64_t, uint64_t address, int64_t, int64_t inside) {
    if (inside == 0) return true;
    low = std::min(low, address);
    high = std::max(high, address + static_cast<uint64_t>(inside) * size);
    return true;
  });
  if (low >= high) return true;
  exec::MemoryView& memory = t.worker->memory;
  return write ? memory.writable(low, high - low) : memory.readable(low, high - low);
}

TileType shape_of(const Box& box) {
  TileType type;
  type.rank = box.pixels ? 2 : box.rank;
  if (box.pixels)
    type.shape = {box.pixels, box.shape[box.rank - 1]};
  else
    type.shape.assign(box.shape, box.shape + box.rank);
  return type;
}

enum class Row : uint8_t {
  kFine,
  kTrapped,
  kFaulty,  // and the launch goes on: of several elements not noted yet, they are to be tried one by one
};

// `data`: what a store is about to write; null for loads and atomic updates.
Row check_row(Task& t, const Instr& in, uint64_t address, int64_t bytes, size_t size, bool write,
              int64_t element, const Box& box, const std::byte* data = nullptr) {
  if (write ? t.worker->memory.writable(address, bytes) : t.worker->memory.readable(address, bytes))
      [[likely]] {
    Checks* checks = t.worker->launch->checks;
    if (!checks) [[likely]]
      return Row::kFine;
    const AccessKind kind = !write ? AccessKind::kLoad : data ? AccessKind::kStore : AccessKind::kAtomic;
    return check_block(*checks, t, in, kind, address, bytes, element, size, data) ? Row::kFine
                                                                                  : Row::kTrapped;
  }
  if (t.goes_on() && bytes > static_cast<int64_t>(size)) return Row::kFaulty;
  // The first element that is outside names the fault.
  for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(size), element++) {
    const bool ok =
        write ? t.worker->memory.writable(address + at, size) : t.worker->memory.readable(address + at, size);
    if (ok) continue;
    const bool noted =
        t.note_access(in, address + at, static_cast<uint32_t>(size), write, element, shape_of(box));
    return noted ? Row::kFaulty : Row::kTrapped;
  }
  t.trap_access(in, address, static_cast<uint32_t>(bytes), write, element, shape_of(box));
  return Row::kTrapped;
}

}  // namespace

TensorDescriptor from_host(const exec::TensorDesc& desc) {
  TensorDescriptor out{desc.address, static_cast<int32_t>(desc.shape.size()), desc.nan_padding, {}, {}};
  // A rank above five stays to be told by who compares it with the type's.
  std::copy_n(desc.shape.begin(), std::min<size_t>(5, desc.shape.size()), out.shape);
  std::copy_n(desc.strides.begin(), std::min<size_t>(5, desc.strides.size()), out.strides);
  out.round_to_tf32 = desc.round_to_tf32;
  if (!desc.im2col) return out;
  out.im2col = true;
  std::copy(desc.im2col->lower.begin(), desc.im2col->lower.end(), out.lower);
  std::copy(desc.im2col->upper.begin(), desc.im2col->upper.end(), out.upper);
  std::copy(desc.im2col->steps.begin(), desc.im2col->steps.end(), out.steps);
  return out;
}

exec::TensorDesc to_host(const TensorDescriptor& d) {
  exec::TensorDesc out{d.base, {d.shape, d.shape + d.rank}, {d.strides, d.strides + d.rank}, d.nan_padding};
  out.round_to_tf32 = d.round_to_tf32;
  return out;
}

std::string column_fault(const TensorDescriptor& desc, const Box& box, num::Type type) {
  exec::PixelColumn column = column_of(desc, box);
  column.channel_bytes = box.at[box.rank - 1] * static_cast<int64_t>(num::size_of(type));
  return column.fault();
}

void set_tensor_desc(Task& t, Slot slot, const exec::TensorDesc& desc) {
  t.new_object<TensorDescriptor>(slot) = from_host(desc);
}

bool load_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                void* out) {
  const size_t size = num::size_of(type);
  const int64_t cols = box.shape[box.rank - 1];
  uint64_t pad = 0;
  if (desc.nan_padding && num::is_float(type))
    pad = size > 1 ? machine::kNanFill : num::from_double(std::numeric_limits<double>::quiet_NaN(), type);
  auto fill = [&](std::byte* at, int64_t n) {
    if (pad == 0) {
      std::memset(at, 0, n * size);
    } else {
      for (int64_t i = 0; i < n; i++) num::store_bits(at + i * size, type, pad);
    }
  };
  auto read = [&](std::byte* to, uint64_t from, int64_t n) {
    std::memcpy(to, reinterpret_cast<const void*>(from), n * size);
    if (!desc.round_to_tf32 || type != num::Type::kF32) return;
    for (int64_t i = 0; i < n; i++)
      num::store_bits(to + i * size, type,
                      exec::rounded_to_tf32(static_cast<uint32_t>(num::load_bits(to + i * size, type))));
  };
  const bool dense_row = desc.strides[box.rank - 1] == 1, whole = may_access(t, desc, box, size, false);
  return for_each_row(desc, box, size, [&](int64_t element, uint64_t address, int64_t begin, int64_t inside) {
    std::byte* row = static_cast<std::byte*>(out) + element * size;
    if (inside < cols) fill(row, begin), fill(row + (begin + inside) * size, cols - begin - inside);
    if (inside == 0) {
      fill(row, cols);
      return true;
    }
    if (dense_row) {
      const Row state =
          whole ? Row::kFine : check_row(t, in, address, inside * size, size, false, element + begin, box);
      if (state == Row::kTrapped) return false;
      if (state == Row::kFine) {
        read(row + begin * size, address, inside);
        return true;
      }
    }
    for (int64_t i = 0; i < inside; i++) {
      const uint64_t at = address + i * desc.strides[box.rank - 1] * size;
      const Row state = check_row(t, in, at, size, size, false, element + begin + i, box);
      if (state == Row::kTrapped) return false;
      if (state == Row::kFine)
        read(row + (begin + i) * size, at, 1);
      else
        std::memset(row + (begin + i) * size, 0, size);
    }
    return true;
  });
}

bool store_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                 const void* from) {
  const size_t size = num::size_of(type);
  const bool whole = may_access(t, desc, box, size, true);
  return for_each_row(desc, box, size, [&](int64_t element, uint64_t address, int64_t begin, int64_t inside) {
    if (inside == 0) return true;
    const std::byte* row = static_cast<const std::byte*>(from) + (element + begin) * size;
    const int64_t step = desc.strides[box.rank - 1];
    if (step == 1) {
      const Row state = whole
                            ? Row::kFine
                            : check_row(t, in, address, inside * size, size, true, element + begin, box, row);
      if (state == Row::kTrapped) return false;
      if (state == Row::kFine) {
        std::memcpy(reinterpret_cast<void*>(address), row, inside * size);
        return true;
      }
    }
    for (int64_t i = 0; i < inside; i++) {
      const uint64_t at = address + i * step * size;
      const Row state = check_row(t, in, at, size, size, true, element + begin + i, box, row + i * size);
      if (state == Row::kTrapped) return false;
      if (state == Row::kFine) std::memcpy(reinterpret_cast<void*>(at), row + i * size, size);
    }
    return true;
  });
}

machine::Update reduction_of(Lowering& l, const ir::Op& op, const BlockType& block) {
  using Reduction = ir::DescriptorReduceKind;
  const auto kind = op.enum_attr<Reduction>("kind");
  using machine::AtomicOp;
  using machine::AtomicType;
  constexpr std::pair<std::pair<num::Type, bool>, AtomicType> kTypes[] = {
      {{num::Type::kI32, false}, AtomicType::kS32},   {{num::Type::kI32, true}, AtomicType::kU32},
      {{num::Type::kI64, false}, AtomicType::kS64},   {{num::Type::kI64, true}, AtomicType::kU64},
      {{num::Type::kF16, false}, AtomicType::kF16},   {{num::Type::kF32, false}, AtomicType::kF32},
      {{num::Type::kBF16, false}, AtomicType::kBf16}, {{num::Type::kF64, false}, AtomicType::kF64},
  };
  const AtomicType element =
      base::look_up(kTypes, {block.type, block.is_unsigned}).value_or(AtomicType::kOther);
  constexpr std::pair<Reduction, AtomicOp> kOperations[] = {
      {Reduction::kAdd, AtomicOp::kAdd}, {Reduction::kMin, AtomicOp::kMin}, {Reduction::kMax, AtomicOp::kMax},
      {Reduction::kInc, AtomicOp::kInc}, {Reduction::kDec, AtomicOp::kDec}, {Reduction::kAnd, AtomicOp::kAnd},
      {Reduction::kOr, AtomicOp::kOr},   {Reduction::kXor, AtomicOp::kXor},
  };
  if (const auto operation = base::look_up(kOperations, kind))
    if (const machine::Update update = machine::find_update(*operation, element).global) return update;
  l.fail(op, "TMA has no reduction of this kind for elements of this type");
  return nullptr;
}

bool reduce_block(Task& t, const Instr& in, const TensorDescriptor& desc, const Box& box, num::Type type,
                  machine::Update update, const void* from) {
  const size_t size = num::size_of(type);
  return for_each_row(desc, box, size, [&](int64_t element, uint64_t address, int64_t begin, int64_t inside) {
    for (int64_t i = 0; i < inside; i++) {
      const uint64_t at = address + i * desc.strides[box.rank - 1] * size;
      const Row state = check_row(t, in, at, size, size, true, element + begin + i, box);
      if (state == Row::kTrapped) return false;
      if (state == Row::kFaulty) continue;
      if (at % size != 0) {
        if (!t.note_access(in, at, static_cast<uint32_t>(size), true, element + begin + i, shape_of(box)))
          return false;
        continue;
      }
      const uint64_t value =
          num::load_bits(static_cast<const std::byte*>(from) + (element + begin + i) * size, type);
      update(reinterpret_cast<void*>(at), value, 0);
    }
    return true;
  });
}

bool tensor_desc(Task& t, const Instr& in, Slot slot, TensorDescriptor& desc) {
  if (t.value(slot).form == Form::kObject) {
    desc = t.object<TensorDescriptor>(slot);
    return true;
  }
  // Up to 3.3 the descriptor is a pointer to its 128 bytes.
  const auto address = static_cast<uint64_t>(t.bits(slot));
  if (!SharedState::of(t).in_scratch(address, exec::kTensorMapBytes) &&
      !t.worker->memory.readable(address, exec::kTensorMapBytes)) {
    return t.trap_access(in, address, exec::kTensorMapBytes, false, -1, t.type(slot));
  }
  if (auto found = exec::decode_tensor_map(reinterpret_cast<const std::byte*>(address))) {
    desc = from_host(*found);
    return true;
  }
  return t.trap(in, exec::TrapKind::kInvalid,
                "the 128 bytes that the descriptor points to hold no tensor descriptor of this engine");
}

bool write_tensor_map(Task& t, const Instr& in, Slot place, const TensorDescriptor& desc) {
  const auto address = static_cast<uint64_t>(t.bits(place));
  if (!SharedState::of(t).in_scratch(address, exec::kTensorMapBytes) &&
      !t.worker->memory.writable(address, exec::kTensorMapBytes))
    return t.trap_access(in, address, exec::kTensorMapBytes, true, -1, t.type(place));
  exec::encode_tensor_map(to_host(desc), reinterpret_cast<std::byte*>(address));
  return true;
}

bool open_box(Task& t, const Instr& in, const TensorDescriptor& desc, const BlockType& block, Box& box) {
  box.rank = static_cast<int>(block.shape.size());
  std::copy(block.shape.begin(), block.shape.end(), box.shape);
  return desc.rank == box.rank || t.trap(in, exec::TrapKind::kInvalid,
                                         "a descriptor of rank " + std::to_string(desc.rank) +
                                             " where its type says " + std::to_string(box.rank));
}

BlockType block_type(Lowering& l, const ir::Value& desc, const ir::Type* block) {
  BlockType out;
  const ir::Type* type = desc.type->kind == ir::TypeKind::kTensorDesc ? desc.type->element : block;
  if (!type) return out;
  const TileType* element = l.type(type->scalar());
  out.type = element->element;
  out.known = element->size > 0 && type->shape.size() <= 5;
  out.im2col = desc.type->im2col;
  out.is_unsigned = type->scalar()->text.substr(0, 2) == "ui";
  out.shape.assign(type->shape.begin(), type->shape.end());
  return out;
}

// ---- TTIR

namespace {

struct Make {
  int rank;
  bool nan_padding;
  int place;  // operand: where in memory it is written, too; -1: nowhere
};

const Instr* run_make_tensor_descriptor(Task& t, const Instr& in, const Make& make) {
  TensorDescriptor desc{static_cast<uint64_t>(t.bits(in.operand(0))), make.rank, make.nan_padding, {}, {}};
  for (int d = 0; d < make.rank; d++) {
    desc.shape[d] = t.bits(in.operand(1 + d));
    desc.strides[d] = t.bits(in.operand(1 + make.rank + d));
  }
  t.new_object<TensorDescriptor>(in.result()) = desc;
  return make.place < 0 || write_tensor_map(t, in, in.operand(make.place), desc) ? next(in) : nullptr;
}

struct BlockAccess {
  BlockType block;
  int first_index;                   // operand
  int source;                        // operand; -1: a load
  machine::Update update = nullptr;  // a reduction
};

bool run_block(Task& t, const Instr& in, const BlockAccess& a) {
  TensorDescriptor desc;
  Box box;
  if (!tensor_desc(t, in, in.operand(0), desc) || !open_box(t, in, desc, a.block, box)) return false;
  for (int d = 0; d < box.rank; d++) box.at[d] = t.bits(in.operand(a.first_index + d));
  if (a.source < 0) return load_block(t, in, desc, box, a.block.type, t.new_dense(in.result()));
  const void* from = t.dense(in.operand(a.source));
  return a.update ? reduce_block(t, in, desc, box, a.block.type, a.update, from)
                  : store_block(t, in, desc, box, a.block.type, from);
}

struct RowAccess {
  BlockType block;
  int rows, column, source;  // operands; source -1: gather
};

const Instr* run_rows(Task& t, const Instr& in, const RowAccess& a) {
  TensorDescriptor desc;
  if (!tensor_desc(t, in, in.operand(0), desc)) return nullptr;
  const auto* rows = t.dense<int32_t>(in.operand(a.rows));
  const int64_t n = t.type(in.operand(a.rows)).n, cols = a.block.shape[1];
  const size_t bytes = cols * num::size_of(a.block.type);
  auto* data = static_cast<std::byte*>(a.source < 0 ? t.new_dense(in.result())
                                                    : const_cast<void*>(t.dense(in.operand(a.source))));
  for (int64_t r = 0; r < n; r++, data += bytes) {
    const Box box{2, {rows[r], t.bits(in.operand(a.column))}, {1, cols}};
    const bool ok = a.source < 0 ? load_block(t, in, desc, box, a.block.type, data)
                                 : store_block(t, in, desc, box, a.block.type, data);
    if (!ok) return nullptr;
  }
  return next(in);
}

// The tile is as large as the block, or for gathers and scatters has a row for each index.
bool fits(Lowering& l, const ir::Op& op, const ir::Type* tensor, const BlockType& block, bool rows) {
  if (tensor->kind != ir::TypeKind::kTensor || l.type(tensor->scalar())->element != block.type) return false;
  int64_t elements = 1;
  for (int64_t extent : block.shape) elements *= extent;
  if (!rows) return tensor->num_elements() == elements;
  const ir::Type* index = op.operand_of("x_offsets")->type;
  return tensor->shape.size() == 2 && index->kind == ir::TypeKind::kTensor &&
         index->num_elements() == tensor->shape[0] && index->scalar()->kind == ir::TypeKind::kInteger &&
         index->scalar()->width == 32;
}

// The block of the tile that an op loads, or stores from `src`; rows: it has a row for each index.
bool block_operand(Lowering& l, const ir::Op& op, bool loads, bool rows, BlockType& block) {
  const ir::Type* tile = loads ? op.result()->type : op.operand_of("src")->type;
  const size_t indices = op.group("indices").size();
  block = block_type(l, *op.operand_of("desc"), tile);
  if (!block.known) return l.fail(op, "descriptors of this element type or rank are not supported"), false;
  if (block.im2col) return l.fail(op, kOnlyLoaded), false;
  if (!fits(l, op, tile, block, rows))
    return l.fail(op, "the tile " + std::string(tile->text) + " does not fit the descriptor " +
                          std::string(op.operand_of("desc")->type->text)),
           false;
  if (!rows && indices != block.shape.size())
    return l.fail(op, std::to_string(indices) + " indices for a descriptor of rank " +
                          std::to_string(block.shape.size())),
           false;
  if (rows && block.shape.size() != 2)
    return l.fail(op, std::string("rows are ") + (loads ? "gathered from descriptors of rank 2 only"
                                                        : "scattered to descriptors of rank 2 only")),
           false;
  if (rows) block.shape[1] = tile->shape.back();
  return true;
}

void lower_block(Lowering& l, const ir::Op& op, bool loads, bool reduces = false) {
  auto* a = l.make<BlockAccess>();
  if (!block_operand(l, op, loads, false, a->block)) return;
  a->first_index = Lowering::operand_index(op, "indices");
  a->source = loads ? -1 : Lowering::operand_index(op, "src");
  if (!reduces || (a->update = reduction_of(l, op, a->block))) l.emit<run_block>(op, a);
}

void lower_rows(Lowering& l, const ir::Op& op, bool loads) {
  auto* a = l.make<RowAccess>();
  if (!block_operand(l, op, loads, true, a->block)) return;
  a->rows = Lowering::operand_index(op, "x_offsets");
  a->column = Lowering::operand_index(op, "y_offset");
  a->source = loads ? -1 : Lowering::operand_index(op, "src");
  l.emit<run_rows>(op, a);
}

}  // namespace

void lower_make_tensor_descriptor(Lowering& l, const ir::Op& op) {
  const auto rank = op.group("shape").size();
  if (rank < 1 || rank > 5 || op.group("strides").size() != rank)
    return l.fail(op,
                  "a tensor descriptor of rank " + std::to_string(rank) + ": it may have 1 to 5 dimensions");
  const int place = op.operand_of("desc_ptr") ? Lowering::operand_index(op, "desc_ptr") : -1;
  l.emit<run_make_tensor_descriptor>(
      op, l.make<Make>(static_cast<int>(rank), op.int_attr("padding", 1) == 2, place));
}

void lower_descriptor_load(Lowering& l, const ir::Op& op) { lower_block(l, op, true); }
void lower_descriptor_store(Lowering& l, const ir::Op& op) { lower_block(l, op, false); }
void lower_descriptor_reduce(Lowering& l, const ir::Op& op) { lower_block(l, op, false, true); }
void lower_descriptor_gather(Lowering& l, const ir::Op& op) { lower_rows(l, op, true); }
void lower_descriptor_scatter(Lowering& l, const ir::Op& op) { lower_rows(l, op, false); }

}  // namespace triton_runner::tile
