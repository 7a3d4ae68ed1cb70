// Implements TwoRuns: keeps what the first launch leaves page by page, and finds the first page that the
// second has otherwise.
#include <triton_runner/exec/two_runs.h>

#include <algorithm>
#include <cstring>
#include <mutex>

namespace triton_runner::exec {

namespace {

// A log that no launch uses, whose memory the system need not clear for the next one.
std::mutex idle_mutex;
std::unique_ptr<UndoLog> idle_log;

std::unique_ptr<UndoLog> take() {
  std::lock_guard lock(idle_mutex);
  return idle_log ? std::move(idle_log) : std::make_unique<UndoLog>();
}

void give(std::unique_ptr<UndoLog> log) {
  constexpr uint64_t kMostIdle = 64 << 20;
  if (log->saved_bytes() > kMostIdle) return;
  log->end();
  std::lock_guard lock(idle_mutex);
  std::swap(idle_log, log);
}

}  // namespace

TwoRuns::TwoRuns(std::span<const Allocation> memory, bool shares, bool told)
    : own_(take()), memory_(memory.begin(), memory.end()) {
  UndoLog* log = nullptr;
  std::vector<Allocation> others;
  for (const Allocation& a : memory) {
    UndoLog* holding = shares && a.writable ? UndoLog::holding({&a, 1}) : nullptr;
    if (holding && (!log || log == holding))
      log = holding;
    else
      others.push_back(a);
  }
  if (log) parts_.push_back({log, log->mark()});
  told ? own_->begin_told(others) : own_->begin(others);
  parts_.push_back({own_.get(), own_->mark()});
}

TwoRuns::~TwoRuns() {
  for (Part& part : parts_) part.log->merge(part.start);
  give(std::move(own_));
}

void TwoRuns::include(const Allocation& memory) {
  if (!memory.writable || UndoLog::holding({&memory, 1}) == parts_[0].log) return memory_.push_back(memory);
  own_->include(memory);
  memory_.push_back(memory);
}

void TwoRuns::keep() {
  for (Part& part : parts_)
    for (std::span<std::byte> now : part.log->changed(part.start))
      pages_[now.data()].assign(now.begin(), now.end());
  put_back();
}

void TwoRuns::put_back() {
  for (Part& part : parts_) part.log->put_back(part.start);
}

void TwoRuns::restore() {
  put_back();
  for (const auto& [at, bytes] : pages_) std::copy(bytes.begin(), bytes.end(), at);
}

std::optional<std::pair<const Allocation*, uint64_t>> TwoRuns::difference() {
  for (Part& part : parts_)  // where the first launch left what was there
    for (std::span<std::byte> now : part.log->changed(part.start))
      if (auto [page, is_new] = pages_.try_emplace(now.data(), now.size()); is_new)
        part.log->read(part.start, reinterpret_cast<uint64_t>(now.data()), page->second);
  for (const Allocation& a : memory_) {
    auto* begin = reinterpret_cast<std::byte*>(a.address);
    auto page = pages_.upper_bound(begin);
    if (page != pages_.begin()) --page;  // it may reach into the memory
    for (; a.writable && page != pages_.end() && page->first < begin + a.bytes; ++page) {
      const std::vector<std::byte>& kept = page->second;
      if (std::memcmp(page->first, kept.data(), kept.size()) == 0) continue;
      for (size_t i = 0; i < kept.size(); ++i) {
        const std::byte* at = page->first + i;
        if (at >= begin && at < begin + a.bytes && *at != kept[i])
          return std::pair{&a, static_cast<uint64_t>(at - begin)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace triton_runner::exec
