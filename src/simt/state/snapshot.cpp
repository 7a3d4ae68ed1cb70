// Implements snapshot.h: copies the state of a cluster's blocks, and puts it back. CtaState and ClusterState are
// kept whole, and a part of a block copies itself (CtaPart::copy): a member elsewhere would not come back.
#include "state/snapshot.h"

#include <algorithm>

#include <triton_runner/exec/stopper.h>

namespace triton_runner::simt {
namespace {

struct KeptBlock {
  CtaState state;
  std::vector<std::byte> memory;
  std::vector<Path> paths;
  std::array<std::unique_ptr<CtaPart>, Cta::kParts> parts;
};

struct KeptCluster final : exec::Snapshot {
  std::vector<KeptBlock> blocks;
  ClusterState state;
  Worker::Resume resume;
  size_t only_spun;
  machine::Taker::Place clusters;
  std::vector<std::vector<std::byte>> globals;  // variables of the module
};

KeptBlock kept_block(const Cta& cta) {
  KeptBlock b{cta, {}, {}, {}};
  const std::span<std::byte> all = cta.memory->all();
  b.memory.assign(all.begin(), all.end());
  for (const auto& path : cta.paths) b.paths.push_back(*path);
  for (size_t i = 0; i < b.parts.size(); ++i)
    if (cta.parts[i]) b.parts[i] = cta.parts[i]->copy();
  return b;
}

void put_block_back(Cta& cta, const KeptBlock& b) {
  std::copy(b.memory.begin(), b.memory.end(), cta.memory->all().begin());
  for (auto& path : cta.paths) cta.spare.push_back(std::move(path));
  cta.paths.clear();
  for (const Path& path : b.paths) cta.paths.push_back(std::make_unique<Path>(path));
  static_cast<CtaState&>(cta) = b.state;
  for (size_t i = 0; i < b.parts.size(); ++i) {
    if (b.parts[i])
      cta.parts[i] = b.parts[i]->copy();
    else if (cta.parts[i])
      cta.parts[i]->begin(cta);
  }
}

}  // namespace

std::shared_ptr<exec::Snapshot> snapshot_of(Exec& x, const Instr& in) {
  const Launch& launch = x.launch();
  if (launch.checked || launch.shuffle || launch.options->counter) return nullptr;
  Cluster& cluster = *x.cta->cluster;
  auto kept = std::make_shared<KeptCluster>();
  for (const auto& cta : cluster.ctas) kept->blocks.push_back(kept_block(*cta));
  const auto& paths = x.cta->paths;
  const auto here = std::find_if(paths.begin(), paths.end(), [&](auto& p) { return p.get() == x.path; });
  kept->resume = {static_cast<size_t>(here - paths.begin()), x.limit, x.fuel,
                  x.worker->global_spins - x.spins_before};
  kept->blocks[x.cta->rank].paths[kept->resume.path].pc = &in;
  kept->state = cluster;
  kept->only_spun = x.worker->only_spun;
  kept->clusters = x.worker->clusters->place();
  for (const Code::Global& g : x.code().globals) {
    const auto* at = reinterpret_cast<const std::byte*>(g.address);
    kept->globals.emplace_back(at, at + (g.writable ? g.size : 0));
  }
  return kept;
}

void restore_cluster(Exec& x) {
  const std::shared_ptr<exec::Snapshot> snapshot = std::move(x.worker->restored);
  x.worker->restored.reset();
  const auto& to = static_cast<const KeptCluster&>(*snapshot);
  Cluster& cluster = *x.cta->cluster;
  for (size_t rank = 0; rank < to.blocks.size(); ++rank) put_block_back(*cluster.ctas[rank], to.blocks[rank]);
  static_cast<ClusterState&>(cluster) = to.state;
  x.worker->only_spun = to.only_spun;
  x.worker->clusters->go_back(to.clusters);
  for (size_t i = 0; i < to.globals.size(); ++i)
    std::copy(to.globals[i].begin(), to.globals[i].end(),
              reinterpret_cast<std::byte*>(x.code().globals[i].address));
  x.worker->resume = to.resume;
  x.path = nullptr;
  x.leave();
}

}  // namespace triton_runner::simt
