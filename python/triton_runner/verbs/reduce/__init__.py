"""Makes programs small while a fault of theirs stays: IR, PTX, and kernels in Python."""
