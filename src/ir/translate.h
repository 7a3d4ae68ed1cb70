// Declares the state of a translation, which its parts share: the types and attributes for the release that
// will read the module, and notes on the changes. What others call is internal/translate.h.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include <triton_runner/ir/op_table.h>
#include <triton_runner/ir/translate.h>

#include "impl.h"

namespace triton_runner::ir {

// Rows of OLD_DIALECT.
struct DialectPrefix {
  std::string_view old_prefix, prefix;
  int until;
};
#define V(major, minor) release(major, minor)
inline constexpr DialectPrefix kDialectPrefixes[] = {
#define OP(...)
#define OLD_DIALECT(old_prefix, prefix, until) {old_prefix, prefix, until},
#include <triton_runner/ir/ops.def>
#undef OP
};
#undef V

inline constexpr int kColumnStrides = release(3, 6);  // of tensor memory; earlier only unpacked or not

class Translator {
 public:
  Translator(Module& module, Release to) : module_(module), m_(module.impl()), to_(to), release_(left(to)) {}
  base::Result<Translation> run();

 private:
  // translate_types.cpp: every type and attribute has one counterpart, wherever it is used.
  const Type* type(const Type* type);
  const Type* changed(const Type* type);
  const Attr* attr(const Attr* attr);
  const Attr* changed(const Attr* attr);
  const Attr* shared_encoding(const Attr* old);
  const Attr* memory_space(const Attr* old);
  const Attr* tensor_memory(const Attr* encoding, const Type* element);
  const Type* dot_operand(const Type* tensor);
  std::string_view renamed(std::string_view name);  // with the dialect's prefix of the release

  // translate_ops.cpp: ops with another name, in another form, or expressed by another op in the release.
  void replace(Op* op);
  void view(Op* op);
  void barriers_of(Value* array);
  void barrier_predicates(Op* product);
  void descriptor_parameter(Op* function, uint32_t index);
  void broadcast(Op* op);
  void name_and_form(Op* op);
  void pass_on_types(Op* loop);

  void each_op(const std::function<void(Op*)>& f);
  void note(std::string from, std::string to);
  void fail(const Op* op, std::string message, std::vector<std::string> notes = {});
  const Attr* with(const Attr* dictionary, std::string_view without);

  Module& module_;
  Module::Impl& m_;
  const Release to_;       // a release or a distribution
  const Release release_;  // the release, or that which the distribution left
  int predicates_ = 0;     // the number created so far
  std::unordered_map<const Type*, const Type*> types_;
  std::unordered_map<const Attr*, const Attr*> attrs_;
  std::vector<std::string> changes_;
  std::vector<base::Diagnostic> errors_;
};

}  // namespace triton_runner::ir
