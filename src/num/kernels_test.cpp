// Tests the movement kernels against their one-line definitions.
#include <triton_runner/num/kernels.h>

#include <algorithm>
#include <cstring>

#include "test_data.h"

using namespace triton_runner::num;
using namespace triton_runner::num::testing;

namespace {

template <class Body>
void on_each_isa(Body body) {
  for (Isa isa : available_isas()) {
    CHECK(force_isa(isa_name(isa)));
    body();
  }
  force_isa("");
}

std::vector<char> noise(size_t n, std::mt19937_64& random) {
  std::vector<char> bytes(n);
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

}  // namespace

TEST(kernels_copies) {
  std::mt19937_64 random(50);
  on_each_isa([&] {
    for (size_t size : {1, 2, 4, 8}) {
      auto s = static_cast<int64_t>(size);
      auto in = noise(4096 * size, random);
      auto element = [&](const std::vector<char>& v, int64_t i) {
        return std::string(v.data() + i * s, size);
      };
      for (auto [rows, cols] : {std::pair{1, 1}, {3, 5}, {8, 8}, {16, 32}, {17, 9}, {33, 40}, {64, 64}}) {
        std::vector<char> out(4096 * size);
        transpose(out.data(), rows, in.data(), cols, rows, cols, size);
        bool ok = true;
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < cols; ++c) ok &= element(out, c * rows + r) == element(in, r * cols + c);
        CHECK(ok);
      }
      std::vector<char> out(4096 * size);
      copy_strided(out.data(), 3, in.data(), 2, 100, size);
      for (int64_t i = 0; i < 100; ++i) CHECK(element(out, 3 * i) == element(in, 2 * i));
      int64_t shape[] = {3, 5, 7};
      for (auto strides : {std::array<int64_t, 3>{35, 7, 1},
                           {1, 3, 15},
                           {0, 7, 1},
                           {35, 1, 5},
                           {-35, 7, 1},
                           {2, 100, 6},
                           {1, 0, 0}}) {
        const char* base = in.data() + (strides[0] < 0 ? 70 * s : 0);
        copy_view(out.data(), base, shape, strides.data(), 3, size);
        bool ok = true;
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 5; ++j)
            for (int64_t k = 0; k < 7; ++k)
              ok &= element(out, (i * 5 + j) * 7 + k) ==
                    std::string(base + (i * strides[0] + j * strides[1] + k * strides[2]) * s, size);
        CHECK(ok);
      }
      repeat(out.data(), in.data(), 4, 6, 5, size);
      for (int64_t i = 0; i < 120; ++i) CHECK(element(out, i) == element(in, i / 30 * 5 + i % 5));
      repeat(out.data(), in.data(), 4, 9, 1, size);
      for (int64_t i = 0; i < 36; ++i) CHECK(element(out, i) == element(in, i / 9));
      uint64_t bits = 0x1122334455667788;
      fill(out.data(), bits, 77, size);
      for (int64_t i = 0; i < 77; ++i) CHECK(std::memcmp(out.data() + i * s, &bits, size) == 0);
      copy_rows(out.data(), 10 * s, in.data(), 20 * s, 6, 8 * s);
      for (int64_t r = 0; r < 6; ++r)
        CHECK(std::memcmp(out.data() + r * 10 * s, in.data() + r * 20 * s, 8 * size) == 0);
    }
  });
}

// Every offset from a line and every length around whole lines; nothing beside is written.
TEST(kernels_copies_past_caches) {
  std::mt19937_64 random(51);
  on_each_isa([&] {
    const auto in = noise(1024, random), before = noise(1024, random);
    for (int64_t offset = 0; offset < 64; ++offset)
      for (int64_t bytes : {0, 1, 4, 60, 63, 64, 65, 127, 128, 200, 512, 640 - 1}) {
        std::vector<char> out = before;
        copy_past_caches(out.data() + offset, in.data() + offset % 7, bytes);
        finish_past_caches();
        std::vector<char> expected = before;
        std::copy_n(in.begin() + offset % 7, bytes, expected.begin() + offset);
        CHECK(out == expected);
      }
  });
}

