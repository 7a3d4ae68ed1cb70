// Puts stores into a kernel, for what executes below the tile engine: a GPU, and the SIMT engine.
//
// The kernel gets one more parameter, a pointer to a buffer of ours, and after each value that was asked for
// stands a tt.store of it in its own layout. At TTGIR the stores are put in directly; at TTIR a marker (a
// tt.print, which every pass keeps) holds the value's place, and becomes stores once Triton has made TTGIR of
// it.
//
// The buffer has an area for each value: for each program that may record, so many slots as its loops have
// iterations (one, where only the last is kept). A slot is a header of 32-bit words (1 once it was written,
// the iteration of each loop, a marker's numbers) and the value's elements. What has no slot is not stored.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/probe/select.h>

namespace triton_runner::probe {

struct InsertOptions {
  bool markers = true;           // store what dl.dump asks for
  bool every_iteration = false;  // else a program's last one
  // The programs to record: those with the given number on each axis (-1: any); empty: all.
  std::vector<std::array<int64_t, 3>> programs;
  std::array<int64_t, 3> grid{1, 1, 1};
  // The integer arguments by parameter, where they are known: loops are counted with them.
  std::vector<std::optional<int64_t>> arguments;
  int64_t max_bytes = int64_t{1} << 30;  // of the buffer
  bool print_signs = true;  // tt.print says for each operand whether it is signed: Triton 3.2 and later
};

// The place of a value's records in the buffer.
struct Area {
  Series series;                     // without records
  bool marker = false;               // left by dl.dump
  std::vector<int64_t> trip_counts;  // slots for so many iterations of each loop, outermost first
  std::vector<bool> counted;         // whether a loop's iterations are known before it runs
  std::vector<int64_t>
      chosen;              // the programs that record, by linear number (x fastest); empty: the first ones
  bool on_device = false;  // the kernel itself finds out which programs a marker asks for
  bool last = false;       // only the last iteration of the innermost loop is stored
  int64_t programs = 0;    // so many of them have slots
  int64_t slots = 0;       // of a program
  int64_t words = 0;       // of a slot's header
  int64_t header = 0;      // offset of the headers in the buffer, in bytes
  int64_t overflow = 0;    // of `loops` words a program: the last iteration that had no slot, plus 1
  int64_t data = 0, stride = 0;  // offset of the elements, and of a slot's from the last one's
  int64_t without_slots = 0;     // records that the cap left no room for, as far as they can be counted
};

struct Insertion {
  std::string text;  // the instrumented module
  std::vector<Area> areas;
  std::array<int64_t, 3> grid{};
  int64_t bytes = 0;  // of the buffer, which is zero before a launch
  std::vector<std::string> notes;
};

// Stores for the values of `kernel` that the selectors name (and its markers) in a module of TTGIR.
// Errors: those of select(); values that nothing can store.
base::Result<Insertion> insert_stores(ir::Module& module, std::string_view kernel,
                                      std::span<const Selector> selectors, const InsertOptions& options);

// Markers for them in a module of TTIR: compile it to TTGIR, then replace_markers().
base::Result<Insertion> insert_markers(ir::Module& module, std::string_view kernel,
                                       std::span<const Selector> selectors, const InsertOptions& options);
// The stores in place of the markers in the TTGIR; sets insertion.text. A value that the compiler left none
// of is noted.
base::Status replace_markers(ir::Module& module, std::string_view kernel, Insertion& insertion);

// The records in a buffer of `insertion.bytes` bytes. programs: as in InsertOptions; those of a marker are
// its own.
Recording decode(const Insertion& insertion, std::span<const std::byte> buffer,
                 std::span<const std::array<int64_t, 3>> programs);

}  // namespace triton_runner::probe
