// The arguments of a call, each read once: the bits that a launch passes, and the properties that are part of the
// key under which the launch is cached (launch/key.h).
#pragma once
#include <array>
#include <cstdint>

#include <triton_runner/launch/key.h>

#include "bindings.h"

namespace triton_runner::python {

enum class Mark : uint8_t {
  kMissing,
  kNone,
  kInteger,  // or a bool; bits: two's complement
  kLarge,    // 2^63 and above
  kReal,     // bits of a double
  kHere,     // a tensor on the current GPU; bits: its address
  kAddress,  // any other pointer
  kOther     // a tuple, a tensor descriptor, a constant
};

// A value that was read. `type` is 1 for a bool. For a pointer it is the element type and, if that is part of the
// key, whether the storage is within 2 GiB.
struct Value {
  static constexpr uint64_t kSmall = uint64_t{1} << 62;
  uint64_t type, bits;
  Mark mark;

  uint64_t element() const { return type & ~kSmall; }
  bool is_small() const { return (type & kSmall) != 0; }

  // True if both have the same part of the key under every rule. False if that is not certain.
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
  int device = -1;  // the current GPU
  // Triton's function that tests whether a storage is within 2 GiB; invalid: it is not part of the key.
  nb::object within;
  bool is_entry = false;
  std::array<PyObject*, 4> texts;  // whose addresses are part of the key
  size_t n_texts = 0;
};

// Reads the value of a parameter that is not a constexpr. It is kOther if only the key needs it.
// within: Given::within, or null.
void read_value(PyObject* object, int device, PyObject* within, Value& out);
// Appends a value's part of the key. Returns false if only Python can determine it.
bool add_value(const launch::KeyRule& rule, PyObject* object, const Value& value, const Given& given,
               launch::Key& key);
// Appends a constant: its type and value.
bool add_constant(PyObject* object, launch::Key& key);
// Appends the path or the text of an artifact; of a long text only the object's address.
bool add_text(PyObject* object, Given& given, launch::Key& key);

}  // namespace triton_runner::python
