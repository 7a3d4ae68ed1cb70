// Implements find_hazards() as a may-analysis over the control flow of a function: which results are not
// there yet, which operands were not read yet, and which registers the operand cache holds, at each
// instruction, along any path that leads to it.
//
// Wherever published facts leave room, the assembler is right: unknown jumps carry nothing on, instructions of opposite guards do
// not meet, and a scoreboard that a later instruction of the same in-order pipe sets stands for the earlier ones.
#include <triton_runner/sass/hazards.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

#include <triton_runner/sass/flow.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

namespace triton_runner::sass {
namespace {

struct Timing {
  std::string_view name;
  uint8_t turing, later;  // 0: its time is not fixed
  std::string_view pipe;

  bool gives_in_order() const { return !pipe.empty() && pipe[0] >= 'a'; }
};
constexpr Timing kTimings[] = {
#define LATENCY(name, turing, later) {#name, turing, later, ""},
#define SCOREBOARD(name, pipe) {#name, 0, 0, #pipe},
#include <triton_runner/sass/timing.def>
};

// sm_90, as measured.
struct Hopper {
  std::string_view name, pipe;
  uint8_t cycles;
};
constexpr Hopper kHopper[] = {
#define HOPPER(name, pipe, cycles) {#name, #pipe, cycles},
#include <triton_runner/sass/timing.def>
};
constexpr int kHopperGuard =
#define HOPPER_GUARD(cycles) cycles
#include <triton_runner/sass/timing.def>
    ;

// Each row is of an opcode of the table, or of one with a suffix.
constexpr bool is_opcode(std::string_view name) {
  constexpr std::string_view kNames[] = {
#define OP(name, ...) #name,
#include <triton_runner/sass/opcodes.def>
  };
  return std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view row) {
    return row.substr(0, row.find('_')) == name.substr(0, name.find('.'));
  });
}
static_assert(std::all_of(std::begin(kTimings), std::end(kTimings),
                          [](const Timing& t) { return is_opcode(t.name); }));
static_assert(std::all_of(std::begin(kHopper), std::end(kHopper),
                          [](const Hopper& h) { return is_opcode(h.name); }));

constexpr int kLongest = 16;  // cycles after which no result of a fixed time is open

template <class Row, size_t n>
const Row* timing_of(const Row (&rows)[n], const Instruction& in) {
  const Row* found = nullptr;  // the row with a suffix that it has, before the one without
  for (const Row& row : rows) {
    const size_t dot = row.name.find('.');
    if (row.name.substr(0, dot) != in.name) continue;
    if (dot == row.name.npos ? !found : in.has(row.name.substr(dot + 1))) found = &row;
  }
  return found;
}

// 90 of a listing for sm_90; 0 where it does not say.
uint32_t capability_of(std::string_view listing) {
  for (std::string_view mark : {std::string_view(".target\tsm_"), std::string_view("EF_CUDA_SM")}) {
    const size_t at = listing.find(mark);
    if (at == std::string_view::npos) continue;
    uint32_t number = 0;
    for (char c : listing.substr(at + mark.size(), 3))
      if (c >= '0' && c <= '9') number = 10 * number + static_cast<uint32_t>(c - '0');
    return number;
  }
  return 0;
}

// Memory instructions take their operands from one queue.
std::string_view read_pipe(const Timing& t) {
  return t.pipe == "MEMORY" || t.pipe == "shared" ? "MEMORY" : t.pipe;
}

// One that waits for a scoreboard has to come so many cycles after the one that sets it (Huerta et al., 4).
constexpr int kScoreboardCycles = 2;
constexpr uint8_t kNoBarrier = 7;

// A register open at an instruction. `cover`: the scoreboards of which each one, once waited for, closes it.
struct Open {
  enum Kind : uint8_t { kWrite, kRead };
  uint32_t reg;
  Kind kind;
  uint8_t cover;
  uint32_t by;
  auto operator<=>(const Open&) const = default;
};

// A result of a fixed time, or a scoreboard that cannot be waited for yet: the cycles since the instruction was issued.
struct Soon {
  int cycles;
  uint32_t by;
};

