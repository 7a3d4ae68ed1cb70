// Makes triton_runner._core.ptx: a PTX module, its functions and their instructions, for reading. Handles are
// thin: a pointer into the graph and the module that keeps it alive.
#include <triton_runner/ptx/flow.h>
#include <triton_runner/ptx/liveness.h>
#include <triton_runner/ptx/module.h>

#include <memory>

#include "bindings.h"

namespace triton_runner::python {
namespace {

using ModulePtr = std::shared_ptr<const ptx::Module>;

template <class T>
struct Handle {
  ModulePtr module;
  const T* node;
};
using PyFunction = Handle<ptx::Function>;
struct PyInstruction : Handle<ptx::Instruction> {
  const ptx::Function* function;
};
using PyVariable = Handle<ptx::Variable>;
using Line = std::tuple<std::string, uint32_t, uint32_t, std::string>;

const char* space_name(ptx::Space space) {
  static constexpr const char* kNames[] = {"",       "reg",   "generic", "global",
                                           "shared", "local", "const",   "param"};
  return kNames[static_cast<size_t>(space)];
}

nb::object size(const std::array<uint32_t, 3>& n) {
  if (n[0] == 0) return nb::none();
  return nb::make_tuple(n[0], n[1], n[2]);
}

template <class List>
std::vector<PyVariable> variables(const ModulePtr& module, const List& all) {
  std::vector<PyVariable> out;
  for (const ptx::Variable& v : all) out.push_back({module, &v});
  return out;
}

std::string_view text_of(const PyInstruction& in) {
  return in.module->text().substr(in.node->offset, in.node->length);
}

// Each operand as written: up to the next one, without what lies between.
std::vector<std::string> operands(const PyInstruction& in) {
  std::vector<std::string> out;
  const std::span<const ptx::Operand> all = in.node->operands;
  for (size_t i = 0; i < all.size(); ++i) {
    const uint32_t end = i + 1 < all.size() ? all[i + 1].offset : in.node->offset + in.node->length;
    std::string_view text = in.module->text().substr(all[i].offset, end - all[i].offset);
    while (!text.empty() && std::string_view(" \t\n\r,;").find(text.back()) != std::string_view::npos)
      text.remove_suffix(1);
    out.emplace_back(text);
  }
  return out;
}

std::vector<std::string> names(const PyInstruction& in, const std::vector<uint32_t>& registers) {
  std::vector<std::string> out;
  for (const uint32_t r : registers) out.emplace_back(in.function->registers[r].name);
  return out;
}

std::vector<std::string> effects(ptx::Effect all) {
  std::vector<std::string> words;
  for (const ptx::EffectInfo& effect : ptx::effect_table())
    if (ptx::has(all, effect.effect)) words.emplace_back(effect.word);
  return words;
}

bool instruction_does(const PyInstruction& in, std::string_view word) {
  for (const ptx::EffectInfo& effect : ptx::effect_table())
    if (effect.word == word) return in.node->does(effect.effect);
  throw nb::value_error(("'" + std::string(word) + "' is not an effect (ptx/effects.def has them)").c_str());
}

std::vector<Line> source(const ptx::SourceLine* line) {
  std::vector<Line> out;
  for (; line; line = line->inlined_at)
    out.emplace_back(std::string(line->file), line->line, line->column, std::string(line->function));
  return out;
}

}  // namespace

std::shared_ptr<const ptx::Module> parsed_ptx(std::string text, std::string filename) {
  return without_gil([&] { return ptx::parse(std::move(text), std::move(filename)); });
}

namespace {

void init_variable(nb::module_& m) {
  nb::class_<PyVariable>(m, "Variable", "A variable of a module or a function, or a parameter.")
      .def_prop_ro("name", reads<PyVariable, &ptx::Variable::name>)
      .def_prop_ro(
          "space", [](const PyVariable& v) { return space_name(v.node->space); },
          "'global', 'shared', 'local', 'const', 'param'; 'reg' for a parameter in a register")
      .def_prop_ro(
          "type", [](const PyVariable& v) { return std::string(ptx::text(v.node->type)); },
          "of an element: 'b8'")
      .def_prop_ro("align", reads<PyVariable, &ptx::Variable::align>, "in bytes")
      .def_prop_ro("bytes", reads<PyVariable, &ptx::Variable::bytes>, "0 where the size is open: name[]")
      .def_prop_ro("is_array", reads<PyVariable, &ptx::Variable::is_array>)
      .def_prop_ro("is_pointer", reads<PyVariable, &ptx::Variable::is_pointer>, "declared .ptr")
      .def_prop_ro(
          "initial",
          [](const PyVariable& v) {
            return nb::bytes(reinterpret_cast<const char*>(v.node->initial.data()), v.node->initial.size());
          },
          "the first bytes of its value; the rest is zeros")
      .def("__repr__", [](const PyVariable& v) { return "<Variable " + std::string(v.node->name) + ">"; });
}

void init_instruction(nb::module_& m) {
  nb::class_<PyInstruction>(m, "Instruction", "An instruction; str() is its text.")
      .def_prop_ro("opcode", reads<PyInstruction, &ptx::Instruction::spelling>, "'ld.global.v4.b32'")
      .def_prop_ro(
          "base",
          [](const PyInstruction& i) {
            const std::string_view whole = i.node->spelling;
            return std::string(whole.substr(0, whole.find('.')));
          },
          "'ld'")
      .def_prop_ro(
          "is_known", [](const PyInstruction& i) { return i.node->opcode != ptx::Opcode::kUnknown; },
          "whether opcode_table() has it")
      .def_prop_ro(
          "guard",
          [](const PyInstruction& i) -> std::optional<std::string> {
            if (i.node->guard < 0) return std::nullopt;
            const std::string_view text = text_of(i);
            return std::string(text.substr(0, text.find_first_of(" \t\n")));
          },
          "'@!%p1', or None")
      .def_prop_ro("operands", operands, "as written")
      .def_prop_ro(
          "effects", [](const PyInstruction& i) { return effects(ptx::row(i.node->opcode).effects); },
          "what its opcode does, in the words of ptx/effects.def: ['reads', 'once']")
      .def("does", &instruction_does, "effect"_a,
           "whether it has an effect: 'writes'; ValueError: no such word")
      .def_prop_ro(
          "results", [](const PyInstruction& i) { return names(i, ptx::results_of(*i.node)); },
          "the registers that it writes")
      .def_prop_ro(
          "sources",
          [](const PyInstruction& i) {
            std::vector<std::string> out = names(i, ptx::sources_of(*i.node));
            if (ptx::adds_to_results(*i.node))
              for (std::string& name : names(i, ptx::results_of(*i.node))) out.push_back(std::move(name));
            return out;
          },
          "the registers that it reads, in addresses too, its guard's among them")
      .def_prop_ro(
          "line", [](const PyInstruction& i) { return i.module->location(i.node->offset).line; },
          "in the text of the module")
      .def_prop_ro("column", [](const PyInstruction& i) { return i.module->location(i.node->offset).column; })
      .def_prop_ro(
          "source", [](const PyInstruction& i) { return source(i.node->source); },
          "(file, line, column, function) of the kernel's source, innermost first; [] where no .loc says it")
      .def("__str__", [](const PyInstruction& i) { return std::string(text_of(i)); })
      .def("__repr__",
           [](const PyInstruction& i) { return "<Instruction " + std::string(text_of(i)) + ">"; });
}

void init_function(nb::module_& m) {
  nb::class_<PyFunction>(m, "Function", "A .entry or .func.")
      .def_prop_ro("name", reads<PyFunction, &ptx::Function::name>)
      .def_prop_ro("is_entry", reads<PyFunction, &ptx::Function::is_entry>)
      .def_prop_ro("is_declaration", reads<PyFunction, &ptx::Function::is_declaration>, "without a body")
      .def_prop_ro("params", [](const PyFunction& f) { return variables(f.module, f.node->params); })
      .def_prop_ro("returns", [](const PyFunction& f) { return variables(f.module, f.node->returns); })
      .def_prop_ro(
          "variables", [](const PyFunction& f) { return variables(f.module, f.node->variables); },
          "declared in the body")
      .def_prop_ro(
          "registers",
          [](const PyFunction& f) {
            std::vector<std::tuple<std::string, std::string>> out;
            for (const ptx::Register& r : f.node->registers)
              out.emplace_back(std::string(r.name), std::string(ptx::text(r.type)));
            return out;
          },
          "(name, type) of each register that the body names, in the order of first use")
      .def_prop_ro("instructions",
                   [](const PyFunction& f) {
                     std::vector<PyInstruction> out;
                     for (const ptx::Instruction& in : f.node->body) out.push_back({{f.module, &in}, f.node});
                     return out;
                   })
      .def(
          "pressure",
          [](const PyFunction& f) {
            const ptx::Pressure found = ptx::pressure(*f.node);
            std::vector<std::tuple<std::string, std::string, int>> live;
            for (const ptx::Pressure::Live& one : found.live) {
              const ptx::Register& reg = f.node->registers[one.reg];
              live.emplace_back(std::string(reg.name), std::string(ptx::text(reg.type)), one.definition);
            }
            return std::make_tuple(found.at, found.words, std::move(live));
          },
          "(index of the instruction before which most registers are live, 32-bit registers that they take, "
          "[(name, type, index of the instruction that gives it, or -1)])")
      .def_prop_ro(
          "reqntid", [](const PyFunction& f) { return size(f.node->reqntid); },
          "threads of a block (x, y, z), or None")
      .def_prop_ro("maxntid", [](const PyFunction& f) { return size(f.node->maxntid); })
      .def_prop_ro(
          "cluster", [](const PyFunction& f) { return size(f.node->cluster); },
          "blocks of a cluster (x, y, z), or None")
      .def_prop_ro("maxnreg", reads<PyFunction, &ptx::Function::maxnreg>, "0: not given")
      .def_prop_ro("line", [](const PyFunction& f) { return f.module->location(f.node->offset).line; })
      .def("__repr__", [](const PyFunction& f) {
        return "<Function " + std::string(f.node->name) + " of " + std::to_string(f.node->body.size()) +
               " instructions>";
      });
}

void init_ptx_module(nb::module_& m) {
  nb::class_<ptx::Module>(m, "Module", "A PTX module; str() gives its text back byte for byte.")
      .def_prop_ro("filename", [](const ptx::Module& x) { return x.filename(); })
      .def_prop_ro(
          "version", [](const ptx::Module& x) { return std::string(x.version()); }, "'8.7'")
      .def_prop_ro(
          "target", [](const ptx::Module& x) { return std::string(x.target()); }, "'sm_90a'")
      .def_prop_ro(
          "compute_capability", [](const ptx::Module& x) { return x.compute_capability(); }, "90")
      .def_prop_ro("functions",
                   [](const ModulePtr& x) {
                     std::vector<PyFunction> out;
                     for (const ptx::Function* f : x->functions()) out.push_back({x, f});
                     return out;
                   })
      .def(
          "function",
          [](const ModulePtr& x, std::string_view name) -> nb::object {
            const ptx::Function* f = x->find_function(name);
            if (!f) return nb::none();
            return nb::cast(PyFunction{x, f});
          },
          "name"_a, "None if there is none")
      .def_prop_ro("variables", [](const ModulePtr& x) { return variables(x, x->variables()); })
      .def(
          "canonical", [](const ptx::Module& x) { return ptx::print_canonical(x); },
          "the text written from the graph alone, without comments, scopes and debug sections")
      .def("__str__", [](const ptx::Module& x) { return std::string(x.text()); })
      .def("__repr__", [](const ptx::Module& x) {
        return "<Module " + x.filename() + " for " + std::string(x.target()) + ", " +
               std::to_string(x.functions().size()) + " functions>";
      });
}

}  // namespace

void init_ptx(nb::module_& parent) {
  nb::module_ m = parent.def_submodule("ptx", "PTX: modules, functions, variables, instructions.");
  init_variable(m);
  init_instruction(m);
  init_function(m);
  init_ptx_module(m);
  m.def(
      "parse",
      [](std::string text, std::optional<std::string> filename) {
        return parsed_ptx(std::move(text), filename.value_or("<ptx>"));
      },
      "text"_a, "filename"_a = nb::none(),
      "The module of a text; DiagnosticError (file, line, column, notes) for its first fault. filename is "
      "for messages.");
  m.def(
      "parse_file", [](const std::string& path) { return parsed_ptx(file_content(path), path); }, "path"_a,
      "The module of a file.");
  m.def(
      "opcode_table",
      [] {
        nb::list out;
        for (const ptx::OpcodeRow& row : ptx::opcode_table().subspan(1)) {
          out.append(dict_of("opcode", nb::cast(std::string(row.text)), "forms",
                             nb::cast(std::string(row.forms)), "section", nb::cast(std::string(row.section)),
                             "executed", nb::bool_(row.executed), "effects", nb::cast(effects(row.effects))));
        }
        return out;
      },
      "Every opcode: its mnemonic, the modifiers it takes, its section of the PTX ISA, whether it is "
      "executed, its effects.");
}

}  // namespace triton_runner::python
