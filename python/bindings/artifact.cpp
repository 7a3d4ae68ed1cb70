// Makes _core.artifact: the artifact store in Python.
#include <triton_runner/artifact/artifact.h>
#include <triton_runner/artifact/fatbin.h>
#include <triton_runner/artifact/mix.h>
#include <triton_runner/artifact/occupancy.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using artifact::Description;
using artifact::Json;

nb::object to_python(const Json& json) {
  if (const bool* b = json.as_bool()) return nb::bool_(*b);
  if (const int64_t* i = json.as_int()) return nb::int_(*i);
  if (const double* d = json.as_double()) return nb::float_(*d);
  if (const std::string* s = json.as_string()) return nb::str(s->data(), s->size());
  if (const Json::Array* array = json.as_array()) {
    nb::list out;
    for (const Json& item : *array) out.append(to_python(item));
    return out;
  }
  if (const Json::Object* object = json.as_object()) {
    nb::dict out;
    for (const auto& [key, value] : *object) out[nb::str(key.data(), key.size())] = to_python(value);
    return out;
  }
  return nb::none();
}

nb::dict to_python(const Description& d) {
  nb::dict out;
  out["level"] = d.level;
  out["name"] = d.name;
  out["target"] = d.target;
  nb::list params;
  for (const artifact::Param& p : d.params)
    params.append(dict_of("name", p.name, "type", p.type, "bytes", p.bytes, "unused", p.unused));
  out["params"] = params;
  out["num_warps"] = d.num_warps;
  out["num_ctas"] = d.num_ctas;
  out["cluster"] =
      d.cluster ? nb::object(nb::make_tuple((*d.cluster)[0], (*d.cluster)[1], (*d.cluster)[2])) : nb::none();
  out["grid_of_blocks"] = d.grid_of_blocks;
  out["threads_per_warp"] = d.threads_per_warp;
  out["max_threads"] = d.max_threads;
  out["shared"] = d.shared;
  out["static_shared"] = d.static_shared;
  out["n_regs"] = d.n_regs;
  out["n_spills"] = d.n_spills;
  out["sgprs"] = d.sgprs;
  out["vgprs"] = d.vgprs;
  out["agprs"] = d.agprs;
  out["sgpr_spills"] = d.sgpr_spills;
  out["local_bytes"] = d.local_bytes;
  out["code_bytes"] = d.code_bytes;
  out["barriers"] = d.barriers;
  out["waves"] = d.waves;
  out["constant_banks"] = d.constant_banks;
  out["global_scratch_size"] = d.global_scratch_size;
  out["global_scratch_align"] = d.global_scratch_align;
  out["profile_scratch_size"] = d.profile_scratch_size;
  out["profile_scratch_align"] = d.profile_scratch_align;
  out["cooperative"] = d.cooperative;
  out["pdl"] = d.pdl;
  out["triton_version"] = d.triton_version;
  out["hidden_pointers"] = d.hidden_pointers;
  out["tensordesc_meta"] = to_python(d.tensordesc_meta);
  out["metadata"] = to_python(d.metadata);
  out["missing"] = d.missing;
  out["warnings"] = d.warnings;
  return out;
}

// str and bytes alike, as a view that lives as long as the object.
std::string_view view_of(nb::handle data) {
  if (PyBytes_Check(data.ptr()))
    return {PyBytes_AS_STRING(data.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(data.ptr()))};
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(data.ptr()) ? PyUnicode_AsUTF8AndSize(data.ptr(), &size) : nullptr;
  if (!text) {
    PyErr_Clear();
    fail("expected the text or the bytes of an artifact");
  }
  return {text, static_cast<size_t>(size)};
}

}  // namespace

void init_artifact(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("artifact", "Artifacts on disk, and what they tell about their kernels.");
  m.def(
      "levels", [] { return std::vector<std::string>(artifact::levels().begin(), artifact::levels().end()); },
      "ttir, ttgir, llir, ptx, cubin, amdgcn, hsaco.");
  m.def(
      "find",
      [](const std::string& folder, const std::string& kernel, const std::string& level) {
        return unwrap(artifact::find(folder, kernel, level));
      },
      "folder"_a, "kernel"_a, "level"_a,
      "The path of <kernel>.<level> in a folder of artifacts, an entry of Triton's cache or the cache "
      "itself.");
  m.def("find_metadata", &artifact::find_metadata, "artifact_path"_a,
        "The path of the artifact's metadata file; \"\" if there is none.");
  m.def(
      "read",
      [](const std::string& path) {
        std::string content = unwrap(artifact::read_file(path));
        return nb::bytes(content.data(), content.size());
      },
      "path"_a, "The bytes of a file.");
  m.def(
      "write",
      [](const std::string& path, nb::handle content) {
        unwrap(artifact::write_file(path, view_of(content)));
      },
      "path"_a, "content"_a,
      "Writes text or bytes so that a reader sees the old file or the new one, never a part.");
  m.def(
      "describe",
      [](nb::handle data, const std::string& level, const std::string& kernel,
         std::optional<std::string> metadata, const std::string& filename) {
        return to_python(
            unwrap(artifact::describe(view_of(data), level, kernel, metadata.value_or(""), filename)));
      },
      "data"_a, "level"_a, "kernel"_a = "", "metadata"_a = nb::none(), "filename"_a = "",
      "What an artifact (text or bytes) and the text of its metadata file tell about a kernel, the only one "
      "where none is named: a dict with name, target, params, num_warps, num_ctas, shared, n_regs, ... (None "
      "where neither tells), `missing` (what a launch on a GPU needs and was not told) and `warnings`.");
  m.def(
      "device_code",
      [](const nb::bytes& data, const std::string& filename) {
        nb::list out;
        for (const artifact::DeviceCode& code :
             unwrap(artifact::device_code({data.c_str(), data.size()}, filename))) {
          out.append(dict_of("level", code.level, "target", code.target, "content",
                             nb::bytes(code.content.data(), code.content.size()), "problem", code.problem,
                             "kernels", code.kernels));
        }
        return out;
      },
      "data"_a, "filename"_a = "",
      "The device code in a cubin, a fatbin, or a program or library that holds fatbins: a dict a piece, "
      "with level (cubin, ptx), target, content (bytes), problem (why there is no content, or \"\") and "
      "kernels (of a cubin).");
  m.def(
      "occupancy",
      [](const std::string& target, int threads, int registers, int64_t shared) {
        const artifact::Occupancy o = unwrap(artifact::occupancy(target, threads, registers, shared));
        return dict_of("blocks", o.blocks, "warps", o.warps, "most_warps", o.most_warps, "limits", o.limits);
      },
      "target"_a, "threads"_a, "registers"_a, "shared"_a,
      "Blocks of a kernel on an SM, their warps, the warps that it holds at most, and what allows no further "
      "block. shared: bytes of a block, static and dynamic.");
  m.def(
      "instruction_mix",
      [](const std::string& text, bool is_sass, const std::string& kernel) {
        nb::dict out;
        for (const auto& [op, count] : artifact::instruction_mix(text, is_sass, kernel))
          out[nb::cast(op)] = count;
        return out;
      },
      "text"_a, "is_sass"_a, "kernel"_a,
      "{opcode: count} of a kernel, the most frequent first, in what nvdisasm -c prints or in AMD assembly.");
  m.def(
      "kernels",
      [](nb::handle data, const std::string& level, const std::string& filename) {
        return unwrap(artifact::kernels(view_of(data), level, filename));
      },
      "data"_a, "level"_a, "filename"_a = "", "The names of the kernels in an artifact.");
}

}  // namespace triton_runner::python
