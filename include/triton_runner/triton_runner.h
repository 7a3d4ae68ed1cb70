// Offers the C++ API of Triton Runner in one header.
//
// A kernel is text or bytes at one level of its compilation. Running one takes three steps: parse the
// artifact, load a kernel from it, launch the kernel.
//
//   #include <triton_runner/triton_runner.h>
//   using namespace triton_runner;
//
//   base::Result<ir::Module> module = ir::parse(text, "add_kernel.ttir");
//   if (!module) return fail(module.error().str());              // file:line:column, caret, what for
//
//   auto kernel = tile::load(std::make_shared<ir::Module>(std::move(*module)));   // the CPU, no GPU needed
//   if (!kernel) return fail(kernel.error().str());
//
// or, for PTX, simt::load(*ptx::parse(text, "add_kernel.ptx")). Then
//
//   // Arguments are bits; memory is what the kernel may touch: anything else is a trap, never a segfault.
//   std::vector<exec::Argument> args = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(x.data())},
//                                       {exec::ParamKind::kInteger, x.size()}};
//   std::vector<exec::Allocation> memory = {{reinterpret_cast<uint64_t>(x.data()), x.size() * 4, "x (f32)"}};
//   exec::LaunchOptions options;
//   options.grid = {4, 1, 1};
//   if (exec::LaunchResult error = (*kernel)->launch(options, args, memory)) return fail(error->str());
//
// The headers in include/ are all that a program includes; this one includes them all. The parts, in the order in
// which they depend on each other:
//
//   base/diagnostic.h, base/result.h   what was wrong with the input, and where
//   num/types.h                        element types and their bit-exact conversions
//   exec/kernel.h                      the seam: Kernel, Argument, Allocation, LaunchOptions
//   exec/trap.h                        a kernel's fault
//   ir/module.h, ir/graph.h, ir/edit.h MLIR text of Triton's dialects: parse, walk, edit, print
//   ptx/module.h                       PTX text: parse, walk, print
//   layout/encoding.h                  which thread holds which element, and where shared memory holds it
//   tile/tile.h                        the tile engine: TTIR and TTGIR on the CPU
//   simt/simt.h                        the SIMT engine: PTX and cubins on the CPU (examples/cpp/run_ptx.cpp)
//   probe/recorder.h, probe/recording.h    dumps: values of a running kernel, and what was recorded
//   artifact/artifact.h                artifacts on disk, and what is known of them with and without metadata
//   artifact/fatbin.h                  the cubins in fatbins, and in programs and libraries that hold fatbins
//   artifact/mix.h, artifact/occupancy.h   how often each instruction is there, and how many blocks an SM holds
//   device/driver.h, launch/gpu_kernel.h   CUDA and HIP through their drivers
//   deploy/deploy.h                    kernels shipped in a folder, launched by name (examples/deploy)
//
// Nothing here prints, exits, throws on bad input or reads the environment. A Result must be looked at; a
// Trap is a result of the kernel. Everything is thread-safe to use from several threads as long as each
// object is used by one.
#pragma once

#include <triton_runner/artifact/artifact.h>
#include <triton_runner/artifact/fatbin.h>
#include <triton_runner/artifact/mix.h>
#include <triton_runner/artifact/occupancy.h>
#include <triton_runner/base/diagnostic.h>
#include <triton_runner/base/result.h>
#include <triton_runner/deploy/deploy.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/memory.h>
#include <triton_runner/exec/observer.h>
#include <triton_runner/exec/trap.h>
#include <triton_runner/ir/edit.h>
#include <triton_runner/ir/module.h>
#include <triton_runner/launch/gpu_kernel.h>
#include <triton_runner/layout/encoding.h>
#include <triton_runner/layout/linear_layout.h>
#include <triton_runner/num/types.h>
#include <triton_runner/probe/recorder.h>
#include <triton_runner/probe/recording.h>
#include <triton_runner/ptx/module.h>
#include <triton_runner/simt/simt.h>
#include <triton_runner/tile/tile.h>
