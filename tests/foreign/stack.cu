// Arrays of a thread, structures as arguments and results, addresses of local memory.
//
// run: local_array i32[64] 3
// run: generic_local i32[64] 5
// run: structs f64[64]
extern "C" __global__ void local_array(int* out, int k) {
  int a[16], t = threadIdx.x;
  for (int i = 0; i < 16; ++i) a[i] = i * t;
  a[(t * 5 + k) & 15] += 1000;
  int s = 0;
  for (int i = 0; i < 16; ++i) s = s * 3 + a[(i * 7 + k) & 15];
  out[t] = s;
}
__device__ __noinline__ void fill(char* p, int n, int v) { for (int i = 0; i < n; ++i) p[i] = (char)(v + i); }
extern "C" __global__ void generic_local(int* out, int n) {
  char b[40]; int t = threadIdx.x;
  fill(b, 40, t + n);
  int s = 0; for (int i = 0; i < 40; ++i) s = s * 5 + b[i];
  out[t] = s;
}
struct Big { double d; int v[9]; char c; };
__device__ __noinline__ Big make(int t) { Big b; b.d = t * 0.5; for (int i = 0; i < 9; ++i) b.v[i] = t * i; b.c = (char)t; return b; }
__device__ __noinline__ double eat(Big b, short s, char c, bool f) { double r = b.d + s + c + (f ? 100 : 0); for (int i = 0; i < 9; ++i) r += b.v[i]; return r + b.c; }
extern "C" __global__ void structs(double* out) { int t = threadIdx.x; out[t] = eat(make(t), (short)(t - 3), (char)(t + 2), t & 1); }
