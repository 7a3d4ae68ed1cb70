// Makes pseudo-random orders from a seed, the same on every machine: of the programs of a grid, of turns, of
// the elements of an atomic operation (LaunchOptions::shuffle), and of when asynchronous operations take
// effect.
#pragma once
#include <bit>
#include <cstdint>

namespace triton_runner::exec {

// splitmix64
class Random {
 public:
  explicit Random(uint64_t seed = 0) : state_(seed) {}
  uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15); }
  // A number below n, which is not 0.
  uint64_t below(uint64_t n) { return next() % n; }
  static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
  }

 private:
  uint64_t state_;
};

// A permutation of 0 .. n - 1 that needs no memory: a Feistel network over the next even number of bits,
// walked until it lands below n.
class Permutation {
 public:
  Permutation(uint64_t seed, uint64_t n)
      : seed_(seed), n_(n), half_((std::bit_width(n > 1 ? n - 1 : 1) + 1) / 2) {}
  uint64_t operator()(uint64_t i) const {
    do {
      i = once(i);
    } while (i >= n_);
    return i;
  }

 private:
  uint64_t once(uint64_t i) const {
    const uint64_t mask = (uint64_t{1} << half_) - 1;
    uint64_t left = i >> half_, right = i & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t f = Random::mixed(seed_ + right * 0x9e3779b97f4a7c15 + (round << 56)) & mask;
      const uint64_t swapped = left ^ f;
      left = right;
      right = swapped;
    }
    return left << half_ | right;
  }

  uint64_t seed_, n_;
  int half_;
};

}  // namespace triton_runner::exec