struct State {
  std::set<Open> open;
  std::map<uint32_t, Soon> soon;
  std::map<uint8_t, Soon> just_set;  // scoreboards
  std::map<uint8_t, std::tuple<uint32_t, uint32_t, uint32_t>>
      cached;  // slot: register, by, changed by (0: not)

  bool join(const State& other) {
    const size_t before = open.size();
    open.insert(other.open.begin(), other.open.end());
    bool changed = open.size() != before;
    auto later = [&](auto& mine, const auto& theirs) {
      for (const auto& [key, value] : theirs) {
        auto [it, is_new] = mine.try_emplace(key, value);
        if (is_new || it->second.cycles > value.cycles) it->second = value, changed = true;
      }
    };
    later(soon, other.soon);
    later(just_set, other.just_set);
    return changed;  // the operand cache is followed within a block only
  }
};

struct Facts {
  Registers registers;
  const Timing* timing = nullptr;
  const Hopper* hopper = nullptr;  // for other chips, too
};

class Analysis {
 public:
  Analysis(const Module& module, const Function& function)
      : flow_(function), body_(function.body), capability_(capability_of(module.text())) {
    for (const Instruction& in : body_)
      facts_.push_back({registers_of(module, in), timing_of(kTimings, in), timing_of(kHopper, in)});
  }

  HazardReport run() {
    std::vector<State> at(flow_.blocks().size());
    std::vector<bool> reached(flow_.blocks().size());
    std::deque<size_t> work;
    auto enter = [&](size_t block, const State& state) {
      const bool changed = at[block].join(state);
      if (!reached[block] || changed) work.push_back(block);
      reached[block] = true;
    };
    if (!flow_.blocks().empty()) enter(0, {});
    while (!work.empty()) {
      const size_t block = work.front();
      work.pop_front();
      State state = at[block];
      through(block, state, false);
      for (const auto& [next, carries] : successors(block)) enter(next, carries ? state : State{});
    }
    for (size_t block = 0; block < flow_.blocks().size(); ++block) {
      if (!reached[block]) continue;
      State state = at[block];
      through(block, state, true);
    }
    return std::move(report_);
  }

 private:
  size_t end_of(size_t block) const {
    return block + 1 < flow_.blocks().size() ? flow_.blocks()[block + 1] : body_.size();
  }

  // Blocks that follow, and whether what is open goes on there: it does not where the way is not certain.
  std::vector<std::pair<size_t, bool>> successors(size_t block) const {
    std::vector<std::pair<size_t, bool>> out;
    const size_t end = end_of(block);
    const Instruction& last = body_[end - 1];
    for (const Edge& edge : flow_.after(end - 1)) {
      if (edge.kind == Edge::kReturn) continue;
      const bool is_certain = edge.kind == Edge::kLabel  ? !last.is(Opcode::kWARPSYNC_COLLECTIVE)
                              : edge.kind == Edge::kMeet ? edge.to == end
                                                         : edge.kind != Edge::kAnywhere;
      out.emplace_back(flow_.block_of(edge.to), is_certain);
    }
    if (last.does(Trait::kCalls) && end < body_.size())
      out.emplace_back(flow_.block_of(end), !is_always(last));
    return out;
  }

  // --- one instruction ------------------------------------------------------------------------------------------------

  bool never_both(uint32_t a, uint32_t b) const {
    const auto &p = body_[a].guard, &q = body_[b].guard;
    return p && q && p->kind == q->kind && p->index == q->index && p->inverted != q->inverted;
  }

  void through(size_t block, State& state, bool reports) {
    state.cached.clear();
    for (size_t i = flow_.blocks()[block]; i < end_of(block); ++i)
      step(static_cast<uint32_t>(i), state, reports);
  }

  void say(uint32_t at, uint32_t cause, std::string reg, std::string message) {
    if (!said_.insert({at, cause}).second) return;
    report_.hazards.push_back({&body_[at], &body_[cause], std::move(reg), std::move(message)});
  }

  static std::string scoreboards(uint8_t cover) {
    std::string out;
    for (int k = 0; k < 6; ++k)
      if (cover >> k & 1) out += (out.empty() ? "SB" : " or SB") + std::to_string(k);
    return out;
  }

