// TextMap is a flat hash map from text to a small value: open addressing, no deletion. The texts must outlive
// the map.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace triton_runner::base {

inline uint64_t hash_text(std::string_view s, uint64_t seed = 0) {
  constexpr uint64_t kMul = 0x9E3779B97F4A7C15ull;
  const char* p = s.data();
  size_t n = s.size();
  uint64_t h = (n + seed * 31 + 1) * kMul;
  while (n >= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    h = (h ^ w) * kMul;
    h ^= h >> 32;
    p += 8, n -= 8;
  }
  uint64_t w = 0;
  if (n >= 4) {
    uint32_t a, b;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + n - 4, 4);
    w = (uint64_t{a} << 32) | b;
  } else if (n > 0) {
    w = (uint64_t{static_cast<uint8_t>(p[0])} << 16) | (uint64_t{static_cast<uint8_t>(p[n / 2])} << 8) |
        static_cast<uint8_t>(p[n - 1]);
  }
  h = (h ^ w) * kMul;
  return h ^ (h >> 29);
}

template <class V>
class TextMap {
 public:
  explicit TextMap(size_t capacity = 64) : slots_(capacity), mask_(capacity - 1) {}

  const V* find(std::string_view key, uint64_t seed = 0) const {
    uint64_t h = hash_text(key, seed) | 1;
    for (size_t i = h >> 7;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.hash == 0) return nullptr;
      if (slot.hash == h && slot.key == key) return &slot.value;
    }
  }
  V* find(std::string_view key, uint64_t seed = 0) {
    return const_cast<V*>(static_cast<const TextMap*>(this)->find(key, seed));
  }

  // The value of `key`, made by V{} if it is new; `fresh` tells which.
  V& at(std::string_view key, bool* fresh = nullptr, uint64_t seed = 0) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    uint64_t h = hash_text(key, seed) | 1;
    for (size_t i = h >> 7;; ++i) {
      Slot& slot = slots_[i & mask_];
      if (slot.hash == h && slot.key == key) {
        if (fresh) *fresh = false;
        return slot.value;
      }
      if (slot.hash == 0) {
        slot = Slot{h, key, V{}};
        ++used_;
        if (fresh) *fresh = true;
        return slot.value;
      }
    }
  }
  void insert(std::string_view key, V value, uint64_t seed = 0) { at(key, nullptr, seed) = std::move(value); }
  size_t size() const { return used_; }

  template <class F>
  void for_each(F&& f) const {
    for (const Slot& slot : slots_)
      if (slot.hash) f(slot.key, slot.value);
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    std::string_view key;
    V value{};
  };
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(old.size() * 2);
    mask_ = slots_.size() - 1;
    for (Slot& slot : old) {
      if (slot.hash == 0) continue;
      size_t i = slot.hash >> 7;
      while (slots_[i & mask_].hash) ++i;
      slots_[i & mask_] = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_;
  size_t used_ = 0;
};

}  // namespace triton_runner::base
