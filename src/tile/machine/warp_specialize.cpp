// Lowers warp specialisation: each partition is a task of the program, and so is the default region; they
// meet at the end.
#include "lowering.h"
#include "machine/shared_state.h"

namespace triton_runner::tile {
namespace {

struct Partitions {
  std::vector<const Instr* const*> entries;
  std::vector<int> threads;
  size_t captures;  // results come in as many groups of so many
};

void run_fork(Task& t, const Instr& in, const Partitions& p) {
  SharedState& state = SharedState::of(t);
  for (size_t i = 0; i < p.entries.size(); i++) {
    for (size_t c = 0; c < p.captures; c++)
      t.copy(in.result(static_cast<uint32_t>(i * p.captures + c)), in.operand(static_cast<uint32_t>(c)));
  }
  // Tasks of an earlier specialisation of this program that have ended run again.
  std::vector<Task*> idle;
  for (Task* task : state.partitions) {
    if (task->outcome == Outcome::kFinished) idle.push_back(task);
  }
  for (size_t i = 0; i < p.entries.size(); i++) {
    if (idle.empty()) {
      state.partitions.push_back(&t.program->spawn(*p.entries[i]));
      idle.push_back(state.partitions.back());
    }
    idle.back()->pc = *p.entries[i];
    idle.back()->outcome = Outcome::kRunning;
    state.named.set_threads(idle.back(), p.threads[i]);
    idle.pop_back();
  }
}

const Instr* run_join_partitions(Task& t, const Instr& in) {
  for (const Task* task : SharedState::of(t).partitions) {
    if (task->outcome != Outcome::kFinished) return t.block(in);
  }
  return next(in);
}

int warps_of(Lowering& l, const ir::Attr* warps, size_t i) {
  return warps && i < warps->raw.size() ? static_cast<int>(warps->raw[i]) : l.code().num_warps;
}

void add_partition(Lowering& l, const ir::Op& op, const ir::Region& region, int warps, Partitions& to) {
  const Label entry =
      l.out_of_line(op, [&] { l.lower_region(region, [&l](const ir::Op& last) { l.emit_finish(last); }); });
  to.entries.push_back(l.instruction_at(entry));
  to.threads.push_back(warps * l.code().warp_size);
}

}  // namespace

void lower_warp_specialize(Lowering& l, const ir::Op& op) {
  // The partitions are regions of an op of their own, which has the captures from 3.7 on.
  std::vector<ir::Region*> regions;
  std::vector<Slot> captures = slots_of(l, op.operand_uses);
  for (size_t r = 1; r < op.regions.size(); r++) {
    const ir::Op* holder = op.regions[r]->first ? op.regions[r]->first->first : nullptr;
    if (!holder || holder->kind != ir::OpKind::kWarpSpecializePartitions) {
      regions.push_back(op.regions[r]);
      continue;
    }
    for (Slot s : slots_of(l, holder->operand_uses)) captures.push_back(s);
    regions.insert(regions.end(), holder->regions.begin(), holder->regions.end());
  }
  auto* partitions = l.make<Partitions>();
  const ir::Attr* warps = op.attr("partitionNumWarps");
  partitions->captures = captures.size();
  std::vector<Slot> args;
  for (ir::Region* region : regions) {
    if (!region->first || region->first->args.size() != captures.size())
      return l.fail(
          op, "a partition with other arguments than the " + std::to_string(captures.size()) + " captures");
    for (ir::Value& arg : region->first->args) args.push_back(l.slot(&arg));
    const size_t i = partitions->entries.size();
    add_partition(l, op, *region, warps_of(l, warps, i), *partitions);
  }
  l.emit<run_fork>(op, args, captures, partitions);
  const std::vector<Slot> results = slots_of(l, op.results);
  l.lower_region(*op.region(0),
                 [&](const ir::Op& last) { l.move(results, slots_of(l, last.operand_uses), last); });
  l.emit(run_join_partitions, op, {}, {});
}

// nvws.warp_group: the same without captures: its regions read the values around them. The first region with
// as many warps as the program stays with it (its results are the op's); the others are partitions.
void lower_nvws_warp_group(Lowering& l, const ir::Op& op) {
  auto* partitions = l.make<Partitions>();
  const ir::Attr* warps = op.attr("numWarps");
  const ir::Region* own = nullptr;
  for (size_t r = 0; r < op.regions.size(); r++) {
    const ir::Region* region = op.regions[r];
    if (!region->first) continue;
    const int n = warps_of(l, warps, r);
    if (!own && (n == l.code().num_warps || !op.results.empty())) {
      own = region;
      continue;
    }
    add_partition(l, op, *region, n, *partitions);
  }
  l.emit<run_fork>(op, {}, {}, partitions);
  const std::vector<Slot> results = slots_of(l, op.results);
  if (own) {
    const Label end = l.new_label();
    l.lower_region(*own, results, end);
    l.bind(end);
  }
  l.emit(run_join_partitions, op, {}, {});
}

}  // namespace triton_runner::tile
