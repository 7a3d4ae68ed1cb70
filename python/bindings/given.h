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

struct Given {
  static constexpr size_t kMax = 256;
  std::array<PyObject*, kMax> values;  // borrowed, by parameter; null where kMissing
  std::array<uint64_t, kMax> bits;
  std::array<Mark, kMax> marks;
  size_t size = 0;
  int device = -1;  // the GPU that launches go to
  bool is_entry = false;
  std::array<PyObject*, 4> texts;  // whose identity is part of the key
  size_t n_texts = 0;

  void set(size_t i, Mark mark, uint64_t value) { marks[i] = mark, bits[i] = value; }
};

// The value of parameter i that is no constexpr: false where only Python can say what it is.
bool read_value(const launch::KeyRule& rule, size_t i, Given& given, launch::Key& key);
// A constant, told apart by type and value.
bool add_constant(PyObject* object, launch::Key& key);
// The path or the text of an artifact: a long text counts as the object that it is.
bool add_text(PyObject* object, Given& given, launch::Key& key);

}  // namespace triton_runner::python
