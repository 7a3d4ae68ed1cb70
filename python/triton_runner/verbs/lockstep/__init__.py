"""A case at several levels, value by value."""
