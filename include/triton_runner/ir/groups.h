// Declares operand groups by the names that ops.def gives them: op.group("barrier"). A name that no row has
// does not compile.
#pragma once
#include <string_view>

namespace triton_runner::ir {

namespace detail {
inline constexpr std::string_view kOperandColumns[] = {
#define OP(kind, name, operands, ...) operands,
#include <triton_runner/ir/ops.def>
#undef OP
};
// Whether "ptr, mask?, other?" has a group of that name.
constexpr bool names_group(std::string_view column, std::string_view name) {
  for (size_t at = column.find(name); at != std::string_view::npos; at = column.find(name, at + 1)) {
    const bool begins = at == 0 || column[at - 1] == ' ';
    const size_t end = at + name.size();
    if (begins && (end == column.size() || column[end] == ',' || column[end] == '?' || column[end] == '*'))
      return true;
  }
  return false;
}
}  // namespace detail

struct GroupName {
  std::string_view text;
  consteval GroupName(const char* name) : text(name) {
    bool known = false;
    for (std::string_view column : detail::kOperandColumns)
      known = known || detail::names_group(column, text);
    if (!known) throw "no row of ops.def has an operand group of this name";
  }
};

}  // namespace triton_runner::ir
