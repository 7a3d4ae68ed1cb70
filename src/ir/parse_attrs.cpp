// Parses attributes and dictionaries. Those of many numbers are in parse_dense.cpp.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "parser.h"

namespace triton_runner::ir {
namespace {
constexpr uint64_t kIntegerSeed = 100,
                   kEnumSeed = 200;  // of attr_texts_, so that one text may be several things

std::string without_spaces(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!is_space(c)) out += c;
  return out;
}

// Attributes of MLIR's own, name<...>, that are kept as text; some have a type after them.
struct KeptAttr {
  std::string_view name;
  bool typed;
};
constexpr KeptAttr kKeptAttrs[] = {{"affine_map", false},    {"affine_set", false}, {"strided", false},
                                   {"dense_resource", true}, {"opaque", true},      {"sparse", true},
                                   {"distinct", true}};

const KeptAttr* kept_as_text(std::string_view name) {
  for (const KeptAttr& a : kKeptAttrs)
    if (a.name == name) return &a;
  return nullptr;
}

// Returns whether a bare word is a type: f32, index, none, i8, si8, ui8.
bool names_type(std::string_view word) {
  FloatKind kind;
  if (float_kind(word, kind) || word == "index" || word == "none") return true;
  const size_t prefix = word.starts_with("si") || word.starts_with("ui") ? 2 : word.starts_with("i") ? 1 : 0;
  return prefix && word.size() > prefix &&
         std::all_of(word.begin() + static_cast<ptrdiff_t>(prefix), word.end(), is_digit);
}

}  // namespace

// An integer as ops spell one by itself: `ttng.init_barrier %x, 1`.
const Attr* Parser::fast_integer(unsigned width) {
  ws();
  const char* b = p_;
  bool boolean = width == 1 && is_letter(*p_);
  const char* e = b + (*b == '-');
  while (boolean ? is_letter(*e) : is_digit(*e)) ++e;
  std::string_view text(b, static_cast<size_t>(e - b));
  if (const Attr** known = attr_texts_.find(text, kIntegerSeed + width)) {
    p_ = e;
    return *known;
  }
  const Attr* a;
  if (boolean && (text == "true" || text == "false")) {
    p_ = e;
    a = m_.boolean(text == "true");
  } else {
    bool ok = false;
    int64_t value = integer(&ok);
    if (!ok) return expected("an integer"), no_attr();
    a = m_.integer(value, m_.integer_type(width));
  }
  attr_texts_.insert(text, a, kIntegerSeed + width);
  return a;
}

const Attr* Parser::keyword(const EnumInfo& info) {
  ws();
  const char* b = p_;
  if (info.angled && !expect("<")) return no_attr();
  bool quoted = !info.flags && *p_ == '"';  // MLIR takes "slt" for slt
  if (quoted) ++p_;
  int64_t number = 0;
  const char* w = p_;
  const char* e = w;
  for (;;) {
    while (is_word(*e)) ++e;
    std::string_view text(w, static_cast<size_t>(e - w));
    const EnumValue* value = info.find(text);
    if (!value) {
      std::string list;
      separated(list, info.values, [&](const EnumValue& v) { list += v.keyword; });
      p_ = w;
      return expected("one of " + list), no_attr();
    }
    number |= value->number;
    if (!info.flags) break;
    const char* q = e;
    while (is_space(*q)) ++q;
    if (*q != '|' && *q != ',') break;
    ++q;
    while (is_space(*q)) ++q;
    w = e = q;
  }
  std::string_view text(b, static_cast<size_t>(e - b));
  p_ = e;
  if (info.angled && !expect(">")) return no_attr();
  if (quoted) {
    text = {w, static_cast<size_t>(e - w)};
    if (*p_++ != '"') return --p_, expected("'\"'"), no_attr();
  }
  uint64_t seed = kEnumSeed + reinterpret_cast<uintptr_t>(&info);
  if (const Attr** known = attr_texts_.find(text, seed)) return *known;
  std::string_view spelled = text;
  if (info.angled) spelled.remove_prefix(1);
  const Attr* a = m_.integer(number, m_.integer_type(info.width), m_.arena.text(spelled));
  attr_texts_.insert(text, a, seed);
  return a;
}

