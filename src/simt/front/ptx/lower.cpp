// Implements Lowering: places for registers, constants and variables, and the walk over a function's
// instructions.
#include "front/ptx/lower.h"

#include <triton_runner/exec/tensor_map.h>

#include "front/ptx/frame.h"
#include "front/ptx/listing.h"
#include "front/ptx/matrices.h"
#include "front/ptx/special.h"
#include "launch/observe.h"
#include "launch/stop.h"
#include "matrix/mma.h"
#include "ops/control.h"

namespace triton_runner::simt {
namespace {

constexpr size_t kMaxInstructions = 4u << 20;              // with all calls inlined
constexpr uint64_t kMaxRegisterBytes = uint64_t{1} << 30;  // of a block

uint64_t aligned(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

exec::Param param_of(const ptx::Variable& v) {
  exec::Param p;
  p.name = std::string(v.name);
  p.type = "." + std::string(ptx::text(v.type));
  p.bits = static_cast<int>(std::min<uint64_t>(v.bytes, 8) * 8);
  p.is_signed = ptx::is_signed(v.type);
  p.kind = exec::ParamKind::kInteger;
  if (v.is_pointer) {
    p.kind = exec::ParamKind::kPointer;
    p.type = ".ptr";
  } else if (v.is_array && v.bytes == exec::kTensorMapBytes) {
    p.kind = exec::ParamKind::kTensorDesc;
    p.type = ".b8[128]";
  } else if (v.is_array) {
    p.type += "[" + std::to_string(v.bytes / std::max<uint64_t>(1, ptx::bits(v.type) / 8)) + "]";
  } else if (ptx::is_float(v.type)) {
    p.kind = exec::ParamKind::kFloat;
  }
  return p;
}

using Lower = bool (*)(Lowering&, const ptx::Instruction&);
constexpr Lower kLower[] = {
#define OP(name, text, forms, handler, ...) lower_##handler,
#include <triton_runner/ptx/opcodes.def>
};

}  // namespace

bool lower_UNSUPPORTED(Lowering& l, const ptx::Instruction& in) {
  if (in.opcode == ptx::Opcode::kUnknown) return l.unknown_opcode(in);
  return l.fail(in, "the engine does not execute '" + std::string(ptx::text(in.opcode)) + "'");
}

Lowering::Lowering(Code& to, const Program& program, base::Diagnostics& sink,
                   std::span<const exec::RegisterProbe> probes, exec::Stopper* stopper)
    : Emitter(to),
      module(*program.module),
      entry(*program.entry),
      contracts(program.contract),
      module_(program.module),
      sink_(sink),
      probes_(probes),
      stopper_(stopper),
      kept_(program.variables) {
  for (uint32_t p = 0; p < probes.size(); ++p) probes_at_[probes[p].instruction].push_back(p);
  activation_ = std::make_shared<Activation>();
}
Lowering::~Lowering() = default;

const ptx::Function& Lowering::function() const { return *frame_->function; }
const ptx::EarlyUses& Lowering::early_uses() const { return frame_->early; }

bool Lowering::fail(uint32_t offset, std::string message, std::vector<std::string> notes) {
  sink_.add(module.diagnostic(offset, std::move(message), std::move(notes)));
  return false;
}
bool Lowering::fail(const ptx::Instruction& in, std::string message, std::vector<std::string> notes) {
  return fail(in.offset, std::move(message), std::move(notes));
}

// A name that no row has: once, wherever it stands again.
bool Lowering::unknown_opcode(const ptx::Instruction& in) {
  const std::string name(in.spelling.substr(0, in.spelling.find('.')));
  if (!unknown_.insert(name).second) return true;  // the program is refused already
  std::vector<std::string> known, notes;
  for (const ptx::OpcodeRow& row : ptx::opcode_table())
    if (!row.text.empty()) known.emplace_back(row.text);
  for (const std::string& n : base::nearest_names(name, known)) notes.push_back("did you mean '" + n + "'?");
  return fail(in, "'" + name + "' is not a PTX opcode that the engine knows", notes);
}

uint32_t Lowering::reg(const ptx::Operand& operand) {
  if (operand.kind == ptx::OperandKind::kSink) return kNoRegister;
  if (operand.kind == ptx::OperandKind::kRegister) return used(frame_->places[operand.reg]);
  fail(operand.offset, "expected a register");
  return kNoRegister;
}

const ptx::Register& Lowering::declared(const ptx::Operand& operand) const {
  return frame_->function->registers[operand.reg];
}

uint32_t Lowering::place(const ptx::Operand& operand, ptx::Mod type) {
  const uint32_t bytes = std::max(1, ptx::bits(type) / 8);
  switch (operand.kind) {
    case ptx::OperandKind::kRegister:
      return used(frame_->places[operand.reg]);
    case ptx::OperandKind::kInteger:
    case ptx::OperandKind::kFloat:
      if (uint64_t bits; ptx::literal_bits(operand, type, &bits))
        return constant(type == ptx::Mod::kPred ? (bits ? 0xff : 0) : bits, bytes);
      fail(operand.offset, ptx::wrong_literal(operand, type));
      return kNoRegister;
    case ptx::OperandKind::kSpecial:
      return place_special(*this, operand.special, bytes);
    case ptx::OperandKind::kVariable: {
      const ptx::Variable& v = *operand.variable;
      const uint32_t width = bytes < 4 ? 8 : bytes;
      if (v.space == ptx::Space::kShared) {
        uint32_t place = temporary(width);
        code.constants.push_back(
            {place, width, shared_offset(v) + static_cast<uint64_t>(operand.integer), 0, Constant::kShared});
        return place;
      }
      uint32_t offset = 0;
      if (is_entry_param(v, &offset))
        return constant(kParamBase + offset + static_cast<uint64_t>(operand.integer), width);
      if (v.space == ptx::Space::kLocal || v.space == ptx::Space::kParam) {
        const uint64_t at = local_offset(v) + static_cast<uint64_t>(operand.integer);
        if (frame_place() == kNoRegister) return constant(at, width);
        Instr& i = emit_look(address_in_frame(width));
        i.d = temporary(width), i.a = frame_place(), i.imm = static_cast<int64_t>(at);
        return i.d;
      }
      auto it = global_addresses_.find(v.name);
      if (it != global_addresses_.end())
        return constant(it->second + static_cast<uint64_t>(operand.integer), width);
      fail(operand.offset, "the address of '" + std::string(v.name) +
                               "' is not known: it is declared .extern "
                               "and nothing defines it");
      return kNoRegister;
    }
    case ptx::OperandKind::kFunction:
      return constant(kFunctionWindow | function_index(module, *operand.function), 8);
    case ptx::OperandKind::kSink:
      fail(operand.offset, "'_' takes a result: it has no value to read");
      return kNoRegister;
    default:
      fail(operand.offset, "expected a register or a constant");
      return kNoRegister;
  }
}

bool Lowering::integer(const ptx::Operand& operand, int64_t* out) {
  if (operand.kind != ptx::OperandKind::kInteger) return fail(operand.offset, "expected a constant");
  *out = operand.integer;
  return true;
}

bool Lowering::address(const ptx::Operand& operand, Address* out) {
  const ptx::Operand* base = &operand;
  *out = {};
  if (operand.kind == ptx::OperandKind::kAddress) {
    if (operand.parts.empty()) return fail(operand.offset, "expected an address");
    base = &operand.parts[0];
    out->offset = operand.integer;
  }
  switch (base->kind) {
    case ptx::OperandKind::kRegister:
      out->place = used(frame_->places[base->reg]);
      out->bytes = static_cast<uint32_t>(ptx::bits(declared(*base).type)) / 8;
      if (out->bytes != 4 && out->bytes != 8)
        return fail(base->offset, "an address is a register of 32 or 64 bits");
      addresses_by(out->place);
      return true;
    case ptx::OperandKind::kVariable:
      out->variable = base->variable;
      out->offset =  // round 2^64, as addresses go
          static_cast<int64_t>(static_cast<uint64_t>(out->offset) + static_cast<uint64_t>(base->integer));
      return true;
    case ptx::OperandKind::kInteger:
      out->place = constant(static_cast<uint64_t>(base->integer), 8);
      return true;
    default:
      return fail(base->offset, "expected an address: a register, a variable or a number");
  }
}

uint32_t Lowering::shared_offset(const ptx::Variable& v) const {
  auto it = offsets_.find(&v);
  return it == offsets_.end() ? code.static_shared
                              : it->second;  // the open-ended one: what follows the others
}

uint32_t Lowering::local_offset(const ptx::Variable& v) const {
  for (const Frame* f = frame_; f; f = f->caller)
    if (auto it = f->locals.find(&v); it != f->locals.end()) return it->second;
  return 0;
}

bool Lowering::is_entry_param(const ptx::Variable& v, uint32_t* offset) const {
  const auto params = entry.params;
  if (&v < params.data() || &v >= params.data() + params.size()) return false;
  *offset = code.params[static_cast<size_t>(&v - params.data())].offset;
  return true;
}

void Lowering::addresses_by(uint32_t place) {
  if (current_) source(*current_)->addresses.push_back(place);
}

Source* Lowering::source(const ptx::Instruction& in) {
  Source*& found = sources_[&in];
  if (!found) found = &code.sources.emplace_back(source_of(in));
  return found;
}

Instr& Lowering::emit_look(Handler run) {
  Instr& in = emit(run);
  in.source = nullptr;
  return in;
}

Instr& Lowering::emit(Handler run) {
  Instr& in = code.instrs.emplace_back();
  in.run = run;
  if (current_) in.source = source(*current_);
  if (current_ && current_->guard >= 0) {
    in.guard = used(frame_->places[static_cast<size_t>(current_->guard)]);
    in.guard_flip = current_->guard_negated ? 0xff : 0;
  }
  return in;
}

// Offsets of shared variables, memory of global ones, offsets of parameters.
bool Lowering::lower_variables() {
  auto kept_address = [&](std::string_view name) -> const uint64_t* {
    if (!kept_) return nullptr;
    auto it = kept_->find(name);
    return it == kept_->end() ? nullptr : &it->second;
  };
  auto each_variable = [&](auto&& f) {
    for (const ptx::Variable& v : module.variables()) f(v);
    for (const ptx::Function* fn : module.functions())
      for (const ptx::Variable& v : fn->variables) f(v);
  };
  auto place_shared = [&](const ptx::Variable& v) {
    if (v.space != ptx::Space::kShared) return;
    if (v.is_extern || v.bytes == 0) {
      code.dynamic_shared = true;
      code.dynamic_align = std::max(code.dynamic_align, v.align);
      code.shared_variables.push_back({std::string(v.name), ~uint32_t{0}, 0});
      return;
    }
    code.static_shared = static_cast<uint32_t>(aligned(code.static_shared, std::max(v.align, 1u)));
    offsets_[&v] = code.static_shared;
    code.shared_variables.push_back(
        {std::string(v.name), code.static_shared, static_cast<uint32_t>(v.bytes)});
    code.static_shared += static_cast<uint32_t>(std::min<uint64_t>(v.bytes, kOffsetMask));
  };
  each_variable(place_shared);
  if (code.dynamic_shared)
    code.static_shared = static_cast<uint32_t>(aligned(code.static_shared, std::max(code.dynamic_align, 1u)));
  for (SharedVariable& v : code.shared_variables) v.at = std::min(v.at, code.static_shared);
  if (code.static_shared > max_shared_bytes(code.target))
    return fail(entry.offset, "the kernel declares " + std::to_string(code.static_shared) +
                                  " bytes of shared memory; a block of sm_" +
                                  std::to_string(code.capability) + " has at most " +
                                  std::to_string(max_shared_bytes(code.target)));
  auto place_global = [&](const ptx::Variable& v) {
    if (v.space != ptx::Space::kGlobal && v.space != ptx::Space::kConst) return;
    if (v.is_extern || v.bytes == 0) return;
    if (const uint64_t* kept = kept_address(v.name)) {
      global_addresses_[v.name] = *kept;
      code.globals.push_back({std::string(v.name), nullptr, *kept, v.bytes, v.space == ptx::Space::kGlobal});
      return;
    }
    auto bytes = std::make_unique<std::byte[]>(v.bytes + 256);
    auto start = reinterpret_cast<uintptr_t>(bytes.get());
    uint64_t at = aligned(start, std::max<uint64_t>(v.align, 16));
    auto* p = reinterpret_cast<std::byte*>(at);
    std::copy_n(v.initial.data(), std::min<size_t>(v.initial.size(), v.bytes), p);
    global_addresses_[v.name] = at;
    code.globals.push_back(
        {std::string(v.name), std::move(bytes), at, v.bytes, v.space == ptx::Space::kGlobal});
  };
  each_variable(place_global);
  auto address_of = [&](std::string_view symbol) -> std::optional<uint64_t> {
    if (auto it = global_addresses_.find(symbol); it != global_addresses_.end()) return it->second;
    for (const ptx::Function* fn : module.functions())
      if (fn->name == symbol) return kFunctionWindow | function_index(module, *fn);
    return std::nullopt;
  };
  each_variable([&](const ptx::Variable& v) {
    if (!global_addresses_.contains(v.name) || kept_address(v.name)) return;
    for (const auto& r : v.relocations) {
      const std::optional<uint64_t> address = address_of(r.symbol);
      if (!address) {
        fail(v.offset, "'" + std::string(v.name) + "' begins with the address of '" + std::string(r.symbol) +
                           "', which is neither a function nor a variable in global memory of this module");
        return;
      }
      if (r.offset + 8 > v.bytes) continue;
      uint64_t value = *address + static_cast<uint64_t>(r.addend);
      std::copy_n(reinterpret_cast<const std::byte*>(&value), 8,
                  reinterpret_cast<std::byte*>(global_addresses_[v.name] + r.offset));
    }
  });
  for (const ptx::Variable& v : entry.params) {
    code.param_bytes = static_cast<uint32_t>(aligned(code.param_bytes, std::max(v.align, 1u)));
    code.params.push_back({code.param_bytes, static_cast<uint32_t>(v.bytes), param_of(v)});
    code.param_bytes += static_cast<uint32_t>(v.bytes);
    if (code.param_bytes > 32768) return fail(v.offset, "the parameters take more than 32,764 bytes");
  }
  return true;
}

bool Lowering::reserve_local(const ptx::Variable& v, uint32_t* offset) {
  uint32_t& bytes = activation_->bytes;
  *offset = static_cast<uint32_t>(aligned(bytes, std::max(v.align, 1u)));
  if (v.bytes > (64u << 20) || *offset + v.bytes > (64u << 20))
    return fail(v.offset, "the kernel takes more than 64 MiB of local memory a thread");
  bytes = *offset + static_cast<uint32_t>(v.bytes);
  return true;
}

bool Lowering::lower_function(const ptx::Function& f, Frame& frame) {
  frame.function = &f;
  if (contracts) frame.contracted.emplace(f);
  frame.early = ptx::early_uses(f);
  if (f.registers.size() > kMaxRegisterBytes / 16 ||
      code.register_bytes + f.registers.size() * uint64_t{code.threads} * 4 > kMaxRegisterBytes)
    return fail(f.offset, "'" + std::string(f.name) + "' has " + std::to_string(f.registers.size()) +
                              " registers a thread with " + std::to_string(code.threads) +
                              " threads: more than the engine holds");
  for (const ptx::Register& r : f.registers.subspan(frame.places.size()))
    code.uses[frame.places.emplace_back(temporary(bytes_of(r.type)))] = {~uint32_t{0}, 0};
  for (const ptx::Variable& v : f.variables) {
    if (v.space != ptx::Space::kLocal && v.space != ptx::Space::kParam) continue;
    if (!reserve_local(v, &frame.locals[&v])) return false;
  }
  Frame* outer = frame_;
  const ptx::Instruction* outer_current = current_;
  frame_ = &frame;
  std::vector<uint32_t> starts;
  starts.reserve(f.body.size() + 1);
  const size_t first_fixup = fixups_.size();
  const std::vector<uint32_t> outer_used = std::exchange(used_, {});
  const uint32_t outer_start = start_;
  bool ok = true;
  for (const ptx::Instruction& in : f.body) {
    start_ = starts.emplace_back(static_cast<uint32_t>(code.instrs.size()));
    current_ = &in;
    const auto index = static_cast<uint32_t>(&in - f.body.data());
    emit_probes(frame, index, false);
    if (stopper_) emit_stop(frame, in);
    emit_early_uses(frame, index);
    size_t faults = sink_.list().size();
    const bool done = frame.contracted && frame.contracted->lower(*this, in, index);
    const bool lowered = done || kLower[static_cast<size_t>(in.opcode)](*this, in);
    if (!lowered && sink_.list().size() == faults)
      fail(in, "'" + std::string(ptx::text(in.opcode)) + "' cannot be executed as it is written");
    ok = ok && lowered && sink_.list().size() == faults;
    emit_probes(frame, index, true);
    end_uses();
    if (code.instrs.size() > kMaxInstructions)
      return fail(in, "the kernel is larger than the engine holds (" + std::to_string(kMaxInstructions) +
                          " instructions with all calls inlined)");
    if (sink_.list().size() > 8) break;
  }
  starts.resize(f.body.size() + 1, static_cast<uint32_t>(code.instrs.size()));
  current_ = nullptr;
  emit_probes(frame, static_cast<uint32_t>(f.body.size()), false);
  for (size_t i = first_fixup; i < fixups_.size(); ++i) {
    Fixup& fix = fixups_[i];
    if (fix.resolved) continue;
    fix.target = starts[std::min<size_t>(fix.target, f.body.size())];
    fix.resolved = true;
  }
  frame_ = outer;
  current_ = outer_current;
  used_ = outer_used;
  start_ = outer_start;
  return ok;
}

uint32_t Lowering::used(uint32_t place) {
  if (auto uses = code.uses.find(place); uses != code.uses.end()) {
    uses->second.begin = std::min(uses->second.begin, start_);
    used_.push_back(place);
  }
  return place;
}

void Lowering::end_uses() {
  for (const uint32_t place : used_) code.uses[place].end = static_cast<uint32_t>(code.instrs.size());
  used_.clear();
}

void Lowering::emit_probes(const Frame& frame, uint32_t instruction, bool after) {
  auto found = probes_at_.find(instruction);
  if (found == probes_at_.end()) return;
  for (uint32_t p : found->second) {
    const exec::RegisterProbe& probe = probes_[p];
    if (probe.after != after || probe.function != frame.function->name) continue;
    ProbePlace place{p, {}};
    for (uint32_t r : probe.registers)
      place.registers.emplace_back(frame.places[r], bytes_of(frame.function->registers[r].type));
    Instr& i = emit_look(handler<show_registers>);
    if (!after) i.guard = kNoRegister;
    i.data = code.keep(std::move(place));
  }
}

namespace {

num::Type type_of(ptx::Mod type) {
  if (type == ptx::Mod::kPred) return num::Type::kI1;
  const int bits = ptx::bits(type);
  if (ptx::is_float(type) && bits >= 32) return bits == 32 ? num::Type::kF32 : num::Type::kF64;
  return bits == 8    ? num::Type::kI8
         : bits == 16 ? num::Type::kI16
         : bits == 32 ? num::Type::kI32
                      : num::Type::kI64;
}

}  // namespace

void Lowering::emit_stop(Frame& frame, const ptx::Instruction& in) {
  if (!frame.registers) {
    StopRegisters all;
    for (size_t r = 0; r < frame.places.size(); ++r) {
      const ptx::Register& declared = frame.function->registers[r];
      if (ptx::bits(declared.type) <= 64)
        all.add(std::string(declared.name), frame.places[r], type_of(declared.type));
    }
    frame.registers = code.keep(std::move(all));
  }
  const std::string_view text = module.text().substr(in.offset, in.length);
  exec::InstructionSite site{
      &in, in.spelling, std::string(text), module.location(in.offset).line, frame.function->name, {}};
  for (const ptx::SourceLine* at = in.source; at && at->line; at = at->inlined_at)
    site.lines.push_back({std::string(at->file), static_cast<int>(at->line), static_cast<int>(at->column)});
  const uint32_t place = stopper_->add_place(site);
  if (place == exec::Stopper::kNowhere) return;
  Instr& i = emit_look(handler<stop_lanes>);
  i.guard = kNoRegister;
  i.data = code.keep(StopPlace{place, frame.registers});
}

void Lowering::emit_early_uses(const Frame& frame, uint32_t instruction) {
  const std::vector<ptx::EarlyUse>& uses = frame.early.uses;
  auto use = std::lower_bound(uses.begin(), uses.end(), instruction,
                              [](const ptx::EarlyUse& u, uint32_t i) { return u.use < i; });
  std::vector<const ptx::Instruction*> products;
  for (; use != uses.end() && use->use == instruction; ++use)
    products.push_back(&frame.function->body[use->product]);
  // A barrier's operands are looked at by the checks: it stays the first of its instructions.
  if (!products.empty() && !current_->does(ptx::Effect::kMeets)) lower_early_use(*this, products);
}

void Lowering::jump_to(uint32_t instr, uint32_t label) { fixups_.push_back({instr, nullptr, label, false}); }
void Lowering::table_entry(const Instr** entry, uint32_t label) {
  fixups_.push_back({0, entry, label, false});
}
void Lowering::jump_to_here(uint32_t instr) {
  fixups_.push_back({instr, nullptr, static_cast<uint32_t>(code.instrs.size()), true});
}
void Lowering::jump_to_end(uint32_t instr) { ends_.push_back({instr, nullptr, 0, false}); }

bool Lowering::is_inlined() const { return frame_->caller || routine_of_.contains(frame_->function); }

bool Lowering::lower_body(std::vector<uint32_t> places) {
  Frame frame;
  frame.places = std::move(places);
  return lower_function(entry, frame);
}

bool Lowering::lower_entry() {
  code.listing = listing_of(module_, entry);
  code.explicit_cluster = entry.explicit_cluster;
  if (!lower_variables() || !lower_routines()) return false;
  Frame frame;
  if (!lower_function(entry, frame)) return false;
  current_ = nullptr;
  emit(end_thread);  // a body that runs off its end, and the target of labels there
  if (sink_.has_errors()) return false;
  if (code.register_bytes > kMaxRegisterBytes)
    return fail(entry.offset, "the registers of a block take " + std::to_string(code.register_bytes >> 20) +
                                  " MiB: more than the engine holds");
  code.local_bytes = activation_->bytes;
  link_routines();
  fixups_.insert(fixups_.end(), table_ends_.begin(), table_ends_.end());
  for (const Fixup& fix : fixups_) {
    const Instr* target = &code.instrs[fix.target];
    code.targets.insert(fix.target);
    if (fix.entry)
      *fix.entry = target;
    else
      code.instrs[fix.instr].data = target;
  }
  join_products(code);
  return true;
}

uint64_t function_address(const ptx::Module& module, std::string_view name) {
  for (const ptx::Function* fn : module.functions())
    if (fn->name == name) return kFunctionWindow | function_index(module, *fn);
  return 0;
}

}  // namespace triton_runner::simt
