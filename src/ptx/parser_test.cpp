// Tests the graph that a text becomes: what names resolve to, where labels point, what lines say, parse_body,
// sizes that must not be allocated. How texts print, and the messages for bad ones, are cases
// (tests/cases/ptx).
#include <triton_runner/ptx/module.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "forms.h"
#include "test.h"

using namespace triton_runner;
using namespace triton_runner::ptx;

namespace {

const std::string kHead = ".version 8.7\n.target sm_90a\n.address_size 64\n";

std::shared_ptr<const Module> parsed(std::string text) {
  auto module = parse(std::move(text), "t.ptx");
  if (module) return *module;
  unit::record_failure(__FILE__, __LINE__, module.error().str());
  return *parse(kHead, "empty.ptx");
}
std::shared_ptr<const Module> kernel(const std::string& body) {
  return parsed(kHead + ".entry k(.param .u64 x) {\n.reg .b32 %r<99>; .reg .pred %p<9>; .reg .b64 %rd<9>;\n" +
                body + "\n}\n");
}
const Function& only(const std::shared_ptr<const Module>& module) {
  static const Function kEmpty;
  CHECK_EQ(module->functions().size(), 1u);
  return module->functions().empty() ? kEmpty : *module->functions()[0];
}

}  // namespace

TEST(module_facts) {
  auto m = parsed(kHead +
                  ".extern .shared .align 16 .b8 smem[];\n.visible .entry k(.param .u64 .ptr .global .align "
                  "1 a, .param .align 64 .b8 d[128])\n"
                  ".reqntid 64, 2\n.reqnctapercluster 2,1,1\n.maxnreg 40\n{ ret; }\n.func f() { ret; }\n");
  CHECK_EQ(m->version(), "8.7");
  CHECK_EQ(m->target(), "sm_90a");
  CHECK_EQ(m->compute_capability(), 90);
  CHECK_EQ(m->entries().size(), 1u);
  const Function* k = m->find_function("k");
  CHECK(k != nullptr && m->find_function("g") == nullptr);
  if (!k) return;
  CHECK((k->reqntid == std::array<uint32_t, 3>{64, 2, 1}));
  CHECK((k->cluster == std::array<uint32_t, 3>{2, 1, 1}));
  CHECK((k->maxntid == std::array<uint32_t, 3>{}));
  CHECK_EQ(k->maxnreg, 40u);
  CHECK_EQ(k->params.size(), 2u);
  CHECK(k->params[0].is_pointer && k->params[0].points_to == Space::kGlobal && k->params[0].bytes == 8);
  CHECK(k->params[1].is_array && k->params[1].bytes == 128 && k->params[1].align == 64);
  CHECK_EQ(m->variables().size(), 1u);
  CHECK(m->variables()[0].is_extern && m->variables()[0].bytes == 0 && m->variables()[0].align == 16);
}

TEST(operands) {
  auto m = kernel(
      "ld.global.v2.b32 {%r3, _}, [%rd1+-8];\n@!%p2 setp.lt.s32 %p1|%p0, %r3, -5;\nmov.f32 %r4, "
      "0f3F800000;\nmov.u32 %r5, %tid.x;");
  const auto body = only(m).body;
  CHECK_EQ(body.size(), 4u);
  const Instruction& load = body[0];
  CHECK(load.opcode == Opcode::kLd && load.spelling == "ld.global.v2.b32");
  CHECK(load.has(Mod::kGlobal) && load.has(Mod::kV2) && !load.has(Mod::kShared));
  CHECK(load.type(0) == Mod::kB32 && load.type(1) == Mod::kNone);
  CHECK(load.operands[0].kind == OperandKind::kVector &&
        load.operands[0].parts[1].kind == OperandKind::kSink);
  CHECK(load.operands[1].kind == OperandKind::kAddress && load.operands[1].integer == -8);
  CHECK_EQ(only(m).registers[load.operands[1].parts[0].reg].name, "%rd1");
  CHECK(body[1].guard_negated);
  CHECK_EQ(only(m).registers[static_cast<size_t>(body[1].guard)].name, "%p2");
  CHECK(body[1].operands[0].kind == OperandKind::kPair && body[1].operands[2].integer == -5);
  CHECK(body[2].operands[1].kind == OperandKind::kFloat && !body[2].operands[1].is_wide &&
        body[2].operands[1].integer == 0x3F800000);
  CHECK(body[3].operands[1].kind == OperandKind::kSpecial && body[3].operands[1].special == Special::kTidX);
  CHECK_EQ(std::string(m->text().substr(body[1].offset, body[1].length)),
           "@!%p2 setp.lt.s32 %p1|%p0, %r3, -5;");
  CHECK_EQ(m->location(body[1].offset).line, 7);
}

