// Tests random sums and products of program ids, which wrap for some programs of some grids: fused and not,
// each program stores the same numbers.
#include "test.h"

#include <triton_runner/tile/tile.h>

#include <random>

using namespace triton_runner;

namespace {

constexpr int kStored = 4, kTile = 8, kRoom = kStored * kTile;  // elements that a program stores

class IdWriter {
 public:
  explicit IdWriter(uint32_t seed) : random_(seed) {}

  std::string text() {
    out_ = "module {\n  tt.func public @k(%p: !tt.ptr<i64>, %a: i32, %b: i32, %c: i64) {\n";
    for (const char* axis : {"x", "y", "z"}) {
      line("%" + std::string(axis) + " = tt.get_program_id " + axis + " : i32");
      line("%n" + std::string(axis) + " = tt.get_num_programs " + axis + " : i32");
      scalars_.push_back({"%" + std::string(axis), false});
    }
    // The program stores from %own on.
    line("%zy = arith.muli %z, %ny : i32");
    line("%plane = arith.addi %zy, %y : i32");
    line("%planes = arith.muli %plane, %nx : i32");
    line("%number = arith.addi %planes, %x : i32");
    line("%room = arith.constant " + std::to_string(kRoom) + " : i32");
    line("%from = arith.muli %number, %room : i32");
    line("%own = tt.addptr %p, %from : !tt.ptr<i64>, i32");
    line("%range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>");
    line("%many = tt.splat %own : !tt.ptr<i64> -> tensor<8x!tt.ptr<i64>>");
    for (int ops = 3 + below(8); ops > 0; --ops) op();
    for (int k = 0; k < kStored; ++k) store(k);
    return out_ + "    tt.return\n  }\n}\n";
  }

 private:
  struct Scalar {
    std::string name;
    bool wide;  // i64
  };

  int below(size_t n) { return static_cast<int>(random_() % n); }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  void line(const std::string& s) { out_ += "    " + s + "\n"; }

  Scalar as(Scalar s, bool wide) {
    if (s.wide == wide) return s;
    const std::string v = fresh();
    line(v + (wide ? " = arith.extsi " + s.name + " : i32 to i64"
                   : " = arith.trunci " + s.name + " : i64 to i32"));
    return {v, wide};
  }

  void op() {
    const bool wide = below(3) == 0;
    const Scalar x = as(scalars_[below(scalars_.size())], wide);
    const Scalar y = below(2) ? as(scalars_[below(scalars_.size())], wide)
                              : Scalar{wide       ? "%c"
                                       : below(2) ? "%a"
                                                  : "%b",
                                       wide};
    static const char* const kOps[] = {"addi", "subi", "muli"};
    const std::string v = fresh();
    line(v + " = arith." + kOps[below(3)] + " " + x.name + ", " + y.name + (wide ? " : i64" : " : i32"));
    scalars_.push_back({v, wide});
  }

  // A scalar, or a tile that lies from it on.
  void store(int k) {
    const Scalar s = scalars_[static_cast<size_t>(below(2) ? below(scalars_.size()) : scalars_.size() - 1)];
    const std::string at = fresh(), pointer = fresh();
    line(at + " = arith.constant " + std::to_string(k * kTile) + " : i32");
    if (below(2)) {
      line(pointer + " = tt.addptr %own, " + at + " : !tt.ptr<i64>, i32");
      line("tt.store " + pointer + ", " + as(s, true).name + " : !tt.ptr<i64>");
      return;
    }
    const std::string type = s.wide ? "tensor<8xi64>" : "tensor<8xi32>", ats = fresh(), places = fresh();
    line(ats + " = tt.splat " + at + " : i32 -> tensor<8xi32>");
    line(places + " = arith.addi " + ats + ", %range : tensor<8xi32>");
    line(pointer + " = tt.addptr %many, " + places + " : tensor<8x!tt.ptr<i64>>, tensor<8xi32>");
    std::string range = "%range", all = fresh(), value = fresh();
    if (s.wide) {
      range = fresh();
      line(range + " = arith.extsi %range : tensor<8xi32> to tensor<8xi64>");
    }
    line(all + " = tt.splat " + s.name + (s.wide ? " : i64" : " : i32") + " -> " + type);
    // The numbers of a product are further apart in each program than in the one before.
    line(value + " = arith." + (below(4) ? "addi " : "muli ") + all + ", " + range + " : " + type);
    if (!s.wide) {
      const std::string longer = fresh();
      line(longer + " = arith.extsi " + value + " : tensor<8xi32> to tensor<8xi64>");
      value = longer;
    }
    line("tt.store " + pointer + ", " + value + " : tensor<8x!tt.ptr<i64>>");
  }

