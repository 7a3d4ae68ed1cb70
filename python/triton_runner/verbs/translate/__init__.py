"""A text of one release, for another."""
