// Lowers tt.load and tt.store. Affine pointers under a box of a mask are one bounds check and a strided block
// copy; anything else is addresses: rows that turn out contiguous are copied, the rest is gathered.
#include "ops/memory.h"

#include <cstring>

#include <triton_runner/num/kernels.h>

namespace triton_runner::tile {

bool find_block(Task& t, Slot ptr, int64_t mask, const TileType& tile, bool write, Block* block,
                MaskBox* box) {
  Affine a;
  if (tile.rank > kLazyRank || !affine_of(t.value(ptr), tile.rank, &a)) return false;
  if (mask == kNoSlot) {
    for (int d = 0; d < tile.rank; ++d) box->lo[d] = 0, box->hi[d] = tile.shape[d];
  } else if (!box_of(t.value(static_cast<Slot>(mask)), tile, box)) {
    return false;
  }
  uint64_t misaligned = static_cast<uint64_t>(a.base);
  int64_t below = 0, above = tile.size;
  block->rank = tile.rank;
  block->address = static_cast<uint64_t>(a.base);
  block->tile_offset = 0;
  for (int d = 0; d < tile.rank; ++d) {
    int64_t count = box->hi[d] - box->lo[d], reach, start;
    if (__builtin_mul_overflow(a.stride[d], count - 1, &reach) ||
        __builtin_mul_overflow(a.stride[d], box->lo[d], &start))
      return false;
    if (reach < 0 ? __builtin_add_overflow(below, reach, &below)
                  : __builtin_add_overflow(above, reach, &above))
      return false;
    block->count[d] = count;
    block->stride[d] = a.stride[d];
    block->address += static_cast<uint64_t>(start);
    block->tile_offset += box->lo[d] * tile.dense_strides[d];
    if (count > 1) misaligned |= static_cast<uint64_t>(a.stride[d]);
    if (box->lo[d]) misaligned |= static_cast<uint64_t>(start);
  }
  if (misaligned & (tile.size - 1)) return false;
  uint64_t first = block->address + static_cast<uint64_t>(below),
           bytes = static_cast<uint64_t>(above - below);
  const exec::Allocation* there = t.worker->memory.known(first, bytes);
  return there && (there->writable || !write);
}

namespace {

// Calls f(memory address, tile offset) for every index of the block's outer dimensions.
template <class F>
void each_outer(const Block& b, const TileType& tile, int outer, F f) {
  int64_t index[kLazyRank] = {};
  uint64_t address = b.address;
  int64_t offset = b.tile_offset;
  for (;;) {
    f(address, offset);
    int d = outer - 1;
    for (; d >= 0; --d) {
      address += static_cast<uint64_t>(b.stride[d]);
      offset += tile.dense_strides[d];
      if (++index[d] < b.count[d]) break;
      address -= static_cast<uint64_t>(b.stride[d] * b.count[d]);
      offset -= tile.dense_strides[d] * b.count[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

void read_block(std::byte* out, const Block& b, const TileType& tile) {
  int64_t size = tile.size;
  int last = b.rank - 1;
  int64_t inner = b.count[last];
  if (b.stride[last] == size || inner == 1) {
    if (b.rank == 1) {
      std::memcpy(out + b.tile_offset * size, reinterpret_cast<const void*>(b.address), inner * size);
      return;
    }
    each_outer(b, tile, last - 1, [&](uint64_t address, int64_t offset) {
      num::copy_rows(out + offset * size, tile.dense_strides[last - 1] * size,
                     reinterpret_cast<const void*>(address), b.stride[last - 1], b.count[last - 1],
                     inner * size);
    });
  } else if (b.rank >= 2 && b.stride[last - 1] == size && b.stride[last] != 0) {
    each_outer(b, tile, last - 1, [&](uint64_t address, int64_t offset) {
      num::transpose(out + offset * size, tile.dense_strides[last - 1],
                     reinterpret_cast<const void*>(address), b.stride[last] / size, inner, b.count[last - 1],
                     size);
    });
  } else {
    each_outer(b, tile, last, [&](uint64_t address, int64_t offset) {
      num::copy_strided(out + offset * size, 1, reinterpret_cast<const void*>(address), b.stride[last] / size,
                        inner, size);
    });
  }
}

void write_block(const std::byte* in, const Block& b, const TileType& tile) {
  int64_t size = tile.size;
  int last = b.rank - 1;
  int64_t inner = b.count[last];
  if (b.stride[last] == size || inner == 1) {
    if (b.rank == 1) {
      std::memcpy(reinterpret_cast<void*>(b.address), in + b.tile_offset * size, inner * size);
      return;
    }
    each_outer(b, tile, last - 1, [&](uint64_t address, int64_t offset) {
      num::copy_rows(reinterpret_cast<void*>(address), b.stride[last - 1], in + offset * size,
                     tile.dense_strides[last - 1] * size, b.count[last - 1], inner * size);
    });
  } else {
    each_outer(b, tile, last, [&](uint64_t address, int64_t offset) {
      num::copy_strided(reinterpret_cast<void*>(address), b.stride[last] / size, in + offset * size, 1, inner,
                        size);
    });
  }
}

// Writes what lanes outside of the box hold.
void fill_outside(Task& t, std::byte* out, const MaskBox& box, int64_t other, const TileType& tile) {
  if (other != kNoSlot && !t.is_uniform(static_cast<Slot>(other))) {
    std::memcpy(out, t.dense(static_cast<Slot>(other)), tile.bytes);
    return;
  }
  uint64_t bits = other == kNoSlot ? 0 : static_cast<uint64_t>(t.bits(static_cast<Slot>(other)));
  int64_t row = tile.n / tile.shape[0];
  bool only_first = true;  // the box cuts the first dimension only: what is outside is contiguous
  for (int d = 1; d < tile.rank; ++d) only_first &= box.lo[d] <= 0 && box.hi[d] >= tile.shape[d];
  if (!only_first) return num::fill(out, bits, tile.n, tile.size);
  num::fill(out, bits, box.lo[0] * row, tile.size);
  num::fill(out + box.hi[0] * row * tile.size, bits, (tile.shape[0] - box.hi[0]) * row, tile.size);
}

// Rows of a tile of addresses: f(first element, elements) for each.
template <class F>
void each_row(const TileType& tile, F f) {
  int64_t inner = tile.rank ? tile.shape[tile.rank - 1] : 1;
  for (int64_t i = 0; i < tile.n; i += inner) f(i, inner);
}

}  // namespace

bool check_addresses(Task& t, const Instr& in, const uint64_t* addresses, const uint8_t*& mask, int64_t n,
                     uint32_t size, bool write, const TileType& shape, std::vector<uint8_t>& left) {
  uint64_t low, high, seen = 0;
  if (!num::address_range(addresses, mask, n, &low, &high)) return true;
  exec::MemoryView& memory = t.worker->memory;
  auto allowed = [&](uint64_t a, uint64_t bytes) {
    return write ? memory.writable(a, bytes) : memory.readable(a, bytes);
  };
  for (int64_t i = 0; i < n; ++i) seen |= mask && !mask[i] ? 0 : addresses[i];
  if (!(seen & (size - 1)) && high - low + size >= size) {
    const exec::Allocation* all = memory.known(low, high - low + size);
    if (all && (all->writable || !write)) return true;
  }
  int64_t first = -1;
  uint64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if ((mask && !mask[i]) || (!(addresses[i] & (size - 1)) && allowed(addresses[i], size))) continue;
    if (first < 0) {
      first = i;
      if (!t.goes_on()) break;
      left.assign(n, 1);
      if (mask) left.assign(mask, mask + n);
    }
    left[i] = 0;
    ++count;
  }
  if (first < 0) return true;
  if (!left.empty()) mask = left.data();
  return t.note_access(in, addresses[first], size, write, first, shape, count);
}

bool load_tile(Task& t, const Instr& in, Slot result, Slot ptr, int64_t mask, int64_t other) {
  const TileType& tile = t.type(result);
  if (mask != kNoSlot && t.is_uniform(static_cast<Slot>(mask))) {
    if (!t.bits(static_cast<Slot>(mask))) {
      if (other == kNoSlot)
        t.set_uniform(result, 0);
      else
        t.copy(result, static_cast<Slot>(other));
      return true;
    }
    mask = kNoSlot;
  }
  if (tile.rank == 0) {
    uint64_t address = static_cast<uint64_t>(t.bits(ptr));
    if ((address & (tile.size - 1)) || !t.worker->memory.readable(address, tile.size)) {
      if (!t.note_access(in, address, tile.size, false, -1, tile)) return false;
      t.set_uniform(result, 0);
      return true;
    }
    t.set_uniform_from(result, reinterpret_cast<const void*>(address));
    return true;
  }
  Block block;
  MaskBox box;
  if (find_block(t, ptr, mask, tile, false, &block, &box)) {
    bool same = mask == kNoSlot;
    for (int d = 0; d < block.rank; ++d) same &= block.count[d] == 1 || block.stride[d] == 0;
    if (same) {
      t.set_uniform_from(result, reinterpret_cast<const void*>(block.address));
      return true;
    }
    auto* out = t.new_dense<std::byte>(result);
    if (mask != kNoSlot) fill_outside(t, out, box, other, tile);
    read_block(out, block, tile);
    return true;
  }
  const auto* addresses = t.dense<uint64_t>(ptr);
  const auto* wanted = mask == kNoSlot ? nullptr : t.dense<uint8_t>(static_cast<Slot>(mask));
  const uint8_t* lanes = wanted;
  std::vector<uint8_t> left;
  if (!check_addresses(t, in, addresses, lanes, tile.n, tile.size, false, tile, left)) return false;
  auto* out = t.new_dense<std::byte>(result);
  if (lanes) {
    if (other == kNoSlot || t.is_uniform(static_cast<Slot>(other)))
      num::fill(out, other == kNoSlot ? 0 : static_cast<uint64_t>(t.bits(static_cast<Slot>(other))), tile.n,
                tile.size);
    else
      std::memcpy(out, t.dense(static_cast<Slot>(other)), tile.bytes);
  }
  for (int64_t i = 0; lanes != wanted && i < tile.n; ++i)  // what may not be read is 0
    if (!lanes[i] && (!wanted || wanted[i])) std::memset(out + i * tile.size, 0, tile.size);
  each_row(tile, [&](int64_t i, int64_t n) {
    if ((!lanes || num::mask_all(lanes + i, n)) && num::contiguous(addresses + i, n, tile.size))
      std::memcpy(out + i * tile.size, reinterpret_cast<const void*>(addresses[i]), n * tile.size);
    else
      num::gather(out + i * tile.size, addresses + i, lanes ? lanes + i : nullptr, n, tile.size);
  });
  return true;
}

static bool store_scalar(Task& t, const Instr& in, Slot ptr, Slot value) {
  const TileType& type = t.type(value);
  t.worker->launch->made_progress();
  const auto address = static_cast<uint64_t>(t.bits(ptr));
  if ((address & (type.size - 1)) || !t.worker->memory.writable(address, type.size))
    return t.note_access(in, address, type.size, true, -1, type);
  num::store_bits(reinterpret_cast<void*>(address), type.element, static_cast<uint64_t>(t.bits(value)));
  return true;
}

bool store_tile(Task& t, const Instr& in, Slot ptr, Slot value, int64_t mask) {
  const TileType& tile = t.type(value);
  if (mask != kNoSlot && t.is_uniform(static_cast<Slot>(mask))) {
    if (!t.bits(static_cast<Slot>(mask))) return true;
    mask = kNoSlot;
  }
  if (tile.rank == 0) return store_scalar(t, in, ptr, value);
  t.worker->launch->made_progress();
  Block block;
  MaskBox box;
  if (find_block(t, ptr, mask, tile, true, &block, &box)) {
    write_block(t.dense<std::byte>(value), block, tile);
    return true;
  }
  const auto* addresses = t.dense<uint64_t>(ptr);
  const auto* lanes = mask == kNoSlot ? nullptr : t.dense<uint8_t>(static_cast<Slot>(mask));
  const auto* data = t.dense<std::byte>(value);
  std::vector<uint8_t> left;
  if (!check_addresses(t, in, addresses, lanes, tile.n, tile.size, true, tile, left)) return false;
  each_row(tile, [&](int64_t i, int64_t n) {
    if ((!lanes || num::mask_all(lanes + i, n)) && num::contiguous(addresses + i, n, tile.size))
      std::memcpy(reinterpret_cast<void*>(addresses[i]), data + i * tile.size, n * tile.size);
    else
      num::scatter(addresses + i, data + i * tile.size, lanes ? lanes + i : nullptr, n, tile.size);
  });
  return true;
}

namespace {

bool run_load(Task& t, const Instr& in, const LoadData& d) {
  return load_tile(t, in, in.result(), in.operand(0), slot_at(in, d.mask), slot_at(in, d.other));
}

bool run_store(Task& t, const Instr& in) {
  if (in.num_operands == 2 && t.type(in.operand(1)).rank == 0)
    return store_scalar(t, in, in.operand(0), in.operand(1));
  return store_tile(t, in, in.operand(0), in.operand(1), slot_at(in, 2));
}

}  // namespace

Access access_of(const Instr& in) {
  if (in.run == handler<run_load>) {
    const auto& d = in.as<LoadData>();
    return {AccessKind::kLoad, slot_at(in, 0), slot_at(in, d.mask), slot_at(in, d.other)};
  }
  if (in.run == handler<run_store>)
    return {
        .kind = AccessKind::kStore, .ptr = slot_at(in, 0), .mask = slot_at(in, 2), .value = slot_at(in, 1)};
  return {};
}

void emit_load(Lowering& l, const ir::Op& op, Slot result, Slot ptrs, std::optional<Slot> mask,
               std::optional<Slot> other) {
  std::vector<Slot> operands = {ptrs};
  LoadData d{kNoSlot, kNoSlot};
  if (mask) d.mask = static_cast<int64_t>(operands.size()), operands.push_back(*mask);
  if (other) d.other = static_cast<int64_t>(operands.size()), operands.push_back(*other);
  l.fusible(l.emit<run_load>(op, {result}, std::move(operands), l.make<LoadData>(d)), Fusion::kLoad);
}

void emit_store(Lowering& l, const ir::Op& op, Slot ptrs, Slot value, std::optional<Slot> mask) {
  std::vector<Slot> operands = {ptrs, value};
  if (mask) operands.push_back(*mask);
  l.fusible(l.emit<run_store>(op, {}, std::move(operands)), Fusion::kStore);
}

void lower_load(Lowering& l, const ir::Op& op) {
  if (l.type_of(op.operand(0))->size == 0) return lower_block_load(l, op);
  auto* d = l.make<LoadData>(int64_t{Lowering::operand_index(op, "mask")},
                             int64_t{Lowering::operand_index(op, "other")});
  l.fusible(l.emit<run_load>(op, d), Fusion::kLoad);
}

void lower_store(Lowering& l, const ir::Op& op) {
  if (l.type_of(op.operand(0))->size == 0) return lower_block_store(l, op);
  l.fusible(l.emit<run_store>(op), Fusion::kStore);
}

}  // namespace triton_runner::tile
