// What a debugger sees of a block that stands before an instruction.
#include "stop.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/exec/stopper.h>
#include <triton_runner/num/types.h>

#include "async/mbarrier.h"
#include "divergence.h"

namespace triton_runner::simt {
namespace {

class Standing final : public exec::StoppedLanes {
 public:
  Standing(Exec& x, const StopRegisters& registers) : x_(x), registers_(registers) {}
  std::array<int64_t, 3> program() const override { return program_of(*x_.cta); }
  size_t task() const override {
    uint32_t i = 0;
    while (i + 1 < x_.count && !x_.on(i)) ++i;
    return number(x_.first + i);
  }
  bool is_of(size_t other) const override {
    const size_t thread = other % x_.code().threads;
    return other / x_.code().threads == x_.cta->rank && thread >= x_.first && thread < x_.first + x_.count &&
           x_.on(static_cast<uint32_t>(thread) - x_.first);
  }
  std::vector<int64_t> iterations() const override { return {}; }
  std::vector<const void*> calls() const override { return {}; }
  std::span<const void* const> values() const override { return registers_.values; }
  bool look(size_t value, const std::function<void(const exec::Elements&)>& take) override {
    const int64_t count = x_.count;
    const num::Type type = registers_.types[value];
    take({type, {&count, 1}, at(value), {x_.mask, x_.mask ? x_.count : 0}});
    return true;
  }
  bool write(size_t value, std::span<const std::byte> elements) override {
    const size_t size = num::size_of(registers_.types[value]);
    if (elements.size() != size * x_.count) return false;
    const bool predicate = registers_.types[value] == num::Type::kI1;
    for (uint32_t i = 0; i < x_.count; ++i) {
      if (!x_.on(i)) continue;
      std::memcpy(at(value) + i * size, elements.data() + i * size, size);
      if (predicate) at(value)[i] = elements[i] == std::byte{0} ? std::byte{0} : std::byte{0xff};
    }
    return true;
  }
  uint32_t block() const override { return x_.cta->rank; }
  uint32_t first() const override { return x_.first; }
  uint32_t count() const override { return x_.count; }
  std::span<std::byte> shared() override { return {x_.cta->shared, x_.cta->shared_bytes}; }
  std::vector<std::string> paths() const override;
  std::vector<std::pair<uint32_t, std::string>> mbarriers() const override;

 private:
  // Of a thread in the cluster.
  size_t number(uint32_t thread) const { return size_t{x_.cta->rank} * x_.code().threads + thread; }
  std::byte* at(size_t value) const {
    return x_.regs + registers_.offsets[value] + uint64_t{num::size_of(registers_.types[value])} * x_.first;
  }
  Exec& x_;
  const StopRegisters& registers_;
};

std::string what_it_does(Cta& cta, const Path& path) {
  if (path.state == PathState::kReady) return "can go on";
  if (path.state == PathState::kWarpSync) return "waits for the other threads of its warps";
  if (path.state == PathState::kPoll) return describe_mbarrier_wait(cta, path);
  const Barrier& barrier = cta.barriers[path.barrier];
  return "waits in barrier " + std::to_string(path.barrier) + ", where " + std::to_string(barrier.arrived) +
         " of " + std::to_string(barrier.expected ? barrier.expected : cta.alive_count) +
         " threads have arrived";
}

std::vector<std::string> Standing::paths() const {
  std::vector<std::string> out;
  for (auto& cta : x_.cta->cluster->ctas)
    for (auto& path : cta->paths) {
      const bool here = path.get() == x_.path;
      const Instr* pc = here ? x_.pc : path->pc;
      std::string line = x_.cta->cluster->ctas.size() > 1 ? "block " + std::to_string(cta->rank) + ", " : "";
      line += threads_of(*path);
      if (pc->source) line += " at " + instruction_location(x_.code(), *pc->source);
      const std::string does = here ? "is here" : what_it_does(*cta, *path);
      out.push_back(line + ": " + (does.empty() ? "waits for an event" : does));
    }
  return out;
}

std::vector<std::pair<uint32_t, std::string>> Standing::mbarriers() const {
  std::vector<std::pair<uint32_t, std::string>> out;
  for (const uint32_t at : used_mbarriers(*x_.cta))
    if (at + sizeof(machine::Mbarrier) <= x_.cta->shared_bytes) {
      machine::Mbarrier barrier;
      std::memcpy(&barrier, x_.cta->shared + at, sizeof barrier);
      if (barrier.is_there()) out.emplace_back(at, barrier.text());
    }
  return out;
}

}  // namespace

void stop_lanes(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const auto& place = *static_cast<const StopPlace*>(in.data);
  Standing standing(x, *place.registers);
  auto* stopper = static_cast<exec::Stopper*>(x.launch().options->observer);
  if (!stopper->on_stop(place.place, standing))
    x.trap(in, exec::TrapKind::kInterrupted, "the debugger ended the launch");
}

}  // namespace triton_runner::simt
