// Variables finds Python's variables at PTX and in machine code, where a launch stands there.
//
// Two questions are answered apart. Which value of the TTGIR a variable is, marks in the PTX say (find_marks): that of
// the last assignment that the program has come to. Which registers hold this value there, plans say (registers.h,
// sass.h), and what was written to registers since (holding.h). Where either is not certain there is no value.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/exec/stopper.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/probe/registers.h>
#include <triton_runner/probe/sass.h>
#include <triton_runner/ptx/module.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::probe {

// The place where a launch stands: a line of the text of its code, and the instruction there.
struct CodePlace {
  std::string_view function;
  int line;
  std::string_view text;
};

// The assignments of a kernel's TTGIR.
struct Assigned {
  struct One {
    Site site;
    int line = 0;               // of the statement
    bool is_buffer = false;     // in shared or tensor memory
    bool is_in_flight = false;  // the tensor cores are still computing it
    std::string constant;       // its attribute, as the text has it; empty: it is computed
  };
  std::vector<One> all;
  // The TTGIR with a mark after some of them.
  base::Result<std::string> marked(std::span<const uint32_t> which) const;
  std::string text, filename, kernel, above;  // what they were made of
};
// `above`: the kernel's TTIR, or empty.
base::Result<Assigned> assigned(std::string text, std::string filename, std::string kernel,
                                std::string above);

// The marks of assignments whose registers a plan of the PTX reads: they are where it reads them.
Marks marks_of(const Assigned& assigned, const RegisterPlan& plan);

class Holding;
class Bindings;
struct RegisterFlow;

class Variables {
 public:
  enum class Status : uint8_t {
    kNone,     // no assignment, or which one depends on the way to here
    kBuffer,   // it is in shared or tensor memory
    kNowhere,  // no register has it as it is
    kNotYet,   // it is assigned, and not computed yet
    kPartly,   // some registers have it already, or still
    kThere,
  };
  struct Found {
    Status status = Status::kNone;
    uint32_t assignment = 0;
    std::vector<uint32_t> pieces;
  };
  // Elements that threads which are here hold: there[i] is 0 of others.
  struct Elements {
    std::vector<std::byte> data;
    std::vector<int8_t> there;
  };
  // A register with what its threads are to have, by its number among Stopped::values().
  struct Write {
    size_t value;
    std::vector<std::byte> elements;
  };

  Variables(Assigned assigned, std::shared_ptr<const ptx::Module> ptx, const std::string& kernel,
            const Marks& marks, const RegisterPlan& plan);
  // For machine code made of that PTX; with no plan for it nothing is in registers.
  Variables(Assigned assigned, std::shared_ptr<const ptx::Module> ptx, const std::string& kernel,
            const Marks& marks, std::shared_ptr<const sass::Module> machine, const SassPlan* plan);
  ~Variables();

  const std::vector<Assigned::One>& assignments() const { return assigned_.all; }
  bool has(const std::string& variable) const;
  const Found& find(const std::string& variable, const CodePlace& place) const;
  Elements read(const Found& found, exec::StoppedLanes& lanes) const;
  // Returns what gives the elements that differ from those that stand another value. Errors: who holds one is elsewhere;
  // nothing reads it any more.
  base::Result<std::vector<Write>> write(const Found& found, const CodePlace& place,
                                         exec::StoppedLanes& lanes,
                                         std::span<const std::byte> elements) const;

 private:
  void place_values(const std::vector<Tap>& taps);
  std::optional<uint32_t> instruction_at(const CodePlace& place) const;
  Found found_at(const std::string& variable, uint32_t instruction) const;
  size_t number_of(const exec::Stopped& lanes, uint32_t reg) const;

  Assigned assigned_;
  std::shared_ptr<const ptx::Module> ptx_;
  std::shared_ptr<const sass::Module> machine_;
  std::string kernel_;
  std::vector<Tap> taps_;
  std::vector<int> tap_of_;               // of each assignment, or -1
  std::unique_ptr<RegisterFlow> of_ptx_;  // of machine code: its PTX
  std::unique_ptr<Bindings> bindings_;
  std::unique_ptr<Holding> holding_;
  std::unordered_map<int, std::vector<uint32_t>> of_line_;  // instructions
  std::unordered_map<int, uint32_t> ptx_of_line_;           // the first PTX instruction of a line
  mutable std::map<std::pair<uint32_t, std::string>, Found> found_;
  mutable std::vector<size_t> numbers_;  // of each register, among those of the launch
  mutable size_t values_ = 0;            // how many those are
  mutable const void* numbers_of_ = nullptr;
};

}  // namespace triton_runner::probe
