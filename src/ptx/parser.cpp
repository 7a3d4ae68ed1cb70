// Parses modules: directives, functions and their signatures. PTX ISA chapter 11. Bodies are in
// parse_body.cpp.
#include "parser.h"

namespace triton_runner::ptx {
namespace {

constexpr size_t kLargestText = uint32_t(-1) - 16;  // offsets have 32 bits

}  // namespace

bool Parser::parse_module() {
  if (module_.source.size() > kLargestText) return fail(0, "a text of more than 4 GiB");
  while (true) {
    skip();
    if (p_ == end_) break;
    if (*p_ == ';') return fail(here(), "a ';' that ends nothing");
    if (p_[0] == '@' && p_[1] == '@') {  // @@DWARF: debug data of old releases, a line each
      while (p_ < end_ && *p_ != '\n') ++p_;
    } else if (!parse_directive(Linkage::kNone)) {
      return false;
    }
  }
  if (open_comment_) return fail(0, "");
  if (module_.version_text.empty()) return fail(0, "this is not PTX: it has no .version");
  finish_lines();
  return true;
}

bool Parser::parse_directive(Linkage linkage) {
  const uint32_t at = next_at();
  if (*p_ != '.') {
    if (module_.version_text.empty()) return fail(at, "this is not PTX: expected .version, found " + found());
    return fail_here("a directive (.target, .visible, .func, .global, ...)");
  }
  const std::string_view name = after_dot();
  if (const Linkage more = find_word<Linkage>(kLinkageWords, name); more != Linkage::kNone) {
    if (linkage != Linkage::kNone) return fail(at, "a second linkage");
    return parse_directive(more);
  }
  if (name == "entry") return parse_function(true, linkage);
  if (name == "func") return parse_function(false, linkage);
  const Space space = name == "tex" ? Space::kGlobal : memory_space(name);
  if (space != Space::kNone) {
    std::vector<Variable*> list;
    return parse_variables(space, linkage, false, &list) && expect(';', "a variable") &&
           declare_globals(list);
  }
  if (linkage != Linkage::kNone) return fail(at, "expected .entry, .func or a variable after the linkage");
  if (name == "version") {
    skip();
    const char* begin = p_;
    const auto digits = [&] {
      const char* before = p_;
      while (is_digit(*p_)) ++p_;
      return p_ > before;
    };
    if (!digits() || *p_++ != '.' || !digits() || *p_ == '.') {
      p_ = begin;
      return fail_here("a version, such as 8.7");
    }
    module_.version_text = {begin, static_cast<size_t>(p_ - begin)};
    return true;
  }
  if (name == "target") return parse_target();
  if (name == "address_size") {
    uint64_t size;
    if (!unsigned_integer(&size, "an address size")) return false;
    return size == 64 || fail(at, "addresses of " + std::to_string(size) + " bits: only 64 are read");
  }
  if (name == "file") return parse_file();
  if (name == "loc") return parse_loc();
  if (name == "section") return parse_section();
  if (name == "pragma") {
    std::string_view text;
    return string(&text) && expect(';', ".pragma");
  }
  if (name == "reg" || name == "param") return fail(at, "." + std::string(name) + " stands in a function");
  if (name.empty()) return fail_here("a directive");
  return skip_directive();
}

// A directive that the graph has no place for: to its ';', or over its braces.
bool Parser::skip_directive() {
  while (true) {
    skip();
    if (p_ == end_ || *p_ == '}') return true;
    if (*p_ == '{') return skip_braces();
    if (*p_ == '"') {
      std::string_view text;
      if (!string(&text)) return false;
    } else if (*p_++ == ';') {
      return true;
    }
  }
}

// From '{' over the matching '}'.
bool Parser::skip_braces() {
  const uint32_t at = here();
  size_t depth = 0;
  while (p_ < end_) {
    if (*p_ == '{') ++depth;
    if (*p_ == '}' && --depth == 0) {
      ++p_;
      return true;
    }
    if (*p_ == '/') {
      const char* before = p_;
      skip();
      if (p_ != before) continue;
    }
    ++p_;
  }
  return fail(at, "this '{' has no '}'");
}

bool Parser::parse_target() {
  do {
    skip();
    const std::string_view name = identifier();
    if (name.empty()) return fail_here("a target, such as sm_90a");
    if (module_.target_text.empty()) module_.target_text = name;
  } while (take(','));
  return true;
}

bool Parser::parse_function(bool entry, Linkage linkage) {
  begin_function();
  Function scratch;
  scratch.is_entry = entry;
  scratch.linkage = linkage;
  if (!entry && !parse_parameters(&scratch.returns)) return false;
  skip();
  scratch.offset = here();
  scratch.name = identifier();
  if (scratch.name.empty()) return fail_here("the name of a function");
  if (!parse_parameters(&scratch.params) || !parse_attributes(scratch)) return false;

  Global& known = globals_.at(scratch.name);
  skip();
  scratch.is_declaration = *p_ == ';';
  if (known.variable)
    return fail(scratch.offset, "'" + std::string(scratch.name) + "' is a variable already");
  const bool is_new = !known.function;
  if (is_new) {
    known.function = arena_.make<Function>();
    module_.function_list.push_back(known.function);
  }
  Function& f = *known.function;
  if (!is_new && !f.is_declaration && !scratch.is_declaration)
    return fail(scratch.offset, "function '" + std::string(scratch.name) + "' is defined twice",
                {"the first is at " + module_.location(f.offset).str()});
  if (scratch.is_declaration) {
    if (is_new) f = scratch;
    ++p_;
    return close_scope();
  }
  f = scratch;
  if (!take('{')) return fail_here("'{' or ';' after the signature of a function");
  return parse_statements(true) && finish_function(f);
}

bool Parser::parse_parameters(std::span<const Variable>* out) {
  if (!take('(')) return true;
  std::vector<Variable*> list;
  if (!take(')')) {
    do {
      const uint32_t at = next_at();
      if (*p_ != '.') return fail_here("a parameter (.param .b64 name)");
      const std::string_view space = after_dot();
      if (space != "param" && space != "reg") return fail(at, "a parameter is .param or .reg");
      if (!parse_variables(space == "param" ? Space::kParam : Space::kReg, Linkage::kNone, true, &list))
        return false;
    } while (take(','));
    if (!expect(')', "a parameter")) return false;
  }
  std::span<Variable> copies = arena_.array<Variable>(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    copies[i] = *list[i];
    Symbol symbol{.kind = SymbolKind::kVariable, .name = copies[i].name, .offset = copies[i].offset};
    symbol.variable = &copies[i];
    if (copies[i].space == Space::kReg) {
      symbol.kind = SymbolKind::kRegister;
      symbol.type = copies[i].type;
      // For a function, not for a .callprototype.
      symbol.index = depth() == 1 ? make_register(symbol.name, symbol.type) : ~0u;
    }
    if (copies[i].name != "_" && !declare(symbol)) return false;
  }
  *out = copies;
  return true;
}

// Parses what stands between a signature and its body: .reqntid and the like.
bool Parser::parse_attributes(Function& f) {
  while (true) {
    skip();
    if (*p_ != '.') return true;
    const std::string_view name = after_dot();
    uint64_t n = 0;
    if (name == "reqntid") {
      if (!parse_dimensions(&f.reqntid)) return false;
    } else if (name == "maxntid") {
      if (!parse_dimensions(&f.maxntid)) return false;
    } else if (name == "reqnctapercluster") {
      if (!parse_dimensions(&f.cluster)) return false;
    } else if (name == "explicitcluster") {
      f.explicit_cluster = true;
    } else if (name == "noreturn") {
      f.noreturn = true;
    } else if (name == "maxnreg" || name == "minnctapersm" || name == "maxnctapersm" ||
               name == "maxclusterrank") {
      if (!unsigned_integer(&n, "a count")) return false;
      const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX));
      if (name == "maxnreg") f.maxnreg = count;
      if (name == "minnctapersm") f.minnctapersm = count;
      if (name == "maxclusterrank") f.max_cluster_rank = count;
    } else {  // one that the graph has no place for, with its arguments
      while (p_ < end_ && *p_ != '.' && *p_ != '{' && *p_ != ';') {
        if (*p_ == '"') {
          std::string_view text;
          if (!string(&text)) return false;
        } else {
          ++p_;
        }
        skip();
      }
      if (name == "pragma" && *p_ == ';') ++p_;  // .pragma "x"; stands here with its own ';'
    }
  }
}

bool Parser::parse_dimensions(std::array<uint32_t, 3>* out) {
  *out = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t n;
    const uint32_t at = next_at();
    if (!unsigned_integer(&n, "a size")) return false;
    if (n == 0 || n > INT32_MAX) return fail(at, "a size is 1 to 2147483647");
    (*out)[i] = static_cast<uint32_t>(n);
    if (!take(',')) break;
  }
  return true;
}

bool Parser::declare_globals(std::span<Variable* const> list) {
  for (Variable* v : list) {
    Global& known = globals_.at(v->name);
    if (known.function) return fail(v->offset, "'" + std::string(v->name) + "' is a function already");
    if (!known.variable) {
      known.variable = v;
      module_.variable_list.push_back(v);
    } else if (known.variable->is_extern) {
      *known.variable = *v;  // those who named it keep their pointer
    } else if (!v->is_extern) {
      return fail(v->offset, "variable '" + std::string(v->name) + "' is declared twice",
                  {"the first is at " + module_.location(known.variable->offset).str()});
    }
  }
  return true;
}

}  // namespace triton_runner::ptx
