// Pages that are read-only until somebody writes to them, and the handler of the fault that he gets.
#include <triton_runner/exec/undo.h>

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace triton_runner::exec {

// Followed by its bytes. From mmap: the handler may not allocate otherwise.
struct UndoLog::Saved {
  Saved* next;
  uint64_t address, bytes;
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  void free() { ::munmap(this, sizeof(Saved) + bytes); }
};

namespace {

constexpr uint64_t kChunk = 64 << 10;
constexpr uint64_t kMostChunks = 4096;  // of a region: each may be a mapping of its own to the system

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The logs of this process that are on, and who was told of faults before.
std::array<std::atomic<UndoLog*>, 16> logs;
struct sigaction before;
std::mutex installing;

void on_segv(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  for (auto& slot : logs)
    if (UndoLog* log = slot.load(); log && log->on_fault(address)) {
      errno = saved_errno;
      return;
    }
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  ::signal(number, SIG_DFL);  // it faults again, and that ends the process
}

// Others may have put theirs in its place since.
void install() {
  std::lock_guard lock(installing);
  struct sigaction now;
  ::sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_segv) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_segv;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  before = now;
  ::sigaction(SIGSEGV, &ours, nullptr);
}

std::byte* host(uint64_t address) { return reinterpret_cast<std::byte*>(address); }

bool let_write(uint64_t address, uint64_t bytes, bool on) {
  return ::mprotect(host(address), bytes, on ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

}  // namespace

UndoLog::UndoLog() = default;
UndoLog::~UndoLog() { end(); }

void UndoLog::begin(std::span<const Allocation> memory) {
  end();
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const Allocation& a : memory)
    if (a.writable && a.bytes > 0) parts.emplace_back(a.address, a.address + a.bytes);
  std::sort(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size();) {
    auto [first, last] = parts[i];
    for (++i; i < parts.size() && parts[i].first <= last; ++i) last = std::max(last, parts[i].second);
    add(first, last);
  }
  const auto free = std::find_if(logs.begin(), logs.end(), [this](auto& slot) {
    UndoLog* none = nullptr;
    return slot.compare_exchange_strong(none, this);
  });
  marks_.emplace_back();
  save_edges(marks_.back());
  if (free == logs.end()) {  // nobody would be told: all of it is saved
    for (Region& r : regions_)
      for (size_t c = 0; c < r.open.size(); ++c) open_chunk(r, c);
    return;
  }
  install();
  protect();
}

void UndoLog::add(uint64_t begin, uint64_t end) {
  const uint64_t page = page_bytes();
  Region r{begin, end, (begin + page - 1) / page * page, end / page * page, kChunk, {}};
  if (r.last < r.first) r.first = r.last = end;
  while (r.chunk * kMostChunks < r.last - r.first) r.chunk *= 2;
  r.open.assign((r.last - r.first + r.chunk - 1) / r.chunk, 1);
  regions_.push_back(std::move(r));
}

// Chunks that were written to are closed again.
void UndoLog::protect() {
  for (Region& r : regions_)
    for (size_t c = 0; c < r.open.size();) {
      if (!r.open[c]) {
        ++c;
        continue;
      }
      const size_t from = c;
      for (; c < r.open.size() && r.open[c]; ++c) r.open[c] = 0;
      const uint64_t at = r.first + from * r.chunk;
      if (!let_write(at, std::min(r.last, r.first + c * r.chunk) - at, false))
        for (size_t k = from; k < c; ++k) open_chunk(r, k);  // the system does not: it is saved at once
    }
}

bool UndoLog::open_chunk(Region& r, size_t c) {
  const uint64_t at = r.first + c * r.chunk, bytes = std::min(r.chunk, r.last - at);
  void* memory =
      ::mmap(nullptr, sizeof(Saved) + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* saved = new (memory) Saved{marks_.back().saved, at, bytes};
  std::memcpy(saved->data(), host(at), bytes);
  marks_.back().saved = saved;
  r.open[c] = 1;
  return let_write(at, bytes, true);
}

bool UndoLog::on_fault(uint64_t address) {
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                      [](uint64_t a, const Region& r) { return a < r.begin; });
  if (after == regions_.begin()) return false;
  Region& r = *(after - 1);
  if (address < r.first || address >= r.last) return false;
  const size_t chunk = (address - r.first) / r.chunk;
  return !r.open[chunk] && open_chunk(r, chunk);
}

void UndoLog::save_edges(Mark& mark) const {
  for (const Region& r : regions_) {
    mark.edges.emplace_back(host(r.begin), host(std::min(r.first, r.end)));
    mark.edges.emplace_back(host(std::max(r.last, r.begin)), host(r.end));
  }
}

size_t UndoLog::mark() {
  protect();
  marks_.emplace_back();
  save_edges(marks_.back());
  return marks_.size() - 1;
}

// Writes go where the mark's own chunks are open, which those that were written to are.
void UndoLog::apply(const Mark& mark) {
  for (Saved* s = mark.saved; s; s = s->next) std::memcpy(host(s->address), s->data(), s->bytes);
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& r = regions_[i];
    const std::vector<std::byte>&head = mark.edges[2 * i], &tail = mark.edges[2 * i + 1];
    std::copy(head.begin(), head.end(), host(r.begin));
    std::copy(tail.begin(), tail.end(), host(std::max(r.last, r.begin)));
  }
}

