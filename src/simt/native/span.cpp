// Implements SpanFinder, which says what addresses are sums of, and begin_spans(), which looks at the sums.
#include "native/span.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ops/barrier.h"

namespace triton_runner::simt {
namespace {

constexpr uint32_t kStrip = 16;  // lanes of a place that is not whole

uint32_t bytes_of(Element e) { return e == Element::kPredicate ? 1 : e == Element::kWord ? 4 : 8; }

bool is_op(VectorOp a, VectorOp b) { return a.table == b.table && a.prefix == b.prefix && a.code == b.code; }

}  // namespace

void span_part(Lanes&, const Operands&) {}

std::vector<uint32_t> Spans::local() const {
  std::vector<uint32_t> places;
  for (const Instr& in : slice)
    if (std::ranges::find(kept, in.d) == kept.end()) places.push_back(in.d);
  std::ranges::sort(places);
  return places;
}

void SpanFinder::begin(uint32_t at) {
  begin_ = at;
  facts_.clear(), parts_.clear(), needs_.clear(), accesses_.clear(), copies_.clear();
  is_past_exit_ = false;
  block_ = {};
  silence_ = {};
}

void SpanFinder::end_phase() {
  parts_.push_back(simt::end_of_phase());
  needs_.emplace_back();
}

SpanFinder::Fact SpanFinder::fact(uint32_t place, Element e) {
  for (; constants_seen_ < code_.constants.size(); ++constants_seen_)
    constant_index_.emplace(code_.constants[constants_seen_].offset, constants_seen_);
  if (const auto found = facts_.find(place); found != facts_.end()) return found->second;
  Fact f{.kind = Fact::kEven, .whole = true, .place = place, .bytes = bytes_of(e)};
  if (const auto at = constant_index_.find(place); at != constant_index_.end()) {
    const Constant& c = code_.constants[at->second];
    f.whole = false;
    f.uniform = f.even = true;
    if (c.bytes != f.bytes) f.kind = Fact::kNothing;
    if (c.kind == Constant::kBits) {
      f.known = std::make_shared<std::vector<uint64_t>>(code_.threads, c.low);
    } else if (c.kind == Constant::kThread) {
      f.known = std::make_shared<std::vector<uint64_t>>(code_.thread_values[c.low]);
    } else if (c.kind == Constant::kShared && code_.cluster == std::array<uint32_t, 3>{1, 1, 1}) {
      f.known = std::make_shared<std::vector<uint64_t>>(code_.threads, c.low);
    }
    if (f.known && f.kind != Fact::kNothing) return known_fact(std::move(f));
  } else if (e == Element::kPredicate) {
    f.kind = Fact::kNothing;
  }
  return f;
}

// Says how the numbers that are known go on.
SpanFinder::Fact SpanFinder::known_fact(Fact f) {
  const std::vector<uint64_t>& v = *f.known;
  const uint64_t mask = f.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * f.bytes) - 1;
  const uint64_t step = v.size() > 1 ? (v[1] - v[0]) & mask : 0;
  f.even = true;
  for (size_t i = 1; i < v.size(); ++i) f.even = f.even && ((v[i] - v[i - 1]) & mask) == step;
  f.uniform = f.even && step == 0;
  f.kind = Fact::kKnown;
  return f;
}

// Runs a function on operands that are known.
std::shared_ptr<const std::vector<uint64_t>> SpanFinder::evaluate(const Instr& in, const NativeRow& row,
                                                                  std::span<const Fact> operands) const {
  const uint32_t threads = code_.threads, size = (8 * threads + 63) / 64 * 64;
  std::vector<std::byte> file(5 * uint64_t{size} + 64);
  Lanes lanes;
  lanes.regs = file.data() + (64 - reinterpret_cast<uintptr_t>(file.data()) % 64) % 64;
  lanes.count = threads;
  Instr one = in;
  uint32_t* places[] = {&one.a, &one.b, &one.c};
  for (uint32_t k = 0; k < operands.size(); ++k) {
    *places[k] = (k + 1) * size;
    const uint32_t bytes = operands[k].bytes;
    for (uint32_t t = 0; t < threads; ++t) {
      uint64_t value = (*operands[k].known)[t];
      if (bytes == 1) value = value ? 0xff : 0;
      std::memcpy(lanes.regs + *places[k] + uint64_t{bytes} * t, &value, bytes);
    }
  }
  one.d = 0;
  one.run(lanes, one);
  const uint32_t bytes = bytes_of(row.d);
  auto values = std::make_shared<std::vector<uint64_t>>(threads);
  for (uint32_t t = 0; t < threads; ++t) std::memcpy(&(*values)[t], lanes.regs + uint64_t{bytes} * t, bytes);
  return values;
}

