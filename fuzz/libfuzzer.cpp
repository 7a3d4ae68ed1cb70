// Gives libFuzzer our mutations, beside its own of bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

size_t store(const std::string& text, uint8_t* out, size_t max_size) {
  size_t size = std::min(text.size(), max_size);
  std::memcpy(out, text.data(), size);
  return size;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  triton_runner::fuzz::Random random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text = text_of(data, size);
  triton_runner::fuzz::mutate(text, text, random);
  return store(text, data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                            uint8_t* out, size_t max_size, unsigned seed) {
  triton_runner::fuzz::Random random(seed);
  std::string text = text_of(a, a_size);
  triton_runner::fuzz::mutate(text, text_of(b, b_size), random);
  return store(text, out, max_size);
}
