// Implements handlers.h: loops over threads that no line of PTX says.
#include "front/sass/handlers.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <triton_runner/machine/mbarrier.h>

#include "ops/control.h"
#include "ops/warp.h"
#include "state/divergence.h"
#include "state/turns.h"

namespace triton_runner::simt {

void run_once_a_warp(Lanes& l, const Operands& in) {
  const Instr& inner = *static_cast<const Instr*>(in.data);
  const int8_t* own = l.mask;
  std::vector<int8_t> first(l.count);
  for (uint32_t w = 0; w < l.count; w += 32)
    if (const uint32_t on = warp_bits(l, w)) first[w + static_cast<uint32_t>(std::countr_zero(on))] = -1;
  l.mask = first.data();
  inner.run(l, inner);
  l.mask = own;
}

namespace {

template <class T>
void spread(const Lanes& l, const Operands& in) {
  const T* a = l.reg<T>(in.a);
  T* d = l.reg<T>(in.d);
  for (uint32_t w = 0; w < l.count; w += 32)
    if (const uint32_t on = warp_bits(l, w)) std::fill_n(d + w, 32, a[w + std::countr_zero(on)]);
}

}  // namespace

void give_warp(Lanes& l, const Operands& in) { in.small ? spread<int8_t>(l, in) : spread<uint32_t>(l, in); }

bool is_known_in_bank(int capability, uint64_t at, uint32_t bytes) {
  const BankPlaces p = bank_places(capability);
  auto within = [&](uint64_t begin, uint64_t size) { return at >= begin && at + bytes <= begin + size; };
  if (within(p.block, 12) || within(p.grid, 12) || within(p.window, 8) || within(p.stack, 4) ||
      within(p.descriptor, 8) || within(p.address, 8) || within(p.constants, 8) ||
      within(p.environment, 12) || within(p.processors, 4) || within(p.grid_id, 8) ||
      within(p.dynamic_shared, 4))
    return true;
  if (p.last && within(p.last, 8)) return true;
  return p.is_cluster && (within(p.is_cluster, 4) || within(p.cluster, 12) || within(p.inverse, 12) ||
                          within(p.clusters, 12) || within(p.cluster_blocks, 4));
}

void begin_constant_bank(const Code& code, const LaunchShape& launch, std::byte* out) {
  const std::array<uint32_t, 3>& grid = launch.grid;
  const BankPlaces p = bank_places(code.capability);
  auto put = [&](uint32_t at, const auto& value) { std::memcpy(out + at, &value, sizeof value); };
  put(p.block, code.block);
  put(p.grid, grid);
  put(p.environment + 4, static_cast<uint32_t>(launch.workspace >> 32));
  put(p.environment + 8, static_cast<uint32_t>(launch.workspace));
  put(p.processors, 1u);
  put(p.dynamic_shared, launch.dynamic_shared);
  put(p.window, kLocalWindow);
  put(p.stack, code.local_bytes);
  put(p.address, reinterpret_cast<uint64_t>(out) + p.origin);
  if (p.last) put(p.last, reinterpret_cast<uint64_t>(out) + code.param_bytes - 1);
  for (const Code::Global& g : code.globals)
    if (g.name == kConstantMemory) put(p.constants, g.address);
  if (!p.is_cluster) return;
  const auto& n = code.cluster;
  const uint32_t blocks = n[0] * n[1] * n[2];
  put(p.is_cluster, code.explicit_cluster || blocks > 1 ? 1u : 0u);
  put(p.cluster, n);
  put(p.cluster_blocks, blocks);
  for (uint32_t d = 0; d < 3; ++d) {
    float inverse =
        1.0f / static_cast<float>(n[d]);  // not below 1 / n, or a multiple of n would be rounded down
    if (std::fma(inverse, static_cast<float>(n[d]), -1.0f) < 0) inverse = std::nextafter(inverse, 2.0f);
    put(p.inverse + 4 * d, inverse);
    put(p.clusters + 4 * d, grid[d] / n[d]);
  }
}

// If b, 1 / b, the quotient and what is left over are normal numbers, with two powers of two to spare, the steps
// round right. Hardware may find fewer so: the other way gives the same bits.
void check_division(Lanes& l, const Operands& in) {
  const uint32_t *a = l.reg<uint32_t>(in.a), *b = l.reg<uint32_t>(in.b);
  int8_t* d = l.reg<int8_t>(in.d);
  for (uint32_t i = 0; i < l.count; ++i) {
    if (!l.on(i)) continue;
    const auto exponent_a = static_cast<int>(a[i] >> 23 & 0xff),
               exponent_b = static_cast<int>(b[i] >> 23 & 0xff);
    const bool safe = exponent_b >= 2 && exponent_b <= 251 && exponent_a >= 26 && exponent_a <= 252 &&
                      exponent_a - exponent_b >= -123 && exponent_a - exponent_b <= 124;
    d[i] = safe ? 0 : -1;
  }
}

void load_constant(Exec& x, const Operands& in, const ConstantBank& bank) {
  const auto* from =
      bank.is_params ? reinterpret_cast<const char*>(x.launch().params.data()) : bank.bytes.data();
  const uint64_t size = bank.is_params ? x.launch().params.size() : bank.bytes.size();
  const uint32_t* a = x.reg<uint32_t>(in.a);
  for (uint32_t i : x.lanes()) {
    const uint32_t at = a[i] + bank.offset;
    if (at + uint64_t{in.small} > size)
      return x.trap(
          in, exec::TrapKind::kOutOfBounds,
          "a constant at " + std::to_string(at) + " of a bank of " + std::to_string(size) + " bytes", i);
    uint64_t bits = 0;
    std::memcpy(&bits, from + at, in.small);
    if (bank.is_signed) {
      const uint32_t unused = 64 - 8 * in.small;
      bits = static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
    }
    if (in.small == 8)
      x.reg<uint64_t>(in.d)[i] = bits;
    else
      x.reg<uint32_t>(in.d)[i] = static_cast<uint32_t>(bits);
  }
}

const SumHandlers& sums() { return *simd_tables(num::current_isa()).sums; }

void run_by_descriptor(Lanes& l, const Operands& in) {
  const auto& choice = *static_cast<const ByDescriptor*>(in.data);
  const uint32_t bits = l.reg<uint32_t>(in.a)[first_on(l)];
  const Instr& one = choice.variants[(bits >> 2 & 1) | ((bits >> 7 & 7) == 2 ? 2 : 0)];
  one.run(l, one);
}

void begin_pair(uint32_t rank, std::byte* reserved) {
  const auto barrier = machine::Mbarrier::of(1);
  const uint32_t parity = rank % 2 ^ 1;
  std::memcpy(reserved + 0x48, &barrier, sizeof barrier);
  std::memcpy(reserved + 0x50, &parity, sizeof parity);
}

void enter_region(Lanes& l, const Operands& in) {
  uint32_t* d = l.reg<uint32_t>(in.d);
  for (uint32_t w = 0; w < l.count; w += 32) {
    const uint32_t on = warp_bits(l, w);
    if (on == ~uint32_t{0})
      std::fill_n(d + w, 32, on);
    else
      for (uint32_t rest = on; rest; rest &= rest - 1) d[w + std::countr_zero(rest)] = on;
  }
}

void meet_region(Lanes& l, const Operands& in) {
  Exec& x = exec_of(l);
  if (!x.converged_by(instr_of(in), in.a, true)) return;
  x.path->since = 0;
  x.path->members = kNoRegister;
  if (!x.mask) return;
  uint32_t* members = l.reg<uint32_t>(in.a);
  for (uint32_t w = 0; w < l.count; w += 32) {
    const uint32_t on = warp_bits(l, w);
    if (!on) continue;
    const uint32_t all = members[w + std::countr_zero(on)];
    if (all & yielded(*x.cta, x.first + w))
      for (uint32_t rest = all; rest; rest &= rest - 1) members[w + std::countr_zero(rest)] = 0;
  }
}

// The threads that are on are no longer waited for, by those that have them in the same register.
void leave_region(Lanes& l, const Operands& in) {
  uint32_t* members = l.reg<uint32_t>(in.a);
  for (uint32_t w = 0; w < l.count; w += 32) {
    const uint32_t on = warp_bits(l, w);
    if (!on) continue;
    const uint32_t all = members[w + std::countr_zero(on)];
    for (uint32_t rest = all; rest; rest &= rest - 1) {
      uint32_t& mine = members[w + std::countr_zero(rest)];
      if (mine == all) mine &= ~on;
    }
  }
  recheck(*exec_of(l).cta);
}

}  // namespace triton_runner::simt
