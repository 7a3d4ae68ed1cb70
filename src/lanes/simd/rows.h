// Declares the rows from which functions.cpp makes its tables: an operation, its types and its variant, and
// the function that does it. The rows stand in simd/*.cpp, each beside its formula.
#pragma once
#include <triton_runner/lanes/functions.h>

namespace triton_runner::lanes {

struct Row {
  Operation op;
  Type type;
  Type type2;  // kNone where one type says it all
  uint32_t variant;
  Handler run;
};
// `type2` where one type does not say it all.
#define ROW_OF(op, type, type2, variant, ...) \
  Row { Operation::op, Type::type, Type::type2, (variant), __VA_ARGS__ }
#define ROW(op, type, variant, ...) ROW_OF(op, type, kNone, variant, __VA_ARGS__)
struct Rows {
  const Row* rows;
  size_t count;
};

#define LANES_TABLES(isa)                \
  namespace isa {                        \
  Rows int_rows();                       \
  Rows bit_rows();                       \
  Rows approx_rows();                    \
  Rows float_rows();                     \
  Rows half_rows();                      \
  Rows compare_rows();                   \
  Rows move_rows();                      \
  CvtChoice find_cvt(const CvtKey& key); \
  }
LANES_TABLES(portable)
#if defined(__x86_64__)
LANES_TABLES(avx2)
LANES_TABLES(avx512)
#endif
#undef LANES_TABLES
Rows video_rows();

}  // namespace triton_runner::lanes
