// The extension module: a list of what each file of this folder adds to it.
#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of triton_runner.";
}
