// Implements MFMA and WMMA: a wavefront's product D = A * B + C.
//
// CDNA 3 takes the products of a group (8 of f16 and bf16, 4 of xf32, 16 of fp8), aligns them to the largest exponent among them,
// cuts each toward zero 24 bits after its point, and adds exactly; then it aligns that sum and the accumulator to the larger of
// their exponents, rounds both down (31 and 24 bits), adds, and rounds to nearest. f32 and f64 are chains of fused multiply-adds.
// CDNA 2 adds four products in pairs, and the accumulator last, each sum rounded and without subnormal numbers.
// Measured by others on an MI250X and an MI300X: "MMA-Sim" (arXiv 2511.10909). For RDNA, and for shapes that are gfx950's alone, nothing is
// published: those of RDNA and of fp8, fp6 and fp4 of gfx950 are added exactly and rounded once, the rest of gfx950 as CDNA 3 adds.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include <triton_runner/num/convert.h>
#include <triton_runner/num/mfma.h>
#include <triton_runner/num/types.h>

#include "front/amdgcn/lower.h"
#include "state/exec.h"

namespace triton_runner::simt::amd {
namespace {

using amdgcn::Operand;
using num::Type;

// A float's smallest exponent, and the bits after its point.
struct Format {
  int least = 0, fraction = 0;
};
Format format_of(Type type, bool is_xf32) {
  const uint64_t halves = num::from_double(1.5, type) ^ num::from_double(1.0, type);
  const int fraction = 1 + std::countr_zero(halves);
  return {std::ilogb(num::to_double(1, type)) + fraction, is_xf32 ? 10 : fraction};
}

struct Product {
  uint32_t m = 0, n = 0, k = 0, blocks = 1;
  Type a = Type::kF32, b = Type::kF32;
  enum Sum : uint8_t { kFused, kPairs, kChain, kExact, kIntegers } sum = kFused;
  Type d = Type::kF32;
  uint32_t group = 8;      // products that are added at once
  bool by_halves = false;  // fp8: the even ones and the odd ones apart
  bool in_blocks = false;  // f8f6f4
  bool is_xf32 = false, is_wmma = false,
       repeats = false;  // gfx11: lanes 16 to 31 have what lanes 0 to 15 have
  bool is_signed[2] = {true, true};
  uint32_t per_lane = 1;                 // elements of k in a lane
  uint32_t sharing = 1, shared = 0;      // so many blocks (cbsz) read the A of one of them (abid)
  std::vector<uint32_t> from[2], c, to;  // places of registers; c may be a number
  struct Place {
    uint32_t lane, element;
  };
  // Block by block: for each k the place of A's first row and B's first column, for each row of D that of its first column. The
  // next ones are in the next lanes.
  std::vector<Place> sides[2], results;
  Format formats[2];
  uint32_t scales[2] = {kNoRegister, kNoRegister}, scale_byte[2] = {};  // e8m0 of 32 elements of a row
  uint32_t bits(int which) const { return static_cast<uint32_t>(num::width_of(which ? b : a)); }
};

constexpr uint32_t kMaxK = 128, kMaxRegisters = 32, kMaxGroup = 16, kMaxResults = 32 * num::kMfmaMaxColumns;

// A or B: the rows or columns of each k stand side by side.
struct Matrix {
  std::vector<float> value;
  std::vector<int16_t> exponent;
  bool special = false;       // an infinity, a NaN, or products that f32 does not hold
  bool fits = false;          // num::mfma_rows() takes them
  bool apart = false;         // of the values there are:
  std::vector<int32_t> s, e;  // significands and exponents (num::mfma_parts)
};

void take_apart(const Format& format, Matrix& to) {
  if (std::exchange(to.apart, true)) return;
  const size_t n = to.value.size();
  to.s.resize(n), to.e.resize(n);
  std::vector<float> finite;
  if (to.special) {
    finite = to.value;
    for (float& value : finite) value = std::isfinite(value) ? value : 0;
  }
  num::mfma_parts(to.special ? finite.data() : to.value.data(), static_cast<int64_t>(n), format.least,
                  format.fraction, to.s.data(), to.e.data());
}

// CDNA 2 keeps no subnormal number.
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? x * 0.0f : x; }

float flushed_half(float x, const Format& format) {
  return std::fabs(x) < std::ldexp(1.0f, format.least) ? x * 0.0f : x;
}

// A sum of B's columns from k `first` on, as doubles: exact.
void exactly(const Product& p, const Matrix& a, const Matrix& b, uint32_t row, uint32_t first, uint32_t n,
             double* out) {
  for (uint32_t j = 0; j < p.n; ++j) out[j] = 0;
  for (uint32_t k = first; k < first + n; ++k) {
    const double x = static_cast<double>(a.value[k * p.m + row]);
    for (uint32_t j = 0; j < p.n; ++j) out[j] += x * static_cast<double>(b.value[k * p.n + j]);
  }
}

// A row's products from k on that CDNA 3 adds at once.
void multiply_group(const Product& p, Matrix& a, Matrix& b, uint32_t row, uint32_t k, float* sums) {
  take_apart(p.formats[0], a), take_apart(p.formats[1], b);
  const int fraction = p.formats[0].fraction + p.formats[1].fraction;
  const uint32_t n = std::min(p.group, p.k - k);
  float before[num::kMfmaMaxColumns];
  std::copy_n(sums, p.n, before);
  uint32_t is_special = a.special || b.special;
  for (uint32_t j = 0; j < p.n; ++j)
    is_special |= (std::bit_cast<uint32_t>(sums[j]) & 0x7f800000) == 0x7f800000;
  const bool special = is_special != 0;
  int32_t parts[2][kMaxGroup];  // of A's row
  for (uint32_t i = 0; i < n; ++i) {
    parts[0][i] = a.s[(k + i) * p.m + row];
    parts[1][i] = a.e[(k + i) * p.m + row];
  }
  for (uint32_t j = 0; special && j < p.n; ++j)
    if (!std::isfinite(sums[j])) sums[j] = 0;
  num::mfma({parts[0], parts[1], &b.s[k * p.n], &b.e[k * p.n], sums, static_cast<int>(p.n),
             static_cast<int>(n), 24 - fraction, p.by_halves});
  if (!special) return;
  double exact[num::kMfmaMaxColumns];
  exactly(p, a, b, row, k, n, exact);
  for (uint32_t j = 0; j < p.n; ++j) {
    const double sum = exact[j] + static_cast<double>(before[j]);
    if (!std::isfinite(sum) || std::fabs(sum) >= 0x1p128) sums[j] = static_cast<float>(sum);
  }
}

// One row of the result: sums += row of A times B.
void multiply_row(const Product& p, Product::Sum how, Matrix& a, Matrix& b, uint32_t row, float* sums) {
  float from[kMaxK];
  for (uint32_t k = 0; k < p.k; ++k) from[k] = a.value[k * p.m + row];
  if (how == Product::kChain)
    return num::mfma_chain(from, b.value.data(), sums, static_cast<int>(p.n), static_cast<int>(p.k));
  if (how == Product::kPairs) {
    for (uint32_t k = 0; k < p.k; k += 4)
      for (uint32_t j = 0; j < p.n; ++j) {
        const auto product = [&](uint32_t at) { return flushed(from[at] * b.value[at * p.n + j]); };
        const float low = flushed(product(k) + product(k + 1)),
                    high = flushed(product(k + 2) + product(k + 3));
        sums[j] = flushed(flushed(sums[j]) + flushed(low + high));
      }
    return;
  }
  double exact[num::kMfmaMaxColumns];
  if (how == Product::kExact) {
    exactly(p, a, b, row, 0, p.k, exact);
    for (uint32_t j = 0; j < p.n; ++j) sums[j] = static_cast<float>(exact[j] + static_cast<double>(sums[j]));
    return;
  }
  for (uint32_t k = 0; k < p.k; k += p.group) multiply_group(p, a, b, row, k, sums);
}

// The block's sums, rows of p.n.
void multiply_rows(const Product& p, Product::Sum how, Matrix& a, Matrix& b, float* const* sums) {
  const bool fits = how == Product::kFused && a.fits && b.fits;
  if (p.n % 16 != 0 || (how != Product::kChain && !fits)) {
    for (uint32_t i = 0; i < p.m; ++i) multiply_row(p, how, a, b, i, sums[i]);
    return;
  }
  const auto as_int = [](uint32_t x) { return static_cast<int>(x); };
  num::MfmaRows rows{nullptr,     nullptr,     b.value.data(), b.exponent.data(), nullptr,
                     as_int(p.m), as_int(p.n), as_int(p.k),    as_int(p.group),   p.by_halves};
  for (uint32_t i = 0; i < p.m; i += num::kMfmaRows) {
    rows.a = &a.value[i];
    rows.sums = sums + i;
    if (how == Product::kChain) {
      num::mfma_chain_rows(rows);
      continue;
    }
    rows.a_exponent = &a.exponent[i];
    for (int k = 0; (k = num::mfma_rows(rows, k)) < rows.k; k += rows.group)
      for (uint32_t r = i; r < i + num::kMfmaRows; ++r)
        multiply_group(p, a, b, r, static_cast<uint32_t>(k), sums[r]);
  }
}

float number_of(const Product& p, Type type, uint32_t code) {
  if (type == Type::kF32) return std::bit_cast<float>(p.is_xf32 ? code & ~0x1fffu : code);
  if (type == Type::kBF16) return std::bit_cast<float>(code << 16);
  if (type == Type::kF16 && (code & 0x7c00) != 0 && (code & 0x7c00) != 0x7c00)
    return std::bit_cast<float>((code & 0x8000) << 16 | (((code & 0x7fff) << 13) + 0x38000000));
  return std::bit_cast<float>(static_cast<uint32_t>(num::convert_float(code, type, Type::kF32)));
}

// Tells where element k of A's first row (or B's first column) lies: the lane, and the element of that lane.
using Place = Product::Place;
Place place_of(const Product& p, int side, uint32_t k, uint32_t block) {
  const uint32_t size = side ? p.n : p.m;
  if (p.repeats) return {0, k};
  // A lane of f8f6f4 has sixteen bytes of either half of k, but 32 neighbours of what is narrower.
  if (p.in_blocks && p.bits(side) == 8) {
    const uint32_t half = k / (p.k / 2), rest = k % (p.k / 2);
    return {size * (rest / 16), 16 * half + rest % 16};
  }
  return {size * (p.blocks > 1 ? block : k / p.per_lane), k % p.per_lane};
}
// The same of row i and the first column of D.
Place result_of(const Product& p, uint32_t i, uint32_t block) {
  if (p.is_wmma) return p.repeats ? Place{16 * (i & 1), i / 2} : Place{16 * (i / 8), i % 8};
  if (p.m == 4) return {4 * block, i};
  if (p.m == 16)
    return p.d == Type::kF64 ? Place{16 * (i % 4), i / 4} : Place{16 * (i / 4), i % 4 + 4 * block};
  return {32 * (i / 4 % 2), i / 8 * 4 + i % 4 + 16 * block};
}

// The registers of an operand from a wavefront's first lane on.
struct Registers {
  Registers(Exec& x, const std::vector<uint32_t>& places, uint32_t w) {
    for (size_t i = 0; i < places.size(); ++i) row[i] = x.reg<uint32_t>(places[i]) + w;
  }
  uint32_t& at(Place p) const { return row[p.element][p.lane]; }
  double double_at(Place p) const {
    return std::bit_cast<double>(row[2 * p.element][p.lane] | uint64_t{row[2 * p.element + 1][p.lane]} << 32);
  }
  std::array<uint32_t*, kMaxRegisters> row;
};

// Elements of kBits bits as they are in registers, k by k.
template <uint32_t kBits, class Code>
void read_codes(const Registers& from, std::span<const Place> places, uint32_t size, Code* to) {
  constexpr uint32_t kMask = kBits == 32 ? ~0u : (1u << kBits % 32) - 1;
  for (const Place& p : places) {
    const uint32_t at = p.element * kBits, shift = at % 32;
    const uint32_t* row = from.row[at / 32] + p.lane;
    if (32 % kBits != 0 && shift + kBits > 32) {
      const uint32_t* next = from.row[at / 32 + 1] + p.lane;
      for (uint32_t i = 0; i < size; ++i)
        to[i] = static_cast<Code>((row[i] >> shift | next[i] << (32 - shift)) & kMask);
    } else if constexpr (kBits == 16) {
      num::mfma_halves(row, static_cast<int>(size), static_cast<int>(shift), to);
    } else {
      for (uint32_t i = 0; i < size; ++i) to[i] = static_cast<Code>(row[i] >> shift & kMask);
    }
    to += size;
  }
}

constexpr size_t kMaxElements = size_t{kMaxK} * 32;

void read_values(const Product& p, Type type, const Registers& from, std::span<const Place> places,
                 uint32_t size, float* to) {
  const size_t n = places.size() * size;
  alignas(64) thread_local uint32_t codes[kMaxElements];
  const auto by_type = [&](auto* as) {
    read_codes<8 * sizeof *as>(from, places, size, as);
    num::convert(to, Type::kF32, as, type, static_cast<int64_t>(n));
  };
  const int bits = num::width_of(type);
  if (bits == 16) return by_type(reinterpret_cast<uint16_t*>(codes));
  if (bits == 8) return by_type(reinterpret_cast<uint8_t*>(codes));
  if (bits == 4) read_codes<4>(from, places, size, codes);
  if (bits == 6) read_codes<6>(from, places, size, codes);
  if (bits == 32) read_codes<32>(from, places, size, codes);
  for (size_t i = 0; i < n; ++i) to[i] = number_of(p, type, codes[i]);
}

void read_side(Exec& x, const Product& p, Product::Sum how, int side, uint32_t block, uint32_t w,
               Matrix& to) {
  const uint32_t size = side ? p.n : p.m;
  const size_t n = size_t{size} * p.k;
  const Type type = side ? p.b : p.a;
  const Format format = p.formats[side];
  to.value.resize(n);
  const std::span places(&p.sides[side][block * p.k], p.k);
  read_values(p, type, Registers(x, p.from[side], w), places, size, to.value.data());
  if (p.scales[side] != kNoRegister)
    for (size_t at = 0; at < n; ++at) {
      const auto i = static_cast<uint32_t>(at % size), k = static_cast<uint32_t>(at / size);
      const uint32_t scale =
          x.reg<uint32_t>(p.scales[side])[w + i + size * (k / 32)] >> (8 * p.scale_byte[side]) & 255;
      to.value[at] = scale == 255 ? std::numeric_limits<float>::quiet_NaN()
                                  : std::ldexp(to.value[at], static_cast<int>(scale) - 127);
    }
  if (how == Product::kPairs)
    for (float& value : to.value) value = flushed_half(value, format);
  if (how != Product::kFused) return;
  to.exponent.resize(n);
  const num::MfmaSizes sizes =
      num::mfma_exponents(to.value.data(), static_cast<int64_t>(n), format.least, to.exponent.data());
  to.apart = false;
  to.special = sizes.most >= std::bit_cast<uint32_t>(0x1p63f);
  to.fits = sizes.most <= std::bit_cast<uint32_t>(num::kMfmaMost) &&
            sizes.least_below >= std::bit_cast<uint32_t>(num::kMfmaLeast) - 1;
}

void multiply_floats(Exec& x, const Product& p, uint32_t w) {
  thread_local Matrix sides[2];
  alignas(64) thread_local float sums[kMaxResults];
  const bool halves = p.d != Type::kF32;
  const bool in_place = !halves && p.c == p.to;  // the registers are the sums
  const Product::Sum how = x.launch().fast_mma ? Product::kChain : p.sum;
  const Registers c(x, p.c, w), d(x, p.to, w);
  for (uint32_t block = 0; block < p.blocks; ++block) {
    const Place* results = &p.results[block * p.m];
    for (int side = 0; side < 2; ++side) read_side(x, p, how, side, block, w, sides[side]);
    float* rows[32];
    for (uint32_t i = 0; i < p.m; ++i) {
      uint32_t* from = &c.at(results[i]);
      rows[i] = in_place ? reinterpret_cast<float*>(from) : sums + i * p.n;
      if (!halves && !in_place) std::memcpy(rows[i], from, p.n * sizeof *sums);
      for (uint32_t j = 0; halves && j < p.n; ++j) rows[i][j] = number_of(p, p.d, from[j] & 0xffff);
    }
    multiply_rows(p, how, sides[0], sides[1], rows);
    for (uint32_t i = 0; i < p.m && !in_place; ++i) {
      uint32_t* to = &d.at(results[i]);
      if (!halves) std::memcpy(to, rows[i], p.n * sizeof *sums);
      for (uint32_t j = 0; halves && j < p.n; ++j)
        to[j] = (to[j] & 0xffff0000) |
                static_cast<uint32_t>(num::from_double(static_cast<double>(rows[i][j]), p.d));
    }
  }
}

void multiply_integers(Exec& x, const Product& p, uint32_t w) {
  const Registers c(x, p.c, w), d(x, p.to, w);
  std::vector<int32_t> sides[2];
  for (int side = 0; side < 2; ++side) {
    const std::vector<Place>& places = p.sides[side];
    const uint32_t size = side ? p.n : p.m;
    sides[side].resize(places.size() * size);
    read_codes<8>(Registers(x, p.from[side], w), places, size, sides[side].data());
    if (p.is_signed[side])
      for (int32_t& value : sides[side]) value = static_cast<int8_t>(value);
  }
  std::vector<uint32_t> sums(p.n);
  for (uint32_t i = 0; i < p.m; ++i) {
    const Place at = p.results[i];
    std::copy_n(&c.at(at), p.n, sums.begin());
    for (uint32_t k = 0; k < p.k; ++k)
      for (uint32_t j = 0; j < p.n; ++j)
        sums[j] += static_cast<uint32_t>(sides[0][k * p.m + i] * sides[1][k * p.n + j]);
    std::copy_n(sums.begin(), p.n, &d.at(at));
  }
}

void multiply_doubles(Exec& x, const Product& p, uint32_t w) {
  const Registers a(x, p.from[0], w), b(x, p.from[1], w), c(x, p.c, w), d(x, p.to, w);
  std::vector<double> out(p.m * p.n);
  for (uint32_t block = 0; block < p.blocks; ++block) {
    const Place *rows = &p.sides[0][block * p.k], *columns = &p.sides[1][block * p.k],
                *results = &p.results[block * p.m];
    const auto next = [](Place place, uint32_t by) { return Place{place.lane + by, place.element}; };
    for (uint32_t at = 0; at < out.size(); ++at) {
      const uint32_t i = at / p.n, j = at % p.n;
      out[at] = c.double_at(next(results[i], j));
      for (uint32_t k = 0; k < p.k; ++k)
        out[at] = std::fma(a.double_at(next(rows[k], i)), b.double_at(next(columns[k], j)), out[at]);
    }
    for (uint32_t at = 0; at < out.size(); ++at) {
      const auto bits = std::bit_cast<uint64_t>(out[at]);
      const Place to = next(results[at / p.n], at % p.n);
      d.row[2 * to.element][to.lane] = static_cast<uint32_t>(bits);
      d.row[2 * to.element + 1][to.lane] = static_cast<uint32_t>(bits >> 32);
    }
  }
}

// EXEC is not looked at: matrix instructions compute for the whole wavefront.
void run_product(Exec& x, const Operands&, const Product& p) {
  const uint32_t width = x.code().width;
  for (uint32_t w = 0; w < x.count; w += width) {
    if (x.mask && !std::memchr(x.mask + w, -1, width)) continue;
    if (p.sum == Product::kIntegers)
      multiply_integers(x, p, w);
    else if (p.d == Type::kF64)
      multiply_doubles(x, p, w);
    else
      multiply_floats(x, p, w);
  }
}

bool places_of(AmdLowering& l, const Operand& o, uint32_t registers, std::vector<uint32_t>* out) {
  if (!o.is_register()) {
    if (o.kind != amdgcn::OperandKind::kInteger && o.kind != amdgcn::OperandKind::kFloat) return false;
    const uint64_t bits = o.kind == amdgcn::OperandKind::kFloat
                              ? std::bit_cast<uint32_t>(static_cast<float>(o.number))
                              : static_cast<uint64_t>(o.integer);
    out->assign(registers, l.constant(bits & 0xffffffff, 4));
    return true;
  }
  if (o.count != registers) return false;
  for (uint32_t k = 0; k < registers; ++k) out->push_back(l.register_at(o, k));
  return true;
}

// "32x32x8", "16x16x4_4b": what is left of the name is the types.
bool read_shape(std::string_view& name, Product* p) {
  uint32_t* const sizes[] = {&p->m, &p->n, &p->k};
  for (size_t d = 0; d < 3; ++d) {
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), *sizes[d]);
    if (error != std::errc()) return false;
    name.remove_prefix(static_cast<size_t>(end - name.data()));
    if (d < 2 ? !name.starts_with("x") : !name.starts_with("_")) return false;
    name.remove_prefix(1);
  }
  for (const auto& [word, blocks] : {std::pair("2b_", 2u), std::pair("4b_", 4u), std::pair("16b_", 16u)})
    if (name.starts_with(word)) p->blocks = blocks, name.remove_prefix(std::string_view(word).size());
  return true;
}

