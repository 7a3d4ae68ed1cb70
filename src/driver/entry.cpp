// Exports the library's symbols, one for each row of functions.def, and finds them for cuGetProcAddress.
//
// Every call goes through enter(), which holds the lock, answers what a forked child, a process without cuInit or a thread
// without a context may not do, and the fault of an earlier kernel; and no exception leaves it.
#include <dlfcn.h>
#include <execinfo.h>

#include <cstring>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "calls.h"

namespace triton_runner::driver {
namespace {

enum Needs : uint8_t { kNothing, kInit, kContext, kWorking };

// Null, or why the call is not made.
Error refusal(Needs needs) {
  State& s = state();
  if (s.is_forked) return kNotInitialized;
  if (needs == kNothing) return kSuccess;
  if (!s.is_initialized) return kNotInitialized;
  if (needs == kInit) return kSuccess;
  const Context* context = current_context();
  if (!context) return context_stack().empty() ? kInvalidContext : kContextIsDestroyed;
  return needs == kWorking ? context->fault : kSuccess;
}

// Calls body(arguments) as described above.
Error enter(Needs needs, bool is_per_thread, Error (*body)(void*), void* arguments) {
  std::lock_guard lock(state().mutex);
  per_thread_default() = is_per_thread;
  if (const Error error = refusal(needs)) return error;
  try {
    return body(arguments);
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& e) {
    say(std::string("a fault of this driver: ") + e.what());
    return kUnknown;
  }
}

template <auto handler, Needs needs, bool is_per_thread>
struct Entry;
template <class... Args, Error (*handler)(Args...), Needs needs, bool is_per_thread>
struct Entry<handler, needs, is_per_thread> {
  static int call(Args... args) {
    auto body = [&] { return handler(args...); };
    return enter(needs, is_per_thread, [](void* to) { return (*static_cast<decltype(body)*>(to))(); }, &body);
  }
};

int answer_missing(const char* name) {
  static std::set<std::string_view>* said = new std::set<std::string_view>;
  std::lock_guard lock(state().mutex);
  if (said->insert(name).second)
    say(std::string(name) + " is not part of this driver: CUDA_ERROR_NOT_SUPPORTED");
  return kNotSupported;
}

template <class F>
struct Plain;  // a handler's type with int in place of Error, as the symbol has it
template <class... Args>
struct Plain<Error(Args...)> {
  using type = int(Args...);
};

}  // namespace
}  // namespace triton_runner::driver

using namespace triton_runner::driver;

#define SYMBOL __attribute__((visibility("default")))
// A symbol is resolved to its Entry when the library is loaded, before sanitizers run.
#define EARLY __attribute__((used, no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))
#define EXPORT(symbol, handler, needs, is_per_thread)                                                     \
  extern "C" EARLY auto resolve_##symbol() { return &Entry<&call::handler, needs, is_per_thread>::call; } \
  extern "C" SYMBOL __attribute__((ifunc("resolve_" #symbol))) Plain<decltype(call::handler)>::type symbol;
#define FUNCTION(name, suffix, since, needs, params) EXPORT(name##suffix, name##suffix, needs, false)
#define STREAM(name, suffix, since, needs, variant, params) \
  EXPORT(name##suffix, name##suffix, needs, false)          \
  EXPORT(name##suffix##variant, name##suffix, needs, true)
#define MISSING(name) \
  extern "C" SYMBOL int name() { return answer_missing(#name); }
#include "functions.def"
#undef FUNCTION
#undef STREAM
#undef MISSING

namespace triton_runner::driver {
namespace {

struct Row {
  std::string_view name;
  int since;
  void* entry;
  void* per_thread;
};
// Rows of one name stand in the order of their versions.
const Row kRows[] = {
#define FUNCTION(name, suffix, since, needs, params) \
  {#name, since, reinterpret_cast<void*>(&name##suffix), reinterpret_cast<void*>(&name##suffix)},
#define STREAM(name, suffix, since, needs, variant, params) \
  {#name, since, reinterpret_cast<void*>(&name##suffix), reinterpret_cast<void*>(&name##suffix##variant)},
#define MISSING(name) {#name, 2000, reinterpret_cast<void*>(&name), reinterpret_cast<void*>(&name)},
#include "functions.def"
#undef FUNCTION
#undef STREAM
#undef MISSING
};

// Whether a library whose file has this name is among the callers: NVRTC and nvJitLink ask for tables that they do without.
bool is_asked_by(std::string_view library) {
  void* frames[16];
  const int count = backtrace(frames, 16);
  for (int i = 0; i < count; ++i) {
    Dl_info info{};
    if (dladdr(frames[i], &info) && info.dli_fname &&
        std::string_view(info.dli_fname).find(library) != std::string_view::npos)
      return true;
  }
  return false;
}

enum SymbolStatus : int { kFound = 0, kSymbolNotFound = 1, kVersionTooOld = 2 };

}  // namespace

namespace call {

Error cuGetProcAddress_v2(const char* symbol, void** out, int version, uint64_t flags, int* status) {
  constexpr uint64_t kPerThread = 2;
  if (!symbol || !out || flags > 3) return kInvalidValue;
  *out = nullptr;
  int found = kSymbolNotFound;
  for (const Row& row : kRows) {
    if (row.name != symbol) continue;
    if (row.since > version) {
      if (!*out) found = kVersionTooOld;
      continue;
    }
    *out = flags & kPerThread ? row.per_thread : row.entry;
    found = kFound;
  }
  if (status) *status = found;
  return found == kFound ? kSuccess : kNotFound;
}

Error cuGetProcAddress(const char* symbol, void** out, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, out, version, flags, nullptr);
}

Error cuGetExportTable(const void** table, const Uuid*) {
  if (!table) return kInvalidValue;
  *table = nullptr;
  static bool was_said = false;
  if (!is_asked_by("/libnv") && !std::exchange(was_said, true))
    say("cuGetExportTable has no answer in this driver: it is NVIDIA's own door, by which the CUDA runtime "
        "calls (programs that link "
        "cudart, as torch's CUDA build). Programs of the driver API run here");
  return kNotSupported;
}

}  // namespace call
}  // namespace triton_runner::driver
