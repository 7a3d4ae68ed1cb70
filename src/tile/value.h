// Value is what a slot holds while a program runs.
//
// A tensor stays in the laziest form that describes it. Most tensors of a kernel are addresses and masks, and
// those are sums of strides or boxes: never written out. Shapes and element types are static and belong to
// the slot (TileType), so one 64-byte Value is all that moves when a value moves.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include <triton_runner/num/types.h>

namespace triton_runner::tile {

inline constexpr int kLazyRank = 5;  // higher ranks are always kUniform or kDense

enum class Form : uint8_t {
  kNone,     // nothing yet, or released
  kUniform,  // every element (or the scalar) is `bits`
  kAffine,   // integer or pointer: base + sum of stride[d] * index[d], exact in i64 and in range of the
             // element type
  kBox,      // i1: true where lo[d] <= index[d] < hi[d] for every d
  kDense,    // row-major elements in `buffer`
  kView,  // elements at buffer[base + sum of stride[d] * index[d]] (in elements): broadcast, transposed, ...
  kObject,  // not a tensor (token, memdesc, descriptor, ...): a trivially copyable struct in `buffer`
};

// Memory of a tile: a reference-counted block of the worker's BufferPool; the elements follow the header.
struct alignas(64) Buffer {
  uint32_t refs;
  uint32_t size_class;  // log2 of the bytes
  Buffer* next;         // in the free list
  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(Buffer) == 64);

struct Value {
  Form form = Form::kNone;
  Buffer* buffer =
      nullptr;  // elements of kDense and kView; of other forms the elements too, if someone needed them
  union {
    int64_t bits;  // kUniform: integers sign-extended (i1: 0 or 1), everything else the element's bits
                   // zero-extended
    int64_t base;  // kAffine, kView
  };
  union {
    int64_t stride[kLazyRank];
    struct {
      int32_t lo[kLazyRank], hi[kLazyRank];
    } box;
  };
};
static_assert(sizeof(Value) == 64);

// A tile that does not fit: over the launch's limit, or refused by the system.
struct OutOfTiles : std::bad_alloc {
  uint64_t bytes, held, limit;  // asked for, had already, and may have
  OutOfTiles(uint64_t b, uint64_t h, uint64_t l) : bytes(b), held(h), limit(l) {}
};

// Blocks of power-of-two sizes, kept for reuse: after the first program nothing is allocated any more.
class BufferPool {
 public:
  BufferPool() = default;
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // At least `bytes`, one reference. Throws OutOfTiles, which the task turns into a trap.
  Buffer* allocate(size_t bytes) {
    uint32_t c = size_class(bytes);
    if (Buffer* b = free_[c]) {
      free_[c] = b->next;
      b->refs = 1;
      return b;
    }
    return allocate_new(c);
  }
  void release(Buffer* b) {
    if (--b->refs == 0) {
      b->next = free_[b->size_class];
      free_[b->size_class] = b;
    }
  }
  static uint32_t size_class(size_t bytes) {
    return bytes <= 64 ? 6 : static_cast<uint32_t>(std::bit_width(bytes - 1));
  }
  void trim();  // gives the free blocks back to the system
  // Most bytes to have from the system from now on. Set between launches: nothing is in use.
  void set_limit(uint64_t bytes);
  // Bytes of all blocks, in use or free: not fewer than the most that were in use since trim().
  uint64_t held() const { return held_; }

 private:
  Buffer* allocate_new(uint32_t size_class);
  Buffer* free_[48] = {};
  uint64_t held_ = 0;
  uint64_t limit_ = ~uint64_t{0};
};

}  // namespace triton_runner::tile
