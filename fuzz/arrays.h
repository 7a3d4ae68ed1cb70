// Has the memory that a fuzzed kernel may touch: one array a pointer, side by side, with canaries around
// each.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <triton_runner/exec/trap.h>

namespace triton_runner::fuzz {

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what.c_str());
  std::abort();
}

// A launch whose ends of timing differ is blamed as a whole.
inline void require_place(const exec::Trap& trap) {
  require(trap.location.line > 0 || !trap.location.file.empty() || trap.op == "the whole kernel",
          "a trap without a place: " + trap.str());
}

class Arrays {
 public:
  static constexpr size_t kWords = 1024, kMargin = 64;  // of 8 bytes, of one array
  static constexpr uint64_t kCanary = 0xA5A5A5A5A5A5A5A5;

  explicit Arrays(size_t count) : count_(count), words_(count * (kWords + kMargin) + kMargin, kCanary) {
    reset();
  }
  // Sets the arrays to what they held at first, at the same addresses.
  void reset() {
    for (size_t a = 0; a < count_; ++a)
      for (size_t i = 0; i < kWords; ++i) begin(a)[i] = i % 64 * 0x0000000100000001;
  }
  uint64_t* begin(size_t a) { return words_.data() + kMargin + a * (kWords + kMargin); }
  uint64_t address(size_t a) { return reinterpret_cast<uint64_t>(begin(a)); }
  bool intact() const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (i % (kWords + kMargin) < kMargin && words_[i] != kCanary) return false;
    return true;
  }
  // Two NaNs of a float type are alike: doc/internals/numerics.md does not promise which one an op gives.
  std::string first_difference(const Arrays& other) const {
    for (size_t i = 0; i < words_.size(); ++i)
      if (!alike(words_[i], other.words_[i])) {
        char text[128];
        std::snprintf(text, sizeof text, "array %zu, byte %zu: %016llx and %016llx", i / (kWords + kMargin),
                      (i % (kWords + kMargin) - kMargin) * 8, static_cast<unsigned long long>(words_[i]),
                      static_cast<unsigned long long>(other.words_[i]));
        return text;
      }
    return "";
  }

 private:
  // The `bits` of a and b from `at` on, as a float with an exponent of so many bits.
  static bool both_nan(uint64_t a, uint64_t b, int at, int bits, int exponent) {
    const uint64_t sign_off = (uint64_t{1} << (bits - 1)) - 1;
    const uint64_t infinity = ((uint64_t{1} << exponent) - 1) << (bits - 1 - exponent);
    return (a >> at & sign_off) > infinity && (b >> at & sign_off) > infinity;
  }
  static bool alike(uint64_t a, uint64_t b) {
    if (a == b || both_nan(a, b, 0, 64, 11)) return true;
    for (int at = 0; at < 64; at += 32) {
      if ((a ^ b) >> at << 32 == 0 || both_nan(a, b, at, 32, 8)) continue;
      for (int half = at; half < at + 32; half += 16)
        if (((a ^ b) >> half & 0xffff) && !both_nan(a, b, half, 16, 5) && !both_nan(a, b, half, 16, 8))
          return false;
    }
    return true;
  }
  size_t count_;
  std::vector<uint64_t> words_;
};

}  // namespace triton_runner::fuzz
