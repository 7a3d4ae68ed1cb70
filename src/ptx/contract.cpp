// Finds the pairs of a product and a sum that ptxas contracts, as it was seen to find them: a product goes
// into all additions that use it, or into none. They are in one block of instructions that nothing jumps into
// or out of, unless a factor is a constant or a parameter of the kernel: then only one register has to be
// kept.
#include <triton_runner/ptx/contract.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <triton_runner/ptx/flow.h>

namespace triton_runner::ptx {
namespace {

constexpr uint32_t kNone = ~0u;

// An operation must share this with another to be contracted with it.
struct Kind {
  Mod type = Mod::kNone;  // kNone: it takes no part
  bool ftz = false;
  bool operator==(const Kind&) const = default;
};

// The type of an operation on values of one float type with no other modifiers than .ftz and those allowed.
Kind kind_of(const Instruction& in, std::initializer_list<Mod> allowed = {}) {
  Kind kind;
  for (const Mod m : in.mods) {
    if (m == Mod::kFtz)
      kind.ftz = true;
    else if (is_type(m) && is_float(m) && kind.type == Mod::kNone)
      kind.type = m;
    else if (std::find(allowed.begin(), allowed.end(), m) == allowed.end())
      return {};
  }
  switch (kind.type) {
    case Mod::kF16:
    case Mod::kBf16:
    case Mod::kF16x2:
    case Mod::kBf16x2:
    case Mod::kF32:
    case Mod::kF32x2:
    case Mod::kF64:
      return kind;
    default:
      return {};
  }
}

Kind product_kind(const Instruction& in) {
  if (in.opcode == Opcode::kMul) return kind_of(in);
  if (in.opcode == Opcode::kDiv && (in.has(Mod::kApprox) || in.has(Mod::kFull)))
    return kind_of(in, {Mod::kApprox, Mod::kFull});
  return {};
}
Kind sum_kind(const Instruction& in) {
  return in.opcode == Opcode::kAdd || in.opcode == Opcode::kSub ? kind_of(in, {Mod::kSat}) : Kind{};
}
// neg, and mov from register to register.
bool passes_on(const Instruction& in) {
  if (in.operands.size() != 2 || in.operands[0].kind != OperandKind::kRegister ||
      in.operands[1].kind != OperandKind::kRegister)
    return false;
  if (in.opcode == Opcode::kMov) return true;
  // The negation of .bf16x2 is an instruction of its own, not a sign of another's operand.
  const Mod type = in.opcode == Opcode::kNeg ? kind_of(in).type : Mod::kNone;
  return type != Mod::kNone && type != Mod::kBf16x2;
}

// Instructions that ptxas makes several blocks of, whatever their guard.
bool ends_block(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kMembar:
      return !in.has(Mod::kProxy);
    case Opcode::kFence:
      return !in.has(Mod::kProxy) && !in.has(Mod::kMbarrierInit);
    case Opcode::kSetmaxnreg:
    case Opcode::kBrkpt:
      return true;
    case Opcode::kDiv:
    case Opcode::kRem: {
      const Mod type = in.type(0);
      if (is_float(type)) return !in.has(Mod::kApprox) && !in.has(Mod::kFull);
      return bits(type) == 64 || is_signed(type);
    }
    case Opcode::kSqrt:
      return !in.has(Mod::kApprox) && in.type(0) == Mod::kF32;
    case Opcode::kRsqrt:
      return in.type(0) == Mod::kF64 && !in.has(Mod::kFtz);
    default:
      return is_control(in);
  }
}
// Instructions that are jumped over, rather than predicated, where they have a guard.
bool jumped_over(const Instruction& in) {
  if (in.does(Effect::kComputes) || in.opcode == Opcode::kShfl) return false;
  return !in.does(Effect::kReads) || !in.has(Mod::kParam);
}

// Registers that it reads, the sums of a wgmma among them.
std::vector<uint32_t> reads_of(const Instruction& in) {
  std::vector<uint32_t> out = sources_of(in);
  if (in.opcode == Opcode::kWgmma)
    for (const uint32_t r : results_of(in)) out.push_back(r);
  return out;
}

bool can_be_left_out(const Instruction& in) {
  if (in.does(Effect::kReads) && !in.does(Effect::kShares))
    return !in.has(Mod::kVolatile) && !in.has(Mod::kRelaxed) && !in.has(Mod::kAcquire) && !in.has(Mod::kMmio);
  return in.does(Effect::kComputes);
}

// For each register the one instruction that writes it; kNone: none or several, or under a guard.
std::vector<uint32_t> only_writers(const Function& f) {
  std::vector<uint32_t> out(f.registers.size(), kNone);
  std::vector<bool> written(f.registers.size());
  const FormalRegisters formals = formal_registers(f);
  for (uint32_t r = formals.returns_end; r < formals.params_end; ++r) written[r] = true;
  for (uint32_t i = 0; i < f.body.size(); ++i)
    for (const uint32_t r : results_of(f.body[i])) {
      out[r] = written[r] || f.body[i].guard >= 0 ? kNone : i;
      written[r] = true;
    }
  return out;
}

// For each instruction: whether it does nothing but give results that nobody needs; ptxas leaves those out.
std::vector<bool> dead_instructions(const Function& f) {
  std::vector<uint32_t> reads(f.registers.size());
  std::fill_n(reads.begin(), formal_registers(f).returns_end, 1);
  std::vector<std::vector<uint32_t>> writers(f.registers.size());
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    for (const uint32_t r : reads_of(f.body[i])) ++reads[r];
    for (const uint32_t r : results_of(f.body[i])) writers[r].push_back(i);
  }
  std::vector<bool> dead(f.body.size());
  std::vector<uint32_t> unread;
  for (uint32_t r = 0; r < reads.size(); ++r)
    if (reads[r] == 0) unread.push_back(r);
  while (!unread.empty()) {
    const uint32_t r = unread.back();
    unread.pop_back();
    for (const uint32_t i : writers[r]) {
      if (dead[i] || !can_be_left_out(f.body[i])) continue;
      const std::vector<uint32_t> results = results_of(f.body[i]);
      if (!std::all_of(results.begin(), results.end(), [&](uint32_t x) { return reads[x] == 0; })) continue;
      dead[i] = true;
      for (const uint32_t read : reads_of(f.body[i]))
        if (--reads[read] == 0) unread.push_back(read);
    }
  }
  return dead;
}