struct Named {
  std::string_view name;
  Type fnuz, type;
};
constexpr Named kTypes[] = {{"fp8", Type::kF8E4M3FNUZ, Type::kF8E4M3FN},
                            {"bf8", Type::kF8E5M2FNUZ, Type::kF8E5M2},
                            {"bf16_1k", Type::kBF16, Type::kBF16},
                            {"bf16", Type::kBF16, Type::kBF16},
                            {"f16", Type::kF16, Type::kF16},
                            {"xf32", Type::kF32, Type::kF32},
                            {"f32", Type::kF32, Type::kF32},
                            {"f64", Type::kF64, Type::kF64},
                            {"iu8", Type::kI8, Type::kI8},
                            {"i8", Type::kI8, Type::kI8}};

bool read_types(AmdLowering& l, std::string_view name, Product* p) {
  const bool fnuz = l.module().target().starts_with("gfx94");
  Type* const to[] = {&p->a, &p->b};
  for (size_t side = 0; side < 2; ++side) {
    if (side == 1 && name.empty()) return p->b = p->a, true;
    bool found = false;
    for (const Named& t : kTypes)
      if (name.starts_with(t.name)) {
        *to[side] = fnuz ? t.fnuz : t.type;
        name.remove_prefix(t.name.size());
        found = true;
        break;
      }
    if (!found) return false;
    if (name.starts_with("_")) name.remove_prefix(1);
  }
  return name.empty();
}

