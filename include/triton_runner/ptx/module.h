// Holds PTX text as a graph: what a program declares, and its instructions with every name resolved.
//
// Parsing keeps the text, so that an untouched module prints back byte for byte; print_canonical writes from
// the graph alone. Everything a Module hands out lives as long as it does. PTX ISA chapters 4 (syntax),
// 5 (state spaces, types), 6 (operands), 11 (directives).
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/ptx/opcode.h>

namespace triton_runner::ptx {

enum class Space : uint8_t { kNone, kReg, kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// A register that the body names, at its first use: %r<33> declares up to 33 of them, and an inline-assembly
// block may declare more in a scope of its own. Operands name registers by index into Function::registers, so
// that scopes are resolved; two registers of different scopes may have one name.
struct Register {
  std::string_view name;  // "%r7", "%p1", "complete"
  Mod type;               // kPred, kB16, kB32, kB64, kF32, kS32, kB128, ...
};

enum class Linkage : uint8_t { kNone, kVisible, kExtern, kWeak, kCommon };

// A variable or a parameter: .shared .align 16 .b8 buffer[1024]; .param .u64 .ptr .global .align 1 k_param_0
struct Variable {
  std::string_view name;
  Space space = Space::kNone;
  Mod type = Mod::kNone;  // of an element
  uint32_t align = 1;     // bytes
  uint64_t bytes = 0;     // of the whole; 0 where it is open-ended (global_smem[])
  Linkage linkage = Linkage::kNone;
  bool is_extern = false;
  bool is_array = false;
  bool is_pointer = false;  // .ptr
  Space points_to = Space::kNone;
  std::span<const std::byte> initial;  // the first of `bytes`: those that are written; the rest is zeros
  // Initial values that are addresses: bytes [offset, offset + 8) hold address of `symbol` + addend.
  struct Relocation {
    uint64_t offset;
    std::string_view symbol;
    int64_t addend;
  };
  std::span<const Relocation> relocations;
  uint32_t offset = 0;                              // in the module's text
  uint32_t initial_offset = 0, initial_length = 0;  // of "= {1, 2}" in the text; length 0: nothing is written
};

// Variables, each at an address of its own: for (const Variable& v : function.variables).
class VariableList {
 public:
  class Iterator {
   public:
    explicit Iterator(const Variable* const* at) : at_(at) {}
    const Variable& operator*() const { return **at_; }
    const Variable* operator->() const { return *at_; }
    Iterator& operator++() { return ++at_, *this; }
    bool operator==(const Iterator& other) const = default;

   private:
    const Variable* const* at_;
  };
  VariableList() = default;
  explicit VariableList(std::span<const Variable* const> list) : list_(list) {}
  Iterator begin() const { return Iterator(list_.data()); }
  Iterator end() const { return Iterator(list_.data() + list_.size()); }
  size_t size() const { return list_.size(); }
  bool empty() const { return list_.empty(); }
  const Variable& operator[](size_t i) const { return *list_[i]; }

 private:
  std::span<const Variable* const> list_;
};

struct Function;

enum class OperandKind : uint8_t {
  kRegister,  // reg; negated: !%p1
  kSpecial,   // special: %tid.x
  kInteger,   // integer
  kFloat,     // integer holds the bits of 0f... (32) or 0d... (64, and all others); see literal_bits
  kVariable,  // variable (+ integer): the address of a variable
  kFunction,  // function: the callee, or its address
  kLabel,     // integer is the index of the instruction it stands before
  kVector,    // parts: {%r1, %r2}
  kAddress,   // parts[0] is the base (register, variable or integer), integer the offset in bytes; further
              // parts follow a comma: [%rd1, {%r1, %r2}]
  kGroup,     // parts in parentheses of a call
  kPair,      // parts: %r1|%p1
  kSink,      // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;
  Special special{};
  uint32_t reg = 0;
  int64_t integer = 0;
  bool is_wide = false;  // kFloat: 64 bits
  const Variable* variable = nullptr;
  const Function* function = nullptr;
  std::span<const Operand> parts;
  uint32_t offset = 0;  // in the module's text
  // The selector of a register operand of the video instructions: %r1.h10 is unit 'h' and lanes {1, 0}.
  struct Selector {
    char unit = 0;       // 'b' bytes, 'h' halves, 0: none
    uint8_t count = 0;   // lanes written
    uint16_t lanes = 0;  // 4 bits each, the one written last in the lowest
  } selector;
};

// The bits of a number (kInteger, kFloat) as an operand of `type`; those above its width are any. False where
// ptxas takes no such number: integers for floats, floats for integers, any for f16 and bf16.
bool literal_bits(const Operand& literal, Mod type, uint64_t* out);
std::string wrong_literal(const Operand& literal, Mod type);  // what is to be said then

// .loc: where the source of the instructions after it is, innermost first through inlined_at.
struct SourceLine {
  std::string_view file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string_view function;  // of an inlined body; may be empty
  const SourceLine* inlined_at = nullptr;

