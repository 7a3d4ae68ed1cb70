// Tracing keeps what warps do in order (exec::Trace), for a launch that counts and was asked for it: one a
// worker. It is described in doc/reference/profile.md.
#pragma once
#include <span>
#include <vector>

#include <triton_runner/exec/trace.h>

namespace triton_runner::simt {

class Tracing {
 public:
  // warps: of a block; most: as Trace::most.
  Tracing(const std::vector<std::vector<uint32_t>>& stretches, uint32_t warps, uint64_t most);

  void step(int64_t program, uint32_t warp, uint32_t stretch);
  // The event of that kind of the warp's instruction: the same one until the warp's next step.
  exec::TraceEvent& add(int64_t program, uint32_t warp, uint32_t instruction, exec::TraceEvent::Kind kind);
  // sectors: numbers of 32 bytes, ascending.
  void request(int64_t program, uint32_t warp, uint32_t instruction, exec::TraceEvent::Kind kind,
               std::span<const uint64_t> sectors, uint64_t bytes);
  // A row of what the copy engine moves.
  void copy(int64_t program, uint32_t warp, uint32_t instruction, bool is_global, uint64_t at,
            uint32_t bytes);
  // A thread's part in a barrier; of several threads of the warp, arrivals and bytes add up.
  void barrier(int64_t program, uint32_t warp, uint32_t instruction, exec::TraceEvent::Kind kind, uint32_t at,
               uint32_t value);
  exec::Trace taken();

 private:
  exec::WarpTrace& warp_of(int64_t program, uint32_t warp);
  void add_line(exec::WarpTrace& warp, exec::TraceEvent& event, uint64_t line, uint64_t sectors);
  bool counts(uint64_t n);  // whether there is room for so many more

  exec::Trace trace_;
  uint32_t warps_;
  std::vector<exec::WarpTrace>* last_ = nullptr;
  int64_t last_program_ = -1;
  exec::TraceEvent unread_;  // where events go that are not kept
};

}  // namespace triton_runner::simt
