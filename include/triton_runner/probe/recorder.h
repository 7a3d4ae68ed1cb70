// Records values on the tile engine: nothing is changed in the program, the engine hands them over.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <triton_runner/probe/select.h>

namespace triton_runner::probe {

struct RecorderOptions {
  std::vector<Selector> selectors;
  bool markers = true;           // record what dl.dump asks for
  bool every_iteration = false;  // else a program's last one
  // The programs to record: those with the given number on each axis (-1: any); empty: all.
  std::vector<std::array<int64_t, 3>> programs;
  int64_t max_bytes = int64_t{1} << 30;  // of all records together; what goes beyond is dropped and counted
};

class Recorder final : public exec::Observer {
 public:
  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  // Before each launch of `kernel`: chooses the values of its module. Errors: those of select(), a program
  // that is not in the grid.
  base::Status begin(std::shared_ptr<const ir::Module> module, std::string_view kernel,
                     std::string_view level, const std::array<int64_t, 3>& grid);
  // Hands over what was recorded since begin(), in the order of programs.
  Recording take();

  bool wants(const exec::ValueSite& site) override;
  void on_value(const exec::ValueEvent& event) override;

 private:
  struct Open {
    Series series;
    std::map<std::array<int64_t, 3>, size_t> last;  // of each program, unless every iteration is kept
  };
  Open& open(const exec::ValueEvent& event);

  RecorderOptions options_;
  std::shared_ptr<const ir::Module> module_;
  std::string kernel_, level_;
  struct Wanted {
    size_t place;  // in the selection
    Selected value;
  };
  std::unordered_map<const void*, Wanted> wanted_;  // by the ir::Value
  std::mutex mutex_;                                // of what follows
  std::unordered_map<const void*, Open> open_;      // by the ir::Value, or the marker's ir::Op
  int64_t bytes_ = 0, made_ = 0;                    // of all records
};

}  // namespace triton_runner::probe
