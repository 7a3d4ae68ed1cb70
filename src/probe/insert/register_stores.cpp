// Turns a plan of reads (registers.h) into instructions of the PTX itself. They use registers of their own,
// and change none of the program's.
//
// PTX ISA 4.4 (directives of entries), 7.1 (parameters), 9.3 (guards), 9.7.9 (ld, st; a source register may
// be wider than what is stored), 10 (special registers).
#include <algorithm>

#include <triton_runner/base/try.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/register_stores.h>

#include "programs.h"
#include "ptx/registers_ptx.h"

namespace triton_runner::probe {
namespace {

using base::failure;
using ptx::Function;
using ptx::Instruction;
using ptx::Mod;

constexpr int64_t kFarthest = int64_t{1} << 30;  // that an address reaches beside its register

std::string str(int64_t n) { return std::to_string(n); }

// The place of a character outside of comments, from `at` on.
size_t find_outside_comments(std::string_view text, std::string_view any_of, size_t at) {
  for (; at < text.size(); ++at) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      at = std::min(text.find("*/", at), text.size()) + 1;
    } else if (any_of.find(text[at]) != std::string_view::npos) {
      return at;
    }
  }
  return text.size();
}

// Instructions that a jump leads back over: they may be executed more than once.
std::vector<bool> in_loops(const Function& f) {
  std::vector<size_t> first(f.body.size() + 1, SIZE_MAX);  // of each jump: the earliest target
  auto lead = [&](size_t from, size_t to) { first[from] = std::min(first[from], to); };
  for (size_t i = 0; i < f.body.size(); ++i) {
    const Instruction& in = f.body[i];
    for (uint32_t t : in.targets) lead(i, t);
    for (const ptx::Operand& o : in.operands)
      if (o.kind == ptx::OperandKind::kLabel && o.integer >= 0) lead(i, static_cast<size_t>(o.integer));
  }
  std::vector<bool> out(f.body.size() + 1);
  size_t back_to = SIZE_MAX;
  for (size_t i = f.body.size(); i-- > 0;) {
    back_to = std::min(back_to, first[i]);
    out[i] = back_to <= i;
  }
  return out;
}

class RegisterInserter {
 public:
  RegisterInserter(const ptx::Module& module, const Function& f, const RegisterPlan& plan,
                   const RegisterStoreOptions& options)
      : module_(module), f_(f), plan_(plan), options_(options) {}

  base::Result<RegisterStores> insert() {
    TRY(check());
    TRY(lay_out());
    prefix_ = "%dump_";
    while (module_.text().find(prefix_) != std::string_view::npos) prefix_.insert(1, "_");
    TRY(add_parameter());
    add_prologue();
    for (uint32_t i = 0; i < plan_.probes.size(); ++i) TRY(add_stores(i));
    result_.text = edited();
    return std::move(result_);
  }

 private:
  std::string name(std::string_view what) const { return prefix_ + std::string(what); }
  std::string counter(uint32_t tap) const { return name("n") + str(tap); }
  int64_t lanes() const { return int64_t{threads_} * blocks_; }

  base::Status check() {
    for (const Tap& tap : plan_.taps) {
      if (!tap.per_thread || tap.first_thread != 0)
        return failure(
            tap.site.value + " is put together from several threads: registers are stored as they are",
            {"name it as a value of the TTGIR, which is stored there"});
      if (threads_ && (tap.threads != threads_ || tap.blocks != blocks_))
        return failure("values of " + std::string(f_.name) + " are planned for blocks of different sizes");
      threads_ = tap.threads;
      blocks_ = tap.blocks;
    }
    for (const RegisterPlan::Part& part : plan_.parts)
      if (part.kind != RegisterPlan::Part::kRead || part.registers.size() != plan_.taps[part.tap].registers)
        return failure(plan_.taps[part.tap].site.value + " is read in pieces, which are not stored together");
    return base::success();
  }

  // ---- the buffer

