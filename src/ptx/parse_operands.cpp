// Parses operands: registers, addresses, vectors, constants. PTX ISA chapter 6.
#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr int kDeepestOperand = 4;  // ({[ in each other; the ISA has 2

const char* const kAddend = "'-' subtracts nothing from an address: write +-4 instead of -4";

}  // namespace

// All of an instruction's, and its ';'.
bool Parser::parse_operands(Opcode opcode) {
  in_call_ = opcode == Opcode::kCall;
  takes_addresses_ = opcode != Opcode::kMov && opcode != Opcode::kCvta;
  skip();
  if (*p_ == ';') {
    ++p_;
    return true;
  }
  while (true) {
    const size_t n = operands_.size();
    const bool has_results = n > 0 && operands_[0].kind == OperandKind::kGroup;
    const uint32_t at = here();
    skip();
    if (!parse_operand(0)) return false;
    Operand& operand = operands_[n];
    if (operand.kind == OperandKind::kLabel) {  // a name that is nothing known so far
      const std::string_view name = name_at(operand.offset);
      const bool target = opcode == Opcode::kBra || (opcode == Opcode::kBrx && n == 1) ||
                          (opcode == Opcode::kCall && n > (has_results ? 1u : 0u));
      if (!target) return unknown_name(name, operand.offset, opcode == Opcode::kCall ? "function" : "name");
      pending_.push_back({name, operand.offset, static_cast<uint32_t>(body_.size()), nullptr, nullptr});
    } else if (opcode == Opcode::kCall && n == (has_results ? 1u : 0u) &&
               operand.kind != OperandKind::kGroup && operand.kind != OperandKind::kFunction &&
               operand.kind != OperandKind::kRegister) {
      return fail(at, "expected the name of a function or a register that holds its address");
    }
    const char* behind = p_;
    skip();
    if (*p_ == ';') {
      ++p_;
      return true;
    }
    if (*p_ != ',') {
      const std::string message = "expected ',' or ';' after an operand, found " + found();
      const bool next_line = std::memchr(behind, '\n', static_cast<size_t>(p_ - behind)) != nullptr;
      while (next_line && (behind[-1] == ' ' || behind[-1] == '\t')) --behind;
      return fail(next_line ? static_cast<size_t>(behind - start_) : here(), message);
    }
    ++p_;
    skip();
  }
}

bool Parser::parse_operand(int level) {
  const uint32_t at = next_at();
  const size_t first = operands_.size();
  if (!parse_operand_part(level)) return false;
  while (*p_ == ' ' || *p_ == '\t') ++p_;
  if (*p_ != '|') return true;
  ++p_;
  skip();
  if (!parse_operand_part(level)) return false;
  for (size_t i = first; i < operands_.size(); ++i)
    if (operands_[i].kind == OperandKind::kLabel)
      return unknown_name(name_at(operands_[i].offset), operands_[i].offset, "register");
  gather(OperandKind::kPair, at, first);
  return true;
}

bool Parser::parse_operand_part(int level) {
  const uint32_t at = here();
  const char c = *p_;
  if (c == '{') return parse_list(OperandKind::kVector, '}', level);
  if (c == '(' && in_call_) return parse_list(OperandKind::kGroup, ')', level);
  if (c == '[') return parse_address(level);
  Operand operand;
  operand.offset = at;
  if (c == '(' || at_constant() || (c == '!' && is_negated_constant())) {
    if (!constant(&operand)) return false;
  } else {
    if (c == '!') {
      ++p_;
      skip();
      operand.negated = true;
    }
    bool known = false;
    const uint32_t begin = here();
    if (!parse_name(&operand, &known)) return false;
    if (!known) {
      if (level > 0 || operand.negated) return unknown_name(name_at(begin), begin, "register or name");
      operand.kind = OperandKind::kLabel;
    }
    if (operand.negated && operand.kind != OperandKind::kRegister)
      return fail(at, "'!' negates a predicate register");
    if (operand.kind == OperandKind::kVariable) {
      skip();
      if (*p_ == '-') return fail(here(), kAddend);
      if (take('+') && !integer(&operand.integer, "an offset")) return false;
      if (*p_ == '[') return parse_element(operand);
    }
  }
  operands_.push_back(operand);
  return true;
}

// a[2]: the address of an element, counted in scalars, of .v2 too; in a load or a store it is what [a+8] is.
bool Parser::parse_element(Operand& operand) {
  int64_t index = 0;
  ++p_;
  const uint32_t at = next_at();
  if (!integer(&index, "the number of an element")) return false;
  if (index < INT32_MIN || index > INT32_MAX) return fail(at, "the number of an element has 32 bits");
  if (!expect(']', "an element")) return false;
  const int64_t offset = index * ((bits(operand.variable->type) + 7) / 8);
  if (!takes_addresses_) operand.integer = offset;
  operands_.push_back(operand);
  if (takes_addresses_) gather(OperandKind::kAddress, operand.offset, operands_.size() - 1, offset);
  return true;
}

// '!' before a constant, not before a predicate register.
bool Parser::is_negated_constant() {
  const char* const before = p_;
  do {
    ++p_;
    skip();
  } while (*p_ == '!');
  const bool found = *p_ == '(' || at_constant();
  p_ = before;
  return found;
}

