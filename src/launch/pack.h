// Packed holds the arguments of a launch as the driver takes them: a pointer to each parameter's bytes. What
// a parameter needs is decided once, at load (Plan); a launch only writes numbers into a buffer.
#pragma once
#include <span>
#include <vector>

#include <triton_runner/exec/scalar.h>
#include <triton_runner/launch/gpu_kernel.h>

namespace triton_runner::launch {

// kMapBytes: a tensor map that the caller has made, 128 bytes on the host ("nvTmaDesc" of Triton 3.2
// and 3.3).
enum class Form : uint8_t { kWord, kFloat, kTensorMap, kPieces, kMapBytes };

struct PlanEntry {
  Form form;
  num::Type type{};     // of a float
  int descriptor = -1;  // index into Plan::descriptors
  int rank = 0;         // of a descriptor in pieces, 0: as the argument has it
};

struct Plan {
  std::vector<PlanEntry> entries;  // one a visible parameter
  std::vector<DescriptorLayout> descriptors;
  std::vector<std::string> names;  // of the parameters, for messages
  int descriptor_flags = 2;
};

base::Result<Plan> make_plan(const GpuKernelSpec& spec);

// Returns whether a value is one word, and that word: floats are given as doubles.
inline bool is_word(const PlanEntry& entry) { return entry.form <= Form::kFloat; }
inline uint64_t word_of(const PlanEntry& entry, uint64_t bits) {
  return entry.form == Form::kFloat ? exec::float_bits(entry.type, bits) : bits;
}

class Packed {
 public:
  // The driver encodes tensor maps. Errors: a descriptor that the hardware cannot express, more than the 4
  // KiB of parameters that a launch has.
  base::Status fill(const Plan& plan, device::Driver& driver, std::span<const exec::Argument> args);
  void add_hidden(uint64_t pointer) { add(pointer); }
  void** pointers() { return pointers_; }

 private:
  static constexpr int kMaxBytes = 8192;
  static constexpr int kMaxParams = 1024;

  void* add(uint64_t word) {
    auto* at = reinterpret_cast<uint64_t*>(buffer_ + used_);
    *at = word;  // little-endian: a narrower parameter is the first bytes of it
    pointers_[count_++] = at;
    used_ += 8;
    return at;
  }
  bool has_room(size_t params, size_t bytes) const {
    return count_ + params + 2 <= kMaxParams && used_ + bytes + 16 <= kMaxBytes;  // 2 hidden ones fit always
  }
  void add_map_bytes(const void* map);
  base::Status add_tensor_map(const DescriptorLayout& layout, device::Driver& driver,
                              const exec::TensorDesc& desc);
  base::Status add_pieces(const exec::TensorDesc& desc, int flags);

  alignas(128) std::byte buffer_[kMaxBytes];
  void* pointers_[kMaxParams];
  size_t used_ = 0, count_ = 0;
};

}  // namespace triton_runner::launch
