// Microbenchmarks of one GPU: what an instruction's result takes to be there, how often one can be issued, what memory gives.
//
//     nvcc -O3 -arch=sm_90a -o micro tests/gpu/timed/micro.cu && ./micro > micro.json
//
// Latencies are cycles of the SM's clock a link of a chain of dependent ones, by clock64 around 256 of them, the least of 5
// runs, in one warp. Rates are a count a cycle and SM. Bandwidths are bytes a cycle (of one SM) or a second (of all).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <string>
#include <vector>
#include <cuda_fp16.h>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    if (cudaError_t e = (call)) {                                                        \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e));                    \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (0)

constexpr int kLinks = 256;
bool first_line = true;

void print(const std::string& name, double value, const char* unit) {
  std::printf("%s\n  \"%s\": {\"value\": %.4f, \"unit\": \"%s\"}", first_line ? "{" : ",", name.c_str(), value, unit);
  first_line = false;
}

// ---- chains: each operation takes the one before

#define CHAIN(name, setup, link)                                          \
  __global__ void name(long long* out, int n, uint32_t* memory) {         \
    __shared__ uint32_t shared[4096];                                     \
    for (int i = threadIdx.x; i < 4096; i += blockDim.x) shared[i] = 0;   \
    __syncthreads();                                                      \
    setup;                                                                \
    _Pragma("unroll") for (int i = 0; i < 8; ++i) { link; }               \
    long long begin = clock64();                                          \
    _Pragma("unroll 1") for (int k = 0; k < kLinks / 32; ++k) {           \
      _Pragma("unroll") for (int i = 0; i < 32; ++i) { link; }            \
    }                                                                     \
    long long end = clock64();                                            \
    if (n == 12345) memory[threadIdx.x] = uint32_t(x);                    \
    if (threadIdx.x == 0) out[0] = end - begin + (n == 12345 ? uint32_t(x) : 0); \
  }

