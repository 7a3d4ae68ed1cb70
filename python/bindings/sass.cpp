// Makes triton_runner._core.sass: NVIDIA's machine code, for reading: functions, instructions, what the table
// says of them, where they lead, which registers are live, and hazards. Handles are thin: a place in a
// function that its module keeps alive.
#include <triton_runner/base/text.h>
#include <triton_runner/sass/facts.h>
#include <triton_runner/sass/flow.h>
#include <triton_runner/sass/hazards.h>
#include <triton_runner/sass/opcode.h>
#include <triton_runner/sass/registers.h>

#include <memory>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using SassModulePtr = std::shared_ptr<const sass::Module>;

struct PyMachineFunction {
  PyMachineFunction(SassModulePtr of, const sass::Function& f) : module(std::move(of)), node(f), flow(f) {}
  const sass::Live& live() {
    if (!live_) live_.emplace(*module, node, flow);
    return *live_;
  }
  SassModulePtr module;
  const sass::Function& node;
  const sass::Flow flow;

 private:
  std::optional<sass::Live> live_;
};
using FunctionPtr = std::shared_ptr<PyMachineFunction>;

struct PyMachineInstruction {
  FunctionPtr function;
  uint32_t index;

  const sass::Instruction& node() const { return function->node.body[index]; }
  sass::Registers registers() const { return sass::registers_of(*function->module, node()); }
  std::string text() const {
    return std::string(function->module->text().substr(node().offset, node().length));
  }
};
using In = PyMachineInstruction;

bool machine_does(const In& in, std::string_view word) {
  for (const ptx::EffectInfo& effect : ptx::effect_table())
    if (effect.word == word) return in.node().does(effect.effect);
  for (const sass::TraitInfo& trait : sass::trait_table())
    if (trait.word == word) return in.node().does(trait.trait);
  throw nb::value_error(
      ("'" + std::string(word) + "' is not a word of ptx/effects.def or sass/traits.def").c_str());
}

// The registers of an instruction's address, without those of its descriptors; the number that is added to them.
std::vector<uint32_t> address_registers(const In& in) {
  std::vector<uint32_t> out;
  for (const sass::Operand& o : in.node().operands)
    for (const sass::Operand& part : o.parts)
      if (o.kind == sass::OperandKind::kAddress && part.kind <= sass::OperandKind::kUniform &&
          part.index < sass::kZero)
        for (uint32_t k = 0; k < (part.selector == "64" ? 2u : 1u); ++k)
          out.push_back(sass::register_code(part.kind, part.index + k));
  return out;
}

std::vector<uint32_t> descriptor_registers(const In& in) {
  std::vector<uint32_t> out;
  for (const sass::Operand& o : in.node().operands)
    if (o.descriptor && o.space == "desc")
      for (uint32_t k = 0; k < 2; ++k)
        out.push_back(sass::register_code(sass::OperandKind::kUniform, *o.descriptor + k));
  return out;
}

int64_t offset(const In& in) {
  for (const sass::Operand& o : in.node().operands)
    if (o.kind == sass::OperandKind::kAddress) return o.integer;
  return 0;
}

uint32_t bytes(const In& in) {
  const sass::Instruction& node = in.node();
  if (node.has("U8") || node.has("S8")) return 1;
  return node.has("U16") || node.has("S16") ? 2 : 4 * sass::width_of(node);
}

