// Lowers tensor memory of sm_100 as the PTX front end lowers tcgen05: its allocation, loads and stores,
// copies, products, commits. It is tested by tests/cases/ptx/tcgen05-mma.ptx and other cases of tcgen05,
// which run again as machine code.
//
// tmem[UR4+0x10] is an address of 32 bits, gdesc[UR4] a descriptor of 64, idesc[UR5] the instruction
// descriptor, which alone says whether A is sparse and whether f16 or tf32 is multiplied.
#include "matrix/tcgen05.h"

#include <algorithm>

#include "front/sass/handlers.h"
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

// The uniform register in brackets; null if the operand is something else.
const sass::Operand* tensor_register(const sass::Operand* o, std::string_view space) {
  const bool fits = o && o->kind == sass::OperandKind::kAddress && o->space == space &&
                    o->parts.size() == 1 && o->parts[0].kind == sass::OperandKind::kUniform;
  return fits ? &o->parts[0] : nullptr;
}

// A line of PTX that is put together of operands.
struct TensorLine {
  SassLowering& l;
  std::string text;
  std::vector<uint32_t> places = {};
  std::string named(std::string_view letter, uint32_t place) {
    places.push_back(place);
    return std::string(letter) + std::to_string(places.size() - 1);
  }
  void descriptor(const sass::Operand& first) { text += named("%d", l.pair_from(first.index, true)); }
  void address(const sass::Operand& first, int64_t offset) {
    text += "[" + named("%r", l.reg(first.index, true)) + (offset ? "+" + std::to_string(offset) : "") + "]";
  }
  void list(const std::vector<uint32_t>& registers) {
    text += "{";
    for (size_t k = 0; k < registers.size(); ++k) text += (k ? ", " : "") + named("%r", registers[k]);
    text += "}";
  }
};

std::string blocks_of(const SassLowering& l) { return l.has("2CTA") ? ".cta_group::2" : ".cta_group::1"; }

// --- products ---------------------------------------------------------------------------------------------------------

// These stand between D and the predicate: lanes that are not written, columns that are zeros, scale factors.
struct TensorProduct {
  const sass::Operand *a, *b, *d, *metadata, *instruction, *scales = nullptr, *more = nullptr;
  size_t add;  // the predicate's slot
};

bool read_tensor_product(SassLowering& l, TensorProduct& p) {
  const bool in_tensor = l.slot(0)->space == "tmem";
  p.a = tensor_register(l.slot(0), in_tensor ? "tmem" : "gdesc");
  p.b = tensor_register(l.slot(1), "gdesc"), p.d = tensor_register(l.slot(2), "tmem"),
  p.metadata = tensor_register(l.slot(3), "tmem");
  p.instruction = tensor_register(l.slot(4), "idesc");
  p.more = l.slot(5), p.add = 7;
  if (l.slot(6)) p.scales = tensor_register(l.slot(6), "tmem");
  if (!p.a || !p.b || !p.d || !p.metadata || !p.instruction || (l.slot(6) && !p.scales)) return false;
  for (size_t k = 0; k < 2; ++k)  // which products keep A or B to be used again
    if (l.slot(k)->selector.find("NEGATE") != std::string_view::npos) return false;
  return true;
}

std::string tensor_kind(const SassLowering& l, const TensorProduct& p, bool tf32) {
  const std::string_view name = l.in().name;
  if (name == "UTCHMMA") return tf32 ? "tf32" : "f16";
  if (name == "UTCIMMA") return "i8";
  if (name == "UTCQMMA") return p.scales ? "mxf8f6f4.block_scale" : "f8f6f4";
  return std::string("mxf4nvf4.block_scale.scale_vec::") + (l.has("4X") ? "4X" : "2X");
}

// One of the products that the instruction may be.
bool emit_tensor_product(SassLowering& l, const TensorProduct& p, bool sparse, bool tf32) {
  TensorLine line{l, "tcgen05.mma"};
  line.text += std::string(l.has("WS") ? ".ws" : "") + (sparse ? ".sp" : "") + blocks_of(l) +
               ".kind::" + tensor_kind(l, p, tf32) +
               (l.has("ASHIFT") ? ".ashift.collector::a::discard " : " ");
  line.address(*p.d, l.slot(2)->integer);
  line.text += ", ";
  if (l.slot(0)->space == "tmem")
    line.address(*p.a, l.slot(0)->integer);
  else
    line.descriptor(*p.a);
  line.text += ", ";
  line.descriptor(*p.b);
  line.text += ", ";
  if (sparse) {
    line.address(*p.metadata, l.slot(3)->integer);
    line.text += ", ";
  }
  line.text += line.named("%r", l.reg(p.instruction->index, true));
  if (p.scales) {
    sass::Operand second = *p.scales;
    ++second.index;
    line.text += ", ";
    line.address(*p.scales, 0);
    line.text += ", ";
    line.address(second, 0);
  }
  if (p.more && !l.has("WS")) {
    line.text += ", ";
    line.list(l.registers(5, l.has("2CTA") ? 8 : 4));
  }
  line.text += ", " + line.named("%p", l.predicate(p.add));
  if (p.more && l.has("WS")) {
    line.text += ", ";
    line.descriptor(*p.more);
  }
  if (l.slot(8)) line.text += ", " + std::to_string(l.slot(8)->integer);
  return l.ptx(line.text, line.places);
}