TEST(kernels_addresses) {
  std::mt19937_64 random(51);
  on_each_isa([&] {
    for (size_t size : {1, 2, 4, 8}) {
      auto s = static_cast<int64_t>(size);
      constexpr int64_t n = 333;
      auto memory = noise(n * size, random), out = noise(n * size, random), before = out;
      auto base = reinterpret_cast<uint64_t>(memory.data());
      std::vector<int32_t> offsets(n);
      std::vector<int64_t> wide(n);
      for (int64_t i = 0; i < n; ++i)
        wide[static_cast<size_t>(i)] = offsets[static_cast<size_t>(i)] = static_cast<int32_t>(random() % n);
      std::vector<uint64_t> addresses(n), again(n);
      addresses_i32(addresses.data(), base, offsets.data(), n, s);
      addresses_i64(again.data(), base, wide.data(), n, s);
      CHECK(addresses == again);
      CHECK_EQ(addresses[7], base + static_cast<uint64_t>(offsets[7]) * size);
      std::vector<int32_t> back(n, -1);
      addptr_i32(again.data(), addresses.data(), back.data(), n, s);
      CHECK_EQ(again[5], addresses[5] - size);
      std::vector<uint8_t> mask(n);
      for (auto& m : mask) m = random() & 1;
      gather(out.data(), addresses.data(), mask.data(), n, size);
      bool ok = true;
      for (int64_t i = 0; i < n; ++i)
        ok &= std::memcmp(out.data() + i * s,
                          mask[static_cast<size_t>(i)] ? memory.data() + offsets[static_cast<size_t>(i)] * s
                                                       : before.data() + i * s,
                          size) == 0;
      CHECK(ok);
      gather(out.data(), addresses.data(), nullptr, n, size);
      for (int64_t i = 0; i < n; ++i)
        ok &= std::memcmp(out.data() + i * s, memory.data() + offsets[static_cast<size_t>(i)] * s, size) == 0;
      CHECK(ok);
      auto target = memory;
      for (auto& a : addresses) a += reinterpret_cast<uint64_t>(target.data()) - base;
      auto expected = target;
      for (int64_t i = 0; i < n; ++i)
        if (mask[static_cast<size_t>(i)])
          std::memcpy(expected.data() + offsets[static_cast<size_t>(i)] * s, before.data() + i * s, size);
      scatter(addresses.data(), before.data(), mask.data(), n, size);
      CHECK(target == expected);
      uint64_t low = 0, high = 0;
      CHECK(address_range(addresses.data(), nullptr, n, &low, &high));
      CHECK_EQ(low, *std::min_element(addresses.begin(), addresses.end()));
      CHECK_EQ(high, *std::max_element(addresses.begin(), addresses.end()));
      std::vector<uint8_t> one(n);
      one[200] = 1;
      CHECK(address_range(addresses.data(), one.data(), n, &low, &high) && low == addresses[200] &&
            high == addresses[200]);
      one[200] = 0;
      CHECK(!address_range(addresses.data(), one.data(), n, &low, &high));
      for (int64_t i = 0; i < n; ++i)
        addresses[static_cast<size_t>(i)] = base + static_cast<uint64_t>(i) * size;
      CHECK(contiguous(addresses.data(), n, size));
      for (size_t wrong : {size_t{1}, size_t{100}, size_t{n - 1}}) {
        auto broken = addresses;
        broken[wrong] += 1;
        CHECK(!contiguous(broken.data(), n, size));
      }
      CHECK(contiguous(addresses.data(), 1, size));
    }
  });
}

TEST(kernels_masks) {
  on_each_isa([&] {
    for (int64_t n : {0, 1, 63, 64, 65, 1000}) {
      std::vector<uint8_t> on(static_cast<size_t>(n), 1);
      CHECK(mask_all(on.data(), n));
      for (int64_t at = 0; at < n; at += 31) {
        on[static_cast<size_t>(at)] = 0;
        CHECK(!mask_all(on.data(), n));
        on[static_cast<size_t>(at)] = 1;
      }
    }
    int64_t shape[] = {4, 5, 6}, low[] = {-1, 2, 1}, high[] = {3, 9, 5};
    uint8_t box[120];
    mask_box(box, shape, low, high, 3);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 5; ++j)
        for (int64_t k = 0; k < 6; ++k)
          CHECK_EQ(int{box[(i * 5 + j) * 6 + k]}, int{i < 3 && j >= 2 && k >= 1 && k < 5});
    int64_t empty_low[] = {3, 0, 0}, empty_high[] = {1, 5, 6};
    mask_box(box, shape, empty_low, empty_high, 3);
    CHECK(std::all_of(box, box + 120, [](uint8_t on) { return on == 0; }));
  });
}