SpanFinder::Fact SpanFinder::result(const Instr& in, const NativeRow& row, std::span<const Fact> o,
                                    Needs& needs) {
  Fact f{.place = in.d, .bytes = bytes_of(row.d), .part = parts_.size()};
  if (in.guard != kNoRegister || row.form == Form::kSwap || row.form == Form::kSwapHalves ||
      row.form == Form::kMoveUp)
    return f;
  if (std::ranges::all_of(o, [](const Fact& a) { return a.kind == Fact::kKnown; })) {
    f.known = evaluate(in, row, o);
    return known_fact(std::move(f));
  }
  if (!std::ranges::all_of(o, [](const Fact& a) { return a.kind != Fact::kNothing && (a.even || a.whole); }))
    return f;
  using Condition = Spans::Condition;
  const auto condition = [&](Condition::Kind kind, uint32_t operand) {
    needs.conditions.push_back({kind, operand});
  };
  // One of two factors is the same for all lanes.
  const auto product = [&] {
    if (!o[0].uniform && !o[1].uniform) condition(Condition::kUniform, o[1].kind == Fact::kKnown ? 0 : 1);
  };
  f.uniform = std::ranges::all_of(o, [](const Fact& a) { return a.uniform; });
  f.even = true;
  const auto gives = [&] {
    f.kind = Fact::kEven;
    return f;
  };
  if (f.uniform && row.d != Element::kPredicate) return gives();
  switch (row.form) {
    case Form::kMove:
    case Form::kNarrow:
      return gives();
    case Form::kOp:
      if (is_op(row.op, kAdd) || is_op(row.op, kAddWide) || is_op(row.op, kSub) || is_op(row.op, kSubWide))
        return gives();
      if (is_op(row.op, kMulLow)) return product(), gives();
      if (is_op(row.op, kOr)) {
        if (!f.uniform) condition(Condition::kDisjoint, 0);
        return gives();
      }
      if (!is_op(row.op, kShiftLeft)) return f;
      [[fallthrough]];
    case Form::kShiftLong:
      if (!is_op(row.op, kShiftLeft) || !o[1].uniform) return f;
      return gives();
    case Form::kMad:
      return product(), gives();
    case Form::kMulWide: {
      const auto kind = is_op(row.op, kMulSigned) ? Condition::kSigned : Condition::kUnsigned;
      for (uint32_t k = 0; k < 2; ++k)
        if (!o[k].uniform) condition(kind, k);
      return product(), gives();
    }
    case Form::kPack:  // a word that goes up evenly does so above 32 others, too
    case Form::kWiden:
      if (!o[0].uniform)
        condition(is_op(row.op, kExtendSigned) ? Condition::kSigned : Condition::kUnsigned, 0);
      return gives();
    default:
      return f;
  }
}

void SpanFinder::add(std::span<const Instr> parts) {
  for (const Instr& in : parts) {
    const NativeRow& row = *native_row(in.run);
    std::vector<Fact> operands{fact(in.a, row.a)};
    if (row.b != Element::kNone) operands.push_back(fact(in.b, row.b));
    if (row.c != Element::kNone) operands.push_back(fact(in.c, row.c));
    Needs needs;
    Fact f = result(in, row, operands, needs);
    if (f.kind != Fact::kNothing) needs.operands = std::move(operands);
    facts_[in.d] = std::move(f);
    copies_.erase(in.d);
    parts_.push_back(in);
    needs_.push_back(std::move(needs));
  }
}

