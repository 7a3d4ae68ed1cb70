// kHostCall is the address by which code calls the host, where it is given one (AMD's hostcall buffer):
// nobody answers there.
#pragma once
#include <cstdint>

namespace triton_runner::simt {

constexpr uint64_t kHostCall = uint64_t{0x4857} << 48;  // no memory has such an address
constexpr uint64_t kHostCallBytes = 4096;

}  // namespace triton_runner::simt
