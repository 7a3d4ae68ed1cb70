// Executes loads and stores in all state spaces.
//
// One look at the lowest and the highest address checks a whole access; only where that fails is each lane
// looked at by itself, and then the trap names it.
#include "ops/memory.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/num/by_size.h>

#include "check/check.h"

namespace triton_runner::simt {
namespace {

// Registers of the access as byte arrays; what nobody wants goes to a scratch array.
template <class Byte>
void register_pointers(const Exec& x, const Access& a, Byte** out, std::byte* scratch) {
  for (uint32_t k = 0; k < a.words; ++k)
    out[k] = a.regs[k] == kNoRegister ? scratch : x.regs + a.regs[k] + uint64_t{a.reg_bytes} * x.first;
}

uint64_t widen(uint64_t bits, uint32_t bytes, bool is_signed) {
  if (!is_signed || bytes >= 8) return bits;
  const int shift = 64 - 8 * static_cast<int>(bytes);
  return static_cast<uint64_t>(static_cast<int64_t>(bits << shift) >> shift);
}

void load_lane(const Access& a, std::byte* const* out, uint32_t i, const std::byte* p, bool atomic) {
  for (uint32_t k = 0; k < a.words; ++k, p += a.word_bytes) {
    if (a.word_bytes == 16) {
      std::memcpy(out[k] + 16 * i, p, 16);
      continue;
    }
    uint64_t v = 0;
    if (atomic)
      v = num::by_size(a.word_bytes, [&](auto zero) -> uint64_t {
        return __atomic_load_n(reinterpret_cast<const decltype(zero)*>(p), __ATOMIC_SEQ_CST);
      });
    else
      std::memcpy(&v, p, a.word_bytes);
    v = widen(v, a.word_bytes, a.is_signed);
    std::memcpy(out[k] + uint64_t{a.reg_bytes} * i, &v, a.reg_bytes);
  }
}

void store_lane(const Access& a, const std::byte* const* in, uint32_t i, std::byte* p, bool atomic) {
  for (uint32_t k = 0; k < a.words; ++k, p += a.word_bytes) {
    const std::byte* from = in[k] + uint64_t{a.reg_bytes} * i;
    if (!atomic || a.word_bytes == 16) {
      std::memcpy(p, from, a.word_bytes);
      continue;
    }
    uint64_t v = 0;
    std::memcpy(&v, from, a.word_bytes);
    num::by_size(a.word_bytes, [&](auto zero) {
      using T = decltype(zero);
      __atomic_store_n(reinterpret_cast<T*>(p), static_cast<T>(v), __ATOMIC_SEQ_CST);
    });
  }
}

std::byte* resolve(Exec& x, const Operands& in, const Access& a, uint32_t i, uint64_t address, bool write) {
  if (!a.anywhere && (address & (a.bytes() - 1)))
    return x.fault(in, exec::TrapKind::kMisaligned,
                   std::string(write ? "a write of " : "a read of ") + std::to_string(a.bytes()) +
                       " bytes at an address that is not a multiple of " + std::to_string(a.bytes()),
                   i, address, 0, write);
  const uint32_t size = a.extent();
  switch (a.space) {
    case Space::kShared:
      return x.shared(in, i, static_cast<uint32_t>(address), size, write);
    case Space::kParam:
      if (address - kParamBase < x.launch().params.size())
        return x.global(in, i, param_address(x, address), size, write);
      if (address - param_address(x, kParamBase) < x.launch().params.size())  // cvta.param was here already
        return x.global(in, i, address, size, write);
      [[fallthrough]];
    case Space::kLocal:
      return x.local(in, i, address & ~kWindowMask, size);
    case Space::kGeneric:
      return x.generic(in, i, address, size, write);
    default:
      // Code that updates 16 bits by way of the word around them: the word may end past the allocation.
      if (a.strong && !write && a.bytes() == 4 && x.memory_for(in).readable(address, 1) &&
          !x.memory_for(in).readable(address, 4))
        return reinterpret_cast<std::byte*>(address);
      return x.global(in, i, address, size, write);
  }
}

// The elements of a vector one by one: those that may be accessed are, where the launch goes on after others, and those of which
// nothing is used are not.
template <bool kWrite>
bool each_word(Exec& x, const Operands& in, const Access& a, std::byte* const* regs, uint32_t i,
               uint64_t address, bool atomic) {
  Access one = a;
  one.words = 1;
  for (uint32_t k = 0; k < a.words; ++k) {
    if (a.used != ~0u) {
      one.used = a.used >> k * a.word_bytes & ((uint64_t{1} << a.word_bytes) - 1);
      if (!one.used) continue;
    }
    std::byte* p = resolve(x, in, one, i, address + uint64_t{k} * a.word_bytes, kWrite);
    if (!p) return false;
    if constexpr (kWrite)
      store_lane(one, regs + k, i, p, atomic);
    else
      load_lane(one, regs + k, i, p, atomic);
  }
  return true;
}

// Each lane by itself: any space, any alignment, every check.
template <bool kWrite>
void each_lane(Exec& x, const Operands& in, const Access& a) {
  alignas(16) std::byte scratch[16 * 1024];
  std::byte *regs[kMaxWords], *places[1024];
  register_pointers(x, a, regs, scratch);
  const bool atomic = a.strong && a.space != Space::kShared && a.space != Space::kLocal;
  if (atomic) ++x.worker->global_spins;
  for (uint32_t i : x.lanes()) {
    const uint64_t address = accessed_address(x, in, a, i);
    if ((x.goes_on() || a.used != ~0u) && a.words > 1 && !(address & (a.bytes() - 1))) {
      if (!each_word<kWrite>(x, in, a, regs, i, address, atomic)) return;
      continue;
    }
    std::byte* p = resolve(x, in, a, i, address, kWrite);
    if (!p) return;
    places[i] = p;
    if constexpr (kWrite)
      store_lane(a, regs, i, p, atomic);
    else
      load_lane(a, regs, i, p, atomic);
  }
  if (!kWrite || a.space != Space::kShared || x.goes_on()) return;
  for (uint32_t turn = 0; turn < x.count; ++turn)  // again: the checks had to see the lanes in their order
    if (const uint32_t i = lanes::store_turn(turn, x.count, a.bytes()); x.on(i))
      store_lane(a, regs, i, places[i], false);
}

// Narrow values into wide registers: through a scratch array as narrow as the values.
template <class Wide, class Narrow>
void widen_lanes(Wide* out, const Narrow* in, const int8_t* mask, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i)
    if (!mask || mask[i]) out[i] = static_cast<Wide>(in[i]);
}
template <class Narrow>
void widen_to(const Access& a, std::byte* out, const Narrow* in, const int8_t* mask, uint32_t n) {
  if (a.reg_bytes == 2) return widen_lanes(reinterpret_cast<uint16_t*>(out), in, mask, n);
  if (a.reg_bytes == 4) return widen_lanes(reinterpret_cast<uint32_t*>(out), in, mask, n);
  widen_lanes(reinterpret_cast<uint64_t*>(out), in, mask, n);
}
void widen_word(const Access& a, std::byte* out, const std::byte* in, const int8_t* mask, uint32_t n) {
  switch (a.word_bytes) {
    case 1:
      return a.is_signed ? widen_to(a, out, reinterpret_cast<const int8_t*>(in), mask, n)
                         : widen_to(a, out, reinterpret_cast<const uint8_t*>(in), mask, n);
    case 2:
      return a.is_signed ? widen_to(a, out, reinterpret_cast<const int16_t*>(in), mask, n)
                         : widen_to(a, out, reinterpret_cast<const uint16_t*>(in), mask, n);
    default:
      return a.is_signed ? widen_to(a, out, reinterpret_cast<const int32_t*>(in), mask, n)
                         : widen_to(a, out, reinterpret_cast<const uint32_t*>(in), mask, n);
  }
}

// The arrays that a gather or scatter works on: the registers, or narrow copies of them.
struct Arrays {
  alignas(64) std::byte scratch[(kMaxWords + 1) * 4 * 1024 + 8 * 1024];
  std::byte* words[kMaxWords];
};

void begin_arrays(const Exec& x, const Access& a, Arrays& arrays) {
  for (uint32_t k = 0; k < a.words; ++k)
    arrays.words[k] = a.word_bytes == a.reg_bytes && a.regs[k] != kNoRegister
                          ? x.regs + a.regs[k] + uint64_t{a.reg_bytes} * x.first
                          : arrays.scratch + uint64_t{4096} * k;
}

void end_load(const Exec& x, const Access& a, Arrays& arrays) {
  if (a.word_bytes == a.reg_bytes) return;
  for (uint32_t k = 0; k < a.words; ++k)
    if (a.regs[k] != kNoRegister)
      widen_word(a, x.regs + a.regs[k] + uint64_t{a.reg_bytes} * x.first, arrays.words[k], x.mask, x.count);
}

template <class Wide, class Narrow>
void narrow_lanes(Narrow* out, const Wide* in, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) out[i] = static_cast<Narrow>(in[i]);
}
template <class Narrow>
void narrow_from(const Access& a, std::byte* out, const std::byte* in, uint32_t n) {
  auto* o = reinterpret_cast<Narrow*>(out);
  if (a.reg_bytes == 2) return narrow_lanes(o, reinterpret_cast<const uint16_t*>(in), n);
  if (a.reg_bytes == 4) return narrow_lanes(o, reinterpret_cast<const uint32_t*>(in), n);
  narrow_lanes(o, reinterpret_cast<const uint64_t*>(in), n);
}

