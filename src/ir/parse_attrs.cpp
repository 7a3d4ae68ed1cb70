// Attributes and dictionaries of the text.
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
    Attr value{.kind = AttrKind::kBool};
    value.type = m_.integer_type(1);
    value.integer = text == "true";
    a = m_.intern(value);
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
      std::vector<std::string> all;
      for (const EnumValue& v : info.values) all.emplace_back(v.keyword);
      std::string list;
      for (const std::string& k : all) list += (list.empty() ? "" : ", ") + k;
      p_ = w;
      expected("one of " + list);
      return no_attr();
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
    a.text = {b, static_cast<size_t>(p_ - b)};
  }
  a.integer = static_cast<int64_t>(negative ? 0 - value : value);
  return m_.intern(a);
}

uint64_t Parser::dense_element(const Type* scalar) {
  ws();
  const char* b = p_;
  if (*p_ == 't' || *p_ == 'f') {
    std::string_view w = word();
    if (w == "true") return 1;
    if (w == "false") return 0;
    return fail(b, "expected a number, true or false"), 0;
  }
  const char* q = p_ + (*p_ == '-' || *p_ == '+');
  while (is_word(*q) || ((*q == '-' || *q == '+') && (q[-1] == 'e' || q[-1] == 'E'))) ++q;
  std::string_view text(b, static_cast<size_t>(q - b));
  if (text.empty() || !is_digit(text[text[0] == '-' || text[0] == '+'])) return expected("a number"), 0;
  p_ = q;
  bool hex = text.starts_with("0x");
  if (scalar->kind == TypeKind::kFloat && !hex)
    return float_bits(scalar->float_kind, std::strtod(std::string(text).c_str(), nullptr));
  bool negative = text[0] == '-';
  std::string_view digits = text.substr(negative || text[0] == '+');
  if (hex) digits.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != digits.data() + digits.size())
    return fail(b, "'" + std::string(text) + "' is not an element of this type"), 0;
  if (negative) value = 0 - value;
  if (scalar->kind == TypeKind::kInteger && scalar->width < 64) value &= (uint64_t{1} << scalar->width) - 1;
  return value;
}

bool Parser::dense_list(const Type* scalar, std::vector<uint64_t>& raw, std::vector<int64_t>& shape,
                        size_t depth) {
  if (depth > 16) return fail(p_, "dense elements are nested too deep"), false;
  if (!eat('[')) {
    raw.push_back(dense_element(scalar));
    return !failed();
  }
  int64_t count = 0;
  if (peek() != ']') do {
      if (!dense_list(scalar, raw, shape, depth + 1)) return false;
      ++count;
    } while (eat(','));
  if (!expect("]")) return false;
  while (shape.size() <= depth) shape.push_back(-1);
  if (shape[depth] >= 0 && shape[depth] != count)
    return fail(p_, "rows of different lengths in dense<...>"), false;
  shape[depth] = count;
  return true;
}

// dense<...> : type. The elements need the type, which follows them.
const Attr* Parser::parse_dense() {
  const char* b = p_;
  p_ += 5;
  const char* body = p_ + 1;
  const char* close = balanced(p_);
  if (!close) return expected("the '>' that closes dense<"), no_attr();
  p_ = close;
  if (!expect(":")) return no_attr();
  const Type* t = type();
  if (failed()) return no_attr();
  const char* after = p_;
  const Type* scalar = t->scalar();
  Attr a{.kind = AttrKind::kDenseElements};
  a.type = t;
  a.text = {b, static_cast<size_t>(after - b)};
  if (t->kind != TypeKind::kTensor ||
      (scalar->kind != TypeKind::kInteger && scalar->kind != TypeKind::kFloat &&
       scalar->kind != TypeKind::kIndex) ||
      scalar->width > 64) {
    a.kind = AttrKind::kOpaque;  // vectors, pointers: only the text
    return m_.intern(a);
  }
  p_ = body;
  std::vector<uint64_t> raw;
  if (peek() == '"') {
    std::string_view hex = string_text();
    size_t bytes = (scalar->width + 7u) / 8;
    if (!hex.starts_with("0x") || (hex.size() - 2) % (2 * bytes))
      return fail(body, "expected a hexadecimal string with whole elements"), no_attr();
    for (size_t i = 2; i < hex.size(); i += 2 * bytes) {
      uint64_t bits = 0;
      for (size_t j = 0; j < bytes; ++j) {
        unsigned byte = 0;
        std::from_chars(hex.data() + i + 2 * j, hex.data() + i + 2 * j + 2, byte, 16);
        bits |= uint64_t{byte} << (8 * j);
      }
      raw.push_back(bits);
    }
    a.splat = raw.size() == 1;
  } else if (peek() == '>') {
  } else {
    std::vector<int64_t> shape;
    a.splat = *p_ != '[';
    dense_list(scalar, raw, shape, 0);
    if (!failed() && !a.splat && !std::equal(shape.begin(), shape.end(), t->shape.begin(), t->shape.end()))
      fail(body, "the elements do not have the type's shape");
  }
  if (!failed() && peek() != '>') expected("'>'");
  if (!failed() && !a.splat && static_cast<int64_t>(raw.size()) != t->num_elements())
    fail(body, "dense<...> has " + std::to_string(raw.size()) + " elements, its type " +
                   std::to_string(t->num_elements()));
  if (failed()) return no_attr();
  // Triton's printer writes equal elements once.
  if (!raw.empty() && std::all_of(raw.begin(), raw.end(), [&](uint64_t v) { return v == raw[0]; })) {
    a.splat = true;
    raw.resize(1);
  }
  p_ = after;
  a.raw = m_.arena.copy(raw.data(), raw.size());
  return m_.intern(a);
}

