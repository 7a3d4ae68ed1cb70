// Shows a debugger the threads of a block that have stopped at an instruction. What is around them is in
// stop_machine.cpp.
#include "launch/stop.h"

#include <cstring>

#include <triton_runner/exec/stopper.h>
#include <triton_runner/num/types.h>

#include "launch/stop_machine.h"
#include "state/divergence.h"
#include "state/snapshot.h"

namespace triton_runner::simt {
namespace {

class Standing final : public exec::StoppedLanes {
 public:
  Standing(Exec& x, const Instr& in)
      : x_(x), in_(in), registers_(*static_cast<const StopPlace*>(in.data)->registers) {}
  std::shared_ptr<exec::Snapshot> snapshot() override { return snapshot_of(x_, in_); }
  void restore(std::shared_ptr<exec::Snapshot> snapshot) override {
    x_.worker->restored = std::move(snapshot);
  }
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
  uint32_t threads() const override { return x_.code().threads; }
  uint64_t shared_bytes() const override { return x_.cta->shared_bytes; }
  std::span<const uint32_t> tensor_memory() const override { return tensor_words(*x_.cta); }
  std::vector<std::pair<uint32_t, uint32_t>> tensor_columns() const override {
    return allocated_columns(*x_.cta);
  }
  std::vector<std::string> paths() override { return paths_of(x_); }
  std::vector<exec::StoppedBarrier> barriers() override { return barriers_of(x_); }
  std::vector<std::string> copies() override { return copies_of(x_); }
  std::vector<exec::StoppedBuffer> buffers() override { return buffers_of(*x_.cta); }
  std::vector<std::pair<std::string, std::string>> descriptors() override { return descriptors_of(x_); }
  std::byte* shared(uint64_t at, uint64_t bytes) override {
    const uint64_t all = x_.cta->shared_bytes;
    return at <= all && bytes <= all - at ? x_.cta->shared + at : nullptr;
  }
  bool freeze(size_t thread, bool on) override {
    const auto& blocks = x_.cta->cluster->ctas;
    const size_t rank = thread / x_.code().threads;
    if (rank >= blocks.size()) return false;
    if (x_.path) x_.path->pc = x_.pc;  // it has stopped here, and goes on after it
    if (!freeze_warp(*blocks[rank], static_cast<uint32_t>(thread % x_.code().threads) / x_.code().width, on))
      return false;
    x_.leave();
    return true;
  }

 private:
  // The number of a thread in the cluster.
  size_t number(uint32_t thread) const { return size_t{x_.cta->rank} * x_.code().threads + thread; }
  std::byte* at(size_t value) const {
    return x_.regs + registers_.offsets[value] + uint64_t{num::size_of(registers_.types[value])} * x_.first;
  }
  Exec& x_;
  const Instr& in_;
  const StopRegisters& registers_;
};

}  // namespace

void stop_lanes(Exec& x, const Operands& in, const StopPlace& place) {
  Standing standing(x, instr_of(in));
  if (!x.launch().options->stopper->on_stop(place.place, standing))
    return x.trap(in, exec::TrapKind::kInterrupted, "the debugger ended the launch");
  if (x.worker->restored) restore_cluster(x);
}

}  // namespace triton_runner::simt
