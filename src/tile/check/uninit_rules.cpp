// Which elements of a result are undefined, by the kind of op.
#include <algorithm>

#include "check/uninit.h"

namespace triton_runner::tile {

void UninitCheck::elementwise(Task& t, const Instr& in) {
  Shadows& p = of(t);
  std::vector<Lanes> from;
  for (uint32_t i = 0; i < in.num_operands; ++i)
    if (!p.clean(in.operand(i))) from.push_back(p.lanes(t, in.operand(i)));
  p.fill(t, in, [&](int64_t e) {
    return std::any_of(from.begin(), from.end(), [&](const Lanes& l) { return l.bad(e); });
  });
}

// and (or): an element that is defined and false (true) decides.
void UninitCheck::logical(Task& t, const Instr& in, bool decides) {
  Shadows& p = of(t);
  const TileType& type = t.type(in.result());
  if (type.element != num::Type::kI1) return elementwise(t, in);
  const Lanes a = p.lanes(t, in.operand(0)), b = p.lanes(t, in.operand(1));
  const auto* x = static_cast<const uint8_t*>(t.dense(in.operand(0)));
  const auto* y = static_cast<const uint8_t*>(t.dense(in.operand(1)));
  p.fill(t, in, [&](int64_t e) {
    const bool known_a = !a.bad(e), known_b = !b.bad(e);
    if ((known_a && (x[e] != 0) == decides) || (known_b && (y[e] != 0) == decides)) return false;
    return !known_a || !known_b;
  });
}

void UninitCheck::select(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const Lanes condition = p.lanes(t, in.operand(0)), yes = p.lanes(t, in.operand(1)),
              no = p.lanes(t, in.operand(2));
  const TileType& type = t.type(in.operand(0));
  const auto* chosen = static_cast<const uint8_t*>(t.dense(in.operand(0)));
  p.fill(t, in, [&](int64_t e) {
    if (condition.bad(e)) return true;
    return chosen[type.n == 1 ? 0 : e] ? yes.bad(e) : no.bad(e);
  });
}

namespace {

// A tile as outer x axis x inner.
struct Axis {
  int64_t outer = 1, count, inner = 1;
  Axis(const TileType& type, int64_t axis) : count(type.shape[axis]) {
    for (int64_t d = 0; d < type.rank; ++d) (d < axis ? outer : inner) *= d == axis ? 1 : type.shape[d];
  }
};

}  // namespace

void UninitCheck::reduce(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const TileType& type = t.type(in.operand(0));
  const Axis axis(type, std::clamp<int64_t>(in.op->int_attr("axis", 0), 0, type.rank - 1));
  std::vector<Lanes> from;
  for (uint32_t i = 0; i < in.num_operands; ++i) from.push_back(p.lanes(t, in.operand(i)));
  p.fill(t, in, [&](int64_t e) {
    const int64_t first = e / axis.inner * axis.count * axis.inner + e % axis.inner;
    for (const Lanes& l : from)
      for (int64_t k = 0; k < axis.count; ++k)
        if (l.bad(l.n == 1 ? 0 : first + k * axis.inner)) return true;
    return false;
  });
}

void UninitCheck::scan(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const TileType& type = t.type(in.operand(0));
  const Axis axis(type, std::clamp<int64_t>(in.op->int_attr("axis", 0), 0, type.rank - 1));
  const bool reverse = in.op->int_attr("reverse", 0) != 0;
  std::vector<Lanes> from;
  for (uint32_t i = 0; i < in.num_operands; ++i) from.push_back(p.lanes(t, in.operand(i)));
  std::vector<uint8_t> bad(type.n);
  for (int64_t o = 0; o < axis.outer; ++o)
    for (int64_t i = 0; i < axis.inner; ++i) {
      bool seen = false;
      for (int64_t k = 0; k < axis.count; ++k) {
        const int64_t e = (o * axis.count + (reverse ? axis.count - 1 - k : k)) * axis.inner + i;
        for (const Lanes& l : from) seen |= l.bad(e);
        bad[e] = seen;
      }
    }
  p.fill(t, in, [&](int64_t e) { return bad[e] != 0; });
}

void UninitCheck::dot(Task& t, const Instr& in) {
  Shadows& p = of(t);
  const TileType &a = t.type(in.operand(0)), &b = t.type(in.operand(1));
  const int64_t m = a.shape[a.rank - 2], k = a.shape[a.rank - 1], n = b.shape[b.rank - 1],
                batch = a.n / (m * k);
  const Lanes la = p.lanes(t, in.operand(0)), lb = p.lanes(t, in.operand(1)), lc = p.lanes(t, in.operand(2));
  std::vector<uint8_t> rows(batch * m), columns(batch * n);
  for (int64_t i = 0; i < a.n; ++i)
    if (la.bad(i)) rows[i / k] = 1;
  for (int64_t i = 0; i < b.n; ++i)
    if (lb.bad(i)) columns[i / (k * n) * n + i % n] = 1;
  p.fill(t, in, [&](int64_t e) { return lc.bad(e) || rows[e / n] || columns[e / (m * n) * n + e % n]; });
}

}  // namespace triton_runner::tile
