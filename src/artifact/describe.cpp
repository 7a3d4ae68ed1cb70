// Makes one description out of two sources: what the artifact says, and what its metadata file says.
#include <algorithm>

#include <triton_runner/base/try.h>

#include "scan.h"

namespace triton_runner::artifact {

using base::failure;

namespace {

Scanned scan(std::string_view bytes, std::string_view level, const std::string& filename) {
  if (level == "ttir" || level == "ttgir") return scan_ir(bytes, level, filename);
  if (level == "llir") return scan_llir(bytes, filename);
  if (level == "ptx") return scan_ptx(bytes, filename);
  if (level == "cubin") return scan_cubin(bytes, filename);
  if (level == "amdgcn") return scan_amdgcn(bytes, filename);
  if (level == "hsaco") return scan_hsaco(bytes, filename);
  return failure("'" + std::string(level) + "' is not a level",
                 {"levels: ttir, ttgir, llir, ptx, cubin, amdgcn, hsaco"});
}

std::string join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

class Merge {
 public:
  Merge(Description& d, const std::string& filename) : d_(d), filename_(filename) {}

  base::Status run(const Json& metadata) {
    if (!metadata.as_object()) return bad("it is not an object");
    TRY(target(metadata));
    bool is_ir = d_.level == "ttir" || d_.level == "ttgir";
    TRY(number(metadata, "num_warps", d_.num_warps, !is_ir));
    // Clusters of programs: the metadata's num_ctas is 1, and the artifact says how many blocks a cluster has.
    const Json* regrouped = metadata.get("ctas_per_cga");
    d_.grid_of_blocks = regrouped && !regrouped->is_null();
    if (!d_.grid_of_blocks || !d_.num_ctas) TRY(number(metadata, "num_ctas", d_.num_ctas, !is_ir));
    TRY(number(metadata, "shared", d_.shared, false));
    TRY(number(metadata, "warp_size", d_.threads_per_warp, true));
    TRY(number(metadata, "global_scratch_size", d_.global_scratch_size, false));
    TRY(number(metadata, "global_scratch_align", d_.global_scratch_align, false));
    TRY(number(metadata, "profile_scratch_size", d_.profile_scratch_size, false));
    TRY(number(metadata, "profile_scratch_align", d_.profile_scratch_align, false));
    flag(metadata, "launch_cooperative_grid", d_.cooperative);
    flag(metadata, "launch_pdl", d_.pdl);
    if (const Json* version = metadata.get("triton_version"); version && version->as_string())
      d_.triton_version = *version->as_string();
    if (const Json* descriptors = metadata.get("tensordesc_meta"); descriptors && descriptors->as_array())
      d_.tensordesc_meta = *descriptors;
    // Which release wrote the file shows in its keys: both scratch buffers since 3.5, the global one
    // since 3.3. None of them tells only where the file is one of Triton's own, which have a hash.
    if (d_.profile_scratch_size)
      d_.hidden_pointers = 2;
    else if (d_.global_scratch_size)
      d_.hidden_pointers = 1;
    else if (metadata.get("hash"))
      d_.hidden_pointers = 0;
    if (is_ir) d_.hidden_pointers.reset();
    if (const Json* dims = metadata.get("cluster_dims");
        dims && dims->as_array() && dims->as_array()->size() == 3) {
      std::array<int, 3> cluster{};
      int64_t product = 1;
      for (int i = 0; i < 3; i++) {
        const int64_t* n = (*dims->as_array())[i].as_int();
        if (!n || *n < 1 || *n > 16) return bad("cluster_dims is not three numbers from 1 to 16");
        cluster[i] = static_cast<int>(*n);
        product *= *n;
      }
      if ((d_.grid_of_blocks || product == d_.num_ctas.value_or(1)) && product > 1) d_.cluster = cluster;
    }
    d_.metadata = metadata;
    return base::success();
  }

 private:
  base::Diagnostic bad(std::string message) {
    base::Diagnostic d = failure("metadata: " + std::move(message));
    d.location.file = filename_;
    return d;
  }

  base::Status target(const Json& metadata) {
    const Json* target = metadata.get("target");
    if (!target || target->is_null()) return base::success();
    const Json* backend = target->get("backend");
    const Json* arch = target->get("arch");
    if (!backend || !backend->as_string() || !arch || !(arch->as_int() || arch->as_string()))
      return bad("target has no backend and arch");
    std::string text =
        *backend->as_string() + ":" + (arch->as_int() ? std::to_string(*arch->as_int()) : *arch->as_string());
    if (!d_.threads_per_warp) TRY(number(*target, "warp_size", d_.threads_per_warp, false));
    if (d_.target.empty() || d_.level == "llir") {
      d_.target = text;
    } else if (d_.target != text) {
      d_.warnings.push_back("the " + d_.level + " of kernel '" + d_.name + "' is for " + d_.target +
                            ", its metadata says " + text + ": took the former");
    }
    return base::success();
  }

