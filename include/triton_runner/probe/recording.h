// Declares the contents of a dump: series of records, one series a value that was asked for.
//
// A record is the value's raw bytes at one execution, in its own type and row-major, with the program that it
// belongs to and the iteration of each loop around it. Nothing is converted on the way.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <triton_runner/num/type.h>

namespace triton_runner::probe {

// The value that is dumped: a value of a kernel at a level.
struct Site {
  std::string kernel;
  std::string level;  // "ttir", "ttgir", "ptx", ...
  std::string
      value;  // "%54", "%5#1", "%arg7", "%r7"; "%54@2" where sibling regions or functions share a name
  // For values of the IR: the op in the regions around it, "k/scf.for@7.0/arith.mulf@2", and which of its
  // results, or of the region's arguments.
  std::string path;
  uint32_t result = 0;
  std::string op;        // "arith.addf"; of a loop-carried value the loop's: "scf.for"
  std::string marker;    // of what dl.dump asked for: the marker's prefix; else empty
  std::string variable;  // the Python variable's name, where the locations tell it
  std::string file;      // of the Python source
  int line = 0, column = 0;
  std::string stack;           // the whole place: "kernel.py:42:9 < kernel.py:80:5", callers after callees
  std::string location;        // as the IR writes it: "loc(#loc12)"
  std::string type_text;       // as the IR writes it
  num::Type type{};            // of the elements; pointers are i64
  std::vector<int64_t> shape;  // empty: a scalar
  std::string layout;          // the encoding as the IR writes it, aliases resolved; empty if there is none
  int loops = 0;               // around it: so many iteration numbers a record has
  // For pointers made from one parameter of the kernel: its name, the address that was passed, and the bytes
  // of what it points to.
  std::string origin;
  uint64_t origin_address = 0;
  int64_t origin_bytes = 0;

  int64_t num_elements() const;
  int64_t record_bytes() const;
};

struct Series {
  Site site;
  // Record i: programs[i], iterations[i * site.loops ...], extra[i * extras ...], and
  // data[i * site.record_bytes() ...].
  std::vector<std::array<int64_t, 3>> programs;
  std::vector<int64_t> iterations;
  int extras = 0;  // numbers that stand beside each record: of a marker its scalars (offset, x, y, z)
  std::vector<int64_t> extra;
  std::vector<std::byte> data;
  std::vector<uint8_t>
      mask;  // an element each: 0 where it was not there (a thread that was off); empty: all were
  // For elements that several threads or registers hold: copies with other bits than data has, as {record,
  // element, block, thread}, and their bytes.
  std::vector<std::array<int64_t, 4>> copies;
  std::vector<std::byte> copy_data;
  std::vector<int64_t>
      order;  // of each record among those of all series, as they were made; empty: not known
  std::vector<std::pair<uint64_t, std::string>>
      registers;        // of machine code: the instructions and registers that gave it, "R10"
  int64_t dropped = 0;  // records that the cap or a loop's capacity left no room for

  size_t size() const { return programs.size(); }
};

struct Recording {
  std::vector<Series> series;
  std::vector<std::string> notes;  // what was left out, and why

  // Puts the records of each series in the order of their programs, x fastest; those of one program stay as
  // they came.
  void sort();
};

}  // namespace triton_runner::probe
