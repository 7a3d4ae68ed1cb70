#include "flow.h"

#include <algorithm>
#include <map>

#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include "registers_ptx.h"

namespace triton_runner::probe {
namespace {

// Finds where the jumps of machine code lead. A jump whose target no label says leads to all labels.
class Jumps {
 public:
  explicit Jumps(const sass::Function& f) : f_(f) {
    for (uint32_t i = 0; i < f.body.size(); ++i) {
      if (f.body[i].name == "CALL") returns_.push_back(i + 1);
      const auto to = sass::target_of(f, f.body[i]);
      if (to) labels_.push_back(static_cast<uint32_t>(*to));
      if (to && f.body[i].name == "BSSY") regions_.push_back(static_cast<uint32_t>(*to));
    }
  }

  std::vector<uint32_t> next(uint32_t i) const {
    using enum sass::Leads;
    const sass::Instruction& in = f_.body[i];
    const sass::Leads leads = sass::leads_of(in);
    const auto to = sass::target_of(f_, in);
    std::vector<uint32_t> out;
    if (leads == kReturn) out = returns_;
    if (leads == kMeet) out = regions_;
    if (leads == kAnywhere) out = labels_;
    if (to && (leads == kLabel || leads == kCall)) out.push_back(static_cast<uint32_t>(*to));
    if (sass::goes_on(in) || (leads == kCall && !to)) out.push_back(i + 1);
    return out;
  }

 private:
  const sass::Function& f_;
  std::vector<uint32_t> labels_, returns_, regions_;
};

}  // namespace

Flow flow_of(const ptx::Module& module, const ptx::Function& f) {
  Flow flow;
  for (const ptx::Register& r : f.registers) flow.registers.emplace_back(r.name);
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const ptx::Instruction& in = f.body[i];
    Flow::Step& step = flow.steps.emplace_back();
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

Flow flow_of(const sass::Module& module, const sass::Function& f) {
  Flow flow;
  std::map<uint32_t, uint32_t> numbers;  // of register codes
  auto number = [&](uint32_t code) {
    const auto [it, fresh] = numbers.try_emplace(code, static_cast<uint32_t>(flow.registers.size()));
    if (fresh) flow.registers.push_back(sass::register_name(code));
    return it->second;
  };
  const Jumps jumps(f);
  for (uint32_t i = 0; i < f.body.size(); ++i) {
    const sass::Instruction& in = f.body[i];
    Flow::Step& step = flow.steps.emplace_back();
    const sass::Registers of = sass::registers_of(module, in);
    for (const sass::RegisterId r : of.writes)
      step.writes.push_back(number(*sass::register_named(sass::name_of(r))));
    for (const sass::RegisterId r : of.reads)
      step.reads.push_back(number(*sass::register_named(sass::name_of(r))));
    for (const uint32_t code : sass::results_of(module, in)) step.writes.push_back(number(code));
    step.guarded = !sass::is_always(in);
    step.forgets = in.name == "CALL" && !sass::target_of(f, in);
    step.line = module.location(in.offset).line;
    step.ptx_line = static_cast<int>(in.ptx_line);
    step.text = module.text().substr(in.offset, in.length);
    step.opcode = in.spelling;
    step.next = jumps.next(i);
  }
  return flow;
}

std::vector<uint32_t> loop_heads(const Flow& flow) {
  std::vector<uint32_t> heads;
  for (uint32_t i = 0; i < flow.steps.size(); ++i)
    for (const uint32_t to : flow.steps[i].next)
      if (to <= i) heads.push_back(to);
  std::sort(heads.begin(), heads.end());
  heads.erase(std::unique(heads.begin(), heads.end()), heads.end());
  return heads;
}

std::vector<CodeLoop> loops_of(const Flow& flow) {
  const auto count = static_cast<uint32_t>(flow.steps.size());
  std::vector<std::vector<uint32_t>> previous(count + 1);
  for (uint32_t i = 0; i < count; ++i)
    for (const uint32_t to : flow.steps[i].next) previous[std::min(to, count)].push_back(i);
  std::vector<CodeLoop> loops;
  for (const uint32_t head : loop_heads(flow)) {
    CodeLoop loop{head, {}, {}};
    std::vector<bool> inside(count);
    std::vector<uint32_t> open;
    inside[head] = true;
    for (const uint32_t latch : previous[head])
      if (latch >= head) open.push_back(latch);
    while (!open.empty()) {
      const uint32_t i = open.back();
      open.pop_back();
      if (inside[i]) continue;
      inside[i] = true;
      open.insert(open.end(), previous[i].begin(), previous[i].end());
    }
    std::map<std::pair<int, std::string_view>, int> copies;
    for (uint32_t i = 0; i < count; ++i) {
      if (!inside[i]) continue;
      loop.body.push_back(i);
      if (flow.steps[i].ptx_line > 0) ++copies[{flow.steps[i].ptx_line, flow.steps[i].opcode}];
    }
    for (const uint32_t i : previous[head])
      if (!inside[i]) loop.before.push_back(i);
    const auto several =
        std::count_if(copies.begin(), copies.end(), [](const auto& of) { return of.second > 1; });
    loop.is_unrolled = 2 * static_cast<size_t>(several) > copies.size();
    loops.push_back(std::move(loop));
  }
  std::stable_sort(loops.begin(), loops.end(),
                   [](const CodeLoop& a, const CodeLoop& b) { return a.body.size() > b.body.size(); });
  return loops;
}

}  // namespace triton_runner::probe
