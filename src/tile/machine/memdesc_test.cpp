// Tests plans against places: what is written through one view of a buffer is read back through another.
#include "machine/memdesc.h"

#include <numeric>
#include <vector>

#include <triton_runner/tile/encoding.h>
#include "test.h"

namespace triton_runner::tile {
namespace {

// A view of i32 elements with the encoding's own placing.
MemView view_of(const layout::Encoding& encoding, std::vector<int64_t> allocated,
                std::vector<int64_t> shape = {}) {
  MemView view;
  view.element = num::Type::kI32;
  view.size = 4;
  view.allocated = allocated;
  view.shape = shape.empty() ? allocated : shape;
  view.encoding = encoding;
  auto layout = to_linear_layout(encoding, allocated);
  auto inverse = layout->pseudo_invert();
  for (size_t d = 0; d < view.shape.size(); d++) {
    std::vector<uint32_t> bits;
    for (int64_t v = 1; v < view.shape[d]; v *= 2) {
      std::vector<int64_t> index(view.shape.size(), 0);
      index[d] = v;
      bits.push_back(static_cast<uint32_t>(inverse->apply(index)[0]));
    }
    view.place.push_back(bits);
  }
  const int64_t last = layout->in_size("offset") - 1;
  view.buffer_bytes = (last + padding_before(encoding, last) + 1) * 4;
  return view;
}

layout::Encoding swizzled(int64_t vec, int64_t per_phase, int64_t max_phase, std::vector<int64_t> order) {
  layout::Encoding e{};
  e.kind = layout::EncodingKind::kSwizzledShared;
  e.vec = vec;
  e.per_phase = per_phase;
  e.max_phase = max_phase;
  e.order = std::move(order);
  return e;
}

layout::Encoding nvmma(int64_t bytes, bool transposed) {
  layout::Encoding e{};
  e.kind = layout::EncodingKind::kNvmmaShared;
  e.swizzle_bytes = bytes;
  e.element_bits = 32;
  e.is_transposed = transposed;
  e.explicit_rank = 2;
  return e;
}

// Every element of the plan's contiguous side lies where place_of says.
void check_places(const MemView& view, std::vector<int> order, MemDesc d) {
  MemPlan plan(view, order);
  std::vector<int32_t> arena(static_cast<size_t>(plan.extent() + d.base) / 4 + 4096, -1), in(view.total()),
      out(view.total());
  std::iota(in.begin(), in.end(), 0);
  auto* bytes = reinterpret_cast<std::byte*>(arena.data());
  plan.write(bytes, d, in.data());
  bool right = true;
  for (int64_t i = 0; i < view.shape[0]; i++) {
    for (int64_t j = 0; j < view.shape[1]; j++) {
      const int64_t index[2] = {i, j};
      const int64_t place = view.place_of(index) ^ d.flip;
      const int64_t at = d.base / 4 + place + padding_before(view.encoding, place);
      right &= arena[at] == in[i * plan.strides()[0] + j * plan.strides()[1]];
    }
  }
  CHECK(right);
  plan.read(out.data(), bytes, d);
  CHECK(out == in);
}

}  // namespace

TEST(plans_follow_places) {
  for (std::vector<int> order : {std::vector<int>{}, {1, 0}, {0, 1}}) {
    check_places(view_of(swizzled(1, 1, 1, {1, 0}), {8, 16}), order, {0, 0});
    check_places(view_of(swizzled(4, 1, 4, {1, 0}), {16, 32}), order, {64, 0});
    check_places(view_of(swizzled(2, 2, 4, {0, 1}), {16, 32}), order, {0, 0});
    check_places(view_of(nvmma(128, false), {16, 64}), order, {128, 0});
    check_places(view_of(nvmma(64, true), {32, 16}), order, {0, 0});
    layout::Encoding padded{};
    padded.kind = layout::EncodingKind::kPaddedShared;
    padded.order = {1, 0};
    padded.padding = {{16, 4}, {64, 8}};
    check_places(view_of(padded, {8, 32}), order, {0, 0});
  }
}

TEST(slices_flip_places) {
  const layout::Encoding e = swizzled(4, 1, 4, {1, 0});
  const MemView whole = view_of(e, {16, 32});
  for (const auto& [i, j] : {std::pair<int64_t, int64_t>{8, 0}, {0, 16}, {8, 16}, {12, 24}}) {
    const int64_t at[2] = {i, j};
    const MemView part = view_of(e, {16, 32}, {4, 8});
    check_places(part, {}, {0, whole.place_of(at)});
  }
}

TEST(order_of_memory) {
  CHECK(memory_order(view_of(swizzled(2, 1, 4, {1, 0}), {8, 16})) == std::vector<int>({1, 0}));
  CHECK(memory_order(view_of(swizzled(2, 1, 4, {0, 1}), {8, 16})) == std::vector<int>({0, 1}));
  CHECK(memory_order(view_of(nvmma(64, true), {32, 16})) == std::vector<int>({0, 1}));
}

}  // namespace triton_runner::tile
