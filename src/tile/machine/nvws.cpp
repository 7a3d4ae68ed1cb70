// Lowers nvws.*, the ops that warp specialisation goes through before it becomes mbarriers. An aref is a ring
// of buffers that producers put into and every consumer gets from; a token is a ring of pairs of mbarriers,
// full and empty.
//
// Each put and get knows its turn by counting, so that IR runs before and after stages and phases have
// been given.
#include <algorithm>
#include <cstring>
#include <set>

#include "lowering.h"
#include "machine/memdesc.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

constexpr size_t kMaxBuffers = 8;

// ---- who uses what: values go into partitions as captures

const ir::Op* specialization(const ir::Op* op) {
  if (op->kind == ir::OpKind::kWarpSpecializePartitions && op->block) return op->block->region->parent;
  return op->kind == ir::OpKind::kWarpSpecialize ? op : nullptr;
}

template <class F>
void each_user(const ir::Value& value, const F& f) {
  for (const ir::Use* u = value.first_use; u; u = u->next) {
    f(*u->user);
    if (!specialization(u->user)) continue;
    for (const ir::Region* region : u->user->regions) {
      if (region->first && u->operand_index < region->first->args.size())
        each_user(region->first->args[u->operand_index], f);
      const ir::Op* holder = region->first ? region->first->first : nullptr;
      if (!holder || holder->kind != ir::OpKind::kWarpSpecializePartitions) continue;
      for (const ir::Region* inner : holder->regions)
        if (inner->first && u->operand_index < inner->first->args.size())
          each_user(inner->first->args[u->operand_index], f);
    }
  }
}

// Returns which partition an op belongs to: by its attribute, else by the region that it is in.
std::string partition_of(const ir::Op& op) {
  for (const char* key : {"ttg.partition", "async_task_id"}) {
    if (const ir::Attr* a = op.attr(key)) return std::string(a->text);
  }
  for (const ir::Op* at = &op; at->block; at = at->block->region->parent) {
    const ir::Op* parent = at->block->region->parent;
    if (!parent) break;
    if (specialization(parent) || parent->kind == ir::OpKind::kNvwsWarpGroup)
      return std::to_string(reinterpret_cast<uintptr_t>(at->block->region));
  }
  return "";
}

// ---- arefs

struct Aref {
  uint32_t counters;  // in the arena: puts begun, puts ended, then gets begun and ended of each consumer
  uint32_t buffers;
  MemDesc at[kMaxBuffers];
};

// The static part of a ring; made for each op that uses it.
struct Ring {
  int64_t depth;
  std::vector<int64_t> strides;  // bytes, a buffer
  std::vector<std::string> consumers;
  int consumer = -1;  // that this op belongs to
  uint32_t counters = 0;
};

bool ring_of(Lowering& l, const ir::Op& op, Ring& ring) {
  const ir::Op* create = op.kind == ir::OpKind::kNvwsArefCreate ? &op : origin(op.operand(0));
  if (!create || create->kind != ir::OpKind::kNvwsArefCreate || create->results.size() != 1)
    return l.fail(op, "an aref whose nvws.aref.create cannot be found from here"), false;
  if (create->num_operands() == 0 || create->num_operands() > kMaxBuffers)
    return l.fail(op, "an aref of " + std::to_string(create->num_operands()) + " buffers"), false;
  ring.depth = 0;
  for (const ir::Use& u : create->operand_uses) {
    const MemView* view = mem_view(l, *u.value, op);
    if (!view) return false;
    if (view->leading.empty())
      return l.fail(op, "a buffer of an aref is a ring: it lacks the dimension"), false;
    if (ring.depth && ring.depth != view->leading[0])
      return l.fail(op, "the buffers of an aref are rings of different lengths"), false;
    ring.depth = view->leading[0];
    ring.strides.push_back(view->stride_of_leading(0));
  }
  std::set<std::string> consumers;
  each_user(*create->result(), [&](const ir::Op& user) {
    if (user.kind == ir::OpKind::kNvwsArefGetEnter) consumers.insert(partition_of(user));
  });
  ring.consumers.assign(consumers.begin(), consumers.end());
  const auto at = std::ranges::find(ring.consumers, partition_of(op));
  ring.consumer = at == ring.consumers.end() ? -1 : static_cast<int>(at - ring.consumers.begin());
  return true;
}

int64_t* counters(Task& t, const Aref& aref) {
  return reinterpret_cast<int64_t*>(SharedState::of(t).bytes(aref.counters, 8));
}

