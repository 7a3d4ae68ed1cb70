// Implements compile_runs(): finds runs, puts their code into pages that can be executed, and sets it before their first instructions.
#include "native/native.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#if defined(__x86_64__) && defined(__linux__)
#include <sys/mman.h>
#define NATIVE_CODE 1
#endif

#include <triton_runner/lanes/functions.h>
#include <triton_runner/lanes/sums.h>

#include "native/schedule.h"
#include "native/shuffle.h"
#include "native/span_runs.h"
#include "native/span_writer.h"
#include "native/writer.h"
#include "ops/barrier.h"
#include "ops/memory.h"
#include "ops/move.h"
#include "ops/warp.h"

namespace triton_runner::simt {

using RunLanes = void (*)(std::byte* registers, uint32_t first, uint32_t end);
using RunSpans = void (*)(std::byte* registers, uint32_t first, uint32_t end, uint64_t nothing,
                          std::byte* const* begins, const void* constants);

// Instr::native of the first instruction of a run, or of moves in front of a load.
struct Native {
  Handler first;   // that instruction's own
  uint32_t count;  // instructions
  RunLanes run;    // null: of moves
  // The runs with loads and stores that begin here, the longest first.
  struct WithSpans {
    uint32_t count = 0;
    RunSpans run = nullptr, run_checked = nullptr;
    std::shared_ptr<Spans> spans;
  };
  std::vector<WithSpans> with_spans{};
  Handler otherwise = nullptr;  // where none of these is for a path
};

namespace {

constexpr size_t kLeast = 2;  // instructions of a run

#if NATIVE_CODE
void run_native(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const Native& n = *instr_of(in).native;
  if (x.mask || !x.whole_runs || x.pc + (n.count - 1) > x.limit) return n.first(lanes, in);
  n.run(x.regs, x.first, x.first + x.count);
  x.pc += n.count - 1;
  x.beyond += n.count - 1;
}

// Stands for a barrier among the rows that the checks record; it has no bytes.
RowAccess barrier_row(const Operands& run, const Spans::Block::Pass& pass) {
  return {&instr_of(run) + pass.at, pass.at, 0, 0, false, nullptr, false};
}

// Makes a run with loads and stores, of which the checks are asked before; false: the block's instructions have to run one by one.
bool makes_spans(Exec& x, const Operands& in, const Native::WithSpans& n) {
  std::byte* begins[kBegins];
  RowAccess rows[kMostAccesses + kMostPasses];
  const Spans& spans = *n.spans;
  const bool is_checked = x.worker->checks;
  if (x.pc + (n.count - 1) > x.limit ||
      (is_checked ? spans.block.is_needed && !spans.block.is_silent : spans.block.is_silent) ||
      (is_checked && spans.patience_of_checks.is_gone()) || !begin_spans(x, spans, begins))
    return false;
  const auto& passes = spans.block.passes;
  size_t count = 0;
  if (is_checked) {
    auto pass = passes.begin();
    for (size_t i = 0; i < spans.accesses.size(); ++i) {
      const Spans::Access& a = spans.accesses[i];
      for (; pass != passes.end() && pass->at < a.at; ++pass) rows[count++] = barrier_row(in, *pass);
      rows[count++] = {&instr_of(in) + a.at,
                       a.at,
                       reinterpret_cast<uint64_t>(begins[i]),
                       a.bytes,
                       a.store,
                       a.guard == kNoRegister ? nullptr : x.reg<int8_t>(a.guard),
                       a.guard_flip};
    }
    for (; pass != passes.end(); ++pass) rows[count++] = barrier_row(in, *pass);
    if (!spans.patience_of_checks.tell(x.may_make_rows({rows, count}))) return false;
  }
  if (spans.stores) x.worker->launch->progress.changed();
  (is_checked ? n.run_checked : n.run)(x.regs, 0, x.count, 0, begins, SpanWriter::constants());
  // Nothing but registers and the block's own words have changed: it begins again.
  if (begins[kUnequal]) return spans.patience_of_checks.tell(false);
  if (is_checked) x.made_rows({rows, count});
  for (const Spans::Block::Pass& pass : passes) ++x.cta->barriers[pass.barrier].passed;
  x.pc += n.count - 1;
  x.beyond += n.count - 1;
  return true;
}

// Such runs are for blocks whose threads all go their way, where nobody looks at what each thread accesses.
void run_spans(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const Native& n = *instr_of(in).native;
  if (!x.mask && x.whole_runs && !x.worker->counting && x.count == x.code().threads &&
      !(x.worker->launch->options->checks & exec::kCheckView))
    for (const Native::WithSpans& run : n.with_spans)
      if (makes_spans(x, in, run)) return;
  n.otherwise(lanes, in);
}

// Moves, and the load after them into the registers that they fill (what a masked load gives instead): where all threads load,
// nobody moves.
void run_filled(Lanes& lanes, const Operands& in) {
  Exec& x = exec_of(lanes);
  const Instr& first = instr_of(in);
  const Native& n = *first.native;
  if (x.mask || !x.whole_runs || x.worker->checks || x.pc + (n.count - 1) > x.limit)
    return n.first(lanes, in);
  const Instr& load = *(&first + n.count - 1);
  x.pc += n.count - 1;
  int8_t* mask = x.worker->guard_mask.data();
  const Tables& tables = *static_cast<const Access*>(load.data)->tables;
  Guard on = Guard::kAll;
  if (load.guard != kNoRegister)
    on = tables.guard(x.reg<int8_t>(load.guard), load.guard_flip, nullptr, mask, x.count);
  if (on != Guard::kAll) {
    n.first(lanes, in);
    for (const Instr* move = &first + 1; move < &load; ++move) move->run(lanes, *move);
  }
  if (on == Guard::kNone) return;
  if (on == Guard::kSome) x.mask = mask;
  load.run(lanes, load);
  x.mask = nullptr;
}

// Says what instructions are in native code, which has a few more places: parameters, and what is between the parts of one
// instruction.
class Parts {
 public:
  explicit Parts(Code& code) : code_(code) {
    using enum lanes::Operation;
    divide_ = lanes::find(kDiv, lanes::Type::kF32, lanes::Type::kNone, lanes::kVFullRange);
    unpack_ = lanes::find(kMov, lanes::Type::kB64, lanes::Type::kB32, lanes::kVHi);
    funnel_ = lanes::find(kShf, lanes::Type::kB32, lanes::Type::kNone, lanes::kVLeft);
    sum_ = simd_tables(num::current_isa()).sums->add3;
    for (const Constant& c : code.constants)
      if (c.kind == Constant::kBits) numbers_.emplace(c.offset, static_cast<uint32_t>(c.low));
    for (const lanes::Type t : {lanes::Type::kF32, lanes::Type::kU32, lanes::Type::kS32, lanes::Type::kU64,
                                lanes::Type::kS64, lanes::Type::kB32, lanes::Type::kB64})
      setp_.emplace(lanes::find(kSetp, t, lanes::Type::kNone, lanes::kVGeneral), t);
  }

