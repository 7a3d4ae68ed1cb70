// simt::load_cubin() makes a Kernel of machine code.
#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "front/sass/hazard.h"
#include "front/sass/lower.h"
#include "launch/kernel.h"

namespace triton_runner::simt {

base::Result<std::unique_ptr<exec::Kernel>> load_cubin(std::string_view cubin, std::string listing,
                                                       std::string_view name, const LoadOptions& options,
                                                       const std::string& filename) {
  auto kernel = artifact::read_cubin_kernel(cubin, name, filename);
  if (!kernel) return kernel.error();
  auto module = sass::parse(std::move(listing), filename);
  if (!module) return module.error();
  auto bad = [&](std::string message, std::vector<std::string> notes = {}) {
    base::Diagnostic d =
        base::failure("kernel '" + kernel->name + "': " + std::move(message), std::move(notes));
    d.location.file = filename;
    return d;
  };
  const sass::Function* function = (*module)->find(kernel->name);
  if (!function) return bad("it is not in the listing");
  if (!kernel->outside.empty())
    return bad(
        "its code names the function '" + kernel->outside + "', which is in another section",
        {"this machine code is to be linked (nvcc -rdc=true), which is not done here: give its PTX, or "
         "machine code of the whole program (-rdc=false)"});
  for (const sass::Instruction& in : function->body)
    if (!in.words[0] && !in.words[1])
      return (*module)->diagnostic(in.offset, "the bits of this instruction are not in the listing",
                                   {"nvdisasm prints them with -hex"});
  Code code;
  code.level = "cubin";
  code.warp_turns = true;
  code.kernel = kernel->name;
  code.capability = kernel->capability;
  code.target = "cuda:" + std::to_string(code.capability);
  code.grid_of_blocks = options.grid_of_blocks;
  code.heap = options.heap;
  const auto block = is_given(kernel->block) ? kernel->block : options.block;
  if (!is_given(block))
    return bad("it does not say how many threads a block has",
               {"give the block size: the cubin demands none"});
  if (std::string fault =
          set_shape(code, block, is_given(kernel->cluster) ? kernel->cluster : options.cluster);
      !fault.empty())
    return bad(std::move(fault));
  base::Diagnostics sink;
  struct Looked {
    std::once_flag once;
    std::optional<exec::Trap> first;
  };
  code.hazards = [module = *module, function, name = kernel->name, looked = std::make_shared<Looked>()] {
    std::call_once(looked->once, [&] { looked->first = first_hazard(*module, *function, name); });
    return looked->first;
  };
  SassLowering lowering(code, *module, *function, *kernel, sink);
  lowering.keep(options.variables);
  if (!lowering.lower_kernel()) return sink.summary();
  const bool has_lines = std::any_of(function->body.begin(), function->body.end(),
                                     [](const sass::Instruction& in) { return in.ptx_line != 0; });
  if (!has_lines)
    code.no_numbers =
        "checks 'nan', 'inf' and 'zerodiv' of machine code need its lines of the PTX: ptxas -lineinfo leaves "
        "them in the cubin";
  auto plan = TRY(ArgumentPlan::make(code, options));
  // The shape is what the cubin and the options say, without what lowering adds.
  Target shape = code;
  auto lower = [shape = std::move(shape), module = *module, function, kernel = *kernel,
                variables = options.variables](
                   const exec::LaunchOptions& options) -> base::Result<std::unique_ptr<Code>> {
    auto code = std::make_unique<Code>();
    static_cast<Target&>(*code) = shape;
    code->level = "cubin";
    code->warp_turns = true;
    base::Diagnostics sink;
    SassLowering lowering(*code, module, *function, kernel, sink, probes_of(options), options.stopper);
    lowering.keep(variables);
    if (options.counter) lowering.count();
    if (lowering.lower_kernel()) return code;
    return sink.summary();
  };
  return make_kernel(std::move(code), std::move(plan), options.shared_bytes, std::move(lower));
}

}  // namespace triton_runner::simt
