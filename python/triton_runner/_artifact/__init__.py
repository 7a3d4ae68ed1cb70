"""Makes kernels from files and texts, and asks compiled kernels of either origin the same questions.

- reading, loading, kernel: an artifact on disk, load(), and the kernel that comes of it
- executable, onward, entries: what executes it, compiled below its level, or entered by a Python kernel's
  launch
- binding, shell_arguments: its arguments, from Python values and from the command line
- compiled_kernel, relaunch: a compiled kernel of either origin, and one launch that can be run again

It is described in doc/internals/devices.md."""
