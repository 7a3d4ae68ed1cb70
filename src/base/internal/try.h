// TRY(result) is the value of a Result. If the Result has none, the function that says TRY returns its
// Diagnostic.
#pragma once
#include <utility>

#include <triton_runner/base/result.h>

#define TRY(...)                      \
  __extension__({                     \
    auto tried = (__VA_ARGS__);       \
    if (!tried) return tried.error(); \
    std::move(tried).value();         \
  })