class ContractionFinder {
 public:
  explicit ContractionFinder(const Function& f)
      : f_(f),
        divisors_(f),
        early_(f.registers.size()),
        value_(f.registers.size()),
        writes_(f.registers.size()) {}

  std::vector<Contraction> find(bool is_part) {
    if (!any()) return {};
    dead_ = is_part ? std::vector<bool>(f_.body.size()) : dead_instructions(f_);
    writers_ = only_writers(f_);
    find_constants();
    split();
    read_from_outside();
    for (size_t b = 0; b + 1 < starts_.size(); ++b) block(starts_[b], starts_[b + 1]);
    // First the products that one addition uses, then the others.
    choose(1);
    choose(0);
    return taken();
  }

 private:
  // The place where a product is added: operand `operand` of instruction `sum`.
  struct Use {
    uint32_t sum;
    uint8_t operand;
    bool minus;
  };
  struct Product {
    uint32_t instruction;
    Kind kind;
    std::vector<Use> uses;
    bool other = false;     // it is wanted for itself too
    bool anywhere = false;  // may be added in other blocks
    uint32_t block = 0;
    std::array<uint32_t, 2> operands{kNone, kNone}, versions{};
  };
  // The content of a register within a block: (-) a product of it.
  struct Value {
    uint32_t product = kNone;
    bool minus = false;
  };
  struct Sum {
    std::array<uint32_t, 2> product{kNone, kNone};
    std::array<bool, 2> minus{}, moved{};
    int taken = -1;
  };