bool lower_product(AmdLowering& l, Product p) {
  const uint32_t lanes = p.is_wmma && !p.repeats ? 32 : 64;
  p.per_lane = p.repeats ? p.k : p.k * p.m * p.blocks / lanes;
  const uint32_t wide = p.d == Type::kF64 ? 2 : 1;
  if (l.in().operands.size() < 4 || p.k > kMaxK) return false;
  const uint32_t a = p.per_lane * p.bits(0) / 32, b = p.per_lane * p.bits(1) / 32;
  const uint32_t d = p.m * p.n * p.blocks * wide / (p.is_wmma ? 32 : 64);
  if (!places_of(l, l.operand(1), a, &p.from[0]) || !places_of(l, l.operand(2), b, &p.from[1]) ||
      !places_of(l, l.operand(3), d, &p.c) || !places_of(l, l.operand(0), d, &p.to))
    return false;
  for (const auto* places : {&p.from[0], &p.from[1], &p.c, &p.to})
    if (places->size() > kMaxRegisters) return false;
  for (uint32_t block = 0; block < p.blocks; ++block) {
    for (uint32_t k = 0; k < p.k; ++k)
      for (int side = 0; side < 2; ++side) {
        const uint32_t first = block / p.sharing * p.sharing;
        p.sides[side].push_back(place_of(p, side, k, side || p.sharing == 1 ? block : first + p.shared));
      }
    for (uint32_t i = 0; i < p.m; ++i) p.results.push_back(result_of(p, i, block));
  }
  if (p.sum != Product::kIntegers)
    for (int side = 0; side < 2; ++side) p.formats[side] = format_of(side ? p.b : p.a, p.is_xf32);
  l.facts().multiplies = true;
  l.unguarded();
  return l.emit(handler<run_product>, {}, std::move(p));
}

}  // namespace