TEST(labels_are_instructions) {
  auto m = kernel(
      "bra L1;\nL0: mov.b32 %r1, 1;\n{ bra L0; L0: mov.b32 %r1, 2; }\nbra L0;\nL1:\nt: .branchtargets L0, "
      "L1;\nbrx.idx %r1, t;\nend: bra end2;\nend2:");
  const auto body = only(m).body;
  CHECK_EQ(body.size(), 7u);
  CHECK_EQ(body[0].operands[0].integer, 5);
  CHECK_EQ(body[2].operands[0].integer, 3);  // the inner L0
  CHECK_EQ(body[4].operands[0].integer, 1);  // the outer one
  CHECK(body[5].targets.size() == 2 && body[5].targets[0] == 1 && body[5].targets[1] == 5);
  CHECK_EQ(body[6].operands[0].integer, 7);  // after the last
}

TEST(registers_are_those_that_are_named) {
  auto m = kernel(
      "mov.b32 %r7, %r90;\n{ .reg .b32 %r<3>; mov.b32 %r2, %r7; mov.b32 %r90, 1; }\nmov.b32 %r7, %r2;");
  const Function& f = only(m);
  CHECK_EQ(f.registers.size(), 4u);
  CHECK_EQ(f.registers[0].name, "%r7");
  CHECK_EQ(f.registers[2].name, "%r2");
  CHECK_EQ(f.registers[3].name, "%r2");  // of the outer scope
  CHECK_EQ(f.body[1].operands[1].reg, 0u);
  CHECK_EQ(f.body[2].operands[0].reg, 1u);
  CHECK_EQ(f.body[3].operands[1].reg, 3u);
}

TEST(families_whose_prefix_ends_in_a_digit) {
  auto m =
      parsed(kHead + ".func f() { .reg .b32 %r1<5>; .reg .b64 %r<12>; mov.b32 %r14, 1; mov.b64 %r9, 2; }");
  const Function& f = only(m);
  CHECK(f.registers[0].type == Mod::kB32 && f.registers[1].type == Mod::kB64);
}

TEST(reg_parameters_are_the_first_registers) {
  auto m =
      parsed(kHead + ".func (.reg .f32 out) f(.reg .b64 a, .param .b32 p, .reg .b32 b) { mov.b32 out, b; }");
  const Function& f = only(m);
  CHECK_EQ(f.registers.size(), 3u);
  CHECK_EQ(f.registers[0].name, "out");
  CHECK_EQ(f.registers[1].name, "a");
  CHECK_EQ(f.body[0].operands[1].reg, 2u);
}

TEST(source_lines) {
  auto m = parsed(kHead + R"(.entry k() {
.loc 1 10 3
.loc 2 5 7, function_name $s, inlined_at 1 10 3
bar.sync 0;
.loc 2 6 1, function_name $t, inlined_at 2 5 7
ret;
}
.file 1 "a.py"
.file 2 "dir" "b.py"
.section .debug_str { $s: .b8 102, 0
$t: .b8 103,104 .b8 0 }
)");
  const auto body = only(m).body;
  CHECK_EQ(body.size(), 2u);
  const SourceLine* line = body[1].source;
  CHECK(line && line->inlined_at && line->inlined_at->inlined_at &&
        !line->inlined_at->inlined_at->inlined_at);
  if (!line || !line->inlined_at || !line->inlined_at->inlined_at) return;
  CHECK_EQ(line->file, "dir/b.py");
  CHECK_EQ(line->function, "gh");
  CHECK_EQ(line->inlined_at->function, "f");
  CHECK_EQ(line->inlined_at->line, 5u);
  CHECK_EQ(line->inlined_at->inlined_at->file, "a.py");
  CHECK_EQ(line->inlined_at->inlined_at->column, 3u);
}

