// Declares Result<T>: a value, or the Diagnostic that says why there is none.
#pragma once
#include <cassert>
#include <utility>
#include <variant>

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

struct Nothing {};
using Status = Result<Nothing>;
inline Status success() { return Nothing{}; }
// An error without a place in a text.
inline Diagnostic failure(std::string message, std::vector<std::string> notes = {}) {
  return Diagnostic{Severity::kError, {}, std::move(message), std::move(notes), {}};
}

}  // namespace triton_runner::base
