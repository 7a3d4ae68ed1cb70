// Finds runs with loads and stores (span.h): how far each one goes, and its parts. Where some threads end and the others go on to
// where they end too, a run goes on: loads and stores have a guard there.
//
//   @P1 EXIT;  STG [R2], R4;  EXIT     is, for native code:     @!P1 STG [R2], R4;  EXIT
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "native/span.h"

namespace triton_runner::simt {

inline constexpr size_t kMostParts = 512;  // of a run

struct SpanRun {
  uint32_t begin;
  size_t count = 0;  // instructions
  std::vector<Instr> body{};
  std::shared_ptr<Spans> spans{};
};

// The parts of an instruction; none: it is not for registers alone.
using PartsOf = std::function<std::vector<Instr>(uint32_t index)>;

// `begin_run` is called in front of each run.
std::vector<SpanRun> find_span_runs(Code& code, SpanFinder::Kind kind, const std::function<void()>& begin_run,
                                    const PartsOf& parts);

// The instructions, from `begin` on, of moves into the registers of the load after them, and of that; 0: there are none.
uint32_t filled_load(const Code& code, size_t begin);

}  // namespace triton_runner::simt
