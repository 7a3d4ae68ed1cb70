"""Launches on the CPU's engines and on a GPU, and the one list of those who see them."""
