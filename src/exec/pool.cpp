// Keeps the pinned worker threads. The pool is made at the first launch that wants more than one worker; a
// forked child, which has none of its parent's threads, makes its own.
#include <triton_runner/exec/pool.h>

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace triton_runner::exec {
namespace {

std::vector<int> allowed_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &set)) cores.push_back(i);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

class Pool {
 public:
  void run(int workers, const std::function<void(int)>& work) {
    std::lock_guard turn(turn_);
    int helpers = workers - 1;
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(threads_.size()) < helpers) start_thread();
      work_ = &work;
      wanted_ = helpers;
      left_ = helpers;
      ++generation_;
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    work_ = nullptr;
  }

 private:
  void start_thread() {
    int index = static_cast<int>(threads_.size()) + 1;  // worker 0 is the caller
    uint64_t seen = generation_;
    threads_.emplace_back([this, index, seen] { loop(index, seen); });
    static const std::vector<int> cores = allowed_cores();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cores[index % cores.size()], &set);
    pthread_setaffinity_np(threads_.back().native_handle(), sizeof set, &set);
  }

  void loop(int index, uint64_t seen) {
    for (;;) {
      const std::function<void(int)>* work;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_ != seen; });
        seen = generation_;
        if (index > wanted_) continue;
        work = work_;
      }
      (*work)(index);
      std::lock_guard lock(mutex_);
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* work_ = nullptr;
  int wanted_ = 0, left_ = 0;
  uint64_t generation_ = 0;
};

// Never destroyed: its threads live as long as the process. After a fork the old one is abandoned with its
// lost threads.
Pool& pool() {
  static std::mutex mutex;
  static Pool* current = nullptr;
  static pid_t owner = 0;
  static const int registered =
      pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  (void)registered;
  std::lock_guard lock(mutex);
  if (!current || owner != getpid()) {
    current = new Pool;
    owner = getpid();
  }
  return *current;
}

}  // namespace

int available_cores() { return static_cast<int>(allowed_cores().size()); }

void run_workers(int workers, const std::function<void(int)>& work) {
  if (workers <= 1)
    work(0);
  else
    pool().run(workers, work);
}

}  // namespace triton_runner::exec