bool SpanFinder::add_access(std::span<const Instr> moves, uint32_t at, HalvesRead& halves,
                            const Instr* ends) {
  Instr in = code_.instrs[at];
  if (ends && !go_past(*ends, in)) return false;
  const bool store = in.run == access_handler({.space = Space::kGlobal}, true);
  if (!store && in.run != access_handler({.space = Space::kGlobal}, false)) return false;
  const auto& access = *static_cast<const Access*>(in.data);
  if (access.word_bytes != 4 || access.reg_bytes != 4 || access.words > kSpanWords || access.words == 3 ||
      access.strong || access.anywhere || access.used != ~0u || access.address_bytes != 8 ||
      static_cast<uint64_t>(access.offset) % access.bytes() != 0 || accesses_.size() == kMostAccesses)
    return false;
  const Fact address = fact(in.a, Element::kLong);
  if (address.kind == Fact::kNothing || (!address.whole && !address.even)) return false;
  const auto [first, lanes] = store ? lanes_on(in) : std::pair{0u, code_.threads};  // loads come to all
  if (address.uniform && !(store && lanes == 1)) return false;
  block_.is_needed = block_.is_needed || lanes != code_.threads;
  SpanPart span{store, access.words, {}, {}, static_cast<uint32_t>(accesses_.size())};
  if (lanes != code_.threads) span.lanes = first + lanes;
  const auto fits = [&] {
    return std::all_of(access.regs, access.regs + access.words,
                       [&](uint32_t p) { return store || p == kNoRegister || halves.fits_write(p); });
  };
  if (!fits()) {
    end_phase();
    halves = {};
    fits();
  }
  for (uint32_t k = 0; k < access.words; ++k) {
    span.regs[k] = span.fill[k] = access.regs[k];
    if (store && access.regs[k] == kNoRegister) return false;
  }
  std::unordered_map<uint32_t, uint32_t> moved;
  for (const Instr& move : moves) {
    const auto from = moved.find(move.a);
    moved[move.d] = from == moved.end() ? move.a : from->second;
  }
  for (uint32_t& place : span.fill)
    if (const auto from = moved.find(place); from != moved.end()) place = from->second;
  Spans::Access found{.place = kNoRegister,
                      .offset = static_cast<uint64_t>(access.offset),
                      .bytes = access.bytes(),
                      .store = store,
                      .at = at - begin_,
                      .first = first,
                      .lanes = lanes};
  if (in.guard != kNoRegister) {
    const auto [copy, is_new] = copies_.try_emplace(in.guard, 0);
    if (is_new) {
      copy->second = code_.new_place(1);
      code_.uses[copy->second] = {at, at + 1};
      Instr copies;
      copies.run = copy_register(1), copies.d = copy->second, copies.a = in.guard;
      add({&copies, 1});
    }
    found.guard = copy->second, found.guard_flip = in.guard_flip;
  }
  accesses_.push_back({address, found});
  Instr part;
  part.run = span_part;
  part.guard = in.guard, part.guard_flip = in.guard_flip;
  part.data = code_.keep(span);
  each_write(part, [&](uint32_t place) { facts_[place] = {.place = place, .bytes = 4}; });
  parts_.push_back(part);
  needs_.emplace_back();
  return true;
}

// The first lane and how many after it may be on under the instruction's guard.
std::pair<uint32_t, uint32_t> SpanFinder::lanes_on(const Instr& in) {
  if (kind_ != kBlock || in.guard == kNoRegister) return {0, code_.threads};
  const Fact guard = fact(in.guard, Element::kPredicate);
  if (guard.kind != Fact::kKnown) return {0, code_.threads};
  const auto is_on = [&](uint64_t v) { return (v != 0) != (in.guard_flip != 0); };
  const std::vector<uint64_t>& v = *guard.known;
  const auto first = std::find_if(v.begin(), v.end(), is_on);
  const auto end = std::find_if(v.rbegin(), v.rend(), is_on).base();
  if (first >= end) return {0, code_.threads};
  return {static_cast<uint32_t>(first - v.begin()), static_cast<uint32_t>(end - first)};
}

// An access after an EXIT is of the threads that have not ended. False: it has a guard of its own, too.
bool SpanFinder::go_past(const Instr& ends, Instr& access) {
  if (access.guard != kNoRegister) return false;
  access.guard = ends.guard, access.guard_flip = static_cast<uint8_t>(~ends.guard_flip);
  return is_past_exit_ = true;
}

