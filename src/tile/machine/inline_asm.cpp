// Lowers inline assembly: tt.elementwise_inline_asm, where an execution is `packed_element` consecutive
// elements, those of less than 32 bits several a register; and ttg.inline_asm (Gluon), where it is a thread
// with all that its layout gives it, an element a register.
#include <algorithm>

#include "machine/asm_program.h"
#include "machine/threads.h"

namespace triton_runner::tile {
namespace {

bool read_ports(Lowering& l, const ir::Op& op, Assembler& assembler) {
  const int64_t pack = op.int_attr("packed_element", 1);
  if (pack < 1 || pack > 64)
    return assembler.fail("packed_element = " + std::to_string(pack) + " is not a number of elements");
  AsmProgram& program = assembler.program();
  program.pack = static_cast<uint32_t>(pack);
  const int64_t n = l.type_of(op.result())->n;
  program.executions = (n + pack - 1) / pack;
  auto add = [&](bool is_result, uint32_t value, const TileType& type) {
    if (type.n != n || type.size == 0)
      return assembler.fail("operands and results must be tensors of one shape");
    (is_result ? program.results : program.operands).push_back({n, pack, {}});
    for (uint32_t element = 0; element < program.pack;)
      if (!assembler.add_port(is_result, value, type.size, program.pack - element, element)) return false;
    return true;
  };
  for (uint32_t i = 0; i < op.results.size(); ++i)
    if (!add(true, i, *l.type_of(op.result(i)))) return false;
  for (uint32_t i = 0; i < op.num_operands(); ++i)
    if (!add(false, i, *l.type_of(op.operand(i)))) return false;
  return true;
}

// All tensors of an op have this in common: its threads.
bool set_threads(Assembler& assembler, const ir::Op& op, const ThreadElements& held) {
  AsmProgram& program = assembler.program();
  if (program.lanes == 0) {
    program.executions = held.threads(), program.lanes = held.lanes;
    // A partition's first thread depends on where its warps begin.
    if (!in_partition(op)) program.threads = held.lanes * held.warps;
  }
  return program.executions == held.threads() ||
         assembler.fail("its tensors are held by " + std::to_string(program.executions) + " and by " +
                        std::to_string(held.threads()) + " threads");
}

bool read_thread_ports(Lowering& l, const ir::Op& op, Assembler& assembler) {
  AsmProgram& program = assembler.program();
  auto add = [&](bool is_result, uint32_t index, const ir::Value& v) {
    const TileType& type = *l.type_of(&v);
    if (v.type->kind == ir::TypeKind::kMemDesc || type.size == 0)
      return assembler.fail("inline assembly with " + std::string(v.type->text) +
                                ": the tile engine has no addresses of shared or tensor memory",
                            {"run the kernel at level ptx"});
    AsmValue value{type.n, 0, std::vector<int32_t>(1)};
    if (type.is_tensor) {
      auto held = thread_elements(l, op, *v.type);
      if (!held || !set_threads(assembler, op, *held)) return false;
      value.a_thread = held->registers;
      value.where = std::move(held->element);
    }
    const auto registers = static_cast<uint32_t>(type.is_tensor ? value.a_thread : 1);
    (is_result ? program.results : program.operands).push_back(std::move(value));
    for (uint32_t element = 0; element < registers;)
      if (!assembler.add_port(is_result, index, type.size, 1, element)) return false;
    return true;
  };
  for (uint32_t i = 0; i < op.results.size(); ++i)
    if (!add(true, i, *op.result(i))) return false;
  for (uint32_t i = 0; i < op.num_operands(); ++i)
    if (!add(false, i, *op.operand(i))) return false;
  return true;
}

// Returns which thread executes the elements of each execution, where its layout gives them to one thread
// only.
bool find_threads(Lowering& l, const ir::Op& op, Assembler& assembler) {
  const ir::Type& type = *op.result()->type;
  if (!l.in_ttgir() || !type.encoding) return true;  // none to be found
  auto held = thread_elements(l, op, type);
  if (!held) return false;
  AsmProgram& program = assembler.program();
  const int64_t n = program.results[0].elements;
  std::vector<int32_t> of_element(static_cast<size_t>(n), -1);
  for (size_t i = 0; i < held->element.size(); ++i) {
    int32_t& owner = of_element[static_cast<size_t>(held->element[i])];
    const auto thread = static_cast<int32_t>(i / static_cast<size_t>(held->registers));
    if (owner >= 0 && owner != thread)
      return assembler.fail(
          "inline assembly asks which thread executes it, and several threads hold element " +
              std::to_string(held->element[i]) + " of " + std::string(type.text),
          {"run the kernel at level ptx"});
    owner = thread;
  }
  for (int64_t first = 0; first < n; first += program.pack) {
    const int32_t thread = of_element[static_cast<size_t>(first)];
    for (int64_t i = first; i < std::min<int64_t>(n, first + program.pack); ++i)
      if (of_element[static_cast<size_t>(i)] != thread)
        return assembler.fail("inline assembly asks which thread executes it, and the elements from " +
                                  std::to_string(first) + " on, which it takes together, are held by several",
                              {"run the kernel at level ptx"});
    program.thread.push_back(thread);
  }
  program.lanes = held->lanes;
  if (!in_partition(op)) program.threads = held->lanes * held->warps;
  return true;
}

}  // namespace

void lower_inline_asm(Lowering& l, const ir::Op& op) {
  Assembler assembler(l, op);
  assembler.find_threads = [&] { return find_threads(l, op, assembler); };
  if (read_ports(l, op, assembler)) assembler.finish();
}

bool lower_as_ptx(Lowering& l, const ir::Op& op, std::string constraints, std::string text,
                  std::vector<Slot> operands) {
  if (operands.empty()) operands = slots_of(l, op.operand_uses);
  Assembler assembler(l, op, std::move(constraints), std::move(text), operands);
  AsmProgram& program = assembler.program();
  const TileType& result = *l.type_of(op.result());
  program.executions = result.n;
  auto add = [&](bool is_result, uint32_t value, const TileType& type) {
    uint32_t element = 0;
    (is_result ? program.results : program.operands).push_back({result.n, 1, {}});
    return type.n == result.n && type.size > 0 && assembler.add_port(is_result, value, type.size, 1, element);
  };
  if (!add(true, 0, result)) return false;
  for (uint32_t i = 0; i < operands.size(); ++i)
    if (!add(false, i, *l.type_of(operands[i]))) return false;
  return assembler.finish();
}

void lower_thread_asm(Lowering& l, const ir::Op& op) {
  Assembler assembler(l, op);
  if (read_thread_ports(l, op, assembler)) assembler.finish();
}

}  // namespace triton_runner::tile
