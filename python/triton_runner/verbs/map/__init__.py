"""Which lines of the levels belong to each other."""
