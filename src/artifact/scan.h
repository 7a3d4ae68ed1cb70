// Each kind of artifact tells this about the kernels in it: one Description a kernel, in the artifact's
// order.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/artifact/artifact.h>

namespace triton_runner::artifact {

using Scanned = base::Result<std::vector<Description>>;

Scanned scan_ir(std::string_view text, std::string_view level, const std::string& filename);
Scanned scan_llir(std::string_view text, const std::string& filename);
Scanned scan_ptx(std::string_view text, const std::string& filename);
Scanned scan_amdgcn(std::string_view text, const std::string& filename);
Scanned scan_cubin(std::string_view bytes, const std::string& filename);
Scanned scan_hsaco(std::string_view bytes, const std::string& filename);

// num_warps from an upper bound of the threads in a block, with the warning that says so; `where` names the
// bound.
void take_bound(Description& d, int threads, const char* where);

}  // namespace triton_runner::artifact
