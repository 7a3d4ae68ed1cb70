// Reads what PTX says of its kernels: target, shared memory, parameters, bounds on threads and clusters.
#include <triton_runner/base/try.h>
#include <triton_runner/ptx/module.h>

#include <algorithm>
#include <set>

#include "scan.h"

namespace triton_runner::artifact {
namespace {

// The names in the bodies: variables, and whether special registers of a cluster.
struct Named {
  std::set<const ptx::Variable*> variables;
  bool clusters = false;

  void see(const ptx::Operand& o) {
    if (o.kind == ptx::OperandKind::kVariable) variables.insert(o.variable);
    if (o.kind == ptx::OperandKind::kSpecial) clusters |= ptx::text(o.special).starts_with("%cluster");
    for (const ptx::Operand& part : o.parts) see(part);
  }
};

Named named_in(const ptx::Module& module) {
  Named named;
  for (const ptx::Function* f : module.functions())
    for (const ptx::Instruction& in : f->body)
      for (const ptx::Operand& o : in.operands) named.see(o);
  return named;
}

struct Shared {
  int64_t fixed = 0;
  bool dynamic = false;  // an array without a size
};

void add_shared(const ptx::VariableList& variables, Shared* shared) {
  for (const ptx::Variable& v : variables) {
    if (v.space != ptx::Space::kShared) continue;
    shared->dynamic |= v.is_extern || v.bytes == 0;
    if (!v.is_extern) shared->fixed += static_cast<int64_t>(v.bytes);
  }
}

// The product of .reqntid and the like; none where it is not given.
std::optional<int> product(const std::array<uint32_t, 3>& sizes) {
  const uint64_t n = uint64_t{sizes[0]} * sizes[1] * sizes[2];
  return n == 0 ? std::nullopt : std::optional(static_cast<int>(n));
}

Param param_of(const ptx::Variable& v, const Named& named) {
  Param p;
  p.name = v.name;
  p.bytes = static_cast<int>(v.bytes);
  p.type = "." + std::string(ptx::text(v.type));
  const uint64_t element = std::max(1, ptx::bits(v.type) / 8);
  if (v.is_array) p.type += "[" + std::to_string(v.bytes / element) + "]";
  if (v.is_pointer) p.type = "ptr";
  // Names of another kind are not LLVM's; the code may read such a parameter by its address in the bank.
  p.unused = p.name.find("_param_") != std::string::npos && !named.variables.contains(&v);
  return p;
}

Description describe_entry(const ptx::Module& module, const ptx::Function& entry, const Named& named,
                           const Shared& shared) {
  Description d;
  d.level = "ptx";
  d.name = entry.name;
  for (const ptx::Variable& v : entry.params) d.params.push_back(param_of(v, named));
  if (const int capability = module.compute_capability()) d.target = "cuda:" + std::to_string(capability);
  const std::optional<int> required = product(entry.reqntid), most = product(entry.maxntid);
  d.max_threads = required ? required : most;
  d.threads_per_warp = 32;
  if (required && *required % 32 == 0) d.num_warps = *required / 32;
  if (most && !required) take_bound(d, *most, ".maxntid");
  d.num_ctas = product(entry.cluster);
  if (!d.num_ctas && !named.clusters) d.num_ctas = 1;
  if (!shared.dynamic) d.shared = 0;
  d.static_shared = shared.fixed;
  return d;
}

}  // namespace

Scanned scan_ptx(std::string_view text, const std::string& filename) {
  auto module = TRY(ptx::parse(std::string(text), filename));
  const Named named = named_in(*module);
  Shared shared;
  add_shared(module->variables(), &shared);
  for (const ptx::Function* f : module->functions()) add_shared(f->variables, &shared);
  std::vector<Description> found;
  for (const ptx::Function* entry : module->entries())
    found.push_back(describe_entry(*module, *entry, named, shared));
  return found;
}

}  // namespace triton_runner::artifact
