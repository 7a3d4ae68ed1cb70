"""Run a Triton kernel from any level of its compilation, and look inside it at every level."""
