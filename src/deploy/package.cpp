// Implements Package and Kernel of deploy.h: opens a folder, lists its kernels, launches one. Which variant a
// launch takes is decided in packaged.cpp.
#include "kernel.h"

#include <triton_runner/base/try.h>

namespace triton_runner::deploy {

using base::failure;

struct Package::State {
  std::string folder;
  std::vector<Entry> entries;
};

Result<Package> Package::open(const std::string& folder) {
  const std::string path = folder + "/index.json";
  auto text = artifact::read_file(path);
  if (!text) {
    base::Diagnostic d = text.error();
    d.notes.push_back("a package is a folder that triton-runner export wrote");
    return d;
  }
  auto entries = TRY(parse_index(*text, path));
  Package out;
  out.state_ = std::make_shared<State>(State{folder, std::move(entries)});
  return out;
}

std::vector<std::string> Package::kernels() const {
  std::vector<std::string> out;
  for (const Entry& entry : state_->entries) out.push_back(entry.name);
  return out;
}

Result<Kernel> Package::kernel(std::string_view name, const Device& device) const {
  for (const Entry& entry : state_->entries) {
    if (entry.name != name) continue;
    std::vector<std::string> refused;
    auto state = packaged_kernel(state_->folder, entry, device, refused);
    if (!state->variants().empty()) return Kernel(std::move(state));
    return failure(
        state_->folder + ": kernel '" + entry.name + "' has no code that runs on " + device.target(),
        {[&] {
           std::string all = "there is: ";
           for (size_t i = 0; i < refused.size(); i++) all += (i ? "; " : "") + refused[i];
           return all;
         }(),
         device.is_cpu() ? "triton-runner export --levels cubin,ttir writes code for the CPU too"
                         : "triton-runner export --targets " + device.target() + " writes it"});
  }
  base::Diagnostic d = failure(state_->folder + " has no kernel '" + std::string(name) + "'");
  std::string all;
  for (const std::string& known : kernels()) all += (all.empty() ? "" : ", ") + known;
  for (const std::string& near : base::nearest_names(name, kernels(), 1))
    d.notes.push_back("did you mean " + near + "?");
  d.notes.push_back("its kernels: " + (all.empty() ? "none" : all));
  return d;
}

const std::string& Kernel::name() const { return state_->name; }
std::vector<std::string> Kernel::parameters() const { return state_->parameters(); }
std::vector<const Variant*> Kernel::variants() const { return state_->variants(); }
Status Kernel::prepare(const Variant& variant) const { return state_->prepare(variant); }

Result<const Variant*> Kernel::pick(std::span<const Argument> arguments) const {
  return state_->pick(arguments);
}

exec::LaunchResult Kernel::launch(Grid grid, std::span<const Argument> arguments,
                                  const LaunchOptions& options) const {
  return state_->launch(nullptr, grid, arguments, options);
}

exec::LaunchResult Kernel::launch(const Variant& variant, Grid grid, std::span<const Argument> arguments,
                                  const LaunchOptions& options) const {
  return state_->launch(&variant, grid, arguments, options);
}

}  // namespace triton_runner::deploy
