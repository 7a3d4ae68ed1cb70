// Micro benchmarks of the numeric kernels: ns an element or GFLOP/s, best of several runs on one thread.
//
//   num_bench [part-of-name ...]      e.g. num_bench dot exp
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <triton_runner/num/dot.h>
#include <triton_runner/num/elementwise.h>
#include <triton_runner/num/kernels.h>
#include <triton_runner/num/reduce.h>

using namespace triton_runner::num;

namespace {

double best_seconds(const std::function<void()>& body) {
  // The thread's own time: a busy machine preempts whole rounds of wall time.
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  int repeats = 1;
  double best = 1e9;
  for (int round = 0; round < 12; ++round) {
    double start = now();
    for (int i = 0; i < repeats; ++i) body();
    double seconds = now() - start;
    if (seconds < 2e-3 && round < 4) {
      repeats = std::max(repeats * 2, static_cast<int>(repeats * 3e-3 / (seconds + 1e-9)));
      continue;
    }
    best = std::min(best, seconds / repeats);
  }
  return best;
}

struct Bench {
  std::vector<std::string> wanted;
  bool runs(const std::string& name) const {
    return wanted.empty() ||
           std::any_of(wanted.begin(), wanted.end(), [&](auto& w) { return name.find(w) != name.npos; });
  }
  void time(const std::string& name, double count, const char* unit,
            const std::function<void()>& body) const {
    if (!runs(name)) return;
    double seconds = best_seconds(body);
    if (std::strcmp(unit, "GFLOP/s") == 0)
      std::printf("%-34s %10.1f GFLOP/s %10.2f us\n", name.c_str(), count / seconds * 1e-9, seconds * 1e6);
    else
      std::printf("%-34s %10.1f ns %10.3f ns/element\n", name.c_str(), seconds * 1e9, seconds * 1e9 / count);
  }
};

// Cache-line aligned storage, as the engine's tiles have.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64)); }
  void deallocate(T* p, size_t) { std::free(p); }
  bool operator==(const Aligned&) const { return true; }
};
template <class T>
using Array = std::vector<T, Aligned<T>>;

Array<char> random_elements(Type type, int64_t n, double low, double high) {
  std::mt19937_64 random(1);
  Array<char> bytes(static_cast<size_t>(n) * size_of(type));
  for (int64_t i = 0; i < n; ++i) {
    double x = low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
    uint64_t bits = is_float(type) ? from_double(x, type) : static_cast<uint64_t>(static_cast<int64_t>(x));
    store_bits(bytes.data() + i * static_cast<int64_t>(size_of(type)), type, bits);
  }
  return bytes;
}

void elementwise(const Bench& bench, const std::string& isa) {
  constexpr int64_t n = 1024;
  struct Row {
    const char* name;
    Type in, out;
    double low, high;
  };
  const Row rows[] = {
      {"addf", Type::kF32, Type::kF32, -1, 1},      {"addf", Type::kF16, Type::kF16, -1, 1},
      {"addf", Type::kBF16, Type::kBF16, -1, 1},    {"divf", Type::kF32, Type::kF32, 1, 2},
      {"maxnumf", Type::kF32, Type::kF32, -1, 1},   {"cmpf_olt", Type::kF32, Type::kI1, -1, 1},
      {"select", Type::kF32, Type::kF32, 0, 1},     {"addi", Type::kI32, Type::kI32, 1, 100},
      {"muli", Type::kI32, Type::kI32, 1, 100},     {"divsi", Type::kI32, Type::kI32, 1, 100},
      {"cmpi_slt", Type::kI32, Type::kI1, 0, 99},   {"extsi", Type::kI32, Type::kI64, 0, 99},
      {"extf", Type::kF16, Type::kF32, -1, 1},      {"truncf", Type::kF32, Type::kF16, -1, 1},
      {"truncf", Type::kF32, Type::kBF16, -1, 1},   {"truncf", Type::kF32, Type::kF8E4M3FN, -1, 1},
      {"extf", Type::kF8E4M3FN, Type::kF32, -1, 1}, {"sitofp", Type::kI32, Type::kF32, 0, 99},
      {"exp", Type::kF32, Type::kF32, -10, 10},     {"exp2", Type::kF32, Type::kF32, -10, 10},
      {"log", Type::kF32, Type::kF32, 0, 10},       {"log2", Type::kF32, Type::kF32, 0, 10},
      {"sin", Type::kF32, Type::kF32, -9, 9},       {"cos", Type::kF32, Type::kF32, -9, 9},
      {"tanh", Type::kF32, Type::kF32, -3, 3},      {"erf", Type::kF32, Type::kF32, -3, 3},
      {"sqrt", Type::kF32, Type::kF32, 0, 9},       {"rsqrt", Type::kF32, Type::kF32, 1, 9},
      {"asin", Type::kF32, Type::kF32, -1, 1},      {"exp", Type::kF64, Type::kF64, -10, 10},
      {"log", Type::kF64, Type::kF64, 0, 10},       {"sin", Type::kF64, Type::kF64, -9, 9},
      {"fma", Type::kF32, Type::kF32, -1, 1}};
  for (const Row& row : rows) {
    Kernel kernel = find_elementwise(row.name)->kernel(row.in, row.out);
    auto x = random_elements(row.in, n, row.low, row.high), y = random_elements(row.in, n, row.low, row.high);
    auto mask = random_elements(Type::kI8, n, 0, 2);
    Array<char> out(n * 8);
    const void* in[] = {x.data(), y.data(), x.data()};
    if (std::strcmp(row.name, "select") == 0) in[0] = mask.data();
    bench.time(isa + " " + row.name + " " + std::string(type_name(row.in)), n, "ns",
               [&] { kernel.run(out.data(), in, 0, n); });
  }
}

