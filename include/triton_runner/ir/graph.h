// Declares the graph of an MLIR module of Triton's dialects: types, attributes, locations, ops, blocks,
// regions, values.
//
// Everything lives in the arena of its Module and dies with it; types and attributes are interned there, so
// that two equal ones of one module are the same pointer. Names and texts are views into the module's source
// (which the module keeps) or its arena.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include <triton_runner/ir/effects.h>
#include <triton_runner/ir/groups.h>

namespace triton_runner::ir {

// One enumerator per row of ops.def; kUnknown for an op that the table lacks.
enum class OpKind : uint16_t {
  kUnknown = 0,
#define OP(kind, ...) k##kind,
#include <triton_runner/ir/ops.def>
#undef OP
};

enum class TypeKind : uint8_t {
  kInteger,  // i1 .. i64: width()
  kIndex,
  kFloat,       // f16 bf16 f32 f64 tf32 f8E4M3FN ...: float_kind()
  kPointer,     // !tt.ptr<element, address_space>
  kTensor,      // tensor<shape x element, encoding>
  kMemDesc,     // !ttg.memdesc<shape x element, encoding, memory_space, mutable, alloc_shape>
  kTensorDesc,  // !tt.tensordesc<...>, !ttng.tensordesc_im2col<...>: element() is the block's tensor type
  kToken,       // !ttg.async.token
  kTuple,
  kFunction,
  kNone,
  kOpaque,  // a type we do not know: only its text
};

enum class FloatKind : uint8_t {
  kF16,
  kBF16,
  kF32,
  kF64,
  kTF32,
  kF8E4M3FN,
  kF8E5M2,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
  kF8E4M3B11FNUZ,
  kF8E8M0FNU,
  kF6E2M3FN,
  kF6E3M2FN,
  kF4E2M1FN,
  kF8E4M3,
  kF8E3M4,
  kF80,
  kF128
};

struct Attr;
struct Type {
  TypeKind kind;
  FloatKind float_kind{};
  uint16_t width = 0;  // bits, of integers and floats; 64 for pointers and index
  enum Sign : uint8_t { kSignless, kSigned, kUnsigned } sign = kSignless;  // of integers: i8, si8, ui8
  bool wrapped = false;        // of tensordescs: written !tt.tensordesc<tensor<...>>, as releases to 3.8 do
  bool im2col = false;         // of tensordescs: !ttng.tensordesc_im2col
  uint32_t address_space = 0;  // of pointers; 1 when not written
  bool is_mutable = false;     // of memdescs
  const Type* element = nullptr;   // of pointers, tensors, memdescs, tensordescs
  std::span<const int64_t> shape;  // of tensors and memdescs
  std::span<const int64_t> alloc_shape;
  const Attr* encoding = nullptr;         // of tensors and memdescs; null if none
  const Attr* memory_space = nullptr;     // of memdescs; of pointers whose space has a name: "constant"
  std::span<const Type* const> elements;  // of tuples; parameters then results of functions
  uint32_t num_params = 0;                // of functions
  std::string_view text;                  // as written, aliases kept

  // The scalar at the bottom: the element type of tensors and memdescs, itself otherwise.
  const Type* scalar() const {
    return kind == TypeKind::kTensor || kind == TypeKind::kMemDesc ? element : this;
  }
  // The name of an integer or float without a sign, "i8" of ui8 too; "i64" of index; nothing of others.
  std::string_view number_name() const {
    if (kind == TypeKind::kIndex) return "i64";
    if (kind == TypeKind::kInteger) return sign == kSignless ? text : text.substr(1);
    return kind == TypeKind::kFloat ? text : std::string_view();
  }
  int64_t num_elements() const {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
};

enum class AttrKind : uint8_t {
  kUnit,
  kBool,
  kInteger,
  kFloat,
  kString,
  kArray,
  kDict,
  kType,
  kSymbol,
  kDenseElements,  // dense<...> : type; elements() or one splat
  kDenseArray,     // array<i32: 1, 2>
  kDialect,        // #dialect.name<...>: name, and entries where the body is {key = value, ...}
  kLocation,
  kOpaque,  // anything else: only its text (affine maps, ...)
};

struct NamedAttr;
struct Location;
struct Attr {
  AttrKind kind;
  bool splat = false;          // of kDenseElements
  bool verbatim = false;       // printed by its text: a spelling that the fields do not hold
  uint32_t braced = 0;         // of kDialect: so many of the entries stand in braces
  const Type* type = nullptr;  // of numbers, dense elements, kType
  int64_t integer = 0;         // value of kInteger, kBool
  double real = 0;             // value of kFloat, when finite and exact enough; see bits
  uint64_t bits = 0;           // the float's bits in its own type (f32 for untyped 0.0 in old text is f64)
  std::string_view string;     // kString (unescaped), kSymbol (without @), kDialect's name ("ttg.blocked")
  std::span<const Attr* const> elements;  // kArray; positional parameters of kDialect
  std::span<const NamedAttr> entries;     // kDict; named parameters of kDialect
  std::span<const uint64_t> raw;          // kDenseElements, kDenseArray: each element's bits (one if splat)
  const Location* location = nullptr;
  std::string_view alias;  // "#blocked" where the module gives it a name
  std::string_view text;   // as written

