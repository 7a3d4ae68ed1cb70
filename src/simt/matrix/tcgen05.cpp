// Executes the instructions of tensor memory but for products (tcgen05_mma.cpp). Loads and stores happen when
// they are issued. Copies wait in the cluster's queue and are made, in the order of issue, when somebody
// waits for the mbarrier that a commit names.
#include "matrix/tcgen05.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "async/mbarrier.h"
#include "check/check.h"
#include "matrix/matrix_descriptor.h"
#include "state/divergence.h"
#include "state/refuse.h"

namespace triton_runner::simt {

bool check_tensor(Exec& x, const Operands& in, Cta& cta, uint32_t lane, uint32_t address, uint32_t lanes,
                  uint32_t columns, const char* what) {
  const uint32_t row = tensor_lane(address), column = tensor_column(address);
  if (row + uint64_t{lanes} <= kTensorLanes && tensor_memory(cta).allocated(column, columns)) return true;
  return refuse(x, in, exec::TrapKind::kOutOfBounds,
                std::string(what) + " of tensor memory at lane " + std::to_string(row) + ", column " +
                    std::to_string(column) + ": " + std::to_string(lanes) + " lanes and " +
                    std::to_string(columns) + " columns from there are not allocated",
                lane);
}

Cta* pair_of(Cta& cta) {
  const uint32_t rank = cta.rank ^ 1;
  return rank < cta.cluster->ctas.size() ? cta.cluster->ctas[rank].get() : nullptr;
}

void shift_rows(Cta& cta, uint32_t address, uint32_t lanes) {
  for (uint32_t column = tensor_column(address); column < tensor_column(address) + 8; ++column)
    for (uint32_t first = tensor_lane(address); first < tensor_lane(address) + lanes; first += 32) {
      uint32_t* words = tensor_memory(cta).words.data() + column * kTensorLanes + first;
      std::memmove(words, words + 1, 31 * sizeof *words);
    }
}

namespace {

// ---- alloc, dealloc

bool valid_count(uint32_t n) { return n >= kTensorUnit && n <= kTensorColumns && (n & (n - 1)) == 0; }

// Traps where so many columns may not be asked for.
bool may_take(Exec& x, const Operands& in, uint32_t lane, uint32_t columns) {
  std::string why;
  if (!valid_count(columns))
    why = "tensor memory is allocated in powers of two from 32 to 512 columns, not in " +
          std::to_string(columns);
  else if (tensor_memory(*x.cta).relinquished)
    why = "the block has given up its permit to allocate tensor memory";
  if (!why.empty()) x.trap(in, exec::TrapKind::kInvalid, why, lane);
  return why.empty();
}

// The first of the units that were free, in all of these blocks, and are taken now, or kNoUnit.
constexpr uint32_t kNoUnit = ~0u;
uint32_t take(Exec& x, std::initializer_list<Cta*> ctas, uint32_t columns) {
  const uint32_t units = columns / kTensorUnit;
  for (uint32_t u = 0; u + units <= TensorMemory::kUnits; ++u) {
    auto is_free = [&](Cta* cta) {
      const auto first = tensor_memory(*cta).owner.begin() + u;
      return std::all_of(first, first + units, [](uint16_t owner) { return owner == 0; });
    };
    if (!std::all_of(ctas.begin(), ctas.end(), is_free)) continue;
    for (Cta* cta : ctas) {
      std::fill_n(tensor_memory(*cta).owner.begin() + u, units, static_cast<uint16_t>(columns));
      if (x.worker->checks) x.worker->checks->allocated(x, *cta, u * kTensorUnit, columns);
    }
    return u;
  }
  return kNoUnit;
}

}  // namespace

void tensor_alloc(Exec& x, const Operands& in, const TensorAllocation& a) {
  if (!x.converged(instr_of(in))) return;
  const uint32_t lane = first_on(x);
  const uint32_t columns = x.reg<uint32_t>(a.columns)[lane];
  if (!may_take(x, in, lane, columns)) return;
  const uint32_t first = take(x, {x.cta}, columns);
  if (first == kNoUnit) return x.retry_later(instr_of(in));
  std::byte* to = x.shared(in, lane, static_cast<uint32_t>(a.address.at(x, lane)), 4, true);
  if (!to) return;
  const uint32_t address = first * kTensorUnit;
  std::memcpy(to, &address, 4);
}

void tensor_take(Exec& x, const Operands& in) {
  for (uint32_t i : x.lanes()) {
    const uint32_t columns = x.reg<uint32_t>(in.a)[i] * kTensorUnit;
    if (!may_take(x, in, i, columns)) return;
    Cta* other = in.small ? pair_of(*x.cta) : x.cta;
    if (!other)
      return x.trap(in, exec::TrapKind::kInvalid, "the block has no other one to be a pair with", i);
    const uint32_t first = other == x.cta ? take(x, {x.cta}, columns) : take(x, {x.cta, other}, columns);
    x.reg<uint32_t>(in.d)[i] = first;
    x.reg<int8_t>(in.e)[i] = first == kNoUnit ? 0 : -1;
  }
}

void tensor_give_back(Exec& x, const Operands& in) {
  TensorMemory& memory = tensor_memory(*x.cta);
  for (uint32_t i : x.lanes())
    for (uint32_t u = 0; u < memory.owner.size(); ++u)
      if (!(x.reg<uint32_t>(in.a)[i] >> u & 1)) memory.owner[u] = 0;
  ++x.cta->cluster->events;
}

void tensor_dealloc(Exec& x, const Operands& in, const TensorAllocation& a) {
  if (!x.converged(instr_of(in))) return;
  TensorMemory& memory = tensor_memory(*x.cta);
  const uint32_t lane = first_on(x);
  const uint32_t address = x.reg<uint32_t>(a.tensor)[lane], columns = x.reg<uint32_t>(a.columns)[lane];
  const uint32_t column = tensor_column(address);
  bool ok = valid_count(columns) && column % kTensorUnit == 0 && memory.allocated(column, columns);
  for (uint32_t u = column / kTensorUnit; ok && u < (column + columns) / kTensorUnit; ++u)
    ok = memory.owner[u] == columns;
  if (!ok)
    return x.trap(in, exec::TrapKind::kInvalid,
                  "no part of tensor memory with " + std::to_string(columns) +
                      " columns was allocated at column " + std::to_string(column),
                  lane);
  for (uint32_t u = column / kTensorUnit; u < (column + columns) / kTensorUnit; ++u) memory.owner[u] = 0;
  ++x.cta->cluster->events;
}

void tensor_relinquish(Exec& x, const Operands& in) {
  if (!x.converged(instr_of(in))) return;
  tensor_memory(*x.cta).relinquished = true;
}

namespace {

// ---- ld, st

struct Place {
  uint32_t lane, column;
};
// The place of register r (of 32 bits, unpacked) of lane l, from the column where its half begins.
Place place_of(const TensorTransfer& t, uint32_t r, uint32_t l) {
  switch (t.shape) {
    case TensorTransfer::k32x32:
      return {l, r};
    case TensorTransfer::k16x64:
      return {l / 4 + 8 * (l % 2), 2 * r + l / 2 % 2};
    case TensorTransfer::k16x128:
      return {l / 4 + 8 * (r % 2), r / 2 * 4 + l % 4};
    case TensorTransfer::k16x256:
      return {l / 4 + 8 * (r / 2 % 2), r / 4 * 8 + 2 * (l % 4) + r % 2};
    default:
      return {l % 16, r};
  }
}

// The lanes that a warp may touch are a quarter; false after a trap.
bool transfer_base(Exec& x, const Operands& in, const TensorTransfer& t, uint32_t w, uint32_t* lane,
                   uint32_t* column) {
  const uint32_t address = t.address.at(x, w);
  const uint32_t quarter = (x.first + w) / 32 % 4 * 32;
  *lane = tensor_lane(address);
  *column = tensor_column(address);
  if (*lane < quarter || *lane + t.lanes > quarter + 32) {
    return refuse(x, in, exec::TrapKind::kOutOfBounds,
                  "warp " + std::to_string((x.first + w) / 32) + " reaches lanes " + std::to_string(quarter) +
                      " to " + std::to_string(quarter + 31) + " of tensor memory; the address names lane " +
                      std::to_string(*lane) + ", and " + std::to_string(t.lanes) + " lanes are wanted",
                  w);
  }
  const uint32_t columns = t.shape == TensorTransfer::k16x32x2 ? t.columns + t.split : t.columns;
  return check_tensor(x, in, *x.cta, w, address, t.lanes, columns, "an access");
}

template <bool kLoad>
void run_transfer(Exec& x, const Operands& in, const TensorTransfer& t) {
  if (!x.converged(instr_of(in))) return;
  uint32_t* memory = tensor_memory(*x.cta).words.data();
  for (uint32_t w : x.warps()) {
    uint32_t lane, column;
    if (!transfer_base(x, in, t, w, &lane, &column)) return;
    if (Checks* checks = x.worker->checks) {
      const uint32_t halves = t.shape == TensorTransfer::k16x32x2 && t.split != 0 ? 2 : 1;
      for (uint32_t k = 0; k < halves * t.columns; ++k) {
        const uint32_t c = column + k / t.columns * t.split + k % t.columns;
        if (!checks->tensor(x, in, w, {x.cta, c * kTensorLanes + lane, t.lanes, !kLoad, true})) return;
      }
    }
    for (uint32_t i = 0; i < t.registers.size(); ++i) {
      uint32_t* reg = x.reg<uint32_t>(t.registers[i]) + w;
      if (t.shape == TensorTransfer::k32x32 && !t.packed) {
        uint32_t* at = memory + (column + i) * kTensorLanes + lane;
        kLoad ? std::memcpy(reg, at, 128) : std::memcpy(at, reg, 128);
        continue;
      }
      for (uint32_t l = 0; l < 32; ++l) {
        const uint32_t first = column + l / 16 * t.split;
        const Place p = place_of(t, i, l);
        if (!t.packed) {
          uint32_t& at = memory[(first + p.column) * kTensorLanes + lane + p.lane];
          kLoad ? void(reg[l] = at) : void(at = reg[l]);
          continue;
        }
        uint32_t value = 0;  // columns 2 c and 2 c + 1 are the halves
        for (uint32_t half = 0; half < 2; ++half) {
          uint32_t& at = memory[(first + 2 * p.column + half) * kTensorLanes + lane + p.lane];
          if (kLoad)
            value |= (at & 0xffff) << (16 * half);
          else
            at = reg[l] >> (16 * half) & 0xffff;
        }
        if (kLoad) reg[l] = value;
      }
    }
  }
}

}  // namespace

Handler transfer_handler(bool load) {
  return load ? handler<run_transfer<true>> : handler<run_transfer<false>>;
}

void tensor_fold(Exec& x, const Operands&, const TensorFold& f) {
  uint32_t* result = x.reg<uint32_t>(f.result);
  for (uint32_t i : x.lanes()) {
    uint32_t value = x.reg<uint32_t>(f.registers[0])[i] & f.keep;
    for (uint32_t r : f.registers) value = redux_step(f.op, value, x.reg<uint32_t>(r)[i] & f.keep, f.nan);
    result[i] = f.is_float && std::isnan(std::bit_cast<float>(value)) ? 0x7fffffff : value;
  }
}

namespace {

// ---- cp

struct CopyOp : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return "copy to column " + std::to_string(tensor_column(address)) + " of tensor memory";
  }
  bool is_tensor_core() const override { return true; }
  uint64_t descriptor;
  uint32_t address;
  Checks::UnderWay accesses{};  // of a checked launch
  void complete(Cluster&) override {
    const auto& c = *static_cast<const TensorCopy*>(instr->data);
    copy(c, *cta);
    if (c.pair)
      if (Cta* other = pair_of(*cta)) copy(c, *other);
    Exec x = late_exec(*cta);
    if (x.worker->checks) x.worker->checks->finish(x, *instr, accesses, false);
  }
  void list_accesses(const TensorCopy& c, const Cta& to) {
    SharedMatrix m;
    if (!tcgen05_matrix(descriptor, false, &m)) return;
    each_chunk(m, 0, c.rows, c.bytes, 8, [&](uint32_t at) {
      if (at + uint64_t{16} <= to.shared_bytes) accesses.ranges.push_back({&to, at, 16});
    });
    const uint32_t lanes = c.spread == TensorCopy::kNone ? c.rows : kTensorLanes,
                   column = tensor_column(address);
    if (tensor_lane(address) + lanes > kTensorLanes || column + c.bytes / 4 > kTensorColumns) return;
    for (uint32_t i = 0; i < c.bytes / 4; ++i)
      accesses.ranges.push_back({&to, (column + i) * kTensorLanes + tensor_lane(address), lanes, true, true});
  }
  void copy(const TensorCopy& c, Cta& to) {
    Exec x = late_exec(to);
    SharedMatrix m;
    if (!tcgen05_matrix(descriptor, false, &m))
      return x.trap(*instr, exec::TrapKind::kInvalid,
                    "the descriptor of tcgen05.cp names a swizzle that does not exist");
    TensorMemory& memory = tensor_memory(to);
    const uint32_t column = tensor_column(address), columns = c.bytes / 4;
    const uint32_t lanes = c.spread == TensorCopy::kNone ? c.rows : kTensorLanes, base = tensor_lane(address);
    if (!check_tensor(x, *instr, to, kNoRegister, address, lanes, columns, "a copy into a part")) return;
    for (uint32_t row = 0; row < c.rows; ++row)
      for (uint32_t chunk = 0; chunk < c.bytes / 16; ++chunk) {
        const uint32_t at = m.k_chunk(row, chunk);
        if (at + uint64_t{16} > to.shared_bytes)
          return x.trap(*instr, exec::TrapKind::kOutOfBounds,
                        "the descriptor of tcgen05.cp reaches shared address " + std::to_string(at) +
                            ": the block has " + std::to_string(to.shared_bytes) + " bytes of shared memory",
                        kNoRegister, kSharedWindow | at, 16);
        uint8_t bytes[16];
        unpack(c.bits, to.shared + at, bytes);
        auto put = [&](uint32_t lane) {
          for (uint32_t word = 0; word < 4; ++word)
            std::memcpy(&memory.words[(column + chunk * 4 + word) * kTensorLanes + base + lane],
                        bytes + 4 * word, 4);
        };
        switch (c.spread) {
          case TensorCopy::kNone:
            put(row);
            break;
          case TensorCopy::kWarps02:
            put(row);
            put(row + 64);
            break;
          case TensorCopy::kWarps01:
            put(row / 32 * 64 + row % 32);
            put(row / 32 * 64 + 32 + row % 32);
            break;
          case TensorCopy::kAll:
            for (uint32_t warp = 0; warp < 4; ++warp) put(32 * warp + row);
            break;
        }
      }
  }
};

}  // namespace

