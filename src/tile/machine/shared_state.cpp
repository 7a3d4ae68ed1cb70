// Implements SharedState: memory, copies in flight and the barriers that they complete on. A debugger goes back to
// SharedState::Kept (shared_kept.cpp), where a new member needs its place.
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
  const auto drop = [this](const Operation& op) {
    if (op.copy.data) pool_->release(op.copy.data);
  };
  while (async_.take_oldest(drop)) {
  }
  agents_.clear();
}

void SharedState::begin(Program& program) {
  drop_all();
  program_ = &program;
  pool_ = program.worker->pool;
  partitions.clear();
  barriers_.clear();
  const Launch& launch = *program.worker->launch;
  async_.begin(launch.options->timing, static_cast<uint64_t>(program.linear));
  const Code& code = *launch.code;
  named.begin(code.num_warps * code.warp_size);
  scratch_.clear();
  scratch_ranges_.clear();
  tiles_.begin(pool_, program.shared ? program.shared_memory() : nullptr,
               {code.tensor_memory, code.tensor_memory_row()}, !program.worker->launch->checks);
  poison();
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
  tiles_.put(plan, d, task.elements(value));
}

std::byte* SharedState::bytes(int64_t first, int64_t bytes) {
  tiles_.settle(first, bytes);
  return program_->shared_memory() + first;
}

std::byte* SharedState::arena() {
  tiles_.settle_all();
  return program_->shared_memory();
}

// Memory that nothing was stored to reads as NaN or -1, not as what the program before left there.
void SharedState::poison() {
  const Code& code = *program_->worker->launch->code;
  if (!program_->shared || code.shared_bytes == 0) return;
  std::byte* memory = program_->shared_memory();
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

uint32_t SharedState::agent(const Task& task, Queue queue) {
  const std::pair<const Task*, Queue> agent{&task, queue};
  const auto it = std::find(agents_.begin(), agents_.end(), agent);
  if (it == agents_.end()) agents_.push_back(agent);
  return static_cast<uint32_t>(std::find(agents_.begin(), agents_.end(), agent) - agents_.begin());
}

void SharedState::issue(const Task& task, Copy copy, Queue queue) {
  const uint32_t by = agent(task, queue);
  async_.issue({copy}, by);
  async_.settle([by](const auto& i) { return i.agent == by; }, [this](Operation& op) { complete(op); });
}

void SharedState::issue_store(const Task& task, std::function<void()> store) {
  async_.issue({.store = std::move(store)}, agent(task, kStores));
  commit(task, kStores);
}

void SharedState::wait(const Task& task, int64_t groups_left, Queue queue) {
  async_.wait(agent(task, queue), groups_left, [this](Operation& op) { complete(op); });
}

void SharedState::hand_over(const Task& task, uint32_t barrier, int arrivals, Queue queue) {
  std::vector<Operation> ours;
  async_.take_all(agent(task, queue), [&](Operation& op) { ours.push_back(std::move(op)); });
  if (ours.empty()) ours.emplace_back();
  ours.back().arrivals = arrivals;
  for (Operation& op : ours) {
    op.barrier = barrier;
    async_.issue(std::move(op));
  }
  settle(barrier);
}

void SharedState::land(const Copy& copy, int64_t count) {
  SharedState& home = copy.home ? *copy.home : *this;
  if (copy.plan) return home.tiles_.put(*copy.plan, copy.to, copy.data);
  std::memcpy(home.bytes(copy.to.base, count), copy.data->data(), static_cast<size_t>(count));
  pool_->release(copy.data);
}

// It takes effect, and its barrier is told.
void SharedState::complete(Operation& op) {
  if (op.store) return op.store();
  if (op.copy.data) land(op.copy, op.bytes);
  Mbarrier* b = op.barrier == kNoBarrier ? nullptr : barrier(op.barrier);
  if (!b) return;
  b->count_bytes(-op.bytes);
  if (op.arrivals) b->arrive({.count = op.arrivals});
  b->settle();
}

void SharedState::end() {
  async_.take([](const auto& i) { return static_cast<bool>(i.op.store); },
              [this](Operation& op) { complete(op); });
}

void SharedState::init_barrier(uint32_t address, int64_t count) {
  const Mbarrier b = Mbarrier::of(static_cast<uint64_t>(count));
  std::memcpy(bytes(address, sizeof b), &b, sizeof b);
  if (program_->worker->launch->options->stopper) barriers_.insert(address);
}

Mbarrier* SharedState::barrier(uint32_t address) {
  if (address % alignof(Mbarrier)) return nullptr;  // a part of other memory that was reinterpreted
  auto* b = reinterpret_cast<Mbarrier*>(bytes(address, sizeof(Mbarrier)));
  return b->is_there() ? b : nullptr;
}

void SharedState::copy_through_barrier(uint32_t address, Copy copy, int64_t bytes) {
  async_.issue({copy, address, bytes});
  settle(address);
}

void SharedState::settle(uint32_t barrier) {
  async_.settle(to(barrier), [this](Operation& op) { complete(op); });
}

void SharedState::complete_copies(uint32_t address) {
  async_.take(to(address), [this](Operation& op) { complete(op); });
}

bool SharedState::end_phase(uint32_t address, bool parity) {
  for (;;) {
    const Mbarrier* b = barrier(address);
    if (!b || b->has_ended(parity)) return true;
    if (!async_.take(to(address), [this](Operation& op) { complete(op); }, 1)) return false;
  }
}

size_t SharedState::copies_to(uint32_t address) const {
  return static_cast<size_t>(std::count_if(async_.ops().begin(), async_.ops().end(), [&](const auto& i) {
    return i.op.barrier == address && i.op.bytes;
  }));
}

const Instr* no_barrier(Task& t, const Instr& in, std::string_view whose) {
  return t.trap(in, exec::TrapKind::kInvalid,
                std::string(whose) + " was not initialised, was invalidated, or was overwritten");
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
