// What the files of NVIDIA's ops share.
#pragma once
#include "task.h"

namespace triton_runner::tile {

// mbarriers among an instruction's operands that an operation arrives at when it is done.
struct Barriers {
  int first, first_pred, count;  // operands; first_pred -1: always
};
// False: trapped.
bool arrive_all(Task& t, const Instr& in, const Barriers& barriers);

}  // namespace triton_runner::tile
