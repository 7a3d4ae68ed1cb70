// Parser reads PTX in one pass over the characters, straight into the arena of the module.
//
// Every parse_ function returns false after it has set error_; nothing goes on after the first fault. The
// text ends with a NUL that std::string gives, so that one character may always be looked at.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/base/arena.h>
#include <triton_runner/base/lines.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/text_map.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

using base::is_digit;

// The words of spaces and linkages, without the '.', in the order of their enumerators.
inline constexpr std::string_view kSpaceWords[] = {"",       "reg",   "",      "global",
                                                   "shared", "local", "const", "param"};
inline constexpr std::string_view kLinkageWords[] = {"", "visible", "extern", "weak", "common"};
template <class Enum, size_t n>
Enum find_word(const std::string_view (&words)[n], std::string_view word) {
  const auto at = std::find(words, words + n, word);
  return word.empty() || at == words + n ? Enum{} : static_cast<Enum>(at - words);
}
inline Space memory_space(std::string_view word) {
  const Space space = find_word<Space>(kSpaceWords, word);
  return space == Space::kReg || space == Space::kParam ? Space::kNone : space;
}

class ModuleImpl final : public Module {
 public:
  std::string_view text() const override { return source; }
  const std::string& filename() const override { return name; }
  std::string_view version() const override { return version_text; }
  std::string_view target() const override { return target_text; }
  int compute_capability() const override;
  std::span<const Function* const> functions() const override { return function_list; }
  VariableList variables() const override { return VariableList(variable_list); }
  base::Location location(uint32_t offset) const override;

  std::string source, name;
  std::string_view version_text, target_text;
  std::vector<const Function*> function_list;
  std::vector<const Variable*> variable_list;
  bool is_body = false;  // of parse_body: no directives around it
  base::Arena arena;

 private:
  base::Lines lines_;
};

class Parser {
 public:
  explicit Parser(ModuleImpl& module)
      : module_(module),
        arena_(module.arena),
        start_(module.source.c_str()),
        p_(start_),
        end_(start_ + module.source.size()) {}
  bool parse_module();
  bool parse_body(std::span<const Register> registers);
  base::Diagnostic take_error() { return std::move(error_); }

 private:
  // --- names -------------------------------------------------------------------------------------------
  enum class SymbolKind : uint8_t {
    kRegister,
    kFamily,
    kVariable,
    kLabel,
    kBranchTargets,
    kCallTargets,
    kPrototype
  };
  struct Symbol {
    SymbolKind kind;
    std::string_view name;  // of a family: what stands before the number
    uint32_t offset;
    Mod type = Mod::kNone;  // registers
    uint32_t index = 0;     // a register's (~0: not used yet), the instruction of a label, the list's own
    uint64_t count = 0;     // of a family
    const Variable* variable = nullptr;
    const Function* prototype = nullptr;
    uint32_t depth = 0;  // how many scopes there are where it is declared
    int32_t hides = 0;   // the symbol of the same name further out + 1; 0: none
  };
  using Heads = base::TextMap<int32_t>;  // newest symbol of a name + 1; 0: none
  // A name that may stand for something further down: labels, and the lists of brx and call.
  struct Pending {
    std::string_view name;
    uint32_t offset;
    uint32_t at;       // the instruction that names it
    Operand* operand;  // of that instruction
    uint32_t* target;  // or an entry of a .branchtargets list
  };
  struct Scope {
    size_t symbols, families, pending;
  };

  // --- characters --------------------------------------------------------------------------------------
  void skip();  // blanks and comments
  void note_comment();
  uint32_t here() const { return static_cast<uint32_t>(p_ - start_); }
  uint32_t next_at() {  // past blanks
    skip();
    return here();
  }
  std::string_view identifier();  // empty if there is none
  std::string_view after_dot() {  // at a '.'
    ++p_;
    return identifier();
  }
  std::string_view name_at(uint32_t offset) const;  // %tid.x included
  bool take(char c) {
    skip();
    if (*p_ != c || p_ == end_) return false;
    ++p_;
    return true;
  }
  bool expect(char c, const char* after);
  std::string found() const;  // what stands here, quoted, for messages
  bool fail(size_t offset, std::string message, std::vector<std::string> notes = {});
  bool fail_here(const std::string& what_was_expected);
  bool line_directive();  // # 12 "file": blank too
  bool string(std::string_view* out);
  bool skip_braces();
  bool skip_directive();

  // --- constants ---------------------------------------------------------------------------------------
  struct Constant;
  bool at_constant() const;  // whether one begins here, other than with '(' or '!'
  bool literal(Constant* out);
  bool unary(Constant* out, int depth);
  bool combine(int op, Constant* a, const Constant& b, uint32_t at);
  bool combine_floats(int op, Constant* a, const Constant& b, uint32_t at);
  bool conditional(Constant* out, int level, int depth);
  bool constant(Operand* out);                           // an expression
  bool integer(int64_t* out, const char* of);            // an expression
  bool unsigned_integer(uint64_t* out, const char* of);  // one literal or WARP_SZ

