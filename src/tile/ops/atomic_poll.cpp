// Lowers tt.atomic_load, tt.atomic_store and tt.atomic_poll: a load and a store that are whole for each
// element, and a wait until memory holds what is expected.
#include <chrono>
#include <cstring>

#include <triton_runner/num/by_size.h>

#include "lowering.h"
#include "ops/elements.h"
#include "ops/memory.h"

namespace triton_runner::tile {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// results: which elements were seen, when polling began
void run_poll_begin(Task& t, const Instr& in) {
  std::memset(t.new_dense(in.result(0)), 0, t.type(in.result(0)).bytes);
  t.set_uniform(in.result(1), now());
}

// operands: pointers, expected, seen, begin, timeout?
const Instr* run_poll(Task& t, const Instr& in) {
  const TileType& seen_type = t.type(in.operand(2));
  const int64_t n = seen_type.n;
  const TileType& expected_type = t.type(in.operand(1));
  const Elements pointers(t, in.operand(0)), expected(t, in.operand(1));
  auto* seen = reinterpret_cast<uint8_t*>(t.value(in.operand(2)).buffer->data());
  bool all = true;
  for (int64_t i = 0; i < n; ++i) {
    if (seen[i]) continue;
    const uint64_t address = pointers[i];
    const uint8_t* readable = nullptr;
    std::vector<uint8_t> left;
    if (!check_addresses(t, in, &address, readable, 1, expected_type.size, false, expected_type, left))
      return nullptr;
    if (readable) {  // it would wait forever
      seen[i] = 1;
      continue;
    }
    const uint64_t found = num::by_size(expected_type.size, [&](auto zero) -> uint64_t {
      return __atomic_load_n(reinterpret_cast<const decltype(zero)*>(address), __ATOMIC_ACQUIRE);
    });
    seen[i] = found == expected[i];
    all &= seen[i] != 0;
  }
  const bool timed_out = in.num_operands > 4 && now() - t.bits(in.operand(3)) >= t.bits(in.operand(4));
  if (!all && !timed_out) {
    if (t.should_stop()) return t.stopped(in);
    return t.yield_to(&in);
  }
  if (!t.type(in.result()).is_tensor) {
    t.set_uniform(in.result(), seen[0]);
  } else if (all) {
    t.set_uniform(in.result(), 1);
  } else {
    std::memcpy(t.new_dense(in.result()), seen, n);
  }
  return next(in);
}

}  // namespace

Access poll_access_of(const Instr& in) {
  if (in.run != run_poll) return {};
  return {.kind = AccessKind::kPoll, .ptr = slot_at(in, 0), .expected = slot_at(in, 1)};
}

void lower_atomic_load(Lowering& l, const ir::Op& op) {
  emit_load(l, op, l.slot(op.result()), l.slot(op.operand_of("ptr")), optional_slot(l, op.operand_of("mask")),
            std::nullopt);
}

void lower_atomic_store(Lowering& l, const ir::Op& op) {
  emit_store(l, op, l.slot(op.operand_of("ptr")), l.slot(op.operand_of("value")),
             optional_slot(l, op.operand_of("mask")));
}

void lower_atomic_poll(Lowering& l, const ir::Op& op) {
  const TileType& expected = *l.type_of(op.operand_of("expected"));
  if (expected.size == 0 || l.type_of(op.operand_of("ptr"))->shape != expected.shape)
    return l.fail(op, "pointers and expected values that do not match");
  const Slot seen = l.new_slot(l.tile_type(num::Type::kI1, {expected.n})), begin = l.new_slot(l.i64_type());
  l.emit<run_poll_begin>(op, {seen, begin}, {});
  std::vector<Slot> operands{l.slot(op.operand_of("ptr")), l.slot(op.operand_of("expected")), seen, begin};
  if (const ir::Value* timeout = op.operand_of("timeout")) operands.push_back(l.slot(timeout));
  l.emit(run_poll, op, {l.slot(op.result())}, operands);
}

}  // namespace triton_runner::tile
