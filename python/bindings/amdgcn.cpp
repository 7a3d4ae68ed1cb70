// Makes triton_runner._core.amdgcn: AMD's machine code, for reading: the instructions of a kernel, and what
// they do.
#include <triton_runner/amdgcn/facts.h>
#include <triton_runner/amdgcn/opcode.h>

#include "bindings.h"

namespace triton_runner::python {
namespace {

struct AmdInstruction {
  std::shared_ptr<const amdgcn::Module> module;
  const amdgcn::Instruction* node;
  uint32_t index;
  std::string text() const { return std::string(module->text().substr(node->offset, node->length)); }
};
using In = AmdInstruction;

const amdgcn::Kernel& kernel_of(const amdgcn::Module& module, const std::string& name) {
  for (const amdgcn::Kernel& k : module.kernels())
    if (k.name == name || (name.empty() && module.kernels().size() == 1)) return k;
  fail("the machine code has no kernel '" + name + "'");
}

}  // namespace

void init_amdgcn(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("amdgcn", "AMD's machine code: the instructions of kernels.");
  nb::class_<In>(m, "Instruction", "An instruction; str() is its text.")
      .def_ro("index", &In::index, "among those of its kernel")
      .def_prop_ro(
          "spelling", [](const In& i) { return std::string(i.node->spelling); }, "'v_add_f32_e32'")
      .def_prop_ro(
          "name", [](const In& i) { return std::string(i.node->name); }, "'v_add_f32'")
      .def_prop_ro(
          "line", [](const In& i) { return i.module->location(i.node->offset).line; }, "in the text")
      .def_prop_ro(
          "address", [](const In& i) { return i.module->location(i.node->offset).line; },
          "the same: the text has no addresses")
      .def_prop_ro(
          "ptx_line", [](const In&) { return 0; }, "0: there is no PTX")
      .def_prop_ro(
          "program",
          [](const In& i) {
            const amdgcn::Place& p = i.node->place;
            return p.line ? std::string(p.file) + ":" + std::to_string(p.line) : "";
          },
          "'kernel.py:42' that it was made of; '': not known")
      .def_prop_ro(
          "writes",
          [](const In& i) {
            std::vector<std::string> out;
            for (const uint32_t r : amdgcn::results_of(*i.node)) out.push_back(amdgcn::register_name(r));
            return out;
          },
          "the registers that it writes: ['v5']")
      .def_prop_ro(
          "pipe", [](const In& i) { return std::string(amdgcn::work_of(*i.node).pipe); },
          "'VALU', 'SALU', 'MFMA', 'LDS', 'VMEM', 'SMEM', 'BRANCH'")
      .def_prop_ro(
          "space", [](const In& i) { return std::string(amdgcn::work_of(*i.node).space); },
          "of the memory that it accesses: 'global', 'shared', 'local', ''")
      .def_prop_ro(
          "access", [](const In& i) { return std::string(amdgcn::work_of(*i.node).access); },
          "'load', 'store', 'atomic', ''")
      .def_prop_ro(
          "flops", [](const In& i) { return amdgcn::work_of(*i.node).flops; }, "of a lane")
      .def_prop_ro(
          "matrix_operations", [](const In& i) { return amdgcn::work_of(*i.node).matrix_operations; },
          "of a wavefront: products and sums")
      .def_prop_ro(
          "matrix_type", [](const In& i) { return std::string(amdgcn::work_of(*i.node).matrix_type); },
          "of what is multiplied: 'f16'")
      .def("__str__", &In::text)
      .def("__repr__", [](const In& i) { return "<Instruction " + i.text() + ">"; });
  m.def(
      "instructions",
      [](std::string text, const std::string& kernel, std::string filename) {
        const auto module = without_gil([&] { return amdgcn::parse(std::move(text), std::move(filename)); });
        std::vector<In> out;
        for (const amdgcn::Instruction& in : kernel_of(*module, kernel).body)
          out.push_back({module, &in, static_cast<uint32_t>(out.size())});
        return out;
      },
      "text"_a, "kernel"_a = "", "filename"_a = "<amdgcn>",
      "The instructions of a kernel, those of the functions that it calls after its own.");
  m.def(
      "is_register", [](const std::string& name) { return !amdgcn::registers_named(name).empty(); }, "name"_a,
      "Whether it is a register's name: v5, v[2:3], s4, a0, vcc, exec, m0.");
}

}  // namespace triton_runner::python
