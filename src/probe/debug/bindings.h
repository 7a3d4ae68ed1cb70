// Bindings tells which assignment a variable has its value of, at each instruction of PTX. Which registers
// hold that value is in holding.h.
#pragma once
#include <map>
#include <string>
#include <vector>

#include <triton_runner/probe/registers.h>

#include "debug/register_flow.h"

namespace triton_runner::probe {

class Bindings {
 public:
  // variables: of each assignment. An assignment without a place takes its variable out of sight everywhere.
  Bindings(const RegisterFlow& flow, const std::string& function, const std::vector<std::string>& variables,
           const Marks& marks);
  bool has(const std::string& variable) const { return numbers_.contains(variable); }
  // The assignment; -1: none, or which one depends on the way to the instruction.
  int at(uint32_t instruction, const std::string& variable) const;

 private:
  static constexpr int kUnknown = -1, kUnreached = -2;
  using State = std::vector<int>;  // of each variable
  struct Event {
    uint32_t variable;
    int assignment;  // or kUnknown
  };
  void apply(uint32_t instruction, bool after, State& state) const;

  const RegisterFlow& flow_;
  std::map<std::string, uint32_t> numbers_;
  std::map<std::pair<uint32_t, bool>, std::vector<Event>>
      events_;                 // by place: before an instruction, or after it
  std::vector<State> states_;  // before each instruction
};

}  // namespace triton_runner::probe