  // `compare`: the artifact's own number stands, and a warning says so where the metadata contradicts it.
  // Otherwise the metadata's is taken, but for IR, whose numbers are what gets compiled.
  template <class T>
  base::Status number(const Json& metadata, const char* key, std::optional<T>& to, bool compare) {
    const Json* value = metadata.get(key);
    if (!value || value->is_null()) return base::success();
    const int64_t* n = value->as_int();
    if (!n || *n < 0 || *n > INT32_MAX)
      return bad(std::string(key) + " is not a number from 0 to 2147483647");
    if (!to || *to == static_cast<T>(*n) || (!compare && d_.level != "ttgir" && d_.level != "ttir")) {
      to = static_cast<T>(*n);
      // A bound that the metadata confirms needs no warning.
      std::erase_if(d_.warnings,
                    [&](const std::string& w) { return w.starts_with(std::string(key) + " = "); });
    } else if (compare && (key != std::string_view("num_warps") || *to < static_cast<T>(*n))) {
      // A warp-specialised kernel has more warps than its launch asked for.
      d_.warnings.push_back("the " + d_.level + " of kernel '" + d_.name + "' has " + key + " = " +
                            std::to_string(*to) + ", its metadata says " + std::to_string(*n) +
                            ": took the former");
    }
    return base::success();
  }

  static void flag(const Json& metadata, const char* key, std::optional<bool>& to) {
    const Json* value = metadata.get(key);
    if (value && value->as_bool()) to = *value->as_bool();
  }

  Description& d_;
  const std::string& filename_;
};

// Notes what a launch on a GPU needs and nobody said.
void note_missing(Description& d) {
  if (d.level == "ttir" || d.level == "ttgir") return;  // compiling them tells
  if (!d.shared) d.missing.push_back("shared");
  if (!d.num_warps) d.missing.push_back("num_warps");
  if (!d.num_ctas) d.missing.push_back("num_ctas");
  constexpr int kTensorMapBytes = 128;
  bool descriptors = std::any_of(d.params.begin(), d.params.end(), [](const Param& p) {
    return p.bytes == kTensorMapBytes || p.type == "byval";
  });
  // With a metadata file that names none, the tensor maps are the caller's (Triton 3.2 and 3.3).
  if (descriptors && d.metadata.is_null()) d.missing.push_back("tensordesc_meta");
  if (!d.hidden_pointers && !d.params.empty()) d.missing.push_back("hidden_pointers");
}

}  // namespace

void take_bound(Description& d, int threads, const char* where) {
  int warp = d.threads_per_warp.value_or(0);
  if (d.num_warps || warp == 0 || threads % warp != 0) return;
  d.num_warps = threads / warp;
  d.warnings.push_back("num_warps = " + std::to_string(threads / warp) + " of kernel '" + d.name +
                       "' comes from " + where + ", an upper bound; Triton writes the number itself there");
}

base::Result<std::vector<std::string>> kernels(std::string_view bytes, std::string_view level,
                                               const std::string& filename) {
  auto found = TRY(scan(bytes, level, filename));
  std::vector<std::string> names;
  for (Description& d : found) names.push_back(std::move(d.name));
  return names;
}

base::Result<Description> describe(std::string_view bytes, std::string_view level, std::string_view name,
                                   std::string_view metadata, const std::string& filename) {
  auto found = TRY(scan(bytes, level, filename));
  std::vector<std::string> names;
  for (const Description& d : found) names.push_back(d.name);
  auto bad = [&](std::string message, std::vector<std::string> notes = {}) {
    base::Diagnostic d = failure(std::move(message), std::move(notes));
    d.location.file = filename;
    return d;
  };

  Json json;
  std::string metadata_name;
  if (!metadata.empty()) {
    size_t dot = filename.rfind('.');
    metadata_name = filename.empty() ? "" : filename.substr(0, dot) + ".json";
    json = TRY(parse_json(metadata, metadata_name));
  }
  std::string wanted(name);
  if (wanted.empty())
    if (const Json* from = json.get("name"); from && from->as_string() && names.size() != 1)
      wanted = *from->as_string();

  if (names.empty()) return bad("no kernel in the " + std::string(level));
  size_t index = 0;
  if (wanted.empty()) {
    if (names.size() > 1)
      return bad(
          std::to_string(names.size()) + " kernels in the " + std::string(level) + ", and none is named",
          {"kernels: " + join(names)});
  } else {
    index = std::find(names.begin(), names.end(), wanted) - names.begin();
    if (index == names.size()) {
      std::vector<std::string> notes;
      if (const auto near = base::nearest_names(wanted, names); !near.empty())
        notes.push_back("did you mean " + join(near) + "?");
      notes.push_back("kernels: " + join(names));
      return bad("no kernel '" + wanted + "' in the " + std::string(level), std::move(notes));
    }
  }
  Description d = std::move(found[index]);
  if (!metadata.empty()) TRY(Merge(d, metadata_name).run(json));
  note_missing(d);
  return d;
}

}  // namespace triton_runner::artifact
