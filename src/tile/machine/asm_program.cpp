// Makes and runs programs of inline assembly: parses its PTX, and gives each register a place. Which elements
// stand in them is in inline_asm.cpp.
#include "machine/asm_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <triton_runner/num/kernels.h>

#include "lowering.h"

namespace triton_runner::tile {
namespace {

constexpr uint32_t kLanes = 256;  // executions at a time

uint64_t lanes_of(uint64_t which, uint64_t lane) {
  const uint64_t bit = uint64_t{1} << lane, all = 0xffffffffu;
  switch (which) {
    case kEqual:
      return bit;
    case kBelow:
      return bit - 1;
    case kUpTo:
      return bit | (bit - 1);
    case kAbove:
      return all & ~(bit | (bit - 1));
    default:
      return all & ~(bit - 1);
  }
}

uint64_t filling(const Task& t, const AsmFill& f, const AsmProgram& a, int64_t execution) {
  // In the last lanes, which no execution belongs to, anything will do.
  auto thread = [&] {
    const auto i = static_cast<size_t>(execution);
    return a.thread.empty() ? execution : i < a.thread.size() ? a.thread[i] : 0;
  };
  switch (f.kind) {
    case AsmFill::kNumber:
      return f.number;
    case AsmFill::kClock:
      return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    case AsmFill::kProgram:
      return static_cast<uint64_t>(t.program->id[f.number]);
    case AsmFill::kPrograms:
      return static_cast<uint64_t>(t.worker->launch->options->grid[f.number]);
    case AsmFill::kLane:
      return static_cast<uint64_t>(thread() % a.lanes);
    case AsmFill::kLaneMask:
      return lanes_of(f.number, static_cast<uint64_t>(thread() % a.lanes));
    case AsmFill::kWarp:
      return static_cast<uint64_t>(thread() % a.threads / a.lanes);
    default:
      return static_cast<uint64_t>(thread() % a.threads);
  }
}

void fill(const Task& t, std::byte* file, const AsmFill& f, const AsmProgram& a, int64_t first) {
  if (f.kind == AsmFill::kNumber && first > 0) return;
  uint64_t value = filling(t, f, a, first);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (f.kind >= AsmFill::kLane) value = filling(t, f, a, first + i);
    std::memcpy(file + f.place + size_t{i} * f.bytes, &value, std::min(f.bytes, 8u));
  }
}

// The elements of an operand; those of a uniform one are all in the same place.
struct PortSource {
  const std::byte* at;
  int64_t step;  // bytes to the next element
  uint64_t bits;
};

int64_t first_element(const AsmProgram& a, const AsmValue& v, const AsmPort& p, int64_t execution) {
  return v.where.empty() ? execution * a.pack + p.element
                         : v.where[static_cast<size_t>(execution * v.a_thread + p.element)];
}

// Returns whether the port's registers hold the elements as they lie in memory.
bool is_row(const AsmProgram& a, const AsmValue& v, const AsmPort& p, size_t size) {
  return v.where.empty() && a.pack == 1 && p.bytes == size;
}

void read_port(const AsmProgram& a, const AsmPort& p, const PortSource& from, size_t size, std::byte* file,
               int64_t first, uint32_t n) {
  const AsmValue& v = a.operands[p.value];
  if (is_row(a, v, p, size)) {
    if (from.step == 0)
      num::fill(file + p.place, from.bits, n, static_cast<int>(size));
    else
      std::memcpy(file + p.place, from.at + first * from.step, n * size);
    return;
  }
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t value = 0;
    const int64_t at = first_element(a, v, p, first + i);
    for (uint32_t e = 0; e < p.elements && at + e < v.elements; ++e) {
      uint64_t one = 0;
      std::memcpy(&one, from.at + (at + e) * from.step, size);
      value |= one << (8 * size * e);
    }
    std::memcpy(file + p.place + size_t{i} * p.bytes, &value, p.bytes);
  }
}

void write_port(const AsmProgram& a, const AsmPort& p, std::byte* to, size_t size, const std::byte* file,
                int64_t first, uint32_t n) {
  const AsmValue& v = a.results[p.value];
  if (is_row(a, v, p, size)) {
    std::memcpy(to + static_cast<size_t>(first) * size, file + p.place, n * size);
    return;
  }
  for (uint32_t i = 0; i < n; ++i) {
    const int64_t at = first_element(a, v, p, first + i);
    for (uint32_t e = 0; e < p.elements && at + e < v.elements; ++e)
      std::memcpy(to + static_cast<size_t>(at + e) * size, file + p.place + size_t{i} * p.bytes + e * size,
                  size);
  }
}

