// Debugger is the part of the debugger that has to be quick: it sees every place that a launch comes to,
// counts, and decides in the core whether that is a stop: a step that ends, a breakpoint whose condition
// holds, a value that has changed. Only then is the front end called.
#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/stop_token.h>
#include <triton_runner/exec/stopper.h>
#include <triton_runner/exec/undo.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/probe/recording.h>
#include <triton_runner/probe/variables.h>

namespace triton_runner::probe {

using Program = std::array<int64_t, 3>;

using Line = exec::InstructionSite::Line;

// A place where a launch can stop: before an op or an instruction.
struct DebugPlace {
  std::string name, text;        // "tt.load"; as the module writes it
  int at = 0;                    // its line in the module's text
  std::string function;          // of the module
  uint32_t block = 0;            // places of one block of the module have one number
  const void* marker = nullptr;  // of what dl.breakpoint left: its condition, an ir::Value
  std::vector<Line> lines;       // in the program it was compiled from, callees first
  CodePlace code() const { return {function, at, text}; }
};

// "acc.max() > 1e4", "acc[3, 5] == 0".
struct Condition {
  enum Of : uint8_t { kElement, kMax, kMin, kAny, kAll, kNan, kInf };  // kAny, kAll: an element other than 0
  enum Compare : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual, kUnequal };
  std::string value;  // a Python variable, or "%12"; a register
  Of of = kElement;
  std::vector<int64_t> index;  // kElement; empty: of a scalar
  Compare compare = kUnequal;
  double number = 0;
};

// Memory that is watched.
struct WatchedMemory {
  enum Space : uint8_t { kNone, kGlobal, kShared, kBarrier };  // kBarrier: the phase of the mbarrier there
  Space space = kNone;
  uint64_t at = 0, bytes = 0;
};

struct Breakpoint {
  int number = 0;
  std::vector<uint32_t> places;                // empty: everywhere
  std::array<int64_t, 3> program{-1, -1, -1};  // -1: any
  int64_t task = -1;
  int64_t iteration = -1;             // of the innermost loop
  std::vector<Condition> conditions;  // all of them hold
  std::string watch;  // a value that has to have changed since the program last came to a place; empty: none
  std::vector<int64_t> element;  // of it; empty: any
  int64_t skip = 0;              // so many hits are left out
  int64_t hits = 0;              // that it has had, when it is new
  bool first = false;            // watch: that it comes in sight counts, too
  WatchedMemory memory{};        // the same of memory
};

// A loop in the text of code, by lines: its head, what is in it, and from where it may be entered.
struct TextLoop {
  int head;
  std::vector<int> body, before;
  bool is_unrolled;  // by ptxas: it goes round less often than the PTX does
};
// Returns the loops of a kernel in PTX, or in a listing of machine code (level "cubin"), the outermost first.
base::Result<std::vector<TextLoop>> loops_of_code(std::string text, const std::string& kernel,
                                                  const std::string& level);

// Returns whether a condition holds; none where the value is not there.
std::optional<bool> holds(const Condition& condition, const exec::Elements& elements);

// A change that somebody made at a moment, for launches that are run again.
struct Edit {
  enum Kind : uint8_t { kWrite, kWriteShared, kFreeze, kThaw };
  int64_t moment;
  Kind kind;
  size_t what;  // a value in sight there; where in shared memory; a task
  std::vector<std::byte> elements;
};

class Debugger final : public exec::Stopper {
 public:
  // When it stops next, breakpoints aside.
  enum class Until : uint8_t { kNothing, kOp, kLine, kMoment, kVisit };
  // Why it stands, breakpoints aside.
  enum class Why : uint8_t { kBreakpoint, kStatement, kStep, kMoment, kInterrupt, kThawed };
  struct Front {
    // The launch is about to run, and its places are known. False: it does not.
    std::function<bool(const std::string& kernel, const std::string& level)> begin;
    // It has stopped at `place`. The orders given before still hold. False: the launch ends.
    std::function<bool(uint32_t place, exec::Stopped& stopped, Why why, const std::vector<int>& hits)> stop;
  };

  explicit Debugger(Front front) : front_(std::move(front)) {}

  // Before each launch; of the SIMT engine without a module.
  base::Status begin(std::shared_ptr<const ir::Module> module, const std::string& kernel,
                     const std::string& level);
  const std::vector<DebugPlace>& places() const { return places_; }

