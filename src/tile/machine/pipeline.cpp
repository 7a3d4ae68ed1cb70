// Lowers the ops that the pipeliner and the machine add to a kernel: predicated regions, the predicate of a
// stage, subtiles, ballots and clocks.
#include <chrono>
#include <numeric>
#include <span>

#include "machine/threads.h"
#include "ops/elements.h"

namespace triton_runner::tile {
namespace {

// ---- ttg.predicate_stage: is iteration iv of stage `stage` one that the loop has?

struct PipelineStage {
  int64_t ahead;  // iterations by which the last stage is behind this one
  num::Type type;
};

void run_predicate_stage(Task& t, const Instr& in, const PipelineStage& s) {
  const auto step = static_cast<uint64_t>(t.bits(in.operand(2)));
  const uint64_t last = static_cast<uint64_t>(t.bits(in.operand(1))) - static_cast<uint64_t>(s.ahead) * step;
  t.set_uniform(in.result(),
                t.bits(in.operand(0)) < num::sign_extend(num::truncate_bits(last, s.type), s.type));
}

// ---- ttng.vote_ballot_sync

void run_ballot(Task& t, const Instr& in) {
  const auto mask = static_cast<uint32_t>(t.bits(in.operand(0)));
  const Slot pred = in.operand(1);
  if (!in.data || t.is_uniform(pred)) {
    t.set_uniform(in.result(), t.bits(pred) ? static_cast<int32_t>(mask) : 0);
    return;
  }
  // A thread votes for what any of its elements says.
  const auto& held = in.as<ThreadElements>();
  const auto* on = t.dense<uint8_t>(pred);
  auto* out = t.new_dense<uint32_t>(in.result());
  const auto lanes = static_cast<size_t>(held.lanes), registers = static_cast<size_t>(held.registers);
  for (size_t warp = 0; warp < held.element.size(); warp += lanes * registers) {
    const std::span elements(held.element.data() + warp, lanes * registers);
    uint32_t votes = 0;
    for (size_t i = 0; i < elements.size(); ++i)
      votes |= static_cast<uint32_t>(on[elements[i]]) << i / registers;
    for (const int32_t element : elements) out[element] = votes & mask;
  }
}

// ---- ttg.clock64

void run_clock(Task& t, const Instr& in) {
  t.set_uniform(in.result(), std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

// A region that runs where the predicate holds. Where it does not, the results are not defined: here 0.
void lower_mask(Lowering& l, const ir::Op& op) {
  std::vector<Slot> results, elements;
  for (ir::Value& v : op.results) {
    results.push_back(l.slot(&v));
    if (l.type_of(results.back())->size) elements.push_back(results.back());
  }
  const Label otherwise = l.new_label(), end = l.new_label();
  l.jump_if(l.slot(op.operand(0)), false, otherwise, op);
  l.lower_region(*op.region(0), results, end);
  l.bind(otherwise);
  if (!elements.empty()) l.emit(run_zero, op, elements, {});
  l.bind(end);
}

void lower_predicate_stage(Lowering& l, const ir::Op& op) {
  const int64_t ahead = op.int_attr("maxStage", 0) - op.int_attr("stage", 0);
  l.emit<run_predicate_stage>(op, l.make<PipelineStage>(ahead, l.type_of(op.operand(0))->element));
}

void lower_vote_ballot_sync(Lowering& l, const ir::Op& op) {
  const ir::Type& pred = *op.operand(1)->type;
  if (pred.kind != ir::TypeKind::kTensor) {
    if (l.lanes() == 0) return void(l.emit<run_ballot>(op));
    // Each thread has its own (threads_apart.cpp).
    ThreadElements own{1, l.code().warp_size, l.lanes() / l.code().warp_size, 1, {}};
    own.element.resize(static_cast<size_t>(l.lanes()));
    std::iota(own.element.begin(), own.element.end(), 0);
    return void(l.emit<run_ballot>(op, l.make<ThreadElements>(std::move(own))));
  }
  auto held = thread_elements(l, op, pred);
  if (!held) return;
  if (held->lanes > 32) return l.fail(op, "a ballot of more than 32 lanes does not fit an i32");
  l.emit<run_ballot>(op, l.make<ThreadElements>(*std::move(held)));
}

void lower_clock64(Lowering& l, const ir::Op& op) { l.emit<run_clock>(op); }

// The body once a tile: its arguments are the tile's own values, then those all tiles share, then the tile's
// number. Per-tile operands and results come position by position, each for all tiles.
void lower_subtiled_region(Lowering& l, const ir::Op& op) {
  const int64_t tiles = op.int_attr("numTiles", 1);
  const ir::Block* body = op.regions.empty() ? nullptr : op.region(0)->first;
  if (!body || tiles < 1) return l.fail(op, "a subtiled region without tiles or without a body");
  const auto args = body->args;
  const size_t given = op.num_operands();
  // args = per_tile + shared (+ the tile's number), operands = per_tile * tiles + shared.
  for (const size_t number : {size_t{0}, size_t{1}}) {
    if (args.size() < number) break;
    const size_t values = args.size() - number;
    if (given < values || (tiles > 1 && (given - values) % (tiles - 1) != 0)) continue;
    const size_t per_tile = tiles > 1 ? (given - values) / (tiles - 1) : values;
    if (per_tile > values || (tiles == 1 && given != values)) continue;
    bool same = true;
    for (size_t i = 0; i < values && same; ++i) {
      const size_t at = i < per_tile ? i * tiles : per_tile * tiles + (i - per_tile);
      same = args[i].type == op.operand(at)->type;
    }
    if (!same || (number && l.type_of(&args[values])->element != num::Type::kI32)) continue;
    for (int64_t tile = 0; tile < tiles; ++tile) {
      std::vector<Slot> to, from;
      for (size_t i = 0; i < values; ++i) {
        to.push_back(l.slot(&args[i]));
        from.push_back(
            l.slot(op.operand(i < per_tile ? i * tiles + tile : per_tile * tiles + (i - per_tile))));
      }
      if (number) {
        to.push_back(l.slot(&args[values]));
        from.push_back(l.constant(tile, l.type_of(to.back())));
      }
      l.move(to, from, op);
      const Label end = l.new_label();
      l.lower_region(*op.region(0), [&](const ir::Op& last) {
        std::vector<Slot> results;
        for (size_t i = 0; i < last.num_operands() && i * tiles + tile < op.results.size(); ++i)
          results.push_back(l.slot(&op.results[i * tiles + tile]));
        l.move(results, slots_of(l, last.operand_uses), last);
        l.jump(end, last);
      });
      l.bind(end);
    }
    return;
  }
  l.fail(op, std::to_string(given) + " operands do not fit " + std::to_string(tiles) +
                 " tiles whose body has " + std::to_string(args.size()) + " arguments");
}

}  // namespace triton_runner::tile