// Under a guard, and only lanes that are on.
void run_step(const AsmStep& s, lanes::Lanes& lanes, const int8_t* on, std::vector<int8_t>& mask) {
  if (s.guard != lanes::kNoRegister) {
    const auto* guard = reinterpret_cast<const int8_t*>(lanes.regs + s.guard);
    for (uint32_t i = 0; i < lanes.count; ++i)
      mask[i] = static_cast<int8_t>((guard[i] ^ s.flip) & (on ? on[i] : -1));
    lanes.mask = mask.data();
  } else {
    lanes.mask = on;
  }
  if (s.run) s.run(lanes, s.operands);
}

// Lanes that went different ways go on in the order of the text, and together where they meet again.
void execute_jumps(const AsmProgram& a, lanes::Lanes& lanes, std::vector<int8_t>& mask) {
  const auto end = static_cast<uint32_t>(a.steps.size());
  std::vector<uint32_t> at(lanes.count, 0);
  std::vector<int8_t> on(lanes.count);
  for (;;) {
    const uint32_t first = *std::min_element(at.begin(), at.end());
    if (first == end) return;
    for (uint32_t i = 0; i < lanes.count; ++i) on[i] = at[i] == first ? -1 : 0;
    uint32_t step = first;
    for (bool more = true; more;) {
      const AsmStep& s = a.steps[step];
      run_step(s, lanes, on.data(), mask);
      ++step;
      if (!s.run)
        for (uint32_t i = 0; i < lanes.count; ++i)
          if (on[i]) at[i] = lanes.mask[i] ? s.to : step;
      more = s.run && step < end && !a.steps[step].is_target;
      if (!more && s.run)
        for (uint32_t i = 0; i < lanes.count; ++i)
          if (on[i]) at[i] = step;
    }
  }
}

void execute(const AsmProgram& a, std::byte* file, uint32_t n, std::vector<int8_t>& mask) {
  lanes::Lanes lanes;
  lanes.regs = file;
  lanes.count = (n + 31) & ~31u;
  if (a.jumps) return execute_jumps(a, lanes, mask);
  for (const AsmStep& s : a.steps) {
    if (s.guard != lanes::kNoRegister) {
      const auto* guard = reinterpret_cast<const int8_t*>(file + s.guard);
      for (uint32_t i = 0; i < lanes.count; ++i) mask[i] = static_cast<int8_t>(guard[i] ^ s.flip);
      lanes.mask = mask.data();
    }
    s.run(lanes, s.operands);
    lanes.mask = nullptr;
  }
}

void run_asm(Task& t, const Instr& in, const AsmProgram& a) {
  std::vector<std::byte> memory(a.file_bytes + 64);
  std::byte* file = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  std::vector<PortSource> from(in.num_operands);
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    const Slot s = in.operand(i);
    const bool uniform = t.is_uniform(s);
    from[i].bits = static_cast<uint64_t>(t.bits(s));
    from[i].at = uniform ? reinterpret_cast<const std::byte*>(&from[i].bits) : t.dense<std::byte>(s);
    from[i].step = uniform ? 0 : t.type(s).size;
  }
  std::vector<std::byte*> to;
  std::vector<uint64_t> scalars(in.num_results);
  for (uint32_t r = 0; r < in.num_results; ++r)
    to.push_back(t.type(in.result(r)).is_tensor ? t.new_dense<std::byte>(in.result(r))
                                                : reinterpret_cast<std::byte*>(&scalars[r]));
  std::vector<int8_t> mask(kLanes);
  for (int64_t first = 0; first < a.executions; first += kLanes) {
    const auto n = static_cast<uint32_t>(std::min<int64_t>(kLanes, a.executions - first));
    for (const AsmFill& f : a.fills) fill(t, file, f, a, first);
    for (const AsmPort& p : a.inputs)
      read_port(a, p, from[p.value], t.type(in.operand(p.value)).size, file, first, n);
    execute(a, file, n, mask);
    for (const AsmPort& p : a.outputs)
      write_port(a, p, to[p.value], t.type(in.result(p.value)).size, file, first, n);
  }
  for (uint32_t r = 0; r < in.num_results; ++r)
    if (!t.type(in.result(r)).is_tensor) t.set_uniform_from(in.result(r), &scalars[r]);
}

