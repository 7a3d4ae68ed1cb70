// Implements write_native().
#include "native/writer.h"

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "native/avx2.h"
#include "native/phases.h"
#include "native/span_writer.h"
#include "native/unit.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kNever = ~size_t{0};

struct Value {
  uint32_t place;
  Element element;
  int reg[2] = {-1, -1};  // a long's lower half of the lanes and the upper one
  bool is_stored = false;
  bool any_nan = false;    // a NaN may be another than 0x7fffffff
  bool is_result = false;  // of an operation on floats: its NaNs are 0x7fffffff, or to become so
};

class Writer {
 public:
  Writer(Assembler& assembler, std::span<const Instr> run, const PlaceFacts& facts)
      : run_(run), facts_(facts), a_(assembler), use_(assembler.use()) {
    for (const Instr& in : run) rows_.push_back(native_row(in.run));
    for (size_t i = 0; i < run.size(); ++i) {
      each_read(run[i], rows_[i], [&](uint32_t p) { uses_[p].push_back({i, true}); });
      each_write(run[i], [&](uint32_t p) { uses_[p].push_back({i, false}); });
      if (const uint32_t p = read_of_other_half(run[i]); p != kNoRegister) read_by_others_.insert(p);
    }
    needed_ = needed_lanes(run, facts.local);
  }

  void write() {
    for (const int b : {0x41, 0x89, 0xf3}) a_.byte(static_cast<uint8_t>(b));  // mov r11d, esi
    a_.broadcast(use_.nan, 0x7fffffff);
    if (std::any_of(rows_.begin(), rows_.end(),
                    [](const NativeRow* row) { return row && is_of_unit(row->form); }))
      a_.constants_at(UnitWriter::constants());
    for (at_ = 0; at_ < run_.size();) write_phase();
    for (const int b : {0xc5, 0xf8, 0x77, 0xc3}) a_.byte(static_cast<uint8_t>(b));  // vzeroupper; ret
  }

 private:
  static bool holds(std::span<const uint32_t> sorted, uint32_t place) {
    return std::binary_search(sorted.begin(), sorted.end(), place);
  }
  bool is_local(uint32_t place) const {
    return holds(facts_.local, place) && !read_by_others_.contains(place);
  }

  // The parts up to the end of a phase, in a loop over the lanes, and what is after it.
  void write_phase() {
    uint32_t lanes = 0;
    size_t end = at_;
    for (; end < run_.size() && !ends_phase(run_[end]); ++end) lanes = needed_[end];
    if (lanes != 0) {
      for (const int b : {0x44, 0x89, 0xd8}) a_.byte(static_cast<uint8_t>(b));  // mov eax, r11d
      const size_t turn = a_.bytes.size();
      for (; at_ < end; ++at_) {
        if (const SpanPart* span = span_of(run_[at_]))
          access(run_[at_], *span);
        else
          step(run_[at_], *rows_[at_]);
        drop_dead();
      }
      leave();
      next_turn(turn, lanes);
    }
    at_ = end;
    if (end == run_.size()) return;
    if (const SharedPart* shared = shared_of(run_[end]))
      write_shared(a_, *shared, needed_[end], kSharedBegin);
    ++at_;
  }
  // Leaves in the register file whatever later phases need.
  void leave() {
    for (Value& v : values_) {
      if (!v.is_stored && next_use(v.place, at_) != kNever) store(v);
      keep(v);
      release(v);
    }
    values_.clear();
  }
  // Jumps back to `turn` until all lanes have been there, or `lanes`.
  void next_turn(size_t turn, uint32_t lanes) {
    for (const int b : {0x83, 0xc0, use_.lanes}) a_.byte(static_cast<uint8_t>(b));  // add eax, 16
    if (lanes == kAllLanes) {
      for (const int b : {0x39, 0xd0}) a_.byte(static_cast<uint8_t>(b));  // cmp eax, edx
    } else {
      a_.byte(0x3d);  // cmp eax, lanes
      a_.word(lanes);
    }
    for (const int b : {0x0f, 0x82}) a_.byte(static_cast<uint8_t>(b));  // jb turn
    a_.word(static_cast<uint32_t>(turn - (a_.bytes.size() + 4)));
  }

