// Declares st.async and red.async: stores to, and updates of, the cluster's shared memory, whose bytes an
// mbarrier beside them counts.
#pragma once
#include <vector>

#include "ops/atomic.h"

namespace triton_runner::simt {

struct StoreAsyncPlan {
  AddressPlace address, barrier;
  uint32_t element = 0;  // bytes
  std::vector<uint32_t> values;
  Update update = nullptr;  // null: a store
  uint32_t bytes() const { return element * static_cast<uint32_t>(values.size()); }
};
void run_store_async(Exec& x, const Operands& in, const StoreAsyncPlan& plan);

}  // namespace triton_runner::simt
