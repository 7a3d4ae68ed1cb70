// Reads objects that are pointers to a kernel: what they are by their type, and where those that only have
// data_ptr() and dtype lie. Tensors of PyTorch and arrays of NumPy are read in arguments.cpp.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "bindings.h"

namespace triton_runner::python {

enum class Kind { kNumber, kTorch, kArray, kDescriptor, kTmaDescriptor, kPointer, kDlpack, kOther };
Kind kind_of(nb::handle value);

bool has(nb::handle object, const char* name);
uint64_t address_of(nb::handle object);
std::string string_of(nb::handle object);

// "torch.float16", "float16", "fp16" -> "f16"; what is not known stays as it is.
std::string short_dtype(std::string name);

// Class and width of an element type: "f16" and "bf16" differ, signedness and the flavours of 8 bits do not.
struct ElementClass {
  char kind = '?';
  int bits = 0;
  bool operator==(const ElementClass& other) const {
    return bits == other.bits && (kind == other.kind || bits == 8);
  }
};
std::optional<ElementClass> element_class(std::string_view name);

// Memory around the address of an object with data_ptr().
struct Block {
  uint64_t address = 0, bytes = 0;
  bool writable = true;
  std::string label;  // of memory that the object itself does not tell
  nb::object owner;   // what keeps it alive, where that is not the object
};

// For a Kind::kPointer: its address; and its memory, which is that of its storage, else of a tensor or array that it
// holds, else what its shape and strides reach, else of whatever holds the address (triton_runner/_memory/registry.py).
// None: a null pointer, or nobody knows.
struct Located {
  uint64_t address = 0;
  std::optional<Block> block;
};
Located locate(nb::handle object);

// The device that an object says it is on: "cuda", "cpu"; "" if it says none.
std::string device_of(nb::handle object);

}  // namespace triton_runner::python