void run_aref_create(Task& t, const Instr& in, const Ring& ring) {
  SharedState::of(t);
  Aref aref{ring.counters, in.num_operands, {}};
  for (uint32_t i = 0; i < in.num_operands; i++) aref.at[i] = mem_desc(t, in.operand(i));
  std::memset(counters(t, aref), 0, (2 + 2 * ring.consumers.size()) * sizeof(int64_t));
  t.new_object<Aref>(in.result()) = aref;
}

void give_buffers(Task& t, const Instr& in, const Ring& ring, const Aref& aref, int64_t turn) {
  for (uint32_t i = 0; i < in.num_results && i < aref.buffers; i++) {
    MemDesc d = aref.at[i];
    d.base += static_cast<uint32_t>(turn % ring.depth * ring.strides[i]);
    t.new_object<MemDesc>(in.result(i)) = d;
  }
}

template <bool kPuts>
const Instr* run_enter(Task& t, const Instr& in, const Ring& ring) {
  const Aref aref = t.object<Aref>(in.operand(0));
  int64_t* n = counters(t, aref);
  int64_t& begun = n[kPuts ? 0 : 2 + 2 * ring.consumer];
  const int64_t turn = begun;
  if (!kPuts && n[1] <= turn) return t.block(in);
  for (size_t c = 0; kPuts && c < ring.consumers.size(); c++)
    if (n[3 + 2 * c] + ring.depth <= turn) return t.block(in);  // not released yet
  begun++;
  give_buffers(t, in, ring, aref, turn);
  t.new_object<int64_t>(in.result(in.num_results - 1)) = turn;
  return next(in);
}

// A put's data is there when it ends: TMA loads and products act when issued, cp.async is waited for.
void run_put_exit(Task& t, const Instr& in) {
  SharedState& state = SharedState::of(t);
  state.commit(t);
  state.wait(t, 0);
  counters(t, t.object<Aref>(in.operand(0)))[1]++;
}

void run_get_exit(Task& t, const Instr& in) {
  counters(t, t.object<Aref>(in.operand(0)))[3 + 2 * in.as<Ring>().consumer]++;
}

// The buffers of the turn that the token is for.
const Instr* run_aref_buffer(Task& t, const Instr& in, const Ring& ring) {
  const Slot token = in.operand(1);
  if (t.value(token).form != Form::kObject)
    return t.trap(in, exec::TrapKind::kInvalid, "the token is not one that a put or a get of an aref gave");
  give_buffers(t, in, ring, t.object<Aref>(in.operand(0)), t.object<int64_t>(token));
  return next(in);
}

void lower_aref(Lowering& l, const ir::Op& op, Handler run, bool consumer, bool gives_token) {
  auto* ring = l.make<Ring>();
  if (!ring_of(l, op, *ring)) return;
  if (consumer && ring->consumer < 0) return l.fail(op, "a get that ends in a partition where none begins");
  std::vector<Slot> results = slots_of(l, op.results);
  const size_t buffers = results.size() - (gives_token && !results.empty());
  if ((gives_token && results.empty()) || buffers > ring->strides.size())
    return l.fail(op, "other results than the aref's buffers and a token");
  l.emit(run, op, results, {l.slot(op.operand(0)), l.slot(op.operand(op.num_operands() - 1))}, ring);
}

// ---- tokens

struct Token {
  uint32_t full, empty;  // addresses of the first mbarriers
};

struct TokenRing {
  Token token;
  int64_t count, consumers;
};

void run_create_token(Task& t, const Instr& in, const TokenRing& r) {
  SharedState& state = SharedState::of(t);
  for (int64_t i = 0; i < r.count; i++) {
    state.init_barrier(r.token.full + static_cast<uint32_t>(8 * i), 1);
    state.init_barrier(r.token.empty + static_cast<uint32_t>(8 * i), r.consumers);
  }
  t.new_object<Token>(in.result()) = r.token;
}

struct TokenUse {
  bool full;      // which barrier
  bool waits;     // or arrives
  int64_t count;  // of the ring
};

