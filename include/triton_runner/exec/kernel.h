// Declares the one seam between who launches and what executes: a loaded kernel with its parameters, and
// launch().
//
// The tile engine, the SIMT engine, CUDA and HIP implement Kernel; jit, CLI, dump, compare and bench see only
// this.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/stop_token.h>
#include <triton_runner/exec/trap.h>

namespace triton_runner::exec {

class CountObserver;
class Faults;
class Observer;
class ReadSet;
class RegisterObserver;
class Stopper;
struct Substitution;

enum class ParamKind : uint8_t { kPointer, kInteger, kFloat, kTensorDesc };

struct Param {
  std::string name;  // as the artifact names it; "arg3" where it does not
  ParamKind kind;
  std::string type;       // as the artifact spells it: "!tt.ptr<f32>", "i32", ".u64"
  int bits = 64;          // of integers and floats
  bool is_signed = true;  // integers: the wider of the two ranges is accepted when the artifact cannot tell
};

// A block of memory that a launch may touch: the whole storage of a tensor.
struct Allocation {
  uint64_t address = 0;
  uint64_t bytes = 0;
  std::string label;  // for messages: "argument 'x' (f32[1024])"
  bool writable = true;
  // A bit for each byte, 1 where it was never written: of the byte at an address it is bit address % 8 of
  // undefined[address / 8 - this->address / 8]. Stores of kCheckUninitialized launches clear it. Null: all of it was.
  uint8_t* undefined = nullptr;
  // kCheckView: this is a piece of a view, which alone may be touched, and here is the storage that the view lies in.
  // Else that has 0 bytes.
  uint64_t storage = 0, storage_bytes = 0;
  // kCheckView: 1 + the number of the argument, by whose pointer alone it may be touched. 0: by any.
  uint32_t owner = 0;
};

// The rest of a descriptor in im2col mode, besides its tensor N, [D, [H,]] W, C. All is outermost first.
struct Im2col {
  // For each of D, H, W: pixels begin at `lower` at the least and below the tensor's size plus `upper`.
  std::vector<int64_t> lower, upper;
  std::vector<int64_t> steps;  // from pixel to pixel, a number a dimension; empty: all 1
};

// A host-side tensor descriptor (TMA): what tl.make_tensor_descriptor would be told.
struct TensorDesc {
  uint64_t address = 0;
  std::vector<int64_t> shape;    // elements
  std::vector<int64_t> strides;  // elements; the last is 1
  bool nan_padding = false;
  std::optional<Im2col> im2col{};
  bool round_to_tf32 = false;  // f32 elements, as they are loaded
};
// Says what is wrong with a descriptor; empty: nothing.
std::string descriptor_fault(const TensorDesc& desc);

struct Argument {
  ParamKind kind;
  uint64_t bits = 0;                     // address; two's complement; or the bits of a double for kFloat
  std::optional<TensorDesc> descriptor;  // for kTensorDesc
};

// The checks of a launch (doc/reference/checks.md): out of bounds always; each of the others but the surplus
// slows it down.
enum Check : uint32_t {
  kCheckOutOfBounds = 1,
  kCheckNan = 2,            // an op gives a NaN from operands without one
  kCheckUninitialized = 4,  // something depends on what was never written; one thread
  kCheckRace = 8,           // the result depends on the order of programs or tasks; one thread
  kCheckInf = 16,           // as kCheckNan, for infinities too
  kCheckNanLoad = 32,       // kCheckNan and kCheckInf look at what loads bring in too
  kCheckZeroDivision = 64,  // an integer is divided by 0
  kCheckHints = 128,        // a value is not what the IR promises of it; TTIR and TTGIR
  kCheckSurplus = 256,      // TMA stores more than the tensor, past the launch's memory; PTX
  kCheckHazard = 512,       // control words let an instruction read what is not there yet; machine code
  kCheckOverflow = 1024,    // an integer that does not fit its type reaches an address, a mask, ...
  kCheckView = 2048,  // an access beside the view that was passed: the launch's memory is the views alone
};
inline constexpr const char* kHazardIsForCubins =
    "check 'hazard' is for machine code: control words are at level cubin only";
inline constexpr uint32_t kCheckBounds = kCheckOutOfBounds | kCheckSurplus;
enum class Mma : uint8_t { kExact, kFast };
// How ops of TTGIR round: each by itself, as doc/internals/numerics.md has it, or as the target's instructions do:
// in the order in which their layouts add, with the functions and tensor cores that the hardware has. PTX and machine
// code always run as the hardware rounds.
enum class Numerics : uint8_t { kExact, kHardware };

// When asynchronous copies, and products at PTX, take effect: as the engine has it, as soon as they are
// issued, as late as the program allows, or at places that a pseudo-random number picks.
struct Timing {
  enum Kind : uint8_t { kUsual, kEager, kLate, kRandom };
  Kind kind = kUsual;
  uint64_t seed = 0;  // kRandom
};
// "", "eager", "late" or the number of a seed; empty: it is none of them.
std::optional<Timing> parse_timing(std::string_view text);

struct LaunchOptions {
  std::array<int64_t, 3> grid{1, 1, 1};
  int threads = 0;  // 0: one a core that this process may run on
  // Only the first of the grid's programs run, x fastest; all of them see the whole grid. 0: all run.
  int64_t max_programs = 0;
  std::optional<std::array<int64_t, 3>> only;  // this program alone, with the others of its cluster
  uint32_t checks = kCheckOutOfBounds;
  // One thread; programs start, they and their tasks (on PTX: warps) take turns, and an atomic operation updates
  // its elements, in a pseudo-random order: the same for the same seed.
  std::optional<uint64_t> shuffle;
  Timing timing;
  Mma mma = Mma::kExact;
  Numerics numerics = Numerics::kExact;
  double timeout_seconds = 0;  // 0: none
  // The limits of a launch of the tile engine. Instructions of all programs together (0: any number), and
  // bytes of tiles and shared memory, which the worker threads divide equally (0: three quarters of the
  // memory that this process may use). The op that asks for more traps.
  int64_t max_steps = 0;
  int64_t max_tile_bytes = 0;
  int64_t shared_bytes = -1;  // -1: what the artifact says
  uint64_t stream = 0;        // GPU only
  StopToken* stop = nullptr;  // Ctrl-C
  // Who looks on; a launch that somebody looks at runs code of its own, others pay nothing.
  Observer* observer = nullptr;           // is handed values of TTIR and TTGIR, and text of tt.print
  RegisterObserver* registers = nullptr;  // is handed registers of PTX and machine code
  CountObserver* counter = nullptr;       // counts what machine code executes
  Stopper* stopper = nullptr;             // a debugger
  ReadSet* reads = nullptr;               // gets the bytes of global memory that are read, under kCheckRace
  bool is_observed() const { return observer || registers || counter || stopper; }
  Observer* printer = nullptr;  // gets tt.print's text in place of the observer
  void look_away() {
    observer = printer = nullptr, registers = nullptr, counter = nullptr, stopper = nullptr;
  }
  // Gets the accesses that are out of bounds: loads give 0, stores are dropped, atomics give 0 and do
  // nothing, and the program goes on. Null: the first one is a trap.
  Faults* faults = nullptr;
  // Under checks: what they report gets a number in its place, and the program goes on. Null: it is a trap.
  Substitution* substitution = nullptr;
  // Under kCheckUninitialized, at TTIR and TTGIR: stores and atomics of undefined values do not trap. Their bytes are undefined then.
  bool follows_undefined = false;
  // At PTX: TMA stores end with the tensor, and not with a whole chunk of 16 bytes as on a GPU.
  bool exact_tails = false;
  // Moves every rounded floating-point result by a pseudo-random part of its unit, the same for the same seed:
  // how far other orders of sums, contraction and tf32 may move a result. TTIR and TTGIR.
  std::optional<uint64_t> perturb;
  // Asked once, when an address lies in none of the launch's allocations: the same ones with their labels and
  // their whole storages. A launch with it may pass less than that, which is most of what a launch costs. May
  // be empty.
  std::function<std::vector<Allocation>()> whole;
  // Asked when an address lies in none of the launch's allocations (pointers found in memory): the block that
  // holds it, or none. Called from any thread, one at a time; an answer holds until the launch returns. May
  // be empty.
  std::function<std::optional<Allocation>(uint64_t address)> resolve;
};

// Says what went wrong in a launch: a Diagnostic before anything ran, or a Trap of the kernel.
struct LaunchError {
  std::optional<base::Diagnostic> diagnostic;
  std::optional<Trap> trap;
  std::string str() const;
};
using LaunchResult = std::optional<LaunchError>;  // empty: all went well

// How many programs of the grid run (on PTX: clusters).
inline int64_t programs_of(const LaunchOptions& options) {
  if (options.only) return 1;
  const int64_t all = options.grid[0] * options.grid[1] * options.grid[2];
  return options.max_programs > 0 && options.max_programs < all ? options.max_programs : all;
}

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<Param>& params() const = 0;
  virtual const std::string& level() const = 0;  // "ttir", "ttgir", "ptx", "cubin", ...
  virtual const std::string& target()
      const = 0;  // "cuda:90", "hip:gfx942"; empty where the artifact does not say
  virtual LaunchResult launch(const LaunchOptions& options, std::span<const Argument> args,
                              std::span<const Allocation> memory) = 0;
};

// Arguments against parameters: count, kinds, integer ranges. The error names the parameter and what was
// expected.
base::Status check_arguments(const Kernel& kernel, std::span<const Argument> args);
// Each grid axis is 1 .. 2^31-1 (x) or 65535 (y, z).
base::Status check_grid(const std::array<int64_t, 3>& grid);
base::Status check_programs(const LaunchOptions& options);  // and the one program that is asked for is in it

}  // namespace triton_runner::exec