void init_machine_instruction(nb::module_& m) {
  nb::class_<In>(m, "Instruction", "An instruction; str() is its text.")
      .def_ro("index", &In::index, "among those of its function")
      .def_prop_ro(
          "address", [](const In& i) { return i.node().address; }, "from the function's start")
      .def_prop_ro(
          "spelling", [](const In& i) { return std::string(i.node().spelling); }, "'LDG.E.128'")
      .def_prop_ro(
          "name", [](const In& i) { return std::string(i.node().name); }, "'LDG'")
      .def_prop_ro(
          "modifiers",
          [](const In& i) { return std::vector<std::string>(i.node().mods.begin(), i.node().mods.end()); },
          "['E', '128']")
      .def_prop_ro(
          "line", [](const In& i) { return i.function->module->location(i.node().offset).line; },
          "in the listing")
      .def_prop_ro(
          "ptx_line", [](const In& i) { return i.node().ptx_line; }, "that it was made of; 0: not known")
      .def_prop_ro(
          "program",
          [](const In& i) {
            const sass::Place* place = i.node().place();
            return place ? std::string(place->file) + ":" + std::to_string(place->line) : "";
          },
          "'kernel.py:42' that it was made of; '': not known")
      .def_prop_ro(
          "always", [](const In& i) { return sass::is_always(i.node()); },
          "whether no guard lets threads pass it by")
      .def("does", &machine_does, "word"_a,
           "whether it has an effect (ptx/effects.def: 'writes') or a trait (sass/traits.def: 'moves'); "
           "ValueError: no such word")
      .def_prop_ro(
          "reads", [](const In& i) { return i.registers().reads; },
          "the registers that it reads, by number: R0 0, UR0 256, P0 512, UP0 768")
      .def_prop_ro(
          "writes", [](const In& i) { return i.registers().writes; }, "the registers that it writes")
      .def_prop_ro("address_registers", address_registers, "those that its address is made of")
      .def_prop_ro("descriptor_registers", descriptor_registers, "those of desc[]: of all of global memory")
      .def_prop_ro("offset", offset, "what is added to them")
      .def_prop_ro("bytes", bytes, "of memory that an access of a thread takes")
      .def_prop_ro(
          "frame",
          [](const In& i) {
            std::vector<uint32_t> words = sass::frame_words(i.node());
            for (uint32_t& word : words) word += sass::kFrameWords;
            return words;
          },
          "the words of the stack frame that it loads or stores, by number, FRAME_WORDS the first")
      .def_prop_ro(
          "targets",
          [](const In& i) {
            std::vector<uint32_t> out;
            for (const sass::Edge& edge : i.function->flow.after(i.index)) out.push_back(edge.to);
            return out;
          },
          "the indices of the instructions that may come after it, labels first")
      .def_prop_ro(
          "pipe", [](const In& i) { return std::string(sass::work_of(i.node()).pipe); },
          "of the SM, 'ALU'; '': no source says")
      .def_prop_ro(
          "space", [](const In& i) { return std::string(sass::work_of(i.node()).space); },
          "of the memory that it accesses: 'global', 'shared', 'local', 'generic', 'tma', ''")
      .def_prop_ro(
          "access", [](const In& i) { return std::string(sass::work_of(i.node()).access); },
          "'load', 'store', 'atomic', 'reduction', 'copy', ''")
      .def_prop_ro(
          "flops", [](const In& i) { return sass::work_of(i.node()).flops; }, "of a thread")
      .def_prop_ro(
          "matrix_operations", [](const In& i) { return sass::work_of(i.node()).matrix_operations; },
          "of a warp: products and sums")
      .def_prop_ro(
          "matrix_type", [](const In& i) { return std::string(sass::work_of(i.node()).matrix_type); },
          "of what is multiplied: 'f16'")
      .def("__str__", &In::text)
      .def("__repr__", [](const In& i) { return "<Instruction " + i.text() + ">"; });
}