  // The next instruction from `from` on that reads the place before one writes it.
  size_t next_use(uint32_t place, size_t from) const {
    const auto found = uses_.find(place);
    if (found == uses_.end()) return kNever;
    const auto next = std::lower_bound(found->second.begin(), found->second.end(), from,
                                       [](const Use& use, size_t i) { return use.at < i; });
    return next == found->second.end() || !next->reads ? kNever : next->at;
  }

  static uint32_t bytes_of(Element e) { return e == Element::kPredicate ? 1 : e == Element::kWord ? 4 : 8; }
  Home home(const Value& v, int half = 0) const {
    return {v.place + 4 * static_cast<uint32_t>(use_.lanes * half), bytes_of(v.element)};
  }
  static int halves(Element e) { return e == Element::kLong ? 2 : 1; }

  // Makes its NaNs those of the register file.
  void settle(Value& v) {
    if (!std::exchange(v.any_nan, false)) return;
    a_.vector_imm(kComparePs, use_.mask_scratch, v.reg[0], v.reg[0], 3);
    a_.vector(kMove, v.reg[0], 0, use_.nan, use_.mask_scratch);
  }
  void store(Value& v) {
    settle(v);
    if (v.element == Element::kPredicate) {
      a_.store_mask(v.reg[0], home(v));
    } else {
      for (int h = 0; h < halves(v.element); ++h) a_.vector(kStore, v.reg[h], home(v, h));
    }
    v.is_stored = true;
  }
  void keep(Value& v) {
    if (!v.is_stored && !is_local(v.place)) store(v);
  }

  bool is_mask(Element e) const { return e == Element::kPredicate && use_.has_masks(); }
  bool& taken(Element e, int reg) { return (is_mask(e) ? masks_ : vectors_)[reg]; }
  void release(const Value& v) {
    for (const int r : v.reg)
      if (r >= 0) taken(v.element, r) = false;
  }

  // A register of the processor. Without one, the value that is needed last goes.
  int take(Element e) {
    const int first = is_mask(e) ? use_.first_mask : use_.first, end = is_mask(e) ? use_.end_mask : use_.end;
    for (;;) {
      for (int r = first; r < end; ++r)
        if (!taken(e, r)) {
          taken(e, r) = true;
          return r;
        }
      size_t furthest = 0;
      auto victim = values_.end();
      for (auto v = values_.begin(); v != values_.end(); ++v) {
        if (is_mask(v->element) != is_mask(e) || is_operand(v->place)) continue;
        const size_t use = next_use(v->place, at_);
        if (victim == values_.end() || use > furthest) victim = v, furthest = use;
      }
      if (!victim->is_stored && (furthest != kNever || !is_local(victim->place))) store(*victim);
      release(*victim);
      values_.erase(victim);
    }
  }
  static bool is_of_unit(Form form) {
    return form == Form::kEx2 || form == Form::kReciprocal || form == Form::kDivisionFactor;
  }
  void of_unit(const NativeRow& row, int d, int a) {
    UnitTemporaries t{.more = use_.mask_scratch};
    for (int& r : t.vectors) r = take(Element::kWord);
    if (use_.has_masks())
      for (int& k : t.masks) k = take(Element::kPredicate);
    else
      t.masks = {t.vectors[3], t.vectors[4]};
    UnitWriter unit(a_, t);
    if (row.form == Form::kEx2)
      unit.ex2(d, a, row.imm != 0);
    else if (row.form == Form::kReciprocal)
      unit.reciprocal(d, a, row.imm != 0);
    else
      unit.division_factor(d, a);
    for (const int r : t.vectors) taken(Element::kWord, r) = false;
    for (const int r : t.masks) taken(Element::kPredicate, r) = false;
  }

  bool is_operand(uint32_t place) const {
    return std::find(operands_.begin(), operands_.end(), place) != operands_.end();
  }

