"""Launches on the CPU's engines and on a GPU, and keeps the one list of those who see launches.

- launchers: the CPU's launcher in Triton's place, and the observers
- native, simt, gpu_driver: kernels below Triton's IR, on the SIMT engine and on a GPU
- graphs: CUDA graphs on CPU tensors"""
