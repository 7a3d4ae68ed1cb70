// Decodes instruction descriptors, layouts and zero-column masks of tcgen05.mma. It is tested by
// tests/cases/ptx/tcgen05-mma-ws.ptx, tests/cases/ptx/bad-tcgen05-descriptor.ptx and
// tests/python/ptx/test_ptx_products.py.
#include "matrix/tcgen05_shape.h"

#include <optional>

namespace triton_runner::simt {

using num::MmaSum;
using num::MmaType;
using Kind = Tcgen05Kind;

namespace {

std::optional<MmaType> narrow_type(uint32_t code) {
  constexpr MmaType kTypes[] = {MmaType::kE4M3, MmaType::kE5M2, MmaType::kE4M3,
                                MmaType::kE2M3, MmaType::kE3M2, MmaType::kE2M1Byte};
  if (code > 5 || code == 2) return std::nullopt;
  return kTypes[code];
}

const char* decode_types(Kind kind, uint32_t bits, Tcgen05Shape* s) {
  const uint32_t d = bits >> 4 & 3, a = bits >> 7 & 7, b = bits >> 10 & 7;
  s->sum = MmaSum::kF32;
  switch (kind) {
    case Kind::kF16:
      if (a > 1 || b != a || d > 1) return "its types are not those of kind::f16";
      s->a = s->b = a ? MmaType::kBF16 : MmaType::kF16;
      s->sum = d ? MmaSum::kF32 : MmaSum::kF16;
      s->k = 16;
      return nullptr;
    case Kind::kTf32:
      if (a != 2 || b != 2) return "its types are not those of kind::tf32";
      s->a = s->b = MmaType::kTF32;
      s->k = 8;
      return nullptr;
    case Kind::kI8:
      if (a > 1 || b > 1) return "its types are not those of kind::i8";
      s->a = a ? MmaType::kS8 : MmaType::kU8;
      s->b = b ? MmaType::kS8 : MmaType::kU8;
      s->sum = MmaSum::kS32;
      s->saturate = bits >> 3 & 1;
      s->k = 32;
      return nullptr;
    case Kind::kF8f6f4:
    case Kind::kMxf8f6f4: {
      const auto a_type = narrow_type(a), b_type = narrow_type(b);
      if (!a_type || !b_type) return "its types are not those of kind::f8f6f4";
      s->a = *a_type;
      s->b = *b_type;
      if (kind == Kind::kF8f6f4) s->sum = d ? MmaSum::kF32 : MmaSum::kF16;
      s->k = 32;
      return nullptr;
    }
    case Kind::kMxf4:
      s->a = s->b = MmaType::kE2M1;
      if (bits >> 31) return "k of 96 elements is not executed";
      s->k = 64;
      return nullptr;
  }
  return nullptr;
}

}  // namespace

const char* decode_tcgen05(const Tcgen05Product& p, uint32_t bits, Tcgen05Shape* s) {
  *s = {};
  s->m = (bits >> 24 & 31) << 4;
  s->n = (bits >> 17 & 63) << 3;
  s->negate_a = bits >> 13 & 1;
  s->negate_b = bits >> 14 & 1;
  s->trans_a = bits >> 15 & 1;
  s->trans_b = bits >> 16 & 1;
  if (const char* why = decode_types(p.kind, bits, s)) return why;
  if (p.sparse != ((bits >> 2 & 1) != 0))
    return p.sparse ? "it says that A is dense, the instruction that it is sparse"
                    : "it says that A is sparse, the instruction that it is dense";
  if (p.sparse) s->k *= 2;
  if (p.scaled()) {
    s->a_id = bits >> 29 & 3;
    s->b_id = bits >> 4 & 3;
    s->ue4m3 = (bits >> 23 & 1) == 0;
  } else if (p.sparse) {
    s->selector = bits & 3;
    const bool one_column = p.kind == Kind::kF16 || p.kind == Kind::kTf32;
    if (s->selector > (one_column ? 1 : 0))
      return one_column ? "the sparsity selector of this kind is 0 or 1"
                        : "the sparsity selector of this kind is 0";
  }
  if (p.stationary) {
    constexpr uint32_t kShifts[] = {0, 8, 16, 32};
    s->max_shift = kShifts[bits >> 30];
    if (s->m != 32 && s->m != 64 && s->m != 128) return "M is 32, 64 or 128 in the .ws form";
    if (s->n != 64 && s->n != 128 && s->n != 256) return "N is 64, 128 or 256 in the .ws form";
    return nullptr;
  }
  const bool m_ok = p.pair ? s->m == 128 || s->m == 256 : s->m == 64 || s->m == 128;
  if (!m_ok) return p.pair ? "M is 128 or 256 with a pair of blocks" : "M is 64 or 128 with one block";
  if (p.shift && s->m == 64) return "M is 128 or 256 with .ashift";
  if (s->n < 8 || s->n > 256 || (p.pair && s->n % 16 != 0))
    return "N is 8 to 256 in steps of 8 (of 16 with a pair of blocks)";
  return nullptr;
}

Tcgen05Layout::Tcgen05Layout(const Tcgen05Product& p, const Tcgen05Shape& s)
    : blocks(p.pair ? 2 : 1),
      rows(s.m / blocks),
      parts(p.stationary || (p.pair && !p.sparse) ? kTensorLanes / rows : 1),
      half(rows == 64 && parts == 1) {}

ZeroColumns::ZeroColumns(uint64_t descriptor, uint32_t n, uint32_t parts) : zero(n) {
  shift = descriptor >> 56 & 63;
  if (!(descriptor >> 39 & 1)) return;
  // Runs of columns that are used and of zeros, in turn; a part of the columns begins somewhere in its first.
  const uint32_t zeros = (descriptor >> 40 & 0xff) + 1, used = (descriptor >> 48 & 0xff) + 1,
                 size = n / parts;
  for (uint32_t part = 0; part < parts; ++part) {
    bool value = descriptor >> (32 + part) & 1;
    uint32_t passed = descriptor >> (8 * part) & 0xff;
    for (uint32_t i = 0; i < size; ++i) {
      for (uint32_t run = value ? zeros : used; passed >= run; run = value ? zeros : used) {
        passed -= run;
        value = !value;
      }
      zero[part * size + i] = value;
      ++passed;
    }
  }
}

}  // namespace triton_runner::simt
