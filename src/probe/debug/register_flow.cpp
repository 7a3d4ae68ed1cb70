// Implements flow_of() for PTX (ptx/flow.h) and machine code (sass/flow.h).
#include "debug/register_flow.h"

#include <algorithm>
#include <map>

#include <triton_runner/sass/flow.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
RegisterFlow flow_of(const ptx::Module& module, const ptx::Function& f) {
  RegisterFlow flow;
  for (const ptx::Register& r : f.registers) flow.registers.emplace_back(r.name);
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const ptx::Instruction& in = f.body[i];
    RegisterFlow::Step& step = flow.steps.emplace_back();
    step.writes = results_of(in);
    step.reads = sources_of(in);
    if (ptx::adds_to_results(in)) step.reads.insert(step.reads.end(), step.writes.begin(), step.writes.end());
    step.guarded = in.guard >= 0;
    step.line = module.location(in.offset).line;
    step.text = module.text().substr(in.offset, in.length);
    step.opcode = in.spelling;
    if (is_control(in) && !ptx::comes_back(in)) step.next = ptx::targets_of(in);
    if (!is_control(in) || ptx::comes_back(in) || step.guarded) step.next.push_back(i + 1);
  }
  return flow;
}

RegisterFlow flow_of(const sass::Module& module, const sass::Function& f) {
  RegisterFlow flow;
  std::map<uint32_t, uint32_t> numbers;  // of register codes
  auto number = [&](uint32_t code) {
    const auto [it, fresh] = numbers.try_emplace(code, static_cast<uint32_t>(flow.registers.size()));
    if (fresh) flow.registers.push_back(sass::register_name(code));
    return it->second;
  };
  const sass::Flow edges(f);
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const sass::Instruction& in = f.body[i];
    RegisterFlow::Step& step = flow.steps.emplace_back();
    const sass::Registers of = sass::registers_of(module, in);
    for (const uint32_t r : of.writes) step.writes.push_back(number(r));
    for (const uint32_t r : of.reads) step.reads.push_back(number(r));
    step.guarded = !sass::is_always(in);
    step.forgets = in.does(sass::Trait::kCalls) && !sass::target_of(f, in);
    step.line = module.location(in.offset).line;
    step.ptx_line = static_cast<int>(in.ptx_line);
    step.text = module.text().substr(in.offset, in.length);
    step.opcode = in.spelling;
    for (const sass::Edge& edge : edges.after(i)) step.next.push_back(edge.to);
  }
  return flow;
}

}  // namespace triton_runner::probe
