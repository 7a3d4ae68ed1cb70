// Makes _core.ArtifactCode: an artifact below Triton's IR (LLIR, PTX, cubin, AMDGCN), whose code is loaded
// once a set of argument types; and how values find the parameters of any artifact (launch/settle.h).
#include "artifact_code.h"

#include <algorithm>

#include "parameters.h"

namespace triton_runner::python {
namespace {

launch::Interface interface_of(const nb::dict& description) {
  launch::Interface out;
  out.kernel = field(description, "name", std::string());
  out.level = field(description, "level", std::string());
  for (nb::handle entry : nb::cast<nb::list>(description["params"])) {
    const nb::dict param = nb::cast<nb::dict>(entry);
    out.params.push_back({field(param, "name", std::string()), field(param, "type", std::string()),
                          field(param, "bytes", 0), field(param, "unused", false)});
  }
  if (nb::object hidden = description["hidden_pointers"]; !hidden.is_none())
    out.hidden_pointers = nb::cast<int>(hidden);
  out.descriptors_as_maps = PyObject_IsTrue(nb::object(description["tensordesc_meta"]).ptr()) == 1;
  return out;
}

launch::Interface interface_of(const exec::Kernel& kernel) {
  launch::Interface out{kernel.name(), kernel.level(), {}, 0};
  for (const exec::Param& p : kernel.params()) out.params.push_back({p.name, p.type, (p.bits + 7) / 8});
  return out;
}

auto texts(const std::vector<NamedValue>& values) {
  return [&values](size_t i) { return text_of(values[i].value); };
}

std::vector<NamedValue> chosen(const std::vector<NamedValue>& values, const std::vector<size_t>& kept) {
  std::vector<NamedValue> out;
  for (size_t i : kept) out.push_back(values[i]);
  return out;
}

nb::list names_of(const std::vector<NamedValue>& values) {
  nb::list out;
  for (const NamedValue& v : values) out.append(v.name);
  return out;
}

nb::list to_python(const std::vector<exec::Param>& params) {
  nb::list out;
  for (const exec::Param& p : params) out.append(nb::make_tuple(p.name, kind_name(p.kind), p.type, p.bits));
  return out;
}

class ArtifactCode {
 public:
  explicit ArtifactCode(const nb::dict& description) : interface_(interface_of(description)) {}

  void launch(nb::handle grid, const Named& named, const Options& options, int mode,
              const nb::callable& load) {
    const std::vector<NamedValue> values = flatten(named);
    const std::shared_ptr<const Plan> plan = find(values, options.shared, mode, load);
    BoundArguments bound = bind_values(*plan->kernel, chosen(values, plan->kept), options.device,
                                       Conversion::kStrict, true, options.checks);
    python::launch(*plan->kernel, make_grid(grid), options, bound.arguments, bound.memory);
  }

  nb::tuple plan(const Named& named, int64_t shared, int mode, const nb::callable& load) {
    const std::vector<NamedValue> values = flatten(named);
    const std::shared_ptr<const Plan> plan = find(values, shared, mode, load);
    return nb::make_tuple(plan->kernel, names_of(chosen(values, plan->kept)));
  }

  nb::tuple settle(const Named& named) const {
    const std::vector<NamedValue> values = flatten(named);
    launch::Settled settled = unwrap(launch::settle(interface_, shapes_of(values), texts(values)));
    nb::list kept;
    for (const NamedValue& v : chosen(values, settled.kept)) kept.append(nb::make_tuple(v.name, v.value));
    return nb::make_tuple(kept, settled.hidden);
  }

  std::vector<std::shared_ptr<exec::Kernel>> loaded() const {
    std::vector<std::shared_ptr<exec::Kernel>> out;
    for (const Code& code : codes_) out.push_back(code.kernel);
    return out;
  }

 private:
  // Values of these names and shapes, launched with this much shared memory, are passed so.
  struct Plan {
    int64_t shared;
    int mode;
    std::vector<launch::Value> values;
    std::vector<size_t> kept;
    std::shared_ptr<exec::Kernel> kernel;

    bool is_for(const std::vector<NamedValue>& given, const std::vector<launch::ValueShape>& shapes,
                int64_t shared_bytes, int settings) const {
      if (shared != shared_bytes || mode != settings || given.size() != values.size()) return false;
      for (size_t i = 0; i < given.size(); i++)
        if (!(values[i].shape == shapes[i]) || values[i].name != given[i].name) return false;
      return true;
    }
  };
  // Code is loaded for parameters, whatever values they come from.
  struct Code {
    int64_t shared;
    int mode, hidden;
    std::vector<exec::Param> params;
    std::shared_ptr<exec::Kernel> kernel;
  };
  static constexpr size_t kMaxPlans = 64;  // the oldest goes; settling again costs microseconds

