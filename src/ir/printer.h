// Declares the printer of ops: from the graph alone, or with the source's own text wherever nothing was
// edited (print_kept.cpp).
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "assembly.h"
#include "impl.h"

namespace triton_runner::ir {

class Printer {
 public:
  // With `keep_text`, ops that were not edited are printed as they were written.
  Printer(const Module::Impl& module, bool keep_text) : m_(module), keep_text_(keep_text), writer_(out) {}

  std::string whole();  // the module with its alias tables
  void op(const Op& op);
  // The hand-written syntaxes build from these. put(): texts, values and types, one after the other.
  template <class... Parts>
  void put(const Parts&... parts) {
    (part(parts), ...);
  }
  void text(std::string_view s) { out += s; }
  void value(const Value* value, bool with_number = true);
  void values(std::span<const Use> uses);
  void types(std::span<const Use> uses);
  void function_results(std::span<const Value> results, bool always_parens = false);
  void signature(const Op& op);                  // (types of operands) -> types of results
  void block_args(std::span<const Value> args);  // (%a: i32, ...)
  void type(const Type* type) { writer_.type(type); }
  // Null where an edit took away what the op's syntax needs: the op is printed in the generic form then.
  void attr(const Attr* attr) { attr ? writer_.attr(attr) : void(incomplete_ = true); }
  void location(const Location* loc);  // " loc(...)", nothing where there is none
  void symbol(std::string_view name);
  void dict(std::span<const NamedAttr> entries, std::initializer_list<std::string_view> without,
            bool keyword = false);
  void block_name(const Block* block);
  // { ... }; an implied terminator without operands is left out where `implied`.
  void region(const Region* region, bool entry_args = true, bool implied = false);
  void new_line();
  TextWriter& writer() { return writer_; }
  std::string out;

 private:
  void part(std::string_view s) { text(s); }
  void part(const Value* v) { value(v); }
  void part(const Type* t) { type(t); }
  void results(const Op& op);
  void generic(const Op& op);
  void result_types(std::span<const Value> results);
  void pieces(const Assembly& form, size_t begin, size_t end, const Op& op);
  void piece_types(const Assembly& form, const Piece& piece, const Op& op);
  void functional(const Piece& piece, const Op& op);
  void other_attributes(const Assembly& form, const Op& op, bool keyword);
  void any_of(const Assembly& form, size_t begin, size_t end, const Op& op);
  bool present(const Assembly& form, size_t begin, size_t end, const Op& op) const;
  void literal(std::string_view text);
  void space();
  static bool is_default(const Piece& piece, const Op& op);
  void attribute(const Piece& piece, const Attr* attr);
  void aliases(bool after);
  void label(const Block* block, bool entry);
  void label_head(const Block* block);
  void kept(const Op& op);
  void kept_region(const Region* region, bool entry_args = false);
  void kept_op(const Op& op);
  void source(const char* from, const char* to);
  std::string_view name_of(const Value* value);

  const Module::Impl& m_;
  bool keep_text_;
  TextWriter writer_;
  int indent_ = 0;
  bool incomplete_ = false;
  bool space_ = true, punctuation_ = false;  // MLIR's rules for spaces in declarative formats
  std::unordered_map<const Value*, std::string> made_names_;
  std::unordered_set<std::string_view> used_names_;
};

}  // namespace triton_runner::ir
