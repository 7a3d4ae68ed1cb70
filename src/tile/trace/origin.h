// parameter_of() finds which of the kernel's parameters an address was made from, when a message or a dump
// wants it, by going back from the value through the ops that made it.
#pragma once
#include <optional>
#include <string>

#include "code.h"

namespace triton_runner::tile {

struct Launch;

// The name of a kernel's parameter, as the programmer knows it.
std::string param_name(const ir::Value& arg);

// The number of the only pointer or descriptor among the kernel's parameters that `address` (a pointer, a
// tile of them, a descriptor) was made from; none where there are several, or where it was read from memory.
std::optional<uint32_t> parameter_of(const ir::Value& address, const Code& code);
// The same of what an op accesses.
std::optional<uint32_t> parameter_of(const ir::Op& access, const Code& code);

// A place in what a parameter points to.
struct Place {
  std::string name;  // of the parameter
  uint64_t base;     // address that was passed
  int64_t offset;    // elements, or bytes where it is no whole number of them
  bool bytes = false;
  std::string str() const;  // "x_ptr + 4096", "x_ptr - 3 bytes"
};
Place place_of(const Launch& launch, uint32_t parameter, uint64_t address);

}  // namespace triton_runner::tile