  void step(uint32_t i, State& state, bool reports) {
    const Instruction& in = body_[i];
    const Facts& facts = facts_[i];
    wait(i, state, reports);
    meet(i, state);
    if (reports) {
      ++report_.instructions;
      const bool is_followed =
          in.control.stall && (sets(in) || is_timed(i) || (facts.timing && !facts.timing->pipe.empty()));
      if (!facts.registers.known || facts.registers.later ||
          (!facts.registers.writes.empty() && !is_followed))
        ++report_.unjudged;
      look(i, state);
    }
    cache(i, state, reports);
    leave(i, state);
    const int cycles = in.control.stall;
    if (cycles == 0) state.soon.clear(), state.just_set.clear();  // a pause
    auto pass = [&](auto& soon, int longest) {
      for (auto it = soon.begin(); it != soon.end();)
        it = (it->second.cycles += cycles) >= longest ? soon.erase(it) : std::next(it);
    };
    pass(state.soon, kLongest);
    pass(state.just_set, kScoreboardCycles);
  }

  static bool sets(const Instruction& in) {
    return in.control.write_barrier != kNoBarrier || in.control.read_barrier != kNoBarrier;
  }

  // Scoreboards that the instruction waits for.
  uint8_t waited(const Instruction& in) const {
    uint8_t mask = in.control.wait_mask;
    if (in.is(Opcode::kDEPBAR) || in.is(Opcode::kDEPBAR_LE))
      for (const Operand& o : in.operands) {
        if (o.kind != OperandKind::kName) continue;
        for (char c : o.text)  // SB0; {5,4}
          if (c >= '0' && c <= '5') mask |= static_cast<uint8_t>(1 << (c - '0'));
      }
    return mask;
  }

  void wait(uint32_t i, State& state, bool reports) {
    const uint8_t mask = waited(body_[i]);
    if (!mask) return;
    uint8_t blind = 0;
    for (const auto& [k, soon] : state.just_set)
      if (mask >> k & 1 && body_[i].control.wait_mask >> k & 1) {
        blind |= static_cast<uint8_t>(1 << k);
        if (reports)
          say(i, soon.by, "SB" + std::to_string(k),
              "it waits for scoreboard SB" + std::to_string(k) + " " + std::to_string(soon.cycles) +
                  " cycle after the instruction that sets it: " + "a wait sees it from the second cycle on");
      }
    std::erase_if(state.open, [&](const Open& o) { return (o.cover & mask & ~blind) != 0; });
  }

  // A store that other threads see after a barrier has read its registers: ptxas has no scoreboard for it at sm_75.
  void meet(uint32_t i, State& state) const {
    if (!body_[i].is(Opcode::kBAR) || body_[i].has("ARV") || !is_always(body_[i])) return;
    std::erase_if(state.open,
                  [&](const Open& o) { return o.kind == Open::kRead && body_[o.by].is(Opcode::kSTS); });
  }

  void look(uint32_t i, const State& state) {
    const Registers& r = facts_[i].registers;
    auto reads = [&](uint32_t reg) {
      return std::find(r.reads.begin(), r.reads.end(), reg) != r.reads.end();
    };
    auto writes = [&](uint32_t reg) {
      return r.known && std::find(r.writes.begin(), r.writes.end(), reg) != r.writes.end();
    };
    for (const Open& o : state.open) {
      if (o.by == i || never_both(o.by, i)) continue;
      const std::string reg = register_name(o.reg);
      const std::string by = std::string(body_[o.by].spelling);
      const std::string when = o.cover ? "no instruction on the way waits for " + scoreboards(o.cover)
                                       : by + " sets no scoreboard that could be waited for";
      if (o.kind == Open::kWrite && reads(o.reg))
        say(i, o.by, reg, "it reads " + reg + " before the result of " + by + " is there: " + when);
      else if (o.kind == Open::kWrite && writes(o.reg))
        say(i, o.by, reg, "it writes " + reg + " before " + by + " does, whose result comes later: " + when);
      else if (o.kind == Open::kRead && writes(o.reg) && !follows_in_pipe(i, o.by))
        say(i, o.by, reg, "it writes " + reg + " before " + by + " has read it: " + when);
    }
    for (const auto& [reg, soon] : state.soon) {
      if (never_both(soon.by, i) || !reads(reg) || reads_later(body_[i], reg)) continue;
      const int latency = latency_of(soon.by, i, reg);
      if (soon.cycles >= latency) continue;
      say(i, soon.by, register_name(reg),
          "it reads " + register_name(reg) + " " + std::to_string(soon.cycles) + " cycles after " +
              std::string(body_[soon.by].spelling) + ", whose result takes " + std::to_string(latency));
    }
  }

