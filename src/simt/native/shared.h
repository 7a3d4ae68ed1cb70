// Shared memory in native code, where a thread's address is known when a kernel is loaded: a number that depends on the thread alone,
// as addresses of a reduction's scratch are. Between two phases of a run (phases.h) words are copied from the register file to shared
// memory, or from there: straight code without a loop, in the order of the instructions.
//
//   shr.u32 %r33, %tid, 3; and.b32 %r34, %r33, 12;         of each warp, lane 0 stores last: one word
//   st.shared.b32 [%r34], %r32;                            mov ecx, [rdi + %r32 + 128 * warp]; mov [rax + 4 * warp], ecx
//
// begin_spans() looks before a run whether the addresses are within the block's memory.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "native/assembler.h"
#include "ops/memory.h"

namespace triton_runner::simt {

// Instr::data of the part of a run that such an access is.
struct SharedPart {
  static constexpr uint32_t kMostWords = 4;  // of a lane
  struct Lane {
    uint32_t lane, at;  // of its first word
  };
  bool store;
  uint32_t words;
  std::array<uint32_t, kMostWords> regs;
  std::vector<Lane> lanes;  // that load, or whose words stay there, in ascending order
  std::vector<std::pair<uint32_t, uint32_t>>
      others{};           // lanes that store before, and who stores to the same place last
  bool compares = false;  // whether those store the same: native code finds out
  bool is_partial;        // a load of some lanes: the others keep what they had
};
// Instr::run of that part; nobody calls it.
void shared_part(Lanes& lanes, const Operands& in);
inline const SharedPart* shared_of(const Instr& in) {
  return in.run == shared_part ? static_cast<const SharedPart*>(in.data) : nullptr;
}

// The access at `address` of each lane, of which `is_on` has those that make it (empty: all do). None: one is not aligned, or it
// would be too many copies.
std::optional<SharedPart> shared_access(const Access& access, bool store, std::span<const uint64_t> address,
                                        std::span<const uint64_t> is_on);
// The first byte after all of its words.
uint32_t end_of(const SharedPart& part);

// Writes the copies for lanes below `lanes`. r8 is where spans begin; place `index` says where shared memory is, the one after it is
// for SharedPart::compares.
void write_shared(Assembler& assembler, const SharedPart& part, uint32_t lanes, uint32_t index);

}  // namespace triton_runner::simt