bool lower_tensor_product(SassLowering& l) {
  TensorProduct p;
  if (!read_tensor_product(l, p)) return false;
  const uint32_t bits = l.reg(p.instruction->index, true);
  ByDescriptor choice;
  for (uint32_t which = 0; which < 4; ++which) {
    const bool sparse = which & 1, tf32 = which & 2;
    if (tf32 && l.in().name != "UTCHMMA") {
      choice.variants[which] = choice.variants[which & 1];
      continue;
    }
    if (!emit_tensor_product(l, p, sparse, tf32)) return false;
    choice.variants[which] = l.code.instrs.back();
    l.code.instrs.pop_back();
  }
  Instr& i = l.emit(run_by_descriptor);
  i.a = bits, i.source = choice.variants[0].source, i.data = l.code.keep(choice);
  return l.once_a_warp();
}

// --- loads and stores -------------------------------------------------------------------------------------------------

// A half of the threads, of 16 lanes each: the other half is left as it is.
bool lower_half_transfer(SassLowering& l, bool load, TensorLine& line, const sass::Operand& where,
                         const std::vector<uint32_t>& registers, int64_t offset) {
  const uint32_t lane = l.special("SR_LANEID", 4), mine = l.temporary(1), members = l.active();
  const bool upper = l.has("16dp32bit_t16_t31");
  l.ptx(std::string("setp.") + (upper ? "ge" : "lt") + ".u32 %p0, %r1, 16", {mine, lane});
  std::vector<uint32_t> both;
  for (size_t k = 0; k < registers.size(); ++k) both.push_back(l.temporary(4));
  if (load) {
    line.list(both);
    line.text += ", ";
    line.address(where, offset);
    line.text += ", 0";
    l.ptx(line.text, line.places);
    for (size_t k = 0; k < registers.size(); ++k)
      l.ptx("selp.b32 %r0, %r1, %r0, %p2", {registers[k], both[k], mine});
    return true;
  }
  // Threads l and l + 16 write the same word: the number of the one that is meant.
  const uint32_t from = l.temporary(4);
  l.ptx("and.b32 %r0, %r1, 15", {from, lane});
  if (upper) l.ptx("add.u32 %r0, %r0, 16", {from});
  for (size_t k = 0; k < registers.size(); ++k)
    l.ptx("shfl.sync.idx.b32 %r0, %r1, %r2, 31, %r3", {both[k], registers[k], from, members});
  line.address(where, offset);
  line.text += ", 0, ";
  line.list(both);
  return l.ptx(line.text, line.places);
}

bool lower_tensor_transfer(SassLowering& l, bool load) {
  const bool reduces = l.has("STAT");  // and gives the smallest or largest of what a thread loads
  if (reduces != (l.shape() == 1)) return false;
  const size_t at = reduces ? 2 : load ? 1 : 0;
  const sass::Operand* where = tensor_register(l.slot(at), "tmem");
  if (!where) return false;
  std::string shape = "32x32b", times = "x1";
  for (std::string_view mod : l.in().mods) {
    if (mod.starts_with("16dp32bit")) shape = "16x32bx2";
    if (mod == "16dp64bit" || mod == "16dp128bit" || mod == "16dp256bit")
      shape = "16x" + std::string(mod.substr(4, mod.size() - 6));
    if (mod[0] == 'x') times = mod;
  }
  TensorLine line{l, std::string("tcgen05.") +
                         (reduces ? "ld.red"
                          : load  ? "ld"
                                  : "st") +
                         ".sync.aligned." + shape + "." + times};
  if (reduces)
    line.text += std::string(l.has("MIN") || l.has("MINABS") ? ".min" : ".max") +
                 (l.has("MINABS") || l.has("MAXABS") ? ".abs" : "") + (l.has("NAN") ? ".NaN" : "");
  if (l.has("PACK16BIT")) line.text += ".pack::16b";
  if (l.has("EXPAND16BIT")) line.text += ".unpack::16b";
  line.text += !reduces ? ".b32 " : l.has("F32") ? ".f32 " : l.has("S32") ? ".s32 " : ".u32 ";
  const std::vector<uint32_t> registers = l.registers(load ? at - 1 : 1, sass::width_of(l.in()), load);
  const int64_t offset = l.slot(at)->integer;
  if (shape == "16x32bx2") return lower_half_transfer(l, load, line, *where, registers, offset);
  if (load) {
    line.list(registers);
    line.text += ", ";
  }
  if (reduces) {
    line.list({l.result(0)});
    line.text += ", ";
  }
  line.address(*where, offset);
  if (!load) {
    line.text += ", ";
    line.list(registers);
  }
  return l.ptx(line.text, line.places);
}