void tensor_copy(Exec& x, const Operands& in, const TensorCopy& c) {
  for (uint32_t i : x.lanes()) {
    auto op = std::make_unique<CopyOp>(x, in);
    op->descriptor = x.reg<uint64_t>(c.descriptor)[i];
    op->address = c.address.at(x, i);
    if (Checks* checks = x.worker->checks) {
      op->list_accesses(c, *x.cta);
      if (const Cta* other = c.pair ? pair_of(*x.cta) : nullptr) op->list_accesses(c, *other);
      if (!checks->issue(x, in, i, op->accesses)) return;
    }
    x.cta->cluster->issue(std::move(op));
  }
}

namespace {

// ---- shift

struct ShiftOp : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return "shift of rows at column " + std::to_string(tensor_column(address)) + " of tensor memory";
  }
  bool is_tensor_core() const override { return true; }
  uint32_t address;
  Checks::UnderWay accesses{};  // of a checked launch
  const TensorShift& shift() const { return *static_cast<const TensorShift*>(instr->data); }
  std::vector<Cta*> blocks() const {
    std::vector<Cta*> out{cta};
    if (Cta* other = shift().pair ? pair_of(*cta) : nullptr) out.push_back(other);
    return out;
  }
  void complete(Cluster&) override {
    Exec x = late_exec(*cta);
    for (Cta* block : blocks()) {
      if (!check_tensor(x, *instr, *block, kNoRegister, address, 32, 8, "rows that are shifted")) return;
      shift_rows(*block, address, 32);
    }
    if (x.worker->checks) x.worker->checks->finish(x, *instr, accesses, false);
  }
};

}  // namespace