TEST(lines_of_inline_assembly_are_those_of_its_statement) {
  auto m = parsed(kHead + R"(.entry k() {
.loc 1 15 29
// begin inline asm
.loc 1 15 29
bar.sync 0;
.loc 1 16 29
bar.sync 0;
// end inline asm
.loc 1 17 5
ret;
}
.file 1 "a.py"
)");
  const auto body = only(m).body;
  CHECK_EQ(body.size(), 3u);
  CHECK_EQ(body[0].source->line, 15u);
  CHECK_EQ(body[1].source->line, 15u);
  CHECK_EQ(body[2].source->line, 17u);
}

TEST(a_body_on_its_own) {
  const Register given[] = {{"%x", Mod::kB32}, {"$r1", Mod::kB64}, {"%unused", Mod::kF32}};
  auto m = parse_body("{ .reg .b32 t; add.s32 t, %x, 1; mov.b64 $r1, {t, t}; }\n@%p bra", given, "asm");
  CHECK(!m.ok());
  m = parse_body("{ .reg .b32 t; add.s32 t, %x, 1; mov.b64 $r1, {t, t}; }", given, "asm");
  CHECK(m.ok());
  if (!m) return unit::record_failure(__FILE__, __LINE__, m.error().str());
  const Function& f = only(*m);
  CHECK_EQ(f.registers.size(), 4u);
  CHECK_EQ(f.registers[1].name, "$r1");
  CHECK_EQ(f.body[0].operands[0].reg, 3u);
  CHECK_EQ(f.body[1].operands[0].reg, 1u);
}

TEST(initial_values) {
  auto m =
      parsed(kHead + ".global .u16 a[1000000000] = {1, 0x203};\n.global .u64 p[2] = {a+4, generic(a)};\n");
  const Variable& a = m->variables()[0];
  CHECK_EQ(a.bytes, 2000000000u);
  CHECK_EQ(a.initial.size(), 4u);  // and nothing of the rest
  CHECK(a.initial[2] == std::byte{3} && a.initial[3] == std::byte{2});
  const Variable& p = m->variables()[1];
  CHECK_EQ(p.relocations.size(), 2u);
  CHECK(p.relocations[0].symbol == "a" && p.relocations[0].addend == 4 && p.relocations[1].offset == 8);
}

TEST(initial_values_are_replaced_in_the_text) {
  const std::string head = kHead;
  auto m = parsed(head + ".global .b32 a [4] = { 1,\n 2 } , b;\n.const .f32 f;.global .u64 p = a;\n");
  std::vector<Variable> changed;
  const std::array<uint32_t, 3> ints{7, 0, 9}, bits{0x3f800000, 0, 0};
  for (const Variable& v : m->variables()) changed.insert(changed.begin(), v);
  const auto named = [&](std::string_view name) -> Variable& {
    return *std::ranges::find(changed, name, &Variable::name);
  };
  named("a").initial = std::as_bytes(std::span(ints));
  named("b").initial = std::as_bytes(std::span(ints)).first(4);
  named("f").initial = std::as_bytes(std::span(bits)).first(4);
  const Variable::Relocation to{0, "b", 4};
  named("p").relocations = {&to, 1};
  const std::string text = with_initial_values(*m, changed);
  CHECK_EQ(
      text,
      head + ".global .b32 a [4] = {7, 0, 9} , b = 7;\n.const .f32 f = 0f3F800000;.global .u64 p = b+4;\n");
  CHECK_EQ(parsed(text)->variables()[0].initial.size(), 12u);
}

