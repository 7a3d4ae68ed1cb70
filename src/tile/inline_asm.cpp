// tt.elementwise_inline_asm: the text is PTX whose $0, $1, ... are registers. It is parsed once, its
// instructions run as functions over the lanes of a register file of our own (ptx::find_alu), one lane an
// execution of the text: `packed_element` consecutive elements, those of less than 32 bits several a
// register.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include <triton_runner/ptx/alu.h>

#include "lowering.h"

namespace triton_runner::tile {
namespace {

constexpr uint32_t kLanes = 256;  // executions at a time

// One operand or result: its register, and how many elements of which size lie in it.
struct Port {
  uint32_t place = 0;     // of the register file
  uint32_t bytes = 4;     // of the register
  uint32_t value = 0;     // which result or operand of the op
  uint32_t element = 0;   // its first element, of those of an execution
  uint32_t elements = 1;  // in this register
};
struct Step {
  ptx::Handler run = nullptr;
  ptx::Operands operands;
  uint32_t guard = ptx::kNoRegister;
  int8_t flip = 0;
};
struct Fill {  // a register that holds one value in every lane; clock: the time in nanoseconds
  uint32_t place, bytes;
  uint64_t value;
  bool clock;
};
struct InlineAsm {
  std::shared_ptr<const ptx::Module> module;
  std::vector<Step> steps;
  std::vector<Fill> fills;
  std::vector<Port> inputs, outputs;
  uint32_t pack = 1;
  int64_t elements = 1;  // of a result
  size_t file_bytes = 64;

  uint32_t reserve(uint32_t bytes) {
    const auto at = static_cast<uint32_t>(file_bytes);
    file_bytes += size_t{kLanes} * (bytes < 1 ? 1 : bytes);
    return at;
  }
};

void fill(std::byte* at, uint32_t bytes, uint64_t value) {
  for (uint32_t i = 0; i < kLanes; ++i) std::memcpy(at + size_t{i} * bytes, &value, bytes < 8 ? bytes : 8);
}

const Instr* run_inline_asm(Task& t, const Instr& in) {
  const auto& a = in.as<InlineAsm>();
  std::vector<std::byte> memory(a.file_bytes + 64);
  std::byte* file = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
  for (const Fill& f : a.fills) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    fill(file + f.place, f.bytes, f.clock ? static_cast<uint64_t>(now.count()) : f.value);
  }
  bool scalar = !t.type(in.result()).is_tensor;
  std::vector<const std::byte*> from;
  std::vector<uint64_t> uniform(in.num_operands);
  for (uint32_t i = 0; i < in.num_operands; ++i) {
    uniform[i] = static_cast<uint64_t>(t.bits(in.operand(i)));
    from.push_back(t.is_uniform(in.operand(i)) ? nullptr
                                               : static_cast<const std::byte*>(t.dense(in.operand(i))));
  }
  std::vector<std::byte*> to;
  std::vector<uint64_t> scalars(in.num_results);
  for (uint32_t r = 0; r < in.num_results; ++r)
    to.push_back(scalar ? reinterpret_cast<std::byte*>(&scalars[r])
                        : static_cast<std::byte*>(t.new_dense(in.result(r))));