void begin_store(const Exec& x, const Access& a, Arrays& arrays) {
  begin_arrays(x, a, arrays);
  if (a.word_bytes == a.reg_bytes) return;
  for (uint32_t k = 0; k < a.words; ++k) {
    if (a.regs[k] == kNoRegister) continue;
    const std::byte* from = x.regs + a.regs[k] + uint64_t{a.reg_bytes} * x.first;
    if (a.word_bytes == 1)
      narrow_from<uint8_t>(a, arrays.words[k], from, x.count);
    else if (a.word_bytes == 2)
      narrow_from<uint16_t>(a, arrays.words[k], from, x.count);
    else
      narrow_from<uint32_t>(a, arrays.words[k], from, x.count);
  }
}

// Registers of 8 bytes and more with narrow words would not fit the scratch of a large block.
bool is_plain(const Access& a) { return !a.strong && a.word_bytes <= 8; }

// The first and the last lane that is on.
std::pair<uint32_t, uint32_t> ends_of(const Exec& x) {
  uint32_t first = 0, last = x.count - 1;
  if (!x.mask) return {first, last};
  const auto none_of_eight = [&](uint32_t at) {
    uint64_t eight;
    std::memcpy(&eight, x.mask + at, sizeof eight);
    return eight == 0;
  };
  while (first + 8 <= last && none_of_eight(first)) first += 8;
  while (!x.mask[first]) ++first;
  while (last >= first + 8 && none_of_eight(last - 7)) last -= 8;
  while (!x.mask[last]) --last;
  return {first, last};
}