CHAIN(ffma, float x = float(n), asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x)))
CHAIN(imad, int x = n, asm volatile("mad.lo.s32 %0, %0, %0, %0;" : "+r"(x)))
CHAIN(iadd, int x = n, asm volatile("add.s32 %0, %0, %1;" : "+r"(x) : "r"(n)))
CHAIN(hfma2, uint32_t x = n, asm volatile("fma.rn.f16x2 %0, %0, %0, %0;" : "+r"(x)))
CHAIN(dfma, double x = double(n), asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(x)))
CHAIN(ex2, float x = float(n), asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(rsqrt, float x = float(n), asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(sine, float x = float(n), asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)))
CHAIN(popc, int x = n, asm volatile("popc.b32 %0, %0;" : "+r"(x)))
CHAIN(flo, int x = n, asm volatile("bfind.u32 %0, %0;" : "+r"(x)))
CHAIN(f2i_i2f, int x = n, asm volatile("{.reg .f32 f; cvt.rn.f32.s32 f, %0; cvt.rzi.s32.f32 %0, f;}" : "+r"(x)))
CHAIN(f2f64, float x = float(n), asm volatile("{.reg .f64 d; cvt.f64.f32 d, %0; cvt.rn.f32.f64 %0, d;}" : "+f"(x)))
CHAIN(shfl, int x = threadIdx.x, asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, -1;" : "+r"(x)))
CHAIN(vote, int x = n, asm volatile("{.reg .pred p; setp.ne.s32 p, %0, 7; vote.sync.ballot.b32 %0, p, -1;}" : "+r"(x)))
CHAIN(redux, int x = n, asm volatile("redux.sync.add.s32 %0, %0, -1;" : "+r"(x)))
CHAIN(lds, uint32_t x = uint32_t(__cvta_generic_to_shared(shared)); const uint32_t base = x,
      asm volatile("{.reg .b32 t; ld.shared.b32 t, [%0]; add.u32 %0, t, %1;}" : "+r"(x) : "r"(base)))
CHAIN(lds128, uint32_t x = uint32_t(__cvta_generic_to_shared(shared)) + threadIdx.x * 16; const uint32_t base = x,
      asm volatile("{.reg .b32 t, u, v, w; ld.shared.v4.b32 {t, u, v, w}, [%0]; add.u32 %0, w, %1;}" : "+r"(x) : "r"(base)))
CHAIN(ldmatrix, uint32_t x = uint32_t(__cvta_generic_to_shared(shared)) + threadIdx.x * 16; const uint32_t base = x,
      asm volatile("{.reg .b32 t, u, v, w; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {t, u, v, w}, [%0]; add.u32 %0, w, %1;}"
                   : "+r"(x) : "r"(base)))
CHAIN(atoms, uint32_t x = uint32_t(__cvta_generic_to_shared(shared)) + threadIdx.x * 4; const uint32_t base = x,
      asm volatile("{.reg .b32 t; atom.shared.add.u32 t, [%0], 0; add.u32 %0, t, %1;}" : "+r"(x) : "r"(base)))
CHAIN(atomg, uint32_t x = 0; memory += threadIdx.x,
      asm volatile("{.reg .b64 a; mad.wide.u32 a, %0, 4, %1; atom.global.add.u32 %0, [a], 0;}" : "+r"(x) : "l"(memory)))
CHAIN(sts_lds, uint32_t x = uint32_t(__cvta_generic_to_shared(shared)) + threadIdx.x * 4; const uint32_t base = x,
      asm volatile("{.reg .b32 t; st.volatile.shared.b32 [%0], 0; ld.volatile.shared.b32 t, [%0]; add.u32 %0, t, %1;}" : "+r"(x) : "r"(base)
                   : "memory"))
CHAIN(bar, int x = n, asm volatile("bar.sync 0;" : "+r"(x)))
CHAIN(ldc, uint32_t x = 0, x = __ldg(memory + x))
CHAIN(mma_f16, float x = float(n); float y = x; float z = x; float w = x,
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                   : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "r"(n)))
CHAIN(mma_tf32, float x = float(n); float y = x; float z = x; float w = x,
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                   : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "r"(n)))
CHAIN(mma_s8, int x = n; int y = x; int z = x; int w = x,
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                   : "+r"(x), "+r"(y), "+r"(z), "+r"(w) : "r"(n)))
CHAIN(dmma, double x = double(n); double y = x,
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%2}, {%0,%1};" : "+d"(x), "+d"(y) : "d"(1.0)))

using Chain = void (*)(long long*, int, uint32_t*);

long long* out;
uint32_t* memory;

double cycles(Chain chain, int blocks, int threads) {
  long long best = 1ll << 60, now;
  for (int i = 0; i < 5; ++i) {
    chain<<<blocks, threads>>>(out, 0, memory);
    CHECK(cudaMemcpy(&now, out, 8, cudaMemcpyDeviceToHost));
    best = std::min(best, now);
  }
  return double(best) / kLinks;
}

// ---- rates: several warps of independent ones

#define RATE(name, type, setup, op)                                                        \
  __global__ void name(long long* out, int n, uint32_t* memory) {                          \
    __shared__ uint32_t shared[8192];                                                      \
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) shared[i] = 0;                    \
    type x[8];                                                                             \
    for (int i = 0; i < 8; ++i) x[i] = type(n + i);                                        \
    setup;                                                                                 \
    __syncthreads();                                                                       \
    long long begin = clock64();                                                           \
    _Pragma("unroll 1") for (int k = 0; k < 512; ++k) {                                     \
      _Pragma("unroll") for (int i = 0; i < 8; ++i) { op; }                                \
    }                                                                                      \
    __syncthreads();                                                                       \
    long long end = clock64();                                                             \
    type sum = 0;                                                                          \
    for (int i = 0; i < 8; ++i) sum += x[i];                                               \
    if (n == 12345) memory[threadIdx.x] = uint32_t(sum);                                   \
    if (threadIdx.x == 0) out[0] = end - begin;                                            \
  }
// Loads are volatile, and their results are used: the assembler merges and leaves out others.
#define SHARED_AT uint32_t at = uint32_t(__cvta_generic_to_shared(shared))

