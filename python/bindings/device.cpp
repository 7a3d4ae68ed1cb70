// Makes _core.device: GPU drivers, memory and kernels loaded on them, in Python.
#include <triton_runner/deploy/deploy.h>
#include <triton_runner/device/driver.h>
#include <triton_runner/launch/gpu_kernel.h>

#include "parameters.h"
#include "queue.h"

namespace triton_runner::python {
namespace {

using device::Driver;
using launch::GpuKernel;
using launch::GpuKernelSpec;

nb::dict to_python(const device::Properties& p) {
  nb::dict out;
  out["ordinal"] = p.ordinal;
  out["name"] = p.name;
  out["target"] = p.target;
  out["warp_size"] = p.warp_size;
  out["multiprocessors"] = p.multiprocessors;
  out["max_threads"] = p.max_threads;
  out["shared_per_block"] = p.shared_per_block;
  out["shared_per_block_optin"] = p.shared_per_block_optin;
  out["shared_per_multiprocessor"] = p.shared_per_multiprocessor;
  out["registers_per_block"] = p.registers_per_block;
  out["l2_bytes"] = p.l2_bytes;
  out["cooperative"] = p.cooperative;
  out["clusters"] = p.clusters;
  return out;
}

GpuKernelSpec make_spec(const std::string& name, const std::string& level, const nb::list& params,
                        const nb::dict& options) {
  GpuKernelSpec spec;
  spec.name = name;
  spec.level = level;
  spec.params = make_params(params);
  spec.target = field(options, "target", std::string());
  spec.block = field(options, "block", std::array<uint32_t, 3>{128, 1, 1});
  spec.cluster = field(options, "cluster", std::array<uint32_t, 3>{1, 1, 1});
  spec.grid_of_blocks = field(options, "grid_of_blocks", false);
  spec.shared_bytes = field(options, "shared", int64_t{-1});
  spec.cooperative = field(options, "cooperative", false);
  spec.pdl = field(options, "pdl", false);
  spec.hidden_pointers = field(options, "hidden_pointers", 0);
  spec.global_scratch = make_scratch(options, "global_scratch");
  spec.profile_scratch = make_scratch(options, "profile_scratch");
  spec.descriptor_flags = field(options, "descriptor_flags", 2);
  spec.descriptors = make_layouts(options);
  return spec;
}

void init_gpu_kernel(nb::module_& m) {
  nb::class_<GpuKernel, exec::Kernel>(
      m, "GpuKernel", "A kernel loaded on a GPU. Launches return when they are queued on options.stream.")
      .def_prop_ro(
          "n_regs", [](const GpuKernel& k) { return k.resources().n_regs; }, "Registers a thread.")
      .def_prop_ro(
          "n_spills", [](const GpuKernel& k) { return k.resources().n_spills; },
          "Local memory a thread, in 4-byte words.")
      .def_prop_ro(
          "static_shared", [](const GpuKernel& k) { return k.resources().static_shared; }, "Bytes.")
      .def_prop_ro(
          "max_threads", [](const GpuKernel& k) { return k.resources().max_threads; },
          "Threads that a block may have.")
      .def_prop_ro("shared", &GpuKernel::shared_bytes,
                   "Dynamic shared memory that it is launched with, in bytes.")
      .def_prop_ro("device", &GpuKernel::device)
      .def_prop_ro("warnings", &GpuKernel::warnings);
}

// The name of a tensor's device, as tensors have it: .device.type.
struct DeviceName {
  std::string type;
};

void init_memory(nb::module_& m) {
  nb::class_<DeviceName>(m, "DeviceName").def_ro("type", &DeviceName::type);
  nb::class_<deploy::Buffer>(m, "Memory",
                             "Bytes on a GPU, freed with the object. read() and write() are of all of them, "
                             "and wait for the default stream.")
      .def("data_ptr", [](const deploy::Buffer& b) { return reinterpret_cast<uint64_t>(b.address()); })
      .def_prop_ro("nbytes", &deploy::Buffer::bytes)
      .def_prop_ro(
          "device", [](const deploy::Buffer&) { return DeviceName{"cuda"}; },
          "Its type is \"cuda\", as torch calls AMD's too.")
      .def("read",
           [](const deploy::Buffer& b) {
             std::string bytes(b.bytes(), '\0');
             unwrap(b.read(bytes.data()));
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def(
          "write",
          [](deploy::Buffer& b, nb::bytes data) {
            if (data.size() != b.bytes())
              throw nb::value_error(("the memory has " + std::to_string(b.bytes()) + " bytes, not " +
                                     std::to_string(data.size()))
                                        .c_str());
            unwrap(b.write(data.c_str()));
          },
          "data"_a, "Raises ValueError for another number of bytes.");
}

// The bytes of a nb::bytes stay where they are while the GIL is released.
void init_driver(nb::module_& m) {
  nb::class_<Driver>(m, "Driver", "CUDA or HIP.")
      .def_prop_ro("backend", [](const Driver& d) { return std::string(d.backend()); })
      .def("device_count", [](Driver& d) { return unwrap(d.device_count()); })
      .def("driver_version", [](Driver& d) { return unwrap(d.driver_version()); })
      .def("current_device", [](Driver& d) { return unwrap(d.current_device()); })
      .def("expect_launches", &expect_launches,
           "From here on the thread's device is part of what launches are known by.")
      .def(
          "use_device", [](Driver& d, int device) { unwrap(d.use_device(device)); }, "device"_a)
      .def(
          "properties", [](Driver& d, int device) { return to_python(unwrap(d.properties(device))); },
          "device"_a)
      .def(
          "synchronize",
          [](Driver& d, uint64_t stream) { without_gil([&] { return d.synchronize(stream); }); },
          "stream"_a = 0)
      .def(
          "allocate",
          [](Driver& d, size_t nbytes, int device) {
            return unwrap(unwrap(deploy::Device::gpu(d, device)).allocate(nbytes));
          },
          "nbytes"_a, "device"_a = -1, nb::keep_alive<0, 1>(),
          "Memory of so many bytes on a device (-1: the current one).")
      .def(
          "pointer",
          [](Driver& d, uint64_t address) -> nb::object {
            auto info = unwrap(d.pointer(address));
            if (!info) return nb::none();
            return nb::make_tuple(info->device, info->address);
          },
          "address"_a,
          "(device, address on it) of memory that the current device reaches, device -1 for the host's; None "
          "for any other.")
      .def(
          "encode_tensor_map",
          [](Driver& d, uint64_t address, int element_type, int element_bytes, int swizzle,
             std::vector<uint32_t> box, std::vector<uint64_t> shape, std::vector<uint64_t> strides,
             bool nan_fill) {
            auto map =
                unwrap(d.encode_tensor_map({address, element_type, element_bytes, swizzle, std::move(box),
                                            std::move(shape), std::move(strides), nan_fill}));
            return nb::bytes(reinterpret_cast<const char*>(map.bytes.data()), map.bytes.size());
          },
          "address"_a, "element_type"_a, "element_bytes"_a, "swizzle"_a, "box"_a, "shape"_a, "strides"_a,
          "nan_fill"_a = false,
          "The 128 bytes of a tiled CUtensorMap. Sizes outermost first, strides in elements; element_type "
          "and swizzle as CUDA numbers them.")
      .def(
          "load",
          [](Driver& driver, nb::bytes image, const std::string& name, const std::string& level,
             nb::list params, nb::dict options, int device) {
            GpuKernelSpec spec = make_spec(name, level, params, options);
            spec.image.assign(image.c_str(), image.size());
            return std::shared_ptr<GpuKernel>(
                without_gil([&] { return launch::load(driver, std::move(spec), device); }));
          },
          "image"_a, "name"_a, "level"_a, "params"_a, "options"_a, "device"_a = -1,
          "Loads cubin, PTX or a code object on a device (-1: the current one). params: (name, kind, type, "
          "bits) of what the caller gives, kind one of pointer, integer, float, tensordesc. Options: target, "
          "block and cluster (3 numbers each), shared (-1: not known), cooperative, pdl, hidden_pointers, "
          "global_scratch_size, global_scratch_align, profile_scratch_size, profile_scratch_align, "
          "tensordesc_meta, descriptor_flags.")
      .def(
          "adopt",
          [](Driver& driver, uint64_t function, const std::string& name, const std::string& level,
             nb::list params, nb::dict options, int device) {
            return std::shared_ptr<GpuKernel>(
                unwrap(launch::adopt(driver, make_spec(name, level, params, options), function, device)));
          },
          "function"_a, "name"_a, "level"_a, "params"_a, "options"_a, "device"_a,
          "load() of a function that Triton has loaded on the device, and unloads.");
}

}  // namespace

void init_device(nb::module_& parent) {
  nb::module_ m =
      parent.def_submodule("device", "GPU drivers, opened on demand, and kernels loaded on them.");

  init_gpu_kernel(m);
  init_memory(m);
  init_driver(m);
  m.def(
      "driver",
      [](const std::string& backend, const std::string& library) {
        return unwrap(device::open_driver(backend, library));
      },
      "backend"_a, "library"_a = "", nb::rv_policy::reference,
      "The process's \"cuda\" or \"hip\" driver; opens its library on the first call. Raises DiagnosticError "
      "where there is none.");
}

}  // namespace triton_runner::python
