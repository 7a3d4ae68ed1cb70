// Implements tile::load() and the Kernel that it gives: chooses the function, lowers it, checks a launch,
// runs its grid.
#include <triton_runner/base/try.h>
#include <triton_runner/tile/tile.h>

#include <algorithm>

#include <triton_runner/exec/pool.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/exec/timing.h>
#include <triton_runner/num/types.h>

#include "check/check.h"
#include "lowering.h"
#include "schedule.h"
#include "trace/location.h"
#include "trace/origin.h"

namespace triton_runner::tile {
namespace {

class TileKernel final : public exec::Kernel {
 public:
  const std::string& name() const override { return code_.kernel; }
  const std::vector<exec::Param>& params() const override { return params_; }
  const std::string& level() const override { return level_; }
  const std::string& target() const override { return code_.target; }

  exec::LaunchResult launch(const exec::LaunchOptions& options, std::span<const exec::Argument> args,
                            std::span<const exec::Allocation> allocations) override {
    if (auto ok = exec::check_arguments(*this, args); !ok) return exec::LaunchError{ok.error(), {}};
    if (auto ok = exec::check_programs(options); !ok) return exec::LaunchError{ok.error(), {}};
    if (options.checks & exec::kCheckHazard)
      return exec::LaunchError{base::failure("kernel '" + name() + "': " + exec::kHazardIsForCubins), {}};
    if (exec::wants_both_ends(options) && has_two_ends(*func_->region(0)) == Ends::kTwo)
      return exec::launch_both_ends(*this, options, args, allocations);
    if (auto ok = whole_clusters(options.grid); !ok) return exec::LaunchError{ok.error(), {}};
    const Code* plain = &code_;
    if (options.numerics == exec::Numerics::kHardware) {
      auto made = hardware_code();
      if (!made) return exec::LaunchError{made.error(), {}};
      plain = *made;
    }
    if (options.stopper && !options.stopper->ready(name(), level_)) return {};
    exec::Memory memory(allocations, options.resolve, options.whole);
    Launch launch;
    const int64_t blocks = code_.cluster_size();
    launch.begin(options, memory, (exec::programs_of(options) + blocks - 1) / blocks, code_.cluster);
    launch.code = plain;
    // Who looks on has code of its own for this one launch, and so do checks: nothing is fused there, so that
    // every value is there to be seen.
    std::optional<Checks> checks;
    std::unique_ptr<const CheckedCode> with_probes;
    if ((options.checks & ~exec::kCheckBounds) || options.shuffle || options.perturb) {
      if (options.observer || options.stopper || options.numerics == exec::Numerics::kHardware)
        with_probes = made_code(options, true);
      const CheckedCode& code = with_probes ? *with_probes : checked_code();
      checks.emplace(code, options, memory, launch.shuffle ? &*launch.shuffle : nullptr);
      launch.checks = &*checks;
      launch.keeps_state = true;
      launch.code = &code.code;
    } else if (options.observer || options.stopper) {
      with_probes = made_code(options, false);
      launch.code = &with_probes->code;
    }
    launch.args = args;
    int workers = options.threads > 0 ? options.threads : exec::available_cores();
    if (checks && checks->one_thread()) workers = 1;
    if (options.stopper) workers = 1;  // a person looks at one after the other
    run_grid(launch, workers);
    if (launch.trap) return exec::LaunchError{{}, std::move(launch.trap)};
    return {};
  }

  Code code_;
  const ir::Op* func_ = nullptr;
  std::vector<exec::Param> params_;
  std::string level_;
  LoadOptions options_;

 private:
  base::Status whole_clusters(const std::array<int64_t, 3>& grid) const {
    for (size_t d = 0; d < 3; ++d)
      if (grid[d] % code_.cluster[d] != 0)
        return base::failure(
            "a grid of " + std::to_string(grid[d]) + " programs along " + "xyz"[d] + ", which clusters of " +
                std::to_string(code_.cluster[d]) + " do not divide",
            {"the module's ttg.cluster-dim-x, -y and -z say how many programs are a cluster"});
    return base::success();
  }

  // Whether there are asynchronous operations whose results can be compared: the order of atomics is free.
  enum class Ends : uint8_t { kNone, kTwo, kAtomics };
  Ends has_two_ends(const ir::Region& region) const {
    Ends ends = Ends::kNone;
    for (const ir::Block* b = region.first; b; b = b->next)
      for (const ir::Op* op = b->first; op; op = op->next) {
        if (op->does(ir::Effect::kAtomics)) return Ends::kAtomics;
        if (op->does(ir::Effect::kAsync)) ends = Ends::kTwo;
        auto join = [&](const ir::Region& inner) { ends = std::max(ends, has_two_ends(inner)); };
        for (const ir::Region* r : op->regions) join(*r);
        const ir::Attr* callee = op->attr("callee");
        const ir::Op* called = callee ? code_.module->find_function(callee->string) : nullptr;
        if (called && called != op && !called->regions.empty()) join(*called->region(0));
      }
    return ends;
  }