RATE(r_ffma, float, , asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x[i])))
RATE(r_imad, int, , asm volatile("mad.lo.s32 %0, %0, %0, %0;" : "+r"(x[i])))
RATE(r_iadd, int, , asm volatile("add.s32 %0, %0, %1;" : "+r"(x[i]) : "r"(n)))
RATE(r_lop, int, , asm volatile("xor.b32 %0, %0, %1;" : "+r"(x[i]) : "r"(n)))
RATE(r_dfma, double, , asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(x[i])))
RATE(r_ex2, float, , asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i])))
RATE(r_cvt, int, , asm volatile("{.reg .f32 f; cvt.rn.f32.s32 f, %0; mov.b32 %0, f;}" : "+r"(x[i])))
RATE(r_popc, int, , asm volatile("popc.b32 %0, %0;" : "+r"(x[i])))
RATE(r_shfl, int, , asm volatile("shfl.sync.idx.b32 %0, %0, %0, 31, -1;" : "+r"(x[i])))
RATE(r_lds, int, SHARED_AT + threadIdx.x % 32 * 4, asm volatile("{.reg .b32 t; ld.volatile.shared.b32 t, [%1]; xor.b32 %0, %0, t;}" : "+r"(x[i]) : "r"(at + 4096 * i)))
RATE(r_lds2, int, SHARED_AT + threadIdx.x % 32 * 8, asm volatile("{.reg .b32 t; ld.volatile.shared.b32 t, [%1]; xor.b32 %0, %0, t;}" : "+r"(x[i]) : "r"(at + 4096 * i)))
RATE(r_lds8, int, SHARED_AT + threadIdx.x % 32 * 32, asm volatile("{.reg .b32 t; ld.volatile.shared.b32 t, [%1]; xor.b32 %0, %0, t;}" : "+r"(x[i]) : "r"(at + 4096 * i)))
RATE(r_lds32, int, SHARED_AT + threadIdx.x % 32 * 128, asm volatile("{.reg .b32 t; ld.volatile.shared.b32 t, [%1]; xor.b32 %0, %0, t;}" : "+r"(x[i]) : "r"(at + 4096 * i)))
RATE(r_lds128, int, SHARED_AT + threadIdx.x % 32 * 16,
     asm volatile("{.reg .b32 t, a, b, c; ld.volatile.shared.v4.b32 {t, a, b, c}, [%1]; lop3.b32 %0, t, a, b, 0x96; xor.b32 %0, %0, c;}" : "+r"(x[i]) : "r"(at + 512 * i)))
RATE(r_sts, int, SHARED_AT + threadIdx.x % 32 * 4, asm volatile("st.shared.b32 [%1], %0;" :: "r"(x[i]), "r"(at + 4096 * i) : "memory"))
RATE(r_sts128, int, SHARED_AT + threadIdx.x % 32 * 16,
     asm volatile("st.shared.v4.b32 [%1], {%0, %0, %0, %0};" :: "r"(x[i]), "r"(at + 512 * i) : "memory"))
RATE(r_ldmatrix, int, SHARED_AT + threadIdx.x % 32 * 16,
     asm volatile("{.reg .b32 t, a, b, c; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {t, a, b, c}, [%1]; lop3.b32 %0, t, a, b, 0x96; xor.b32 %0, %0, c;}" : "+r"(x[i]) : "r"(at + 512 * i)))
RATE(r_atoms, int, SHARED_AT + threadIdx.x * 4, asm volatile("{.reg .b32 t; atom.shared.add.u32 t, [%1], 1; xor.b32 %0, %0, t;}" : "+r"(x[i]) : "r"(at)))
RATE(r_mma_f16, float, float y = 0; float z = 0; float w = 0,
     asm volatile("{.reg .f32 a, b, c; mov.f32 a, %0; mov.f32 b, %0; mov.f32 c, %0; "
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,a,b,c}, {%1,%1,%1,%1}, {%1,%1}, {%0,a,b,c};}"
                  : "+f"(x[i]) : "r"(n)))

double rate(Chain kernel, int threads, int blocks = 1) {
  long long best = 1ll << 60, now;
  for (int i = 0; i < 5; ++i) {
    kernel<<<blocks, threads>>>(out, 0, memory);
    CHECK(cudaMemcpy(&now, out, 8, cudaMemcpyDeviceToHost));
    best = std::min(best, now);
  }
  return 4096.0 * (threads / 32) / double(best);  // warp instructions a cycle
}

