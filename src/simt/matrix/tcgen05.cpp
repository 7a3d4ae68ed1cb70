// tcgen05 but for its products: allocation of tensor memory, loads and stores, copies from shared memory,
// commits. PTX ISA 9.7.16.
//
// Loads and stores happen when they are issued. Copies and products wait in the cluster's queue and are made,
// in the order of issue, when somebody waits for the mbarrier that a commit names.
#include <cstring>
#include <string>
#include <vector>

#include <triton_runner/base/text.h>

#include "async/mbarrier.h"
#include "check/check.h"
#include "divergence.h"
#include "matrix/matrix_descriptor.h"
#include "matrix/mma_fragments.h"
#include "matrix/tensor_memory.h"
#include "redux.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;

bool check_tensor(Exec& x, const Operands& in, Cta& cta, uint32_t lane, uint32_t address, uint32_t lanes,
                  uint32_t columns, const char* what) {
  const uint32_t row = tensor_lane(address), column = tensor_column(address);
  if (row + uint64_t{lanes} <= kTensorLanes && tensor_memory(cta).allocated(column, columns)) return true;
  x.trap(in, exec::TrapKind::kOutOfBounds,
         std::string(what) + " of tensor memory at lane " + std::to_string(row) + ", column " +
             std::to_string(column) + ": " + std::to_string(lanes) + " lanes and " + std::to_string(columns) +
             " columns from there are not allocated",
         lane);
  return false;
}

Cta* pair_of(Cta& cta) {
  const uint32_t rank = cta.rank ^ 1;
  return rank < cta.cluster->ctas.size() ? cta.cluster->ctas[rank].get() : nullptr;
}

void shift_rows(Cta& cta, uint32_t address, uint32_t lanes) {
  for (uint32_t column = tensor_column(address); column < tensor_column(address) + 8; ++column)
    for (uint32_t first = tensor_lane(address); first < tensor_lane(address) + lanes; first += 32) {
      uint32_t* words = tensor_memory(cta).words.get() + column * kTensorLanes + first;
      std::memmove(words, words + 1, 31 * sizeof *words);
    }
}

bool lower_tensor_address(Lowering& l, const ptx::Operand& operand, TensorAddress* out) {
  Lowering::Address a;
  if (!l.address(operand, &a)) return false;
  if (a.variable || a.bytes != 4)
    return l.error(operand.offset, "an address of tensor memory is a register of 32 bits");
  out->place = a.place;
  out->offset = static_cast<uint32_t>(a.offset);
  return true;
}

