// Parses attributes that hold many numbers: dense<...> and array<...>.
#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "parser.h"

namespace triton_runner::ir {

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
  list("]", [&] { count += dense_list(scalar, raw, shape, depth + 1); });
  if (failed()) return false;
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

}  // namespace triton_runner::ir
