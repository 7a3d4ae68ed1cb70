// Names tells apart the values that share a name. MLIR uses a name again where the first one is out of sight:
// in both arms of an scf.if, in two loops one after the other, in partitions, in functions. Such a value has
// a number, "%acc@2".
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <triton_runner/ir/module.h>

namespace triton_runner::probe {

// Each value of `func` and of what it calls once, in the order of the text, `func` first. Of a block argument
// `op` is the one whose region it begins.
void for_each_value(const ir::Module& module, const ir::Op& func,
                    const std::function<void(const ir::Op& op, const ir::Value&)>& visit);

// The loops around a place, outermost first. Of an argument of a loop's body that loop is one.
std::vector<const ir::Op*> loops_around(const ir::Block* block);

// Returns which op of the function gives a value: "k/scf.for@7.0/arith.mulf@2" is op 2 of the block that
// region 0 of the kernel's op 7 is; of block arguments it ends with the region, "k/scf.for@7.0".
std::string path_of(const ir::Value& value);

// Returns whether a value was made for a line of the Python source, by itself or through the calls that it
// was inlined by. `file`: the end of its path.
bool stands_on(const ir::Value& value, std::string_view file, int line);

// "acc" of %acc and %acc_36, as Triton prints names since 3.5; "" of %arg7 and %36. Arguments of a loop have
// no location in the text, and nothing but this tells their variable.
std::string_view printed_name(const ir::Value& value);

// Returns whether the pipeliner made the value, an index or a predicate: it, or what a loop carries it as,
// has the location of a whole loop, whose name is that of the last variable that the loop carries.
bool is_made_for_loop(const ir::Value& value);

// The lines of the source that a location names, the innermost callee first.
void for_each_line(const ir::Location* at, const std::function<void(const ir::Location& file)>& visit);

class Names {
 public:
  Names(const ir::Module& module, const ir::Op& func);

  // "%54", "%5#1"; "%54@2" and "%5#1@2" of the second definition of a name that has several.
  std::string of(const ir::Value& value) const;

  // Returns whether "%54", "%5#1", "%5" (all results), "%54@2" or "%54@kernel.py:42" means a value.
  bool means(std::string_view text, const ir::Value& value) const;

  // A note for each definition of the name that a selector gives; none where it has one or none.
  std::vector<std::string> choices(std::string_view text) const;

 private:
  using Definition = const ir::Value*;  // the first of a group of results
  static Definition definition_of(const ir::Value& value) { return &value - value.group_index; }
  size_t number_of(const ir::Value& value) const;  // from 1; 0 where the name has one definition

  std::map<std::string_view, std::vector<Definition>> definitions_;  // in the order of the text
};

}  // namespace triton_runner::probe
