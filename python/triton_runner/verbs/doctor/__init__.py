"""What this machine has, and whether it works."""
