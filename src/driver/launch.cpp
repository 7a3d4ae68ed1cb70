// Launches functions: their code for the block that is asked for, their parameters as the program gives them, and what
// their faults become.
#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <triton_runner/artifact/occupancy.h>
#include <triton_runner/base/try.h>
#include <triton_runner/exec/interruptible.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/simt/simt.h>

#include "at_work.h"
#include "calls.h"

namespace triton_runner::driver {
namespace {

class Printer final : public exec::Observer {
 public:
  bool wants(const exec::ValueSite&) override { return false; }
  void on_value(const exec::ValueEvent&) override {}
  void on_print(std::string_view text, const std::array<int64_t, 3>&) override {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
};

simt::LoadOptions load_options(const Function& f, const std::array<uint32_t, 3>& block,
                               const std::array<uint32_t, 3>& cluster) {
  simt::LoadOptions options;
  options.block = block, options.cluster = cluster;
  options.grid_of_blocks = true;
  options.variables = f.module->addresses;
  options.heap = f.module->heap.get();
  for (const Parameter& p : f.params) {
    const bool is_pointer =
        p.bytes >= 8;  // 8 bytes may be an address; more are given by the address of the bytes
    options.params.push_back({p.name, is_pointer ? exec::ParamKind::kPointer : exec::ParamKind::kInteger,
                              ".b" + std::to_string(8 * p.bytes),
                              static_cast<int>(std::min<size_t>(8, p.bytes) * 8)});
  }
  return options;
}

base::Result<exec::Kernel*> kernel_of(Launch& launch) {
  Function& f = *launch.function;
  std::array<uint32_t, 6> key{};
  std::copy(launch.block.begin(), launch.block.end(), key.begin());
  std::copy(launch.cluster.begin(), launch.cluster.end(), key.begin() + 3);
  if (auto it = f.kernels.find(key); it != f.kernels.end()) return it->second.get();
  Module& m = *f.module;
  if (Context* context = state().contexts.find(m.context)) m.heap = context->heap;
  const simt::LoadOptions options = load_options(f, launch.block, launch.cluster);
  auto kernel = TRY(m.level == "ptx" ? simt::load(m.ptx, f.name, options)
                                     : simt::load_cubin(m.bytes, m.listing, f.name, options, "<module>"));
  return (f.kernels[key] = std::move(kernel)).get();
}

std::vector<exec::Argument> arguments_of(const Launch& launch) {
  std::vector<exec::Argument> out;
  for (size_t i = 0; i < launch.values.size(); ++i) {
    const std::vector<std::byte>& bytes = launch.values[i];
    exec::Argument argument{bytes.size() >= 8 ? exec::ParamKind::kPointer : exec::ParamKind::kInteger};
    if (bytes.size() > 8)
      argument.bits = reinterpret_cast<uint64_t>(bytes.data());
    else
      std::memcpy(&argument.bits, bytes.data(), bytes.size());
    out.push_back(std::move(argument));
  }
  return out;
}

std::string with_readable_name(std::string text, const std::string& name) {
  const std::string shown = readable(name);
  for (size_t at = 0; shown != name && (at = text.find(name, at)) != std::string::npos; at += shown.size())
    text.replace(at, name.size(), shown);
  return text;
}

template <class Number>
std::string axes(const std::array<Number, 3>& n) {
  return "(" + std::to_string(n[0]) + ", " + std::to_string(n[1]) + ", " + std::to_string(n[2]) + ")";
}

std::string shown(const Launch& launch) {
  std::string out =
      readable(launch.function->name) + " grid " + axes(launch.grid) + " block " + axes(launch.block);
  if (launch.cluster != std::array<uint32_t, 3>{1, 1, 1}) out += " cluster " + axes(launch.cluster);
  if (launch.shared_bytes) out += " shared " + std::to_string(launch.shared_bytes);
  out += " (";
  for (size_t i = 0; i < launch.values.size(); ++i) {
    const std::vector<std::byte>& bytes = launch.values[i];
    uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<size_t>(8, bytes.size()));
    const Block* block = bytes.size() == 8 ? state().blocks.find(word) : nullptr;
    char text[32];
    std::snprintf(text, sizeof text, bytes.size() > 8 ? "%.0llx[%zu bytes]" : "0x%llx",
                  static_cast<unsigned long long>(bytes.size() > 8 ? 0 : word), bytes.size());
    out += (i ? ", " : "") + (block && word == block->address ? block->label : std::string(text));
  }
  return out + ")";
}

Error error_of(exec::TrapKind kind) {
  switch (kind) {
    case exec::TrapKind::kOutOfBounds:
      return kIllegalAddress;
    case exec::TrapKind::kMisaligned:
      return kMisalignedAddress;
    case exec::TrapKind::kAssert:
      return kAssert;
    case exec::TrapKind::kDeadlock:
    case exec::TrapKind::kTimeout:
      return kLaunchTimeout;
    case exec::TrapKind::kOutOfMemory:
      return kOutOfMemory;
    case exec::TrapKind::kUnsupported:
      return kNotSupported;
    default:
      return kLaunchFailed;
  }
}

Error failed(const exec::LaunchError& error, const std::string& name) {
  if (error.diagnostic) return refuse(kLaunchOutOfResources, with_readable_name(error.str(), name));
  const exec::Trap& trap = *error.trap;
  std::string text = with_readable_name(error.str(), name);
  if (const std::string was = state().blocks.freed(trap.address);
      trap.kind == exec::TrapKind::kOutOfBounds && !was.empty())
    text += "\nnote: the address lies in " + was + ", which was freed";
  say(text);
  if (!trap.warning.empty()) return kSuccess;
  const Error code = error_of(trap.kind);
  if (Context* context = current_context()) context->fault = code;
  return code;
}

// Blocks of the function that run at once.
int fitting(const Function& f, const Launch& launch) {
  const auto on_sm = artifact::occupancy(
      state().chip.target(), static_cast<int>(launch.block[0] * launch.block[1] * launch.block[2]),
      std::max(f.registers, 16), f.static_shared + launch.shared_bytes);
  return on_sm ? on_sm->blocks * state().chip.sms : 0;
}

Error not_launched(const Function& f, Error error, const std::string& why) {
  return refuse(error, "kernel '" + readable(f.name) + "' is not launched: " + why);
}

Error check(const Launch& launch) {
  const Function& f = *launch.function;
  const auto refused = [&](Error error, const std::string& why) { return not_launched(f, error, why); };
  constexpr std::array<uint64_t, 3> kMostBlocks{2147483647, 65535, 65535}, kMostThreads{1024, 1024, 64};
  for (size_t d = 0; d < 3; ++d) {
    if (launch.grid[d] == 0 || launch.grid[d] > kMostBlocks[d])
      return refused(kInvalidValue,
                     "a grid has 1 to " + axes(kMostBlocks) + " blocks, and this one " + axes(launch.grid));
    if (launch.block[d] == 0 || launch.block[d] > kMostThreads[d])
      return refused(kInvalidValue, "a block has 1 to " + axes(kMostThreads) + " threads, and this one " +
                                        axes(launch.block));
    if (launch.cluster[d] == 0 || launch.grid[d] % launch.cluster[d] != 0)
      return refused(kInvalidClusterSize, "a grid of " + axes(launch.grid) + " is not made of clusters of " +
                                              axes(launch.cluster));
  }
  const uint64_t threads = uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const uint64_t most = std::min<uint64_t>(1024, static_cast<uint64_t>(f.max_threads));
  if (threads > most)
    return refused(kInvalidValue, "its blocks have at most " + std::to_string(most) +
                                      " threads, and these have " + std::to_string(threads));
  const uint64_t blocks = uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  if (blocks > 1 && state().chip.capability < 90)
    return refused(kNotSupported, "clusters need a GPU of compute capability 9.0 (--chip)");
  if (blocks > 16)
    return refused(kInvalidClusterSize,
                   "a cluster has at most 16 blocks, and this one " + std::to_string(blocks));
  if (const int64_t shared = most_dynamic_shared(f); launch.shared_bytes > shared)
    return refused(kInvalidValue, "it has at most " + std::to_string(shared) +
                                      " bytes of dynamic shared memory, and the launch asks for " +
                                      std::to_string(launch.shared_bytes) +
                                      ": cuFuncSetAttribute allows for more than 48 KiB");
  if (launch.is_cooperative) {
    const uint64_t all = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
    if (const int at_once = fitting(f, launch); all > static_cast<uint64_t>(at_once))
      return refused(kCooperativeLaunchTooLarge,
                     "a cooperative launch has at most the " + std::to_string(at_once) +
                         " blocks that run at once, and this one " + std::to_string(all));
  }
  return kSuccess;
}

// Bytes of the parameters, by a pointer to each or from a buffer with all of them.
Error read_values(const Function& f, void** params, void** extra, Launch* out) {
  const auto refused = [&](const std::string& why) { return not_launched(f, kInvalidValue, why); };
  const std::byte* buffer = nullptr;
  size_t bytes = 0;
  constexpr uintptr_t kEnd = 0, kBuffer = 1, kBytes = 2;
  if (extra) {
    if (params) return refused("its parameters are given twice, as pointers and in a buffer");
    for (size_t i = 0; reinterpret_cast<uintptr_t>(extra[i]) != kEnd; i += 2) {
      const auto what = reinterpret_cast<uintptr_t>(extra[i]);
      if (what == kBuffer)
        buffer = static_cast<const std::byte*>(extra[i + 1]);
      else if (what == kBytes && extra[i + 1])
        bytes = *static_cast<const size_t*>(extra[i + 1]);
      else
        return refused("'extra' has words that are no CU_LAUNCH_PARAM_*");
    }
    if (!buffer && f.param_bytes) return refused("'extra' has no buffer of its parameters");
    if (bytes !=
        f.param_bytes) {  // an H200 refuses more bytes so, and takes what it finds in place of missing ones
      const bool is_short = bytes < f.param_bytes;
      const std::string sizes = "its " + std::to_string(f.params.size()) + " parameters have " +
                                std::to_string(f.param_bytes) + " bytes, and the launch gives " +
                                std::to_string(bytes);
      return not_launched(f, is_short ? kInvalidValue : kLaunchOutOfResources,
                          sizes + (is_short ? ": an argument is missing, or has another type"
                                            : ": there is an argument too many, or one of another type"));
    }
  } else if (!params && !f.params.empty()) {
    return refused("it has " + std::to_string(f.params.size()) + " parameters, and the launch gives none");
  }
  // Pointers to values may be wrong, as those of a program in another language easily are.
  const auto read = [](void* to, const void* from, size_t n) {
    return n == 0 || copy_memory(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from), n, true);
  };
  std::vector<const std::byte*> at(f.params.size());
  for (size_t i = 0; buffer && i < at.size(); ++i) at[i] = buffer + f.params[i].offset;
  if (!buffer && !read(at.data(), params, at.size() * sizeof(void*)))
    return refused("the list of its " + std::to_string(at.size()) +
                   " parameters is not memory that can be read");
  for (size_t i = 0; i < at.size(); ++i) {
    std::vector<std::byte>& value = out->values.emplace_back(f.params[i].bytes);
    if (!read(value.data(), at[i], value.size()))
      return refused("the pointer to parameter " + std::to_string(i) + " of " + std::to_string(at.size()) +
                     ", of " + std::to_string(value.size()) + " bytes, leads to no memory that can be read");
  }
  return kSuccess;
}

Error launch_kernel(Handle function, const LaunchConfig& config, void** params, void** extra) {
  if (!stream_of(config.stream)) return kInvalidHandle;
  Launch launch;
  if (const Error error = make_launch(function, config, params, extra, &launch)) return error;
  return submit(config.stream, std::move(launch));
}

}  // namespace

