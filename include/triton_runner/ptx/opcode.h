// The instruction set as tables: opcodes.def (one row an opcode), modifiers.def (types and every other
// .suffix), special.def (special registers).
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace triton_runner::ptx {

enum class Opcode : uint16_t {
#define OP(name, text, ...) name,
#include <triton_runner/ptx/opcodes.def>
};

// One suffix of an opcode: a type (kF32, kB16, ...) or a modifier (kRn, kFtz, kShared, kM16N8K16, ...).
enum class Mod : uint16_t {
#define TYPE(name, text, ...) name,
#define MOD(name, text) name,
#include <triton_runner/ptx/modifiers.def>
};

enum class Special : uint8_t {
#define SPECIAL(name, text, ...) name,
#include <triton_runner/ptx/special.def>
};

// What an opcode does, as far as others than its handler want to know: flags of its row.
enum class Effect : uint32_t {
  kNone = 0,
  kComputes = 1 << 0,   // its results are made of its operands (and the carry) by the thread alone
  kNumbers = 1 << 1,    // where its type is a float's, its operands and its result are numbers of that type
  kDivides = 1 << 2,    // by its second operand
  kCarries = 1 << 3,    // takes the carry of the instruction before it
  kReads = 1 << 4,      // memory
  kWrites = 1 << 5,     // memory
  kUpdates = 1 << 6,    // memory, in one step
  kCopies = 1 << 7,     // has memory copied behind the thread's back
  kObjects = 1 << 8,    // works on what lies in memory for such instructions only: mbarriers, tensor maps
  kLater = 1 << 9,      // what it starts is there when it was waited for
  kShares = 1 << 10,    // takes values of other threads of its warp
  kMeets = 1 << 11,     // threads of the block wait for each other
  kOrders = 1 << 12,    // accesses to memory, or launches
  kJumps = 1 << 13,     // what comes next may stand elsewhere
  kConsumes = 1 << 14,  // gives no result: the operand that stands first is a source
  kHints = 1 << 15,     // changes no value
  kOnce = 1 << 16,      // ptxas never computes it in two places for one execution
  kMerges = 1 << 17,    // ptxas may make it a part of the instruction that uses its result
};
constexpr Effect operator|(Effect a, Effect b) {
  return static_cast<Effect>(static_cast<uint32_t>(a) | static_cast<uint32_t>(b));
}
constexpr bool has(Effect all, Effect one) {
  return (static_cast<uint32_t>(all) & static_cast<uint32_t>(one)) != 0;
}

struct OpcodeRow {
  Opcode opcode;
  std::string_view text;     // the base mnemonic: "cp" of cp.async.bulk.tensor
  std::string_view forms;    // the modifiers and operand counts it takes, as opcodes.def says them
  std::string_view handler;  // of the SIMT engine: "alu" for lower_alu
  Effect effects;
  std::string_view section;  // of the PTX ISA
  bool executed;             // handler is not UNSUPPORTED
  bool compares;             // one of its modifiers is a comparison
};
const OpcodeRow& row(Opcode opcode);
std::span<const OpcodeRow> opcode_table();  // by opcode; row 0 is kUnknown

Opcode find_opcode(std::string_view base);           // kUnknown if there is none
Mod find_mod(std::string_view text);                 // without the dot; kNone if there is none
const Special* find_special(std::string_view text);  // "%tid.x"; null if there is none
std::vector<std::string_view> special_names();

bool is_type(Mod mod);
std::string_view text(Mod mod);  // without the dot
std::string_view text(Opcode opcode);
std::string_view text(Special special);  // "%tid.x"
// Bits of a value of the type: 32 for kF16x2, 1 for kPred, 0 for what is no type.
int bits(Mod type);
int bits(Special special);
bool is_float(Mod type);   // kF16 ... kF64, kBf16, kTf32, the 8-, 6- and 4-bit formats, and their vectors
bool is_signed(Mod type);  // kS8 ... kS64, kS16x2, ...

}  // namespace triton_runner::ptx
