// Implements the Kernel of lowered code: checks a launch, packs its arguments, runs its grid (run.h).
#include "launch/kernel.h"

#include <triton_runner/simt/simt.h>

#include <algorithm>
#include <cstdlib>

#include <triton_runner/exec/faults.h>
#include <triton_runner/exec/pool.h>
#include <triton_runner/exec/timing.h>
#include <triton_runner/exec/two_runs.h>

#include "check/doubts.h"
#include "code/spaces.h"
#include "launch/run.h"
#include "native/native.h"

namespace triton_runner::simt {
namespace {

class SimtKernel final : public exec::Kernel {
 public:
  SimtKernel(Code code, ArgumentPlan plan, int64_t shared_bytes, LowerWithProbes lower)
      : code_(std::move(code)),
        plan_(std::move(plan)),
        lower_(std::move(lower)),
        shared_bytes_(shared_bytes) {
    compile_runs(code_);
    for (Instr& in : code_.instrs) in.is_alone = !in.source || in.source->is_alone();
  }

  const std::string& name() const override { return code_.kernel; }
  const std::vector<exec::Param>& params() const override { return plan_.params(); }
  const std::string& level() const override { return code_.level; }
  const std::string& target() const override { return code_.target; }

  // The units that the engine runs are clusters: a grid of blocks is divided into them.
  exec::LaunchResult launch(const exec::LaunchOptions& options, std::span<const exec::Argument> args,
                            std::span<const exec::Allocation> allocations) override {
    if (auto ok = exec::check_programs(options); !ok) return exec::LaunchError{ok.error(), {}};
    if (!code_.grid_of_blocks || (exec::wants_both_ends(options) && has_two_ends()))
      return launch_clusters(options, args, allocations);
    exec::LaunchOptions divided = options;
    for (size_t d = 0; d < 3; ++d) {
      const int64_t blocks = code_.cluster[d];
      if (options.grid[d] % blocks != 0)
        return refused("the grid has " + std::to_string(options.grid[d]) + " blocks along " + "xyz"[d] +
                           ", which are not whole clusters of " + std::to_string(blocks),
                       {"make the grid a multiple of ctas_per_cga"});
      divided.grid[d] /= blocks;
      if (divided.only) (*divided.only)[d] /= blocks;
    }
    return launch_clusters(divided, args, allocations);
  }

 private:
  exec::LaunchResult launch_clusters(const exec::LaunchOptions& options, std::span<const exec::Argument> args,
                                     std::span<const exec::Allocation> allocations) {
    if (options.checks & exec::kCheckNanLoad)
      return refused(
          "check 'nanload' needs the types of what is loaded, which PTX does not say; 'nan' and 'inf' look "
          "at "
          "the instructions on floats");
    if (options.checks & exec::kCheckHints)
      return refused(
          "check 'hints' is for TTIR and TTGIR: PTX has no hints, and a wide access at an address that is "
          "not "
          "aligned stops the launch without it");
    if ((options.checks & exec::kCheckOverflow) && code_.level == "cubin")
      return refused(
          "check 'overflow' is for TTIR, TTGIR and PTX: machine code computes integers of 64 bits in halves");
    if (options.checks & exec::kCheckHazard) {
      if (!code_.hazards) return refused(exec::kHazardIsForCubins);
      if (auto trap = code_.hazards()) return exec::LaunchError{{}, std::move(trap)};
    }
    constexpr uint32_t kNumbers = exec::kCheckNan | exec::kCheckInf | exec::kCheckZeroDivision;
    if ((options.checks & kNumbers) && !code_.no_numbers.empty()) return refused(code_.no_numbers);
    if ((options.checks & kNumbers) && options.substitution && code_.level == "cubin")
      return refused(
          "numbers are substituted in PTX and above: machine code computes one instruction of the PTX by "
          "several");
    if (options.perturb) return refused("perturb= is for TTIR and TTGIR, whose ops say what rounds");
    if (exec::wants_both_ends(options) && has_two_ends())
      return exec::launch_both_ends(*this, options, args, allocations);
    if (options.counter && code_.level != "cubin" && code_.level != "amdgcn")
      return refused("what is executed is counted in machine code",
                     {"launch it at level 'cubin', or 'amdgcn' of AMD's targets"});
    auto observed = with_probes(options);
    if (!observed) return exec::LaunchError{observed.error(), {}};
    if (options.stopper && !*observed) return {};  // it is not to run
    const Code& code = *observed ? **observed : code_;
    const int64_t blocks =
        exec::programs_of(options) * code_.cluster[0] * code_.cluster[1] * code_.cluster[2];
    auto packed = plan_.pack(args, blocks);
    if (!packed) return exec::LaunchError{packed.error(), {}};
    auto shared = shared_bytes(options);
    if (!shared) return exec::LaunchError{shared.error(), {}};
    std::vector<exec::Allocation> all(allocations.begin(), allocations.end());
    for (const exec::Allocation& a : packed->memory) all.push_back(a);
    for (exec::Allocation& a : all)
      if (code.whole_words && !a.undefined) a.bytes += -(a.address + a.bytes) % 4;
    for (const Code::Global& g : code.globals)
      all.push_back({g.address, g.size, "variable '" + g.name + "'", g.writable});
    packed->bytes.resize(std::max<size_t>(packed->bytes.size(), code_.param_bytes));
    const Given given{code, packed->bytes, *shared, all};
    if (!(options.checks & exec::kCheckRace) || options.stopper) return run(options, given);
    return run_with_doubts(options, given);
  }