// A register, a special register, a variable (+ offset), a function or _. A name that is none of
// these leaves `known` alone, with p_ after it.
bool Parser::parse_name(Operand* out, bool* known) {
  const uint32_t at = here();
  const std::string_view name = identifier();
  if (name.empty()) return fail_here("an operand");
  *known = true;
  Symbol* symbol = nullptr;
  if (is_digit(name.back())) {
    uint64_t number;
    Symbol* family = find_family(name, &number);
    if (!family || numbered_names_ || name[0] != '%') symbol = find_name(name);
    if (family && (!symbol || symbol->depth < family->depth)) {
      uint32_t& made = family_register(*family, number);
      if (made == 0) made = make_register(name, family->type) + 1;
      out->kind = OperandKind::kRegister;
      out->reg = made - 1;
      return parse_selector(out);
    }
  } else {
    symbol = find_name(name);
  }
  if (symbol && symbol->kind == SymbolKind::kRegister) {
    if (symbol->index == ~0u) symbol->index = make_register(name, symbol->type);
    out->kind = OperandKind::kRegister;
    out->reg = symbol->index;
    return parse_selector(out);
  }
  if (name == "_") {
    out->kind = OperandKind::kSink;
    return true;
  }
  if (name[0] == '%' && !symbol) {
    if (*p_ == '.') {  // %tid.x
      ++p_;
      identifier();
    }
    const Special* special = find_special({start_ + at, here() - at});
    *known = special != nullptr;
    if (special) out->kind = OperandKind::kSpecial, out->special = *special;
    return true;
  }
  const Global* global = nullptr;
  if (symbol && symbol->kind == SymbolKind::kVariable) {
    out->kind = OperandKind::kVariable;
    out->variable = symbol->variable;
  } else if (!symbol && (global = globals_.find(name)) && (global->variable || global->function)) {
    out->kind = global->variable ? OperandKind::kVariable : OperandKind::kFunction;
    out->variable = global->variable;
    out->function = global->function;
  } else {
    *known = false;
  }
  return true;
}

// .b0, .h1, .h10, .b7654: which parts of a register a video instruction takes.
bool Parser::parse_selector(Operand* out) {
  if (*p_ != '.') return true;
  const uint32_t at = here();
  const char unit = p_[1];
  const char* p = p_ + 2;
  Operand::Selector selector{unit, 0, 0};
  for (; is_digit(*p) && selector.count < 4; ++p, ++selector.count)
    selector.lanes = static_cast<uint16_t>(selector.lanes << 4 | (*p - '0'));
  const int limit = unit == 'b' ? 7 : 3;
  bool ok = (unit == 'b' || unit == 'h') && selector.count > 0;
  for (int i = 0; i < selector.count; ++i) ok &= (selector.lanes >> (4 * i) & 15) <= limit;
  if (!ok || is_digit(*p)) return fail(at, "expected a selector of bytes or halves (.b0 to .b7, .h0 to .h3)");
  out->selector = selector;
  p_ = p;
  return true;
}

// [base], [base+4], [base+-4], [4096], [base, {%r1, %r2}]
bool Parser::parse_address(int level) {
  if (level == kDeepestOperand) return fail_here("an operand with fewer brackets in each other");
  const uint32_t at = here();
  const size_t first = operands_.size();
  ++p_;
  skip();
  Operand base;
  base.offset = here();
  if (at_constant() || *p_ == '(') {
    if (!constant(&base)) return false;
    if (base.kind != OperandKind::kInteger) return fail(base.offset, "an address cannot be a float");
  } else {
    bool known = false;
    if (!parse_name(&base, &known)) return false;
    if (!known) return unknown_name(name_at(base.offset), base.offset, "register or variable");
    if (base.kind != OperandKind::kRegister && base.kind != OperandKind::kVariable)
      return fail(base.offset, "an address starts with a register, a variable or a number");
  }
  operands_.push_back(base);
  int64_t offset = 0;
  skip();
  if (*p_ == '-') return fail(here(), kAddend);
  if (take('+') && !integer(&offset, "an offset")) return false;
  skip();
  while (*p_ == ',') {
    ++p_;
    if (!parse_operand(level + 1)) return false;
    skip();
  }
  if (!expect(']', "an address")) return false;
  gather(OperandKind::kAddress, at, first, offset);
  return true;
}

bool Parser::parse_list(OperandKind kind, char close, int level) {
  if (level == kDeepestOperand) return fail_here("an operand with fewer brackets in each other");
  const uint32_t at = here();
  const size_t first = operands_.size();
  ++p_;
  skip();
  if (*p_ == close) {
    ++p_;
  } else {
    do {
      if (!parse_operand(level + 1)) return false;
    } while (take(','));
    if (!expect(close, "an operand")) return false;
  }
  gather(kind, at, first);
  return true;
}

// The operands from `first` on become the parts of one.
void Parser::gather(OperandKind kind, uint32_t offset, size_t first, int64_t integer) {
  Operand whole;
  whole.kind = kind;
  whole.offset = offset;
  whole.integer = integer;
  whole.parts = arena_.copy(operands_.data() + first, operands_.size() - first);
  operands_.resize(first);
  operands_.push_back(whole);
}

}  // namespace triton_runner::ptx
