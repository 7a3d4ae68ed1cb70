"""Launches on the CPU's engines and on a GPU, and keeps the one list of those who see launches."""
