// Makes _core.probe: what a launch of machine code executes, counted.
#include <nanobind/ndarray.h>

#include <triton_runner/exec/count_observer.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

nb::object table(std::vector<uint64_t> values, size_t rows, size_t columns) {
  auto* kept = new std::vector<uint64_t>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<uint64_t>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<2>>(kept->data(), {rows, columns}, owner));
}

nb::dict by_name(const exec::Tally& tally) {
  nb::dict out;
  size_t c = 0;
#define COUNT(name, ...) out[#name] = tally.at(c++);
#include <triton_runner/exec/counts.def>
  return out;
}

nb::list collisions(const exec::Counts& counts) {
  nb::list out;
  for (size_t i = 0; i < counts.collisions.size(); ++i) {
    const exec::Collision& c = counts.collisions[i];
    if (c.ways < 2) continue;
    out.append(dict_of("instruction", i, "ways", c.ways, "bank", c.bank, "threads",
                       nb::make_tuple(c.threads[0], c.threads[1]), "offsets",
                       nb::make_tuple(c.offsets[0], c.offsets[1]), "program", c.program));
  }
  return out;
}

}  // namespace

void init_counts(nb::module_& m) {
  nb::list names;
#define COUNT(name, enumerator, unit, what) names.append(nb::make_tuple(#name, unit, what));
#include <triton_runner/exec/counts.def>
  m.attr("COUNTS") = nb::tuple(names);
  nb::list counters;
#define COUNTER(name, metric, unit, count, where, deterministic, compared) \
  counters.append(nb::make_tuple(#name, metric, unit, count, where, deterministic, compared));
#include <triton_runner/exec/counters.def>
  m.attr("COUNTERS") = nb::tuple(counters);
  nb::class_<exec::CountObserver>(
      m, "CountObserver",
      "Counts what the launches of one cubin execute, under Options.recorder. The sums do not depend on the "
      "number of threads.")
      .def(nb::init<>())
      .def("keep_trace", &exec::CountObserver::keep_trace, "most"_a,
           "What later launches do is kept in order too, for replay(): so many steps and requests at most.")
      .def_prop_ro(
          "traced",
          [](const exec::CountObserver& o) {
            std::vector<int64_t> out;
            for (const auto& [program, warps] : o.trace().blocks) out.push_back(program);
            return out;
          },
          "The programs of which there is a trace.")
      .def_prop_ro("is_mixed", &exec::CountObserver::is_mixed,
                   "Whether launches of different kernels came: not all of them are in the sums.")
      .def_prop_ro(
          "programs", [](const exec::CountObserver& o) { return o.counts().programs; },
          "How many programs ran; of launches in clusters, how many clusters.")
      .def_prop_ro(
          "instructions",
          [](const exec::CountObserver& o) {
            std::vector<uint64_t> values;
            for (const exec::Tally& t : o.counts().instructions)
              values.insert(values.end(), t.begin(), t.end());
            return table(std::move(values), o.counts().instructions.size(), exec::kCounts);
          },
          "An array with a row for each instruction of the kernel and a column for each of COUNTS.")
      .def_prop_ro(
          "by_warp",
          [](const exec::CountObserver& o) {
            const exec::Counts& c = o.counts();
            return table(c.by_warp, c.instructions.size(), c.warps);
          },
          "How often each instruction was executed by each warp of a block: rows are instructions.")
      .def_prop_ro(
          "spread",
          [](const exec::CountObserver& o) {
            return nb::make_tuple(by_name(o.counts().least), by_name(o.counts().most));
          },
          "Of each of COUNTS, the least and the most that a program has of it.")
      .def_prop_ro(
          "collisions", [](const exec::CountObserver& o) { return collisions(o.counts()); },
          "Of each instruction with bank conflicts the worst: dicts of instruction, ways, bank, threads, "
          "offsets (where two of its threads access the block's shared memory), program.")
      .def_prop_ro(
          "touched",
          [](const exec::CountObserver& o) {
            return nb::make_tuple(o.counts().loaded.size(), o.counts().stored.size());
          },
          "Sectors of global memory that the launch loads, and those that it stores to or updates: each "
          "counts once.");
}

}  // namespace triton_runner::python
