// Declares the launch fast path. Dispatch caches the launches of one kernel under a key that is computed from
// the call's arguments; a call with a cached key launches the same compiled code again, without Triton's
// Python code. A cached launch is used only while its guards hold (triton_runner/_jit/dispatch.py).
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <triton_runner/launch/key.h>

#include "given.h"
#include "held.h"
#include "launcher.h"

namespace triton_runner::python {

// Values of a dict, or attributes of a class, that must be unchanged for a cached launch to be valid. An invalid
// value records that the name was missing.
class Guards {
 public:
  Guards(nb::object holder, std::vector<nb::object> names);
  // The fast test, which passes for most guards: nothing in the dict has changed.
  bool are_untouched() const { return seen_ != 0 && version() == seen_; }
  bool hold() const;
  int traverse(visitproc visit, void* arg) const;

 private:
  nb::object now(size_t i) const;
  uint64_t version() const;  // the dict's version, which each change increases; 0: not available

  nb::object holder_;
  std::vector<nb::object> names_, values_;
  mutable uint64_t seen_ = 0;
};

// A file that a cached launch was loaded from. It is checked at intervals, not at each launch.
struct SourceFile {
  std::string path;
  int64_t modified = 0, bytes = 0;
  bool is_unchanged() const;
};

// One argument of the call that was cached: its part of the key, and its value as read_value() returned it. An
// argument that is the same immutable object as before needs no reading.
struct KnownPiece {
  uint16_t end = 0;  // where its bytes end in the key
  Value value{};
  nb::object same;  // the immutable object; invalid: the argument is read at each call
};

// A cached launch: the compiled kernel, and the guards that tell whether Triton would still choose it.
struct KnownLaunch {
  mutable long holders = 0;
  std::string key;
  uint16_t head = 0;  // bytes of the key before the first piece
  int device = -1;
  std::vector<KnownPiece> pieces;
  bool is_replaced = false;  // no longer in the table under its key
  nb::object kernel, launcher, options, settings;
  nb::object within;              // Given::within of the call; invalid: storage sizes are not part of the key
  nb::object relay;               // Python's launch, without a launcher or with hooks; None: kernel.run
  std::vector<nb::object> texts;  // texts of artifacts whose addresses are in the key; keeps them alive
  std::vector<Guards> guards;
  std::vector<SourceFile> files;
  std::vector<nb::object> empty;  // lists of hooks that only kernel.run calls
  std::vector<nb::object> hooks;  // lists of hooks that the relay calls
  int renewed = 0;                // how often it was cached again because a guard had failed
  bool holds() const;             // whether all guards hold and the files are unchanged
  bool is_plain() const;          // `empty` is empty; otherwise kernel.run launches
  bool is_hooked() const;         // the relay launches
  std::string_view part(size_t piece) const {
    const size_t begin = piece == 0 ? head : pieces[piece - 1].end;
    return std::string_view(key).substr(begin, pieces[piece].end - begin);
  }

 private:
  mutable int64_t looked_ = 0;  // when the files were last checked, in nanoseconds
};

// The form of a call in the program's text: the number of positional values and the keyword names. `pieces` are
// the parts of its key, in order.
struct CallSite {
  enum class Kind : uint8_t {
    kValue,
    kConstant,  // a constexpr
    kUnseen,    // a constexpr of an artifact, which is not part of the key
    kEntry,     // a keyword that names an artifact, such as ttir_src=
    kOption     // any other keyword that is not a parameter
  };
  struct Piece {
    Kind kind;
    int32_t source;      // index into the call's values; -1: the parameter's default
    uint32_t parameter;  // index of the parameter, if is_parameter()
    launch::KeyRule rule;
    PyObject* name;  // of a keyword that is not a parameter; owned by `names`
    bool is_parameter() const { return kind <= Kind::kUnseen; }
  };
  bool is_of(size_t n, PyObject* given) const;

