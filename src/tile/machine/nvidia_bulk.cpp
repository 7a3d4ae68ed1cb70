// Lowers bulk copies (cp.async.bulk without a tensor map): the first bytes of a buffer, in the order in which
// they lie in memory, from or to global memory. One thread issues them; an mbarrier counts the bytes that
// arrive, and a wait for stores covers those that leave. Copies by a tensor map are in nvidia_tma.cpp.
#include <algorithm>

#include "lowering.h"
#include "machine/shared_state.h"
#include "machine/tensor_desc.h"

namespace triton_runner::tile {
namespace {

constexpr int64_t kBulkUnit = 16;  // bytes: of both addresses and of the size

struct BulkCopy {
  num::Type element;
  int64_t element_bytes;
  int64_t buffer_bytes;
  int global, memory, size, barrier;  // operands; size -1: all of the buffer; barrier -1: none
};

// It is copied as a row of a tensor of one dimension, which ends where the copy does.
struct Span {
  TensorDescriptor desc{};
  Box box{};
  MemDesc memory{};
  int64_t bytes = 0;
};

bool span_of(Task& t, const Instr& in, const BulkCopy& c, Span& s) {
  const auto fail = [&](exec::TrapKind kind, std::string message) {
    return t.trap(in, kind, std::move(message));
  };
  s.bytes = c.size < 0 ? c.buffer_bytes : t.bits(in.operand(c.size));
  s.memory = mem_desc(t, in.operand(c.memory));
  const auto address = static_cast<uint64_t>(t.bits(in.operand(c.global)));
  if (s.bytes < 0 || s.bytes > c.buffer_bytes)
    return fail(exec::TrapKind::kOutOfBounds, "a bulk copy of " + std::to_string(s.bytes) +
                                                  " bytes and a buffer of " + std::to_string(c.buffer_bytes));
  const std::pair<const char*, int64_t> numbers[] = {
      {"size", s.bytes},
      {"address in shared memory", s.memory.base},
      {"address in global memory", static_cast<int64_t>(address % kBulkUnit)}};
  for (const auto& [what, number] : numbers)
    if (number % kBulkUnit != 0)
      return fail(
          exec::TrapKind::kInvalid,
          std::string("the ") + what + " of a bulk copy is not a multiple of 16 bytes: the hardware faults");
  s.desc = {address, 1, false, {s.bytes / c.element_bytes}, {1}};
  s.box.rank = 1;
  s.box.shape[0] = s.desc.shape[0];
  s.box.at[0] = 0;
  return true;
}

const Instr* run_bulk_copy(Task& t, const Instr& in, const BulkCopy& c) {
  Span s;
  if (!span_of(t, in, c, s)) return nullptr;
  SharedState& state = SharedState::of(t);
  const uint32_t barrier = address_of(mem_desc(t, in.operand(c.barrier)));
  if (!state.barrier(barrier)) return no_barrier(t, in, "the copy's mbarrier");
  Buffer* data = t.worker->pool->allocate(std::max<int64_t>(s.bytes, 1));
  if (s.bytes && !load_block(t, in, s.desc, s.box, c.element, data->data())) {
    t.worker->pool->release(data);
    return nullptr;
  }
  state.copy_through_barrier(barrier, {data, nullptr, s.memory}, s.bytes);
  return next(in);
}

bool store_span(Task& t, const Instr& in, const BulkCopy& c, const Span& s) {
  if (s.bytes == 0) return true;
  const std::byte* from = SharedState::of(t).bytes(s.memory.base, s.bytes);
  return store_block(t, in, s.desc, s.box, c.element, from);
}

const Instr* run_bulk_store(Task& t, const Instr& in, const BulkCopy& c) {
  Span s;
  if (!span_of(t, in, c, s)) return nullptr;
  SharedState& state = SharedState::of(t);
  t.worker->launch->made_progress();
  if (!state.stores_late()) return store_span(t, in, c, s) ? next(in) : nullptr;
  state.issue_store(t, [&t, &in, &c, s] { store_span(t, in, c, s); });
  return next(in);
}

// Null after an error.
const BulkCopy* bulk_copy(Lowering& l, const ir::Op& op, ir::GroupName global, ir::GroupName memory,
                          ir::GroupName size) {
  const MemView* view = mem_view(l, *op.operand_of(memory), op);
  if (!view) return nullptr;
  if (view->tensor_memory) return l.fail(op, "a bulk copy of tensor memory"), nullptr;
  if (op.operand_of(global)->type->kind != ir::TypeKind::kPointer)
    return l.fail(op, "a bulk copy begins at one address, not at a tensor of them"), nullptr;
  return l.make<BulkCopy>(view->element, int64_t{view->size}, view->bytes(),
                          Lowering::operand_index(op, global), Lowering::operand_index(op, memory),
                          Lowering::operand_index(op, size), Lowering::operand_index(op, "barrier"));
}

}  // namespace

void lower_async_bulk_copy(Lowering& l, const ir::Op& op) {
  if (!op.operand_of("barrier")) return l.fail(op, "a bulk copy without the mbarrier that counts its bytes");
  if (const BulkCopy* copy = bulk_copy(l, op, "src", "result", "bulk_size"))
    l.emit<run_bulk_copy>(op, {}, slots_of(l, op.operand_uses), copy);
}

void lower_async_store(Lowering& l, const ir::Op& op) {
  if (const BulkCopy* copy = bulk_copy(l, op, "dst", "src", "size")) l.emit<run_bulk_store>(op, copy);
}

}  // namespace triton_runner::tile
