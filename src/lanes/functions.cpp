// Finds a function over lanes in the table of the instruction set at hand, and answers what is asked of a type.
// It is tested through src/ptx/alu_test.cpp and tests/python/ptx/test_ptx_arithmetic.py.
#include <triton_runner/lanes/functions.h>

#include <cassert>
#include <unordered_map>

#include <triton_runner/num/of_isa.h>

#include "simd/rows.h"

namespace triton_runner::lanes {
namespace {

enum class Class : uint8_t { kNothing, kBits, kUnsigned, kSigned, kFloat, kPred };
struct TypeRow {
  uint8_t bits;
  Class kind;
};
constexpr TypeRow kTypes[] = {
    {0, Class::kNothing},
    {0, Class::kNothing},
#define TYPE(name, bits, kind) {bits, Class::kind},
#include <triton_runner/lanes/types.def>
};
const TypeRow& row_of(Type type) { return kTypes[static_cast<size_t>(type)]; }

constexpr int kType2Shift = kVariantBits, kTypeShift = kType2Shift + 10, kOperationShift = kTypeShift + 10;
static_assert(kCmpMask << kComparisonShift >> kVariantBits == 0);
uint64_t key_of(Operation op, Type type, Type type2, uint32_t variant) {
  assert(variant >> kVariantBits == 0);
  return uint64_t(op) << kOperationShift | uint64_t(type) << kTypeShift | uint64_t(type2) << kType2Shift |
         variant;
}

using Table = std::unordered_map<uint64_t, Handler>;

Table make_table(std::initializer_list<Rows> all) {
  Table table;
  for (const Rows& rows : all)
    for (size_t i = 0; i < rows.count; ++i) {
      const Row& r = rows.rows[i];
      table.emplace(key_of(r.op, r.type, r.type2, r.variant), r.run);
    }
  return table;
}

template <num::Isa isa>
const Table& table_of() {
  static const Table table =
      make_table({NUM_OF_ISA(isa, int_rows)(), NUM_OF_ISA(isa, bit_rows)(), NUM_OF_ISA(isa, float_rows)(),
                  NUM_OF_ISA(isa, approx_rows)(), NUM_OF_ISA(isa, half_rows)(),
                  NUM_OF_ISA(isa, compare_rows)(), NUM_OF_ISA(isa, move_rows)(), video_rows()});
  return table;
}

const Table& table() {
  const num::Isa isa = num::current_isa();
  return isa == num::Isa::kAvx512 ? table_of<num::Isa::kAvx512>()
         : isa == num::Isa::kAvx2 ? table_of<num::Isa::kAvx2>()
                                  : table_of<num::Isa::kPortable>();
}

}  // namespace

int bits(Type type) { return row_of(type).bits; }
bool is_float(Type type) { return row_of(type).kind == Class::kFloat; }
bool is_signed(Type type) { return row_of(type).kind == Class::kSigned; }

Handler find(Operation operation, Type type, Type type2, uint32_t variant) {
  const Table& rows = table();
  auto found = rows.find(key_of(operation, type, type2, variant));
  return found == rows.end() ? nullptr : found->second;
}

CvtChoice find_cvt(const CvtKey& key) { return NUM_OF_ISA(num::current_isa(), find_cvt)(key); }

}  // namespace triton_runner::lanes
