// Spare keeps objects that are done with, for those that need one next: what they have space for stays.
#pragma once
#include <utility>
#include <vector>

namespace triton_runner::base {

template <class T>
class Spare {
 public:
  // Adds one to `to`: a new one, or a spare one, which is as whoever put it here left it.
  template <class List>
  T& add(List& to) {
    if (all_.empty()) return to.emplace_back();
    to.push_back(std::move(all_.back()));
    all_.pop_back();
    return to.back();
  }
  void put(T one) { all_.push_back(std::move(one)); }
  template <class List>
  void put_all(List& from) {
    for (T& one : from) put(std::move(one));
    from.clear();
  }

 private:
  std::vector<T> all_;
};

}  // namespace triton_runner::base
