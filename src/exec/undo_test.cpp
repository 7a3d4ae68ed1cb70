// Memory that is put back, page by page.
#include "test.h"

#include <triton_runner/exec/undo.h>

#include <vector>

using namespace triton_runner::exec;

namespace {

constexpr size_t kBytes = 1 << 20;

struct Block {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kBytes, 1);
  Allocation allocation() {
    return {reinterpret_cast<uint64_t>(bytes.data()) + 3, kBytes - 10, "block", true};
  }
  uint8_t* at(size_t i) { return bytes.data() + 3 + i; }
};

}  // namespace

TEST(memory_goes_back_to_any_mark) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  const size_t places[] = {0, 1, 5000, 70000, 400000, kBytes - 11};
  for (size_t p : places) *block.at(p) = 2;
  CHECK_EQ(log.mark(), size_t{1});
  for (size_t p : places) *block.at(p) = 3;
  *block.at(800000) = 3;
  CHECK_EQ(log.mark(), size_t{2});
  *block.at(5000) = 4;
  log.put_back(1);
  for (size_t p : places) CHECK_EQ(int{*block.at(p)}, 2);
  CHECK_EQ(int{*block.at(800000)}, 1);
  *block.at(70000) = 9;
  log.put_back(1);
  CHECK_EQ(int{*block.at(70000)}, 2);
  log.put_back(0);
  for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
}

TEST(merged_marks_and_the_first) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  *block.at(5000) = 2;
  log.mark();
  *block.at(5000) = 3;
  *block.at(90000) = 3;
  log.merge(1);
  *block.at(5000) = 4;
  log.put_back(0);
  CHECK_EQ(int{*block.at(5000)}, 1);
  CHECK_EQ(int{*block.at(90000)}, 1);
  *block.at(5000) = 5;
  log.mark();
  *block.at(5000) = 6;
  *block.at(2) = 6;
  std::vector<std::byte> first(90001);
  log.read_first(reinterpret_cast<uint64_t>(block.at(1)), first);
  for (std::byte byte : first) CHECK_EQ(static_cast<int>(byte), 1);
  log.end();
  *block.at(5000) = 7;
  CHECK(!log.is_on());
}

TEST(what_is_one_word_again_and_again_takes_no_memory) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  *block.at(5000) = 2;
  *block.at(500000) = 2;
  CHECK_EQ(log.saved_bytes(), uint64_t{0});
  std::vector<std::byte> first(600000);
  log.read_first(reinterpret_cast<uint64_t>(block.at(1)), first);
  for (std::byte byte : first) CHECK_EQ(static_cast<int>(byte), 1);
  log.put_back(0);
  for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
}

TEST(what_is_not_written_is_not_copied) {
  Block block;
  block.bytes[500001] = 5;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  CHECK_EQ(log.saved_bytes(), uint64_t{0});
  *block.at(500000) = 2;
  CHECK(log.saved_bytes() > 0 && log.saved_bytes() <= 64 << 10);
}
