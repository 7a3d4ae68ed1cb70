// Sorts in place, stage by stage. Far stages take a vector of lower and one of upper elements; near ones,
// whose pairs lie in one vector, shuffle it, and runs of them keep it in a register.
#include "simd/sort.h"

#include <type_traits>

#include "simd/common.h"
#include "simd/width.h"

namespace triton_runner::num::SIMD_ISA {
namespace {

template <class T>
inline void exchange(T& low, T& high, bool descending) {
  T a = low, b = high;
  low = descending ? (a > b ? a : b) : (a > b ? b : a);
  high = descending ? (b > a ? a : b) : (b > a ? b : a);
}

// Any distance, an element at a time.
template <class T>
void run_plain(T* x, int64_t n, const SortStage& s) {
  for (int64_t block = 0; block < n; block += 2 * s.distance)
    for (int64_t i = block; i < block + s.distance; ++i)
      exchange(x[i], x[i + s.distance], ((i & s.flip) != 0) != s.descending);
}

template <class T>
struct Wide {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef Index I __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(1), may_alias));

  static V load(const T* x) { return *reinterpret_cast<const Unaligned*>(x); }
  static void store(T* x, V v) { *reinterpret_cast<Unaligned*>(x) = v; }

  // Pairs in vectors of their own. The bit of flip is above the distance, or 0: one direction a block.
  static void far(T* x, int64_t n, const SortStage& s) {
    const int64_t d = s.distance;
    for (int64_t block = 0; block < n; block += 2 * d) {
      bool descending = ((block & s.flip) != 0) != s.descending;
      for (int64_t i = block; i < block + d; i += kLanes) {
        V a = load(x + i), b = load(x + i + d);
        V less = a > b ? b : a, more = b > a ? b : a;
        V down_less = a > b ? a : b, down_more = b > a ? a : b;
        store(x + i, descending ? down_less : less);
        store(x + i + d, descending ? down_more : more);
      }
    }
  }

  struct Near {
    I partner;  // of each lane
    I takes;    // -1 where (mine > partner's) is to be turned round: the upper one of an ascending pair, ...
    int64_t flip;  // of whole vectors
  };
  static Near near(const SortStage& s) {
    Near out;
    for (int lane = 0; lane < kLanes; ++lane) {
      bool upper = (static_cast<uint32_t>(lane) & s.distance) != 0;
      bool flipped = s.flip < kLanes && (static_cast<uint32_t>(lane) & s.flip) != 0;
      out.partner[lane] = static_cast<Index>(static_cast<uint32_t>(lane) ^ s.distance);
      out.takes[lane] = upper != (flipped != s.descending) ? -1 : 0;
    }
    out.flip = s.flip >= kLanes ? s.flip : 0;
    return out;
  }
  static V step(V x, const Near& s, int64_t at) {
#if defined(__clang__)
    V y;
    for (int lane = 0; lane < kLanes; ++lane) y[lane] = x[s.partner[lane]];
#else
    V y = __builtin_shuffle(x, s.partner);
#endif
    I turn = s.takes ^ ((at & s.flip) ? I{} - 1 : I{});
    return ((x > y) ^ turn) != 0 ? y : x;
  }

  static void run(void* elements, int64_t n, const SortStage* stages, size_t stage_count) {
    T* x = static_cast<T*>(elements);
    constexpr size_t kMost = 16;
    for (size_t k = 0; k < stage_count;) {
      const SortStage& s = stages[k];
      if (n % kLanes || (s.flip != 0 && s.flip < 2 * s.distance)) {
        run_plain(x, n, stages[k++]);
        continue;
      }
      if (s.distance >= kLanes) {
        far(x, n, stages[k++]);
        continue;
      }
      Near group[kMost];
      size_t count = 0;
      for (; count < kMost && k < stage_count && stages[k].distance < kLanes &&
             (stages[k].flip == 0 || stages[k].flip >= 2 * stages[k].distance);
           ++k)
        group[count++] = near(stages[k]);
      for (int64_t i = 0; i < n; i += kLanes) {
        V v = load(x + i);
        for (size_t g = 0; g < count; ++g) v = step(v, group[g], i);
        store(x + i, v);
      }
    }
  }
};

template <class T>
void run_narrow(void* elements, int64_t n, const SortStage* stages, size_t count) {
  for (size_t k = 0; k < count; ++k) run_plain(static_cast<T*>(elements), n, stages[k]);
}

}  // namespace

SortFn find_sort(Type type, bool is_signed) {
  switch (type) {
    case Type::kF32:
      return Wide<float>::run;
    case Type::kF64:
      return Wide<double>::run;
    case Type::kI8:
      return is_signed ? run_narrow<int8_t> : run_narrow<uint8_t>;
    case Type::kI16:
      return is_signed ? run_narrow<int16_t> : run_narrow<uint16_t>;
    case Type::kI32:
      return is_signed ? Wide<int32_t>::run : Wide<uint32_t>::run;
    case Type::kI64:
      return is_signed ? Wide<int64_t>::run : Wide<uint64_t>::run;
    default:
      return nullptr;
  }
}

}  // namespace triton_runner::num::SIMD_ISA