void init_machine_function(nb::module_& m) {
  using F = PyMachineFunction;
  nb::class_<F>(m, "Function", "A kernel with the functions that were put into it, or a function of its own.")
      .def_prop_ro("name", [](const F& f) { return std::string(f.node.name); })
      .def_prop_ro("instructions",
                   [](const FunctionPtr& f) {
                     std::vector<In> out;
                     for (uint32_t i = 0; i < f->node.body.size(); ++i) out.push_back({f, i});
                     return out;
                   })
      .def_prop_ro(
          "loops",
          [](const F& f) {
            std::vector<std::tuple<uint32_t, uint32_t, std::vector<uint32_t>>> out;
            for (const sass::Loop& loop : f.flow.loops()) out.emplace_back(loop.head, loop.last, loop.body);
            return out;
          },
          "(the instruction that a round begins with, the last that jumps back, all of them) of each loop, "
          "the largest first")
      .def(
          "live", [](F& f, size_t i) { return f.live().needed(i); }, "index"_a,
          "the registers, and the words of the stack frame, that are live before an instruction")
      .def(
          "definitions", [](F& f, uint32_t reg, uint32_t i) { return f.live().definitions(reg, i); },
          "register"_a, "index"_a,
          "the instructions that may have given what a register has before an instruction")
      .def(
          "uses", [](F& f, uint32_t reg, uint32_t i) { return f.live().uses(reg, i); }, "register"_a,
          "index"_a, "the instructions that read what a register has before an instruction, it among them")
      .def(
          "hazards",
          [](const FunctionPtr& f) {
            const sass::HazardReport report = sass::find_hazards(*f->module, f->node);
            const auto handle = [&](const sass::Instruction* in) {
              return In{f, static_cast<uint32_t>(in - f->node.body.data())};
            };
            std::vector<std::tuple<std::string, std::string, In, In>> hazards;
            for (const sass::Hazard& h : report.hazards)
              hazards.emplace_back(h.message, h.reg, handle(h.at), handle(h.cause));
            return std::tuple(std::move(hazards), report.instructions, report.unjudged);
          },
          "([(message, register, where, the instruction that causes it)], instructions that a path reaches, "
          "of these such as cannot be judged): what control words let go wrong")
      .def("__repr__", [](const F& f) {
        return "<Function " + std::string(f.node.name) + " of " + std::to_string(f.node.body.size()) +
               " instructions>";
      });
}

}  // namespace

void init_sass(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("sass", "NVIDIA's machine code: functions and their instructions.");
  init_machine_instruction(m);
  init_machine_function(m);
  m.attr("FRAME_WORDS") = sass::kFrameWords;
  m.def(
      "parse",
      [](std::string listing, std::string filename) {
        const SassModulePtr module =
            without_gil([&] { return sass::parse(std::move(listing), std::move(filename)); });
        std::vector<FunctionPtr> out;
        for (const sass::Function& f : module->functions())
          out.push_back(std::make_shared<PyMachineFunction>(module, f));
        return out;
      },
      "listing"_a, "filename"_a = "<sass>",
      "The functions in what nvdisasm -c -hex prints; DiagnosticError for its first fault.");
  m.def(
      "parse_kernel",
      [](std::string listing, const std::string& kernel) -> FunctionPtr {
        const SassModulePtr module = without_gil([&] { return sass::parse(std::move(listing)); });
        const sass::Function* f = module->find(kernel);
        if (!f) fail("the disassembly has no kernel '" + kernel + "'");
        return std::make_shared<PyMachineFunction>(module, *f);
      },
      "listing"_a, "kernel"_a, "One of them; DiagnosticError: it is not there.");
  m.def(
      "opcode_table",
      [] {
        nb::list out;
        for (const sass::Row& row : sass::opcode_table()) {
          std::vector<std::string> effects, traits;
          for (const ptx::EffectInfo& effect : ptx::effect_table())
            if (row.does(effect.effect)) effects.emplace_back(effect.word);
          for (const sass::TraitInfo& trait : sass::trait_table())
            if (row.does(trait.trait)) traits.emplace_back(trait.word);
          sass::Instruction plain;
          plain.name = row.base(), plain.row = &row;
          out.append(dict_of("name", std::string(row.name), "operands", std::string(row.operands), "family",
                             std::string(row.family), "effects", effects, "traits", traits, "pipe",
                             std::string(row.pipe), "is_product", sass::product_of(plain).bits != 0));
        }
        return out;
      },
      "Every row of the table: the opcode with the suffixes that make it another one (IMAD_WIDE), the shapes "
      "of its operands, its family ('': it is refused), its effects and traits, its pipe.");
  m.def(
      "register_name",
      [](uint32_t number) {
        if (number < sass::kFrameWords) return sass::register_name(number);
        return "[R1+" + base::hex(4 * (number - sass::kFrameWords)) + "]";
      },
      "number"_a, "'R4', 'UP0'; of a word of the stack frame '[R1+0x8]'");
}

}  // namespace triton_runner::python
