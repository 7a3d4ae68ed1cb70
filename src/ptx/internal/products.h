// early_uses() finds products of wgmma whose registers are used before a wait covers them, and what ptxas
// makes of them.
//
// A product is covered where, on every way from it to the use, a wait_group N stands with N smaller than the
// number of groups committed since the product was issued, its own group included. PTX ISA 9.7.15 leaves other
// uses undefined. ptxas completes every product of such a function when it is issued, and the results are
// right. It does not where a wait has covered an older product of the same D on every way to the use: there it
// takes the newer ones for complete, too, and D may lack them.
#pragma once
#include <cstdint>
#include <vector>

#include <triton_runner/ptx/module.h>

namespace triton_runner::ptx {

struct EarlyUse {
  uint32_t use, product;  // instructions
  bool writes = false;    // it writes a register of D, or takes it for an operand of another product
  bool hidden = false;    // a wait has covered an older product of the same D, on every way there
};

struct EarlyUses {
  std::vector<EarlyUse> uses;  // by use, then by product
  bool serialized = false;     // every product is taken to be complete when it is issued
  // ..., and ptxas was seen to do so: not for a hidden write whose value meets no other before the next product.
  bool surely = false;
};

EarlyUses early_uses(const Function& f);

// Returns whether it is a product of wgmma, the end of a group of them, or a wait for groups.
bool is_product(const Instruction& in);
bool commits_products(const Instruction& in);
bool waits_for_products(const Instruction& in);

}  // namespace triton_runner::ptx