// Leaves out what numba-cuda adds to a name.
std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (!text || status != 0) return name;
  std::string out = text.get();
  for (size_t at; (at = out.find("[abi:")) != std::string::npos;) out.erase(at, out.find(']', at) + 1 - at);
  out = out.substr(0, out.find_first_of("(<"));
  return out.substr(out.rfind(' ') + 1);  // without the type that a template returns
}

int64_t most_dynamic_shared(const Function& f) {
  constexpr int kDynamic = 8;  // the function's attribute
  const int64_t plain = std::max<int64_t>((48 << 10) - f.static_shared, 0);
  const auto asked = f.settings.find(kDynamic);
  return asked == f.settings.end() ? plain : std::max<int64_t>(asked->second, plain);
}

Error make_launch(Handle function, const LaunchConfig& config, void** params, void** extra, Launch* out) {
  Function* f = function_of(function);
  if (!f) return kInvalidHandle;
  out->function = f;
  out->module = state().modules.shared(f->module->handle);
  out->grid = {config.grid_x, config.grid_y, config.grid_z};
  out->block = {config.block_x, config.block_y, config.block_z};
  out->shared_bytes = config.shared_bytes;
  for (size_t d = 0; d < 3; ++d) out->cluster[d] = std::max(f->cluster[d], 1u);
  if (config.num_attributes && !config.attributes) return kInvalidValue;
  for (unsigned i = 0; i < config.num_attributes; ++i) {
    const LaunchAttribute& a = config.attributes[i];
    if (a.id == device::cuda::kLaunchClusterDimension)
      out->cluster = {a.value.dim.x, a.value.dim.y, a.value.dim.z};
    if (a.id == device::cuda::kLaunchCooperative) out->is_cooperative = a.value.number != 0;
  }
  if (const Error error = read_values(*f, params, extra, out)) return error;
  return check(*out);
}

