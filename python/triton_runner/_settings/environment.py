"""Lists the environment variables that Triton's releases, MLIR, LLVM and this package read, and what each
does.

A row: name, what it does, and its kind: "code" may change what is compiled or computed, "print" writes
something, "place" says where something lies, "run" is of launches and caches. Those of settings are made of
Settings. tests/python/cli/test_doctor.py asks every release at hand for the names that it reads."""

from __future__ import annotations

import dataclasses
import functools

from triton_runner._settings import ROWS

_ROWS = """
ALLOW_LHS_TMEM_LAYOUT_CONVERSION code converts layouts so that a product's left side can lie in tensor memory
AMDGCN_ANALYZE_SMALL_TENSOR_RANGE code AMD: buffer operations where ranges show a tensor to be small
AMDGCN_ENABLE_DUMP                 print  prints the AMD assembly of each kernel
AMDGCN_SCALARIZE_PACKED_FOPS code AMD: splits packed f32 instructions near matrix instructions
AMDGCN_USE_BUFFER_ATOMICS code AMD: atomics as buffer instructions (on by default)
AMDGCN_USE_BUFFER_OPS code AMD: loads and stores as buffer instructions
DISABLE_FAST_REDUCTION code 3.0 to 3.4: reductions without the faster instructions
DISABLE_LLVM_OPT code no LLVM optimisation; or the names of passes to switch off
DISABLE_MMA_V3                     code   no wgmma on Hopper: products as mma
DISABLE_MMA_V5                     code   no tcgen05 on Blackwell: products as mma
DISABLE_PTXAS_OPT                  code   ptxas -O0
ENABLE_LHS_TO_TMEM code 3.3: the left side of a product goes to tensor memory
ENABLE_PINGPONG                    code   3.3: AMD's ping-pong schedule
LLVM_ENABLE_TIMING                 print  prints how long LLVM's passes take
LLVM_EXTRACT_DI_LOCAL_VARIABLES code local variables in the debug information
LLVM_IR_ENABLE_DUMP print prints the LLVM IR before and after each LLVM pass
LLVM_PASS_PLUGIN_PATH code an LLVM pass plug-in that is loaded and run
MLIR_DISABLE_MULTITHREADING        run    MLIR on one thread
MLIR_DUMP_PATH place the file that MLIR_ENABLE_DUMP writes to, in place of stderr
MLIR_ENABLE_DIAGNOSTICS print MLIR's notes: warnings, remarks, stacktraces, operations
MLIR_ENABLE_DUMP print prints the IR before each pass (triton-runner passes reads it)
MLIR_ENABLE_REMARK                 print  3.2: prints performance remarks
MLIR_ENABLE_TIMING                 print  prints how long MLIR's passes take
NVPTX_ENABLE_DUMP                  print  prints the PTX of each kernel
PTXAS_OPTIONS                      code   more options for ptxas
STORE_TMEM_TO_GLOBAL_BYPASS_SMEM code 3.3: tensor memory is stored without shared memory between
TRITON_ALLOW_NON_CONSTEXPR_GLOBALS run kernels may use globals that are no constexpr; wrong once these change
TRITON_ALWAYS_COMPILE run compiles although the cache has the kernel
TRITON_AMD_BITCODE_PATH            code   the folder of AMD's device libraries
TRITON_AMD_CODEGEN_PATH            code   another code generator for AMD
TRITON_BACKENDS_IN_TREE run loads the backends from Triton's own folder only
TRITON_BACKEND_DEBUG               print  messages of the AMD backend
TRITON_BUILD_PROTON                run    of building Triton: Proton too
TRITON_CACHE_AUTOTUNING            run    keeps what autotuning found on disk
TRITON_CACHE_DIR place where compiled kernels are kept; ~/.triton/cache
TRITON_CACHE_MANAGER               run    the class that keeps compiled kernels
TRITON_CONSAN_INIT_ALLOCATIONS code the concurrency sanitizer fills shared memory before use
TRITON_CUDACRT_PATH                place  CUDA's crt headers
TRITON_CUDART_PATH                 place  CUDA's runtime headers
TRITON_CUOBJDUMP_PATH              place  cuobjdump
TRITON_CUPTI_LIB_BLACKWELL_PATH    place  CUPTI for Blackwell
TRITON_CUPTI_LIB_PATH              place  CUPTI
TRITON_DEBUG                       code   device_assert and overflow checks are compiled in
TRITON_DEFAULT_BACKEND run the backend that is used where several are active
TRITON_DEFAULT_FP_FUSION code contraction to FMAs where a kernel does not say
TRITON_DISABLE_LINE_INFO code no line information in PTX and binaries
TRITON_DISABLE_PTXAS_OPT           code   ptxas -O0
TRITON_DISABLE_RESHAPE_ENCODING_INFERENCE code 3.0 to 3.4: layouts of reshapes are not inferred
TRITON_DUMP_DIR                    place  where TRITON_KERNEL_DUMP writes; ~/.triton/dump
TRITON_DUMP_MIR                    print  a folder for LLVM's machine IR
TRITON_DUMP_PTXAS_LOG              print  prints what ptxas says
TRITON_ENABLE_ASAN                 code   AMD: the address sanitizer
TRITON_ENABLE_EXPERIMENTAL_CONSAN code the concurrency sanitizer (of barriers and asynchronous copies)
TRITON_ENABLE_LLVM_DEBUG           print  LLVM's -debug: a very long text
TRITON_ENABLE_NVTX                 run    Proton's NVTX ranges
TRITON_ENABLE_HW_TRACE             run    Proton's hardware traces on Blackwell
TRITON_ENABLE_PYTHON_STACKTRACE print Python's stack in MLIR's messages
TRITON_F32_DEFAULT code the precision of f32 products that do not say it: ieee, tf32, tf32x3
TRITON_FORCE_DISABLE_FP_FUSION code no contraction to FMAs, whatever kernels say
TRITON_FPSAN_HOMOMORPHIC_CASTS code how the floating-point sanitizer casts
TRITON_FRONT_END_DEBUGGING print shows the whole Python stack of an error in a kernel
TRITON_HIP_GLOBAL_PREFETCH code AMD: how far loads of global memory are issued ahead
TRITON_HIP_LLD_PATH place ld.lld, which releases before 3.5 link hsaco with
TRITON_HIP_LOCAL_PREFETCH code AMD: how far loads of shared memory are issued ahead
TRITON_HIP_STREAM_PREFETCH code 3.2: AMD's stream pipeline prefetches
TRITON_HIP_USE_ASYNC_COPY code AMD: copies from global to shared memory that go on beside the kernel
TRITON_HIP_USE_BLOCK_PINGPONG      code   AMD: the ping-pong schedule
TRITON_HIP_USE_COEXEC_SCHEDULER code AMD: LLVM's co-execution scheduler
TRITON_HIP_USE_EXPERT_SCHEDULING code AMD: LLVM's expert scheduling mode
TRITON_HIP_USE_IN_THREAD_TRANSPOSE code AMD: transposes in registers on the way to shared memory
TRITON_HIP_USE_NEW_STREAM_PIPELINE code   3.1: AMD's newer pipeliner
TRITON_HOME                        place  the folder that has .triton
TRITON_HSA_RUNTIME_LIBRARY         place  Proton: AMD's HSA runtime
TRITON_HSA_RUNTIME_PATH            place  Proton: the folder of AMD's HSA runtime
TRITON_INSTRUMENTATION_MODE code passes that instrument kernels: consan, fpsan, iisan
TRITON_INTERPRET run kernels run in Triton's own interpreter, in NumPy; nothing is compiled
TRITON_KERNEL_DUMP print writes every level of each kernel to TRITON_DUMP_DIR
TRITON_KERNEL_OVERRIDE code takes levels from TRITON_OVERRIDE_DIR in place of compiling them
TRITON_LIBCUDA_PATH                place  the folder of libcuda.so
TRITON_LIBDEVICE_PATH              code   another libdevice
TRITON_LIBHIP_PATH                 place  libamdhip64.so
TRITON_LLVM_DEBUG_ONLY print LLVM's -debug-only=: what passes say, where the wheel has it
TRITON_MOCK_PTX_VERSION            code   the PTX version to write
TRITON_NVDISASM_PATH               place  nvdisasm
TRITON_OVERRIDE_ARCH code compiles for another architecture than the device's: sm80, gfx942
TRITON_OVERRIDE_DIR code where TRITON_KERNEL_OVERRIDE reads; ~/.triton/override
TRITON_PARTITION_SCHEDULING_DUMP_DATA_ONLY print of the graphs of partitions only data
TRITON_PARTITION_SCHEDULING_DUMP_LOOP_ONLY print of the graphs of partitions only the loop
TRITON_PARTITION_SCHEDULING_ENABLE_DUMP_DOT print writes graphs of warp-specialised partitions
TRITON_PASS_PLUGIN_PATH            code   3.7: a plug-in with passes
TRITON_PLUGIN_PATHS                code   plug-ins that add passes, ops and dialects
TRITON_PLUGIN_VERSION_CHECK run whether plug-ins must be of Triton's own version
TRITON_PRINT_AUTOTUNING print prints which configuration autotuning took
TRITON_PROFILE_BUFFER_SIZE         run    Proton: bytes of its buffer
TRITON_PROFILE_METRIC_BUFFER_SIZE run Proton: bytes of its buffer of metrics
TRITON_PROTON_DISABLE              run    Proton does nothing
TRITON_PTXAS_BLACKWELL_PATH        code   the ptxas for sm_100 and above (3.9: for sm_90 and above)
TRITON_PTXAS_PATH                  code   the ptxas that makes cubins
TRITON_REDIS_HOST                  run    the Redis cache: its host
TRITON_REDIS_KEY_FORMAT            run    the Redis cache: the form of its keys
TRITON_REDIS_PORT                  run    the Redis cache: its port
TRITON_REMOTE_CACHE_BACKEND        run    the class of a remote cache
TRITON_REPRODUCER_PATH print where MLIR writes a reproducer of a pass that fails
TRITON_ROCPROFILER_SDK_INCLUDE_PATH place Proton: headers of rocprofiler
TRITON_ROCPROFILER_SDK_LIB_PATH place Proton: the folder of rocprofiler
TRITON_ROCPROFILER_SDK_LIBRARY     place  Proton: rocprofiler
TRITON_ROCTRACER_LIB_PATH          place  Proton: the folder of roctracer
TRITON_ROCTRACER_LIBRARY           place  Proton: roctracer
TRITON_ROCTX_LIB_PATH              place  Proton: the folder of roctx
TRITON_ROCTX_LIBRARY               place  Proton: roctx
TRITON_STORE_BINARY_ONLY run the cache keeps binaries and metadata only
TRITON_SWAP_MIR code a folder of machine IR that takes the place of LLVM's own
TRITON_SWAP_MIR_ENABLE_MISCHED code LLVM's scheduler runs on swapped machine IR too
TRITON_USE_SLP_VECTORIZER code LLVM joins scalar operations to vectors
USE_IR_LOC code lines of ttir or ttgir in the place of Python's in the debug information
USE_TTGIR_LOC code 3.0 and 3.1: lines of TTGIR in the place of Python's
TRITON_RUNNER_CUDA run this package: whether a program of `triton-runner cuda` has our driver in front
TRITON_RUNNER_CUDA_CAPTURE run this package: the folder in which our libcuda.so.1 keeps launches
TRITON_RUNNER_CUDA_CHECKS run this package: the checks of launches through our libcuda.so.1
TRITON_RUNNER_CUDA_CHIP run this package: the GPU that our libcuda.so.1 shows
TRITON_RUNNER_CUDA_DRIVER run this package: whether Triton's own driver launches, on our libcuda.so.1
TRITON_RUNNER_CUDA_KERNEL run this package: the kernel whose launches our libcuda.so.1 keeps
TRITON_RUNNER_CUDA_LAUNCHES run this package: our libcuda.so.1 prints each launch
TRITON_RUNNER_CUDA_VERB run this package: the verb by which our libcuda.so.1 tells what a long launch is at
TRITON_RUNNER_NVDISASM place this package: the nvdisasm by which our libcuda.so.1 reads machine code
TRITON_RUNNER_GDB place this package: what cuda-gdb is to dump
TRITON_RUNNER_GHOST run this package: pretended CUDA tensors of at least so many bytes take no memory
TRITON_RUNNER_ISA run this package: avx512, avx2 or portable loops, with the same bits
TRITON_RUNNER_PROD run this package: prints nothing about kernels that it compiles
TRITON_RUNNER_PROD_TEST run this package: as PROD, but says where each compiled kernel is saved
TRITON_RUNNER_QUICK                run    this package: benchmarks run once
TRITON_RUNNER_RELEASE run this package: the Triton in which `versions run` started this
TRITON_RUNNER_STARTED run this package: how Pythons that the program starts are prepared
TRITON_RUNNER_STORE                place  this package: where compare keeps its cells
TRITON_RUNNER_UNPACK run this package: the largest unpacked size of a case
TRITON_RUNNER_VERSIONS place this package: where Triton's releases are kept
"""


