// Works out facts.h from an opcode's row and its suffixes: what an instruction is, and what it asks of the
// SM.
#include <triton_runner/sass/facts.h>

#include <algorithm>
#include <charconv>

#include <triton_runner/sass/opcode.h>

namespace triton_runner::sass {
namespace {

using enum Trait;
using enum ptx::Effect;

struct ProductRow {
  std::string_view name, suffix, type;
  uint32_t bits;
};
constexpr ProductRow kProducts[] = {
#define PRODUCT(name, suffix, type, bits) {#name, suffix, type, bits},
#include <triton_runner/sass/opcodes.def>
};

struct Shape {
  std::string_view mod;
  uint32_t m, k;
};
constexpr Shape kShapes[] = {{"884", 8, 4},       {"8x8x4", 8, 4},     {"16x8x4", 16, 4},  {"16x8x8", 16, 8},
                             {"16x8x16", 16, 16}, {"1684", 16, 4},     {"1688", 16, 8},    {"16816", 16, 16},
                             {"16832", 16, 32},   {"16864", 16, 64},   {"8816", 8, 16},    {"8832", 8, 32},
                             {"88128", 8, 128},   {"168128", 16, 128}, {"168256", 16, 256}};

// "64x128x16".
bool read_shape(std::string_view text, Product& out) {
  uint32_t* const to[] = {&out.m, &out.n, &out.k};
  const char *at = text.data(), *end = at + text.size();
  for (int d = 0; d < 3; ++d) {
    const auto [next, error] = std::from_chars(at, end, *to[d]);
    if (error != std::errc()) return false;
    at = next;
    if (d < 2 && (at == end || *at++ != 'x')) return false;
  }
  return at == end;
}

std::string_view space_of(const Row& row) {
  constexpr std::pair<Trait, std::string_view> kSpaces[] = {
      {kGlobal, "global"}, {kShared, "shared"}, {kLocal, "local"}, {kGeneric, "generic"}, {kBulk, "tma"}};
  for (const auto& [trait, name] : kSpaces)
    if (row.does(trait)) return name;
  return {};
}

void add_access(const Row& row, Work& work) {
  if (row.does(kObjects)) return;
  const std::string_view space = space_of(row);
  if (space.empty()) return;
  work.access = row.does(kCopies) ? "copy"
                : row.does(kUpdates)
                    ? row.operands.find('>') == std::string_view::npos ? "reduction" : "atomic"
                : row.does(kWrites) ? "store"
                : row.does(kReads)  ? "load"
                                    : "";
  if (!work.access.empty()) work.space = space;
}

bool is_predicate(const Operand& o) {
  return o.kind == OperandKind::kPredicate || o.kind == OperandKind::kUniformPredicate;
}

bool is_zero(const Operand& o) {
  return (o.kind == OperandKind::kRegister || o.kind == OperandKind::kUniform) && o.index == kZero;
}

}  // namespace

Product product_of(const Instruction& in) {
  Product out;
  for (const ProductRow& row : kProducts)
    if (!out.bits && row.name == in.name && (row.suffix.empty() || in.has(row.suffix)))
      out.bits = row.bits, out.type = row.type;
  if (!out.bits) return out;
  out.of_group = in.row->does(kLater);
  if (out.of_group) {
    for (std::string_view mod : in.mods)
      if (mod.starts_with("64x") && !read_shape(mod, out)) out.m = 0;
    return out;
  }
  out.m = 8, out.n = 8, out.k = 4;
  for (const Shape& s : kShapes)
    if (in.has(s.mod)) out.m = s.m, out.k = s.k;
  return out;
}

Work work_of(const Instruction& in) {
  Work work;
  if (!in.row) return work;
  work.pipe = in.row->pipe, work.flops = in.row->flops;
  if (const Product p = product_of(in); p.bits) {
    work.matrix_type = p.type;
    work.matrix_operations = uint64_t{2} * p.m * p.n * p.k / (p.of_group ? 4 : 1);
  }
  add_access(*in.row, work);
  return work;
}

bool leaves_shared(const Instruction& in) {
  return in.is(Opcode::kUTMASTG) || in.is(Opcode::kUTMAREDG) || in.is(Opcode::kUBLKRED) ||
         (in.is(Opcode::kUBLKCP) && in.mods[0] == "G");
}

bool gives_floats(const Instruction& in) {
  return in.does(kFloats) || (in.has("F32") && product_of(in).bits != 0);
}

size_t real_sources(const Instruction& in) {
  const bool has_table = in.has("LUT"), adds_one_product = in.has("IADD");
  size_t count = 0, seen = 0;
  for (size_t i = (!in.operands.empty() && is_predicate(in.operands[0])) + size_t{1}; i < in.operands.size();
       ++i) {
    const Operand& o = in.operands[i];
    if (is_predicate(o)) continue;
    if (++seen > 3 && has_table) break;
    const bool is_factor = adds_one_product && o.kind == OperandKind::kInteger && o.integer == 1;
    count += !(is_zero(o) || is_factor);
  }
  return count;
}

bool is_move(const Instruction& in) {
  if (in.does(kMoves)) return true;
  return in.does(kMayMove) && real_sources(in) <= 2 && in.operands.size() > 1 && is_zero(in.operands[1]);
}

std::vector<uint32_t> frame_words(const Instruction& in) {
  std::vector<uint32_t> out;
  if (!in.does(kLocal)) return out;
  for (const Operand& o : in.operands) {
    const bool is_frame = o.kind == OperandKind::kAddress && o.parts.size() == 1 && o.integer >= 0 &&
                          o.parts[0].kind == OperandKind::kRegister && o.parts[0].index == kFrame;
    if (!is_frame) continue;
    const uint32_t size = in.has("128") ? 4 : in.has("64") ? 2 : 1;
    for (uint32_t k = 0; k < size; ++k) out.push_back(static_cast<uint32_t>(o.integer / 4) + k);
  }
  return out;
}

}  // namespace triton_runner::sass
