// Chooses among the variants of a package's kernel: which of them run on a device, and which one a launch
// takes.
//
// A variant fits if each argument has its parameter's type, is a multiple of 16 where the variant was
// compiled for that, and equals what was compiled in. The variants are tried in one order, so that the same
// arguments take the same code each time: the device's own code before code for an older device, PTX last;
// then the one that asks for most.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include <triton_runner/base/try.h>

#include "kernel.h"

namespace triton_runner::deploy {
namespace {

using artifact::Json;
using base::failure;

std::string text_of(const Json& value) {
  if (const bool* b = value.as_bool()) return *b ? "True" : "False";
  if (const int64_t* i = value.as_int()) return std::to_string(*i);
  if (const double* d = value.as_double()) return Value(*d).str();
  if (const std::string* s = value.as_string()) return *s;
  return "None";
}

bool equals(const Json& constant, const Value& value) {
  switch (value.kind()) {
    case ValueClass::kNone:
      return constant.is_null();
    case ValueClass::kText:
      return constant.as_string() && *constant.as_string() == value.text();
    case ValueClass::kInteger:
      if (const bool* b = constant.as_bool()) return value.bits() == static_cast<uint64_t>(*b);
      return constant.as_int() && static_cast<uint64_t>(*constant.as_int()) == value.bits();
    case ValueClass::kFloat:
      return (constant.as_double() && *constant.as_double() == value.real()) ||
             (constant.as_int() && static_cast<double>(*constant.as_int()) == value.real());
    case ValueClass::kPointer:
      return constant.is_null() && value.bits() == 0;
    case ValueClass::kDescriptor:
      return false;
  }
  return false;
}

bool is_multiple_of_16(const Value& value) {
  const uint64_t bits = value.descriptor() ? value.descriptor()->address : value.bits();
  return bits % 16 == 0;
}

// How well code for a target at a level suits a device: 0 its own, then older ones; -1: it does not run.
int rank_of(const std::string& target, bool exact_target, const std::string& level, const Device& device) {
  constexpr int kText = 1000;  // compiled by the driver when it is loaded
  if (device.is_cpu()) {
    const std::vector<std::string> order = {"ttir", "ttgir", "ptx"};
    auto at = std::find(order.begin(), order.end(), level);
    return at == order.end() ? -1 : static_cast<int>(at - order.begin());
  }
  const bool is_text = level == "ptx";
  if (level != "cubin" && level != "hsaco" && !is_text) return -1;
  if (target == device.target()) return is_text ? kText : 0;
  if (!target.starts_with("cuda:") || !device.target().starts_with("cuda:") || exact_target) return -1;
  const int made_for = std::atoi(target.c_str() + 5), have = std::atoi(device.target().c_str() + 5);
  if (made_for > have || (!is_text && made_for / 10 != have / 10)) return -1;
  return have - made_for + (is_text ? kText : 0);
}

// A variant on a device, loaded by its first launch.
class Candidate : public Variant {
 public:
  // A parameter of the kernel as it is here: one that is passed (param), or one that was compiled in.
  struct Need {
    const exec::Param* param = nullptr;
    const Json* constant = nullptr;
    bool multiple_of_16 = false;
  };

  Candidate(const Entry& entry, const Entry::Variant& variant, const std::string& level, int rank)
      : rank_(rank), variant_(variant) {
    target_ = variant.target, level_ = level;
    constants_ = variant_.constants;
    multiples_ = variant_.multiples_of_16;
    for (const auto& [name, file] : variant_.files)
      if (name == level) file_ = file;
    size_t passed = 0;
    for (const std::string& name : entry.parameters) {
      Need need;
      if (passed < variant_.passed.size() && variant_.passed[passed].name == name)
        need.param = &variant_.passed[passed++];
      else
        need.constant = constants_.get(name);
      need.multiple_of_16 = std::find(multiples_.begin(), multiples_.end(), name) != multiples_.end();
      needs_.push_back(need);
    }
  }

  bool comes_before(const Candidate& other) const {
    if (rank_ != other.rank_) return rank_ < other.rank_;
    return demands() > other.demands();
  }

  // Why arguments (null: not given) do not fit; empty: they do. The same walk decides and explains.
  bool fits(std::span<const Value* const> values, const Entry& entry, const Device& device,
            std::string* why) const {
    for (size_t i = 0; i < needs_.size(); i++) {
      const Need& need = needs_[i];
      const Value* value = values[i];
      std::string what;
      if (!need.param) {
        if (!value || equals(*need.constant, *value)) continue;
        what = "it is " + value->str() + ", and the code was compiled for " + text_of(*need.constant);
      } else if (!value) {
        what = "it is missing";
      } else {
        what = misfit(*need.param, *value, device);
        if (what.empty() && need.multiple_of_16 && !is_multiple_of_16(*value))
          what = value->str() + " is not a multiple of 16";
        if (what.empty()) continue;
      }
      if (why)
        *why =
            "'" + entry.parameters[i] + "'" + (need.param ? " (" + need.param->type + ")" : "") + ": " + what;
      return false;
    }
    return true;
  }