// Has the checks look at what all threads access. False: they are to look at each lane by itself.
template <bool kWrite, class T>
bool looked_at(Exec& x, const Operands& in, const Access& a, const T* address, T add, bool in_a_row) {
  Checks* checks = x.worker->checks;
  if (!checks) return true;
  const Access* store = kWrite ? &a : nullptr;
  if (a.used == ~0u) return checks->at_once(x, in, address, add, {a.bytes(), in_a_row, store});
  for (uint32_t k = 0; k < a.words; ++k) {
    const uint64_t word = (uint64_t{1} << a.word_bytes) - 1, used = a.used >> k * a.word_bytes & word;
    if (used == 0) continue;  // it was not loaded
    if (used != word) return false;
    if (!checks->at_once(x, in, address, static_cast<T>(add + k * a.word_bytes),
                         {a.word_bytes, false, store}))
      return false;
  }
  return true;
}

// access_global and access_shared are inline in their handler<>: a jump between the two costs a shared access 8 %.
template <bool kWrite>
LANES_INLINE void access_global(Exec& x, const Operands& in, const Access& a) {
  if constexpr (kWrite) x.worker->launch->progress.changed();
  if (!is_plain(a) || x.worker->counting) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  const auto* address = x.reg<uint64_t>(in.a);
  const uint64_t add = static_cast<uint64_t>(a.offset), size = a.bytes();
  const auto [first, last] = ends_of(x);
  bool in_a_row = first == last || a.tables->contiguous(address, x.count, size);
  const auto* row = reinterpret_cast<const std::byte*>(address[first] - size * first + add);
  uint64_t low = address[first], high = address[last], bits = low;
  in_a_row = in_a_row && low <= high;  // they do not wrap
  if (!in_a_row) a.tables->range(address, x.mask, x.count, &low, &high, &bits);
  const uint64_t extent = high - low + size;
  exec::MemoryView& memory = x.memory_for(in);
  const exec::Allocation* inside = memory.known(low + add, extent);
  if (!inside || (kWrite && !inside->writable) || (bits & (size - 1)) || (add & (size - 1)))
    return each_lane<kWrite>(x, in, a);
  if (x.worker->checks && in_a_row)  // memory comes while the checks look
    for (uint64_t at = 0; at < extent; at += 64) __builtin_prefetch(row + size * first + at);
  if (!looked_at<kWrite>(x, in, a, address, add, in_a_row)) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  Arrays arrays;
  if constexpr (kWrite) {
    begin_store(x, a, arrays);
    if (in_a_row)
      a.tables->scatter_row(arrays.words, const_cast<std::byte*>(row), x.mask, x.count, a.words,
                            a.word_bytes);
    else
      a.tables->scatter64(arrays.words, address, add, x.mask, x.count, a.words, a.word_bytes);
  } else {
    begin_arrays(x, a, arrays);
    if (in_a_row)
      a.tables->gather_row(arrays.words, row, x.mask, x.count, a.words, a.word_bytes);
    else
      a.tables->gather64(arrays.words, address, add, x.mask, x.count, a.words, a.word_bytes);
    end_load(x, a, arrays);
  }
}

