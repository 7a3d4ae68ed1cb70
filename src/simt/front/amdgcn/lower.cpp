// Walks over a kernel's instructions: what its registers hold at the start, guards, and what each row says.
#include "front/amdgcn/lower.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/amdgcn/facts.h>

#include "async/copy.h"
#include "check/host.h"
#include "front/amdgcn/handlers.h"
#include "front/amdgcn/listing.h"
#include "ops/control.h"
#include "ops/move.h"

namespace triton_runner::simt {
namespace {

using enum lanes::Type;
using enum num::Comparison;
using Op = lanes::Operation;
using lanes::Operation;
using enum lanes::Variant;

constexpr uint64_t kMaxRegisterBytes = uint64_t{1} << 30;  // of a block

enum class How : uint8_t {
  kLanes,
  kFloat,
  kReversed,
  kFloatReversed,
  kLogic,
  kCompare,
  kEach,
  kEachScc,
  kEachMask,
  kLower
};
struct Rule {
  How how;
  Operation operation = Op::kNone;
  lanes::Type type = lanes::Type::kNone;
  uint32_t variant = 0;
  num::Comparison comparison = kCmpEq;
  bool (*lower)(AmdLowering&) = nullptr;
};
constexpr Rule rule(How how, Operation op, lanes::Type type, uint32_t variant = 0) {
  return {how, op, type, variant, kCmpEq, nullptr};
}
constexpr Rule kRules[] = {
#define OP(name, operands, how) how,
#define LANES(op, ...) rule(How::kLanes, Op::op, __VA_ARGS__)
#define FLOAT(op, ...) rule(How::kFloat, Op::op, __VA_ARGS__)
#define REVERSED(op, ...) rule(How::kReversed, Op::op, __VA_ARGS__)
#define FLOAT_REVERSED(op, ...) rule(How::kFloatReversed, Op::op, __VA_ARGS__)
#define LOGIC(op, ...) rule(How::kLogic, Op::op, __VA_ARGS__)
#define COMPARE(c, t) \
  Rule { How::kCompare, Op::kSetp, t, 0, c }
#define EACH(f) \
  Rule { How::kEach }
#define EACH_SCC(f) \
  Rule { How::kEachScc }
#define EACH_MASK(f) \
  Rule { How::kEachMask }
#define LOWER(f) \
  Rule { How::kLower, Op::kNone, lanes::Type::kNone, 0, kCmpEq, amd::lower_##f }
#include <triton_runner/amdgcn/opcodes.def>
};

// With clamp a sum of integers stays within its bits (of floats it is a step after the operation). Null: no such operation is known.
Handler clamped_handler(const amdgcn::Instruction& in) {
  switch (in.row->opcode) {
    case amdgcn::Opcode::k_v_add_u32:
      return saturated_sum(false, false, 32);
    case amdgcn::Opcode::k_v_add_i32:
      return saturated_sum(false, true, 32);
    case amdgcn::Opcode::k_v_sub_u32:
      return saturated_sum(true, false, 32);
    case amdgcn::Opcode::k_v_subrev_u32:
      return saturated_sum(true, false, 32);
    case amdgcn::Opcode::k_v_subrev_u16:
      return saturated_sum(true, false, 16);
    case amdgcn::Opcode::k_v_sub_i32:
      return saturated_sum(true, true, 32);
    case amdgcn::Opcode::k_v_add_u16:
      return saturated_sum(false, false, 16);
    case amdgcn::Opcode::k_v_add_i16:
      return saturated_sum(false, true, 16);
    case amdgcn::Opcode::k_v_sub_u16:
      return saturated_sum(true, false, 16);
    case amdgcn::Opcode::k_v_sub_i16:
      return saturated_sum(true, true, 16);
    case amdgcn::Opcode::k_v_pk_add_u16:
      return saturated_sum(false, false, 0);
    case amdgcn::Opcode::k_v_pk_add_i16:
      return saturated_sum(false, true, 0);
    case amdgcn::Opcode::k_v_pk_sub_u16:
      return saturated_sum(true, false, 0);
    case amdgcn::Opcode::k_v_pk_sub_i16:
      return saturated_sum(true, true, 0);
    default:
      break;
  }
  return nullptr;
}

// Minima and maxima of floats, which out of IEEE mode do not make a signaling NaN quiet.
bool depends_on_ieee(std::string_view name) {
  const bool extreme =
      name.find("_min") != name.npos || name.find("_max") != name.npos || name.find("_med3") != name.npos;
  const bool of_floats = name.ends_with("_f16") || name.ends_with("_f32") || name.ends_with("_f64");
  return extreme && of_floats && name.starts_with("v_") && name.find("imum") == name.npos;
}

// FP16_OVFL: which operations may give a half that is too large, and which of those are not known with it.
bool may_overflow(amdgcn::Opcode opcode, bool* is_known) {
  using enum amdgcn::Opcode;
  *is_known = true;
  switch (opcode) {
    case k_v_add_f16:
    case k_v_sub_f16:
    case k_v_subrev_f16:
    case k_v_mul_f16:
    case k_v_fma_f16:
    case k_v_fmaak_f16:
    case k_v_cvt_f16_f32:
      return true;
    default:
      break;
  }
  *is_known = false;
  switch (opcode) {
    case k_v_pk_add_f16:
    case k_v_pk_mul_f16:
    case k_v_pk_fma_f16:
    case k_v_ldexp_f16:
    case k_v_exp_f16:
    case k_v_rcp_f16:
    case k_v_div_fixup_f16:
    case k_v_cvt_f16_u16:
    case k_v_wmma_f16_16x16x16_f16:
      return true;
    default:
      return false;
  }
}

void fill_block(Exec& x, const Operands& in) {  // d: the number of the block along axis `small`
  std::fill_n(x.reg<uint32_t>(in.d), x.count, x.cta->id[in.small]);
}
void fill_packed(Exec& x, const Operands& in) {  // ttmp7: y, and z above it
  std::fill_n(x.reg<uint32_t>(in.d), x.count, (x.cta->id[1] & 0xffff) | x.cta->id[2] << 16);
}
void fill_kernarg(Exec& x, const Operands& in) {  // d, e: the address of the kernel's arguments
  const uint64_t at = param_address(x, kParamBase);
  std::fill_n(x.reg<uint32_t>(in.d), x.count, static_cast<uint32_t>(at));
  std::fill_n(x.reg<uint32_t>(in.e), x.count, static_cast<uint32_t>(at >> 32));
}
void begin_exec(Lanes& l, const Operands& in) {
  for (uint32_t i = 0; i < l.count; ++i) l.reg<int8_t>(in.d)[i] = l.on(i) ? -1 : 0;
}

}  // namespace

AmdLowering::AmdLowering(Code& to, std::shared_ptr<const amdgcn::Module> module, const amdgcn::Kernel& from,
                         base::Diagnostics& sink, std::span<const exec::RegisterProbe> probes,
                         exec::Stopper* stopper)
    : Emitter(to),
      kernel(from),
      is_rdna(!module->target().starts_with("gfx9")),
      generation(amdgcn::generation_of(module->target())),
      module_(std::move(module)),
      sink_(sink),
      probes_(probes),
      stopper_(stopper) {
  for (uint32_t p = 0; p < probes.size(); ++p) probes_at_.emplace(probes[p].instruction, p);
  code.listing = amdgcn_listing(module_);
}

bool AmdLowering::fail(std::string message, std::vector<std::string> notes) {
  sink_.add(module_->diagnostic(in_ ? in_->offset : 0, std::move(message), std::move(notes)));
  return false;
}

Instr& AmdLowering::emit(Handler run) {
  Instr& i = code.instrs.emplace_back();
  i.run = run;
  i.guard = guard_;
  i.source = source_;
  return i;
}

bool AmdLowering::lanes(Operation operation, lanes::Type type, const Operands& operands, uint32_t variant) {
  const Handler run = lanes::find(operation, type, lanes::Type::kNone, variant);
  return run && emit(run, operands);
}

bool AmdLowering::compare(num::Comparison comparison, lanes::Type type, uint32_t d, uint32_t a, uint32_t b) {
  const auto c = static_cast<uint32_t>(comparison);
  const Handler run = lanes::find(Op::kSetp, type, lanes::Type::kNone, c << lanes::kComparisonShift);
  return run && emit(run, {.d = d, .a = a, .b = b, .small = c});
}

void AmdLowering::keep_finite(uint32_t d, uint32_t a, uint32_t b, uint32_t c, uint32_t bytes) {
  if (saturates) emit(amd::keep_finite, {.d = d, .a = a, .b = b, .c = c, .small = bytes});
}

uint32_t AmdLowering::both(uint32_t a, uint32_t b) {
  const uint32_t out = scratch(1), saved = guard_;
  unguarded();
  lanes(Op::kAnd, kPred, {.d = out, .a = a, .b = b});
  guard_ = saved;
  return out;
}

void AmdLowering::guard_by(uint32_t predicate) {
  guard_ = is_exec_full_ ? predicate : both(exec_, predicate);
}

void AmdLowering::jump_to(std::string_view label) {
  jumps_.emplace_back(static_cast<uint32_t>(code.instrs.size()), label);
  emit(branch);
}

// The hardware puts these into registers before the first instruction: LLVM's AMDGPU user guide, "Initial Kernel Execution State".
void AmdLowering::begin_registers() {
  exec_ = temporary(1);
  unguarded();
  emit(begin_exec, {.d = exec_});
  const uint32_t always = constant(0xff, 1);
  emit(amd::steps().pack_mask, {.d = scalar(amdgcn::kExecLo),
                                .a = exec_,
                                .b = always,
                                .e = code.width == 64 ? scalar(amdgcn::kExecHi) : kNoRegister,
                                .small = code.width});
  uint32_t next = 0;
  const auto asks = [&](std::string_view what) { return kernel.directive(what) != 0; };
  if (asks("user_sgpr_private_segment_buffer")) next += 4;
  if (asks("user_sgpr_dispatch_ptr")) next += 2;
  if (asks("user_sgpr_queue_ptr")) next += 2;
  if (asks("user_sgpr_kernarg_segment_ptr")) {
    emit<fill_kernarg>({.d = scalar(next), .e = scalar(next + 1)});
    next += 2;
  }
  // Arguments that are preloaded are loaded by the first instructions, too, for firmware that does not.
  next = std::max(next, static_cast<uint32_t>(kernel.directive("user_sgpr_count", next)));
  if (generation >= 12) {
    emit<fill_block>({.d = scalar(108 + 9), .small = 0});
    emit<fill_packed>({.d = scalar(108 + 7)});
    const uint32_t waves =
        thread_constant(2, 4, [this](uint32_t t) { return uint64_t{t / code.width} << 25; });
    emit(copy_register(4), {.d = scalar(108 + 8), .a = waves});
  } else {
    static constexpr std::string_view kAxes[] = {"system_sgpr_workgroup_id_x", "system_sgpr_workgroup_id_y",
                                                 "system_sgpr_workgroup_id_z"};
    for (uint32_t d = 0; d < 3; ++d)
      if (kernel.directive(kAxes[d], d == 0)) emit<fill_block>({.d = scalar(next++), .small = d});
  }
  // The thread's number along each axis, ten bits each.
  const auto [x, y, z] = code.block;
  const uint32_t threads = thread_constant(
      0, 4, [x = x, y = y](uint32_t t) { return uint64_t{t % x | (t / x % y) << 10 | (t / x / y) << 20}; });
  emit(copy_register(4), {.d = vector(0), .a = threads});
}

bool AmdLowering::lower(const amdgcn::Instruction& in) {
  in_ = &in;
  auto matched = amdgcn::match(*module_, in, code.width);
  if (!matched) {
    sink_.add(matched.error());
    return false;
  }
  matched_ = *matched;
  for (const auto& [bytes, place] : used_) free_.emplace(bytes, place);
  used_.clear();
  given_.clear();
  source_ = &code.sources.emplace_back(source_of(in));
  source_->index = number_;
  if (amdgcn::is_first_guess(kernel, number_)) source_->access = Source::Access::kAtomic;
  const bool is_vector = name().starts_with("v_") && !name().starts_with("v_s_");
  guard_ = is_vector ? exec_guard() : kNoRegister;
  const Rule& rule = kRules[static_cast<size_t>(in.row->opcode)];
  const size_t faults = sink_.list().size();
  bool done = false, is_known = true;
  const bool keeps_finite = saturates && may_overflow(in.row->opcode, &is_known);
  if (keeps_finite && !is_known)
    return fail("'" + std::string(in.spelling) + "' is not executed where FP16_OVFL is set",
                {"level 'ttgir' executes the IR that this was compiled from"});
  if (is_ieee_off_ && depends_on_ieee(in.row->name))
    return fail("'" + std::string(in.spelling) + "' is executed in IEEE mode alone (.amdhsa_ieee_mode 1)",
                {"level 'ttgir' executes the IR that this was compiled from"});
  if (rule.how == How::kLower) {
    done = rule.lower(*this);
  } else {
    // Operands are read first; then comes the function; then results go where they belong.
    std::vector<uint32_t> from;
    for (size_t k = 0; k < in.row->slots.size(); ++k)
      if (!in.row->slots[k].written && matched_[k]) from.push_back(source(k));
    from.resize(3, kNoRegister);
    Operands o{.a = from[0], .b = from[1], .c = from[2]};
    if (rule.how == How::kReversed || rule.how == How::kFloatReversed) std::swap(o.a, o.b);
    Handler run = rule.operation == Op::kNone
                      ? each_handler(in.row->opcode)
                      : lanes::find(rule.operation, rule.type, lanes::Type::kNone, rule.variant);
    if (rule.how == How::kCompare || rule.how == How::kEachMask) {
      const uint32_t d = is_vector ? scratch(1) : scc();
      done = rule.how == How::kCompare ? compare(rule.comparison, rule.type, d, o.a, o.b)
                                       : emit(run, {.d = d, .a = o.a, .b = o.b});
      if (is_vector && matched_[0]) give_mask(*matched_[0], d);
      if (name().starts_with("v_cmpx"))
        give_mask(amdgcn::Operand{.kind = amdgcn::OperandKind::kScalar, .index = amdgcn::kExecLo}, d);
    } else if (run) {
      if (in.has("clamp") && in.row->slots.back().kind != 'F' && !(run = clamped_handler(in)))
        return fail("'" + std::string(in.spelling) + "' with clamp is not executed",
                    {"level 'ttgir' executes the IR that this was compiled from"});
      o.d = result();
      done = emit(run, o);
      if (keeps_finite) keep_finite(o.d, o.a, o.b, o.c, in.row->slots.back().bits / 8);
      if (rule.how == How::kLogic || rule.how == How::kEachScc) {
        const bool wide = in.row->slots[0].bits == 64;
        compare(kCmpNe, wide ? kU64 : kU32, scc(), o.d, constant(0, wide ? 8 : 4));
      }
      done = done && give();
    }
    if (!is_vector && matched_[0] && matched_[0]->is_register() && matched_[0]->index >= amdgcn::kExecLo &&
        matched_[0]->kind == amdgcn::OperandKind::kScalar && in.row->slots[0].written)
      exec_changed();
  }
  if (!done && sink_.list().size() == faults)
    fail("the engine does not execute '" + std::string(in.spelling) + "' as it is written",
         {"level 'ttgir' executes the IR that this was compiled from"});
  return sink_.list().size() == faults;
}

void AmdLowering::read_late(const amdgcn::LateReads& reads) {
  for (const auto& [read, waits] : reads) {
    late_[read] = {};
    for (const uint32_t wait : waits) ends_late_.emplace(wait, read);
  }
}

// Before the read, which may write its address.
void AmdLowering::keep_late(const amdgcn::Instruction& read) {
  const auto found = late_.find(number_);
  if (found == late_.end() || !read.operands[1].is_register()) return;
  guarded();
  emit(copy_register(4), {.d = found->second.place, .a = register_at(read.operands[1], 0)});
  emit(copy_register(1), {.d = found->second.lanes, .a = constant(0xff, 1)});
}

void AmdLowering::end_late(uint32_t wait) {
  const auto [first, last] = ends_late_.equal_range(wait);
  for (auto it = first; it != last; ++it) {
    const amdgcn::Instruction& read = kernel.body[it->second];
    const Late& late = late_[it->second];
    source_ = &code.sources.emplace_back(source_of(read));
    source_->index = it->second;
    source_->is_late = true;
    guard_ = late.lanes;  // whatever EXEC is by now
    amd::read_again(*this, read, late.place);
    unguarded();
    emit(copy_register(1), {.d = late.lanes, .a = constant(0, 1)});
  }
}

// After `in`: masks whose registers it wrote are no longer known, but those that it made.
void AmdLowering::forget_masks(const amdgcn::Instruction& in) {
  if (in.row)
    for (const uint32_t code : amdgcn::results_of(in)) {
      if (!amdgcn::is_scalar(code)) continue;
      known_masks_.erase(amdgcn::index_of(code));
      known_masks_.erase(amdgcn::index_of(code) - 1);
    }
  known_masks_.insert(made_masks_.begin(), made_masks_.end());
  made_masks_.clear();
}

void AmdLowering::resolve_jumps() {
  for (const auto& [at, label] : jumps_) {
    const auto found = kernel.labels.find(label);
    code.instrs[at].data = &code.instrs[starts_[found->second]];
  }
  if (anywhere_.empty()) return;
  BranchTable all;
  for (const uint32_t start : starts_) all.targets.push_back(&code.instrs[start]);
  const BranchTable* table = code.keep(std::move(all));
  for (const uint32_t at : anywhere_) code.instrs[at].data = table;
}

bool AmdLowering::lower_kernel() {
  constexpr uint32_t kMostBytes = 32768;
  const auto takes = [&](uint32_t offset, uint32_t bytes) {
    if (offset > kMostBytes || bytes > kMostBytes)
      return fail("the metadata of kernel '" + std::string(kernel.name) +
                  "' says that its arguments take more than " + std::to_string(kMostBytes) + " bytes");
    code.param_bytes = std::max(code.param_bytes, offset + bytes);
    return true;
  };
  if (!takes(0, kernel.kernarg_bytes)) return false;
  for (const amdgcn::Hidden& h : kernel.hidden)
    if (!takes(h.offset, std::min(h.bytes, 8u))) return false;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const amdgcn::Parameter& p = kernel.parameters[i];
    if (!takes(p.offset, p.bytes)) return false;
    if (p.bytes == 0)
      return fail("the metadata of kernel '" + std::string(kernel.name) + "' gives argument " +
                  std::to_string(i) + " no size");
    exec::Param param{"param " + std::to_string(i), exec::ParamKind::kInteger,
                      ".b" + std::to_string(8 * p.bytes), static_cast<int>(std::min(p.bytes, 8u) * 8), false};
    if (p.is_pointer || p.bytes == 8) param.kind = exec::ParamKind::kPointer;
    code.params.push_back({p.offset, p.bytes, std::move(param)});
  }
  code.begin_parameters = [hidden = kernel.hidden](const Code& of, const LaunchShape& launch,
                                                   std::byte* out) {
    for (const amdgcn::Hidden& h : hidden) {
      uint64_t value = 0;
      const size_t axis = static_cast<size_t>(h.kind.back() - 'x');
      if (h.kind.starts_with("block_count_")) value = launch.grid[axis];
      if (h.kind.starts_with("group_size_")) value = of.block[axis];
      if (h.kind == "grid_dims") value = 3;
      if (h.kind == "hostcall_buffer") value = kHostCall;
      std::memcpy(out + h.offset, &value, std::min(h.bytes, 8u));
    }
  };
  code.whole_words = std::ranges::any_of(kernel.body, [](const amdgcn::Instruction& in) {
    return in.name.find("cmpswap") != std::string_view::npos;
  });
  code.static_shared = static_cast<uint32_t>(kernel.directive("group_segment_fixed_size"));
  code.dynamic_shared = true;
  code.local_bytes = (static_cast<uint32_t>(kernel.directive("private_segment_fixed_size")) + 15) / 16 * 16;
  saturates = kernel.directive("fp16_overflow") != 0;
  is_ieee_off_ = kernel.directive("ieee_mode", 1) == 0;
  copies_to_lds = generation == 9 && std::ranges::any_of(kernel.body, [](const amdgcn::Instruction& in) {
                    return in.row && amdgcn::loads_to_lds(in);
                  });
  find_stretches();
  is_exec_full_ =
      !stopper_ && code.real_threads % code.width == 0 &&
      std::ranges::none_of(kernel.body, [](const amdgcn::Instruction& in) {
        return in.row && std::ranges::any_of(amdgcn::results_of(in), [](uint32_t code) {
                 return code == amdgcn::register_code(amdgcn::OperandKind::kScalar, amdgcn::kExecLo) ||
                        code == amdgcn::register_code(amdgcn::OperandKind::kScalar, amdgcn::kExecHi);
               });
      });
  begin_registers();
  for (auto& [read, late] : late_) {
    late = {temporary(4), temporary(1)};
    emit(copy_register(1), {.d = late.lanes, .a = constant(0, 1)});
  }
  find_stops();
  for (const amdgcn::Instruction& in : kernel.body) {
    starts_.push_back(static_cast<uint32_t>(code.instrs.size()));
    emit_probes(number_, false);
    if (stopper_) emit_stop(number_);
    if (counting_) emit_counts(number_);
    before_ = {kNoRegister, kNoRegister};
    if (in.is_second) {
      before_ = dual_;
    } else if (in.spelling.starts_with("v_dual_") && !in.operands.empty() && in.operands[0].is_register()) {
      unguarded();
      dual_ = {in.operands[0].index, temporary(4)};
      emit(copy_register(4), {.d = dual_.second, .a = register_at(in.operands[0], 0)});
    }
    if (begins_[number_]) known_masks_.clear();
    keep_late(in);
    lower(in);
    end_late(number_);
    if (copies_to_lds && in.row && amdgcn::is_memory(in) &&
        amdgcn::counter_of(in, generation) == amdgcn::kLoads) {
      unguarded();  // vmcnt counts for the wavefront
      emit<run_copy_commit>({});
    }
    forget_masks(in);
    emit_probes(number_, true);
    ++number_;
    if (sink_.list().size() > 8) return false;
  }
  starts_.push_back(static_cast<uint32_t>(code.instrs.size()));
  unguarded();
  emit(end_thread);
  if (sink_.has_errors()) return false;
  in_ = nullptr;
  if (code.register_bytes > kMaxRegisterBytes)
    return fail("the registers of a block take " + std::to_string(code.register_bytes >> 20) +
                " MiB: more than the engine holds");
  resolve_jumps();
  return true;
}

}  // namespace triton_runner::simt
