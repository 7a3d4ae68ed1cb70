// Lowers read-modify-write of global and shared memory as PTX's atom (without a result where nobody reads
// it).
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

constexpr std::pair<std::string_view, std::string_view> kOperations[] = {
    {"ADD", "add"}, {"MIN", "min"}, {"MAX", "max"}, {"INC", "inc"},   {"DEC", "dec"},
    {"AND", "and"}, {"OR", "or"},   {"XOR", "xor"}, {"EXCH", "exch"}, {"CAS", "cas"}};

struct Type {
  std::string_view mod, ptx;
  uint32_t bytes, elements;  // of an element; how many
};
constexpr Type kTypes[] = {{"F32x2", "v2.f32", 4, 2},      {"F32x4", "v4.f32", 4, 4},
                           {"F16x4", "v2.f16x2", 4, 2},    {"F16x8", "v4.f16x2", 4, 4},
                           {"BF16x4", "v2.bf16x2", 4, 2},  {"BF16x8", "v4.bf16x2", 4, 4},
                           {"F16x2", "noftz.f16x2", 4, 1}, {"BF16x2", "noftz.bf16x2", 4, 1},
                           {"F32", "f32", 4, 1},           {"F64", "f64", 8, 1},
                           {"S64", "s64", 8, 1},           {"S32", "s32", 4, 1},
                           {"128", "b128", 16, 1},         {"64", "u64", 8, 1}};

// Registers from operand k on as one place of the type's width.
uint32_t wide(SassLowering& l, size_t k, uint32_t bytes) {
  if (bytes == 4) return l.raw(k);
  if (bytes == 8) return l.pair(k);
  const std::vector<uint32_t> r = l.registers(k, 4);
  const uint32_t low = l.temporary(8), high = l.temporary(8), out = l.temporary(16);
  l.ptx("mov.b64 %d0, {%r1, %r2}", {low, r[0], r[1]});
  l.ptx("mov.b64 %d0, {%r1, %r2}", {high, r[2], r[3]});
  l.ptx("mov.b128 %q0, {%d1, %d2}", {out, low, high});
  return out;
}

// The address is operand a, the value follows; the result, where there is one, is operand d.
bool lower_update(SassLowering& l, std::string_view space, std::optional<size_t> d, size_t a) {
  std::string_view operation;
  for (const auto& [mod, name] : kOperations)
    if (l.has(mod)) operation = name;
  Type type{"", "u32", 4, 1};
  for (const Type& t : kTypes)
    if (l.has(t.mod)) {
      type = t;
      break;
    }
  if (operation.empty()) return false;
  const bool swap = operation == "cas";
  std::string name(type.ptx);
  if (swap || operation == "exch" || operation == "and" || operation == "or" || operation == "xor")
    name = "b" + std::to_string(8 * type.bytes);
  if (type.elements > 1 && name.find("f16") != std::string::npos)
    name = name.substr(0, 3) + "noftz." + name.substr(3);
  if (name.find("noftz") == 0 || name.find("noftz") == 3) {
    const std::string vector = name[0] == 'v' ? name.substr(0, 3) : "";
    name = "noftz." + vector + name.substr(name.find("noftz.") + 6);
  } else if (name[0] == 'v') {
    name = name.substr(0, 2) + "." + name.substr(3);
  }
  const bool reads = d && l.slot(*d) && l.slot(*d)->index != sass::kZero;
  const std::string letter = type.bytes == 16 ? "%q" : type.bytes == 8 ? "%d" : "%r";
  const sass::Operand& where = *l.slot(a);
  std::vector<uint32_t> places{l.address(where, space != ".shared")};
  if (places[0] == kNoRegister) return false;
  auto list = [&](std::vector<uint32_t> more) {
    std::string out;
    for (uint32_t place : more) {
      out += (out.empty() ? "" : ", ") + letter + std::to_string(places.size());
      places.push_back(place);
    }
    return more.size() > 1 ? "{" + out + "}" : out;
  };
  std::vector<uint32_t> results;
  if (type.bytes > 4)
    results = {l.temporary(type.bytes)};
  else if (reads)
    results = l.registers(*d, type.elements);
  else
    for (uint32_t e = 0; e < type.elements; ++e) results.push_back(l.temporary(4));
  std::vector<uint32_t> values;
  if (type.elements > 1)
    values = l.registers(a + 1, type.elements);
  else
    values = {wide(l, a + 1, type.bytes)};
  std::string line = "atom" + std::string(space) + "." + std::string(operation) + "." + name + " " +
                     list(results) + ", [" + (space == ".shared" ? "%r0" : "%d0") +
                     SassLowering::offset_text(where) + "], " + list(values);
  if (swap) line += ", " + list({wide(l, a + 2, type.bytes)});
  l.ptx(line, places);
  // A generic one says whether it was made: code makes it by a loop where it was not, as in shared memory. Here it always is.
  if (d == 1) l.copy(l.predicate_result(0), l.constant(0xff, 1), 1);
  if (!reads) return true;
  if (type.bytes == 8) l.give_pair(*d, results[0]);
  if (type.bytes == 16) {
    const uint32_t low = l.temporary(8), high = l.temporary(8);
    const std::vector<uint32_t> r = l.registers(*d, 4);
    l.ptx("mov.b128 {%d0, %d1}, %q2", {low, high, results[0]});
    l.ptx("mov.b64 {%r0, %r1}, %d2", {r[0], r[1], low});
    l.ptx("mov.b64 {%r0, %r1}, %d2", {r[2], r[3], high});
  }
  return true;
}

