// Implements the cache of launches: guards, learning, garbage collection. site.cpp computes the keys.
#include "dispatch.h"

#include <sys/stat.h>
#include <time.h>

namespace triton_runner::python {

namespace {

// CPython up to 3.12 gives each dict a version that changes with it. 0: not available.
uint64_t version_of(PyObject* holder) {
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030D0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (PyDict_Check(holder)) return reinterpret_cast<PyDictObject*>(holder)->ma_version_tag;
#pragma GCC diagnostic pop
#endif
  return 0;
}

}  // namespace

uint64_t Guards::version() const { return version_of(holder_.ptr()); }

Guards::Guards(nb::object holder, std::vector<nb::object> names)
    : holder_(std::move(holder)), names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); i++) values_.push_back(now(i));
  seen_ = version();
}

nb::object Guards::now(size_t i) const {
  if (!PyDict_Check(holder_.ptr())) {  // a class
    nb::object value = nb::steal(PyObject_GetAttr(holder_.ptr(), names_[i].ptr()));
    if (!value.is_valid()) PyErr_Clear();
    return value;
  }
  PyObject* value = PyDict_GetItemWithError(holder_.ptr(), names_[i].ptr());
  if (!value) PyErr_Clear();
  return nb::borrow(value);
}

bool Guards::hold() const {
  const uint64_t current = version();
  if (current != 0 && current == seen_) return true;
  for (size_t i = 0; i < names_.size(); i++)
    if (!now(i).is(values_[i])) return false;
  seen_ = current;
  return true;
}

int Guards::traverse(visitproc visit, void* arg) const {
  Py_VISIT(holder_.ptr());
  for (const nb::object& name : names_) Py_VISIT(name.ptr());
  for (const nb::object& value : values_) Py_VISIT(value.ptr());
  return 0;
}

bool SourceFile::is_unchanged() const {
  struct stat now;
  if (stat(path.c_str(), &now) != 0) return false;
  return now.st_mtim.tv_sec * 1'000'000'000 + now.st_mtim.tv_nsec == modified && now.st_size == bytes;
}

bool KnownLaunch::holds() const {
  for (const Guards& guard : guards)
    if (!guard.are_untouched() && !guard.hold()) return false;
  if (files.empty()) return true;
  constexpr int64_t kLookAgain = 100'000'000;  // nanoseconds
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const int64_t time = now.tv_sec * 1'000'000'000 + now.tv_nsec;
  if (time - looked_ < kLookAgain) return true;
  looked_ = time;
  for (const SourceFile& file : files)
    if (!file.is_unchanged()) return false;
  return true;
}

namespace {

bool all_empty(const std::vector<nb::object>& lists) {
  for (const nb::object& list : lists)
    if (PyList_GET_SIZE(list.ptr()) != 0) return false;
  return true;
}

}  // namespace

bool KnownLaunch::is_plain() const { return all_empty(empty); }
bool KnownLaunch::is_hooked() const { return launcher.is_none() || !all_empty(hooks); }

Dispatch::Dispatch(const nb::object& parameters, Python python)
    : is_open_(parameters.is_none()), python_(std::move(python)) {
  method_ = nb::steal(PyUnicode_InternFromString(python_.method.c_str()));
  if (is_open_) return;
  for (nb::handle entry : nb::cast<nb::list>(parameters)) {
    const nb::tuple p = nb::cast<nb::tuple>(entry);
    PyObject* name = nb::object(p[0]).release().ptr();
    PyUnicode_InternInPlace(&name);
    const auto is = [&](size_t i) { return nb::cast<bool>(p[i]); };
    parameters_.push_back({nb::steal(name),
                           {is(1), is(2), is(3), is(4), is(5), nb::cast<int>(p[6])},
                           p.size() > 7 ? nb::object(p[7]) : nb::object()});
  }
}

