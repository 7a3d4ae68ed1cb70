// simt::load and the Kernel that it gives.
#include <triton_runner/simt/simt.h>

#include <algorithm>

#include <triton_runner/exec/pool.h>
#include <triton_runner/exec/timing.h>

#include "arguments.h"
#include "lower.h"
#include "run.h"

namespace triton_runner::simt {
namespace {

class SimtKernel final : public exec::Kernel {
 public:
  const std::string& name() const override { return code_.kernel; }
  const std::vector<exec::Param>& params() const override { return plan_->params(); }
  const std::string& level() const override { return level_; }
  const std::string& target() const override { return code_.target; }

  exec::LaunchResult launch(const exec::LaunchOptions& options, std::span<const exec::Argument> args,
                            std::span<const exec::Allocation> allocations) override {
    if (auto ok = exec::check_grid(options.grid); !ok) return exec::LaunchError{ok.error(), {}};
    if (options.checks & exec::kCheckNanLoad)
      return exec::LaunchError{
          base::failure("kernel '" + code_.kernel +
                        "': check 'nanload' needs the types of what is loaded, which "
                        "PTX does not say; 'nan' and 'inf' look at the instructions on floats"),
          {}};
    if (options.checks & exec::kCheckHints)
      return exec::LaunchError{
          base::failure("kernel '" + code_.kernel +
                        "': check 'hints' is for TTIR and TTGIR: PTX has no hints, and a wide access at an "
                        "address that is not aligned stops the launch without it"),
          {}};
    if (options.perturb)
      return exec::LaunchError{base::failure("kernel '" + code_.kernel +
                                             "': perturb= is for TTIR and TTGIR, whose ops say what rounds"),
                               {}};
    if (exec::wants_both_ends(options) && has_two_ends())
      return exec::launch_both_ends(*this, options, args, allocations);
    auto observed = with_probes(options.observer);
    if (!observed) return exec::LaunchError{observed.error(), {}};
    const Code& code = *observed ? **observed : code_;
    Launch launch;
    launch.code = &code;
    launch.plan = &*plan_;
    for (size_t d = 0; d < 3; ++d)
      launch.blocks[d] = static_cast<uint32_t>(options.grid[d]) * code_.cluster[d];
    const int64_t blocks = int64_t{launch.blocks[0]} * launch.blocks[1] * launch.blocks[2];
    auto packed = plan_->pack(args, blocks);
    if (!packed) return exec::LaunchError{packed.error(), {}};
    launch.params = std::move(packed->bytes);
    launch.params.resize(std::max<size_t>(launch.params.size(), code_.param_bytes));
    auto shared = shared_bytes(options);
    if (!shared) return exec::LaunchError{shared.error(), {}};
    launch.shared_bytes = *shared;
    std::vector<exec::Allocation> all(allocations.begin(), allocations.end());
    for (const exec::Allocation& a : packed->memory) all.push_back(a);
    for (const Code::Global& g : code.globals)
      all.push_back({g.address, g.size, "variable '" + g.name + "'", g.writable});
    if (!launch.params.empty())
      all.push_back({reinterpret_cast<uint64_t>(launch.params.data()), launch.params.size(),
                     "the parameters of the kernel", false});
    exec::Memory memory(all, options.resolve, options.whole);
    launch.begin(options, memory, exec::programs_of(options));
    launch.fast_mma = options.mma == exec::Mma::kFast;
    launch.checked = (options.checks & ~exec::kCheckBounds) != 0;
    int workers = options.threads > 0 ? options.threads : exec::available_cores();
    if (launch.checked || launch.shuffle) workers = 1;
    try {
      run_grid(launch, workers);
    } catch (const std::bad_alloc&) {
      return exec::LaunchError{base::failure("kernel '" + code_.kernel +
                                             "': there is not enough memory for the registers and shared "
                                             "memory of its blocks"),
                               {}};
    }
    if (launch.trap) return exec::LaunchError{{}, std::move(launch.trap)};
    if (launch.warning) return exec::LaunchError{{}, std::move(launch.warning->second)};
    return {};
  }

  // Whether there are asynchronous operations whose results can be compared: the order of atomics on global
  // memory is free.
  bool has_two_ends() const {
    bool later = false;
    for (const Instr& in : code_.instrs) {
      if (!in.source) continue;
      if (in.source->does(ptx::Effect::kUpdates) && !in.source->has(ptx::Mod::kShared) &&
          !in.source->has(ptx::Mod::kSharedCta))
        return false;
      later |= in.source->does(ptx::Effect::kCopies) || in.source->does(ptx::Effect::kLater);
    }
    return later;
  }

  // The code of a launch that somebody observes; null where it is the kernel's own.
  base::Result<std::unique_ptr<Code>> with_probes(exec::Observer* observer) const {
    auto* registers = dynamic_cast<exec::RegisterObserver*>(observer);
    if (!registers || registers->register_probes().empty()) return std::unique_ptr<Code>();
    auto code = std::make_unique<Code>();
    code->module = code_.module, code->entry = code_.entry;
    code->kernel = code_.kernel, code->target = code_.target, code->capability = code_.capability;
    code->contract = code_.contract;
    code->block = code_.block, code->cluster = code_.cluster;
    code->threads = code_.threads, code->real_threads = code_.real_threads;
    base::Diagnostics sink;
    if (!Lowering(*code, sink, registers->register_probes()).lower_entry(*code_.entry))
      return sink.list().empty()
                 ? code_.module->diagnostic(code_.entry->offset, "this kernel cannot be executed with probes")
                 : sink.list().front();
    return code;
  }

