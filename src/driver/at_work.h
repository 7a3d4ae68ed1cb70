// AtWork tells on stderr what a launch is at that takes more than three seconds, as the verbs do (_base/progress.py):
//
//   ... cuda: launch 7: running 'smooth', block 1024 of 4096, 3 s
//
// The next line comes when ten seconds more have passed, then after twice as long each time. It is tested by
// tests/python/launch/test_cuda_program.py.
#pragma once
#include <cstdint>
#include <string>

#include <triton_runner/exec/interruptible.h>

namespace triton_runner::driver {

// Lives as long as the launch. The lock of State is held: there is one at a time.
class AtWork {
 public:
  // verb: which a line names; empty: no line is written.
  AtWork(const std::string& verb, uint64_t launch, const std::string& kernel);
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  // The kernel is loaded, and now runs. `launch` lives longer than this.
  void runs(int64_t blocks, int64_t blocks_of_cluster, const exec::Interruptible& launch);

 private:
  bool is_told_;
};

}  // namespace triton_runner::driver
