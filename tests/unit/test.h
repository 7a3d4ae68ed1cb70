// Has the unit tests' whole framework: TEST registers a function, CHECK and CHECK_EQ record what does not
// hold and go on.
//
//   #include "test.h"
//   TEST(locate_counts_lines) { CHECK_EQ(locate("a\nb", 2, "f").line, 2); }
#pragma once
#include <sstream>
#include <string>

namespace triton_runner::unit {

struct Registration {
  Registration(const char* name, void (*body)());
};
void record_failure(const char* file, int line, const std::string& what);

template <class T>
std::string shown(const T& value) {
  if constexpr (requires(std::ostream& out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "(a value without operator<<)";
  }
}

}  // namespace triton_runner::unit

#define TEST(name)                                                                      \
  static void test_##name();                                                            \
  static const ::triton_runner::unit::Registration register_##name(#name, test_##name); \
  static void test_##name()

#define CHECK(condition) \
  ((condition) ? void() : ::triton_runner::unit::record_failure(__FILE__, __LINE__, #condition))

// Both values are copied: a reference such as *f() gives may lie in a temporary that is gone by the
// comparison.
#define CHECK_EQ(actual, expected)                                                                     \
  do {                                                                                                 \
    const auto actual_value = (actual);                                                                \
    const auto expected_value = (expected);                                                            \
    if (!(actual_value == expected_value))                                                             \
      ::triton_runner::unit::record_failure(__FILE__, __LINE__,                                        \
                                            std::string(#actual " == " #expected ": ") +               \
                                                ::triton_runner::unit::shown(actual_value) + " and " + \
                                                ::triton_runner::unit::shown(expected_value));         \
  } while (false)
