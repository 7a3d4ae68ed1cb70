// Tells facts about an instruction of AMD's machine code: the registers that it reads and writes, where it
// leads, whether it asks for memory. Registers have numbers of their own, of 32 bits each: v0 to v511, a0 to
// a511, s0 to s127.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/amdgcn/text.h>

namespace triton_runner::amdgcn {

struct Use {
  const Operand* operand;
  bool written;
};
// The operands in their order. The instruction has a row.
std::vector<Use> uses_of(const Instruction& in);

// The halves of its register that a use is of, the low one as 1 and the high one as 2: v1.l, what a load with _d16 writes, what
// a store of bytes or of 16 bits reads.
uint8_t halves_of(const Instruction& in, const Use& use);

// Is the load `at` the first guess of a loop of compare-and-swap, into which LLVM expands what a chip has no atomic instruction for?
// The swap compares what it read with what is there, so that it belongs to the atomic operation: it has the address and the place in the
// program of a _cmpswap behind it, which compares with the register that it writes.
bool is_first_guess(const Kernel& kernel, uint32_t at);

bool is_memory(const Instruction& in);     // loads, stores, atomics; of LDS too
bool loads_to_lds(const Instruction& in);  // past the registers
bool gives_old(const Instruction& in);     // an atomic one gives what was there

// The counters that say how many accesses to memory are under way, as gfx12 has them. On gfx9 stores count as loads do, and LDS shares
// a counter with the scalar unit until gfx12.
enum Counter : uint8_t { kLoads, kStores, kLds, kScalar, kCounters };
uint32_t generation_of(std::string_view target);                     // "gfx942" is 9
Counter counter_of(const Instruction& access, uint32_t generation);  // of what is_memory
// How many accesses of each counter may be under way after `in`, which is a wait; none: it does not wait for that counter.
std::array<std::optional<uint32_t>, kCounters> left_by(const Instruction& in);

// The instructions that may come after body[at], as indices into the body.
std::vector<uint32_t> successors(const Kernel& kernel, uint32_t at);

inline uint32_t register_code(OperandKind kind, uint32_t index) {
  return static_cast<uint32_t>(kind) << 16 | index;
}
inline OperandKind kind_of(uint32_t code) { return static_cast<OperandKind>(code >> 16); }
inline uint32_t index_of(uint32_t code) { return code & 0xffff; }
inline bool is_scalar(uint32_t code) { return kind_of(code) == OperandKind::kScalar; }
// "v5", "s3", "vcc_lo".
std::string register_name(uint32_t code);
// The registers of "v5", "v[2:3]", "a0", "s[4:7]", "vcc", "exec", "m0"; empty: that is no register.
std::vector<uint32_t> registers_named(std::string_view name);

// A pair of registers, as one place of 64 bits.
inline constexpr uint32_t kPair = 1u << 31;

// The registers that an instruction writes: those of its operands, EXEC where the opcode writes it.
std::vector<uint32_t> results_of(const Instruction& in);
// Work that an instruction does, with the words of sass::Work.
struct Work {
  std::string_view pipe;           // "VALU", "SALU", "MFMA", "LDS", "VMEM", "SMEM", "BRANCH"
  uint32_t flops = 0;              // of a lane
  uint64_t matrix_operations = 0;  // of a wavefront: two for each product
  std::string_view matrix_type;    // "f16", "f8", "s8", ...
  std::string_view space, access;  // "global", "shared", "local"; "load", "store", "atomic"
};
Work work_of(const Instruction& in);

// Whether what it writes are floats of 32 bits.
bool gives_floats(const Instruction& in);

}  // namespace triton_runner::amdgcn
