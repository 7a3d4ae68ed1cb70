// Places the global variables of a cubin, and the addresses of variables and functions that its constant
// banks and variables hold.
#include <algorithm>
#include <cstring>

#include "front/ptx/builtin.h"
#include "front/sass/handlers.h"
#include "front/sass/lower.h"
#include "ops/control.h"

namespace triton_runner::simt {

const uint64_t* SassLowering::kept_address(std::string_view name) const {
  if (!kept_) return nullptr;
  auto it = kept_->find(name);
  return it == kept_->end() ? nullptr : &it->second;
}

void SassLowering::place_variables() {
  banks_ = kernel.banks;
  auto place = [&](std::string_view name, std::string_view bytes, uint64_t align, bool writable) {
    Code::Global& g = code.globals.emplace_back();
    g.name = name, g.size = bytes.size(), g.writable = writable;
    if (const uint64_t* address = kept_address(name)) {
      g.address = *address;
      return;
    }
    g.bytes = std::make_unique<std::byte[]>(bytes.size() + align);
    g.address = (reinterpret_cast<uintptr_t>(g.bytes.get()) + align - 1) / align * align;
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(g.address));
  };
  for (const artifact::CubinKernel::Variable& v : kernel.variables)
    place(v.name, v.bytes, std::max<uint64_t>(v.align, 16), true);
  for (const artifact::CubinKernel::Pointer& p : kernel.pointers) {
    uint64_t address = p.value;
    auto variable = std::find_if(code.globals.begin(), code.globals.end(),
                                 [&](const Code::Global& g) { return g.name == p.symbol; });
    if (variable != code.globals.end())
      address += variable->address;
    else if (const int number = builtin_number(p.symbol); !p.is_code && number >= 0)
      address = kFunctionWindow | static_cast<uint64_t>(number);
    else if (!p.is_code)
      continue;                                                               // zeros, as the cubin has it
    if (p.bank < 0 && kept_address(code.globals[p.variable].name)) continue;  // who keeps it has written it
    void* to = p.bank < 0 ? reinterpret_cast<char*>(code.globals[p.variable].address) + p.offset
                          : banks_[p.bank].data() + p.offset;
    std::memcpy(to, &address, sizeof address);
  }
  if (const std::string* constants = constants_of(3)) place(kConstantMemory, *constants, 256, false);
}

}  // namespace triton_runner::simt
