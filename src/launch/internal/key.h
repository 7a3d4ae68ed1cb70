// Key makes the key of a launch: bytes that are equal for two calls of a kernel exactly where Triton would
// run the same compiled code for both. python/bindings reads the values; which of their properties count is
// decided here, as triton.runtime.jit decides it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace triton_runner::launch {

// How a parameter of the Python function is specialised.
struct KeyRule {
  bool is_constexpr = false;
  bool by_value = true;   // divisibility and equality to 1 count (not: do_not_specialize)
  bool by_align = true;   // divisibility counts (not: do_not_specialize_on_alignment)
  bool is_typed = false;  // an annotation says the type
  bool is_real = false;   // the annotation says a float or a bool: nothing of the value counts
  // Triton 3.0 to 3.2 specialise a bool as a number, and a type apart from a value. 2: of 3.2, to which True is
  // not 1, and None is divisible.
  int old = 0;

  // Returns whether the storage of a tensor may count: on AMD's GPUs (Key::pointer).
  bool by_storage() const { return by_value && !is_real; }
};

// Returns whether two integers count alike, whatever the rule.
inline bool are_alike(int64_t a, int64_t b) {
  return (a == 1) == (b == 1) && (a % 16 == 0) == (b % 16 == 0) &&
         (a == static_cast<int32_t>(a)) == (b == static_cast<int32_t>(b));
}

class Key {
 public:
  std::string_view view() const { return {bytes_, size_}; }
  bool fits() const { return size_ <= kMaxBytes; }  // else the key is of no use
  void clear() { size_ = 0; }

  void tag(char c) { put(&c, 1); }
  void word(uint64_t value) { put(&value, sizeof value); }
  void bytes(std::string_view value) { put(value.data(), value.size()); }  // of another key
  void text(std::string_view value) {
    word(value.size());
    bytes(value);
  }

  // Values of parameters that are no constexprs. Integers beyond 64 bits have no key.
  void none(const KeyRule& rule) {
    if (rule.old == 2 && rule.is_typed) return divisible(rule, 0);
    unspecialised(rule, 'N');
  }
  void real(const KeyRule& rule) { unspecialised(rule, 'f'); }
  void boolean(const KeyRule& rule, bool value) {
    if (rule.old == 0) return unspecialised(rule, 'b');
    if (!rule.is_typed) tag('b');
    if (rule.by_value && value && rule.old == 1) return tag('1');
    divisible(rule, value);
  }
  void integer(const KeyRule& rule, int64_t value) {
    if (rule.is_real) return tag('-');
    if (rule.by_value && value == 1) return tag('1');
    if (!rule.is_typed) tag(value == static_cast<int32_t>(value) ? 'i' : 'l');
    divisible(rule, static_cast<uint64_t>(value));
  }
  void large_integer(const KeyRule& rule, uint64_t value) {  // from 2^63 on
    if (rule.is_real) return tag('-');
    if (!rule.is_typed) tag('u');
    divisible(rule, value);
  }
  // is_small: the storage behind it is within 2 GiB, for which Triton's AMD backend compiles 32-bit offsets.
  void pointer(const KeyRule& rule, uint64_t type, uint64_t address, bool is_small = false) {
    if (rule.is_real) return tag('-');
    if (!rule.is_typed) tag('p'), word(type);
    divisible(rule, address, is_small);
  }

 private:
  static constexpr size_t kMaxBytes = 1024;

  // Adds a value that has a type and no more.
  void unspecialised(const KeyRule& rule, char type) {
    tag(!rule.is_typed ? type : rule.old && rule.by_value ? '.' : '-');
  }
  void divisible(const KeyRule& rule, uint64_t value, bool is_small = false) {
    if (!rule.by_value) return tag('-');
    const bool is_divisible = rule.by_align && value % 16 == 0;
    tag(is_small ? (is_divisible ? 'E' : ';') : is_divisible ? 'D' : '.');
  }
  void put(const void* data, size_t bytes) {
    if (size_ + bytes > kMaxBytes) {
      size_ = kMaxBytes + 1;
      return;
    }
    std::memcpy(bytes_ + size_, data, bytes);
    size_ += bytes;
  }

  size_t size_ = 0;
  char bytes_[kMaxBytes];
};

}  // namespace triton_runner::launch