  // The subject of a launch, whatever its options.
  struct Given {
    const Code& code;
    std::vector<std::byte> params;
    uint32_t shared_bytes;
    std::vector<exec::Allocation> memory;
  };

  exec::LaunchResult run(const exec::LaunchOptions& options, const Given& given, exec::UndoLog* log = nullptr,
                         std::vector<Doubt>* doubts = nullptr, OtherOrder* other_order = nullptr) const {
    const Code& code = given.code;
    Launch launch;
    launch.code = &code;
    launch.plan = &plan_;
    launch.log = log;
    launch.doubts = doubts;
    launch.other_order = other_order;
    for (size_t d = 0; d < 3; ++d)
      launch.blocks[d] = static_cast<uint32_t>(options.grid[d]) * code_.cluster[d];
    launch.params = given.params;
    launch.shared_bytes = given.shared_bytes;
    const auto workspace = reinterpret_cast<uint64_t>(launch.workspace.data());
    if (code_.begin_parameters)
      code_.begin_parameters(
          code_, {launch.blocks, workspace, given.shared_bytes - code_.static_shared - code_.reserved_shared},
          launch.params.data());
    std::vector<exec::Allocation> all = given.memory;
    if (code_.uses_workspace)
      all.push_back({workspace, sizeof launch.workspace, "the words by which the blocks of the grid meet"});
    if (!launch.params.empty())
      all.push_back({reinterpret_cast<uint64_t>(launch.params.data()), launch.params.size(),
                     "the parameters of the kernel", false});
    exec::Heap heap;
    launch.heap = code_.heap ? code_.heap : &heap;
    // The host is asked about its own memory only.
    exec::Memory::Resolve resolve = [&](uint64_t address) -> std::optional<exec::Allocation> {
      const bool is_here = launch.heap->contains(address) || in_window(address);
      return is_here || !options.resolve ? std::nullopt : options.resolve(address);
    };
    exec::Memory memory(all, resolve, options.whole);
    launch.begin(options, memory, exec::programs_of(options));
    launch.fast_mma = options.mma == exec::Mma::kFast;
    launch.keeps_state = options.counter || std::ranges::any_of(code.globals, &Code::Global::writable);
    launch.keeps_state |= code.uses_heap || code.uses_workspace;
    launch.checked = (options.checks & ~(exec::kCheckBounds | exec::kCheckHazard | exec::kCheckView)) != 0;
    launch.keeps_state |= launch.checked;
    int workers = options.threads > 0 ? options.threads : exec::available_cores();
    if (launch.checked || launch.shuffle) workers = 1;
    if (options.stopper) workers = 1;
    try {
      run_grid(launch, workers);
    } catch (const std::bad_alloc&) {
      return refused(
          "there is not enough memory for the registers and shared memory of its blocks, and for what its "
          "checks remember");
    }
    if (launch.trap) return exec::LaunchError{{}, std::move(launch.trap)};
    if (launch.warning) return exec::LaunchError{{}, std::move(launch.warning->second)};
    return {};
  }

  // The launch, and an experiment for each pair of instructions that may race.
  exec::LaunchResult run_with_doubts(const exec::LaunchOptions& options, const Given& given) const {
    std::vector<Doubt> doubts;
    exec::TwoRuns runs(given.memory, true, true);
    exec::LaunchOptions first = options;
    if (options.resolve)
      first.resolve = [&](uint64_t address) {
        std::optional<exec::Allocation> found = options.resolve(address);
        if (found) runs.include(*found);
        return found;
      };
    exec::LaunchResult result = run(first, given, runs.log(), &doubts);
    const bool is_warning = result && result->trap && !result->trap->warning.empty();
    if ((result && !is_warning) || doubts.empty()) return result;
    exec::LaunchOptions again = first;
    again.checks = exec::kCheckRace;
    again.look_away();
    exec::Faults faults;
    if (options.faults) again.faults = &faults;
    runs.keep();
    for (Doubt& doubt : doubts) {
      OtherOrder order(doubt);
      exec::LaunchResult other = run(again, given, runs.log(), nullptr, &order);
      const bool was_stopped = other && (!other->trap || other->trap->kind == exec::TrapKind::kInterrupted);
      const bool differs = other || runs.difference();
      runs.put_back();
      if (was_stopped) break;
      if (differs) {
        result = exec::LaunchError{{}, std::move(doubt.trap)};
        break;
      }
    }
    runs.restore();
    return result;
  }

