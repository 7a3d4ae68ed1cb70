// What threads do together, in blocks whose sizes are no multiples of a warp: the expected values are the test's (test_foreign.py).
__device__ __noinline__ int exchange(int v) {  // shared memory of a function
  __shared__ int hold[128];
  hold[threadIdx.x] = v;
  __syncthreads();
  int r = hold[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  return r;
}
extern "C" __global__ void shared_in_function(int* out) { out[threadIdx.x] = exchange(threadIdx.x * 2) + exchange(threadIdx.x * 3); }
extern "C" __global__ void cube(int* out) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[b * (blockDim.x * blockDim.y * blockDim.z) + t] = threadIdx.x * 10000 + threadIdx.y * 100 + threadIdx.z + 1000000 * b;
}
extern "C" __global__ void reduce(float* out, const float* in, int n) {
  extern __shared__ float s[];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    if (t % (2 * k) == 0 && t + k < blockDim.x) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ const char* words[3] = {"zero", "one", "two"};
extern "C" __global__ void constants(int* out) { out[threadIdx.x] = table[threadIdx.x & 7] * 1000 + words[threadIdx.x % 3][0]; }
extern "C" __global__ void votes(int* out) {
  int t = threadIdx.x;
  out[t] = __syncthreads_count(t % 3 == 0) * 10000 + __syncthreads_and(t < 100) * 100 + __syncthreads_or(t == 5) * 10;
}
extern "C" __global__ void scan(int* out, const int* in) {
  int t = threadIdx.x, v = in[t];
  for (int k = 1; k < 32; k *= 2) {
    int o = __shfl_up_sync(~0u, v, k);
    if ((t & 31) >= k) v += o;
  }
  out[t] = v;
}
__device__ int lock;
extern "C" __global__ void spin(int* out) {  // a lock within a warp: threads are scheduled one by one
  while (atomicCAS(&lock, 0, 1) != 0) {}
  __threadfence();
  out[0] += threadIdx.x + 1;
  __threadfence();
  atomicExch(&lock, 0);
}
__device__ unsigned arrived;
extern "C" __global__ void last_block(int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int s = 0;
  for (int i = 0; i < gridDim.x; ++i) s += ((volatile int*)out)[i];
  out[gridDim.x] = s;
}
__device__ __noinline__ int depth_first(int* tree, int node, int n) {  // threads at different depths, and a vote on the way back
  if (node >= n) return 0;
  int left = depth_first(tree, 2 * node + 1, n), right = depth_first(tree, 2 * node + 2, n);
  return tree[node] + left + 2 * right + (__activemask() == 0);
}
extern "C" __global__ void trees(int* out, int* tree) { out[threadIdx.x] = depth_first(tree, 0, threadIdx.x); }
extern "C" __global__ void whole_grid(int* out) {  // cooperative groups' grid barrier, as its header writes it
  unsigned high, low;
  asm volatile("mov.u32 %0, %%envreg1;" : "=r"(high));
  asm volatile("mov.u32 %0, %%envreg2;" : "=r"(low));
  unsigned* words = (unsigned*)((unsigned long long)high << 32 | low);
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  out[i] = i * 2;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(words + 1, 1);
    while (*(volatile unsigned*)(words + 1) < gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  out[n + i] = out[(i + 33) % n];
}
