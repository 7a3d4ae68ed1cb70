// Faults collects the accesses out of bounds of a launch that goes on after them (LaunchOptions::faults):
// each site once, with a count.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include <triton_runner/exec/trap.h>

namespace triton_runner::exec {

struct Fault {
  Trap first;          // of the lowest program
  uint64_t count = 0;  // accesses: elements of tiles, or threads
};

// Filled by all workers of a launch; what it holds does not depend on how many there are.
class Faults {
 public:
  // `count` accesses of the instruction `site` fault in the program of that number. `describe` is asked for
  // the first of them, if it is the first one of the site.
  void note(const void* site, int64_t program, uint64_t count, const std::function<Trap()>& describe);
  // In the order in which one worker would have met them; empties it.
  std::vector<Fault> take();

 private:
  struct Site {
    Fault fault;
    int64_t program;  // of `first`
    uint64_t met;     // when, among those of that program
  };
  std::mutex mutex_;
  std::map<const void*, Site> sites_;
  uint64_t clock_ = 0;
};

// Adds the advice to an access out of bounds whose address lies so far from the argument that it was made from
// (`distance` bytes) that an integer which overflowed is a likely cause. Not where `checks` look for it, nor
// where `level` cannot.
void advise_on_distance(Trap& trap, int64_t distance, uint32_t checks, std::string_view level);

}  // namespace triton_runner::exec
