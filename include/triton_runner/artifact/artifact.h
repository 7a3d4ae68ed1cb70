// Declares the artifact store: a kernel at one level of its compilation, found on disk and described from its
// metadata file, or from the artifact itself where there is none.
//
// Fields that neither source tells stay absent and are named in Description::missing; nothing is guessed.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <triton_runner/artifact/json.h>
#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

// "ttir", "ttgir", "llir", "ptx", "cubin", "amdgcn", "hsaco", from Python towards the machine.
const std::vector<std::string_view>& levels();
bool is_level(std::string_view level);
bool is_text(std::string_view level);

struct Param {
  std::string name;  // as the artifact names it; "" where it names none
  std::string
      type;  // "!tt.ptr<f32>", "i32", "ptr addrspace(1)", ".u64", "u64"...; "" where only the size is known
  int bytes = 0;        // in the parameter buffer; 0 where the level does not say
  bool unused = false;  // the code is seen not to read it (hidden parameters mostly are not read)
};

// The device code's own needs, where the artifact (or its metadata) says them.
struct Description {
  std::string level;
  std::string name;
  std::string target;         // "cuda:90", "hip:gfx942"
  std::vector<Param> params;  // hidden ones included, as far as the artifact lists them
  std::optional<int> num_warps;
  std::optional<int> num_ctas;
  std::optional<std::array<int, 3>> cluster;  // blocks on each axis, where it is not (num_ctas, 1, 1)
  bool grid_of_blocks =
      false;  // a launch's grid counts blocks, and not clusters (ctas_per_cga of Meta's fork)
  std::optional<int> threads_per_warp;
  std::optional<int> max_threads;  // a block
  std::optional<int64_t> shared;   // dynamic shared memory in bytes
  std::optional<int64_t> static_shared;
  std::optional<int> n_regs, n_spills, sgprs, vgprs;
  // Binaries and AMD assembly tell these. Bytes of memory of its own that a thread has (CUDA: stack, with
  // what was spilled; AMD: scratch); bytes of machine code; named barriers; registers of matrix units; waves
  // that fit a SIMD, as LLVM says.
  std::optional<int64_t> local_bytes, code_bytes;
  std::optional<int> barriers, agprs, sgpr_spills, waves;
  std::vector<std::pair<int, int64_t>> constant_banks;  // number and bytes
  std::optional<int64_t> global_scratch_size, global_scratch_align, profile_scratch_size,
      profile_scratch_align;
  std::optional<bool> cooperative, pdl;
  std::optional<std::string> triton_version;
  std::optional<int> hidden_pointers;  // trailing parameters that Triton adds: 0, 1 (global scratch) or 2
                                       // (and profile scratch)
  Json tensordesc_meta;                // null where not known
  Json metadata;                       // the whole metadata file; null where there is none
  std::vector<std::string> missing;    // what is needed to launch on a GPU and was not told: "shared", ...
  std::vector<std::string> warnings;   // one sentence each: contradictions between artifact and metadata
};

// The file <kernel>.<level> in `folder`: a folder of artifacts, one entry of Triton's cache, or the cache
// itself (one folder of entries: the newest entry that has the kernel is taken; several with different
// content are an error that lists them). An empty kernel finds the only one. Errors: no such folder; no such
// file (with the nearest names, and with the keyword to use where the folder has the kernel at another
// level).
base::Result<std::string> find(const std::string& folder, std::string_view kernel, std::string_view level);

// The metadata file that belongs to an artifact: <kernel>.json beside it, else what __grp__<kernel>.json
// names; "" if none.
std::string find_metadata(const std::string& artifact_path);

// The whole file. Errors name the path and the system's reason.
base::Result<std::string> read_file(const std::string& path);
// Writes beside `path` and renames, so that a reader sees the old file or the new one.
base::Status write_file(const std::string& path, std::string_view content);

// Describes the kernel `name` (the only one where empty) of an artifact's bytes. `metadata` is the text of a
// metadata file, or empty; `filename` is for messages. Errors: malformed artifact or metadata; two kernels
// and no name; no such kernel, with the nearest names; contradictions that make a launch wrong.
base::Result<Description> describe(std::string_view bytes, std::string_view level, std::string_view name = "",
                                   std::string_view metadata = "", const std::string& filename = "");

// The kernels that an artifact holds, in its order.
base::Result<std::vector<std::string>> kernels(std::string_view bytes, std::string_view level,
                                               const std::string& filename = "");

}  // namespace triton_runner::artifact
