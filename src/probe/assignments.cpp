// Implements assignments.h: walks each block of a module, and keeps the last value that a statement has under
// a variable's name.
#include "assignments.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <triton_runner/ir/op_table.h>
#include <triton_runner/probe/select.h>

#include "in_flight.h"
#include "names.h"

namespace triton_runner::probe {
namespace {

using Type = std::pair<num::Type, std::vector<int64_t>>;
// For each variable the types that statements give it.
using Types = std::map<std::string, std::set<Type>>;

bool is_buffer(const ir::Value& value) { return value.type->kind == ir::TypeKind::kMemDesc; }

const ir::Block* block_of(const ir::Value& value) {
  return value.defining_op ? value.defining_op->block : value.block;
}

// A wait for the tensor cores gives this value: until then the variable is being computed.
bool is_completed(const ir::Value& value) {
  return value.defining_op && value.defining_op->effects().all(ir::Effect::kTensorCore | ir::Effect::kWaits);
}

// Stages of a pipelined buffer come first.
bool ends_with(const std::vector<int64_t>& shape, const std::vector<int64_t>& end) {
  return shape.size() >= end.size() && std::equal(end.rbegin(), end.rend(), shape.rbegin());
}

bool fits(const Types& types, const Site& site, bool buffer) {
  if (types.empty()) return true;
  const auto of = types.find(site.variable);
  if (of == types.end()) return false;
  if (!buffer) return of->second.contains({site.type, site.shape});
  for (const auto& [type, shape] : of->second)
    if (type == site.type && ends_with(site.shape, shape)) return true;
  return false;
}

std::vector<Assignment> collected(const ir::Module& module, const ir::Op& func, const Types& types) {
  const Names names(module, func);
  std::vector<Assignment> all;
  // Keys are a block, a variable, a line and whether it is a buffer.
  std::map<std::tuple<const ir::Block*, std::string, int, bool>, size_t> last;
  for_each_value(module, func, [&](const ir::Op&, const ir::Value& value) {
    if (!can_record(value) || is_combined(value)) return;
    Assignment a{site_with_variable(value), &value, statement_line(value), is_buffer(value),
                 in_flight(value)};
    if (a.site.variable.empty() || !fits(types, a.site, a.is_buffer)) return;
    a.site.value = names.of(value);
    last[{block_of(value), a.site.variable, value.defining_op ? a.line : -1, a.is_buffer}] = all.size();
    all.push_back(std::move(a));
  });
  std::vector<Assignment> out;
  for (size_t i = 0; i < all.size(); ++i) {
    const Assignment& a = all[i];
    const int line = a.value->defining_op ? a.line : -1;
    const bool is_last = last.at({block_of(*a.value), a.site.variable, line, a.is_buffer}) == i;
    // If the statement gives a tensor in registers, its buffers are on the way to it.
    const bool on_the_way = a.is_buffer && last.contains({block_of(*a.value), a.site.variable, line, false});
    if ((is_last || is_completed(*a.value)) && !on_the_way) out.push_back(a);
  }
  return out;
}

}  // namespace

Site site_with_variable(const ir::Value& value) {
  Site site = site_of(value, "", "");
  const bool constant =
      value.defining_op && value.defining_op->num_operands() == 0 && value.defining_op->attr("value");
  if (site.variable.empty() && !constant && !is_made_for_loop(value)) site.variable = printed_name(value);
  return site;
}

int statement_line(const ir::Value& value) {
  const Site site = site_of(value, "", "");
  int line = site.line;
  if (site.variable.empty()) for_each_line(location_of(value), [&](const ir::Location& l) { line = l.line; });
  return line;
}

std::vector<Assignment> assignments_of(const ir::Module& module, const ir::Op& func,
                                       const ir::Module* above) {
  Types types;
  const ir::Op* same = above ? above->find_function(func.attr("sym_name")->string) : nullptr;
  if (same)
    for (const Assignment& a : collected(*above, *same, {}))
      types[a.site.variable].insert({a.site.type, a.site.shape});
  return collected(module, func, types);
}

}  // namespace triton_runner::probe
