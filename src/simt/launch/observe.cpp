// Implements show_registers(): gives an observer the registers of the threads that come to a probe. The front
// ends lower a kernel again for an observer, with an instruction at each probe that calls it. It is tested
// through tests/cases/insert/registers-cap.ptx and tests/python/dump/test_dump_registers.py.
#include "launch/observe.h"

#include <triton_runner/exec/register_observer.h>

namespace triton_runner::simt {

void show_registers(Exec& x, const Operands&, const ProbePlace& place) {
  std::vector<std::byte*> values;
  values.reserve(place.registers.size());
  for (const auto& [offset, bytes] : place.registers)
    values.push_back(x.regs + offset + uint64_t{bytes} * x.first);
  exec::RegisterEvent event{};
  event.probe = place.probe;
  event.program = program_of(*x.cta);
  event.block = x.cta->rank;
  event.first = x.first;
  event.count = x.count;
  event.mask = x.mask;
  event.values = values;
  x.launch().options->registers->on_registers(event);
}

}  // namespace triton_runner::simt
