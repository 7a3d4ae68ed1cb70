// Kept keeps launches as files, of which `triton-runner cuda --capture` makes cases: the first one of each kernel, and
// those that a fault ends.
//
//   Kept::Before before(launch);                   // copies the blocks that its parameters point to, and its module's variables
//   ... the launch ...
//   state().kept->take(launch, number, before, fault);
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api.h"

namespace triton_runner::driver {

struct Launch;

class Kept {
 public:
  // folder: where a folder for each launch is made. kernel: the one that is kept, as messages or its text name it; empty: all.
  Kept(std::string folder, std::string kernel) : folder_(std::move(folder)), kernel_(std::move(kernel)) {}

  class Before {
   public:
    explicit Before(const Launch& launch);

   private:
    friend class Kept;
    struct Copy {
      Address address;
      std::string label;
      std::vector<std::byte> bytes;
    };
    std::vector<Copy> blocks_;
    std::map<std::string, std::string, std::less<>> variables_;  // of the module, by name
  };
  // Writes the names that it does not look at into the folder, once each, for whoever asked for a name that was not launched.
  bool looks_at(const Launch& launch);
  // fault: its first line; empty: the launch ran to its end.
  void take(const Launch& launch, uint64_t number, const Before& before, const std::string& fault);

 private:
  std::string folder_, kernel_;
  std::set<std::string> names_;   // kernels of which a launch is there
  std::set<std::string> others_;  // kernels that it was not asked for
};

}  // namespace triton_runner::driver
