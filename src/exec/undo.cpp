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

// Followed by its bytes, unless they are one word again and again, as those of new memory are.
struct alignas(64) UndoLog::Saved {
  Saved* next;
  uint64_t address, bytes;
  bool is_filled = false;
  uint64_t word = 0;
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  // Bytes [from, from + count) of them.
  void copy(uint64_t from, std::byte* to, uint64_t count) {
    if (!is_filled) return void(std::memcpy(to, data() + from, count));
    for (uint64_t i = 0; i < count;) {  // an address is one of a word
      const uint64_t skip = (from + i) % sizeof word, part = std::min(count - i, sizeof word - skip);
      std::memcpy(to + i, reinterpret_cast<const std::byte*>(&word) + skip, part);
      i += part;
    }
  }
  void put_back() {
    auto* to = reinterpret_cast<uint64_t*>(address);
    if (is_filled)
      std::fill_n(to, bytes / sizeof word, word);
    else
      std::memcpy(to, data(), bytes);
  }
};

namespace {

constexpr uint64_t kChunk = 64 << 10;
constexpr uint64_t kBlock = 8 << 20;       // of memory for what is saved
constexpr uint64_t kMostKept = 512 << 20;  // of them, for the next launch
constexpr uint64_t kMostChunks = 1024;     // of a region: each may be a mapping of its own to the system

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

bool is_filled(const std::byte* data, uint64_t bytes) {
  return std::memcmp(data, data + sizeof(uint64_t), bytes - sizeof(uint64_t)) == 0;
}

bool let_write(uint64_t address, uint64_t bytes, bool on) {
  return ::mprotect(host(address), bytes, on ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

}  // namespace

UndoLog::UndoLog() = default;
UndoLog::~UndoLog() {
  end();
  for (const Block& b : blocks_) ::munmap(b.data, b.bytes);
}

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
  free_.assign(regions_.size(), nullptr);
  free_filled_ = nullptr;
  blocks_.reserve(1 << 16);  // the handler adds to them
  block_ = 0;
  next_ = end_ = nullptr;
  add_mark();
  if (free == logs.end()) {  // nobody would be told: all of it is saved
    for (size_t r = 0; r < regions_.size(); ++r)
      for (size_t c = 0; c < regions_[r].open.size(); ++c) open_chunk(r, c);
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
  for (size_t region = 0; region < regions_.size(); ++region) {
    Region& r = regions_[region];
    for (size_t c = 0; c < r.open.size();) {
      if (!r.open[c]) {
        ++c;
        continue;
      }
      const size_t from = c;
      for (; c < r.open.size() && r.open[c]; ++c) r.open[c] = 0;
      const uint64_t at = r.first + from * r.chunk;
      if (!let_write(at, std::min(r.last, r.first + c * r.chunk) - at, false))
        for (size_t k = from; k < c; ++k) open_chunk(region, k);  // the system does not: it is saved at once
    }
  }
}

UndoLog::Saved* UndoLog::allocate(size_t region, bool filled) {
  Saved*& free = filled ? free_filled_ : free_[region];
  if (Saved* saved = free) {
    free = saved->next;
    return saved;
  }
  const uint64_t bytes = sizeof(Saved) + (filled ? 0 : regions_[region].chunk);
  if (static_cast<uint64_t>(end_ - next_) < bytes && !next_block(bytes)) return nullptr;
  auto* saved = new (next_) Saved{};
  next_ += bytes;
  return saved;
}

// Blocks of the launch before are taken again: the system need not clear them.
bool UndoLog::next_block(uint64_t bytes) {
  while (block_ < blocks_.size() && blocks_[block_].bytes < bytes) ++block_;
  if (block_ == blocks_.size()) {
    if (blocks_.size() == blocks_.capacity()) return false;
    const uint64_t wanted = std::max(kBlock, bytes);
    void* block =
        ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block == MAP_FAILED) return false;
    ::madvise(block, wanted, MADV_HUGEPAGE);
    blocks_.push_back({static_cast<std::byte*>(block), wanted});
  }
  next_ = blocks_[block_].data;
  end_ = next_ + blocks_[block_++].bytes;
  return true;
}

void UndoLog::release(Saved* saved) {
  Saved*& free = saved->is_filled ? free_filled_ : free_[region_of(saved->address)];
  saved->next = free;
  free = saved;
}

void UndoLog::release_all(Saved* saved) {
  while (saved) {
    Saved* next = saved->next;
    release(saved);
    saved = next;
  }
}

// Of an address that is in one.
size_t UndoLog::region_of(uint64_t address) const {
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                      [](uint64_t a, const Region& r) { return a < r.begin; });
  return static_cast<size_t>(after - regions_.begin()) - 1;
}