  std::shared_ptr<const Plan> find(const std::vector<NamedValue>& values, int64_t shared, int mode,
                                   const nb::callable& load) {
    std::vector<launch::ValueShape> shapes;
    shapes.reserve(values.size());
    for (const NamedValue& v : values) shapes.push_back(shape_of(v.value));
    for (const auto& plan : plans_)
      if (plan->is_for(values, shapes, shared, mode)) return plan;
    std::vector<launch::Value> given;
    for (size_t i = 0; i < values.size(); i++) given.push_back({values[i].name, shapes[i]});
    launch::Settled settled = unwrap(launch::settle(interface_, given, texts(values)));
    auto params = unwrap(launch::typed(interface_, given, settled));
    auto kernel = code_for(std::move(params), settled, shared, mode, load);
    auto plan = std::make_shared<const Plan>(
        Plan{shared, mode, std::move(given), std::move(settled.kept), std::move(kernel)});
    if (plans_.size() == kMaxPlans) plans_.erase(plans_.begin());
    plans_.push_back(plan);
    return plan;
  }

  std::shared_ptr<exec::Kernel> code_for(std::vector<exec::Param> params, const launch::Settled& settled,
                                         int64_t shared, int mode, const nb::callable& load) {
    auto same = [](const exec::Param& a, const exec::Param& b) {
      return a.name == b.name && a.kind == b.kind && a.type == b.type && a.bits == b.bits;
    };
    for (const Code& code : codes_)
      if (code.shared == shared && code.mode == mode && code.hidden == settled.hidden &&
          std::equal(code.params.begin(), code.params.end(), params.begin(), params.end(), same))
        return code.kernel;
    nb::object made = load(to_python(params), settled.hidden, shared, settled.descriptor_flags);
    auto kernel = nb::cast<std::shared_ptr<exec::Kernel>>(made);
    codes_.push_back({shared, mode, settled.hidden, std::move(params), kernel});
    return kernel;
  }

  launch::Interface interface_;
  std::vector<std::shared_ptr<const Plan>> plans_;
  std::vector<Code> codes_;
};

// Whether there is a value for each parameter, and a descriptor where the kernel takes one.
bool stand_in_place(const exec::Kernel& kernel, const std::vector<launch::Value>& given) {
  const auto& params = kernel.params();
  if (given.size() != params.size()) return false;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i].shape.kind == launch::ValueKind::kDescriptor &&
        params[i].kind != exec::ParamKind::kTensorDesc)
      return false;
  return true;
}

// Returns those of the values that the kernel takes.
std::vector<NamedValue> settled(exec::Kernel& kernel, std::vector<NamedValue> values,
                                std::string_view device) {
  const std::vector<launch::Value> given = shapes_of(values);
  const bool has_descriptors = std::any_of(given.begin(), given.end(), [](const launch::Value& v) {
    return v.shape.kind == launch::ValueKind::kDescriptor;
  });
  if (!stand_in_place(kernel, given) && (has_descriptors || values.size() != kernel.params().size())) {
    auto settled = launch::settle(interface_of(kernel), given, texts(values));
    // A descriptor of the wrong mode does not fit either, and its parameter says so.
    if (!settled && has_descriptors) bind_values(kernel, values, device, Conversion::kStrict, true);
    if (!settled) raise(settled.error());
    values = chosen(values, settled->kept);
  }
  return values;
}

}  // namespace

void launch_named(exec::Kernel& kernel, nb::handle grid, const Named& named, const Options& options) {
  const std::vector<NamedValue> values = settled(kernel, flatten(named), options.device);
  BoundArguments bound =
      bind_values(kernel, values, options.device, Conversion::kStrict, true, options.checks);
  launch(kernel, make_grid(grid), options, bound.arguments, bound.memory);
}

void init_artifact_code(nb::module_& m) {
  nb::class_<ArtifactCode>(
      m, "ArtifactCode",
      "An artifact below Triton's IR, by its description (_core.artifact.describe): settles which of its "
      "parameters take a launch's values, and keeps its code, loaded once a set of argument types.")
      .def(nb::init<const nb::dict&>(), "description"_a)
      .def("launch", &ArtifactCode::launch, "grid"_a, "args"_a, "options"_a, "mode"_a, "load"_a,
           "Queues a launch with (name, value) pairs, constexprs left out. load(params, hidden, shared, "
           "descriptor_flags) gives a kernel with parameters (name, kind, type, bits), `hidden` pointers of "
           "Triton's own after them; mode: what else its code depends on.")
      .def("plan", &ArtifactCode::plan, "args"_a, "shared"_a, "mode"_a, "load"_a,
           "(the kernel that launch() runs, the names of the values that it takes).")
      .def("settle", &ArtifactCode::settle, "args"_a,
           "(the (name, value) pairs that the artifact takes, tuples taken apart; how many pointers of "
           "Triton's own follow).")
      .def_prop_ro("loaded", &ArtifactCode::loaded, "The kernels loaded so far.");
  m.def(
      "settled",
      [](exec::Kernel& kernel, const Named& named) {
        return names_of(settled(kernel, flatten(named), "cpu"));
      },
      "kernel"_a, "args"_a, "The names of the (name, value) pairs that a kernel takes.");
  m.def(
      "is_descriptor",
      [](nb::handle value) { return shape_of(value).kind == launch::ValueKind::kDescriptor; }, "value"_a,
      "Whether a value is a host-side tensor descriptor, which takes several parameters.");
}

}  // namespace triton_runner::python