  // Forgets the divisors of the run before.
  void begin_run() {
    divisors_.clear();
    numerator_ = kNoRegister;
    scratch_.clear();
  }

  // The parts of instruction `index`; none: native code does not have it.
  std::vector<Instr> of(uint32_t index) {
    Instr in = code_.instrs[index];
    // Native code is for whole warps, which compute for all their threads anyway.
    if (in.run == run_for_warp && in.guard == kNoRegister) in = *static_cast<const Instr*>(in.data);
    std::vector<Instr> parts{in};
    index_ = index, scratch_used_ = 0;
    if (in.run == handler<load_param>)
      parts = parameter(in);
    else if (const std::optional<Instr> shuffle = shuffle_part(in))
      parts = kept_for_others(*shuffle, index);
    else if (in.run == unpack_)
      parts = unpacked(in);
    else if (in.run == divide_)
      parts = division(in, index);
    else if (in.run == sum_)
      parts = sum_of_three(in);
    else if (in.run == funnel_)
      parts = funnel_shift(in);
    else if (auto type = setp_.find(in.run); type != setp_.end())
      parts = comparison(in, type->second, index);
    for (const Instr& part : parts)
      if (!is_native(part)) return {};
    for (const Instr& part : parts) divisors_.erase(part.d);
    return parts;
  }