  std::unique_ptr<CheckedCode> made_code(const exec::LaunchOptions& options, bool checked) const {
    auto made = std::make_unique<CheckedCode>();
    static_cast<CodeHeader&>(made->code) = code_;
    base::Diagnostics sink;
    Lowering lowering(made->code, sink);
    lowering.observe_for(options);
    if (options.numerics == exec::Numerics::kHardware) lowering.round_as(hardware());
    const bool fuses = options.stopper && options.stopper->is_sparse() && options_.fuse && !checked;
    lowering.lower_kernel(*func_, fuses);  // as before, so that it succeeds
    if (checked) made->prepare(lowering);
    return made;
  }

  // Made by the first launch that is checked or shuffled.
  const CheckedCode& checked_code() {
    std::lock_guard lock(checked_mutex_);
    if (!checked_) checked_ = made_code({}, true);
    return *checked_;
  }

  Lowering::Hardware hardware() const {
    return {true, options_.contract, options_.sums_in_trees,
            std::atoi(code_.target.c_str() + std::string_view("cuda:").size()), &options_};
  }

  // Made by the first launch that rounds as the hardware does.
  base::Result<const Code*> hardware_code() {
    if (!code_.is_ttgir)
      return base::failure(
          "kernel '" + name() + "': numerics 'hardware' needs layouts, and TTIR has none",
          {"they say which instruction multiplies and in which order elements are added: run it at "
           "level ttgir, or at level ptx, which always rounds so"});
    if (!code_.target.starts_with("cuda:"))
      return base::failure(
          "kernel '" + name() + "': numerics 'hardware' is for NVIDIA's targets, and this is " +
              (code_.target.empty() ? "a module without a target" : code_.target),
          {"leave " + base::option("numerics") + " out, or compile the kernel for a target such as cuda:90"});
    std::lock_guard lock(checked_mutex_);
    if (!hardware_) {
      auto made = std::make_unique<Code>();
      static_cast<CodeHeader&>(*made) = code_;
      base::Diagnostics sink;
      Lowering lowering(*made, sink);
      lowering.round_as(hardware());
      if (!lowering.lower_kernel(*func_)) return sink.summary();
      hardware_ = std::move(made);
    }
    return hardware_.get();
  }

