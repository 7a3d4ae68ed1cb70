// Implements what all parts of the parser use (text primitives, diagnostics, names of values), and parses the
// top level of a file.
#include "parser.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace triton_runner::ir {

Parser::Parser(Module::Impl& module)
    : m_(module), name_ids_(std::bit_ceil(std::clamp<size_t>(module.source.size() / 64, 64, 4096))) {
  set_text(module.source);
  // Growing by doubling costs more than the guess.
  size_t lines = module.source.size() / 64;
  entries_.reserve(lines + 16);
  undo_.reserve(lines + 16);
  loc_uses_.reserve(lines / 2 + 16);
  numbered_locs_.resize(lines / 2 + 16);
  operands_.reserve(64);
  attrs_.reserve(32);
  types_.reserve(32);
  names_.reserve(16);
  for (const AliasDef& alias : module.aliases) {
    if (alias.attr) attr_aliases_.insert(alias.name, alias.attr);
    if (alias.type) type_aliases_.insert(alias.name, alias.type);
  }
}

void Parser::set_text(std::string_view text) {
  begin_ = p_ = text.data();
  end_ = begin_ + text.size();
}

void Parser::fail(const char* where, std::string message, std::vector<std::string> notes) {
  if (!error_) {
    if (begin_ == m_.source.data()) {
      error_ = m_.error_at(where, std::move(message), std::move(notes));
    } else {
      error_ = base::failure(std::move(message), std::move(notes));
    }
    error_at_ = where;
  }
  p_ = end_;
}

std::string Parser::found() const {
  if (p_ >= end_) return "the end of the text";
  if (*p_ == '\0') return "a zero byte";
  const char* q = p_;
  if (is_suffix(*q) || *q == '%' || *q == '#' || *q == '@' || *q == '^' || *q == '!') {
    ++q;
    while (is_suffix(*q) && q - p_ < 40) ++q;
  } else if (*q == '"') {
    ++q;
    while (q < end_ && *q != '"' && *q != '\n' && q - p_ < 40) ++q;
    if (*q == '"') ++q;
  } else if (q[0] == '-' && q[1] == '>') {
    q += 2;
  } else {
    ++q;
  }
  return "'" + std::string(p_, static_cast<size_t>(q - p_)) + "'";
}

void Parser::expected(std::string_view what, std::vector<std::string> notes) {
  if (error_) return;
  ws();
  const char* where = p_;
  // At the end of a line the fault is there, not at the start of whatever follows.
  const char* back = p_;
  while (back > begin_ && is_space(back[-1])) --back;
  bool other_line = std::find(back, p_, '\n') != p_;
  std::string message = "expected " + std::string(what) + ", found " + found();
  if (other_line && p_ >= end_) where = back;
  fail(where, std::move(message), std::move(notes));
}

bool Parser::next_is(std::string_view literal) {
  ws();
  if (*p_ != literal[0] || static_cast<size_t>(end_ - p_) < literal.size() ||
      std::memcmp(p_, literal.data(), literal.size()) != 0)
    return false;
  return !is_letter(literal[0]) || !is_word(p_[literal.size()]);
}

bool Parser::eat(std::string_view literal) {
  if (!next_is(literal)) return false;
  p_ += literal.size();
  return true;
}

bool Parser::expect(std::string_view literal) {
  if (eat(literal)) return true;
  expected("'" + std::string(literal) + "'");
  return false;
}

std::string_view Parser::word() {
  ws();
  const char* b = p_;
  if (is_letter(*p_))
    while (is_word(*p_)) ++p_;
  return {b, static_cast<size_t>(p_ - b)};
}

std::string_view Parser::suffix_id() {
  const char* b = p_;
  if (is_digit(*p_)) {
    while (is_digit(*p_)) ++p_;
  } else {
    while (is_suffix(*p_)) ++p_;
  }
  return {b, static_cast<size_t>(p_ - b)};
}

int64_t Parser::integer(bool* ok) {
  ws();
  int64_t value = 0;
  auto [end, error] = std::from_chars(p_, end_, value);
  bool good = error == std::errc{};
  if (good) p_ = end;
  if (ok) {
    *ok = good;
  } else if (!good) {
    expected("an integer");
  }
  return value;
}