bool SpanFinder::add_shared(uint32_t at, const Instr* ends) {
  Instr in = code_.instrs[at];
  if (ends && !go_past(*ends, in)) return false;
  const bool store = in.run == access_handler({.space = Space::kShared}, true);
  if (kind_ == kRows || (!store && in.run != access_handler({.space = Space::kShared}, false))) return false;
  const Fact address = fact(in.a, Element::kWord);
  if (address.kind != Fact::kKnown) return false;
  std::vector<uint64_t> is_on;
  if (in.guard != kNoRegister) {
    const Fact guard = fact(in.guard, Element::kPredicate);
    if (guard.kind != Fact::kKnown) return false;
    is_on = *guard.known;
    for (uint64_t& on : is_on) on = (on != 0) != (in.guard_flip != 0);
  }
  std::optional<SharedPart> found =
      shared_access(*static_cast<const Access*>(in.data), store, *address.known, is_on);
  if (!found) return false;
  found->compares = kind_ == kSilent;
  if (kind_ == kSilent && !silence_.access(*found, code_.width)) return false;
  // A run that has compared words may have to begin again: it has stored nothing by then that others see.
  const auto stores = [](const Found& f) { return f.access.store; };
  if (found->compares && !found->others.empty() && std::ranges::any_of(accesses_, stores)) return false;
  block_.is_needed = true;
  block_.shared_end = std::max(block_.shared_end, end_of(*found));
  Instr part;
  part.run = shared_part;
  part.data = code_.keep(*found);
  each_write(part, [&](uint32_t place) {
    facts_[place] = {.place = place, .bytes = 4};
    copies_.erase(place);
  });
  parts_.push_back(part);
  needs_.emplace_back();
  return true;
}

// A barrier of all threads: who makes the run has them, and shared memory is between phases.
bool SpanFinder::add_barrier(uint32_t at) {
  const Instr& in = code_.instrs[at];
  if (kind_ == kRows || in.run != handler<bar_sync> || in.guard != kNoRegister) return false;
  const Fact number = fact(in.a, Element::kWord);
  if (number.kind != Fact::kKnown || !number.uniform ||
      number.known->front() >= std::tuple_size_v<decltype(CtaState::barriers)>)
    return false;
  if (in.b != kNoRegister) {
    const Fact threads = fact(in.b, Element::kWord);
    if (threads.kind != Fact::kKnown || !threads.uniform || threads.known->front() != code_.threads)
      return false;
  }
  block_.is_needed = true;
  if (block_.passes.size() == kMostPasses) return false;
  block_.passes.push_back({static_cast<uint32_t>(number.known->front()), at - begin_});
  silence_.meet();
  return true;
}

// The place that has it before the run: the register's own, or a new one of its first lanes.
uint32_t SpanFinder::place_of(const Fact& f) {
  if (f.part == kNoPart) return f.place;
  const auto [name, is_new] = names_.try_emplace(f.part, 0);
  if (is_new) {
    name->second = new_bytes(uint64_t{f.bytes} * kStrip);
  }
  return name->second;
}

// A new place in the register file, of so many bytes.
uint32_t SpanFinder::new_bytes(uint64_t bytes) {
  const uint64_t at = code_.register_bytes;
  code_.register_bytes += (bytes + 63) / 64 * 64;
  return static_cast<uint32_t>(at);
}

void SpanFinder::need(const Fact& f) {
  if (f.part == kNoPart) {
    const auto is_this = [&](const Spans::Condition& c) { return c.place == f.place; };
    if (f.whole && std::ranges::none_of(spans_->whole, is_this))
      spans_->whole.push_back({Spans::Condition::kEven, f.bytes, f.place});
    return;
  }
  if (needed_[f.part]) return;
  needed_[f.part] = true;
  const Needs& needs = needs_[f.part];
  for (const Fact& operand : needs.operands) need(operand);
  for (const auto& [kind, k] : needs.conditions) {
    Spans::Condition c{kind, needs.operands[k].bytes, keep(needs.operands[k])};
    if (kind == Spans::Condition::kDisjoint) c.other = keep(needs.operands[1]);
    spans_->conditions.push_back(c);
  }
}

