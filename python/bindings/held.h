// Declares Held<T>: a shared pointer whose count Python's lock guards. std::shared_ptr counts with atomic
// operations, each of which costs as much as reading an argument.
#pragma once
#include <utility>

namespace triton_runner::python {

// T has `mutable long holders = 0`.
template <class T>
class Held {
 public:
  Held() = default;
  explicit Held(T* object) : object_(object) { hold(); }
  Held(const Held& other) : object_(other.object_) { hold(); }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Held() {
    if (object_ && --object_->holders == 0) delete object_;
  }

  void reset() { *this = Held(); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Held&) const = default;

 private:
  void hold() {
    if (object_) object_->holders++;
  }
  T* object_ = nullptr;
};

}  // namespace triton_runner::python
