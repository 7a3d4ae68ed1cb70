// Lowers copies that go on after their instruction: of threads (LDGSTS) and of the copy engine (UBLKCP,
// UTMALDG, UTMASTG, ...).
//
// The copy engine's operands are runs of uniform registers. [UR8] of a load: where it goes, its mbarrier, the coordinates;
// of a store: where it comes from, the coordinates. A warp issues one, whichever of its threads are on.
#include "front/sass/lower.h"

namespace triton_runner::simt {
namespace {

// An address that is a run of uniform registers.
const sass::Operand* run_of(const sass::Operand* o) {
  const bool is_run = o && o->space == "" && o->integer == 0 && o->parts.size() == 1 && o->selector == "" &&
                      o->parts[0].kind == sass::OperandKind::kUniform && o->parts[0].index != sass::kZero;
  return is_run ? &o->parts[0] : nullptr;
}

uint32_t upper_half(SassLowering& l, uint32_t word) {
  const uint32_t low = l.temporary(2), high = l.temporary(2);
  l.ptx("mov.b32 {%h0, %h1}, %r2", {low, high, word});
  return high;
}

bool lower_thread_copy(SassLowering& l) {
  const uint32_t bytes = 4 * sass::width_of(l.in());
  const sass::Operand &to = *l.slot(0), &from = *l.slot(1);
  const uint32_t shared = l.address(to, false), global = l.address(from, true);
  if (shared == kNoRegister || global == kNoRegister) return false;
  std::string line = "cp.async.ca.shared.global [%r0" + SassLowering::offset_text(to) + "], [%d1" +
                     SassLowering::offset_text(from) + "], " + std::to_string(bytes);
  if (l.has("ZFILL")) {  // the last bits of the source's address say how many bytes are zeros instead
    const uint32_t at = l.temporary(8), low = l.temporary(8), zeros = l.temporary(4), size = l.temporary(4);
    l.ptx("add.s64 %d0, %d1, " + std::to_string(from.integer), {at, global});
    l.ptx("and.b64 %d0, %d1, " + std::to_string(bytes - 1), {low, at});
    l.ptx("sub.s64 %d0, %d1, %d2", {at, at, low});
    l.ptx("cvt.u32.u64 %r0, %d1", {zeros, low});
    l.ptx("sub.s32 %r0, %r1, %r2", {size, l.constant(bytes, 4), zeros});
    if (l.slot(2))  // not a byte is copied
      l.ptx("selp.b32 %r0, %r0, 0, %p1", {size, l.predicate(2)});
    return l.ptx("cp.async.ca.shared.global [%r0" + SassLowering::offset_text(to) + "], [%d1], " +
                     std::to_string(bytes) + ", %r2",
                 {shared, at, size});
  }
  if (!l.slot(2)) {
    return l.ptx(line, {shared, global});
  }
  const uint32_t size = l.temporary(4);
  l.ptx("selp.b32 %r0, " + std::to_string(bytes) + ", 0, %p1", {size, l.predicate(2)});
  return l.ptx(line + ", %r2", {shared, global, size});
}

// A count of groups, of threads' copies and of the copy engine's stores. What counts loads is waited for already.
bool lower_wait(SassLowering& l) {
  if (l.shape() == 0) {
    const std::string_view name = l.slot(0)->selector;
    const std::string groups = std::to_string(l.slot(1)->integer);
    if (!name.starts_with("SB") || name.size() != 3) return false;
    const auto barrier = static_cast<uint8_t>(name[2] - '0');
    if (l.counts_groups(sass::Opcode::kLDGDEPBAR, barrier)) l.ptx("cp.async.wait_group " + groups, {});
    if (l.counts_groups(sass::Opcode::kUTMACMDFLUSH, barrier))
      l.ptx("cp.async.bulk.wait_group " + groups, {});
  }
  return true;
}

constexpr std::string_view kReductions[] = {"ADD", "MIN", "MAX", "INC", "DEC", "AND", "OR", "XOR"};

std::string reduction_of(const SassLowering& l) {
  for (std::string_view name : kReductions)
    if (l.has(name)) return lower_case(name);
  return {};
}

// Bulk copies of plain memory: [where it goes, mbarrier], [where it comes from], sixteenths of their bytes.
bool lower_plain_copy(SassLowering& l) {
  const sass::Operand *to = run_of(l.slot(0)), *from = run_of(l.slot(1));
  if (!to || !from || l.slot(2)->kind != sass::OperandKind::kUniform) return false;
  const uint32_t size = l.temporary(4);
  uint32_t sixteenths = l.word(2);
  const uint32_t blocks = l.has("MULTICAST") ? upper_half(l, sixteenths) : kNoRegister;
  if (blocks != kNoRegister) {
    l.ptx("and.b32 %r0, %r1, 0xffff", {size, sixteenths});
    sixteenths = size;
  }
  l.ptx("shl.b32 %r0, %r1, 4", {size, sixteenths});
  if (l.in().mods[0] == "G") {
    std::string what = "cp.async.bulk.global.shared::cta.bulk_group";
    if (const std::string operation = reduction_of(l); !operation.empty()) {
      const bool bits = operation == "and" || operation == "or" || operation == "xor";
      const std::string type = l.has("F16")    ? "noftz.f16"
                               : l.has("BF16") ? "noftz.bf16"
                               : l.has("F32")  ? "f32"
                               : l.has("F64")  ? "f64"
                               : l.has("S32")  ? "s32"
                               : l.has("S64")  ? "s64"
                               : l.has("64")   ? bits ? "b64" : "u64"
                               : bits          ? "b32"
                                               : "u32";
      what = "cp.reduce.async.bulk.global.shared::cta.bulk_group." + operation + "." + type;
    }
    l.ptx(what + " [%d0], [%r1], %r2", {l.pair_from(to->index, true), l.reg(from->index, true), size});
  } else {
    const bool near = l.in().mods[0] == "S" && l.in().mods[1] == "S";
    if (blocks != kNoRegister) {
      if (near) return false;
      l.ptx(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], "
          "[%d1], "
          "%r2, [%r3], %h4",
          {l.reg(to->index, true), l.pair_from(from->index, true), size, l.reg(to->index + 1, true), blocks});
      return l.once_a_warp();
    }
    const uint32_t source = near ? l.reg(from->index, true) : l.pair_from(from->index, true);
    l.ptx(near ? "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r0], [%r1], %r2, "
                 "[%r3]"
               : "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d1], %r2, [%r3]",
          {l.reg(to->index, true), source, size, l.reg(to->index + 1, true)});
  }
  return l.once_a_warp();
}

// [R6.64]: a shared address of the cluster, and the mbarrier that counts the bytes.
bool lower_remote_store(SassLowering& l) {
  const bool reduces = l.opcode() == sass::Opcode::kREDAS;
  const sass::Operand &where = *l.slot(0), &value = *l.slot(1);
  const bool plain = where.parts.size() == 1 && where.parts[0].selector == "64" && !where.descriptor &&
                     where.parts[0].kind == sass::OperandKind::kRegister && where.integer == 0;
  const std::string operation = reduction_of(l);
  if (!plain || value.kind != sass::OperandKind::kRegister || reduces == operation.empty()) return false;
  const bool bits = operation == "and" || operation == "or" || operation == "xor";
  const uint32_t to = l.reg(where.parts[0].index), barrier = l.reg(where.parts[0].index + 1);
  if (reduces) {
    const std::string type = l.has("S32") ? ".s32" : bits ? ".b32" : ".u32";
    return l.ptx("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." + operation +
                     type + " [%r0], %r1, [%r2]",
                 {to, l.word(1), barrier});
  }
  const uint32_t words = sass::width_of(l.in());
  std::vector<uint32_t> places{to, barrier};
  std::string values;
  for (uint32_t place : l.registers(1, words)) {
    values += (values.empty() ? "%r" : ", %r") + std::to_string(places.size());
    places.push_back(place);
  }
  return l.ptx("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes" +
                   (words == 1 ? ".b32 [%r0], " + values
                               : ".v" + std::to_string(words) + ".b32 [%r0], {" + values + "}") +
                   ", [%r1]",
               places);
}

// Boxes of tensors: [shared address, mbarrier, coordinates], [map]; of a store without the mbarrier.
template <bool load>
bool lower_box(SassLowering& l) {
  const sass::Operand *box = run_of(l.slot(0)), *map = run_of(l.slot(1));
  if (!box || !map) return false;
  uint32_t rank = 0;
  for (std::string_view mod : l.in().mods)
    if (mod.size() == 2 && mod[1] == 'D') rank = static_cast<uint32_t>(mod[0] - '0');
  if (rank < 1 || rank > 5) return false;
  std::vector<uint32_t> places{l.reg(box->index, true), l.pair_from(map->index, true),
                               l.reg(box->index + 1, true)};
  std::string at;
  const bool rows = l.has("GATHER4") || l.has("SCATTER4");  // a column, then four rows
  for (uint32_t k = 0; k < (rows ? 5 : rank); ++k) {
    at += (k ? ", %r" : "%r") + std::to_string(places.size());
    places.push_back(l.reg(box->index + (load ? 2 : 1) + k, true));
  }
  const std::string dimensions = std::to_string(rank) + "d";
  const bool im2col = l.has("IM2COL");
  if (load) {
    std::string line = "cp.async.bulk.tensor." + dimensions + ".shared::cluster.global." +
                       (im2col ? "im2col"
                        : rows ? "tile::gather4"
                               : "tile") +
                       ".mbarrier::complete_tx::bytes";
    std::string mask;
    if (im2col) {  // the offsets of W, H, D share 16 bits
      if (!l.slot(2) || rank < 3 || l.has("MULTICAST")) return false;
      const uint32_t bits = 16 / (rank - 2), packed = l.word(2);
      for (uint32_t k = 0; k < rank - 2; ++k) {
        const uint32_t one = l.temporary(4), offset = l.temporary(2);
        l.ptx("bfe.u32 %r0, %r1, " + std::to_string(k * bits) + ", " + std::to_string(bits), {one, packed});
        l.ptx("cvt.u16.u32 %h0, %r1", {offset, one});
        mask += (k ? ", %h" : ", {%h") + std::to_string(places.size());
        places.push_back(offset);
      }
      mask += "}";
    } else if (l.slot(2)) {  // the upper half: which blocks of the cluster
      if (!l.has("MULTICAST")) return false;
      const uint32_t blocks = upper_half(l, l.word(2));
      line += ".multicast::cluster";
      mask = ", %h" + std::to_string(places.size());
      places.push_back(blocks);
    } else if (l.has("MULTICAST")) {
      return false;
    }
    if (l.has("2CTA")) line += ".cta_group::2";
    l.ptx(line + " [%r0], [%d1, {" + at + "}], [%r2]" + mask, places);
  } else {
    const std::string operation = reduction_of(l);
    const bool stores = l.opcode() == sass::Opcode::kUTMASTG;
    if (stores != operation.empty()) return false;
    const std::string what = stores ? "cp.async.bulk.tensor." : "cp.reduce.async.bulk.tensor.";
    l.ptx(what + dimensions + ".global.shared::cta" + (stores ? "" : "." + operation) +
              (im2col ? ".im2col_no_offs"
               : rows ? ".tile::scatter4"
                      : ".tile") +
              ".bulk_group [%d1, {" + at + "}], [%r0]",
          places);
  }
  return l.once_a_warp();
}

// [answer], [mbarrier]
bool lower_next_work(SassLowering& l) {
  const uint32_t answer = l.address(*l.slot(0), false), barrier = l.address(*l.slot(1), false);
  if (answer == kNoRegister || barrier == kNoRegister) return false;
  l.ptx(std::string("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes") +
            (l.has("BROADCAST") ? ".multicast::cluster::all" : "") + ".b128 [%r0" +
            SassLowering::offset_text(*l.slot(0)) + "], [%r1" + SassLowering::offset_text(*l.slot(1)) + "]",
        {answer, barrier});
  return l.once_a_warp();
}

}  // namespace

bool lower_copies(SassLowering& l) {
  using enum sass::Opcode;
  static constexpr SassRow kRows[] = {
      // Waits that the engine does not need, caches of tensor maps, prefetches: nothing to do.
      {[](SassLowering&) { return true; }, {kDEPBAR, kUBLKPF, kUTMACCTL, kUTMAPF}},
      {lower_wait, {kDEPBAR_LE}},
      {[](SassLowering& l) { return l.ptx("cp.async.commit_group", {}); }, {kLDGDEPBAR}},
      {lower_thread_copy, {kLDGSTS}},
      {lower_remote_store, {kREDAS, kSTAS}},
      {lower_plain_copy, {kUBLKCP, kUBLKRED}},
      {lower_next_work, {kUGETNEXTWORKID}},
      {lower_box<true>, {kUTMALDG}},
      {lower_box<false>, {kUTMAREDG, kUTMASTG}},
      {[](SassLowering& l) { return l.ptx("cp.async.bulk.commit_group", {}); }, {kUTMACMDFLUSH}}};
  return lower_by(l, kRows);
}

}  // namespace triton_runner::simt
