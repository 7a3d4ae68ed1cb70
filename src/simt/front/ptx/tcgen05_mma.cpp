// Lowers tcgen05.mma. See PTX ISA 9.7.16.10.9.
#include "front/ptx/matrices.h"
#include "matrix/tcgen05_shape.h"

namespace triton_runner::simt {

using ptx::Mod;
using ptx::OperandKind;
using Kind = Tcgen05Kind;

bool lower_tcgen05_mma(Lowering& l, const ptx::Instruction& in) {
  auto refuse = [&](const char* why) { return l.fail(in, "'" + std::string(in.spelling) + "': " + why); };
  Tcgen05Product p;
  p.sparse = in.has(Mod::kSp);
  p.stationary = in.has(Mod::kWs);
  p.shift = in.has(Mod::kAshift);
  if (in.has(Mod::kKindTf32)) p.kind = Kind::kTf32;
  if (in.has(Mod::kKindF8f6f4)) p.kind = Kind::kF8f6f4;
  if (in.has(Mod::kKindI8)) p.kind = Kind::kI8;
  if (in.has(Mod::kKindMxf8f6f4)) p.kind = Kind::kMxf8f6f4;
  if (in.has(Mod::kKindMxf4) || in.has(Mod::kKindMxf4nvf4)) p.kind = Kind::kMxf4;
  p.pair = in.has(Mod::kCtaGroup2);
  if (p.kind == Kind::kMxf4) {
    p.vectors = 2;
    if (in.has(Mod::kScaleVec4X) || in.has(Mod::kBlock16)) p.vectors = 4;
    if (in.has(Mod::kKindMxf4nvf4) && !in.has(Mod::kScaleVec2X) && !in.has(Mod::kBlock32)) p.vectors = 4;
  }
  const auto& o = in.operands;
  if (!lower_tensor_address(l, o[0], &p.d)) return false;
  p.a_in_tensor = o[1].kind == OperandKind::kAddress;
  if (p.a_in_tensor) {
    if (!lower_tensor_address(l, o[1], &p.a)) return false;
  } else {
    if (!l.place(o[1], Mod::kB64, &p.a_descriptor)) return false;
  }
  if (p.shift && !p.a_in_tensor) return refuse(".ashift is for an A in tensor memory");
  size_t next = 2;
  p.b_descriptor = l.place(o[next++], Mod::kB64);
  if (p.sparse && !lower_tensor_address(l, o[next++], &p.metadata)) return false;
  if (next + 1 >= o.size()) return refuse("enable-input-d is missing");
  p.instruction = l.place(o[next++], Mod::kB32);
  if (p.b_descriptor == kNoRegister || p.instruction == kNoRegister) return false;
  if (p.scaled()) {
    if (o.size() < next + 3) return refuse("the addresses of the scale factors are missing");
    if (!lower_tensor_address(l, o[next], &p.a_scale) || !lower_tensor_address(l, o[next + 1], &p.b_scale))
      return false;
    next += 2;
  } else if (o[next].kind == OperandKind::kVector && !p.stationary) {
    if (!lower_registers(l, o[next++], Mod::kB32, false, p.disable, &p.disable_count, 8)) return false;
    if (p.disable_count != (p.pair ? 8u : 4u))
      return refuse("the mask of lanes has 4 registers (8 with a pair of blocks)");
  }
  if (next >= o.size()) return refuse("enable-input-d is missing");
  p.add = o[next].kind == OperandKind::kInteger ? l.constant(o[next].integer != 0 ? 0xff : 0, 1)
                                                : l.place(o[next], Mod::kPred);
  if (p.add == kNoRegister) return false;
  if (++next < o.size() && p.stationary) {
    if (!l.place(o[next], Mod::kB64, &p.zero_columns)) return false;
  } else if (next < o.size()) {
    int64_t scale = 0;
    if (!l.integer(o[next], &scale)) return false;
    if (scale < 0 || scale > 15) return refuse("scale-input-d is 0 to 15");
    p.scale_d = static_cast<int>(scale);
  }
  return l.emit<run_tcgen05_product>(p);
}

}  // namespace triton_runner::simt
