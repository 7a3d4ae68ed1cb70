// Makes a plan for SASS registers of a plan for PTX registers: from the place where a register is read back
// to the instructions that gave it, and to what ptxas made of them.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <triton_runner/base/text.h>
#include <triton_runner/base/try.h>
#include <triton_runner/num/types.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include "sass/find.h"

namespace triton_runner::probe {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Mod;
using ptx::Opcode;
using ptx::OperandKind;

class Placer {
 public:
  Placer(const RegisterPlan& plan, const ptx::Module& module, const Function& f, const MachineCode& code)
      : plan_(plan),
        module_(module),
        f_(f),
        code_(code),
        finder_(module, f, code),
        targets_(jump_targets(f)) {}

  SassReads by_line() {
    SassReads out;
    for (size_t i = 0; i < plan_.probes.size(); ++i) {
      const RegisterPlan::Part& part = plan_.parts[i];
      if (part.kind != RegisterPlan::Part::kRead || plan_.probes[i].function != f_.name) continue;
      for (size_t k = 0; k < part.registers.size(); ++k)
        if (place(plan_.probes[i], part, k).empty()) out[{i, k}] = std::exchange(reads_, {});
    }
    return out;
  }

  base::Result<SassPlan> run() {
    for (size_t i = 0; i < plan_.probes.size(); ++i) {
      const RegisterPlan::Part& part = plan_.parts[i];
      if (part.kind != RegisterPlan::Part::kRead) continue;
      for (size_t k = 0; k < part.registers.size(); ++k) {
        std::string why;
        if (plan_.probes[i].function != f_.name)
          why = "is in a function of its own";
        else
          why = place(plan_.probes[i], part, k);
        if (why.empty())
          kept_.keep(part.tap, part.registers[k]);
        else
          kept_.miss(part.tap, std::move(why));
      }
    }
    auto out = kept_.plan(std::move(reads_));
    if (out) choose_stops(*out);
    return out;
  }

 private:
  // The definition of what a register holds at a place. fresh: in the same straight code.
  struct Definition {
    uint32_t instruction = 0;
    uint32_t word = 0, from = 0;
    bool is_wait = false;  // of wgmma: `word` is that of the accumulators
    bool fresh = true;
    uint32_t reg = 0;
  };

  std::string at_line(uint32_t i) const {
    return std::string(f_.body[i].spelling) + " at line " + std::to_string(finder_.line_of(i)) +
           " of the ptx";
  }

  // Empty, or why the register is not kept.
  std::string place(const exec::RegisterProbe& probe, const RegisterPlan::Part& part, size_t k) {
    const Tap& tap = plan_.taps[part.tap];
    const auto width = static_cast<uint32_t>(num::size_of(tap.site.type));
    if (tap.blocks != 1) return "is spread over the blocks of a cluster";
    if (tap.site.type == num::Type::kI1) return "is in a predicate, which ptxas may keep inverted";
    uint32_t reg = probe.registers[k], offset = part.offsets[k];
    uint32_t at = probe.after ? probe.instruction + 1 : probe.instruction;
    bool fresh = true;
    for (int depth = 0; depth < 16; ++depth) {
      std::string why;
      const std::optional<uint32_t> d = defining(reg, at, depth == 0 && probe.after, fresh, why);
      if (!d) return why;
      const Instruction& in = f_.body[*d];
      if (in.opcode == Opcode::kWgmma) {
        if (!in.has(Mod::kWaitGroup)) return "is still under way: " + at_line(*d);
        uint32_t word = 0;
        const SassFound found = finder_.find_accumulators(*d, reg, &word);
        if (found.copies.empty()) return found.why;
        return add(found, *d, word, offset, width, part, k, fresh);
      }
      if (in.opcode == Opcode::kMov && in.guard < 0 && in.operands.size() == 2) {
        const ptx::Operand &to = in.operands[0], &from = in.operands[1];
        at = *d;
        if (to.kind == OperandKind::kRegister && from.kind == OperandKind::kRegister) {
          reg = from.reg;
          continue;
        }
        if (to.kind == OperandKind::kRegister && from.kind == OperandKind::kVector && !from.parts.empty()) {
          const uint32_t bytes = width_of(f_, to.reg) / static_cast<uint32_t>(from.parts.size());
          const uint32_t n = offset / std::max(1u, bytes);
          if (bytes && n < from.parts.size() && from.parts[n].kind == OperandKind::kRegister) {
            reg = from.parts[n].reg;
            offset %= bytes;
            continue;
          }
        }
        if (to.kind == OperandKind::kVector && from.kind == OperandKind::kRegister) {
          const uint32_t bytes = width_of(f_, from.reg) / static_cast<uint32_t>(to.parts.size());
          bool known = false;
          for (size_t n = 0; n < to.parts.size() && !known; ++n)
            if (to.parts[n].kind == OperandKind::kRegister && to.parts[n].reg == reg) {
              offset += bytes * static_cast<uint32_t>(n);
              known = true;
            }
          if (known) {
            reg = from.reg;
            continue;
          }
        }
        if (from.kind == OperandKind::kInteger || from.kind == OperandKind::kFloat)
          return "is a constant: " + at_line(*d);
      }
      const SassFound found = finder_.find(*d);
      if (found.copies.empty()) return at_line(*d) + " " + found.why;
      // The register begins here in the results.
      const std::vector<uint32_t> results = results_of(in);
      uint32_t begin = 0;
      const FormRow* row = form_of(in);
      for (uint32_t r : results) {
        if (r == reg) break;
        begin += row->form == Form::kLoad ? static_cast<uint32_t>(std::max(8, ptx::bits(in.type(0)))) / 8 : 4;
      }
      begin += offset;
      return add(found, *d, begin / 4, begin % 4, width, part, k, fresh);
    }
    return "is copied too often";
  }

