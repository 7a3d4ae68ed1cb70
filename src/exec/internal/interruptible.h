// Interruptible stops a launch at Ctrl-C: the thread that launches is in C++, so that a handler of the program's own
// language, which only notes the signal, would be asked after the launch. It also knows how far the launch is.
//
//   Interruptible interruptible;
//   options.stop = interruptible.token();
#pragma once
#include <cstdint>

#include <triton_runner/exec/stop_token.h>

namespace triton_runner::exec {

struct InterruptSlot;

// Its handler stops all launches of the process and then calls the handler that was there. A program without a handler
// of its own gets none: Ctrl-C ends it, or it ignores the signal.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  StopToken* token();     // null: more than 64 threads launch at once
  int64_t begun() const;  // programs of the grid (on PTX: clusters); for any thread

 private:
  InterruptSlot* slot_ = nullptr;
};

// A launch with this token has begun so many programs more. Does nothing to a token that is not an Interruptible's.
void add_begun(const StopToken* token, int64_t programs);

}  // namespace triton_runner::exec
