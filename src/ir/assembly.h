// Declares the language of the table's assembly column: how an op's text after its name is put together.
// Parser and printer both run it. Its words stand apart by spaces:
//
//   %x           operand group x of the row, comma-separated where variadic
//   $a:KIND      attribute a: an integer kind (i1, i32, i64), str, sym, any (a full attribute), ints (an i32
//                array as [0, 1]), longs (the same in i64), types, unit (prints nothing; present if its
//                group is), or an enumeration of enums.def by its keyword (FastMath and Overflow in <>)
//   T(x) T(>)    the types of group x, of all results; T(>0) of one result; T(>*) one type that all
//                results have; T(x=y) one that the operands x and y have; T(=) one that all operands and the
//                result have
//   S(x:ptr)     the same in short form, <f32> for !tt.ptr<f32>; the word after the colon is ptr, memdesc or
//                tensordesc
//   F F(x,y)     a functional type from all operands (or those of the groups named) to all results
//   {} attrs{}   the attribute dictionary; the same after the keyword `attributes`
//   ?[ ... ]?    left out where its first operand, attribute or type is absent
//   *[ a | b ]*  any of the alternatives, in any order; printed in this one
//   @dep         [%dep], an optional dependency on a token, with which the op has a token as its last result
//   R            a region
//   _            no space here
//   !name        written by hand in custom.cpp or custom_control.cpp
//   ; RULE x     what the results' types are where the text does not say: same x (of each of the group's),
//                pointee x, scalar x, i1 x (its shape), twice x, token, i32, i64, or a type's name
//
// Anything else is literal text. Spaces are printed where MLIR's declarative formats print them.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <triton_runner/ir/op_table.h>

namespace triton_runner::ir {

struct EnumValue {
  std::string_view keyword;
  int64_t number;
};
// An enumeration of enums.def; a flag set where `flags`, printed keyword|keyword.
struct EnumInfo {
  std::string_view name;
  bool flags;
  bool angled;  // <keyword>
  unsigned width;
  std::vector<EnumValue> values;
  const EnumValue* find(std::string_view keyword) const;
  const EnumValue* find(int64_t number) const;
};
const EnumInfo* find_enum(std::string_view name);

enum class PieceKind : uint8_t {
  kLiteral,
  kOperands,
  kAttr,
  kTypes,
  kShortTypes,
  kFunctional,
  kDict,
  kKeywordDict,
  kOptional,
  kAnyOf,
  kAlternative,
  kToken,
  kRegion,
  kNoSpace,
  kCustom,
};
enum class AttrForm : uint8_t { kInteger, kString, kSymbol, kAny, kInts, kTypes, kUnit, kEnum };
enum class ResultRule : uint8_t { kWritten, kSame, kPointee, kScalar, kBoolLike, kTwice, kToken, kNamed };

constexpr uint8_t kAllResults = 0xFF, kEachResult = 0xFE, kEverything = 0xFD,
                  kFirstResult = 0x80;  // in Piece::group: 0x80 + i is result i

struct Piece {
  PieceKind kind;
  uint8_t group = 0;      // operand group or result
  AttrForm form{};        // of kAttr
  TypeKind short_kind{};  // of kShortTypes
  uint16_t length = 0;    // kOptional, kAnyOf, kAlternative: so many pieces follow that are inside
  uint64_t groups = 0;    // kFunctional: a bit a group; 0: all
  uint8_t also = 0xFF;    // kTypes: a second group of the same type
  std::string_view text;  // literal, attribute name, custom name
  unsigned width = 0;     // of integer attributes
  const EnumInfo* values = nullptr;
  bool variadic = false;  // kOperands: a list
  bool optional = false;  // kOperands: one or none
};

struct Assembly {
  std::vector<Piece> pieces;
  ResultRule rule = ResultRule::kWritten;
  uint8_t rule_group = 0;
  std::string_view rule_type;
  Release since = release(3, 0), until = kNow;
};

// An op's operand groups and the texts it may have: the row's own first, then those of older releases.
struct OpSyntax {
  struct Group {
    std::string_view name;
    bool optional = false, variadic = false;
  };
  std::vector<Group> groups;
  std::vector<Assembly> forms;  // form number f of Op::form is forms[f - 1]
};
const OpSyntax& op_syntax(OpKind kind);

}  // namespace triton_runner::ir