@dataclasses.dataclass(frozen=True)
class Variable:
    name: str
    kind: str
    meaning: str


@functools.cache
def known() -> dict[str, Variable]:
    """The variables by name."""
    rows = [line.split(None, 2) for line in _ROWS.strip().splitlines()]
    for name, row in ROWS.items():
        if row.variable:
            meaning = f"this package: {row.says[0].lower()}{row.says[1:].rstrip('.')}"
            rows.append([f"TRITON_RUNNER_{name.upper()}", "code" if row.code else "run", meaning])
    return {name: Variable(name, kind, meaning) for name, kind, meaning in rows}


def in_force(environment) -> list[tuple[Variable, str]]:
    """The variables that are set, with their values. One that nobody is known to read says so."""
    variables_set = []
    for name, value in sorted(environment.items()):
        if name in known():
            variables_set.append((known()[name], value))
        elif name.startswith(("TRITON_", "MLIR_", "LLVM_", "NVPTX_", "AMDGCN_")):
            variables_set.append((Variable(name, "unknown", "no known release of Triton reads it"), value))
    return variables_set


def that_change_code(environment) -> dict[str, str]:
    """Returns the variables that may change what a kernel is compiled to or computes, and those that nobody
    knows."""
    return {
        variable.name: value
        for variable, value in in_force(environment)
        if variable.kind in ("code", "unknown")
    }
