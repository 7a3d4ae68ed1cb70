// RegisterFlow is the code of a kernel, PTX or machine code, as far as registers go: what each instruction writes and
// reads, and where it leads.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/ptx/module.h>
#include <triton_runner/sass/text.h>

namespace triton_runner::probe {

struct RegisterFlow {
  struct Step {
    std::vector<uint32_t> writes, reads;
    std::vector<uint32_t> next;     // the code's size: its end
    bool guarded = false;           // a thread may pass it by
    bool forgets = false;           // it calls something of which nothing is known
    int line = 0, ptx_line = 0;     // of the text; of the PTX that machine code was made of
    std::string_view text, opcode;  // of the module's
  };
  std::vector<Step> steps;
  std::vector<std::string> registers;  // their names
};

RegisterFlow flow_of(const ptx::Module& module, const ptx::Function& f);
RegisterFlow flow_of(const sass::Module& module, const sass::Function& f);

}  // namespace triton_runner::probe
