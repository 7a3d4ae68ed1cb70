// Parses types: scalars, pointers, tensors, memdescs, descriptors, functions, and those of dialects.
#include <charconv>

#include "parser.h"

namespace triton_runner::ir {

// Past the end of the type's text at p, as far as its brackets tell; p itself if there is none.
const char* Parser::type_end(const char* p) const {
  const char* q = p;
  if (*q == '!') ++q;
  while (is_word(*q)) ++q;
  if (*q == ' ' && q[1] == '<' && q - p == 6 && std::memcmp(p, "tensor", 6) == 0) ++q;
  if (q > p && *q == '<') {
    const char* close = balanced(q);
    return close ? close : p;
  }
  return q;
}

const Type* Parser::type() {
  ws();
  if (*p_ == '(') return function_type();
  const char* b = p_;
  const char* e = type_end(b);
  if (e == b || (*b != '!' && !is_letter(*b))) return expected("a type"), no_type();
  std::string_view text(b, static_cast<size_t>(e - b));
  if (const Type** known = type_texts_.find(text)) {
    p_ = e;
    return *known;
  }
  const Type* t = parse_type();
  if (!failed() && p_ != e) fail(p_, "unexpected text in a type");
  if (!failed()) type_texts_.insert(text, t);
  return t;
}

const Type* Parser::short_type(TypeKind kind) {
  if (peek() != '<') return type();
  const char* b = p_;
  const char* e = balanced(b);
  if (!e) return expected("the '>' that closes this type"), no_type();
  std::string_view text(b, static_cast<size_t>(e - b));
  uint64_t seed = 1 + static_cast<uint64_t>(kind);
  if (const Type** known = type_texts_.find(text, seed)) {
    p_ = e;
    return *known;
  }
  const Type* t;
  if (kind == TypeKind::kPointer)
    t = parse_pointer_body();
  else if (kind == TypeKind::kTensorDesc)
    t = parse_tensordesc_body();
  else
    t = parse_shaped(kind, {});
  if (!failed() && p_ != e) fail(p_, "unexpected text in a type");
  if (!failed()) type_texts_.insert(text, t, seed);
  return t;
}

const Type* Parser::function_type() {
  const Type* none = no_type();
  if (depth_ > kMaxDepth) return fail(p_, "types are nested too deep"), none;
  Nesting nesting(depth_);
  std::vector<const Type*> params, results;
  expect("(");
  list(")", [&] { params.push_back(type()); });
  expect("->");
  type_list(results);
  if (failed()) return none;
  return m_.function_type(params, results);
}

const Type* Parser::parse_type() {
  const Type* none = no_type();
  if (depth_ > kMaxDepth) return fail(p_, "types are nested too deep"), none;
  Nesting nesting(depth_);
  if (*p_ == '!') return parse_dialect_type();
  const char* b = p_;
  std::string_view name = word();
  std::string_view digits = name;
  Type::Sign sign = Type::kSignless;
  if (digits.starts_with("si"))
    sign = Type::kSigned, digits.remove_prefix(2);
  else if (digits.starts_with("ui"))
    sign = Type::kUnsigned, digits.remove_prefix(2);
  else if (digits.starts_with("i"))
    digits.remove_prefix(1);
  if (digits.size() != name.size() && !digits.empty() && is_digit(digits[0])) {
    unsigned width = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
    if (error == std::errc{} && end == digits.data() + digits.size() && width > 0 && width <= 4096)
      return m_.integer_type(width, sign);
    return fail(b, "an integer type has 1 to 4096 bits"), none;
  }
  FloatKind kind;
  if (float_kind(name, kind)) {
    Type t{.kind = TypeKind::kFloat};
    t.float_kind = kind;
    t.width = static_cast<uint16_t>(float_width(kind));
    t.text = name;
    return m_.intern(t);
  }
  if (name == "index") return m_.index_type();
  if (name == "none") return none;
  if (name == "tensor" && peek() == '<') return parse_shaped(TypeKind::kTensor, name);
  if (name == "tuple" && *p_ == '<') {
    ++p_;
    std::vector<const Type*> elements;
    list(">", [&] { elements.push_back(type()); });
    Type t{.kind = TypeKind::kTuple};
    t.elements = m_.arena.copy(elements.data(), elements.size());
    return m_.intern(t);
  }
  if ((name == "vector" || name == "memref" || name == "complex" || name == "unranked") && *p_ == '<') {
    p_ = balanced(p_);
    return m_.named_type(TypeKind::kOpaque, since(b));
  }
  fail(b, "'" + std::string(name) + "' is not a type that we know",
       {"types are i32, f16, tensor<...>, !tt.ptr<...>, !ttg.memdesc<...>, ..."});
  return none;
}

// 16x?x, then what follows them.
bool Parser::dimensions(std::vector<int64_t>& shape) {
  for (;;) {
    ws();
    const char* b = p_;
    int64_t d = -1;
    if (*p_ == '?' || *p_ == '*') {
      ++p_;
    } else if (is_digit(*p_)) {
      auto [end, error] = std::from_chars(p_, end_, d);
      if (error != std::errc{}) return fail(b, "this dimension does not fit 64 bits"), false;
      p_ = end;
    } else {
      return true;
    }
    if (*p_ != 'x') return p_ = b, true;
    ++p_;
    shape.push_back(d);
  }
}

// At the '<' of tensor<...> or a memdesc.
const Type* Parser::parse_shaped(TypeKind kind, std::string_view text) {
  const char* b = text.empty() ? p_ : text.data();
  ++p_;
  Type t{.kind = kind};
  std::vector<int64_t> shape, alloc;
  dimensions(shape);
  t.element = type();
  int64_t count = 1;
  for (int64_t d : shape)
    if (d > 0 && __builtin_mul_overflow(count, d, &count)) fail(b, "this type has more than 2^63 elements");
  while (!failed() && eat(',')) {
    char c = peek();
    if (c == '#' || c == '{' || c == '"' || c == 'a') {
      const Attr* a = attr();
      (t.encoding ? t.memory_space : t.encoding) = a;
    } else if (is_digit(c)) {
      dimensions(alloc);
      alloc.push_back(integer());
    } else if (kind == TypeKind::kMemDesc && eat("mutable")) {
      t.is_mutable = true;
    } else {
      expected(kind == TypeKind::kTensor ? "an encoding" : "a layout, 'mutable' or the shape allocated");
    }
  }
  expect(">");
  if (alloc == shape) alloc.clear();  // the whole of it: not a part of something larger
  t.shape = m_.arena.copy(shape.data(), shape.size());
  t.alloc_shape = m_.arena.copy(alloc.data(), alloc.size());
  std::string spelled;
  if (!failed()) {
    // The text of a short form is the long one, under the name that this release gives the type.
    if (kind == TypeKind::kMemDesc && text.empty()) spelled = memdesc_name_;
    spelled.append(b, p_);
  }
  t.text = spelled;
  return failed() ? no_type() : m_.intern(t);
}

const Type* Parser::parse_pointer_body() {
  const char* b = p_;
  ++p_;
  Type t{.kind = TypeKind::kPointer};
  t.width = 64;
  t.address_space = 1;
  t.element = type();
  if (eat(',')) {
    if (peek() == '"')
      t.memory_space = attr();  // "constant", of 3.9
    else
      t.address_space = static_cast<uint32_t>(integer());
  }
  expect(">");
  std::string text = "!tt.ptr" + std::string(since(b));
  t.text = text;
  return failed() ? no_type() : m_.intern(t);
}

// <tensor<64x64xf16>> as older releases have it, or <64x64xf16, #shared>.
const Type* Parser::parse_tensordesc_body(bool im2col) {
  const char* b = p_;
  ++p_;
  Type t{.kind = TypeKind::kTensorDesc};
  t.im2col = im2col;
  t.width = 64;
  ws();
  if (is_letter(*p_) && next_is("tensor")) {
    t.wrapped = true;
    t.element = type();
    expect(">");
  } else {
    --p_;
    p_ = b;
    t.element = parse_shaped(TypeKind::kTensor, {});
  }
  std::string text = im2col ? "!ttng.tensordesc_im2col" : "!tt.tensordesc";
  if (!failed()) text += since(b);
  t.text = text;
  return failed() ? no_type() : m_.intern(t);
}

const Type* Parser::parse_dialect_type() {
  const char* b = p_++;
  std::string_view name = suffix_id();
  if (*p_ == '<') {
    if (name == "tt.ptr") return parse_pointer_body();
    if (name == "tt.tensordesc") return parse_tensordesc_body();
    if (name == "ttng.tensordesc_im2col") return parse_tensordesc_body(true);
    if (name == "ttg.memdesc" || name == "triton_gpu.memdesc" || name == "tt.memdesc") {
      memdesc_name_ = since(b);
      return parse_shaped(TypeKind::kMemDesc, since(b));
    }
    const char* close = balanced(p_);
    if (!close) return expected("the '>' that closes this type"), no_type();
    p_ = close;
    return m_.named_type(TypeKind::kOpaque, since(b));
  }
  std::string_view text = since(b);
  if (name == "ttg.async.token" || name == "triton_gpu.async.token")
    return m_.named_type(TypeKind::kToken, text);
  if (const Type** alias = type_aliases_.find(text)) return *alias;
  if (name.find('.') == std::string_view::npos)
    return fail(b, "the type alias '" + std::string(text) + "' is not defined"), no_type();
  return m_.named_type(TypeKind::kOpaque, text);
}

}  // namespace triton_runner::ir
