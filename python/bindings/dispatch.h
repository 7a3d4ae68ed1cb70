// _core.Dispatch: the launches of one kernel that were seen before, by key.
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

// Values of a dict, or attributes of a class, that a known launch rests on; an invalid value: there is none.
class Guards {
 public:
  Guards(nb::object holder, std::vector<nb::object> names);
  // Most guards: nothing at all has changed.
  bool are_untouched() const { return seen_ != 0 && version() == seen_; }
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

// What a known launch had of a call: where its bytes end in the key; and a value that cannot change, with what
// reading it gave.
struct KnownPiece {
  uint16_t end = 0;
  Value value{};
  nb::object same;  // invalid: the value is read each time
};

// A launch that was compiled, and what says that it would still be the same code.
struct KnownLaunch {
  mutable long holders = 0;
  std::string key;
  uint16_t head = 0;  // bytes of the key that are of no piece
  int device = -1;
  std::vector<KnownPiece> pieces;
  bool is_replaced = false;  // another has its key, or none
  nb::object kernel, launcher, options, settings;
  nb::object within;              // as of the call (Given::within); invalid: storages do not count
  nb::object relay;               // Python's, where there is no launcher or a hook; None: kernel.run
  std::vector<nb::object> texts;  // whose identity is in the key
  std::vector<Guards> guards;
  std::vector<SourceFile> files;
  std::vector<nb::object> empty;  // lists of what only Python calls
  std::vector<nb::object> hooks;  // lists of what the relay calls
  int renewed = 0;                // how often a guard had changed
  bool holds() const;
  bool is_plain() const;   // else Python launches
  bool is_hooked() const;  // then the relay launches
  std::string_view part(size_t piece) const {
    const size_t begin = piece == 0 ? head : pieces[piece - 1].end;
    return std::string_view(key).substr(begin, pieces[piece].end - begin);
  }

 private:
  mutable int64_t looked_ = 0;  // when the files were looked at
};

// How calls are written: so many values by position, then these names. Its pieces are in the order of the key.
struct CallSite {
  enum class Kind : uint8_t {
    kValue,
    kConstant,  // of a constexpr
    kUnseen,    // a constexpr where an artifact is launched
    kEntry,     // a keyword that names an artifact
    kOption     // any other keyword that is no parameter
  };
  struct Piece {
    Kind kind;
    int32_t source;      // of the call's values; -1: the parameter's default
    uint32_t parameter;  // where it is one
    launch::KeyRule rule;
    PyObject* name;  // of another keyword; `names` holds it
    bool is_parameter() const { return kind <= Kind::kUnseen; }
  };
  bool is_of(size_t n, PyObject* given) const;

  mutable long holders = 0;
  size_t count = 0, n_values = 0;
  Py_ssize_t n_names = 0;
  nb::object names;
  bool is_entry = false;
  std::vector<Piece> pieces;
  Held<KnownLaunch> latest;  // that such a call was
};

// A call that was read. Not initialised beyond what it has.
struct ReadCall {
  static constexpr size_t kMaxPieces = Given::kMax + 32;
  Given given;
  nb::object settings;
  bool has_key = false;  // else it is the call before, or only Python can say what it launches
  launch::Key key;
  uint16_t head;
  std::array<uint16_t, kMaxPieces> ends;  // of its pieces, in the key
};

class Dispatch {
 public:
  // Of Python's side (_dispatch.py). parameters: (name, constexpr?, by value?, by alignment?, typed?, real?, old?,
  // default or a tuple without it); none at all: any number of values, by position. reserved: keywords that
  // only Python understands; entries: those that name an artifact. settings: those in force, the context
  // variable that holds them, and the dict that has "_environment". learn(function, kernel, values): what the
  // launch rests on. within(): Triton's question whether a tensor's storage is within 2 GiB, where the backend in
  // force puts the answer into its keys, else None. method: of the function, what launches through Python.
  struct Python {
    nb::object reserved, entries, settings, variable, module, learn, within;
    std::string method;
  };
  Dispatch(const nb::object& parameters, Python python);

  // Reads a call, and finds the launch that it is; none: it has a key that is not known, or has none.
  Held<KnownLaunch> look_up(PyObject* const* args, size_t count, PyObject* names, ReadCall& call);
  // The key of a call that is one that was known and does not hold any more.
  void give_key(ReadCall& call, const KnownLaunch& known) const {
    if (!call.has_key) begin_key(call, &known, known.pieces.size());
  }
  // After a launch through Python that gave `kernel`, of a call that was looked up.
  void learn(const ReadCall& call, PyObject* const* args, size_t count, PyObject* names, nb::handle function,
             nb::handle kernel);
  bool gave_up() const { return refusals_ >= kMaxRefusals && known_.empty(); }
  nb::handle name(size_t parameter) const { return parameters_[parameter].name; }
  bool is_open() const { return is_open_; }
  PyObject* method() const { return method_.ptr(); }

  void forget();
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
  static constexpr size_t kMaxSites = 16;  // more are read anew at each call

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
  nb::object environment_;  // settings of the environment, at this version of the module's dict
  uint64_t environment_version_ = 0;
  std::unordered_map<std::string, Held<KnownLaunch>, Hash, std::equal_to<>> known_;
  std::vector<Held<CallSite>> sites_;
  std::vector<std::pair<nb::object, nb::object>> questions_;  // settings, and within() under them
  int refusals_ = 0;  // launches that Python did not want to be repeated without it
};

// The GPU that launches go to on this thread; -1 before any launch on a GPU was known.
int gpu_of_this_thread();

}  // namespace triton_runner::python
