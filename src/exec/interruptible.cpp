// Implements Interruptible: a handler of SIGINT in front of the program's own.
#include <triton_runner/exec/interruptible.h>

#include <signal.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace triton_runner::exec {

struct InterruptSlot {
  std::atomic<bool> used{false};
  std::atomic<int64_t> begun{0};
  StopToken stop;
};

namespace {

// LLVM, which compiles between launches, installs a handler over ours: it puts ours back and raises the signal once more.
// When that raises ours again while we call LLVM's, we call the one that was there at first. The same ends the circle of
// two libraries that each hold this code.
std::array<InterruptSlot, 64> slots;
struct sigaction first_action, previous_action;
std::atomic<int> interrupts_under_way{0};
std::mutex install_mutex;

void on_interrupt(int signal, siginfo_t* info, void* context) {
  for (InterruptSlot& slot : slots)
    if (slot.used.load(std::memory_order_acquire)) slot.stop.request_stop();
  const struct sigaction& next = interrupts_under_way.fetch_add(1) == 0 ? previous_action : first_action;
  if (next.sa_flags & SA_SIGINFO) {
    next.sa_sigaction(signal, info, context);
  } else if (next.sa_handler != SIG_IGN && next.sa_handler != SIG_DFL) {
    next.sa_handler(signal);
  }
  interrupts_under_way.fetch_sub(1);
}

void install_interrupt_handler() {
  struct sigaction current;
  if (sigaction(SIGINT, nullptr, &current) != 0) return;
  if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == on_interrupt) return;
  if (!(current.sa_flags & SA_SIGINFO) && (current.sa_handler == SIG_IGN || current.sa_handler == SIG_DFL))
    return;
  std::lock_guard lock(install_mutex);
  static bool is_first = true;
  if (std::exchange(is_first, false)) first_action = current;
  previous_action = current;
  struct sigaction ours = {};
  ours.sa_sigaction = on_interrupt;
  ours.sa_flags = SA_SIGINFO | (current.sa_flags & (SA_ONSTACK | SA_RESTART));
  ours.sa_mask = current.sa_mask;
  sigaction(SIGINT, &ours, nullptr);
}

}  // namespace

Interruptible::Interruptible() {
  install_interrupt_handler();
  for (InterruptSlot& slot : slots) {
    bool expected = false;
    if (!slot.used.load(std::memory_order_relaxed) && slot.used.compare_exchange_strong(expected, true)) {
      slot.stop.reset();
      slot.begun = 0;
      slot_ = &slot;
      return;
    }
  }
}

Interruptible::~Interruptible() {
  if (slot_) slot_->used.store(false, std::memory_order_release);
}

StopToken* Interruptible::token() { return slot_ ? &slot_->stop : nullptr; }

int64_t Interruptible::begun() const { return slot_ ? slot_->begun.load(std::memory_order_relaxed) : 0; }

void add_begun(const StopToken* token, int64_t programs) {
  for (InterruptSlot& slot : slots)
    if (&slot.stop == token) slot.begun.fetch_add(programs, std::memory_order_relaxed);
}

}  // namespace triton_runner::exec