  // The instruction that gave what `reg` holds before instruction `at`; clears `fresh` where that is executed
  // more often than the place is come to. A wait for wgmma stands for the products that it completes.
  // behind: the place is right after instruction at - 1, whoever jumps to `at`.
  std::optional<uint32_t> defining(uint32_t reg, uint32_t at, bool behind, bool& fresh,
                                   std::string& why) const {
    for (uint32_t i = at; i-- > 0;) {
      const Instruction& in = f_.body[i];
      if (targets_[i + 1] && !(behind && i + 1 == at)) {
        why = "comes from more than one place (it is carried by a loop, or by branches that meet)";
        return {};
      }
      if (is_control(in)) {
        int64_t to = -1;
        for (const ptx::Operand& o : in.operands)
          if (o.kind == OperandKind::kLabel) to = o.integer;
        if (in.guard < 0 || to < 0 || to > i) {
          why = "was computed before a branch";
          return {};
        }
        fresh = false;  // the end of a loop: what its last turn left
        continue;
      }
      if (in.opcode == Opcode::kWgmma && in.has(Mod::kWaitGroup) && accumulates(reg)) return i;
      if (writes(in, reg)) return i;
    }
    why = "is a constant or a parameter";
    return {};
  }

  bool accumulates(uint32_t reg) const {
    return std::any_of(f_.body.begin(), f_.body.end(), [&](const Instruction& in) {
      return in.opcode == Opcode::kWgmma && in.has(Mod::kMmaAsync) && writes(in, reg);
    });
  }

  std::string add(const SassFound& found, uint32_t i, uint32_t word, uint32_t from, uint32_t width,
                  const RegisterPlan::Part& part, size_t k, bool fresh) {
    const Tap& tap = plan_.taps[part.tap];
    if (!fresh && tap.site.loops > 0) return at_line(i) + " is executed more often than the value is there";
    std::vector<SassRead> reads;
    for (uint32_t done = 0; done < width;) {
      for (const auto& copy : found.copies) {
        if (word >= copy.size()) return at_line(i) + " gives other registers than it says";
        const SassPlace& p = copy[word];
        if (finder_.window(p.at, p.reg).empty())
          return at_line(i) + " is followed by a jump, where nothing can be read";
        reads.push_back({.stop = p.at,  // its place until the stops are chosen
                         .definition = code_[p.at].address,
                         .reg = p.reg,
                         .tap = part.tap,
                         .number = part.registers[k],
                         .from = from,
                         .to = done,
                         .bytes = std::min(4 - from, width - done)});
      }
      done += std::min(4 - from, width - done);
      ++word;
      from = 0;
    }
    reads_.insert(reads_.end(), reads.begin(), reads.end());
    return {};
  }

