// Gives memory of its own to each argument that is a view of a storage which others are views of, too.
#pragma once
#include "arguments.h"

namespace triton_runner::python {

// Gives each of several arguments that are views of one storage an address of its own at which it finds the storage's
// memory, so that check="view" tells whose pointer an access came by. owners: for each of bound.memory the argument that
// it is of. All addresses see at once what the launch writes, and it is put back when bound.keep_alive ends.
void move_apart(BoundArguments& bound, const std::vector<size_t>& owners);

}  // namespace triton_runner::python
