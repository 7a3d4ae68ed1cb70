// Integers of 64 and 128 bits, floats of 64 bits, conversions: what compilers make of plain arithmetic.
//
// run: wide u64[64] u64[65]=bits
// run: halves_of_128 u64[64] u64[65]=bits
// run: doubles f64[256] f64[65]=normal
// run: floats f32[256] f32[65]=normal
// run: conversions i64[128] f64[65]=normal
// run: switches i32[64] i32[64]=iota
// run: many i32[64] i32[64]=iota
typedef unsigned long long u64;
typedef long long i64;
extern "C" __global__ void wide(u64* out, const u64* in) {
  int t = threadIdx.x;
  u64 x = in[t], y = in[t + 1] | 1;
  i64 a = (i64)x, b = (i64)y;
  out[t] = x / y + x % y + (u64)(a / b) + (u64)(a % b) + (x << (y & 63)) + (x >> (y & 63)) + (u64)(a >> (y & 63)) + x * y;
}
extern "C" __global__ void halves_of_128(u64* out, const u64* in) {
  int t = threadIdx.x;
  unsigned __int128 x = ((unsigned __int128)in[t] << 64) | in[t + 1], y = in[t + 1] | 5;
  unsigned __int128 q = x / y, r = x % y, p = x * y, s = (unsigned __int128)((__int128)x >> 70);
  __int128 n = -(__int128)x / (i64)y;
  out[t] = (u64)(q ^ r ^ p ^ s) ^ (u64)((q + p) >> 64) ^ (u64)n ^ (u64)(n >> 64);
}
extern "C" __global__ void doubles(double* out, const double* in) {
  int t = threadIdx.x;
  double x = in[t], y = in[t + 1];
  out[4 * t] = fma(x, y, 1.0) + x / y;
  out[4 * t + 1] = sqrt(fabs(x)) + floor(y) + ceil(x) + trunc(y) + rint(x);
  out[4 * t + 2] = fmin(x, y) + fmax(x, y) + copysign(x, y) + (double)(float)x;
  out[4 * t + 3] = fmod(x, 0.7) + ldexp(x, 3) + (x < y ? x : y) * (x == y);
}
extern "C" __global__ void floats(float* out, const float* in) {
  int t = threadIdx.x;
  float x = in[t], y = in[t + 1];
  out[4 * t] = fmaf(x, y, 1.0f) + x / y;
  out[4 * t + 1] = sqrtf(fabsf(x)) + floorf(y) + ceilf(x) + truncf(y) + rintf(x);
  out[4 * t + 2] = fminf(x, y) + fmaxf(x, y) + copysignf(x, y);
  out[4 * t + 3] = fmodf(x, 0.7f) + ldexpf(x, 3) + (float)(int)(x * 1000);
}
extern "C" __global__ void conversions(i64* out, const double* in) {
  int t = threadIdx.x;
  double x = in[t] * 1000;
  out[2 * t] = (i64)x + (int)x + (short)(int)x + (signed char)(int)x + (i64)(unsigned)fabs(x) + (i64)(u64)fabs(x);
  out[2 * t + 1] = (i64)(float)x + (i64)((float)(i64)(x * 1e12)) + (i64)((double)(u64)fabs(x * 1e12)) + (i64)rint(x);
}
extern "C" __global__ void switches(int* out, const int* in) { int t = threadIdx.x, v; switch (in[t] % 9) { case 0: v = 3; break; case 1: v = t * 5; break; case 2: v = t ^ 77; break; case 3: v = -t; break; case 4: v = t << 3; break; case 5: v = t / 3; break; case 6: v = 19; break; case 7: v = t % 5; break; default: v = 1000; } out[t] = v; }
__device__ __noinline__ int work(int k, int t) { int s = 0; for (int i = 0; i < t; ++i) s = s * k + i; return s; }
extern "C" __global__ void many(int* out, const int* in) { int t = threadIdx.x, v; switch (in[t] % 9) { case 0: v = work(3, t); break; case 1: v = work(t, 9) + 1; break; case 2: v = work(1, t) ^ 5; break; case 3: v = work(2, 2) - 4; break; case 4: v = work(7, t) * 3; break; case 5: v = work(t, t); break; default: v = 0; } out[t] = v; }
