// Implements AtWork: one thread of the process looks at the launch that is under way. It sleeps while there is none.
#include "at_work.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace triton_runner::driver {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr Seconds kLook{0.25}, kFirst{3}, kNext{10};

class Teller {
 public:
  void begin(std::string verb, uint64_t launch, std::string kernel) {
    std::lock_guard lock(mutex_);
    title_ = "... " + std::move(verb) + ": launch " + std::to_string(launch) + ": ";
    kernel_ = "'" + std::move(kernel) + "'";
    blocks_ = 0;
    began_ = std::chrono::steady_clock::now(), due_ = kFirst, wait_ = kNext;
    is_under_way_ = true;
    if (!has_thread_) has_thread_ = start();
    if (sleeps_) wake_.notify_one();
  }
  void runs(int64_t blocks, int64_t blocks_of_cluster, const exec::Interruptible& launch) {
    std::lock_guard lock(mutex_);
    blocks_ = blocks, blocks_of_cluster_ = blocks_of_cluster, launch_ = &launch;
  }
  void end() {
    std::lock_guard lock(mutex_);
    is_under_way_ = false;
  }

 private:
  // A thread of ours has no signals: the program's handlers run in its own threads.
  bool start() {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    bool is_there = true;
    try {
      std::thread([this] { look(); }).detach();
    } catch (const std::system_error&) {
      is_there = false;  // there are too many: nobody tells
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return is_there;
  }

  void look() {
    std::unique_lock lock(mutex_);
    for (;;) {
      sleeps_ = true;
      wake_.wait(lock, [&] { return is_under_way_; });
      sleeps_ = false;
      // Short launches find it awake, and do not pay for waking it.
      lock.unlock();
      std::this_thread::sleep_for(kLook);
      lock.lock();
      if (!is_under_way_) continue;
      const Seconds passed = std::chrono::steady_clock::now() - began_;
      if (passed < due_) continue;
      tell(passed);
      due_ = passed + wait_, wait_ = std::max(kNext, 2 * wait_);
    }
  }

  void tell(Seconds passed) const {
    std::string line = title_ + (blocks_ ? "running " : "loading ") + kernel_;
    if (blocks_ > 1)
      line += ", block " + std::to_string(launch_->begun() * blocks_of_cluster_) + " of " +
              std::to_string(blocks_);
    line += ", " + std::to_string(static_cast<int64_t>(passed.count())) + " s\n";
    // Past the buffers of the program, which it may hold locked.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  }

  std::mutex mutex_;  // of all that follows
  std::condition_variable wake_;
  bool has_thread_ = false, sleeps_ = false, is_under_way_ = false;
  std::string title_, kernel_;
  int64_t blocks_ = 0, blocks_of_cluster_ = 1;  // blocks_: 0 while the kernel is loaded
  const exec::Interruptible* launch_ = nullptr;
  std::chrono::steady_clock::time_point began_;
  Seconds due_{}, wait_{};
};

// It is never destroyed: its thread looks until the process ends.
Teller& teller() {
  static Teller* the = new Teller;
  return *the;
}

}  // namespace

AtWork::AtWork(const std::string& verb, uint64_t launch, const std::string& kernel)
    : is_told_(!verb.empty()) {
  if (is_told_) teller().begin(verb, launch, kernel);
}

AtWork::~AtWork() {
  if (is_told_) teller().end();
}

void AtWork::runs(int64_t blocks, int64_t blocks_of_cluster, const exec::Interruptible& launch) {
  if (is_told_) teller().runs(blocks, blocks_of_cluster, launch);
}

}  // namespace triton_runner::driver