 private:
  static bool is_native(const Instr& in) {
    const NativeRow* row = native_row(in.run);
    const bool needs_warp =
        row && (row->form == Form::kSwap || row->form == Form::kSwapHalves || row->form == Form::kMoveUp);
    if (needs_warp && in.guard != kNoRegister) return false;
    return row && in.d != kNoRegister && in.a != kNoRegister &&
           (row->b == Element::kNone || in.b != kNoRegister) &&
           (row->c == Element::kNone || in.c != kNoRegister);
  }
  static Instr part(const Instr& of, Handler run, uint32_t d, uint32_t a, uint32_t b = kNoRegister) {
    Instr in;
    in.guard = of.guard, in.guard_flip = of.guard_flip;
    in.run = run, in.d = d, in.a = a, in.b = b;
    return in;
  }
  // A place that only this instruction uses.
  uint32_t temporary(uint32_t bytes, uint32_t index) {
    const uint32_t place = code_.new_place(bytes);
    code_.uses[place] = {index, index + 1};
    return place;
  }

  // The same, which later instructions of the run use for theirs, too.
  uint32_t scratch(uint32_t bytes) {
    for (; scratch_used_ < scratch_.size(); ++scratch_used_)
      if (scratch_[scratch_used_].second == bytes) break;
    if (scratch_used_ == scratch_.size()) scratch_.emplace_back(temporary(bytes, index_), bytes);
    const uint32_t place = scratch_[scratch_used_++].first;
    code_.uses[place].end = index_ + 1;
    return place;
  }
  // Adds d = run(a, b, c) of all threads to `parts`; d.
  uint32_t then(std::vector<Instr>& parts, Handler run, uint32_t bytes, uint32_t a, uint32_t b = kNoRegister,
                uint32_t c = kNoRegister) {
    parts.push_back(part({}, run, scratch(bytes), a, b));
    parts.back().c = c;
    return parts.back().d;
  }
  uint32_t constant(uint32_t value) {
    auto [place, is_new] = constants_.try_emplace(value, 0);
    if (is_new) {
      place->second = code_.new_place(4);
      code_.constants.push_back({place->second, 4, value, 0});
    }
    return place->second;
  }
  // The number of 32 bits that all threads have there.
  std::optional<uint32_t> known(uint32_t place) const {
    const auto found = numbers_.find(place);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  // d = a + b + c with carries (lanes::Add3): sums of two, each with a comparison that says whether it went past 2^32.
  std::vector<Instr> sum_of_three(const Instr& in) {
    using enum lanes::Operation;
    const auto& carries = *static_cast<const lanes::Add3*>(in.data);
    if (carries.out[1] != kNoRegister || in.d == kNoRegister) return {in};
    std::vector<Instr> parts;
    std::vector<uint32_t> terms, carried;
    const uint32_t places[] = {in.a, in.b, in.c};
    for (uint32_t k = 0; k < 3; ++k) {
      const bool is_flipped = in.small >> k & 1;
      if (is_flipped)
        terms.push_back(then(parts, lanes::find(kNot, lanes::Type::kB32), 4, places[k]));
      else if (known(places[k]) != 0u)
        terms.push_back(places[k]);
    }
    if (const int ones = std::popcount(in.small >> 3 & 7))
      terms.push_back(constant(static_cast<uint32_t>(ones)));
    for (const uint32_t carry : carries.in)
      if (carry != kNoRegister)
        terms.push_back(
            then(parts, lanes::find(kSelp, lanes::Type::kB32), 4, constant(1), constant(0), carry));
    if (terms.size() < 2) return {in};
    uint32_t sum = terms[0];
    for (size_t k = 1; k < terms.size(); ++k) {
      sum = then(parts, lanes::find(kAdd, lanes::Type::kU32), 4, sum, terms[k]);
      if (carries.out[0] == kNoRegister) continue;
      carried.push_back(then(parts,
                             lanes::find(kSetp, lanes::Type::kU32, lanes::Type::kNone,
                                         uint32_t{lanes::kCmpLt} << lanes::kComparisonShift),
                             1, sum, terms[k]));
      if (carried.size() > 1)
        carried = {then(parts, lanes::find(kOr, lanes::Type::kPred), 1, carried[0], carried[1])};
    }
    parts.push_back(part(in, copy_register(4), in.d, sum));
    if (!carried.empty()) parts.push_back(part(in, copy_register(1), carries.out[0], carried[0]));
    return parts;
  }

  // d = the upper half of b above a, shifted to the left by c.
  std::vector<Instr> funnel_shift(const Instr& in) {
    using enum lanes::Operation;
    const std::optional<uint32_t> by = known(in.c);
    if (!by || *by % 32 == 0) return {in};
    std::vector<Instr> parts;
    const uint32_t upper = then(parts, lanes::find(kShl, lanes::Type::kB32), 4, in.b, constant(*by % 32));
    const uint32_t lower =
        then(parts, lanes::find(kShr, lanes::Type::kU32), 4, in.a, constant(32 - *by % 32));
    parts.push_back(part(in, lanes::find(kOr, lanes::Type::kB32), in.d, upper, lower));
    return parts;
  }

  // A uniform value in the register file.
  std::vector<Instr> parameter(const Instr& in) {
    const auto& a = *static_cast<const Access*>(in.data);
    if (a.words != 1 || a.word_bytes != a.reg_bytes || a.word_bytes < 4 || a.word_bytes > 8) return {in};
    auto [place, is_new] = parameters_.try_emplace({a.offset, a.word_bytes}, 0);
    if (is_new) {
      place->second = code_.new_place(a.word_bytes);
      code_.constants.push_back(
          {place->second, a.word_bytes, static_cast<uint64_t>(a.offset), 0, Constant::kParam});
    }
    return {part(in, copy_register(a.word_bytes), a.regs[0], place->second)};
  }

  // A part of a warp reads what the other one has left: where the run goes on to overwrite that, a place of its own keeps it.
  std::vector<Instr> kept_for_others(Instr shuffle, uint32_t index) {
    const size_t end = std::min(code_.instrs.size(), index + kMostParts);
    bool is_overwritten = shuffle.d == shuffle.a;
    for (size_t k = index + 1; k < end && !code_.targets.contains(static_cast<uint32_t>(k)); ++k)
      is_overwritten = is_overwritten || code_.instrs[k].d == shuffle.a;
    if (!is_overwritten || read_of_other_half(shuffle) == kNoRegister) return {shuffle};
    const Instr keep = part({}, copy_register(4), temporary(4, index), shuffle.a);
    shuffle.a = keep.d;
    return {keep, shuffle};
  }

  std::vector<Instr> unpacked(const Instr& in) const {
    lanes::CvtKey lower{};
    lower.to = lanes::Type::kU32, lower.from = lanes::Type::kU64, lower.to_bytes = 4, lower.from_bytes = 8;
    std::vector<Instr> parts;
    if (in.d != kNoRegister) parts.push_back(part(in, lanes::find_cvt(lower).run, in.d, in.e));
    if (in.a != kNoRegister) parts.push_back(part(in, upper_word, in.a, in.e));
    return parts;
  }

  // d = (a * factor) * (1 / (b * factor)). A softmax divides all elements of a row by one sum: the factor and the reciprocal
  // are the same for divisions that follow with the same divisor.
  std::vector<Instr> division(const Instr& in, uint32_t index) {
    using enum lanes::Operation;
    const Handler times = lanes::find(kMul, lanes::Type::kF32);
    std::vector<Instr> parts;
    const auto then = [&](Handler run, uint32_t d, uint32_t a, uint32_t b = kNoRegister) {
      parts.push_back(part(in, run, d, a, b));
      parts.back().guard = kNoRegister;
    };
    auto [known, is_new] = divisors_.try_emplace(in.b);
    auto& [factor, reciprocal] = known->second;
    if (is_new) {
      factor = temporary(4, index), reciprocal = temporary(4, index);
      const uint32_t scaled = temporary(4, index);
      then(division_factor, factor, in.b);
      then(times, scaled, in.b, factor);
      then(lanes::find(kRcp, lanes::Type::kF32, lanes::Type::kNone, lanes::kVApprox | lanes::kVFtz),
           reciprocal, scaled);
    }
    if (numerator_ == kNoRegister) numerator_ = temporary(4, index);
    for (const uint32_t place : {factor, reciprocal, numerator_}) code_.uses[place].end = index + 1;
    then(times, numerator_, in.a, factor);
    parts.push_back(part(in, times, in.d, numerator_, reciprocal));
    return parts;
  }

  // d = a ? b, combined with c; e the same of the opposite.
  std::vector<Instr> comparison(const Instr& in, lanes::Type type, uint32_t index) {
    using enum lanes::Operation;
    if (in.small & lanes::kCmpFtz) return {in};
    if (in.guard != kNoRegister && (in.guard == in.d || in.guard == in.e)) return {in};
    const auto predicate = [](lanes::Operation o) { return lanes::find(o, lanes::Type::kPred); };
    const uint32_t how = in.small >> lanes::kBoolShift & 3;
    if (how != lanes::kBoolNone && in.c == kNoRegister) return {in};
    const Handler combine = predicate(how == lanes::kBoolAnd ? kAnd : how == lanes::kBoolOr ? kOr : kXor);
    const Handler compare =
        lanes::find(kSetp, type, lanes::Type::kNone, (in.small & lanes::kCmpMask) << lanes::kComparisonShift);
    if (!compare) return {in};
    Instr holds = part(in, compare, temporary(1, index), in.a, in.b);
    holds.guard = kNoRegister;
    std::vector<Instr> parts{holds}, moves;
    for (const bool opposite : {false, true}) {
      const uint32_t to = opposite ? in.e : in.d;
      if (to == kNoRegister) continue;
      const auto then = [&](Handler run, uint32_t a, uint32_t b) {
        parts.push_back(part(holds, run, temporary(1, index), a, b));
        return parts.back().d;
      };
      uint32_t outcome = opposite ? then(predicate(kNot), holds.d, kNoRegister) : holds.d;
      if (how != lanes::kBoolNone) outcome = then(combine, outcome, in.c);
      moves.push_back(part(in, copy_register(1), to, outcome));
    }
    parts.insert(parts.end(), moves.begin(), moves.end());
    return parts;
  }

  Code& code_;
  Handler unpack_, divide_, funnel_, sum_;
  std::unordered_map<Handler, lanes::Type> setp_;
  std::map<std::pair<int64_t, uint32_t>, uint32_t> parameters_;
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> divisors_;  // by place: the factor's and the reciprocal's
  uint32_t numerator_ = kNoRegister;
  std::unordered_map<uint32_t, uint32_t> numbers_;      // constants of the code by place
  std::map<uint32_t, uint32_t> constants_;              // places by value
  std::vector<std::pair<uint32_t, uint32_t>> scratch_;  // of the run: places and their bytes
  size_t scratch_used_ = 0;
  uint32_t index_ = 0;
};

// Places that a run, instructions [begin, end), writes before it reads them and that no other instruction names.
std::vector<uint32_t> local_places(const Code& code, const std::vector<Instr>& run, size_t begin,
                                   size_t end) {
  std::vector<uint32_t> read, local;
  const auto has = [](const std::vector<uint32_t>& all, uint32_t p) {
    return std::find(all.begin(), all.end(), p) != all.end();
  };
  for (const Instr& in : run) {
    each_read(in, native_row(in.run), [&](uint32_t p) {
      if (!has(local, p)) read.push_back(p);
    });
    each_write(in, [&](uint32_t p) {
      const auto uses = code.uses.find(p);
      if (uses == code.uses.end() || uses->second.begin < begin || uses->second.end > end) return;
      if (!has(read, p) && !has(local, p)) local.push_back(p);
    });
  }
  std::sort(local.begin(), local.end());
  return local;
}

// Leaves out what nobody needs: addresses of accesses that are spans, mostly.
void drop_unread(std::vector<Instr>& run, std::span<const uint32_t> local) {
  std::set<uint32_t> read;
  std::vector<Instr> kept;
  for (auto in = run.rbegin(); in != run.rend(); ++in) {
    const SpanPart* span = span_of(*in);
    const SharedPart* shared = shared_of(*in);
    bool is_needed = (span && span->store) || (shared && shared->store) || in->run == phase_part;
    each_write(*in, [&](uint32_t p) {
      is_needed = is_needed || read.contains(p) || !std::binary_search(local.begin(), local.end(), p);
    });
    if (!is_needed) continue;
    if (in->guard == kNoRegister) each_write(*in, [&](uint32_t p) { read.erase(p); });
    each_read(*in, native_row(in->run), [&](uint32_t p) { read.insert(p); });
    kept.push_back(*in);
  }
  run.assign(kept.rbegin(), kept.rend());
}

// A run of the code, and where its native code is.
struct Run : SpanRun {
  size_t at = 0, prepare_at = 0, checked_at = 0;
};

// Pages with the code, or null where the system gives none.
std::shared_ptr<std::byte> executable(const std::vector<uint8_t>& bytes) {
  const size_t size = bytes.size();
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  std::memcpy(pages, bytes.data(), size);
  if (mprotect(pages, size, PROT_READ | PROT_EXEC) != 0) {
    munmap(pages, size);
    return nullptr;
  }
  return {static_cast<std::byte*>(pages), [size](std::byte* p) { munmap(p, size); }};
}
#endif

}  // namespace

#if NATIVE_CODE
void compile_runs(Code& code) {
  if (num::current_isa() == num::Isa::kPortable) return;
  Parts parts(code);
  std::vector<Run> runs;
  std::vector<std::pair<uint32_t, uint32_t>>
      filled;  // loads with moves in front of them, and how many instructions
  for (uint32_t i = 0; i < code.instrs.size();) {
    if (const uint32_t count = filled_load(code, i)) {
      filled.emplace_back(i, count);
      i += count;
      continue;
    }
    Run run{{i}};
    HalvesRead halves;
    parts.begin_run();
    for (; i < code.instrs.size() && run.body.size() < kMostParts; ++i) {
      if (i == run.begin ? code.instrs[i].guard != kNoRegister : code.targets.contains(i)) break;
      const std::vector<Instr> more = parts.of(i);
      if (more.empty() || filled_load(code, i)) break;
      for (const Instr& part : more) {
        if (!halves.fits(part)) {
          run.body.push_back(end_of_phase());
          halves = {};
          halves.fits(part);
        }
        run.body.push_back(part);
      }
    }
    run.count = i - run.begin;
    if (run.count >= kLeast) runs.push_back(std::move(run));
    if (i == run.begin) ++i;
  }
  const auto parts_of = [&](uint32_t i) { return parts.of(i); };
  const bool shares = std::ranges::any_of(code.instrs, [](const Instr& in) {
    return in.run == handler<bar_sync> || in.run == access_handler({.space = Space::kShared}, true);
  });
  for (const SpanFinder::Kind kind : {SpanFinder::kBlock, SpanFinder::kSilent, SpanFinder::kRows}) {
    if (kind != SpanFinder::kRows && !shares) continue;
    for (SpanRun& run : find_span_runs(code, kind, [&] { parts.begin_run(); }, parts_of))
      if (kind == SpanFinder::kRows || run.spans->block.is_needed) runs.push_back({std::move(run)});
  }
  std::vector<uint32_t> uniform;
  for (const Constant& c : code.constants)
    if (c.kind != Constant::kThread) uniform.push_back(c.offset);
  std::sort(uniform.begin(), uniform.end());
  std::vector<uint8_t> bytes;
  const auto append = [&](std::span<const Instr> body, std::span<const uint32_t> local, Spans* spans) {
    const std::vector<uint8_t> written = write_native(scheduled(body, spans), {uniform, local});
    const size_t at = bytes.size();
    bytes.insert(bytes.end(), written.begin(), written.end());
    bytes.resize((bytes.size() + 63) / 64 * 64);
    return at;
  };
  for (Run& run : runs) {
    std::vector<uint32_t> local = local_places(code, run.body, run.begin, run.begin + run.count);
    std::vector<Instr> checked = run.body;
    drop_unread(run.body, local);
    run.checked_at = run.at = append(run.body, local, run.spans.get());
    if (run.spans && (!run.spans->block.is_needed || run.spans->block.is_silent) &&
        std::ranges::any_of(run.spans->accesses, [](const auto& a) { return a.guard != kNoRegister; })) {
      for (const Spans::Access& a : run.spans->accesses) std::erase(local, a.guard);
      drop_unread(checked, local);
      run.checked_at = append(checked, local, run.spans.get());
    }
    if (run.spans && !run.spans->slice.empty())
      run.prepare_at = append(run.spans->slice, run.spans->local(), nullptr);
  }
  for (const auto& [at, count] : filled) {
    Instr& in = code.instrs[at];
    in.native = code.keep(Native{in.run, count, nullptr});
    in.run = run_filled;
    in.computes = false;  // its run loads
  }
  if (runs.empty()) return;
  const std::shared_ptr<std::byte> pages = executable(bytes);
  if (!pages) return;
  code.kept.push_back(pages);
  for (Run& run : runs) {
    Instr& in = code.instrs[run.begin];
    Native native = in.native ? *in.native : Native{in.run, 1, nullptr};
    const auto count = static_cast<uint32_t>(run.count);
    if (run.spans) {
      if (!run.spans->slice.empty())
        run.spans->prepare = reinterpret_cast<RunLanes>(pages.get() + run.prepare_at);
      if (!native.otherwise) native.otherwise = in.run;
      native.with_spans.push_back({count, reinterpret_cast<RunSpans>(pages.get() + run.at),
                                   reinterpret_cast<RunSpans>(pages.get() + run.checked_at), run.spans});
      in.run = run_spans;
      in.computes = false;  // its run loads and stores
    } else {
      native.count = count;
      native.run = reinterpret_cast<RunLanes>(pages.get() + run.at);
      in.run = run_native;
    }
    in.native = code.keep(native);
  }
}
#else
void compile_runs(Code&) {}
#endif

SpanRunCounts count_span_runs(const Code& code) {
  SpanRunCounts counts;
  for (const Instr& in : code.instrs)
    if (in.native)
      for (const Native::WithSpans& run : in.native->with_spans) {
        const Spans::Block& block = run.spans->block;
        ++(block.is_silent ? counts.silent : block.is_needed ? counts.for_blocks : counts.rows);
        counts.longest = std::max(counts.longest, size_t{run.count});
      }
  return counts;
}

}  // namespace triton_runner::simt