  // --- modules -----------------------------------------------------------------------------------------
  bool parse_directive(Linkage linkage);
  bool parse_target();
  bool parse_function(bool entry, Linkage linkage);
  bool parse_parameters(std::span<const Variable>* out);
  bool parse_attributes(Function& f);
  bool parse_dimensions(std::array<uint32_t, 3>* out);
  // One declaration with its names: .align 4 .b8 a[3], b = 7 ... up to the ';' (or the ',' or ')' of a
  // parameter).
  bool parse_variables(Space space, Linkage linkage, bool parameter, std::vector<Variable*>* out);
  bool parse_initial(Variable& v, uint32_t element);
  bool parse_initial_list(std::string& bytes, std::vector<Variable::Relocation>& addresses, Variable& v,
                          uint32_t element, int depth);
  bool parse_initial_value(std::string& bytes, std::vector<Variable::Relocation>& addresses, Variable& v,
                           uint32_t element);
  bool declare_globals(std::span<Variable* const> list);
  struct Global {
    Variable* variable = nullptr;
    Function* function = nullptr;
  };

  // --- names in a function -----------------------------------------------------------------------------
  void begin_function();
  bool finish_function(Function& f);
  void open_scope() { scopes_.push_back({symbols_.size(), families_.size(), pending_.size()}); }
  bool close_scope();
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }
  bool declare(Symbol symbol);
  Symbol* find_name(std::string_view name);
  Symbol* find_family(std::string_view name, uint64_t* number);
  uint32_t& family_register(const Symbol& family, uint64_t number);
  uint32_t make_register(std::string_view name, Mod type);
  void note_labels();
  bool resolve(const Pending& pending, const Symbol& symbol);
  bool unknown_name(std::string_view name, uint32_t offset, const char* what);

  // --- bodies ------------------------------------------------------------------------------------------
  bool parse_statements(bool until_brace);
  bool parse_body_directive();
  bool parse_registers();
  bool parse_label(std::string_view name, uint32_t offset);
  bool parse_list_directive(std::string_view name, uint32_t offset);
  bool parse_guard(int32_t* guard, bool* negated);
  bool parse_instruction(uint32_t offset, int32_t guard, bool negated);
  bool parse_operands(Opcode opcode);
  bool parse_operand(int level);  // appends to operands_
  bool parse_operand_part(int level);
  bool is_negated_constant();
  bool parse_name(Operand* out, bool* known);
  bool parse_selector(Operand* out);
  bool parse_address(int level);
  bool parse_element(Operand& operand);
  bool parse_list(OperandKind kind, char close, int level);
  void gather(OperandKind kind, uint32_t offset, size_t first, int64_t integer = 0);
  struct Spelling;
  bool spell(std::string_view text, uint32_t offset, Spelling* out);

  // --- source lines ------------------------------------------------------------------------------------
  bool parse_loc();
  bool parse_file();
  bool parse_section();
  bool parse_strings();
  void finish_lines();

  ModuleImpl& module_;
  base::Arena& arena_;
  const char* start_;
  const char* p_;
  const char* end_;
  const char* open_comment_ = nullptr;
  bool in_assembly_ = false;  // inline assembly
  base::Diagnostic error_;

  base::TextMap<Global> globals_{64};

  // The names of the function being parsed.
  Heads name_heads_{64}, family_heads_{16};
  std::vector<Symbol> symbols_, families_;
  std::vector<std::vector<uint32_t>> family_registers_;   // by Symbol::index: number -> register + 1
  std::unordered_map<uint64_t, uint32_t> far_registers_;  // of large numbers
  std::vector<Scope> scopes_;
  std::vector<Pending> pending_;
  std::vector<Register> registers_;
  std::vector<const Variable*> locals_;
  std::vector<Instruction> body_;
  std::vector<Operand> operands_;  // of the instruction being parsed; inner lists on top
  bool in_call_ = false;           // where '(' opens a list
  bool takes_addresses_ = false;   // a variable with an index stands for memory, not for its address
  std::vector<std::span<const uint32_t>> branch_targets_;
  std::vector<std::span<const Function* const>> call_targets_;
  std::vector<std::string> label_notes_;
  bool numbered_names_ = false;  // a name that starts in '%' and ends in a digit, declared on its own
  bool digit_families_ = false;  // a family whose prefix ends in a digit
  const SourceLine* source_ = nullptr;

  // Opcodes as written, each looked at once.
  struct Spelling {
    Opcode opcode{};
    bool known = false;  // looked at
    std::span<const Mod> mods;
    uint32_t least = 0, most = ~0u;
  };
  base::TextMap<Spelling> spellings_{256};

  struct Line {
    SourceLine* line;
    uint32_t file;
    std::string_view function;  // a label of .debug_str
  };
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, const SourceLine*> line_index_;
  std::unordered_map<uint32_t, std::string_view> files_;
  std::unordered_map<std::string_view, std::string_view> strings_;
};

}  // namespace triton_runner::ptx
