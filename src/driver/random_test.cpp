// Calls every function in random order with random arguments, after which the process and the driver still stand.
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "test_context.h"

using namespace triton_runner;
using namespace triton_runner::driver;

namespace {

void do_nothing(void*) {}
void answer_nothing(Handle, int, void*) {}
size_t no_bytes(int) { return 0; }

// Makes arguments: mostly such as earlier calls gave.
class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed) {
    unmapped_ = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (auto& buffer : buffers_) buffer.resize(4096);
  }
  ~Arguments() { munmap(unmapped_, 4096); }

  uint64_t below(uint64_t n) { return random_() % n; }
  char* buffer() { return buffers_[below(std::size(buffers_))].data(); }

  // Keeps what pointers to results hold now: it may be a handle or an address of the driver's blocks, and no pointer to other
  // memory of the process (a name, a buffer), which a copy would overwrite as NVIDIA's would.
  void learn() {
    for (auto& buffer : buffers_) {
      Handle value;
      std::memcpy(&value, buffer.data(), sizeof value);
      if (value && (is_block(value) || !is_mapped(value))) words_.push_back(value);
      std::fill(buffer.begin(), buffer.end(), '\0');
    }
    if (words_.size() > 64) words_.erase(words_.begin(), words_.begin() + 16);
  }

  uint64_t number() {
    const uint64_t choices[] = {0,   1,    2,    4,     8,        32,           64,
                                100, 1000, 4096, 12000, 1u << 20, ~uint64_t{0}, uint64_t{1} << 40};
    return below(4) ? below(5) : choices[below(std::size(choices))];
  }
  Handle word() {
    if (words_.empty() || below(5) == 0) return reinterpret_cast<Handle>(below(2) ? below(4) : 0x1230);
    return words_[below(words_.size())];
  }

  template <class T>
  T make() {
    if constexpr (std::is_same_v<T, const char*>) {
      const char* names[] = {"scale", "counter", "cuMemAlloc", "", "/nowhere", "0000:01:00.0"};
      return below(8) ? names[below(std::size(names))] : nullptr;
    } else if constexpr (std::is_same_v<T, HostFunction>) {
      return below(8) ? do_nothing : nullptr;
    } else if constexpr (std::is_same_v<T, StreamCallback>) {
      return below(8) ? answer_nothing : nullptr;
    } else if constexpr (std::is_same_v<T, size_t (*)(int)>) {
      return below(2) ? no_bytes : nullptr;
    } else if constexpr (std::is_same_v<T, Handle>) {
      return word();  // also a pointer to memory, which functions read or write: these are left out
    } else if constexpr (std::is_same_v<T, Address>) {
      const Address address = reinterpret_cast<Address>(word()) + (below(4) ? 0 : number());
      const auto at = reinterpret_cast<Handle>(address);
      return is_block(at) || !is_mapped(at) ? address : reinterpret_cast<Address>(unmapped_);
    } else if constexpr (std::is_same_v<T, Location>) {
      return Location{static_cast<int>(below(4)), static_cast<int>(below(2))};
    } else if constexpr (std::is_pointer_v<T>) {
      if (below(10) == 0) return nullptr;
      // No other argument overwrites how many places an array has, and no later call writes to the driver's own memory.
      using To = std::remove_const_t<std::remove_pointer_t<T>>;
      constexpr bool is_apart =
          std::is_same_v<To, size_t> || (std::is_pointer_v<To> && std::is_const_v<std::remove_pointer_t<To>>);
      char* at = is_apart ? apart_ : buffer();
      fill(static_cast<std::remove_const_t<std::remove_pointer_t<T>>*>(nullptr), at);
      return reinterpret_cast<T>(at);
    } else {
      return static_cast<T>(number());
    }
  }

 private:
  static bool is_block(Handle at) { return state().blocks.find(reinterpret_cast<Address>(at)) != nullptr; }
  static bool is_mapped(Handle at) {
    char byte;
    iovec here{&byte, 1}, there{at, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
  }

  template <class T>
  void fill(T*, char* at) {
    if constexpr (std::is_same_v<
                      T, Handle>) {  // handles, pointers to parameters: each points to memory, or is a handle
      auto* to = reinterpret_cast<Handle*>(at);
      const bool are_handles = below(2);
      for (int i = 0; i < 16; ++i)
        to[i] = are_handles ? word() : static_cast<Handle>(buffers_[0].data() + 1024);
    } else if constexpr (std::is_same_v<T, Copy2D>) {
      Copy2D c{};
      c.from_type = static_cast<unsigned>(below(6)), c.to_type = static_cast<unsigned>(below(6));
      c.from_host = below(4) ? buffer() : unmapped_,
      c.to_host = below(4) ? static_cast<void*>(buffer()) : unmapped_;
      c.from_device = make<Address>(), c.to_device = make<Address>(), c.from_pitch = number(),
      c.to_pitch = number();
      c.width = small(), c.height = small();
      if (std::max({c.from_pitch, c.to_pitch, c.width}) * c.height > buffers_[0].size())
        c.from_host = c.to_host = unmapped_;
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, Copy3D>) {
      Copy3D c{};
      c.from_type = static_cast<unsigned>(below(6)), c.to_type = static_cast<unsigned>(below(6));
      c.from_host = below(4) ? buffer() : unmapped_,
      c.to_host = below(4) ? static_cast<void*>(buffer()) : unmapped_;
      c.from_device = make<Address>(), c.to_device = make<Address>(), c.from_pitch = small(),
      c.to_pitch = small();
      c.width = small(), c.height = small(), c.depth = small();
      if (std::max({c.from_pitch, c.to_pitch, c.width}) * c.height * c.depth > buffers_[0].size())
        c.from_host = c.to_host = unmapped_;
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, LaunchConfig>) {
      LaunchConfig c{1, 1, 1, 32, 1, 1, 0, word(), nullptr, static_cast<unsigned>(below(2))};
      std::memcpy(at, &c, sizeof c);
    } else if constexpr (std::is_same_v<T, KernelParams>) {
      KernelParams p{word(), 1, 1, 1, 32, 1, 1, 0, make<void**>(), nullptr, nullptr, nullptr};
      std::memcpy(at, &p, sizeof p);
    } else if constexpr (std::is_same_v<T, size_t>) {  // how many places an array has
      const size_t n = below(64);
      std::memcpy(at, &n, sizeof n);
    } else if constexpr (std::is_same_v<T, NodeParams>) {
      NodeParams p{};
      const int types[] = {4, 5,  6, 7,
                           9, 11, 13};  // those without pointers, which others are made of by themselves
      p.type = types[below(std::size(types))];
      p.handle = word();
      if (p.type == 13)
        p.conditional = {make<Address>(), static_cast<unsigned>(below(4)), static_cast<unsigned>(below(4)),
                         nullptr, word()};
      std::memcpy(at, &p, sizeof p);
    } else if constexpr (std::is_same_v<T, HostParams>) {
      HostParams p{do_nothing, nullptr};
      std::memcpy(at, &p, sizeof p);
    } else {
      for (int i = 0; i < 256; ++i) at[i] = below(4) ? '\0' : static_cast<char>(below(9));
    }
  }
  size_t small() { return below(8) ? below(5) : below(300); }

  std::mt19937_64 random_;
  std::vector<Handle> words_;
  std::vector<char> buffers_[6];
  char apart_[4096] = {};
  void* unmapped_;
};

