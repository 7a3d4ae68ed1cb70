// Loads a kernel of a single artifact. Which of a launch's values its parameters take, and as what types, is
// settled from the values themselves (launch/settle.h), once for each combination of their kinds.
#include <algorithm>
#include <mutex>
#include <numeric>

#include <triton_runner/base/try.h>

#include "kernel.h"

namespace triton_runner::deploy {
namespace {

using launch::ValueKind;

launch::ValueShape shape_of(const Value& value) {
  launch::ValueShape shape;
  switch (value.kind()) {
    case ValueClass::kNone:
      shape.kind = ValueKind::kNone;
      break;
    case ValueClass::kPointer:
      shape.kind = ValueKind::kTensor;
      break;
    case ValueClass::kInteger:
      shape.kind = ValueKind::kInteger;
      shape.is_one = value.bits() == 1;
      break;
    case ValueClass::kFloat:
      shape.kind = ValueKind::kFloat;
      break;
    case ValueClass::kDescriptor:
      shape.kind = ValueKind::kDescriptor;
      shape.rank = static_cast<uint8_t>(value.descriptor()->shape.size());
      break;
    case ValueClass::kText:
      shape.kind = ValueKind::kOther;
      break;
  }
  return shape;
}

class Only : public Variant {
 public:
  Only(const std::string& target, const std::string& level) { target_ = target, level_ = level; }
};

class Single final : public Kernel::State {
 public:
  Single(Device::Code code, const Device& on)
      : State(on),
        code_(std::move(code)),
        interface_(interface_of(code_.description)),
        variant_(code_.description.target, code_.level()) {
    name = code_.description.name;
  }

  std::vector<std::string> parameters() const override {
    std::vector<std::string> out;
    const size_t hidden = static_cast<size_t>(code_.description.hidden_pointers.value_or(0));
    for (size_t i = 0; i + hidden < interface_.params.size(); i++)
      out.push_back(interface_.params[i].name.empty() ? "#" + std::to_string(i) : interface_.params[i].name);
    return out;
  }
  std::vector<const Variant*> variants() const override { return {&variant_}; }

  Result<const Variant*> pick(std::span<const Argument> arguments) override {
    TRY(find(arguments));
    return &variant_;
  }
  Status prepare(const Variant&) override { return base::success(); }  // what is loaded depends on the values

  exec::LaunchResult launch(const Variant*, Grid grid, std::span<const Argument> arguments,
                            const LaunchOptions& options) override {
    auto plan = find(arguments);
    if (!plan) return exec::LaunchError{plan.error(), std::nullopt};
    const std::vector<exec::Param>& given = (*plan)->params;
    std::vector<const exec::Param*> params;
    std::vector<const Value*> values;
    for (size_t i = 0; i < given.size(); i++) {
      const Value& value = arguments[(*plan)->kept[i]].value;
      if (std::string why = misfit(given[i], value, device); !why.empty())
        return exec::LaunchError{
            base::failure(who() + ": argument '" + given[i].name + "' (" + given[i].type + "): " + why),
            std::nullopt};
      params.push_back(&given[i]), values.push_back(&value);
    }
    return run(*(*plan)->kernel, device, grid, params, values, options);
  }

 private:
  struct Plan {
    std::vector<launch::Value> values;
    std::vector<size_t> kept;
    std::vector<exec::Param> params;
    std::unique_ptr<exec::Kernel> kernel;

    bool is_for(std::span<const Argument> arguments) const {
      return std::equal(values.begin(), values.end(), arguments.begin(), arguments.end(),
                        [](const launch::Value& known, const Argument& a) {
                          return known.shape == shape_of(a.value) && (a.name.empty() || a.name == known.name);
                        });
    }
  };

  std::string name_of(const Argument& argument, size_t i) const {
    if (!argument.name.empty()) return std::string(argument.name);
    const bool has_name = i < interface_.params.size() && !interface_.params[i].name.empty();
    return has_name ? interface_.params[i].name : "#" + std::to_string(i);
  }
  // The place of a parameter that the artifact names; others follow as they were given.
  size_t place_of(const launch::Value& value) const {
    const auto& params = interface_.params;
    return static_cast<size_t>(
        std::find_if(params.begin(), params.end(),
                     [&](const launch::KnownParam& p) { return p.name == value.name; }) -
        params.begin());
  }

  Result<const Plan*> find(std::span<const Argument> arguments) {
    std::lock_guard lock(mutex_);
    for (const auto& plan : plans_)
      if (plan->is_for(arguments)) return plan.get();
    auto plan = std::make_unique<Plan>();
    for (size_t i = 0; i < arguments.size(); i++)
      plan->values.push_back({name_of(arguments[i], i), shape_of(arguments[i].value)});
    // Parameters are settled in their order.
    std::vector<size_t> order(arguments.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return place_of(plan->values[a]) < place_of(plan->values[b]);
    });
    std::vector<launch::Value> ordered;
    for (size_t i : order) ordered.push_back(plan->values[i]);
    auto settled =
        launch::settle(interface_, ordered, [&](size_t i) { return arguments[order[i]].value.str(); });
    if (!settled) return settled.error();
    code_.params = plan->params = TRY(launch::typed(interface_, ordered, *settled));
    code_.hidden_pointers = settled->hidden;
    code_.descriptor_flags = settled->descriptor_flags;
    for (size_t i : settled->kept) plan->kept.push_back(order[i]);
    plan->kernel = TRY(device.load()(device, code_));
    plans_.push_back(std::move(plan));
    return plans_.back().get();
  }

  Device::Code code_;
  const launch::Interface interface_;
  const Only variant_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Plan>> plans_;  // a handful: a program calls a kernel in few ways
};

}  // namespace

Result<Kernel> load(const std::string& path, const Device& device, const std::string& metadata) {
  const size_t dot = path.rfind('.');
  const std::string level = dot == std::string::npos ? "" : path.substr(dot + 1);
  if (!artifact::is_level(level))
    return base::failure(path + ": its name does not say a level",
                         {"it should end in .cubin, .hsaco, .ptx, .ttir or .ttgir"});
  auto code = TRY(read_code(path, level, "", metadata.empty() ? artifact::find_metadata(path) : metadata));
  if (level == "ttir" || level == "ttgir") {  // what loads IR knows the widths of its types
    auto kernel = TRY(device.load()(device, code));
    code.description.params.clear();
    for (const exec::Param& p : kernel->params())
      code.description.params.push_back({p.name, p.type, (p.bits + 7) / 8, false});
  }
  return Kernel(std::make_shared<Single>(std::move(code), device));
}

}  // namespace triton_runner::deploy
