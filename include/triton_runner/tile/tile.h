// Declares the tile engine, which runs TTIR and TTGIR on the CPU, each op on a whole tile at once.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/ir/module.h>

namespace triton_runner::tile {

struct LoadOptions {
  // One instruction for chains of elementwise ops, loads, stores and reductions. Results are the same bits
  // without, only slower; launches with an observer or checks never run fused instructions.
  bool fuse = true;
  // Warps of a program where the module does not say it (TTIR); inline assembly may ask. 0: not known.
  int num_warps = 0;
  // Whether launches with Numerics::kHardware contract products and sums, as LLVM and ptxas do unless Triton's
  // enable_fp_fusion is off.
  bool contract = true;
  // For the same launches: whether a thread adds its part of a reduction in pairs, as Triton does since 3.8.
  bool sums_in_trees = true;
  // For the same launches: the PTX of a function of the target's library ("math.tanh", or a symbol such as
  // "__nv_tanhf"), between operands $1, $2, ... and its result $0 of these types ("f32"). Empty, or an empty text: it is
  // computed as without kHardware. Called while a launch is prepared.
  std::function<std::string(const std::string& function, const std::vector<std::string>& operands,
                            const std::string& result)>
      library;
};

// Lowers function `name` of `module` (its only public function where `name` is empty) to the engine's
// instructions. Level "ttir" or "ttgir" is told from the module (a ttg target or encodings). The module is
// kept alive by the kernel. Errors: no such kernel (with the nearest names), several kernels and no name, an
// op that is UNSUPPORTED or unknown (with its line).
base::Result<std::unique_ptr<exec::Kernel>> load(std::shared_ptr<const ir::Module> module,
                                                 std::string_view name = "", const LoadOptions& options = {});

// The module that a kernel of this engine runs; null for any other kernel. Events of its observers point
// into it.
std::shared_ptr<const ir::Module> module_of(const exec::Kernel& kernel);

// The instruction sets that the kernels of this process may be chosen from: "avx512", "avx2", "portable",
// best first. force_isa("") goes back to the best; an unknown or unavailable name gives false.
bool force_isa(std::string_view isa);

}  // namespace triton_runner::tile
