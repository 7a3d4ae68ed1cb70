// Lowers tt.map_elementwise: its function runs with whole tiles as scalars; element by element where it has
// control flow or tiles of its own, or takes several elements at once.
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "lowering.h"
#include "ops/combine.h"

namespace triton_runner::tile {
namespace {

struct MapData {
  Level level;
  uint32_t count;
  int64_t pack;
  Slot counter = 0;  // of calls, where it is called with scalars
};

const Instr* run_map_tiles(Task& t, const Instr& in, const MapData& d) {
  for (uint32_t i = 0; i < d.count; ++i) {
    t.dense(in.operand(i));
    t.copy(d.level.args[i], in.operand(i));
  }
  if (!t.call(*d.level.entry)) return nullptr;
  for (uint32_t i = 0; i < in.num_results; ++i) {
    const TileType& ty = t.type(in.result(i));
    const void* from = t.dense(d.level.results[i]);
    std::memcpy(t.new_dense(in.result(i)), from, ty.bytes);
  }
  return next(in);
}

const Instr* run_map_scalars(Task& t, const Instr& in, const MapData& d) {
  int64_t n = t.type(in.operand(0)).n;
  for (uint32_t i = 0; i < d.count; ++i) t.dense(in.operand(i));
  for (uint32_t r = 0; r < in.num_results; ++r) t.new_dense(in.result(r));
  for (int64_t at = 0; at < n; at += d.pack) {
    for (uint32_t i = 0; i < d.count; ++i)
      for (int64_t p = 0; p < d.pack; ++p) {
        Slot s = in.operand(i);
        t.set_uniform_from(d.level.args[i * d.pack + p], t.dense<std::byte>(s) + (at + p) * t.type(s).size);
      }
    t.set_uniform(d.counter, at / d.pack);
    if (!t.call(*d.level.entry)) return nullptr;
    for (uint32_t r = 0; r < in.num_results; ++r)
      for (int64_t p = 0; p < d.pack; ++p) {
        const TileType& ty = t.type(in.result(r));
        num::store_bits(t.value(in.result(r)).buffer->data() + (at + p) * ty.size, ty.element,
                        static_cast<uint64_t>(t.bits(d.level.results[r * d.pack + p])));
      }
  }
  return next(in);
}

}  // namespace

void lower_map_elementwise(Lowering& l, const ir::Op& op) {
  auto* d = l.make<MapData>();
  d->pack = op.int_attr("pack", 1);
  d->count = op.num_operands();
  const ir::Region& region = *op.region(0);
  const TileType& ty = *l.type_of(op.operand(0));
  if (d->pack < 1 || ty.n % d->pack || static_cast<int64_t>(region.first->args.size()) != d->count * d->pack)
    return l.fail(op, "the region's arguments do not match the operands");
  std::vector<Slot> operands = slots_of(l, op.operand_uses);
  bool scalar = d->pack != 1 || needs_scalars(region);
  Places* places = nullptr;
  if (scalar) {
    d->counter = l.begin_loop();
  } else if (l.observes(region)) {
    places = l.make<Places>();
    places->shape = ty.shape;
  }
  d->level = make_level(l, region, scalar ? 0 : ty.n, &operands, places);
  if (scalar) l.end_loop();
  l.emit(scalar ? handler<run_map_scalars> : handler<run_map_tiles>, op, slots_of(l, op.results), operands,
         d);
}

}  // namespace triton_runner::tile
