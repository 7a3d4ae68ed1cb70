"""What Triton's cache holds."""