// ---- memory: chases, copies

__global__ void chase(const uint64_t* at, int links, long long* out, uint64_t* end) {
  for (int i = 0; i < links / 4; ++i) at = reinterpret_cast<const uint64_t*>(*at);
  long long begin = clock64();
  for (int i = 0; i < links; ++i) {
    uint64_t next;
    asm volatile("ld.global.ca.b64 %0, [%1];" : "=l"(next) : "l"(at));
    at = reinterpret_cast<const uint64_t*>(next);
  }
  out[0] = clock64() - begin;
  *end = uint64_t(at);
}

double chased(size_t bytes, size_t step, int links) {
  uint64_t *list, *end;
  CHECK(cudaMalloc(&list, bytes));
  CHECK(cudaMalloc(&end, 8));
  const size_t n = bytes / step;
  std::vector<uint64_t> next(bytes / 8);
  std::vector<size_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = i;
  uint64_t seed = 1;
  for (size_t i = n - 1; i > 0; --i) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    std::swap(order[i], order[(seed >> 33) % (i + 1)]);
  }
  for (size_t i = 0; i < n; ++i)
    next[order[i] * step / 8] = uint64_t(list) + order[(i + 1) % n] * step;
  CHECK(cudaMemcpy(list, next.data(), bytes, cudaMemcpyHostToDevice));
  long long now, best = 1ll << 60;
  // What is larger than L2 is walked once, and all of it but what the copy left in L2 comes from memory.
  for (int i = 0; i < (bytes > (size_t{100} << 20) ? 1 : 3); ++i) {
    chase<<<1, 1>>>(list, links, out, end);
    CHECK(cudaMemcpy(&now, out, 8, cudaMemcpyDeviceToHost));
    best = std::min(best, now);
  }
  cudaFree(list), cudaFree(end);
  return double(best) / links;
}

__global__ void read_all(const uint4* in, size_t n, uint32_t* end) {
  uint32_t sum = 0;
  const size_t step = size_t(gridDim.x) * blockDim.x;
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 7 * step < n; i += 8 * step) {
    uint4 v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                                             : "=r"(v[k].x), "=r"(v[k].y), "=r"(v[k].z), "=r"(v[k].w) : "l"(in + i + k * step));
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (sum == 0x12345678) *end = sum;
}

__global__ void write_all(uint4* to, size_t n) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) to[i] = uint4{1, 2, 3, 4};
}

__global__ void copy_all(const uint4* in, uint4* to, size_t n) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) to[i] = in[i];
}

template <typename F>
double seconds(F&& launch, int times = 5) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  float best = 1e30f, now;
  launch();
  for (int i = 0; i < times; ++i) {
    cudaEventRecord(begin);
    launch();
    cudaEventRecord(end);
    CHECK(cudaEventSynchronize(end));
    cudaEventElapsedTime(&now, begin, end);
    best = std::min(best, now);
  }
  return best * 1e-3;
}

// ---- the copy engine: a plain copy, and how long its mbarrier takes to be told

__global__ void bulk(const char* in, uint32_t bytes, long long* out) {
  extern __shared__ __align__(128) char to[];
  __shared__ __align__(8) uint64_t bar;
  const uint32_t b = uint32_t(__cvta_generic_to_shared(&bar)), t = uint32_t(__cvta_generic_to_shared(to));
  asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(b));
  long long best = 1ll << 60;
  for (uint32_t phase = 0; phase < 16; ++phase) {
    long long begin = clock64();
    asm volatile("{.reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1;}" ::"r"(b), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(t), "l"(in),
                 "r"(bytes), "r"(b) : "memory");
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again;}" ::"r"(b),
                 "r"(phase & 1) : "memory");
    best = min(best, clock64() - begin);
  }
  out[0] = best;
}

