// Substitution is an experiment of check="nan", "uninit", "zerodiv" and their like: what a check would report
// is replaced by a number, the place is noted, and the launch goes on. Whatever depends on the value differs
// between runs with two numbers.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <triton_runner/exec/faults.h>

namespace triton_runner::exec {

struct Substitution {
  double number = 0;            // cast to the type of the element; an i1 gets its lowest bit
  std::vector<std::string> at;  // only at these places ("kernel.py:12:5"); empty: anywhere
  Faults places;                // what the check would have reported, and how many elements (threads) of each

  bool applies_at(const std::string& location) const {
    return at.empty() || std::find(at.begin(), at.end(), location) != at.end();
  }
};

}  // namespace triton_runner::exec
