// Debuggers implement this: an engine asks at which places of a launch it may stop, and hands over what stands there.
//
// A launch with a Stopper is lowered anew with a stop before each place that it wants, and runs on one thread; launches
// without one run the code that they always run.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <triton_runner/exec/observer.h>

namespace triton_runner::exec {

// dl.breakpoint leaves this: a tt.print with this prefix, whose first operand is its condition.
inline constexpr std::string_view kBreakpoint = "triton_runner.breakpoint";

// Row-major elements of a value.
struct Elements {
  num::Type type;
  std::span<const int64_t> shape;  // empty for scalars
  const std::byte* data;           // valid during the call
  std::span<const int8_t> mask{};  // a thread each: 0 where it is elsewhere; empty: all are here
};

// A unit of the grid while it stands, its writes to global memory aside: to go on from there once more.
struct Snapshot {
  virtual ~Snapshot() = default;
};

// An mbarrier of a block: its address in shared memory, what its phase lacks, and who waits for it.
struct StoppedBarrier {
  uint32_t block = 0, at = 0;
  std::string text;
  std::vector<std::string> waiting;
};

// A buffer in shared or tensor memory: a value that is in sight, or a variable of the module.
struct StoppedBuffer {
  std::optional<size_t> value;  // its number
  std::string name;             // of a variable
  bool in_tensor_memory = false;
  uint64_t at = 0, bytes = 0;  // of tensor memory: bytes along each lane
};

// A unit stopped at an op or instruction: a task of the tile engine, or threads of the SIMT engine.
class Stopped {
 public:
  virtual ~Stopped() = default;
  // Null: what is under way cannot be kept (checks, other units of the grid, clusters of programs).
  virtual std::shared_ptr<Snapshot> snapshot() { return nullptr; }
  // Once on_stop() has returned true the launch goes on as it stood at a snapshot of this turn: it comes to that
  // place again.
  virtual void restore(std::shared_ptr<Snapshot>) {}
  virtual std::array<int64_t, 3> program() const = 0;
  // On the tile engine 0, the program itself, or the number of a partition; on the SIMT engine the first thread.
  virtual size_t task() const = 0;
  virtual bool is_of(size_t other) const { return task() == other; }  // whether that task is here
  virtual std::vector<int64_t> iterations() const = 0;  // of the loops around it, outermost first
  virtual std::vector<const void*> calls()
      const = 0;  // ir::Ops that were inlined to get here, outermost first
  // The values in sight, nearest definition first: ir::Values; on the SIMT engine names of registers (const char*).
  virtual std::span<const void* const> values() const = 0;
  // Hands over what a value holds. False: it has not been computed, or has no elements.
  virtual bool look(size_t value, const std::function<void(const Elements&)>& take) = 0;
  // Puts other elements in its place: as many bytes as it has. False: it cannot be written.
  virtual bool write(size_t value, std::span<const std::byte> elements) = 0;

  // ---- the machine around it
  // What each task or path does: "warps 0 to 3 at k.ptx:12:3: waits for ...".
  virtual std::vector<std::string> paths() { return {}; }
  virtual std::vector<StoppedBarrier> barriers() { return {}; }
  virtual std::vector<std::string> copies() {
    return {};
  }  // and other asynchronous operations under way, oldest first
  virtual std::vector<StoppedBuffer> buffers() { return {}; }
  // (name, text) of tensor descriptors.
  virtual std::vector<std::pair<std::string, std::string>> descriptors() { return {}; }
  // [at, at + bytes) of the shared memory of its block; null: it has not so much.
  virtual std::byte* shared(uint64_t, uint64_t) { return nullptr; }
  // A task, or the warp of a thread, gets no turn until it is thawed. False: there is none such.
  virtual bool freeze(size_t, bool) { return false; }
};

// Threads of a block on the SIMT engine, before an instruction.
class StoppedLanes : public Stopped {
 public:
  virtual uint32_t block() const = 0;  // its rank in the cluster
  virtual uint32_t first() const = 0;  // threads [first, first + count) of the block
  virtual uint32_t count() const = 0;
  virtual uint32_t threads() const = 0;  // of the block, those of whole warps
  virtual uint64_t shared_bytes() const = 0;
  // words[column * 128 + lane] of tensor memory; empty: the block has allocated none.
  virtual std::span<const uint32_t> tensor_memory() const = 0;
  virtual std::vector<std::pair<uint32_t, uint32_t>> tensor_columns()
      const = 0;  // [first, last) that are allocated
};

// An instruction that the SIMT engine lowers.
struct InstructionSite {
  const void* at;  // the same for all copies of inlined code
  std::string_view name;
  std::string text;
  int line = 0;  // in the text that it stands in
  std::string_view function;
  struct Line {
    std::string file;
    int line, column;
  };
  std::vector<Line> lines;  // in the program, callees first
};

class Stopper {
 public:
  virtual ~Stopper() = default;
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  // Asked for each op when a launch of the tile engine starts: the number that on_stop() gets for stops before it, or
  // kNowhere. The SIMT engine gives its instructions to add_place().
  virtual uint32_t place_of(const void* op) = 0;
  virtual uint32_t add_place(const InstructionSite& site) = 0;
  // The launch is about to run: all places have numbers. False: it does not.
  virtual bool ready(const std::string& kernel, const std::string& level) = 0;
  // Asked once it is ready: stops are only where place_of() and add_place() now give a number, and the code between
  // them is what other launches run. Of the values there only those that it keeps can be seen.
  virtual bool is_sparse() const = 0;
  virtual bool keeps(const void* value) const = 0;
  // Somebody came to a place. False: the launch ends here, as an interrupted one.
  virtual bool on_stop(uint32_t place, Stopped& stopped) = 0;

  // The unit of the grid that a launch begins with.
  virtual int64_t first_unit() const { return 0; }
  // A unit begins. alone: none that began before it is under way, and of the launch nothing but global memory stays,
  // so that a launch that begins with it goes on as this one.
  virtual void on_unit(int64_t, bool) {}
  // A unit has ended or gives up its turn: snapshots of this turn are of no use any more.
  virtual void on_turn_end() {}
  // Nothing but what is frozen can go on: it is thawed.
  virtual void on_thaw() {}
};

}  // namespace triton_runner::exec
