// Implements shuffles by halves of a warp.
#include "native/shuffle.h"

#include <algorithm>
#include <bit>

#include "ops/warp.h"

namespace triton_runner::simt {
namespace {

bool has(const std::vector<uint32_t>& places, uint32_t p) {
  return std::find(places.begin(), places.end(), p) != places.end();
}

// Instr::run of a part that moves lanes up by Operands::small; nobody calls it.
void move_up(Lanes&, const Operands&) {}

}  // namespace

std::optional<Instr> shuffle_part(const Instr& in) {
  if (native_row(in.run) && (in.run == xor_handler(8) || in.run == xor_handler(16))) return in;
  if (in.run != table_shuffle() || in.d == kNoRegister || in.e != kNoRegister) return std::nullopt;
  const auto& table = *static_cast<const ShuffleTable*>(in.data);
  for (uint32_t by = 1; by < 32; by *= 2) {
    bool is_up = true;
    for (uint32_t lane = 0; lane < 32; ++lane) is_up &= table.from[lane] == (lane < by ? lane : lane - by);
    if (!is_up) continue;
    Instr part = in;
    part.run = move_up;
    part.small = by;
    part.b = part.c = kNoRegister;
    return part;
  }
  return std::nullopt;
}

bool moves_up(const Instr& part) { return part.run == move_up; }

const NativeRow* shuffle_row(Handler run) {
  static const NativeRow up{Form::kMoveUp, Element::kWord, Element::kWord},
      swap8{Form::kSwapHalves, Element::kWord, Element::kWord, Element::kNone, Element::kNone, {}, 8},
      swap16{Form::kSwapHalves, Element::kWord, Element::kWord, Element::kNone, Element::kNone, {}, 16};
  if (run == xor_handler(8) && num::current_isa() == num::Isa::kAvx2) return &swap8;
  return run == move_up ? &up : run == xor_handler(16) ? &swap16 : nullptr;
}

uint32_t read_of_other_half(const Instr& in) { return shuffle_row(in.run) ? in.a : kNoRegister; }

bool HalvesRead::fits_write(uint32_t place) {
  if (has(read_, place)) return false;
  written_.push_back(place);
  return true;
}

bool HalvesRead::fits(const Instr& part) {
  if (const uint32_t place = read_of_other_half(part); place != kNoRegister) {
    // The second half of a warp finds what the first has left; the first half finds what was there before the phase.
    if (!moves_up(part) && has(written_, place)) return false;
    read_.push_back(place);
  }
  return fits_write(part.d);
}

}  // namespace triton_runner::simt
