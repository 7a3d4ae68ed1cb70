"""Reports what this machine has, and whether it works."""
