// Makes a kernel of PTX store registers by itself, for a GPU: a RegisterPlan (registers.h) as text. (insert.h
// does so at TTGIR.)
//
// The entry gets one more parameter, a pointer to a buffer of ours, and each read of the plan becomes stores
// next to its instruction: straight code under predicates, without a jump or a barrier, so that threads stay
// together as they were. Each thread counts its executions of a value's reads in a register of its own, and
// what has no slot in the buffer is not stored. The rest of the text stays as it is, byte for byte.
//
// The buffer, for each program that may record: of each value the executions of each thread (32 bits each,
// the same number that masks its records), then its slots, one an execution, each [registers][threads].
#pragma once
#include <string>
#include <vector>

#include <triton_runner/probe/registers.h>

namespace triton_runner::probe {

struct RegisterStoreOptions {
  bool every_iteration = false;  // else each thread's last execution
  // The programs to record: those with the given number on each axis (-1: any); empty: all.
  std::vector<std::array<int64_t, 3>> programs;
  std::array<int64_t, 3> grid{1, 1, 1};  // of the launch: programs, which with clusters are the clusters
  uint32_t hidden = 0;                   // the entry's last parameters, which the launch fills by itself
  int64_t max_bytes = int64_t{1} << 30;  // of the buffer
};

struct RegisterStores {
  struct Area {          // of a tap
    int64_t counts = 0;  // offsets from the program's first byte
    int64_t data = 0;
    int64_t slot = 0;      // bytes
    int64_t slots = 0;     // of a program
    bool repeats = false;  // stands in a loop: nobody knows how often it is executed
  };
  std::string text;         // PTX
  uint32_t parameter = 0;   // ours among those of the entry: before the hidden ones
  std::vector<Tap> taps;    // of the plan
  std::vector<Area> areas;  // of each tap
  std::vector<int64_t>
      chosen;                // the programs that record, by linear number (x fastest); empty: the first ones
  int64_t programs = 0;      // so many have room
  int64_t stride = 0;        // bytes of a program
  int64_t without_room = 0;  // programs
  int64_t bytes = 0;         // of the buffer, which is zero before a launch
  bool every_iteration = false;
  std::array<int64_t, 3> grid{};
  std::vector<std::string> notes;
};

// The text of the entry `kernel` with the stores of a plan that was made for it, of values that each thread
// has by itself (Tap::per_thread). Errors: a value that is put together from several threads, a program that
// is not in the grid.
base::Result<RegisterStores> insert_register_stores(const ptx::Module& ptx, std::string_view kernel,
                                                    const RegisterPlan& plan,
                                                    const RegisterStoreOptions& options);

// The records in a buffer of `stores.bytes` bytes: those that a RegisterRecorder makes of the same launch.
// programs: as in RegisterStoreOptions.
Recording decode(const RegisterStores& stores, std::span<const std::byte> buffer,
                 std::span<const std::array<int64_t, 3>> programs);

}  // namespace triton_runner::probe