Error run_launch(Launch& launch) {
  State& s = state();
  const uint64_t number = s.launches++;
  exec::Interruptible interruptible;
  AtWork at_work(s.verb, number, readable(launch.function->name));
  auto kernel = kernel_of(launch);
  if (!kernel) return refuse(kNotSupported, kernel.error().str());
  exec::LaunchOptions options;
  for (size_t d = 0; d < 3; ++d) options.grid[d] = launch.grid[d];
  options.shared_bytes = launch.shared_bytes;
  options.checks = s.checks;
  options.stop = interruptible.token();
  at_work.runs(exec::programs_of(options), int64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2],
               interruptible);
  options.resolve = [&s](uint64_t address) -> std::optional<exec::Allocation> {
    Block* block = s.blocks.find(address);
    if (!block || block->is_away) return std::nullopt;
    return block->allocation();
  };
  // The blocks that parameters point to are known to messages before anything asks for them.
  const std::vector<exec::Argument> arguments = arguments_of(launch);
  std::vector<exec::Allocation> memory;
  for (const exec::Argument& a : arguments) {
    Block* block = s.blocks.find(a.bits);
    if (block && !block->is_away &&
        std::ranges::none_of(memory, [&](const auto& m) { return m.address == block->address; }))
      memory.push_back(block->allocation());
  }
  Printer printer;
  options.printer = &printer;
  exec::ReadSet accesses(/*keeps_all=*/true);
  if (s.races) options.reads = &accesses;
  std::optional<Kept::Before> before;
  if (s.kept && s.kept->looks_at(launch)) before.emplace(launch);
  const auto begin = std::chrono::steady_clock::now();
  const exec::LaunchResult result = (*kernel)->launch(options, arguments, memory);
  std::fflush(stdout);
  if (s.prints_launches) {
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    char text[64];
    std::snprintf(text, sizeof text, ": %.3f ms%s", time.count(), result ? ", and a fault" : "");
    say("launch " + std::to_string(number) + ": " + shown(launch) + text);
  }
  if (before)
    s.kept->take(launch, number, *before, result && result->trap ? result->trap->str() : std::string());
  if (result)
    if (const Error error = failed(*result, launch.function->name)) return error;
  const std::string what =
      "launch " + std::to_string(number) + " (kernel '" + readable(launch.function->name);
  return s.races ? raced(s.races->touch(accesses, what + "')")) : kSuccess;
}

namespace call {

Error cuLaunchKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                     unsigned bz, unsigned shared, Handle stream, void** params, void** extra) {
  return launch_kernel(function, {gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0}, params, extra);
}

Error cuLaunchKernelEx(const LaunchConfig* config, Handle function, void** params, void** extra) {
  return config ? launch_kernel(function, *config, params, extra) : kInvalidValue;
}

Error cuLaunchCooperativeKernel(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                unsigned by, unsigned bz, unsigned shared, Handle stream, void** params) {
  LaunchAttribute cooperative{device::cuda::kLaunchCooperative, 0, {}};
  cooperative.value.number = 1;
  return launch_kernel(function, {gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1}, params, nullptr);
}

Error cuLaunchHostFunc(Handle stream, HostFunction function, void* data) {
  if (!stream_of(stream)) return kInvalidHandle;
  if (!function) return kInvalidValue;
  return submit(stream, Call{function, data});
}

}  // namespace call
}  // namespace triton_runner::driver
