// Global variables of a cubin, and the addresses of variables and functions that its constant banks and variables hold.
#include <algorithm>
#include <cstring>

#include "control.h"
#include "ptx/builtin.h"
#include "sass/lower.h"

namespace triton_runner::simt {

void SassLowering::place_variables() {
  banks_ = kernel.banks;
  for (const artifact::CubinKernel::Variable& v : kernel.variables) {
    Code::Global& g = code.globals.emplace_back();
    const uint64_t align = std::max<uint64_t>(v.align, 16);
    g.name = v.name, g.size = v.bytes.size(), g.writable = true;
    g.bytes = std::make_unique<std::byte[]>(v.bytes.size() + align);
    g.address = (reinterpret_cast<uintptr_t>(g.bytes.get()) + align - 1) / align * align;
    std::memcpy(reinterpret_cast<std::byte*>(g.address), v.bytes.data(), v.bytes.size());
  }
  for (const artifact::CubinKernel::Pointer& p : kernel.pointers) {
    uint64_t address = p.value;
    auto variable = std::find_if(code.globals.begin(), code.globals.end(),
                                 [&](const Code::Global& g) { return g.name == p.symbol; });
    if (variable != code.globals.end())
      address += variable->address;
    else if (const int number = builtin_number(p.symbol); !p.is_code && number >= 0)
      address = kFunctionWindow | static_cast<uint64_t>(number);
    else if (!p.is_code)
      continue;  // zeros, as the cubin has it
    void* to = p.bank < 0 ? reinterpret_cast<char*>(code.globals[p.variable].address) + p.offset
                          : banks_[p.bank].data() + p.offset;
    std::memcpy(to, &address, sizeof address);
  }
}

}  // namespace triton_runner::simt