template <bool kWrite>
LANES_INLINE void access_shared(Exec& x, const Operands& in, const Access& a) {
  const Cta& cta = *x.cta;
  const uint32_t size = a.bytes();
  if (a.address_bytes != 4 || a.word_bytes > 8 || size > cta.shared_bytes || x.worker->counting) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  const auto* address = x.reg<uint32_t>(in.a);
  const uint32_t add = static_cast<uint32_t>(a.offset) - cta.shared_base;
  if (a.tables->highest(address, add, x.mask, x.count) > cta.shared_bytes - size ||
      (a.tables->any_bits(address, add, x.mask, x.count) & (size - 1))) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  if (!looked_at<kWrite>(x, in, a, address, add, false)) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  Arrays arrays;
  if constexpr (kWrite) {
    begin_store(x, a, arrays);
    if (a.words == 1 && !x.mask && a.tables->contiguous32(address, x.count, size))
      std::memcpy(cta.shared + static_cast<uint32_t>(address[0] + add), arrays.words[0], size * x.count);
    else
      a.tables->scatter32(arrays.words, cta.shared, address, add, x.mask, x.count, a.words, a.word_bytes);
  } else {
    begin_arrays(x, a, arrays);
    if (a.words == 1 && !x.mask && a.tables->contiguous32(address, x.count, size))
      std::memcpy(arrays.words[0], cta.shared + static_cast<uint32_t>(address[0] + add), size * x.count);
    else
      a.tables->gather32(arrays.words, cta.shared, cta.shared_bytes, address, add, x.mask, x.count, a.words,
                         a.word_bytes);
    end_load(x, a, arrays);
  }
}