bool UndoLog::open_chunk(size_t region, size_t c) {
  Region& r = regions_[region];
  Mark& mark = marks_.back();
  const uint64_t at = r.first + c * r.chunk, bytes = std::min(r.chunk, r.last - at);
  if (!mark.has[region][c]) {
    const bool filled = is_filled(host(at), bytes);
    Saved* saved = allocate(region, filled);
    if (!saved) return false;
    *saved = {mark.saved, at, bytes, filled};
    if (filled)
      std::memcpy(&saved->word, host(at), sizeof saved->word);
    else
      std::memcpy(saved->data(), host(at), bytes);
    mark.saved = saved;
    mark.has[region][c] = 1;
  }
  r.open[c] = 1;
  return let_write(at, bytes, true);
}

bool UndoLog::on_fault(uint64_t address) {
  if (regions_.empty() || address < regions_.front().begin) return false;
  const size_t region = region_of(address);
  Region& r = regions_[region];
  if (address < r.first || address >= r.last) return false;
  const size_t chunk = (address - r.first) / r.chunk;
  return !r.open[chunk] && open_chunk(region, chunk);
}

void UndoLog::add_mark() {
  Mark& mark = marks_.emplace_back();
  for (const Region& r : regions_) {
    mark.has.emplace_back(r.open.size());
    mark.edges.emplace_back(host(r.begin), host(std::min(r.first, r.end)));
    mark.edges.emplace_back(host(std::max(r.last, r.begin)), host(r.end));
  }
}

size_t UndoLog::mark() {
  protect();
  add_mark();
  return marks_.size() - 1;
}

// Writes go where the mark's own chunks are open, which those that were written to are.
void UndoLog::apply(const Mark& mark) {
  for (Saved* s = mark.saved; s; s = s->next) s->put_back();
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& r = regions_[i];
    const std::vector<std::byte>&head = mark.edges[2 * i], &tail = mark.edges[2 * i + 1];
    std::copy(head.begin(), head.end(), host(r.begin));
    std::copy(tail.begin(), tail.end(), host(std::max(r.last, r.begin)));
  }
}

void UndoLog::put_back(size_t mark) {
  for (Region& r : regions_) {
    if (r.open.empty()) continue;
    let_write(r.first, r.last - r.first, true);
    std::fill(r.open.begin(), r.open.end(), uint8_t{1});
  }
  while (marks_.size() > mark) {
    apply(marks_.back());
    release_all(marks_.back().saved);
    marks_.back().saved = nullptr;
    for (auto& has : marks_.back().has) std::fill(has.begin(), has.end(), uint8_t{0});
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
    for (Saved* s = marks_[m].saved; s; s = s->next) {
      const uint64_t low = std::max(s->address, address);
      const uint64_t high = std::min(s->address + s->bytes, address + out.size());
      if (low < high) s->copy(low - s->address, out.data() + (low - address), high - low);
    }
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
    const size_t region = region_of(later->address);
    uint8_t& known = into.has[region][(later->address - regions_[region].first) / regions_[region].chunk];
    if (known) {
      release(later);
    } else {
      known = 1;
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
  for (const Region& r : regions_)
    for (size_t c = 0; c < r.open.size();) {  // those that are closed
      const size_t from = c;
      while (c < r.open.size() && !r.open[c]) ++c;
      const uint64_t at = r.first + from * r.chunk;
      if (c > from) let_write(at, std::min(r.last, r.first + c * r.chunk) - at, true);
      while (c < r.open.size() && r.open[c]) ++c;
    }
  while (kept_bytes() > kMostKept) {
    ::munmap(blocks_.back().data, blocks_.back().bytes);
    blocks_.pop_back();
  }
  regions_.clear();
  marks_.clear();
}

uint64_t UndoLog::saved_bytes() const {
  uint64_t bytes = 0;
  for (const Mark& m : marks_)
    for (Saved* s = m.saved; s; s = s->next) bytes += s->is_filled ? 0 : s->bytes;
  return bytes;
}

uint64_t UndoLog::kept_bytes() const {
  uint64_t bytes = 0;
  for (const Block& b : blocks_) bytes += b.bytes;
  return bytes;
}

}  // namespace triton_runner::exec
