// Implements family.h: an op's effects decide its family, and the family decides its sinks.
#include "check/family.h"

#include "lowering.h"

namespace triton_runner::tile {

using enum ir::Effect;

// For the instructions that access global memory through pointers their Access says more (any_access_of).
Family family_of(const Instr& in) {
  if (!in.op || in.run == run_release) return Family::kOther;
  if (async_access_of(in).kind != AccessKind::kNone) return Family::kAsyncCopy;
  if (any_access_of(in).kind != AccessKind::kNone) return Family::kAccess;
  const ir::Effects does = in.op->effects();
  if (does.any(kPasses) && in.num_results == in.num_operands) return Family::kCopies;
  if (does.any(kForks)) return in.num_operands && in.num_results ? Family::kFork : Family::kOther;
  if (does.any(kTensorCore) && !does.any(kBarrier | kWaits)) return Family::kMatrix;
  if (does.any(kBlock) && !does.any(kAsync | kWaits)) return Family::kDescriptor;
  if (does.all(kCluster | kBufferWrites)) return Family::kSend;
  if (does.all(kAsync | kBufferWrites) && !does.any(kGroup | kTensorCore)) return Family::kBarrierCopy;
  if (does.all(kGroup | kBarrier)) return Family::kHandOver;
  if (does.any(kGroup) && !does.any(kLoads)) return Family::kCopyWait;
  if (does.all(kBarrier | kWaits)) return Family::kBarrier;
  if (does.any(kBufferReads | kBufferWrites) && !does.any(kAsync)) return Family::kSharedMoves;
  if (does.any(kMoves)) return Family::kMoves;
  // A function is given one element of each operand, if its op does not say otherwise.
  return does.any(kElementwise | kApplies) ? Family::kElementwise : Family::kOther;
}

namespace {

// Returns whether it stores rows by their numbers: what it stores is looked at before it runs.
bool scatters_rows(const ir::Op& op) {
  return op.effects().all(kBlock | kStores) && !op.does(kAsync) &&
         Lowering::operand_index(op, "x_offsets") >= 0;
}

// The operand that says where a gather or a scatter goes, or -1.
int index_operand(const ir::Op& op) {
  if (scatters_rows(op)) return -1;  // looked at with what it stores
  const int rows = Lowering::operand_index(op, "x_offsets");
  return rows >= 0                                         ? rows
         : op.does(kBufferReads) || op.does(kBufferWrites) ? Lowering::operand_index(op, "indices")
                                                           : -1;
}

void access_sinks(const Instr& in, std::vector<Sink>& out) {
  const Access a = any_access_of(in);
  if (a.mask != kNoSlot) out.push_back({static_cast<Slot>(a.mask), kNoSlot, "the mask"});
  out.push_back({static_cast<Slot>(a.ptr), a.mask, "the address"});
  if (a.value != kNoSlot) out.push_back({static_cast<Slot>(a.value), a.mask, "what is stored", true});
  if (a.expected != kNoSlot) out.push_back({static_cast<Slot>(a.expected), kNoSlot, "the comparison", true});
}

void block_sinks(const Instr& in, const Code& code, std::vector<Sink>& out) {
  for (const Slot o : in.operands())
    if (!code.types[o]->is_tensor) out.push_back({o, kNoSlot, "where it goes"});
  if (scatters_rows(*in.op))
    for (uint32_t i = 1; i < in.num_operands; ++i)
      out.push_back({in.operand(i), kNoSlot, i == 1 ? "the address" : "what is stored", i > 1});
  if (const int rows = index_operand(*in.op); rows >= 0)
    out.push_back({in.operand(static_cast<uint32_t>(rows)), kNoSlot, "the address"});
}

}  // namespace

std::vector<Sink> sinks_of(const Instr& in, Family family, const Code& code) {
  std::vector<Sink> out;
  if (!in.op || in.run == run_release) return out;
  switch (family) {
    case Family::kAccess:
    case Family::kAsyncCopy:
      access_sinks(in, out);
      return out;
    case Family::kDescriptor:
    case Family::kSharedMoves:
    case Family::kBarrier:
    case Family::kBarrierCopy:
    case Family::kSend:
      block_sinks(in, code, out);
      return out;
    default:
      break;
  }
  const ir::Effects does = in.op->effects();
  if (in.op->kind == ir::OpKind::kFor) {
    if (in.num_operands == 3 && in.target)
      for (const Slot o : in.operands()) out.push_back({o, kNoSlot, "how often the loop runs"});
  } else if (does.any(kReports) && Lowering::operand_index(*in.op, "condition") == 0) {
    out.push_back({in.operand(0), kNoSlot, "the assertion", true});
  } else if (does.any(kViews)) {
    for (const Slot o : in.operands().subspan(1)) out.push_back({o, kNoSlot, "the address"});
  } else if (!does.all(kAsync | kBlock | kStores) && does.any(kBranches) && in.target &&
             in.num_results == 0 && in.num_operands == 1) {
    out.push_back({in.operand(0), kNoSlot, "the branch"});
  }
  return out;
}

}  // namespace triton_runner::tile