const Instr* run_token(Task& t, const Instr& in, const TokenUse& u) {
  const int64_t i = t.bits(in.operand(1));
  if (i < 0 || i >= u.count)
    return t.trap(in, exec::TrapKind::kOutOfBounds,
                  "token " + std::to_string(i) + " of a ring of " + std::to_string(u.count));
  SharedState& state = SharedState::of(t);
  const Token token = t.object<Token>(in.operand(0));
  const uint32_t address = (u.full ? token.full : token.empty) + static_cast<uint32_t>(8 * i);
  Mbarrier* b = state.barrier(address);
  if (!b) return t.trap(in, exec::TrapKind::kInvalid, "the token's barrier was overwritten");
  if (!u.waits) {
    if (u.full) state.commit(t), state.wait(t, 0);
    return arrive(t, in, *b);
  }
  // A producer waits for the phase before the one that it names: the first round finds all buffers empty.
  const uint64_t parity = static_cast<uint64_t>(t.bits(in.operand(2)) & 1) ^ (u.full ? 0 : 1);
  return b->has_ended(parity != 0) ? next(in) : t.block(in);
}

void lower_token(Lowering& l, const ir::Op& op, bool full, bool waits) {
  const ir::Op* create = origin(op.operand(0));
  if (!create || create->kind != ir::OpKind::kNvwsCreateToken)
    return l.fail(op, "a token whose nvws.create_token cannot be found from here");
  l.emit<run_token>(op, l.make<TokenUse>(full, waits, create->int_attr("numBuffers", 1)));
}

}  // namespace

const ir::Op* origin(const ir::Value* value) {
  while (value && !value->defining_op) {
    const ir::Op* parent = value->block ? value->block->region->parent : nullptr;
    const ir::Op* whole = parent ? specialization(parent) : nullptr;
    if (!whole) return nullptr;
    const size_t from_whole = whole->operand_uses.size();
    const size_t i = value->index;
    if (i < from_whole) {
      value = whole->operand_uses[i].value;
    } else if (parent != whole && i - from_whole < parent->operand_uses.size()) {
      value = parent->operand_uses[i - from_whole].value;
    } else {
      return nullptr;
    }
  }
  return value ? value->defining_op : nullptr;
}

void lower_nvws_aref_create(Lowering& l, const ir::Op& op) {
  auto* ring = l.make<Ring>();
  if (!ring_of(l, op, *ring)) return;
  ring->counters =
      static_cast<uint32_t>(l.reserve_shared(static_cast<int64_t>(16 + 16 * ring->consumers.size()), 8));
  l.emit<run_aref_create>(op, ring);
}

void lower_nvws_aref_put_enter(Lowering& l, const ir::Op& op) {
  lower_aref(l, op, handler<run_enter<true>>, false, true);
}
void lower_nvws_aref_put_exit(Lowering& l, const ir::Op& op) {
  lower_aref(l, op, handler<run_put_exit>, false, false);
}
void lower_nvws_aref_get_enter(Lowering& l, const ir::Op& op) {
  lower_aref(l, op, handler<run_enter<false>>, true, true);
}
void lower_nvws_aref_get_exit(Lowering& l, const ir::Op& op) {
  lower_aref(l, op, handler<run_get_exit>, true, false);
}
void lower_nvws_aref_buffer(Lowering& l, const ir::Op& op) {
  lower_aref(l, op, handler<run_aref_buffer>, false, false);
}

void lower_nvws_create_token(Lowering& l, const ir::Op& op) {
  const int64_t count = op.int_attr("numBuffers", 1);
  if (count < 1 || count > 1 << 14) return l.fail(op, "a ring of " + std::to_string(count) + " tokens");
  std::set<std::string> consumers;
  each_user(*op.result(), [&](const ir::Op& user) {
    if (user.kind == ir::OpKind::kNvwsConsumerRelease) consumers.insert(partition_of(user));
  });
  const auto at = static_cast<uint32_t>(l.reserve_shared(16 * count, 8));
  l.emit<run_create_token>(op,
                           l.make<TokenRing>(Token{at, at + static_cast<uint32_t>(8 * count)}, count,
                                             std::max<int64_t>(1, static_cast<int64_t>(consumers.size()))));
}

void lower_nvws_producer_acquire(Lowering& l, const ir::Op& op) { lower_token(l, op, false, true); }
void lower_nvws_producer_commit(Lowering& l, const ir::Op& op) { lower_token(l, op, true, false); }
void lower_nvws_consumer_wait(Lowering& l, const ir::Op& op) { lower_token(l, op, true, true); }
void lower_nvws_consumer_release(Lowering& l, const ir::Op& op) { lower_token(l, op, false, false); }

}  // namespace triton_runner::tile
