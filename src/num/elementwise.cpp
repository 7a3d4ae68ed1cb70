// Finds elementwise kernels, and runs them with splat operands.
#include <triton_runner/num/by_size.h>
#include <triton_runner/num/convert.h>
#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/of_isa.h>

#include <cassert>
#include <cstring>

#include "simd/streams.h"
#include "simd/tables.h"

namespace triton_runner::num {
namespace {

constexpr int64_t kChunk = 512;  // elements of a splat operand that are laid out at a time

template <class T>
void fill_of(void* out, const void* value, int64_t n) {
  T element;
  std::memcpy(&element, value, sizeof(T));
  auto* o = static_cast<T*>(out);
  for (int64_t i = 0; i < n; ++i) o[i] = element;
}

void fill_element(void* out, const void* value, int64_t n, int size) {
  by_size(static_cast<size_t>(size), [&](auto zero) { fill_of<decltype(zero)>(out, value, n); });
}

Loop find_loop(Functor functor, Type in, Type out, Isa isa) {
  switch (functor) {
#define OR(name, arity) case Functor::name:
#define FAMILY(family, Of, list) \
  list(OR) return NUM_OF_ISA(isa, find_##family)(static_cast<Of>(functor), in, out);
    TRITON_RUNNER_FAMILIES(FAMILY)
    TRITON_RUNNER_LIBDEVICE_FUNCTORS(OR)
    return find_libdevice(static_cast<LibdeviceFunctor>(functor), in, out);
#undef FAMILY
#undef OR
  }
  return nullptr;
}

}  // namespace

void Kernel::run(void* out, const void* const* in, uint32_t splat, int64_t n) const {
  assert(loop != nullptr);
  splat &= (1u << arity) - 1;
  const void* operands[3] = {in[0], arity > 1 ? in[1] : nullptr, arity > 2 ? in[2] : nullptr};
  if (splat == 0 || n == 1) return loop(out, operands[0], operands[1], operands[2], n);
  auto* o = static_cast<char*>(out);
  if (splat == (1u << arity) - 1) {
    if (n == 0) return;
    alignas(8) char value[8];
    loop(value, operands[0], operands[1], operands[2], 1);
    return fill_element(o, value, n, out_size);
  }
  alignas(64) char filled[3][kChunk * 8];
  int64_t chunk = n < kChunk ? n : kChunk;
  for (int i = 0; i < arity; ++i) {
    if (!(splat >> i & 1)) continue;
    fill_element(filled[i], operands[i], chunk, in_size[i]);
    operands[i] = filled[i];
  }
  for (int64_t i = 0; i < n; i += chunk) {
    int64_t m = n - i < chunk ? n - i : chunk;
    loop(o, operands[0], operands[1], operands[2], m);
    o += m * out_size;
    for (int k = 0; k < arity; ++k)
      if (!(splat >> k & 1)) operands[k] = static_cast<const char*>(operands[k]) + m * in_size[k];
  }
}

Kernel Elementwise::kernel(Type in, Type out, Isa isa) const {
  Loop loop = find_loop(id, in, out, isa);
  if (loop == nullptr) return {};
  Kernel kernel{loop, arity, static_cast<uint8_t>(size_of(out)), {}};
  for (uint8_t& size : kernel.in_size) size = static_cast<uint8_t>(size_of(in));
  if (id == Functor::select) kernel.in_size[0] = 1;
  if (id == Functor::ldexp) kernel.in_size[1] = 4;
  return kernel;
}

Loop chain_loops(Loop difference, Loop exponential) {
  if (difference != elementwise_subf.kernel(Type::kF32, Type::kF32).loop) return nullptr;
  return NUM_OF_ISA(current_isa(), find_exp_of_difference)(exponential);
}

Loop loop_by_one(Loop loop) { return NUM_OF_ISA(current_isa(), find_by_one)(loop); }

#define TRITON_RUNNER_DEFINE(name, arity) \
  constinit const Elementwise elementwise_##name{#name, Functor::name, arity};
TRITON_RUNNER_ELEMENTWISE(TRITON_RUNNER_DEFINE)
#undef TRITON_RUNNER_DEFINE

const Elementwise* const elementwise_cmpi[10] = {
    &elementwise_cmpi_eq,  &elementwise_cmpi_ne,  &elementwise_cmpi_slt, &elementwise_cmpi_sle,
    &elementwise_cmpi_sgt, &elementwise_cmpi_sge, &elementwise_cmpi_ult, &elementwise_cmpi_ule,
    &elementwise_cmpi_ugt, &elementwise_cmpi_uge};
const Elementwise* const elementwise_cmpf[16] = {
    &elementwise_cmpf_false, &elementwise_cmpf_oeq, &elementwise_cmpf_ogt, &elementwise_cmpf_oge,
    &elementwise_cmpf_olt,   &elementwise_cmpf_ole, &elementwise_cmpf_one, &elementwise_cmpf_ord,
    &elementwise_cmpf_ueq,   &elementwise_cmpf_ugt, &elementwise_cmpf_uge, &elementwise_cmpf_ult,
    &elementwise_cmpf_ule,   &elementwise_cmpf_une, &elementwise_cmpf_uno, &elementwise_cmpf_true};

const Elementwise* find_elementwise(std::string_view name) {
  static constexpr const Elementwise* kAll[] = {
#define TRITON_RUNNER_LIST(name, arity) &elementwise_##name,
      TRITON_RUNNER_ELEMENTWISE(TRITON_RUNNER_LIST)
#undef TRITON_RUNNER_LIST
  };
  for (const Elementwise* elementwise : kAll)
    if (elementwise->name == name) return elementwise;
  return nullptr;
}

Kernel convert_kernel(Type from, Type to, Rounding rounding) {
  const Elementwise& cast =
      rounding == Rounding::kNearestEven ? elementwise_fp_to_fp_rtne : elementwise_fp_to_fp_rtz;
  return cast.kernel(from, to);
}

void convert(void* out, Type to, const void* in, Type from, int64_t n, Rounding rounding) {
  convert_kernel(from, to, rounding).run(out, &in, 0, n);
}

void unpack_f4(void* out, Type to, const uint8_t* packed, int64_t n_bytes) {
  Kernel kernel = convert_kernel(Type::kF4E2M1FN, to);
  uint8_t codes[2 * kChunk];
  for (int64_t i = 0; i < n_bytes; i += kChunk) {
    int64_t m = n_bytes - i < kChunk ? n_bytes - i : kChunk;
    for (int64_t j = 0; j < m; ++j) {
      codes[2 * j] = packed[i + j] & 0xf;
      codes[2 * j + 1] = packed[i + j] >> 4;
    }
    const void* in = codes;
    kernel.run(static_cast<char*>(out) + 2 * i * kernel.out_size, &in, 0, 2 * m);
  }
}

uint64_t narrow_from_double(double value, Type type, Rounding rounding) {
  return from_double(value, type, rounding);
}

}  // namespace triton_runner::num