void flip_sign(lanes::Lanes& l, const lanes::Operands& o) {
  const auto* a = l.reg<uint32_t>(o.a);
  auto* d = l.reg<uint32_t>(o.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = a[i] ^ 0x80000000u;
}

void flip_predicate(lanes::Lanes& l, const lanes::Operands& o) {
  const auto* a = l.reg<int8_t>(o.a);
  auto* d = l.reg<int8_t>(o.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = static_cast<int8_t>(~a[i]);
}

}  // namespace

uint32_t AsmProgram::reserve(uint32_t bytes) {
  const auto at = static_cast<uint32_t>(file_bytes);
  file_bytes += size_t{kLanes} * (bytes < 1 ? 1 : bytes);
  return at;
}

Assembler::Assembler(Lowering& l, const ir::Op& op) : l_(l), op_(op), asm_(l.make<AsmProgram>()) {
  text_ = string_attr("asm_string");
  read_constraints(string_attr("constraints"));
}
Assembler::Assembler(Lowering& l, const ir::Op& op, std::string constraints, std::string text,
                     std::vector<Slot> operands)
    : l_(l),
      op_(op),
      asm_(l.make<AsmProgram>()),
      text_(std::move(text)),
      operands_(std::move(operands)),
      is_ours_(true) {
  read_constraints(std::move(constraints));
}

bool Assembler::fail(std::string message, std::vector<std::string> notes) {
  if (!is_ours_) l_.fail(op_, std::move(message), std::move(notes));
  return false;
}
bool Assembler::fail(const base::Diagnostic& d) {
  std::vector<std::string> notes = d.notes;
  if (!d.source_line.empty()) notes.insert(notes.begin(), "in: " + d.source_line);
  return fail("inline assembly, line " + std::to_string(d.location.line) + ": " + d.message,
              std::move(notes));
}
std::string Assembler::string_attr(std::string_view name) const {
  const ir::Attr* a = op_.attr(name);
  return a ? std::string(a->string) : "";
}

// "=r,=&f,r,0", without those that say what is clobbered: ~{memory}.
void Assembler::read_constraints(std::string text) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string one = text.substr(0, comma);
    text = comma == std::string::npos ? "" : text.substr(comma + 1);
    std::erase_if(one, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    if (!one.empty() && one[0] != '~') constraints_.push_back(one);
  }
}

bool Assembler::add_port(bool is_result, uint32_t value, int64_t bytes, uint32_t most, uint32_t& element) {
  if (next_ >= constraints_.size()) return fail("there are more operands and results than constraints");
  const std::string& constraint = constraints_[next_];
  if ((constraint[0] == '=') != is_result)
    return fail("constraint " + std::to_string(next_) + ", '" + constraint + "', should be that of " +
                (is_result ? "a result" : "an operand"));
  ++next_;
  const std::string letters =
      is_result ? constraint.substr(constraint.starts_with("=&") ? 2 : 1) : constraint;
  AsmPort p;
  ptx::Mod reg = ptx::Mod::kNone;
  uint32_t tied = ~0u;
  std::string name = "asm_operand_" + std::to_string(names_.size());
  if (letters == "r" || letters == "f") {
    reg = letters == "f" ? ptx::Mod::kF32 : ptx::Mod::kB32, p.bytes = 4;
  } else if (letters == "l" || letters == "d") {
    reg = letters == "d" ? ptx::Mod::kF64 : ptx::Mod::kB64, p.bytes = 8;
  } else if (letters == "h" || letters == "c") {
    reg = ptx::Mod::kB16, p.bytes = 2;
  } else if (!is_result && (letters == "n" || letters == "i")) {
    const auto number = is_ours_ ? std::nullopt : constant_integer(*op_.operand(value));
    if (!number || bytes < 4)
      return fail("constraint '" + constraint + "' wants a constant of 32 or 64 bits, and operand " +
                      std::to_string(value) + " is none",
                  {"give it a tl.constexpr, or the constraint r, of a register"});
    p.bytes = static_cast<uint32_t>(bytes), name = std::to_string(*number);
  } else if (!is_result && !letters.empty() && letters.find_first_not_of("0123456789") == std::string::npos) {
    for (char c : letters) tied = (tied == ~0u ? 0 : tied * 10) + static_cast<uint32_t>(c - '0');
    if (tied >= asm_->outputs.size()) return fail("constraint '" + constraint + "' names no result");
    p.bytes = asm_->outputs[tied].bytes;
  } else {
    return fail("the constraint '" + constraint + "' is not known",
                {"r, f: 32 bits; l, d: 64; h: 16; n, i: a constant"});
  }
  p.value = value, p.element = element;
  if (bytes < p.bytes) p.elements = std::min(most, p.bytes / static_cast<uint32_t>(bytes));
  if (bytes > p.bytes) return fail("constraint '" + constraint + "' has fewer bits than an element");
  element += p.elements;
  p.place = tied == ~0u ? asm_->reserve(p.bytes) : asm_->outputs[tied].place;
  names_.push_back(std::move(name));
  ties_.push_back(tied);
  registers_.push_back({{}, reg});
  (is_result ? asm_->outputs : asm_->inputs).push_back(p);
  return true;
}

