// Plans reads of registers by the names that the PTX gives them, by opcode and by line.
#include <algorithm>
#include <set>

#include <triton_runner/base/try.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/registers.h>

#include "paths.h"
#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
namespace {

using base::failure;
using ptx::Function;
using ptx::Instruction;

bool comes_from(const Instruction& in, std::string_view file, int line) {
  for (const ptx::SourceLine* s = in.source; s; s = s->inlined_at)
    if (static_cast<int>(s->line) == line && ends_in(s->file, file)) return true;
  return false;
}

// "{%r1, %r2}" or "%r1" as names.
std::vector<std::string_view> register_names(std::string_view text) {
  std::vector<std::string_view> out;
  if (!text.empty() && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    out.push_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

bool names_opcode(const Instruction& in, std::string_view name) {
  return in.spelling == name || (in.spelling.starts_with(name) && in.spelling[name.size()] == '.');
}

std::optional<num::Type> type_of(ptx::Mod declared) {
  if (declared == ptx::Mod::kPred) return num::Type::kI1;
  switch (ptx::bits(declared)) {
    case 8:
      return num::Type::kI8;
    case 16:
      return declared == ptx::Mod::kF16 ? num::Type::kF16 : num::Type::kI16;
    case 32:
      return declared == ptx::Mod::kF32 ? num::Type::kF32 : num::Type::kI32;
    case 64:
      return declared == ptx::Mod::kF64 ? num::Type::kF64 : num::Type::kI64;
    default:
      return {};
  }
}

// Returns what an instruction makes of a register that is declared by its width only: a float where it says
// so, nothing in particular where it moves bits.
std::optional<num::Type> made_by(const Instruction& in, num::Type declared) {
  const ptx::Mod type = in.type(0);
  if (declared == num::Type::kI1 || ptx::bits(type) != static_cast<int>(8 * num::size_of(declared)))
    return declared;
  switch (type) {
    case ptx::Mod::kF32:
      return num::Type::kF32;
    case ptx::Mod::kF64:
      return num::Type::kF64;
    case ptx::Mod::kF16:
      return num::Type::kF16;
    case ptx::Mod::kBf16:
      return num::Type::kBF16;
    case ptx::Mod::kB16:
    case ptx::Mod::kB32:
    case ptx::Mod::kB64:
      return {};
    default:
      return declared;
  }
}

class Namer {
 public:
  Namer(const ptx::Module& module, const Function& f, std::string_view level, uint32_t threads,
        uint32_t blocks)
      : module_(module),
        f_(f),
        level_(level),
        threads_(threads),
        blocks_(blocks),
        targets_(jump_targets(f)) {}

  base::Status add(const std::string& name) {
    if (name.starts_with('%') || name.starts_with('{')) return add_registers(name);
    std::string_view file;
    int line = 0;
    const bool is_line = split_line(name, file, line);
    const bool own_text = is_line && (ends_in(module_.filename(), file) || file.ends_with(".ptx"));
    size_t found = 0, without = 0;
    for (uint32_t i = 0; i < f_.body.size(); ++i) {
      const Instruction& in = f_.body[i];
      const bool wanted = !is_line   ? names_opcode(in, name)
                          : own_text ? module_.location(in.offset).line == line
                                     : comes_from(in, file, line);
      if (!wanted) continue;
      const std::vector<uint32_t> results = results_of(in);
      if (results.empty()) {
        ++without;
        continue;
      }
      if (auto ok = add_tap(results, {i}); !ok) return ok;
      ++found;
    }
    if (found) return base::success();
    if (without) return module_.diagnostic(f_.offset, "what '" + name + "' names writes no register");
    return unknown(name, is_line);
  }

  RegisterPlan plan;
  bool adds_waits = false;
  std::set<uint32_t> waits;  // after these instructions: what products need that nothing waits for

 private:
  uint32_t find(std::string_view name) const {
    for (size_t i = 0; i < f_.registers.size(); ++i)
      if (f_.registers[i].name == name) return static_cast<uint32_t>(i);
    return ~uint32_t{0};
  }

  base::Status add_registers(const std::string& name) {
    std::vector<uint32_t> wanted;
    for (std::string_view n : register_names(name)) {
      wanted.push_back(find(n));
      if (wanted.back() == ~uint32_t{0}) return unknown(std::string(n), false);
    }
    if (wanted.empty()) return failure("'" + name + "' names no register");
    std::vector<uint32_t> writers;
    for (uint32_t i = 0; i < f_.body.size(); ++i)
      if (std::all_of(wanted.begin(), wanted.end(), [&](uint32_t r) { return writes(f_.body[i], r); }))
        writers.push_back(i);
    if (writers.empty())
      return module_.diagnostic(
          f_.offset, wanted.size() == 1 ? "no instruction writes " + name
                                        : "no instruction writes all of " + name + ": name them one by one");
    return add_tap(wanted, writers);
  }

  base::Status add_tap(const std::vector<uint32_t>& registers, const std::vector<uint32_t>& writers) {
    const Instruction& in = f_.body[writers[0]];
    const auto type = type_of(f_.registers[registers[0]].type);
    Tap tap;
    std::string text;
    for (uint32_t r : registers) {
      const ptx::Register& reg = f_.registers[r];
      if (!type || type_of(reg.type) != type) {
        if (registers.size() > 1) {  // %r1|%p1: each by itself
          for (uint32_t each : registers)
            if (auto ok = add_tap({each}, writers); !ok) return ok;
          return base::success();
        }
        return failure("register " + std::string(reg.name) + " has " + std::to_string(ptx::bits(reg.type)) +
                       " bits: 8 to 64 can be recorded");
      }
      text += (text.empty() ? "" : ",") + std::string(reg.name);
    }
    set_site(tap.site, in, registers, registers.size() > 1 ? "{" + text + "}" : text);
    std::optional<num::Type> made;
    for (uint32_t w : writers)
      if (const auto t = made_by(f_.body[w], *type); t) made = made && *made != *t ? *type : *t;
    tap.site.type = made.value_or(*type);
    const auto n = static_cast<uint32_t>(registers.size());
    tap.registers = n;
    tap.threads = threads_;
    tap.blocks = blocks_;
    tap.per_thread = true;
    for (uint32_t b = 0; b < blocks_; ++b)
      for (uint32_t r = 0; r < n; ++r)
        for (uint32_t t = 0; t < threads_; ++t)
          tap.elements.push_back(static_cast<int32_t>((b * threads_ + t) * n + r));
    std::set<uint32_t> places;
    for (uint32_t w : writers)
      if (auto ok = add_probe(registers, w, tap.site.op, places); !ok) return ok;
    plan.taps.push_back(std::move(tap));
    return base::success();
  }

  // Notes where the value is given, and the axes of what is recorded.
  void set_site(Site& site, const Instruction& in, const std::vector<uint32_t>& registers,
                std::string value) {
    site.kernel = f_.name;
    site.level = level_;
    site.value = std::move(value);
    site.op = in.spelling;
    site.type_text = "." + std::string(ptx::text(f_.registers[registers[0]].type));
    const base::Location at = module_.location(in.offset);
    site.location = at.str();
    in.source ? set_place(site, *in.source) : set_place(site, at);
    for (const ptx::SourceLine* s = in.source; s; s = s->inlined_at) add_to_stack(site, *s);
    if (blocks_ > 1) site.shape.push_back(blocks_);
    site.shape.push_back(threads_);
    if (registers.size() > 1) site.shape.push_back(static_cast<int64_t>(registers.size()));
    site.loops = 1;
  }

  // Reads the registers of the tap that comes next after an instruction that writes them; `places`: those of
  // the tap so far.
  base::Status add_probe(const std::vector<uint32_t>& registers, uint32_t w, const std::string& op,
                         std::set<uint32_t>& places) {
    const Instruction& writer = f_.body[w];
    const auto place = completed_by(f_, w, targets_);
    if (const auto commit = place ? std::nullopt : committed_by(f_, w, targets_); commit && adds_waits) {
      waits.insert(*commit);
      return base::success();
    }
    if (!place)
      return module_.diagnostic(writer.offset,
                                "what this instruction gives comes later, and no wait for it stands before "
                                "the next jump: no register can be read here",
                                {"name a register that is computed from it after its wait, or the value of "
                                 "the TTGIR"});
    if (!places.insert(*place).second) return base::success();  // several products that one wait completes
    if (*place != w)
      note("what " + op + " gives is read after the " + std::string(f_.body[*place].spelling) + " of " +
           module_.location(f_.body[*place].offset).str());
    if (writer.guard >= 0 &&
        std::find(registers.begin(), registers.end(), static_cast<uint32_t>(writer.guard)) != registers.end())
      return module_.diagnostic(writer.offset,
                                "this instruction writes its own guard: it cannot be recorded");
    plan.probes.push_back({std::string(f_.name), *place, true, registers});
    RegisterPlan::Part part{RegisterPlan::Part::kRead, static_cast<uint32_t>(plan.taps.size()), {}, {}, {}};
    for (uint32_t k = 0; k < registers.size(); ++k) {
      part.registers.push_back(k);
      part.offsets.push_back(0);
      part.widths.push_back(width_of(f_, registers[k]));
    }
    plan.parts.push_back(std::move(part));
    return base::success();
  }

  void note(std::string text) {
    if (std::find(plan.notes.begin(), plan.notes.end(), text) == plan.notes.end())
      plan.notes.push_back(std::move(text));
  }

  base::Diagnostic unknown(const std::string& name, bool is_line) const {
    std::vector<std::string> notes;
    if (is_line) {
      std::set<std::string> lines;
      for (const Instruction& in : f_.body)
        if (in.source && !results_of(in).empty())
          lines.insert(std::string(in.source->file) + ":" + std::to_string(in.source->line));
      for (const std::string& n : base::nearest_names(name, {lines.begin(), lines.end()}))
        notes.push_back("did you mean '" + n + "'?");
      return module_.diagnostic(f_.offset, "no instruction comes from line " + name, notes);
    }
    for (const ptx::Register& r : f_.registers)
      if (r.name == "%" + name) notes.push_back("did you mean '%" + name + "'?");
    std::set<std::string> names;
    if (name.starts_with('%'))
      for (const ptx::Register& r : f_.registers) names.emplace(r.name);
    else
      for (const Instruction& in : f_.body)  // "ld.global" names ld.global.b32, too
        for (size_t end = 0; end != std::string::npos;) {
          end = in.spelling.find('.', end + 1);
          names.emplace(in.spelling.substr(0, end));
        }
    for (const std::string& n : base::nearest_names(name, {names.begin(), names.end()}))
      notes.push_back("did you mean '" + n + "'?");
    for (const ptx::Function* other : module_.functions())
      for (const ptx::Register& r : other->registers)
        if (r.name == name && other != &f_)
          notes.push_back("'" + std::string(other->name) +
                          "' has one; registers of functions that a kernel calls cannot be dumped by name");
    return module_.diagnostic(f_.offset,
                              "'" + std::string(f_.name) + "' has no " +
                                  (name.starts_with('%') ? "register " + name : "instruction '" + name + "'"),
                              notes);
  }

  const ptx::Module& module_;
  const Function& f_;
  std::string_view level_;
  uint32_t threads_, blocks_;
  std::vector<bool> targets_;
};

base::Result<const Function*> find_entry(const ptx::Module& ptx, std::string_view kernel) {
  const Function* f = ptx.find_function(kernel);
  if (!f || f->is_declaration)
    return failure("there is no kernel '" + std::string(kernel) + "' in " + ptx.filename());
  return f;
}

}  // namespace

base::Result<RegisterPlan> plan_named_registers(const ptx::Module& ptx, std::string_view kernel,
                                                std::span<const std::string> names, std::string_view level,
                                                uint32_t threads, uint32_t blocks) {
  auto f = TRY(find_entry(ptx, kernel));
  Namer namer(ptx, *f, level, threads, blocks);
  for (const std::string& name : names) TRY(namer.add(name));
  return std::move(namer.plan);
}

base::Result<std::string> add_waits(const ptx::Module& ptx, std::string_view kernel,
                                    std::span<const std::string> names) {
  auto f = TRY(find_entry(ptx, kernel));
  Namer namer(ptx, *f, "", 32, 1);
  namer.adds_waits = true;
  for (const std::string& name : names) TRY(namer.add(name));
  std::string text;
  size_t from = 0;
  for (uint32_t i : namer.waits) {
    const size_t to = f->body[i].offset + f->body[i].length;
    text += ptx.text().substr(from, to - from);
    text += " wgmma.wait_group.sync.aligned 0;";  // on the same line: lines keep their numbers
    from = to;
  }
  return text += ptx.text().substr(from);
}

bool names_registers(const ptx::Module& ptx, std::string_view kernel, std::string_view name) {
  auto f = find_entry(ptx, kernel);
  if (!f) return false;
  Namer namer(ptx, **f, "", 32, 1);
  namer.adds_waits = true;
  return namer.add(std::string(name)).operator bool();
}

}  // namespace triton_runner::probe
