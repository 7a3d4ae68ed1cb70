// Declares the parser: one pass over the text, no tokens in between. Types, attributes, dictionaries and
// inline locations are looked up by their slice of the text first, so that each distinct spelling is parsed
// once.
//
// Errors: the first one is kept and the position jumps to the end of the text, where nothing matches, so that
// every caller unwinds without checks of its own; functions that return types, attributes or values never
// return null, but where their comment says so.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "assembly.h"
#include "impl.h"

namespace triton_runner::ir {

// The kinds of a character, by table: these loops are most of the parser's time.
enum CharClass : uint8_t { kSpace = 1, kDigit = 2, kLetter = 4, kWord = 8, kSuffix = 16, kBracket = 32 };
struct CharTable {
  uint8_t of[256] = {};
  constexpr CharTable() {
    for (char c : {' ', '\n', '\t', '\r'}) of[static_cast<uint8_t>(c)] |= kSpace;
    for (int c = '0'; c <= '9'; ++c) of[c] |= kDigit | kWord | kSuffix;
    for (int c = 'a'; c <= 'z'; ++c) of[c] |= kLetter | kWord | kSuffix;
    for (int c = 'A'; c <= 'Z'; ++c) of[c] |= kLetter | kWord | kSuffix;
    of[static_cast<uint8_t>('_')] |= kLetter | kWord | kSuffix;
    of[static_cast<uint8_t>('$')] |= kWord | kSuffix;
    of[static_cast<uint8_t>('.')] |= kWord | kSuffix;
    of[static_cast<uint8_t>('-')] |= kSuffix;
    for (char c : {'<', '>', '(', ')', '[', ']', '{', '}', '"', '/', '\0'})
      of[static_cast<uint8_t>(c)] |= kBracket;
  }
};
inline constexpr CharTable kChars;
inline bool is_space(char c) { return kChars.of[static_cast<uint8_t>(c)] & kSpace; }
using base::is_digit;
inline bool is_letter(char c) { return kChars.of[static_cast<uint8_t>(c)] & kLetter; }
inline bool is_word(char c) { return kChars.of[static_cast<uint8_t>(c)] & kWord; }
// In %names, @names, ^labels, #aliases.
inline bool is_suffix(char c) { return kChars.of[static_cast<uint8_t>(c)] & kSuffix; }

// How deep types, attributes and locations may stand in each other.
constexpr int kMaxDepth = 64;
struct Nesting {
  int& depth;
  explicit Nesting(int& d) : depth(d) { ++depth; }
  ~Nesting() { --depth; }
};

// How an op that the table lacks was written: literal text with holes, filled from the graph when it is
// printed.
struct SkeletonPart {
  // The text around a bare region names its arguments.
  enum Kind : uint8_t { kText, kOperand, kDict, kRegion, kBareRegion, kSuccessor } kind;
  uint32_t index = 0;
  std::string_view text;
};
struct Skeleton {
  std::span<const SkeletonPart> parts;
};

class Parser {
 public:
  explicit Parser(Module::Impl& module);
  bool run();  // the whole source
  // A type or attribute standing alone, as the graph's editing functions take them.
  const Type* lone_type();
  const Attr* lone_attr();
  // Ops that stand before `before` in `block` (null: at its end), with the values that are visible there.
  std::vector<Op*> lone_ops(Block* block, Op* before);
  void set_text(std::string_view text);
  const std::optional<base::Diagnostic>& error() const { return error_; }
  // The errors that were found before error(), in ops that could be passed over.
  const std::vector<base::Diagnostic>& errors() const { return errors_; }

  // ---- what is being built of an op
  struct Operand {
    Value* value;
    const char* at;
    uint8_t group;
  };
  struct ResultName {
    std::string_view name;
    uint32_t count;
    const char* at;
  };
  struct OpState {
    OpKind kind = OpKind::kUnknown;
    std::string_view name;
    const char* start = nullptr;
    uint32_t names = 0;       // result names, in names_ from names_base on
    uint32_t name_count = 0;  // how many values they name
    uint8_t form = 0;
    uint16_t num_properties = 0;
    bool token_result = false;
    size_t names_base, operands_base, attrs_base, types_base, regions_base, successors_base;
    const Skeleton* skeleton = nullptr;
  };
  struct BlockArg {
    std::string_view name;
    const char* at;
    const Type* type;
    const Location* loc;
  };

 private:
  friend struct Custom;

