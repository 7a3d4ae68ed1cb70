// Index holds the index.json of a folder of kernels as plain data. The file is input like any other: whatever
// it says is checked before it is used.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/artifact/json.h>
#include <triton_runner/base/result.h>
#include <triton_runner/exec/kernel.h>

namespace triton_runner::deploy {

// The entry of a Python function, constexprs included.
struct Entry {
  struct Variant {
    std::string symbol;                                      // the kernel's name in its code
    std::string target;                                      // "cuda:90"
    bool exact_target = false;                               // no other architecture runs the code: sm_90a
    std::vector<std::pair<std::string, std::string>> files;  // level and file name
    std::string metadata;                                    // file name
    std::vector<exec::Param> passed;                         // what a launch passes, in order
    std::vector<std::string> multiples_of_16;
    artifact::Json constants;  // of all other parameters
  };
  std::string name;
  std::vector<std::string> parameters;
  std::vector<Variant> variants;
};

// `filename` is for messages.
base::Result<std::vector<Entry>> parse_index(std::string_view text, const std::string& filename);

// The parameter of a type as Triton's signatures write it: "*fp32", "i32", "bf16",
// "tensordesc<fp16[64,64]>".
base::Result<exec::Param> parameter_of(const std::string& name, const std::string& type);
// The bits of an element that a pointer's type names, and whether it is a float; 0 bits: not known.
struct Element {
  int bits = 0;
  bool is_float = false;
};
Element element_of(const std::string& type);

}  // namespace triton_runner::deploy
