// Implements sass_run.h: compares two traces, and finds for each element that a thread has of a value the
// register of the machine code with the same numbers.
#include <triton_runner/probe/sass_run.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include <triton_runner/num/types.h>
#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/flow.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include "programs.h"
#include "ptx/registers_ptx.h"
#include "sass/find.h"

namespace triton_runner::probe {
namespace {

constexpr size_t kTelling = 8;  // so many different numbers are not met by chance

// The numbers that a thread had, one after the other, as a hash; of all threads.
struct Sequences {
  std::vector<uint64_t> hashes;  // 0: it never came
  size_t different = 0;          // numbers, up to kTelling
};

// The numbers of one element, or of half of one of 64 bits.
template <class F>
Sequences sequences_of(const std::vector<RegisterTrace::Number>& numbers, F value) {
  Sequences out;
  std::vector<uint64_t> different;
  for (const auto& n : numbers) {
    if (n.thread >= out.hashes.size()) out.hashes.resize(n.thread + 1);
    const uint64_t v = value(n.value);
    if (different.size() < kTelling && std::find(different.begin(), different.end(), v) == different.end())
      different.push_back(v);
    uint64_t& h = out.hashes[n.thread];
    h = ((h ? h : 0xcbf29ce484222325ull) ^ (v + 1)) * 0x100000001b3ull;
    h ^= h >> 29;
  }
  out.different = different.size();
  return out;
}

// A register of the machine code, or a half of it; of the copies that unrolling made of an instruction, those of all.
struct Holder {
  std::vector<std::pair<uint32_t, uint32_t>> places;  // a probe, and which of its registers
  uint32_t from, bytes;                               // 1: a byte, or a predicate
  bool inverted = false;
  Sequences numbers;
};

uint64_t part_of(uint64_t value, uint32_t from, uint32_t bytes) {
  value >>= 8 * from;
  return bytes >= 8 ? value : value & ((uint64_t{1} << 8 * bytes) - 1);
}

// Returns whether every thread that had `wanted` had the same in `have`.
bool covers(const Sequences& have, const Sequences& wanted) {
  for (size_t t = 0; t < wanted.hashes.size(); ++t)
    if (wanted.hashes[t] && (t >= have.hashes.size() || have.hashes[t] != wanted.hashes[t])) return false;
  return true;
}

std::pair<uint64_t, uint64_t> places_of(const sass::Function& f, const exec::RegisterProbe& probe) {
  return {f.body[probe.after ? probe.instruction : probe.instruction - 1].address,
          f.body[probe.instruction].address};
}

class Matcher {
 public:
  // widths: the bytes of what is looked for, 1, 2 or 4.
  Matcher(const sass::Function& f, const RegisterTrace& machine, std::set<uint32_t> widths)
      : f_(f), flow_(f), machine_(machine), widths_(std::move(widths)) {
    std::map<std::tuple<uint32_t, std::string_view, uint32_t, bool>, Places> copies;
    for (uint32_t p = 0; p < machine.probes().size(); ++p)
      for (uint32_t k = 0; k < machine.probes()[p].registers.size(); ++k) {
        add({{p, k}});
        const exec::RegisterProbe& probe = machine.probes()[p];
        if (is_head(probe)) continue;
        if (const sass::Instruction& in = given(probe); in.ptx_line)
          copies[{in.ptx_line, in.spelling, k, probe.after}].emplace_back(p, k);
      }
    for (const auto& [key, places] : copies)
      if (places.size() > 1) add(places);
  }

  using Places = std::vector<std::pair<uint32_t, uint32_t>>;

  const sass::Instruction& given(const exec::RegisterProbe& probe) const {
    return f_.body[probe.after ? probe.instruction : probe.instruction - 1];
  }

  // Tells whether a place looks at what a loop carries.
  bool is_head(const exec::RegisterProbe& probe) const {
    return !probe.after && flow_.is_target(probe.instruction);
  }

