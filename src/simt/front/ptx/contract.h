// ContractedCode lowers products and sums that ptxas makes one instruction of, and divisions that it makes
// multiplications of (ptx/contract.h finds them), as the instructions that run on a GPU.
#pragma once
#include <unordered_map>

#include <triton_runner/ptx/contract.h>

#include "front/ptx/lower.h"

namespace triton_runner::simt {

class ContractedCode {
 public:
  explicit ContractedCode(const ptx::Function& f);
  // Lowers instruction `index` if it is one of them; false: it is lowered as it is written.
  bool lower(Lowering& l, const ptx::Instruction& in, uint32_t index);

 private:
  bool lower_sum(Lowering& l, const ptx::Instruction& sum, const ptx::Contraction& c);
  bool lower_division(Lowering& l, const ptx::Instruction& div);
  void keep_operands(Lowering& l, const ptx::Instruction& product, uint32_t index);

  const ptx::Function& f_;
  ptx::Divisors divisors_;
  std::unordered_map<uint32_t, ptx::Contraction> sums_;         // by their instruction
  std::unordered_map<uint32_t, std::array<uint32_t, 2>> kept_;  // places of operands, by product
};

}  // namespace triton_runner::simt
