// Timing, its places, and launches at both ends of it.
#include <triton_runner/exec/timing.h>

#include <charconv>
#include <deque>
#include <map>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>
#include <triton_runner/exec/undo.h>

namespace triton_runner::exec {

std::optional<Timing> parse_timing(std::string_view text) {
  if (text.empty()) return Timing{};
  if (text == "eager") return Timing{Timing::kEager};
  if (text == "late") return Timing{Timing::kLate};
  Timing timing{Timing::kRandom};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), timing.seed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return timing;
}

namespace {

// Keeps what the first of two launches left in the pages that it changed; the second begins with the same memory.
class Ends {
 public:
  // `log`: one that holds the memory already, or null.
  Ends(UndoLog* log, std::span<const Allocation> allocations)
      : log_(log ? log : &own_), memory_(allocations.begin(), allocations.end()) {
    if (!log) own_.begin(allocations);
    start_ = log_->mark();
  }
  ~Ends() { log_->merge(start_); }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  void include(const Allocation& a) {
    log_->include(a);
    memory_.push_back(a);
  }
  // The first launch is through.
  void turn() {
    for (std::span<std::byte> now : log_->changed(start_)) pages_[now.data()].assign(now.begin(), now.end());
    log_->put_back(start_);
  }
  // The first byte that the second left otherwise; null: none.
  std::optional<std::pair<const Allocation*, uint64_t>> difference() {
    for (std::span<std::byte> now : log_->changed(start_))  // where the first left what was there
      if (auto [page, is_new] = pages_.try_emplace(now.data(), now.size()); is_new)
        log_->read(start_, reinterpret_cast<uint64_t>(now.data()), page->second);
    for (const Allocation& a : memory_) {
      const auto* begin = reinterpret_cast<const std::byte*>(a.address);
      auto page = pages_.upper_bound(begin);
      if (page != pages_.begin()) --page;  // it may reach into the memory
      for (; a.writable && page != pages_.end() && page->first < begin + a.bytes; ++page)
        for (size_t i = 0; i < page->second.size(); ++i) {
          const std::byte* at = page->first + i;
          if (at >= begin && at < begin + a.bytes && *at != page->second[i])
            return std::pair{&a, static_cast<uint64_t>(at - begin)};
        }
    }
    return std::nullopt;
  }

 private:
  UndoLog own_;
  UndoLog* log_;
  size_t start_;                                              // the mark of both launches
  std::deque<Allocation> memory_;                             // which stays where it is
  std::map<const std::byte*, std::vector<std::byte>> pages_;  // as the first left them
};

}  // namespace

LaunchResult launch_both_ends(Kernel& kernel, const LaunchOptions& options,
                              std::span<const Argument> arguments, std::span<const Allocation> allocations) {
  // A debugger sets marks of its own while the second launch runs.
  Ends ends(options.observer ? nullptr : UndoLog::holding(allocations), allocations);
  LaunchOptions eager = options;
  eager.checks = kCheckOutOfBounds;
  eager.timing = {Timing::kEager};
  eager.threads = 1;
  eager.shuffle.reset();
  eager.observer = eager.printer = nullptr;
  Faults faults;
  if (options.faults) eager.faults = &faults;
  if (options.resolve)
    eager.resolve = [&](uint64_t address) {
      std::optional<Allocation> found = options.resolve(address);
      if (found) ends.include(*found);
      return found;
    };
  LaunchResult first = kernel.launch(eager, arguments, allocations);
  if (first && (!first->trap || first->trap->kind == TrapKind::kInterrupted)) return first;
  ends.turn();
  LaunchOptions usual = options;
  usual.timing = {Timing::kLate};
  LaunchResult late = kernel.launch(usual, arguments, allocations);
  const bool warned = late && late->trap && !late->trap->warning.empty();
  if (late && !warned) return late;
  constexpr const char* kHow =
      "with asynchronous operations that take effect as soon as they are issued "
      "(timing=\"eager\")";
  if (first) {
    first->trap->notes.push_back(std::string("this is ") + kHow +
                                 "; it does not happen where they come late");
    return first;
  }
  const auto difference = ends.difference();
  if (!difference) return late;
  Trap trap;
  trap.kind = TrapKind::kRace;
  trap.race = Race::kInFlight;
  trap.kernel = kernel.name();
  trap.op = "the whole kernel";
  trap.message = "byte " + std::to_string(difference->second) + " of " + difference->first->label +
                 " comes out otherwise " + kHow +
                 " than where they come late: something does not wait for them";
  return LaunchError{{}, std::move(trap)};
}

}  // namespace triton_runner::exec