  // The innermost that is not of the language itself, else the innermost.
  const SourceLine* place() const;
};

struct Instruction {
  Opcode opcode{};
  std::string_view spelling;  // "ld.global.v4.b32", as written
  std::span<const Mod> mods;  // as written, types among them
  int32_t guard = -1;         // register of @%p1; -1: none
  bool guard_negated = false;
  std::span<const Operand> operands;         // as written
  const SourceLine* source = nullptr;        // null where no .loc came before
  uint32_t offset = 0, length = 0;           // in the module's text, guard to ';'
  std::span<const uint32_t> targets;         // brx.idx: instruction indices of its .branchtargets
  std::span<const Function* const> callees;  // indirect call: of its .calltargets, if it names some
  const Function* prototype = nullptr;       // indirect call: its .callprototype, if it names one

  bool has(Mod mod) const {
    for (Mod m : mods)
      if (m == mod) return true;
    return false;
  }
  bool does(Effect effect) const { return ptx::has(row(opcode).effects, effect); }
  // The i-th type among the modifiers (cvt.rn.f16x2.f32: type(0) is kF16x2, type(1) kF32); kNone if there
  // are fewer.
  Mod type(size_t i) const {
    for (Mod m : mods)
      if (is_type(m) && i-- == 0) return m;
    return Mod::kNone;
  }
};

struct Function {
  std::string_view name;
  Linkage linkage = Linkage::kNone;
  bool is_entry = false;
  bool is_declaration = false;       // .extern .func __assertfail(...);
  std::span<const Variable> params;  // in order
  std::span<const Variable> returns;
  std::span<const Register> registers;  // of .reg returns and params first, then as the body names them
  VariableList variables;               // declared in the body: .local, .shared, .param of calls
  std::span<const Instruction>
      body;  // a label is the index of the instruction after it (body.size() at the end)
  std::array<uint32_t, 3> reqntid{};  // 0: not given
  std::array<uint32_t, 3> maxntid{};
  std::array<uint32_t, 3> cluster{};  // .reqnctapercluster
  bool explicit_cluster = false;
  uint32_t maxnreg = 0, minnctapersm = 0, max_cluster_rank = 0;
  bool noreturn = false;
  uint32_t offset = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  virtual std::string_view text() const = 0;
  virtual const std::string& filename() const = 0;
  virtual std::string_view version() const = 0;  // "8.7"
  virtual std::string_view target() const = 0;   // "sm_90a"
  // 90 for sm_90a; 0 where the target is not sm_NN.
  virtual int compute_capability() const = 0;
  virtual std::span<const Function* const> functions() const = 0;
  virtual VariableList variables() const = 0;  // of the module: .global, .shared, .extern .shared
  const Function* find_function(std::string_view name) const;
  std::vector<const Function*> entries() const;
  // line and column of an offset of the text
  virtual base::Location location(uint32_t offset) const = 0;
  // A message about the text at `offset`, with its line and a caret.
  base::Diagnostic diagnostic(uint32_t offset, std::string message,
                              std::vector<std::string> notes = {}) const;
};

// The module of `text`, or what is wrong with its first fault: file:line:column, a caret, what was expected,
// the nearest names. Never crashes, whatever the bytes. Opcodes that the table does not have parse too
// (Opcode::kUnknown, for the engine to refuse), as do directives it does not know.
base::Result<std::shared_ptr<const Module>> parse(std::string text, std::string filename = "<ptx>");

// Instructions on their own (tt.elementwise_inline_asm, tests): the lines of `body` inside of a function
// whose registers are declared by `registers` and by the text itself.
base::Result<std::shared_ptr<const Module>> parse_body(std::string body, std::span<const Register> registers,
                                                       std::string filename = "<inline asm>");

// The module's text in which each of `variables`, copies of the module's own, has the copy's `initial` values and
// `relocations`, which may be others. All else stays, and each line keeps its number unless an old value had several.
std::string with_initial_values(const Module& module, std::vector<Variable> variables);

// The text written from the graph alone: parses to an equal graph and prints the same again. Comments and
// debug sections are not in it.
std::string print_canonical(const Module& module);

}  // namespace triton_runner::ptx
