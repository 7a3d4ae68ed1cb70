// Declares the SIMT engine, which runs PTX and NVIDIA's machine code on the CPU. A block of threads is one
// wide vector: each instruction runs over all of them at once while they agree on the way, and under masks
// when they do not.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/exec/heap.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/parameters.h>
#include <triton_runner/ptx/module.h>

namespace triton_runner::simt {

struct LoadOptions {
  // Threads of a block (x, y, z), where the text has no .reqntid. Zeros: as .maxntid says, or an error.
  std::array<uint32_t, 3> block{};
  // Blocks of a cluster, where the text has no .reqnctapercluster. Zeros: one.
  std::array<uint32_t, 3> cluster{};
  // Whether a launch's grid counts blocks, as CUDA's does, and not clusters, as Triton's with num_ctas.
  bool grid_of_blocks = false;
  // Bytes of dynamic shared memory of a launch that gives none (LaunchOptions::shared_bytes); the text does
  // not say it. -1: as much as the target has (max_shared_bytes), where the text declares any.
  int64_t shared_bytes = -1;

  // Addresses, by name, of module variables (.global, .const) whose memory the caller keeps: kernels of one module share
  // them. The kernel neither allocates nor initialises these. Null: each kernel has its own.
  std::shared_ptr<const std::map<std::string, uint64_t, std::less<>>> variables;

  // Whether mul and add without .rn are contracted as ptxas does (ptx/contract.h). Off is its -fmad=false,
  // and what Triton's enable_fp_fusion=False asks for.
  bool contract = true;

  // malloc and free of its launches take memory from this heap, which outlives the kernel. Null: each launch has its own.
  exec::Heap* heap = nullptr;

  // The rest says how Arguments become the text's parameters, where the caller knows more than the text does.
  // What a launch gives, in order; empty: the text's own parameters, but for the hidden ones.
  std::vector<exec::Param> params;
  // The layouts of the kTensorDesc parameters, in order. A descriptor with a layout takes a parameter of 128
  // bytes, and its shape and strides where the text has parameters for them; one without takes base, shape
  // and strides, i1 flags, shape and strides.
  std::vector<exec::DescriptorLayout> descriptors;
  // Trailing pointers that launches do not give: 0; 1: global scratch; 2: global scratch, profile scratch.
  int hidden_pointers = 0;
  exec::Scratch global_scratch, profile_scratch;
};

// Lowers entry `name` of `module` (its only entry where `name` is empty). Level "ptx". Parameters, where the
// options name none: .ptr ones are pointers, .align 64 arrays of 128 bytes tensor descriptors, floats where
// the type says so, else integers (a launch may give a pointer in place of 64 bits, and a float in place of
// 32 or 64 bits). Errors: no such entry (with the nearest names), several and no name, no block size, an
// instruction that the engine does not execute (with its line).
base::Result<std::unique_ptr<exec::Kernel>> load(std::shared_ptr<const ptx::Module> module,
                                                 std::string_view name = "", const LoadOptions& options = {});

// The address of a function of the module as its kernels see it: for variables that LoadOptions::variables keeps and that
// begin with one. 0: there is no such function.
uint64_t function_address(const ptx::Module& module, std::string_view name);

// Kernel `name` of a cubin (its only one where empty), from the bytes and from what `nvdisasm -c -hex` prints for them.
// Level "cubin". Parameters, where the options name none: 128 bytes are a tensor descriptor, all others integers, in whose
// place a launch may give a pointer (64 bits) or a float (32 or 64 bits). Errors, of the listing at its line: a malformed
// cubin or listing, no such kernel, no block size, an instruction that the engine does not execute.
base::Result<std::unique_ptr<exec::Kernel>> load_cubin(std::string_view cubin, std::string listing,
                                                       std::string_view name = "",
                                                       const LoadOptions& options = {},
                                                       const std::string& filename = "<cubin>");

// Kernel `name` of a text of AMD's machine code as LLVM writes it (its only one where empty). Level "amdgcn". Parameters, where the
// options name none: pointers, and integers, in whose place a launch may give a float. Errors, of the text at its line: malformed
// text, no such kernel, an instruction that the engine does not execute.
base::Result<std::unique_ptr<exec::Kernel>> load_amdgcn(std::string text, std::string_view name = "",
                                                        const LoadOptions& options = {},
                                                        const std::string& filename = "<amdgcn>");

// The same of a code object's bytes, which are decoded to that text (amdgcn::listing): lines of errors are the text's. Level
// "hsaco". Errors also: bytes that are no code object, an instruction that is not decoded.
base::Result<std::unique_ptr<exec::Kernel>> load_hsaco(std::string_view bytes, std::string_view name = "",
                                                       const LoadOptions& options = {},
                                                       const std::string& filename = "<hsaco>");

// Shared memory that a block of this target ("cuda:90", "hip:gfx942") may ask for, in bytes. CUDA programming guide, technical
// specifications per compute capability; AMD's instruction set architectures ("LDS").
uint32_t max_shared_bytes(const std::string& target);

}  // namespace triton_runner::simt