bool Assembler::finish() {
  if (next_ != constraints_.size()) return fail("there are more constraints than operands and results");
  if (!parse() || !lower()) return false;
  l_.emit<run_asm>(op_, slots_of(l_, op_.results), is_ours_ ? operands_ : slots_of(l_, op_.operand_uses),
                   asm_);
  return true;
}

bool Assembler::parse() {
  std::vector<ptx::Register> given;
  for (size_t i = 0; i < names_.size(); ++i)
    if (ties_[i] == ~0u && names_[i][0] == 'a') given.push_back({names_[i], registers_[i].type});
  const std::string& text = text_;
  std::string body;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      body += text[i];
      continue;
    }
    if (++i < text.size() && text[i] == '$') {
      body += '$';
      continue;
    }
    const bool braced = i < text.size() && text[i] == '{';
    if (braced) ++i;
    size_t number = 0, digits = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && digits < 6; ++i, ++digits)
      number = number * 10 + static_cast<size_t>(text[i] - '0');
    if (braced) {
      while (i < text.size() && text[i] != '}') ++i;
    } else {
      --i;
    }
    if (digits == 0 || number >= names_.size())
      return fail("the assembly names $" + std::to_string(number) + ", and there are " +
                  std::to_string(names_.size()) + " operands and results");
    body += names_[ties_[number] == ~0u ? number : ties_[number]];
  }
  auto parsed = ptx::parse_body(body, given);
  if (!parsed) return fail(parsed.error());
  asm_->module = *parsed;
  return true;
}

uint32_t Assembler::constant(uint64_t value, uint32_t bytes, AsmFill::Kind kind) {
  const uint32_t at = asm_->reserve(bytes);
  asm_->fills.push_back({kind, at, bytes, value});
  return at;
}

uint32_t Assembler::place(const ptx::Operand& o, ptx::Mod type) {
  const auto bytes = static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8));
  switch (o.kind) {
    case ptx::OperandKind::kRegister:
      return places_[o.reg];
    case ptx::OperandKind::kSink:
      return lanes::kNoRegister;
    case ptx::OperandKind::kInteger:
    case ptx::OperandKind::kFloat: {
      uint64_t bits;
      if (ptx::literal_bits(o, type, &bits))
        return constant(type == ptx::Mod::kPred ? (bits ? 0xff : 0) : bits, bytes);
      failed_ = true;
      fail(asm_->module->diagnostic(o.offset, ptx::wrong_literal(o, type)));
      return lanes::kNoRegister;
    }
    case ptx::OperandKind::kSpecial:
      return special(o, bytes);
    default:
      failed_ = true;
      fail("inline assembly has an operand that is neither a register nor a number");
      return lanes::kNoRegister;
  }
}