  std::mt19937 random_;
  int next_ = 0;
  std::string out_;
  std::vector<Scalar> scalars_;
};

// `room`: elements that a program stores.
std::vector<int64_t> stored(const std::string& text, uint32_t seed, bool fuse, int room = kRoom) {
  auto module = ir::parse(text, "random.ttir");
  CHECK(module);
  if (!module) return {};
  tile::LoadOptions options;
  options.fuse = fuse;
  auto kernel = tile::load(std::make_shared<ir::Module>(std::move(module).value()), "", options);
  CHECK(kernel);
  if (!kernel) return {};
  static const std::array<int64_t, 3> kGrids[] = {{40, 1, 1}, {5, 4, 3}, {1, 30, 1},
                                                  {3, 1, 9},  {2, 2, 2}, {101, 2, 1}};
  std::mt19937 random(seed);
  exec::LaunchOptions launch;
  launch.threads = 1;
  launch.grid = kGrids[random() % std::size(kGrids)];
  std::vector<int64_t> data(static_cast<size_t>(launch.grid[0] * launch.grid[1] * launch.grid[2] * room), -1);
  // Small factors, and such that wrap for all programs but the first few, or for the last ones only.
  auto factor = [&] {
    static const int64_t kFactors[] = {0, 1, 1024, -7, 1 << 24, (1 << 30) + 5, -(1 << 29), 54000000};
    return kFactors[random() % std::size(kFactors)];
  };
  const int64_t a = factor(), b = factor(), c = factor() << random() % 36;
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(data.data()), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(a), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(b), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(c), {}}};
  exec::Allocation memory[] = {{reinterpret_cast<uint64_t>(data.data()), data.size() * 8, "p", true}};
  const auto error = kernel.value()->launch(launch, args, memory);
  CHECK(!error);
  if (error) fprintf(stderr, "%s\n", error->str().c_str());
  return data;
}

}  // namespace

TEST(values_by_place_are_the_same_where_they_wrap) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const std::string text = IdWriter(seed).text();
    const bool same = stored(text, seed, true) == stored(text, seed, false);
    CHECK(same);
    if (same) continue;
    fprintf(stderr, "seed %u:\n%s", seed, text.c_str());
    break;
  }
}

// More of them than an instruction has results.
TEST(any_number_of_values_by_place_is_stored) {
  for (const int count : {15, 16, 17, 40}) {
    std::string text = "module {\n  tt.func public @k(%p: !tt.ptr<i64>, %a: i32, %b: i32, %c: i64) {\n";
    const auto line = [&](const std::string& s) { text += "    " + s + "\n"; };
    for (const char* axis : {"x", "y", "z"}) {
      line("%" + std::string(axis) + " = tt.get_program_id " + axis + " : i32");
      line("%n" + std::string(axis) + " = tt.get_num_programs " + axis + " : i32");
    }
    line("%zy = arith.muli %z, %ny : i32");
    line("%plane = arith.addi %zy, %y : i32");
    line("%planes = arith.muli %plane, %nx : i32");
    line("%number = arith.addi %planes, %x : i32");
    line("%room = arith.constant " + std::to_string(count) + " : i32");
    line("%from = arith.muli %number, %room : i32");
    for (int k = 0; k < count; ++k) {
      const std::string n = std::to_string(k);
      line("%at" + n + " = arith.constant " + n + " : i32");
      line("%place" + n + " = arith.addi %from, %at" + n + " : i32");
      line("%value" + n + " = arith.extsi %place" + n + " : i32 to i64");
      line("%pointer" + n + " = tt.addptr %p, %place" + n + " : !tt.ptr<i64>, i32");
    }
    for (int k = 0; k < count; ++k)
      line("tt.store %pointer" + std::to_string(k) + ", %value" + std::to_string(k) + " : !tt.ptr<i64>");
    text += "    tt.return\n  }\n}\n";
    const std::vector<int64_t> found = stored(text, 0, true, count);
    CHECK(found.size() > 40);
    for (size_t i = 0; i < found.size(); ++i) CHECK_EQ(found[i], static_cast<int64_t>(i));
  }
}

// A sum that goes past 32 bits for the last program alone: along no two axes does it.
TEST(a_sum_that_wraps_at_the_last_program_only) {
  const std::string text = R"(module {
  tt.func public @k(%p: !tt.ptr<i64>, %a: i32, %b: i32, %c: i64) {
    %x = tt.get_program_id x : i32
    %y = tt.get_program_id y : i32
    %z = tt.get_program_id z : i32
    %nx = tt.get_num_programs x : i32
    %ny = tt.get_num_programs y : i32
    %zy = arith.muli %z, %ny : i32
    %plane = arith.addi %zy, %y : i32
    %planes = arith.muli %plane, %nx : i32
    %number = arith.addi %planes, %x : i32
    %place = tt.addptr %p, %number : !tt.ptr<i64>, i32
    %fx = arith.constant 182000000 : i32
    %fy = arith.constant 243000000 : i32
    %fz = arith.constant 365000000 : i32
    %mx = arith.muli %x, %fx : i32
    %my = arith.muli %y, %fy : i32
    %mz = arith.muli %z, %fz : i32
    %xy = arith.addi %mx, %my : i32
    %sum = arith.addi %xy, %mz : i32
    %value = arith.extsi %sum : i32 to i64
    tt.store %place, %value : !tt.ptr<i64>
    tt.return
  }
}
)";
  uint32_t seed = 0;
  std::vector<int64_t> found;
  while (found.size() != 60) found = stored(text, seed++, true, 1);  // a grid of 5 x 4 x 3
  CHECK_EQ(found.back(), int64_t{4 * 182000000 + 3 * 243000000} + 2 * 365000000 - (int64_t{1} << 32));
  CHECK(found == stored(text, seed - 1, false, 1));
}