  base::Status lay_out() {
    auto all = TRY(count_programs(options_.grid));
    auto asked = TRY(asked_programs(options_.grid, options_.programs));
    result_.grid = options_.grid;
    result_.every_iteration = options_.every_iteration;
    result_.taps = plan_.taps;
    result_.notes = plan_.notes;
    result_.chosen = std::move(asked);
    const int64_t wanted = result_.chosen.empty() ? all : static_cast<int64_t>(result_.chosen.size());

    const std::vector<bool> loops = in_loops(f_);
    std::vector<RegisterStores::Area>& areas = result_.areas;
    areas.resize(plan_.taps.size());
    for (size_t i = 0; i < plan_.probes.size(); ++i) {
      RegisterStores::Area& area = areas[plan_.parts[i].tap];
      area.repeats = area.repeats || loops[plan_.probes[i].instruction];
      ++area.slots;  // each of its places is one execution, outside of loops
    }
    int64_t at = 0;
    for (RegisterStores::Area& area : areas) {
      area.counts = at;
      at += 4 * lanes();
    }
    // The bytes that the counts leave are for the slots, in equal parts.
    const int64_t share = wanted ? options_.max_bytes / wanted - at : 0;
    for (size_t t = 0; t < areas.size(); ++t) {
      RegisterStores::Area& area = areas[t];
      const Tap& tap = plan_.taps[t];
      area.slot = lanes() * tap.registers * static_cast<int64_t>(num::size_of(tap.site.type));
      if (!options_.every_iteration) {
        area.slots = 1;
      } else if (area.repeats) {
        const int64_t room = (share / static_cast<int64_t>(areas.size()) - 128) / area.slot;
        area.slots = std::clamp<int64_t>(room, area.slots, kUncounted);
      }
      area.data = aligned(at, 128);
      at = area.data + area.slots * area.slot;
    }
    result_.stride = aligned(at, 128);
    result_.programs = std::min(wanted, options_.max_bytes / std::max<int64_t>(1, result_.stride));
    result_.without_room = wanted - result_.programs;
    if (result_.without_room)
      result_.notes.push_back("no room for " + str(result_.without_room) + " of " + str(wanted) +
                              " programs, which need " + str(result_.stride) +
                              " bytes each: the buffer may have " + str(options_.max_bytes) +
                              " bytes (max_bytes)");
    if (!result_.chosen.empty()) result_.chosen.resize(static_cast<size_t>(result_.programs));
    result_.bytes = result_.stride * result_.programs;
    return base::success();
  }

  // ---- the text

  void put(size_t offset, uint64_t order, std::string text) {
    edits_.push_back({offset, order, std::move(text)});
  }

  base::Status add_parameter() {
    const std::string_view text = module_.text();
    const std::string own = ".param .u64 .ptr .global .align 16 " + parameter();
    const size_t n = f_.params.size();
    if (options_.hidden > n)
      return module_.diagnostic(f_.offset, "'" + std::string(f_.name) + "' has " +
                                               str(static_cast<int64_t>(n)) +
                                               " parameters, fewer than the launch adds by itself");
    result_.parameter = static_cast<uint32_t>(n) - options_.hidden;
    const size_t behind_name = f_.offset + f_.name.size();
    if (options_.hidden) {
      put(text.rfind(".param", f_.params[result_.parameter].offset), 0, own + ",\n\t");
    } else if (n) {
      const ptx::Variable& last = f_.params[n - 1];
      // Not before the parenthesis, where a comment may stand.
      size_t end = last.offset + last.name.size();
      const size_t next = find_outside_comments(text, "[)", end);
      if (next < text.size() && text[next] == '[') end = find_outside_comments(text, "]", next) + 1;
      put(end, 0, ",\n\t" + own);
    } else {
      const size_t next = find_outside_comments(text, "({.", behind_name);
      const bool has_list = next < text.size() && text[next] == '(';
      put(has_list ? next + 1 : behind_name, 0, has_list ? own : "(" + own + ")");
    }
    return base::success();
  }

  std::string parameter() const { return std::string(f_.name) + "_param_" + prefix_.substr(1) + "buffer"; }

