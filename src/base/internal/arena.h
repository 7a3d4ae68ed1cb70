// Arena allocates by moving a pointer: a module's graph is thousands of small objects that live and die
// together.
#pragma once
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace triton_runner::base {

class Arena {
 public:
  void* allocate(size_t bytes) {
    bytes = (bytes + 7) & ~size_t{7};
    if (bytes > left_) refill(bytes);
    char* p = next_;
    next_ += bytes;
    left_ -= bytes;
    return p;
  }
  template <class T>
  T* make(T value = {}) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T))) T(std::move(value));
  }
  template <class T>
  std::span<T> array(size_t n) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (n == 0) return {};
    T* p = static_cast<T*>(allocate(sizeof(T) * n));
    for (size_t i = 0; i < n; ++i) new (p + i) T();
    return {p, n};
  }
  template <class T>
  std::span<T> copy(const T* from, size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (n == 0) return {};
    T* p = static_cast<T*>(allocate(sizeof(T) * n));
    std::memcpy(static_cast<void*>(p), from, sizeof(T) * n);
    return {p, n};
  }
  std::string_view text(std::string_view s) {
    if (s.empty()) return {};
    char* p = static_cast<char*>(allocate(s.size()));
    std::memcpy(p, s.data(), s.size());
    return {p, s.size()};
  }

 private:
  void refill(size_t bytes) {
    size_t size = chunk_ > bytes ? chunk_ : bytes;
    if (chunk_ < (size_t{1} << 20)) chunk_ *= 2;
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    next_ = chunks_.back().get();
    left_ = size;
  }
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t chunk_ = size_t{1} << 14;
  char* next_ = nullptr;
  size_t left_ = 0;
};

}  // namespace triton_runner::base