  // ---- running a launch again, from its start or from a later program: what it writes is kept meanwhile
  void begin_launch();                                  // one that has not run yet
  void hold(std::span<const exec::Allocation> memory);  // before each run
  // After a run that ended on its way: the next one begins where that moment is still to come (-1: with the last program
  // that it can), and memory is what it was there.
  void put_back(int64_t moment);
  void end_launch();
  // Reads what memory was before the launch.
  void read_first(uint64_t address, std::span<std::byte> out) const { log_.read(0, address, out); }
  // (file, line, name) of loops of the program: what those count by whose text has no name for it.
  using LoopNames = std::vector<std::tuple<std::string, int, std::string>>;
  void set_loop_names(LoopNames names) { loop_names_ = std::move(names), variables_.clear(), found_.clear(); }
  // Sets how often what a program is gets kept, in seconds; 0, for tests: at each place.
  void keep_every(double seconds) { keep_first_ = seconds; }
  // While it stands: it goes on from an earlier moment of its program, the last one not after `moment` that was kept.
  // False: there is none.
  bool go_back(int64_t moment);
  // The moment that it then went on from; none where a run has its program's begin.
  std::optional<int64_t> late() const {
    return began_ > starts_.back().moment ? std::optional(began_) : std::nullopt;
  }

  // For each place the numbers of the lines that it stands on, callers first. A step by line ends where the one at
  // its depth is another.
  void set_lines(std::vector<std::vector<int>> lines) {
    lines_ = std::move(lines), lines_.resize(places_.size());
  }
  void set_breakpoints(std::vector<Breakpoint> breakpoints);
  // In a launch of PTX or machine code: where its variables of Python are, by name, for conditions and watchpoints, too.
  using PythonVariables = std::map<std::string, std::shared_ptr<const Variables>>;
  void set_variables(PythonVariables variables) { python_variables_ = std::move(variables); }
  const Variables* variable(const std::string& name) const {
    const auto at = python_variables_.find(name);
    return at == python_variables_.end() ? nullptr : at->second.get();
  }
  int64_t hits(int number) const;
  // Stops are made in these programs only (-1: any), and in that task (of threads: where it is one of them).
  void focus(const Program& program, int64_t task = -1) { focus_ = program, focus_task_ = task; }
  // Changes what stands, now. False: it cannot be.
  static bool edit(exec::Stopped& stopped, const Edit& edit);
  // Somebody records values meanwhile: each run begins with the launch's first program.
  void begin_with_all(bool records) { records_ = records; }

  // ---- what comes next: orders while it stands
  void go();
  // line: which one it stands on, where that is not the innermost; -1: that.
  void step(Until until, int most_depth, int line);
  // Stops are only at places of breakpoints. Set when the launch begins.
  void set_sparse(bool sparse) { sparse_ = sparse; }
  void set_edits(std::vector<Edit> edits);
  // Returns how many times the program and task had come to where it stands.
  int64_t visit() const { return visit_; }
  // To the visit of that number (from 1) of a place.
  void go_to_visit(uint32_t place, const Program& program, size_t task, int64_t visit);
  void go_to(int64_t moment) { until_ = Until::kMoment, moment_wanted_ = moment; }
  void interrupt();
  exec::StopToken& token() { return token_; }  // of a sparse launch
  // Does not stop before that moment, but notes the last one of the program and task that it stood in at which a
  // breakpoint is hit, or (kOp, kLine) an op or a line begins. further: of those that the search before was of.
  void search(Until what, int most_depth, int64_t moment, bool further);
  int64_t noted() const { return noted_; }  // -1: none
  // The first moment of the task after one that was kept: of what was before it the search knows nothing. -1: none.
  int64_t unsure() const { return unsure_; }
  int64_t moment() const { return moment_; }  // places that the launch has come to

  // A loop of PTX or machine code, by its places: how often each thread has come back to the head is counted.
  struct Loop {
    uint32_t head;
    std::vector<uint32_t> body, before;  // before: where it may be entered from
  };
  // Sets the loops of a launch that is about to begin, the outermost first.
  void set_loops(std::vector<Loop> loops);
  // The iterations of the loops around where it stands, the outermost first.
  std::vector<int64_t> iterations() const {
    return stopped_ ? iterations(here_, *stopped_) : std::vector<int64_t>();
  }

  // The names of a value: "acc" (empty: it is of no variable), "%12"; what is known of it.
  std::string variable_of(const void* value) const;
  std::string name_of(const void* value) const;
  Site site_of(const void* value) const;
  // The number of the mask that a value was loaded under, or its op stores under, where that is in sight.
  std::optional<size_t> mask_of(exec::Stopped& stopped, size_t value) const;
  // The number of the nearest value in sight with that name; of a variable what an assignment gave in the end, and none
  // of the values on the way to it.
  std::optional<size_t> find(exec::Stopped& stopped, const std::string& name);

  uint32_t place_of(const void* op) override;
  uint32_t add_place(const exec::InstructionSite& site) override;
  bool ready(const std::string& kernel, const std::string& level) override;
  bool is_sparse() const override { return sparse_; }
  bool keeps(const void* value) const override;
  bool on_stop(uint32_t place, exec::Stopped& stopped) override;
  void on_thaw() override { thawed_ = true; }
  int64_t first_unit() const override { return starts_.back().unit; }
  void on_unit(int64_t unit, bool alone) override;
  void on_turn_end() override;