std::string_view Parser::string_text() {
  ws();
  const char* b = p_;
  if (*p_ != '"') return expected("a string"), std::string_view();
  const char* q = b + 1;
  bool escaped = false;
  while (*q != '"') {
    if (q >= end_ || *q == '\n') return fail(b, "this string is not closed"), std::string_view();
    if (*q == '\\') {
      escaped = true;
      ++q;
      if (q >= end_) return fail(b, "this string is not closed"), std::string_view();
    }
    ++q;
  }
  p_ = q + 1;
  std::string_view text(b + 1, static_cast<size_t>(q - b - 1));
  if (!escaped) return text;
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    char c = text[++i];
    unsigned byte = 0;
    if (c == 'n')
      out += '\n';
    else if (c == 't')
      out += '\t';
    else if (c == '"' || c == '\\')
      out += c;
    else if (i + 1 < text.size() &&
             std::from_chars(text.data() + i, text.data() + i + 2, byte, 16).ptr == text.data() + i + 2)
      out += static_cast<char>(byte), ++i;
    else
      return fail(b, "unknown escape in this string"), std::string_view();
  }
  return m_.arena.text(out);
}

const char* Parser::balanced(const char* p) const {
  int open = 0;
  for (;; ++p) {
    if (!(kChars.of[static_cast<uint8_t>(*p)] & kBracket)) continue;
    switch (*p) {
      case '<':
      case '(':
      case '[':
      case '{':
        ++open;
        break;
      case '>':
        if (p[-1] == '-') break;  // ->
        [[fallthrough]];
      case ')':
      case ']':
      case '}':
        if (--open == 0) return p + 1;
        break;
      case '"':
        for (++p; *p != '"'; ++p) {
          if (p >= end_ || *p == '\n') return nullptr;
          if (*p == '\\') ++p;
          if (p >= end_) return nullptr;
        }
        break;
      case '/':
        if (p[1] == '/')
          while (p < end_ && p[1] != '\n' && p[1] != '\0') ++p;
        break;
      case '\0':
        if (p >= end_) return nullptr;
        break;
      default:
        break;
    }
  }
}

// ---- names of values

uint32_t Parser::name_id(std::string_view name) {
  bool fresh = false;
  uint32_t& id = name_ids_.at(name, &fresh);
  if (fresh) {
    id = static_cast<uint32_t>(entries_.size());
    entries_.push_back({name});
  }
  return id;
}

Value* Parser::use(const char** at) {
  const char* b = p_;
  if (at) *at = b;
  if (*p_ != '%') {
    expected("a value (%name)");
    return m_.arena.make<Value>({.type = m_.named_type(TypeKind::kNone, "none")});
  }
  ++p_;
  std::string_view name = suffix_id();
  if (name.empty()) {
    p_ = b;
    expected("a value's name after '%'");
    return m_.arena.make<Value>({.type = m_.named_type(TypeKind::kNone, "none")});
  }
  uint32_t number = 0;
  if (*p_ == '#' && is_digit(p_[1])) {
    ++p_;
    auto [end, error] = std::from_chars(p_, end_, number);
    if (error != std::errc{})
      fail(b, "this result number is too large");
    else
      p_ = end;
  }
  NameEntry& entry = entries_[name_id(name)];
  if (entry.value && entry.isolation == isolation_) {
    if (number >= entry.value->group_size) {
      fail(b, "%" + std::string(name) + " has " + std::to_string(entry.value->group_size) +
                  " results, there is no #" + std::to_string(number));
      return entry.value;
    }
    return entry.value + number;
  }
  for (Forward* f = entry.forwards; f; f = f->next)
    if (f->number == number) return f->placeholder;
  Value* placeholder = m_.arena.make<Value>({.type = nullptr, .name = name});
  entry.forwards = m_.arena.make<Forward>({number, placeholder, b, entry.forwards});
  forwards_.push_back(static_cast<uint32_t>(&entry - entries_.data()));
  return placeholder;
}