const Attr* Parser::attr() { return parse_attr(); }

// An attribute with its type, by text: `0 : i32`, `dense<1> : tensor<8xi32>`, `true`.
const Attr* Parser::cached_attr() {
  ws();
  const char* b = p_;
  const char* e = nullptr;
  if (is_digit(*b) || *b == '-') {
    e = b + 1;
    while (is_word(*e) || ((*e == '+' || *e == '-') && (e[-1] == 'e' || e[-1] == 'E'))) ++e;
  } else if (*b == 'd' && at(b, "dense<")) {
    e = balanced(b + 5);
  }
  if (e && e[0] == ' ' && e[1] == ':' && e[2] == ' ') {
    const char* t = type_end(e + 3);
    if (t != e + 3) {
      std::string_view text(b, static_cast<size_t>(t - b));
      if (const Attr** known = attr_texts_.find(text)) {
        p_ = t;
        return *known;
      }
      const Attr* a = parse_attr();
      if (!failed() && p_ == t) attr_texts_.insert(text, a);
      return a;
    }
  }
  return parse_attr();
}

const Attr* Parser::parse_number() {
  const char* b = p_;
  const char* q = p_ + (*p_ == '-');
  bool hex = q[0] == '0' && q[1] == 'x';
  bool real = false;
  if (hex) {
    q += 2;
    while (is_digit(*q) || (*q >= 'a' && *q <= 'f') || (*q >= 'A' && *q <= 'F')) ++q;
  } else {
    while (is_digit(*q)) ++q;
    if (*q == '.' && (is_digit(q[1]) || !is_letter(q[1]))) {
      real = true;
      ++q;
      while (is_digit(*q)) ++q;
      if ((*q == 'e' || *q == 'E') && (is_digit(q[1]) || ((q[1] == '+' || q[1] == '-') && is_digit(q[2])))) {
        q += 2;
        while (is_digit(*q)) ++q;
      }
    }
  }
  std::string_view text(b, static_cast<size_t>(q - b));
  p_ = q;
  const Type* t = nullptr;
  if (peek() == ':' && p_[1] != ':') {
    ++p_;
    t = type();
    if (failed()) return no_attr();
  } else {
    p_ = q;
  }
  bool is_float = real || (t && t->kind == TypeKind::kFloat);
  if (is_float) {
    Attr a{.kind = AttrKind::kFloat};
    FloatKind kind = FloatKind::kF64;
    if (t) {
      if (t->kind != TypeKind::kFloat) return fail(b, "a number with a point needs a float type"), no_attr();
      kind = t->float_kind;
      a.type = t;
    } else {
      Type f64{.kind = TypeKind::kFloat};
      f64.float_kind = kind, f64.width = 64, f64.text = "f64";
      a.type = m_.intern(f64);
    }
    if (hex) {
      std::from_chars(text.data() + 2, text.data() + text.size(), a.bits, 16);
    } else {
      a.bits = float_bits(kind, std::strtod(std::string(text).c_str(), nullptr));
    }
    a.real = float_value(kind, a.bits);
    a.text = text;
    return m_.intern(a);
  }
  Attr a{.kind = AttrKind::kInteger};
  a.type = t;
  bool negative = text[0] == '-';
  std::string_view digits = text.substr(negative);
  if (hex) digits.remove_prefix(2);
  if (digits.empty()) return expected("a number"), no_attr();
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size()) {
    if (!t || t->width <= 64) return fail(b, "this integer does not fit 64 bits"), no_attr();
    a.verbatim = true;
    a.text = since(b);
  }
  a.integer = static_cast<int64_t>(negative ? 0 - value : value);
  return m_.intern(a);
}

void Parser::add_dict() {
  if (peek() == '{')
    for (const NamedAttr& entry : dict()) attrs_.push_back(entry);
}
void Parser::add_keyword_dict() {
  if (!eat("attributes")) return;
  if (peek() != '{') return expected("'{'");
  add_dict();
}

