// Functions that call themselves: with results, with several arguments, by way of each other, with arrays of the caller, and
// with a list whose nodes are in the frames.
//
// run: run_fib i32[64]
// run: run_ackermann i32[64]
// run: run_even i32[64]
// run: run_quicksort i32[64]
// run: run_list i32[64]
// run: run_hanoi i32[64]
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__device__ __noinline__ bool is_odd(unsigned n);
__device__ __noinline__ bool is_even(unsigned n) { return n == 0 ? true : is_odd(n - 1); }
__device__ __noinline__ bool is_odd(unsigned n) { return n == 0 ? false : is_even(n - 1); }
__device__ void quicksort(int* a, int lo, int hi) {
  if (lo >= hi) return;
  int pivot = a[(lo + hi) / 2], i = lo, j = hi;
  while (i <= j) {
    while (a[i] < pivot) ++i;
    while (a[j] > pivot) --j;
    if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
  }
  quicksort(a, lo, j);
  quicksort(a, i, hi);
}
struct Node { Node* next; int value; };
__device__ int sum_up(Node* head, int depth) {  // a list on the stack, one node a frame
  Node here{head, depth * depth};
  if (depth == 0) {
    int s = 0;
    for (Node* n = &here; n; n = n->next) s += n->value;
    return s;
  }
  return sum_up(&here, depth - 1);
}
__device__ void hanoi(int n, int from, int to, int via, int* moves) {
  if (n == 0) return;
  hanoi(n - 1, from, via, to, moves);
  *moves = *moves * 3 + from + to;
  hanoi(n - 1, via, to, from, moves);
}
extern "C" __global__ void run_fib(int* out) { int t = threadIdx.x; out[t] = fib(t % 12); }
extern "C" __global__ void run_ackermann(unsigned* out) { int t = threadIdx.x; out[t] = ackermann(t % 3, t % 4); }
extern "C" __global__ void run_even(int* out) { int t = threadIdx.x; out[t] = is_even(t) ? 1 : is_odd(t) ? 2 : 3; }
extern "C" __global__ void run_quicksort(int* out) {
  int a[20], t = threadIdx.x;
  for (int i = 0; i < 20; ++i) a[i] = (i * 7919 + t * 104729) % 101;
  quicksort(a, 0, 19);
  int s = 0;
  for (int i = 0; i < 20; ++i) s = s * 31 + a[i];
  out[t] = s;
}
extern "C" __global__ void run_list(int* out) { int t = threadIdx.x; out[t] = sum_up(nullptr, t % 9); }
extern "C" __global__ void run_hanoi(int* out) { int t = threadIdx.x, m = t; hanoi(t % 5, 0, 2, 1, &m); out[t] = m; }
