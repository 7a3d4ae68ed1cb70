// Finds values in the registers of PTX, and puts them together again from the threads that hold them.
//
// Which registers hold a value of TTGIR, and where in the code, is not guessed. A twin of the TTGIR has a tap
// after the value: inline assembly that is a comment, one a register of the value's layout, whose result
// nobody uses. Compiled, the comments name the registers:
//
//     // triton_runner.tap 0 %r146
//
// Without them the twin has to be the PTX of the launch, instruction for instruction, up to the numbers of
// registers; then the launch runs its own PTX, and the registers that correspond are read at the places of
// the taps. Where the two differ the compiler did something else because of the taps (the value is not kept
// as it is): then the twin is what can be run, and whoever asked is told.
//
// PTX ISA 5.4.5, 9.3 (inline assembly is a block of its own in the text; comments: 4.1).
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <triton_runner/exec/register_observer.h>
#include <triton_runner/probe/recorder.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::probe {

inline constexpr uint32_t kMostThreads = 1024;  // of a block

// A value as the threads hold it.
struct Tap {
  Site site;
  uint32_t registers = 1;                  // that a thread has of it, an element each
  uint32_t pack = 1;                       // elements that a comment shows in one register: halves of 32 bits
  uint32_t first_thread = 0, threads = 0;  // of each block, those that hold it
  uint32_t blocks = 1;                     // of a cluster
  // Bits of a register's number that the element does not depend on: copies, which lowering may leave out.
  uint32_t copies = 0;
  // For each element that a thread holds: its number in the row-major value, at
  // [(block * registers + register) * threads + thread - first_thread].
  std::vector<int32_t> elements;
  // Each thread has a value of its own (site.shape is {threads}, {blocks, threads}, and {..., registers}
  // after them): records keep a mask, and threads that did not come are off. Else a record is whole, and the
  // copies of an element that several threads hold are compared.
  bool per_thread = false;
  // The loops around it whose turns are counted by marks, outermost first; empty with site.loops == 1: each
  // execution is one.
  std::vector<uint32_t> loops;
};

// A module with taps.
struct Tapped {
  std::string text;
  std::vector<Tap> taps;
  std::vector<std::string> notes;
};

// Taps after the values of `kernel` that the selectors name. `module` is TTGIR; it is edited. Errors: those
// of select(), values that are in no register (shared memory, inside of a reduction), encodings that are not
// known.
base::Result<Tapped> tap_values(ir::Module& module, std::string_view kernel,
                                std::span<const Selector> selectors, std::string_view level);

// The plan of what a launch reads, and what it makes of it.
struct RegisterPlan {
  std::vector<Tap> taps;
  std::vector<exec::RegisterProbe> probes;
  struct Part {  // of a probe
    enum Kind : uint8_t { kRead, kLoopEnters, kLoopTurns } kind = kRead;
    uint32_t tap = 0;  // or the loop
    // Register `probes[i].registers[k]`, of widths[k] bytes, is number registers[k] of the tap from byte
    // offsets[k] on.
    std::vector<uint32_t> registers, offsets, widths;
  };
  std::vector<Part> parts;  // of each probe
  std::vector<std::string> notes;
};

// The plan for launches of `ptx`, or why it does not correspond to the twin (which is `ptx` with taps): the
// first instruction that differs. A plan for the twin itself: the same module twice. A value that no register
// holds as it is is an error too; with `partial` it is left out, with a note. `keeps_copies`: the compiler of
// the twin taps registers that are copies of others too (Triton before 3.9), each with a register of its own.
base::Result<RegisterPlan> plan_registers(std::span<const Tap> taps, const ptx::Module& twin,
                                          const ptx::Module& ptx, bool partial = false,
                                          bool keeps_copies = false);

// The place of an assignment in PTX: at `from`, or (in code of another order) somewhere from there to `to`.
struct Mark {
  exec::RegisterProbe from, to;  // of which function and instruction count
};
// The places of `count` marks (assignments.h), of each those of all its copies, or why the program with marks is not
// `ptx`. `unplaced`: those of which a copy has no place.
struct Marks {
  std::vector<std::vector<Mark>> places;
  std::vector<bool> unplaced;
};
base::Result<Marks> find_marks(size_t count, const ptx::Module& twin, const ptx::Module& ptx);

// All of them in one launch; they are for the same module.
RegisterPlan merge_plans(std::span<const RegisterPlan> plans);

// A plan for `from` as a plan for `to`, which somebody edited: instructions correspond in their order, those
// that are written alike first. The notes say which lines differ. What was read at a place that is gone, or
// from a register that is, is left out with a note.
base::Result<RegisterPlan> move_plan(const RegisterPlan& plan, const ptx::Module& from,
                                     const ptx::Module& to);

// Registers of the entry `kernel` that a person names: "%r7", "{%r1,%r2}", an opcode or the beginning of one
// ("mma.sync"), a line of the text ("kernel.ptx:120") or of the Python source ("kernel.py:42"): recorded
// after each execution of the instructions that write them; what wgmma and tcgen05.ld give, after the wait
// that completes it (a note says where). Errors: what names nothing, with the nearest names; what nothing
// waits for before the next jump.
base::Result<RegisterPlan> plan_named_registers(const ptx::Module& ptx, std::string_view kernel,
                                                std::span<const std::string> names, std::string_view level,
                                                uint32_t threads, uint32_t blocks);

// The text with a wgmma.wait_group 0 after each group of products that the names ask for and that nothing
// waits for before the next jump, on the line that commits it; else the text as it is.
base::Result<std::string> add_waits(const ptx::Module& ptx, std::string_view kernel,
                                    std::span<const std::string> names);

// The text with a wait before each place where the plan reads a register that wgmma or tcgen05.ld may still
// be writing, and the plan for that text.
struct CompletedReads {
  std::string text;
  RegisterPlan plan;
  size_t waits = 0;  // places; 0: the text is as it was
};
base::Result<CompletedReads> complete_reads(const ptx::Module& ptx, std::string_view kernel,
                                            const RegisterPlan& plan);

// Returns whether plan_named_registers() would know the name.
bool names_registers(const ptx::Module& ptx, std::string_view kernel, std::string_view name);

class RegisterRecorder final : public exec::RegisterObserver {
 public:
  // options.selectors are not looked at.
  RegisterRecorder(RegisterPlan plan, RecorderOptions options);
  ~RegisterRecorder() override;

  std::span<const exec::RegisterProbe> register_probes() const override { return plan_.probes; }
  void on_registers(const exec::RegisterEvent& event) override;
  // Returns what was recorded since the last call, in the order of programs. Values of which not all threads
  // came, and copies that differ, are noted; the copies are kept beside the records.
  Recording take();

 private:
  struct Open;     // a record that is being put together
  struct Program;  // what a program has done so far
  struct TapState;
  void read(const exec::RegisterEvent& event, Program& program, const RegisterPlan::Part& part);
  void keep_copy(Open& record, size_t element, uint32_t block, uint32_t thread, const std::byte* value,
                 uint32_t width);
  static void replace_copies(Series& s, size_t at, const Open& record);
  void finish(uint32_t tap, Program& program, Open& record);

  RegisterPlan plan_;
  RecorderOptions options_;
  std::vector<uint32_t> widths_;  // bytes of an element of each tap
  std::mutex mutex_;              // of what follows
  std::map<std::array<int64_t, 3>, Program> programs_;
  std::vector<TapState> taps_;
  int64_t bytes_ = 0;
};

}  // namespace triton_runner::probe