// Entries `key = value` or `key` until `close`, which is consumed.
void Parser::parse_entries(char close, std::vector<NamedAttr>& into) {
  char text[2] = {close, 0};
  if (eat(close)) return;
  do {
    ws();
    const char* at = p_;
    std::string_view key = *p_ == '"' ? string_text() : word();
    if (key.empty()) return expected("an attribute's name");
    const Attr* value = eat('=') ? attr() : m_.unit();
    if (failed()) return;
    for (const NamedAttr& other : into)
      if (into.size() < 64 && other.name == key)
        return fail(at, "the attribute '" + std::string(key) + "' is given twice");
    into.push_back({key, value});
  } while (eat(','));
  expect(text);
}

// Items until `end`, the bracket that closes the body: `key = value`, `{...}`, or anything by its position.
void Parser::dialect_body(const char* end, DialectBody& body) {
  while (!failed() && peek() != '>' && p_ < end) {
    const char* item = p_;
    const std::string_view key = is_letter(*p_) ? word() : std::string_view();
    if (!key.empty() && peek() == '=' && p_[1] != '=') {
      ++p_;
      body.bare.push_back({key, attr()});
    } else if (*item == '{') {
      ++p_;
      parse_entries('}', body.braced);
    } else {
      p_ = item;
      const Attr* positional = dialect_item(end);
      if (!positional) return;
      body.elements.push_back(positional);
    }
    eat(',');
  }
}

// An item given by its position reaches up to a comma or brace outside brackets. Null where nothing stands there.
const Attr* Parser::dialect_item(const char* end) {
  const char* q = p_;
  while (q < end && *q != ',' && *q != '{') {
    if (*q == '<' || *q == '[' || *q == '(' || *q == '"') {
      const char* past = balanced(q);
      if (!past) break;
      q = past;
    } else {
      ++q;
    }
  }
  if (q == p_) return nullptr;
  const Attr* item;
  if (*p_ == '#') {
    item = attr();
    if (failed()) return nullptr;
  } else {
    Attr a{.kind = AttrKind::kOpaque};
    a.text = {p_, static_cast<size_t>(q - p_)};
    while (is_space(a.text.back())) a.text.remove_suffix(1);
    item = m_.intern(a);
  }
  p_ = q;
  return item;
}

// #alias, #dialect.name<...>.
const Attr* Parser::parse_dialect_attr() {
  const char* b = p_++;
  std::string_view name = suffix_id();
  std::string_view spelled = since(b);
  if (name.find('.') == std::string_view::npos && *p_ != '<') {
    if (const Attr** alias = attr_aliases_.find(spelled)) return *alias;
    std::vector<std::string> known;
    attr_aliases_.for_each([&](std::string_view k, const Attr*) { known.emplace_back(k); });
    std::vector<std::string> notes;
    for (const std::string& n : base::nearest_names(std::string(spelled), known))
      notes.push_back("did you mean " + n + "?");
    fail(b, "the attribute alias '" + std::string(spelled) + "' is not defined", notes);
    return no_attr();
  }
  Attr a{.kind = AttrKind::kDialect};
  a.string = name;
  if (*p_ != '<') {
    a.text = spelled;
    return m_.intern(a);
  }
  const char* close = balanced(p_);
  if (!close) return expected("the '>' that closes this attribute"), no_attr();
  std::string_view whole(b, static_cast<size_t>(close - b));
  if (const Attr** known = attr_texts_.find(whole)) {
    p_ = close;
    return *known;
  }
  // The parameters that the body says by key are kept by key; a spelling that does not come out of that again
  // is kept as it is.
  ++p_;
  DialectBody body;
  dialect_body(close - 1, body);
  if (failed()) {
    // A body that is not a list of attributes is kept as text, unless the fault is an alias that does not exist.
    if (error_->message.find("is not defined") != std::string::npos) return no_attr();
    error_.reset();
    body = {};
  }
  p_ = close;
  a.braced = static_cast<uint32_t>(body.braced.size());
  body.braced.insert(body.braced.end(), body.bare.begin(), body.bare.end());
  a.elements = m_.arena.copy(body.elements.data(), body.elements.size());
  a.entries = m_.arena.copy(body.braced.data(), body.braced.size());
  a.text = whole;
  std::string printed;
  TextWriter(printed).attr(&a);
  a.verbatim = without_spaces(printed) != without_spaces(whole);
  const Attr* made = m_.intern(a);
  attr_texts_.insert(whole, made);
  return made;
}

