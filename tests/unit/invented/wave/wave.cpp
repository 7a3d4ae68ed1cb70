// Goes from the text to code. A scalar register is a place of which each wavefront uses its first lane's
// element; EXEC is a place of predicates, which guards what the vector unit does.
#include "wave.h"

#include <bit>
#include <cstring>
#include <map>
#include <sstream>

#include <triton_runner/base/try.h>

#include "code/emitter.h"
#include "launch/kernel.h"
#include "ops/control.h"
#include "state/exec.h"

namespace triton_runner::simt {
namespace {

constexpr uint32_t kWidth = 64;

struct Op {
  std::string name, text;
  std::vector<std::string> operands;
  int line = 0;
};

class WaveListing final : public Listing {
 public:
  explicit WaveListing(std::vector<Op> all) : ops(std::move(all)) {}
  base::Location location(const Source& s) const override { return {"wave.s", of(s).line, 1}; }
  std::string text(const Source& s) const override { return of(s).text; }
  std::optional<base::Location> program_location(const Source&) const override { return {}; }
  std::optional<uint32_t> parameter_of(const Source&, uint64_t) const override { return 0; }

  const std::vector<Op> ops;

 private:
  static const Op& of(const Source& s) { return *static_cast<const Op*>(s.at); }
};

// ---- handlers. What the scalar unit does is done for each wavefront of the path, whatever EXEC holds.
template <class F>
void each_wave(Lanes& l, F f) {
  for (uint32_t w = 0; w < l.count; w += kWidth) f(w);
}

void scalar_add(Lanes& l, const Operands& in) {
  each_wave(l, [&](uint32_t w) {
    l.reg<uint32_t>(in.d)[w] = l.reg<uint32_t>(in.a)[w] + static_cast<uint32_t>(in.imm);
  });
}
void scalar_count(Lanes& l, const Operands& in) {
  each_wave(l, [&](uint32_t w) {
    l.reg<uint32_t>(in.d)[w] =
        static_cast<uint32_t>(std::popcount(mask_bits(l.reg<int8_t>(in.a), w, kWidth)));
  });
}
void broadcast(Lanes& l, const Operands& in) {
  each_wave(l, [&](uint32_t w) { std::fill_n(l.reg<uint32_t>(in.d) + w, kWidth, l.reg<uint32_t>(in.a)[w]); });
}
void fill_words(Lanes& l, const Operands& in) { std::fill_n(l.reg<uint32_t>(in.d), l.count, 0u); }
void fill_exec(Lanes& l, const Operands& in) {
  for (uint32_t i = 0; i < l.count; ++i) l.reg<int8_t>(in.d)[i] = l.on(i) ? -1 : 0;
}
void keep_greater(Lanes& l, const Operands& in) {
  const uint32_t* a = l.reg<uint32_t>(in.a);
  for (uint32_t i = 0; i < l.count; ++i)
    if (static_cast<uint32_t>(in.imm) <= a[i]) l.reg<int8_t>(in.d)[i] = 0;
}

uint64_t element(const Lanes& l, const Operands& in, uint32_t index, uint32_t lane) {
  return l.reg<uint64_t>(in.c)[lane] + 4 * uint64_t{l.reg<uint32_t>(index)[lane]};
}

// A wavefront's load under way: its lanes, and where their words lie.
struct Load final : AsyncOp {
  Load(const Exec& x, const Operands& in, uint32_t wave) : AsyncOp(x, in), wave_(wave), place_(in.d) {}
  void add(uint32_t lane, const std::byte* from) { words_.push_back({lane, from}); }
  void complete(Cluster&) override {
    auto* to = reinterpret_cast<uint32_t*>(cta->regs + place_) + wave_ * kWidth;
    for (const auto& [lane, from] : words_) std::memcpy(to + lane, from, sizeof *to);
  }
  std::string text() const override {
    return "load of " + std::to_string(words_.size()) + " words by wavefront " + std::to_string(wave_);
  }

 private:
  const uint32_t wave_, place_;
  std::vector<std::pair<uint32_t, const std::byte*>> words_;
};

void load(Exec& x, const Operands& in) {
  for (uint32_t w = 0; w < x.count; w += kWidth) {
    if (mask_bits(x.mask, w, kWidth) == 0) continue;
    const uint32_t wave = (x.first + w) / kWidth;
    auto op = std::make_unique<Load>(x, in, wave);
    for (uint32_t lane = 0; lane < kWidth; ++lane) {
      if (!x.on(w + lane)) continue;
      const std::byte* from = x.global(in, w + lane, element(x, in, in.a, w + lane), 4, false);
      if (!from) return;
      op->add(lane, from);
    }
    x.cta->cluster->issue(std::move(op), wave);
  }
}
// The counter of a wavefront's loads: those that are under way.
void wait(Exec& x, const Operands& in) {
  Cluster& cluster = *x.cta->cluster;
  for (uint32_t w = 0; w < x.count; w += kWidth) {
    const auto is_own = [wave = (x.first + w) / kWidth](const auto& issued) { return issued.agent == wave; };
    const auto under_way = std::ranges::count_if(cluster.async.ops(), is_own);
    if (under_way > in.imm)
      cluster.async.take(
          is_own, [&](auto& op) { cluster.complete(*op); }, static_cast<uint64_t>(under_way - in.imm));
  }
}
void store(Exec& x, const Operands& in) {
  for (uint32_t i : x.lanes()) {
    std::byte* to = x.global(in, i, element(x, in, in.a, i), 4, true);
    if (!to) return;
    std::memcpy(to, x.reg<uint32_t>(in.b) + i, 4);
  }
}

// ---- the lowering
class WaveLowering final : public Emitter {
 public:
  WaveLowering(Code& to, std::shared_ptr<const WaveListing> listing)
      : Emitter(to), listing_(std::move(listing)) {}

