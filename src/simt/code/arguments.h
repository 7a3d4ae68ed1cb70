// ArgumentPlan writes the arguments of a launch as the bytes of the entry's parameters. Where each goes is
// decided once, at load. (launch/pack.h does so for GPUs.)
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/simt/simt.h>

#include "code/code.h"

namespace triton_runner::simt {

// A launch reads this: the bytes of all parameters, and the memory that they point to and nobody gave.
struct PackedArguments {
  std::vector<std::byte> bytes;                     // Code::param_bytes
  std::vector<exec::Allocation> memory;             // scratch buffers
  std::vector<std::unique_ptr<std::byte[]>> owned;  // what `memory` points to
};

class ArgumentPlan {
 public:
  // Errors: more or fewer parameters than the text's, descriptors without room in the text.
  static base::Result<ArgumentPlan> make(const Code& code, const LoadOptions& options);

  const std::vector<exec::Param>& params() const { return params_; }
  // For the text's parameters, by their numbers: which hold a pointer that a launch passes (a bit each, of
  // the first 64), and what the launch calls them.
  uint64_t pointers() const;
  std::string name_at(size_t place) const;

  // `blocks` is how many the launch runs, for scratch. Errors: wrong count, kind or range of an argument.
  base::Result<PackedArguments> pack(std::span<const exec::Argument> args, int64_t blocks) const;

 private:
  // kBytes: the argument is a pointer to the bytes that the parameter holds: a tensor map, a structure.
  enum class Form : uint8_t { kWord, kFloat, kMap, kPieces, kBytes };
  struct Entry {
    Form form;
    size_t place;      // the text's parameter that it begins at
    size_t count;      // parameters that it takes
    int layout = -1;   // of a tensor map
    size_t flags = 0;  // of a descriptor in pieces
  };

  base::Status place_all(bool with_shapes);
  size_t rank_behind(size_t map, const exec::DescriptorLayout& layout) const;
  base::Status put(PackedArguments& out, size_t place, uint64_t word) const;
  base::Status put_map(PackedArguments& out, const Entry& entry, const exec::TensorDesc& desc) const;
  base::Status put_pieces(PackedArguments& out, const Entry& entry, const exec::TensorDesc& desc) const;
  base::Result<exec::Argument> accepted(size_t i, const exec::Argument& arg) const;
  base::Diagnostic bad(size_t i, const std::string& what) const;
  std::string signature() const;

  std::string kernel_;
  std::vector<exec::Param> params_;
  bool from_text_ = false;  // the text's own parameters: what the type leaves open, the argument says
  std::vector<Entry> entries_;
  std::vector<exec::DescriptorLayout> layouts_;
  std::vector<Code::Parameter> places_;  // the text's
  uint32_t total_bytes_ = 0;
  int hidden_ = 0;
  exec::Scratch scratch_[2];
};

}  // namespace triton_runner::simt
