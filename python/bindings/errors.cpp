// Diagnostics and traps as Python exceptions: the classes are those of triton_runner/_base/errors.py, which has
// to know each field that is added here. It is tested by tests/python/launch/test_launch.py and
// tests/python/tile/test_ir.py.
#include <algorithm>
#include <fstream>

#include "bindings.h"

namespace triton_runner::python {
namespace {

// Names in a damaged file need not be UTF-8.
nb::str readable(const std::string& text) {
  return nb::str(taken(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
}

[[noreturn]] void throw_python(const char* name, const std::string& text, const nb::dict& fields) {
  nb::object type = nb::module_::import_("triton_runner._base.errors").attr(name);
  nb::object exception = type(readable(text), **fields);
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nb::python_error();
}

void put_location(nb::dict& fields, const base::Location& where) {
  put(fields, "file", where.file, "line", where.line, "column", where.column);
}

nb::dict fields_of(const base::Diagnostic& diagnostic) {
  nb::dict fields;
  put_location(fields, diagnostic.location);
  nb::list notes;
  for (const std::string& note : diagnostic.notes) notes.append(readable(note));
  put(fields, "message", readable(diagnostic.message), "notes", notes);
  return fields;
}

}  // namespace

std::string file_content(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string text(file ? static_cast<size_t>(std::max<std::streamoff>(0, file.tellg())) : 0, '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) fail("cannot read '" + path + "'");
  return text;
}

void raise(const base::Diagnostic& diagnostic) {
  throw_python("DiagnosticError", diagnostic.str(), fields_of(diagnostic));
}

void raise(const base::Diagnostics& found) {
  nb::dict fields = fields_of(found.list().front());
  nb::list all;
  for (const base::Diagnostic& diagnostic : found.list()) all.append(fields_of(diagnostic));
  fields["diagnostics"] = all;
  throw_python("DiagnosticError", found.str(), fields);
}

nb::dict fields_of(const exec::Trap& trap) {
  nb::dict fields;
  put_location(fields, trap.location);
  fields["kind"] = exec::trap_name(trap.kind);
  fields["race"] = exec::race_name(trap.race);
  fields["advice"] = exec::advice_on(trap.kind, trap.race);
  fields["instruction"] = trap.instruction;
  fields["artifact_line"] = trap.artifact_line;
  fields["ptx_line"] = trap.ptx_line;
  fields["kernel"] = trap.kernel;
  fields["op"] = trap.op;
  fields["message"] = trap.message;
  fields["program"] = nb::make_tuple(trap.program[0], trap.program[1], trap.program[2]);
  if (trap.thread[0] >= 0) fields["thread"] = nb::make_tuple(trap.thread[0], trap.thread[1], trap.thread[2]);
  nb::list element;
  for (int64_t index : trap.element) element.append(index);
  fields["element"] = nb::tuple(element);
  fields["address"] = trap.address;
  fields["nearest"] = trap.nearest;
  fields["notes"] = trap.notes;
  fields["argument"] = trap.argument;
  fields["place"] = trap.place;
  fields["warning"] = trap.warning;
  nb::list iterations;
  for (int64_t i : trap.iterations) iterations.append(i);
  fields["iterations"] = nb::tuple(iterations);
  return fields;
}

void raise(const exec::Trap& trap) { throw_python("KernelTrap", trap.str(), fields_of(trap)); }

void raise(const exec::LaunchError& error) {
  if (error.diagnostic) raise(*error.diagnostic);
  if (error.trap) raise(*error.trap);
  fail(error.str());
}

}  // namespace triton_runner::python