int main() {
  CHECK(cudaMalloc(&out, 64));
  CHECK(cudaMalloc(&memory, size_t{1} << 30));
  CHECK(cudaMemset(memory, 0, size_t{1} << 30));
  cudaDeviceProp props;
  CHECK(cudaGetDeviceProperties(&props, 0));
  print("sms", props.multiProcessorCount, "SMs");
  print("l2", props.l2CacheSize, "bytes");
#define LATENCY(name) print(#name, cycles(name, 1, 32), "cycles")
  LATENCY(ffma); LATENCY(imad); LATENCY(iadd); LATENCY(hfma2); LATENCY(dfma); LATENCY(ex2); LATENCY(rsqrt); LATENCY(sine);
  LATENCY(popc); LATENCY(flo); LATENCY(f2i_i2f); LATENCY(f2f64); LATENCY(shfl); LATENCY(vote); LATENCY(redux);
  LATENCY(lds); LATENCY(lds128); LATENCY(ldmatrix); LATENCY(atoms); LATENCY(atomg); LATENCY(sts_lds); LATENCY(ldc);
  LATENCY(mma_f16); LATENCY(mma_tf32); LATENCY(mma_s8); LATENCY(dmma);
  for (int warps : {1, 2, 4, 8, 16, 32}) print("bar " + std::to_string(warps), cycles(bar, 1, 32 * warps), "cycles");
#define RATES(name) \
  for (int warps : {1, 4, 8, 16, 32}) print(#name " " + std::to_string(warps), rate(name, 32 * warps), "warps/cycle/SM")
  RATES(r_ffma); RATES(r_imad); RATES(r_iadd); RATES(r_lop); RATES(r_dfma); RATES(r_ex2); RATES(r_cvt); RATES(r_popc);
  RATES(r_shfl); RATES(r_lds); RATES(r_lds2); RATES(r_lds8); RATES(r_lds32); RATES(r_lds128); RATES(r_sts); RATES(r_sts128);
  RATES(r_ldmatrix); RATES(r_atoms); RATES(r_mma_f16);
  for (size_t kib : {8, 64, 128, 512, 4096, 16384, 24576, 32768, 49152, 65536, 262144, 1048576})
    print("chase " + std::to_string(kib) + " KiB", chased(kib << 10, kib < 4096 ? 128 : 256, 4096), "cycles");
  print("chase 1 GiB by 4 KiB", chased(size_t{1} << 30, 4096 + 128, 4096), "cycles");
  for (size_t mib : {8, 16, 24, 32, 48, 96, 1024}) {
    const size_t n = (mib << 20) / 16;
    const double s = seconds([&] { for (int i = 0; i < 8; ++i) read_all<<<132 * 4, 512>>>((uint4*)memory, n, memory); }) / 8;
    print("read " + std::to_string(mib) + " MiB", double(mib << 20) / s, "bytes/s");
  }
  const size_t n = (size_t{256} << 20) / 16;
  for (int sms : {1, 2, 4, 8, 16, 32, 64, 96, 132}) {
    print("read 256 MiB by " + std::to_string(sms) + " SMs",
          double(n * 16) / seconds([&] { read_all<<<sms, 1024>>>((uint4*)memory, n, memory); }, 2), "bytes/s");
    print("read 16 MiB by " + std::to_string(sms) + " SMs",
          double(16 << 20) / seconds([&] { read_all<<<sms, 1024>>>((uint4*)memory, (16 << 20) / 16, memory); }, 4), "bytes/s");
  }
  print("write 256 MiB", double(n * 16) / seconds([&] { write_all<<<132 * 8, 512>>>((uint4*)memory, n); }), "bytes/s");
  print("copy 256 MiB", double(2 * n * 16) / seconds([&] { copy_all<<<132 * 8, 512>>>((uint4*)memory, (uint4*)memory + n, n); }),
        "bytes/s");
  CHECK(cudaFuncSetAttribute(bulk, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  for (uint32_t bytes : {16u, 128u, 1024u, 4096u, 16384u, 65536u}) {
    bulk<<<1, 1, 65536>>>((char*)memory, bytes, out);
    long long now;
    CHECK(cudaMemcpy(&now, out, 8, cudaMemcpyDeviceToHost));
    print("bulk copy " + std::to_string(bytes), double(now), "cycles");
  }
  CHECK(cudaDeviceSynchronize());
  std::printf("\n}\n");
  return 0;
}