  mutable long holders = 0;
  size_t count = 0, n_values = 0;
  Py_ssize_t n_names = 0;
  nb::object names;
  bool is_entry = false;
  std::vector<Piece> pieces;
  Held<KnownLaunch> latest;  // the launch that the last call of this form found
};

// The result of reading a call. Only the entries in use are initialised.
struct ReadCall {
  static constexpr size_t kMaxPieces = Given::kMax + 32;
  Given given;
  nb::object settings;
  // False: the call equals the previous one of its form, or only Python can determine what it launches.
  bool has_key = false;
  launch::Key key;
  uint16_t head;
  std::array<uint16_t, kMaxPieces> ends;  // where each piece ends in the key
};

class Dispatch {
 public:
  // Objects of _jit/dispatch.py.
  // - reserved: keywords that only Python handles; entries: keywords that name an artifact.
  // - settings(): the current settings; variable: the context variable that holds them; module: the dict that
  //   contains "_environment".
  // - learn(function, kernel, values): the guards under which a launch may be cached.
  // - within(): Triton's function that tests whether a tensor's storage is within 2 GiB, if the current backend
  //   has the result in its keys; otherwise None.
  // - method: the name of the function's method that launches through Python.
  struct Python {
    nb::object reserved, entries, settings, variable, module, learn, within;
    std::string method;
  };
  // parameters: tuples (name, constexpr?, by value?, by alignment?, typed?, real?, old?[, default]); None: any
  // number of positional values.
  Dispatch(const nb::object& parameters, Python python);

  // Reads a call and returns the cached launch for it. Returns none if its key is not cached or if it has no key.
  Held<KnownLaunch> look_up(PyObject* const* args, size_t count, PyObject* names, ReadCall& call);
  // Completes the key of a call that found `known`, whose guards no longer hold.
  void give_key(ReadCall& call, const KnownLaunch& known) const {
    if (!call.has_key) begin_key(call, &known, known.pieces.size());
  }
  // Caches the launch of a call that was looked up, after Python launched `kernel` for it.
  void learn(const ReadCall& call, PyObject* const* args, size_t count, PyObject* names, nb::handle function,
             nb::handle kernel);
  bool gave_up() const { return refusals_ >= kMaxRefusals && known_.empty(); }
  nb::handle name(size_t parameter) const { return parameters_[parameter].name; }
  bool is_open() const { return is_open_; }
  PyObject* method() const { return method_.ptr(); }

  void forget();  // empties the cache
  int traverse(visitproc visit, void* arg);
  void drop();  // for tp_clear: drops the references of a garbage cycle

 private:
  struct Parameter {
    nb::object name;  // interned
    launch::KeyRule rule;
    nb::object otherwise;  // the default; invalid: it has none
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  static constexpr int kMaxRefusals = 16;
  static constexpr int kMaxRenewed = 8;  // a launch whose guards fail more often is left to Python
  static constexpr size_t kMaxKnown = 65536;
  static constexpr size_t kMaxSites = 16;  // further forms of calls are analysed at each call

  nb::object settings_in_force();
  nb::object storage_question(const ReadCall& call);
  Held<CallSite> site_of(size_t count, PyObject* names);
  bool describe(size_t count, PyObject* names, CallSite& site) const;
  PyObject* value_of(const CallSite::Piece& piece, PyObject* const* args) const;
  static bool add(const CallSite::Piece& piece, PyObject* value, Given& given, launch::Key& key);
  void begin_key(ReadCall& call, const KnownLaunch* before, size_t n_same) const;
  Held<KnownLaunch> find(std::string_view key) const;
  void keep(const ReadCall& call, PyObject* const* args, size_t count, PyObject* names,
            const Held<KnownLaunch>& known);
  nb::list named(const Given& given) const;

  bool is_open_;
  std::vector<Parameter> parameters_;
  Python python_;
  nb::object method_;
  nb::object environment_;  // settings from the environment, as of this version of the module's dict
  uint64_t environment_version_ = 0;
  std::unordered_map<std::string, Held<KnownLaunch>, Hash, std::equal_to<>> known_;
  std::vector<Held<CallSite>> sites_;
  std::vector<std::pair<nb::object, nb::object>> questions_;  // results of within(), by settings
  int refusals_ = 0;                                          // launches that learn() refused to have cached
};

// The current GPU of this thread; -1 before a launch on a GPU was cached.
int gpu_of_this_thread();

}  // namespace triton_runner::python
