// The SIMT engine in Python: PTX or a cubin to a kernel of the executor seam.
#include <triton_runner/base/try.h>
#include <triton_runner/exec/tensor_map.h>
#include <triton_runner/sass/hazards.h>
#include <triton_runner/sass/registers.h>
#include <triton_runner/sass/work.h>
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
  options.contract = field(given, "contract", true);
  options.shared_bytes = field(given, "shared", int64_t{-1});
  options.params = make_params(params);
  options.descriptors = make_layouts(given);
  options.hidden_pointers = field(given, "hidden_pointers", 0);
  options.global_scratch = make_scratch(given, "global_scratch");
  options.profile_scratch = make_scratch(given, "profile_scratch");
  return options;
}

nb::dict described(const sass::Module& module, const sass::Instruction& in) {
  const sass::Place* place = in.place();
  return dict_of("address", in.address, "text", std::string(module.text().substr(in.offset, in.length)),
                 "ptx_line", in.ptx_line, "program",
                 place ? std::string(place->file) + ":" + std::to_string(place->line) : "");
}

std::vector<uint32_t> codes(const std::vector<sass::RegisterId>& registers) {
  std::vector<uint32_t> out;
  for (const sass::RegisterId r : registers) out.push_back(*sass::register_named(sass::name_of(r)));
  return out;
}

nb::list instructions_of(const sass::Module& module, const std::string& kernel) {
  const sass::Function* f = module.find(kernel);
  nb::list out;
  if (!f) return out;
  for (const sass::Instruction& in : f->body) {
    nb::dict d = described(module, in);
    d["line"] = module.location(in.offset).line;
    d["name"] = std::string(in.name);
    const sass::Registers of = sass::registers_of(module, in);
    d["reads"] = codes(of.reads);
    d["writes"] = codes(of.writes);
    const auto matched = sass::match(module, in);
    const auto does = [&](ptx::Effect effect) { return matched && matched->row->does(effect); };
    using enum ptx::Effect;
    d["loads"] = does(kReads) || does(kUpdates);
    d["stores"] = does(kWrites) || does(kUpdates) || does(kCopies);
    const sass::Work work = sass::work_of(module, in);
    d["spelling"] = std::string(in.spelling);
    d["pipe"] = std::string(work.pipe);
    d["space"] = std::string(work.space);
    d["access"] = std::string(work.access);
    d["flops"] = work.flops;
    d["matrix_operations"] = work.matrix_operations;
    d["matrix_type"] = std::string(work.matrix_type);
    out.append(d);
  }
  return out;
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
      "find_hazards",
      [](std::string listing, std::string filename) {
        auto module = unwrap(sass::parse(std::move(listing), std::move(filename)));
        nb::list out;
        for (const sass::Function& f : module->functions()) {
          const sass::HazardReport report = sass::find_hazards(*module, f);
          nb::list hazards;
          for (const sass::Hazard& h : report.hazards) {
            nb::dict one = described(*module, *h.at);
            put(one, "register", h.reg, "message", h.message, "cause", described(*module, *h.cause));
            hazards.append(one);
          }
          out.append(dict_of("kernel", std::string(f.name), "instructions", report.instructions, "unjudged",
                             report.unjudged, "hazards", hazards));
        }
        return out;
      },
      "listing"_a, "filename"_a,
      "What the control words of machine code (a listing of nvdisasm -c -hex) let go wrong: of each function "
      "{kernel, instructions, unjudged, hazards: [{address, text, ptx_line, program, register, message, "
      "cause: {address, text, ptx_line, program}}]}.");
  m.def(
      "sass_instructions",
      [](std::string listing, const std::string& kernel) {
        return instructions_of(*unwrap(sass::parse(std::move(listing))), kernel);
      },
      "listing"_a, "kernel"_a,
      "The instructions of a kernel in a listing of nvdisasm -c -hex: [{address, text, ptx_line, program, "
      "line, name, reads, writes, loads, stores, spelling, pipe, space, access, flops, matrix_operations, "
      "matrix_type}]; line: in the listing; registers are numbers as a RegisterTrace has them; pipe: as "
      "pipes.def names it; flops: of a thread, matrix_operations: of a warp.");
  m.def("max_shared_bytes", &simt::max_shared_bytes, "capability"_a,
        "Shared memory that a block of a compute capability (90) may ask for, in bytes.");
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