  Result<exec::Kernel*> loaded(const Device& device, const std::string& folder) {
    if (exec::Kernel* ready = ready_.load(std::memory_order_acquire)) return ready;
    std::lock_guard lock(mutex_);
    if (kernel_) return kernel_.get();
    auto code =
        TRY(read_code(folder + "/" + file_, level_, variant_.symbol, folder + "/" + variant_.metadata));
    TRY(settle(code));
    kernel_ = TRY(device.load()(device, code));
    ready_.store(kernel_.get(), std::memory_order_release);
    return kernel_.get();
  }

  const std::vector<Need>& needs() const { return needs_; }

 private:
  size_t demands() const { return multiples_.size() + needs_.size() - variant_.passed.size(); }

  // The code takes what the index says that launches pass, and Triton's own pointers after it.
  Status settle(Device::Code& code) const {
    std::vector<launch::Value> values;
    for (size_t i = 0; i < variant_.passed.size(); i++) {
      const exec::Param& param = variant_.passed[i];
      launch::ValueShape shape;
      shape.kind = param.kind == exec::ParamKind::kPointer   ? launch::ValueKind::kTensor
                   : param.kind == exec::ParamKind::kInteger ? launch::ValueKind::kInteger
                   : param.kind == exec::ParamKind::kFloat   ? launch::ValueKind::kFloat
                                                             : launch::ValueKind::kDescriptor;
      if (shape.kind == launch::ValueKind::kDescriptor)
        shape.rank = static_cast<uint8_t>(1 + std::count(param.type.begin(), param.type.end(), ','));
      values.push_back({"#" + std::to_string(i), shape});  // by count: the index names the order
    }
    auto settled = launch::settle(interface_of(code.description), values,
                                  [&](size_t i) { return variant_.passed[i].type; });
    if (!settled || settled->kept.size() != values.size()) {
      base::Diagnostic d = settled ? failure("the code does not take what the index says") : settled.error();
      d.location.file = code.path;
      d.notes.push_back("index.json and " + file_ + " do not belong together: export the kernel again");
      return d;
    }
    code.params = variant_.passed;
    code.hidden_pointers = settled->hidden;
    code.descriptor_flags = settled->descriptor_flags;
    return base::success();
  }

  const int rank_;
  const Entry::Variant variant_;
  std::string file_;
  std::vector<Need> needs_;
  std::mutex mutex_;
  std::unique_ptr<exec::Kernel> kernel_;
  std::atomic<exec::Kernel*> ready_ = nullptr;
};

class Packaged final : public Kernel::State {
 public:
  Packaged(std::string folder, const Entry& entry, const Device& on)
      : State(on), folder_(std::move(folder)), entry_(entry) {
    name = entry.name;
  }

  // Takes each variant at the level that suits the device best; `refused` gets those that do not run there.
  void add_variants(std::vector<std::string>& refused) {
    for (const Entry::Variant& variant : entry_.variants) {
      int best = -1;
      std::string chosen, levels;
      for (const auto& [level, _] : variant.files) {
        levels += (levels.empty() ? "" : ", ") + level;
        const int rank = rank_of(variant.target, variant.exact_target, level, device);
        if (rank >= 0 && (best < 0 || rank < best)) best = rank, chosen = level;
      }
      if (best >= 0)
        candidates_.push_back(std::make_unique<Candidate>(entry_, variant, chosen, best));
      else
        refused.push_back(levels + " for " + variant.target);
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a->comes_before(*b); });
  }

  std::vector<std::string> parameters() const override { return entry_.parameters; }

  std::vector<const Variant*> variants() const override {
    std::vector<const Variant*> out;
    for (const auto& candidate : candidates_) out.push_back(candidate.get());
    return out;
  }

  Result<const Variant*> pick(std::span<const Argument> arguments) override {
    std::vector<const Value*> values;
    TRY(place(arguments, values));
    if (const Candidate* found = first_that_fits(values)) return found;
    return nothing_fits(values);
  }

  Status prepare(const Variant& variant) override {
    auto kernel = static_cast<Candidate&>(const_cast<Variant&>(variant)).loaded(device, folder_);
    return kernel ? base::success() : Status(kernel.error());
  }