  const Attr* get(std::string_view key) const;  // entry of kDict, kDialect; null if absent
};
struct NamedAttr {
  std::string_view name;
  const Attr* value;
};

enum class LocKind : uint8_t { kUnknown, kFile, kName, kCallSite, kFused, kOpaque };
struct Location {
  LocKind kind;
  std::string_view file;         // kFile
  int32_t line = 0, column = 0;  // kFile (start)
  int32_t end_line = 0, end_column = 0;
  std::string_view name;                      // kName
  const Location* child = nullptr;            // kName: the named place (or null); kCallSite: callee
  const Location* caller = nullptr;           // kCallSite
  std::span<const Location* const> children;  // kFused
  const Attr* metadata = nullptr;             // kFused<...>
  std::string_view alias;                     // "#loc12"

  // The innermost source line: through names, the callee of a call site, the first of fused.
  const Location* file_location() const;
  // The source line that a person would look at: the innermost that is not of the language itself (tl.max).
  const Location* place() const;
};

struct Op;
struct Block;
struct Region;
struct Skeleton;  // how an op that the table lacks was written
class Module;

struct Use;  // one operand slot; a value's uses form a list
struct Value {
  const Type* type;
  std::string_view name;          // without '%', for results of groups with "#n" left out ("5" for %5#1)
  Op* defining_op = nullptr;      // null for block arguments
  Block* block = nullptr;         // of block arguments
  uint32_t index = 0;             // result or argument number
  uint32_t group_size = 1;        // results of the defining op that share the name: %5:3
  uint32_t group_index = 0;       // which of them this is: %5#1
  const Location* loc = nullptr;  // of block arguments; an op's results have the op's
  Use* first_use = nullptr;
};
struct Use {
  Value* value;
  Op* user;
  uint32_t operand_index;
  Use* next;
  Use** prev;
};

struct Op {
  OpKind kind;
  std::string_view
      name;  // "tt.load", as written (old releases: "triton_gpu.convert_layout" has kConvertLayout)
  std::span<Use> operand_uses;
  std::span<const uint32_t> group_ends;  // ends of the operand groups of its table row, in order
  std::span<Value> results;
  std::span<const NamedAttr>
      attrs;  // all of them, those that the custom syntax spells without a dictionary included
  std::span<Region*> regions;
  std::span<Block*> successors;
  const Location* loc = nullptr;
  Block* block = nullptr;  // the block that holds it; null for the module
  Op* prev = nullptr;
  Op* next = nullptr;
  std::string_view text;        // its slice of the source; empty for ops made through the graph
  uint16_t num_properties = 0;  // of the generic form: so many of the attributes stand in <{...}>
  uint8_t form = 0;             // which of its row's assembly texts it was written in; 0 is the generic form
  bool edited = false;          // changed through the graph: printed anew
  bool edited_inside = false;   // an op in its regions was changed
  const Skeleton* skeleton = nullptr;  // of unknown ops in custom syntax

  uint32_t num_operands() const { return static_cast<uint32_t>(operand_uses.size()); }
  Value* operand(uint32_t i) const { return operand_uses[i].value; }
  Effects effects() const;  // of its row; none of an op that the table lacks
  bool does(Effect e) const { return effects().any(e); }
  // An operand group of the op's row in ops.def by its name; empty where the op left it out or has none.
  std::span<Use> group(GroupName name) const;
  // The only operand of that group, or null.
  Value* operand_of(GroupName name) const {
    const std::span<Use> uses = group(name);
    return uses.empty() ? nullptr : uses[0].value;
  }
  // The same by number, for who goes through them all: 0, 1, 2 of "ptr, mask?, other?".
  std::span<Use> group(uint32_t i) const {
    uint32_t begin = i == 0 ? 0 : group_ends[i - 1];
    return operand_uses.subspan(begin, group_ends[i] - begin);
  }
  // The only operand of group i, or null where it is left out.
  Value* operand_of(uint32_t i) const { return group(i).empty() ? nullptr : group(i)[0].value; }
  Value* result(uint32_t i = 0) const { return const_cast<Value*>(&results[i]); }
  const Attr* attr(std::string_view key) const;  // null if absent
  int64_t int_attr(std::string_view key,
                   int64_t otherwise) const;  // of integers, bools and enum keywords' numbers
  // An enumeration of enums.h; a value that is not known where the op has none.
  template <class Enum>
  Enum enum_attr(std::string_view key) const {
    return static_cast<Enum>(int_attr(key, -1));
  }
  Region* region(uint32_t i = 0) const { return regions[i]; }
  // For a WarpGroupDot: whether the program goes on while it is computed. 3.0 and 3.1 have a name for that,
  // the others an attribute.
  bool is_async_dot() const { return int_attr("isAsync", 0) != 0 || name.ends_with(".dot_async"); }
};

struct Block {
  std::string_view name;  // "bb0" where the text names it, else empty
  std::span<Value> args;
  Op* first = nullptr;
  Op* last = nullptr;
  Region* region = nullptr;
  Block* next = nullptr;
  uint32_t index = 0;     // in its region
  std::string_view text;  // its label's slice of the source; empty for the unlabelled first one
  bool edited = false;    // its label is printed anew
};

struct Region {
  Block* first = nullptr;
  Block* last = nullptr;
  Op* parent = nullptr;
  std::string_view text;  // its slice of the source, braces included
};

}  // namespace triton_runner::ir