  // The site with these numbers: one of the line of the PTX first. Numbers that say little have to be of that line.
  // taken: sites of other parts of the value, which is in others as long as there are any.
  const Holder* find(const Sequences& wanted, uint32_t bytes, bool is_predicate, uint32_t line,
                     std::set<const Holder*>& taken) {
    size_t thread = 0;
    while (thread < wanted.hashes.size() && !wanted.hashes[thread]) ++thread;
    if (thread == wanted.hashes.size()) return nullptr;
    const Holder* best = nullptr;
    int best_rank = -1;
    for (size_t i : by_hash(thread)[wanted.hashes[thread]]) {
      const Holder& site = sites_[i];
      const exec::RegisterProbe& probe = machine_.probes()[site.places[0].first];
      const bool same_line = line && !is_head(probe) && given(probe).ptx_line == line;
      const bool fits = site.bytes == bytes && (bytes > 1 || is_predicate == is_predicate_of(site));
      if (!fits || (!same_line && wanted.different < kTelling) || !covers(site.numbers, wanted)) continue;
      const int rank = 2 * same_line + !taken.contains(&site);
      if (rank > best_rank) best = &site, best_rank = rank;
    }
    if (best) taken.insert(best);
    return best;
  }

  bool is_predicate_of(const Holder& site) const {
    return sass::is_predicate(machine_.probes()[site.places[0].first].registers[site.places[0].second]);
  }

 private:
  void add(const Places& places) {
    std::vector<RegisterTrace::Number> numbers;
    for (const auto& [p, k] : places)
      numbers.insert(numbers.end(), machine_.numbers(p, k).begin(), machine_.numbers(p, k).end());
    if (numbers.empty()) return;
    if (places.size() > 1)
      std::stable_sort(numbers.begin(), numbers.end(),
                       [](const auto& a, const auto& b) { return a.order < b.order; });
    auto put = [&](uint32_t from, uint32_t bytes, bool inverted) {
      if (!widths_.contains(bytes)) return;
      sites_.push_back({places, from, bytes, inverted, sequences_of(numbers, [&](uint64_t v) {
                          return part_of(v, from, bytes) ^ (inverted ? 1 : 0);
                        })});
    };
    if (sass::is_predicate(machine_.probes()[places[0].first].registers[places[0].second])) {
      put(0, 1, false);
      put(0, 1, true);
      return;
    }
    put(0, 4, false);
    for (const uint32_t from : {0u, 2u}) put(from, 2, false);
    for (uint32_t from = 0; from < 4; ++from) put(from, 1, false);
  }

  std::unordered_map<uint64_t, std::vector<size_t>>& by_hash(size_t thread) {
    auto [it, fresh] = by_hash_.try_emplace(thread);
    for (size_t i = 0; fresh && i < sites_.size(); ++i)
      if (thread < sites_[i].numbers.hashes.size() && sites_[i].numbers.hashes[thread])
        it->second[sites_[i].numbers.hashes[thread]].push_back(i);
    return it->second;
  }

  const sass::Function& f_;
  const sass::Flow flow_;
  const RegisterTrace& machine_;
  const std::set<uint32_t> widths_;
  std::vector<Holder> sites_;
  std::unordered_map<size_t, std::unordered_map<uint64_t, std::vector<size_t>>> by_hash_;
};

// The places by the lines of the PTX, where the machine code has other numbers than the PTX.
class ByLine {
 public:
  ByLine(const RegisterPlan& plan, const ptx::Module& ptx, const ptx::Function& f, const sass::Module& module,
         const sass::Function& machine, const RegisterTrace& of_machine)
      : reads_(reads_by_line(plan, ptx, f, MachineCode(module, machine))) {
    for (const exec::RegisterProbe& probe : of_machine.probes())
      for (const uint32_t r : probe.registers) {
        const auto [definition, stop] = places_of(machine, probe);
        uint64_t& at = stops_[{definition, r}];
        at = std::max(at, stop);  // of a guarded instruction that where all threads are read
      }
  }

  // Empty: it is not known where they are.
  std::vector<SassRead> find(size_t probe, size_t k) const {
    const auto found = reads_.find({probe, k});
    if (found == reads_.end()) return {};
    std::vector<SassRead> out = found->second;
    for (SassRead& read : out) {
      const auto at = stops_.find({read.definition, read.reg});
      if (at == stops_.end()) return {};
      read.stop = at->second;
    }
    return out;
  }