  // As few stops as the windows allow; those in loops get a second one.
  void choose_stops(SassPlan& out) {
    std::vector<std::vector<size_t>> windows;
    std::vector<size_t> order;
    for (size_t r = 0; r < out.reads.size(); ++r) {
      windows.push_back(finder_.window(out.reads[r].stop, out.reads[r].reg));
      order.push_back(r);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(windows[a].back(), a) < std::pair(windows[b].back(), b);
    });
    std::set<size_t> stops;
    for (size_t r : order) {
      const std::vector<size_t>& w = windows[r];
      auto fits = std::find_if(w.rbegin(), w.rend(), [&](size_t at) { return stops.contains(at); });
      // Rather not at an EXIT, which ends a window.
      const size_t last =
          w.size() > 1 && code_[w.back()].does(sass::Trait::kEnds) ? w[w.size() - 2] : w.back();
      const size_t at = fits != w.rend() ? *fits : last;
      stops.insert(at);
      out.reads[r].stop = code_[at].address;
    }
    for (size_t at : stops) {
      if (finder_.depth(at) == 0) continue;
      // Another one that is passed each time: in the same straight code.
      bool other = false;
      for (size_t k = at; k > 0 && !other && !code_.is_target(k) && !code_.ends_straight(k - 1); --k)
        other = stops.contains(k - 1);
      for (size_t k = at + 1; k < code_.size() && !other && !code_.is_target(k) && !code_.ends_straight(k);
           ++k)
        other = stops.contains(k);
      if (other) continue;
      if (const auto next = finder_.neighbor(at)) {
        out.fences.push_back(code_[*next].address);
      } else {
        std::erase_if(out.reads, [&](const SassRead& r) { return r.stop == code_[at].address; });
        out.notes.push_back("what stands alone between two jumps of a loop is not read");
      }
    }
  }

  const RegisterPlan& plan_;
  const ptx::Module& module_;
  const Function& f_;
  const MachineCode& code_;
  SassFinder finder_;
  std::vector<bool> targets_;
  std::vector<SassRead> reads_;
  SassKept kept_{plan_};
};

}  // namespace

SassKept::SassKept(const RegisterPlan& plan)
    : plan_(plan), kept_(plan.taps.size()), reasons_(plan.taps.size()) {
  for (size_t t = 0; t < plan.taps.size(); ++t) kept_[t].resize(plan.taps[t].registers);
}

base::Result<SassPlan> SassKept::plan(std::vector<SassRead> reads) const {
  SassPlan out;
  out.notes = plan_.notes;
  std::vector<uint32_t> number(plan_.taps.size(), ~0u);
  std::vector<std::string> gone;
  for (uint32_t t = 0; t < plan_.taps.size(); ++t) {
    const Tap& tap = plan_.taps[t];
    const auto elements = static_cast<size_t>(tap.site.num_elements());
    std::vector<bool> there(elements);
    for (uint32_t b = 0; b < tap.blocks; ++b)
      for (uint32_t r = 0; r < tap.registers; ++r)
        for (uint32_t i = 0; i < tap.threads && kept_[t][r]; ++i)
          there[static_cast<size_t>(tap.elements[(size_t{b} * tap.registers + r) * tap.threads + i])] = true;
    const auto kept = static_cast<size_t>(std::count(there.begin(), there.end(), true));
    std::string why;
    if (!reasons_[t].empty()) {
      std::set<std::string> others(reasons_[t].begin(), reasons_[t].end());
      why = ": " + reasons_[t][0];
      if (others.size() > 1) why += "; and " + std::to_string(others.size() - 1) + " more like it";
    }
    if (kept > 0) {
      number[t] = static_cast<uint32_t>(out.taps.size());
      out.taps.push_back(tap);
      if (kept < elements)
        out.notes.push_back(std::to_string(elements - kept) + " of " + std::to_string(elements) +
                            " elements of " + tap.site.value + " are not kept in the SASS" + why);
    } else {
      gone.push_back(tap.site.value + " is not kept in the SASS" + why);
    }
  }
  if (out.taps.empty())
    return base::failure(!gone.empty()        ? gone[0]
                         : !out.notes.empty() ? out.notes[0]
                                              : "nothing was selected",
                         {"dump it at " + base::option("level", "ttgir") +
                          ", or name a register, an opcode or a line of the SASS"});
  out.notes.insert(out.notes.end(), gone.begin(), gone.end());
  for (SassRead& read : reads)
    if (number[read.tap] != ~0u && kept_[read.tap][read.number]) {
      read.tap = number[read.tap];
      out.reads.push_back(std::move(read));
    }
  return out;
}