  // The value of a place, loaded if it is not there.
  Value load(uint32_t place, Element e, bool any_nan) {
    auto v = std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.place == place; });
    if (v == values_.end()) {
      Value loaded{place, e};
      loaded.is_stored = true;
      if (e == Element::kPredicate) {
        loaded.reg[0] = take(e);
        a_.load_mask(loaded.reg[0], home(loaded));
      } else if (holds(facts_.uniform, place)) {
        loaded.reg[0] = take(e);
        a_.vector(e == Element::kLong ? kBroadcastWide : kBroadcast, loaded.reg[0], Home{place, 0});
        if (e == Element::kLong) loaded.reg[1] = loaded.reg[0];
      } else {
        for (int h = 0; h < halves(e); ++h) {
          loaded.reg[h] = take(e);
          a_.vector(kLoad, loaded.reg[h], home(loaded, h));
        }
      }
      values_.push_back(loaded);
      return loaded;
    }
    if (!any_nan) settle(*v);
    return *v;
  }

  void forget(uint32_t place) {
    std::erase_if(values_, [&](const Value& v) {
      if (v.place != place) return false;
      release(v);
      return true;
    });
  }
  void put(const Value& result) {
    forget(result.place);
    values_.push_back(result);
  }

  void drop_dead() {
    std::erase_if(values_, [&](const Value& v) {
      if (!is_operand(v.place) || (!v.is_stored && !is_local(v.place))) return false;
      if (next_use(v.place, at_ + 1) != kNever) return false;
      release(v);
      return true;
    });
  }

  void step(const Instr& in, const NativeRow& row) {
    operands_ = {in.d, in.a, row.b == Element::kNone ? in.a : in.b, row.c == Element::kNone ? in.a : in.c,
                 in.guard};
    Value a, b, c;
    a = load(in.a, row.a, row.any_nan);
    if (row.b != Element::kNone) b = load(in.b, row.b, row.any_nan);
    if (row.c != Element::kNone) c = load(in.c, row.c, row.any_nan);
    Value d{in.d, row.d};
    const bool moves = row.form == Form::kMove || row.form == Form::kSwap;
    if (row.form == Form::kMoveUp || row.form == Form::kSwapHalves) a.any_nan = false;
    const bool is_settled = row.form == Form::kExtremumNan || is_of_unit(row.form);
    d.is_result = moves ? a.is_result : row.any_nan && row.d == Element::kWord;
    d.any_nan = moves ? a.any_nan : d.is_result && !is_settled;
    for (int h = 0; h < halves(row.d); ++h) d.reg[h] = take(row.d);
    write(row, in, d, a, b, c);
    if (in.guard != kNoRegister) keep_others(in, d);
    put(d);
  }

  void access(const Instr& in, const SpanPart& span) {
    operands_ = {in.guard};
    each_read(in, nullptr, [&](uint32_t p) { operands_.push_back(p); });
    each_write(in, [&](uint32_t p) { operands_.push_back(p); });
    SpanWriter writer(a_, use_.scratch, use_.scratch2);
    each_write(in, [&](uint32_t p) {  // what it overwrites needs no register any more
      if (in.guard == kNoRegister || std::ranges::find(span.fill, p) == span.fill.end()) forget(p);
    });
    const bool is_guarded = in.guard != kNoRegister;
    int k = is_guarded ? load(in.guard, Element::kPredicate, true).reg[0] : 0;
    const auto take_some = [&](size_t count) {
      std::vector<int> taken;
      while (taken.size() < count) taken.push_back(take(Element::kWord));
      return taken;
    };
    const auto give_back = [&](int r) { taken(Element::kWord, r) = false; };
    if (span.store) {
      std::vector<int> words;
      for (uint32_t w = 0; w < span.words; ++w)
        words.push_back(load(span.regs[w], Element::kWord, false).reg[0]);
      const std::vector<int> t = take_some(span.words == 1 ? 0 : 4);
      const int more = is_guarded && span.words > 1 ? take(Element::kPredicate) : use_.mask_scratch;
      if (is_guarded && in.guard_flip) a_.mask(MaskOp::kNot, use_.mask_scratch, 0, k), k = use_.mask_scratch;
      writer.store(span.index, words, t, k, more);
      if (more != use_.mask_scratch) taken(Element::kPredicate, more) = false;
      std::for_each(t.begin(), t.end(), give_back);
      return;
    }
    std::vector<Value> old(span.words);
    for (uint32_t w = 0; w < span.words && is_guarded; ++w)
      if (span.regs[w] != kNoRegister) old[w] = load(span.fill[w], Element::kWord, false);
    std::vector<int> d = take_some(span.words == 4 ? 5 : span.words);
    writer.load(span.index, d);
    if (is_guarded && in.guard_flip) a_.mask(MaskOp::kNot, use_.mask_scratch, 0, k), k = use_.mask_scratch;
    for (uint32_t w = 0; w < span.words && is_guarded; ++w) {
      const int r = d[SpanWriter::word_at(span.words, w)];
      if (span.regs[w] != kNoRegister) a_.vector(kBlend, r, old[w].reg[0], r, k);
    }
    for (uint32_t w = 0; w < span.words; ++w) {
      if (span.regs[w] == kNoRegister) continue;
      int& r = d[SpanWriter::word_at(span.words, w)];
      put({.place = span.regs[w], .element = Element::kWord, .reg = {std::exchange(r, -1), -1}});
    }
    for (const int r : d)
      if (r >= 0) give_back(r);
  }

  // Lanes that the guard does not have keep the value that they had.
  void keep_others(const Instr& in, Value& d) {
    int k = load(in.guard, Element::kPredicate, true).reg[0];
    const Value old = load(in.d, d.element, d.any_nan);
    if (!old.is_result) settle(d);
    d.is_result &= old.is_result;
    if (in.guard_flip) a_.mask(MaskOp::kNot, use_.mask_scratch, 0, k), k = use_.mask_scratch;
    if (d.element == Element::kPredicate) {  // old ^ ((old ^ new) & guard)
      a_.mask(MaskOp::kXor, d.reg[0], d.reg[0], old.reg[0]);
      a_.mask(MaskOp::kAnd, d.reg[0], d.reg[0], k);
      return a_.mask(MaskOp::kXor, d.reg[0], d.reg[0], old.reg[0]);
    }
    blend(d, old, d, k);
  }
  // d = k ? b : a.
  void blend(const Value& d, const Value& a, const Value& b, int k) {
    if (d.element != Element::kLong) return a_.vector(kBlend, d.reg[0], a.reg[0], b.reg[0], k);
    for (int h = 0; h < 2; ++h) a_.vector(wide(kBlend), d.reg[h], a.reg[h], b.reg[h], a_.half_mask(k, h));
  }

  void write(const NativeRow& row, const Instr& in, const Value& d, const Value& a, const Value& b,
             const Value& c) {
    const int words = halves(row.d);
    switch (row.form) {
      case Form::kOp:
        for (int h = 0; h < words; ++h)
          row.b == Element::kNone ? a_.vector(row.op, d.reg[h], 0, a.reg[h])
                                  : a_.vector(row.op, d.reg[h], a.reg[h], b.reg[h]);
        return;
      case Form::kFma:
        a_.vector(kMove, d.reg[0], 0, a.reg[0]);
        return a_.vector(kFma213Ps, d.reg[0], b.reg[0], c.reg[0]);
      case Form::kMad:
        a_.vector(kMulLow, use_.scratch, a.reg[0], b.reg[0]);
        return a_.vector(kAdd, d.reg[0], use_.scratch, c.reg[0]);
      case Form::kExtremum:
        a_.vector_imm(kRangePs, d.reg[0], a.reg[0], b.reg[0], row.imm);
        a_.vector_imm(kComparePs, use_.mask_scratch, a.reg[0], a.reg[0], 3);
        a_.vector(kMove, d.reg[0], 0, b.reg[0], use_.mask_scratch);
        a_.vector_imm(kComparePs, use_.mask_scratch, b.reg[0], b.reg[0], 3);
        return a_.vector(kMove, d.reg[0], 0, a.reg[0], use_.mask_scratch);
      case Form::kExtremumNan:
        a_.vector_imm(kRangePs, d.reg[0], a.reg[0], b.reg[0], row.imm);
        a_.vector_imm(kComparePs, use_.mask_scratch, a.reg[0], b.reg[0], 3);
        return a_.vector(kMove, d.reg[0], 0, use_.nan, use_.mask_scratch);
      case Form::kSign:
        a_.broadcast(use_.scratch, row.imm ? 0x7fffffff : 0x80000000);
        return a_.vector(row.op, d.reg[0], a.reg[0], use_.scratch);
      case Form::kNot:
        for (int h = 0; h < words; ++h) a_.vector_imm(kTernary, d.reg[h], a.reg[h], a.reg[h], 0x55);
        return;
      case Form::kShiftLong:
        for (int h = 0; h < 2; ++h) {
          a_.extend(kExtendUnsigned, use_.scratch, b.reg[0], h);
          a_.vector(row.op, d.reg[h], a.reg[h], use_.scratch);
        }
        return;
      case Form::kWiden:
        for (int h = 0; h < 2; ++h) a_.extend(row.op, d.reg[h], a.reg[0], h);
        return;
      case Form::kNarrow:
      case Form::kUpper:
        return a_.narrow(d.reg[0], a.reg[0], a.reg[1], row.form == Form::kUpper);
      case Form::kMulWide:
        for (int h = 0; h < 2; ++h) {
          a_.extend(kExtendUnsigned, use_.scratch, a.reg[0], h);
          a_.extend(kExtendUnsigned, use_.scratch2, b.reg[0], h);
          a_.vector(row.op, d.reg[h], use_.scratch, use_.scratch2);
          if (row.c != Element::kNone) a_.vector(kAddWide, d.reg[h], d.reg[h], c.reg[h]);
        }
        return;
      case Form::kCompare:
        a_.vector_imm(row.op, d.reg[0], a.reg[0], b.reg[0], row.imm);
        if (row.a != Element::kLong) return;
        a_.vector_imm(row.op, use_.mask_scratch, a.reg[1], b.reg[1], row.imm);
        return a_.join_masks(d.reg[0], d.reg[0], use_.mask_scratch);
      case Form::kSelect:
        return blend(d, b, a, c.reg[0]);
      case Form::kMove:
        if (row.d == Element::kPredicate) return a_.mask(MaskOp::kMove, d.reg[0], 0, a.reg[0]);
        for (int h = 0; h < words; ++h) a_.vector(kMove, d.reg[h], 0, a.reg[h]);
        return;
      case Form::kSwap:  // vpshufd has no second operand
        return a_.vector_imm(row.op, d.reg[0], row.op.wide ? a.reg[0] : 0, a.reg[0], row.imm);
      case Form::kSwapHalves:
        return a_.load_swapped(d.reg[0], in.a, row.imm);
      case Form::kMoveUp:
        return a_.move_up(d.reg[0], a.reg[0], in.a, in.small);
      case Form::kTable:
        a_.vector(kMove, d.reg[0], 0, a.reg[0]);
        return a_.vector_imm(kTernary, d.reg[0], b.reg[0], c.reg[0], static_cast<uint8_t>(in.small));
      case Form::kPack:
        for (int h = 0; h < 2; ++h) {
          a_.extend(kExtendUnsigned, use_.scratch, a.reg[0], h);
          a_.extend(kExtendUnsigned, use_.scratch2, b.reg[0], h);
          a_.vector_imm(kShiftBy, kLeftBy, use_.scratch2, use_.scratch2, 32);
          a_.vector(kOr, d.reg[h], use_.scratch, use_.scratch2);
        }
        return;
      case Form::kEx2:
      case Form::kReciprocal:
      case Form::kDivisionFactor:
        return of_unit(row, d.reg[0], a.reg[0]);
      case Form::kMasks:
        return a_.mask(row.mask_op, d.reg[0], row.b == Element::kNone ? 0 : a.reg[0],
                       row.b == Element::kNone ? a.reg[0] : b.reg[0]);
    }
  }
  std::span<const Instr> run_;
  std::vector<const NativeRow*> rows_;
  PlaceFacts facts_;
  Assembler& a_;
  const RegisterUse& use_;
  std::set<uint32_t> read_by_others_;  // places that lanes of another turn read
  std::vector<uint32_t> needed_;       // lanes of each part
  size_t at_ = 0;
  struct Use {
    size_t at;
    bool reads;
  };
  std::unordered_map<uint32_t, std::vector<Use>> uses_;  // of places, in their order
  std::vector<uint32_t> operands_;
  std::vector<Value> values_;
  bool vectors_[32] = {}, masks_[8] = {};
};

}  // namespace

std::vector<uint8_t> write_native(std::span<const Instr> run, const PlaceFacts& facts) {
  std::unique_ptr<Assembler> assembler;
  if (num::current_isa() == num::Isa::kAvx512)
    assembler = std::make_unique<Assembler>();
  else
    assembler = std::make_unique<Avx2Assembler>();
  Writer(*assembler, run, facts).write();
  return std::move(assembler->bytes);
}

}  // namespace triton_runner::simt
