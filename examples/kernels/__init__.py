"""The kernels of the examples, one a file: kernel, launch (`run`) and reference."""
