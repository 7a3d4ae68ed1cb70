// Tests encodings against what Triton 3.9 itself says their linear layouts are (tests/golden/layouts.txt,
// written by tools/layout_goldens.py), and the places of elements in shared memory that follow.
#include <triton_runner/tile/encoding.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <triton_runner/ir/module.h>

#include "test.h"

namespace triton_runner::tile {
namespace {

struct Parsed {
  std::shared_ptr<ir::Module> module;
  const ir::Type* type = nullptr;
};

Parsed tensor_with(const std::string& encoding, const std::string& shape, const std::string& element) {
  auto module = ir::parse("module {\n  tt.func public @f(%a: tensor<" + shape + "x" + element + ", " +
                          encoding + ">) {\n    tt.return\n  }\n}\n");
  if (!module) return {};
  auto kept = std::make_shared<ir::Module>(std::move(*module));
  const ir::Op* func = kept->find_function("f");
  return {kept, func ? func->region(0)->first->args[0].type : nullptr};
}

base::Result<layout::LinearLayout> layout_of(const std::string& encoding, const std::string& shape,
                                             const std::string& element = "f16") {
  Parsed parsed = tensor_with(encoding, shape, element);
  if (!parsed.type || !parsed.type->encoding) return base::failure("does not parse: " + encoding);
  auto read = encoding_of(*parsed.type->encoding);
  if (!read) return read.error();
  return to_linear_layout(*read, parsed.type->shape);
}

// Beside this source where its name is absolute, else above the folder that the test runs in.
std::filesystem::path golden_file() {
  const std::filesystem::path name = "tests/golden/layouts.txt", source = __FILE__;
  if (source.is_absolute()) return source.parent_path() / "../../.." / name;
  for (auto folder = std::filesystem::current_path();; folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / name) || folder == folder.parent_path()) return folder / name;
  }
}

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> out;
  size_t at = 0;
  for (size_t next; (next = text.find(by, at)) != std::string::npos; at = next + by.size())
    out.push_back(text.substr(at, next - at));
  out.push_back(text.substr(at));
  return out;
}

std::map<std::string, std::string> by_dimension(const std::string& layout) {
  std::map<std::string, std::string> out;
  for (const std::string& part : split(layout, " "))
    out[part.substr(0, part.find('='))] = part.substr(part.find('=') + 1);
  return out;
}

}  // namespace

TEST(encodings_are_what_triton_says) {
  std::ifstream file(golden_file());
  CHECK(file.good());
  int asked = 0;
  for (std::string line; std::getline(file, line); asked++) {
    const auto parts = split(line, " | ");
    CHECK_EQ(parts.size(), size_t{4});
    if (parts.size() != 4) continue;
    auto layout = layout_of(parts[0], parts[2], parts[1]);
    if (!layout) {
      unit::record_failure(__FILE__, __LINE__, parts[0] + " on " + parts[2] + ": " + layout.error().message);
      continue;
    }
    auto ours = by_dimension(layout->str());
    for (const auto& [dim, bases] : by_dimension(parts[3])) {
      const std::string mine = ours.count(dim) ? ours[dim] : "[]";
      if (mine != bases)
        unit::record_failure(
            __FILE__, __LINE__,
            parts[0] + " on " + parts[2] + ": " + dim + " is " + mine + ", Triton says " + bases);
    }
  }
  CHECK(asked > 500);
}

TEST(old_spellings_mean_the_same) {
  auto same = [](const char* old_text, const char* new_text, const char* shape) {
    auto a = layout_of(old_text, shape), b = layout_of(new_text, shape);
    CHECK(a.ok() && b.ok());
    if (a.ok() && b.ok()) CHECK_EQ(a->str(), b->str());
  };
  same(
      "#triton_gpu.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = "
      "[1, 0]}>",
      "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
      "64x64");
  same("#triton_gpu.shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0], hasLeadingOffset = false}>",
       "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>", "64x32");
  same("#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>",
       "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", "64x128");
  same("#triton_gpu.shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [0, 1], hasLeadingOffset = true}>",
       "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>", "64x128");
  same(
      "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0], "
      "CTAsPerCGA = [2, 1], "
      "CTASplitNum = [2, 1], CTAOrder = [1, 0]}>",
      "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0], "
      "CGALayout = [[1, 0]]}>",
      "64x64");
}

TEST(padding_moves_what_follows) {
  Parsed parsed =
      tensor_with("#ttg.padded_shared<[32:+4, 64:+8] {order = [1, 0], shape = [64, 64]}>", "64x64", "f16");
  CHECK(parsed.type && parsed.type->encoding);
  auto encoding = encoding_of(*parsed.type->encoding);
  CHECK(encoding.ok());
  auto at = [&](int64_t i, int64_t j) {
    const int64_t index[2] = {i, j};
    return shared_offset(*encoding, parsed.type->shape, index, 16).value();
  };
  CHECK_EQ(at(0, 31), 62);
  CHECK_EQ(at(0, 32), (32 + 4) * 2);
  CHECK_EQ(at(1, 0), (64 + 4 * 2 + 8) * 2);
  CHECK_EQ(shared_size(*encoding, parsed.type->shape, 16).value(), (4096 + 127 * 4 + 63 * 8) * 2);
}

TEST(holders_of_an_element) {
  auto layout = layout_of(
      "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>",
      "32x16");
  CHECK(layout.ok());
  const int64_t index[2] = {9, 6};
  const auto found = holders(*layout, index);
  CHECK_EQ(found.size(), size_t{1});
  CHECK(found == std::vector<layout::Holder>({{2, 5, 1, 0}}));
}

TEST(encodings_that_cannot_be) {
  CHECK(!layout_of("#ttg.nvidia_mma<{versionMajor = 1, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = "
                   "[16, 16]}>",
                   "64x64")
             .ok());
  CHECK(
      !layout_of("#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>",
                 "64x64")
           .ok());
  CHECK(!layout_of("#ttg.frobnicated<{x = 1}>", "64x64").ok());
}

}  // namespace triton_runner::tile
