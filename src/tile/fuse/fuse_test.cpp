// Tests random kernels of elementwise ops, loads, stores, row reductions and loops over overlapping memory:
// fused and not, every byte and every trap must be the same.
#include "test.h"

#include <triton_runner/tile/tile.h>

#include <cstring>
#include <random>

#include <triton_runner/num/types.h>

using namespace triton_runner;

namespace {

// One kernel's text. Values are tiles of one shape; each is named by its number.
class Writer {
 public:
  explicit Writer(uint32_t seed) : random_(seed) {
    static const std::vector<std::vector<int>> kShapes = {{64},     {1024},   {8192},
                                                          {16, 64}, {64, 16}, {4, 8, 32}};
    shape_ = kShapes[below(kShapes.size())];
    n_ = 1;
    for (int s : shape_) n_ *= s;
  }

  std::string text() {
    head();
    int accesses = 2 + below(4);
    for (int i = 0; i < accesses; ++i) load();
    int ops = 2 + below(14);
    for (int i = 0; i < ops; ++i) {
      op();
      if (below(6) == 0) load();
      if (below(8) == 0) store(floats_.back());
      if (below(8) == 0) reduce(pick());
      if (below(12) == 0) sum_of_loop();
    }
    store(pick());
    reduce(pick());
    return out_ + "    tt.return\n  }\n}\n";
  }

  // Nothing but a masked row, what it is outside of the mask,
  // and reductions that go back to it: softmax and its like.
  std::string row_text() {
    shape_ = {below(2) ? 1024 : 64};
    n_ = shape_[0];
    head();
    static const char* const kOthers[] = {"0.000000e+00", "0xFF800000", "0x7FC00000", "-0.000000e+00",
                                          "1.500000e+00"};
    std::string now;  // every value goes into the next one: what nobody reads is kept as a whole tile
    auto next = [&](const std::string& text) {
      std::string v = fresh();
      line(v + " = " + text + " : " + tile("f32"));
      now = v;
    };
    for (int loads = 1 + below(2); loads > 0; --loads) {
      std::string p = pointers(), v = fresh(), other = fresh(), before = now;
      line(other + " = arith.constant dense<" + kOthers[below(5)] + "> : " + tile("f32"));
      line(v + " = tt.load " + p + (below(8) ? ", %inside, " + other : "") + " : " + tile("!tt.ptr<f32>"));
      now = v;
      if (!before.empty()) next("arith.subf " + before + ", " + v);
    }
    const std::string first = now;
    for (int rounds = 1 + below(3); rounds > 0; --rounds) {
      if (below(2)) next("arith.mulf " + now + ", %half");
      if (below(3) == 0) next("arith.maxnumf " + first + ", " + now);
      if (below(3) == 0) {
        std::string v = fresh();
        line(v + " = arith.select %inside, " + (below(2) ? now + ", %half" : "%half, " + now) + " : " +
             tile("i1") + ", " + tile("f32"));
        now = v;
      }
      if (below(2)) next("math.exp2 " + now);
      reduce(now);
      next((below(2) ? "arith.subf " : "arith.divf ") + now + ", " + floats_.back());
    }
    floats_.push_back(now);
    std::string p = pointers();
    line("tt.store " + p + ", " + floats_.back() + (below(4) ? ", %inside" : "") + " : " +
         tile("!tt.ptr<f32>"));
    return out_ + "    tt.return\n  }\n}\n";
  }