 private:
  const SassReads reads_;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> stops_;  // by what gave a register
};

// The line of the PTX that gives what a probe reads.
uint32_t line_of(const ptx::Module& ptx, const ptx::Function& f, const exec::RegisterProbe& probe,
                 uint32_t reg) {
  for (uint32_t i = probe.after ? probe.instruction + 1 : probe.instruction; i-- > 0;) {
    if (writes(f.body[i], reg)) return static_cast<uint32_t>(ptx.location(f.body[i].offset).line);
  }
  return 0;
}

}  // namespace

RegisterTrace::RegisterTrace(std::vector<exec::RegisterProbe> probes, std::vector<uint32_t> widths,
                             std::vector<std::array<int64_t, 3>> programs, size_t most)
    : probes_(std::move(probes)), widths_(std::move(widths)), asked_(std::move(programs)), most_(most) {
  size_t n = 0;
  for (const exec::RegisterProbe& p : probes_) {
    first_.push_back(n);
    n += p.registers.size();
  }
  numbers_.resize(n);
}

void RegisterTrace::on_registers(const exec::RegisterEvent& event) {
  if (!is_asked(asked_, event.program)) return;
  const std::lock_guard lock(mutex_);
  auto [id, fresh] = numbers_of_.try_emplace(event.program, static_cast<uint32_t>(ids_.size()));
  if (fresh) ids_.push_back(event.program);
  for (size_t k = 0; k < event.values.size() && !is_full(); ++k) {
    const uint32_t width = widths_[first_[event.probe] + k];
    std::vector<Number>& to = numbers_[first_[event.probe] + k];
    for (uint32_t i = 0; i < event.count; ++i) {
      if (!event.on(i)) continue;
      uint64_t value = 0;
      std::memcpy(&value, event.values[k] + size_t{width} * i, std::min(width, 8u));
      to.push_back({id->second * kMostThreads + event.first + i, order_, width == 1 ? value & 1 : value});
      ++traced_;
    }
  }
  ++order_;
}

void RegisterSubstitution::on_registers(const exec::RegisterEvent& event) {
  if (event.program != program_) return;
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < event.count; ++i) {
    if (!event.on(i)) continue;
    const uint32_t thread = event.first + i;
    const size_t n = done_[thread]++;
    for (size_t k = 0; k < std::min(event.values.size(), values_.size()); ++k) {
      const auto given = values_[k].find(thread);
      if (given == values_[k].end() || n >= given->second.size()) continue;
      const bool is_predicate = sass::is_predicate(probes_[event.probe].registers[k]);
      const auto value = static_cast<uint32_t>(given->second[n]);
      if (is_predicate)
        event.values[k][i] = value & 1 ? std::byte{0xff} : std::byte{0};
      else
        std::memcpy(event.values[k] + size_t{4} * i, &value, 4);
    }
  }
}

std::unique_ptr<RegisterTrace> trace_of(const RegisterPlan& plan, const ptx::Module& ptx,
                                        std::span<const std::array<int64_t, 3>> programs, size_t most) {
  std::vector<uint32_t> widths;
  for (const exec::RegisterProbe& p : plan.probes)
    for (const uint32_t r : p.registers) widths.push_back(width_of(*ptx.find_function(p.function), r));
  return std::make_unique<RegisterTrace>(
      plan.probes, std::move(widths), std::vector<std::array<int64_t, 3>>(programs.begin(), programs.end()),
      most);
}

base::Result<std::unique_ptr<RegisterTrace>> trace_of(const ptx::Module& ptx, std::string_view kernel,
                                                      std::span<const std::array<int64_t, 3>> programs) {
  const ptx::Function* f = ptx.find_function(kernel);
  if (!f) return base::failure("the PTX has no kernel '" + std::string(kernel) + "'");
  const std::vector<bool> targets = ptx::jump_targets(*f);
  RegisterPlan plan;
  for (uint32_t i = 0; i < f->body.size(); ++i)
    if (std::vector<uint32_t> results = results_of(f->body[i]); !results.empty())
      if (const auto at = completed_by(*f, i, targets))
        plan.probes.push_back({std::string(kernel), *at, true, std::move(results)});
  return trace_of(plan, ptx, programs, kMostCompared);
}

