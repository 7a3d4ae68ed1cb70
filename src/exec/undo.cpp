// Implements UndoLog: makes pages read-only until somebody writes to them, and handles the fault of that
// first write.
#include <triton_runner/exec/undo.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

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
  bool is_same(uint64_t from, const std::byte* now, uint64_t count) {
    if (!is_filled) return std::memcmp(now, data() + from, count) == 0;
    for (uint64_t i = 0; i < count; i += sizeof word)
      if (std::memcmp(now + i, &word, sizeof word) != 0) return false;
    return true;
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
constexpr uint64_t kMostChunks = 16384;    // of all memory: each may be a mapping of its own to the system

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// The logs of this process that are on, and who was told of faults before.
std::array<std::atomic<UndoLog*>, 16> logs;
struct sigaction before;
std::mutex installing;
std::atomic<pid_t> handling;  // the thread that handles a fault, or 0
std::atomic<pid_t> holder;    // the thread that is Alone, or 0

// One thread at a time changes a log or looks at one. Threads of one launch fault at the same time, and one log opens
// and closes pages of another. A function of a log that is alone may itself fault, at a page that another log holds.
class Alone {
 public:
  Alone() {
    const pid_t thread = ::gettid();
    if (holder.load(std::memory_order_relaxed) == thread) return;
    for (pid_t nobody = 0; !holder.compare_exchange_weak(nobody, thread, std::memory_order_acquire);
         nobody = 0)
      ::sched_yield();
    is_outer_ = true;
  }
  ~Alone() {
    if (is_outer_) holder.store(0, std::memory_order_release);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool is_outer_ = false;
};

void on_segv(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const pid_t thread = ::gettid();
  // The handler's own fault ends the process: a log was told to hold memory that the process itself uses.
  const bool is_nested = handling.load(std::memory_order_relaxed) == thread;
  bool may_go_on = false;
  if (!is_nested) {
    Alone alone;
    handling.store(thread, std::memory_order_relaxed);
    may_go_on = UndoLog::on_fault(reinterpret_cast<uint64_t>(info->si_addr));
    handling.store(0, std::memory_order_relaxed);
  }
  errno = saved_errno;
  if (may_go_on) return;
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  ::signal(number, SIG_DFL);                // it faults again, and that ends the process
  if (info->si_code <= 0) ::raise(number);  // sent by a process: nothing faults again
}

// Others may have put theirs in its place since.
void install() {
  std::lock_guard lock(installing);
  // A forked child has none of the threads that may be alone.
  static const int forks = ::pthread_atfork(nullptr, nullptr, [] { handling = holder = 0; });
  static_cast<void>(forks);
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

std::vector<std::byte> edge_of(uint64_t begin, uint64_t end) { return {host(begin), host(end)}; }

}  // namespace

UndoLog::UndoLog() = default;
UndoLog::~UndoLog() {
  end();
  for (const Block& b : blocks_) ::munmap(b.data, b.bytes);
}

bool UndoLog::let_write(uint64_t address, uint64_t bytes, bool on) const {
  return teller_ == Teller::kWriter ||
         ::mprotect(host(address), bytes, on ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

void UndoLog::begin(std::span<const Allocation> memory) { begin(memory, Teller::kFaults); }

void UndoLog::begin_told(std::span<const Allocation> memory) { begin(memory, Teller::kWriter); }

void UndoLog::begin(std::span<const Allocation> memory, Teller teller) {
  Alone alone;
  end();
  thread_ = ::gettid();
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  bytes_ = 0;
  for (const Allocation& a : memory)
    if (a.writable && a.bytes > 0) {
      parts.emplace_back(a.address, a.address + a.bytes);
      bytes_ += a.bytes;
    }
  std::sort(parts.begin(), parts.end());
  for (size_t i = 0; i < parts.size();) {
    auto [first, last] = parts[i];
    for (++i; i < parts.size() && parts[i].first <= last; ++i) last = std::max(last, parts[i].second);
    add(first, last);
  }
  const auto is_known = [this](auto& slot) {
    UndoLog* none = nullptr;
    return slot.compare_exchange_strong(none, this);
  };
  teller_ =
      teller == Teller::kWriter || std::any_of(logs.begin(), logs.end(), is_known) ? teller : Teller::kNobody;
  free_.assign(regions_.size(), nullptr);
  free_filled_ = nullptr;
  blocks_.reserve(1 << 16);  // the handler adds to them
  block_ = 0;
  next_ = end_ = nullptr;
  add_mark();
  if (teller_ == Teller::kFaults) install();
  protect();
}

UndoLog::Region& UndoLog::add(uint64_t begin, uint64_t end) {
  const uint64_t page = page_bytes();
  Region r{begin, end, (begin + page - 1) / page * page, end / page * page, kChunk, {}};
  if (r.last < r.first) r.first = r.last = end;
  while (r.chunk * kMostChunks < bytes_) r.chunk *= 2;
  r.open.assign((r.last - r.first + r.chunk - 1) / r.chunk, 1);
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), begin,
                                      [](uint64_t a, const Region& other) { return a < other.begin; });
  return *regions_.insert(after, std::move(r));
}

// The parts of [begin, end) that no region holds.
std::vector<std::pair<uint64_t, uint64_t>> UndoLog::outside(uint64_t begin, uint64_t end) const {
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (const Region& r : regions_) {
    if (r.end <= begin || r.begin >= end) continue;
    if (begin < r.begin) parts.emplace_back(begin, r.begin);
    begin = r.end;
  }
  if (begin < end) parts.emplace_back(begin, end);
  return parts;
}

void UndoLog::include(const Allocation& memory) {
  if (!memory.writable) return;
  Alone alone;
  bytes_ += memory.bytes;
  for (const auto& [begin, end] : outside(memory.address, memory.address + memory.bytes)) {
    const Region& r = add(begin, end);
    const auto at = &r - regions_.data();
    free_.insert(free_.begin() + at, nullptr);
    for (Mark& mark : marks_) {
      mark.has.insert(mark.has.begin() + at, std::vector<uint8_t>(r.open.size()));
      mark.edges.insert(mark.edges.begin() + 2 * at, {edge_of(r.begin, std::min(r.first, r.end)),
                                                      edge_of(std::max(r.last, r.begin), r.end)});
    }
  }
  protect();
}

UndoLog* UndoLog::holding(std::span<const Allocation> memory) {
  Alone alone;
  const auto is_inside = [](const UndoLog& log, const Allocation& a) {
    return !a.writable || log.outside(a.address, a.address + a.bytes).empty();
  };
  for (auto& slot : logs)
    if (UndoLog* log = slot.load();
        log && log->thread_ == ::gettid() &&
        std::all_of(memory.begin(), memory.end(), [&](auto& a) { return is_inside(*log, a); }))
      return log;
  return nullptr;
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
      if (teller_ == Teller::kNobody || !let_write(at, std::min(r.last, r.first + c * r.chunk) - at, false))
        for (size_t k = from; k < c; ++k)
          open_chunk(region, k);  // writes will not be seen: it is saved at once
    }
  }
}

