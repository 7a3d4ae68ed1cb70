"""Lists, adds and removes the releases of Triton that this machine has; _pipeline.versions does the work."""
