// Declares the effects of an op, as its row of ops.def gives them: the words of effects.def, and sets of
// them.
#pragma once
#include <cstdint>

namespace triton_runner::ir {

namespace detail {
enum class EffectNumber : uint32_t {
#define EFFECT(word, Enumerator, meaning) k##Enumerator,
#include <triton_runner/ir/effects.def>
};
}  // namespace detail

// A bit each: Effect::kLoads | Effect::kAtomics is a set of two.
enum class Effect : uint64_t {
#define EFFECT(word, Enumerator, meaning) \
  k##Enumerator = uint64_t{1} << static_cast<uint32_t>(detail::EffectNumber::k##Enumerator),
#include <triton_runner/ir/effects.def>
};

class Effects {
 public:
  constexpr Effects() = default;
  constexpr Effects(Effect one) : bits_(static_cast<uint64_t>(one)) {}
  constexpr bool any(Effects of) const { return (bits_ & of.bits_) != 0; }
  constexpr bool all(Effects of) const { return (bits_ & of.bits_) == of.bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Effects operator|(Effects a, Effects b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  uint64_t bits_ = 0;
};
constexpr Effects operator|(Effect a, Effect b) { return Effects(a) | Effects(b); }

}  // namespace triton_runner::ir