void dots(const Bench& bench, const std::string& isa) {
  struct Row {
    Type type;
    int64_t m, n, k;
    bool a_columns, b_columns;
  };
  for (Row r :
       {Row{Type::kF16, 64, 64, 32, false, false}, Row{Type::kF16, 128, 128, 32, false, false},
        Row{Type::kF16, 128, 256, 64, false, false}, Row{Type::kF16, 64, 64, 64, false, true},
        Row{Type::kF16, 128, 64, 64, false, true}, Row{Type::kF16, 64, 64, 32, true, false},
        Row{Type::kF16, 32, 32, 32, false, false}, Row{Type::kF16, 16, 16, 16, false, false},
        Row{Type::kBF16, 64, 64, 32, false, false}, Row{Type::kF32, 64, 64, 32, false, false},
        Row{Type::kTF32, 64, 64, 32, false, false}, Row{Type::kF8E5M2, 64, 64, 32, false, false},
        Row{Type::kF8E4M3FN, 128, 128, 64, false, false}, Row{Type::kF64, 64, 64, 32, false, false}}) {
    auto a = random_elements(r.type, r.m * r.k, -1, 1), b = random_elements(r.type, r.k * r.n, -1, 1);
    Array<double> c(static_cast<size_t>(r.m * r.n));
    MatrixView av{a.data(), r.type, r.a_columns ? 1 : r.k, r.a_columns ? r.m : 1},
        bv{b.data(), r.type, r.b_columns ? 1 : r.n, r.b_columns ? r.k : 1};
    std::string name = isa + " dot " + std::string(type_name(r.type)) + " " + std::to_string(r.m) + "x" +
                       std::to_string(r.n) + "x" + std::to_string(r.k) + (r.a_columns ? " aT" : "") +
                       (r.b_columns ? " bT" : "");
    bench.time(name, 2.0 * static_cast<double>(r.m * r.n * r.k), "GFLOP/s", [&] {
      if (r.type == Type::kF64)
        dot_f64(c.data(), r.n, av, bv, r.m, r.n, r.k);
      else
        dot_f32(reinterpret_cast<float*>(c.data()), r.n, av, bv, r.m, r.n, r.k);
    });
  }
  for (Bf16Unit unit : {Bf16Unit::kPairs, Bf16Unit::kTiles}) {  // mma="fast", where the machine has it
    auto a = random_elements(Type::kBF16, 64 * 32, -1, 1), b = random_elements(Type::kBF16, 32 * 64, -1, 1);
    Array<float> c(64 * 64);
    auto dot = [&] {
      return dot_bf16_fast(c.data(), 64, MatrixView{a.data(), Type::kBF16, 32, 1},
                           MatrixView{b.data(), Type::kBF16, 64, 1}, 64, 64, 32, {}, unit);
    };
    const char* name = unit == Bf16Unit::kPairs ? " dot bf16 64x64x32 AVX512_BF16" : " dot bf16 64x64x32 AMX";
    if (dot()) bench.time(isa + name, 2.0 * 64 * 64 * 32, "GFLOP/s", dot);
  }
  {  // operands in registers and L1, nothing packed: what the multiply-adds alone reach
    auto a = random_elements(Type::kF32, 6 * 96, -1, 1), b = random_elements(Type::kF32, 96 * 64, -1, 1);
    Array<float> c(6 * 64);
    bench.time(isa + " dot f32 6x64x96 (peak)", 2.0 * 6 * 64 * 96, "GFLOP/s", [&] {
      dot_f32(c.data(), 64, MatrixView{a.data(), Type::kF32, 96, 1}, MatrixView{b.data(), Type::kF32, 64, 1},
              6, 64, 96);
    });
  }
  auto a = random_elements(Type::kI8, 64 * 64, -100, 100);
  Array<int32_t> c(64 * 64);
  MatrixView view{a.data(), Type::kI8, 64, 1};
  bench.time(isa + " dot i8 64x64x64", 2.0 * 64 * 64 * 64, "GFLOP/s",
             [&] { dot_i32(c.data(), 64, view, view, 64, 64, 64); });
}

