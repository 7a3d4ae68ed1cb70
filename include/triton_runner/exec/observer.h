// Declares the interface that probes implement: an engine hands them every value that they ask for, as it is
// computed.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/num/type.h>

namespace triton_runner::exec {

// A value of the tile engine's IR that can be observed.
struct ValueSite {
  const void* op;            // the ir::Op that gives it; of block arguments the one whose region they begin
  const void* value;         // the ir::Value
  std::string_view op_name;  // "arith.addf"
  std::string_view value_name;  // "12" of %12, without %; results of a group share it
  uint32_t index;               // which of the op's results, or of the block's arguments
  // For pointers: the only parameter of the kernel that they were made from ("x_ptr"; empty: none or
  // several), and the bytes of what it points to.
  std::string_view origin{};
  int64_t origin_bytes = 0;
};

struct ValueEvent {
  ValueSite site;
  num::Type type;
  std::span<const int64_t> shape;  // empty for scalars
  const void* data;                // row-major elements; valid during the call
  std::array<int64_t, 3> program;
  std::span<const int64_t> iterations;  // of the loops around the op, outermost first
  // For a marker that dl.dump left (a tt.print whose prefix begins with kMarker; site.op is
  // that tt.print, the rest of the site is its operand 0): the prefix, and the scalars that
  // follow.
  std::string_view marker;
  std::span<const int64_t> arguments;
  // An element each: 0 where there is none. Empty: all are there.
  std::span<const uint8_t> mask;
  uint64_t origin_address = 0;  // what the launch passed for site.origin
};

inline constexpr std::string_view kMarker = "triton_runner.dump";

class Observer {
 public:
  virtual ~Observer() = default;
  // Asked once a value when a launch starts; values that nobody wants cost nothing.
  virtual bool wants(const ValueSite& site) = 0;
  // Called from worker threads, several at a time; one program's values come in order.
  virtual void on_value(const ValueEvent& event) = 0;
  // Text of tt.print, one call an op and program: the whole line(s), newline included. LaunchOptions::printer
  // goes before.
  virtual void on_print(std::string_view text, const std::array<int64_t, 3>& program) {
    (void)text, (void)program;
  }
};

}  // namespace triton_runner::exec