base::Result<SassPlan> place_in_sass(const RegisterPlan& plan, const ptx::Module& ptx,
                                     std::string_view kernel, const sass::Module& module) {
  const Function* f = ptx.find_function(kernel);
  if (!f || f->is_declaration) return base::failure("the ptx has no kernel '" + std::string(kernel) + "'");
  const sass::Function* machine = TRY(kernel_of(module, kernel));
  return Placer(plan, ptx, *f, MachineCode(module, *machine)).run();
}

SassReads reads_by_line(const RegisterPlan& plan, const ptx::Module& ptx, const Function& f,
                        const MachineCode& code) {
  return Placer(plan, ptx, f, code).by_line();
}

base::Result<std::string> describe_sass(const ptx::Module& ptx, std::string_view kernel,
                                        const sass::Module& module) {
  const Function* f = ptx.find_function(kernel);
  if (!f) return std::string();
  const MachineCode code(module, *TRY(kernel_of(module, kernel)));
  const SassFinder finder(ptx, *f, code);
  std::string out;
  for (uint32_t i = 0; i < f->body.size(); ++i) {
    const Instruction& in = f->body[i];
    if (results_of(in).empty()) continue;
    const SassFound found = finder.find(i);
    out += std::to_string(finder.line_of(i)) + " " + std::string(in.spelling);
    if (found.copies.empty()) out += " " + found.why;
    for (const auto& copy : found.copies) {
      std::string said;
      for (const SassPlace& p : copy) {
        const std::string place = base::hex(code[p.at].address) + " ";
        if (said.empty() || said.find(place) == std::string::npos)
          said += " " + place + sass::register_name(p.reg);
        else
          said += "," + sass::register_name(p.reg);
      }
      out += (&copy == &found.copies[0] ? " ->" : " and") + said;
    }
    out += "\n";
  }
  return out;
}

namespace {

// Puts what threads had in registers together to elements of the taps' values.
class SassAssembler {
 public:
  SassAssembler(const SassPlan& plan, bool every_iteration)
      : plan_(plan),
        every_iteration_(every_iteration),
        records_(plan.taps.size()),
        differing_(plan.taps.size()) {}

  Recording assemble(std::span<const SassValue> values) {
    for (const SassValue& v : values) take(v);
    put_last();
    Recording out;
    out.notes = plan_.notes;
    for (uint32_t t = 0; t < plan_.taps.size(); ++t) out.series.push_back(series_of(t, out.notes));
    return out;
  }

 private:
  struct Record {
    std::vector<std::byte> data;
    std::vector<uint8_t> filled;  // bytes of each element that are there
  };
  struct Key {
    std::array<int64_t, 3> program;
    uint32_t execution;
    bool operator<(const Key& other) const {
      return std::tie(program[2], program[1], program[0], execution) <
             std::tie(other.program[2], other.program[1], other.program[0], other.execution);
    }
  };
  // The part that a thread has of a value, by the bytes: how often it came, and what came last.
  using Part = std::tuple<uint32_t, uint32_t, uint32_t, std::array<int64_t, 3>, uint32_t>;
  struct Last {
    uint32_t read = 0, execution = 0, value = 0;
  };

  bool keeps_all(uint32_t tap) const { return every_iteration_ && plan_.taps[tap].site.loops > 0; }

  void take(const SassValue& v) {
    const SassRead& read = plan_.reads[v.read];
    auto [at, fresh] = last_.try_emplace(Part{read.tap, read.number, read.to, v.program, v.thread});
    const uint32_t execution = fresh ? 0 : at->second.execution + 1;
    at->second = {v.read, execution, v.value};
    if (keeps_all(read.tap)) put(v, execution);
  }

  void put_last() {
    for (const auto& [part, found] : last_) {
      const auto& [tap, number, to, program, thread] = part;
      if (keeps_all(tap)) continue;
      uint32_t& most = executions_[{tap, program}];
      most = std::max(most, found.execution);
      put({found.read, program, thread, found.value}, 0);
    }
  }

