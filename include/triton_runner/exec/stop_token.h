// Declares a flag that one thread raises and running kernels poll: Ctrl-C and time-outs stop a kernel through
// it.
#pragma once
#include <atomic>

namespace triton_runner::exec {

class StopToken {
 public:
  void request_stop() { stopped_.store(true, std::memory_order_relaxed); }
  bool stop_requested() const { return stopped_.load(std::memory_order_relaxed); }
  void reset() { stopped_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> stopped_{false};
};

}  // namespace triton_runner::exec