uint32_t SpanFinder::keep(const Fact& f) {
  const uint32_t place = place_of(f);
  if (f.part != kNoPart) spans_->kept.push_back(place);
  return place;
}

std::shared_ptr<Spans> SpanFinder::finish() {
  spans_ = std::make_shared<Spans>();
  needed_.assign(parts_.size(), false);
  names_.clear();
  for (const Found& a : accesses_) {
    need(a.address);
    spans_->accesses.push_back(a.access);
    spans_->accesses.back().place = keep(a.address);
    spans_->stores = spans_->stores || a.access.store;
  }
  if (is_past_exit_) spans_->patience_of_checks.left = 0;
  spans_->block = block_;
  spans_->block.is_silent = kind_ == kSilent;
  spans_->seen = new_bytes(sizeof(Spans::Seen) * accesses_.size());
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (!needed_[i]) continue;
    Instr in = parts_[i];
    const NativeRow& row = *native_row(in.run);
    const std::vector<Fact>& operands = needs_[i].operands;
    uint32_t* places[] = {&in.a, &in.b, &in.c};
    for (size_t k = 0; k < operands.size(); ++k) *places[k] = place_of(operands[k]);
    in.d = place_of({.place = in.d, .bytes = bytes_of(row.d), .part = i});
    spans_->slice.push_back(in);
  }
  return std::move(spans_);
}