  // One pipe takes operands in order: what comes later in it cannot overwrite those of what came before.
  bool follows_in_pipe(uint32_t i, uint32_t by) const {
    const Timing *mine = facts_[i].timing, *other = facts_[by].timing;
    return mine && other && !other->pipe.empty() && read_pipe(*mine) == read_pipe(*other);
  }

  // The upper half of what a 64-bit product is added to is read in a later cycle than the other operands; which is not published.
  static bool reads_later(const Instruction& in, uint32_t reg) {
    if (!in.is(Opcode::kIMAD_WIDE) && !in.is(Opcode::kIMAD_HI)) return false;
    return std::any_of(in.operands.begin(), in.operands.end(), [&](const Operand& o) {
      return o.kind == OperandKind::kRegister && o.index + 1 == reg;
    });
  }

  // Cycles until instruction `i` may read the register that `by` writes. 0: it is not known.
  int latency_of(uint32_t by, uint32_t i, uint32_t reg) const {
    const Hopper *from = facts_[by].hopper, *to = facts_[i].hopper;
    if (capability_ != 90 || !from) return latency_of(by);
    if (from->pipe == "UNIFORM") return to && to->pipe == "UNIFORM" ? from->cycles : 0;
    const bool is_float_or_integer = from->pipe == "ALU" || from->pipe == "FMA";
    const auto& guard = body_[i].guard;
    const bool is_guard =
        guard && guard->kind == OperandKind::kPredicate && reg == register_code(guard->kind, guard->index);
    if (is_guard && !body_[i].does(kLeads)) return is_float_or_integer ? kHopperGuard : from->cycles;
    if (!to) return latency_of(by);  // memory, for one, reads some operands later
    const bool crosses =
        is_float_or_integer && (to->pipe == "ALU" || to->pipe == "FMA") && to->pipe != from->pipe;
    return from->cycles + (crosses && !body_[i].is(Opcode::kSHF));
  }

  bool is_timed(uint32_t i) const { return latency_of(i) || (capability_ == 90 && facts_[i].hopper); }

  // As published. 0: none is, as for all of sm_100.
  int latency_of(uint32_t i) const {
    const Timing* t = facts_[i].timing;
    if (!t || capability_ < 75 || (capability_ >= 100 && capability_ < 120)) return 0;
    return capability_ < 80 ? t->turing : t->later;
  }

  // Slots of the operand cache are the three register fields of an encoding.
  static uint32_t field(const Instruction& in, int slot) {
    return static_cast<uint32_t>(slot == 0   ? in.words[0] >> 24 & 255
                                 : slot == 1 ? in.words[0] >> 32 & 255
                                             : in.words[1] & 255);
  }

  // A register that stays in its slot, is written, and is read through the slot again.
  void cache(uint32_t i, State& state, bool reports) {
    const Instruction& in = body_[i];
    const Registers& r = facts_[i].registers;
    for (uint8_t slot = 0; slot < 3; ++slot) {
      const uint32_t index = field(in, slot);
      const bool reads =
          std::any_of(in.operands.begin(), in.operands.end(),
                      [&](const Operand& o) {
                        return o.kind == OperandKind::kRegister && o.index == index && index < kZero;
                      }) &&
          std::find(r.reads.begin(), r.reads.end(), index) != r.reads.end();
      if (!reads && !in.operands.empty() && r.known) continue;
      if (auto it = state.cached.find(slot); it != state.cached.end()) {
        const auto [reg, by, changed] = it->second;
        if (reads && reg == index && changed != 0 && !never_both(by, i) && !never_both(changed - 1, i) &&
            reports)
          say(i, changed - 1, register_name(reg),
              "it reads " + register_name(reg) + " from the operand cache, where the .reuse of " +
                  std::string(body_[by].spelling) + " at " + address(body_[by]) +
                  " keeps the value from before");
        state.cached.erase(slot);
      }
      if (reads && in.control.reuse >> slot & 1) state.cached[slot] = {index, i, 0};
    }
    for (uint32_t reg : r.writes)
      for (auto& [slot, entry] : state.cached)
        if (std::get<0>(entry) == reg && std::get<2>(entry) == 0) std::get<2>(entry) = i + 1;
  }

