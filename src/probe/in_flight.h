// in_flight() finds the values of TTGIR that wgmma is still making: their registers hold them once a wait
// with pendings = 0 has passed. For registers of PTX ptx/registers_pending.cpp does so.
#pragma once
#include <triton_runner/ir/graph.h>

namespace triton_runner::probe {

// Returns whether the value comes of such a product, through loops and through waits that leave it pending.
bool in_flight(const ir::Value& value);

}  // namespace triton_runner::probe
