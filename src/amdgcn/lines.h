// Reads lines of the program by address: .debug_line of a code object (DWARF 2 to 5, "Line Number
// Information").
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <triton_runner/artifact/elf.h>

namespace triton_runner::amdgcn {

struct SourceRow {
  uint64_t address;
  uint32_t file, line, column;
  bool ends = false;  // no instruction from here on belongs to it
};

struct LineTable {
  std::vector<std::string> files;  // by the number that rows have; "": there is none
  std::vector<SourceRow> rows;     // by address

  // The row that an address belongs to; null: none.
  const SourceRow* at(uint64_t address) const;
};

// Without the section, or with one that cannot be read, the table is empty or ends early.
LineTable read_lines(const artifact::Elf& elf);

}  // namespace triton_runner::amdgcn
