// Loads, stores and atomic operations: global, flat, scratch, buffers with a descriptor, LDS, and arguments by the scalar unit.
#include "ops/memory.h"

#include <algorithm>
#include <cstring>

#include "async/copy.h"
#include "front/amdgcn/handlers.h"
#include "front/amdgcn/lower.h"
#include "ops/atomic.h"
#include "ops/move.h"

namespace triton_runner::simt::amd {
namespace {

using enum lanes::Type;
using Op = lanes::Operation;
using amdgcn::Operand;

// --- the scalar unit ------------------------------------------------------------------------------------------------------------
struct ScalarLoad {
  uint32_t base[2] = {kNoRegister, kNoRegister}, offset = kNoRegister, limit = kNoRegister;
  uint64_t number = 0;
  uint32_t bytes = 4;
  bool is_signed = false;
  std::vector<uint32_t> results;
};
void run_scalar_load(Exec& x, const Operands& in, const ScalarLoad& plan) {
  const uint32_t width = x.code().width;
  const auto& params = x.launch().params;
  for (uint32_t w = 0; w < x.count; w += width) {
    if (x.mask && !std::memchr(x.mask + w, -1, width)) continue;
    const auto word = [&](uint32_t place) { return uint64_t{x.reg<uint32_t>(place)[w]}; };
    uint64_t offset = plan.number;
    if (plan.offset != kNoRegister) offset += word(plan.offset);
    const uint64_t address = (word(plan.base[0]) | (word(plan.base[1]) & 0xffff) << 32) + offset;
    std::byte bytes[64] = {};
    const uint64_t at = address - reinterpret_cast<uint64_t>(params.data());
    if (plan.limit != kNoRegister && offset + plan.bytes > word(plan.limit)) {
      // A buffer gives zeros behind its end.
    } else if (at < params.size()) {
      // The program reads nothing behind the arguments: preloading rounds up.
      std::memcpy(bytes, params.data() + at, std::min<uint64_t>(plan.bytes, params.size() - at));
    } else {
      uint32_t lane = w;
      while (x.mask && !x.mask[lane]) ++lane;
      const std::byte* from = x.global(in, lane, address, plan.bytes, false);
      if (!from) return;
      std::memcpy(bytes, from, plan.bytes);
    }
    for (size_t k = 0; k < plan.results.size(); ++k) {
      uint32_t value = 0;
      std::memcpy(&value, bytes + 4 * k, 4);
      if (plan.is_signed) {
        const uint32_t unused = 32 - 8 * plan.bytes;
        value = static_cast<uint32_t>(static_cast<int32_t>(value << unused) >> unused);
      }
      std::fill_n(x.reg<uint32_t>(plan.results[k]) + w, width, value);
    }
  }
}

// --- what a name says ---------------------------------------------------------------------------------------------------------------
struct Form {
  uint32_t words = 1, word_bytes = 4;
  bool is_signed = false, upper = false,
       half = false;  // of a register: its upper half; half: the other half stays
};
Form form_of(std::string_view name) {
  Form f;
  const auto ends = [&](std::string_view what) { return name.ends_with(what); };
  f.upper = ends("_d16_hi");
  f.half = name.find("_d16") != std::string_view::npos &&
           name.find("load") + name.find("read") != std::string_view::npos;
  if (f.upper)
    name.remove_suffix(7);
  else if (ends("_d16"))
    name.remove_suffix(4);
  if (ends("x2") || ends("b64")) f.words = 2;
  if (ends("x3") || ends("b96")) f.words = 3;
  if (ends("x4") || ends("b128")) f.words = 4;
  if (ends("x8") || ends("b256")) f.words = 8;
  if (ends("x16") || ends("b512")) f.words = 16;
  if (ends("byte") || ends("u8") || ends("i8") || ends("b8")) f.word_bytes = 1;
  if (ends("short") || ends("u16") || ends("i16") || ends("b16")) f.word_bytes = 2;
  f.is_signed = ends("sbyte") || ends("sshort") || ends("_i8") || ends("_i16");
  f.half = f.half || (f.word_bytes < 4 && f.upper);
  return f;
}

Access access_of(const Form& f, Space space, int64_t offset) {
  Access a;
  std::fill_n(a.regs, kMaxWords, kNoRegister);
  a.words = f.words;
  a.word_bytes = f.word_bytes;
  a.is_signed = f.is_signed;
  a.space = space;
  a.address_bytes = space == Space::kShared || space == Space::kLocal ? 4 : 8;
  a.offset = offset;
  a.anywhere = true;
  a.tables = &simd_tables(num::current_isa());
  return a;
}

// Three words are two and one.
bool access(AmdLowering& l, Access a, uint32_t place, bool write) {
  if (a.words != 3) return l.emit(access_handler(a, write), {.a = place}, a);
  Access last = a;
  a.words = 2;
  last.words = 1;
  last.regs[0] = a.regs[2];
  last.offset += 2 * a.word_bytes;
  l.emit(access_handler(a, write), {.a = place}, a);
  return l.emit(access_handler(last, write), {.a = place}, last);
}

bool load(AmdLowering& l, const Form& f, Access a, uint32_t place, const Operand& to) {
  const uint32_t part = f.half ? l.scratch(4) : kNoRegister;
  for (uint32_t k = 0; k < f.words; ++k) a.regs[k] = f.half ? part : l.register_at(to, k);
  if (std::find(a.regs, a.regs + f.words, place) != a.regs + f.words) {
    const uint32_t kept = l.scratch(4);
    l.emit(copy_register(4), {.d = kept, .a = place});
    place = kept;
  }
  access(l, a, place, false);
  if (!f.half) return true;
  const uint32_t half = l.scratch(2);
  l.emit(steps().take_half, {.d = half, .a = part, .small = 0});
  return l.emit(steps().put_half, {.d = l.register_at(to, 0), .a = half, .small = f.upper});
}

bool store(AmdLowering& l, const Form& f, Access a, uint32_t place, const Operand& from) {
  for (uint32_t k = 0; k < f.words; ++k) a.regs[k] = l.register_at(from, k);
  if (f.upper) {
    const uint32_t shifted = l.scratch(4);
    l.emit(steps().take_bytes, {.d = shifted, .a = a.regs[0], .small = 16, .imm = 16});
    a.regs[0] = shifted;
  }
  return access(l, a, place, true);
}

bool has_registers(const Operand& o, uint32_t count) { return o.is_register() && o.count == count; }
bool is_off(const Operand& o) { return o.kind == amdgcn::OperandKind::kWord && o.text == "off"; }

// The address of global, flat and scratch accesses: operand `at`, and a scalar base after it.
struct Where {
  uint32_t place = kNoRegister;
  Space space = Space::kGlobal;
};
bool where(AmdLowering& l, std::string_view name, size_t at, size_t base, Where* out) {
  const Operand& v = l.operand(at);
  const Operand* s = base < l.in().operands.size() ? &l.operand(base) : nullptr;
  if (name.starts_with("scratch")) {
    out->space = Space::kLocal;
    uint32_t place = is_off(v) ? l.constant(0, 4) : l.register_at(v, 0);
    if (s && !is_off(*s)) {
      const uint32_t sum = l.scratch(4);
      if (!s->is_register()) return false;
      l.lanes(Op::kAdd, kU32, {.d = sum, .a = place, .b = l.register_at(*s, 0)});
      place = sum;
    }
    out->place = place;
    return true;
  }
  if (name.starts_with("flat")) out->space = Space::kGeneric;
  if (!s || is_off(*s) || s->is(amdgcn::kNull)) {
    if (!has_registers(v, 2)) return false;
    out->place = l.pair_at(v);
    return true;
  }
  if (!has_registers(*s, 2) || !has_registers(v, 1)) return false;
  const uint32_t wide = l.scratch(8), sum = l.scratch(8);
  l.emit(steps().join, {.d = wide, .a = l.register_at(v, 0), .b = l.constant(0, 4)});
  l.lanes(Op::kAdd, kU64, {.d = sum, .a = wide, .b = l.pair_at(*s)});
  out->place = sum;
  return true;
}

// --- buffers: a descriptor of four scalars (base, stride, bytes); what lies behind the end is read as 0 and not written -------------
struct Buffer {
  uint32_t place, in_range;
};
// Operands from `at` on: offset, descriptor, scalar offset.
bool buffer_at(AmdLowering& l, size_t at, uint32_t bytes, Buffer* out) {
  if (l.in().operands.size() < at + 3 || l.in().has("idxen") || l.in().has("addr64")) return false;
  const Operand &v = l.operand(at), &descriptor = l.operand(at + 1), &more = l.operand(at + 2);
  if (descriptor.kind != amdgcn::OperandKind::kScalar || descriptor.count != 4) return false;
  BufferPlan plan{{}, l.constant(0, 4), bytes, l.code.width, static_cast<uint32_t>(l.in().number("offset"))};
  for (uint32_t k = 0; k < 4; ++k) plan.descriptor[k] = l.register_at(descriptor, k);
  plan.soffset =
      more.is_register() ? l.register_at(more, 0) : l.constant(static_cast<uint64_t>(more.integer), 4);
  const bool offen = l.in().has("offen");
  if (offen != has_registers(v, 1)) return false;
  out->place = l.scratch(8);
  out->in_range = l.scratch(1);
  l.unguarded();
  l.emit(steps().buffer,
         {.d = out->place, .a = offen ? l.register_at(v, 0) : kNoRegister, .e = out->in_range}, plan);
  l.guarded();
  return true;
}

// Words that come to LDS when they are waited for: M0 is their base there, a thread has its place by its lane. in_range: else zeros.
bool load_to_lds(AmdLowering& l, const Form& f, Access from, uint32_t place,
                 uint32_t in_range = kNoRegister) {
  const uint32_t width = l.code.width, each = std::max(4u, f.words * f.word_bytes);
  const uint32_t lane =
      l.thread_constant(16 + each, 4, [=](uint32_t t) { return uint64_t{t % width * each}; });
  const uint32_t at = l.scratch(4);
  l.lanes(Op::kAdd, kU32, {.d = at, .a = lane, .b = l.scalar(amdgcn::kM0)});
  const int64_t offset = l.in().number("offset");
  if (f.word_bytes == 4 && from.space == Space::kGlobal) {
    CopyPlan plan{.to = {.place = at, .bytes = 4, .offset = offset},
                  .from = {.place = place, .offset = from.offset},
                  .bytes = each,
                  .aligned = 4};
    if (in_range != kNoRegister) {
      plan.from_bytes = l.scratch(4);
      l.emit(copy_register(4), {.d = plan.from_bytes, .a = l.constant(0, 4)});
      l.guard_by(in_range);
      l.emit(copy_register(4), {.d = plan.from_bytes, .a = l.constant(each, 4)});
      l.guarded();
    }
    l.facts().access = Source::Access::kCopy;
    return l.emit<run_copy>(plan);
  }
  // Bytes become words on their way, which is made at once.
  for (uint32_t k = 0; k < f.words; ++k)
    l.emit(copy_register(4), {.d = from.regs[k] = l.scratch(4), .a = l.constant(0, 4)});
  if (in_range != kNoRegister) l.guard_by(in_range);
  access(l, from, place, false);
  l.guarded();
  Access to = access_of(Form{.words = f.words}, Space::kShared, offset);
  std::copy_n(from.regs, f.words, to.regs);
  return access(l, to, at, true);
}

}  // namespace

bool lower_scalar_load(AmdLowering& l) {
  const auto& operands = l.in().operands;
  if (operands.size() < 2 || operands[0].kind != amdgcn::OperandKind::kScalar ||
      operands[1].kind != amdgcn::OperandKind::kScalar)
    return false;
  const std::string_view name = l.name();
  const bool buffer = name.starts_with("s_buffer_load");
  const Form f = form_of(name);
  if (operands[0].count != f.words || operands[1].count != (buffer ? 4 : 2)) return false;
  ScalarLoad plan;
  plan.bytes = f.words * f.word_bytes;
  plan.is_signed = f.is_signed;
  for (uint32_t k = 0; k < 2; ++k) plan.base[k] = l.register_at(operands[1], k);
  if (buffer) plan.limit = l.register_at(operands[1], 2);
  plan.number = static_cast<uint64_t>(l.in().number("offset"));
  if (operands.size() > 2) {
    if (operands[2].kind == amdgcn::OperandKind::kInteger)
      plan.number += static_cast<uint64_t>(operands[2].integer);
    else if (operands[2].kind == amdgcn::OperandKind::kScalar)
      plan.offset = l.register_at(operands[2], 0);
    else
      return false;
  }
  for (uint32_t k = 0; k < operands[0].count; ++k) plan.results.push_back(l.register_at(operands[0], k));
  // A base that is written, too, was read before: results follow the address in each wavefront.
  return l.emit(handler<run_scalar_load>, {}, plan);
}

bool lower_vector_load(AmdLowering& l) {
  l.guarded();
  const Form f = form_of(l.name());
  Where at;
  if (l.in().operands.size() < 2 || !has_registers(l.operand(0), f.words) || !where(l, l.name(), 1, 2, &at))
    return false;
  return load(l, f, access_of(f, at.space, l.in().number("offset")), at.place, l.operand(0));
}
bool lower_vector_store(AmdLowering& l) {
  l.guarded();
  const Form f = form_of(l.name());
  Where at;
  if (l.in().operands.size() < 2 || !has_registers(l.operand(1), f.words) || !where(l, l.name(), 0, 2, &at))
    return false;
  return store(l, f, access_of(f, at.space, l.in().number("offset")), at.place, l.operand(1));
}
bool lower_load_to_lds(AmdLowering& l) {
  l.guarded();
  const Form f = form_of(l.name());
  Where at;
  if (l.in().operands.empty() || !where(l, l.name(), 0, 1, &at)) return false;
  return load_to_lds(l, f, access_of(f, at.space, l.in().number("offset")), at.place);
}

bool lower_buffer_load(AmdLowering& l) {
  const Form f = form_of(l.name());
  const bool to_lds = l.in().has("lds");
  Buffer at{};
  if (!to_lds && (l.in().operands.empty() || !has_registers(l.operand(0), f.words))) return false;
  if (!buffer_at(l, to_lds ? 0 : 1, f.words * f.word_bytes, &at)) return false;
  Access a = access_of(f, Space::kGlobal, 0);
  if (to_lds) return l.guarded(), load_to_lds(l, f, a, at.place, at.in_range);
  const uint32_t zero = l.constant(0, 4);
  if (f.half) {
    for (uint32_t k = 0; k < f.words; ++k)
      l.emit(copy_register(4), {.d = a.regs[k] = l.scratch(4), .a = zero});
    l.guard_by(at.in_range);
    access(l, a, at.place, false);
    l.guarded();
    const uint32_t half = l.scratch(2);
    l.emit(steps().take_half, {.d = half, .a = a.regs[0], .small = 0});
    return l.emit(steps().put_half, {.d = l.register_at(l.operand(0), 0), .a = half, .small = f.upper});
  }
  for (uint32_t k = 0; k < f.words; ++k)
    l.emit(copy_register(4), {.d = a.regs[k] = l.register_at(l.operand(0), k), .a = zero});
  l.guard_by(at.in_range);
  return access(l, a, at.place, false);
}
bool lower_buffer_store(AmdLowering& l) {
  const Form f = form_of(l.name());
  Buffer at{};
  if (l.in().operands.empty() || !has_registers(l.operand(0), f.words) ||
      !buffer_at(l, 1, f.words * f.word_bytes, &at))
    return false;
  l.guard_by(at.in_range);
  return store(l, f, access_of(f, Space::kGlobal, 0), at.place, l.operand(0));
}

// --- LDS ------------------------------------------------------------------------------------------------------------------------------
namespace {

// ds_read2 and ds_write2: two elements, at offsets counted in elements, or in 64 of them.
bool is_two(std::string_view name) { return name.starts_with("ds_read2") || name.starts_with("ds_write2"); }
int64_t offset_of_two(const amdgcn::Instruction& in, bool second, uint32_t element) {
  const int64_t by = in.row->name.find("st64") != std::string_view::npos ? 64 : 1;
  return static_cast<uint32_t>(in.number(second ? "offset1" : "offset0")) * by * element;
}

}  // namespace

bool lower_lds_load(AmdLowering& l) {
  l.guarded();
  const std::string_view name = l.name();
  const auto& operands = l.in().operands;
  if (operands.size() != 2 || !has_registers(operands[1], 1)) return false;
  uint32_t place = l.register_at(operands[1], 0);
  const Form f = form_of(name);
  const bool two = is_two(name);
  if (!has_registers(operands[0], two ? 2 * f.words : f.words)) return false;
  if (!two) return load(l, f, access_of(f, Space::kShared, l.in().number("offset")), place, operands[0]);
  // The address may be the first element's register.
  const uint32_t kept = l.scratch(4);
  l.emit(copy_register(4), {.d = kept, .a = place});
  for (uint32_t k = 0; k < 2; ++k) {
    Operand part = operands[0];
    part.index += k * f.words;
    load(l, f, access_of(f, Space::kShared, offset_of_two(l.in(), k == 1, 4 * f.words)), kept, part);
  }
  return true;
}
void read_again(AmdLowering& l, const amdgcn::Instruction& read, uint32_t place) {
  const std::string_view name = read.row->name;
  const bool transposed = name.find("_tr_") != std::string_view::npos;
  const Form f = form_of(transposed ? name.substr(0, name.find("_tr_")) : name);
  for (uint32_t k = 0; k < (is_two(name) ? 2 : 1); ++k) {
    const int64_t offset = is_two(name) ? offset_of_two(read, k == 1, 4 * f.words) : read.number("offset");
    Access a = access_of(f, Space::kShared, offset);
    for (uint32_t w = 0; w < f.words; ++w) a.regs[w] = l.scratch(4);
    access(l, a, place, false);
  }
}
bool lower_lds_store(AmdLowering& l) {
  l.guarded();
  const auto& operands = l.in().operands;
  const Form f = form_of(l.name());
  const bool two = is_two(l.name());
  if (operands.size() != (two ? 3u : 2u) || !has_registers(operands[0], 1)) return false;
  const uint32_t place = l.register_at(operands[0], 0);
  for (size_t k = 1; k < operands.size(); ++k) {
    if (!has_registers(operands[k], f.words)) return false;
    store(l, f,
          access_of(f, Space::kShared,
                    two ? offset_of_two(l.in(), k == 2, 4 * f.words) : l.in().number("offset")),
          place, operands[k]);
  }
  return true;
}

namespace {

// gfx950's ds_read_b64_tr: 16 lanes read a matrix by its rows, and each gets a column: of rows that take `step` lanes. AMD does not
// publish it; it is what Triton's lowering of ttg.local_load asks for.
struct Transpose {
  uint32_t bits, words;  // of an element; of a lane
  uint32_t from[3], to[3];
};
void run_transpose(Exec& x, const Operands&, const Transpose& plan) {
  const uint32_t each = 32 * plan.words / plan.bits, step = 16 / each;
  for (uint32_t g = 0; g < x.count; g += 16) {
    uint32_t matrix[16][16] = {}, out[3] = {};
    for (uint32_t lane = 0; lane < 16; ++lane)
      for (uint32_t e = 0; e < each; ++e) {
        const uint32_t bit = e * plan.bits, word = bit / 32;
        uint64_t bits = x.reg<uint32_t>(plan.from[word])[g + lane];
        if (word + 1 < plan.words) bits |= uint64_t{x.reg<uint32_t>(plan.from[word + 1])[g + lane]} << 32;
        matrix[lane / step][lane % step * each + e] =
            static_cast<uint32_t>(bits >> (bit % 32)) & ((1u << plan.bits) - 1);
      }
    for (uint32_t lane = 0; lane < 16; ++lane) {
      if (!x.on(g + lane)) continue;
      std::fill_n(out, 3, 0u);
      for (uint32_t e = 0; e < each; ++e) {
        const uint32_t bit = e * plan.bits;
        out[bit / 32] |= matrix[e][lane] << (bit % 32);
        if (bit % 32 + plan.bits > 32) out[bit / 32 + 1] |= matrix[e][lane] >> (32 - bit % 32);
      }
      for (uint32_t k = 0; k < plan.words; ++k) x.reg<uint32_t>(plan.to[k])[g + lane] = out[k];
    }
  }
}

}  // namespace

bool lower_lds_transposed(AmdLowering& l) {
  l.guarded();
  const std::string_view name = l.name();
  const auto& operands = l.in().operands;
  Transpose plan{};
  plan.bits = name.ends_with("b16") ? 16 : static_cast<uint32_t>(name.back() - '0');
  plan.words = name.starts_with("ds_read_b96") ? 3 : 2;
  if (operands.size() != 2 || !has_registers(operands[0], plan.words) || !has_registers(operands[1], 1))
    return false;
  Form f;
  f.words = plan.words;
  Access a = access_of(f, Space::kShared, l.in().number("offset"));
  for (uint32_t k = 0; k < plan.words; ++k) {
    a.regs[k] = plan.from[k] = l.scratch(4);
    plan.to[k] = l.register_at(operands[0], k);
  }
  access(l, a, l.register_at(operands[1], 0), false);
  return l.emit(handler<run_transpose>, {}, plan);
}

// --- atomic operations ------------------------------------------------------------------------------------------------------------------
namespace {

struct AtomicName {
  std::string_view name;
  AtomicOp op;
  AtomicType narrow, wide;
  uint32_t bytes = 0;  // 0: 4, or 8 where the name ends in x2 or 64
};
constexpr AtomicName kAtomics[] = {
    {"pk_add_bf16", AtomicOp::kAdd, AtomicType::kBf16x2, AtomicType::kBf16x2, 4},
    {"pk_add_f16", AtomicOp::kAdd, AtomicType::kF16x2, AtomicType::kF16x2, 4},
    {"add_f32", AtomicOp::kAdd, AtomicType::kF32, AtomicType::kF32, 4},
    {"add_f64", AtomicOp::kAdd, AtomicType::kF64, AtomicType::kF64, 8},
    {"min_f32", AtomicOp::kMin, AtomicType::kF32, AtomicType::kF32, 4},
    {"max_f32", AtomicOp::kMax, AtomicType::kF32, AtomicType::kF32, 4},
    {"min_f64", AtomicOp::kMin, AtomicType::kF64, AtomicType::kF64, 8},
    {"max_f64", AtomicOp::kMax, AtomicType::kF64, AtomicType::kF64, 8},
    {"fmin", AtomicOp::kMin, AtomicType::kF32, AtomicType::kF64, 4},
    {"fmax", AtomicOp::kMax, AtomicType::kF32, AtomicType::kF64, 4},
    {"cmpswap", AtomicOp::kCas, AtomicType::kU32, AtomicType::kU64},
    {"cmpst", AtomicOp::kCas, AtomicType::kU32, AtomicType::kU64},
    {"wrxchg", AtomicOp::kExch, AtomicType::kU32, AtomicType::kU64},
    {"swap", AtomicOp::kExch, AtomicType::kU32, AtomicType::kU64},
    {"smin", AtomicOp::kMin, AtomicType::kS32, AtomicType::kS64},
    {"smax", AtomicOp::kMax, AtomicType::kS32, AtomicType::kS64},
    {"umin", AtomicOp::kMin, AtomicType::kU32, AtomicType::kU64},
    {"umax", AtomicOp::kMax, AtomicType::kU32, AtomicType::kU64},
    {"min_i", AtomicOp::kMin, AtomicType::kS32, AtomicType::kS64},
    {"max_i", AtomicOp::kMax, AtomicType::kS32, AtomicType::kS64},
    {"min_u", AtomicOp::kMin, AtomicType::kU32, AtomicType::kU64},
    {"max_u", AtomicOp::kMax, AtomicType::kU32, AtomicType::kU64},
    {"add", AtomicOp::kAdd, AtomicType::kU32, AtomicType::kU64},
    {"sub", AtomicOp::kAdd, AtomicType::kU32, AtomicType::kU64},
    {"and", AtomicOp::kAnd, AtomicType::kU32, AtomicType::kU64},
    {"xor", AtomicOp::kXor, AtomicType::kU32, AtomicType::kU64},
    {"or", AtomicOp::kOr, AtomicType::kU32, AtomicType::kU64},
    {"inc", AtomicOp::kInc, AtomicType::kU32, AtomicType::kU64},
    {"dec", AtomicOp::kDec, AtomicType::kU32, AtomicType::kU64},
};

}  // namespace

bool lower_atomic(AmdLowering& l) {
  l.guarded();
  const std::string_view name = l.name();
  const auto& operands = l.in().operands;
  const bool lds = name.starts_with("ds_"), buffer = name.starts_with("buffer");
  std::string what(name.substr(lds ? 3 : name.find("atomic_") + 7));
  if (const size_t rtn = what.find("rtn_"); rtn != std::string::npos) what.erase(rtn, 4);
  const AtomicName* found = nullptr;
  for (const AtomicName& a : kAtomics)
    if (what.starts_with(a.name)) {
      found = &a;
      break;
    }
  if (!found) return false;
  AtomicPlan plan;
  const bool wide = found->bytes == 8 || what.ends_with("x2") || what.ends_with("64");
  plan.bytes = wide ? 8 : 4;
  plan.updates = machine::find_update(found->op, wide ? found->wide : found->narrow);
  if (!plan.updates.global) return false;
  const uint32_t n = wide ? 2 : 1;
  const bool swaps = found->op == AtomicOp::kCas, subtracts = found->name == "sub";
  const bool gives = lds ? name.find("_rtn_") != std::string_view::npos
                         : l.in().has("sc0") || l.in().has("glc") ||
                               l.in().text("th").find("RETURN") != std::string_view::npos;
  size_t at = gives && !buffer ? 1 : 0;
  if (operands.size() < at + 2) return false;
  std::fill_n(plan.results, 8, kNoRegister);
  Operand data, result = operands[0];
  auto value = [&](const Operand& o, uint32_t k) { return wide ? l.pair_at(o, k) : l.register_at(o, k); };
  if (lds) {
    plan.where = Space::kShared;
    plan.address = {l.register_at(operands[at], 0), 4, l.in().number("offset"), false};
    data = operands[at + 1];
    if (swaps) {
      // CDNA: compare, then the new value; RDNA the other way round.
      const bool reversed = l.in().name.find("store") != std::string_view::npos;
      if (operands.size() < at + 3 || !has_registers(operands[at + 1], n) ||
          !has_registers(operands[at + 2], n))
        return false;
      plan.values[0] = value(operands[at + (reversed ? 2 : 1)], 0);
      plan.other = value(operands[at + (reversed ? 1 : 2)], 0);
    }
  } else if (buffer) {
    plan.where = Space::kGlobal;
    data = operands[0];
    Buffer place{};
    if (!buffer_at(l, 1, plan.bytes, &place)) return false;
    l.guard_by(place.in_range);
    plan.address = {place.place, 8, 0, false};
  } else {
    Where place;
    if (!where(l, name, at, at + 2, &place)) return false;
    plan.where = place.space;
    plan.address = {place.place, 8, l.in().number("offset"), place.space == Space::kGeneric};
    data = operands[at + 1];
  }
  if (!(swaps && lds)) {
    if (!has_registers(data, swaps ? 2 * n : n)) return false;
    plan.values[0] = value(data, swaps ? n : 0);  // of a swap the new value comes first
    if (swaps) plan.other = value(data, 0);
  }
  if (subtracts) {
    const uint32_t negated = l.scratch(plan.bytes);
    l.lanes(Op::kNeg, wide ? kS64 : kS32, {.d = negated, .a = plan.values[0]});
    plan.values[0] = negated;
  }
  const uint32_t old = gives ? (wide ? l.scratch(8) : l.register_at(result, 0)) : kNoRegister;
  if (gives && !has_registers(result, buffer && swaps ? 2 * n : n)) return false;
  plan.results[0] = old;
  l.emit(atomic_handler(false), {}, plan);
  return !gives || !wide || l.give_pair(result, old);
}

}  // namespace triton_runner::simt::amd