  base::Status lower() {
    code.listing = listing_;
    code.params.push_back({0, 8, {"x", exec::ParamKind::kPointer, "pointer"}});
    code.param_bytes = 8;
    exec_ = temporary(1);
    base_ = temporary(8);
    code.constants.push_back({base_, 8, 0, 0, Constant::kParam});
    emit(fill_exec, {.d = exec_});
    for (const Op& op : listing_->ops)
      for (const std::string& name : op.operands)
        if (name[0] == 's' || (name[0] == 'v' && name != "v0")) emit(fill_words, {.d = place(name)});
    for (const Op& op : listing_->ops) {
      Source source;
      source.at = &op;
      source.name = op.name;
      source_ = &code.sources.emplace_back(source);
      if (!lower(op)) return base::failure("wave.s:" + std::to_string(op.line) + ": " + op.text);
    }
    guard_ = kNoRegister;
    emit(end_thread);
    return base::success();
  }

 private:
  using Emitter::emit;
  Instr& emit(Handler run) override {
    Instr& i = code.instrs.emplace_back();
    i.run = run;
    i.guard = guard_;
    i.source = source_;
    return i;
  }
  uint32_t place(const std::string& name) {
    if (name == "v0") return thread_constant(0, 4, [](uint32_t thread) { return uint64_t{thread}; });
    auto [it, is_new] = places_.try_emplace(name, 0);
    if (is_new) it->second = temporary(4);
    return it->second;
  }
  uint32_t vector(const std::string& name) {
    if (name[0] != 's') return place(name);
    const uint32_t to = temporary(4);
    guard_ = kNoRegister;
    emit(broadcast, {.d = to, .a = place(name)});
    return to;
  }
  bool lower(const Op& op) {
    const auto& o = op.operands;
    const auto number = [&](size_t k) { return static_cast<int64_t>(std::stoll(o[k])); };
    guard_ = kNoRegister;
    if (op.name == "s_add") return emit(scalar_add, {.d = place(o[0]), .a = place(o[1]), .imm = number(2)});
    if (op.name == "s_count") return emit(scalar_count, {.d = place(o[0]), .a = exec_});
    if (op.name == "s_wait") return emit<wait>({.imm = number(0)});
    if (op.name == "v_cmpx_gt") return emit(keep_greater, {.d = exec_, .a = place(o[1]), .imm = number(0)});
    if (op.name == "v_add") {
      const uint32_t a = vector(o[1]), b = vector(o[2]);
      guard_ = exec_;
      return emit(lanes::find(lanes::Operation::kAdd, lanes::Type::kU32), {.d = place(o[0]), .a = a, .b = b});
    }
    guard_ = exec_;
    if (op.name == "load") return emit<load>({.d = place(o[0]), .a = place(o[1]), .c = base_});
    if (op.name == "store") {
      const uint32_t value = vector(o[1]);
      guard_ = exec_;
      return emit<store>({.a = place(o[0]), .b = value, .c = base_});
    }
    return false;
  }

  std::shared_ptr<const WaveListing> listing_;
  std::map<std::string, uint32_t> places_;
  uint32_t exec_ = kNoRegister, base_ = kNoRegister, guard_ = kNoRegister;
  const Source* source_ = nullptr;
};

std::vector<Op> parsed(const std::string& text) {
  std::vector<Op> ops;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    Op op{.text = line, .line = number};
    for (char& c : line)
      if (c == ',') c = ' ';
    std::istringstream words(line);
    if (!(words >> op.name)) continue;
    for (std::string word; words >> word;) op.operands.push_back(word);
    ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace

base::Result<std::unique_ptr<exec::Kernel>> load_wave(const std::string& text, uint32_t threads) {
  Code code;
  code.level = "wave";
  code.kernel = "wave";
  code.target = "invented:64";
  code.width = kWidth;
  if (std::string fault = set_shape(code, {threads, 1, 1}, {1, 1, 1}); !fault.empty())
    return base::failure(fault);
  if (auto done = WaveLowering(code, std::make_shared<WaveListing>(parsed(text))).lower(); !done)
    return done.error();
  auto plan = TRY(ArgumentPlan::make(code, {}));
  auto lower = [](const exec::LaunchOptions&) -> base::Result<std::unique_ptr<Code>> {
    return base::failure("nobody looks at the registers of an invented set");
  };
  return make_kernel(std::move(code), std::move(plan), 0, lower);
}

}  // namespace triton_runner::simt
