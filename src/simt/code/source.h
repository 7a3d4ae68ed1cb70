// Declares what messages, checks and the launch ask of an instruction besides what it does, whatever its
// instruction set. A front end writes it down, so that nothing else of the engine reads its text.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <triton_runner/base/diagnostic.h>
#include <triton_runner/machine/exact.h>
#include <triton_runner/num/type.h>

namespace triton_runner::simt {

// Says, of code that was made from other code, that an instruction is a part of what one instruction of that computes (a division is
// thirty of them in machine code), and no number between two parts is one that the program has.
struct Part {
  uint32_t of = 0;                           // the line of that code; 0: a function that the assembler added
  std::vector<std::vector<uint32_t>> reads;  // of each operand, the places of its registers
  std::vector<uint32_t> writes;              // of 32 bits
  // Registers of the warp, UR and UP: their places and bytes.
  std::vector<std::pair<uint32_t, uint32_t>> uniform_reads, uniform_writes;
  bool takes_divisor = false;  // what it reads divides integers
  bool moves = false;          // it gives one of its operands
  bool calls = false;          // such a function
};

// Arithmetic of integers on registers d, a, b, c. check="overflow" asks by how much the result is not exact.
struct Exact {
  machine::ExactFn rule = nullptr;    // null: not followed, and taken for exact
  machine::ExactFn then = nullptr;    // of the result of the first two operands, and the third
  std::array<uint8_t, 3> widths{};    // bits
  uint8_t width = 0;                  // of the result
  std::array<__int128, 3> surplus{};  // of operands that are constants (machine::Integer)
  int predicate = 0;                  // of a comparison
  bool jumps = false;
  // Numbers that go through shared memory or to another thread, and what the rule makes of all those of a warp.
  enum class Moves : uint8_t { kNothing, kLoad, kStore, kShuffle, kCombine } moves = Moves::kNothing;
};

struct Source {
  const void* at = nullptr;  // the front end's instruction: one for all copies of inlined code
  std::string_view name;     // as the text spells it
  uint32_t index = 0;        // of machine code: of the instruction in its function

  // How it accesses memory: as threads do, atomically, by a copy that goes on after it, or what only such instructions
  // touch (mbarriers, tensor maps).
  enum class Access : uint8_t { kPlain, kAtomic, kCopy, kObject } access = Access::kPlain;
  // Whether an atomic access orders what its warp does after it, and what it did before it. Volatile and relaxed ones are ordered by
  // fences (PTX ISA 8.4.2, 8.8).
  bool acquires = false, releases = false;
  enum class Scope : uint8_t {
    kBlock,
    kCluster,
    kAll
  } scope = Scope::kAll;  // whose warps an atomic access orders
  bool fences_memory = false;
  bool stores = false;          // makes each thread's bytes before it asks for the next thread's
  bool reduces = false;         // what is there, by a copy
  bool copies = false;          // it goes on after the threads have
  bool by_thread = false;       // a copy that each thread makes by itself and waits for (cp.async)
  bool multiplies = false;      // so does a product
  bool in_turn = false;         // so do those of the tensor core, one after the other
  bool by_async_proxy = false;  // its accesses to shared memory
  bool fences_proxy = false;    // the asynchronous one
  bool updates_global = false;
  bool is_late = false;  // a read once more, where its wait ends it: it may come as late as there
  enum class Meets : uint8_t { kNobody, kBlock, kClusterArrives, kClusterWaits } meets = Meets::kNobody;
  bool is_alone() const { return !part && !fences_proxy && !fences_memory && meets == Meets::kNobody; }

  // Arithmetic on registers d, a, b, c: of floats of one type, `elements` in each, or an integer division a / b.
  enum class Numbers : uint8_t { kOther, kFloats, kDivision } numbers = Numbers::kOther;
  num::Type type{};
  uint8_t elements = 1;
  bool is_signed = false;
  const Part* part = nullptr;       // of Code::kept
  std::vector<uint32_t> addresses;  // the registers that say where it accesses memory
};

class Listing {
 public:
  virtual ~Listing() = default;
  virtual base::Location location(const Source& source) const = 0;  // in the text
  virtual std::string text(const Source& source) const = 0;
  // The line of the code that this was made from, as machine code from PTX; 0: not known, or it was made from none.
  virtual uint32_t origin_line(const Source&) const { return 0; }
  // Tells what check="overflow" has to know, which few launches ask for; nothing for machine code.
  virtual Exact exact(const Source&) const { return {}; }
  // In the program that the text was made from, if the text says.
  virtual std::optional<base::Location> program_location(const Source& source) const = 0;
  // The number of the only parameter in `candidates` (a bit each, up to 64) that the address of the access was made from;
  // none where there are several, or where it was read from memory.
  virtual std::optional<uint32_t> parameter_of(const Source& access, uint64_t candidates) const = 0;
};

}  // namespace triton_runner::simt
