// Keeps shared state for a debugger, goes back to it and shows it.
#include <algorithm>

#include <triton_runner/base/text.h>

#include "machine/shared_state.h"

namespace triton_runner::tile {
using base::hex;

struct SharedState::Kept {
  explicit Kept(BufferPool* buffers) : pool(buffers) {}
  ~Kept() {
    for (const auto& i : async.ops())
      if (i.op.copy.data) pool->release(i.op.copy.data);
  }
  BufferPool* pool;
  std::vector<std::byte> arena;
  Async async;  // which has a reference to the data of each copy
  std::vector<std::pair<const Task*, Queue>> agents;
  NamedBarriers named;
  std::vector<Task*> partitions;
  std::set<uint32_t> barriers;
  std::vector<std::vector<std::byte>> scratch;
};

std::shared_ptr<const SharedState::Kept> SharedState::keep() {
  auto kept = std::make_shared<Kept>(pool_);
  if (program_->shared) {
    const std::byte* all = arena();
    kept->arena.assign(all, all + program_->worker->launch->code->shared_bytes);
  }
  kept->async = async_;
  for (const auto& i : async_.ops())
    if (i.op.copy.data) ++i.op.copy.data->refs;
  kept->agents = agents_;
  kept->named = named;
  kept->partitions = partitions;
  kept->barriers = barriers_;
  for (const auto& [begin, end] : scratch_ranges_)
    kept->scratch.emplace_back(reinterpret_cast<std::byte*>(begin), reinterpret_cast<std::byte*>(end));
  return kept;
}

std::vector<std::string> SharedState::under_way() const {
  std::vector<std::string> out;
  for (const auto& i : async_.ops()) {
    const Operation& op = i.op;
    std::string text = op.store ? "store to global memory" : "arrivals";
    if (op.copy.data)
      text = "copy of " + std::to_string(op.copy.plan ? op.copy.plan->bytes() : op.bytes) + " bytes to " +
             (op.copy.plan && op.copy.plan->in_tensor_memory() ? "tensor memory " : "shared ") +
             hex(op.copy.to.base);
    if (op.barrier != kNoBarrier)
      text += ", which signals the mbarrier at shared " + hex(op.barrier);
    else if (i.agent != machine::kNoAgent)
      text += ", group " + std::to_string(i.group) + " of " + std::to_string(async_.commits(i.agent));
    out.push_back(std::move(text));
  }
  return out;
}

void SharedState::go_back(const Kept& to) {
  drop_all();
  tiles_.clear();
  if (program_->shared) std::copy(to.arena.begin(), to.arena.end(), program_->shared_memory());
  async_ = to.async;
  for (const auto& i : async_.ops())
    if (i.op.copy.data) ++i.op.copy.data->refs;
  agents_ = to.agents;
  named = to.named;
  partitions = to.partitions;
  barriers_ = to.barriers;
  scratch_.resize(to.scratch.size());  // what the program asked for since is asked for again
  scratch_ranges_.resize(to.scratch.size());
  for (size_t i = 0; i < to.scratch.size(); ++i)
    std::copy(to.scratch[i].begin(), to.scratch[i].end(),
              reinterpret_cast<std::byte*>(scratch_ranges_[i].first));
}

}  // namespace triton_runner::tile
