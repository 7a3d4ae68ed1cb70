// _core.Dispatch: the launches of one kernel of triton_runner.jit that were seen before, by key.
#pragma once
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/launch/key.h>

#include "launcher.h"

namespace triton_runner::python {

// A value of a dict that a known launch rests on; an invalid object: the dict has no such key.
struct Guard {
  nb::object dict, key, value;
  bool holds() const;
};

// A launch that Triton has compiled, and what says that it would still choose the same code.
struct KnownLaunch {
  nb::object kernel, launcher, options, settings;
  std::vector<Guard> guards;
  std::vector<nb::object> empty;  // lists of hooks
  int renewed = 0;                // how often a guard had changed
  bool holds() const;
  bool is_unhooked() const;  // else Python calls the hooks
};

class Dispatch {
 public:
  static constexpr size_t kMaxParams = 256;
  using Values = std::array<PyObject*, kMaxParams>;

  // parameters: (name, constexpr?, by value?, by alignment?, typed?, real?, default or a tuple without it).
  // reserved: keywords that only Python understands. learn(function, kernel): see _dispatch.py.
  Dispatch(const nb::list& parameters, nb::object reserved, nb::object settings, nb::object learn);

  // The key of a call and the values of all parameters, borrowed; false where only Python can say what it
  // launches. `settings` gets those in force.
  bool key_of(PyObject* const* args, size_t count, PyObject* names, launch::Key& key, Values& values,
              nb::object& settings) const;
  std::shared_ptr<const KnownLaunch> find(const launch::Key& key) const;
  // After a launch through Python that gave `kernel`.
  void learn(const launch::Key& key, nb::handle function, nb::handle kernel, const nb::object& settings);
  bool gave_up() const { return refusals_ >= kMaxRefusals && known_.empty(); }
  size_t parameters() const { return parameters_.size(); }
  nb::handle name(size_t parameter) const { return parameters_[parameter].name; }

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

  std::vector<Parameter> parameters_;
  nb::object reserved_, settings_, learn_;
  std::unordered_map<std::string, std::shared_ptr<const KnownLaunch>, Hash, std::equal_to<>> known_;
  int refusals_ = 0;  // launches that Python did not want to be repeated without it
};

}  // namespace triton_runner::python
