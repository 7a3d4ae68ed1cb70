// malloc, free, new and delete.
//
// run: allocate i32[64]
// run: list i32[64]
// run: free_null i32[64]
// run: too_much i32[64]
extern "C" __global__ void allocate(int* out) {
  int t = threadIdx.x;
  int* p = (int*)malloc((t + 1) * sizeof(int));
  if (!p) { out[t] = -1; return; }
  for (int i = 0; i <= t; ++i) p[i] = i * t;
  int s = 0;
  for (int i = 0; i <= t; ++i) s += p[i];
  free(p);
  out[t] = s;
}
struct N { N* next; int v; };
extern "C" __global__ void list(int* out) {
  int t = threadIdx.x; N* head = nullptr;
  for (int i = 0; i < t % 7; ++i) { N* n = new N{head, i * i + t}; head = n; }
  int s = 0;
  while (head) { s += head->v; N* n = head->next; delete head; head = n; }
  out[t] = s;
}
extern "C" __global__ void free_null(int* out) { free(nullptr); out[threadIdx.x] = 3; }
extern "C" __global__ void too_much(int* out) { out[threadIdx.x] = malloc(size_t(1) << 40) == nullptr; }