  std::mutex checked_mutex_;
  std::unique_ptr<CheckedCode> checked_;
  std::unique_ptr<Code> hardware_;
};

// Also under the dialect name of 3.0 to 3.2.
const ir::Attr* module_attr(const ir::Op& module, const std::string& key) {
  const ir::Attr* a = module.attr("ttg." + key);
  return a ? a : module.attr("triton_gpu." + key);
}

int module_int(const ir::Op& module, const std::string& key, int otherwise) {
  const ir::Attr* a = module_attr(module, key);
  return a ? static_cast<int>(a->integer) : otherwise;
}

std::string function_name(const ir::Op& func) {
  const ir::Attr* a = func.attr("sym_name");
  return a ? std::string(a->string) : "";
}

std::optional<exec::Param> param_of(const ir::Value& arg) {
  exec::Param p;
  p.name = param_name(arg);
  p.type = std::string(arg.type->text);
  switch (arg.type->kind) {
    case ir::TypeKind::kPointer:
      p.kind = exec::ParamKind::kPointer;
      break;
    case ir::TypeKind::kIndex:
    case ir::TypeKind::kInteger:
      p.kind = exec::ParamKind::kInteger;
      p.bits = arg.type->kind == ir::TypeKind::kIndex ? 64 : arg.type->width;
      break;
    case ir::TypeKind::kFloat:
      p.kind = exec::ParamKind::kFloat;
      p.bits = arg.type->width;
      break;
    case ir::TypeKind::kTensorDesc:
      p.kind = exec::ParamKind::kTensorDesc;
      break;
    default:
      return std::nullopt;
  }
  return p;
}

base::Result<ir::Op*> choose(const ir::Module& module, std::string_view name) {
  std::vector<ir::Op*> kernels = module.kernels();
  std::vector<std::string> names;
  for (ir::Op* k : kernels) names.push_back(function_name(*k));
  auto list = [&] {
    std::string out = "the module has:";
    for (const std::string& n : names) out += " " + n;
    return out;
  };
  base::Diagnostic d;
  d.location.file = std::string(module.filename());
  if (name.empty()) {
    if (kernels.size() == 1) return kernels[0];
    d.message = kernels.empty()
                    ? "there is no kernel (public tt.func) in this module"
                    : "this module has " + std::to_string(kernels.size()) + " kernels: say which one to load";
    if (!kernels.empty()) d.notes.push_back(list());
    return d;
  }
  if (ir::Op* found = module.find_function(name)) return found;
  d.message = "there is no kernel '" + std::string(name) + "' in this module";
  for (const std::string& n : base::nearest_names(name, names))
    d.notes.push_back("did you mean '" + n + "'?");
  if (!names.empty()) d.notes.push_back(list());
  return d;
}

bool has_encoding(const ir::Region& region) {
  for (const ir::Block* b = region.first; b; b = b->next)
    for (const ir::Op* op = b->first; op; op = op->next) {
      for (const ir::Value& v : op->results)
        if (v.type->encoding) return true;
      for (const ir::Region* r : op->regions)
        if (has_encoding(*r)) return true;
    }
  return false;
}

}  // namespace

base::Result<std::unique_ptr<exec::Kernel>> load(std::shared_ptr<const ir::Module> module,
                                                 std::string_view name, const LoadOptions& options) {
  auto chosen = TRY(choose(*module, name));
  const ir::Op& func = *chosen;
  if (func.regions.empty() || !func.region(0)->first)
    return diagnostic_at(func, *module, "function '" + function_name(func) + "' has no body");
  // The handlers rely on it: a value that is used where it was not defined yet has no form.
  base::Diagnostics faults;
  if (!ir::verify(*module, faults)) return faults.list().front();

  auto kernel = std::make_unique<TileKernel>();
  Code& code = kernel->code_;
  code.module = module;
  code.kernel = function_name(func);
  kernel->func_ = &func;
  kernel->options_ = options;
  const ir::Op& top = *module->op();
  if (const ir::Attr* target = module_attr(top, "target")) code.target = std::string(target->string);
  if (const ir::Attr* capability = module_attr(top, "compute-capability"); capability && code.target.empty())
    code.target = "cuda:" + std::to_string(capability->integer);
  code.is_ttgir = !code.target.empty() || module_attr(top, "num-warps") || has_encoding(*func.region(0));
  code.num_warps = module_int(top, "num-warps", options.num_warps > 0 ? options.num_warps : 4);
  const bool says_warps = module_attr(top, "num-warps") || options.num_warps > 0;
  code.all_warps = module_int(top, "total-num-warps", says_warps ? code.num_warps : 0);
  code.num_ctas = module_int(top, "num-ctas", 1);
  code.warp_size = module_int(top, "threads-per-warp", 32);
  code.two_ctas = top.int_attr("ttng.two-ctas", 0) != 0;
  auto sane = [](int n, int most) { return n >= 1 && n <= most && (n & (n - 1)) == 0; };
  if (!sane(code.num_warps, 64) || !sane(code.num_ctas, 16) || !sane(code.warp_size, 64))
    return diagnostic_at(top, *module,
                         "num-warps = " + std::to_string(code.num_warps) +
                             ", num-ctas = " + std::to_string(code.num_ctas) +
                             ", threads-per-warp = " + std::to_string(code.warp_size) +
                             ": these are powers of two, at most 64, 16 and 64");
  const char* const kDims[] = {"cluster-dim-x", "cluster-dim-y", "cluster-dim-z"};
  for (size_t d = 0; d < 3; ++d) code.cluster[d] = module_int(top, kDims[d], 1);
  if (std::ranges::any_of(code.cluster, [](int64_t n) { return n < 1 || n > 16; }) ||
      code.cluster_size() > 16 || (code.cluster_size() > 1 && code.num_ctas > 1))
    return diagnostic_at(top, *module,
                         "clusters of " + std::to_string(code.cluster[0]) + " x " +
                             std::to_string(code.cluster[1]) + " x " + std::to_string(code.cluster[2]) +
                             " programs, num-ctas = " + std::to_string(code.num_ctas) +
                             ": a cluster has at most 16 blocks, and they are programs or parts of one");
  kernel->level_ = code.is_ttgir ? "ttgir" : "ttir";
  for (const ir::Value& arg : func.region(0)->first->args) {
    std::optional<exec::Param> p = param_of(arg);
    if (!p)
      return diagnostic_at(func, *module,
                           "parameter '" + param_name(arg) + "' has type " + std::string(arg.type->text) +
                               ", which no launch can pass");
    kernel->params_.push_back(std::move(*p));
  }
  base::Diagnostics sink;
  Lowering lowering(code, sink);
  if (!lowering.lower_kernel(func, options.fuse)) return sink.summary();
  return std::unique_ptr<exec::Kernel>(std::move(kernel));
}

std::shared_ptr<const ir::Module> module_of(const exec::Kernel& kernel) {
  const auto* tile = dynamic_cast<const TileKernel*>(&kernel);
  return tile ? tile->code_.module : nullptr;
}

bool force_isa(std::string_view isa) { return num::force_isa(isa); }

}  // namespace triton_runner::tile
