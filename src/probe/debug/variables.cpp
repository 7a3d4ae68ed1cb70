// Implements variables.h: joins marks and bindings (which value a variable is) with holding (which registers
// have it).
#include <triton_runner/base/try.h>
#include <triton_runner/probe/variables.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <triton_runner/ir/text.h>
#include <triton_runner/num/types.h>
#include <triton_runner/sass/registers.h>

#include "assignments.h"
#include "debug/bindings.h"
#include "debug/holding.h"

namespace triton_runner::probe {
namespace {

std::vector<Piece> pieces_of(const RegisterPlan& plan, const std::string& kernel) {
  std::vector<Piece> out;
  for (size_t p = 0; p < plan.probes.size(); ++p) {
    const RegisterPlan::Part& part = plan.parts[p];
    const exec::RegisterProbe& probe = plan.probes[p];
    if (part.kind != RegisterPlan::Part::kRead || probe.function != kernel) continue;
    const auto bytes = static_cast<uint32_t>(num::size_of(plan.taps[part.tap].site.type));
    for (size_t k = 0; k < part.registers.size(); ++k)
      out.push_back({probe.instruction, probe.after, probe.registers[k], part.tap, part.registers[k],
                     part.offsets[k], 0, bytes, false});
  }
  return out;
}

std::vector<Piece> pieces_of(const SassPlan& plan, const sass::Function& f, const RegisterFlow& flow) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (uint32_t r = 0; r < flow.registers.size(); ++r) numbers.emplace(flow.registers[r], r);
  std::vector<Piece> out;
  for (const SassRead& read : plan.reads)
    if (const auto reg = numbers.find(sass::register_name(read.reg)); reg != numbers.end())
      out.push_back({static_cast<uint32_t>(sass::index_of(f, read.stop)), read.stop == read.definition,
                     reg->second, read.tap, read.number, read.from, read.to, read.bytes, read.inverted});
  return out;
}

std::vector<std::string> variables_of(const Assigned& assigned) {
  std::vector<std::string> out;
  for (const Assigned::One& a : assigned.all) out.push_back(a.site.variable);
  return out;
}

std::string text_of_constant(const ir::Value& value) {
  const ir::Op* op = value.defining_op;
  const ir::Attr* attr = op && op->num_operands() == 0 ? op->attr("value") : nullptr;
  return attr ? ir::text_of(attr) : std::string();
}

struct Parsed {
  ir::Module module;
  std::vector<Assignment> assignments;
};

base::Result<Parsed> parsed(const Assigned& of) {
  auto module = TRY(ir::parse(of.text, of.filename));
  const ir::Op* func = module.find_function(of.kernel);
  if (!func) return base::failure("there is no kernel '" + of.kernel + "' in this module");
  auto higher = ir::parse(of.above, "<ttir>");
  std::vector<Assignment> all = assignments_of(module, *func, higher ? &*higher : nullptr);
  return Parsed{std::move(module), std::move(all)};
}

}  // namespace

base::Result<Assigned> assigned(std::string text, std::string filename, std::string kernel,
                                std::string above) {
  Assigned out{{}, std::move(text), std::move(filename), std::move(kernel), std::move(above)};
  auto from = TRY(parsed(out));
  for (const Assignment& a : from.assignments)
    out.all.push_back({a.site, a.line, a.is_buffer, a.is_in_flight, text_of_constant(*a.value)});
  return out;
}

base::Result<std::string> Assigned::marked(std::span<const uint32_t> which) const {
  auto from = TRY(parsed(*this));
  return mark_assignments(from.module, from.assignments, which);
}

Marks marks_of(const Assigned& assigned, const RegisterPlan& plan) {
  Marks out{std::vector<std::vector<Mark>>(assigned.all.size()), std::vector<bool>(assigned.all.size())};
  auto order = [](const exec::RegisterProbe& p) { return 2 * uint64_t{p.instruction} + p.after; };
  for (size_t a = 0; a < assigned.all.size(); ++a)
    for (size_t p = 0; p < plan.probes.size(); ++p) {
      const RegisterPlan::Part& part = plan.parts[p];
      const exec::RegisterProbe& probe = plan.probes[p];
      if (part.kind != RegisterPlan::Part::kRead ||
          plan.taps[part.tap].site.value != assigned.all[a].site.value)
        continue;
      std::vector<Mark>& places = out.places[a];
      if (places.empty()) places.push_back({probe, probe});
      if (order(probe) < order(places[0].from)) places[0].from = probe;
      if (order(probe) > order(places[0].to)) places[0].to = probe;
    }
  return out;
}

Variables::Variables(Assigned assigned, std::shared_ptr<const ptx::Module> ptx, const std::string& kernel,
                     const Marks& marks, const RegisterPlan& plan)
    : assigned_(std::move(assigned)), ptx_(std::move(ptx)), kernel_(kernel) {
  holding_ = std::make_unique<Holding>(flow_of(*ptx_, *ptx_->find_function(kernel)), pieces_of(plan, kernel));
  bindings_ = std::make_unique<Bindings>(holding_->flow(), kernel, variables_of(assigned_), marks);
  place_values(plan.taps);
}

