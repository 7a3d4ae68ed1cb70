// Declares arithmetic on lazy forms: a sum of strides, a box, or one value for all.
//
//   offsets = pid * 128 + arange(0, 128)     one Affine (base pid * 128, stride 1): no element is written
//   mask = offsets < n                       one MaskBox (from 0 up to n - pid * 128)
#pragma once
#include "task.h"

namespace triton_runner::tile {

// An integer tile as base + sum of stride[d] * index[d], exact in i64; a uniform one has all strides 0.
struct Affine {
  int64_t base;
  int64_t stride[kLazyRank];
};
// The value's affine form, if it has one (uniform or affine).
inline bool affine_of(const Value& v, int rank, Affine* out) {
  if (v.form == Form::kUniform) {
    out->base = v.bits;
    for (int d = 0; d < rank; ++d) out->stride[d] = 0;
    return true;
  }
  if (v.form != Form::kAffine) return false;
  out->base = v.base;
  for (int d = 0; d < rank; ++d) out->stride[d] = v.stride[d];
  return true;
}
// Smallest and largest value over the shape; false if they leave i64.
bool affine_range(const Affine& a, const TileType& type, int64_t* low, int64_t* high);
// Stores it in the slot if it fits the slot's integer type (read as signed) everywhere; pointers always fit.
bool store_affine(Task& t, Slot slot, const Affine& a);

// The box of a mask: all of the shape where it is uniformly true, nothing where false. False: it is no box.
struct MaskBox {
  int64_t lo[kLazyRank], hi[kLazyRank];
  bool empty(int rank) const {
    for (int d = 0; d < rank; ++d)
      if (lo[d] >= hi[d]) return true;
    return false;
  }
  bool full(const TileType& type) const {
    for (int d = 0; d < type.rank; ++d)
      if (lo[d] > 0 || hi[d] < type.shape[d]) return false;
    return true;
  }
};
void complement(MaskBox& box, int axis, int64_t n);  // of a box that is cut at one end of one axis of n
bool box_of(const Value& v, const TileType& type, MaskBox* out);
void store_box(Task& t, Slot slot, const MaskBox& box);  // as uniform where it is all or nothing

// A uniform integer's bits as an unsigned number of its type.
uint64_t as_unsigned(int64_t bits, num::Type type);

// These tell what the two operands of an instruction are.
inline bool both_uniform(Task& t, const Instr& in) {
  return t.is_uniform(in.operand(0)) && t.is_uniform(in.operand(1));
}
inline bool both_affine(Task& t, const Instr& in, Affine* a, Affine* b) {
  int rank = t.type(in.result()).rank;
  return rank <= kLazyRank && affine_of(t.value(in.operand(0)), rank, a) &&
         affine_of(t.value(in.operand(1)), rank, b);
}

// Most ops on addresses and indices: something affine in one dimension and something that is the same
// everywhere. Which operand is the affine one, or -1.
inline int affine_line(const Value& a, const Value& b, const TileType& type) {
  if (type.rank != 1) return -1;
  if (a.form == Form::kAffine && b.form == Form::kUniform) return 0;
  return a.form == Form::kUniform && b.form == Form::kAffine ? 1 : -1;
}

}  // namespace triton_runner::tile