void reductions(const Bench& bench, const std::string& isa) {
  auto x = random_elements(Type::kF32, 64 * 1024, -1, 1);
  Array<float> out(64 * 1024);
  Array<int32_t> index(64 * 1024), out_index(1024);
  std::iota(index.data(), index.data() + 64 * 1024, 0);
  ReduceFn sum = reduce_fn(ReduceOp::kAddF, Type::kF32), max = reduce_fn(ReduceOp::kMaxNum, Type::kF32);
  ScanFn scan = scan_fn(ReduceOp::kAddF, Type::kF32);
  ArgReduceFn argmax = arg_reduce_fn(ArgOp::kMaxF, Type::kF32);
  bench.time(isa + " sum 1024", 1024, "ns", [&] { sum(out.data(), x.data(), 1, 1024, 1); });
  bench.time(isa + " max 1024", 1024, "ns", [&] { max(out.data(), x.data(), 1, 1024, 1); });
  bench.time(isa + " sum 64x64 rows", 4096, "ns", [&] { sum(out.data(), x.data(), 64, 64, 1); });
  bench.time(isa + " max 64x32 rows", 2048, "ns", [&] { max(out.data(), x.data(), 64, 32, 1); });
  bench.time(isa + " sum 64x64 columns", 4096, "ns", [&] { sum(out.data(), x.data(), 1, 64, 64); });
  bench.time(isa + " cumsum 1024", 1024, "ns", [&] { scan(out.data(), x.data(), 1, 1024, 1, false); });
  bench.time(isa + " cumsum 64x64 columns", 4096, "ns",
             [&] { scan(out.data(), x.data(), 1, 64, 64, false); });
  bench.time(isa + " argmax 1024", 1024, "ns",
             [&] { argmax(out.data(), out_index.data(), x.data(), index.data(), 1, 1024, 1, true); });
}

void movement(const Bench& bench, const std::string& isa) {
  constexpr int64_t n = 1024;
  auto x = random_elements(Type::kF32, 64 * 64, -1, 1);
  Array<float> out(64 * 64);
  Array<int32_t> offsets(n);
  Array<uint64_t> addresses(n);
  std::iota(offsets.data(), offsets.data() + n, 0);
  addresses_i32(addresses.data(), reinterpret_cast<uint64_t>(x.data()), offsets.data(), n, 4);
  Array<uint8_t> mask(n, 1);
  uint64_t low, high;
  bench.time(isa + " addptr", n, "ns",
             [&] { addptr_i32(addresses.data(), addresses.data(), offsets.data(), n, 0); });
  bench.time(isa + " contiguous", n, "ns", [&] {
    if (!contiguous(addresses.data(), n, 4)) std::abort();
  });
  bench.time(isa + " address_range masked", n, "ns",
             [&] { address_range(addresses.data(), mask.data(), n, &low, &high); });
  bench.time(isa + " gather", n, "ns", [&] { gather(out.data(), addresses.data(), nullptr, n, 4); });
  bench.time(isa + " gather masked", n, "ns",
             [&] { gather(out.data(), addresses.data(), mask.data(), n, 4); });
  bench.time(isa + " scatter masked", n, "ns",
             [&] { scatter(addresses.data(), out.data(), mask.data(), n, 4); });
  bench.time(isa + " transpose 64x64 f32", 4096, "ns",
             [&] { transpose(out.data(), 64, x.data(), 64, 64, 64, 4); });
  bench.time(isa + " transpose 64x64 f16", 4096, "ns",
             [&] { transpose(out.data(), 64, x.data(), 64, 64, 64, 2); });
  bench.time(isa + " mask_all", n, "ns", [&] {
    if (!mask_all(mask.data(), n)) std::abort();
  });
  bench.time(isa + " repeat column 64x64", 4096, "ns", [&] { repeat(out.data(), x.data(), 64, 64, 1, 4); });
}

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  for (int i = 1; i < argc; ++i) bench.wanted.push_back(argv[i]);
  for (const char* isa : {"avx512", "avx2", "portable"}) {
    if (!force_isa(isa)) continue;
    elementwise(bench, isa);
    reductions(bench, isa);
    movement(bench, isa);
    dots(bench, isa);
  }
}