base::Result<std::unique_ptr<RegisterTrace>> trace_of(const sass::Module& module, std::string_view kernel,
                                                      std::span<const std::array<int64_t, 3>> programs,
                                                      bool reads, bool heads) {
  const sass::Function* f = module.find(kernel);
  if (!f) return base::failure("the disassembly has no kernel '" + std::string(kernel) + "'");
  std::vector<exec::RegisterProbe> probes;
  std::vector<uint32_t> widths;
  std::set<uint32_t> sums, written;
  const sass::Flow edges(*f);
  for (uint32_t i = 0; i < f->body.size(); ++i) {
    const sass::Instruction& in = f->body[i];
    std::vector<uint32_t> results = sass::results_of(module, in);
    written.insert(results.begin(), results.end());
    if (sass::product_of(in).of_group) {
      sums.insert(results.begin(), results.end());
      results.clear();
    } else if (in.is(sass::Opcode::kWARPGROUP_DEPBAR)) {
      results.assign(sums.begin(), sums.end());
    }
    if (results.empty()) {
      std::vector<uint32_t> read;
      if (reads) read = sass::registers_of(module, in).reads;
      for (const uint32_t r : read) widths.push_back(sass::is_predicate(r) ? 1 : 4);
      if (!read.empty()) probes.push_back({std::string(kernel), i, false, std::move(read)});
      continue;
    }
    // A guarded instruction leaves what was there in the other threads: before the next one, all of them are read.
    const bool reads_all = in.guard && i + 1 < f->body.size() && !edges.is_target(i + 1);
    for (int k = 0; k < 1 + reads_all; ++k)
      for (const uint32_t r : results) widths.push_back(sass::is_predicate(r) ? 1 : 4);
    if (reads_all) probes.push_back({std::string(kernel), i + 1, false, results});
    probes.push_back({std::string(kernel), i, true, std::move(results)});
  }
  std::set<uint32_t> begins;
  for (uint32_t i = 0; heads && i < f->body.size(); ++i)
    for (const sass::Edge& edge : edges.after(i))
      if (edge.to <= i && edge.to) begins.insert(edge.to);
  for (const uint32_t head : begins) {
    for (const uint32_t r : written) widths.push_back(sass::is_predicate(r) ? 1 : 4);
    probes.push_back({std::string(kernel), head, false, {written.begin(), written.end()}});
  }
  return std::make_unique<RegisterTrace>(
      std::move(probes), std::move(widths),
      std::vector<std::array<int64_t, 3>>(programs.begin(), programs.end()),
      reads ? kMostCompared : kMostTraced);
}

