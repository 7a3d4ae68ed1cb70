// Declares wgmma: asynchronous products of a warp group, their commits and waits.
#pragma once
#include <triton_runner/num/mma.h>

#include <optional>
#include <vector>

#include "matrix/mma_fragments.h"

namespace triton_runner::simt {

struct WgmmaProduct {
  num::MmaPlan plan[2];     // exact, fast
  std::vector<uint32_t> d;  // registers
  uint32_t a[4];            // registers of A, if it is in registers
  bool a_in_registers = false;
  uint32_t a_descriptor = kNoRegister, b_descriptor = kNoRegister;
  uint32_t scale_d = kNoRegister;  // a predicate: whether D is added; none: yes
  bool trans_a = false, trans_b = false;
  bool b1 = false;
  bool joins = false;    // its sums may be taken together with those of the next one, along k
  bool at_once = false;  // ptxas serializes the function's products
  uint32_t n = 0;
  static constexpr uint32_t k_bytes = 32;  // of a row of A, as it is stored
  std::optional<SparseA> sparse;           // then B has twice as many
  uint32_t b_bytes() const { return sparse ? 2 * k_bytes : k_bytes; }
};
void run_wgmma(Exec& x, const Operands& in, const WgmmaProduct& m);
void wgmma_commit(Exec& x, const Operands& in);
void wgmma_wait(Exec& x, const Operands& in);  // imm: groups that may stay unfinished
void wgmma_fence(Exec& x, const Operands& in);

// Before an instruction that uses D of these products early on some way: a launch that looks for races asks there
// whether they are pending.
struct EarlyProducts {
  std::vector<const Source*> products;
  bool serialized;
};
void wgmma_early_use(Exec& x, const Operands& in, const EarlyProducts& early);

}  // namespace triton_runner::simt
