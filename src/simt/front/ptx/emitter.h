// Both front ends write code with these: places in the register file, and instructions on them.
#pragma once
#include <array>
#include <map>
#include <type_traits>
#include <utility>

#include <triton_runner/ptx/alu.h>
#include <triton_runner/ptx/module.h>

#include "state/exec.h"

namespace triton_runner::simt {

class Emitter {
 public:
  Code& code;

  // A new place that nothing else uses.
  uint32_t temporary(uint32_t bytes);
  uint32_t constant(uint64_t bits, uint32_t bytes);
  // The place of a special register that differs by thread.
  uint32_t thread_constant(ptx::Special special, uint32_t bytes);
  uint32_t carry() { return carry_ == kNoRegister ? carry_ = temporary(1) : carry_; }  // CC.CF

  // Appends an instruction with the guard of the one being lowered.
  virtual Instr& emit(Handler run) = 0;
  // The same with its operands, and with the plan that is their `data`: true, as its caller has lowered something.
  bool emit(Handler run, const Operands& operands);
  template <class Plan>
  bool emit(Handler run, Operands operands, Plan plan) {
    operands.data = code.keep(std::move(plan));
    return emit(run, operands);
  }
  bool emit(const ptx::Alu& alu,
            const std::array<uint32_t, 6>& places);  // of d, a, b, c, e and what is extra
  template <auto kFunction>
  bool emit(const Operands& operands = {}) {
    return emit(handler<kFunction>, operands);
  }
  template <auto kFunction, class Plan>
    requires std::is_invocable_v<decltype(kFunction), Exec&, const Operands&, const Plan&>
  bool emit(Plan plan) {
    return emit(handler<kFunction>, {}, std::move(plan));
  }

 protected:
  explicit Emitter(Code& to) : code(to) {}
  ~Emitter() = default;

 private:
  uint32_t carry_ = kNoRegister;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> constants_, thread_constants_;  // by bytes, too
};

}  // namespace triton_runner::simt