  exec::LaunchError refused(const std::string& why, std::vector<std::string> notes = {}) const {
    return {base::failure("kernel '" + code_.kernel + "': " + why, std::move(notes)), {}};
  }

  // Returns whether there are asynchronous operations whose results can be compared, and may say more than the race check: the order
  // of atomics on global memory is free, and of what a thread copies by itself the check sees all that is used before it is there
  // (unless an mbarrier tells of it: which of its phases there is depends on the time too).
  bool has_two_ends() const {
    bool later = false, copies = false, objects = false;
    for (const Instr& in : code_.instrs) {
      if (!in.source) continue;
      if (in.source->updates_global) return false;
      later |= (in.source->copies && !in.source->by_thread) || in.source->multiplies;
      copies |= in.source->by_thread;
      objects |= in.source->access == Source::Access::kObject;
    }
    return later || (copies && objects);
  }

  // The code of a launch that somebody looks at; null where it is the kernel's own.
  base::Result<std::unique_ptr<Code>> with_probes(const exec::LaunchOptions& options) const {
    const bool reads_late = (options.checks & exec::kCheckRace) && code_.reads_late && code_.reads_late();
    if (!options.stopper && !options.counter && !reads_late && probes_of(options).empty())
      return std::unique_ptr<Code>();
    auto code = lower_(options);  // which tells a debugger of all places
    if (!code) return code;
    if (options.stopper) {
      if (!options.stopper->ready(code_.kernel, code_.level)) return std::unique_ptr<Code>();
      if (options.stopper->is_sparse()) code = lower_(options);
    }
    return code;
  }

  base::Result<uint32_t> shared_bytes(const exec::LaunchOptions& options) const {
    const uint32_t most = max_shared_bytes(code_.target);
    int64_t dynamic = options.shared_bytes >= 0 ? options.shared_bytes : shared_bytes_;
    if (dynamic < 0) dynamic = code_.dynamic_shared ? most - code_.static_shared : 0;
    if (dynamic + code_.static_shared > most)
      return base::failure(
          "kernel '" + code_.kernel + "' asks for " + std::to_string(dynamic + code_.static_shared) +
          " bytes of shared memory; a block of " + code_.target + " has at most " + std::to_string(most));
    return static_cast<uint32_t>(dynamic) + code_.static_shared + code_.reserved_shared;
  }

  Code code_;
  ArgumentPlan plan_;
  LowerWithProbes lower_;
  int64_t shared_bytes_;
};

}  // namespace

uint32_t max_shared_bytes(const std::string& target) {
  if (target.starts_with("hip:")) return target == "hip:gfx950" ? 160 << 10 : 64 << 10;
  const int capability = std::atoi(target.c_str() + std::min<size_t>(target.size(), 5));
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

std::string set_shape(Target& target, std::array<uint32_t, 3> block, std::array<uint32_t, 3> cluster) {
  for (uint32_t& v : block) v = std::max(v, 1u);
  for (uint32_t& v : cluster) v = std::max(v, 1u);
  target.block = block;
  target.cluster = cluster;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  const uint64_t blocks = uint64_t{cluster[0]} * cluster[1] * cluster[2];
  if (threads > 1024 || block[2] > 64)
    return "a block has at most 1,024 threads, 64 of them along z: " + std::to_string(block[0]) + " x " +
           std::to_string(block[1]) + " x " + std::to_string(block[2]);
  if (blocks > 16) return "a cluster has at most 16 blocks, and this one " + std::to_string(blocks);
  target.real_threads = static_cast<uint32_t>(threads);
  target.threads = (target.real_threads + target.width - 1) / target.width * target.width;
  return "";
}

std::unique_ptr<exec::Kernel> make_kernel(Code code, ArgumentPlan plan, int64_t shared_bytes,
                                          LowerWithProbes lower) {
  return std::make_unique<SimtKernel>(std::move(code), std::move(plan), shared_bytes, std::move(lower));
}

}  // namespace triton_runner::simt
