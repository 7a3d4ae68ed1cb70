// Implements shared.h. Copies are made of as many neighbours at once as there are: eight words, four, or one. Eight lanes that load
// what the eight before them did are stored from the same register.
#include "native/shared.h"

#include <algorithm>
#include <map>

namespace triton_runner::simt {
namespace {

constexpr uint32_t kGroup = 8;        // lanes that are looked at together
constexpr size_t kMostCopies = 1024;  // words of a store, or of a load

// Writes moves between the register file, [rdi + place], and shared memory, [rax + at]: with the first sixteen registers and VEX,
// which machines with AVX-512 have too.
class Copies {
 public:
  enum Base : uint8_t { kRegisters = 7, kShared = 0 };
  explicit Copies(Assembler& assembler) : a_(assembler) {}

  // rax = number `index` of those at r8.
  void shared_at(uint32_t index) {
    bytes({0x49, 0x8b, 0x80});
    a_.word(8 * index);
  }
  // r10d gets the bits in which words of the register file differ; those are added to place `index` of r8, and the run ends if there
  // are some.
  void begin_differences() { bytes({0x45, 0x31, 0xd2}); }
  void difference(uint32_t at, uint32_t other) {
    move(0x8b, kRegisters, at);
    bytes({0x8b});
    a_.byte(kDisp32 | kRegisters);  // eax
    a_.word(other);
    bytes({0x31, 0xc8, 0x41, 0x09, 0xc2});  // xor eax, ecx; or r10d, eax
  }
  void end_differences(uint32_t index) {
    bytes({0x45, 0x09, 0x90});
    a_.word(8 * index);
    bytes({0x74, 4, 0xc5, 0xf8, 0x77, 0xc3});  // jz 4; vzeroupper; ret
  }
  void word(Base to, uint32_t to_at, Base from, uint32_t from_at) {
    move(0x8b, from, from_at);
    move(0x89, to, to_at);
  }
  // ymm1 = or stores it: vmovups, of eight words or of four.
  void load(Base from, uint32_t at, bool eight = true) { vex(0x10, 1, from, at, eight); }
  void store(Base to, uint32_t at, bool eight = true) { vex(0x11, 1, to, at, eight); }
  // ymm1 = one word eight times; four words twice.
  void load_one(uint32_t at) { vex(0x18, 2, kShared, at, true, true); }
  void load_four(uint32_t at) { vex(0x1a, 2, kShared, at, true, true); }
  // ymm1 = in each half, the words that `by` says.
  void permute(uint8_t by) { bytes({0xc4, 0xe3, 0x7d, 0x04, 0xc9, by}); }