  bool any() const {
    bool products = false, sums = false;
    for (const Instruction& in : f_.body) {
      products |= product_kind(in).type != Mod::kNone;
      sums |= sum_kind(in).type != Mod::kNone;
    }
    return products && sums;
  }

  // Registers that hold a literal, or a parameter of the kernel.
  void find_constants() {
    constant_.assign(f_.registers.size(), false);
    for (uint32_t i = 0; i < f_.body.size(); ++i) {
      const Instruction& in = f_.body[i];
      if (in.operands.size() != 2 || in.operands[0].kind != OperandKind::kRegister) continue;
      const uint32_t r = in.operands[0].reg;
      if (writers_[r] != i) continue;
      const Operand& from = in.operands[1];
      if (in.opcode == Opcode::kMov)
        constant_[r] = from.kind == OperandKind::kInteger || from.kind == OperandKind::kFloat ||
                       (from.kind == OperandKind::kRegister && constant_[from.reg]);
      if (in.opcode == Opcode::kLd && in.has(Mod::kParam) && f_.is_entry)
        constant_[r] = from.kind == OperandKind::kAddress && from.parts[0].kind == OperandKind::kVariable;
    }
  }

  void split() {
    const std::vector<bool> targets = jump_targets(f_);
    starts_ = {0};
    const auto cut = [&](uint32_t at) {
      if (starts_.back() != at) starts_.push_back(at);
    };
    for (uint32_t i = 0; i < f_.body.size(); ++i) {
      const Instruction& in = f_.body[i];
      const bool alone =
          !dead_[i] &&
          (ends_block(in) || (in.guard >= 0 && jumped_over(in) && !constant_[static_cast<size_t>(in.guard)]));
      if (targets[i] || alone) cut(i);
      if (alone) cut(i + 1);
    }
    cut(static_cast<uint32_t>(f_.body.size()));
  }

  // Registers that some block reads before it writes them.
  void read_from_outside() {
    outside_.assign(f_.registers.size(), false);
    std::fill_n(outside_.begin(), formal_registers(f_).returns_end, true);
    std::vector<uint32_t> written_in(f_.registers.size(), kNone);
    for (uint32_t b = 0; b + 1 < starts_.size(); ++b)
      for (uint32_t i = starts_[b]; i < starts_[b + 1]; ++i) {
        if (dead_[i]) continue;
        const Instruction& in = f_.body[i];
        for (const uint32_t r : sources_of(in))
          if (written_in[r] != b) outside_[r] = true;
        for (const uint32_t r : results_of(in)) {
          if (in.guard >= 0 && written_in[r] != b) outside_[r] = true;
          if (in.guard < 0) written_in[r] = b;
        }
      }
  }

  Value& value(uint32_t r) { return value_[r]; }
  void lose(uint32_t r) {
    if (value_[r].product != kNone) products_[value_[r].product].other = true;
  }

  void block(uint32_t begin, uint32_t end) {
    touched_.clear();
    block_ = begin;
    for (uint32_t i = begin; i < end; ++i)
      if (!dead_[i]) read_and_write(i);
    for (const uint32_t r : touched_) {
      const Value v = value_[r];
      if (v.product != kNone && products_[v.product].anywhere && writers_[r] != kNone) continue;
      if (outside_[r]) lose(r);
      value_[r] = {};
    }
  }

  std::vector<Contraction> taken() const {
    std::vector<Contraction> out;
    for (const auto& [at, sum] : sums_) {
      if (sum.taken < 0) continue;
      const auto k = static_cast<size_t>(sum.taken);
      Contraction c{at, products_[sum.product[k]].instruction, static_cast<uint8_t>(k + 1)};
      const bool subtracts = f_.body[at].opcode == Opcode::kSub;
      c.minus_product = sum.minus[k] != (subtracts && k == 1);
      c.minus_addend = subtracts && k == 0;
      c.moved = sum.moved[k];
      out.push_back(c);
    }
    return out;
  }