namespace {

// The numbers of lanes that go up evenly, seen from the first two.
struct Lane {
  uint64_t first;
  int64_t step;
};
Lane lane_of(const Exec& x, uint32_t place, uint32_t bytes) {
  if (bytes == 4) {
    const auto* p = reinterpret_cast<const uint32_t*>(x.regs + place);
    return {p[0], static_cast<int32_t>(p[1] - p[0])};
  }
  const auto* p = reinterpret_cast<const uint64_t*>(x.regs + place);
  return {p[0], static_cast<int64_t>(p[1] - p[0])};
}

// Bits that some lane may have.
uint64_t bits_of(Lane l, uint32_t count) {
  constexpr int64_t kFar = int64_t{1} << 48;
  const uint64_t last = l.first + static_cast<uint64_t>(l.step) * (count - 1);
  if (l.step > kFar || l.step < -kFar || (l.step >= 0) != (last >= l.first))
    return ~uint64_t{0};  // it goes past the end
  const int width = std::bit_width(l.first ^ last);
  return l.first | last | (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}

bool holds(const Exec& x, const Spans::Condition& c) {
  const Lane l = lane_of(x, c.place, c.bytes);
  const auto steps = static_cast<int64_t>(x.count - 1);
  switch (c.kind) {
    case Spans::Condition::kEven: {
      const Tables& tables = simd_tables(num::current_isa());
      return c.bytes == 4
                 ? tables.contiguous32(x.reg<uint32_t>(c.place), x.count,
                                       static_cast<uint32_t>(static_cast<uint64_t>(l.step)))
                 : tables.contiguous(x.reg<uint64_t>(c.place), x.count, static_cast<uint64_t>(l.step));
    }
    case Spans::Condition::kUniform:
      return l.step == 0;
    case Spans::Condition::kSigned: {
      const int64_t last = static_cast<int32_t>(static_cast<uint32_t>(l.first)) + steps * l.step;
      return last == static_cast<int32_t>(last);
    }
    case Spans::Condition::kUnsigned: {
      const int64_t last = static_cast<int64_t>(l.first) + steps * l.step;
      return last == static_cast<int64_t>(static_cast<uint32_t>(last));
    }
    case Spans::Condition::kDisjoint:
      return (bits_of(l, x.count) & bits_of(lane_of(x, c.other, c.bytes), x.count)) == 0;
  }
  return false;
}

struct Range {
  uint64_t begin = ~uint64_t{0}, end = 0;
  bool meets(const Range& o) const { return begin < o.end && o.begin < end; }
  void take_in(const Range& o) { begin = std::min(begin, o.begin), end = std::max(end, o.end); }
};

// Native code goes through a run 16 lanes at a time, so that no store may come to what another lane accesses. The same piece,
// lane by lane, is none's but the lane's, which has its accesses in order but for loads that stores have passed.
bool is_apart(std::span<const Spans::Access> accesses, std::byte* const* begins) {
  const auto range = [&](size_t i) {
    const Spans::Access& a = accesses[i];
    const uint64_t begin = reinterpret_cast<uint64_t>(begins[i]) + uint64_t{a.bytes} * a.first;
    return Range{begin, begin + uint64_t{a.bytes} * a.lanes};
  };
  Range loaded, stored;
  for (size_t i = 0; i < accesses.size(); ++i) {
    const Range mine = range(i);
    if (mine.meets(stored) || (accesses[i].store && mine.meets(loaded)))
      for (size_t k = 0; k < i; ++k) {
        if (!accesses[i].store && !accesses[k].store) continue;
        const bool is_same =
            begins[i] == begins[k] && accesses[i].bytes == accesses[k].bytes && accesses[k].passed < i;
        if (!is_same && mine.meets(range(k))) return false;
      }
    (accesses[i].store ? stored : loaded).take_in(mine);
  }
  return true;
}

// Whether nobody has arrived at a barrier of the run, and its shared memory is there.
bool is_open(const Cta& cta, const Spans::Block& block) {
  return block.shared_end <= cta.shared_bytes && std::ranges::all_of(block.passes, [&](const auto& pass) {
           return cta.barriers[pass.barrier].arrived == 0;
         });
}

bool look(Exec& x, const Spans& spans, std::byte** begins) {
  if (spans.block.is_needed && !is_open(*x.cta, spans.block)) return false;
  for (const Spans::Condition& c : spans.whole)
    if (!holds(x, c)) return false;
  if (spans.prepare) spans.prepare(x.regs, 0, kStrip);
  for (const Spans::Condition& c : spans.conditions)
    if (!holds(x, c)) return false;
  for (size_t i = 0; i < spans.accesses.size(); ++i) {
    const Spans::Access& a = spans.accesses[i];
    const Lane l = lane_of(x, a.place, 8);
    const uint64_t at = l.first + a.offset + static_cast<uint64_t>(l.step) * a.first;
    if ((l.step != static_cast<int64_t>(a.bytes) && a.lanes != 1) || at % a.bytes != 0) return false;
    const exec::Allocation* there = x.worker->memory.known(at, uint64_t{a.bytes} * a.lanes);
    if (!there || (a.store && !there->writable)) return false;
    begins[i] = reinterpret_cast<std::byte*>(at - uint64_t{a.bytes} * a.first);
  }
  return !spans.stores || is_apart(spans.accesses, begins);
}

// Asks for what nobody has asked for: the run would wait for one line of each span after the other. And finds where each access
// begins the next time, if it goes on as far as it did since the last time: from row to row, as the blocks of a grid do, or along
// one. The run itself asks for that.
void look_ahead(const Exec& x, const Spans& spans, std::byte** begins) {
  constexpr uint64_t kMost = 128 << 10, kLine = 64;
  auto* seen = reinterpret_cast<Spans::Seen*>(x.regs + spans.seen);
  uint64_t asked = 0;
  for (size_t i = 0; i < spans.accesses.size(); ++i) {
    const auto begin = reinterpret_cast<uint64_t>(begins[i]);
    if (begin != seen[i].next && asked < kMost) {
      const Spans::Access& a = spans.accesses[i];
      const uint64_t size = uint64_t{a.bytes} * a.lanes;
      for (uint64_t at = 0; at < size; at += kLine)
        __builtin_prefetch(begins[i] + uint64_t{a.bytes} * a.first + at);
      asked += size;
    }
    const uint64_t next = seen[i].begin != 0 ? 2 * begin - seen[i].begin : begin;
    begins[kMostAccesses + i] = reinterpret_cast<std::byte*>(next);
    seen[i] = {begin, next};
  }
}

}  // namespace

bool begin_spans(Exec& x, const Spans& spans, std::byte** begins) {
  if (spans.patience.is_gone() || !spans.patience.tell(look(x, spans, begins))) return false;
  look_ahead(x, spans, begins);
  begins[kSharedBegin] = x.cta->shared;
  begins[kUnequal] = nullptr;
  return true;
}

}  // namespace triton_runner::simt
