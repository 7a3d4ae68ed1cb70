// Copies in flight and the barriers that they complete on.
#include "machine/shared_state.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/num/kernels.h>

namespace triton_runner::tile {

SharedState& SharedState::of(Program& program) {
  if (!program.state) {
    auto state = std::make_unique<SharedState>();
    state->begin(program);
    program.state = std::move(state);
  }
  return static_cast<SharedState&>(*program.state);
}

SharedState::~SharedState() { drop_all(); }

void SharedState::drop_all() {
  for (Groups& g : groups_) {
    g.copies.take_all([&](const Copy& c) { pool_->release(c.data); });
  }
  for (Flight& f : flights_) {
    for (const Copy& c : f.copies) pool_->release(c.data);
  }
  groups_.clear();
  flights_.clear();
  stores_.clear();
}

void SharedState::begin(Program& program) {
  pool_ = program.worker->pool;
  drop_all();
  partitions.clear();
  const Launch& launch = *program.worker->launch;
  timing_ = {launch.options->timing, static_cast<uint64_t>(program.linear)};
  const Code& code = *launch.code;
  named.begin(code.num_warps * code.warp_size);
  scratch_.clear();
  scratch_ranges_.clear();
  tiles_.begin(pool_, program.shared ? program.shared_memory() : nullptr,
               {code.tensor_memory, code.tensor_memory_row()}, !program.worker->launch->checks);
  poison(program);
}

void SharedState::read_into(Task& task, Slot result, const MemPlan& plan, MemDesc d) {
  const TileType& type = task.type(result);
  const SharedElements e = tiles_.get(plan, d);
  bool row_major = e.offset == 0;
  for (int i = 0; i < type.rank; i++) row_major &= type.shape[i] == 1 || e.stride[i] == type.dense_strides[i];
  if (row_major) return task.adopt(result, e.buffer);
  if (type.rank <= kLazyRank) {
    Value& v = task.set_form(result, Form::kView);
    v.buffer = e.buffer;
    v.base = e.offset / type.size;
    std::copy(e.stride, e.stride + type.rank, v.stride);
    return;
  }
  num::copy_view(task.new_dense(result), e.data(), type.shape.data(), e.stride, type.rank, type.size);
  pool_->release(e.buffer);
}

void SharedState::write_value(Task& task, const MemPlan& plan, MemDesc d, Slot value) {
  task.dense(value);
  Buffer* data = task.value(value).buffer;
  ++data->refs;
  tiles_.put(plan, d, data);
}

std::byte* SharedState::bytes(Task& task, int64_t first, int64_t bytes) {
  tiles_.settle(first, bytes);
  return task.program->shared_memory() + first;
}

std::byte* SharedState::arena(Task& task) {
  tiles_.settle_all();
  return task.program->shared_memory();
}

// Memory that nothing was stored to reads as NaN or -1, not as what the program before left there.
void SharedState::poison(Program& program) {
  const Code& code = *program.worker->launch->code;
  if (!program.shared || code.shared_bytes == 0) return;
  std::byte* memory = program.shared_memory();
  if (code.tensor_memory < 0) {
    std::memset(memory, 0xff, code.shared_bytes);
    return;
  }
  const int64_t after = code.tensor_memory + code.tensor_memory_row() * kTensorMemoryRows;
  std::memset(memory, 0xff, code.tensor_memory);
  std::memset(memory + after, 0xff, code.shared_bytes - after);
  for (int64_t row = 0; row < kTensorMemoryRows; row++)
    std::memset(memory + code.tensor_memory + row * code.tensor_memory_row(), 0xff, code.tensor_memory_used);
}

SharedState::Groups& SharedState::groups(Task& task, int queue) {
  for (Groups& g : groups_) {
    if (g.task == &task && g.queue == queue) return g;
  }
  return groups_.emplace_back(Groups{&task, queue, {}});
}

void SharedState::issue(Task& task, Copy copy, int queue) {
  if (timing_.at_once()) return complete(copy);
  groups(task, queue).copies.issue(copy);
}

void SharedState::commit(Task& task, int queue) { groups(task, queue).copies.commit(); }

void SharedState::wait(Task& task, int64_t groups_left, int queue) {
  groups(task, queue).copies.wait(groups_left, [&](const Copy& c) { complete(c); });
}

void SharedState::hand_over(Task& task, uint32_t barrier, int arrivals, int queue) {
  Flight flight{barrier, {}, 0, arrivals};
  groups(task, queue).copies.take_all([&](const Copy& c) { flight.copies.push_back(c); });
  flights_.push_back(std::move(flight));
  if (timing_.at_once()) complete_copies(task, barrier);
}

void SharedState::complete(const Copy& copy) { tiles_.put(*copy.plan, copy.to, copy.data); }

void SharedState::init_barrier(Task& task, uint32_t address, int64_t count) {
  const Mbarrier b = Mbarrier::of(static_cast<uint64_t>(count));
  std::memcpy(bytes(task, address, sizeof b), &b, sizeof b);
}

Mbarrier* SharedState::barrier(Task& task, uint32_t address) {
  if (address % alignof(Mbarrier)) return nullptr;  // a part of other memory that was reinterpreted
  auto* b = reinterpret_cast<Mbarrier*>(bytes(task, address, sizeof(Mbarrier)));
  return b->is_there() ? b : nullptr;
}

void SharedState::copy_through_barrier(Task& task, uint32_t address, Copy copy, int64_t bytes) {
  flights_.push_back({address, {copy}, bytes, 0});
  if (timing_.at_once()) complete_copies(task, address);
}

void SharedState::finish_stores(const Task& task, int64_t left) {
  int64_t ours =
      std::count_if(stores_.begin(), stores_.end(), [&](const Store& s) { return s.task == &task; });
  for (size_t i = 0; i < stores_.size() && ours > left;) {
    if (stores_[i].task != &task) {
      i++;
      continue;
    }
    stores_[i].make();
    stores_.erase(stores_.begin() + static_cast<ptrdiff_t>(i));
    --ours;
  }
}

void SharedState::end() {
  for (; !stores_.empty(); stores_.pop_front()) stores_.front().make();
}

// One flight ends, and its barrier is told.
void SharedState::land(Task& task, size_t i) {
  const Flight flight = std::move(flights_[i]);
  flights_.erase(flights_.begin() + static_cast<ptrdiff_t>(i));
  for (const Copy& c : flight.copies) complete(c);
  Mbarrier* b = barrier(task, flight.barrier);
  if (!b) return;
  b->count_bytes(-flight.bytes);
  if (flight.arrivals) b->arrive({.count = flight.arrivals});
  b->settle();
}

void SharedState::complete_copies(Task& task, uint32_t address) {
  for (size_t i = 0; i < flights_.size();)
    if (flights_[i].barrier == address)
      land(task, i);
    else
      i++;
}

bool SharedState::end_phase(Task& task, uint32_t address, bool parity) {
  for (size_t i = 0; i < flights_.size();) {
    const Mbarrier* b = barrier(task, address);
    if (!b || b->has_ended(parity)) return true;
    if (flights_[i].barrier == address)
      land(task, i);
    else
      i++;
  }
  const Mbarrier* b = barrier(task, address);
  return !b || b->has_ended(parity);
}

size_t SharedState::copies_to(uint32_t address) const {
  return static_cast<size_t>(
      std::count_if(flights_.begin(), flights_.end(), [&](const Flight& f) { return f.barrier == address; }));
}

const Instr* arrive(Task& t, const Instr& in, Mbarrier& barrier, const machine::Arrival& arrival) {
  const Mbarrier before = barrier;
  if (const std::string fault = barrier.arrive(arrival); !fault.empty())
    return t.trap(in, exec::TrapKind::kInvalid, "the mbarrier " + fault + " (" + before.text() + ")");
  barrier.settle();
  return next(in);
}

void NamedBarriers::set_threads(const Task* task, int threads) {
  for (auto& [known, n] : counts_) {
    if (known == task) n = threads;
  }
  counts_.emplace_back(task, threads);
}

int NamedBarriers::threads_of(const Task& task) const {
  for (const auto& [known, n] : counts_) {
    if (known == &task) return n;
  }
  return program_threads_;
}

NamedBarriers::Bar& NamedBarriers::bar(int64_t id) {
  for (Bar& b : bars_) {
    if (b.id == id) return b;
  }
  Bar& made = bars_.emplace_back();
  made.id = id;
  return made;
}

void NamedBarriers::arrive(int64_t id, int64_t threads, int64_t arriving) {
  bar(id).arrive(static_cast<uint32_t>(arriving), static_cast<uint32_t>(threads), 0);
}

bool NamedBarriers::wait(const Task& task, int64_t id, int64_t threads) {
  Bar& b = bar(id);
  for (size_t i = 0; i < b.waiting.size(); i++) {
    if (b.waiting[i].first != &task) continue;
    if (b.passed == b.waiting[i].second) return false;
    b.waiting.erase(b.waiting.begin() + static_cast<ptrdiff_t>(i));
    return true;
  }
  const uint64_t before = b.passed;
  arrive(id, threads, threads_of(task));
  if (b.passed != before) return true;
  b.waiting.emplace_back(&task, before);
  return false;
}

std::byte* SharedState::scratch(int64_t bytes, int64_t alignment) {
  auto& block = scratch_.emplace_back(new std::byte[bytes + alignment]());
  auto at = reinterpret_cast<uint64_t>(block.get());
  at = (at + alignment - 1) / alignment * alignment;
  scratch_ranges_.emplace_back(at, at + bytes);
  return reinterpret_cast<std::byte*>(at);
}

bool SharedState::in_scratch(uint64_t address, uint64_t bytes) const {
  for (const auto& [begin, end] : scratch_ranges_) {
    if (address >= begin && address <= end && bytes <= end - address) return true;
  }
  return false;
}

}  // namespace triton_runner::tile
