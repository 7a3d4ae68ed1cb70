// Has the table of tensor-core models, and does what surrounds the kernels of simd/mma.cpp: blocks of k one
// after the other, infinities and NaNs, scale factors of groups.
#include <triton_runner/num/mfma.h>
#include <triton_runner/num/mma.h>
#include <triton_runner/num/of_isa.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include <triton_runner/num/types.h>

#include "simd/mma_table.h"
#include "simd/tables.h"

namespace triton_runner::num {
namespace {

static_assert(kMmaMaxInRegisters * kMmaSpread <= kMmaMaxK * 16);  // floats of MmaRows

const MmaTable& mma_functions() { return NUM_OF_ISA(current_isa(), mma_table); }
const MmaOperands& operands() { return NUM_OF_ISA(current_isa(), mma_operands); }

constexpr std::string_view kMeasured = "measured: H100";
constexpr std::string_view kXie = "paper: Xie et al. 2025, arXiv 2511.10909";
constexpr std::string_view kKhattak = "paper: Khattak and Mikaitis 2025, arXiv 2512.07004";

enum Kind : uint8_t { kHalf, kTf32Kind, kNarrow, kAnyKind };  // 16 bits, tf32, 8 bits and less

// The first row that fits: capability from `low` to `high`.
struct UnitRow {
  int low, high;
  MmaUnit unit;
  Kind kind;
  MmaScale scale;
  MmaModel model;  // block, fraction, result, min_exponent, converted, source
};
const UnitRow kModels[] = {
    // clang-format off
    {75, 75,  MmaUnit::kMma,     kHalf,     MmaScale::kNone,   {8,  24, 23, -133, false, kXie}},
    {80, 89,  MmaUnit::kMma,     kHalf,     MmaScale::kNone,   {8,  24, 23, -133, false, kKhattak}},
    {80, 89,  MmaUnit::kMma,     kTf32Kind, MmaScale::kNone,   {4,  24, 23, -133, false, kKhattak}},
    {89, 89,  MmaUnit::kMma,     kNarrow,   MmaScale::kNone,   {16, 13, 13, -133, false, kXie}},
    {90, 90,  MmaUnit::kMma,     kHalf,     MmaScale::kNone,   {16, 25, 23, -133, false, kMeasured}},
    {90, 90,  MmaUnit::kMma,     kTf32Kind, MmaScale::kNone,   {8,  25, 23, -133, false, kMeasured}},
    {90, 90,  MmaUnit::kMma,     kNarrow,   MmaScale::kNone,   {16, 25, 23, -133, true, kMeasured}},
    {90, 90,  MmaUnit::kWgmma,   kHalf,     MmaScale::kNone,   {16, 25, 23, -133, false, kMeasured}},
    {90, 90,  MmaUnit::kWgmma,   kTf32Kind, MmaScale::kNone,   {8,  25, 23, -133, false, kMeasured}},
    {90, 90,  MmaUnit::kWgmma,   kNarrow,   MmaScale::kNone,   {32, 13, 13, -133, false, kMeasured}},
    {100, 129, MmaUnit::kMma,    kHalf,     MmaScale::kNone,   {16, 25, 23, -133, false, kKhattak}},
    {100, 129, MmaUnit::kMma,    kTf32Kind, MmaScale::kNone,   {8,  25, 23, -133, false, kKhattak}},
    {100, 129, MmaUnit::kMma,    kNarrow,   MmaScale::kNone,   {32, 25, 23, -133, false, kKhattak}},
    {100, 129, MmaUnit::kMma,    kNarrow,   MmaScale::kPowers, {32, 25, 23, -133, false, kXie}},
    {100, 129, MmaUnit::kMma,    kNarrow,   MmaScale::kGroups, {64, 35, 23, -133, false, kXie}},
    {100, 119, MmaUnit::kTcgen05, kHalf,     MmaScale::kNone,   {16, 25, 23, -133, false, kXie}},
    {100, 119, MmaUnit::kTcgen05, kTf32Kind, MmaScale::kNone,   {8,  25, 23, -133, false, kXie}},
    {100, 119, MmaUnit::kTcgen05, kNarrow,   MmaScale::kNone,   {32, 25, 23, -133, false, kXie}},
    {100, 119, MmaUnit::kTcgen05, kNarrow,   MmaScale::kPowers, {32, 25, 23, -133, false, kXie}},
    {100, 119, MmaUnit::kTcgen05, kNarrow,   MmaScale::kGroups, {64, 35, 23, -133, false, kXie}},
    // clang-format on
};

static_assert(static_cast<int>(MmaCode::kE4M3) == static_cast<int>(MmaType::kE4M3) &&
              static_cast<int>(MmaCode::kU4) == static_cast<int>(MmaType::kU4));
MmaCode code_of(MmaType type) { return static_cast<MmaCode>(type); }

// The exponent of the smallest normal number: subnormals have it too.
int lowest_exponent(MmaType type) {
  switch (type) {
    case MmaType::kF16:
    case MmaType::kE5M2:
      return -14;
    case MmaType::kE4M3:
      return -6;
    case MmaType::kE3M2:
      return -2;
    case MmaType::kE2M3:
    case MmaType::kE2M1Byte:
    case MmaType::kE2M1:
      return 0;
    default:
      return -126;
  }
}

struct Range {
  bool special;
  int low, high;
};
// Exponents, specials and the range of n new values.
template <class T>
Range measure(const MmaPlan& plan, MmaType type, const float* value, T* exponent, int64_t n) {
  bool wide = type == MmaType::kBF16 || type == MmaType::kTF32;
  int lowest = plan.model.converted && !wide ? -14 : lowest_exponent(type);
  MmaRange range;
  if constexpr (sizeof(T) == 2)
    range = operands().row_exponents(value, exponent, n, lowest);
  else
    range = operands().column_exponents(value, exponent, n, lowest);
  Range r{range.high >= 128, range.low, range.high};
  if (r.special) {  // the range of the finite ones
    r.high = kMmaNoExponent;
    for (int64_t i = 0; i < n; ++i)
      if (const int e = static_cast<int16_t>(exponent[i]); e < 128) r.high = std::max(r.high, e);
  }
  if (r.high == kMmaNoExponent) r.low = r.high = 0;
  return r;
}

void negate(float* value, int64_t n) {
  for (int64_t i = 0; i < n; ++i) value[i] = -value[i];
}

constexpr uint32_t kNanBits = 0x7fffffff;

// The step's result where an operand is no finite number: as IEEE sums have it, one NaN for all.
float special_sum(const MmaStep& s, int row, int column, float c) {
  bool positive = false, negative = false, nan = std::isnan(c);
  auto see = [&](double x) {
    nan |= std::isnan(x);
    if (std::isinf(x)) (x > 0 ? positive : negative) = true;
  };
  see(c);
  for (int x = 0; x < s.k; ++x)
    if (s.a_exponent[x * 16 + row] != kMmaAbsent)
      see(static_cast<double>(s.a[x * 16 + row]) * static_cast<double>(s.b[column * s.b_stride + x]));
  if (s.row_scale) see(s.row_scale[row]);
  if (s.column_scale) see(s.column_scale[column]);
  if (nan || (positive && negative)) return std::bit_cast<float>(kNanBits);
  return positive ? INFINITY : -INFINITY;
}

bool is_special(const MmaStep& s, int row, int column, float c) {
  if (!std::isfinite(c)) return true;
  for (int x = 0; x < s.k; ++x) {
    if (s.a_exponent[x * 16 + row] == kMmaAbsent) continue;
    if (!std::isfinite(s.a[x * 16 + row]) || !std::isfinite(s.b[column * s.b_stride + x])) return true;
  }
  return (s.row_scale && !std::isfinite(s.row_scale[row])) ||
         (s.column_scale && !std::isfinite(s.column_scale[column]));
}

void run_step(const MmaStep& s, bool special) {
  int64_t n = int64_t{16} * s.columns;
  if (!special && operands().look_at_sums(s.sums, n) != MmaSums::kSpecial)
    return mma_functions().exact_wide(s);
  std::vector<float> before(s.sums, s.sums + n);
  // Infinities of B that meet elements which a sparse row does not have are no products.
  std::vector<float> finite(s.b, s.b + s.b_stride * (s.columns - 1) + s.k);
  for (float& x : finite)
    if (!std::isfinite(x)) x = 0;
  MmaStep others = s;
  others.b = finite.data();
  mma_functions().exact_wide(others);
  for (int j = 0; j < s.columns; ++j)
    for (int i = 0; i < 16; ++i) {
      float c = before[static_cast<size_t>(16 * j + i)];
      if (is_special(s, i, j, c)) s.sums[16 * j + i] = special_sum(s, i, j, c);
    }
}

// kind::mxf4 and mxf4nvf4: 16 products at a time are added exactly and multiplied by both scale factors.
// Terms have the exponents of the factors, the accumulator its own.
void grouped_step(const MmaStep& s, const MmaRows& a, const float* b_scale) {
  const int groups = s.k / 16;
  for (int j = 0; j < s.columns; ++j) {
    const float* b = s.b + j * s.b_stride;
    const float* scale_b = b_scale + j * 16;
    for (int i = 0; i < 16; ++i) {
      float& sum = s.sums[16 * j + i];
      double terms[16];
      int exponent = -1000;
      bool nan = std::isnan(sum);
      for (int g = 0; g < groups; ++g) {
        double group = 0;
        for (int x = 16 * g; x < 16 * g + 16; ++x) group += static_cast<double>(s.a[x * 16 + i] * b[x]);
        float sa = a.scale[g][i], sb = scale_b[g];
        nan |= std::isnan(sa) || std::isnan(sb);
        terms[g] = group * static_cast<double>(sa) * static_cast<double>(sb);
        if (terms[g] != 0 && !nan)
          exponent = std::max(exponent, std::max(std::ilogb(sa), -127) + std::max(std::ilogb(sb), -127));
      }
      if (nan || std::isinf(sum)) {
        sum = nan ? std::bit_cast<float>(kNanBits) : sum;
        continue;
      }
      if (sum != 0) exponent = std::max(exponent, std::max(std::ilogb(sum), -126));
      exponent = std::max(exponent, s.min_exponent);
      double total = std::trunc(std::ldexp(static_cast<double>(sum), s.fraction - exponent));
      for (int g = 0; g < groups; ++g) total += std::trunc(std::ldexp(terms[g], s.fraction - exponent));
      double value = std::ldexp(total, exponent - s.fraction);
      float f = static_cast<float>(value);
      if (std::fabs(static_cast<double>(f)) > std::fabs(value) && std::fabs(value) < 0x1p128)
        f = std::nextafter(f, 0.0f);
      sum = f == 0 ? 0.0f : f;
    }
  }
}

// c += sum, rounded to nearest.
void add_last(const float* sum, float* c, int n, bool f16) {
  for (int i = 0; i < n; ++i) {
    float x = sum[i] + c[i];
    if (f16) {
      double wide = static_cast<double>(sum[i]) + static_cast<double>(c[i]);  // exact
      x = static_cast<float>(to_double(
          from_double(wide, Type::kF16, Rounding::kNearestEven, Overflow::kNonSaturating), Type::kF16));
    }
    c[i] = std::isnan(x) ? std::bit_cast<float>(kNanBits) : x;
  }
}

// Fast sums with scales: the factors are multiplied into copies of the operands.
void scaled_fast(const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, MmaStep s) {
  bool groups = plan.scale == MmaScale::kGroups;
  std::vector<float> rows(static_cast<size_t>(plan.k) * 16), columns(static_cast<size_t>(plan.k * s.columns));
  int64_t first = (s.b - b.value.data()) / plan.k;
  for (int x = 0; x < plan.k; ++x) {
    for (int i = 0; i < 16; ++i)
      rows[static_cast<size_t>(16 * x + i)] = s.a[16 * x + i] * a.scale[groups ? x / 16 : 0][i];
    for (int j = 0; j < s.columns; ++j) {
      auto scale = static_cast<size_t>(groups ? (first + j) * 16 + x / 16 : first + j);
      columns[static_cast<size_t>(j * plan.k + x)] = s.b[j * plan.k + x] * b.scale[scale];
    }
  }
  s.a = rows.data();
  s.b = columns.data();
  mma_functions().fma(s);
}

}  // namespace

MmaModel mma_model(int capability, MmaUnit unit, MmaType type, MmaSum sum, MmaScale scale) {
  if (sum == MmaSum::kS32) return {kMmaMaxK, 0, 0, 0, false, "exact: integers"};
  Kind kind = type == MmaType::kTF32                            ? kTf32Kind
              : type == MmaType::kF16 || type == MmaType::kBF16 ? kHalf
                                                                : kNarrow;
  const UnitRow* best = nullptr;  // of a capability that has no row: the nearest one
  for (const UnitRow& row : kModels) {
    if (row.unit != unit || row.kind != kind || row.scale != scale) continue;
    if (capability >= row.low && capability <= row.high) return row.model;
    auto distance = [&](const UnitRow& r) {
      return std::min(std::abs(capability - r.low), std::abs(capability - r.high));
    };
    if (!best || distance(row) < distance(*best)) best = &row;
  }
  return best ? best->model : MmaModel{};
}

int mma_bits(MmaType type) {
  switch (type) {
    case MmaType::kTF32:
      return 32;
    case MmaType::kF16:
    case MmaType::kBF16:
      return 16;
    case MmaType::kE2M1:
    case MmaType::kS4:
    case MmaType::kU4:
      return 4;
    default:
      return 8;
  }
}

MmaPlan::MmaPlan(int capability, MmaUnit unit, MmaType a_type, MmaType b_type, MmaSum sum_type, int k_,
                 bool fast_, MmaScale scale_)
    : a(a_type),
      b(b_type),
      sum(sum_type),
      scale(scale_),
      k(k_),
      fast(fast_),
      model(mma_model(capability, unit, a_type, sum_type, scale_)) {}

void MmaColumns::resize(const MmaPlan& plan, int columns) {
  value.resize(static_cast<size_t>(plan.k * columns));
  exponent.resize(value.size());
}

namespace {

// The place where element x of k goes: halves of converted operands come one after the other.
int place_of(const MmaPlan& plan, int x) {
  const int width = plan.sparse ? 4 : 2;
  return x / width % 2 * (plan.k / 2) + x / (2 * width) * width + x % width;
}
void reorder(const MmaPlan& plan, float* value, int rows, int row_stride, int k_stride) {
  float copy[kMmaMaxK];
  for (int i = 0; i < rows; ++i) {
    float* row = value + i * row_stride;
    for (int x = 0; x < plan.k; ++x) copy[place_of(plan, x)] = row[x * k_stride];
    for (int x = 0; x < plan.k; ++x) row[x * k_stride] = copy[x];
  }
}

}  // namespace

static void finish_rows(const MmaPlan& plan, MmaRows& out) {
  if (plan.a_sign < 0) negate(out.value, int64_t{16} * plan.k);
  if (plan.sum == MmaSum::kS32 || plan.fast) return;
  if (plan.model.converted) reorder(plan, out.value, 16, 1, 16);
  Range r = measure(plan, plan.a, out.value, out.exponent, int64_t{16} * plan.k);
  out.special = r.special;
  out.min_exponent = r.low;
  out.max_exponent = r.high;
}

void mma_pack_rows(const MmaPlan& plan, MmaRows& out, const void* const* tiles, int rows) {
  const int n = plan.a_tiles(), elements = 128 / mma_bits(plan.a), halves = rows / 8;
  if (plan.in_registers) {
    for (int i = 0; i < 2 * n; ++i)
      operands().spread_rows(code_of(plan.a), tiles[i],
                             out.value + i / 2 * elements * kMmaSpread + i % 2 * kMmaSpread / 2);
    return;
  }
  if (halves == 1) std::memset(out.value, 0, sizeof(float) * 16 * static_cast<size_t>(plan.k));
  for (int i = 0; i < n; ++i)
    for (int h = 0; h < halves; ++h)
      operands().rows(code_of(plan.a), tiles[halves * i + h], out.value + i * elements * 16 + 8 * h);
  finish_rows(plan, out);
}

void mma_pack_rows(const MmaPlan& plan, MmaRows& out, const float* value, const bool* present) {
  for (int x = 0; x < plan.k; ++x)
    for (int i = 0; i < 16; ++i) out.value[16 * x + i] = value[i * plan.k + x];
  finish_rows(plan, out);
  if (plan.sum == MmaSum::kS32 || plan.fast) return;
  for (int x = 0; x < plan.k; ++x)
    for (int i = 0; i < 16; ++i)
      if (!present[i * plan.k + x])
        out.exponent[16 * (plan.model.converted ? place_of(plan, x) : x) + i] = kMmaAbsent;
}

void mma_pack_columns(const MmaPlan& plan, MmaColumns& out, int first, const void* const* tiles) {
  const int elements = 128 / mma_bits(plan.b);
  float* value = out.value.data() + first * plan.k;
  if (plan.in_registers) {
    for (int i = 0; i < plan.b_tiles(); ++i)
      operands().sorted_rows(code_of(plan.b), tiles[i], value + 8 * i * elements);
    return;
  }
  for (int i = 0; i < plan.b_tiles(); ++i)
    operands().columns(code_of(plan.b), tiles[i], value + i * elements, plan.k);
  if (plan.b_sign < 0) negate(value, int64_t{8} * plan.k);
  if (first == 0) {
    out.special = false;
    out.min_exponent = out.max_exponent = 0;
  }
  if (plan.sum == MmaSum::kS32 || plan.fast) return;
  if (plan.model.converted) reorder(plan, value, 8, plan.k, 1);
  Range r = measure(plan, plan.b, value, out.exponent.data() + first * plan.k, int64_t{8} * plan.k);
  out.special |= r.special;
  out.min_exponent = std::min(out.min_exponent, r.low);
  out.max_exponent = std::max(out.max_exponent, r.high);
}

namespace {

// Field by field, in place: see Block in simd/mma.cpp.
void set_step(MmaStep& s, const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, int first, int columns,
              float* sums) {
  s.a = a.value;
  s.a_exponent = a.exponent;
  s.b = b.value.data() + first * plan.k;
  s.b_exponent = b.exponent.data() + first * plan.k;
  s.b_stride = plan.k;
  s.sums = sums;
  s.columns = columns;
  s.k = plan.k;
  s.block = plan.block();
  s.fraction = plan.model.fraction;
  s.result = plan.model.result;
  s.min_exponent = plan.model.min_exponent;
  s.f16 = plan.sum == MmaSum::kF16;
  s.row_scale = s.column_scale = nullptr;
}

// Returns whether the products are such that ordinary sums stay so.
bool is_narrow(const MmaRows& a, const MmaColumns& b) {
  return a.min_exponent + b.min_exponent >= kMmaLowest && a.max_exponent + b.max_exponent <= kMmaHighest;
}

}  // namespace

void mma_multiply(const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, int first, int columns,
                  void* sums) {
  assert(first % 8 == 0 && columns % 8 == 0);
  MmaStep s;
  set_step(s, plan, a, b, first, columns, static_cast<float*>(sums));
  if (plan.sum == MmaSum::kS32) return mma_functions().integer(s, plan.saturate);
  if (plan.fast) return plan.scale == MmaScale::kNone ? mma_functions().fma(s) : scaled_fast(plan, a, b, s);
  if (plan.scale == MmaScale::kGroups) return grouped_step(s, a, b.scale.data() + first * 16);
  if (plan.scale == MmaScale::kPowers) {
    s.row_scale = a.scale[0];
    s.column_scale = b.scale.data() + first;
  }
  bool special = a.special || b.special;
  if (plan.scale == MmaScale::kPowers) {
    special |= std::any_of(a.scale[0], a.scale[0] + 16, [](float x) { return std::isnan(x); });
    special |= std::any_of(s.column_scale, s.column_scale + columns, [](float x) { return std::isnan(x); });
  }
  std::vector<float> from_zero;
  if (plan.model.converted) {
    from_zero.assign(static_cast<size_t>(16 * columns), 0.0f);
    s.sums = from_zero.data();
  }
  const bool narrow = !special && plan.scale == MmaScale::kNone && is_narrow(a, b);
  for (int done = 0; done < plan.k; done += s.k) {
    const bool ordinary =
        narrow && operands().look_at_sums(s.sums, int64_t{16} * columns) == MmaSums::kOrdinary;
    // Ordinary sums stay so, but those of f16 may become infinite.
    s.k = ordinary && !s.f16 ? plan.k - done : std::min(s.block, plan.k - done);
    ordinary ? mma_functions().exact(&s, 1) : run_step(s, special);
    s.a += 16 * s.k;
    s.a_exponent += 16 * s.k;
    s.b += s.k;
    s.b_exponent += s.k;
  }
  if (plan.model.converted) add_last(from_zero.data(), static_cast<float*>(sums), 16 * columns, s.f16);
}

void mma_multiply_registers(const MmaPlan& plan, const MmaRows& a, const MmaColumns& b, int first, int count,
                            const uint32_t* const (*c)[4], uint32_t* const (*d)[4]) {
  mma_functions().fma_registers(a.value, b.value.data() + 8 * first * plan.k, plan.k, count, c, d);
}

void mfma(const MfmaStep& step) { NUM_OF_ISA(current_isa(), mfma)(step); }
int mfma_rows(const MfmaRows& rows, int first) { return NUM_OF_ISA(current_isa(), mfma_rows)(rows, first); }
void mfma_chain_rows(const MfmaRows& rows) { NUM_OF_ISA(current_isa(), mfma_chain_rows)(rows); }
void mfma_parts(const float* value, int64_t n, int least, int fraction, int32_t* s, int32_t* e) {
  NUM_OF_ISA(current_isa(), mfma_parts)(value, n, least, fraction, s, e);
}
MfmaSizes mfma_exponents(const float* value, int64_t n, int least, int16_t* e) {
  return NUM_OF_ISA(current_isa(), mfma_exponents)(value, n, least, e);
}
void mfma_halves(const uint32_t* words, int n, int shift, uint16_t* to) {
  NUM_OF_ISA(current_isa(), mfma_halves)(words, n, shift, to);
}
void mfma_chain(const float* a, const float* b, float* sums, int columns, int k) {
  NUM_OF_ISA(current_isa(), mfma_chain)(a, b, sums, columns, k);
}

void mma_widen(MmaType type, const void* bytes, float* out) {
  alignas(16) uint8_t tile[128] = {};
  float all[8 * 32];
  std::memcpy(tile, bytes, 16);
  int n = 128 / mma_bits(type);
  operands().columns(code_of(type), tile, all, n);
  std::copy_n(all, n, out);
}

void mma_load_sums(MmaSum sum, void* sums, const uint32_t* const* registers) {
  if (sum != MmaSum::kF16) return operands().load_f32(static_cast<uint32_t*>(sums), registers);
  auto* out = static_cast<float*>(sums);
  for (int half = 0; half < 2; ++half)  // lane 4 r + t holds columns 2 t and 2 t + 1 of row r
    for (int r = 0; r < 8; ++r) {
      float row[8];
      mma_widen(MmaType::kF16, registers[half] + 4 * r, row);
      for (int j = 0; j < 8; ++j) out[16 * j + 8 * half + r] = row[j];
    }
}

void mma_store_sums(MmaSum sum, const void* sums, uint32_t* const* registers) {
  if (sum != MmaSum::kF16) return operands().store_f32(static_cast<const uint32_t*>(sums), registers);
  auto* in = static_cast<const float*>(sums);
  for (int half = 0; half < 2; ++half)
    for (int r = 0; r < 8; ++r)
      for (int t = 0; t < 4; ++t) {
        uint32_t pair = 0;
        for (int odd = 0; odd < 2; ++odd)
          pair |= mma_f16_bits(in[16 * (2 * t + odd) + 8 * half + r]) << (16 * odd);
        registers[half][4 * r + t] = pair;
      }
}

uint32_t mma_f16_bits(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
  if (magnitude > 0x7f800000) return 0x7fff;
  if (magnitude == 0x7f800000) return sign | 0x7c00;
  if (magnitude < 0x38800000) return sign | static_cast<uint32_t>(std::fabs(value) * 0x1p24f);
  return sign | ((magnitude - 0x38000000) >> 13);
}

float mma_ue8m0(uint8_t bits) { return bits == 255 ? NAN : std::ldexp(1.0f, bits - 127); }

float mma_ue4m3(uint8_t bits) {
  int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  return exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                       : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
}

}  // namespace triton_runner::num