  void put(const SassValue& v, uint32_t execution) {
    const SassRead& read = plan_.reads[v.read];
    const Tap& tap = plan_.taps[read.tap];
    if (v.thread < tap.first_thread || v.thread >= tap.first_thread + tap.threads) return;
    const auto width = static_cast<size_t>(num::size_of(tap.site.type));
    const auto elements = static_cast<size_t>(tap.site.num_elements());
    Record& record = records_[read.tap][{v.program, execution}];
    if (record.data.empty()) {
      record.data.resize(elements * width);
      record.filled.resize(elements);
    }
    const auto e =
        static_cast<size_t>(tap.elements[size_t{read.number} * tap.threads + v.thread - tap.first_thread]);
    std::byte bytes[4];
    const uint32_t value = read.inverted ? v.value ^ 1 : v.value;
    std::memcpy(bytes, &value, 4);
    std::byte* to = record.data.data() + e * width + read.to;
    const uint8_t bits = static_cast<uint8_t>(((1u << read.bytes) - 1) << read.to);
    if ((record.filled[e] & bits) == bits && !tap.per_thread &&
        std::memcmp(to, bytes + read.from, read.bytes) != 0) {
      ++differing_[read.tap];
      return;
    }
    std::memcpy(to, bytes + read.from, read.bytes);
    record.filled[e] = static_cast<uint8_t>(record.filled[e] | bits);
  }

  // For each element of the tap's value: whether some thread's register has it.
  std::vector<bool> expected(uint32_t t) const {
    const Tap& tap = plan_.taps[t];
    std::vector<bool> out(static_cast<size_t>(tap.site.num_elements()));
    for (const SassRead& read : plan_.reads)
      for (uint32_t i = 0; i < tap.threads && read.tap == t; ++i)
        out[static_cast<size_t>(tap.elements[size_t{read.number} * tap.threads + i])] = true;
    return out;
  }

  Series series_of(uint32_t t, std::vector<std::string>& notes) {
    const Tap& tap = plan_.taps[t];
    const auto width = static_cast<size_t>(num::size_of(tap.site.type));
    const auto whole = static_cast<uint8_t>((1u << width) - 1);
    const std::vector<bool> wanted = expected(t);
    Series series;
    series.site = tap.site;
    series.site.level = "cubin";
    series.site.loops = tap.site.loops > 0 ? 1 : 0;  // executions are counted
    for (const SassRead& read : plan_.reads)
      if (read.tap == t) series.registers.emplace_back(read.definition, sass::register_name(read.reg));
    std::sort(series.registers.begin(), series.registers.end());
    series.registers.erase(std::unique(series.registers.begin(), series.registers.end()),
                           series.registers.end());
    bool partial = false;
    size_t missing = 0;
    for (auto& [key, record] : records_[t]) {
      const uint32_t execution = every_iteration_ ? key.execution : executions_[{t, key.program}];
      series.programs.push_back(key.program);
      if (series.site.loops) series.iterations.push_back(execution);
      for (size_t e = 0; e < record.filled.size(); ++e) {
        const bool there = record.filled[e] == whole;
        if (!there) std::memset(record.data.data() + e * width, 0, width);
        partial = partial || !there;
        missing += !there && wanted[e];
        series.mask.push_back(there);
      }
      series.data.insert(series.data.end(), record.data.begin(), record.data.end());
    }
    if (!partial) series.mask.clear();
    if (missing)
      notes.push_back(
          tap.site.value + ": " + std::to_string(missing) +
          " elements are not here, as the threads that hold them did not come to where they are read");
    if (differing_[t])
      notes.push_back(tap.site.value + ": " + std::to_string(differing_[t]) +
                      " times two threads that hold the same element had different bits of it");
    return series;
  }

  const SassPlan& plan_;
  const bool every_iteration_;
  std::vector<std::map<Key, Record>> records_;  // of each tap
  std::vector<int64_t> differing_;              // of each tap
  std::map<Part, Last> last_;
  std::map<std::pair<uint32_t, std::array<int64_t, 3>>, uint32_t> executions_;
};

}  // namespace

Recording assemble_sass(const SassPlan& plan, std::span<const SassValue> values, bool every_iteration) {
  return SassAssembler(plan, every_iteration).assemble(values);
}

}  // namespace triton_runner::probe
