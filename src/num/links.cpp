// Runs linked ops (links.h) by the loops of the current instruction set.
#include <triton_runner/num/links.h>

#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/of_isa.h>

#include "simd/streams.h"
#include "simd/tables.h"

namespace triton_runner::num {

void map_links(float* out, const float* x, const Link* links, size_t count, int64_t n) {
  NUM_OF_ISA(current_isa(), map_links)(out, x, links, count, n);
}
void map_links_past_caches(float* out, const float* x, const Link* links, size_t count, int64_t n) {
  NUM_OF_ISA(current_isa(), map_links_past_caches)(out, x, links, count, n);
}
void sum_links(float* out, void* state, const float* x, const Link* links, size_t count, int64_t n,
               bool first, bool last) {
  NUM_OF_ISA(current_isa(), sum_links)(out, state, x, links, count, n, first, last);
}

bool find_link(Loop loop, LinkOp* op) {
  auto is = [loop](const Elementwise& f) { return loop == f.kernel(Type::kF32, Type::kF32).loop; };
  if (is(elementwise_addf)) return *op = LinkOp::kAdd, true;
  if (is(elementwise_subf)) return *op = LinkOp::kSub, true;
  if (is(elementwise_mulf)) return *op = LinkOp::kMul, true;
  return false;
}

}  // namespace triton_runner::num
