// Makes _core.probe: the replay of one SM.
#include <triton_runner/exec/count_observer.h>
#include <triton_runner/replay/footprint.h>
#include <triton_runner/replay/replay.h>
#include <triton_runner/replay/trace_bytes.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using Region = std::tuple<uint64_t, uint64_t, double>;

std::vector<replay::Region> regions_of(const std::vector<Region>& regions) {
  std::vector<replay::Region> out;
  for (const auto& [begin, end, share] : regions) out.push_back({begin, end, share});
  return out;
}

replay::Parameters parameters_of(const nb::dict& chip) {
  replay::Parameters out;
#define PARAM(name, what) out.name = nb::cast<double>(chip[#name]);
#include <triton_runner/replay/parameters.def>
  return out;
}

nb::dict by_name(const replay::Result& r) {
  nb::dict out;
  out["cycles"] = r.cycles, out["begins"] = r.begins, out["ends"] = r.ends,
  out["instructions"] = r.instructions;
  out["issue"] = r.issue, out["tensor"] = r.tensor, out["shared"] = r.shared, out["l2"] = r.l2;
  out["dram"] = r.dram, out["dram_bytes"] = r.dram_bytes;
  out["l1_sectors"] = r.l1_sectors, out["l1_hits"] = r.l1_hits;
  out["l2_sectors"] = r.l2_sectors, out["l2_hits"] = r.l2_hits;
  nb::list stalls;  // (instruction, reason, cycles)
  for (size_t i = 0; i < r.stalls.size(); ++i)
    for (size_t k = 0; k < replay::kReasons; ++k)
      if (r.stalls[i][k] > 0) stalls.append(nb::make_tuple(i, k, r.stalls[i][k]));
  out["stalls"] = stalls;
  nb::list segments;  // (block, warp, reason, instruction, begin, end)
  for (const replay::Segment& s : r.segments)
    segments.append(
        nb::make_tuple(s.block, s.warp, static_cast<int>(s.reason), s.instruction, s.begin, s.end));
  out["segments"] = segments;
  return out;
}

nb::dict replay_traced(const exec::CountObserver& observer, const std::string& listing,
                       const std::string& name, const nb::dict& chip, std::vector<int64_t> programs,
                       uint32_t resident, uint32_t active, uint32_t shared,
                       const std::vector<Region>& regions, uint32_t timeline) {
  auto module = unwrap(sass::parse(listing));
  const sass::Function* function = module->find(name);
  if (!function) fail("the listing has no function '" + name + "'");
  if (observer.trace().is_cut) fail("the programs do more than a trace holds: take fewer of them");
  replay::Setup setup{std::move(programs), resident, active, shared, regions_of(regions), timeline};
  const replay::Parameters parameters = parameters_of(chip);
  replay::Result result;
  {
    nb::gil_scoped_release release;
    result = replay::replay(*function, observer.trace(), parameters, setup);
  }
  if (!result.fault.empty()) fail(std::string(result.fault));
  return by_name(result);
}

}  // namespace

void init_replay(nb::module_& m) {
  nb::list parameters, reasons;
#define PARAM(name, what) parameters.append(nb::make_tuple(#name, what));
#include <triton_runner/replay/parameters.def>
#define REASON(name, text) reasons.append(nb::make_tuple(#name, text));
#include <triton_runner/replay/reasons.def>
  m.attr("REPLAY_PARAMETERS") = nb::tuple(parameters);
  m.attr("REPLAY_REASONS") = nb::tuple(reasons);
  m.def("replay", replay_traced, "observer"_a, "listing"_a, "name"_a, "chip"_a, "programs"_a, "resident"_a,
        "active"_a, "shared"_a, "regions"_a, "timeline"_a = 0,
        "Replays programs of an observer's trace on one SM: cycles, when each of them ends, stalls by "
        "instruction, and what was busy. `chip`: a number for each of REPLAY_PARAMETERS.");
  m.def(
      "traced_instructions",
      [](const exec::CountObserver& observer) {
        nb::dict out;
        for (const auto& [program, warps] : observer.trace().blocks) {
          uint64_t n = 0;
          for (const exec::WarpTrace& warp : warps)
            for (const exec::TraceStep& step : warp.steps)
              n += observer.trace().stretches[step.stretch].size();
          out[nb::cast(program)] = n;
        }
        return out;
      },
      "observer"_a, "Of each program of an observer's trace, how many instructions its warps executed.");
  m.def(
      "trace_bytes",
      [](const exec::CountObserver& observer) {
        const std::string out = replay::bytes_of(observer.trace());
        return nb::bytes(out.data(), out.size());
      },
      "observer"_a, "The trace of an observer as bytes, for give_trace().");
  m.def(
      "give_trace",
      [](exec::CountObserver& observer, const nb::bytes& bytes) {
        observer.give_trace(unwrap(replay::trace_of({bytes.c_str(), bytes.size()})));
      },
      "observer"_a, "bytes"_a, "An observer gets the trace that trace_bytes() wrote.");
  m.def(
      "footprints",
      [](const exec::CountObserver& observer, const std::vector<Region>& regions) {
        std::vector<std::tuple<uint64_t, uint64_t>> out;
        for (const replay::Footprint& f : replay::footprints(observer.trace(), regions_of(regions)))
          out.emplace_back(f.each, f.together);
        return out;
      },
      "observer"_a, "regions"_a,
      "Of each region the bytes that the traced programs touch: each once a program, and each once.");
}

}  // namespace triton_runner::python
