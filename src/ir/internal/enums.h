// Makes C++ enumerations of enums.def, the values of attributes that ops spell by keyword:
// op.enum_attr<RMWOp>("atomic_rmw_op"). is_known() says whether a number is one of them.
#pragma once
#include <cstdint>

namespace triton_runner::ir {

#define ENUM(Name, bits, style, values) enum class Name : int64_t { values };
#define VALUE(keyword, Enumerator, number) k##Enumerator = number,
#include <triton_runner/ir/enums.def>

#define ENUM(Name, bits, style, values)    \
  constexpr bool is_known(Name value) {    \
    using enum Name;                       \
    switch (value) { values return true; } \
    return false;                          \
  }
#define VALUE(keyword, Enumerator, number) case k##Enumerator:
#include <triton_runner/ir/enums.def>

}  // namespace triton_runner::ir
