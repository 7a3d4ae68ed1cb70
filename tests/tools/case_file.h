// Reads a golden case: the header comments of an IR file, and the arrays that they ask for.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/parameters.h>
#include <triton_runner/exec/substitution.h>
#include <triton_runner/probe/insert.h>

#include "element.h"

namespace triton_runner::cases {

// An array between canaries whose end touches a page that nobody may read, at an address that never changes.
class GuardedArray {
 public:
  // The index picks the address; stops the program if the address is taken.
  GuardedArray(int index, const Element& type, std::vector<int64_t> shape);
  ~GuardedArray();
  GuardedArray(const GuardedArray&) = delete;

  const Element& type() const { return *type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t size() const { return size_; }
  uint8_t* data() const { return data_; }
  size_t bytes() const { return static_cast<size_t>(size_) * type_->bytes; }
  uint64_t get(int64_t i) const;
  void set(int64_t i, uint64_t bits);
  void remember();  // what `changed` compares with
  bool changed() const;
  bool canaries_intact() const;
  std::string name() const;  // "f32[64]"

 private:
  const Element* type_;
  std::vector<int64_t> shape_;
  int64_t size_ = 1;
  uint8_t* mapping_ = nullptr;
  size_t mapped_ = 0;  // without the guard page
  uint8_t* data_ = nullptr;
  std::vector<uint8_t> before_;
};

struct CaseArgument {
  std::string text;  // as the header writes it
  std::shared_ptr<GuardedArray> array;
  const Element* scalar = nullptr;  // the type of a number
  exec::Argument value;
  exec::DescriptorLayout layout;  // of a descriptor with "box"; element_bytes 0: none
};

struct CaseFile {
  std::string path, filename;  // filename: without folders, as diagnostics print it
  std::string tool;            // "tile", "parse", ...
  std::string kernel;
  std::string source;  // everything above the separator
  exec::LaunchOptions options;
  bool report_faults = false;  // goes on after accesses out of bounds, and prints them
  std::shared_ptr<exec::Substitution> substitution;
  std::array<uint32_t, 3> block{}, cluster{};  // of PTX
  int digits = 0;
  std::vector<CaseArgument> arguments;
  std::vector<std::string> dump;  // what the tool "insert" stores
  probe::InsertOptions insert;
};

// "oob,nan" as bits of exec::Check.
uint32_t parse_checks(const std::string& list);

// Reads a case; an empty string, or what is wrong with its header.
std::string read_case(const std::string& path, CaseFile& out);

}  // namespace triton_runner::cases
