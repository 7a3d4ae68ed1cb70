// Parses bodies: statements, labels, the directives among them, instructions. See PTX ISA 4.3, 9.1 to 9.3.
// Their operands are in parse_operands.cpp, .file and .loc in parse_lines.cpp.
#include <algorithm>

#include "forms.h"
#include "parser.h"

namespace triton_runner::ptx {

bool Parser::parse_body(std::span<const Register> registers) {
  begin_function();
  Function& f = *arena_.make<Function>();
  f.name = module_.name;
  module_.function_list.push_back(&f);
  for (const Register& r : registers) {
    Symbol symbol{.kind = SymbolKind::kRegister, .name = arena_.text(r.name), .offset = 0};
    symbol.type = r.type;
    symbol.index = make_register(symbol.name, r.type);
    if (!declare(symbol)) return false;
  }
  if (!parse_statements(false) || !finish_function(f)) return false;
  if (open_comment_) return fail(0, "");
  finish_lines();
  return true;
}

bool Parser::parse_statements(bool until_brace) {
  const uint32_t outside = depth();
  while (true) {
    const uint32_t at = next_at();
    const char c = *p_;
    if (p_ == end_) {
      if (!until_brace && depth() == outside) return true;
      return fail(at, "expected '}', found the end of the text");
    }
    if (c == '}') {
      if (depth() == outside) {
        if (!until_brace) return fail(at, "a '}' without a '{'");
        ++p_;
        return true;
      }
      ++p_;
      if (!close_scope()) return false;
    } else if (c == '{') {
      ++p_;
      open_scope();
    } else if (c == ';') {
      return fail(at, "a ';' that ends nothing");
    } else if (c == '.') {
      if (!parse_body_directive()) return false;
    } else if (c == '@') {
      int32_t guard = -1;
      bool negated = false;
      if (p_[1] == '@') {  // @@DWARF
        while (p_ < end_ && *p_ != '\n') ++p_;
      } else if (!parse_guard(&guard, &negated) || !parse_instruction(at, guard, negated)) {
        return false;
      }
    } else {
      const std::string_view name = identifier();
      if (name.empty()) return fail_here("an instruction");
      const char* after = p_;
      if (*p_ != '.') skip();
      if (*p_ == ':' && p_[1] != ':') {
        ++p_;
        if (!parse_label(name, at)) return false;
      } else {
        p_ = after - name.size();
        if (!parse_instruction(at, -1, false)) return false;
      }
    }
  }
}

bool Parser::parse_body_directive() {
  const uint32_t at = here();
  const std::string_view name = after_dot();
  if (name == "loc") return parse_loc();
  if (name == "reg") return parse_registers();
  if (name == "file") return parse_file();
  if (name == "section") return parse_section();
  const Space space = find_word<Space>(kSpaceWords, name);
  if (space != Space::kNone) {
    std::vector<Variable*> list;
    if (!parse_variables(space, Linkage::kNone, false, &list) || !expect(';', "a variable")) return false;
    for (const Variable* v : list) {
      Symbol symbol{.kind = SymbolKind::kVariable, .name = v->name, .offset = v->offset};
      symbol.variable = v;
      if (!declare(symbol)) return false;
      locals_.push_back(v);
    }
    return true;
  }
  if (name == "branchtargets" || name == "calltargets" || name == "callprototype")
    return fail(at, "." + std::string(name) + " stands after a label");
  if (name.empty()) return fail_here("a directive");
  return skip_directive();
}

// .reg .b32 %r<33>, %x;
bool Parser::parse_registers() {
  const uint32_t at = next_at();
  Mod type = Mod::kNone;
  if (*p_ == '.') {
    const std::string_view name = after_dot();
    if (name == "v2" || name == "v4")
      return fail(at, "vector registers are not read", {"declare a register for each element"});
    type = find_mod(name);
  }
  if (!is_type(type))
    return fail(at, "expected the type of registers (.pred, .b32, .f32, ...), found " + found());
  do {
    skip();
    Symbol symbol{.kind = SymbolKind::kRegister, .name = {}, .offset = here()};
    symbol.name = identifier();
    symbol.type = type;
    symbol.index = ~0u;
    if (symbol.name.empty() || symbol.name == "_") return fail_here("the name of a register");
    if (take('<')) {
      if (!unsigned_integer(&symbol.count, "a count of registers") || !expect('>', "a count of registers"))
        return false;
      symbol.kind = SymbolKind::kFamily;
      symbol.index = static_cast<uint32_t>(family_registers_.size());
      family_registers_.emplace_back();
      const char last = symbol.name.back();
      digit_families_ |= is_digit(last);
    }
    if (!declare(symbol)) return false;
  } while (take(','));
  return expect(';', "registers");
}

bool Parser::parse_label(std::string_view name, uint32_t offset) {
  skip();
  if (*p_ == '.') {
    const std::string_view rest(p_ + 1, static_cast<size_t>(end_ - p_ - 1));
    if (rest.starts_with("branchtargets") || rest.starts_with("calltargets") ||
        rest.starts_with("callprototype"))
      return parse_list_directive(name, offset);
  }
  Symbol symbol{.kind = SymbolKind::kLabel, .name = name, .offset = offset};
  symbol.index = static_cast<uint32_t>(body_.size());
  return declare(symbol);
}

// name: .branchtargets L1, L2;   name: .calltargets f, g;   name: .callprototype (.param .b32 _) _ (...);
bool Parser::parse_list_directive(std::string_view name, uint32_t offset) {
  const std::string_view directive = after_dot();
  Symbol symbol{.kind = SymbolKind::kPrototype, .name = name, .offset = offset};
  if (directive == "callprototype") {
    Function& f = *arena_.make<Function>();
    open_scope();
    if (!parse_parameters(&f.returns)) return false;
    skip();
    if (identifier() != "_") return fail_here("'_' in the place of a function's name");
    if (!parse_parameters(&f.params)) return false;
    if (!close_scope() || !parse_attributes(f)) return false;
    f.name = name;
    f.offset = offset;
    f.is_declaration = true;
    symbol.prototype = &f;
  } else {
    const bool branches = directive == "branchtargets";
    std::vector<std::pair<std::string_view, uint32_t>> names;
    do {
      const uint32_t at = next_at();
      names.emplace_back(identifier(), at);
      if (names.back().first.empty()) return fail_here(branches ? "a label" : "the name of a function");
    } while (take(','));
    if (branches) {
      symbol.kind = SymbolKind::kBranchTargets;
      symbol.index = static_cast<uint32_t>(branch_targets_.size());
      auto targets = arena_.array<uint32_t>(names.size());
      for (size_t i = 0; i < names.size(); ++i)
        pending_.push_back({names[i].first, names[i].second, 0, nullptr, &targets[i]});
      branch_targets_.push_back(targets);
    } else {
      symbol.kind = SymbolKind::kCallTargets;
      symbol.index = static_cast<uint32_t>(call_targets_.size());
      auto callees = arena_.array<const Function*>(names.size());
      for (size_t i = 0; i < names.size(); ++i) {
        const Global* global = globals_.find(names[i].first);
        if (!global || !global->function) return unknown_name(names[i].first, names[i].second, "function");
        callees[i] = global->function;
      }
      call_targets_.push_back(callees);
    }
  }
  return expect(';', "a list of targets") && declare(symbol);
}

bool Parser::parse_guard(int32_t* guard, bool* negated) {
  ++p_;
  *negated = take('!');
  const uint32_t at = next_at();
  Operand operand;
  bool known = false;
  if (!parse_name(&operand, &known)) return false;
  if (!known) return unknown_name(name_at(at), at, "register");
  if (operand.kind != OperandKind::kRegister || registers_[operand.reg].type != Mod::kPred)
    return fail(at, "a guard is a register of type .pred");
  *guard = static_cast<int32_t>(operand.reg);
  skip();
  return true;
}

bool Parser::parse_instruction(uint32_t offset, int32_t guard, bool negated) {
  const uint32_t opcode_at = here();
  if (identifier().empty()) return fail_here("an instruction");
  const auto suffixes = [&] {
    while (*p_ == '.' || (*p_ == ':' && p_[1] == ':')) {
      p_ += *p_ == '.' ? 1 : 2;
      while (is_digit(*p_) || (*p_ >= 'a' && *p_ <= 'z') || (*p_ >= 'A' && *p_ <= 'Z') || *p_ == '_') ++p_;
    }
  };
  suffixes();
  std::string_view text(start_ + opcode_at, here() - opcode_at);
  skip();
  if (*p_ == '.') {  // blanks within the opcode: ld.global .b32
    std::string joined(text);
    while (*p_ == '.') {
      const char* begin = p_;
      suffixes();
      joined.append(begin, p_);
      skip();
    }
    text = arena_.text(joined);
  }
  Spelling how;
  if (!spell(text, opcode_at, &how)) return false;
  Instruction in;
  in.opcode = how.opcode;
  in.spelling = text;
  in.mods = how.mods;
  in.guard = guard;
  in.guard_negated = negated;
  in.source = source_;
  in.offset = offset;
  operands_.clear();
  const size_t first_pending = pending_.size();
  if (!parse_operands(how.opcode)) return false;
  const size_t n = operands_.size();
  if (n < how.least || n > how.most) {
    std::string takes = std::to_string(how.least);
    if (how.most != how.least) takes += " to " + std::to_string(how.most);
    return fail(opcode_at,
                std::string(text) + " takes " + takes + (takes == "1" ? " operand" : " operands") + ", not " +
                    std::to_string(n),
                {"see PTX ISA " + std::string(row(how.opcode).section)});
  }
  std::span<Operand> operands = arena_.copy(operands_.data(), n);
  in.operands = operands;
  in.length = here() - offset;
  for (size_t i = first_pending; i < pending_.size(); ++i)
    for (Operand& operand : operands)
      if (operand.offset == pending_[i].offset) pending_[i].operand = &operand;
  body_.push_back(in);
  return true;
}

// The opcode and modifiers of an instruction as written. Each spelling is looked at once.
bool Parser::spell(std::string_view text, uint32_t offset, Spelling* out) {
  Spelling& known = spellings_.at(text);
  if (known.known) {
    *out = known;
    return true;
  }
  const size_t dot = text.find('.');
  known.opcode = find_opcode(text.substr(0, dot));
  const bool anything = takes_anything(known.opcode);
  std::vector<Mod> mods;
  std::vector<uint32_t> at;
  for (size_t from = dot; from != std::string_view::npos;) {
    const size_t next = text.find('.', from + 1);
    const std::string_view name =
        text.substr(from + 1, next == std::string_view::npos ? next : next - from - 1);
    const Mod mod = find_mod(name);
    if (mod != Mod::kNone) {
      mods.push_back(mod);
      at.push_back(static_cast<uint32_t>(from));
    } else if (!anything) {
      std::vector<std::string> notes;
      if (name.size() < 64)
        for (const std::string& near :
             base::nearest_names("." + std::string(name), modifiers_of(known.opcode)))
          notes.push_back("did you mean " + near + "?");
      notes.push_back("see PTX ISA " + std::string(row(known.opcode).section));
      return fail(offset + from,
                  "'." + std::string(name) + "' is not a modifier of " + std::string(text.substr(0, dot)),
                  notes);
    }
    from = next;
  }
  if (!anything) {
    FormCheck check = check_form(known.opcode, mods);
    if (!check.ok)
      return fail(offset + (check.wrong >= 0 ? at[static_cast<size_t>(check.wrong)] : 0), check.message,
                  check.notes);
    known.least = check.least;
    known.most = check.most;
  }
  known.mods = arena_.copy(mods.data(), mods.size());
  known.known = true;
  *out = known;
  return true;
}

}  // namespace triton_runner::ptx