// --- copies, shifts, commits, allocation ------------------------------------------------------------------------------

bool lower_tensor_copy(SassLowering& l) {
  constexpr std::pair<std::string_view, std::string_view> kShapes[] = {
      {"4dp256bit", "4x256b"},
      {"128dp128bit", "128x128b"},
      {"2x64dp128bit_lw02_lw13", "64x128b.warpx2::02_13"},
      {"2x64dp128bit_lw01_lw23", "64x128b.warpx2::01_23"},
      {"4x32dp128bit", "32x128b.warpx4"}};
  std::string_view shape = "128x256b";
  for (const auto& [mod, name] : kShapes)
    if (l.has(mod)) shape = name;
  const sass::Operand *to = tensor_register(l.slot(0), "tmem"), *from = tensor_register(l.slot(1), "gdesc");
  if (!to || !from || !l.has("T") || !l.has("S")) return false;
  TensorLine line{l, "tcgen05.cp" + blocks_of(l) + "." + std::string(shape)};
  if (l.has("U6x16P32")) line.text += ".b8x16.b6x16_p32";
  if (l.has("U4x16P64")) line.text += ".b8x16.b4x16_p64";
  line.text += " ";
  line.address(*to, l.slot(0)->integer);
  line.text += ", ";
  line.descriptor(*from);
  l.ptx(line.text, line.places);
  return l.once_a_warp();
}

bool lower_tensor_commit(SassLowering& l) {
  const sass::Operand* barrier = tensor_register(l.slot(0), "");
  if (!barrier || l.slot(1)->index != sass::kZero || l.has("MULTICAST") != (l.slot(2) != nullptr))
    return false;
  const uint32_t at = l.address(*l.slot(0), false);
  TensorLine line{l, "tcgen05.commit" + blocks_of(l) + ".mbarrier::arrive::one.shared::cluster"};
  if (l.slot(2)) line.text += ".multicast::cluster";
  line.text += ".b64 [" + line.named("%r", at) + SassLowering::offset_text(*l.slot(0)) + "]";
  if (l.slot(2)) {
    const uint32_t blocks = l.temporary(2);
    l.ptx("cvt.u16.u32 %h0, %r1", {blocks, l.word(2)});
    line.text += ", " + line.named("%h", blocks);
  }
  l.ptx(line.text, line.places);
  return l.once_a_warp();
}

// FIND_AND_SET takes units of 32 columns and says whether it could; AND gives back those whose bit is 0.
bool lower_tensor_allocation(SassLowering& l) {
  if (l.has("AND")) {
    if (l.slot(0)->index != sass::kZero || l.shape() != 1) return false;
    const uint32_t kept = l.word(1);
    l.emit<tensor_give_back>({.a = kept});
    l.name_last();
    return l.once_a_warp();
  }
  if (!l.has("FIND_AND_SET") || !l.has("ALIGN") || l.shape() != 0) return false;
  const uint32_t taken = l.temporary(1), first = l.temporary(4), units = l.word(2);
  Instr& i = l.emit(handler<tensor_take>);
  i.d = first, i.a = units, i.e = taken, i.small = l.has("2CTA");
  if (i.small) l.code.begin_reserved = begin_pair;
  l.name_last();
  l.once_a_warp();
  l.give_threads(l.result(1), first, 4);
  return l.give_threads(l.predicate_result(0), taken, 1);
}

}  // namespace

bool lower_tensors(SassLowering& l) {
  switch (l.opcode()) {
    case sass::Opcode::kLDTM:
      return lower_tensor_transfer(l, true);
    case sass::Opcode::kSTTM:
      return lower_tensor_transfer(l, false);
    case sass::Opcode::kUTCATOMSWS:
      return lower_tensor_allocation(l);
    case sass::Opcode::kUTCBAR:
      return lower_tensor_commit(l);
    case sass::Opcode::kUTCCP:
      return lower_tensor_copy(l);
    case sass::Opcode::kUTCSHIFT: {
      const sass::Operand* where = tensor_register(l.slot(0), "tmem");
      if (!where || !l.has("DOWN")) return false;
      TensorLine line{l, "tcgen05.shift" + blocks_of(l) + ".down "};
      line.address(*where, l.slot(0)->integer);
      l.ptx(line.text, line.places);
      return l.once_a_warp();
    }
    case sass::Opcode::kUVIRTCOUNT:
      if (!l.has("DEALLOC") || !l.has("SMPOOL")) return false;
      return l.ptx("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned", {});
    default:
      return lower_tensor_product(l);
  }
}

}  // namespace triton_runner::simt
