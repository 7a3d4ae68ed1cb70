// The parsers and printers of custom syntaxes, a pair a name in the assembly column: see custom.cpp.
#pragma once
#include "parser.h"
#include "printer.h"

namespace triton_runner::ir {

struct Custom {
  using State = Parser::OpState;
  using Arg = Parser::BlockArg;

  static void parse_module(Parser& p, State&);
  static void print_module(Printer& out, const Op& op);
  static const Attr* symbol_as_string(Parser& p);
  static void parse_func(Parser& p, State&);
  static const Attr* numbers(const Op& op, std::string_view name, size_t count);
  static void print_func(Printer& out, const Op& op);
  static void parse_constant(Parser& p, State&);
  static void print_constant(Printer& out, const Op& op);
  static void parse_select(Parser& p, State& s);
  static void print_select(Printer& out, const Op& op);
  static void assignments(Parser& p, uint8_t group, std::vector<Arg>& args);
  static void print_assignments(Printer& out, std::span<Value> args, std::span<const Use> inits);
  static void results(Parser& p);
  static void parse_for(Parser& p, State& s);
  static void print_for(Printer& out, const Op& op);
  static void parse_if(Parser& p, State& s);
  static void print_if(Printer& out, const Op& op);
  static void parse_while(Parser& p, State& s);
  static void print_while(Printer& out, const Op& op);
  static void parse_execute_region(Parser& p, State&);
  static void print_execute_region(Printer& out, const Op& op);
  static void parse_index_switch(Parser& p, State&);
  static void print_index_switch(Printer& out, const Op& op);
  static void print_successor(Printer& out, const Block* block, std::span<const Use> args);
  static void parse_br(Parser& p, State&);
  static void print_br(Printer& out, const Op& op);
  static void parse_cond_br(Parser& p, State& s);
  static void print_cond_br(Printer& out, const Op& op);
  static void parse_switch(Parser& p, State& s);
  static void print_switch(Printer& out, const Op& op);
  static void parse_warp_specialize(Parser& p, State& s);
  static void print_warp_specialize(Printer& out, const Op& op);
  static uint8_t group_named(OpKind kind, std::string_view name);
  static void parse_barriers(Parser& p, State& s);
  static void print_barriers(Printer& out, const Op& op);
};

}  // namespace triton_runner::ir
