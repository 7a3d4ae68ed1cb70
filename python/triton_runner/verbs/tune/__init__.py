"""Ranks configurations of a kernel by how fast they are on a chip, by the replay of an SM: no GPU is
needed."""
