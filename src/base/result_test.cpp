// Tests Result<T>, TRY and failure(): which of the two a Result holds, and how a function hands an error on.
#include <triton_runner/base/result.h>

#include <memory>
#include <string>

#include <triton_runner/base/try.h>

#include "test.h"

namespace triton_runner::base {
namespace {

Result<int> half(int value) {
  if (value % 2) return failure(std::to_string(value) + " is odd", {"halve an even number"});
  return value / 2;
}

Result<int> quarter(int value) {
  const int once = TRY(half(value));
  return TRY(half(once));
}

Status check(bool holds) {
  if (!holds) return failure("it does not hold");
  return success();
}

Result<std::unique_ptr<int>> owned(int value) { return std::make_unique<int>(value); }

}  // namespace

TEST(result_holds_a_value_or_an_error) {
  const Result<int> even = half(6), odd = half(5);
  CHECK(even.ok() && even && *even == 3);
  CHECK(!odd.ok() && !odd);
  CHECK(odd.error().message == "5 is odd");
  CHECK(odd.error().severity == Severity::kError);
  CHECK(odd.error().notes.size() == 1 && odd.error().notes[0] == "halve an even number");
}

TEST(result_try_takes_the_value_or_returns_the_first_error) {
  CHECK(*quarter(12) == 3);
  CHECK(quarter(6).error().message == "3 is odd");
  CHECK(quarter(7).error().message == "7 is odd");
}

TEST(result_status_has_no_value) {
  CHECK(check(true).ok());
  CHECK(check(false).error().message == "it does not hold");
}

TEST(result_gives_what_can_only_be_moved) {
  Result<std::unique_ptr<int>> held = owned(4);
  CHECK(**held == 4);
  const std::unique_ptr<int> taken = std::move(held).value();
  CHECK(*taken == 4);
}

}  // namespace triton_runner::base
