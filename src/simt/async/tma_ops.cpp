// Executes copies of boxes, and reductions by them.
//
// The tensor map is read, and everything that will be accessed is checked, when the instruction is issued;
// the box is copied when somebody waits for it.
#include <algorithm>

#include <triton_runner/base/text.h>

#include "async/bulk.h"
#include "async/delivery.h"
#include "async/tma.h"
#include "check/check.h"
#include "state/refuse.h"

namespace triton_runner::simt {

namespace {

// The type of a reduction of the tensor map's elements.
AtomicType reduction_type(exec::MapElement element, AtomicOp operation) {
  using exec::MapElement;
  const bool bitwise =
      operation == AtomicOp::kAnd || operation == AtomicOp::kOr || operation == AtomicOp::kXor;
  switch (element) {
    case MapElement::kU32:
      return AtomicType::kU32;
    case MapElement::kS32:
      return AtomicType::kS32;
    case MapElement::kU64:
      return AtomicType::kU64;
    case MapElement::kS64:
      return AtomicType::kS64;
    case MapElement::kF16:
      return AtomicType::kF16;
    case MapElement::kF32:
    case MapElement::kF32Ftz:
      return bitwise ? AtomicType::kU32 : AtomicType::kF32;
    case MapElement::kF64:
      return bitwise ? AtomicType::kU64 : AtomicType::kF64;
    case MapElement::kBf16:
      return AtomicType::kBf16;
    default:
      return AtomicType::kOther;
  }
}

constexpr const char* kSurplusNote =
    "TMA stores and reductions write whole chunks of 16 bytes, past the end of dimension 0 (triton#11583); a "
    "GPU "
    "writes these bytes past the end of the tensor, and the engine drops them";

// Adds what a store writes of a row past the tensor, as far as it is memory of the launch.
void add_surplus(Exec& x, const Operands& in, uint32_t i, const TensorBox& box, int64_t end,
                 machine::BoxRow& row) {
  const uint32_t unit = box.global_unit;
  uint64_t at = row.address + static_cast<uint64_t>(row.inside()) * unit;
  for (; row.end < end && x.memory_for(in).writable(at, unit); ++row.end) at += unit;
  const auto bytes = static_cast<uint32_t>(end - row.end) * unit;
  if (bytes > 0 && (x.launch().options->checks & exec::kCheckSurplus))
    x.warn(in, exec::TrapKind::kOutOfBounds, "hardware",
           "a store of whole chunks of 16 bytes writes " + std::to_string(bytes) +
               (bytes == 1 ? " byte" : " bytes") + " past the end of dimension 0, at " + base::hex(at) +
               ", which is not memory of this launch: " + x.worker->memory.memory().describe(at, bytes),
           i, at, 0, {kSurplusNote});
}

// Returns whether everything that the box accesses may be; fills in box.accessed where that is not all of its
// rows.
bool may_access(Exec& x, const Operands& in, uint32_t i, bool write, TensorBox& box) {
  // One look for the whole box; row by row to find the fault.
  const auto bytes_of = [&](const machine::BoxRow& row) {
    return static_cast<uint32_t>(row.inside()) * box.global_unit;
  };
  uint64_t low = ~uint64_t{0}, high = 0;
  machine::BoxRows rows(box.place);
  for (uint32_t r = 0; r < box.rows; r++) {
    machine::BoxRow row = rows.next();
    if (write) row = stored_row(box, row);
    if (row.begin == row.end) continue;
    low = std::min(low, row.address);
    high = std::max(high, row.address + bytes_of(row));
  }
  if (low >= high) return true;
  exec::MemoryView& memory = x.memory_for(in);
  auto allowed = [&](uint64_t address, uint64_t bytes) {
    return write ? memory.writable(address, bytes) : memory.readable(address, bytes);
  };
  if (!x.worker->each_access && high - low < uint64_t{1} << 40 && allowed(low, high - low)) return true;
  if (x.goes_on() || write) box.accessed.resize(box.rows);
  machine::BoxRows again(box.place);
  for (uint32_t r = 0; r < box.rows; r++) {
    const machine::BoxRow whole = again.next();
    machine::BoxRow row = whole;
    const uint32_t unit = box.global_unit;
    if (x.goes_on() && !allowed(row.address, bytes_of(row))) {
      // The part that may be accessed is one: tensors and their rows are.
      uint64_t end = row.address + bytes_of(row);
      for (; row.begin != row.end && !allowed(end - unit, unit); row.end--, end -= unit)
        x.global(in, i, end - unit, unit, write);
      for (; row.begin != row.end && !allowed(row.address, unit); row.begin++, row.address += unit)
        x.global(in, i, row.address, unit, write);
    }
    if (write && row.begin != row.end && row.end == whole.end)
      add_surplus(x, in, i, box, stored_row(box, whole).end, row);
    if (!box.accessed.empty()) box.accessed[r] = row;
    if (row.begin != row.end && !x.global(in, i, row.address, bytes_of(row), write)) return false;
  }
  return true;
}

// The box that thread `i` names, and whether all of it that is inside of the tensor may be accessed.
bool box_of(Exec& x, const Operands& in, const BoxPlan& plan, uint32_t i, bool write, TensorBox& box) {
  const uint64_t address = plan.map.at(x, i);
  // Parameters are aligned as the text says, counted from the first of them; of machine code from the bank's start.
  const std::vector<std::byte>& params = x.launch().params;
  const uint64_t in_params = address - reinterpret_cast<uint64_t>(params.data());
  const bool from_first = !x.code().params.empty() && !x.code().begin_parameters;
  const uint64_t first = from_first ? x.code().params.front().offset : 0;
  if ((in_params < params.size() ? in_params - first : address) % 64 != 0)
    return refuse(x, in, exec::TrapKind::kMisaligned, "the tensor map is not aligned to 64 bytes", i, address,
                  exec::kTensorMapBytes);
  Counting* counting = std::exchange(x.worker->counting, nullptr);  // the map is no part of what is copied
  const std::byte* bytes = x.generic(in, i, address, exec::kTensorMapBytes, false);
  x.worker->counting = counting;
  if (!bytes) return false;
  auto map = exec::read_tensor_map(bytes);
  if (!map && x.code().level == "cubin") map = exec::read_hardware_map(bytes);
  if (!map) return invalid(x, in, i, "the 128 bytes at the address hold no tensor map of this engine");
  box.map = *map;
  box.exact_tails = x.launch().options->exact_tails;
  const size_t n = plan.coordinates.size();
  for (size_t d = 0; d < n && d < 5; d++) {
    const int32_t c = x.reg<int32_t>(plan.coordinates[d])[i];
    if (plan.mode == BoxMode::kGather && d > 0)
      box.gathered[d - 1] = c;
    else
      box.at[d] = c;
  }
  for (size_t d = 0; d < plan.offsets.size(); d++)
    box.offsets[d] = static_cast<uint16_t>(x.reg<uint16_t>(plan.offsets[d])[i]);
  if (std::string fault = prepare_box(box, plan.rank, plan.mode); !fault.empty())
    return invalid(x, in, i, std::move(fault));
  if (plan.mode == BoxMode::kTile && exec::tensor_map_element_bits(map->element_type) >= 8) {
    const int64_t least = *std::min_element(box.at, box.at + plan.rank);
    if (std::string fault = exec::box_fault(int64_t{box.at[0]} * box.global_unit, least, write);
        !fault.empty())
      return invalid(x, in, i, std::move(fault));
  }
  return may_access(x, in, i, write, box);
}

struct BoxLoad : Delivery {
  using Delivery::Delivery;
  TensorBox box;
  void write(std::byte* block, uint32_t offset) override { load_box(box, block, offset); }
};

struct BoxStore : BulkStore {
  using BulkStore::BulkStore;
  TensorBox box;
  Update update = nullptr;
  void write(const std::byte* block, uint32_t offset) override { store_box(box, block, offset, update); }
};

// False: it trapped.
bool is_aligned(Exec& x, const Operands& in, uint32_t lane, const TensorBox& box, uint32_t address) {
  if (address % 128 == 0) return true;
  return refuse(x, in, exec::TrapKind::kMisaligned, "the shared address of a box is not aligned to 128 bytes",
                lane, kSharedWindow | address, box.shared_bytes());
}

}  // namespace

void run_box_load(Exec& x, const Operands& in, const BoxPlan& plan) {
  for (uint32_t i : x.lanes()) {
    auto op = std::make_unique<BoxLoad>(x, in, i);
    if (!box_of(x, in, plan, i, false, op->box)) return;
    const uint32_t to = plan.shared.shared_at(x, in, i), barrier = plan.barrier.shared_at(x, in, i);
    if (to == kNoRegister || barrier == kNoRegister || !is_aligned(x, in, i, op->box, to)) return;
    std::optional<uint32_t> blocks;
    if (plan.cta_mask != kNoRegister) blocks = x.reg<uint16_t>(plan.cta_mask)[i];
    if (!op->add(x, to, barrier, op->box.shared_bytes(), op->box.transaction_bytes(), blocks, plan.pair))
      return;
    x.cta->cluster->issue(std::move(op));
  }
}

void run_box_store(Exec& x, const Operands& in, const BoxPlan& plan) {
  for (uint32_t i : x.lanes()) {
    auto op = std::make_unique<BoxStore>(x, in);
    if (!box_of(x, in, plan, i, true, op->box)) return;
    if (plan.reduction != AtomicOp::kNone) {
      op->update =
          machine::find_update(plan.reduction, reduction_type(op->box.map.element(), plan.reduction)).global;
      if (!op->update) {
        invalid(x, in, i,
                "." + std::string(machine::text(plan.reduction)) +
                    " does not exist for the tensor map's element type (number " +
                    std::to_string(op->box.map.element_type) + ")");
        return;
      }
    }
    const uint32_t from = plan.shared.shared_at(x, in, i);
    if (from == kNoRegister || !is_aligned(x, in, i, op->box, from)) return;
    const uint32_t bytes = op->box.shared_bytes();
    if (!BulkStore::issue(x, in, i, from, bytes, std::move(op))) return;
  }
}

}  // namespace triton_runner::simt