  exec::LaunchResult launch(const Variant* variant, Grid grid, std::span<const Argument> arguments,
                            const LaunchOptions& options) override {
    std::vector<const Value*> values;
    if (auto s = place(arguments, values); !s) return exec::LaunchError{s.error(), std::nullopt};
    auto* candidate = static_cast<Candidate*>(const_cast<Variant*>(variant));
    std::string why;
    if (candidate && !candidate->fits(values, entry_, device, &why))
      return exec::LaunchError{failure(who() + ": argument " + why, {"of the variant " + candidate->str()}),
                               std::nullopt};
    if (!candidate) candidate = first_that_fits(values);
    if (!candidate) return exec::LaunchError{nothing_fits(values), std::nullopt};
    auto kernel = candidate->loaded(device, folder_);
    if (!kernel) return exec::LaunchError{kernel.error(), std::nullopt};
    std::vector<const exec::Param*> params;
    std::vector<const Value*> passed;
    params.reserve(values.size());
    passed.reserve(values.size());
    for (size_t i = 0; i < values.size(); i++)
      if (const exec::Param* param = candidate->needs()[i].param)
        params.push_back(param), passed.push_back(values[i]);
    return run(**kernel, device, grid, params, passed, options);
  }

 private:
  Candidate* first_that_fits(std::span<const Value* const> values) const {
    for (const auto& candidate : candidates_)
      if (candidate->fits(values, entry_, device, nullptr)) return candidate.get();
    return nullptr;
  }

  // Each argument at its parameter. Most launches give them in order, which is looked at first.
  Status place(std::span<const Argument> arguments, std::vector<const Value*>& values) const {
    const std::vector<std::string>& names = entry_.parameters;
    values.assign(names.size(), nullptr);
    for (size_t i = 0; i < arguments.size(); i++) {
      const std::string_view wanted = arguments[i].name;
      size_t at = i;
      if (!wanted.empty() && (i >= names.size() || names[i] != wanted))
        at = static_cast<size_t>(std::find(names.begin(), names.end(), wanted) - names.begin());
      if (at >= names.size()) return unknown(wanted, arguments.size());
      if (values[at]) return failure(who() + ": argument '" + names[at] + "' is given twice");
      values[at] = &arguments[i].value;
    }
    return base::success();
  }

  base::Diagnostic unknown(std::string_view wanted, size_t count) const {
    std::string all;
    for (const std::string& p : entry_.parameters) all += (all.empty() ? "" : ", ") + p;
    if (wanted.empty())
      return failure(who() + " has " + std::to_string(entry_.parameters.size()) + " parameters, and " +
                         std::to_string(count) + " arguments were given",
                     {"its parameters: " + all});
    base::Diagnostic d = failure(who() + " has no parameter '" + std::string(wanted) + "'");
    for (const std::string& near : base::nearest_names(wanted, entry_.parameters, 1))
      d.notes.push_back("did you mean " + near + "?");
    d.notes.push_back("its parameters: " + all);
    return d;
  }

  base::Diagnostic nothing_fits(std::span<const Value* const> values) const {
    constexpr size_t kShown = 8;
    std::string why;
    if (candidates_.size() == 1) {
      (void)candidates_[0]->fits(values, entry_, device, &why);
      return failure(who() + ": argument " + why, {"the only variant here is " + candidates_[0]->str()});
    }
    base::Diagnostic d = failure(who() + ": none of its " + std::to_string(candidates_.size()) +
                                 " variants for " + device.target() + " takes these arguments");
    for (size_t i = 0; i < candidates_.size() && i < kShown; i++) {
      (void)candidates_[i]->fits(values, entry_, device, &why);
      d.notes.push_back(candidates_[i]->str() + ": argument " + why);
    }
    if (candidates_.size() > kShown)
      d.notes.push_back("and " + std::to_string(candidates_.size() - kShown) + " more");
    d.notes.push_back("triton-runner export writes a variant for each signature that it is given");
    return d;
  }

  const std::string folder_;
  const Entry entry_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
};

}  // namespace

int64_t Variant::number(std::string_view name) const {
  const Json* found = constants_.get(name);
  if (!found) return 0;
  if (found->as_bool()) return *found->as_bool();
  if (found->as_double()) return std::llround(*found->as_double());
  return found->as_int() ? *found->as_int() : 0;
}

std::string Variant::str() const {
  std::string out = level_ + (target_.empty() ? "" : " for " + target_);
  if (const Json::Object* constants = constants_.as_object())
    for (const auto& [name, value] : *constants) out += ", " + name + "=" + text_of(value);
  for (const std::string& name : multiples_) out += ", " + name + " a multiple of 16";
  return out;
}

std::shared_ptr<Kernel::State> packaged_kernel(const std::string& folder, const Entry& entry,
                                               const Device& device, std::vector<std::string>& refused) {
  auto kernel = std::make_shared<Packaged>(folder, entry, device);
  kernel->add_variants(refused);
  return kernel;
}

}  // namespace triton_runner::deploy
