// Expands ops.def into tables, and finds the row of a name by a hash.
#include <triton_runner/base/text_map.h>
#include <triton_runner/ir/op_table.h>

#include <deque>

namespace triton_runner::ir {
using base::TextMap;

#define SHAPE(f) std::string shape_##f(const Op&);
#define OP(kind, name, operands, exec, ...) exec
#include <triton_runner/ir/ops.def>
#undef OP

namespace {

// Gives the same as locate().
namespace column {
#define EFFECT(word, Enumerator, meaning) constexpr Effects word = Effect::k##Enumerator;
#include <triton_runner/ir/effects.def>
#define V(major, minor) release(major, minor)
#define NOW kNow
#define FORK kFork

constexpr OpInfo kTable[] = {
#define SHAPE(f) &shape_##f
#define OP(kind, name, operands, exec, effects, since, until, assembly, tested) \
  {OpKind::k##kind, #kind, name,  operands, #exec,  effects,                    \
   #effects,        since, until, assembly, tested, ShapeFn{exec}},
#include <triton_runner/ir/ops.def>
#undef OP
};
constexpr bool all_have_effects() {
  for (const OpInfo& row : kTable)
    if (row.effects.empty()) return false;
  return true;
}
static_assert(all_have_effects(), "a row of ops.def does not say what its op does");
}  // namespace column
using column::kTable;

constexpr EffectInfo kEffects[] = {
#define EFFECT(word, Enumerator, meaning) {#word, meaning},
#include <triton_runner/ir/effects.def>
};

constexpr OldName kOldNames[] = {
#define OP(...)
#define OLD_NAME(kind, name, since, until, tested) {OpKind::k##kind, name, since, until, tested},
#include <triton_runner/ir/ops.def>
#undef OP
};

struct Variant {
  OpKind kind;
  std::string_view attribute;
  OpKind other;
};
constexpr Variant kVariants[] = {
#define OP(...)
#define VARIANT(kind, attribute, other) {OpKind::k##kind, attribute, OpKind::k##other},
#include <triton_runner/ir/ops.def>
#undef OP
};

struct OldDialect {
  std::string_view old_prefix, prefix;
  int until;
};
constexpr OldDialect kOldDialects[] = {
#define OP(...)
#define OLD_DIALECT(old_prefix, prefix, until) {old_prefix, prefix, until},
#include <triton_runner/ir/ops.def>
#undef OP
};

// Filled once, on the first lookup; read-only afterwards.
const TextMap<OpKind>& names() {
  static const TextMap<OpKind> map = [] {
    TextMap<OpKind> m;
    static std::deque<std::string> old_names;  // the texts must outlive the map
    for (const OpInfo& row : kTable) {
      m.insert(row.name, row.kind);
      for (const OldDialect& dialect : kOldDialects)
        if (row.name.starts_with(dialect.prefix))
          m.insert(old_names.emplace_back(std::string(dialect.old_prefix) +
                                          std::string(row.name.substr(dialect.prefix.size()))),
                   row.kind);
    }
    for (const OldName& old : kOldNames) m.insert(old.name, old.kind);
    m.insert("builtin.module", OpKind::kModule);
    return m;
  }();
  return map;
}

}  // namespace

std::span<const OpInfo> op_table() { return kTable; }
std::span<const EffectInfo> effect_table() { return kEffects; }
Effects Op::effects() const { return kind == OpKind::kUnknown ? Effects() : op_info(kind).effects; }
std::span<const OldName> old_names() { return kOldNames; }
const OpInfo& op_info(OpKind kind) { return kTable[static_cast<size_t>(kind) - 1]; }
std::string_view op_kind_name(OpKind kind) { return kind == OpKind::kUnknown ? "Unknown" : op_info(kind).id; }

OpKind find_op(std::string_view name) {
  const OpKind* kind = names().find(name);
  return kind ? *kind : OpKind::kUnknown;
}

OpKind variant_of(const Op& op) {
  for (const Variant& v : kVariants)
    if (v.kind == op.kind && op.int_attr(v.attribute, 0) != 0) return v.other;
  return op.kind;
}

}  // namespace triton_runner::ir
