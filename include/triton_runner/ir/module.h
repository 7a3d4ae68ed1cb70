// Declares a parsed module: its graph, the source it came from, and the two printers.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <triton_runner/base/result.h>
#include <triton_runner/ir/graph.h>

namespace triton_runner::ir {

class Module {
 public:
  ~Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;

  Op* op() const;                   // the module op
  std::string_view source() const;  // the text it was parsed from
  std::string_view filename() const;
  Op* find_function(std::string_view name) const;  // tt.func @name, or null
  std::vector<Op*> functions() const;              // tt.funcs in order
  std::vector<Op*> kernels() const;                // the public ones

  // The text: slices of the source where nothing was touched, printed from the graph where it was.
  std::string str() const;
  // The text from the graph alone, as the release that wrote the module prints it.
  std::string print_canonical() const;

  struct Impl;  // arena, interned types and attributes, aliases
  Impl& impl() const { return *impl_; }

 private:
  friend base::Result<Module> parse(std::string text, std::string filename, base::Diagnostics* sink);
  friend class Parser;
  explicit Module(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Parses MLIR text of Triton's dialects, any known release (releases.def). Ops that the table lacks parse
// tolerantly. On failure the first error is the result, and all of them are in `sink` where one is given.
base::Result<Module> parse(std::string text, std::string filename = "", base::Diagnostics* sink = nullptr);

// Checks what execution relies on and the parser does not check (operand counts and types, terminators,
// dominance): located diagnostics into `sink`; true if there is none.
bool verify(const Module& module, base::Diagnostics& sink);

}  // namespace triton_runner::ir