// Lets writes through to the chunks that are closed, or closes them where another log has let writes through.
void UndoLog::let_closed(bool write) const {
  for (const Region& r : regions_)
    for (size_t c = 0; c < r.open.size();) {
      const size_t from = c;
      while (c < r.open.size() && !r.open[c]) ++c;
      const uint64_t at = r.first + from * r.chunk;
      if (c > from) let_write(at, std::min(r.last, r.first + c * r.chunk) - at, write);
      while (c < r.open.size() && r.open[c]) ++c;
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

// The region of an address that is in one.
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

// A part that one log opens is saved in all of them: a chunk of one may reach into several of another.
bool UndoLog::on_fault(uint64_t address) {
  uint64_t low = address, high = address + 1;
  bool is_known = false;
  for (bool grows = true; grows;) {
    grows = false;
    for (auto& slot : logs)
      if (UndoLog* log = slot.load()) grows |= log->open_around(low, high, is_known);
  }
  return is_known;
}

std::pair<uint64_t, uint64_t> UndoLog::writes(uint64_t address, uint64_t bytes) {
  std::pair<uint64_t, uint64_t> open{address, address + bytes};
  for (size_t region = 0; region < regions_.size(); ++region) {
    const Region& r = regions_[region];
    if (r.first >= address + bytes || r.last <= address || r.open.empty()) {
      // The parts of pages at its ends are kept from the beginning.
      const std::pair<uint64_t, uint64_t> before{r.begin, std::min(r.first, r.end)},
          after{std::max(r.last, r.begin), r.end};
      for (const auto& edge : {before, after})
        if (address >= edge.first && address + bytes <= edge.second) open = edge;
      continue;
    }
    const size_t first = (std::max(address, r.first) - r.first) / r.chunk;
    const size_t last = (std::min(address + bytes, r.last) - 1 - r.first) / r.chunk;
    for (size_t c = first; c <= last; ++c)
      if (!r.open[c] && !open_chunk(region, c)) throw std::bad_alloc();
    open.first = std::min(open.first, r.first + first * r.chunk);
    open.second = std::max(open.second, std::min(r.last, r.first + (last + 1) * r.chunk));
  }
  return open;
}

// Opens the chunks that share a byte with [low, high), which grows by them. Whether any was closed. is_known: becomes
// true if writes go through to one of them.
bool UndoLog::open_around(uint64_t& low, uint64_t& high, bool& is_known) {
  bool grows = false;
  for (size_t region = 0; region < regions_.size(); ++region) {
    Region& r = regions_[region];
    if (r.first >= high || r.last <= low || r.open.empty()) continue;
    const size_t first = (std::max(low, r.first) - r.first) / r.chunk;
    const size_t last = (std::min(high, r.last) - 1 - r.first) / r.chunk;
    for (size_t c = first; c <= last; ++c) {
      const uint64_t at = r.first + c * r.chunk, bytes = std::min(r.chunk, r.last - at);
      if (r.open[c]) {  // another thread was here first, or another log closed it again
        is_known |= let_write(at, bytes, true);
        continue;
      }
      if (!open_chunk(region, c)) continue;
      is_known = grows = true;
      low = std::min(low, at);
      high = std::max(high, at + bytes);
    }
  }
  return grows;
}

void UndoLog::add_mark() {
  Mark& mark = marks_.emplace_back();
  for (const Region& r : regions_) {
    mark.has.emplace_back(r.open.size());
    mark.edges.push_back(edge_of(r.begin, std::min(r.first, r.end)));
    mark.edges.push_back(edge_of(std::max(r.last, r.begin), r.end));
  }
}

size_t UndoLog::mark() {
  Alone alone;
  add_mark();
  protect();
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
  Alone alone;
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

void UndoLog::read(size_t mark, uint64_t address, std::span<std::byte> out) const {
  Alone alone;
  std::memcpy(out.data(), host(address), out.size());
  const auto put = [&](uint64_t at, const std::byte* data, uint64_t bytes) {
    const uint64_t low = std::max(at, address), high = std::min(at + bytes, address + out.size());
    if (low < high) std::memcpy(out.data() + (low - address), data + (low - at), high - low);
  };
  for (size_t m = marks_.size(); m-- > mark;) {
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

std::vector<std::span<std::byte>> UndoLog::changed(size_t mark) const {
  Alone alone;
  std::vector<std::vector<Saved*>> saved;  // at the mark, by region and chunk
  for (const Region& r : regions_) saved.emplace_back(r.open.size());
  for (size_t m = marks_.size(); m-- > mark;)
    for (Saved* s = marks_[m].saved; s; s = s->next) {
      const size_t region = region_of(s->address);
      saved[region][(s->address - regions_[region].first) / regions_[region].chunk] = s;
    }
  std::vector<std::span<std::byte>> parts;
  const auto compare_edge = [&](uint64_t at, const std::vector<std::byte>& then) {
    if (!then.empty() && std::memcmp(host(at), then.data(), then.size()) != 0)
      parts.emplace_back(host(at), then.size());
  };
  const uint64_t page = page_bytes();
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& r = regions_[i];
    compare_edge(r.begin, marks_[mark].edges[2 * i]);
    for (Saved* s : saved[i])
      for (uint64_t at = 0; s && at < s->bytes; at += page)
        if (!s->is_same(at, host(s->address + at), page)) parts.emplace_back(host(s->address + at), page);
    compare_edge(std::max(r.last, r.begin), marks_[mark].edges[2 * i + 1]);
  }
  return parts;
}

void UndoLog::merge(size_t mark) {
  Alone alone;
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
  Alone alone;
  for (auto& slot : logs) {
    UndoLog* ours = this;
    slot.compare_exchange_strong(ours, nullptr);
  }
  let_closed(true);
  for (auto& slot : logs)
    if (UndoLog* other = slot.load()) other->let_closed(false);
  while (kept_bytes() > kMostKept) {
    ::munmap(blocks_.back().data, blocks_.back().bytes);
    blocks_.pop_back();
  }
  regions_.clear();
  marks_.clear();
}

uint64_t UndoLog::saved_bytes() const {
  Alone alone;
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