 private:
  uint32_t below(size_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string pick() { return floats_[below(floats_.size())]; }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  std::string tile(const std::string& element) const {
    std::string s = "tensor<";
    for (int d : shape_) s += std::to_string(d) + "x";
    return s + element + ">";
  }
  void line(const std::string& s) { out_ += "    " + s + "\n"; }
  std::string constant(int value) {
    std::string v = fresh();
    line(v + " = arith.constant dense<" + std::to_string(value) + "> : " + tile("i32"));
    return v;
  }

  // Row-major element numbers: affine along one dimension, and a sum over broadcast dimensions otherwise.
  void head() {
    out_ = "module {\n  tt.func public @k(%p: !tt.ptr<f32>, %limit: i32, %stride: i32, %trips: i32) {\n";
    line("%zero = arith.constant 0 : i32");
    line("%one = arith.constant 1 : i32");
    line("%pid = tt.get_program_id x : i32");
    line("%start = arith.muli %pid, %stride : i32");
    line("%from = tt.splat %start : i32 -> " + tile("i32"));
    at_ = "%from";
    int after = n_;
    for (size_t d = 0; d < shape_.size(); ++d) {
      after /= shape_[d];
      std::string size = std::to_string(shape_[d]), v = fresh(), type = "tensor<" + size + "xi32>";
      line(v + " = tt.make_range {end = " + size + " : i32, start = 0 : i32} : " + type);
      std::vector<int> now = {shape_[d]};
      for (size_t k = 0; k < shape_.size(); ++k) {
        if (k == d) continue;
        size_t axis = k < d ? k : now.size();
        now.insert(now.begin() + static_cast<ptrdiff_t>(axis), 1);
        std::string wider = "tensor<";
        for (int s : now) wider += std::to_string(s) + "x";
        std::string e = fresh();
        line(e + " = tt.expand_dims " + v + " {axis = " + std::to_string(axis) + " : i32} : " + type +
             " -> " + wider + "i32>");
        v = e;
        type = wider + "i32>";
      }
      if (shape_.size() > 1) {
        std::string e = fresh();
        line(e + " = tt.broadcast " + v + " : " + type + " -> " + tile("i32"));
        v = e;
      }
      std::string c = constant(after), scaled = fresh(), sum = fresh();
      line(scaled + " = arith.muli " + v + ", " + c + " : " + tile("i32"));
      line(sum + " = arith.addi " + at_ + ", " + scaled + " : " + tile("i32"));
      at_ = sum;
    }
    line("%limits = tt.splat %limit : i32 -> " + tile("i32"));
    line("%inside = arith.cmpi slt, " + at_ + ", %limits : " + tile("i32"));
    line("%base = tt.splat %p : !tt.ptr<f32> -> " + tile("!tt.ptr<f32>"));
    line("%half = arith.constant dense<5.000000e-01> : " + tile("f32"));
    floats_.push_back("%half");
  }

  // Regions that are equal, apart, or overlap by some elements.
  std::string pointers() {
    static const int kShifts[] = {0, 0, 0, 20000, 40000, 60000, 1, 7, 64, 20001, -3};
    std::string c = constant(kShifts[below(11)]), off = fresh(), p = fresh();
    line(off + " = arith.addi " + at_ + ", " + c + " : " + tile("i32"));
    line(p + " = tt.addptr %base, " + off + " : " + tile("!tt.ptr<f32>") + ", " + tile("i32"));
    return p;
  }

  void load() {
    std::string p = pointers(), v = fresh();
    std::string mask = below(2) ? ", %inside" : "";
    if (!mask.empty() && below(2)) mask += ", " + pick();
    line(v + " = tt.load " + p + mask + " : " + tile("!tt.ptr<f32>"));
    floats_.push_back(v);
  }

  void store(const std::string& value) {
    std::string p = pointers();
    line("tt.store " + p + ", " + value + (below(2) ? ", %inside" : "") + " : " + tile("!tt.ptr<f32>"));
  }

  void op() {
    std::string v = fresh(), a = pick(), b = pick();
    static const char* const kBinary[] = {"addf", "subf", "mulf", "maxnumf", "divf"};
    switch (below(8)) {
      case 0:
        line(v + " = math.exp2 " + a + " : " + tile("f32"));
        break;
      case 1: {
        std::string c = fresh();
        line(c + " = arith.cmpf olt, " + a + ", " + b + " : " + tile("f32"));
        line(v + " = arith.select " + c + ", " + a + ", " + pick() + " : " + tile("i1") + ", " + tile("f32"));
        break;
      }
      case 2:
        line(v + " = arith.select %inside, " + a + ", " + b + " : " + tile("i1") + ", " + tile("f32"));
        break;
      case 3: {
        std::string h = fresh();
        line(h + " = arith.truncf " + a + " : " + tile("f32") + " to " + tile("f16"));
        line(v + " = arith.extf " + h + " : " + tile("f16") + " to " + tile("f32"));
        break;
      }
      default:
        line(v + " = arith." + kBinary[below(5)] + " " + a + ", " + b + " : " + tile("f32"));
    }
    floats_.push_back(v);
  }

  // A loop that adds up what it loads, and what its sums add up to.
  void sum_of_loop() {
    std::string loop = fresh(), total = fresh(), sum = fresh();
    line(loop + " = scf.for %i" + loop.substr(1) + " = %zero to %trips step %one iter_args(" + total + " = " +
         pick() + ") -> (" + tile("f32") + ")  : i32 {");
    std::vector<std::string> outer = floats_;
    floats_.push_back(total);
    load();
    std::string loaded = floats_.back();
    for (int ops = below(3); ops > 0; --ops) op();
    line(sum + " = arith.addf " + total + ", " + (below(2) ? loaded : floats_.back()) + " : " + tile("f32"));
    line("scf.yield " + sum + " : " + tile("f32"));
    line("}");
    floats_ = std::move(outer);
    reduce(loop);
    if (below(6) == 0) floats_.push_back(loop);  // wanted as a whole too
  }

  // The last axis of a value; the result is used again where it can be broadcast.
  void reduce(const std::string& value) {
    if (shape_.size() > 2) return;
    const bool row = shape_.size() == 1;
    std::string rows = std::to_string(shape_[0]), r = fresh(), e = fresh(), v = fresh();
    line(r + " = \"tt.reduce\"(" + value + ") <{axis = " + (row ? "0" : "1") + " : i32}> ({");
    line("^bb0(%a: f32, %b: f32):");
    std::string s = fresh();
    line("  " + s + (below(2) ? " = arith.addf" : " = arith.maxnumf") + " %a, %b : f32");
    line("  tt.reduce.return " + s + " : f32");
    line("}) : (" + tile("f32") + ") -> " + (row ? "f32" : "tensor<" + rows + "xf32>"));
    floats_.push_back(v);
    if (row) return line(v + " = tt.splat " + r + " : f32 -> " + tile("f32"));
    line(e + " = tt.expand_dims " + r + " {axis = 1 : i32} : tensor<" + rows + "xf32> -> tensor<" + rows +
         "x1xf32>");
    line(v + " = tt.broadcast " + e + " : tensor<" + rows + "x1xf32> -> " + tile("f32"));
  }

  std::mt19937 random_;
  std::vector<int> shape_;
  int n_, next_ = 0;
  std::string out_, at_;
  std::vector<std::string> floats_;
};

constexpr uint32_t kSmallArray = 90000;

struct Outcome {
  std::vector<uint32_t> memory;
  std::string trap;
};

// `far`: in an array that is too large for the caches,
// which stores go past. `rows`: the mask ends in the row.
Outcome run(const std::string& text, uint32_t seed, bool fuse, bool far, bool rows) {
  static std::vector<float> small(kSmallArray), large(size_t{17} << 18);  // 17 MiB
  Outcome out;
  auto module = ir::parse(text, "random.ttir");
  if (!module) return {{}, module.error().str()};
  tile::LoadOptions options;
  options.fuse = fuse;
  auto kernel = tile::load(std::make_shared<ir::Module>(std::move(module).value()), "", options);
  if (!kernel) return {{}, kernel.error().str()};
  std::mt19937 random(seed);
  std::vector<float>& data = far ? large : small;
  const uint32_t n = kSmallArray;
  for (uint32_t i = 0; i < n; ++i) data[i] = static_cast<float>(random() % 2001) / 500 - 2;
  // Some launches end beyond the memory, or have fewer elements than the mask says.
  int64_t limit = random() % 3 ? 12000 : 5 + random() % 9000, stride = random() % 4 ? 1000 : 0;
  if (rows) limit = 1 + random() % 1100, stride = random() % 2 ? 0 : 40;
  const uint64_t trips = random() % 2 ? 1 : random() % 4;
  uint64_t bytes = random() % 3 ? n * 4 : 66000 * 4;
  if (far) bytes = data.size() * 4;
  exec::Argument args[] = {{exec::ParamKind::kPointer, reinterpret_cast<uint64_t>(data.data() + 8), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(limit), {}},
                           {exec::ParamKind::kInteger, static_cast<uint64_t>(stride), {}},
                           {exec::ParamKind::kInteger, trips, {}}};
  exec::Allocation memory[] = {{reinterpret_cast<uint64_t>(data.data()), bytes, "p", true}};
  exec::LaunchOptions launch;
  launch.threads = 1;
  launch.grid = {3, 1, 1};
  if (auto error = kernel.value()->launch(launch, args, memory)) {
    out.trap = error->str();
    // Addresses differ from run to run.
    if (size_t at = out.trap.find(" at 0x"); at != std::string::npos)
      out.trap.erase(at, out.trap.find_first_of(",:", at) - at);
  }
  out.memory.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    std::memcpy(&out.memory[i], &data[i], 4);
    if (data[i] != data[i]) out.memory[i] = 0x7fc00000;  // which NaN an op gives is not defined
  }
  return out;
}

}  // namespace

TEST(fused_kernels_give_the_same_bytes_and_traps) {
  int traps = 0;
  for (const char* isa : {"", "portable"}) {
    tile::force_isa(isa);
    for (uint32_t seed = 0; seed < (*isa ? 150u : 800u); ++seed) {
      const bool rows = seed % 3 == 0;
      std::string text = rows ? Writer(seed).row_text() : Writer(seed).text();
      const bool far = seed % 4 == 3;
      Outcome plain = run(text, seed, false, far, rows), fused = run(text, seed, true, far, rows);
      CHECK(!plain.memory.empty());
      CHECK_EQ(fused.trap, plain.trap);
      traps += !plain.trap.empty();
      bool same = fused.memory == plain.memory;
      CHECK(same);
      if (same && fused.trap == plain.trap && !plain.memory.empty()) continue;
      fprintf(stderr, "seed %u: %s\n%s", seed, plain.trap.c_str(), text.c_str());
      break;
    }
  }
  tile::force_isa("");
  CHECK(traps > 5);
}
