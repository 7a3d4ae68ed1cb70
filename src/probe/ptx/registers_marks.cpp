// Puts marks into TTGIR and finds them in the PTX: comments in the code where a statement of Python assigns
// (assignments.h). They need no register, so that a program with them is mostly the one without; taps, which
// do, are in registers_taps.cpp.
#include <triton_runner/base/try.h>
#include <triton_runner/ir/edit.h>
#include <triton_runner/probe/registers.h>

#include "assignments.h"
#include "ptx/registers_pair.h"

namespace triton_runner::probe {

base::Result<std::string> mark_assignments(ir::Module& module, std::span<const Assignment> assignments,
                                           std::span<const uint32_t> which) {
  for (const uint32_t i : which) {
    if (i >= assignments.size()) return base::failure("there is no assignment " + std::to_string(i));
    const ir::Value& value = *assignments[i].value;
    auto* op = const_cast<ir::Op*>(value.defining_op);
    ir::Block* block = op ? op->block : value.block;
    const std::string n = std::to_string(i);
    const std::string text = "%triton_runner_mark_zero" + n +
                             " = arith.constant 0 : i32\n%triton_runner_mark" + n +
                             " = tt.elementwise_inline_asm \"mov.b32 $0, 0; // triton_runner.mark " + n +
                             "\" {constraints = \"=r,n\", packed_element = 1 : i32, pure = false} "
                             "%triton_runner_mark_zero" +
                             n + " : i32 -> i32";
    TRY(ir::insert(module, block, op ? op->next : block->first, text));
  }
  return module.str();
}

base::Result<Marks> find_marks(size_t count, const ptx::Module& twin, const ptx::Module& ptx) {
  Marks out{std::vector<std::vector<Mark>>(count), std::vector<bool>(count)};
  for (const ptx::Function* f : twin.functions()) {
    if (f->is_declaration) continue;
    const ptx::Function* own = ptx.find_function(f->name);
    if (!own || own->is_declaration)
      return base::failure("the program has no function '" + std::string(f->name) +
                           "', which it has with marks");
    const std::vector<Comment> comments = comments_of(twin.text(), *f);
    Pair pair(twin, *f, ptx, *own, comments);
    TRY(pair.compare());
    for (const Comment& c : comments) {
      if (c.kind != Comment::kMark || c.number >= count) continue;
      if (auto at = pair.around(c))
        out.places[c.number].push_back({std::move(at->first), std::move(at->second)});
      else
        out.unplaced[c.number] = true;
    }
  }
  return out;
}

}  // namespace triton_runner::probe