Variables::Variables(Assigned assigned, std::shared_ptr<const ptx::Module> ptx, const std::string& kernel,
                     const Marks& marks, std::shared_ptr<const sass::Module> machine, const SassPlan* plan)
    : assigned_(std::move(assigned)), ptx_(std::move(ptx)), machine_(std::move(machine)), kernel_(kernel) {
  const sass::Function& f = *machine_->find(kernel);
  RegisterFlow flow = flow_of(*machine_, f);
  std::vector<Piece> pieces;
  if (plan) pieces = pieces_of(*plan, f, flow);
  holding_ = std::make_unique<Holding>(std::move(flow), std::move(pieces));
  of_ptx_ = std::make_unique<RegisterFlow>(flow_of(*ptx_, *ptx_->find_function(kernel)));
  bindings_ = std::make_unique<Bindings>(*of_ptx_, kernel, variables_of(assigned_), marks);
  for (uint32_t i = 0; i < of_ptx_->steps.size(); ++i) ptx_of_line_.try_emplace(of_ptx_->steps[i].line, i);
  place_values(plan ? plan->taps : std::vector<Tap>{});
}

Variables::~Variables() = default;

void Variables::place_values(const std::vector<Tap>& taps) {
  taps_ = taps;
  for (const Assigned::One& a : assigned_.all) {
    const auto at =
        std::find_if(taps_.begin(), taps_.end(), [&](const Tap& t) { return t.site.value == a.site.value; });
    tap_of_.push_back(at == taps_.end() ? -1 : static_cast<int>(at - taps_.begin()));
  }
  const RegisterFlow& flow = holding_->flow();
  for (uint32_t i = 0; i < flow.steps.size(); ++i) of_line_[flow.steps[i].line].push_back(i);
}

bool Variables::has(const std::string& variable) const { return bindings_->has(variable); }

std::optional<uint32_t> Variables::instruction_at(const CodePlace& place) const {
  const auto on_line = place.function == kernel_ ? of_line_.find(place.line) : of_line_.end();
  if (on_line == of_line_.end()) return {};
  for (const uint32_t i : on_line->second)
    if (holding_->flow().steps[i].text == place.text) return i;
  return on_line->second.front();
}

const Variables::Found& Variables::find(const std::string& variable, const CodePlace& place) const {
  static const Found kNone{};
  const auto here = has(variable) ? instruction_at(place) : std::nullopt;
  if (!here) return kNone;
  const auto [it, fresh] = found_.try_emplace({*here, variable});
  if (fresh) it->second = found_at(variable, *here);
  return it->second;
}

Variables::Found Variables::found_at(const std::string& variable, uint32_t instruction) const {
  uint32_t at = instruction;
  if (machine_) {  // the PTX instruction that it is made of, or the last one before it that is known
    uint32_t i = at;
    const RegisterFlow& flow = holding_->flow();
    while (i > 0 && !ptx_of_line_.contains(flow.steps[i].ptx_line)) --i;
    const auto of = ptx_of_line_.find(flow.steps[i].ptx_line);
    if (of == ptx_of_line_.end()) return {};
    at = of->second;
  }
  const int assignment = bindings_->at(at, variable);
  if (assignment < 0) return {};
  Found found{Status::kNowhere, static_cast<uint32_t>(assignment), {}};
  const int tap = tap_of_[found.assignment];
  const auto value = static_cast<uint32_t>(tap);
  if (assigned_.all[found.assignment].is_buffer) found.status = Status::kBuffer;
  if (found.status == Status::kBuffer || tap < 0 || !holding_->has(value)) return found;
  found.pieces = holding_->whole(instruction, value);
  found.status = !found.pieces.empty()                           ? Status::kThere
                 : holding_->may_be_computed(instruction, value) ? Status::kPartly
                                                                 : Status::kNotYet;
  return found;
}

size_t Variables::number_of(const exec::Stopped& lanes, uint32_t reg) const {
  const std::span<const void* const> values = lanes.values();
  if (numbers_of_ != values.data() || values_ != values.size()) {
    numbers_of_ = values.data();
    std::unordered_map<std::string_view, size_t> named;
    for (size_t i = 0; i < values.size(); ++i) named.emplace(static_cast<const char*>(values[i]), i);
    numbers_.clear();
    for (const std::string& name : holding_->flow().registers) {
      const auto at = named.find(name);
      numbers_.push_back(at == named.end() ? 0 : at->second);
    }
    values_ = values.size();
  }
  return numbers_[reg];
}