bool at_one_place(const Access& a, const uint32_t* address, uint32_t n) {
  return a.tables->contiguous32(address, n, 0);
}
bool at_one_place(const Access& a, const uint64_t* address, uint32_t n) {
  return a.tables->contiguous(address, n, 0);
}

// A thread's local memory lies in one piece, so that a word of all threads is as far apart as they are.
template <bool kWrite, class T>
void access_local(Exec& x, const Operands& in, const Access& a) {
  const uint32_t size = x.code().local_bytes, bytes = a.bytes();
  if (!is_plain(a) || a.used != ~0u || bytes > size || x.worker->counting || x.goes_on()) [[unlikely]]
    return each_lane<kWrite>(x, in, a);
  alignas(64) uint64_t places[1024];
  const T *address = x.reg<T>(in.a), add = static_cast<T>(a.offset);
  const uint64_t begin = reinterpret_cast<uint64_t>(x.cta->local) + uint64_t{x.first} * size;
  uint64_t highest = 0, bits = 0;
  if (at_one_place(a, address, x.count)) {  // of each thread: a variable, or a register that was spilled
    highest = bits = static_cast<T>(address[0] + add) & ~kWindowMask;
    for (uint32_t i = 0; i < x.count; ++i) places[i] = begin + highest + uint64_t{i} * size;
  } else {
    for (uint32_t i = 0; i < x.count; ++i) {
      const uint64_t offset = x.on(i) ? static_cast<T>(address[i] + add) & ~kWindowMask : 0;
      highest = std::max(highest, offset);
      bits |= offset;
      places[i] = begin + offset + uint64_t{i} * size;
    }
  }
  if (highest > size - bytes || (bits & (bytes - 1))) return each_lane<kWrite>(x, in, a);
  Arrays arrays;
  if constexpr (kWrite) {
    begin_store(x, a, arrays);
    a.tables->scatter64(arrays.words, places, 0, x.mask, x.count, a.words, a.word_bytes);
  } else {
    begin_arrays(x, a, arrays);
    a.tables->gather64(arrays.words, places, 0, x.mask, x.count, a.words, a.word_bytes);
    end_load(x, a, arrays);
  }
}

template <bool kWrite>
Handler local_handler(const Access& a) {
  return a.address_bytes == 4 ? handler<access_local<kWrite, uint32_t>>
                              : handler<access_local<kWrite, uint64_t>>;
}

}  // namespace

void load_param(Exec& x, const Operands&, const Access& a) {
  const std::byte* p = x.launch().params.data() + a.offset;
  for (uint32_t k = 0; k < a.words; ++k, p += a.word_bytes) {
    if (a.regs[k] == kNoRegister) continue;
    uint64_t v = 0;
    std::memcpy(&v, p, a.word_bytes);
    v = widen(v, a.word_bytes, a.is_signed);
    if (a.reg_bytes == 1) fill(x, x.reg<uint8_t>(a.regs[k]), v);
    if (a.reg_bytes == 2) fill(x, x.reg<uint16_t>(a.regs[k]), v);
    if (a.reg_bytes == 4) fill(x, x.reg<uint32_t>(a.regs[k]), v);
    if (a.reg_bytes == 8) fill(x, x.reg<uint64_t>(a.regs[k]), v);
  }
}

Handler access_handler(const Access& a, bool write) {
  switch (a.space) {
    case Space::kShared:
      return write ? handler<access_shared<true>> : handler<access_shared<false>>;
    case Space::kLocal:
      return write ? local_handler<true>(a) : local_handler<false>(a);
    case Space::kParam:
      return write ? handler<each_lane<true>> : handler<each_lane<false>>;
    default:
      return write ? handler<access_global<true>> : handler<access_global<false>>;
  }
}

}  // namespace triton_runner::simt
