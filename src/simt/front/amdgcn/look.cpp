// Adds what observers, debuggers and counters ask for around an instruction of AMD's machine code.
#include <algorithm>
#include <set>

#include <triton_runner/amdgcn/facts.h>
#include <triton_runner/simt/simt.h>

#include "front/amdgcn/handlers.h"
#include "front/amdgcn/lower.h"
#include "launch/observe.h"

namespace triton_runner::simt {

uint32_t AmdLowering::place_of(uint32_t code) {
  const uint32_t index = amdgcn::index_of(code);
  return amdgcn::is_scalar(code) ? scalar(index)
                                 : vector(index, amdgcn::kind_of(code) == amdgcn::OperandKind::kAccumulator);
}

// Vector registers are shown for the lanes that EXEC has, scalar ones for all lanes of the wavefront.
void AmdLowering::emit_probes(uint32_t instruction, bool after) {
  const auto [first, last] = probes_at_.equal_range(instruction);
  for (auto it = first; it != last; ++it) {
    const exec::RegisterProbe& probe = probes_[it->second];
    if (probe.after != after || probe.function != kernel.name) continue;
    ProbePlace place{it->second, {}};
    const bool all_scalar = std::ranges::all_of(
        probe.registers, [](uint32_t code) { return amdgcn::is_scalar(code & ~amdgcn::kPair); });
    guard_ = all_scalar ? kNoRegister : exec_;
    for (uint32_t reg : probe.registers) {
      const bool pair = reg & amdgcn::kPair;
      reg &= ~amdgcn::kPair;
      place.registers.emplace_back(pair ? temporary(8) : place_of(reg), pair ? 8 : 4);
      if (pair)
        emit(amd::steps().join,
             {.d = place.registers.back().first, .a = place_of(reg), .b = place_of(reg + 1)});
    }
    Instr& i = emit(handler<show_registers>);
    i.source = nullptr;
    i.data = code.keep(std::move(place));
  }
}

void AmdLowering::find_stops() {
  if (!stopper_) return;
  for (const amdgcn::Instruction& in : kernel.body) {
    const int line = module_->location(in.offset).line;
    exec::InstructionSite site{&in, in.row ? in.row->name : in.name, {}, line, kernel.name, {}};
    site.text = module_->text().substr(in.offset, in.length);
    if (in.place.line)
      site.lines.push_back(
          {std::string(in.place.file), static_cast<int>(in.place.line), static_cast<int>(in.place.column)});
    stops_.push_back(stopper_->add_place(site));
  }
}

void AmdLowering::emit_stop(uint32_t instruction) {
  const uint32_t place = stops_[instruction];
  if (place == exec::Stopper::kNowhere) return;
  if (!shown_) {
    // The registers that the kernel names, in their order; vcc, exec, m0 and scc always.
    std::set<uint32_t> named;
    for (const std::string_view special : {"vcc", "exec", "m0"})
      for (const uint32_t code : amdgcn::registers_named(special)) named.insert(code);
    for (const amdgcn::Instruction& in : kernel.body)
      for (const amdgcn::Operand& o : in.operands)
        for (uint32_t k = 0; o.is_register() && k < o.count; ++k)
          if (!o.is(amdgcn::kNull)) named.insert(amdgcn::register_code(o.kind, o.index + k));
    StopRegisters all;
    for (const uint32_t code : named) all.add(amdgcn::register_name(code), place_of(code), num::Type::kI32);
    all.add("scc", scc(), num::Type::kI1);
    shown_ = code.keep(std::move(all));
  }
  Instr& i = emit(handler<stop_lanes>);
  i.guard = kNoRegister;
  i.source = nullptr;
  i.data = code.keep(StopPlace{place, shown_});
}

// --- counts: threads that come to the first instruction of a stretch execute all of it ----------------------------------------

namespace {

bool ends_stretch(std::string_view name) {
  return name.starts_with("s_branch") || name.starts_with("s_cbranch") || name.starts_with("s_endpgm") ||
         name.starts_with("s_barrier") || name.starts_with("s_setpc") || name.starts_with("s_swappc") ||
         name.starts_with("s_trap");
}

CountAs count_as(const amdgcn::Instruction& in) {
  const amdgcn::Work work = amdgcn::work_of(in);
  if (work.space.empty()) return CountAs::kNothing;
  return work.access == "atomic" ? CountAs::kUpdates : CountAs::kRequests;
}

}  // namespace

void AmdLowering::count() {
  counting_ = std::make_shared<CountPlan>();
  for (const amdgcn::Instruction& in : kernel.body) {
    counting_->as.push_back(count_as(in));
    counting_->is_guarded.push_back(
        in.row && (in.name.starts_with("v_") || (amdgcn::is_memory(in) && !in.name.starts_with("s_"))));
  }
  code.counting = counting_;
}

// Marks where stretches begin: where jumps lead to, and after them.
void AmdLowering::find_stretches() {
  const auto& body = kernel.body;
  begins_.assign(body.size() + 1, 0);
  begins_[0] = 1;
  for (const auto& [label, at] : kernel.labels) begins_[at] = 1;
  for (size_t i = 0; i < body.size(); ++i)
    if (ends_stretch(body[i].name)) begins_[i + 1] = 1;
}

void AmdLowering::emit_counts(uint32_t instruction) {
  if (begins_[instruction]) {
    unguarded();
    emit(handler<count_stretch>).small = static_cast<uint32_t>(counting_->stretches.size());
    counting_->stretches.emplace_back();
    counting_->unguarded.push_back(0);
  }
  counting_->stretches.back().push_back(instruction);
  if (!counting_->is_guarded[instruction]) {
    ++counting_->unguarded.back();
    return;
  }
  unguarded();  // EXEC says for which lanes it acts
  emit<count_guard>({.a = exec_, .b = 0, .small = instruction});
}

}  // namespace triton_runner::simt
