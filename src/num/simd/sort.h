// Declares find_sort(), which each instruction set's copy of sort.cpp offers: see num/sort.h.
#pragma once
#include <triton_runner/num/sort.h>

#include "tables.h"

namespace triton_runner::num {

namespace portable {
SortFn find_sort(Type type, bool is_signed);
}
#if defined(__x86_64__)
namespace avx2 {
SortFn find_sort(Type type, bool is_signed);
}
namespace avx512 {
SortFn find_sort(Type type, bool is_signed);
}
#endif

}  // namespace triton_runner::num
