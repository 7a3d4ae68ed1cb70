// Writes, as text, the IR that is put into a kernel for one value: where its record goes, and the stores.
// insert.cpp puts it into the module.
#pragma once
#include <string>
#include <vector>

#include <triton_runner/ir/module.h>
#include <triton_runner/probe/insert.h>

namespace triton_runner::probe {

// Facts of the module that the text depends on.
struct Dialect {
  std::string gpu = "ttg", nvidia = "ttng";  // as this release names the dialects
  std::string dot_wait = ".warp_group_dot_wait";
  bool stores_dot_operands = true;  // a store of a tensor in the layout of a tensor core's operand compiles
  std::string prefix;               // of the names that are put in: no other begins so
  int threads = 32, warps = 4, ctas = 1;
};
Dialect dialect_of(const ir::Module& module);

// Why no store can be made of a value; empty where one can.
std::string cannot_store(const Dialect& dialect, const ir::Value& value);

// Ops as text; each gets a name of its own and the place of the value that it is for.
class Writer {
 public:
  Writer(const Dialect& dialect, int& names, const ir::Location* loc);
  // "%name" of a new op whose text follows its '='.
  std::string def(const std::string& op);
  void line(const std::string& op);
  std::string constant(int64_t value, const char* type = "i32");
  // A scalar integer as i32.
  std::string to_i32(const ir::Value* value);
  // The iteration number of scf.for: (induction - lower) / step.
  std::string iteration(const ir::Op& loop);
  // Returns the i1 that is true in the last iteration: upper - induction <= step.
  std::string is_last(const ir::Op& loop);

  const std::string& place() const { return loc_; }  // " loc(#loc12)", or nothing

  std::string text;

 private:
  const Dialect& dialect_;
  int& names_;
  std::string loc_;
};

struct StoreRequest {
  const Area& area;
  std::array<int64_t, 3> grid;
  const ir::Value* value;
  std::string name;                     // under which its elements are read: that of the value or another's
  std::string buffer;                   // the pointer to the buffer
  std::vector<std::string> iterations;  // i32 names, outermost first
  std::vector<std::string> extra;       // a marker's numbers: offset, x, y, z
  std::string last;                     // i1, of areas with `last`
  int warps = 4;                        // at this place
};
void write_stores(Writer& out, const Dialect& dialect, const StoreRequest& request);

}  // namespace triton_runner::probe