uint32_t Assembler::special(const ptx::Operand& o, uint32_t bytes) {
  using enum ptx::Special;
  const std::string_view name = ptx::text(o.special);
  const Code& code = l_.code();
  auto unknown = [&](std::string why) {
    failed_ = true;
    fail("inline assembly reads " + std::string(name) + ", " + why, {"run the kernel at level ptx"});
    return lanes::kNoRegister;
  };
  auto axis = [&] { return static_cast<uint64_t>(name.back() - 'x'); };
  switch (o.special) {
    case kGlobaltimer:
    case kGlobaltimerLo:
    case kClock:
    case kClock64:
      return constant(0, bytes, AsmFill::kClock);
    case kSmid:  // one multiprocessor, as it were
    case kTidY:
    case kTidZ:
      return constant(0, bytes);
    case kNtidY:
    case kNtidZ:
      return constant(1, bytes);
    case kNtidX:
      if (code.all_warps == 0) return unknown("and the number of warps of a program is not specified");
      return constant(static_cast<uint64_t>(code.all_warps * code.warp_size), bytes);
    default:
      break;
  }
  const bool of_block = name.starts_with("%ctaid") || name.starts_with("%nctaid") ||
                        name.starts_with("%clusterid") || name.starts_with("%nclusterid") ||
                        name.starts_with("%cluster_");
  if (of_block) {
    // A program is one block, and one that is in a cluster of its own.
    if (code.num_ctas > 1)
      return unknown("which differs in the " + std::to_string(code.num_ctas) +
                     " blocks of a cluster; the tile engine runs them as one");
    if (code.cluster_size() > 1 && !name.starts_with("%ctaid") && !name.starts_with("%nctaid"))
      return unknown("of a cluster of programs: nvg.cluster_id is the rank");
    if (name.starts_with("%ctaid") || name.starts_with("%clusterid"))
      return constant(axis(), bytes, AsmFill::kProgram);
    if (name.starts_with("%nctaid") || name.starts_with("%nclusterid"))
      return constant(axis(), bytes, AsmFill::kPrograms);
    return constant(name.starts_with("%cluster_n"), bytes);
  }
  static const std::pair<ptx::Special, std::pair<AsmFill::Kind, uint64_t>> kOfThread[] = {
      {kTidX, {AsmFill::kThread, 0}},
      {kWarpid, {AsmFill::kWarp, 0}},
      {kLaneid, {AsmFill::kLane, 0}},
      {kLanemaskEq, {AsmFill::kLaneMask, kEqual}},
      {kLanemaskLt, {AsmFill::kLaneMask, kBelow}},
      {kLanemaskLe, {AsmFill::kLaneMask, kUpTo}},
      {kLanemaskGt, {AsmFill::kLaneMask, kAbove}},
      {kLanemaskGe, {AsmFill::kLaneMask, kFrom}},
  };
  for (const auto& [special, filled] : kOfThread) {
    if (special != o.special) continue;
    if (asm_->lanes == 0 && find_threads && !find_threads()) return failed_ = true, lanes::kNoRegister;
    if (asm_->lanes == 0)
      return unknown("and the layout of its tensors, which TTIR does not have, says which thread it is");
    if (asm_->threads == 0 && (special == kTidX || special == kWarpid))
      return unknown("which depends on where the warps of a partition begin");
    return constant(filled.second, bytes, filled.first);
  }
  return unknown("which the tile engine does not have: it runs whole tiles, not threads");
}

// Hints, and what orders memory or grids: memory is in program order, and a launch has ended before the next.
static bool does_nothing(ptx::Opcode opcode) {
  using enum ptx::Opcode;
  return opcode == kGriddepcontrol || opcode == kFence || opcode == kMembar || opcode == kNanosleep ||
         opcode == kSetmaxnreg;
}

bool Assembler::lower_instruction(const ptx::Function& f, const ptx::Instruction& in) {
  if (does_nothing(in.opcode)) return true;
  if (is_ours_ && in.opcode == ptx::Opcode::kBra && in.operands.size() == 1 &&
      in.operands[0].kind == ptx::OperandKind::kLabel) {
    AsmStep jump = guarded(in);
    jump.to = static_cast<uint32_t>(in.operands[0].integer);  // an instruction, as yet
    asm_->steps.push_back(jump);
    return asm_->jumps = true;
  }
  const ptx::OpcodeRow& row = ptx::row(in.opcode);
  if (row.handler != "alu" && row.handler != "move") {
    base::Diagnostic d =
        asm_->module->diagnostic(in.offset, "'" + std::string(in.spelling) +
                                                "' is not executed in inline assembly of the tile engine");
    d.source_line.clear();
    d.notes.insert(d.notes.begin(),
                   "it executes arithmetic on registers; run the kernel at level ptx for the rest");
    return fail(d);
  }
  auto found = ptx::find_alu(*asm_->module, f, in);
  if (!found) return fail(found.error());
  const auto operands = ptx::flattened(in);
  AsmStep step = guarded(in);
  auto at = [&](int8_t which, lanes::Type type) {
    if (which == lanes::LaneFunction::kCarry)
      return carry_ == lanes::kNoRegister ? carry_ = asm_->reserve(1) : carry_;
    if (which < 0) return lanes::kNoRegister;
    const ptx::Operand& o = *operands[static_cast<size_t>(which)];
    const uint32_t value = place(o, ptx::mod_of(type));
    if (!o.negated || value == lanes::kNoRegister) return value;
    return flipped(flip_predicate, value, 1);
  };
  step.run = found->run;
  step.operands.d = at(found->operands[0], found->types[0]);
  step.operands.a = at(found->operands[1], found->types[1]);
  step.operands.b = at(found->operands[2], found->types[2]);
  step.operands.c = at(found->operands[3], found->types[3]);
  step.operands.e = at(found->operands[4], found->types[4]);
  step.operands.small = found->small;
  step.operands.imm =
      found->extra == lanes::LaneFunction::kNoOperand ? found->imm : at(found->extra, found->extra_type);
  asm_->steps.push_back(step);
  return !failed_;
}

