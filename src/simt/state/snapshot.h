// Snapshots let a debugger resume a cluster from an earlier moment.
#pragma once
#include <memory>

#include "state/exec.h"

namespace triton_runner::simt {

// The cluster as it stands where x is, before `in`. Null: it cannot be kept.
std::shared_ptr<exec::Snapshot> snapshot_of(Exec& x, const Instr& in);
// Makes the cluster what Worker::restored says, which it takes; x is over.
void restore_cluster(Exec& x);

}  // namespace triton_runner::simt