// The threads that are on count up; the old value is not asked for.
bool lower_count(SassLowering& l) {
  if (l.slot(0)->index != sass::kZero) return false;
  const uint32_t at = l.address(*l.slot(1), false);
  if (at == kNoRegister) return false;
  return l.ptx("red.shared.add.u32 [%r0" + SassLowering::offset_text(*l.slot(1)) + "], 1", {at});
}

// A swap that says whether it was made: a predicate, or 1 or 0 in as many bits as it swaps. The address is operand a.
bool lower_try_swap(SassLowering& l, const std::string& space, size_t d, size_t a) {
  const bool generic = space.empty(), wide64 = l.has("64");
  const std::string bits = wide64 ? "b64" : "b32", r = wide64 ? "%d" : "%r";
  const uint32_t at = l.address(*l.slot(a), generic), bytes = wide64 ? 8 : 4;
  if (at == kNoRegister) return false;
  const uint32_t expected = wide(l, a + 1, bytes), value = wide(l, a + 2, bytes), old = l.temporary(bytes),
                 done = l.temporary(1);
  l.ptx("atom" + space + ".cas." + bits + " " + r + "0, [" + (generic ? "%d1" : "%r1") +
            SassLowering::offset_text(*l.slot(a)) + "], " + r + "2, " + r + "3",
        {old, at, expected, value});
  l.ptx("setp.eq." + bits + " %p0, " + r + "1, " + r + "2", {done, old, expected});
  const sass::OperandKind kind = l.slot(d)->kind;
  if (kind == sass::OperandKind::kPredicate || kind == sass::OperandKind::kUniformPredicate)
    return l.copy(l.predicate_result(d), done, 1);
  if (!wide64) return l.ptx("selp.b32 %r0, 1, 0, %p1", {l.result(d), done});
  l.ptx("selp.b64 %d0, 1, 0, %p1", {old, done});
  return l.give_pair(d, old);
}

}  // namespace

bool lower_atomics(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {
      {[](SassLowering& l) { return lower_update(l, "", 1, 2); }, {kATOM}},
      {[](SassLowering& l) { return lower_update(l, ".global", 1, 2); }, {kATOMG}},
      {[](SassLowering& l) { return lower_update(l, ".shared", 0, 1); }, {kATOMS}},
      {[](SassLowering& l) { return lower_try_swap(l, "", 1, 2); }, {kATOM_CAST}},
      {[](SassLowering& l) { return lower_try_swap(l, ".shared", 0, 1); }, {kATOMS_CAST}},
      {lower_count, {kATOMS_POPC}},
      {[](SassLowering& l) { return lower_update(l, "", std::nullopt, 0); }, {kRED}},
      {[](SassLowering& l) { return lower_update(l, ".global", std::nullopt, 0); }, {kREDG}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
