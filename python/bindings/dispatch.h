// _core.Dispatch: the launches of one kernel that were seen before, by key.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/launch/key.h>

#include "given.h"
#include "launcher.h"

namespace triton_runner::python {

// Values of a dict, or attributes of a class, that a known launch rests on; an invalid value: there is none.
class Guards {
 public:
  Guards(nb::object holder, std::vector<nb::object> names);
  bool hold() const;
  int traverse(visitproc visit, void* arg) const;

 private:
  nb::object now(size_t i) const;
  uint64_t version() const;  // differs where the dict has changed since; 0: nobody knows

  nb::object holder_;
  std::vector<nb::object> names_, values_;
  mutable uint64_t seen_ = 0;
};

// A file that a known launch was read from. It is looked at now and then, not at each launch.
struct SourceFile {
  std::string path;
  int64_t modified = 0, bytes = 0;
  bool is_unchanged() const;
};

// A launch that was compiled, and what says that it would still be the same code.
struct KnownLaunch {
  nb::object kernel, launcher, options, settings;
  std::vector<nb::object> texts;  // whose identity is in the key
  std::vector<Guards> guards;
  std::vector<SourceFile> files;
  std::vector<nb::object> empty;  // lists of hooks
  int renewed = 0;                // how often a guard had changed
  bool holds() const;
  bool is_unhooked() const;  // else Python calls the hooks

 private:
  mutable int64_t looked_ = 0;  // when the files were looked at
};

class Dispatch {
 public:
  // Of Python's side (_dispatch.py). parameters: (name, constexpr?, by value?, by alignment?, typed?, real?, old?,
  // default or a tuple without it); none at all: any number of values, by position. reserved: keywords that
  // only Python understands; entries: those that name an artifact. settings: those in force, the context
  // variable that holds them, and the dict that has "_environment". learn(function, kernel, values): what the
  // launch rests on. method: of the function, what launches through Python.
  struct Python {
    nb::object reserved, entries, settings, variable, module, learn;
    std::string method;
  };
  Dispatch(const nb::object& parameters, Python python);

  // The key of a call and its values; false where only Python can say what it launches. `settings` gets those
  // in force.
  bool key_of(PyObject* const* args, size_t count, PyObject* names, launch::Key& key, Given& given,
              nb::object& settings) const;
  std::shared_ptr<const KnownLaunch> find(const launch::Key& key) const;
  // After a launch through Python that gave `kernel`.
  void learn(const launch::Key& key, const Given& given, nb::handle function, nb::handle kernel,
             const nb::object& settings);
  bool gave_up() const { return refusals_ >= kMaxRefusals && known_.empty(); }
  nb::handle name(size_t parameter) const { return parameters_[parameter].name; }
  bool is_open() const { return is_open_; }
  PyObject* method() const { return method_.ptr(); }

  void forget() { known_.clear(); }
  int traverse(visitproc visit, void* arg);
  void drop();  // of a cycle of garbage

 private:
  struct Parameter {
    nb::object name;  // interned
    launch::KeyRule rule;
    nb::object otherwise;  // default; invalid: there is none
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static constexpr int kMaxRefusals = 16;
  static constexpr int kMaxRenewed = 8;  // what changes all the time is left to Python
  static constexpr size_t kMaxKnown = 65536;

  nb::object settings_in_force() const;
  bool add_values(Given& given, launch::Key& key) const;
  nb::list named(const Given& given) const;

  bool is_open_;
  std::vector<Parameter> parameters_;
  Python python_;
  nb::object method_;
  std::unordered_map<std::string, std::shared_ptr<const KnownLaunch>, Hash, std::equal_to<>> known_;
  int refusals_ = 0;  // launches that Python did not want to be repeated without it
};

// The GPU that launches go to on this thread; -1 before any launch on a GPU was known.
int gpu_of_this_thread();

}  // namespace triton_runner::python