const Attr* Parser::parse_dense_array() {
  const char* b = p_;
  p_ += 5;
  expect("<");
  Attr a{.kind = AttrKind::kDenseArray};
  a.type = type();
  std::vector<uint64_t> raw;
  if (!failed() && a.type->kind != TypeKind::kInteger && a.type->kind != TypeKind::kFloat)
    fail(b, "array<...> holds integers or floats");
  if (!failed() && eat(':')) do
      raw.push_back(dense_element(a.type));
    while (eat(','));
  expect(">");
  if (failed()) return no_attr();
  a.raw = m_.arena.copy(raw.data(), raw.size());
  a.text = {b, static_cast<size_t>(p_ - b)};
  return m_.intern(a);
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

// #alias, #dialect.name<...>.
const Attr* Parser::parse_dialect_attr() {
  const char* b = p_++;
  std::string_view name = suffix_id();
  std::string_view spelled(b, static_cast<size_t>(p_ - b));
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
  // What the body says by key is kept by key; a spelling that does not come out of that again is kept as
  // it is.
  ++p_;
  const char* body_end = close - 1;
  std::vector<const Attr*> elements;
  std::vector<NamedAttr> braced, bare;
  while (!failed() && peek() != '>' && p_ < body_end) {
    const char* item = p_;
    if (*p_ == '{') {
      ++p_;
      parse_entries('}', braced);
    } else {
      if (is_letter(*p_)) {
        std::string_view key = word();
        if (peek() == '=' && p_[1] != '=') {
          ++p_;
          bare.push_back({key, attr()});
          eat(',');
          continue;
        }
        p_ = item;
      }
      // Positional: anything up to a comma or brace outside brackets.
      const char* q = item;
      while (q < body_end && *q != ',' && *q != '{') {
        if (*q == '<' || *q == '[' || *q == '(' || *q == '"') {
          const char* past = balanced(q);
          if (!past) break;
          q = past;
        } else {
          ++q;
        }
      }
      if (q == item) break;
      std::string_view text(item, static_cast<size_t>(q - item));
      while (is_space(text.back())) text.remove_suffix(1);
      Attr positional{.kind = AttrKind::kOpaque};
      if (text[0] == '#') {
        elements.push_back(attr());
        if (failed()) break;
      } else {
        positional.text = text;
        elements.push_back(m_.intern(positional));
      }
      p_ = q;
    }
    eat(',');
  }
  if (failed()) {
    // A body that is no list of attributes is kept as text, unless the fault is an alias that does not exist.
    if (error_->message.find("is not defined") != std::string::npos) return no_attr();
    error_.reset();
    elements.clear(), braced.clear(), bare.clear();
  }
  p_ = close;
  a.braced = static_cast<uint32_t>(braced.size());
  braced.insert(braced.end(), bare.begin(), bare.end());
  a.elements = m_.arena.copy(elements.data(), elements.size());
  a.entries = m_.arena.copy(braced.data(), braced.size());
  a.text = whole;
  std::string printed;
  TextWriter(printed).attr(&a);
  a.verbatim = without_spaces(printed) != without_spaces(whole);
  const Attr* made = m_.intern(a);
  attr_texts_.insert(whole, made);
  return made;
}

const Attr* Parser::parse_attr() {
  if (depth_ > kMaxDepth) return fail(p_, "attributes are nested too deep"), no_attr();
  Nesting nesting(depth_);
  char c = peek();
  const char* b = p_;
  if (is_digit(c) || (c == '-' && is_digit(p_[1]))) return parse_number();
  switch (c) {
    case '"': {
      Attr a{.kind = AttrKind::kString};
      a.string = string_text();
      if (peek() == ':') {  // typed strings are rare: keep the spelling
        ++p_;
        type();
        a.kind = AttrKind::kOpaque;
        a.text = {b, static_cast<size_t>(p_ - b)};
      }
      return m_.intern(a);
    }
    case '#':
      return parse_dialect_attr();
    case '@': {
      ++p_;
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
        a.text = {b, static_cast<size_t>(p_ - b)};
      }
      return m_.intern(a);
    }
    case '[': {
      ++p_;
      std::vector<const Attr*> elements;
      if (peek() != ']') do
          elements.push_back(attr());
        while (!failed() && eat(','));
      expect("]");
      Attr a{.kind = AttrKind::kArray};
      a.elements = m_.arena.copy(elements.data(), elements.size());
      return m_.intern(a);
    }
    case '{': {
      Attr a{.kind = AttrKind::kDict};
      a.entries = dict();
      return m_.intern(a);
    }
    case '!':
    case '(': {
      Attr a{.kind = AttrKind::kType};
      a.type = type();
      return m_.intern(a);
    }
    default:
      break;
  }
  if (is_letter(c)) {
    const char* e = p_;
    while (is_word(*e)) ++e;
    std::string_view w(p_, static_cast<size_t>(e - p_));
    if (w == "true" || w == "false") {
      p_ = e;
      Attr a{.kind = AttrKind::kBool};
      a.type = m_.integer_type(1);
      a.integer = w == "true";
      return m_.intern(a);
    }
    if (w == "unit") return p_ = e, m_.unit();
    if (*e == '<') {
      if (w == "dense") return parse_dense();
      if (w == "array") return parse_dense_array();
      if (w == "affine_map" || w == "affine_set" || w == "dense_resource" || w == "opaque" || w == "sparse" ||
          w == "strided" || w == "distinct") {
        const char* close = balanced(e);
        if (!close) return expected("the '>' that closes this attribute"), no_attr();
        p_ = close;
        if (w != "affine_map" && w != "affine_set" && w != "strided" && eat(':')) type();
        Attr a{.kind = AttrKind::kOpaque};
        a.text = {b, static_cast<size_t>(p_ - b)};
        return m_.intern(a);
      }
    }
    if (w == "loc" && *e == '(') {
      Attr a{.kind = AttrKind::kLocation};
      a.location = location();
      a.text = {b, static_cast<size_t>(p_ - b)};
      a.verbatim = true;
      return m_.intern(a);
    }
    if (w == "distinct" && *e == '[') {
      p_ = balanced(e);
      if (p_ && *p_ == '<') p_ = balanced(p_);
      if (!p_) return p_ = b, expected("a distinct attribute"), no_attr();
      Attr a{.kind = AttrKind::kOpaque};
      a.text = {b, static_cast<size_t>(p_ - b)};
      return m_.intern(a);
    }
    if (type_end(p_) == e && *e != '<') {
      // A bare word that is no type: an enumeration's keyword in a dialect's attribute.
      FloatKind kind;
      bool is_type =
          float_kind(w, kind) || w == "index" || w == "none" ||
          (w.size() > 1 && (w[0] == 'i' || w.starts_with("si") || w.starts_with("ui")) &&
           is_digit(w.back()) && std::all_of(w.begin() + (w[0] == 'i' ? 1 : 2), w.end(), is_digit));
      if (!is_type) {
        p_ = e;
        Attr a{.kind = AttrKind::kOpaque};
        a.text = w;
        return m_.intern(a);
      }
    }
    Attr a{.kind = AttrKind::kType};
    a.type = type();
    return m_.intern(a);
  }
  expected("an attribute");
  return no_attr();
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