  const int64_t executions = (a.elements + a.pack - 1) / a.pack;
  std::vector<int8_t> mask(kLanes);
  for (int64_t first = 0; first < executions; first += kLanes) {
    const auto n = static_cast<uint32_t>(std::min<int64_t>(kLanes, executions - first));
    for (const Port& p : a.inputs) {
      const size_t size = t.type(in.operand(p.value)).size;
      std::byte* reg = file + p.place;
      for (uint32_t i = 0; i < n; ++i) {
        uint64_t value = 0;
        const int64_t at = (first + i) * a.pack + p.element;
        for (uint32_t e = 0; e < p.elements && at + e < a.elements; ++e) {
          uint64_t one = 0;
          std::memcpy(&one,
                      from[p.value] ? from[p.value] + static_cast<size_t>(at + e) * size
                                    : reinterpret_cast<const std::byte*>(&uniform[p.value]),
                      size);
          value |= one << (8 * size * e);
        }
        std::memcpy(reg + size_t{i} * p.bytes, &value, p.bytes);
      }
    }
    ptx::Lanes lanes;
    lanes.regs = file;
    lanes.count = (n + 31) & ~31u;
    for (const Step& s : a.steps) {
      if (s.guard != ptx::kNoRegister) {
        const auto* guard = reinterpret_cast<const int8_t*>(file + s.guard);
        for (uint32_t i = 0; i < lanes.count; ++i) mask[i] = static_cast<int8_t>(guard[i] ^ s.flip);
        lanes.mask = mask.data();
      }
      s.run(lanes, s.operands);
      lanes.mask = nullptr;
    }
    for (const Port& p : a.outputs) {
      const size_t size = t.type(in.result(p.value)).size;
      const std::byte* reg = file + p.place;
      for (uint32_t i = 0; i < n; ++i) {
        const int64_t at = (first + i) * a.pack + p.element;
        for (uint32_t e = 0; e < p.elements && at + e < a.elements; ++e)
          std::memcpy(to[p.value] + static_cast<size_t>(at + e) * size, reg + size_t{i} * p.bytes + e * size,
                      size);
      }
    }
  }
  if (scalar)
    for (uint32_t r = 0; r < in.num_results; ++r) t.set_uniform_from(in.result(r), &scalars[r]);
  return next(in);
}

void flip_predicate(ptx::Lanes& l, const ptx::Operands& o) {
  const auto* a = l.reg<int8_t>(o.a);
  auto* d = l.reg<int8_t>(o.d);
  for (uint32_t i = 0; i < l.count; ++i) d[i] = static_cast<int8_t>(~a[i]);
}

// From an op to its InlineAsm; `error` says what it cannot run.
class Assembler {
 public:
  Assembler(Lowering& l, const ir::Op& op) : l_(l), op_(op) {}

  bool run() {
    asm_ = l_.make<InlineAsm>();
    return read_ports() && parse() && lower();
  }
  InlineAsm* asm_ = nullptr;

 private:
  bool fail(std::string message, std::vector<std::string> notes = {}) {
    l_.error(op_, std::move(message), std::move(notes));
    return false;
  }
  bool fail(const base::Diagnostic& d) {
    std::vector<std::string> notes = d.notes;
    if (!d.source_line.empty()) notes.insert(notes.begin(), "in: " + d.source_line);
    return fail("inline assembly, line " + std::to_string(d.location.line) + ": " + d.message,
                std::move(notes));
  }
  std::string string_attr(std::string_view name) const {
    const ir::Attr* a = op_.attr(name);
    return a ? std::string(a->string) : "";
  }
  bool read_ports();
  bool add_ports(std::string_view constraint, bool is_result, uint32_t value, uint32_t& element);
  bool parse();
  bool lower();
  bool lower_instruction(const ptx::Function& f, const ptx::Instruction& in);
  uint32_t constant(uint64_t value, uint32_t bytes, bool clock = false);
  uint32_t place(const ptx::Operand& o, ptx::Mod type);