namespace {

// gfx950: cbsz and blgp say the types of A and B, and two registers hold the scales of 32 elements each. How it adds is not
// published: here exactly, rounded once.
bool lower_f8f6f4(AmdLowering& l, std::string_view name, bool scaled) {
  static constexpr Type kFormats[] = {Type::kF8E4M3FN, Type::kF8E5M2, Type::kF6E2M3FN, Type::kF6E3M2FN,
                                      Type::kF4E2M1FN};
  Product p;
  const auto a = static_cast<size_t>(l.in().number("cbsz")), b = static_cast<size_t>(l.in().number("blgp"));
  if (a >= std::size(kFormats) || b >= std::size(kFormats) || !read_shape(name, &p)) return false;
  p.a = kFormats[a], p.b = kFormats[b];
  p.sum = Product::kExact;
  p.in_blocks = true;
  if (!scaled) return lower_product(l, std::move(p));
  if (l.in().operands.size() != 6) return false;
  for (size_t side = 0; side < 2; ++side) {
    std::vector<uint32_t> places;
    if (!places_of(l, l.operand(4 + side), 1, &places)) return false;
    p.scales[side] = places[0];
    p.scale_byte[side] = static_cast<uint32_t>(l.in().number_at("op_sel", side, 0) +
                                               2 * l.in().number_at("op_sel_hi", side, 0));
  }
  return lower_product(l, std::move(p));
}

}  // namespace

