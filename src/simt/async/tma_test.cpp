// Tests boxes against a model that goes element by element and knows nothing of rows, units or masks.
#include "async/tma.h"

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "test.h"

namespace triton_runner::simt {
namespace {

// The place of 16-byte chunk `c` of the 128-byte line `line`, as the figures of PTX ISA 5.5.7 show it.
uint32_t chunk_place(int mode, uint32_t line, uint32_t c) {
  switch (mode) {
    case 1:  // 32 bytes: pairs of chunks change places in every other line
      return line % 2 ? (c % 2 ? c - 1 : c + 1) : c;
    case 2:  // 64 bytes: four chunks, by the line's place among four
      return c / 4 * 4 + ((c % 4) ^ (line % 4));
    case 3:  // 128 bytes: eight chunks, by the line's place among eight
      return c ^ (line % 8);
    default:
      return c;
  }
}

uint32_t model_place(int mode, uint32_t address) {
  return address / 128 * 128 + chunk_place(mode, address / 128, address % 128 / 16) * 16 + address % 16;
}

struct Case {
  int rank, element_type, bytes, swizzle;
  std::vector<int> shape, box, at;  // innermost first
  bool nan = false;
  std::vector<int> steps = {};
};

TensorBox box_for(const Case& c, uint64_t address) {
  TensorBox box;
  box.map.address = address;
  box.map.rank = static_cast<uint8_t>(c.rank);
  box.map.element_type = static_cast<uint8_t>(c.element_type);
  box.map.element_bytes = static_cast<uint8_t>(c.bytes);
  box.map.swizzle = static_cast<uint8_t>(c.swizzle);
  box.map.nan_fill = c.nan;
  int64_t stride = c.bytes;
  for (int d = 0; d < c.rank; d++) {
    box.map.shape[d] = c.shape[d];
    box.map.strides[d] = stride;
    box.map.box[d] = static_cast<uint16_t>(c.box[d]);
    box.at[d] = c.at[d];
    if (!c.steps.empty()) box.map.element_strides[d] = static_cast<uint8_t>(c.steps[d]);
    stride = (stride * c.shape[d] + 15) / 16 * 16;
  }
  return box;
}

// Calls f(offset of the element in the box, offset in the tensor or -1).
template <class F>
void each_element(const Case& c, const TensorBox& box, F f) {
  std::vector<int> counts, index(c.rank, 0);
  for (int d = 0; d < c.rank; d++) {
    const int step = c.steps.empty() ? 1 : c.steps[d];
    counts.push_back((c.box[d] + step - 1) / step);
  }
  for (uint32_t linear = 0;; linear += c.bytes) {
    int64_t offset = 0;
    bool inside = true;
    for (int d = 0; d < c.rank; d++) {
      const int i = c.at[d] + index[d] * (c.steps.empty() ? 1 : c.steps[d]);
      inside &= i >= 0 && i < c.shape[d];
      offset += i * (d == 0 ? c.bytes : box.map.strides[d]);
    }
    f(linear, inside ? offset : -1);
    int d = 0;
    while (d < c.rank && ++index[d] == counts[d]) index[d++] = 0;
    if (d == c.rank) return;
  }
}

const std::vector<Case> kCases = {
    {1, 2, 4, 0, {100}, {32}, {80}},
    {1, 0, 1, 0, {64}, {64}, {-16}},
    {2, 6, 2, 3, {64, 40}, {64, 16}, {0, 8}},
    {2, 6, 2, 3, {80, 40}, {64, 16}, {32, -3}, true},
    {2, 7, 4, 3, {40, 9}, {32, 16}, {16, 0}, true},
    {2, 0, 1, 2, {64, 64}, {64, 8}, {0, 60}},
    {2, 10, 2, 1, {16, 33}, {16, 33}, {0, 0}},
    {2, 9, 8, 2, {8, 7}, {8, 8}, {0, 1}, true},
    {3, 6, 2, 3, {64, 4, 5}, {64, 3, 2}, {0, 2, 4}},
    {4, 7, 4, 0, {8, 3, 4, 2}, {8, 2, 2, 2}, {-4, 1, 3, 1}},
    {5, 0, 1, 0, {16, 2, 3, 2, 2}, {16, 2, 2, 2, 2}, {0, 0, 2, 0, 1}},
    {3, 2, 4, 1, {8, 9, 5}, {8, 6, 4}, {0, 1, 0}, false, {1, 2, 3}},
};

}  // namespace

TEST(boxes_load_as_the_model) {
  std::mt19937 random(1);
  for (const Case& c : kCases) {
    alignas(128) std::byte tensor[1 << 16];
    for (std::byte& b : tensor) b = static_cast<std::byte>(random());
    TensorBox box = box_for(c, reinterpret_cast<uint64_t>(tensor));
    CHECK_EQ(prepare_box(box, c.rank, BoxMode::kTile), std::string());
    for (uint32_t start : {0u, 1024u, 128u}) {
      std::vector<std::byte> shared(start + box.shared_bytes() + 1024, std::byte{0x5a}), model = shared;
      load_box(box, shared.data(), start);
      each_element(c, box, [&](uint32_t linear, int64_t offset) {
        uint64_t value = 0;
        if (offset >= 0) {
          std::memcpy(&value, tensor + offset, c.bytes);
        } else if (c.nan) {
          value = c.bytes == 8 ? 0x7ff77ff77ff77ff7 : c.bytes == 4 ? 0x7ff77ff7 : 0x7ff7;
        }
        std::memcpy(model.data() + model_place(c.swizzle, start + linear), &value, c.bytes);
      });
      CHECK(shared == model);
    }
  }
}

TEST(boxes_store_as_the_model) {
  std::mt19937 random(2);
  for (const Case& c : kCases) {
    alignas(128) std::byte tensor[1 << 16] = {}, model[1 << 16] = {};
    TensorBox box = box_for(c, reinterpret_cast<uint64_t>(tensor));
    CHECK_EQ(prepare_box(box, c.rank, BoxMode::kTile), std::string());
    std::vector<std::byte> shared(1024 + box.shared_bytes() + 1024);
    for (std::byte& b : shared) b = static_cast<std::byte>(random());
    store_box(box, shared.data(), 1024, nullptr);
    each_element(c, box, [&](uint32_t linear, int64_t offset) {
      if (offset >= 0)
        std::memcpy(model + offset, shared.data() + model_place(c.swizzle, 1024 + linear), c.bytes);
    });
    CHECK(std::memcmp(tensor, model, sizeof tensor) == 0);
    // Sums with what is there: the same elements, once more.
    if (c.element_type == 2) {
      store_box(box, shared.data(), 1024, machine::find_update(AtomicOp::kAdd, AtomicType::kU32).global);
      each_element(c, box, [&](uint32_t, int64_t offset) {
        if (offset < 0) return;
        uint32_t once, twice;
        std::memcpy(&once, model + offset, 4);
        std::memcpy(&twice, tensor + offset, 4);
        CHECK_EQ(twice, 2 * once);
      });
    }
  }
}

TEST(boxes_gather_rows) {
  alignas(128) std::byte tensor[8192];
  for (size_t i = 0; i < sizeof tensor; i++) tensor[i] = static_cast<std::byte>(i * 7 >> 3);
  Case c{2, 6, 2, 3, {96, 20}, {64, 1}, {16, 0}};
  TensorBox box = box_for(c, reinterpret_cast<uint64_t>(tensor));
  const int32_t rows[4] = {3, 19, 25, 0};
  std::copy(rows, rows + 4, box.gathered);
  CHECK_EQ(prepare_box(box, 2, BoxMode::kGather), std::string());
  CHECK_EQ(box.transaction_bytes(), 4u * 128);
  std::vector<std::byte> shared(1024);
  load_box(box, shared.data(), 0);
  for (uint32_t r = 0; r < 4; r++)
    for (uint32_t i = 0; i < 128; i++) {
      const std::byte want = rows[r] < 20 ? tensor[rows[r] * 192 + 32 + i] : std::byte{0};
      CHECK(shared[model_place(3, r * 128 + i)] == want);
    }
}

TEST(boxes_pad_fp4) {
  alignas(128) std::byte tensor[64 * 8];
  for (size_t i = 0; i < sizeof tensor; i++) tensor[i] = static_cast<std::byte>(i);
  Case c{2, 14, 1, 0, {128, 8}, {128, 4}, {0, 2}};
  TensorBox box = box_for(c, reinterpret_cast<uint64_t>(tensor));
  box.map.strides[1] = 64;
  CHECK_EQ(prepare_box(box, 2, BoxMode::kTile), std::string());
  CHECK_EQ(box.transaction_bytes(), 4u * 64);
  CHECK_EQ(box.shared_bytes(), 4u * 128);
  std::vector<std::byte> shared(1024);
  load_box(box, shared.data(), 0);
  for (uint32_t i = 0; i < 512; i++) {
    const std::byte want = i % 16 < 8 ? tensor[(2 + i / 128) * 64 + i % 128 / 16 * 8 + i % 8] : std::byte{0};
    CHECK(shared[i] == want);
  }
}

TEST(boxes_say_what_is_wrong) {
  auto fault = [](Case c, auto change) {
    TensorBox box = box_for(c, 1024);
    change(box);
    return prepare_box(box, 2, BoxMode::kTile);
  };
  const Case good{2, 6, 2, 3, {64, 8}, {64, 8}, {0, 0}};
  CHECK_EQ(fault(good, [](TensorBox&) {}), std::string());
  CHECK(fault(good, [](TensorBox& b) { b.map.rank = 3; }).find("rank 3") != std::string::npos);
  CHECK(fault(good, [](TensorBox& b) { b.map.box[0] = 128; }).find("256 bytes") != std::string::npos);
  CHECK(fault(good, [](TensorBox& b) { b.map.box[0] = 4; }).find("multiple of 16") != std::string::npos);
  CHECK(fault(good, [](TensorBox& b) { b.map.address = 8; }).find("address") != std::string::npos);
  CHECK(fault(good, [](TensorBox& b) { b.map.strides[1] = 24; }).find("stride") != std::string::npos);
  CHECK(fault(good, [](TensorBox& b) { b.map.element_bytes = 0; }).find("box") != std::string::npos);
}

}  // namespace triton_runner::simt
