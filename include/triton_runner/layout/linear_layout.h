// Declares linear layouts: maps between index spaces of power-of-two size that are linear over GF(2).
//
// A layout takes named inputs (register, lane, warp, block; offset; row, col) to named outputs (dim0, dim1,
// ...). It is given by where each bit of each input goes; the image of an index is the XOR of the images of
// its bits. Everything that TritonGPU encodings say about who holds which element, and where in shared memory
// it lies, is such a map.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace triton_runner::layout {

using Basis = std::vector<int32_t>;  // an image: one coordinate an output dimension

struct InDim {
  std::string name;
  std::vector<Basis> bases;  // image of bit 0, 1, ...; the dimension's size is 2^bases.size()
  bool operator==(const InDim&) const = default;
};
struct OutDim {
  std::string name;
  int32_t size = 1;  // a power of two
  bool operator==(const OutDim&) const = default;
};

class LinearLayout {
 public:
  LinearLayout() = default;  // no dimensions: one point to one point
  LinearLayout(std::vector<InDim> ins, std::vector<OutDim> outs)
      : ins_(std::move(ins)), outs_(std::move(outs)) {}

  static LinearLayout identity(int64_t size, std::string_view in, std::string_view out);
  // Every index of `in` goes to 0 of `out` (of size `out_size`): who shares a value.
  static LinearLayout zeros(int64_t size, std::string_view in, std::string_view out, int32_t out_size = 1);

  const std::vector<InDim>& ins() const { return ins_; }
  const std::vector<OutDim>& outs() const { return outs_; }
  bool has_out(std::string_view name) const;
  int in_bits(std::string_view name) const;  // 0 where there is no such dimension
  int total_in_bits() const;
  int64_t in_size(std::string_view name) const { return int64_t{1} << in_bits(name); }
  int32_t out_size(std::string_view name) const;  // 1 where there is no such dimension
  int out_index(std::string_view name) const;     // -1 where there is no such dimension

  // The image of one index an input dimension (in the order of ins()), as one coordinate an output dimension.
  Basis apply(std::span<const int64_t> index) const;
  // The same by name; dimensions that are not given are 0.
  Basis apply(std::initializer_list<std::pair<std::string_view, int64_t>> index) const;

  // Product: `inner` takes the low bits of each dimension,
  // `outer` those above; dimensions are united in order.
  friend LinearLayout operator*(const LinearLayout& inner, const LinearLayout& outer);
  LinearLayout& operator*=(const LinearLayout& outer) { return *this = *this * outer; }

  // A layout from outputs to inputs; of the inputs that reach an output the one that needs fewest, earliest
  // bits. Empty where some output is reached by none.
  std::optional<LinearLayout> pseudo_invert() const;
  // The same, but empty as well where two inputs reach one output.
  std::optional<LinearLayout> invert() const;

  LinearLayout transpose_outs(std::span<const std::string> names) const;
  // Outputs flattened (the first listed is the minor one) and cut anew, first listed minor. Sizes
  // multiply to the same.
  LinearLayout reshape_outs(const std::vector<OutDim>& outs) const;
  LinearLayout without_out(std::string_view name) const;

  bool is_surjective() const;
  bool is_injective() const;
  bool is_invertible() const { return is_surjective() && is_injective(); }

  bool operator==(const LinearLayout&) const = default;
  // "register=[[0,1],[8,0]] lane=[[0,2]] ...": bases in the order of ins().
  std::string str() const;

 private:
  std::vector<InDim> ins_;
  std::vector<OutDim> outs_;
};

// Output names of a tensor of `rank` dimensions: dim0, dim1, ...
std::vector<std::string> dim_names(size_t rank);

}  // namespace triton_runner::layout