  // Computes where this thread's values go, and whether they do.
  void add_prologue() {
    const std::string on = name("on"), base = name("base"), at = name("at"), thread = name("thread"),
                      program = name("program"), a = name("a");
    std::string s = "\n\t// triton_runner: registers are stored for a dump";
    auto line = [&](const std::string& text) { s += "\n\t" + text + ";"; };
    line(".reg .pred " + on + ", " + name("if"));
    line(".reg .b32 " + thread + ", " + program + ", " + a + ", " + name("v"));
    line(".reg .b64 " + base + ", " + at + ", " + name("w"));
    const auto taps = static_cast<uint32_t>(plan_.taps.size());
    for (uint32_t t = 0; t < taps; ++t) line(".reg .b32 " + counter(t));
    line("ld.param.b64 " + base + ", [" + parameter() + "]");
    line("mov.u32 " + thread + ", %tid.x");
    if (f_.reqntid[0] == 0 || f_.reqntid[1] > 1 || f_.reqntid[2] > 1) {
      line("mov.u32 " + a + ", %tid.z");
      line("mov.u32 " + program + ", %ntid.y");
      line("mul.lo.u32 " + a + ", " + a + ", " + program);
      line("mov.u32 " + program + ", %tid.y");
      line("add.u32 " + a + ", " + a + ", " + program);
      line("mov.u32 " + program + ", %ntid.x");
      line("mad.lo.u32 " + thread + ", " + a + ", " + program + ", " + thread);
    }
    if (blocks_ > 1) {
      line("mov.u32 " + a + ", %cluster_ctarank");
      line("mad.lo.u32 " + thread + ", " + a + ", " + str(threads_) + ", " + thread);
    }
    const std::string id = blocks_ > 1 ? "%clusterid." : "%ctaid.";
    line("mov.u32 " + program + ", " + id + "x");
    const auto& grid = options_.grid;
    if (grid[1] != 1 || grid[2] != 1) {
      line("mov.u32 " + a + ", " + id + "y");
      line("mad.lo.u32 " + program + ", " + a + ", " + str(grid[0]) + ", " + program);
      line("mov.u32 " + a + ", " + id + "z");
      line("mad.lo.u32 " + program + ", " + a + ", " + str(grid[0] * grid[1]) + ", " + program);
    }
    if (!result_.chosen.empty()) {  // its place among them
      line("mov.u32 " + a + ", -1");
      for (size_t i = 0; i < result_.chosen.size(); ++i) {
        line("setp.eq.u32 " + on + ", " + program + ", " + str(result_.chosen[i]));
        line("selp.b32 " + a + ", " + str(static_cast<int64_t>(i)) + ", " + a + ", " + on);
      }
      line("mov.u32 " + program + ", " + a);
    }
    line("setp.lt.u32 " + on + ", " + thread + ", " + str(lanes()));
    line("setp.lt.and.u32 " + on + ", " + program + ", " + str(result_.programs) + ", " + on);
    line("cvt.u64.u32 " + at + ", " + program);
    line("mad.lo.u64 " + base + ", " + at + ", " + str(result_.stride) + ", " + base);
    for (uint32_t t = 0; t < taps; ++t) line("mov.u32 " + counter(t) + ", 0");
    put(find_outside_comments(module_.text(), "{", f_.offset) + 1, 0, s);
  }

