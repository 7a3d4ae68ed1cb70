// Makes the extension module: a list of what each file of this folder adds to it.
#include "bindings.h"

NB_MODULE(_core, m) {
  using namespace triton_runner::python;
  // Kernels live in caches of Python modules until the interpreter goes.
  nb::set_leak_warnings(false);
  m.doc() = "The C++ core of triton_runner.";
  init_ir(m);
  init_layout(m);
  init_ptx(m);
  init_probe(m);
  init_exec(m);
  init_artifact(m);
  init_bench(m);
  init_device(m);
  init_simt(m);
  init_sass(m);
  init_amdgcn(m);
  init_report(m);
}
