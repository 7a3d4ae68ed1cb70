// Tests that memory is put back, page by page, by one log and by several that hold the same memory.
#include "test.h"

#include <triton_runner/exec/undo.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>
#include <thread>
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
  log.read(0, reinterpret_cast<uint64_t>(block.at(1)), first);
  for (std::byte byte : first) CHECK_EQ(static_cast<int>(byte), 1);
  log.end();
  *block.at(5000) = 7;
  CHECK(!log.is_on());
}

TEST(a_log_that_the_writer_tells_puts_memory_back) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin_told(memory);
  CHECK(!UndoLog::holding(memory));
  const auto write = [&](size_t i, uint8_t value, size_t bytes = 1) {
    const auto at = reinterpret_cast<uint64_t>(block.at(i));
    const auto [begin, end] = log.writes(at, bytes);
    CHECK(begin <= at && at + bytes <= end);
    for (size_t k = 0; k < bytes; ++k) *block.at(i + k) = value;
  };
  for (size_t p : {size_t{0}, size_t{5000}, size_t{400000}, kBytes - 11}) write(p, 2);
  write(130000, 2, 200000);  // over several chunks
  CHECK_EQ(log.mark(), size_t{1});
  write(5000, 3);
  write(800000, 3);
  log.put_back(1);
  CHECK_EQ(int{*block.at(5000)}, 2);
  CHECK_EQ(int{*block.at(800000)}, 1);
  write(800000, 4);
  CHECK_EQ(log.changed(1).size(), size_t{1});
  log.put_back(0);
  for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
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
  log.read(0, reinterpret_cast<uint64_t>(block.at(1)), first);
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

TEST(the_pages_that_changed) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  *block.at(70000) = 1;  // written, and what it was
  CHECK(log.changed(0).empty());
  *block.at(0) = 2;
  *block.at(400000) = 2;
  const size_t mark = log.mark();
  *block.at(400000) = 1;
  *block.at(kBytes - 11) = 2;
  const auto first = log.changed(0), later = log.changed(mark);
  CHECK_EQ(first.size(), size_t{2});  // the ends of the block: 400000 is what it was
  CHECK_EQ(later.size(), size_t{2});
  CHECK(first[0].data() == reinterpret_cast<std::byte*>(block.at(0)));
  CHECK(later[0].data() <= reinterpret_cast<std::byte*>(block.at(400000)));
  CHECK(later[0].size() <= size_t{4096});
  std::vector<std::byte> then(1);
  log.read(mark, reinterpret_cast<uint64_t>(block.at(400000)), then);
  CHECK_EQ(static_cast<int>(then[0]), 2);
  log.read(0, reinterpret_cast<uint64_t>(block.at(400000)), then);
  CHECK_EQ(static_cast<int>(then[0]), 1);
}

TEST(memory_that_a_launch_meets_later) {
  Block block, met;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  log.begin(memory);
  log.mark();
  Allocation all = met.allocation();
  all.bytes /= 2;
  log.include(all);
  all.bytes *= 2;
  log.include(all);  // and the other half
  log.include(block.allocation());
  *met.at(5000) = 2;
  *met.at(900000) = 2;
  *block.at(5000) = 2;
  CHECK_EQ(log.changed(1).size(), size_t{3});
  log.put_back(0);
  for (uint8_t byte : met.bytes) CHECK_EQ(int{byte}, 1);
  for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
}

TEST(logs_of_the_same_memory) {
  Block block;
  UndoLog outer, inner;
  const Allocation memory[] = {block.allocation()};
  Allocation part = block.allocation();
  part.address += 20000;  // its chunks begin elsewhere
  part.bytes -= 40000;
  outer.begin(memory);
  CHECK(UndoLog::holding(memory) == &outer);
  *block.at(30000) = 2;
  inner.begin({&part, 1});
  *block.at(30000) = 3;
  *block.at(300000) = 3;
  inner.put_back(0);
  CHECK_EQ(int{*block.at(30000)}, 2);
  CHECK_EQ(int{*block.at(300000)}, 1);
  *block.at(300000) = 4;
  inner.end();
  *block.at(360000) = 5;  // in a chunk of the inner log that was open, and of the outer
  *block.at(700000) = 5;
  CHECK_EQ(outer.changed(0).size(), size_t{4});
  outer.put_back(0);
  for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
  outer.end();
  CHECK(!UndoLog::holding(memory));
}

TEST(threads_that_write_at_the_same_time) {
  Block block;
  UndoLog log;
  const Allocation memory[] = {block.allocation()};
  for (int round = 0; round < 20; ++round) {
    log.begin(memory);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        for (size_t i = t; i < kBytes - 10; i += 64 + t) *block.at(i) = 2;
      });
    for (std::thread& t : threads) t.join();
    log.put_back(0);
    log.end();
    for (uint8_t byte : block.bytes) CHECK_EQ(int{byte}, 1);
  }
}

// A log that ends opens the pages of its memory, and closes those of the others: never those of one that has ended.
TEST(logs_of_several_threads) {
  Block shared;
  const auto launches = [&](Block& own, uint8_t number) {
    const Allocation memory[] = {own.allocation(), shared.allocation()};
    size_t wrong = 0;
    for (int round = 0; round < 100; ++round) {
      UndoLog log;
      log.begin(memory);
      wrong += UndoLog::holding(memory) != &log;
      for (size_t i = 0; i < kBytes; i += 5000) *own.at(i) = number;
      log.mark();
      for (size_t i = 0; i < kBytes; i += 3000) *own.at(i) = 9;
      log.put_back(1);
      for (size_t i = 0; i < kBytes; i += 5000) wrong += *own.at(i) != number;
      log.put_back(0);
      log.end();
      for (size_t i = 0; i < kBytes; i += 1000) wrong += *own.at(i) != 1;
    }
    for (int round = 0; round < 2000; ++round) {
      UndoLog log;
      log.begin(memory);
      log.end();
      *own.at(static_cast<size_t>(round) * 300) =
          number;  // faults for good, if another thread closed it since
    }
    return wrong;
  };
  std::vector<size_t> wrong(4, 1);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      Block own;
      wrong[t] = launches(own, static_cast<uint8_t>(2 + t));
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<size_t>(4));
}

// A log whose own members lie in the memory that it holds faults in its handler: the process ends, and does not hang.
TEST(a_fault_of_the_handler_ends_the_process) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int number : {SIGSEGV, SIGALRM}) ::signal(number, SIG_DFL);
    ::alarm(60);
    void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* log = new (memory) UndoLog;
    const Allocation all[] = {{reinterpret_cast<uint64_t>(memory), kBytes, "block", true}};
    log->begin(all);
    static_cast<volatile char*>(memory)[kBytes / 2] = 1;
    ::_exit(0);
  }
  int status = 0;
  CHECK_EQ(::waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), SIGSEGV);
}
