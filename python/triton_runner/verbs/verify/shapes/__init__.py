"""Any shape: a Python function that launches kernels, called with other sizes, strides, types and values."""