  // ---- text
  void ws() {
    if (!is_space(*p_) && *p_ != '/') return;
    const char* b = p_;
    for (;;) {
      char c = *p_;
      if (is_space(c)) {
        ++p_;
      } else if (c == '/' && p_[1] == '/') {
        while (*p_ != '\n' && p_ < end_) ++p_;
      } else {
        break;
      }
    }
    if (p_ != b) gap_ = b, gap_end_ = p_;
  }
  // Past the last token, when white space after it has been skipped already.
  const char* token_end() const { return p_ == gap_end_ ? gap_ : p_; }
  char peek() { return ws(), *p_; }
  bool eat(char c) {
    if (peek() != c) return false;
    ++p_;
    return true;
  }
  bool at(const char* p, std::string_view literal) const {
    return static_cast<size_t>(end_ - p) >= literal.size() &&
           std::memcmp(p, literal.data(), literal.size()) == 0;
  }
  bool next_is(std::string_view literal);  // not consumed
  bool eat(std::string_view literal);
  bool expect(std::string_view literal);
  bool failed() const { return error_.has_value(); }
  void fail(const char* where, std::string message, std::vector<std::string> notes = {});
  void expected(std::string_view what, std::vector<std::string> notes = {});  // ..., found 'x'
  std::string found() const;
  std::string_view word();       // [A-Za-z_][\w$.]*
  std::string_view suffix_id();  // after % @ ^ # !
  int64_t integer(bool* ok = nullptr);
  std::string_view string_text();             // a "..." token, unescaped
  const char* balanced(const char* p) const;  // past the bracket that closes the one at p; null if none does
  const char* type_end(const char* p) const;

  // item() for each of a list with commas, and what closes it.
  template <class Item>
  void list(std::string_view close, Item item) {
    if (!next_is(close)) do
        item();
      while (!failed() && eat(','));
    expect(close);
  }
  // The types of a list, or one that stands without parentheses.
  void type_list(std::vector<const Type*>& into) {
    if (eat('('))
      list(")", [&] { into.push_back(type()); });
    else
      into.push_back(type());
  }
  std::vector<uint64_t> integers() {  // [1, 2]
    std::vector<uint64_t> values;
    if (expect("[")) list("]", [&] { values.push_back(static_cast<uint64_t>(integer())); });
    return values;
  }

  // ---- types, attributes, locations (parse_types.cpp, parse_attrs.cpp)
  const Type* type();
  const Type* short_type(TypeKind kind);
  const Type* parse_type();
  const Type* parse_dialect_type();
  const Type* parse_shaped(TypeKind kind, std::string_view text);
  const Type* function_type();
  const Type* parse_pointer_body();
  const Type* parse_tensordesc_body(bool im2col = false);
  bool dimensions(std::vector<int64_t>& shape);
  const Attr* attr();
  const Attr* cached_attr();  // for `value : type` texts
  const Attr* parse_attr();
  const Attr* parse_number();
  const Attr* parse_string();
  const Attr* parse_symbol();
  const Attr* parse_array();
  const Attr* parse_word();
  const Attr* opaque(const char* from);
  const Attr* parse_dense();
  const Attr* parse_dense_array();
  struct DialectBody {  // what stands between the brackets of #dialect.name<...>
    std::vector<const Attr*> elements;
    std::vector<NamedAttr> braced, bare;
  };
  const Attr* parse_dialect_attr();
  void dialect_body(const char* end, DialectBody& body);
  const Attr* dialect_item(const char* end);
  bool dense_list(const Type* scalar, std::vector<uint64_t>& raw, std::vector<int64_t>& shape, size_t depth);
  uint64_t dense_element(const Type* scalar);
  std::span<const NamedAttr> dict();  // {...}
  void parse_entries(char close, std::vector<NamedAttr>& into);
  void add_dict();          // {...} as attributes of the op, where it stands
  void add_keyword_dict();  // attributes {...}
  const Attr* keyword(const EnumInfo& info);
  const Attr* fast_integer(unsigned width);
  const Location* location();        // loc(...)
  const Location* parse_location();  // what stands in its parentheses
  Location* loc_alias(std::string_view name, const char* at);
  const Attr* no_attr() { return m_.unit(); }
  const Type* no_type() { return m_.named_type(TypeKind::kNone, "none"); }
  std::string_view since(const char* from) const { return {from, static_cast<size_t>(p_ - from)}; }

  // ---- values
  struct Forward {
    uint32_t number;
    Value* placeholder;
    const char* at;
    Forward* next;
  };
  struct NameEntry {
    std::string_view name;
    Value* value = nullptr;  // the first of its group
    uint32_t isolation = 0;
    Forward* forwards = nullptr;
    const char* at = nullptr;
  };
  struct Undo {
    uint32_t entry;
    Value* value;
    uint32_t isolation;
    const char* at;
  };
  uint32_t name_id(std::string_view name);
  Value* use(const char** at = nullptr);  // %x or %x#1
  void define(std::string_view name, std::span<Value> values, const char* at);
  void check_type(const Operand& operand, const Type* type, const char* type_at);
  void read_type(const Operand& operand);                      // the type that is next is the operand's
  bool argument_name(BlockArg& arg, std::string_view wanted);  // %name; false: an error
  void push_operand(uint8_t group);
  void operand_list(uint8_t group);
  void report_undefined(size_t forward_base);

