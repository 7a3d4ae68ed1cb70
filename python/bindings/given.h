// What a call gives a kernel, read once: each value as the bits that a launch passes, and as what of it
// counts for the key by which known launches are found (launch/key.h).
#pragma once
#include <array>
#include <cstdint>

#include <triton_runner/launch/key.h>

#include "bindings.h"

namespace triton_runner::python {

enum class Mark : uint8_t {
  kMissing,
  kNone,
  kInteger,  // a bool too; bits: two's complement
  kLarge,    // from 2^63 on
  kReal,     // bits of a double
  kHere,     // a tensor on the GPU that launches go to; bits: its address
  kAddress,  // any other object that is a pointer
  kOther     // a tuple, a tensor descriptor, a constant
};

// A value as it was read: `type` is of a bool 1, of a pointer its element type and, where that counts, whether
// its storage is within 2 GiB.
struct Value {
  static constexpr uint64_t kSmall = uint64_t{1} << 62;
  uint64_t type, bits;
  Mark mark;

  uint64_t element() const { return type & ~kSmall; }
  bool is_small() const { return (type & kSmall) != 0; }

  // Whether the two count alike for keys, whatever the rule. False says nothing.
  bool is_like(const Value& other) const {
    if (mark != other.mark || type != other.type) return false;
    switch (mark) {
      case Mark::kInteger:
        return launch::are_alike(static_cast<int64_t>(bits), static_cast<int64_t>(other.bits));
      case Mark::kHere:
      case Mark::kAddress:
        return (bits % 16 == 0) == (other.bits % 16 == 0);
      case Mark::kNone:
      case Mark::kReal:
        return true;
      default:
        return false;
    }
  }
};

struct Given {
  static constexpr size_t kMax = 256;
  std::array<PyObject*, kMax> values;  // borrowed, by parameter; null where kMissing
  std::array<Value, kMax> read;
  size_t size = 0;
  int device = -1;  // the GPU that launches go to
  nb::object
      within;  // Triton's own question whether a tensor's storage is within 2 GiB; invalid: it does not count
  bool is_entry = false;
  std::array<PyObject*, 4> texts;  // whose identity is part of the key
  size_t n_texts = 0;
};

// The value of a parameter that is no constexpr; kOther where the key is all that there is to it.
// within: Given::within, or null.
void read_value(PyObject* object, int device, PyObject* within, Value& out);
// Its part of a key: false where only Python can say what it is.
bool add_value(const launch::KeyRule& rule, PyObject* object, const Value& value, const Given& given,
               launch::Key& key);
// A constant, told apart by type and value.
bool add_constant(PyObject* object, launch::Key& key);
// The path or the text of an artifact: a long text counts as the object that it is.
bool add_text(PyObject* object, Given& given, launch::Key& key);

}  // namespace triton_runner::python
