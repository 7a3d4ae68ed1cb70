// Declares Result<T>: a value, or the Diagnostic that says why there is none. TRY (src/base/internal/try.h)
// returns the Diagnostic from a function of src, or takes the value.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <triton_runner/base/diagnostic.h>

namespace triton_runner::base {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diagnostic error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return assert(ok()), std::get<0>(state_); }
  const T& value() const& { return assert(ok()), std::get<0>(state_); }
  T&& value() && { return assert(ok()), std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Diagnostic& error() const { return assert(!ok()), std::get<1>(state_); }

 private:
  std::variant<T, Diagnostic> state_;
};

// Nothing is the value of a Status: the result of a function that has none to give, but may fail.
struct Nothing {};
using Status = Result<Nothing>;
// Returns the Status of a function that did not fail.
inline Status success() { return Nothing{}; }
// Makes an error that has no place in a text.
inline Diagnostic failure(std::string message, std::vector<std::string> notes = {}) {
  return Diagnostic{Severity::kError, {}, std::move(message), std::move(notes), {}};
}

}  // namespace triton_runner::base