  // ---- ops
  Op* op();
  void generic(OpState& s);
  void drop(const OpState& s);  // what its parts left on the stacks
  void assign_groups(OpState& s);
  bool forms(OpState& s);
  void pieces(const Assembly& form, size_t begin, size_t end, OpState& s);
  void piece_types(const Piece& piece, OpState& s);
  void short_types(const Piece& piece, OpState& s);
  void any_of(const Assembly& form, size_t begin, size_t end, OpState& s);
  bool present(const Assembly& form, size_t at, OpState& s);
  void attribute(const Piece& piece);
  void operand_types(uint8_t group, OpState& s);
  void common_type(OpState& s);
  void result_types(uint8_t which, OpState& s);
  void recover(const OpState& s);
  void functional(uint64_t groups, OpState& s);
  void apply_rule(const Assembly& form, OpState& s);
  const Type* derived(const Type* type, ResultRule rule);
  Op* finish(OpState& s);
  void give_operands(const OpState& s, Op* made);
  void give_results(const OpState& s, Op* made);
  class UnknownOp;  // parse_unknown.cpp
  void unknown(OpState& s);
  std::vector<const Type*> guess_types(const char* begin, const char* end, size_t count);
  Region* region(std::span<const BlockArg> args, bool isolated = false);
  void region_body(Region* region, bool braces);
  void label(Region* region, Block*& block);
  Block* find_block(std::string_view name, const char* at);
  void report_missing_blocks();
  void block_args(std::vector<BlockArg>& into, char close);
  void add_block_args(Block* block, std::span<const BlockArg> args);
  void successor(uint8_t group);  // ^bb1(%a : i32)
  bool custom(std::string_view name, OpState& s);
  void add_attr(std::string_view name, const Attr* value) { attrs_.push_back({name, value}); }
  void top_level();
  void alias_definition();
  void resolve_locations();

  Module::Impl& m_;
  const char* begin_;
  const char* p_;
  const char* end_;
  const char* gap_ = nullptr;  // the white space skipped last
  const char* gap_end_ = nullptr;
  std::optional<base::Diagnostic> error_;
  const char* error_at_ = nullptr;
  std::vector<base::Diagnostic> errors_;
  static constexpr size_t kMaxErrors = 20;
  static constexpr std::string_view kAnyType = "!any";  // of results of ops with faults
  int depth_ = 0;
  std::string_view memdesc_name_ = "!ttg.memdesc";  // as this module's release calls it

  TextMap<const Type*> type_texts_{64};
  TextMap<const Attr*> attr_texts_{64};
  TextMap<std::span<const NamedAttr>> dict_texts_{64};
  TextMap<const Location*> loc_texts_{64};
  TextMap<const Attr*> attr_aliases_{16};
  TextMap<const Type*> type_aliases_{16};
  std::vector<Location*> numbered_locs_;
  std::vector<std::pair<Location*, const char*>> loc_uses_;  // each alias, where it came up first
  bool loc_forward_ = false;                                 // an alias was defined by one that was not yet
  struct Derived {
    const Type* from = nullptr;
    ResultRule rule{};
    const Type* to = nullptr;
  };
  Derived derived_[64];

  TextMap<uint32_t> name_ids_;
  std::vector<NameEntry> entries_;
  std::vector<const Value*> typed_by_use_;  // results of unknown ops that have their type from a use
  std::vector<Undo> undo_;
  std::vector<uint32_t> forwards_;  // entries that got a forward reference, in order
  uint32_t isolation_ = 0;

  struct BlockNames {
    TextMap<Block*> map{8};
    std::vector<std::pair<Block*, const char*>> undefined;
  };
  std::vector<std::unique_ptr<BlockNames>> block_names_;

  std::vector<Operand> operands_;
  std::vector<ResultName> names_;
  std::vector<NamedAttr> attrs_;
  std::vector<const Type*> types_;
  std::vector<Region*> regions_;
  std::vector<Block*> successors_;
  uint8_t preferred_[512] = {};  // the form in which an op of this kind was last written
};

// The hand-written syntaxes that `!name` in the assembly column stands for.
struct CustomSyntax {
  std::string_view name;
  void (*parse)(Parser& p, Parser::OpState& s);
  void (*print)(class Printer& printer, const Op& op);
};
const CustomSyntax* find_custom(std::string_view name);

}  // namespace triton_runner::ir
