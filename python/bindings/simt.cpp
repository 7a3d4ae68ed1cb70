// Makes the SIMT engine in Python: PTX or a cubin to a kernel of the executor seam.
#include <triton_runner/amdgcn/code_object.h>
#include <triton_runner/amdgcn/decode.h>
#include <triton_runner/base/try.h>
#include <triton_runner/exec/tensor_map.h>
#include <triton_runner/simt/simt.h>

#include "parameters.h"

namespace triton_runner::python {

using Axes = std::array<uint32_t, 3>;
using Loaded = base::Result<std::unique_ptr<exec::Kernel>>;
using SharedKernel = std::shared_ptr<exec::Kernel>;

namespace {

simt::LoadOptions load_options(const nb::list& params, const nb::dict& given) {
  simt::LoadOptions options;
  options.block = field(given, "block", Axes{});
  options.cluster = field(given, "cluster", Axes{});
  options.grid_of_blocks = field(given, "grid_of_blocks", false);
  options.contract = field(given, "contract", true);
  options.shared_bytes = field(given, "shared", int64_t{-1});
  options.params = make_params(params);
  options.descriptors = make_layouts(given);
  options.hidden_pointers = field(given, "hidden_pointers", 0);
  options.global_scratch = make_scratch(given, "global_scratch");
  options.profile_scratch = make_scratch(given, "profile_scratch");
  return options;
}

}  // namespace

void init_simt(nb::module_& m) {
  m.def(
      "load_simt",
      [](std::string text, std::string filename, const std::string& name, const nb::list& params,
         const nb::dict& given) {
        const simt::LoadOptions options = load_options(params, given);
        return SharedKernel(without_gil([&]() -> Loaded {
          auto module = TRY(ptx::parse(std::move(text), std::move(filename)));
          return simt::load(std::move(module), name, options);
        }));
      },
      "text"_a, "filename"_a = "", "name"_a = "", "params"_a = nb::list(), "options"_a = nb::dict(),
      "Loads an entry of a PTX text into the SIMT engine (its only one where no name is given). params: "
      "(name, kind, type, bits) of what a launch gives, kind one of pointer, integer, float, tensordesc; "
      "empty: the text's own. Options: block and cluster (3 numbers each), where the text does not say them; "
      "grid_of_blocks (a launch's grid counts blocks, not clusters), "
      "shared (dynamic bytes; -1: the target's maximum), contract (mul and add as ptxas does), "
      "hidden_pointers, global_scratch_size, global_scratch_align, profile_scratch_size, "
      "profile_scratch_align, tensordesc_meta.");
  m.def(
      "load_cubin",
      [](const nb::bytes& cubin, std::string listing, const std::string& filename, const std::string& name,
         const nb::list& params, const nb::dict& given) {
        const simt::LoadOptions options = load_options(params, given);
        const std::string_view bytes(cubin.c_str(), cubin.size());
        return SharedKernel(without_gil(
            [&] { return simt::load_cubin(bytes, std::move(listing), name, options, filename); }));
      },
      "cubin"_a, "listing"_a, "filename"_a = "", "name"_a = "", "params"_a = nb::list(),
      "options"_a = nb::dict(),
      "Loads a kernel of a cubin into the SIMT engine, from its bytes and from what nvdisasm -c -hex prints "
      "for them; the rest is as for load_simt.");
  m.def(
      "load_amdgcn",
      [](std::string text, const std::string& filename, const std::string& name, const nb::list& params,
         const nb::dict& given) {
        const simt::LoadOptions options = load_options(params, given);
        return SharedKernel(
            without_gil([&] { return simt::load_amdgcn(std::move(text), name, options, filename); }));
      },
      "text"_a, "filename"_a = "", "name"_a = "", "params"_a = nb::list(), "options"_a = nb::dict(),
      "Loads a kernel of AMD's machine code, as LLVM writes it, into the SIMT engine; the rest is as for "
      "load_simt.");
  m.def(
      "load_hsaco",
      [](const nb::bytes& hsaco, const std::string& filename, const std::string& name, const nb::list& params,
         const nb::dict& given) {
        const simt::LoadOptions options = load_options(params, given);
        const std::string_view bytes(hsaco.c_str(), hsaco.size());
        return SharedKernel(without_gil([&] { return simt::load_hsaco(bytes, name, options, filename); }));
      },
      "hsaco"_a, "filename"_a = "", "name"_a = "", "params"_a = nb::list(), "options"_a = nb::dict(),
      "Loads a kernel of a code object, decoded from its bytes, into the SIMT engine; the rest is as for "
      "load_simt.");
  m.def(
      "amdgcn_of_hsaco",
      [](const nb::bytes& hsaco, const std::string& filename) {
        const std::string_view bytes(hsaco.c_str(), hsaco.size());
        const std::string text = without_gil([&] { return amdgcn::listing(bytes, filename); });
        // Names in a damaged file need not be UTF-8.
        return nb::str(
            taken(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
      },
      "hsaco"_a, "filename"_a = "",
      "The AMDGCN of a code object, decoded from its bytes: instructions, kernel descriptors, metadata and "
      "the "
      "program's lines, as LLVM writes them.");
  m.def(
      "amdgcn_instruction",
      [](const nb::bytes& code, const std::string& target) {
        const std::optional<amdgcn::Chip> chip = amdgcn::chip_of(target);
        if (!chip) raise(base::failure("no machine code of '" + target + "' is decoded"));
        std::vector<uint32_t> words(code.size() / 4);
        std::memcpy(words.data(), code.c_str(), words.size() * 4);
        const amdgcn::Decoded done = amdgcn::decode(*chip, *chip >= amdgcn::Chip::gfx1100, words);
        if (!done.error.empty()) raise(base::failure(done.error));
        return std::pair(done.text, done.words * 4);
      },
      "code"_a, "target"_a,
      "The instruction that some code of a target (gfx942) begins with, as LLVM prints it, and its bytes; a "
      "jump "
      "ends before the name of the place that it leads to.");
  m.def("max_shared_bytes", &simt::max_shared_bytes, "target"_a,
        "Shared memory that a block of a target (cuda:90, hip:gfx942) may ask for, in bytes.");
  m.def(
      "write_tensor_map",
      [](uint64_t out, uint64_t address, std::vector<int64_t> shape, std::vector<int64_t> box,
         int element_bytes, int swizzle) {
        exec::TensorDesc desc{address, std::move(shape), {}, false};
        desc.strides.assign(desc.shape.size(), 1);
        for (size_t i = desc.shape.size(); i-- > 1;) desc.strides[i - 1] = desc.strides[i] * desc.shape[i];
        exec::DescriptorLayout layout{swizzle, element_bytes, element_bytes / 2, std::move(box), false};
        exec::encode_tensor_map(desc, reinterpret_cast<std::byte*>(out), &layout);
      },
      "out"_a, "address"_a, "shape"_a, "box"_a, "element_bytes"_a, "swizzle"_a = 0,
      "Writes the 128 bytes of a tensor descriptor (row major, shape and box in elements of 1, 2 or 4 bytes, "
      "swizzle 0: none to 3: 128 bytes) to the address out.");
}

}  // namespace triton_runner::python