AsmStep Assembler::guarded(const ptx::Instruction& in) const {
  AsmStep step;
  if (in.guard >= 0)
    step.guard = places_[static_cast<size_t>(in.guard)], step.flip = in.guard_negated ? -1 : 0;
  return step;
}

uint32_t Assembler::flipped(lanes::Handler flip, uint32_t place, uint32_t bytes) {
  AsmStep step;
  step.run = flip;
  step.operands.d = asm_->reserve(bytes), step.operands.a = place;
  asm_->steps.push_back(step);
  return step.operands.d;
}

// As ContractedCode (src/simt/front/ptx/contract.h) does.
bool Assembler::lower_sum(const ptx::Function& f, const ptx::Contraction& c) {
  const ptx::Instruction &sum = f.body[c.add], &product = f.body[c.product];
  const ptx::Mod type = sum.type(0);
  if (type != ptx::Mod::kF32 || c.moved) return fail("a product that is not contracted here");
  const auto operands = ptx::fused_operands(f, c);
  const auto found = ptx::find_fused(*asm_->module, f, c, product.opcode == ptx::Opcode::kDiv);
  if (!found) return fail(found.error());
  AsmStep step = guarded(sum);
  step.run = found->run;
  step.operands.d = place(operands[0], type);
  step.operands.a = place(operands[1], type);
  step.operands.b = place(operands[2], type);
  step.operands.c = place(operands[3], type);
  step.operands.small = found->small;
  step.operands.imm = found->imm;
  if (c.minus_product) step.operands.a = flipped(flip_sign, step.operands.a, 4);
  if (c.minus_addend) step.operands.c = flipped(flip_sign, step.operands.c, 4);
  asm_->steps.push_back(step);
  return !failed_;
}

bool Assembler::lower() {
  const ptx::Function& f = *asm_->module->functions()[0];
  for (const ptx::Register& r : f.registers) {
    uint32_t at = lanes::kNoRegister;
    for (size_t i = 0; i < names_.size() && at == lanes::kNoRegister; ++i) {
      if (r.name != names_[i]) continue;
      const size_t results = asm_->outputs.size();
      at = i < results ? asm_->outputs[i].place : asm_->inputs[i - results].place;
    }
    places_.push_back(at != lanes::kNoRegister
                          ? at
                          : asm_->reserve(static_cast<uint32_t>(std::max(1, ptx::bits(r.type) / 8))));
  }
  std::vector<ptx::Contraction> contractions;
  if (is_ours_ && l_.hardware().contract) contractions = ptx::contractions(f, true);
  std::vector<uint32_t> first_steps;
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    first_steps.push_back(static_cast<uint32_t>(asm_->steps.size()));
    const auto fused = std::ranges::find(contractions, i, &ptx::Contraction::add);
    const bool ok = fused == contractions.end() ? lower_instruction(f, f.body[i]) : lower_sum(f, *fused);
    if (!ok) return false;
  }
  first_steps.push_back(static_cast<uint32_t>(asm_->steps.size()));
  for (AsmStep& step : asm_->steps) {
    if (step.run) continue;
    step.to = first_steps[step.to];
    if (step.to < asm_->steps.size()) asm_->steps[step.to].is_target = true;
  }
  return true;
}

}  // namespace triton_runner::tile