namespace {

// ---- alloc, dealloc

struct Allocation {
  MatrixAddress address;          // alloc: where the result goes
  uint32_t tensor = kNoRegister;  // dealloc: the address
  uint32_t columns = kNoRegister;
};

bool valid_count(uint32_t n) { return n >= kTensorUnit && n <= kTensorColumns && (n & (n - 1)) == 0; }

void run_alloc(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& a = *static_cast<const Allocation*>(in.data);
  TensorMemory& memory = tensor_memory(*x.cta);
  const uint32_t lane = first_on(x);
  const uint32_t columns = x.reg<uint32_t>(a.columns)[lane];
  if (!valid_count(columns))
    return x.trap(in, exec::TrapKind::kInvalid,
                  "tensor memory is allocated in powers of two from 32 to 512 columns, not in " +
                      std::to_string(columns),
                  lane);
  if (memory.relinquished)
    return x.trap(in, exec::TrapKind::kInvalid, "the block has given up its permit to allocate tensor memory",
                  lane);
  const uint32_t units = columns / kTensorUnit, all = kTensorColumns / kTensorUnit;
  for (uint32_t u = 0; u + units <= all; ++u) {
    bool free = true;
    for (uint32_t i = 0; i < units; ++i) free &= memory.owner[u + i] == 0;
    if (!free) continue;
    uint64_t at = static_cast<uint64_t>(a.address.offset);
    if (a.address.place == kNoRegister)
      at += x.cta->shared_base;
    else
      at += a.address.bytes == 4 ? x.reg<uint32_t>(a.address.place)[lane]
                                 : x.reg<uint64_t>(a.address.place)[lane];
    std::byte* to = x.shared(in, lane, static_cast<uint32_t>(at), 4, true);
    if (!to) return;
    for (uint32_t i = 0; i < units; ++i) memory.owner[u + i] = static_cast<uint16_t>(columns);
    const uint32_t address = u * kTensorUnit;
    if (x.worker->checks) x.worker->checks->allocated(x, address, columns);
    std::memcpy(to, &address, 4);
    return;
  }
  x.retry_later(instr_of(in));
}

void run_dealloc(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& a = *static_cast<const Allocation*>(in.data);
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

void run_relinquish(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  tensor_memory(*x.cta).relinquished = true;
}

void run_nothing(Lanes&, const Operands&) {}

// ---- ld, st

struct Transfer {
  TensorAddress address;
  std::vector<uint32_t> registers;
  enum Shape : uint8_t { k32x32, k16x64, k16x128, k16x256, k16x32x2 } shape = k32x32;
  bool packed = false;               // pack::16b, unpack::16b: two columns a register
  uint32_t split = 0;                // 16x32bx2: columns between the halves
  uint32_t lanes = 32, columns = 0;  // of the whole; `columns` from one base
};

struct Place {
  uint32_t lane, column;
};
// Where register r (of 32 bits, unpacked) of lane l is, from the column where its half begins.
Place place_of(const Transfer& t, uint32_t r, uint32_t l) {
  switch (t.shape) {
    case Transfer::k32x32:
      return {l, r};
    case Transfer::k16x64:
      return {l / 4 + 8 * (l % 2), 2 * r + l / 2 % 2};
    case Transfer::k16x128:
      return {l / 4 + 8 * (r % 2), r / 2 * 4 + l % 4};
    case Transfer::k16x256:
      return {l / 4 + 8 * (r / 2 % 2), r / 4 * 8 + 2 * (l % 4) + r % 2};
    default:
      return {l % 16, r};
  }
}

// The lanes that a warp may touch are a quarter; false after a trap.
bool transfer_base(Exec& x, const Operands& in, const Transfer& t, uint32_t w, uint32_t* lane,
                   uint32_t* column) {
  const uint32_t address = t.address.at(x, w);
  const uint32_t quarter = (x.first + w) / 32 % 4 * 32;
  *lane = tensor_lane(address);
  *column = tensor_column(address);
  if (*lane < quarter || *lane + t.lanes > quarter + 32) {
    x.trap(in, exec::TrapKind::kOutOfBounds,
           "warp " + std::to_string((x.first + w) / 32) + " reaches lanes " + std::to_string(quarter) +
               " to " + std::to_string(quarter + 31) + " of tensor memory; the address names lane " +
               std::to_string(*lane) + ", and " + std::to_string(t.lanes) + " lanes are wanted",
           w);
    return false;
  }
  const uint32_t columns = t.shape == Transfer::k16x32x2 ? t.columns + t.split : t.columns;
  return check_tensor(x, in, *x.cta, w, address, t.lanes, columns, "an access");
}

template <bool kLoad>
void run_transfer(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  if (!x.converged(instr_of(in))) return;
  const auto& t = *static_cast<const Transfer*>(in.data);
  uint32_t* memory = tensor_memory(*x.cta).words.get();
  for (uint32_t w = 0; w < x.count; w += 32) {
    if (x.mask && !x.mask[w]) continue;
    uint32_t lane, column;
    if (!transfer_base(x, in, t, w, &lane, &column)) return;
    if (Checks* checks = x.worker->checks) {
      const uint32_t halves = t.shape == Transfer::k16x32x2 && t.split != 0 ? 2 : 1;
      for (uint32_t k = 0; k < halves * t.columns; ++k) {
        const uint32_t c = column + k / t.columns * t.split + k % t.columns;
        if (!checks->tensor(x, in, w, {x.cta, c * kTensorLanes + lane, t.lanes, !kLoad, true})) return;
      }
    }
    for (uint32_t i = 0; i < t.registers.size(); ++i) {
      uint32_t* reg = x.reg<uint32_t>(t.registers[i]) + w;
      if (t.shape == Transfer::k32x32 && !t.packed) {
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

// ld.red: the smallest or largest of what each thread has loaded.
struct Fold {
  std::vector<uint32_t> registers;
  uint32_t result = kNoRegister;
  Redux op = Redux::kMinU;
  bool is_float = false, nan = false;
  uint32_t keep = ~0u;  // bits: all but the sign for .abs
};

void run_fold(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& f = *static_cast<const Fold*>(in.data);
  uint32_t* result = x.reg<uint32_t>(f.result);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    uint32_t value = x.reg<uint32_t>(f.registers[0])[i] & f.keep;
    for (uint32_t r : f.registers) value = redux_step(f.op, value, x.reg<uint32_t>(r)[i] & f.keep, f.nan);
    result[i] = f.is_float && std::isnan(std::bit_cast<float>(value)) ? 0x7fffffff : value;
  }
}

bool lower_fold(Lowering& l, const ptx::Instruction& in, const std::vector<uint32_t>& registers) {
  const ptx::Operand& result = in.operands[1];
  Fold f;
  f.registers = registers;
  f.result =
      l.reg(result.kind == OperandKind::kVector && result.parts.size() == 1 ? result.parts[0] : result);
  if (f.result == kNoRegister)
    return l.error(result.offset, "'" + std::string(in.spelling) + "' reduces to one register");
  f.is_float = in.has(Mod::kF32);
  const bool max = in.has(Mod::kMax), is_signed = in.has(Mod::kS32);
  f.op = f.is_float  ? max ? Redux::kMaxF : Redux::kMinF
         : is_signed ? max ? Redux::kMaxS : Redux::kMinS
         : max       ? Redux::kMaxU
                     : Redux::kMinU;
  f.nan = in.has(Mod::kNaN);
  if (in.has(Mod::kAbs)) f.keep = 0x7fffffff;
  l.emit(run_fold).data = l.code.keep(std::move(f));
  return true;
}

bool lower_transfer(Lowering& l, const ptx::Instruction& in, bool load) {
  Transfer t;
  struct Row {
    Mod mod;
    Transfer::Shape shape;
    uint32_t lanes, registers, columns;  // of .x1
  };
  constexpr Row kRows[] = {{Mod::k32x32b, Transfer::k32x32, 32, 1, 1},
                           {Mod::k16x64b, Transfer::k16x64, 16, 1, 2},
                           {Mod::k16x128b, Transfer::k16x128, 16, 2, 4},
                           {Mod::k16x256b, Transfer::k16x256, 16, 4, 8},
                           {Mod::k16x32bx2, Transfer::k16x32x2, 16, 1, 1}};
  uint32_t times = 0, registers = 0;
  for (Mod mod : in.mods) {
    const std::string_view text = ptx::text(mod);
    if (text.size() > 1 && text[0] == 'x' && base::is_digit(text[1]))
      times = static_cast<uint32_t>(std::strtoul(text.data() + 1, nullptr, 10));
    for (const Row& row : kRows)
      if (row.mod == mod) {
        t.shape = row.shape;
        t.lanes = row.lanes;
        registers = row.registers;
        t.columns = row.columns;
      }
  }
  t.packed = in.has(Mod::kPack16b) || in.has(Mod::kUnpack16b);
  registers *= times;
  t.columns *= times * (t.packed ? 2 : 1);
  const bool split = t.shape == Transfer::k16x32x2;
  const bool reduces = in.has(Mod::kRed);
  const size_t address = reduces ? 2 : load ? 1 : 0, values = load ? 0 : (split ? 2 : 1);
  if (in.operands.size() < (split ? 3u : 2u) + (reduces ? 1 : 0))
    return l.error(in, "'" + std::string(in.spelling) + "' has too few operands");
  if (split) {
    int64_t offset = 0;
    if (!l.integer(in.operands[address + 1], &offset)) return false;
    t.split = static_cast<uint32_t>(offset);
    if (offset < 0 || offset > 512) return l.error(in, "the halves are at most 512 columns apart");
  }
  t.registers.resize(registers);
  uint32_t count = 0;
  if (!lower_tensor_address(l, in.operands[address], &t.address) ||
      !lower_registers(l, in, in.operands[values], Mod::kB32, load, t.registers.data(), &count, registers))
    return false;
  if (count != registers)
    return l.error(in.operands[values].offset, "'" + std::string(in.spelling) + "' takes " +
                                                   std::to_string(registers) + " registers, there are " +
                                                   std::to_string(count));
  Instr& out = l.emit(load ? run_transfer<true> : run_transfer<false>);
  const Transfer& kept = *l.code.keep(std::move(t));
  out.data = &kept;
  return !reduces || lower_fold(l, in, kept.registers);
}

// ---- cp

struct Copy {
  TensorAddress address;
  uint32_t descriptor = kNoRegister;
  uint32_t rows = 128, bytes = 32;  // of the source
  enum Spread : uint8_t { kNone, kWarps02, kWarps01, kAll } spread = kNone;
  uint32_t unpack = 0;  // bits of source elements: 6, 4, or 0
  bool pair = false;
};

struct CopyOp : AsyncOp {
  bool is_tensor_core() const override { return true; }
  const Instr* instr;
  Cta* cta;
  uint64_t descriptor;
  uint32_t address;
  Checks::UnderWay accesses{};  // of a checked launch
  void complete(Cluster&) override {
    const auto& c = *static_cast<const Copy*>(instr->data);
    copy(c, *cta);
    if (c.pair)
      if (Cta* other = pair_of(*cta)) copy(c, *other);
    Exec x = late_exec(*cta);
    if (x.worker->checks) x.worker->checks->finish(x, *instr, accesses, false);
  }
  void list_accesses(const Copy& c, const Cta& to) {
    SharedMatrix m;
    if (!tcgen05_matrix(descriptor, false, &m)) return;
    each_chunk(m, 0, c.rows, c.bytes, 8, [&](uint32_t at) {
      if (at + uint64_t{16} <= to.shared_bytes) accesses.ranges.push_back({&to, at, 16});
    });
    const uint32_t lanes = c.spread == Copy::kNone ? c.rows : kTensorLanes, column = tensor_column(address);
    if (tensor_lane(address) + lanes > kTensorLanes || column + c.bytes / 4 > kTensorColumns) return;
    for (uint32_t i = 0; i < c.bytes / 4; ++i)
      accesses.ranges.push_back({&to, (column + i) * kTensorLanes + tensor_lane(address), lanes, true, true});
  }
  void copy(const Copy& c, Cta& to) {
    Exec x = late_exec(to);
    SharedMatrix m;
    if (!tcgen05_matrix(descriptor, false, &m))
      return x.trap(*instr, exec::TrapKind::kInvalid,
                    "the descriptor of tcgen05.cp names a swizzle that does not exist");
    TensorMemory& memory = tensor_memory(to);
    const uint32_t column = tensor_column(address), columns = c.bytes / 4;
    const uint32_t lanes = c.spread == Copy::kNone ? c.rows : kTensorLanes, base = tensor_lane(address);
    if (!check_tensor(x, *instr, to, kNoRegister, address, lanes, columns, "a copy into a part")) return;
    for (uint32_t row = 0; row < c.rows; ++row)
      for (uint32_t chunk = 0; chunk < c.bytes / 16; ++chunk) {
        const uint32_t at = m.k_chunk(row, chunk);
        if (at + uint64_t{16} > to.shared_bytes)
          return x.trap(*instr, exec::TrapKind::kOutOfBounds,
                        "the descriptor of tcgen05.cp reaches shared address " + std::to_string(at) +
                            ": the block has " + std::to_string(to.shared_bytes) + " bytes of shared memory",
                        kNoRegister, kSharedWindow | at, 16);
        uint8_t bytes[17] = {}, raw[17] = {};
        std::memcpy(raw, to.shared + at, 16);
        if (c.unpack == 0) {
          std::memcpy(bytes, raw, 16);
        } else {
          for (uint32_t i = 0; i < 16; ++i) {
            const uint32_t bit = i * c.unpack, two = raw[bit / 8] | static_cast<uint32_t>(raw[bit / 8 + 1])
                                                                        << 8;
            bytes[i] = static_cast<uint8_t>(two >> (bit % 8) & ((1u << c.unpack) - 1));
          }
        }
        auto put = [&](uint32_t lane) {
          for (uint32_t word = 0; word < 4; ++word)
            std::memcpy(&memory.words[(column + chunk * 4 + word) * kTensorLanes + base + lane],
                        bytes + 4 * word, 4);
        };
        switch (c.spread) {
          case Copy::kNone:
            put(row);
            break;
          case Copy::kWarps02:
            put(row);
            put(row + 64);
            break;
          case Copy::kWarps01:
            put(row / 32 * 64 + row % 32);
            put(row / 32 * 64 + 32 + row % 32);
            break;
          case Copy::kAll:
            for (uint32_t warp = 0; warp < 4; ++warp) put(32 * warp + row);
            break;
        }
      }
  }
};

void run_copy(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& c = *static_cast<const Copy*>(in.data);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    auto op = std::make_unique<CopyOp>();
    op->instr = &instr_of(in);
    op->cta = x.cta;
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

bool lower_copy(Lowering& l, const ptx::Instruction& in) {
  Copy c;
  c.pair = in.has(Mod::kCtaGroup2);
  c.rows = in.has(Mod::k4x256b) ? 4 : in.has(Mod::k64x128b) ? 64 : in.has(Mod::k32x128b) ? 32 : 128;
  c.bytes = in.has(Mod::k128x256b) || in.has(Mod::k4x256b) ? 32 : 16;
  if (in.has(Mod::kWarpx4)) c.spread = Copy::kAll;
  if (in.has(Mod::kWarpx2_02_13)) c.spread = Copy::kWarps02;
  if (in.has(Mod::kWarpx2_01_23)) c.spread = Copy::kWarps01;
  c.unpack = in.has(Mod::kB6x16P32) ? 6 : in.has(Mod::kB4x16P64) ? 4 : 0;
  if (!lower_tensor_address(l, in.operands[0], &c.address)) return false;
  c.descriptor = l.place(in.operands[1], Mod::kB64);
  if (c.descriptor == kNoRegister) return false;
  l.emit(run_copy).data = l.code.keep(c);
  return true;
}

// ---- shift

struct Shift {
  TensorAddress address;
  bool pair = false;
};

struct ShiftOp : AsyncOp {
  bool is_tensor_core() const override { return true; }
  const Instr* instr;
  Cta* cta;
  uint32_t address;
  Checks::UnderWay accesses{};  // of a checked launch
  const Shift& shift() const { return *static_cast<const Shift*>(instr->data); }
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

void run_shift(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    auto op = std::make_unique<ShiftOp>();
    op->instr = &instr_of(in);
    op->cta = x.cta;
    op->address = op->shift().address.at(x, i);
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

// ---- commit

struct Commit {
  MatrixAddress address;
  uint32_t mask = kNoRegister;  // blocks of the cluster
};

struct CommitOp : AsyncOp {
  const Instr* instr;
  Cta* cta;
  uint32_t address;
  uint32_t mask;  // of the cluster's blocks
  bool tells(uint32_t barrier) const override {
    return ((barrier ^ address) & kOffsetMask) == 0 && (mask >> (barrier >> kRankShift) & 1);
  }
  void complete(Cluster& cluster) override {
    Exec x = late_exec(*cta);
    for (uint32_t rank = 0; rank < cluster.ctas.size(); ++rank)
      if (mask >> rank & 1)
        if (!mbarrier_arrive(x, *instr, kNoRegister, rank << kRankShift | (address & kOffsetMask))) return;
  }
};

void run_commit(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& c = *static_cast<const Commit*>(in.data);
  for (uint32_t i = 0; i < x.count; ++i) {
    if (!x.on(i)) continue;
    uint64_t at = static_cast<uint64_t>(c.address.offset);
    if (c.address.place == kNoRegister)
      at += x.cta->shared_base;
    else
      at += c.address.bytes == 4 ? x.reg<uint32_t>(c.address.place)[i] : x.reg<uint64_t>(c.address.place)[i];
    if (!mbarrier_valid(x, in, i, static_cast<uint32_t>(at))) return;
    auto op = std::make_unique<CommitOp>();
    op->instr = &instr_of(in);
    op->cta = x.cta;
    op->address = static_cast<uint32_t>(at);
    op->mask = c.mask == kNoRegister ? 1u << (op->address >> kRankShift) : x.reg<uint16_t>(c.mask)[i];
    x.cta->cluster->issue(std::move(op));
  }
}

}  // namespace

bool lower_tcgen05(Lowering& l, const ptx::Instruction& in) {
  const std::string_view what = in.spelling.substr(sizeof "tcgen05." - 1);
  auto is = [&](std::string_view name) {
    return what.starts_with(name) &&
           (what.size() == name.size() || what[name.size()] == '.' || what[name.size()] == ':');
  };
  auto simple = [&](Handler run) {
    l.emit(run);
    return true;
  };
  if (is("mma")) return lower_tcgen05_mma(l, in);
  if (is("ld") || is("st")) return lower_transfer(l, in, is("ld"));
  if (is("cp")) return lower_copy(l, in);
  if (is("shift")) {
    Shift s;
    s.pair = in.has(Mod::kCtaGroup2);
    if (!lower_tensor_address(l, in.operands[0], &s.address)) return false;
    l.emit(run_shift).data = l.code.keep(s);
    return true;
  }
  if (is("wait") || is("fence")) return simple(run_nothing);
  if (is("relinquish_alloc_permit")) return simple(run_relinquish);
  if (is("alloc") || is("dealloc")) {
    Allocation a;
    a.columns = l.place(in.operands[1], Mod::kB32);
    if (a.columns == kNoRegister) return false;
    if (is("alloc")) {
      if (!lower_matrix_address(l, in, in.operands[0], &a.address)) return false;
    } else {
      a.tensor = l.place(in.operands[0], Mod::kB32);
      if (a.tensor == kNoRegister) return false;
    }
    Instr& out = l.emit(is("alloc") ? run_alloc : run_dealloc);
    out.data = l.code.keep(a);
    return true;
  }
  if (is("commit")) {
    Commit c;
    if (!lower_matrix_address(l, in, in.operands[0], &c.address)) return false;
    if (in.operands.size() > 1) {
      c.mask = l.place(in.operands[1], Mod::kB16);
      if (c.mask == kNoRegister) return false;
    }
    l.emit(run_commit).data = l.code.keep(c);
    return true;
  }
  return l.error(in, "the engine does not execute '" + std::string(in.spelling) + "'");
}

}  // namespace triton_runner::simt
