// simt::load() makes a Kernel of PTX.

#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>

#include "front/ptx/lower.h"
#include "launch/kernel.h"

namespace triton_runner::simt {
namespace {

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

}  // namespace

base::Result<std::unique_ptr<exec::Kernel>> load(std::shared_ptr<const ptx::Module> module,
                                                 std::string_view name, const LoadOptions& options) {
  auto chosen = TRY(choose(*module, name));
  const ptx::Function& entry = *chosen;
  const Program program{module, &entry, options.contract, options.variables};
  Code code;
  code.kernel = std::string(entry.name);
  code.capability = module->compute_capability();
  if (code.capability == 0)
    return module->diagnostic(
        0, "the target of this module is '" + std::string(module->target()) + "': sm_NN is wanted");
  code.target = "cuda:" + std::to_string(code.capability);
  code.grid_of_blocks = options.grid_of_blocks;
  code.heap = options.heap;
  const auto block = is_given(entry.reqntid)   ? entry.reqntid
                     : is_given(options.block) ? options.block
                                               : entry.maxntid;
  if (!is_given(block))
    return module->diagnostic(entry.offset, "'" + code.kernel + "' does not say how many threads a block has",
                              {"give the block size: there is no .reqntid in the text"});
  const std::string fault = set_shape(code, block, is_given(entry.cluster) ? entry.cluster : options.cluster);
  if (!fault.empty()) return module->diagnostic(entry.offset, fault);
  Target shape = code;
  base::Diagnostics sink;
  if (!Lowering(code, program, sink).lower_entry()) {
    if (sink.list().empty()) return module->diagnostic(entry.offset, "this kernel cannot be executed");
    return sink.summary();
  }
  auto plan = TRY(ArgumentPlan::make(code, options));
  // The shape is what the text and the options say, without what lowering adds.
  auto lower = [program, shape = std::move(shape)](
                   const exec::LaunchOptions& options) -> base::Result<std::unique_ptr<Code>> {
    auto code = std::make_unique<Code>();
    static_cast<Target&>(*code) = shape;
    base::Diagnostics sink;
    if (Lowering(*code, program, sink, probes_of(options), options.stopper).lower_entry()) return code;
    return sink.list().empty() ? program.module->diagnostic(program.entry->offset,
                                                            "this kernel cannot be executed with probes")
                               : sink.list().front();
  };
  return make_kernel(std::move(code), std::move(plan), options.shared_bytes, std::move(lower));
}

}  // namespace triton_runner::simt
