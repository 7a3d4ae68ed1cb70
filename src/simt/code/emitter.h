// A front end writes Code with an Emitter: it gives places in the register file, and puts instructions on
// them.
#pragma once
#include <array>
#include <map>
#include <type_traits>
#include <utility>

#include <triton_runner/lanes/functions.h>

#include "code/code.h"

namespace triton_runner::simt {

class Emitter {
 public:
  Code& code;

  // A new place that nothing else uses.
  uint32_t temporary(uint32_t bytes);
  struct Place {
    uint32_t at, bytes;
  };
  std::vector<Place>* given = nullptr;  // is handed every new place, where somebody keeps the list
  uint32_t constant(uint64_t bits, uint32_t bytes);
  // The place of a value that differs by thread and never changes: value_of(thread); one place for each key.
  template <class F>
  uint32_t thread_constant(uint64_t key, uint32_t bytes, F value_of) {
    auto [it, is_new] = thread_constants_.try_emplace({key, bytes}, 0);
    if (is_new) {
      std::vector<uint64_t> values;
      for (uint32_t t = 0; t < code.threads; ++t) values.push_back(value_of(t));
      it->second = constant_by_thread(std::move(values), bytes);
    }
    return it->second;
  }
  // The place of the block's number along an axis.
  uint32_t block_number(uint32_t axis, uint32_t bytes);
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
  bool emit(const lanes::LaneFunction& alu,
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
  uint32_t constant_by_thread(std::vector<uint64_t> values, uint32_t bytes);

  uint32_t carry_ = kNoRegister;
  std::map<std::pair<uint64_t, uint32_t>, uint32_t> constants_, thread_constants_,
      block_numbers_;  // by bytes, too
};

}  // namespace triton_runner::simt
