// Declares a kernel as launches see it, wherever it comes from: a package (packaged.cpp) or a single artifact
// (single.cpp).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "code.h"
#include "index.h"

namespace triton_runner::deploy {

struct Kernel::State {
  explicit State(const Device& on) : device(on) {}
  virtual ~State() = default;
  virtual std::vector<std::string> parameters() const = 0;
  virtual std::vector<const Variant*> variants() const = 0;
  virtual Result<const Variant*> pick(std::span<const Argument> arguments) = 0;
  virtual Status prepare(const Variant& variant) = 0;
  // Launches a variant that pick() gave, or, where it is null, the one that it would give.
  virtual exec::LaunchResult launch(const Variant* variant, Grid grid, std::span<const Argument> arguments,
                                    const LaunchOptions& options) = 0;
  std::string who() const { return "kernel '" + name + "'"; }

  std::string name;
  const Device device;
};

std::shared_ptr<Kernel::State> packaged_kernel(const std::string& folder, const Entry& entry,
                                               const Device& device, std::vector<std::string>& refused);

// A value as the parameter takes it. Empty `why`: it fits.
std::string misfit(const exec::Param& param, const Value& value, const Device& device);
// Values that fit, launched.
exec::LaunchResult run(exec::Kernel& kernel, const Device& device, Grid grid,
                       std::span<const exec::Param* const> params, std::span<const Value* const> values,
                       const LaunchOptions& options);

}  // namespace triton_runner::deploy
