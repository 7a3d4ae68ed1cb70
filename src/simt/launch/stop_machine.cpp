// Implements stop_machine.h: reads paths, barriers, copies, buffers and descriptors of the cluster that
// stands.
#include "launch/stop_machine.h"

#include <algorithm>
#include <cstring>

#include <triton_runner/base/text.h>
#include <triton_runner/exec/tensor_map.h>

#include "async/mbarrier.h"
#include "code/arguments.h"
#include "state/divergence.h"
#include "state/tensor_memory.h"

namespace triton_runner::simt {
std::string what_it_does(Cta& cta, const Path& path) {
  if (path.state == PathState::kReady) return "can go on";
  if (path.state == PathState::kWarpSync) return "waits for the other threads of its warps";
  if (path.state == PathState::kPoll) return describe_mbarrier_wait(cta, path);
  const Barrier& barrier = cta.barriers[path.barrier];
  return "waits in barrier " + std::to_string(path.barrier) + ", where " + std::to_string(barrier.arrived) +
         " of " + std::to_string(barrier.expected ? barrier.expected : cta.alive_count) +
         " threads have arrived";
}

namespace {

std::string path_name(const Cta& cta, const Path& path) {
  return (cta.cluster->ctas.size() > 1 ? "block " + std::to_string(cta.rank) + ", " : "") +
         threads_of(path, *cta.code);
}

std::string map_text(const exec::TensorMap& map) {
  std::string shape, strides, box;
  for (int d = map.rank; d-- > 0;) {  // outermost first, as Triton has them
    const char* by = d ? " x " : "";
    shape += std::to_string(map.shape[d]) + by;
    strides += std::to_string(map.strides[d]) + by;
    box += std::to_string(map.box[d]) + by;
  }
  std::string out = "at " + base::hex(map.address) + ", shape " + shape + ", strides " + strides;
  if (!map.element_bytes) return out;
  constexpr const char* kSwizzles[] = {"none", "32", "64", "128", "96"};
  return out + " bytes, block " + box + " of " + std::to_string(map.element_bytes) + " bytes, swizzle " +
         kSwizzles[map.swizzle % 5] + (map.nan_fill ? ", NaN outside" : "") + (map.im2col ? ", im2col" : "");
}

bool is_map(const std::byte* at) {
  uint64_t magic;
  std::memcpy(&magic, at, sizeof magic);
  return magic == exec::kTensorMapMagic;
}

std::string map_text_at(const std::byte* at) {
  exec::TensorMap map;
  std::memcpy(static_cast<void*>(&map), at, std::min(sizeof map, exec::kTensorMapBytes));
  return map_text(map);
}

}  // namespace

std::vector<std::string> paths_of(Exec& x) {
  std::vector<std::string> out;
  for (auto& cta : x.cta->cluster->ctas) {
    std::vector<const Path*> paths;
    for (auto& path : cta->paths) paths.push_back(path.get());
    std::ranges::sort(paths, {}, &Path::first);
    for (const Path* path : paths) {
      const bool here = path == x.path;
      const Instr* pc = here ? x.pc : path->pc;
      std::string line = path_name(*cta, *path);
      if (pc->source) line += " at " + instruction_location(x.code(), *pc->source);
      const std::string does = path->frozen ? "frozen" : here ? "is here" : what_it_does(*cta, *path);
      out.push_back(line + ": " + (does.empty() ? "waits for an event" : does));
    }
  }
  return out;
}

std::vector<exec::StoppedBarrier> barriers_of(Exec& x) {
  std::vector<exec::StoppedBarrier> out;
  for (auto& cta : x.cta->cluster->ctas)
    for (const uint32_t at : used_mbarriers(*cta)) {
      if (at + sizeof(machine::Mbarrier) > cta->shared_bytes) continue;
      machine::Mbarrier barrier;
      std::memcpy(&barrier, cta->shared + at, sizeof barrier);
      if (!barrier.is_there()) continue;
      exec::StoppedBarrier& b = out.emplace_back();
      b.block = cta->rank, b.at = at;
      b.text = barrier.text();
      for (auto& other : x.cta->cluster->ctas)
        for (auto& path : other->paths) {
          if (path.get() == x.path || path->state != PathState::kPoll) continue;
          if (awaited_mbarrier(*other, *path) == (cta->rank << kRankShift | at))
            b.waiting.push_back(path_name(*other, *path));
        }
    }
  return out;
}

std::vector<std::string> copies_of(Exec& x) {
  std::vector<std::pair<std::string, const Instr*>> all;
  for (const auto& i : x.cta->cluster->async.ops()) all.emplace_back(i.op->text(), i.op->instr);
  for (auto& cta : x.cta->cluster->ctas)
    for (auto& part : cta->parts)
      if (part) part->list(all);
  std::vector<std::string> out;
  for (auto& [text, at] : all)
    out.push_back(text +
                  (at && at->source ? ", issued at " + instruction_location(x.code(), *at->source) : ""));
  return out;
}

std::vector<exec::StoppedBuffer> buffers_of(const Cta& cta) {
  std::vector<exec::StoppedBuffer> out;
  for (const SharedVariable& v : cta.code->shared_variables)
    out.push_back({{}, v.name, false, v.at, v.bytes ? v.bytes : cta.shared_bytes - v.at});
  if (out.empty() && cta.shared_bytes) out.push_back({{}, "shared", false, 0, cta.shared_bytes});
  return out;
}

std::vector<std::pair<std::string, std::string>> descriptors_of(Exec& x) {
  std::vector<std::pair<std::string, std::string>> out;
  const Launch& launch = x.launch();
  const Code& code = x.code();
  for (size_t i = 0; i < code.params.size(); ++i) {
    const Code::Parameter& p = code.params[i];
    const std::byte* at = launch.params.data() + p.offset;
    const std::string name = launch.plan->name_at(i);
    if (p.bytes >= exec::kTensorMapBytes && is_map(at)) {
      out.emplace_back(name, map_text_at(at));
    } else if (p.bytes == 8) {
      uint64_t address;
      std::memcpy(&address, at, sizeof address);
      if (x.worker->memory.readable(address, exec::kTensorMapBytes) &&
          is_map(reinterpret_cast<const std::byte*>(address)))
        out.emplace_back(name, map_text_at(reinterpret_cast<const std::byte*>(address)));
    }
  }
  return out;
}

std::span<const uint32_t> tensor_words(const Cta& cta) {
  const auto& part = cta.parts[Cta::kTensorMemory];
  return part ? std::span<const uint32_t>(static_cast<const TensorMemory&>(*part).words)
              : std::span<const uint32_t>();
}

std::vector<std::pair<uint32_t, uint32_t>> allocated_columns(const Cta& cta) {
  std::vector<std::pair<uint32_t, uint32_t>> out;
  const auto& part = cta.parts[Cta::kTensorMemory];
  if (!part) return out;
  const auto& owner = static_cast<const TensorMemory&>(*part).owner;
  for (uint32_t u = 0; u < owner.size(); ++u) {
    if (!owner[u]) continue;
    if (!out.empty() && out.back().second == u * kTensorUnit && owner[u] == owner[u - 1])
      out.back().second += kTensorUnit;
    else
      out.emplace_back(u * kTensorUnit, (u + 1) * kTensorUnit);
  }
  return out;
}

}  // namespace triton_runner::simt
