// What debuggers implement: an engine asks at which places of a launch it may stop, and hands over what stands there.
//
// A launch with a Stopper is lowered anew with a stop before each place that it wants, and runs on one thread; launches
// without one run the code that they always run.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <triton_runner/exec/observer.h>

namespace triton_runner::exec {

// What dl.breakpoint leaves: a tt.print with this prefix, whose first operand is its condition.
inline constexpr std::string_view kBreakpoint = "triton_runner.breakpoint";

// Row-major elements of a value.
struct Elements {
  num::Type type;
  std::span<const int64_t> shape;  // empty for scalars
  const std::byte* data;           // valid during the call
  std::span<const int8_t> mask{};  // a thread each: 0 where it is elsewhere; empty: all are here
};

// What stands before an op or instruction: a task of the tile engine, or threads of the SIMT engine.
class Stopped {
 public:
  virtual ~Stopped() = default;
  virtual std::array<int64_t, 3> program() const = 0;
  // On the tile engine 0, the program itself, or the number of a partition; on the SIMT engine the first thread.
  virtual size_t task() const = 0;
  virtual bool is_of(size_t other) const { return task() == other; }  // whether that task is here
  virtual std::vector<int64_t> iterations() const = 0;  // of the loops around it, outermost first
  virtual std::vector<const void*> calls()
      const = 0;  // ir::Ops that were inlined to get here, outermost first
  // What is in sight, the nearest definition first: ir::Values; on the SIMT engine names of registers (const char*).
  virtual std::span<const void* const> values() const = 0;
  // Hands over what a value holds. False: it has not been computed, or has no elements.
  virtual bool look(size_t value, const std::function<void(const Elements&)>& take) = 0;
  // Puts other elements in its place: as many bytes as it has. False: it cannot be written.
  virtual bool write(size_t value, std::span<const std::byte> elements) = 0;
};

// Threads of a block on the SIMT engine, before an instruction.
class StoppedLanes : public Stopped {
 public:
  virtual uint32_t block() const = 0;  // its rank in the cluster
  virtual uint32_t first() const = 0;  // threads [first, first + count) of the block
  virtual uint32_t count() const = 0;
  virtual std::span<std::byte> shared() = 0;
  // What the block's paths do: "warps 0 to 3 at k.ptx:12:3 wait for ...".
  virtual std::vector<std::string> paths() const = 0;
  // (address, text) of each mbarrier that the block has used.
  virtual std::vector<std::pair<uint32_t, std::string>> mbarriers() const = 0;
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

class Stopper : public Observer {
 public:
  static constexpr uint32_t kNowhere = ~uint32_t{0};
  // Asked for each op when a launch of the tile engine starts: the number under which stops before it are told, or
  // kNowhere. The SIMT engine tells of its instructions.
  virtual uint32_t place_of(const void* op) = 0;
  virtual uint32_t add_place(const InstructionSite& site) = 0;
  // The launch is about to run: all places have numbers. False: it does not.
  virtual bool ready(const std::string& kernel, const std::string& level) = 0;
  // Asked once it is ready: stops stand only where place_of() and add_place() now give a number, and the code between
  // them is what other launches run. Of the values there only those that it keeps can be seen.
  virtual bool is_sparse() const = 0;
  virtual bool keeps(const void* value) const = 0;
  // Somebody came to a place. False: the launch ends here, as an interrupted one.
  virtual bool on_stop(uint32_t place, Stopped& stopped) = 0;

  bool wants(const ValueSite&) override { return false; }
  void on_value(const ValueEvent&) override {}
};

}  // namespace triton_runner::exec