void Parser::define(std::string_view name, std::span<Value> values, const char* at) {
  uint32_t id = name_id(name);
  NameEntry& entry = entries_[id];
  if (entry.value && entry.isolation == isolation_) {
    base::Location before = m_.location_of({entry.at, 1});
    return fail(at, "%" + std::string(name) + " is defined twice",
                {"it is defined before at " + before.str()});
  }
  undo_.push_back({id, entry.value, entry.isolation, entry.at});
  entry.value = values.data();
  entry.isolation = isolation_;
  entry.at = at;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].name = name;
    values[i].group_size = static_cast<uint32_t>(values.size());
    values[i].group_index = static_cast<uint32_t>(i);
  }
  for (Forward* f = entry.forwards; f; f = f->next) {
    if (f->number >= values.size())
      return fail(f->at, "%" + std::string(name) + " has " + std::to_string(values.size()) +
                             " results, there is no #" + std::to_string(f->number));
    Value& value = values[f->number];
    Value* from = f->placeholder;
    if (from->type && from->type != value.type &&
        !(value.type->kind == TypeKind::kOpaque && value.type->text == kAnyType)) {
      std::string was, is;
      TextWriter(was).type(from->type);
      TextWriter(is).type(value.type);
      return fail(f->at, "%" + std::string(name) + " is used as " + was + " but is " + is,
                  {"it is defined at " + m_.location_of({at, 1}).str()});
    }
    while (Use* u = from->first_use) {
      from->first_use = u->next;
      u->value = &value;
      u->next = value.first_use;
      u->prev = &value.first_use;
      if (u->next) u->next->prev = &u->next;
      value.first_use = u;
    }
    for (Operand& operand : operands_)  // of the ops around it, which have no uses yet
      if (operand.value == from) operand.value = &value;
  }
  entry.forwards = nullptr;
}

void Parser::report_undefined(size_t forward_base) {
  for (size_t i = forward_base; i < forwards_.size() && !failed(); ++i) {
    NameEntry& entry = entries_[forwards_[i]];
    if (!entry.forwards) continue;
    std::vector<std::string> known, notes;
    if (entries_.size() < 5000)
      for (const NameEntry& other : entries_)
        if (other.at) known.emplace_back(other.name);
    for (const std::string& n : base::nearest_names(std::string(entry.name), known))
      if (n != entry.name) notes.push_back("did you mean %" + n + "?");
    const Forward* first = entry.forwards;
    while (first->next) first = first->next;
    fail(first->at, "%" + std::string(entry.name) + " is used but never defined", notes);
  }
  forwards_.resize(forward_base);
}

void Parser::check_type(const Operand& operand, const Type* type, const char* type_at) {
  Value* value = operand.value;
  // The results in an unknown op's text are a guess, which the first use confirms or corrects.
  const bool is_guess =
      value->defining_op && value->defining_op->kind == OpKind::kUnknown && value->defining_op->skeleton;
  if (value->type == type && !is_guess) return;
  if (!value->type) {
    value->type = type;
    return;
  }
  if (value->type->kind == TypeKind::kOpaque && value->type->text == kAnyType) return;
  if (is_guess && std::find(typed_by_use_.begin(), typed_by_use_.end(), value) == typed_by_use_.end()) {
    typed_by_use_.push_back(value);
    value->type = type;
    return;
  }
  if (value->type == type) return;
  if (failed()) return;
  std::string was, is;
  TextWriter(is).type(type);
  TextWriter(was).type(value->type);
  const char* e = operand.at + 1;
  while (is_suffix(*e) || *e == '#') ++e;
  std::vector<std::string> notes;
  if (value->defining_op && !value->defining_op->text.empty())
    notes.push_back("it is defined at " + m_.location_of(value->defining_op->text).str());
  fail(type_at,
       std::string(operand.at, static_cast<size_t>(e - operand.at)) + " is " + was + ", but is used as " + is,
       notes);
}

// ---- the top level

