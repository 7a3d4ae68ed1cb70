// Gives the rows of ops.def as data: for `triton-runner ops`, and to find an op by its name for the parser.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include <triton_runner/ir/graph.h>
#include <triton_runner/ir/releases.h>

namespace triton_runner::ir {

// Why the shapes and element types of an op's operands and results cannot belong together; empty where they can.
using ShapeFn = std::string (*)(const Op&);

// A row of ops.def.
struct OpInfo {
  OpKind kind;
  std::string_view id;        // "AddPtr"
  std::string_view name;      // "tt.addptr"
  std::string_view operands;  // "ptr, mask?, other?"
  std::string_view exec;      // "ELEMENTWISE(addi)", "LOWER(load) SHAPE(load)", "STRUCTURE", "UNSUPPORTED"
  Effects effects;
  std::string_view effects_text;  // "elementwise | lazy"
  Release since, until;           // by this name; until kNow: still there
  std::string_view assembly;      // its text after the name; see src/ir/assembly.h
  std::string_view tested;        // the golden case that runs it: "op/tt.addptr"; empty if nothing runs it
  ShapeFn shape;                  // null: what its effects say is all
};

// A name that older releases gave to an op.
struct OldName {
  OpKind kind;
  std::string_view name;  // "tt.experimental_descriptor_load"
  Release since, until;
  std::string_view tested;
};

// The words of effects.def.
struct EffectInfo {
  std::string_view word, meaning;
};
std::span<const EffectInfo> effect_table();

std::span<const OpInfo> op_table();     // in the order of ops.def: op_table()[k - 1] is kind k
std::span<const OldName> old_names();   // rows of OLD_NAME
const OpInfo& op_info(OpKind kind);     // of a known kind
OpKind find_op(std::string_view name);  // old names included; kUnknown if there is none
OpKind variant_of(const Op& op);        // its own kind, or the one that an attribute makes of it (VARIANT)
std::string_view op_kind_name(OpKind kind);  // "AddPtr"; "Unknown"

}  // namespace triton_runner::ir