  base::Result<uint32_t> shared_bytes(const exec::LaunchOptions& options) const {
    const uint32_t most = max_shared_bytes(code_.capability);
    int64_t dynamic = options.shared_bytes >= 0 ? options.shared_bytes : shared_bytes_;
    if (dynamic < 0) dynamic = code_.dynamic_shared ? most - code_.static_shared : 0;
    if (dynamic + code_.static_shared > most)
      return base::failure(
          "kernel '" + code_.kernel + "' asks for " + std::to_string(dynamic + code_.static_shared) +
          " bytes of shared memory; a block of " + code_.target + " has at most " + std::to_string(most));
    return static_cast<uint32_t>(dynamic) + code_.static_shared;
  }

  Code code_;
  std::optional<ArgumentPlan> plan_;
  std::string level_ = "ptx";
  int64_t shared_bytes_ = -1;
};

base::Result<const ptx::Function*> choose(const ptx::Module& module, std::string_view name) {
  std::vector<const ptx::Function*> entries = module.entries();
  std::vector<std::string> names;
  for (const ptx::Function* f : entries) names.emplace_back(f->name);
  std::string list = "the module has:";
  for (const std::string& n : names) list += " " + n;
  if (entries.empty()) return module.diagnostic(0, "there is no kernel (.entry) in this module");
  if (name.empty()) {
    if (entries.size() == 1) return entries[0];
    return module.diagnostic(
        entries[1]->offset,
        "this module has " + std::to_string(entries.size()) + " kernels: say which one to load", {list});
  }
  for (const ptx::Function* f : entries)
    if (f->name == name) return f;
  std::vector<std::string> notes;
  for (const std::string& n : base::nearest_names(name, names)) notes.push_back("did you mean '" + n + "'?");
  notes.push_back(list);
  return module.diagnostic(entries[0]->offset,
                           "there is no kernel '" + std::string(name) + "' in this module", notes);
}

bool is_given(const std::array<uint32_t, 3>& a) { return a[0] || a[1] || a[2]; }
std::array<uint32_t, 3> at_least_one(std::array<uint32_t, 3> a) {
  for (uint32_t& v : a) v = std::max(v, 1u);
  return a;
}

}  // namespace

uint32_t max_shared_bytes(int capability) {
  switch (capability) {
    case 75:
      return 64 << 10;
    case 80:
    case 87:
      return 163 << 10;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 << 10;
    case 70:
    case 72:
      return 96 << 10;
    default:
      return capability >= 90 ? 227 << 10 : 48 << 10;
  }
}

base::Result<std::unique_ptr<exec::Kernel>> load(std::shared_ptr<const ptx::Module> module,
                                                 std::string_view name, const LoadOptions& options) {
  auto chosen = choose(*module, name);
  if (!chosen) return chosen.error();
  const ptx::Function& entry = **chosen;
  auto kernel = std::make_unique<SimtKernel>();
  Code& code = kernel->code_;
  code.module = module;
  code.entry = &entry;
  code.kernel = std::string(entry.name);
  code.contract = options.contract;
  code.capability = module->compute_capability();
  if (code.capability == 0)
    return module->diagnostic(
        0, "the target of this module is '" + std::string(module->target()) + "': sm_NN is wanted");
  code.target = "cuda:" + std::to_string(code.capability);
  code.block = is_given(entry.reqntid)   ? entry.reqntid
               : is_given(options.block) ? options.block
                                         : entry.maxntid;
  if (!is_given(code.block))
    return module->diagnostic(entry.offset, "'" + code.kernel + "' does not say how many threads a block has",
                              {"give the block size: there is no .reqntid in the text"});
  code.block = at_least_one(code.block);
  code.cluster = at_least_one(is_given(entry.cluster) ? entry.cluster : options.cluster);
  const uint64_t threads = uint64_t{code.block[0]} * code.block[1] * code.block[2];
  const uint64_t blocks = uint64_t{code.cluster[0]} * code.cluster[1] * code.cluster[2];
  if (threads > 1024 || code.block[2] > 64)
    return module->diagnostic(
        entry.offset,
        "a block has at most 1,024 threads, 64 of them along z: " + std::to_string(code.block[0]) + " x " +
            std::to_string(code.block[1]) + " x " + std::to_string(code.block[2]));
  if (blocks > 16)
    return module->diagnostic(entry.offset,
                              "a cluster has at most 16 blocks, and this one " + std::to_string(blocks));
  code.real_threads = static_cast<uint32_t>(threads);
  code.threads = (code.real_threads + 31) / 32 * 32;
  base::Diagnostics sink;
  if (!Lowering(code, sink).lower_entry(entry)) {
    if (sink.list().empty()) return module->diagnostic(entry.offset, "this kernel cannot be executed");
    base::Diagnostic first = sink.list().front();
    for (size_t i = 1; i < sink.list().size() && i < 8; ++i)
      first.notes.push_back("also, at " + sink.list()[i].location.str() + ": " + sink.list()[i].message);
    return first;
  }
  auto plan = ArgumentPlan::make(code, options);
  if (!plan) return plan.error();
  kernel->plan_ = std::move(*plan);
  kernel->shared_bytes_ = options.shared_bytes;
  return std::unique_ptr<exec::Kernel>(std::move(kernel));
}

}  // namespace triton_runner::simt