// Each word of the forms is a modifier or a set of them, and each form takes its own first alternatives.
TEST(the_forms_name_modifiers) {
  std::map<std::string, std::string> sets;
#define SET(name, alternatives) sets[name] = alternatives;
#include <triton_runner/ptx/opcodes.def>
  const auto split = [](const std::string& text, char separator) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);)
      if (!part.empty()) out.push_back(part);
    return out;
  };
  // The first modifier of "a|<set>|c", after all of them were looked up.
  const std::function<std::string(const std::string&)> look = [&](const std::string& text) {
    std::string first;
    for (const std::string& name : split(text, '|')) {
      std::string found = name;
      if (name.starts_with("<")) {
        const std::string set = name.substr(1, name.size() - 2);
        if (!sets.count(set)) unit::record_failure(__FILE__, __LINE__, "no set " + name);
        found = look(sets[set]);
      } else if (name == "m64*") {
        found = "m64n8k16";
      } else if (find_mod(name) == Mod::kNone) {
        unit::record_failure(__FILE__, __LINE__, "no modifier " + name);
      }
      if (first.empty()) first = found;
    }
    return first;
  };
  for (const OpcodeRow& row : opcode_table().subspan(1)) {
    std::vector<Mod> least, all;
    for (std::string word : split(std::string(row.forms) + " /", ' ')) {
      if (word == "/") {
        CHECK(check_form(row.opcode, least).ok);
        CHECK(check_form(row.opcode, all).ok);
        least.clear(), all.clear();
      } else if (word != "*" && word[0] != ':') {
        const bool optional = word.back() == '?';
        if (optional) word.pop_back();
        const Mod mod = find_mod(look(word));
        if (!optional) least.push_back(mod);
        all.push_back(mod);
      }
    }
  }
}

TEST(the_table_agrees_with_itself) {
  for (const OpcodeRow& row : opcode_table().subspan(1)) {
    CHECK(find_opcode(row.text) == row.opcode);
    CHECK(!row.section.empty() && !row.forms.empty() && !row.handler.empty());
    CHECK(row.executed == (row.handler != "UNSUPPORTED"));
    CHECK(row.executed == (row.effects != Effect::kNone));
    // The checks, the dumps and the model of ptxas take this from arithmetic.
    const bool computes = has(row.effects, Effect::kComputes);
    if (row.handler == "alu" || row.handler == "move") CHECK(computes);
    for (Effect e : {Effect::kNumbers, Effect::kDivides, Effect::kCarries, Effect::kMerges})
      if (has(row.effects, e)) CHECK(computes && row.handler == "alu");
    for (Effect e : {Effect::kReads, Effect::kWrites, Effect::kUpdates, Effect::kCopies, Effect::kObjects,
                     Effect::kLater, Effect::kShares, Effect::kMeets, Effect::kOrders, Effect::kJumps,
                     Effect::kConsumes, Effect::kHints})
      if (has(row.effects, e)) CHECK(!computes);
  }
  CHECK(find_opcode("frobnicate") == Opcode::kUnknown);
  CHECK(find_mod("shared::cluster") == Mod::kSharedCluster && find_mod("m64n256k16") == Mod::kM64N256K16);
  CHECK(find_mod("f33") == Mod::kNone);
  CHECK(bits(Mod::kF16x2) == 32 && bits(Mod::kPred) == 1 && bits(Mod::kRn) == 0 && bits(Mod::kB128) == 128);
  CHECK(is_float(Mod::kBf16x2) && !is_float(Mod::kB32) && is_signed(Mod::kS8) && !is_signed(Mod::kU8));
  CHECK(is_type(Mod::kE4m3x2) && !is_type(Mod::kGlobal) && text(Mod::kL2_128B) == "L2::128B");
  CHECK(find_special("%ctaid.z") && *find_special("%ctaid.z") == Special::kCtaidZ && !find_special("%ctaid"));
  CHECK_EQ(bits(Special::kClock64), 64);
}

// Parsing ends in a module or a diagnostic with a place in it, whatever happens to a text.
TEST(damaged_texts) {
  const std::string good =
      kHead +
      ".global .b32 g[2] = {1, 2};\n.entry k(.param .u64 x)\n.reqntid 32\n{\n.reg .b32 %r<9>;\nL: { .reg "
      ".pred p; setp.eq.u32 p, %r1, 0x10; @p bra L; }\n"
      "ld.global.v2.b32 {%r1, %r2}, [x+4];\n.loc 1 2 3\nret; }\n.section .debug_str { $s: .b8 1, 0 }\n";
  for (size_t n = 0; n < good.size(); ++n) {
    auto cut = parse(good.substr(0, n));
    if (!cut) CHECK(cut.error().location.line > 0 && !cut.error().message.empty());
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random());
    auto module = parse(text);
    if (module) CHECK((*module)->text() == text);
  }
}

TEST(places_from_several_threads) {
  auto m = kernel("ret;\nret;\nret;");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { CHECK_EQ(m->location(only(m).body[2].offset).line, 8); });
  for (std::thread& t : threads) t.join();
}
