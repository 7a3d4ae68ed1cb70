// Implements simt::load_amdgcn: AMD's machine code as a Kernel.
#include <mutex>

#include <triton_runner/amdgcn/code_object.h>
#include <triton_runner/amdgcn/waits.h>
#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>

#include "front/amdgcn/lower.h"
#include "launch/kernel.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kMostOthers = 8;

// check="hazard": the first register that is used before what writes it was waited for.
std::optional<exec::Trap> first_hazard(const amdgcn::Module& module, const amdgcn::Kernel& kernel) {
  const std::vector<amdgcn::MissingWait> found = amdgcn::missing_waits(module, kernel);
  if (found.empty()) return {};
  const auto text = [&](const amdgcn::Instruction& in) {
    return module.location(in.offset).str() + ": " + std::string(module.text().substr(in.offset, in.length));
  };
  const amdgcn::MissingWait& first = found.front();
  exec::Trap t;
  t.kind = exec::TrapKind::kHazard;
  t.kernel = kernel.name;
  t.op = first.at->spelling;
  t.location = module.location(first.at->offset);
  t.message = first.message;
  if (first.at->place.line) {
    t.notes.push_back("the instruction is at " + text(*first.at));
    t.location = {std::string(first.at->place.file), static_cast<int>(first.at->place.line),
                  static_cast<int>(first.at->place.column)};
  }
  t.notes.push_back("the " + std::string(first.what) + " is at " + text(*first.pending));
  for (size_t i = 1; i < found.size() && i <= kMostOthers; ++i)
    t.notes.push_back("another one, at " + text(*found[i].at));
  return t;
}

// Found when the race check asks for the first time.
class Late {
 public:
  Late(std::shared_ptr<const amdgcn::Module> module, const amdgcn::Kernel& kernel)
      : module_(std::move(module)), kernel_(kernel) {}
  const amdgcn::LateReads& reads() {
    std::call_once(once_, [&] { reads_ = amdgcn::late_reads(*module_, kernel_); });
    return reads_;
  }

 private:
  std::shared_ptr<const amdgcn::Module> module_;
  const amdgcn::Kernel& kernel_;
  std::once_flag once_;
  amdgcn::LateReads reads_;
};

using Loaded = base::Result<std::unique_ptr<exec::Kernel>>;

Loaded load_text(std::string text, const char* level, std::string_view name, const LoadOptions& options,
                 const std::string& filename) {
  std::shared_ptr<const amdgcn::Module> module = TRY(amdgcn::parse(std::move(text), filename));
  const amdgcn::Kernel* kernel = nullptr;
  std::vector<std::string> names;
  for (const amdgcn::Kernel& k : module->kernels()) {
    names.emplace_back(k.name);
    if (name.empty() ? module->kernels().size() == 1 : k.name == name) kernel = &k;
  }
  if (!kernel) {
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
    return base::failure(filename + (name.empty() ? ": there are several kernels, and none was named"
                                                  : ": there is no kernel '" + std::string(name) + "'"),
                         {"it has: " + list});
  }
  auto bad = [&](std::string message, std::vector<std::string> notes = {}) {
    base::Diagnostic d =
        base::failure("kernel '" + std::string(kernel->name) + "': " + std::move(message), std::move(notes));
    d.location.file = filename;
    return d;
  };
  const std::string_view target = module->target();
  if (!target.starts_with("gfx9") && !target.starts_with("gfx11") && !target.starts_with("gfx120"))
    return bad("the engine does not execute machine code of '" + std::string(target) +
                   "': it knows CDNA (gfx90a, gfx942, gfx950) and RDNA 3 and 4 (gfx11, gfx12)",
               {"level 'ttgir' executes the IR that this was compiled from"});
  Code code;
  code.level = level;
  code.kernel = kernel->name;
  code.target = "hip:" + std::string(module->target());
  const bool rdna = !module->target().starts_with("gfx9");
  code.width = rdna && kernel->directive("wavefront_size32", 1) ? 32 : 64;
  code.no_numbers = "checks 'nan', 'inf' and 'zerodiv' are not made at level '" + std::string(level) +
                    "': level 'ttgir' has them";
  std::array<uint32_t, 3> block = options.block;
  if (!is_given(block)) block = {kernel->threads, 1, 1};
  if (!is_given(block)) return bad("it does not say how many threads a block has", {"give the block size"});
  if (std::string fault = set_shape(code, block, {1, 1, 1}); !fault.empty()) return bad(std::move(fault));
  Target shape = code;
  code.hazards = [module, kernel] { return first_hazard(*module, *kernel); };
  const auto late = std::make_shared<Late>(module, *kernel);
  code.reads_late = [late] { return !late->reads().empty(); };
  base::Diagnostics sink;
  if (!AmdLowering(code, module, *kernel, sink).lower_kernel()) return sink.summary();
  auto plan = TRY(ArgumentPlan::make(code, options));
  // The shape is what the text and the options say, without what lowering adds.
  auto lower = [shape = std::move(shape), module, kernel, late, level = code.level](
                   const exec::LaunchOptions& options) -> base::Result<std::unique_ptr<Code>> {
    auto code = std::make_unique<Code>();
    static_cast<Target&>(*code) = shape;
    code->level = level;
    base::Diagnostics sink;
    AmdLowering lowering(*code, module, *kernel, sink, probes_of(options), options.stopper);
    if (options.counter) lowering.count();
    if (options.checks & exec::kCheckRace) lowering.read_late(late->reads());
    if (lowering.lower_kernel()) return code;
    return sink.summary();
  };
  return make_kernel(std::move(code), std::move(plan), options.shared_bytes, std::move(lower));
}

}  // namespace

Loaded load_amdgcn(std::string text, std::string_view name, const LoadOptions& options,
                   const std::string& filename) {
  return load_text(std::move(text), "amdgcn", name, options, filename);
}

Loaded load_hsaco(std::string_view bytes, std::string_view name, const LoadOptions& options,
                  const std::string& filename) {
  return load_text(TRY(amdgcn::listing(bytes, filename)), "hsaco", name, options, filename);
}

}  // namespace triton_runner::simt
