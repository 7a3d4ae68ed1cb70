// Tests keys of launches: which properties of a value count for which parameter.
#include <triton_runner/launch/key.h>

#include <string>

#include "test.h"

using triton_runner::launch::Key;
using triton_runner::launch::KeyRule;

namespace {

template <class F>
std::string key(F add) {
  Key k;
  add(k);
  return std::string(k.view());
}
std::string of(const KeyRule& rule, int64_t value) {
  return key([&](Key& k) { k.integer(rule, value); });
}
std::string at(const KeyRule& rule, uint64_t type, uint64_t address) {
  return key([&](Key& k) { k.pointer(rule, type, address); });
}

}  // namespace

TEST(integers_by_width_divisibility_and_one) {
  const KeyRule rule;
  CHECK_EQ(of(rule, 17), of(rule, 3));
  CHECK_EQ(of(rule, 0), of(rule, -16));
  CHECK(of(rule, 16) != of(rule, 17));
  CHECK(of(rule, 1) != of(rule, 3));
  CHECK(of(rule, int64_t{1} << 31) != of(rule, 16));
  CHECK_EQ(of(rule, -(int64_t{1} << 31)), of(rule, 16));
  CHECK(key([&](Key& k) { k.large_integer(rule, uint64_t{1} << 63); }) != of(rule, int64_t{1} << 62));
}

TEST(parameters_that_are_not_specialised) {
  KeyRule by_type;
  by_type.by_value = false;
  CHECK_EQ(of(by_type, 1), of(by_type, 16));
  CHECK_EQ(at(by_type, 7, 16), at(by_type, 7, 8));
  CHECK(at(by_type, 7, 16) != at(by_type, 8, 16));
  KeyRule unaligned;
  unaligned.by_align = false;
  CHECK_EQ(of(unaligned, 3), of(unaligned, 16));
  CHECK(of(unaligned, 1) != of(unaligned, 16));
}

TEST(storages_within_2_gib) {
  const auto of_storage = [](const KeyRule& rule, bool is_small) {
    return key([&](Key& k) { k.pointer(rule, 7, 16, is_small); });
  };
  KeyRule rule;
  CHECK_EQ(of_storage(rule, false), at(rule, 7, 16));
  CHECK(of_storage(rule, true) != of_storage(rule, false) && rule.by_storage());
  rule.by_align = false;
  CHECK(of_storage(rule, true) != of_storage(rule, false));
  rule.is_typed = true;
  CHECK(of_storage(rule, true) != of_storage(rule, false));
  CHECK_EQ(of_storage(rule, false), of(rule, 3));
  rule.by_value = false;
  CHECK(of_storage(rule, true) == of_storage(rule, false) && !rule.by_storage());
  rule.by_value = rule.is_real = true;
  CHECK(of_storage(rule, true) == of_storage(rule, false) && !rule.by_storage());
}

TEST(annotated_parameters) {
  KeyRule typed;
  typed.is_typed = true;
  CHECK_EQ(of(typed, int64_t{1} << 40), of(typed, 16));
  CHECK_EQ(at(typed, 7, 16), at(typed, 8, 32));
  CHECK(of(typed, 1) != of(typed, 2));
  typed.is_real = true;
  CHECK_EQ(of(typed, 1), of(typed, 2));
  CHECK_EQ(of(typed, 1), key([&](Key& k) { k.real(typed); }));
}

TEST(what_is_too_long_is_no_key) {
  Key k;
  k.text(std::string(500, 'x'));
  CHECK(k.fits());
  k.text(std::string(600, 'x'));
  CHECK(!k.fits());
  k.tag('x');
  CHECK(!k.fits());
  k.clear();
  CHECK(k.fits());
}

TEST(bools_and_none_before_3_3) {
  const auto boolean = [](const KeyRule& rule, bool value) {
    return key([&](Key& k) { k.boolean(rule, value); });
  };
  KeyRule rule;
  CHECK_EQ(boolean(rule, true), boolean(rule, false));
  for (int old : {1, 2}) {
    rule.old = old;
    rule.is_typed = false;
    CHECK(boolean(rule, true) != boolean(rule, false));
    CHECK(boolean(rule, true) != of(rule, 1));
    rule.is_typed = true;
    CHECK_EQ(boolean(rule, false), of(rule, 16));
    CHECK_EQ(boolean(rule, true), of(rule, old == 1 ? 1 : 3));
    CHECK_EQ(key([&](Key& k) { k.none(rule); }), of(rule, old == 1 ? 3 : 16));
    CHECK_EQ(key([&](Key& k) { k.real(rule); }), of(rule, 3));
  }
}
