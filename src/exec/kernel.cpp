// Checks the arguments and the grid of a launch against a kernel's parameters, and words traps and launch
// errors.
#include <triton_runner/base/look_up.h>
#include <triton_runner/exec/kernel.h>
#include <triton_runner/exec/numbers.h>
#include <triton_runner/exec/scalar.h>

namespace triton_runner::exec {
namespace {

const char* kind_name(ParamKind kind) {
  static constexpr std::pair<ParamKind, const char*> kNames[] = {
      {ParamKind::kPointer, "a pointer"},
      {ParamKind::kInteger, "an integer"},
      {ParamKind::kFloat, "a float"},
      {ParamKind::kTensorDesc, "a tensor descriptor"},
  };
  return base::look_up(kNames, kind).value_or("?");
}

std::string signature(const Kernel& kernel) {
  std::string out = "the kernel's parameters are (";
  for (const Param& p : kernel.params()) {
    if (out.back() != '(') out += ", ";
    out += p.name + ": " + p.type;
  }
  return out + ")";
}

base::Diagnostic bad_argument(const Kernel& kernel, size_t i, const std::string& what) {
  const Param& p = kernel.params()[i];
  return base::failure("kernel '" + kernel.name() + "': argument " + std::to_string(i) + " ('" + p.name +
                           "', " + p.type + "): " + what,
                       {signature(kernel)});
}

}  // namespace

base::Status check_arguments(const Kernel& kernel, std::span<const Argument> args) {
  const auto& params = kernel.params();
  if (args.size() != params.size())
    return base::failure("kernel '" + kernel.name() + "' takes " + std::to_string(params.size()) +
                             " argument" + (params.size() == 1 ? "" : "s") + ", and " +
                             std::to_string(args.size()) + (args.size() == 1 ? " was" : " were") + " given",
                         {signature(kernel)});
  for (size_t i = 0; i < args.size(); ++i) {
    const Param& p = params[i];
    if (args[i].kind != p.kind)
      return bad_argument(kernel, i,
                          std::string("expected ") + kind_name(p.kind) + ", got " + kind_name(args[i].kind));
    if (!takes(p, args[i].bits)) return bad_argument(kernel, i, misfit(p, args[i].bits));
    if (p.kind == ParamKind::kTensorDesc) {
      if (!args[i].descriptor) return bad_argument(kernel, i, "the tensor descriptor is empty");
      const TensorDesc& d = *args[i].descriptor;
      if (std::string fault = descriptor_fault(d); !fault.empty()) return bad_argument(kernel, i, fault);
      if (d.im2col && p.type.starts_with("!tt.tensordesc"))
        return bad_argument(kernel, i, "expected a tiled TensorDescriptor, got one in im2col mode");
      if (!d.im2col && p.type.starts_with("!ttng.tensordesc_im2col"))
        return bad_argument(kernel, i, "expected a TensorDescriptorIm2Col, got a tiled descriptor");
    }
  }
  return base::success();
}

static std::string text_of(std::span<const int64_t> place) { return "(" + numbers_text(place) + ")"; }

base::Status check_grid(const std::array<int64_t, 3>& grid) {
  static const char* const kAxis[] = {"x", "y", "z"};
  static const int64_t kLimit[] = {2147483647, 65535, 65535};
  for (int i = 0; i < 3; ++i)
    if (grid[i] < 1 || grid[i] > kLimit[i])
      return base::failure(
          "grid " + text_of(grid) + ": axis " + kAxis[i] + " must be 1 .. " + std::to_string(kLimit[i]),
          {"every axis of the grid is the number of programs along it"});
  return base::success();
}

base::Status check_programs(const LaunchOptions& options) {
  if (auto ok = check_grid(options.grid); !ok || !options.only) return ok;
  for (int i = 0; i < 3; ++i)
    if ((*options.only)[i] < 0 || (*options.only)[i] >= options.grid[i])
      return base::failure(
          "program " + text_of(*options.only) + " is not in the grid " + text_of(options.grid),
          {"programs are counted from 0 along each axis"});
  return base::success();
}

const char* trap_name(TrapKind kind) {
  static constexpr std::pair<TrapKind, const char*> kNames[] = {
      {TrapKind::kOutOfBounds, "out of bounds"},
      {TrapKind::kMisaligned, "misaligned access"},
      {TrapKind::kDivisionByZero, "division by zero"},
      {TrapKind::kAssert, "assertion failed"},
      {TrapKind::kDeadlock, "deadlock"},
      {TrapKind::kOutOfMemory, "out of memory"},
      {TrapKind::kTimeout, "timeout"},
      {TrapKind::kInterrupted, "interrupted"},
      {TrapKind::kUnsupported, "unsupported"},
      {TrapKind::kUninitialized, "uninitialized value"},
      {TrapKind::kNan, "not a number"},
      {TrapKind::kRace, "data race"},
      {TrapKind::kHazard, "hazard"},
      {TrapKind::kView, "outside of a view"},
      {TrapKind::kOverflow, "integer overflow"},
      {TrapKind::kHint, "false hint"},
      {TrapKind::kInvalid, "invalid operation"},
  };
  static_assert(std::size(kNames) == static_cast<size_t>(TrapKind::kInvalid) + 1);
  return base::look_up(kNames, kind).value_or("?");
}

const char* race_name(Race race) {
  static constexpr std::pair<Race, const char*> kNames[] = {
      {Race::kNone, ""},         {Race::kGlobal, "global"},
      {Race::kShared, "shared"}, {Race::kInFlight, "in flight"},
      {Race::kCopies, "copies"}, {Race::kFence, "fence"},
      {Race::kOrder, "order"},
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Race::kOrder) + 1);
  return base::look_up(kNames, race).value_or("?");
}