 private:
  static constexpr uint8_t kDisp32 = 2 << 6;
  void bytes(std::initializer_list<int> all) {
    for (const int b : all) a_.byte(static_cast<uint8_t>(b));
  }
  void place(Base base, uint32_t at) {
    a_.byte(static_cast<uint8_t>(kDisp32 | 1 << 3 | base));
    a_.word(at);
  }
  // ecx.
  void move(int opcode, Base base, uint32_t at) {
    bytes({opcode});
    place(base, at);
  }
  void vex(int opcode, int table, Base base, uint32_t at, bool eight, bool has_prefix = false) {
    bytes({0xc4, 0xe0 | table, 0x78 | int{eight} << 2 | int{has_prefix}, opcode});
    place(base, at);
  }
  Assembler& a_;
};

using Lanes8 = std::span<const SharedPart::Lane>;

// Lanes side by side, whose words are `step` bytes apart.
bool is_row(Lanes8 lanes, uint32_t step) {
  for (size_t i = 1; i < lanes.size(); ++i)
    if (lanes[i].lane != lanes[0].lane + i || lanes[i].at != lanes[0].at + step * i) return false;
  return true;
}

// Word `k` of one lane after the other.
void store_lanes(Copies& copies, const SharedPart& part, uint32_t k, Lanes8 lanes) {
  for (size_t i = 0; i < lanes.size();) {
    const uint32_t from = part.regs[k] + 4 * lanes[i].lane, to = lanes[i].at + 4 * k;
    size_t n = 1;
    for (const size_t many : {size_t{8}, size_t{4}})
      if (n == 1 && i + many <= lanes.size() && is_row(lanes.subspan(i, many), 4)) n = many;
    if (n == 1) {
      copies.word(Copies::kShared, to, Copies::kRegisters, from);
    } else {
      copies.load(Copies::kRegisters, from, n == 8);
      copies.store(Copies::kShared, to, n == 8);
    }
    i += n;
  }
}

// Puts word `k` of eight lanes into ymm1. False: they lie in no order that it knows.
bool load_eight(Copies& copies, uint32_t k, Lanes8 lanes) {
  if (is_row(lanes, 4)) return copies.load(Copies::kShared, lanes[0].at + 4 * k), true;
  if (is_row(lanes, 0)) return copies.load_one(lanes[0].at + 4 * k), true;
  const uint32_t first = std::ranges::min(lanes, {}, &SharedPart::Lane::at).at;
  uint8_t by = 0;
  for (size_t i = 0; i < kGroup; ++i) {
    const uint32_t away = lanes[i].at - first;
    if (away % 4 != 0 || away > 12 || lanes[i].at != lanes[i % 4].at) return false;
    if (i < 4) by = static_cast<uint8_t>(by | away / 4 << 2 * i);
  }
  copies.load_four(first + 4 * k);
  if (by != 0xe4) copies.permute(by);  // they are in order
  return true;
}

bool is_same(Lanes8 a, Lanes8 b) {
  return std::ranges::equal(a, b, {}, &SharedPart::Lane::at, &SharedPart::Lane::at);
}

void load_lanes(Copies& copies, const SharedPart& part, uint32_t k, Lanes8 lanes) {
  Lanes8 there;  // whose words ymm1 has
  for (size_t i = 0; i < lanes.size();) {
    const uint32_t lane = lanes[i].lane, to = part.regs[k] + 4 * lane;
    const bool is_group =
        lane % kGroup == 0 && i + kGroup <= lanes.size() && lanes[i + kGroup - 1].lane == lane + kGroup - 1;
    if (is_group) {
      const Lanes8 group = lanes.subspan(i, kGroup);
      if (is_same(group, there) || load_eight(copies, k, group)) {
        copies.store(Copies::kRegisters, to);
        there = group;
        i += kGroup;
        continue;
      }
    }
    copies.word(Copies::kRegisters, to, Copies::kShared, lanes[i].at + 4 * k);
    ++i;
  }
}

}  // namespace

void shared_part(Lanes&, const Operands&) {}

std::optional<SharedPart> shared_access(const Access& access, bool store, std::span<const uint64_t> address,
                                        std::span<const uint64_t> is_on) {
  if (access.word_bytes != 4 || access.reg_bytes != 4 || access.words > SharedPart::kMostWords ||
      access.words == 3 || access.anywhere || access.address_bytes != 4)
    return std::nullopt;
  SharedPart part{.store = store, .words = access.words, .regs{}, .lanes{}, .is_partial = false};
  const auto n = static_cast<uint32_t>(address.size());
  std::map<uint32_t, uint32_t> last;                  // lanes by the place that they are the last to store to
  std::vector<std::pair<uint32_t, uint32_t>> stored;  // lanes and their places
  const auto take = [&](uint32_t lane) {
    if (!is_on.empty() && !is_on[lane]) return part.is_partial = true, true;
    const auto at = static_cast<uint32_t>(address[lane] + static_cast<uint64_t>(access.offset));
    if (store)
      stored.emplace_back(lane, at), last[at] = lane;
    else
      part.lanes.push_back({lane, at});
    return at % access.bytes() == 0;
  };
  for (uint32_t turn = 0; turn < n; ++turn)
    if (!take(store ? lanes::store_turn(turn, n, access.bytes()) : turn)) return std::nullopt;
  for (const auto& [at, lane] : last) part.lanes.push_back({lane, at});
  for (const auto& [lane, at] : stored)
    if (last[at] != lane) part.others.emplace_back(lane, last[at]);
  std::ranges::sort(part.lanes, {}, &SharedPart::Lane::lane);
  if (part.lanes.size() * part.words > kMostCopies) return std::nullopt;
  for (uint32_t k = 0; k < access.words; ++k) {
    part.regs[k] = access.regs[k];
    if (access.regs[k] == kNoRegister) return std::nullopt;
  }
  return part;
}

uint32_t end_of(const SharedPart& part) {
  uint32_t end = 0;
  for (const SharedPart::Lane& lane : part.lanes) end = std::max(end, lane.at + 4 * part.words);
  return end;
}

void write_shared(Assembler& assembler, const SharedPart& part, uint32_t lanes, uint32_t index) {
  Copies copies(assembler);
  if (part.compares && !part.others.empty()) {
    copies.begin_differences();
    for (uint32_t k = 0; k < part.words; ++k)
      for (const auto& [lane, last] : part.others)
        copies.difference(part.regs[k] + 4 * lane, part.regs[k] + 4 * last);
    copies.end_differences(index + 1);
  }
  copies.shared_at(index);
  const auto below = std::ranges::lower_bound(part.lanes, lanes, {}, &SharedPart::Lane::lane);
  const Lanes8 all(part.lanes.begin(), below);
  for (uint32_t k = 0; k < part.words; ++k)
    part.store ? store_lanes(copies, part, k, all) : load_lanes(copies, part, k, all);
}

}  // namespace triton_runner::simt
