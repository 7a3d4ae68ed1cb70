// Parses NVIDIA machine code as `nvdisasm -c -hex` prints it: functions, instructions with their operands and
// their 128 bits, labels, and the places that -g or -gp put before an instruction.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/lines.h>
#include <triton_runner/base/result.h>

namespace triton_runner::ptx {
enum class Effect : uint32_t;
}

namespace triton_runner::sass {

enum class Opcode : uint16_t;
enum class Trait : uint32_t;
struct Row;

// The assembler tells the hardware when an instruction may go: bits 105 to 125 of its 128.
struct Control {
  uint8_t stall = 0;          // cycles until the next instruction of the warp
  bool yield = false;         // another warp may go first
  uint8_t write_barrier = 7;  // set when the result is there; 7: none
  uint8_t read_barrier = 7;   // set when the operands were read; 7: none
  uint8_t wait_mask = 0;      // barriers that are waited for, a bit each
  uint8_t reuse = 0;          // operands that stay in the operand cache, a bit each
};
Control control_of(const std::array<uint64_t, 2>& words);

inline constexpr uint32_t kZero = 255;  // index of RZ and of URZ
inline constexpr uint32_t kTrue = 7;    // index of PT and of UPT

enum class OperandKind : uint8_t {
  kRegister,          // R4, RZ
  kUniform,           // UR4, URZ
  kPredicate,         // P0, PT
  kUniformPredicate,  // UP0, UPT
  kBarrier,           // B0
  kSpecial,           // SR_TID.X; SRZ
  kInteger,           // 0x10, -0x4
  kFloat,             // 1.5, +INF: the bits are in the words of the instruction
  kConstant,          // c[0x0][0x210], c[0x0][R4+0x210]
  kAddress,           // [R4+0x10], desc[UR4][R2.64+0x10], gdesc[UR8]
  kLabel,             // `(.L_x_1)
  kName,              // PR, SB0 and whatever else is a word
};

struct Operand {
  OperandKind kind = OperandKind::kName;
  bool minus = false, inverted = false, absolute = false;  // -a, ~a or !p, |a|
  uint32_t index = 0;                                      // of a register
  int64_t integer =
      0;  // a number; the offset of an address or of a constant; a label's address, -1: in another section
  uint32_t bank = 0;           // kConstant
  std::string_view text;       // as it is written
  std::string_view selector;   // "H0_H0", "64", "B1": what follows a register; kSpecial, kName: the name
  std::string_view space;      // kAddress: "desc", "gdesc", "tmem", "" for plain brackets
  std::vector<Operand> parts;  // kAddress, kConstant: registers that are added up
  std::optional<uint32_t> descriptor;  // kAddress: the uniform register in desc[]
};

struct Place {  // of a program's text
  std::string_view file;
  uint32_t line = 0;
};

struct Instruction {
  uint64_t address = 0;             // from the start of its section
  std::array<uint64_t, 2> words{};  // 0 where the listing was made without -hex
  Control control;
  std::optional<Operand> guard;        // @P0, @!UP1
  std::string_view spelling;           // "LDG.E.128"
  std::string_view name;               // "LDG"
  std::vector<std::string_view> mods;  // "E", "128"
  const Row* row = nullptr;            // of opcodes.def, by its name and its suffixes; null: there is none
  std::vector<Operand> operands;
  std::string_view note;                 // what (* *) says: the targets of BRX
  std::vector<std::string_view> labels;  // before it
  uint32_t offset = 0, length = 0;       // in the listing, guard to ';'
  uint32_t ptx_line = 0;                 // 0: not known
  std::vector<Place> places;             // innermost first: it, and what it was inlined into

  // The innermost that is not of the language itself, else the innermost; null: it has none.
  const Place* place() const;
  bool has(std::string_view mod) const {
    for (std::string_view m : mods)
      if (m == mod) return true;
    return false;
  }
  bool is(Opcode opcode) const;
  bool does(ptx::Effect effect) const;
  bool does(Trait trait) const;
};

struct Function {  // a section: a kernel with the functions that were put into it, or a function of its own
  std::string_view name;
  std::vector<Instruction> body;
};

size_t index_of(const Function& f, uint64_t address);  // of the instruction at an address, or the next one
bool is_always(const Instruction& in);                 // no thread passes it by

class Module : public base::LinedText {
 public:
  virtual const std::vector<Function>& functions() const = 0;
  const Function* find(std::string_view name) const;
};

// The listing's functions, or what is wrong with its first fault (file:line:column and a caret). Never crashes,
// whatever the bytes. An opcode or a modifier that the table (opcode.h) lacks is no fault here.
base::Result<std::shared_ptr<const Module>> parse(std::string listing, std::string filename = "<sass>");

}  // namespace triton_runner::sass
