// Declares the parsers and printers of custom syntaxes: a pair for each name that the assembly column uses
// (custom.cpp, custom_control.cpp).
#pragma once
#include "parser.h"
#include "printer.h"

namespace triton_runner::ir {

#define TRITON_RUNNER_CUSTOM_SYNTAXES(X)                                                                \
  X(module) X(func) X(constant) X(select) X(for) X(if) X(while) X(execute_region) X(index_switch) X(br) \
  X(cond_br) X(switch) X(warp_specialize) X(barriers)

struct Custom {
  using State = Parser::OpState;
  using Arg = Parser::BlockArg;

#define X(name)                                  \
  static void parse_##name(Parser& p, State& s); \
  static void print_##name(Printer& out, const Op& op);
  TRITON_RUNNER_CUSTOM_SYNTAXES(X)
#undef X
  static const Attr* symbol_as_string(Parser& p);
  static const Attr* numbers(const Op& op, std::string_view name, size_t count);
  static void assignments(Parser& p, uint8_t group, std::vector<Arg>& args);
  static void print_assignments(Printer& out, std::span<Value> args, std::span<const Use> inits);
  static void results(Parser& p);
  static void print_results(Printer& out, const Op& op, bool always_parens = false);
  static void print_successor(Printer& out, const Block* block, std::span<const Use> args);
  static uint8_t group_named(OpKind kind, std::string_view name);
};

}  // namespace triton_runner::ir