  base::Status add_stores(uint32_t number) {
    const exec::RegisterProbe& probe = plan_.probes[number];
    const RegisterPlan::Part& part = plan_.parts[number];
    const Tap& tap = plan_.taps[part.tap];
    const RegisterStores::Area& area = result_.areas[part.tap];
    if (probe.function != f_.name || probe.instruction >= f_.body.size())
      return failure(tap.site.value + " is read where no instruction of '" + std::string(f_.name) +
                     "' stands");
    const Instruction& in = f_.body[probe.instruction];
    const std::string n = counter(part.tap), on = name("on"), condition = name("if"), at = name("at"),
                      thread = name("thread");
    std::vector<std::string> lines;
    auto line = [&](std::string text) { lines.push_back(std::move(text)); };
    const bool guarded = probe.after && in.guard >= 0;
    // The guard as it is written: what the instruction does not write holds after it too.
    const std::string guard =
        guarded ? std::string(in.guard_negated ? "!" : "") + register_name(static_cast<uint32_t>(in.guard))
                : "";
    if (guarded) {
      line("setp.lt.and.u32 " + condition + ", " + n + ", " + (keeps_all() ? str(area.slots) : "-1") + ", " +
           guard);
      line("and.pred " + condition + ", " + condition + ", " + on);
    } else if (keeps_all()) {
      line("setp.lt.and.u32 " + condition + ", " + n + ", " + str(area.slots) + ", " + on);
    }
    const std::string stores = "@" + (guarded || keeps_all() ? condition : on) + " ";
    const auto width = static_cast<int64_t>(num::size_of(tap.site.type));
    line("mad.wide.u32 " + at + ", " + thread + ", " + str(width) + ", " + name("base"));
    if (keeps_all()) line("mad.wide.u32 " + at + ", " + n + ", " + str(area.slot) + ", " + at);
    for (size_t k = 0; k < part.registers.size(); ++k) {
      const uint32_t reg = probe.registers[k];
      const std::string value = element(lines, reg, part.offsets[k]);
      line(stores + "st.global.b" + str(8 * width) + " " +
           address(lines, area.data + part.registers[k] * lanes() * width, k == 0) + ", " + value);
    }
    line((guarded ? "@" + guard + " " : "") + "add.u32 " + n + ", " + n + ", 1");
    // How often it came this far: also where nothing more is stored.
    if (guarded && keeps_all()) {
      line("setp.ne.and.u32 " + condition + ", " + n + ", 0, " + guard);
      line("and.pred " + condition + ", " + condition + ", " + on);
    }
    line("mad.wide.u32 " + at + ", " + thread + ", 4, " + name("base"));
    line("@" + (guarded ? condition : on) + " st.global.b32 " + address(lines, area.counts, true) + ", " + n);

    std::string s;
    for (const std::string& l : lines) s += probe.after ? "\n\t" + l + ";" : l + ";\n\t";
    put(probe.after ? in.offset + in.length : in.offset, 2 * uint64_t{probe.instruction} + probe.after,
        std::move(s));
    return base::success();
  }

  bool keeps_all() const { return options_.every_iteration; }
  std::string register_name(uint32_t reg) const { return std::string(f_.registers[reg].name); }

  // A register's value as the operand of a store, from byte `offset` on.
  std::string element(std::vector<std::string>& lines, uint32_t reg, uint32_t offset) const {
    const std::string from = register_name(reg);
    const Mod type = f_.registers[reg].type;
    if (type == Mod::kPred) {
      lines.push_back("selp.u32 " + name("v") + ", 1, 0, " + from);
      return name("v");
    }
    if (offset == 0) return from;
    const bool wide = ptx::bits(type) == 64;
    lines.push_back(std::string("shr.b") + (wide ? "64 " : "32 ") + name(wide ? "w" : "v") + ", " + from +
                    ", " + str(8 * int64_t{offset}));
    return name(wide ? "w" : "v");
  }

  // [register + offset] of the address that the lines before have made; what an instruction does not reach is
  // added to it.
  std::string address(std::vector<std::string>& lines, int64_t offset, bool is_first) {
    if (is_first) added_ = 0;
    if (offset - added_ >= kFarthest) {
      lines.push_back("add.s64 " + name("at") + ", " + name("at") + ", " + str(offset - added_));
      added_ = offset;
    }
    return "[" + name("at") + "+" + str(offset - added_) + "]";
  }

  std::string edited() {
    std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& x, const Edit& y) {
      return x.offset != y.offset ? x.offset < y.offset : x.order < y.order;
    });
    const std::string_view text = module_.text();
    std::string out;
    size_t from = 0;
    for (const Edit& e : edits_) {
      out += text.substr(from, e.offset - from);
      out += e.text;
      from = e.offset;
    }
    return out += text.substr(from);
  }

  struct Edit {
    size_t offset;
    uint64_t order;  // of those at one place
    std::string text;
  };

  const ptx::Module& module_;
  const Function& f_;
  const RegisterPlan& plan_;
  const RegisterStoreOptions& options_;
  uint32_t threads_ = 0, blocks_ = 1;
  std::string prefix_;  // of the registers that are put in: no other begins so
  int64_t added_ = 0;
  std::vector<Edit> edits_;
  RegisterStores result_;
};

}  // namespace

base::Result<RegisterStores> insert_register_stores(const ptx::Module& ptx, std::string_view kernel,
                                                    const RegisterPlan& plan,
                                                    const RegisterStoreOptions& options) {
  const Function* f = ptx.find_function(kernel);
  if (!f || f->is_declaration || !f->is_entry)
    return failure("there is no kernel '" + std::string(kernel) + "' in " + ptx.filename());
  return RegisterInserter(ptx, *f, plan, options).insert();
}

}  // namespace triton_runner::probe
