// Loads kernels on the engines of the CPU. It is a file of its own, so that a program that never names
// Device::cpu() links no engine.
#include <triton_runner/base/try.h>
#include <triton_runner/simt/simt.h>
#include <triton_runner/tile/tile.h>

#include "code.h"

namespace triton_runner::deploy {
namespace {

using base::failure;

Result<std::unique_ptr<exec::Kernel>> load_ir(const Device::Code& code) {
  auto module = TRY(ir::parse(code.bytes, code.path));
  return tile::load(std::make_shared<ir::Module>(std::move(module)), code.description.name);
}

Result<std::unique_ptr<exec::Kernel>> load_ptx(const Device::Code& code) {
  const artifact::Description& d = code.description;
  auto module = TRY(ptx::parse(code.bytes, code.path));
  auto layouts = TRY(code.descriptors());
  simt::LoadOptions options;
  if (d.num_warps && code.bytes.find(".reqntid") == std::string::npos)
    options.block = {static_cast<uint32_t>(*d.num_warps * d.threads_per_warp.value_or(32)), 1, 1};
  options.cluster = {static_cast<uint32_t>(d.num_ctas.value_or(1)), 1, 1};
  if (d.cluster)
    for (int i = 0; i < 3; i++) options.cluster[i] = static_cast<uint32_t>((*d.cluster)[i]);
  options.grid_of_blocks = d.grid_of_blocks;
  options.shared_bytes = d.shared.value_or(-1);
  const artifact::Json* fused = d.metadata.get("enable_fp_fusion");
  options.contract = !(fused && fused->as_bool() && !*fused->as_bool());
  options.params = code.params;
  options.descriptors = std::move(layouts);
  options.hidden_pointers = code.hidden_pointers;
  options.global_scratch = code.global_scratch();
  options.profile_scratch = code.profile_scratch();
  return simt::load(std::move(module), d.name, options);
}

Result<std::unique_ptr<exec::Kernel>> load_on_cpu(const Device&, const Device::Code& code) {
  if (code.level() == "ttir" || code.level() == "ttgir") return load_ir(code);
  if (code.level() == "ptx") return load_ptx(code);
  return failure(code.path + ": the CPU executes ttir, ttgir and ptx, not " + code.level(),
                 {"triton-runner export --levels cubin,ttir writes both"});
}

}  // namespace

Device Device::cpu() {
  Device out;
  out.target_ = "cpu";
  out.load_ = load_on_cpu;
  return out;
}

}  // namespace triton_runner::deploy
