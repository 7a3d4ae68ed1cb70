// Writes out the rounds of a combine function under a probe: one call of the function each.
#include "ops/rounds.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace triton_runner::tile {
namespace {

// One combination: left and right are places on the axis, of elements so far; the result goes to left for
// reductions, to right for scans.
struct Pair {
  int64_t left, right;
};
// A reduction's odd element that waits has a place of its own until the next round: `from` moves to `to`.
struct Round {
  std::vector<Pair> pairs;
  int64_t from = 0, to = 0;
};

struct RoundsData {
  Axis axis;
  uint32_t count;  // operands
  bool scan;
  Slot counter;
  std::vector<Round> rounds;
  std::map<size_t, Level> levels;  // by pairs of a round
};

void halves(std::vector<Round>* rounds, int64_t length) {
  while (length > 1) {
    const int64_t half = length / 2;
    Round& round = rounds->emplace_back();
    for (int64_t i = 0; i < half; ++i) round.pairs.push_back({i, half + i});
    if (length % 2) round.from = length - 1, round.to = half;
    length -= half;
  }
}

// The sums of streams: i with i + 32, i + 16, ... where there is one.
void fold(std::vector<Round>* rounds, int64_t streams) {
  while (streams > 1) {
    const auto half = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(streams - 1)));
    Round& round = rounds->emplace_back();
    for (int64_t i = half; i < streams; ++i) round.pairs.push_back({i - half, i});
    streams = half;
  }
}

std::vector<Round> rounds_of(Order order, int64_t length, bool scan) {
  std::vector<Round> rounds;
  switch (order) {
    case Order::kChain:
      for (int64_t i = 1; i < length; ++i) rounds.emplace_back().pairs = {{scan ? i - 1 : 0, i}};
      return rounds;
    case Order::kHalves:
      halves(&rounds, length);
      return rounds;
    case Order::kStreams: {
      constexpr int64_t kStreams = 64;
      for (int64_t start = kStreams; start < length; start += kStreams) {
        Round& round = rounds.emplace_back();
        for (int64_t i = start; i < std::min(start + kStreams, length); ++i)
          round.pairs.push_back({i - start, i});
      }
      fold(&rounds, std::min(length, kStreams));
      return rounds;
    }
    case Order::kDoubling:
      for (int64_t distance = 1; distance < length; distance *= 2) {
        Round& round = rounds.emplace_back();
        for (int64_t i = distance; i < length; ++i) round.pairs.push_back({i - distance, i});
      }
      return rounds;
    case Order::kGroups: {
      constexpr int64_t kGroup = 8;
      for (int64_t distance = 1; distance < std::min(length, kGroup); distance *= 2) {
        Round& round = rounds.emplace_back();
        for (int64_t i = 0; i < length; ++i)
          if (i % kGroup >= distance) round.pairs.push_back({i - distance, i});
      }
      for (int64_t start = kGroup; start < length; start += kGroup) {
        Round& round = rounds.emplace_back();
        for (int64_t i = start; i < std::min(start + kGroup, length); ++i)
          round.pairs.push_back({start - 1, i});
      }
      return rounds;
    }
  }
  return rounds;
}

// Copies steps of the axis of [outer, length, inner] to or from [outer, pairs, inner].
template <int64_t Pair::* kPlace>
void take(std::byte* out, const std::byte* whole, const Axis& a, const Round& round, size_t size) {
  const size_t step = static_cast<size_t>(a.inner) * size;
  for (int64_t row = 0; row < a.outer; ++row)
    for (const Pair& p : round.pairs) {
      std::memcpy(out, whole + static_cast<size_t>(row * a.length + p.*kPlace) * step, step);
      out += step;
    }
}

void put(std::byte* whole, const std::byte* in, const Axis& a, const Round& round, bool scan, size_t size) {
  const size_t step = static_cast<size_t>(a.inner) * size;
  for (int64_t row = 0; row < a.outer; ++row) {
    std::byte* base = whole + static_cast<size_t>(row * a.length) * step;
    for (const Pair& p : round.pairs) {
      std::memcpy(base + static_cast<size_t>(scan ? p.right : p.left) * step, in, step);
      in += step;
    }
    if (round.from != round.to)
      std::memcpy(base + static_cast<size_t>(round.to) * step, base + static_cast<size_t>(round.from) * step,
                  step);
  }
}

const Instr* run_rounds(Task& t, const Instr& in, const RoundsData& d) {
  const Axis& a = d.axis;
  Tiles now(t);
  now.copy_operands(in, d.count);
  for (size_t r = 0; r < d.rounds.size(); ++r) {
    const Round& round = d.rounds[r];
    const Level& level = d.levels.at(round.pairs.size());
    t.set_uniform(d.counter, static_cast<int64_t>(r));
    Combination c(t, in, d.count, level.n);
    for (uint32_t i = 0; i < d.count; ++i) {
      const auto size = static_cast<size_t>(t.type(in.operand(i)).size);
      take<&Pair::left>(c.left.data(i), now.data(i), a, round, size);
      take<&Pair::right>(c.right.data(i), now.data(i), a, round, size);
    }
    if (!c.run(level)) return nullptr;
    for (uint32_t i = 0; i < d.count; ++i)
      put(now.data(i), c.combined.data(i), a, round, d.scan, static_cast<size_t>(t.type(in.operand(i)).size));
  }
  for (uint32_t i = 0; i < d.count; ++i) {
    std::byte* whole = now.data(i);
    if (!d.scan) {  // the first step of each row
      const auto step = static_cast<size_t>(a.inner * t.type(in.operand(i)).size);
      for (int64_t row = 1; row < a.outer; ++row)
        std::memmove(whole + static_cast<size_t>(row) * step,
                     whole + static_cast<size_t>(row * a.length) * step, step);
    }
    give(t, in.result(i), whole);
  }
  return next(in);
}

}  // namespace

void lower_rounds(Lowering& l, const ir::Op& op, Order order, bool scan, bool reverse) {
  const TileType& tile = *l.type_of(op.operand(0));
  const int64_t axis = op.int_attr("axis", 0);
  auto* d = l.make<RoundsData>();
  d->axis = axis_of(tile, axis);
  d->count = op.num_operands();
  d->scan = scan;
  d->rounds = rounds_of(order, d->axis.length, scan);
  if (reverse)
    for (Round& round : d->rounds)
      for (Pair& p : round.pairs) p = {d->axis.length - 1 - p.left, d->axis.length - 1 - p.right};

  auto* places = l.make<Places>();
  places->shape = tile.shape;
  places->outer = d->axis.outer;
  places->inner = d->axis.inner;
  size_t most = 1;
  for (const Round& round : d->rounds) {
    most = std::max(most, round.pairs.size());
    std::vector<int64_t>& made = places->rounds.emplace_back();
    for (const Pair& p : round.pairs) made.push_back(scan ? p.right : p.left);
  }
  places->length = scan ? d->axis.length : static_cast<int64_t>(most);
  places->shape[static_cast<size_t>(axis)] = places->length;

  std::vector<Slot> operands = slots_of(l, op.operand_uses);
  d->counter = l.begin_loop();
  for (const Round& round : d->rounds) {
    const auto pairs = static_cast<int64_t>(round.pairs.size());
    if (!d->levels.contains(round.pairs.size()))
      d->levels.emplace(
          round.pairs.size(),
          make_level(l, *op.region(0), d->axis.outer * pairs * d->axis.inner, &operands, places));
  }
  l.end_loop();
  l.emit<run_rounds>(op, slots_of(l, op.results), operands, d);
}

}  // namespace triton_runner::tile
