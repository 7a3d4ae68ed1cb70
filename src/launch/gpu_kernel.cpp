// Loads a GPU kernel and launches it: what can be refused with a clear sentence is refused before the driver
// sees it. It is tested by tests/python/launch/test_gpu_launch.py, tests/python/launch/test_device_fake.py and
// tests/python/launch/test_amd_launch.py.
#include <triton_runner/base/try.h>
#include <triton_runner/launch/gpu_kernel.h>

#include "pack.h"

namespace triton_runner::launch {

using base::Diagnostic;
using base::failure;

namespace {

constexpr int kSharedWithoutAsking = 48 * 1024;
constexpr size_t kMaxWords = 256;  // of a launch by words

// Checks what a binary or text for `target` needs of the device: binaries run within a major version, text
// from its version up.
base::Status check_target(const GpuKernelSpec& spec, const device::Properties& device) {
  if (spec.target.empty() || spec.target == device.target) return base::success();
  auto number = [](const std::string& target) { return std::atoi(target.c_str() + target.find(':') + 1); };
  bool same_vendor =
      spec.target.substr(0, spec.target.find(':')) == device.target.substr(0, device.target.find(':'));
  if (same_vendor && spec.target.starts_with("cuda:")) {
    int have = number(device.target), want = number(spec.target);
    bool runs = spec.level == "ptx" ? want <= have : want / 10 == have / 10 && want <= have;
    if (runs) return base::success();
  }
  return failure("kernel '" + spec.name + "' (" + spec.level + ") is for " + spec.target + ", and " +
                     device.name + " is " + device.target,
                 {same_vendor ? "enter at a level above " + spec.level +
                                    ", from which it can be compiled for " + device.target
                              : "enter at ttir, which belongs to no GPU"});
}

int64_t threads_of(const GpuKernelSpec& spec) {
  return int64_t{spec.block[0]} * spec.block[1] * spec.block[2];
}

class Loaded final : public GpuKernel {
 public:
  Loaded(device::Driver& driver, GpuKernelSpec spec, int device)
      : driver_(driver), spec_(std::move(spec)), device_(device) {
    spec_.image.shrink_to_fit();
  }
  ~Loaded() override {
    // The context may be gone already when the process ends; then there is nothing left to unload.
    if (module_) (void)driver_.unload_module(module_).ok();
  }

