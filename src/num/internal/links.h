// Runs several f32 ops in one pass, each on the result of the one before: nothing in between goes to memory,
// and the results may be added up at once. The bits are those of the ops one by one.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace triton_runner::num {

enum class LinkOp : uint8_t {  // of the value v so far and the operand y
  kAdd,                        // v + y
  kSub,                        // v - y
  kSubFrom,                    // y - v
  kMul,                        // v * y
  kSquare,                     // v * v
  kSelect,                     // condition ? v : y
  kSelectNot,                  // condition ? y : v
  kReplace,                    // y
};

struct Link {
  LinkOp op;
  bool uniform;              // one element for all
  const float* operand;      // not of kSquare
  const uint8_t* condition;  // i1 each, of kSelect and kSelectNot
};

inline constexpr size_t kMostLinks = 8;

// out[i] = the links one after the other on x[i], for n elements. `out` may be x or an operand.
void map_links(float* out, const float* x, const Link* links, size_t count, int64_t n);
// The same past the caches: num::finish_past_caches() ends a series of these.
void map_links_past_caches(float* out, const float* x, const Link* links, size_t count, int64_t n);
// Adds up what the links give, as by the ReducePartFn of f32 sums.
void sum_links(float* out, void* state, const float* x, const Link* links, size_t count, int64_t n,
               bool first, bool last);

// Returns whether the loop (num::Loop) adds, subtracts or multiplies f32: then *op is kAdd, kSub or kMul.
bool find_link(void (*loop)(void*, const void*, const void*, const void*, int64_t), LinkOp* op);

}  // namespace triton_runner::num
