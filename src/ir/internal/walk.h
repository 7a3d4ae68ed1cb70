// for_each_op() visits an op and all ops inside of it.
#pragma once
#include <triton_runner/ir/module.h>

namespace triton_runner::ir {

// f of the op and of each op inside, in the order of the text. f may take away the op that it is given.
template <class O, class F>
void for_each_op(O* op, const F& f) {
  f(op);
  for (Region* region : op->regions)
    for (Block* block = region->first; block; block = block->next)
      for (Op *inner = block->first, *next; inner; inner = next) {
        next = inner->next;
        for_each_op(inner, f);
      }
}

}  // namespace triton_runner::ir
