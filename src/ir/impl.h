// Declares the parts that a Module owns (its source, the arena of its graph, the interning tables), and what
// the files of this folder share: formats of floats, the writer of types and attributes.
#pragma once
#include <set>
#include <string>
#include <vector>

#include <triton_runner/base/arena.h>
#include <triton_runner/base/lines.h>
#include <triton_runner/base/text.h>
#include <triton_runner/base/text_map.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/ir/text.h>

namespace triton_runner::ir {

using base::Arena;
using base::TextMap;

// f of each, with commas between what they write to `out`.
template <class List, class F>
void separated(std::string& out, const List& list, F f) {
  bool first = true;
  for (auto& element : list) {
    if (!first) out += ", ";
    first = false;
    f(element);
  }
}

// One line of the module's alias table, in the order of the text.
struct AliasDef {
  std::string_view name;  // "#blocked", "#loc12", "!alias"
  const Attr* attr = nullptr;
  const Type* type = nullptr;
  const Location* loc = nullptr;
  bool after = false;  // printed after the module op
};

struct Module::Impl {
  std::string source;
  base::Lines lines;  // of it
  std::string filename;
  Arena arena;
  Op* root = nullptr;
  Region* top = nullptr;  // the region that holds the module op, or the top-level ops of a text without one
  std::vector<AliasDef> aliases;
  std::vector<std::string_view> erased;  // slices of the source whose ops are gone, in the order of the text
  bool edited = false;

  TextMap<const Type*> types;  // by structure
  TextMap<const Attr*> attrs;  // by structure
  TextMap<Location*> loc_aliases{64};
  TextMap<uint8_t> forms;  // op name -> the assembly form that this module writes it in

  const Type* signless[65] = {};  // integer types made so far, by width
  const Type* none = nullptr;

  // The one object of its structure; `key` spells the structure.
  const Type* intern(const Type& type);
  const Attr* intern(const Attr& attr);
  const Attr* integer(int64_t value, const Type* type, std::string_view keyword = {});
  const Attr* string(std::string_view value);
  const Attr* unit();
  const Attr* boolean(bool value);
  const Attr* type_attr(const Type* type);
  const Attr* array(std::span<const Attr* const> elements);
  const Attr* dict(std::span<const NamedAttr> entries);                     // of the arena
  const Attr* numbers(const Type* type, std::span<const uint64_t> values);  // array<i32: 1, 2>
  const Type* integer_type(unsigned width, Type::Sign sign = Type::kSignless);
  const Type* index_type();
  const Type* named_type(TypeKind kind, std::string_view text);  // tokens, none, opaque ones
  const Type* tensor_type(const Type* element, std::span<const int64_t> shape, const Attr* encoding);
  const Type* function_type(const std::vector<const Type*>& params, const std::vector<const Type*>& results);

  // The place of a slice of the source; nothing for text that is not in it.
  base::Location location_of(std::string_view slice) const;
  // `slice` with its line, as an error.
  base::Diagnostic error_at(const char* where, std::string message,
                            std::vector<std::string> notes = {}) const;
};

// Formats of floats: bits <-> double, by what MLIR's parser and printer do.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_inf;  // IEEE: infinities and NaNs in the top exponent
  bool fnuz;     // NaN is the negative zero; no infinities
  int precision() const { return mantissa_bits + 1; }
};
const FloatFormat& float_format(FloatKind kind);
int float_width(FloatKind kind);
std::string_view float_name(FloatKind kind);
bool float_kind(std::string_view name, FloatKind& kind);
uint64_t float_bits(FloatKind kind, double value);  // rounded to nearest, ties to even
bool is_finite(FloatKind kind, uint64_t bits);
std::string print_float(FloatKind kind, uint64_t bits);

// Writes types, attributes and locations as MLIR prints them, from the structure alone.
class TextWriter {
 public:
  enum Mode {
    kText,      // aliases by name
    kIdentity,  // what is nested by its address: the key under which the structure is interned
  };
  explicit TextWriter(std::string& out, Mode mode = kText) : out_(out), mode_(mode) {}

  void type(const Type* type);
  void type_body(const Type* type);  // <f32>: what an op's short form leaves of !tt.ptr<f32>
  void attr(const Attr* attr, bool use_alias = true);
  void attr_without_type(const Attr* attr);
  void location(const Location* loc, bool use_alias = true);  // without the word loc and its parentheses
  void string(std::string_view text);
  void key(std::string_view name);                   // of a dictionary: quoted where it must be
  void entries(std::span<const NamedAttr> entries);  // a = 1 : i32, b
  void raw(std::string_view text) { out_ += text; }
  // An attribute that equals what an alias further down stands for is written out until that is defined.
  void hide_alias(const Attr* attr) { hidden_.insert(attr); }
  void show_alias(const Attr* attr) { hidden_.erase(attr); }

 private:
  friend struct Module::Impl;
  void structure(const Type* type);
  void structure(const Attr* attr, bool with_type);
  void dialect(const Attr* attr);
  void shape(std::span<const int64_t> shape);
  void types(std::span<const Type* const> types) {
    separated(out_, types, [&](const Type* t) { type(t); });
  }
  void dense(const Attr* attr);
  void element(const Type* type, uint64_t bits);
  void address(const void* pointer);

  std::string& out_;
  Mode mode_;
  bool nested_ = false;
  std::set<const Attr*> hidden_;
};

// The op prints from the graph from here on, and so does what it stands in.
void touch(Module::Impl& m, Op* op);

}  // namespace triton_runner::ir