// The text that was read since `from`, kept as text.
const Attr* Parser::opaque(const char* from) {
  Attr a{.kind = AttrKind::kOpaque};
  a.text = since(from);
  return m_.intern(a);
}

const Attr* Parser::parse_string() {
  const char* b = p_;
  Attr a{.kind = AttrKind::kString};
  a.string = string_text();
  if (peek() != ':') return m_.intern(a);
  ++p_;  // typed strings are rare: keep the spelling
  type();
  a.kind = AttrKind::kOpaque;
  a.text = since(b);
  return m_.intern(a);
}

// @name, @"any text", @outer::@inner.
const Attr* Parser::parse_symbol() {
  const char* b = p_++;
  Attr a{.kind = AttrKind::kSymbol};
  a.string = *p_ == '"' ? string_text() : suffix_id();
  if (a.string.empty()) return expected("a symbol's name"), no_attr();
  while (p_[0] == ':' && p_[1] == ':' && p_[2] == '@') {
    p_ += 3;
    if (*p_ == '"')
      string_text();
    else
      suffix_id();
    a.verbatim = true;
    a.text = since(b);
  }
  return m_.intern(a);
}

const Attr* Parser::parse_array() {
  ++p_;
  std::vector<const Attr*> elements;
  list("]", [&] { elements.push_back(attr()); });
  return m_.array(elements);
}

// An attribute that begins with a word: a literal, an attribute of MLIR's own, an enumeration's keyword in a
// dialect's attribute, or a type.
const Attr* Parser::parse_word() {
  const char* b = p_;
  const char* e = p_;
  while (is_word(*e)) ++e;
  const std::string_view w(b, static_cast<size_t>(e - b));
  if (w == "true" || w == "false") return p_ = e, m_.boolean(w == "true");
  if (w == "unit") return p_ = e, m_.unit();
  if (w == "dense" && *e == '<') return parse_dense();
  if (w == "array" && *e == '<') return parse_dense_array();
  if (const KeptAttr* kept = *e == '<' ? kept_as_text(w) : nullptr) {
    const char* close = balanced(e);
    if (!close) return expected("the '>' that closes this attribute"), no_attr();
    p_ = close;
    if (kept->typed && eat(':')) type();
    return opaque(b);
  }
  if (w == "loc" && *e == '(') {
    Attr a{.kind = AttrKind::kLocation};
    a.location = location();
    a.text = since(b);
    a.verbatim = true;
    return m_.intern(a);
  }
  if (w == "distinct" && *e == '[') {
    p_ = balanced(e);
    if (p_ && *p_ == '<') p_ = balanced(p_);
    if (!p_) return p_ = b, expected("a distinct attribute"), no_attr();
    return opaque(b);
  }
  if (type_end(b) == e && *e != '<' && !names_type(w)) return p_ = e, opaque(b);
  return m_.type_attr(type());
}

const Attr* Parser::parse_attr() {
  if (depth_ > kMaxDepth) return fail(p_, "attributes are nested too deep"), no_attr();
  Nesting nesting(depth_);
  const char c = peek();
  if (is_digit(c) || (c == '-' && is_digit(p_[1]))) return parse_number();
  if (is_letter(c)) return parse_word();
  switch (c) {
    case '"':
      return parse_string();
    case '#':
      return parse_dialect_attr();
    case '@':
      return parse_symbol();
    case '[':
      return parse_array();
    case '{':
      return m_.dict(dict());
    case '!':
    case '(':
      return m_.type_attr(type());
    default:
      return expected("an attribute"), no_attr();
  }
}

std::span<const NamedAttr> Parser::dict() {
  const char* b = p_;
  const char* e = balanced(b);
  if (!e) return expected("the '}' that closes this dictionary"), std::span<const NamedAttr>();
  std::string_view text(b, static_cast<size_t>(e - b));
  if (const auto* known = dict_texts_.find(text)) {
    p_ = e;
    return *known;
  }
  ++p_;
  std::vector<NamedAttr> entries;
  parse_entries('}', entries);
  if (failed()) return {};
  auto made = m_.arena.copy(entries.data(), entries.size());
  dict_texts_.insert(text, made);
  return made;
}

}  // namespace triton_runner::ir
