// Implements Grid: how workers take units of a grid, and which trap stays.
#include <triton_runner/machine/grid.h>

#include <algorithm>

#include <triton_runner/exec/interruptible.h>
#include <triton_runner/exec/pool.h>

namespace triton_runner::machine {

void Grid::begin(const exec::LaunchOptions& launch_options, const exec::Memory& launch_memory, int64_t units,
                 const std::array<int64_t, 3>& cluster) {
  options = &launch_options;
  memory = &launch_memory;
  num_units = units;
  stopper = options->stopper;
  if (stopper) next_unit = stopper->first_unit();
  if (const auto& only = options->only)
    for (size_t d = 3; d-- > 0;)
      first_unit = first_unit * (options->grid[d] / cluster[d]) + (*only)[d] / cluster[d];
  if (launch_options.shuffle) shuffle.emplace(*launch_options.shuffle, units);
  if (launch_options.timeout_seconds > 0) deadline = steady_seconds() + launch_options.timeout_seconds;
}

void Grid::run(int threads, const std::function<void(int)>& f) {
  workers = static_cast<int>(std::min<int64_t>(threads, num_units));
  progress.begin(workers);
  exec::run_workers(workers, f);
}

void Grid::record(exec::Trap made, int64_t number) {
  std::lock_guard lock(mutex);
  if (trap && number >= trap_number) return;
  trap = std::move(made);
  trap_number = number;
  if (!stops(number)) stop_from.store(number, std::memory_order_relaxed);
}

bool Taker::take_some() {
  const int64_t some = std::clamp<int64_t>(grid_.num_units / (16 * grid_.workers), 1, 64);
  taken_ = grid_.next_unit.fetch_add(some, std::memory_order_relaxed);
  end_ = std::max(taken_, std::min(taken_ + some, grid_.num_units));
  if (grid_.options->stop) exec::add_begun(grid_.options->stop, end_ - taken_);
  return taken_ < end_;
}

bool Taker::has_more() const {
  const bool own = taken_ < end_;
  const int64_t next = own ? taken_ : grid_.next_unit.load(std::memory_order_relaxed);
  return (own || next < grid_.num_units) && !grid_.stops(grid_.first_unit + (grid_.shuffle ? 0 : next));
}

std::array<int64_t, 3> block_in(const std::array<int64_t, 3>& blocks, const std::array<int64_t, 3>& cluster,
                                int64_t number, int64_t rank) {
  if ((cluster[0] | cluster[1] | cluster[2]) == 1) return place_in(blocks, number);  // one block each
  std::array<int64_t, 3> clusters;
  for (size_t d = 0; d < 3; ++d) clusters[d] = blocks[d] / cluster[d];
  std::array<int64_t, 3> place = place_in(clusters, number);
  const std::array<int64_t, 3> within = place_in(cluster, rank);
  for (size_t d = 0; d < 3; ++d) place[d] = place[d] * cluster[d] + within[d];
  return place;
}

}  // namespace triton_runner::machine