const char* advice_on(TrapKind kind, Race race) {
  static constexpr std::pair<TrapKind, const char*> kFaults[] = {
      {TrapKind::kOutOfBounds, "mask the access with the size of the tensor"},
      {TrapKind::kView,
       "mask the access with the sizes of the view, or pass all of the tensor if it is meant"},
      {TrapKind::kMisaligned, "pass a tensor whose address is aligned, or access it in smaller parts"},
      {TrapKind::kDivisionByZero, "divide by a number that is not zero where the mask is off too"},
      {TrapKind::kOverflow, "compute it in 64 bits: cast one factor to tl.int64"},
      {TrapKind::kUninitialized, "write every element before it is read, or give the load other="},
      {TrapKind::kNan,
       "choose an operand for which the result is a number before the operation, with tl.where"},
      {TrapKind::kHint, "drop the hint, or make it true for every argument and program"},
      {TrapKind::kHazard, "let the instruction wait for the one that gives its operand"},
  };
  static constexpr std::pair<Race, const char*> kRaces[] = {
      {Race::kGlobal, "write disjoint elements, or use an atomic update"},
      {Race::kShared, "put a barrier between the two accesses"},
      {Race::kInFlight, "wait for the copy or product before its memory is touched"},
      {Race::kCopies, "make the copies of the value equal before they are stored"},
      {Race::kFence, "put a fence of the async proxy between the two accesses"},
      {Race::kOrder, "synchronise the warp between the two groups of threads"},
  };
  if (kind == TrapKind::kRace) return base::look_up(kRaces, race).value_or("");
  return base::look_up(kFaults, kind).value_or("");
}

std::string Trap::str() const {
  std::string out = "kernel '" + kernel + "': " + trap_name(kind);
  if (!op.empty()) out += " in " + op;
  if (std::string where = location.str(); !where.empty()) out += " at " + where;
  if (program[0] >= 0) out += ", program " + text_of(program);
  if (thread[0] >= 0) out += ", thread " + text_of(thread);
  if (!element.empty()) out += ", element [" + numbers_text(element) + "]";
  if (iterations.size() == 1) out += ", iteration " + std::to_string(iterations[0]);
  if (iterations.size() > 1) out += ", iterations " + text_of(iterations);
  out += ": " + message;
  for (const std::string& note : notes) out += "\n  note: " + note;
  return out;
}

std::string LaunchError::str() const {
  if (trap) return trap->str();
  return diagnostic ? diagnostic->str() : "";
}

}  // namespace triton_runner::exec