  static std::string address(const Instruction& in) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (uint64_t a = in.address; a || out.size() < 4; a >>= 4) out.insert(out.begin(), kDigits[a & 15]);
    return "0x" + out;
  }

  // Predicates are read as an instruction is issued, uniform registers too but for the copy engine's.
  static bool is_read_late(const Instruction& in, uint32_t reg) {
    const bool is_copy = in.does(Trait::kBulk) || in.is(Opcode::kUTMACCTL) || in.is(Opcode::kUTMAPF);
    return kind_of(reg) == OperandKind::kRegister || (kind_of(reg) == OperandKind::kUniform && is_copy);
  }

  // The lower half of a 64-bit product is there before the upper one; when is not published.
  static bool is_lower_half(const Instruction& in, uint32_t reg) {
    return in.is(Opcode::kIMAD_WIDE) && kind_of(reg) == OperandKind::kRegister && in.operands[0].index == reg;
  }

  // Adds what is open after the instruction. Nothing of one with a stall of 0: ptxas 13 gives it to all of sm_90 at -O0,
  // with no scoreboards, and no publication says for how long the warp then waits.
  void leave(uint32_t i, State& state) {
    const Instruction& in = body_[i];
    const Facts& facts = facts_[i];
    const Registers& r = facts.registers;
    const uint8_t write = in.control.write_barrier, read = in.control.read_barrier;
    auto bit = [](uint8_t k) { return static_cast<uint8_t>(k < 6 ? 1 << k : 0); };
    // For one pipe, what a later instruction tells is told of the earlier ones.
    if (facts.timing && !facts.timing->pipe.empty() && sets(in)) {
      std::set<Open> open;
      for (Open o : state.open) {
        const Timing* other = facts_[o.by].timing;
        const bool same = other && !other->pipe.empty();
        if (same && o.kind == Open::kRead && read_pipe(*other) == read_pipe(*facts.timing))
          o.cover |= bit(write) | bit(read);
        if (same && o.kind == Open::kWrite && other->pipe == facts.timing->pipe && other->gives_in_order())
          o.cover |= bit(write);
        open.insert(o);
      }
      state.open = std::move(open);
    }
    // A value that is written anew is no longer that of an earlier instruction.
    if (!in.guard)
      for (uint32_t reg : r.writes) {
        std::erase_if(state.open,
                      [&](const Open& o) { return o.reg == reg && (o.kind == Open::kWrite || !o.cover); });
        state.soon.erase(reg);
      }
    const bool varies = facts.timing && !facts.timing->pipe.empty();
    if (r.known && !r.later && in.control.stall) {
      if (write != kNoBarrier || varies)
        for (uint32_t reg : r.writes) state.open.insert({reg, Open::kWrite, bit(write), i});
      if (read != kNoBarrier || (varies && write == kNoBarrier))
        for (uint32_t reg : r.reads)
          if (is_read_late(in, reg))
            state.open.insert({reg, Open::kRead, static_cast<uint8_t>(bit(write) | bit(read)), i});
      if (write == kNoBarrier && !varies && is_timed(i))
        for (uint32_t reg : r.writes)
          if (!is_lower_half(in, reg)) state.soon[reg] = {0, i};
    }
    for (uint8_t k : {write, read})
      if (k < 6) state.just_set[k] = {0, i};
  }

  const Flow flow_;
  const std::vector<Instruction>& body_;
  uint32_t capability_;
  std::vector<Facts> facts_;
  std::set<std::pair<uint32_t, uint32_t>> said_;
  HazardReport report_;
};

}  // namespace

HazardReport find_hazards(const Module& module, const Function& function) {
  HazardReport report = Analysis(module, function).run();
  std::stable_sort(report.hazards.begin(), report.hazards.end(),
                   [](const Hazard& a, const Hazard& b) { return a.at->address < b.at->address; });
  return report;
}

}  // namespace triton_runner::sass