void tensor_shift(Exec& x, const Operands& in, const TensorShift& shift) {
  for (uint32_t i : x.lanes()) {
    auto op = std::make_unique<ShiftOp>(x, in);
    op->address = shift.address.at(x, i);
    if (tensor_lane(op->address) % 32 != 0)
      return x.trap(in, exec::TrapKind::kMisaligned,
                    "rows are shifted from a lane on that is a multiple of 32, not from " +
                        std::to_string(tensor_lane(op->address)),
                    i);
    if (Checks* checks = x.worker->checks) {
      const uint32_t column = tensor_column(op->address), lane = tensor_lane(op->address);
      for (Cta* block : op->blocks())
        for (uint32_t c = column; c < column + 8 && c < kTensorColumns && lane < kTensorLanes; ++c)
          op->accesses.ranges.push_back({block, c * kTensorLanes + lane, 32, true, true});
      if (!checks->issue(x, in, i, op->accesses)) return;
    }
    x.cta->cluster->issue(std::move(op));
  }
}

namespace {

// ---- commit

struct CommitOp : AsyncOp {
  using AsyncOp::AsyncOp;
  std::string text() const override {
    return "commit, which signals the mbarrier at " + shared_text(address);
  }
  uint32_t address;
  uint32_t mask;  // of the cluster's blocks
  bool tells(uint32_t barrier) const override {
    return ((barrier ^ address) & kOffsetMask) == 0 && (mask >> (barrier >> kRankShift) & 1);
  }
  void complete(Cluster& cluster) override {
    Exec x = late_exec(*cta);
    for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) {
      const uint32_t at = rank << kRankShift | (address & kOffsetMask);
      // Invalidated since the commit, and not used again: the arrival is lost, and nobody waits for it. Triton 3.6
      // invalidates the barriers of a ring before its last products are done.
      if (!(mask >> rank & 1) || mbarrier_is_gone(x, *instr, kNoRegister, at)) continue;
      if (!mbarrier_arrive(x, *instr, kNoRegister, at)) return;
    }
  }
};

}  // namespace

void tensor_commit(Exec& x, const Operands& in, const TensorCommit& c) {
  for (uint32_t i : x.lanes()) {
    const auto at = static_cast<uint32_t>(c.address.at(x, i));
    if (!mbarrier_valid(x, in, i, at)) return;
    auto op = std::make_unique<CommitOp>(x, in);
    op->address = at;
    op->mask = c.mask == kNoRegister ? 1u << (at >> kRankShift) : x.reg<uint16_t>(c.mask)[i];
    x.cta->cluster->issue(std::move(op));
  }
}

}  // namespace triton_runner::simt
