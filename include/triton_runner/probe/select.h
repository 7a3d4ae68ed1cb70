// Chooses values of a module by what a person calls them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/probe/recording.h>

namespace triton_runner::probe {

// A selection is one of these:
//
//   "%54"  "%5#1"  "%arg7"    a value, by its SSA name; all definitions of a name that has several
//   "%54@2"  "%54@kernel.py:42"   the second of them in the order of the text, those of a line
//   "tt.dot"                  the results of every op of that name (the dialect's old name too)
//   "kernel.py:42"            what the ops of a line of the Python source give; of any file with that ending
//   "acc"                     every value that the locations name so, and what the lines in `lines` give
//   "*"                       all
//
// Values inside of the function that a reduction, a scan or tt.map_elementwise applies are meant only where
// the selector names nothing outside of such functions.
struct Selector {
  std::string text;
  // For a Python variable: the lines that assign it, "kernel.py:42", for releases whose locations have no
  // names.
  std::vector<std::string> lines;
};

struct Selected {
  const ir::Value* value;
  size_t selector;  // the first that chose it
  // No other value of `func` and of what it calls has it: "%54", or "%54@2" of the second definition of a name
  // that sibling regions or functions use again.
  std::string name;
};

// The values of `func` and of what it calls that the selectors name, in the order of the text. Errors: a
// selector that names nothing, with the nearest names; values that cannot be dumped (tokens, descriptors).
base::Result<std::vector<Selected>> select(const ir::Module& module, const ir::Op& func,
                                           std::span<const Selector> selectors);

// "%54", "%5#1", "%arg7", as the text has it: other values may have it too.
std::string name_of(const ir::Value& value);
// Its own where it has one, else that of its op.
const ir::Location* location_of(const ir::Value& value);
// The op that gives a value; of block arguments the one whose region they begin.
const ir::Op* op_of(const ir::Value& value);
// Whether an op applies a function of its own to elements: tt.reduce, tt.scan, tt.map_elementwise. Whether a
// value stands in such a function.
bool is_combiner(const ir::Op& op);
bool is_combined(const ir::Value& value);
// Whether it has elements that can be recorded: tensors, scalars, pointers, buffers in shared memory.
bool can_record(const ir::Value& value);
// Returns what is known of a value before it runs; site.value is its name in the text, or the selected one.
Site site_of(const Selected& selected, std::string_view kernel, std::string_view level);
Site site_of(const ir::Value& value, std::string_view kernel, std::string_view level);

}  // namespace triton_runner::probe