template <class... Args>
void call_randomly(int (*function)(Args...), Arguments& arguments) {
  function(arguments.make<Args>()...);
}

using Caller = void (*)(Arguments&);
struct Row {
  std::string_view name;
  Caller caller;
};
const Row kAll[] = {
#define FUNCTION(name, suffix, since, needs, params) \
  {#name, [](Arguments& a) { call_randomly(&name##suffix, a); }},
#define STREAM(name, suffix, since, needs, variant, params) FUNCTION(name, suffix, since, needs, params)
#define MISSING(name)
#include "functions.def"
#undef FUNCTION
#undef STREAM
#undef MISSING
};

// These read or write what a void* points to, for which a random word does not do, as it would not with NVIDIA's.
bool takes_memory(std::string_view name) {
  for (const char* one : {"cuModuleLoadData",
                          "cuModuleLoadDataEx",
                          "cuModuleLoadFatBinary",
                          "cuLibraryLoadData",
                          "cuLinkAddData",
                          "cuPointerGetAttribute",
                          "cuPointerGetAttributes",
                          "cuPointerSetAttribute",
                          "cuMemRangeGetAttribute",
                          "cuMemRangeGetAttributes",
                          "cuMemPrefetchBatchAsync",
                          "cuMemDiscardBatchAsync",
                          "cuMemDiscardAndPrefetchBatchAsync",
                          "cuMemPoolSetAttribute",
                          "cuMemPoolSetAccess",
                          "cuMemPoolGetAttribute",
                          "cuStreamGetAttribute",
                          "cuStreamSetAttribute",
                          "cuTensorMapEncodeTiled",
                          "cuTensorMapEncodeIm2col",
                          "cuTensorMapReplaceAddress",
                          "cuGraphInstantiateWithParams",
                          "cuGraphExecUpdate",
                          "cuGraphDebugDotPrint",
                          "cuDeviceGetGraphMemAttribute",
                          "cuDeviceSetGraphMemAttribute",
                          "cuLinkCreate",
                          "cuLinkComplete"})
    if (name == one) return true;
  return false;
}

}  // namespace

// FUZZ_SEEDS=1000 begins at another seed, and FUZZ_COUNT=5000 tries more of them; FUZZ_SAYS=1 prints the calls.
uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(random_calls_are_answered) {
  const uint64_t first = setting("FUZZ_SEEDS", 1), count = setting("FUZZ_COUNT", 40);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    std::fflush(nullptr);
    const pid_t child = fork();  // forgets what other tests left; the child has a driver of its own
    if (child == 0) {
      new (&state()) State;
      if (seed % 4 == 0) state().races = std::make_unique<Races>();
      if (!std::getenv("FUZZ_SAYS")) freopen("/dev/null", "w", stderr);
      Fixture f;
      Arguments arguments(seed);
      for (int i = 0; i < 1500; ++i) {
        const Row& row = kAll[arguments.below(std::size(kAll))];
        if (takes_memory(row.name) || row.name == "cuMemHostRegister") continue;
        if (std::getenv("FUZZ_SAYS")) std::fprintf(stderr, "%s\n", std::string(row.name).c_str());
        row.caller(arguments);
        arguments.learn();
      }
      // The driver still launches, in a context of its own.
      Handle context = nullptr;
      cuCtxCreate_v2(&context, 0, 0);
      Handle module = nullptr, scale = nullptr;
      cuModuleLoadData(&module, kText);
      cuModuleGetFunction(&scale, module, "scale");
      Address x = f.floats({1, 2, 3});
      int n = 3;
      void* params[] = {&x, &n};
      const bool is_right =
          cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, params, nullptr) == 0 && f.read(x, 3)[2] == 6;
      _exit(is_right ? 7 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
      unit::record_failure(__FILE__, __LINE__,
                           "seed " + std::to_string(seed) + ": status " + std::to_string(status));
  }
}
