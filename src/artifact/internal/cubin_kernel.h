// Declares CubinKernel: what an engine or the driver needs of a cubin, besides the code, to execute a kernel.
// Description in artifact.h has the rest: what people read, and what a launch on a GPU asks for (registers, barriers).
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

// Names constant bank 3, which holds the program's __constant__ variables, where it is memory that somebody keeps.
inline constexpr std::string_view kConstantMemory = "constant memory";

struct CubinKernel {
  std::string name;
  int capability = 0;  // 90 of sm_90a
  struct Parameter {
    uint32_t offset = 0, bytes = 0;  // the offset is from the first parameter
  };
  std::vector<Parameter> params;
  uint32_t param_base = 0;            // where the parameters begin in constant bank 0
  uint32_t shared_bytes = 0;          // the static part, without what the system reserves
  uint32_t local_bytes = 0;           // a thread's stack
  std::array<uint32_t, 3> block{};    // zeros where the kernel does not demand one
  std::array<uint32_t, 3> cluster{};  // zeros where it does not demand one
  std::map<int, std::string> banks;   // the kernel's own constants, by bank
  struct Variable {                   // a variable of global memory
    std::string name, bytes;
    uint64_t align = 1;
  };
  std::vector<Variable> variables;
  struct Constant {  // a variable of bank 3 that all kernels of the cubin share
    std::string name;
    uint64_t offset = 0, bytes = 0;
  };
  std::vector<Constant> constants;
  // 64 bits of a bank, or of a variable (bank -1), that hold the address of a symbol: a variable, a function of the
  // kernel's section at `value`, or one that the driver has (vprintf).
  struct Pointer {
    int bank = -1;
    size_t variable = 0;
    uint64_t offset = 0;
    std::string symbol;
    bool is_code = false;
    uint64_t value = 0;  // the place in the kernel's section (is_code), else what is added to the address
  };
  std::vector<Pointer> pointers;
  std::string outside;  // a function of another section that the code names; empty: there is none
};

// Reads kernel `name` of a cubin, or its only kernel where the name is empty. Fails as artifact::describe does.
base::Result<CubinKernel> read_cubin_kernel(std::string_view bytes, std::string_view name,
                                            const std::string& filename);

// The cubin in which variables begin with other bytes, by name. The variables of a section without bytes get some at
// the cubin's end.
base::Result<std::string> with_variables(std::string cubin,
                                         const std::map<std::string, std::string, std::less<>>& variables,
                                         const std::string& filename);

}  // namespace triton_runner::artifact
