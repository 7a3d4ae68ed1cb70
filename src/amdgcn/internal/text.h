// Reads AMD's machine code as LLVM writes it (AMDGCN): kernels, their instructions with operands and
// modifiers, what the kernel descriptor says of them, and their arguments.
//
//   global_load_dword v1, v[2:3], off offset:16       operands v1, v[2:3], off; modifier offset = 16
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/lines.h>
#include <triton_runner/base/result.h>

namespace triton_runner::amdgcn {

struct Row;

// Special registers stand among the scalar ones, with the numbers that the encoding gives them.
enum Special : uint32_t { kVccLo = 106, kVccHi = 107, kM0 = 124, kNull = 125, kExecLo = 126, kExecHi = 127 };

enum class OperandKind : uint8_t {
  kVector,       // v1, v[2:3]
  kAccumulator,  // a1, a[0:15]
  kScalar,       // s1, s[2:3], vcc, exec, m0, null
  kInteger,      // 64, 0x3f800000, -1
  kFloat,        // 1.0, -0.5
  kWord,         // off, scc, vccz, a label, a symbol, hwreg(...)
};

struct Operand {
  OperandKind kind = OperandKind::kWord;
  bool negated = false, absolute = false;  // -v1, |v1|
  bool extends_sign = false;               // sext(v1)
  uint32_t index = 0, count = 1;           // of a register, and how many
  int8_t half = -1;                        // v1.l, v1.h: 0, 1; -1: not said
  int64_t integer = 0;
  double number = 0;      // kFloat
  std::string_view text;  // as it is written, without -, | |

  bool is_register() const { return kind <= OperandKind::kScalar; }
  bool is(Special special) const { return kind == OperandKind::kScalar && index == special; }
};

struct Modifier {
  std::string_view name, value;  // offset and 16; glc and nothing
};

// The values of SDWA's modifiers dst_sel, src0_sel and src1_sel, by the numbers of their encoding, and of dst_unused.
inline constexpr std::string_view kSdwaParts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                  "WORD_0", "WORD_1", "DWORD"};
inline constexpr std::string_view kSdwaUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

struct Place {  // of a program's text
  std::string_view file;
  uint32_t line = 0, column = 0;
};

struct Instruction {
  std::string_view spelling;  // v_add_f32_dpp
  std::string_view name;      // v_add_f32
  enum Encoding : uint8_t { kPlain, kE64, kDpp, kSdwa } encoding = kPlain;
  bool is_second =
      false;  // of two that RDNA does at once (v_dual_...): it reads what was there before the first
  const Row* row = nullptr;  // of opcodes.def; null: there is none
  std::vector<Operand> operands;
  std::vector<Modifier> modifiers;
  uint32_t offset = 0, length = 0;  // in the text
  Place place;

  bool has(std::string_view modifier) const { return find(modifier) != nullptr; }
  // The value of a modifier: a number (`otherwise` without one), or what its list has at `k`.
  int64_t number(std::string_view modifier, int64_t otherwise = 0) const;
  int64_t number_at(std::string_view modifier, size_t k, int64_t otherwise) const;
  std::string_view text(std::string_view modifier) const {
    const Modifier* m = find(modifier);
    return m ? m->value : std::string_view();
  }

 private:
  const Modifier* find(std::string_view modifier) const;
};

struct Parameter {
  uint32_t offset = 0, bytes = 0;
  bool is_pointer = false;
};

// The launch adds these to the arguments: "block_count_x", "group_size_x", ...
struct Hidden {
  std::string_view kind;
  uint32_t offset = 0, bytes = 0;
};

// Constants in memory: a table, an array.
struct Object {
  std::string bytes;
  uint32_t align = 1;
  bool is_known = true;  // every element is a number
};

struct Kernel {
  std::string_view name;
  std::vector<Instruction> body;  // of the functions that it calls, too, behind its own
  std::map<std::string_view, uint32_t>
      labels;  // the number of the instruction that follows; functions by their names
  std::map<std::string_view, int64_t> directives;  // "next_free_vgpr": of .amdhsa_
  std::vector<Parameter> parameters;
  std::vector<Hidden> hidden;
  std::set<std::string_view> data;          // texts in memory that print
  uint32_t kernarg_bytes = 0, threads = 0;  // of the largest block; 0: not said

  int64_t directive(std::string_view name, int64_t otherwise = 0) const {
    const auto found = directives.find(name);
    return found == directives.end() ? otherwise : found->second;
  }
};

class Module : public base::LinedText {
 public:
  virtual std::string_view target() const = 0;  // "gfx942"
  virtual const std::vector<Kernel>& kernels() const = 0;
  virtual const Object* object(std::string_view name) const = 0;  // null: there is none
};

// The text's kernels, or what is wrong with its first fault (file:line:column and a caret). Never crashes, whatever the bytes.
// An opcode that the table (opcode.h) lacks is no fault here.
base::Result<std::shared_ptr<const Module>> parse(std::string text, std::string filename = "<amdgcn>");

}  // namespace triton_runner::amdgcn
