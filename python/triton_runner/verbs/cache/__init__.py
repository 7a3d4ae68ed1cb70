"""Shows what Triton's cache holds."""