namespace {

void free_all(UndoLog::Saved* saved) {
  while (saved) {
    UndoLog::Saved* next = saved->next;
    saved->free();
    saved = next;
  }
}

}  // namespace

void UndoLog::put_back(size_t mark) {
  for (Region& r : regions_) {
    if (r.open.empty()) continue;
    let_write(r.first, r.last - r.first, true);
    std::fill(r.open.begin(), r.open.end(), uint8_t{1});
  }
  while (marks_.size() > mark) {
    apply(marks_.back());
    free_all(marks_.back().saved);
    marks_.back().saved = nullptr;
    if (marks_.size() == mark + 1) break;
    marks_.pop_back();
  }
  protect();
}

void UndoLog::read_first(uint64_t address, std::span<std::byte> out) const {
  std::memcpy(out.data(), host(address), out.size());
  const auto put = [&](uint64_t at, const std::byte* data, uint64_t bytes) {
    const uint64_t low = std::max(at, address), high = std::min(at + bytes, address + out.size());
    if (low < high) std::memcpy(out.data() + (low - address), data + (low - at), high - low);
  };
  for (size_t m = marks_.size(); m-- > 0;) {
    for (Saved* s = marks_[m].saved; s; s = s->next) put(s->address, s->data(), s->bytes);
    for (size_t i = 0; i < regions_.size(); ++i) {
      const std::vector<std::byte>&head = marks_[m].edges[2 * i], &tail = marks_[m].edges[2 * i + 1];
      put(regions_[i].begin, head.data(), head.size());
      put(regions_[i].end - tail.size(), tail.data(), tail.size());
    }
  }
}

void UndoLog::merge(size_t mark) {
  Mark& into = marks_[mark - 1];
  Saved* later = marks_[mark].saved;
  while (later) {
    Saved* next = later->next;
    const bool known = [&] {
      for (Saved* s = into.saved; s; s = s->next)
        if (s->address == later->address) return true;
      return false;
    }();
    if (known) {
      later->free();
    } else {
      later->next = into.saved;
      into.saved = later;
    }
    later = next;
  }
  marks_.erase(marks_.begin() + static_cast<ptrdiff_t>(mark));
}

void UndoLog::end() {
  for (auto& slot : logs) {
    UndoLog* ours = this;
    slot.compare_exchange_strong(ours, nullptr);
  }
  for (Region& r : regions_)
    if (!r.open.empty()) let_write(r.first, r.last - r.first, true);
  for (Mark& m : marks_) free_all(m.saved);
  regions_.clear();
  marks_.clear();
}

uint64_t UndoLog::saved_bytes() const {
  uint64_t bytes = 0;
  for (const Mark& m : marks_)
    for (Saved* s = m.saved; s; s = s->next) bytes += s->bytes;
  return bytes;
}

}  // namespace triton_runner::exec