 private:
  struct Kept {
    Breakpoint breakpoint;
    int64_t hits = 0;
    std::map<std::pair<Program, size_t>, std::vector<std::byte>> last;  // of the watched value
  };
  // A place where a run of the launch may begin: a program, and how many places were before it.
  struct Start {
    int64_t unit = 0, moment = 0;
  };
  // For each block under way, by thread and loop: how often it has come back to the head.
  using Rounds = std::map<std::pair<Program, uint32_t>, std::vector<int64_t>>;
  struct Moment {
    std::shared_ptr<exec::Snapshot> snapshot;
    int64_t moment;
    Rounds rounds;
  };
  void count_rounds(uint32_t place, const exec::Stopped& stopped);
  std::vector<int64_t> iterations(uint32_t place, const exec::Stopped& stopped) const;
  void keep(exec::Stopped& stopped, int64_t moment);
  void keep_fewer();
  size_t mark_of(size_t snapshot) const { return starts_.size() + snapshot; }
  std::string loop_name(const ir::Value& value) const;
  bool is_step_over(uint32_t place, const exec::Stopped& stopped) const;
  int line_at(uint32_t place, const exec::Stopped& stopped) const;
  bool begins(uint32_t place, const exec::Stopped& stopped);
  bool is_hit(Kept& kept, uint32_t place, exec::Stopped& stopped);
  bool look(const std::string& name, uint32_t place, exec::Stopped& stopped,
            const std::function<void(const exec::Elements&)>& take);
  bool is_assigned(const void* value, const std::string& name) const;
  bool says_stop(const DebugPlace& place, exec::Stopped& stopped) const;
  void stand();
  bool is_armed(uint32_t place) const { return !armed_[place].empty() || places_[place].marker; }
  bool has_changed(Kept& kept, uint32_t place, exec::Stopped& stopped);
  bool is_other(Kept& kept, const std::pair<Program, size_t>& owner, std::span<const std::byte> now) const;
  bool memory_has_changed(Kept& kept, exec::Stopped& stopped);
  bool is_in_focus(const exec::Stopped& stopped) const;
  void add_places(const ir::Region& region, const std::string& function, std::vector<const ir::Op*>& calls);

  Front front_;
  std::shared_ptr<const ir::Module> module_;
  PythonVariables python_variables_;
  LoopNames loop_names_;
  std::vector<DebugPlace> places_;
  std::unordered_map<const void*, uint32_t> numbers_;
  uint32_t blocks_ = 0;
  std::vector<std::vector<int>> lines_;
  std::vector<Kept> breakpoints_;
  std::vector<std::vector<uint32_t>> armed_;  // a place each: which of them
  std::vector<uint32_t> everywhere_;
  Program focus_{-1, -1, -1};
  int64_t focus_task_ = -1;
  bool records_ = false;
  bool thawed_ = false;
  std::vector<exec::Allocation> memory_;  // of the launch
  Until until_ = Until::kNothing;
  bool searches_ = false, sparse_ = false, is_ready_ = false;
  exec::StopToken token_;
  exec::UndoLog log_;  // marks: the launch's begin, others of starts_, and of each of kept_
  std::vector<Start> starts_{1};
  size_t counted_ = 0;        // the one from which moments count
  std::vector<Moment> kept_;  // of the program, by moment
  std::vector<Loop> loops_;
  std::vector<std::vector<uint32_t>> around_, heads_, before_;  // of each place the loops
  Rounds rounds_;
  double keep_first_ = 0.1, keep_every_ = 0, keep_next_ = 0, start_next_ = 0;  // seconds; of steady_seconds()
  int64_t began_ = 0, unsure_ = -1;
  std::vector<Edit> edits_;
  size_t next_edit_ = 0;
  std::map<std::tuple<uint32_t, Program, size_t>, int64_t> visits_;  // of places with breakpoints
  int64_t visit_ = 0, visit_wanted_ = 0, visits_seen_ = 0;
  uint32_t place_wanted_ = 0;
  Until searched_ = Until::kNothing;
  int last_line_ = -1;
  std::vector<int64_t> last_iterations_;
  std::atomic<bool> interrupted_{false};
  int64_t moment_ = 0, moment_wanted_ = -1, noted_ = -1;
  // The place where it stands, and the one where it stood when the last order to go on came.
  uint32_t here_ = 0, from_ = 0;
  exec::Stopped* stopped_ = nullptr;
  Program from_program_{};
  size_t from_task_ = 0;
  std::vector<int64_t> from_iterations_;
  int most_depth_ = 0, from_line_ = -1;
  mutable std::unordered_map<const void*, std::string> variables_;
  std::map<std::tuple<const void*, std::string, int>, const void*> statements_;
  bool is_ttir_ = false;
  std::map<std::pair<const void*, std::string>, std::optional<size_t>>
      found_;  // by what is in sight, and name
};

}  // namespace triton_runner::probe
