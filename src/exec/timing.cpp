// Timing, its places, and launches at both ends of it.
#include <triton_runner/exec/timing.h>

#include <charconv>
#include <deque>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/faults.h>

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

// What memory held before the launch.
class Memories {
 public:
  void keep(const Allocation& a) {
    if (!a.writable || a.bytes == 0) return;
    const auto* from = reinterpret_cast<const std::byte*>(a.address);
    kept_.push_back({a, {from, from + a.bytes}});
  }
  // Puts it back, and keeps what is there now in its place.
  void swap() {
    for (Kept& k : kept_) {
      auto* at = reinterpret_cast<std::byte*>(k.of.address);
      std::swap_ranges(k.bytes.begin(), k.bytes.end(), at);
    }
  }
  // The first byte that memory has otherwise; null: none.
  std::optional<std::pair<const Allocation*, uint64_t>> difference() const {
    for (const Kept& k : kept_) {
      const auto* at = reinterpret_cast<const std::byte*>(k.of.address);
      for (uint64_t i = 0; i < k.of.bytes; i++)
        if (at[i] != k.bytes[i]) return std::pair{&k.of, i};
    }
    return std::nullopt;
  }

 private:
  struct Kept {
    Allocation of;
    std::vector<std::byte> bytes;
  };
  std::deque<Kept> kept_;
};

}  // namespace

LaunchResult launch_both_ends(Kernel& kernel, const LaunchOptions& options,
                              std::span<const Argument> arguments, std::span<const Allocation> allocations) {
  Memories memories;
  for (const Allocation& a : allocations) memories.keep(a);
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
      if (found) memories.keep(*found);
      return found;
    };
  LaunchResult first = kernel.launch(eager, arguments, allocations);
  if (first && (!first->trap || first->trap->kind == TrapKind::kInterrupted)) return first;
  memories.swap();
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
  const auto difference = memories.difference();
  if (!difference) return late;
  Trap trap;
  trap.kind = TrapKind::kRace;
  trap.kernel = kernel.name();
  trap.op = "the whole kernel";
  trap.message = "byte " + std::to_string(difference->second) + " of " + difference->first->label +
                 " comes out otherwise " + kHow +
                 " than where they come late: something does not wait for them";
  return LaunchError{{}, std::move(trap)};
}

}  // namespace triton_runner::exec
