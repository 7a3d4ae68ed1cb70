// Declares the instructions of tensor memory: its allocation, loads and stores, copies from shared memory,
// commits.
#pragma once
#include <vector>

#include "matrix/matrix.h"
#include "ops/redux.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {

struct TensorAllocation {
  AddressPlace address;           // alloc: where the result goes
  uint32_t tensor = kNoRegister;  // dealloc: the address
  uint32_t columns = kNoRegister;
};
void tensor_alloc(Exec& x, const Operands& in, const TensorAllocation& a);
void tensor_dealloc(Exec& x, const Operands& in, const TensorAllocation& a);
// Machine code counts in units of 32 columns: d = the first of `a` that are free and are taken, of both blocks of a pair where
// `small` is 1; e, a predicate: there are. And what is given back: units whose bit in `a` is 0.
void tensor_take(Exec& x, const Operands& in);
void tensor_give_back(Exec& x, const Operands& in);
void tensor_relinquish(Exec& x, const Operands& in);

struct TensorTransfer {
  TensorAddress address;
  std::vector<uint32_t> registers;
  enum Shape : uint8_t { k32x32, k16x64, k16x128, k16x256, k16x32x2 } shape = k32x32;
  bool packed = false;               // pack::16b, unpack::16b: two columns a register
  uint32_t split = 0;                // 16x32bx2: columns between the halves
  uint32_t lanes = 32, columns = 0;  // of the whole; `columns` from one base
};
Handler transfer_handler(bool load);  // Operands::data is the TensorTransfer

// The smallest or largest of what each thread has loaded.
struct TensorFold {
  std::vector<uint32_t> registers;
  uint32_t result = kNoRegister;
  Redux op = Redux::kMinU;
  bool is_float = false, nan = false;
  uint32_t keep = ~0u;  // bits: all but the sign for .abs
};
void tensor_fold(Exec& x, const Operands& in, const TensorFold& f);

struct TensorCopy {
  TensorAddress address;
  uint32_t descriptor = kNoRegister;
  uint32_t rows = 128, bytes = 32;  // of the source
  enum Spread : uint8_t { kNone, kWarps02, kWarps01, kAll } spread = kNone;
  uint32_t bits = 8;  // of source elements: 8, 6, 4
  bool pair = false;
};
void tensor_copy(Exec& x, const Operands& in, const TensorCopy& c);

struct TensorShift {
  TensorAddress address;
  bool pair = false;
};
void tensor_shift(Exec& x, const Operands& in, const TensorShift& shift);

struct TensorCommit {
  AddressPlace address;
  uint32_t mask = kNoRegister;  // blocks of the cluster
};
void tensor_commit(Exec& x, const Operands& in, const TensorCommit& c);

}  // namespace triton_runner::simt
