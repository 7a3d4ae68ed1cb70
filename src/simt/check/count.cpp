// Adds up what a worker executes, and works out what the requests of a warp cost: sectors and wavefronts.
#include "check/count.h"

#include <algorithm>
#include <bit>

namespace triton_runner::simt {
namespace {

using exec::Count;

constexpr uint64_t kSector = exec::Sectors::kBytes;
constexpr uint32_t kBanks = 32, kBankBytes = 4;

// Sectors of an atomic request: one has to be passed as often as threads update the same address in it, as an H200 counts
// them (l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum). Sorts the addresses.
uint64_t passes(uint64_t* begin, uint64_t* end) {
  std::sort(begin, end);
  uint64_t sum = 0;
  for (const uint64_t* at = begin; at != end;) {
    const uint64_t sector = *at / kSector;
    uint64_t most = 0;
    while (at != end && *at / kSector == sector) {
      const uint64_t* first = at;
      while (at != end && *at == *first) ++at;
      most = std::max(most, static_cast<uint64_t>(at - first));
    }
    sum += most;
  }
  return sum;
}

// Returns how many different numbers there are; sorts them.
uint64_t distinct(uint64_t* begin, uint64_t* end) {
  std::sort(begin, end);
  return static_cast<uint64_t>(std::unique(begin, end) - begin);
}

}  // namespace

Counting::Counting(const Launch& launch, exec::CountObserver& observer)
    : plan_(*launch.code->counting), observer_(observer) {
  sums_.begin(plan_.as.size(), launch.code->threads / launch.code->width);
  stretch_warps_.resize(plan_.stretches.size() * sums_.warps);
  stretch_threads_.resize(plan_.stretches.size());
  if (observer.keeps_trace())
    trace_ = std::make_unique<Tracing>(plan_.stretches, sums_.warps, observer.trace().most);
}

Counting::~Counting() {
  finish_all();
  for (size_t s = 0; s < plan_.stretches.size(); ++s) {
    const uint64_t* by_warp = stretch_warps_.data() + s * sums_.warps;
    for (const uint32_t i : plan_.stretches[s]) {
      exec::Tally& to = sums_.instructions[i];
      for (uint32_t w = 0; w < sums_.warps; ++w) {
        sums_.by_warp[size_t{i} * sums_.warps + w] += by_warp[w];
        to[Count::kExecuted] += by_warp[w];
        if (!plan_.is_guarded[i]) to[Count::kTaken] += by_warp[w];
      }
      to[Count::kThreads] += stretch_threads_[s];
      if (!plan_.is_guarded[i]) to[Count::kThreadsOn] += stretch_threads_[s];
    }
  }
  observer_.add(sums_);
  if (trace_) observer_.add(trace_->taken());
}

void Counting::end(Cluster& cluster) {
  finish_all();
  sums_.add_program(cluster.tally);
}

void Counting::stretch(const Exec& x, uint32_t number) {
  finish_all();
  uint64_t* by_warp = stretch_warps_.data() + size_t{number} * sums_.warps;
  uint64_t warps = 0, threads = 0;
  const uint32_t width = x.code().width;
  for (uint32_t w = 0; w < x.count; w += width) {
    const uint64_t on = mask_bits(x.mask, w, width);
    if (!on) continue;
    ++by_warp[(x.first + w) / width], ++warps;
    if (trace_) trace_->step(x.program(), (x.first + w) / width, number);
    threads += static_cast<uint64_t>(std::popcount(on));
  }
  stretch_threads_[number] += threads;
  exec::Tally& tally = x.cta->cluster->tally;
  const uint64_t n = plan_.stretches[number].size(), unguarded = plan_.unguarded[number];
  tally[Count::kExecuted] += n * warps;
  tally[Count::kTaken] += unguarded * warps;
  tally[Count::kThreads] += n * threads;
  tally[Count::kThreadsOn] += unguarded * threads;
}

void Counting::guard(const Exec& x, uint32_t instruction, const int8_t* predicate, uint8_t flip) {
  uint64_t taken = 0, divergent = 0, threads = 0;
  const uint32_t width = x.code().width;
  for (uint32_t w = 0; w < x.count; w += width) {
    const uint64_t on = mask_bits(x.mask, w, width), holds = mask_bits(predicate, w, width),
                   meant = on & (flip ? ~holds : holds);
    if (!meant && on && trace_)
      trace_->add(x.program(), (x.first + w) / width, instruction, exec::TraceEvent::kOff);
    if (!meant) continue;
    ++taken;
    divergent += meant != on;
    threads += static_cast<uint64_t>(std::popcount(meant));
  }
  Cluster& cluster = *x.cta->cluster;
  add(cluster, instruction, Count::kTaken, taken);
  add(cluster, instruction, Count::kDivergent, divergent);
  add(cluster, instruction, Count::kThreadsOn, threads);
}

void Counting::access(const Exec& x, const Operands& in, Space space, uint32_t lane, uint64_t at,
                      uint32_t bytes, bool write) {
  const Source* source = instr_of(in).source;
  if (!source) return;
  const uint32_t instruction = source->index;
  Cluster& cluster = *x.cta->cluster;
  switch (plan_.as[instruction]) {
    case CountAs::kNothing:
      return;
    case CountAs::kCopyIn:
    case CountAs::kCopyOut:
      if (space == Space::kShared && write == (plan_.as[instruction] == CountAs::kCopyIn))
        add(cluster, instruction, Count::kCopiedBytes, bytes);
      if (trace_)
        trace_->copy(x.program(), (x.first + lane) / x.code().width, instruction, space == Space::kGlobal, at,
                     bytes);
      if (space == Space::kGlobal && bytes > 0) {  // a row of a box, or all of a plain copy
        add(cluster, instruction, Count::kGlobalBytes, bytes);
        add(cluster, instruction, Count::kGlobalSectors, (at + bytes - 1) / kSector - at / kSector + 1);
        (write ? sums_.stored : sums_.loaded).add(at / kSector, (at + bytes - 1) / kSector);
      }
      return;
    case CountAs::kRequests:
    case CountAs::kUpdates:
      break;
  }
  Request& request = requests_[static_cast<size_t>(space)];
  const uint32_t thread = x.first + lane, warp = thread / x.code().width;
  const bool same = request.in == &in && request.warp == warp && request.cluster == &cluster &&
                    request.program == x.program() && request.count < request.at.size();
  if (!same) {
    finish(request, space);
    request.in = &in, request.instruction = instruction, request.warp = warp;
    request.cluster = &cluster, request.program = x.program(), request.count = 0;
    request.bytes = bytes, request.write = write;
  }
  request.bytes = std::max(request.bytes, bytes);
  request.at[request.count] = at;
  request.lanes[request.count++] = static_cast<uint8_t>(thread % x.code().width);
}

void Counting::finish(Request& request, Space space) {
  if (!request.in) return;
  const uint64_t bytes = uint64_t{request.bytes} * request.count;
  Cluster& cluster = *request.cluster;
  const uint32_t instruction = request.instruction;
  std::array<uint64_t, kMostLanes * 16> sectors;
  size_t n = 0;
  switch (space) {
    case Space::kShared:
      finish_shared(request);
      break;
    case Space::kLocal:  // the same word of 32 threads stands side by side
      for (uint32_t k = 0; k < request.count; ++k)
        for (uint64_t word = request.at[k] / 4; word <= (request.at[k] + request.bytes - 1) / 4; ++word)
          sectors[n++] = word * 4 + request.lanes[k] / 8;
      n = distinct(sectors.data(), sectors.data() + n);
      add(cluster, instruction, Count::kLocalRequests, 1);
      add(cluster, instruction, Count::kLocalSectors, n);
      if (trace_)
        trace_->request(request.program, request.warp, instruction, exec::TraceEvent::kLocal,
                        {sectors.data(), n}, bytes);
      break;
    default:
      for (uint32_t k = 0; k < request.count; ++k)
        for (uint64_t s = request.at[k] / kSector; s <= (request.at[k] + request.bytes - 1) / kSector; ++s)
          sectors[n++] = s;
      n = distinct(sectors.data(), sectors.data() + n);
      add(cluster, instruction, Count::kGlobalRequests, 1);
      add(cluster, instruction, Count::kGlobalSectors,
          plan_.as[instruction] == CountAs::kUpdates
              ? passes(request.at.data(), request.at.data() + request.count)
              : n);
      add(cluster, instruction, Count::kGlobalBytes, bytes);
      for (uint32_t k = 0; k < request.count; ++k)
        (request.write ? sums_.stored : sums_.loaded)
            .add(request.at[k] / kSector, (request.at[k] + request.bytes - 1) / kSector);
      if (trace_)
        trace_->request(request.program, request.warp, instruction, exec::TraceEvent::kGlobal,
                        {sectors.data(), n}, bytes);
  }
  request.in = nullptr;
}

void Counting::finish_shared(const Request& request) {
  const uint32_t lanes_of_phase = request.bytes >= 16 ? 8 : request.bytes == 8 ? 16 : 32;
  const uint32_t width = request.cluster->ctas[0]->code->width;
  uint64_t wavefronts = 0, least = 0;
  exec::Collision worst;
  for (uint32_t first = 0; first < width; first += lanes_of_phase) {
    // For each bank the different words, and which of the request's threads has them.
    std::array<std::array<std::pair<uint64_t, uint32_t>, 32>, kBanks> words;
    std::array<uint32_t, kBanks> n{};
    bool any = false;
    for (uint32_t k = 0; k < request.count; ++k) {
      if (request.lanes[k] / lanes_of_phase != first / lanes_of_phase) continue;
      any = true;
      for (uint64_t w = request.at[k] / kBankBytes; w <= (request.at[k] + request.bytes - 1) / kBankBytes;
           ++w) {
        auto& here = words[w % kBanks];
        uint32_t& size = n[w % kBanks];
        const auto end = here.begin() + size;
        if (std::none_of(here.begin(), end, [&](const auto& one) { return one.first == w; }) && size < 32)
          here[size++] = {w, k};
      }
    }
    if (!any) continue;
    const auto busiest = static_cast<uint32_t>(std::max_element(n.begin(), n.end()) - n.begin());
    wavefronts += n[busiest], ++least;
    if (n[busiest] <= worst.ways) continue;
    worst.ways = n[busiest], worst.bank = busiest, worst.program = request.program;
    for (uint32_t e = 0; e < 2; ++e) {
      const uint32_t k = words[busiest][e].second;
      worst.threads[e] = request.warp * width + request.lanes[k];
      worst.offsets[e] = static_cast<uint32_t>(request.at[k]);
    }
  }
  Cluster& cluster = *request.cluster;
  add(cluster, request.instruction, Count::kSharedRequests, 1);
  add(cluster, request.instruction, Count::kSharedWavefronts, wavefronts);
  add(cluster, request.instruction, Count::kSharedLeast, least);
  add(cluster, request.instruction, Count::kSharedBytes, uint64_t{request.bytes} * request.count);
  if (trace_)
    trace_->add(request.program, request.warp, request.instruction, exec::TraceEvent::kShared).wavefronts =
        static_cast<uint8_t>(std::min<uint64_t>(wavefronts, 255));
  exec::Collision& kept = sums_.collisions[request.instruction];
  if (worst.ways > 1 && worst.goes_before(kept)) kept = worst;
}

void Counting::barrier(const Exec& x, const Operands& in, uint32_t lane, exec::TraceEvent::Kind kind,
                       uint32_t at, uint64_t value) {
  const Source* source = instr_of(in).source;
  if (trace_ && source)
    trace_->barrier(x.program(), (x.first + lane) / x.code().width, source->index, kind, at,
                    static_cast<uint32_t>(value));
}

void Counting::finish_all() {
  for (size_t space = 0; space < requests_.size(); ++space)
    finish(requests_[space], static_cast<Space>(space));
}

void count_stretch(Exec& x, const Operands& in) { x.worker->counting->stretch(x, in.small); }

void count_guard(Exec& x, const Operands& in) {
  x.worker->counting->guard(x, in.small, x.reg<int8_t>(in.a), static_cast<uint8_t>(in.b));
}

}  // namespace triton_runner::simt
