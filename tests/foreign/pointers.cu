// Functions by their address: from a table, chosen by thread, passed on, from a variable; virtual functions.
//
// run: by_table i32[64] i32[64]=iota
// run: by_choice i32[64] 4
// run: virtuals f32[64]
// run: passed i32[64]
// run: from_global i32[64]
typedef int (*Op)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ __noinline__ int gcd(int a, int b) { while (b) { int t = a % b; a = b; b = t; } return a; }
__device__ Op table[4] = {add, sub, mul, gcd};
struct Shape { __device__ virtual float area() const = 0; __device__ virtual int kind() const { return 7; } __device__ virtual ~Shape() {} };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.0f * r * r; } __device__ int kind() const override { return 8; } };
struct Rect : Shape { float a, b; __device__ Rect(float a, float b) : a(a), b(b) {} __device__ float area() const override { return a * b; } };
extern "C" __global__ void by_table(int* out, const int* which) { int t = threadIdx.x; out[t] = table[which[t] & 3](t + 30, t + 1); }
extern "C" __global__ void by_choice(int* out, int n) { int t = threadIdx.x; Op f = t % 2 ? add : t % 3 ? mul : gcd; int r = t; for (int i = 1; i <= n; ++i) r = f(r, i); out[t] = r; }
extern "C" __global__ void virtuals(float* out) {
  int t = threadIdx.x;
  Square a(t); Circle b(t + 1.0f); Rect c(t, 2.0f);
  Shape* s = t % 3 == 0 ? (Shape*)&a : t % 3 == 1 ? (Shape*)&b : (Shape*)&c;
  out[t] = s->area() + s->kind();
}
__device__ __noinline__ int twice(Op f, int a, int b) { return f(f(a, b), b); }
extern "C" __global__ void passed(int* out) { int t = threadIdx.x; out[t] = twice(t & 1 ? add : mul, t, 3); }
__device__ Op chosen = sub;
extern "C" __global__ void from_global(int* out) { int t = threadIdx.x; if (chosen) out[t] = chosen(t, 5); }