base::Result<SassPlan> place_by_running(const RegisterPlan& plan, const ptx::Module& ptx,
                                        std::string_view kernel, const RegisterTrace& of_ptx,
                                        const sass::Module& module, const RegisterTrace& of_machine) {
  const ptx::Function* f = ptx.find_function(kernel);
  const sass::Function* machine = module.find(kernel);
  if (!f || !machine) return base::failure("there is no kernel '" + std::string(kernel) + "'");
  if (of_ptx.is_full() || of_machine.is_full())
    return base::failure("this launch is too long to find registers by running it",
                         {"choose fewer programs: " + base::option("programs", "0", "[0]")});
  std::vector<uint32_t> number_of;  // of the PTX's programs, in the machine's trace
  for (const auto& id : of_ptx.programs()) {
    const auto found = std::find(of_machine.programs().begin(), of_machine.programs().end(), id);
    if (found == of_machine.programs().end())
      return base::failure("the machine code stopped before it came to a program that the PTX ran");
    number_of.push_back(static_cast<uint32_t>(found - of_machine.programs().begin()));
  }
  std::set<uint32_t> widths;
  for (const Tap& tap : plan.taps)
    widths.insert(std::min(4u, static_cast<uint32_t>(num::size_of(tap.site.type))));
  Matcher matcher(*machine, of_machine, std::move(widths));
  const ByLine by_line(plan, ptx, *f, module, *machine, of_machine);
  std::set<std::string> differing;  // values
  std::vector<std::set<const Holder*>> taken(plan.taps.size());
  std::vector<SassRead> reads;
  SassKept kept(plan);
  for (size_t p = 0; p < plan.probes.size(); ++p) {
    const RegisterPlan::Part& part = plan.parts[p];
    if (part.kind != RegisterPlan::Part::kRead) continue;
    const Tap& tap = plan.taps[part.tap];
    const bool is_predicate = tap.site.type == num::Type::kI1;
    const auto width = static_cast<uint32_t>(num::size_of(tap.site.type));
    for (size_t k = 0; k < part.registers.size(); ++k) {
      const uint32_t reg = plan.probes[p].registers[k];
      const uint32_t line = line_of(ptx, *f, plan.probes[p], reg);
      std::vector<RegisterTrace::Number> numbers = of_ptx.numbers(p, k);
      for (auto& n : numbers)
        n.thread = number_of[n.thread / kMostThreads] * kMostThreads + n.thread % kMostThreads;
      if (numbers.empty()) continue;
      std::vector<SassRead> found;
      for (uint32_t done = 0; done < width; done += 4) {
        const uint32_t from = part.offsets[k] + done, bytes = std::min(4u, width - done);
        const Sequences wanted = sequences_of(numbers, [&](uint64_t v) { return part_of(v, from, bytes); });
        const Holder* site = matcher.find(wanted, bytes, is_predicate, line, taken[part.tap]);
        if (!site) {
          found.clear();
          break;
        }
        for (const auto& [probe, reg_number] : site->places) {
          const exec::RegisterProbe& place = of_machine.probes()[probe];
          const auto [definition, stop] = places_of(*machine, place);
          found.push_back({stop, definition, place.registers[reg_number], part.tap, part.registers[k],
                           site->from, done, bytes, site->inverted});
        }
      }
      if (found.empty() && !(found = by_line.find(p, k)).empty()) differing.insert(tap.site.value);
      if (found.empty())
        kept.miss(part.tap, "no register has the numbers of " + std::string(f->registers[reg].name) +
                                (line ? " (line " + std::to_string(line) + " of the ptx)" : ""));
      else
        kept.keep(part.tap, part.registers[k]);
      reads.insert(reads.end(), found.begin(), found.end());
    }
  }
  auto out = kept.plan(std::move(reads));
  for (const std::string& value : differing)
    if (out)
      out->notes.push_back(value + " has other numbers than at ptx: the lines of the ptx say where it is");
  return out;
}

Recording recorded(const SassPlan& plan, const RegisterTrace& of_machine, const sass::Module& module,
                   std::string_view kernel, bool every_iteration) {
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, std::vector<uint32_t>> reads;
  for (uint32_t r = 0; r < plan.reads.size(); ++r)
    reads[{plan.reads[r].definition, plan.reads[r].stop, plan.reads[r].reg}].push_back(r);
  const sass::Function& f = *module.find(kernel);
  struct Ordered {
    uint64_t order;
    SassValue value;
  };
  std::vector<Ordered> values;
  for (size_t p = 0; p < of_machine.probes().size(); ++p) {
    const exec::RegisterProbe& probe = of_machine.probes()[p];
    for (size_t k = 0; k < probe.registers.size(); ++k) {
      const auto [given, read_at] = places_of(f, probe);
      const auto found = reads.find({given, read_at, probe.registers[k]});
      if (found == reads.end()) continue;
      for (const auto& n : of_machine.numbers(p, k))
        for (const uint32_t r : found->second)
          values.push_back({n.order,
                            {r, of_machine.programs()[n.thread / kMostThreads], n.thread % kMostThreads,
                             static_cast<uint32_t>(n.value)}});
    }
  }
  std::stable_sort(values.begin(), values.end(),
                   [](const Ordered& a, const Ordered& b) { return a.order < b.order; });
  std::vector<SassValue> out;
  out.reserve(values.size());
  for (const Ordered& v : values) out.push_back(v.value);
  return assemble_sass(plan, out, every_iteration);
}

}  // namespace triton_runner::probe
