// Makes a program for the replay out of machine code and the chip's parameters: each instruction's pipe,
// interval and latency.
#include "program.h"

#include <algorithm>
#include <charconv>

#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/opcode.h>

namespace triton_runner::replay {
namespace {

using sass::Instruction;

bool is_any(const Instruction& in, std::initializer_list<sass::Opcode> opcodes) {
  return std::any_of(opcodes.begin(), opcodes.end(), [&](sass::Opcode opcode) { return in.is(opcode); });
}

Pipe pipe_of(std::string_view name) {
  constexpr std::pair<std::string_view, Pipe> kPipes[] = {
      {"FMA", kFma}, {"FMAHEAVY", kFmaHeavy}, {"ALU", kAlu},      {"FP16", kFp16}, {"FP64", kFp64},
      {"XU", kXu},   {"UNIFORM", kUniform},   {"TENSOR", kTensor}};
  for (const auto& [text, pipe] : kPipes)
    if (text == name) return pipe;
  return kNoPipe;
}

double interval_of(Pipe pipe, const Parameters& chip) {
  const double of[] = {chip.fma_interval,  chip.fmaheavy_interval, chip.alu_interval,    chip.fp16_interval,
                       chip.fp64_interval, chip.xu_interval,       chip.uniform_interval};
  return pipe < kTensor ? of[pipe] : 0;
}

// Operations of a part of the SM in a cycle.
double rate_of(std::string_view type, bool is_group, const Parameters& chip) {
  if (type == "f64") return chip.dmma;
  if (type == "tf32") return is_group ? chip.gmma_tf32 : chip.hmma_tf32;
  if (type == "f16") return is_group ? chip.gmma_f16 : chip.hmma_f16;
  return is_group ? chip.gmma_8bit : chip.hmma_8bit;
}

// Bytes of shared memory that a product of a warp group reads for one of its four warps: B, which all of them read, and its rows of A.
double operand_bytes(const Instruction& in) {
  uint32_t n = 0, k = 0;
  for (std::string_view mod : in.mods)
    if (mod.starts_with("64x")) {
      const auto at = std::from_chars(mod.data() + 3, mod.data() + mod.size(), n);
      std::from_chars(at.ptr + 1, mod.data() + mod.size(), k);
    }
  const uint32_t bytes = sass::product_of(in).bits / 8;
  // D, then A where it is in registers.
  const bool has_registers = in.operands.size() > 1 && in.operands[1].kind == sass::OperandKind::kRegister;
  return (double{1.0} * n * k + (has_registers ? 0 : 64.0 * k)) * bytes / 4;
}

uint8_t scoreboard_in(const Instruction& in) {
  for (const sass::Operand& o : in.operands)
    if (o.kind == sass::OperandKind::kName && o.text.starts_with("SB") && o.text.size() > 2)
      return static_cast<uint8_t>(o.text[2] - '0');
  return 7;
}

uint8_t last_number(const Instruction& in) {
  for (auto o = in.operands.rbegin(); o != in.operands.rend(); ++o)
    if (o->kind == sass::OperandKind::kInteger) return static_cast<uint8_t>(o->integer);
  return 0;
}

void give_request(Op& op, const Instruction& in, const sass::Work& work, const Parameters& chip) {
  op.kind = work.access == "copy" ? Kind::kThreadCopy : Kind::kRequest;
  op.pipe = kLsu, op.interval = chip.lsu_interval;
  op.stores = work.access == "store" || work.access == "reduction";
  op.updates = work.access == "atomic" || work.access == "reduction";
  op.bypasses = in.has("BYPASS") || in.has("STRONG");
  op.latency = op.updates && work.space == "shared" ? chip.shared_atomic_latency : chip.shared_latency;
  if (work.space != "shared") op.cause = Reason::k_long_scoreboard;
}

void give_tensor(Op& op, const Instruction& in, const sass::Work& work, const Parameters& chip) {
  const bool is_group = sass::product_of(in).of_group;
  op.kind = is_group ? Kind::kGroupProduct : Kind::kProduct;
  const double sparse = in.has("SP") ? 0.5 : 1;
  op.interval =
      static_cast<double>(work.matrix_operations) * sparse / rate_of(work.matrix_type, is_group, chip);
  op.latency = is_group ? chip.gmma_latency : chip.hmma_latency;
  op.cause = Reason::k_gmma;
  if (!is_group) return;
  op.interval = std::max(op.interval, operand_bytes(in) * 4 / chip.shared_bytes);
  for (const sass::Operand& o : in.operands) op.commits |= o.text.find("gsb0") != std::string_view::npos;
}

void give_kind(Op& op, const Instruction& in, const sass::Work& work, const Parameters& chip) {
  using enum sass::Opcode;
  op.pipe = pipe_of(work.pipe);
  op.interval = interval_of(op.pipe, chip);
  op.latency = op.pipe == kXu                               ? chip.xu_latency
               : op.pipe == kFp64                           ? chip.fp64_latency
               : is_any(in, {kS2R, kS2UR, kCS2R, kCS2R_32}) ? chip.special_latency
                                                            : chip.shuffle_latency;
  if (op.write != 7) op.kind = Kind::kVariable;
  if (op.pipe == kTensor && work.matrix_operations) return give_tensor(op, in, work, chip);
  if (work.space == "tma") {
    op.kind = Kind::kBulkCopy, op.cause = Reason::k_long_scoreboard;
    op.stores = sass::leaves_shared(in);
  } else if (!work.access.empty()) {
    give_request(op, in, work, chip);
  } else if (in.is(kSHFL)) {
    op.pipe = kLsu, op.interval = chip.lsu_interval;
  } else if (is_any(in, {kLDC, kULDC, kLDCU})) {
    op.kind = Kind::kConstant, op.latency = chip.constant_latency;
    for (const sass::Operand& o : in.operands)
      if (o.kind == sass::OperandKind::kConstant)
        op.constant = 1 + o.bank * 4096 + static_cast<uint32_t>(o.integer) / 64;
  } else if (is_any(in, {kLDGDEPBAR, kUTMACMDFLUSH})) {
    op.kind = Kind::kCommit, op.cause = Reason::k_long_scoreboard, op.stores = in.is(kUTMACMDFLUSH);
  } else if (is_any(in, {kDEPBAR, kDEPBAR_LE})) {
    op.kind = Kind::kGroups, op.group_barrier = scoreboard_in(in), op.groups = last_number(in);
  } else if (in.is(kBAR)) {
    op.kind = Kind::kBarrier, op.arrives_only = in.has("ARV");
  } else if (in.does(ptx::Effect::kObjects) && !in.is(kARRIVES)) {
    op.kind = Kind::kObject, op.latency = chip.mbarrier_latency;
  } else if (in.is(kWARPGROUP_DEPBAR)) {
    op.kind = Kind::kGroupWait, op.groups = last_number(in);
  } else if (in.is(kWARPGROUP_ARRIVE)) {
    op.kind = Kind::kGroupArrive;
  } else if (in.is(kMEMBAR)) {
    op.kind = Kind::kFence, op.latency = in.has("CTA") ? 0 : chip.fence_latency;
  }
}

}  // namespace

std::vector<Op> program_of(const sass::Function& function, const Parameters& chip) {
  std::vector<Op> out;
  for (const Instruction& in : function.body) {
    Op& op = out.emplace_back();
    const sass::Control& c = in.control;
    op.stall = std::max<uint8_t>(1, c.stall), op.write = c.write_barrier, op.read = c.read_barrier;
    op.wait = c.wait_mask;
    give_kind(op, in, sass::work_of(in), chip);
    // An operand in constant memory.
    for (const sass::Operand& o : in.operands)
      if (o.kind == sass::OperandKind::kConstant && !op.constant)
        op.constant = 1 + o.bank * 4096 + static_cast<uint32_t>(o.integer) / 64;
  }
  return out;
}

}  // namespace triton_runner::replay