  void read_and_write(uint32_t i) {
    const Instruction& in = f_.body[i];
    for (const uint32_t r : reads_of(in)) early_[r] = early_[r] || writes_[r] == 0;
    const bool passes = in.guard < 0 && passes_on(in);
    const Kind sums = sum_kind(in);
    if (sums.type != Mod::kNone) {
      add(i, sums);
    } else if (!passes) {
      for (const uint32_t r : reads_of(in)) lose(r);
    }
    Value result;
    if (passes) {
      result = value(in.operands[1].reg);
      if (in.opcode == Opcode::kNeg && result.product != kNone) {
        if (products_[result.product].kind != kind_of(in)) lose(in.operands[1].reg), result = {};
        result.minus = !result.minus;
      }
    } else if (const Kind kind = product_kind(in); kind.type != Mod::kNone && in.guard < 0) {
      Product p{.instruction = i, .kind = kind, .block = block_};
      for (size_t k = 0; k < 2; ++k) {
        const Operand& o = in.operands[k + 1];
        p.operands[k] = o.kind == OperandKind::kRegister ? o.reg : kNone;
        if (p.operands[k] != kNone) p.versions[k] = writes_[o.reg];
        p.anywhere |= p.operands[k] == kNone || constant_[o.reg];
      }
      const uint32_t r = in.operands[0].reg;
      p.anywhere &= writers_[r] == i && (in.opcode == Opcode::kMul || divisors_.reciprocal(in));
      p.other = p.anywhere && early_[r];
      result.product = static_cast<uint32_t>(products_.size());
      products_.push_back(std::move(p));
    }
    for (const uint32_t r : results_of(in)) {
      if (in.guard >= 0) lose(r), result = {};
      ++writes_[r];
      value(r) = result;
      touched_.push_back(r);
    }
  }

  void add(uint32_t i, Kind kind) {
    const Instruction& in = f_.body[i];
    if (in.guard >= 0) lose(static_cast<uint32_t>(in.guard));
    Sum sum;
    for (size_t k = 0; k < 2; ++k) {
      const Operand& o = in.operands[k + 1];
      if (o.kind != OperandKind::kRegister) continue;
      const Value v = value(o.reg);
      if (v.product == kNone) continue;
      const Product& p = products_[v.product];
      if (p.kind != kind) {
        lose(o.reg);
        continue;
      }
      sum.product[k] = v.product;
      sum.minus[k] = v.minus;
      for (const size_t n : {0, 1})
        if (const uint32_t r = p.operands[n]; r != kNone)
          sum.moved[k] |= writes_[r] != p.versions[n] || (p.block != block_ && writers_[r] == kNone);
    }
    if (sum.product[0] == sum.product[1] && sum.product[0] != kNone) {
      products_[sum.product[0]].other = true;
      return;
    }
    if (sum.product[0] == kNone && sum.product[1] == kNone) return;
    for (size_t k = 0; k < 2; ++k)
      if (sum.product[k] != kNone)
        products_[sum.product[k]].uses.push_back(
            {static_cast<uint32_t>(sums_.size()), static_cast<uint8_t>(k), sum.minus[k]});
    sums_.emplace_back(i, sum);
  }

  // Returns whether a product can go into everything that still uses it: `count` additions, or any number if
  // 0.
  bool fits(const Product& p, size_t count) const {
    if (p.other) return false;
    size_t left = 0;
    for (const Use& use : p.uses) {
      const int taken = sums_[use.sum].second.taken;
      if (taken == use.operand) continue;
      if (taken >= 0) return false;
      ++left;
    }
    return count == 0 || left == count;
  }

