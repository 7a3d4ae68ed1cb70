// UninitCheck follows, for check="uninit", values that were never written, from where they are made to where
// something depends on them.
//
// Beside every value of a program stands its shadow: a value of the same type whose bytes are not 0 where the
// value is undefined. Ops that move elements are run a second time on the shadows, with the program's shared
// memory replaced by its shadow; others have a rule (uninit.cpp). What cannot be followed is defined.
#pragma once
#include <triton_runner/machine/unwritten.h>

#include "check/family.h"
#include "check/shadow.h"
#include "ops/access.h"

namespace triton_runner::tile {

inline constexpr std::byte kUndefined{1};
inline constexpr const char* kMaskedOff =
    "the mask turns the element off, and there is no other value for it";
inline constexpr const char* kNeverWritten = "the memory was never written";
inline constexpr const char* kNothingStored = "nothing was stored there in shared memory";

class UninitCheck {
 public:
  // follows: LaunchOptions::follows_undefined.
  UninitCheck(const CheckedCode& code, const exec::Memory& memory, bool follows);
  ~UninitCheck();
  void begin(Program& program);
  bool before(Task& t, const Instr& in);  // false: it trapped
  void after(Task& t, const Instr& in);
  // After that, in an experiment: what the op made undefined gets a number, and is defined from then on.
  void define_results(Task& t, const Instr& in);
  // Returns which elements of a value are undefined.
  Lanes lanes(Task& t, Slot s) const { return of(t).lanes(t, s); }
  // A block of a tensor descriptor: `element` of the tile, `bytes` at `address`.
  void block_loaded(uint64_t address, uint64_t bytes, int64_t element, int64_t size);
  bool block_stored(Task& t, const Instr& in, uint64_t address, uint64_t bytes, int64_t element,
                    int64_t size);
  // For a launch that does not look for uninitialised values: the bytes are written from now on.
  void block_noted(uint64_t address, uint64_t bytes) const { memory_.write(address, bytes); }

 private:
  friend class ShadowRule;
  struct Known {
    Family family;
    ShadowFn rule;  // of its op; null: what follows from the family
    std::vector<Sink> sinks;
  };
  Shadows& of(const Task& t) const { return of(*t.program); }
  Shadows& of(const Program& program) const;

  // Fails if what is on of `s` is undefined; `what` depends on it.
  bool sink(Task& t, const Instr& in, Slot s, int64_t mask, const char* what);
  bool report(Task& t, const Instr& in, Slot s, std::vector<int64_t> element, const char* what);
  bool atomic_memory(Task& t, const Instr& in, const Access& a);
  void combined(Task& t, const Instr& in, const Access& a);

  bool through_memory(Task& t, const Instr& in, Family family);
  bool follow(Task& t, const Instr& in, Family family, uint32_t origin);
  void settle(Task& t, const Instr& in, uint32_t origin);
  void loaded(Task& t, const Instr& in, const Access& a, Slot result);
  void stored(Task& t, const Access& a);
  void elementwise(Task& t, const Instr& in);
  void shared_moves(Task& t, const Instr& in);
  void block_loaded_into(Task& t, const Instr& in);
  void matrix(Task& t, const Instr& in);
  void send(Task& t, const Instr& in);
  // Elements of a buffer are on their way, until the barrier has counted them.
  void lands(Task& t, const Instr& in, ir::GroupName buffer, ir::GroupName barrier,
             const std::vector<uint8_t>& undefined);
  // Elements come to a buffer of each block that the op reaches, at once or counted by a barrier.
  void reach(Task& t, const Instr& in, const MemoryOperand& to, const MemoryOperand* barrier,
             const std::vector<uint8_t>& undefined);

  const CheckedCode& code_;
  const bool follows_;
  std::vector<Known> families_;  // by instruction
  machine::Unwritten memory_;
  std::vector<uint8_t> stored_;  // undefined elements of the buffer that a TMA store reads
  std::vector<int64_t> block_;   // undefined elements of the block that is being loaded
  std::vector<uint8_t> found_;   // of an atomic that is followed: whether its memory is undefined
};

}  // namespace triton_runner::tile