namespace {

// Visits the elements of a tap's register `number` that threads which are here have: (element, thread's index).
template <class Visit>
void for_each_here(const Tap& tap, uint32_t number, const exec::StoppedLanes& lanes,
                   std::span<const int8_t> mask, Visit visit) {
  const uint32_t first = std::max(lanes.first(), tap.first_thread);
  const uint32_t end = std::min(lanes.first() + lanes.count(), tap.first_thread + tap.threads);
  const size_t row = (size_t{lanes.block()} % tap.blocks * tap.registers + number) * tap.threads;
  const int32_t* elements = tap.elements.data() + row;
  const uint32_t offset = lanes.first();
  for (uint32_t thread = first; thread < end; ++thread)
    if (mask.empty() || mask[thread - offset])
      visit(static_cast<size_t>(elements[thread - tap.first_thread]), thread - offset);
}

// Copies `bytes` bytes of each thread's register to where its element is.
template <size_t bytes>
void copy_here(const Tap& tap, const Piece& piece, const exec::StoppedLanes& lanes, const exec::Elements& e,
               Variables::Elements& out) {
  const size_t size = num::size_of(e.type), width = num::size_of(tap.site.type);
  const std::byte* from = e.data + piece.from;
  std::byte* to = out.data.data() + piece.to;
  for_each_here(tap, piece.number, lanes, e.mask, [&](size_t element, uint32_t i) {
    std::memcpy(to + element * width, from + i * size, bytes);
    out.there[element] = 1;
  });
}

}  // namespace

Variables::Elements Variables::read(const Found& found, exec::StoppedLanes& lanes) const {
  const Tap& tap = taps_[static_cast<size_t>(tap_of_[found.assignment])];
  const size_t width = num::size_of(tap.site.type);
  const auto count = static_cast<size_t>(tap.site.num_elements());
  Elements out{std::vector<std::byte>(count * width), std::vector<int8_t>(count)};
  for (const uint32_t p : found.pieces) {
    const Piece& piece = holding_->piece(p);
    lanes.look(number_of(lanes, piece.reg), [&](const exec::Elements& e) {
      const size_t bytes = std::min<size_t>(piece.bytes, num::size_of(e.type) - piece.from);
      if (bytes == 4) return copy_here<4>(tap, piece, lanes, e, out);
      if (bytes == 2) return copy_here<2>(tap, piece, lanes, e, out);
      if (bytes == 8) return copy_here<8>(tap, piece, lanes, e, out);
      if (tap.site.type != num::Type::kI1) return copy_here<1>(tap, piece, lanes, e, out);
      for_each_here(tap, piece.number, lanes, e.mask, [&](size_t element, uint32_t i) {
        out.data[element] = (e.data[i] & std::byte{1}) ^ std::byte{piece.inverted};
        out.there[element] = 1;
      });
    });
  }
  return out;
}

base::Result<std::vector<Variables::Write>> Variables::write(const Found& found, const CodePlace& place,
                                                             exec::StoppedLanes& lanes,
                                                             std::span<const std::byte> elements) const {
  const Elements now = read(found, lanes);
  const Assigned::One& assignment = assigned_.all[found.assignment];
  const std::string& name = assignment.site.variable;
  if (elements.size() != now.data.size())
    return base::failure(name + " has " + std::to_string(now.data.size()) + " bytes");
  const Tap& tap = taps_[static_cast<size_t>(tap_of_[found.assignment])];
  const size_t width = num::size_of(tap.site.type);
  std::vector<bool> changes(now.there.size());
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i] = std::memcmp(now.data.data() + i * width, elements.data() + i * width, width) != 0;
    if (changes[i] && !now.there[i])
      return base::failure(
          "element " + std::to_string(i) + " of " + name + " is in threads that are elsewhere",
          {"go on to where they are together, or change it at --level ttgir"});
  }
  std::set<std::pair<uint32_t, uint32_t>> bytes;  // registers, and the first of their bytes
  for (const uint32_t p : found.pieces)
    if (!bytes.emplace(holding_->piece(p).reg, holding_->piece(p).from).second)
      return base::failure(
          "several elements of " + name + " are in one register here: they cannot be told apart",
          {"change it at --level ptx or --level ttgir"});
  std::map<size_t, Write> writes;
  bool is_read = true;
  for (const uint32_t p : found.pieces) {
    const Piece& piece = holding_->piece(p);
    const size_t number = number_of(lanes, piece.reg);
    lanes.look(number, [&](const exec::Elements& e) {
      const size_t size = num::size_of(e.type);
      for_each_here(tap, piece.number, lanes, e.mask, [&](size_t element, uint32_t i) {
        if (!changes[element]) return;
        Write& write = writes[number];
        if (write.elements.empty()) write = {number, {e.data, e.data + size * lanes.count()}};
        const std::byte* from = elements.data() + element * width + piece.to;
        std::byte* to = write.elements.data() + i * size + piece.from;
        std::memcpy(to, from, std::min<size_t>(piece.bytes, size - piece.from));
        if (tap.site.type == num::Type::kI1) *to = (*from & std::byte{1}) ^ std::byte{piece.inverted};
      });
    });
    if (writes.contains(number)) is_read &= holding_->is_read(*instruction_at(place), piece.reg);
  }
  if (!writes.empty() && !is_read)
    return base::failure("not all of " + name + " is read from here on: a change would be in vain",
                         {"change it before it is used, or what is computed from it"});
  std::vector<Write> out;
  for (auto& [number, write] : writes) out.push_back(std::move(write));
  return out;
}

}  // namespace triton_runner::probe