// The same as _settings.current().
nb::object Dispatch::settings_in_force() {
#ifndef Py_LIMITED_API
  PyObject* value = nullptr;
  if (PyContextVar_Get(python_.variable.ptr(), nullptr, &value) != 0) throw nb::python_error();
  nb::object own = nb::steal(value);
  if (own.is_valid() && !own.is_none()) return own;
  static PyObject* const kEnvironment = PyUnicode_InternFromString("_environment");
  if (const uint64_t now = version_of(python_.module.ptr()); now != 0 && now == environment_version_)
    return environment_;
  PyObject* environment = PyDict_GetItemWithError(python_.module.ptr(), kEnvironment);
  if (environment && environment != Py_None) {
    environment_ = nb::borrow(environment), environment_version_ = version_of(python_.module.ptr());
    return environment_;
  }
#endif
  nb::object settings = taken(PyObject_CallNoArgs(python_.settings.ptr()));
  return settings;
}

// The result of within() under the settings of a call; invalid: storage sizes are not part of the key.
nb::object Dispatch::storage_question(const ReadCall& call) {
  if (is_open_ || call.given.is_entry) return {};  // Triton does not specialise artifacts
  for (const auto& [settings, question] : questions_)
    if (settings.ptr() == call.settings.ptr()) return question;
  nb::object question = nb::steal(PyObject_CallNoArgs(python_.within.ptr()));
  if (!question.is_valid()) return PyErr_Clear(), nb::object();  // the launch will raise the same error
  if (question.is_none()) question = {};
  if (questions_.size() >= kMaxSites) questions_.clear();
  questions_.emplace_back(call.settings, question);
  return question;
}

Held<KnownLaunch> Dispatch::find(std::string_view key) const {
  auto found = known_.find(key);
  return found == known_.end() ? Held<KnownLaunch>() : found->second;
}

// (name, value) of the arguments that are passed to the kernel.
nb::list Dispatch::named(const Given& given) const {
  nb::list out;
  for (size_t i = 0; i < given.size; i++) {
    if (is_open_)
      out.append(nb::make_tuple(i, nb::handle(given.values[i])));
    else if (!parameters_[i].rule.is_constexpr)
      out.append(nb::make_tuple(name(i), nb::handle(given.values[i])));
  }
  return out;
}

void Dispatch::learn(const ReadCall& call, PyObject* const* args, size_t count, PyObject* names,
                     nb::handle function, nb::handle kernel) {
  const Given& given = call.given;
  const auto before = known_.find(call.key.view());
  const int renewed = before == known_.end() ? 0 : before->second->renewed + 1;
  if (refusals_ >= kMaxRefusals || renewed > kMaxRenewed) return;
  nb::object told = python_.learn(function, kernel, named(given));
  if (told.is_none()) refusals_++;
  if (told.is_none() || told.is(Py_False)) return;
  // The backend or a knob has changed since the key was computed.
  const bool counts = !is_open_ && !given.is_entry;
  if (counts && nb::object(told[6]).is_none() == given.within.is_valid()) return forget();
  Held<KnownLaunch> known(new KnownLaunch);
  known->kernel = nb::borrow(kernel);
  known->launcher = told[0];
  known->options = call.settings.attr("strict").attr("core_options");
  known->settings = call.settings;
  for (size_t i = 0; i < given.n_texts; i++) known->texts.push_back(nb::borrow(given.texts[i]));
  for (nb::handle entry : nb::cast<nb::list>(nb::object(told[1]))) {
    std::vector<nb::object> names;
    for (nb::handle name : nb::cast<nb::list>(nb::object(entry[1]))) names.push_back(nb::borrow(name));
    known->guards.emplace_back(nb::object(entry[0]), std::move(names));
  }
  for (nb::handle list : nb::cast<nb::list>(nb::object(told[2]))) known->empty.push_back(nb::borrow(list));
  known->relay = told[4];
  for (nb::handle list : nb::cast<nb::list>(nb::object(told[5]))) known->hooks.push_back(nb::borrow(list));
  for (nb::handle file : nb::cast<nb::list>(nb::object(told[3])))
    known->files.push_back(
        {nb::cast<std::string>(file[0]), nb::cast<int64_t>(file[1]), nb::cast<int64_t>(file[2])});
  if (known_.size() >= kMaxKnown) forget();
  known->renewed = renewed;
  keep(call, args, count, names, known);
  Held<KnownLaunch>& place = known_[known->key];
  if (place) place->is_replaced = true;
  place = std::move(known);
}