void Parser::alias_definition() {
  const char* b = p_;
  char sigil = *p_++;
  std::string_view name = suffix_id();
  std::string_view spelled(b, static_cast<size_t>(p_ - b));
  if (name.empty() || name.find('.') != std::string_view::npos)
    return fail(b, "an alias needs a name without points");
  if (!expect("=")) return;
  AliasDef def{.name = spelled};
  if (sigil == '!') {
    def.type = type();
    if (failed()) return;
    bool fresh;
    const Type*& slot = type_aliases_.at(spelled, &fresh);
    if (!fresh) return fail(b, "the alias " + std::string(spelled) + " is defined twice");
    slot = def.type;
  } else if (peek() == 'l' && next_is("loc")) {
    const char* at = p_;
    if (p_[3] != '(') return expected("'loc('");
    Location* slot = loc_alias(spelled, b);
    if (slot->kind != LocKind::kOpaque)
      return fail(b, "the alias " + std::string(spelled) + " is defined twice");
    p_ = at + 4;
    const Location* loc = parse_location();
    expect(")");
    if (failed()) return;
    std::string_view alias = slot->alias;
    if (loc == slot) return fail(b, "the location alias " + std::string(spelled) + " leads back to itself");
    if (!loc->alias.empty()) {
      // #a = loc(#b): the place of b under another name.
      Location named{.kind = LocKind::kFused};
      const Location* children[] = {loc};
      named.children = m_.arena.copy(children, 1);
      *slot = named;
    } else {
      *slot = *loc;
    }
    slot->alias = alias;
    def.loc = slot;
    def.after = m_.top->first->first != nullptr;
  } else {
    const Attr* a = attr();
    if (failed()) return;
    bool fresh;
    const Attr*& slot = attr_aliases_.at(spelled, &fresh);
    if (!fresh) return fail(b, "the alias " + std::string(spelled) + " is defined twice");
    // Interned attributes are ours until the module is handed out.
    if (a->alias.empty()) const_cast<Attr*>(a)->alias = spelled;
    slot = a;
    def.attr = a;
  }
  m_.aliases.push_back(def);
}

void Parser::top_level() {
  m_.aliases.reserve(m_.source.size() / 96);
  m_.top = m_.arena.make<Region>();
  Block* block = m_.arena.make<Block>();
  block->region = m_.top;
  m_.top->first = m_.top->last = block;
  m_.top->text = m_.source;
  block_names_.push_back(nullptr);
  while (!failed()) {
    char c = peek();
    if (p_ >= end_) break;
    if (c == '#' || c == '!') {
      alias_definition();
    } else if (c == '{' && p_[1] == '-' && p_[2] == '#') {
      size_t close = std::string_view(p_, static_cast<size_t>(end_ - p_)).find("#-}");
      if (close == std::string_view::npos)
        fail(p_, "the resources that start here are not closed by #-}");
      else
        p_ += close + 3;
    } else {
      Op* made = op();
      if (failed()) break;
      made->block = block;
      made->prev = block->last;
      (block->last ? block->last->next : block->first) = made;
      block->last = made;
    }
  }
  report_missing_blocks();
  if (!failed()) report_undefined(0);
  if (!failed()) resolve_locations();
  if (failed()) return;
  if (block->first && !block->first->next && block->first->kind == OpKind::kModule) {
    m_.root = block->first;
    return;
  }
  // Ops without a module around them: one that is not in the text holds them.
  Op* root = m_.arena.make<Op>();
  root->kind = OpKind::kModule;
  root->name = "module";
  root->regions = m_.arena.copy(&m_.top, 1);
  m_.root = root;
}

bool Parser::run() {
  top_level();
  return !failed() && errors_.empty();
}

const Type* Parser::lone_type() {
  const Type* t = type();
  if (!failed() && (ws(), p_ < end_)) expected("the end of the type");
  return t;
}

const Attr* Parser::lone_attr() {
  const Attr* a = attr();
  if (!failed() && (ws(), p_ < end_)) expected("the end of the attribute");
  return a;
}

base::Result<Module> parse(std::string text, std::string filename, base::Diagnostics* sink) {
  auto impl = std::make_unique<Module::Impl>();
  impl->source = std::move(text);
  impl->filename = std::move(filename);
  Parser parser(*impl);
  if (!parser.run()) {
    std::vector<base::Diagnostic> all = parser.errors();
    if (parser.error()) all.push_back(*parser.error());
    std::stable_sort(all.begin(), all.end(), [](const base::Diagnostic& a, const base::Diagnostic& b) {
      return a.location.line < b.location.line;
    });
    if (sink)
      for (const base::Diagnostic& error : all) sink->add(error);
    return all.front();
  }
  return Module(std::move(impl));
}

}  // namespace triton_runner::ir
