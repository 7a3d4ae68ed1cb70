// Writes pieces of a module (an op, its line, its location) as text, for messages and reprs. Whole modules
// are printed by printer.h.
#pragma once
#include <string>

#include <triton_runner/ir/module.h>

namespace triton_runner::ir {

std::string text_of(const Type* type);
std::string text_of(const Attr* attr);                    // in full, even where it has an alias
std::string text_of(const Location* loc);                 // in full one level deep
std::string text_of(const Value* value);                  // "%x", "%5#1"
std::string text_of(const Module& module, const Op& op);  // as written, or from the graph where it was edited
int line_of(const Module& module, const Op& op);          // of the source; 0 for ops made through the graph
base::Location location_of(const Module& module, const Op& op);  // the same with file and column

// The value that bits have in a float format.
double float_value(FloatKind kind, uint64_t bits);

}  // namespace triton_runner::ir