void Dispatch::forget() {
  for (const auto& site : sites_) site->latest.reset();
  for (const auto& [key, known] : known_) known->is_replaced = true;
  known_.clear();
  questions_.clear();
}

int Dispatch::traverse(visitproc visit, void* arg) {
  for (const Parameter& p : parameters_) Py_VISIT(p.otherwise.ptr());
  Py_VISIT(python_.learn.ptr());
  for (const auto& [settings, question] : questions_) Py_VISIT(settings.ptr());
  for (const auto& [key, known] : known_) {
    long own = 1;
    for (const auto& site : sites_) own += site->latest == known;
    if (known->holders > own) continue;  // a running launch holds it
    for (nb::handle object : {known->kernel, known->launcher, known->options, known->settings, known->relay})
      Py_VISIT(object.ptr());
    for (const Guards& guard : known->guards)
      if (int status = guard.traverse(visit, arg)) return status;
    for (const nb::object& list : known->empty) Py_VISIT(list.ptr());
    for (const nb::object& list : known->hooks) Py_VISIT(list.ptr());
    for (const nb::object& text : known->texts) Py_VISIT(text.ptr());
  }
  return 0;
}

void Dispatch::drop() {
  auto known = std::move(known_);
  auto sites = std::move(sites_);
  known_.clear(), sites_.clear(), questions_.clear();
  for (Parameter& p : parameters_) p.otherwise.reset();
  environment_.reset(), environment_version_ = 0;
  python_.learn.reset();
}

namespace {

int traverse_dispatch(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  return nb::inst_ptr<Dispatch>(self)->traverse(visit, arg);
}

int clear_dispatch(PyObject* self) {
  nb::inst_ptr<Dispatch>(self)->drop();
  return 0;
}

PyType_Slot dispatch_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_dispatch)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_dispatch)},
                                {0, nullptr}};

}  // namespace

void init_dispatch(nb::module_& m) {
  nb::class_<Dispatch>(m, "Dispatch", nb::type_slots(dispatch_slots),
                       "The launches of one kernel that were seen before: calls with equal keys run the same "
                       "code (triton_runner/_jit/dispatch.py).")
      .def(
          "__init__",
          [](Dispatch* self, nb::object parameters, nb::object reserved, nb::object entries,
             nb::object settings, nb::object variable, nb::object module, nb::object learn, nb::object within,
             const std::string& method) {
            new (self) Dispatch(parameters, {std::move(reserved), std::move(entries), std::move(settings),
                                             std::move(variable), std::move(module), std::move(learn),
                                             std::move(within), method});
          },
          "parameters"_a.none(), "reserved"_a, "entries"_a, "settings"_a, "variable"_a, "module"_a, "learn"_a,
          "within"_a.none(), "method"_a)
      .def(
          "key",
          [](Dispatch& self, const nb::args& args, const nb::kwargs& kwargs) -> nb::object {
            std::vector<PyObject*> given_args;
            for (nb::handle value : args) given_args.push_back(value.ptr());
            nb::list names;
            for (auto [name, value] : kwargs) {
              names.append(name);
              given_args.push_back(value.ptr());
            }
            ReadCall call;
            auto known = self.look_up(given_args.data(), args.size(), nb::tuple(names).ptr(), call);
            if (!known && !call.has_key) return nb::none();
            const std::string_view key = call.has_key ? call.key.view() : known->key;
            return nb::bytes(key.data(), key.size());
          },
          "The bytes by which a call with these arguments is found; None: Python looks at each such call.")
      .def("forget", &Dispatch::forget, "Every call goes through Python again, once.");
}

}  // namespace triton_runner::python