bool lower_mfma(AmdLowering& l) {
  Product p;
  std::string_view name = l.name().substr(std::string_view("v_mfma_").size());
  const bool scaled = name.starts_with("scale_");
  if (scaled) name.remove_prefix(6);
  if (name.ends_with("_f8f6f4")) return lower_f8f6f4(l, name.substr(4), scaled);
  if (l.in().number("blgp") != 0) return l.fail("'blgp' of a matrix product is not executed");
  const std::string_view to = name.substr(0, 3);
  name.remove_prefix(4);
  if (!read_shape(name, &p) || !read_types(l, name, &p)) return false;
  const auto cbsz = l.in().number("cbsz"), abid = l.in().number("abid");
  if (cbsz < 0 || cbsz > 4 || (1u << cbsz) > p.blocks || abid < 0 || (abid != 0 && abid >= 1 << cbsz))
    return l.fail("no blocks of this product share an A as cbsz and abid say");
  p.sharing = 1u << cbsz, p.shared = static_cast<uint32_t>(abid);
  if (to == "f64") p.d = Type::kF64;
  if (to == "i32") p.sum = Product::kIntegers;
  p.is_xf32 = name == "xf32";
  if ((p.a == Type::kF32 && !p.is_xf32) || p.a == Type::kF64) p.sum = Product::kChain;
  if (p.is_xf32) p.group = 4;
  if (l.module().target() == "gfx90a" && p.sum == Product::kFused) p.sum = Product::kPairs;
  if (num::width_of(p.a) == 8) p.group = 16, p.by_halves = p.sum == Product::kFused;
  return lower_product(l, std::move(p));
}

bool lower_wmma(AmdLowering& l) {
  if (l.code.width != 32) return l.fail("matrix products of wavefronts of 64 lanes are not executed on RDNA");
  Product p;
  std::string_view name = l.name().substr(std::string_view("v_wmma_").size());
  const std::string_view to = name.substr(0, name.find('_'));
  name.remove_prefix(to.size() + 1);
  if (!read_shape(name, &p) || !read_types(l, name, &p)) return false;
  p.is_wmma = true;
  p.repeats = l.generation == 11;
  p.sum = to == "i32" ? Product::kIntegers : Product::kExact;
  if (to == "f16") p.d = Type::kF16;
  if (to == "bf16") p.d = Type::kBF16;
  if (p.d != Type::kF32 && !p.repeats)
    return l.fail("a product whose sums are halves is not executed on this target yet");
  // neg_lo of integers says that an operand is signed.
  if (p.sum == Product::kIntegers)
    for (size_t side = 0; side < 2; ++side) p.is_signed[side] = l.in().number_at("neg_lo", side, 0) != 0;
  else if (l.in().has("neg_lo") || l.in().has("neg_hi"))
    return l.fail("a product with a negated operand is not executed");
  return lower_product(l, std::move(p));
}

}  // namespace triton_runner::simt::amd
