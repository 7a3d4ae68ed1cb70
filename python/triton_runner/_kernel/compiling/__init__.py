"""Compiles kernels with every release of Triton, and looks into their compilations.

- compile, of_release: any level to any level, and a launch as another release compiles it
- passes, passes_select, passes_launch, passes_names: the passes of a compilation, and compilations that
  follow a plan
- resources, ledger: what a binary needs of the GPU, and who takes it
- failures, crashes: compilers that fail"""