  Lowering& l_;
  const ir::Op& op_;
  std::vector<ptx::Register> registers_;
  std::vector<std::string> names_;
  std::vector<uint32_t> ties_;    // by constraint: which port's register it is
  std::vector<uint32_t> places_;  // by register of the parsed function
  uint32_t carry_ = ptx::kNoRegister;
  bool failed_ = false;
};

// "=r,=r,r,l": results first. A constraint stands for one register.
bool Assembler::read_ports() {
  std::vector<std::string> list;
  for (std::string text = string_attr("constraints"); !text.empty();) {
    const size_t comma = text.find(',');
    std::string one = text.substr(0, comma);
    text = comma == std::string::npos ? "" : text.substr(comma + 1);
    std::erase_if(one, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
    if (!one.empty() && one[0] != '~') list.push_back(one);  // ~{memory}: what is clobbered
  }
  const int64_t pack = op_.int_attr("packed_element", 1);
  if (pack < 1 || pack > 64)
    return fail("packed_element = " + std::to_string(pack) + " is not a number of elements");
  asm_->pack = static_cast<uint32_t>(pack);
  const TileType* first = l_.type_of(l_.slot(op_.result()));
  asm_->elements = first->n;
  size_t at = 0;
  auto side = [&](bool is_result, uint32_t count) {
    for (uint32_t value = 0; value < count; ++value)
      for (uint32_t element = 0; element < asm_->pack; ++at) {
        if (at >= list.size()) return fail("there are more operands and results than constraints");
        if ((list[at][0] == '=') != is_result)
          return fail("constraint " + std::to_string(at) + ", '" + list[at] + "', should be that of " +
                      (is_result ? "a result" : "an operand"));
        if (!add_ports(list[at], is_result, value, element)) return false;
      }
    return true;
  };
  if (!side(true, static_cast<uint32_t>(op_.results.size())) ||
      !side(false, static_cast<uint32_t>(op_.num_operands())))
    return false;
  if (at != list.size()) return fail("there are more constraints than operands and results");
  return true;
}

bool Assembler::add_ports(std::string_view constraint, bool is_result, uint32_t value, uint32_t& element) {
  const TileType* type = l_.type_of(l_.slot(is_result ? op_.result(value) : op_.operand(value)));
  if (type->n != asm_->elements || type->size == 0)
    return fail("operands and results must be tensors of one shape");
  const std::string_view letters =
      is_result ? constraint.substr(constraint.starts_with("=&") ? 2 : 1) : constraint;
  Port p;
  ptx::Mod reg = ptx::Mod::kNone;
  uint32_t tied = ~0u;
  if (letters == "r" || letters == "f") {
    reg = letters == "f" ? ptx::Mod::kF32 : ptx::Mod::kB32, p.bytes = 4;
  } else if (letters == "l" || letters == "d") {
    reg = letters == "d" ? ptx::Mod::kF64 : ptx::Mod::kB64, p.bytes = 8;
  } else if (letters == "h" || letters == "c") {
    reg = ptx::Mod::kB16, p.bytes = 2;
  } else if (!is_result && !letters.empty() &&
             letters.find_first_not_of("0123456789") == std::string_view::npos) {
    for (char c : letters) tied = (tied == ~0u ? 0 : tied * 10) + static_cast<uint32_t>(c - '0');
    if (tied >= asm_->outputs.size())
      return fail("constraint '" + std::string(constraint) + "' names no result");
    p.bytes = asm_->outputs[tied].bytes;
  } else {
    return fail("the constraint '" + std::string(constraint) + "' is not known",
                {"r, f: 32 bits; l, d: 64; h: 16"});
  }
  p.value = value, p.element = element;
  if (type->size < p.bytes) p.elements = std::min(asm_->pack - element, p.bytes / type->size);
  if (type->size > p.bytes)
    return fail("constraint '" + std::string(constraint) + "' has fewer bits than an element");
  element += p.elements;
  p.place = tied == ~0u ? asm_->reserve(p.bytes) : asm_->outputs[tied].place;
  names_.push_back("asm_operand_" + std::to_string(names_.size()));
  ties_.push_back(tied);
  registers_.push_back({{}, reg});
  (is_result ? asm_->outputs : asm_->inputs).push_back(p);
  return true;
}

bool Assembler::parse() {
  std::vector<ptx::Register> given;
  for (size_t i = 0; i < names_.size(); ++i)
    if (ties_[i] == ~0u) given.push_back({names_[i], registers_[i].type});
  const std::string text = string_attr("asm_string");
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

uint32_t Assembler::constant(uint64_t value, uint32_t bytes, bool clock) {
  const uint32_t at = asm_->reserve(bytes);
  asm_->fills.push_back({at, bytes, value, clock});
  return at;
}

uint32_t Assembler::place(const ptx::Operand& o, ptx::Mod type) {
  const auto bytes = static_cast<uint32_t>(std::max(1, ptx::bits(type) / 8));
  switch (o.kind) {
    case ptx::OperandKind::kRegister:
      return places_[o.reg];
    case ptx::OperandKind::kSink:
      return ptx::kNoRegister;
    case ptx::OperandKind::kInteger:
      return constant(static_cast<uint64_t>(o.integer), bytes);
    case ptx::OperandKind::kFloat: {
      uint64_t bits = static_cast<uint64_t>(o.integer);
      const bool wide = ptx::bits(type) == 64;
      if (o.is_wide && !wide) {
        const auto narrow = static_cast<float>(std::bit_cast<double>(bits));
        bits = std::bit_cast<uint32_t>(narrow);
      } else if (!o.is_wide && wide) {
        bits =
            std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
      }
      return constant(bits, bytes);
    }
    case ptx::OperandKind::kSpecial: {
      const std::string_view name = ptx::text(o.special);
      if (name == "%globaltimer" || name == "%clock64" || name == "%clock" || name == "%globaltimer_lo")
        return constant(0, bytes, true);
      if (name == "%smid") return constant(0, bytes);  // one multiprocessor, as it were
      failed_ = true;
      fail("inline assembly reads " + std::string(name) + ", which the tile engine does not have",
           {"the tile engine runs whole tiles, not threads: run the kernel at level ptx"});
      return ptx::kNoRegister;
    }
    default:
      failed_ = true;
      fail("inline assembly has an operand that is no register and no number");
      return ptx::kNoRegister;
  }
}

bool Assembler::lower_instruction(const ptx::Function& f, const ptx::Instruction& in) {
  const ptx::OpcodeRow& row = ptx::row(in.opcode);
  if (row.handler != "alu" && row.handler != "move") {
    const base::Diagnostic d =
        asm_->module->diagnostic(in.offset, "'" + std::string(in.spelling) +
                                                "' is not executed in inline assembly of the tile engine");
    std::vector<std::string> notes{
        "it executes arithmetic on registers; run the kernel at level ptx for the rest"};
    notes.insert(notes.end(), d.notes.begin(), d.notes.end());
    return fail("inline assembly, line " + std::to_string(d.location.line) + ": " + d.message,
                std::move(notes));
  }
  auto found = ptx::find_alu(*asm_->module, f, in);
  if (!found) return fail(found.error());
  const auto operands = ptx::flattened(in);
  Step step;
  if (in.guard >= 0)
    step.guard = places_[static_cast<size_t>(in.guard)], step.flip = in.guard_negated ? -1 : 0;
  auto at = [&](int8_t which, ptx::Mod type) {
    if (which == ptx::Alu::kCarry) return carry_ == ptx::kNoRegister ? carry_ = asm_->reserve(1) : carry_;
    if (which < 0) return ptx::kNoRegister;
    const ptx::Operand& o = *operands[static_cast<size_t>(which)];
    const uint32_t value = place(o, type);
    if (!o.negated || value == ptx::kNoRegister) return value;
    Step flip;
    flip.run = flip_predicate;
    flip.operands.d = asm_->reserve(1), flip.operands.a = value;
    asm_->steps.push_back(flip);
    return flip.operands.d;
  };
  step.run = found->run;
  step.operands.d = at(found->operands[0], found->types[0]);
  step.operands.a = at(found->operands[1], found->types[1]);
  step.operands.b = at(found->operands[2], found->types[2]);
  step.operands.c = at(found->operands[3], found->types[3]);
  step.operands.e = at(found->operands[4], found->types[4]);
  step.operands.small = found->small;
  step.operands.imm = found->extra == ptx::Alu::kNoOperand ? found->imm : at(found->extra, ptx::Mod::kPred);
  asm_->steps.push_back(step);
  return !failed_;
}

bool Assembler::lower() {
  const ptx::Function& f = *asm_->module->functions()[0];
  for (const ptx::Register& r : f.registers) {
    uint32_t at = ptx::kNoRegister;
    for (size_t i = 0; i < names_.size() && at == ptx::kNoRegister; ++i) {
      if (r.name != names_[i]) continue;
      const size_t results = asm_->outputs.size();
      at = i < results ? asm_->outputs[i].place : asm_->inputs[i - results].place;
    }
    places_.push_back(at != ptx::kNoRegister
                          ? at
                          : asm_->reserve(static_cast<uint32_t>(std::max(1, ptx::bits(r.type) / 8))));
  }
  for (const ptx::Instruction& in : f.body)
    if (!lower_instruction(f, in)) return false;
  return true;
}

}  // namespace

void lower_inline_asm(Lowering& l, const ir::Op& op) {
  Assembler assembler(l, op);
  if (assembler.run()) l.emit(run_inline_asm, op, assembler.asm_);
}

}  // namespace triton_runner::tile
