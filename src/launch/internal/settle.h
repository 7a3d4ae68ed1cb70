// settle() decides which of a caller's values the kernel of an artifact takes, and as what types. Code below
// Triton's IR has parameters without names or types, Triton's own after them; and at every level the
// parameters that the compilation folded away are missing. Nothing of Python is used here: python/bindings
// says of each value how it can be passed.
//
//   kernel(x_ptr, n, BLOCK: constexpr) as PTX: three .param of 8, 4 and 8 bytes; x and n take the first two
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/kernel.h>

namespace triton_runner::launch {

// A parameter as the artifact tells it; "" where it does not.
struct KnownParam {
  std::string name, type;
  int bytes = 0;
  bool unused = false;
};

struct Interface {
  std::string kernel, level;
  std::vector<KnownParam> params;      // all of them, Triton's own included
  std::optional<int> hidden_pointers;  // of those, Triton's own at the end; none: nobody says
  bool descriptors_as_maps = false;    // a tensor map, shape and strides each (tensordesc_meta)
};

enum class ValueKind : uint8_t {
  kNone,
  kBool,
  kInteger,
  kFloat,       // Python's, whose type the artifact has to say
  kTyped,       // a number that says its type: NumPy's, of ml_dtypes
  kTensor,      // anything with memory
  kDescriptor,  // a host-side tensor descriptor
  kTensorMap,   // the 128 bytes of one ("nvTmaDesc")
  kOther
};

enum class FloatType : uint8_t { kNone, kF16, kBF16, kF32, kF64 };

// The part of a value that decides how it is passed; equal ones are passed alike.
struct ValueShape {
  ValueKind kind = ValueKind::kOther;
  FloatType type = FloatType::kNone;  // of kTyped
  uint8_t rank = 0;                   // of kDescriptor
  bool is_one = false;                // the integer 1
  bool operator==(const ValueShape&) const = default;

  // Triton compiles None and the integer 1 into a kernel; True it passes, as all releases do.
  bool may_be_folded() const { return kind == ValueKind::kNone || is_one; }
};

struct Value {
  std::string name;
  ValueShape shape;
};

struct Settled {
  std::vector<size_t> kept;  // of the values, in the order of the parameters
  std::vector<size_t> at;    // where the parameters of each of them begin
  int hidden = 0;            // pointers of Triton's own after them
  int descriptor_flags = 0;  // of a descriptor that travels in pieces
};

// By names, where the artifact names all that the caller gives, else by counting. `text_of` gives a value as
// Python prints it, for messages. Errors: the values do not fit, or fit in several ways.
base::Result<Settled> settle(const Interface& artifact, std::span<const Value> values,
                             const std::function<std::string(size_t)>& text_of);

// A parameter for each kept value: by the artifact where it tells, by the value where it does not. Errors: a
// tensor for a parameter that is none, a number of another width, 16 bits of a kind that nobody says.
base::Result<std::vector<exec::Param>> typed(const Interface& artifact, std::span<const Value> values,
                                             const Settled& settled);

}  // namespace triton_runner::launch