  void choose(size_t count) {
    for (auto& [at, sum] : sums_) {
      if (sum.taken >= 0) continue;
      // If two fit, the one with fewer uses is taken, the first of equals.
      size_t least = SIZE_MAX;
      int best = -1;
      for (int k = 0; k < 2; ++k) {
        const uint32_t p = sum.product[static_cast<size_t>(k)];
        if (p == kNone || !fits(products_[p], count) || products_[p].uses.size() >= least) continue;
        least = products_[p].uses.size();
        best = k;
      }
      sum.taken = best;
    }
  }

  const Function& f_;
  std::vector<uint32_t> starts_;  // of blocks, and the end
  const Divisors divisors_;
  std::vector<uint32_t> writers_;  // by register: only_writers()
  // By instruction; by register: whether it is read by a block that has not written it; holds a literal or a
  // parameter; was read before anything wrote it.
  std::vector<bool> dead_, outside_, constant_, early_;
  std::vector<Value> value_;      // by register
  std::vector<uint32_t> writes_;  // by register: how often it was written
  std::vector<uint32_t> touched_;
  std::vector<Product> products_;
  std::vector<std::pair<uint32_t, Sum>> sums_;
  uint32_t block_ = 0;  // the one being read: its first instruction
};

}  // namespace

std::vector<Contraction> contractions(const Function& f, bool is_part) {
  return ContractionFinder(f).find(is_part);
}

std::array<Operand, 4> fused_operands(const Function& f, const Contraction& c) {
  const Instruction &sum = f.body[c.add], &product = f.body[c.product];
  return {sum.operands[0], product.operands[1], product.operands[2], sum.operands[3 - c.operand]};
}

base::Result<lanes::LaneFunction> find_fused(const Module& module, const Function& f, const Contraction& c,
                                             bool divides) {
  const Instruction &sum = f.body[c.add], &product = f.body[c.product];
  std::vector<Mod> mods(sum.mods.begin(), sum.mods.end());
  mods.insert(mods.begin(), !divides ? Mod::kRn : product.has(Mod::kFull) ? Mod::kFull : Mod::kApprox);
  const auto operands = fused_operands(f, c);
  Instruction fused = sum;
  fused.opcode = Opcode::kFma;
  fused.mods = mods;
  fused.operands = operands;
  return find_alu(module, f, fused);
}

Divisors::Divisors(const Function& f) : constants_(f.registers.size()) {
  const std::vector<uint32_t> writers = only_writers(f);
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const Instruction& in = f.body[i];
    if (in.opcode != Opcode::kMov || in.operands.size() != 2 || in.operands[0].kind != OperandKind::kRegister)
      continue;
    const uint32_t r = in.operands[0].reg;
    if (writers[r] != i || bits(f.registers[r].type) != 32) continue;
    const Operand& from = in.operands[1];
    uint64_t value;
    if (from.kind == OperandKind::kRegister)
      constants_[r] = constants_[from.reg];
    else if ((from.kind == OperandKind::kInteger || from.kind == OperandKind::kFloat) &&
             literal_bits(from, in.type(0), &value))
      constants_[r] = static_cast<uint32_t>(value);
  }
}

std::optional<uint32_t> Divisors::reciprocal(const Instruction& div) const {
  if (div.opcode != Opcode::kDiv || product_kind(div).type != Mod::kF32) return {};
  const Operand& by = div.operands[2];
  std::optional<uint32_t> divisor;
  uint64_t value;
  if (by.kind == OperandKind::kRegister) divisor = constants_[by.reg];
  if (by.kind == OperandKind::kFloat && literal_bits(by, Mod::kF32, &value))
    divisor = static_cast<uint32_t>(value);
  if (!divisor) return {};
  const float d = std::bit_cast<float>(*divisor), reciprocal = 1 / d;
  if (!std::isnormal(d) || !std::isnormal(reciprocal)) return {};
  return std::bit_cast<uint32_t>(reciprocal);
}

}  // namespace triton_runner::ptx
