"""Which configuration of a kernel is fast on a chip, by the replay of an SM: no GPU is needed."""
