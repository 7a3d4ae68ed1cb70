// Elements reads an operand element by element, in whatever form it is.
#pragma once
#include <triton_runner/num/types.h>

#include "task.h"

namespace triton_runner::tile {

// The bits of element i, zero-extended; uniform operands have one for all.
class Elements {
 public:
  Elements(Task& t, Slot s)
      : type_(t.type(s).element), size_(t.type(s).size), bits_(static_cast<uint64_t>(t.bits(s))) {
    if (num::is_integer(type_)) bits_ = num::truncate_bits(bits_, type_);
    data_ = t.is_uniform(s) ? nullptr : t.dense<std::byte>(s);
  }
  uint64_t operator[](int64_t i) const { return data_ ? num::load_bits(data_ + i * size_, type_) : bits_; }
  int64_t integer(int64_t i) const { return num::sign_extend((*this)[i], type_); }

 private:
  num::Type type_;
  int64_t size_;
  uint64_t bits_;
  const std::byte* data_;
};

// Result 0 from bits(i), the bits of element i; one element where all operands are uniform.
template <class F>
void set_elements(Task& t, const Instr& in, F bits) {
  const TileType& to = t.type(in.result());
  bool uniform = true;
  for (uint32_t i = 0; i < in.num_operands; ++i) uniform &= t.is_uniform(in.operand(i));
  if (uniform) {
    const uint64_t one = bits(0);
    return t.set_uniform_from(in.result(), &one);
  }
  auto* out = t.new_dense<std::byte>(in.result());
  for (int64_t i = 0; i < to.n; ++i) num::store_bits(out + i * to.size, to.element, bits(i));
}

}  // namespace triton_runner::tile
