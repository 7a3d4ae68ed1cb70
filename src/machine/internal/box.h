// BoxRows gives a box of a tensor as TMA copies it: the rows of memory that it is, along the innermost
// dimension, and which part of each lies inside of the tensor. See PTX ISA 5.5. Dimensions are counted from
// the innermost.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include <triton_runner/exec/tensor_map.h>

namespace triton_runner::machine {

// Elements outside of a tensor whose map fills with NaNs are the low bits of this: an H100's, in tiled mode too
// (tests/gpu/im2col.py).
inline constexpr uint64_t kNanFill = 0x7ff77ff77ff77ff7;

struct BoxRow {
  uint64_t address = 0;        // of its first element inside
  int64_t begin = 0, end = 0;  // elements of the row that are inside
  int64_t inside() const { return end - begin; }
};

struct Box {
  int rank = 0;
  uint64_t base = 0;  // of the tensor
  int64_t shape[5] = {};
  int64_t strides[5] = {};  // bytes
  int64_t at[5] = {};       // where it begins
  int64_t width = 0;        // elements of a row
  int64_t rows = 1;
  int64_t counts[5] = {1, 1, 1, 1, 1};  // rows along each dimension but the innermost
  int64_t steps[5] = {1, 1, 1, 1, 1};   // and from one to the next
  bool gathers = false;                 // rows of these numbers in a tensor of rank 2
  int32_t gathered[4] = {};
  std::optional<exec::PixelColumn> column;  // im2col: a row each
};

// The rows of a box in turn: along dimension 1, then the outer ones.
class BoxRows {
 public:
  explicit BoxRows(const Box& box)
      : box_(box),
        begin_(std::clamp<int64_t>(-box.at[0], 0, box.width)),
        end_(std::clamp<int64_t>(box.shape[0] - box.at[0], begin_, box.width)),
        shape_(box.rank > 1 ? static_cast<uint64_t>(std::max<int64_t>(box.shape[1], 0)) : 1),
        stride_(box.strides[1]),
        step_(box.steps[1]) {}

  BoxRow next() {
    if (left_ == 0) turn();
    --left_;
    const int64_t place = place_;
    place_ += step_;
    const bool inside = is_inside_ && static_cast<uint64_t>(place) < shape_;
    return {outer_ + static_cast<uint64_t>(place * stride_), begin_, inside ? end_ : begin_};
  }

 private:
  // The next place in the outer dimensions, and the first of dimension 1 there.
  void turn() {
    int64_t place[4];  // dimensions from 1 on
    left_ = 1;
    if (box_.column) {
      box_.column->place(row_++, place);
    } else if (box_.gathers) {
      place[0] = box_.gathered[row_++];
    } else {
      left_ = box_.counts[1];
      place[0] = box_.at[1];
      for (int d = 2; d < box_.rank; ++d) place[d - 1] = box_.at[d] + index_[d] * box_.steps[d];
      for (int d = 2; d < box_.rank && ++index_[d] == box_.counts[d]; ++d) index_[d] = 0;
    }
    place_ = place[0];
    is_inside_ = true;
    int64_t offset = (box_.at[0] + begin_) * box_.strides[0];
    for (int d = 2; d < box_.rank; ++d) {
      is_inside_ &= place[d - 1] >= 0 && place[d - 1] < box_.shape[d];
      offset += place[d - 1] * box_.strides[d];
    }
    outer_ = box_.base + static_cast<uint64_t>(offset);
  }

  const Box& box_;
  const int64_t begin_, end_;
  const uint64_t shape_;  // of dimension 1
  const int64_t stride_, step_;
  int64_t place_ = 0, left_ = 0;
  uint64_t outer_ = 0;
  bool is_inside_ = true;
  int64_t row_ = 0;
  int64_t index_[5] = {};
};

}  // namespace triton_runner::machine
