// Declares the tables of function pointers that each instruction set's copy of the kernels offers to the rest
// of num.
//
// The files of this folder are compiled once an instruction set with SIMD_ISA as their namespace, and so are the
// headers with functions that they share. An inline function of another header could be emitted with the
// instructions of one set and merged by the linker with that of the others.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <triton_runner/num/ahead.h>
#include <triton_runner/num/functors.h>
#include <triton_runner/num/type.h>

namespace triton_runner::num {

enum class ReduceOp : uint8_t;
enum class ArgOp : uint8_t;

using Loop = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n);
using ReduceFn = void (*)(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner);
using ScanFn = void (*)(void* out, const void* in, int64_t outer, int64_t axis, int64_t inner, bool reverse);
using ArgReduceFn = void (*)(void* out_values, int32_t* out_indices, const void* values,
                             const int32_t* indices, int64_t outer, int64_t axis, int64_t inner,
                             bool tie_break_left);

// A family's finder gives the loop of a functor: null where that does not take the types.
#pragma GCC diagnostic error "-Wswitch"                            // of a functor that its finder leaves out
Loop find_libdevice(LibdeviceFunctor functor, Type in, Type out);  // scalar, one for all instruction sets

// See kernels.h.
struct MoveTable {
  void (*copy_strided)(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n,
                       size_t size);
  void (*fill)(void* out, uint64_t bits, int64_t n, size_t size);
  void (*transpose)(void* out, int64_t out_row_stride, const void* in, int64_t in_row_stride, int64_t rows,
                    int64_t cols, size_t size);
  void (*gather)(void* out, const uint64_t* addresses, const uint8_t* mask, int64_t n, size_t size);
  void (*scatter)(const uint64_t* addresses, const void* in, const uint8_t* mask, int64_t n, size_t size);
  bool (*contiguous)(const uint64_t* addresses, int64_t n, size_t size);
  bool (*address_range)(const uint64_t* addresses, const uint8_t* mask, int64_t n, uint64_t* low,
                        uint64_t* high);
  void (*addptr_i32)(uint64_t* out, const uint64_t* pointers, uint64_t base, const int32_t* offsets,
                     int64_t n, int64_t size);
  void (*addptr_i64)(uint64_t* out, const uint64_t* pointers, uint64_t base, const int64_t* offsets,
                     int64_t n, int64_t size);
  bool (*mask_all)(const uint8_t* mask, int64_t n);
  void (*copy_past_caches)(void* out, const void* in, int64_t bytes);
  void (*spread)(void* out, const void* in, int64_t n, int64_t times, size_t size);  // repeat, inner == 1
  void (*copy_rows)(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t rows,
                    int64_t row_bytes);
};

// The start of sums: from `line`, as many elements as `wide` columns, the same for all rows; or from c, whose
// row i is multiplied by scale[i * scale_step] if there are any.
template <class T>
struct SumStart {
  const T* line;
  const T* scale;
  int64_t scale_step;
};

// Operands are f32 (f64, i32): a[i * a_row + k * a_col], b[k * b_row + j] with b readable up to the next
// multiple of `panel` columns.
struct DotTable {
  int panel;  // columns that the packed b is padded to
  int wide;   // columns that are multiplied at a time
  // Rows of any float type to f32 (tf32: rounded), row strides in elements.
  void (*widen_rows)(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride,
                     int64_t rows, int64_t cols);
  // The same of a matrix whose columns are contiguous, in_stride elements apart; false: not of these types, or
  // not in blocks of 8 x 8, and nothing was done.
  bool (*widen_turned)(Type type, float* out, int64_t out_stride, const void* in, int64_t in_stride,
                       int64_t rows, int64_t cols);
  void (*dot_f32)(float* c, int64_t ldc, const float* a, int64_t a_row, int64_t a_col, const float* b,
                  int64_t b_row, int64_t m, int64_t n, int64_t k, const SumStart<float>& start,
                  const Ahead* ahead);
  void (*dot_f64)(double* c, int64_t ldc, const double* a, int64_t a_row, int64_t a_col, const double* b,
                  int64_t b_row, int64_t m, int64_t n, int64_t k);
  void (*dot_i32)(int32_t* c, int64_t ldc, const int32_t* a, int64_t a_row, int64_t a_col, const int32_t* b,
                  int64_t b_row, int64_t m, int64_t n, int64_t k);
};

// Products of bf16, for m rows of a that lie a_row elements apart and an even k. b is packed: for every pair
// of neighbours in k a row of `panel` columns (the last panel: of what is left), panel after panel. Null
// where there are no instructions for them; whether the CPU has them the caller asks.
struct Bf16Table {
  int64_t columns;  // n is a multiple of these
  int64_t panel;    // 0: all columns
  void (*dot)(float* c, int64_t ldc, const uint16_t* a, int64_t a_row, const uint32_t* b, int64_t m,
              int64_t n, int64_t k, bool from_zero);
  void (*pack)(uint32_t* out, const uint16_t* b, int64_t b_row, int64_t n, int64_t k);
  void (*release)();  // registers that dots leave in use; null: none
};

struct ReduceTable {
  ReduceFn (*reduce)(ReduceOp op, Type type);
  ScanFn (*scan)(ReduceOp op, Type type);
  ArgReduceFn (*arg_reduce)(ArgOp op, Type type);
};

// Scalar code for what has no vector form, compiled once.
struct HugeAngle {  // x = quarter * pi/2 + high + low
  double high, low;
  int64_t quarter;
};
HugeAngle reduce_huge_angle(double x);  // finite, |x| >= 2^30
uint64_t narrow_from_double(double value, Type type, Rounding rounding);

#define NUM_DECLARE_FINDER(family, Of, list) Loop find_##family(Of functor, Type in, Type out);
#define NUM_DECLARE_ISA(isa)                                                              \
  namespace isa {                                                                         \
  TRITON_RUNNER_FAMILIES(NUM_DECLARE_FINDER)                                              \
  Loop find_widen(Type from);                   /* to f32, exactly; f64 not among them */ \
  Loop find_narrow(Type to, Rounding rounding); /* from f32 */                            \
  extern const MoveTable move_table;                                                      \
  extern const DotTable dot_table;                                                        \
  extern const Bf16Table bf16_pairs, bf16_tiles;                                          \
  extern const ReduceTable reduce_table;                                                  \
  }
NUM_DECLARE_ISA(portable)
#if defined(__x86_64__)
NUM_DECLARE_ISA(avx2)
NUM_DECLARE_ISA(avx512)
#endif
#undef NUM_DECLARE_ISA
#undef NUM_DECLARE_FINDER

}  // namespace triton_runner::num