  const std::string& name() const override { return spec_.name; }
  const std::vector<exec::Param>& params() const override { return spec_.params; }
  const std::string& level() const override { return spec_.level; }
  const std::string& target() const override { return spec_.target; }
  const device::Resources& resources() const override { return resources_; }
  int64_t shared_bytes() const override { return config_.shared_bytes; }
  int device() const override { return device_; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  device::Driver& driver() const override { return driver_; }

  // Loads the image, or takes a function that is loaded already.
  base::Status prepare(device::Function loaded = 0) {
    properties_ = TRY(driver_.properties(device_));
    TRY(check_target(spec_, properties_));
    if (spec_.target.empty()) spec_.target = properties_.target;
    TRY(check_shape());

    function_ = loaded;
    if (!loaded) TRY(load_image());
    resources_ = TRY(driver_.resources(function_));

    const int64_t threads = threads_of(spec_);
    if (threads > resources_.max_threads)
      return failure(
          "kernel '" + spec_.name + "' is launched with " + std::to_string(threads) +
              " threads a block, and its code allows " + std::to_string(resources_.max_threads) + " (" +
              std::to_string(resources_.n_regs) + " registers a thread)",
          {"num_warps, or " + base::option("block") + ", has to be what the artifact was compiled with"});
    config_.block = spec_.block;
    config_.cluster = spec_.cluster;
    config_.cooperative = spec_.cooperative;
    config_.pdl = spec_.pdl;
    TRY(set_shared(spec_.shared_bytes));
    uint32_t blocks = spec_.cluster[0] * spec_.cluster[1] * spec_.cluster[2];
    if (blocks > 8) TRY(driver_.allow_large_clusters(function_));
    plan_ = TRY(make_plan(spec_));
    takes_words_ = spec_.global_scratch.bytes_per_block == 0 && spec_.profile_scratch.bytes_per_block == 0 &&
                   plan_.entries.size() <= kMaxWords;
    for (const PlanEntry& entry : plan_.entries) takes_words_ &= is_word(entry);
    return base::success();
  }

  bool takes_words() const override { return takes_words_; }

  base::Status queue(const std::array<int64_t, 3>& grid, device::Stream stream,
                     std::span<const uint64_t> bits) override {
    uint64_t words[kMaxWords];
    void* params[kMaxWords + 2];
    size_t n = 0;
    for (; n < bits.size(); n++) {
      words[n] = word_of(plan_.entries[n], bits[n]);
      params[n] = &words[n];
    }
    uint64_t null = 0;  // scratch memory of which the kernel needs none
    for (int i = 0; i < spec_.hidden_pointers; i++) params[n++] = &null;
    device::LaunchConfig config = config_;
    config.stream = stream;
    config.grid = blocks_of(grid);
    auto launched = driver_.launch(function_, config, params);
    if (!launched) return explained(launched.error(), config);
    return launched;
  }

  exec::LaunchResult launch(const exec::LaunchOptions& options, std::span<const exec::Argument> args,
                            std::span<const exec::Allocation> memory) override {
    if (!plausible(options, args)) {
      if (auto s = exec::check_grid(options.grid); !s) return refused(s.error());
      if (auto s = exec::check_arguments(*this, args); !s) return refused(s.error());
    }
    if (options.is_observed())
      return refused(failure("values of a GPU kernel cannot be observed from outside",
                             {"launch with " + base::option("device", "cpu")}));

    ContextGuard context(driver_);
    if (auto s = context.enter(device_); !s) return refused(s.error());
    if (options.checks & exec::kCheckOutOfBounds)
      if (auto s = check_pointers(args, memory); !s) return refused(s.error());

    device::LaunchConfig config = config_;
    config.stream = options.stream;
    config.grid = blocks_of(options.grid);
    if (options.shared_bytes >= 0 && static_cast<uint64_t>(options.shared_bytes) != config.shared_bytes) {
      if (options.shared_bytes > max_dynamic_shared()) return refused(out_of_shared(options.shared_bytes));
      if (auto s = driver_.allow_dynamic_shared(
              function_, static_cast<int>(std::max(options.shared_bytes, int64_t{config_.shared_bytes})));
          !s)
        return refused(s.error());
      config.shared_bytes = static_cast<uint32_t>(options.shared_bytes);
    }

    Packed packed;
    if (auto s = packed.fill(plan_, driver_, args); !s) return refused(s.error());
    uint64_t scratch[2] = {0, 0};
    const Scratch* wanted[2] = {&spec_.global_scratch, &spec_.profile_scratch};
    for (int i = 0; i < spec_.hidden_pointers; i++) {
      if (wanted[i]->bytes_per_block > 0) {
        auto address = allocate_scratch(*wanted[i], config, i == 1);
        if (!address) {
          release(scratch, options.stream);
          return refused(address.error());
        }
        scratch[i] = *address;
      }
      packed.add_hidden(aligned(scratch[i], wanted[i]->align));
    }
    auto launched = driver_.launch(function_, config, packed.pointers());
    release(scratch, options.stream);
    if (!launched) return refused(explained(launched.error(), config));
    return std::nullopt;
  }

 private:
  std::array<uint32_t, 3> blocks_of(const std::array<int64_t, 3>& grid) const {
    std::array<uint32_t, 3> blocks{};
    for (size_t i = 0; i < 3; i++)
      blocks[i] = static_cast<uint32_t>(grid[i]) * (spec_.grid_of_blocks ? 1 : spec_.cluster[i]);
    return blocks;
  }

  // Makes the kernel's device current for the launch, and the thread's own device current again afterwards.
  class ContextGuard {
   public:
    explicit ContextGuard(device::Driver& driver) : driver_(driver) {}
    ~ContextGuard() {
      if (before_ >= 0) (void)driver_.use_device(before_).ok();
    }
    base::Status enter(int device) {
      auto current = TRY(driver_.current_device());
      if (current == device) return base::success();
      before_ = current;
      return driver_.use_device(device);
    }

   private:
    device::Driver& driver_;
    int before_ = -1;
  };

  base::Status load_image() {
    auto module = driver_.load_module(spec_.image);
    if (!module) return located(module.error());
    module_ = *module;
    spec_.image.clear();  // the driver has its own copy
    spec_.image.shrink_to_fit();
    function_ = TRY(driver_.function(module_, spec_.name));
    return base::success();
  }

  static exec::LaunchResult refused(Diagnostic d) { return exec::LaunchError{std::move(d), std::nullopt}; }

  // Most launches: right in count, kinds and ranges. Anything else is asked about in words.
  bool plausible(const exec::LaunchOptions& options, std::span<const exec::Argument> args) const {
    if (args.size() != spec_.params.size()) return false;
    for (int i = 0; i < 3; i++)
      if (options.grid[i] < 1 || options.grid[i] > (i == 0 ? 0x7fffffff : 65535)) return false;
    for (size_t i = 0; i < args.size(); i++) {
      const exec::Param& param = spec_.params[i];
      if (args[i].kind != param.kind) return false;
      if (!exec::takes(param, args[i].bits)) return false;
    }
    return true;
  }

  base::Status check_shape() {
    const int64_t threads = threads_of(spec_);
    if (threads < 1 || threads > properties_.max_threads)
      return failure("kernel '" + spec_.name + "' is launched with " + std::to_string(threads) +
                     " threads a block; " + properties_.name + " allows 1 to " +
                     std::to_string(properties_.max_threads));
    uint64_t blocks = uint64_t{spec_.cluster[0]} * spec_.cluster[1] * spec_.cluster[2];
    if (blocks < 1 || blocks > 16)
      return failure("kernel '" + spec_.name + "': a cluster of " + std::to_string(blocks) +
                     " blocks; 1 to 16 are possible");
    if (blocks > 1 && !properties_.clusters)
      return failure("kernel '" + spec_.name + "' uses clusters of " + std::to_string(blocks) +
                     " blocks, and " + properties_.name + " has none");
    if (spec_.cooperative && !properties_.cooperative)
      return failure("kernel '" + spec_.name + "' is launched cooperatively, and " + properties_.name +
                     " cannot");
    return base::success();
  }

  int64_t max_dynamic_shared() const { return properties_.shared_per_block_optin - resources_.static_shared; }

  Diagnostic out_of_shared(int64_t bytes) const {
    return failure("kernel '" + spec_.name + "' needs " + std::to_string(bytes) +
                       " bytes of dynamic shared memory, and a block on " + properties_.name + " has " +
                       std::to_string(max_dynamic_shared()),
                   {"smaller blocks or fewer stages (num_stages) need less"});
  }

  base::Status set_shared(int64_t bytes) {
    if (bytes < 0) {
      bytes = max_dynamic_shared();
      warnings_.push_back("nothing says how much dynamic shared memory kernel '" + spec_.name +
                          "' needs: launched with the most there is, " + std::to_string(bytes) + " bytes; " +
                          base::option("shared") + " or a metadata file says it");
    }
    if (bytes > max_dynamic_shared()) return out_of_shared(bytes);
    config_.shared_bytes = static_cast<uint32_t>(bytes);
    // The limit counts static shared memory in.
    if (bytes + resources_.static_shared <= kSharedWithoutAsking) return base::success();
    return driver_.allow_dynamic_shared(function_, static_cast<int>(bytes));
  }

  base::Status check_pointers(std::span<const exec::Argument> args,
                              std::span<const exec::Allocation> memory) const {
    for (size_t i = 0; i < args.size(); i++) {
      const exec::Argument& arg = args[i];
      uint64_t address = arg.kind == exec::ParamKind::kPointer ? arg.bits
                         : arg.descriptor                      ? arg.descriptor->address
                                                               : 0;
      if (address == 0 || plan_.entries[i].form == Form::kMapBytes) continue;
      auto where = TRY(driver_.pointer(address));
      bool here = where && (where->device == device_ || where->device < 0);
      if (here) continue;
      std::string who = "argument '" + spec_.params[i].name + "'";
      for (const exec::Allocation& a : memory)
        if (address >= a.address && address - a.address < a.bytes && !a.label.empty()) who = a.label;
      std::string place = std::string(driver_.backend()) + ":" + std::to_string(device_);
      if (!where)
        return failure("kernel '" + spec_.name + "': " + who + " lies in memory that " + place +
                           " cannot reach (a CPU tensor?)",
                       {"move the tensor to " + place + ", or launch with " + base::option("device", "cpu")});
      return failure("kernel '" + spec_.name + "': " + who + " lies on device " +
                     std::to_string(where->device) + ", and the kernel runs on " + place);
    }
    return base::success();
  }

  static uint64_t aligned(uint64_t address, int64_t align) {
    return align > 1 ? (address + align - 1) / align * align : address;
  }

  base::Result<uint64_t> allocate_scratch(const Scratch& scratch, const device::LaunchConfig& config,
                                          bool zeroed) {
    constexpr int64_t kDriverAlign = 256;  // of every allocation
    uint64_t bytes = uint64_t{config.grid[0]} * config.grid[1] * config.grid[2] * scratch.bytes_per_block;
    if (scratch.align > kDriverAlign) bytes += scratch.align;
    auto address = driver_.allocate(bytes, config.stream);
    if (address && zeroed) TRY(driver_.fill_zero(*address, bytes, config.stream));
    return address;
  }
  void release(const uint64_t (&scratch)[2], device::Stream stream) {
    for (uint64_t address : scratch)
      if (address) (void)driver_.release(address, stream).ok();
  }

  Diagnostic located(Diagnostic d) const {
    if (d.location.line > 0) d.location.file = spec_.name + "." + spec_.level;
    return d;
  }

  Diagnostic explained(Diagnostic d, const device::LaunchConfig& config) {
    auto three = [](const std::array<uint32_t, 3>& v) {
      return std::string("(")
          .append(std::to_string(v[0]))
          .append(", ")
          .append(std::to_string(v[1]))
          .append(", ")
          .append(std::to_string(v[2]))
          .append(")");
    };
    d.notes.push_back("kernel '" + spec_.name + "', grid " + three(config.grid) + ", block " +
                      three(config.block) + ", cluster " + three(config.cluster) + ", " +
                      std::to_string(config.shared_bytes) + " bytes of dynamic shared memory");
    if (config.cooperative)
      if (auto blocks = driver_.occupancy(function_, static_cast<int>(config.block[0]),
                                          static_cast<int>(config.shared_bytes));
          blocks)
        d.notes.push_back("a cooperative launch has to fit the device at once: " +
                          std::to_string(int64_t{*blocks} * properties_.multiprocessors) +
                          " blocks of this kernel do");
    return d;
  }

  device::Driver& driver_;
  GpuKernelSpec spec_;
  int device_;
  device::Properties properties_;
  device::Module module_ = 0;
  device::Function function_ = 0;
  device::Resources resources_;
  device::LaunchConfig config_;
  Plan plan_;
  bool takes_words_ = false;
  std::vector<std::string> warnings_;
};

}  // namespace

base::Result<std::unique_ptr<GpuKernel>> load(device::Driver& driver, GpuKernelSpec spec, int device) {
  if (device < 0) {
    device = TRY(driver.current_device());
  }
  TRY(driver.use_device(device));
  auto kernel = std::make_unique<Loaded>(driver, std::move(spec), device);
  TRY(kernel->prepare());
  return std::unique_ptr<GpuKernel>(std::move(kernel));
}

base::Result<std::unique_ptr<GpuKernel>> adopt(device::Driver& driver, GpuKernelSpec spec,
                                               device::Function function, int device) {
  auto kernel = std::make_unique<Loaded>(driver, std::move(spec), device);
  TRY(kernel->prepare(function));
  return std::unique_ptr<GpuKernel>(std::move(kernel));
}

}  // namespace triton_runner::launch
