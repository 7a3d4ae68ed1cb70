// What probes implement: an engine hands them every value that they ask for, as it is computed.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/num/type.h>

namespace triton_runner::exec {

struct ValueEvent {
  const void* op;               // the ir::Op of the tile engine
  std::string_view op_name;     // "arith.addf"
  std::string_view value_name;  // "12" of %12, without %
  uint32_t result;              // which of the op's results
  num::Type type;
  std::span<const int64_t> shape;  // empty for scalars
  const void* data;                // row-major elements; valid during the call
  std::array<int64_t, 3> program;
  std::span<const int64_t> iterations;  // of the loops around the op, outermost first
};

class Observer {
 public:
  virtual ~Observer() = default;
  // Asked once an op and result when a launch starts; values that nobody wants cost nothing.
  virtual bool wants(const void* op, std::string_view op_name, std::string_view value_name,
                     uint32_t result) = 0;
  // Called from worker threads, several at a time; one program's values come in order.
  virtual void on_value(const ValueEvent& event) = 0;
  // Text of tt.print, one call an op and program: the whole line(s), newline included.
  virtual void on_print(std::string_view text, const std::array<int64_t, 3>& program) {
    (void)text, (void)program;
  }
};

}  // namespace triton_runner::exec
