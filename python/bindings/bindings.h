// The files of the extension share these: one init_x() per file, called from core.cpp, and how errors become
// exceptions. The casters of all types of std that Python gives or gets are here: where one is missing, a call fails
// at run time.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include <triton_runner/base/result.h>
#include <triton_runner/exec/kernel.h>

#include "limited.h"

namespace nb = nanobind;

namespace triton_runner::ptx {
class Module;
}

namespace triton_runner::python {

using namespace nb::literals;

// Throw triton_runner.DiagnosticError (a ValueError) or triton_runner.KernelTrap (a RuntimeError).
[[noreturn]] void raise(const base::Diagnostic& diagnostic);
[[noreturn]] void raise(const base::Diagnostics& found);  // at least one
[[noreturn]] void raise(const exec::Trap& trap);
nb::dict fields_of(const exec::Trap& trap);  // of a KernelTrap
[[noreturn]] void raise(const exec::LaunchError& error);
[[noreturn]] inline void fail(std::string message, std::vector<std::string> notes = {}) {
  raise(base::failure(std::move(message), std::move(notes)));
}

// The value of a result, or its diagnostic as an exception.
template <class T>
T unwrap(base::Result<T> result) {
  if (!result) raise(result.error());
  return std::move(result).value();
}
inline void unwrap(base::Status status) {
  if (!status) raise(status.error());
}

std::shared_ptr<const ptx::Module> parsed_ptx(std::string text, std::string filename);

// The value of what takes long and runs without the GIL.
template <class F>
auto without_gil(F f) {
  return unwrap([&] {
    nb::gil_scoped_release release;
    return f();
  }());
}
// A new reference that a function of CPython gives, or the exception that it raises.
inline nb::object taken(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

// Names and their values in a dict: put(d, "file", where.file, "line", where.line).
inline void put(nb::dict&) {}
template <class T, class... Rest>
void put(nb::dict& to, const char* name, T&& value, Rest&&... rest) {
  to[name] = std::forward<T>(value);
  put(to, std::forward<Rest>(rest)...);
}
template <class... Pairs>
nb::dict dict_of(Pairs&&... pairs) {
  nb::dict out;
  put(out, std::forward<Pairs>(pairs)...);
  return out;
}

// Returns what Python gets of a field of a graph's node, by default its value; ir.h wraps nodes.
template <class H, class T>
T given(const H&, T value) {
  return value;
}
// Reads the field of a handle's node.
template <class H, auto kField>
constexpr auto reads = [](const H& handle) { return given(handle, handle.node->*kField); };

std::string file_content(const std::string& path);  // or DiagnosticError

void init_exec(nb::module_& m);
void init_launcher(nb::module_& m);
void init_dispatch(nb::module_& m);
void init_call(nb::module_& m);
void init_ir(nb::module_& m);
void init_releases(nb::module_& m);   // of _core.ir
void init_translate(nb::module_& m);  // of _core.ir
void init_layout(nb::module_& m);
void init_ptx(nb::module_& m);
void init_artifact(nb::module_& m);
void init_bench(nb::module_& m);
void init_device(nb::module_& m);
void init_simt(nb::module_& m);
void init_sass(nb::module_& m);
void init_amdgcn(nb::module_& m);
void init_report(nb::module_& m);
void init_probe(nb::module_& m);
void init_probe_insert(nb::module_& m);  // of _core.probe
void init_probe_sass(nb::module_& m);    // of _core.probe
void init_probe_amdgcn(nb::module_& m);  // of _core.probe
void init_registers(nb::module_& m);     // of _core.probe
void init_debugger(nb::module_& m);      // of _core.probe
void init_variables(nb::module_& m);     // of _core.probe
void init_counts(nb::module_& m);        // of _core.probe
void init_replay(nb::module_& m);        // of _core.probe

}  // namespace triton_runner::python
